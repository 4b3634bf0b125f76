"""Operators of Variable beyond the table: dtypes of operands, refusals, what comes back."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F
from minichainer.utils.type_check import InvalidType

V = chainer.Variable
ARITHMETIC = {
    '+': operator.add, '-': operator.sub, '*': operator.mul, '/': operator.truediv, '//': operator.floordiv,
    '**': operator.pow,
}  # fmt: skip
COMPARISONS = {
    '==': operator.eq, '!=': operator.ne, '<': operator.lt, '<=': operator.le, '>': operator.gt, '>=': operator.ge,
}  # fmt: skip
arithmetic = pytest.mark.parametrize('function', ARITHMETIC.values(), ids=ARITHMETIC)


@arithmetic
@pytest.mark.parametrize('other', ['d', 'e', 'i', 'B'])
def test_a_raw_array_takes_the_dtype_of_the_variable(function: Any, other: str) -> None:
    x, array = V(np.array([1.0, 2.0, 3.0], 'f')), np.array([1, 2, 2], other)
    for y, expected in (
        (function(x, array), function(x.array, array.astype('f'))),
        (function(array, x), function(array.astype('f'), x.array)),
    ):
        assert isinstance(y, V) and y.dtype == np.float32
        np.testing.assert_array_equal(y.array, expected)


@arithmetic
@pytest.mark.parametrize('dtype', 'efd')
@pytest.mark.parametrize(
    'number',
    [2, 2.5, True, np.float64(2.5), np.float32(1.5), np.float16(2), np.int64(2), np.bool_(True), np.uint8(3)],
)
def test_a_number_leaves_the_dtype_alone(function: Any, dtype: str, number: Any) -> None:
    x = V(np.array([1.0, 2.5, 3.0], dtype))
    wide = float(number)
    for y, expected in (
        (function(x, number), function(x.array.astype('d'), wide)),
        (function(number, x), function(wide, x.array.astype('d'))),
    ):
        assert isinstance(y, V) and y.dtype == np.dtype(dtype)
        np.testing.assert_allclose(y.array, expected, rtol={'e': 4e-3, 'f': 1e-6, 'd': 1e-14}[dtype])


@arithmetic
def test_a_0d_array_on_the_left_leaves_it_to_the_variable(function: Any) -> None:
    x = V(np.array([1.0, 2.0], 'f'))
    y = function(np.array(2.0), x)
    assert isinstance(y, V) and y.dtype == np.float32 and y.shape == (2,)


@pytest.mark.parametrize('symbol', ['+', '-', '*', '//'])
def test_integer_variables(symbol: str) -> None:
    function = ARITHMETIC[symbol]
    a, b = np.array([7, -7, 3], 'i'), np.array([2, 2, -2], 'i')
    for y, expected in (
        (function(V(a), V(b)), function(a, b)), (function(V(a), 2), function(a, np.int32(2))),
        (function(2, V(b)), function(np.int32(2), b)), (function(V(a), b), function(a, b)),
    ):  # fmt: skip
        assert y.dtype == np.int32
        np.testing.assert_array_equal(y.array, expected)


@arithmetic
@pytest.mark.parametrize('value', ['a', None, [1.0, 2.0], (1, 2), {}, object()], ids=lambda v: type(v).__name__)
def test_other_operands_are_refused_on_either_side(function: Any, value: Any) -> None:
    x = V(np.ones(2))
    for call in (lambda: function(x, value), lambda: function(value, x)):
        with pytest.raises(TypeError):
            call()


@pytest.mark.parametrize('symbol', ['+', '-', '*', '/', '**'])
def test_two_variables_of_different_dtypes_are_refused(symbol: str) -> None:
    with pytest.raises(InvalidType) as caught:
        ARITHMETIC[symbol](V(np.ones(2, 'f')), V(np.ones(2, 'd')))
    message = str(caught.value)
    assert all(word in message for word in (f'_ {symbol} _', 'lhs.dtype == rhs.dtype', 'float32 != float64'))


@pytest.mark.parametrize('symbol', COMPARISONS)
@pytest.mark.parametrize('other', [1.0, np.ones(2), V(np.ones(2))], ids=['number', 'array', 'Variable'])
def test_comparisons_are_refused_with_the_remedy(symbol: str, other: Any) -> None:
    with pytest.raises(TypeError, match='compare the arrays') as caught:
        COMPARISONS[symbol](V(np.ones(2)), other)
    assert f' {symbol} ' in str(caught.value)


def test_bool_is_refused_with_the_remedy() -> None:
    for size in (1, 2):
        with pytest.raises(TypeError, match=r'bool\(x.array\)'):
            bool(V(np.ones(size)))


def test_variables_are_not_hashable_as_in_chainer() -> None:
    with pytest.raises(TypeError, match='unhashable'):
        hash(V(np.ones(1)))


def test_plus_returns_the_variable_itself() -> None:
    x = V(np.ones(2))
    assert +x is x


def test_augmented_assignment_makes_a_new_variable_and_leaves_the_array_alone() -> None:
    x = first = V(np.ones(2))
    x += 1
    x *= 3
    assert x is not first
    np.testing.assert_array_equal(first.array, [1.0, 1.0])
    x.grad = np.ones(2)
    x.backward()
    np.testing.assert_array_equal(first.grad, [3.0, 3.0])


@pytest.mark.parametrize(('exponent', 'derivatives'), [(1, [1.0, 0.0]), (2, [0.0, 2.0]), (3, [0.0, 0.0])])
def test_whole_powers_at_zero(exponent: int, derivatives: list[float]) -> None:
    x = V(np.array([0.0]))
    y = x**exponent
    (first,) = chainer.grad([y], [x], enable_double_backprop=True)
    assert first.array[0] == derivatives[0]
    if exponent > 1:
        (second,) = chainer.grad([first], [x])
        assert second.array[0] == derivatives[1]


def test_floor_division_has_no_graph_and_leaves_no_gradient() -> None:
    x = V(np.array([5.5, -5.5]))
    y = (x // 2) * x
    F.sum(y).backward()
    np.testing.assert_array_equal(x.grad, [2.0, -3.0])


@pytest.mark.parametrize('other', [np.ones(2, 'F'), V(np.ones(2, 'F')), np.complex64(1j), 1j], ids=str)
def test_floor_division_of_complex_numbers_is_an_error(other: Any) -> None:
    x = V(np.array([5.5, -5.5]))
    for call in (lambda: x // other, lambda: other // x):
        with pytest.raises(TypeError, match='_ // _: real numbers expected, got'):
            call()


def test_numbers_too_large_for_a_dtype_become_infinite() -> None:
    x = V(np.ones(1, 'e'))
    with np.errstate(over='ignore'):
        np.testing.assert_array_equal((x * 1e6).array, [np.inf])


@arithmetic
def test_subclasses_of_variable_are_operands(function: Any) -> None:
    p = chainer.Parameter(np.array([1.5, 2.0]))
    x = V(np.array([2.0, 3.0]))
    np.testing.assert_array_equal(function(p, x).array, function(p.array, x.array))
    np.testing.assert_array_equal(function(x, p).array, function(x.array, p.array))
    assert type(function(p, 2.0)) is V


@arithmetic
def test_uninitialized_parameters_are_named(function: Any) -> None:
    p = chainer.Parameter(name='W')
    for call in (lambda: function(p, 2.0), lambda: function(2.0, p), lambda: function(p, V(np.ones(2)))):
        with pytest.raises(Exception, match='uninitialized'):
            call()
