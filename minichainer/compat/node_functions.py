"""Functions that rows of :mod:`minichainer.compat.node_table` need besides the public ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from minichainer.backend import get_array_module
from minichainer.functions.activation.sigmoidal import sigmoid, tanh
from minichainer.functions.array.joining import concat, stack
from minichainer.functions.array.shape import broadcast_to, expand_dims, reshape
from minichainer.functions.math.einsum import einsum
from minichainer.functions.math.exponential import rsqrt
from minichainer.functions.math.reductions import mean
from minichainer.variable import Variable, as_variable


def as_tuple(x: Any) -> tuple[Any, ...]:
    """A tuple of a number, or of numbers."""
    return tuple(x) if isinstance(x, (list, tuple)) else (x,)


def expander(axis: Sequence[int], ndim: int) -> tuple[Any, ...]:
    """What gives statistics the number of axes of the array."""
    return tuple([None if i in axis else slice(None) for i in range(ndim)])


def subscripts(in_subs: str, out_sub: str) -> str:
    """Subscripts for ``einsum``, where ``@`` stands for an ellipsis."""
    return f'{in_subs}->{out_sub}'.replace('@', '...')


def diagonal_einsum(xs: Sequence[Variable], in_subs: str, out_sub: str, out_shape: Sequence[int]) -> Variable:
    """``einsum`` whose result may repeat a subscript (a diagonal), or have one that no input has (broadcast)."""
    xp, dtype = get_array_module(*xs), numpy.result_type(*[x.dtype for x in xs])
    free = iter(sorted(set('ABCDEFGHIJKLMNOPQRSTUVWXYZ') - set(in_subs + out_sub)))
    sizes = iter(_named(out_sub, out_shape))
    sources, operands, target = [in_subs], list(xs), ''
    for letter in out_sub:
        size = 0 if letter == '@' else next(sizes)
        if letter in target:
            other = next(free)
            sources.append(letter + other)
            operands.append(as_variable(xp.eye(size, dtype=dtype)))
            target += other
            continue
        if letter != '@' and letter not in in_subs:
            sources.append(letter)
            operands.append(as_variable(xp.ones(size, dtype)))
        target += letter
    return einsum(subscripts(','.join(sources), target), *operands)


def _named(out_sub: str, shape: Sequence[int]) -> Sequence[int]:
    """The sizes of the axes that have a letter."""
    left, rest, right = out_sub.partition('@')
    return (*shape[: len(left)], *shape[len(shape) - len(right) :]) if rest else shape


def divided_by_deviation(x: Variable, y: Variable, eps: float) -> Variable:
    """``y`` divided by the standard deviation of the rows of ``x``."""
    d = x - broadcast_to(mean(x, 1, keepdims=True), x.shape)
    return y * broadcast_to(expand_dims(rsqrt(mean(d * d, 1) + eps), 1), y.shape)


# --- gates ---------------------------------------------------------------------------------------------------------


def _gates(x: Variable) -> list[Any]:
    """The gates of an LSTM, a i f o, which alternate along the second axis; the first one through tanh."""
    parts = reshape(x, (len(x), x.shape[1] // 4, 4, *x.shape[2:]))
    return [parts[:, :, i] for i in range(4)]


def _in_turns(gates: Sequence[Variable]) -> Variable:
    y = stack(gates, axis=2)
    return reshape(y, (len(y), -1, *y.shape[3:]))


def _or_zero(g: Variable) -> Any:
    """A gradient; the number 0 if there is none."""
    return 0 if g.array is None else g


def _of_gates(a: Any, i: Any, f: Any, c_prev: Any, gc: Any) -> tuple[list[Any], Any]:
    """Gradients with respect to a, i and f, and to the former state."""
    a, i, f = tanh(a), sigmoid(i), sigmoid(f)
    return [gc * i * (1 - a * a), gc * a * i * (1 - i), gc * c_prev * f * (1 - f)], gc * f


def lstm_gradient(
    c_prev: Variable, x: Variable, c_next: Variable, gc: Variable, gh: Variable
) -> tuple[Variable, ...]:
    """The gradients of ``lstm(c_prev, x)`` for those of its results; the state after the step is given."""
    n, (a, i, f, o) = len(x), _gates(x)
    of_c, of_h = _or_zero(gc), _or_zero(gh)
    o, co = sigmoid(o), tanh(c_next[:n])
    present = of_c if gc.array is None else of_c[:n]
    found, former = _of_gates(a, i, f, c_prev[:n], of_h * o * (1 - co * co) + present)
    if len(c_prev) > n:
        rest = c_prev[n:] * 0 if gc.array is None else gc[n:]
        former = concat([former, rest], axis=0)
    return former, _in_turns([*found, of_h * co * o * (1 - o)])


def slstm_gradient(
    c_prev1: Variable, c_prev2: Variable, x1: Variable, x2: Variable, c_next: Variable, gc: Variable, gh: Variable
) -> tuple[Variable, ...]:
    """The gradients of ``slstm(c_prev1, c_prev2, x1, x2)``; the state after the step is given."""
    (a1, i1, f1, o1), (a2, i2, f2, o2) = _gates(x1), _gates(x2)
    of_c, of_h = _or_zero(gc), _or_zero(gh)
    o, co = sigmoid(o1 + o2), tanh(c_next)
    present, of_o = of_h * o * (1 - co * co) + of_c, of_h * co * o * (1 - o)
    found1, former1 = _of_gates(a1, i1, f1, c_prev1, present)
    found2, former2 = _of_gates(a2, i2, f2, c_prev2, present)
    return former1, former2, _in_turns([*found1, of_o]), _in_turns([*found2, of_o])
