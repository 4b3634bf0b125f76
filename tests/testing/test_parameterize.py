"""Test classes made from one: names, attributes, messages, stacking, pickling."""

from __future__ import annotations

import copy
import functools
import pickle
import sys
import unittest
from typing import Any

import numpy as np
import pytest

from minichainer import testing
from minichainer.testing._cases import cases_of
from tests.testing.running import run, verdicts

MODULE = sys.modules[__name__]


class Plain(unittest.TestCase):
    """Not decorated."""


def make() -> type:
    class Numbers(unittest.TestCase):
        """Counts."""

        def test_is_one(self) -> None:
            self.assertEqual(self.a, 1)

        def test_raises(self) -> None:
            raise ValueError('bad', 3)

        def test_key(self) -> None:
            raise KeyError('k')

        def test_skips(self) -> None:
            self.skipTest('why')

    return Numbers


def test_one_class_per_dict_beside_the_class() -> None:
    cls = testing.parameterize({'a': 1, 'f': np.float32}, {'a': 2, 'long': 'x' * 200})(make())
    names = [case.__name__ for case in cases_of(cls)]
    assert names[0] == 'Numbers_param_0_{a=1, f=float32}'
    assert names[1].startswith("Numbers_param_1_{a=2, long='xxxx") and '...' in names[1] and len(names[1]) < 150
    assert all(getattr(MODULE, name) is case for name, case in zip(names, cases_of(cls), strict=True))
    assert [case.a for case in cases_of(cls)] == [1, 2]
    assert {case.__doc__ for case in cases_of(cls)} == {'Counts.'}


def test_names_are_one_line_and_functions_go_by_name() -> None:
    cls = testing.parameterize({'x': np.zeros((2, 2)), 'f': len, 'g': make})(make())
    assert cases_of(cls)[0].__name__ == 'Numbers_param_0_{f=len, g=make, x=array([[0., 0.], [0., 0.]])}'


class Callable:
    def __call__(self) -> None:
        pass

    def method(self) -> None:
        pass


#: A value, and how a name shows it.
VALUES = [
    (np.sin, 'sin'),
    (np, 'numpy'),
    (np.linalg, 'numpy.linalg'),
    (len, 'len'),
    (make, 'make'),
    (lambda x: x, '<lambda>'),
    (np.float32, 'float32'),
    (np.dtype('f'), "dtype('float32')"),
    (Callable, 'Callable'),
    (Callable().method, 'method'),
    (functools.partial(np.sum, axis=1), 'partial(sum, axis=1)'),
    (functools.partial(make, np, lambda: 0), 'partial(make, numpy, <lambda>)'),
    (functools.partial(functools.partial(pow, 2), mod=3), 'partial(pow, 2, mod=3)'),
    (None, 'None'),
    ('relu', "'relu'"),
    ((2, 3), '(2, 3)'),
    (np.arange(3), 'array([0, 1, 2])'),
    ({'atol': 1e-3}, "{'atol': 0.001}"),
    ('x' * 200, "'" + 'x' * 47 + '...' + 'x' * 48 + "'"),
]


@pytest.mark.parametrize(('value', 'shown'), VALUES, ids=[shown[:30] for _, shown in VALUES])
def test_values_in_names(value: Any, shown: str) -> None:
    (case,) = cases_of(testing.parameterize({'a': value})(make()))
    assert case.__name__ == f'Numbers_param_0_{{a={shown}}}'
    assert case.a is value or callable(value)


def test_a_failure_names_a_module_without_its_path() -> None:
    text = verdicts(run(testing.parameterize({'a': np, 'f': len})(make())))['test_is_one']
    assert '\n  a: numpy\n  f: <built-in function len>\n' in text


def test_names_are_the_same_in_each_process() -> None:
    values = {'x': object(), 'y': functools.partial(make), 'z': functools.partial(Callable(), Callable())}
    name = cases_of(testing.parameterize(values)(make()))[0].__name__
    assert '<object object>' in name and ' at 0x' not in name


def test_decorators_above_count_for_all_classes() -> None:
    cls = testing.attr.multi_gpu(1000)(testing.parameterize({'a': 1}, {'a': 2})(make()))
    result = run(cls)
    assert len(result.skipped) == result.testsRun == 8
    assert all(reason.startswith('needs 1000 GPUs with CuPy, ') for _, reason in result.skipped)


def test_retry_inside() -> None:
    @testing.parameterize({'a': 1}, {'a': 2})
    class Lucky(unittest.TestCase):
        runs: list[int] = []

        @testing.condition.retry(2)
        def test_it(self) -> None:
            self.runs.append(self.a)
            assert self.runs.count(self.a) == 2

    assert run(Lucky).wasSuccessful()
    assert Lucky.runs == [1, 1, 2, 2]


def test_the_class_itself_runs_nothing() -> None:
    cls = testing.parameterize({'a': 1})(make())
    assert unittest.defaultTestLoader.getTestCaseNames(cls) == []
    assert cls.__test__ is False


def test_messages_tell_the_parameters() -> None:
    cls = testing.parameterize({'a': 2, 'shape': (3, 4)})(make())
    result = run(cls)
    found = verdicts(result)
    expected = (
        'AssertionError: Parameterized test failed.\n\nBase test method: Numbers.test_is_one\nTest parameters:\n'
        '  a: 2\n  shape: (3, 4)\n\n\n(caused by)\nAssertionError: 2 != 1'
    )
    assert expected in found['test_is_one']
    assert "(caused by)\nValueError: ('bad', 3)" in found['test_raises']
    assert found['test_skips'] == 'why'
    assert len(result.failures) == 1 and len(result.errors) == 2
    if sys.version_info >= (3, 11):  # An exception with a text of its own making gets a note.
        assert "KeyError: 'k'" in found['test_key'] and '  a: 2' in found['test_key']


class Error(AssertionError):
    def __init__(self, text: str, report: Any) -> None:
        super().__init__(text)
        self.report = report


def test_an_exception_stays_the_object_that_it_is() -> None:
    class Raising(unittest.TestCase):
        def runTest(self) -> None:
            pass

        def test_it(self) -> None:
            raise Error('wrong', 'the report')

    (case,) = cases_of(testing.parameterize({'a': 1})(Raising))
    with pytest.raises(Error, match='Parameterized test failed') as info:
        case().test_it()
    assert info.value.report == 'the report'


def test_decorators_stack() -> None:
    class Pairs(unittest.TestCase):
        def test_pair(self) -> None:
            self.assertEqual((self.a, self.b), (1, 1))

    cls = testing.parameterize({'b': 1}, {'b': 2})(testing.parameterize({'a': 1}, {'a': 2})(Pairs))
    names = [case.__name__ for case in cases_of(cls)]
    assert names == [f'Pairs_param_{i}_{{a={i + 1}}}_param_{j}_{{b={j + 1}}}' for i in (0, 1) for j in (0, 1)]
    assert not hasattr(MODULE, 'Pairs_param_0_{a=1}'), 'only the last classes are collected'
    result = run(cls)
    assert (result.testsRun, len(result.failures)) == (4, 3)


def test_super_with_the_name_of_the_class_works() -> None:
    seen = []

    class Base(unittest.TestCase):
        def setUp(self) -> None:
            seen.append('base')

    @testing.parameterize({'a': 1}, {'a': 2})
    class Derived(Base):
        def setUp(self) -> None:
            super(Derived, self).setUp()  # noqa: UP008

        def test_nothing(self) -> None:
            seen.append(self.a)

    assert run(Derived).wasSuccessful()
    assert seen == ['base', 1, 'base', 2]


def test_inherited_tests_are_multiplied() -> None:
    class Base(unittest.TestCase):
        def test_inherited(self) -> None:
            self.assertIn(self.a, (1, 2))

    @testing.parameterize({'a': 1}, {'a': 2})
    class Derived(Base):
        pass

    assert run(Derived).testsRun == 2
    assert unittest.defaultTestLoader.getTestCaseNames(Base) == ['test_inherited']


def test_a_class_with_distributed_tests_has_no_subclasses() -> None:
    cls = testing.parameterize({'a': 1})(make())
    with pytest.raises(TypeError, match='Sub derives from Numbers, whose tests a decorator has split'):
        type('Sub', (cls,), {})


@testing.parameterize({'a': 0.5}, {'a': 1})
class Pickled(unittest.TestCase):
    def test_nothing(self) -> None:
        pass


@pytest.mark.parametrize('copied', [lambda x: pickle.loads(pickle.dumps(x)), copy.copy, copy.deepcopy])
def test_instances_are_pickled_and_copied(copied: Any) -> None:
    for case in cases_of(Pickled):  # 0.5 puts a dot into the name, which pickle would split.
        instance = case('test_nothing')
        instance.data = np.arange(3)
        again = copied(instance)
        assert type(again) is case and again.a == case.a
        assert (again.data == [0, 1, 2]).all() and again._testMethodName == 'test_nothing'


def test_expected_failures_stay_expected() -> None:
    class Failing(unittest.TestCase):
        @unittest.expectedFailure
        def test_it(self) -> None:
            self.fail()

    result = run(testing.parameterize({'a': 1})(Failing))
    assert len(result.expectedFailures) == 1 and not result.failures


@pytest.mark.parametrize('bad', [3, 'text', [{'a': 1}], {1: 2}])
def test_parameters_must_be_dicts(bad: Any) -> None:
    with pytest.raises(TypeError, match='expected dicts from names to values, got'):
        testing.parameterize(bad)


def test_only_classes_are_decorated() -> None:
    with pytest.raises(TypeError, match='expected a test class to decorate'):
        testing.parameterize({'a': 1})(len)


def test_product() -> None:
    assert testing.product({'b': [1, 2], 'a': [3]}) == [{'a': 3, 'b': 1}, {'a': 3, 'b': 2}]
    assert testing.product({}) == testing.product([]) == [{}]
    assert testing.product([[{'a': 1}, {'a': 2}], [{'b': 3}]]) == [{'a': 1, 'b': 3}, {'a': 2, 'b': 3}]


@pytest.mark.parametrize('bad', [{'a': 1}, {'a': 'xy'}])
def test_product_of_what_is_no_list(bad: Any) -> None:
    with pytest.raises(TypeError, match="expected a list of values for 'a'"):
        testing.product(bad)


def test_product_of_no_dicts() -> None:
    with pytest.raises(TypeError, match='expected a dict of lists or a list of lists of dicts'):
        testing.product([1, 2])


def test_product_dict() -> None:
    left, right = [{'a': 1}, {'a': 2}], [{'b': 3}, {'b': 4}]
    assert testing.product_dict(left, right) == [
        {'a': 1, 'b': 3}, {'a': 1, 'b': 4}, {'a': 2, 'b': 3}, {'a': 2, 'b': 4},
    ]  # fmt: skip
    assert testing.product_dict([{'a': 1}], [{'a': 2}]) == [{'a': 2}]


def test_arguments_of_pytest() -> None:
    assert testing.from_pytest_parameterize('a, b', [(1, 2), (3, 4)]) == [{'a': 1, 'b': 2}, {'a': 3, 'b': 4}]
    assert testing.from_pytest_parameterize('a', [1, (2, 3)]) == [{'a': 1}, {'a': (2, 3)}]
    cls = testing.parameterize_pytest('a,b', [(1, 2), (3, 4)])(make())
    assert [(case.a, case.b) for case in cases_of(cls)] == [(1, 2), (3, 4)]


@pytest.mark.parametrize('values', [[(1, 2, 3)], [1]])
def test_wrong_number_of_values(values: Any) -> None:
    with pytest.raises(ValueError, match='expected 2 values, for a, b, got'):
        testing.from_pytest_parameterize('a,b', values)


def test_names_that_are_no_text() -> None:
    with pytest.raises(TypeError, match='names: expected text'):
        testing.from_pytest_parameterize(['a', 'b'], [(1, 2)])
