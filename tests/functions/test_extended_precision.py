"""Every rule of the table to machine precision: derivatives of first and second order on numbers of 50 digits.

A central difference with a step of 1e-20 along a random direction is accurate to 30 digits. The gradient computed on
the numbers must agree with it to 25 digits, and the float64 gradient up to its own rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F
from minichainer.functions import elementwise
from minichainer.verification.extended_precision.arrays import numbers, rounded, using
from tests.functions.checks import bound, derivative_of, gradients, outputs_of, upstream_of
from tests.functions.exemptions import NOT_ON_NUMBERS
from tests.functions.over_cases import over_cases
from tests.functions.row import Case, Row
from tests.functions.table import CASES

STEP = 1e-20
#: Relative to the sum of the absolute terms of gradient times direction: the disagreement on numbers; where the rule
#: and the forward body round a constant differently; and of the float64 gradient, in units of its rounding.
EXACT, CONSTANTS, ROUNDING = 1e-25, 1e-15, 64 * np.finfo('d').eps

#: Rows of which the rule contains a constant, or a power, that is rounded to float64, and which one.
ROUNDED_CONSTANTS = {
    '__rpow__[number]': 'the logarithm of the base',
    'pad': "1 / n in the matrices of mode 'mean'",
    'mean_squared_error': '2 / n',
    'triplet': '2 / n',
    'softplus': '1 / beta',
    'gelu': '1 / sqrt(2 pi)',
    'gelu[far from 0]': '1 / sqrt(2 pi)',
    'batch_normalization': '1 / n',
    'instance_normalization': '1 / n',
    'layer_normalization': '1 / n',
    'decorrelated_batch_normalization': '1 / n',
    'local_response_normalization': '2 alpha beta',
    'log2': 'log(2)',
    'log10': 'log(10)',
    'erf': '2 / sqrt(pi)',
    'erfc': '2 / sqrt(pi)',
    'erfcx': 'sqrt(2) and sqrt(pi / 2)',
    'erfinv': 'sqrt(pi) / 2',
    'erfcinv': 'sqrt(pi) / 2',
    'ndtr': '1 / sqrt(2 pi)',
    'log_ndtr': 'sqrt(2) and sqrt(pi / 2)',
    'ndtri': 'sqrt(2 pi)',
    'norm': '1 / ord',
}
#: Cases whose float64 gradient is a small difference of large terms, and the ratio: normalize divides by |x| + 1e-5.
CANCELLING = {'normalize-0d-axis=()': 1e5, 'normalize-2x2-axis=()': 1e5}


class Problem(NamedTuple):
    """A function of arrays, its arguments and upstream gradients, in float64 and on numbers."""

    function: Callable[..., Any]
    arguments: Sequence[np.ndarray]
    upstream: Sequence[np.ndarray]
    on_numbers: Callable[..., Any]


def problem(row: Row, case: Case, order: int) -> Problem:
    """The row's function, or its derivative of the order before ``order``."""
    arrays = row.draw(case)
    function, xs = bound(row, case, arrays)
    on_numbers, _ = bound(row, case, [numbers(a) if a.dtype.kind == 'f' else a for a in arrays])
    arguments = list(xs)
    for level in range(1, order):
        upstream = upstream_of(function, arguments, seed=level)
        on_numbers = derivative_of(on_numbers, len(arguments))
        function, arguments = derivative_of(function, len(arguments)), [*arguments, *upstream]
    return Problem(function, arguments, upstream_of(function, arguments, seed=order), on_numbers)


def difference(function: Any, xs: Sequence[Any], upstream: Sequence[Any], directions: Sequence[Any]) -> Any:
    """The derivative of the outputs times the upstream gradients, along the directions."""

    def value(step: Any) -> Any:
        ys = function(*[chainer.Variable(x + d * step) for x, d in zip(xs, directions, strict=True)])
        return total(y.array * gy for y, gy in zip(ys, upstream, strict=True))

    step = numbers(STEP)
    return (value(step) - value(-step)) / (step + step)


def total(terms: Any) -> Any:
    return sum((term.sum() for term in terms), numbers(0.0))


def check(row: Row, case: Case, order: int) -> float:
    """Asserts both gradients; returns the relative disagreement of the gradient on numbers."""
    function, arguments, upstream, on_numbers = problem(row, case, order)
    rng = np.random.RandomState(3)
    directions = [numbers(rng.uniform(-1, 1, x.shape)) for x in arguments]
    xs, gys = [numbers(x) for x in arguments], [numbers(gy) for gy in upstream]
    with using():
        expected = difference(on_numbers, xs, gys, directions)
        found = gradients(on_numbers, xs, gys)
        assert all(g is None or type(g) is type(x) for g, x in zip(found, xs, strict=True))
        along = [g * d for g, d in zip(found, directions, strict=True) if g is not None]
        in_floats = gradients(function, arguments, upstream)
        along_floats = [g * d for g, d in zip(in_floats, directions, strict=True) if g is not None]
        scale = float(rounded(total(map(abs, along)))) or 1.0
        error = float(rounded(abs(total(along) - expected)))
        error_of_floats = float(rounded(abs(total(along_floats) - expected)))
    assert error <= (CONSTANTS if str(row) in ROUNDED_CONSTANTS else EXACT) * scale, f'{row} {case}: order {order}'
    limit = ROUNDING * CANCELLING.get(f'{row}-{case}', 1)
    assert error_of_floats <= limit * scale, f'{row} {case}: order {order}, in float64'
    return error / scale


def over_rows(wanted: Any) -> Any:
    return over_cases((r, c) for _, r, c in CASES if wanted(r) and str(r) not in NOT_ON_NUMBERS)


@over_rows(lambda row: True)
def test_forward_on_numbers_agrees_with_float64(row: Row, case: Case) -> None:
    arrays = row.draw(case)
    function, xs = bound(row, case, arrays)
    expected = function(*map(chainer.Variable, xs))
    on_numbers, big = bound(row, case, [numbers(a) if a.dtype.kind == 'f' else a for a in arrays])
    with using():
        found = on_numbers(*map(chainer.Variable, big))
    for y, e in zip(found, expected, strict=True):
        assert y.shape == e.shape and y.dtype == e.dtype
        is_number = type(y.array) is type(numbers(0.0))
        assert is_number or not (row.order and e.dtype.kind == 'f')
        scale = max(np.abs(e.array[np.isfinite(e.array)]).max(initial=0.0), 1.0)
        np.testing.assert_allclose(rounded(y.array) if is_number else y.array, e.array, 1e-12, 1e-12 * scale)


@over_rows(lambda row: row.order >= 1)
def test_gradient(row: Row, case: Case) -> None:
    check(row, case, 1)


@over_rows(lambda row: row.order >= 2)
def test_double_gradient(row: Row, case: Case) -> None:
    check(row, case, 2)


# --- the lists say nothing but what is so --------------------------------------------------------------------------
def cases_of(name: str) -> list[tuple[Row, Case]]:
    found = [(row, case) for _, row, case in CASES if str(row) == name]
    assert found, f'{name} is not a row'
    return found


@pytest.mark.parametrize('name', ROUNDED_CONSTANTS)
def test_constants_are_rounded_where_the_list_says_so(name: str) -> None:
    assert any(check(*pair, order) > EXACT for pair in cases_of(name) for order in (1, 2))


@pytest.mark.parametrize('name', NOT_ON_NUMBERS)
def test_what_cannot_be_computed_on_numbers_raises(name: str) -> None:
    row, case = cases_of(name)[0]
    function, xs = bound(row, case, [numbers(a) if a.dtype.kind == 'f' else a for a in row.draw(case)])
    with using(), pytest.raises(TypeError, match='would lose digits'):
        function(*map(chainer.Variable, xs))


@pytest.mark.parametrize('name', CANCELLING)
def test_float64_gradients_cancel_where_the_list_says_so(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(CANCELLING, name)
    ((row, case),) = [(row, case) for n, row, case in CASES if n == name]
    with pytest.raises(AssertionError, match='in float64'):
        check(row, case, 1)


# --- the test finds what it is for ---------------------------------------------------------------------------------
def row_of(op: Any, reference: Any) -> tuple[Row, Case]:
    row, case = next((row, case) for _, row, case in CASES if row.name == 'tanh')
    object.__setattr__(row := Row(**{**row.__dict__, 'call': op, 'reference': reference}), 'variant', 'planted')
    return row, case


@pytest.mark.parametrize('order', [1, 2])
@pytest.mark.parametrize('factor', [1 + 1e-6, 1 + 1e-12])
def test_a_planted_factor_is_found(factor: float, order: int) -> None:
    @elementwise(lambda m, gy, y: factor * (gy - gy * y * y))
    def wrong(xp: Any, x: Any) -> Any:
        return xp.tanh(x)

    with pytest.raises(AssertionError, match=f'order {order}'):
        check(*row_of(wrong, np.tanh), order)


def test_a_planted_factor_in_the_second_derivative_is_found() -> None:
    @elementwise(lambda m, gy, x: -gy * (1 + 1e-12) * m.sin(x))
    def almost_cos(xp: Any, x: Any) -> Any:
        return xp.cos(x)

    @elementwise(lambda m, gy, x: gy * m.almost_cos(x))
    def wrong(xp: Any, x: Any) -> Any:
        return xp.sin(x)

    check(*row_of(wrong, np.sin), 1)
    with pytest.raises(AssertionError, match='order 2'):
        check(*row_of(wrong, np.sin), 2)


# --- around the table ----------------------------------------------------------------------------------------------
def test_object_arrays_of_users_are_refused_as_before() -> None:
    with pytest.raises(chainer.utils.type_check.InvalidType, match='float'):
        F.tanh(np.array([1.0, 2.0], object))
    with using(), pytest.raises(chainer.utils.type_check.InvalidType, match='float'):
        F.tanh(np.array([1.0, 2.0], object))


def test_backward_and_leaves() -> None:
    x, w = chainer.Variable(numbers(np.arange(3.0))), chainer.Variable(numbers(np.ones((3, 2)) / 3))
    with using():
        y = F.sum(F.tanh(x @ w))
        y.backward()
    assert type(x.grad) is type(w.grad) is type(x.array)
    expected = (1 - np.tanh(1.0) ** 2) * 2 / 3
    np.testing.assert_allclose(rounded(x.grad), expected, 1e-15)


@pytest.mark.parametrize('setting', ['debug', 'keep_graph_on_report'])
def test_debug_mode(setting: str) -> None:
    with using(), chainer.using_config(setting, True):
        x = chainer.Variable(numbers(np.arange(1.0, 4.0)))
        (gx,) = chainer.grad([F.log(x)], [x], [chainer.Variable(numbers(np.ones(3)))])
    np.testing.assert_array_equal(rounded(gx.array), 1 / np.arange(1.0, 4.0))


def test_a_function_node_of_a_user() -> None:
    class Cube(chainer.FunctionNode):
        def check_type_forward(self, in_types: Any) -> None:
            chainer.utils.type_check.expect(in_types[0].dtype.kind == 'f')

        def forward(self, inputs: Any) -> Any:
            self.retain_inputs((0,))
            return (inputs[0] ** 3,)

        def backward(self, indexes: Any, gys: Any) -> Any:
            (x,) = self.get_retained_inputs()
            return (3 * x * x * gys[0],)

    def function(x: Any) -> Any:
        return outputs_of(Cube().apply((x,))[0])

    x, gy, d = numbers(np.array([0.3, 2.0])), numbers(np.array([1.0, -1.0])), numbers(np.array([0.7, 0.2]))
    with using():
        error = (gradients(function, [x], [gy])[0] * d).sum() - difference(function, [x], [gy], [d])
    assert abs(rounded(error)) < 1e-28
