"""Test classes made from a function of one argument."""

from __future__ import annotations

import unittest
from typing import Any

import numpy as np
import pytest

import minichainer
import minichainer.functions as F
from minichainer import testing
from minichainer.testing._cases import cases_of
from tests.testing.running import run, verdicts


class Sin(minichainer.FunctionNode):
    label = 'sin'
    factor = 1.0

    def forward(self, inputs: Any) -> Any:
        self.retain_inputs((0,))
        return (np.asarray(np.sin(inputs[0])),)

    def backward(self, indexes: Any, grad_outputs: Any) -> Any:
        (x,) = self.get_retained_inputs()
        return (self.factor * F.cos(x) * grad_outputs[0],)


class OldSin(minichainer.Function):
    label = 'oldsin'

    def forward(self, inputs: Any) -> Any:
        return (np.asarray(np.sin(inputs[0])),)

    def backward(self, inputs: Any, grad_outputs: Any) -> Any:
        return (np.cos(inputs[0]) * grad_outputs[0],)


def make(func: Any, **kwargs: Any) -> unittest.TestResult:
    cls = type('Case', (unittest.TestCase,), {'__module__': __name__})
    return run(testing.unary_math_function_unittest(func, **kwargs)(cls))


def failed(result: unittest.TestResult) -> dict[str, str]:
    return {name: text for name, text in verdicts(result).items() if not name.endswith('_gpu')}


def test_tests_are_made() -> None:
    cls = testing.unary_math_function_unittest(F.sin)(type('Case', (unittest.TestCase,), {'__module__': __name__}))
    assert len(cases_of(cls)) == 6
    assert cases_of(cls)[0].__name__ == 'Case_param_0_{dtype=float16, shape=(3, 2)}'
    assert unittest.defaultTestLoader.getTestCaseNames(cases_of(cls)[0]) == [
        f'test_{order}_{device}'
        for order in ('backward', 'double_backward', 'forward')
        for device in ('cpu', 'gpu')
    ]  # fmt: skip


FUNCTIONS = [
    (F.sin, {}),
    (F.exp, {}),
    (lambda x: -x, {'func_expected': lambda x, dtype: -x, 'is_linear': True}),
    (Sin, {}),
    (Sin(), {'label_expected': 'sin'}),
    (
        F.rsqrt,
        {
            'func_expected': lambda x, dtype: (1 / np.sqrt(x.astype(float))).astype(dtype),
            'make_data': lambda shape, dtype: [np.asarray(np.random.uniform(0.5, 1, shape)).astype(dtype)] * 3,
        },
    ),
]


@pytest.mark.parametrize(('func', 'kwargs'), FUNCTIONS)
def test_right_functions(func: Any, kwargs: Any) -> None:
    result = make(func, **kwargs)
    assert failed(result) == {}
    has_label = func is Sin or isinstance(func, Sin)
    assert result.testsRun == 6 * (6 + has_label)


@pytest.mark.parametrize('func', [OldSin, OldSin()])
def test_an_old_function_has_no_double_backward(func: Any) -> None:
    def make_data(shape: Any, dtype: Any) -> Any:
        x, gy = np.random.uniform(-1, 1, (2, *shape)).astype(dtype)
        return np.asarray(x), np.asarray(gy)

    options = {'label_expected': 'oldsin', 'func_expected': lambda x, dtype: np.sin(x)}
    for data in (None, make_data):
        result = make(func, **options, make_data=data)
        assert failed(result) == {} and result.testsRun == 6 * 5


def test_given_options_are_added_to_the_defaults() -> None:
    seen = {}

    class Case(unittest.TestCase):
        dtype: Any
        shape: Any

        def setUp(self) -> None:
            if self.shape:
                seen[self.dtype] = self.forward_options, self.backward_options, self.double_backward_options
            self.x = np.asarray(self.x / 2, self.dtype)

        def test_data(self) -> None:
            assert (abs(self.x) <= 0.5).all() and self.gy.dtype == self.dtype and self.ggx.shape == self.shape

    given = {'forward_options': {'atol': 1e-3}, 'backward_options': {'eps': 1e-2, 'rtol': 1}}
    result = run(testing.unary_math_function_unittest(F.sin, **given)(Case))
    assert failed(result) == {}
    half = 2.0**-10
    assert (
        seen[np.float32]
        == seen[np.float64]
        == (
            {'atol': 1e-3, 'rtol': 1e-4},
            {'dtype': np.float64, 'atol': 1e-4, 'rtol': 1, 'eps': 1e-2},
            {'dtype': np.float64, 'atol': 1e-4, 'rtol': 1e-4},
        )
    )
    assert seen[np.float16] == (
        {'atol': 1e-3, 'rtol': half},
        {'dtype': np.float64, 'atol': 2**-4, 'rtol': 1, 'eps': 1e-2},
        {'dtype': np.float64, 'atol': 2**-4, 'rtol': 2**-4, 'eps': 2**-4},
    )


WRONG = [
    (F.sin, {'func_expected': lambda x, dtype: np.cos(x)}, {'test_forward_cpu'}),
    (
        type('Wrong', (Sin,), {'factor': 1.5}),
        {'func_expected': lambda x, dtype: np.sin(x), 'label_expected': 'sin'},
        {'test_backward_cpu', 'test_double_backward_cpu'},
    ),
    (Sin, {'label_expected': 'cos'}, {'test_label'}),
    (
        lambda x: F.cast(F.sin(x), 'd'),
        {'func_expected': lambda x, dtype: np.sin(x), 'forward_options': {'atol': 1e-2}},
        {'test_forward_cpu', 'test_backward_cpu'},
    ),
]


@pytest.mark.parametrize(('func', 'kwargs', 'expected'), WRONG)
def test_wrong_functions(func: Any, kwargs: Any, expected: set[str]) -> None:
    found = set(failed(make(func, **kwargs)))
    # The second order is checked with the first: it may say so, too.
    assert found | {'test_double_backward_cpu'} == expected | {'test_double_backward_cpu'} and expected & found


def test_options_are_passed_on() -> None:
    expected = {'func_expected': lambda x, dtype: np.sin(x) + np.asarray(0.1, dtype)}
    assert set(failed(make(F.sin, **expected))) == {'test_forward_cpu'}
    assert failed(make(F.sin, **expected, forward_options={'atol': 0.2})) == {}
    found = failed(make(F.sin, backward_options={'no_such': 1}, double_backward_options={'no_such': 1}))
    assert set(found) == {'test_backward_cpu', 'test_double_backward_cpu'}


def test_no_twin_in_numpy() -> None:
    with pytest.raises(ValueError, match="NumPy has no function 'erfcx'; pass func_expected"):
        testing.unary_math_function_unittest(F.erfcx)


def test_a_plain_function_has_no_label() -> None:
    with pytest.raises(ValueError, match='plain function, which has no label'):
        testing.unary_math_function_unittest(F.sin, label_expected='sin')
