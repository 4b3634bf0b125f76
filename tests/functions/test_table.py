"""The generic tests: each runs over every case of every row of the table."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F
from tests.functions import checks, rows_elementwise, rows_operators
from tests.functions.checks import bound, close, outputs_of, upstream_of
from tests.functions.exemptions import NOT_ON_NUMBERS
from tests.functions.numeric import signed
from tests.functions.over_cases import over_cases
from tests.functions.row import Bad, Case, Row, Special
from tests.functions.table import CASES, ROWS

#: Rows whose second derivatives take seconds: the same code as others, in both directions or in two layers.
DEEP = re.compile(r'n_step_bi(gru|lstm)|n_step_\w+\[two layers\]')


def over_rows(
    wanted: Any = lambda row: True, deep: Any = (), is_later: Callable[[Row, int], bool] = lambda row, number: False
) -> Any:
    """Runs a test for every case of the rows that are wanted; the deep ones get these marks."""
    pairs = [(row, case) for _, row, case in CASES if wanted(row)]
    return over_cases(pairs, lambda name: deep if DEEP.match(name) else (), is_later)


def inputs_of(row: Row, case: Case, xp: Any = np, dtype: str = 'd') -> list[Any]:
    """Arrays of a module; float ones as Variables where the function takes such."""
    arrays = [xp.asarray(array) for array in row.draw(case, dtype)]
    return [chainer.Variable(a) if d.is_variable else a for a, d in zip(arrays, row.domains, strict=True)]


def reference_of(row: Row, case: Case, arrays: list[np.ndarray]) -> list[np.ndarray]:
    """The reference's results, computed in float64."""
    wide = [a.astype('d') if a.dtype.kind == 'f' else a for a in arrays]
    with np.errstate(all='ignore'):
        return [np.asarray(y) for y in outputs_of(row.reference(*wide, **case.params))]


@over_rows()
def test_values_shape_and_dtype(row: Row, case: Case, xp: Any) -> None:
    for dtype in row.dtypes:
        ys = outputs_of(row.call(*inputs_of(row, case, xp, dtype), **case.params))
        expected = reference_of(row, case, row.draw(case, dtype))
        assert len(ys) == len(expected)
        for y, e in zip(ys, expected, strict=True):
            assert isinstance(y, chainer.Variable)
            assert y.shape == e.shape
            assert y.dtype == np.dtype(row.result or dtype)
            close(y.array, e, dtype, f'{row} {case} {dtype}')


# Of all cases test_extended_precision.py knows the first and second derivatives to more digits, along a direction.
@over_rows(lambda row: row.order >= 1, is_later=lambda row, number: number > 2 and str(row) not in NOT_ON_NUMBERS)
def test_gradient(row: Row, case: Case) -> None:
    checks.check_gradient(row, case)


@over_rows(
    lambda row: row.order >= 2, pytest.mark.slow, lambda row, number: number > 0 and str(row) not in NOT_ON_NUMBERS
)
def test_double_gradient(row: Row, case: Case) -> None:
    checks.check_gradient(row, case, 2)


@pytest.mark.parametrize('row', [row for row in ROWS if row.order == 3], ids=str)
def test_third_order(row: Row) -> None:
    checks.check_gradient(row, row.cases[0], 3)


@over_rows(lambda row: row.order >= 1, is_later=lambda row, number: number > 2)
def test_gradients_of_each_dtype_on_each_module(row: Row, case: Case, xp: Any) -> None:
    """They have their input's dtype and shape, and are those of float64 up to rounding."""
    for dtype in row.dtypes:
        arrays = row.draw(case, dtype)
        function, xs = bound(row, case, [xp.asarray(a) for a in arrays])
        gys = upstream_of(function, xs)
        actual = checks.gradients(function, xs, [xp.asarray(gy) for gy in gys])
        wide = [a.astype('d') if a.dtype.kind == 'f' else a for a in arrays]
        function, wide_xs = bound(row, case, wide)
        expected = checks.gradients(function, wide_xs, [gy.astype('d') for gy in gys])
        for x, a, e in zip(xs, actual, expected, strict=True):
            assert a.dtype == x.dtype and a.shape == x.shape and type(a) is type(x)
            close(a, e, dtype, f'{row} {case} {dtype}')


@over_rows(lambda row: row.order >= 2, is_later=lambda row, number: number > 2)
def test_both_evaluators_agree(row: Row, case: Case) -> None:
    """The ordinary backward, on raw arrays, and the differentiable one, on Variables."""
    for dtype in row.dtypes:
        function, xs = bound(row, case, row.draw(case, dtype))
        gys = upstream_of(function, xs)
        raw = checks.gradients(function, xs, gys)
        differentiable = checks.differentiable_gradients(function, xs, gys)
        for a, b in zip(raw, differentiable, strict=True):
            assert a.dtype == b.dtype and a.shape == b.shape and type(a) is type(b)
            close(a, b, dtype, f'{row} {case} {dtype}')


class _Watching(chainer.FunctionHook):
    """Counts what it sees."""

    name = 'watching'

    def __init__(self) -> None:
        self.forward: list[str] = []
        self.backward: list[str] = []

    def forward_postprocess(self, function: Any, in_data: Any) -> None:
        self.forward.append(function.label)

    def backward_postprocess(self, function: Any, in_data: Any, out_grad: Any) -> None:
        self.backward.append(function.label)


def _results_and_gradients(row: Row, case: Case, watched: bool) -> tuple[list[Any], _Watching]:
    function, xs = bound(row, case, row.draw(case))
    hook = _Watching()
    with hook if watched else chainer.using_config('debug', False):
        ys = function(*[chainer.Variable(x) for x in xs])
        found = checks.gradients(function, xs, upstream_of(function, xs))
    return [*[y.array for y in ys], *found], hook


@over_rows(lambda row: row.order >= 1, is_later=lambda row, number: number > 1)
def test_a_hook_sees_the_op_and_changes_nothing(row: Row, case: Case) -> None:
    """With hooks the ops go another way; results and gradients are the same bit for bit."""
    plain, _ = _results_and_gradients(row, case, False)
    watched, hook = _results_and_gradients(row, case, True)
    for a, b in zip(plain, watched, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)
    creators = {y.creator for y in outputs_of(row.call(*inputs_of(row, case), **case.params))} - {None}
    assert bool(hook.forward) == bool(creators) == bool(hook.backward)


@over_rows()
def test_without_graph_and_in_debug_mode(row: Row, case: Case) -> None:
    expected = [y.array for y in outputs_of(row.call(*inputs_of(row, case), **case.params))]
    inputs = inputs_of(row, case)
    for name, value in (('enable_backprop', False), ('debug', True)):
        if value and any(np.isnan(e).any() for e in expected):
            continue  # NaN is an error in debug mode
        with chainer.using_config(name, value):
            ys = outputs_of(row.call(*inputs, **case.params))
        for y, e in zip(ys, expected, strict=True):
            assert y.dtype == e.dtype
            np.testing.assert_array_equal(y.array, e)
            assert value or y.creator is None


def _awkward(array: np.ndarray, way: str) -> np.ndarray:
    """The same elements, laid out in memory as few expect, and read-only."""
    if way == 'reversed':
        view = np.flip(np.flip(array).copy()) if array.ndim else array.copy()
    elif way == 'transposed':
        view = array.T.copy().T
    else:
        spread = np.zeros([2 * n for n in array.shape], array.dtype)
        view = spread[tuple([slice(None, None, 2)] * array.ndim)] if array.ndim else spread
        view[...] = array
    view.flags.writeable = False
    return view


@pytest.mark.parametrize('way', ['reversed', 'transposed', 'strided'])
@over_rows(lambda row: row.order >= 1, is_later=lambda row, number: number > 1)
def test_layout_in_memory_does_not_matter_and_nothing_is_changed(row: Row, case: Case, way: str) -> None:
    arrays = row.draw(case)
    function, xs = bound(row, case, arrays)
    gys = upstream_of(function, xs)
    expected = checks.gradients(function, xs, gys)
    awkward = [_awkward(a, way) for a in arrays]
    awkward_gys = [_awkward(gy, way) for gy in gys]
    function, xs = bound(row, case, awkward)
    found = [checks.gradients(function, xs, awkward_gys)]
    if row.order >= 2:
        found.append(checks.differentiable_gradients(function, xs, awkward_gys))
    for actual in found:
        for a, e in zip(actual, expected, strict=True):
            close(a, e, 'd', f'{row} {case} {way}')
    for before, after in zip([*arrays, *gys], [*awkward, *awkward_gys], strict=True):
        np.testing.assert_array_equal(before, after)


@over_rows(lambda row: row.order >= 1)
def test_going_backward_twice_gives_the_same_twice(row: Row, case: Case) -> None:
    """Backward changes nothing of what forward saved."""
    function, xs = bound(row, case, row.draw(case))
    gys = upstream_of(function, xs)
    variables = [chainer.Variable(x) for x in xs]
    ys = function(*variables)
    found = []
    for _ in range(2):
        for x in variables:
            x.cleargrad()
        for y, gy in zip(ys, gys, strict=True):
            y.grad = gy
        chainer.backward(ys)
        found.append([x.grad for x in variables])
    for first, second in zip(*found, strict=True):
        np.testing.assert_array_equal(first, second)


@over_rows(lambda row: row.order >= 1 and sum(d.is_variable for d in row.domains) > 1)
def test_one_gradient_alone_is_the_same(row: Row, case: Case) -> None:
    """What the others need is not computed for them, and changes nothing."""
    arrays = row.draw(case)
    function, xs = bound(row, case, arrays)
    gys = upstream_of(function, xs)
    expected = checks.gradients(function, xs, gys)
    for wanted in range(len(xs)):
        variables = [chainer.Variable(x, requires_grad=i == wanted) for i, x in enumerate(xs)]
        ys = function(*variables)
        for y, gy in zip(ys, gys, strict=True):
            y.grad = gy
        chainer.backward([y for y in ys if y.requires_grad])
        for i, x in enumerate(variables):
            if i == wanted:
                np.testing.assert_array_equal(x.grad, expected[i])
            else:
                assert x.grad is None


@over_rows(lambda row: row.order == 0)
def test_no_gradient_where_there_is_none(row: Row, case: Case) -> None:
    inputs = inputs_of(row, case)
    (y,) = outputs_of(row.call(*inputs, **case.params))
    y.grad = np.ones_like(y.array)
    y.backward()
    assert all(x.grad is None for x in inputs if isinstance(x, chainer.Variable))


@pytest.mark.parametrize('row', [row for row in ROWS if row.label is not None], ids=str)
def test_label_is_that_of_chainer(row: Row) -> None:
    dtype = 'f' if 'f' in row.dtypes else 'd'
    for case in row.cases:
        label = row.label(**case.params) if callable(row.label) else row.label
        for y in outputs_of(row.call(*inputs_of(row, case, dtype=dtype), **case.params)):
            assert y.creator.label == label, str(case)


def _element_by_element(row: Row) -> bool:
    return row.order >= 1 and row in [*rows_elementwise.ROWS, *rows_operators.ROWS]


@pytest.mark.parametrize('row', [row for row in ROWS if _element_by_element(row)], ids=str)
def test_large_arrays_are_treated_like_small_ones(row: Row) -> None:
    """Some rules choose another way by size; the result is that of many small arrays."""
    params = row.cases[0].params
    rng = np.random.RandomState(5)
    large = [dataclasses.replace(d, distinct=False).draw((100, 60), 'd', rng) for d in row.domains]
    gy = signed((100, 60), rng)

    def gradients(arrays: list[np.ndarray], upstream: np.ndarray) -> list[np.ndarray]:
        function, xs = bound(row, Case((), params), arrays)
        (y,) = function(*[chainer.Variable(x) for x in xs])
        return [y.array, *checks.gradients(function, xs, [upstream])]

    whole = gradients(large, gy)
    parts = [gradients([a[i : i + 10] for a in large], gy[i : i + 10]) for i in range(0, 100, 10)]
    for a, b in zip(whole, zip(*parts, strict=True), strict=True):
        close(a, np.concatenate(b), 'd', str(row))


def _by_name(row: Row) -> bool:
    if row.call is not getattr(F, row.name, None):
        return False
    kinds = {p.kind for p in inspect.signature(row.call).parameters.values()}
    return inspect.Parameter.VAR_POSITIONAL not in kinds


@pytest.mark.parametrize('row', [row for row in ROWS if _by_name(row)], ids=str)
def test_arguments_by_name(row: Row) -> None:
    case = row.cases[0]
    names = list(inspect.signature(row.call).parameters)
    inputs = inputs_of(row, case)
    by_name = row.call(**dict(zip(names, inputs, strict=False)), **case.params)
    for a, b in zip(outputs_of(by_name), outputs_of(row.call(*inputs, **case.params)), strict=True):
        np.testing.assert_array_equal(a.array, b.array)


SPECIAL = [
    pytest.param(row, special, dtype, id=f'{row}-{i}-{dtype}')
    for row in ROWS
    for i, special in enumerate(row.special)
    for dtype in special.dtypes
]


@pytest.mark.parametrize(('row', 'special', 'dtype'), SPECIAL)
def test_special_values(row: Row, special: Special, dtype: str) -> None:
    arrays = [a.astype(dtype) if a.dtype.kind == 'f' else a for a in map(np.asarray, special.arrays)]
    inputs = [chainer.Variable(a) if d.is_variable else a for a, d in zip(arrays, row.domains, strict=True)]
    with np.errstate(all='ignore'):
        (y,) = outputs_of(row.call(*inputs, **special.params))
        expected = row.reference(*arrays, **special.params) if special.expected is None else special.expected
        close(y.array, np.asarray(expected, dtype), dtype, f'{row} at {special.arrays}')
        if special.gradients is None:
            return
        y.grad = np.ones_like(y.array)
        y.backward()
        variables = [x for x in inputs if isinstance(x, chainer.Variable)]
        for x, gradient in zip(variables, special.gradients, strict=True):
            close(x.grad, np.asarray(gradient, dtype), dtype, f'gradient of {row} at {special.arrays}')


BAD = [pytest.param(row, bad, id=f'{row}-{bad.name}') for row in ROWS for bad in row.errors]


#: Where errors are defined that are also of the type that Chainer or NumPy raises.
OF_BOTH_TYPES = ('minichainer._misfits', 'minichainer.errors')


@pytest.mark.parametrize(('row', 'bad'), BAD)
def test_errors_say_what_was_expected_and_what_came(row: Row, bad: Bad) -> None:
    with pytest.raises(bad.error) as caught:
        bad.call()
    of_both_types = caught.type.__module__ in OF_BOTH_TYPES
    assert caught.type is bad.error or of_both_types, f'{caught.type.__name__}: {caught.value}'
    missing = [word for word in bad.words if word not in str(caught.value)]
    assert not missing, f'{missing} not in: {caught.value}'
