"""What old test suites use of minichainer.testing and gradient_check, as in Chainer 7.8.1."""

from __future__ import annotations

import unittest
from typing import Any

import numpy as np
import pytest

from minichainer import Variable, gradient_check, testing
from minichainer import functions as F
from minichainer.testing import condition, parameterized


def test_product_sets_several_attributes() -> None:
    assert testing.product({'a,b': [(1, 2), (3, 4)], 'c': [5, 6]}) == [
        {'a': 1, 'b': 2, 'c': 5},
        {'a': 1, 'b': 2, 'c': 6},
        {'a': 3, 'b': 4, 'c': 5},
        {'a': 3, 'b': 4, 'c': 6},
    ]


def test_product_uses_the_product_dict_of_its_module(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parameterized, 'product_dict', lambda *lists: ['replaced', *lists])
    assert testing.product({'b': [2], 'a': [1]}) == ['replaced', [{'a': 1}], [{'b': 2}]]


@testing.parameterize({'function': lambda x: x + 1, 'kind': int}, {'function': np.sin, 'kind': float})
class TestFunctionsAsParameters(unittest.TestCase):
    function: Any
    kind: Any

    def test_they_are_not_methods(self) -> None:
        assert self.function(0) in (0, 1)
        assert self.kind(1) == 1


def test_test_name_is_set_early() -> None:
    seen = []

    class Case(testing.FunctionTestCase):
        test_name: str

        def before_test(self, test_name: str) -> None:
            seen.append((test_name, self.test_name))

        def generate_inputs(self) -> Any:
            seen.append(('inputs', self.test_name))
            return (np.ones(2),)

        def forward(self, inputs: Any, device: Any) -> Any:
            return (inputs[0] * 2,)

        def forward_expected(self, inputs: Any) -> Any:
            return (inputs[0] * 2,)

    Case('test_forward').test_forward()
    assert seen == [('test_forward', 'test_forward'), ('inputs', 'test_forward')]


def test_iterations_of_several_epochs() -> None:
    updater = testing.get_trainer_with_mock_updater(iter_per_epoch=0.5).updater
    for iteration in (1, 2):
        updater.update()
        assert (updater.iteration, updater.epoch, updater.epoch_detail) == (iteration, 2 * iteration, 2 * iteration)
        assert updater.is_new_epoch


def test_iterations_of_a_broken_epoch() -> None:
    updater = testing.get_trainer_with_mock_updater(iter_per_epoch=1.5).updater
    found = []
    for _ in range(3):
        updater.update()
        found.append((updater.epoch, updater.is_new_epoch))
    assert found == [(0, False), (1, True), (2, True)]


@pytest.mark.parametrize(
    ('requirement', 'runs'),
    [
        ('numpy!=1.11.*', True),
        ('numpy==1.11.*', False),
        (f'numpy=={np.__version__.partition(".")[0]}.*', True),
        (f'numpy!={np.__version__.partition(".")[0]}.*', False),
        ('numpy>=1.9,!=1.11.*,<100', True),
    ],
)
def test_requirements_with_wildcards(requirement: str, runs: bool) -> None:
    @testing.with_requires(requirement)
    def decorated() -> str:
        return 'ran'

    if runs:
        assert decorated() == 'ran'
    else:
        with pytest.raises(unittest.SkipTest):
            decorated()


def test_a_wildcard_has_no_order() -> None:
    with pytest.raises(ValueError, match='wildcard'):
        testing.with_requires('numpy>=1.*')


@pytest.mark.parametrize('second', [1, 2])
def test_second_gradients_for_float_inputs_only(second: int) -> None:
    def function(x: Any, i: Any) -> Any:
        return x * x * F.cast(i, 'd')

    x, i = np.array([1.0, 2.0]), np.array([1, 2], 'i')
    given = (np.array([0.3, -0.7]), None)[:second]
    gradient_check.check_double_backward(function, (x, i), np.array([0.5, -2.0]), given)


@pytest.mark.parametrize('number', [3, 3.0])
def test_numbers_as_upstream_gradients(number: Any) -> None:
    x = np.array([1.0, 2.0])
    for function in (lambda: (np.array(x.sum() * 2),), lambda: (x * 2,), lambda: (Variable(x * 2),)):
        (gx,) = gradient_check.numerical_grad(function, (x,), (number,))
        np.testing.assert_allclose(gx, [6, 6], rtol=1e-6)


def test_more_successes_than_runs() -> None:
    with pytest.raises(AssertionError, match='min_success'):
        condition.repeat_with_success_at_least(2, 3)


@pytest.mark.parametrize('decorator', [condition.repeat(2), condition.retry(2)])
def test_skips_propagate(decorator: Any) -> None:
    class Case(unittest.TestCase):
        @decorator
        def test_skipping(self) -> None:
            pytest.skip('not here')

    with pytest.raises(pytest.skip.Exception, match='not here'):
        Case('test_skipping').test_skipping()
    with pytest.raises(pytest.skip.Exception, match='not here'):
        decorator(lambda: pytest.skip('not here'))()


@pytest.mark.parametrize('dtype', [np.float32, np.complex64])
def test_singular_values_are_real(dtype: Any) -> None:
    with pytest.raises(TypeError, match='singular_values is not real'):
        testing.generate_matrix((3, 3), dtype=dtype, singular_values=[1j, 2, 3])
    matrix = testing.generate_matrix((3, 3), dtype=dtype, singular_values=[1, 2, 3])
    assert matrix.dtype == dtype
    np.testing.assert_allclose(np.linalg.svd(matrix, compute_uv=False), [3, 2, 1], rtol=1e-5)
