"""Batches of sequences of different lengths."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from minichainer.functions._arguments import Arguments
from minichainer.functions._define import primitive
from minichainer.functions.array.joining import Shape, are_alike
from minichainer.kernels import sequences as kernels
from minichainer.variable import Variable, as_variable

_pad = Arguments('PadSequence', 'pad_sequence')
_transpose = Arguments('TransposeSequence', 'transpose_sequence')


def _lengths(shapes: tuple[Shape, ...]) -> list[int]:
    return [shape[0] for shape in shapes]


@primitive(rule=lambda m, gy, xs_shape: m.sequences_of_rows(gy, _lengths(xs_shape)), name='PadSequence')
def rows_of_sequences(xp: Any, *xs: Any, length: int, padding: Any) -> Any:
    return kernels.rows_of_sequences(xp, xs, length, padding)


@primitive(
    rule=(lambda m, gy, x_shape: m.rows_of_sequences(*gy, length=x_shape[1], padding=0),),
    name='UnpadSequence',
    several_outputs=True,
    linear_in=('x',),
)
def sequences_of_rows(xp: Any, x: Any, lengths: list[int]) -> Any:
    return tuple([x[i, :length] for i, length in enumerate(lengths)])


def pad_sequence(xs: Any, length: Any = None, padding: Any = 0) -> Variable:
    """Puts sequences of different lengths into one array, filled up at the ends.

    Args:
        xs: sequence of Variables or arrays of one dtype, equal in shape except for axis 0.
        length: the common length; None for that of the longest.
        padding: the number that fills; in an integer dtype it is cut off to an integer, and wraps around.

    Returns:
        Variable of shape ``(len(xs), length, ...)``.

    Raises:
        TypeError: ``xs`` is one array or Variable.
        InvalidType: shapes or dtypes do not fit, a sequence is longer than ``length``, or ``xs`` is empty.
        ValueError: ``padding`` is NaN, and the dtype an integer one; in a bool dtype it is True.
        OverflowError: ``padding`` does not have 64 bits, and the dtype is an integer one.

    >>> import numpy as np, minichainer.functions as F
    >>> F.pad_sequence([np.array([1., 2.]), np.array([3.])], padding=-1)
    variable([[ 1.,  2.],
              [ 3., -1.]])
    """
    xs = [as_variable(x) for x in _pad.several(xs)]
    _check(_pad, xs)
    _pad.number(padding, 'padding')
    longest = max(x.shape[0] for x in xs)
    length = longest if length is None else _pad.integer(length, 'length')
    if longest > length:
        raise _pad.misfit(f'sequences of length <= {length}', f'one of length {longest}')
    y: Variable = rows_of_sequences(*xs, length=length, padding=_number_in(xs[0].dtype, padding))
    return y


def _check(arguments: Arguments, xs: list[Variable]) -> None:
    if are_alike(xs) and xs[0].ndim:
        return
    arguments.one_dtype(*xs)
    for i, x in enumerate(xs):
        if x.ndim == 0:
            raise arguments.misfit('arrays with at least one axis', f'array {i} has none')
        if x.shape[1:] != xs[0].shape[1:]:
            raise arguments.misfit(f'shape {xs[0].shape} except for axis 0', f'{x.shape} of array {i}')


def _number_in(dtype: Any, value: Any) -> Any:
    """A number converted to a dtype: for integers, truncated and wrapped around, in every version of NumPy.

    Raises:
        ValueError: it is NaN, and the dtype has no NaN.
        OverflowError: it does not fit 64 bits.
    """
    if dtype.kind == 'b':
        return bool(value)
    if dtype.kind not in 'iu':
        return value
    whole = int(value)
    if not -(1 << 63) <= whole < 1 << (64 if dtype.kind == 'u' else 63):
        raise OverflowError(f'pad_sequence: a number of 64 bits expected for dtype {dtype}, got {value}')
    bits = 8 * dtype.itemsize
    wrapped = whole % (1 << bits)
    return wrapped - (1 << bits) if dtype.kind == 'i' and wrapped >> (bits - 1) else wrapped


@primitive(
    rule=lambda m, gy, xs_shape: m.steps_of_sequences(*gy, lengths=_lengths(xs_shape)),
    name='TransposeSequence',
    several_outputs=True,
    linear_in=('xs',),
)
def steps_of_sequences(xp: Any, *xs: Any, lengths: list[int]) -> Any:
    """The elements at each step; ``lengths`` are the numbers of sequences that have that step."""
    steps = kernels.steps_of_sequences(xp, xs, len(lengths))
    return tuple([step[:length] for step, length in zip(steps, lengths, strict=True)])


def transpose_sequence(xs: Any) -> tuple[Variable, ...]:
    """Makes of a batch of sequences the batches of their elements at each step.

    Args:
        xs: sequence of Variables or arrays of one dtype, in order of decreasing length, equal in shape except for
            axis 0.

    Returns:
        Tuple of Variables, as many as the first sequence has elements; number t has the elements at step t of all
        sequences that are longer than t.

    Raises:
        TypeError: ``xs`` is one array or Variable.
        InvalidType: shapes or dtypes do not fit, or a sequence is longer than the one before it.

    >>> import numpy as np, minichainer.functions as F
    >>> F.transpose_sequence([np.array([1., 2.]), np.array([3.])])
    (variable([1., 3.]), variable([2.]))
    """
    xs = [as_variable(x) for x in _transpose.several(xs)]
    if not xs:
        return ()
    _check(_transpose, xs)
    lengths = [x.shape[0] for x in xs]
    if any(a < b for a, b in pairwise(lengths)):
        raise _transpose.misfit('sequences in order of decreasing length', f'lengths {lengths}')
    if lengths[0] == 0:
        return ()
    steps: tuple[Variable, ...] = steps_of_sequences(*xs, lengths=_lengths_transposed(lengths))
    return steps


def _lengths_transposed(lengths: list[int]) -> list[int]:
    """For each step, the number of longer sequences; lengths are decreasing."""
    ends = [*lengths, 0]
    return [i for i in range(len(lengths), 0, -1) for _ in range(ends[i], ends[i - 1])]
