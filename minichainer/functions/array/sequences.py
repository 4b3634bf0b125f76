"""Batches of sequences of different lengths."""

from __future__ import annotations

from typing import Any

from minichainer.backend import get_array_module
from minichainer.function_node import FunctionNode
from minichainer.functions._checks import check_int, check_number, misfit
from minichainer.functions.array._checks import check_one_dtype, number_in
from minichainer.variable import Variable, as_variable

Shape = tuple[int, ...]


class _Sequences(FunctionNode):
    """A node of sequences, whose gradients are sequences of the same lengths."""

    #: Shapes of the outputs, and their dtype.
    shapes: list[Shape]
    dtype_of_outputs: Any

    def filled(self, grad_outputs: Any) -> list[Any]:
        """The gradients, zeros for outputs that got none."""
        known = next(g for g in grad_outputs if g is not None)
        xp = get_array_module(getattr(known, 'array', known))
        pairs = zip(grad_outputs, self.shapes, strict=True)
        return [xp.zeros(shape, self.dtype_of_outputs) if g is None else g for g, shape in pairs]

    def lengths_of_inputs(self) -> list[int]:
        return [edge.shape[0] for edge in self._applied_edges()]


class PadSequence(_Sequences):
    """Puts sequences into one array; its gradient is :class:`UnpadSequence`."""

    def __init__(self, length: int, padding: Any) -> None:
        self.length = length
        self.padding = padding

    def forward(self, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        xp = get_array_module(*inputs)
        shape = (len(inputs), self.length, *inputs[0].shape[1:])
        padded = xp.full(shape, self.padding, inputs[0].dtype)
        for row, x in zip(padded, inputs, strict=True):
            row[: len(x)] = x
        return (padded,)

    def backward_arrays(self, indexes: Any, grad_outputs: Any) -> Any:
        lengths = self.lengths_of_inputs()
        return [grad_outputs[0][i, : lengths[i]] for i in indexes]

    def backward(self, target_input_indexes: Any, grad_outputs: Any) -> Any:
        parts = UnpadSequence(self.lengths_of_inputs()).apply(grad_outputs)
        return tuple([parts[i] for i in target_input_indexes])


class UnpadSequence(_Sequences):
    """Takes sequences out of one array; its gradient is :class:`PadSequence`."""

    def __init__(self, lengths: list[int]) -> None:
        self.lengths = lengths

    def forward(self, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        (x,) = inputs
        parts = tuple([row[:length] for row, length in zip(x, self.lengths, strict=True)])
        self.shapes, self.dtype_of_outputs = [part.shape for part in parts], x.dtype
        return parts

    def backward(self, target_input_indexes: Any, grad_outputs: Any) -> Any:
        length = self._applied_edges()[0].shape[1]
        return PadSequence(length, 0).apply(self.filled(grad_outputs))


def pad_sequence(xs: Any, length: Any = None, padding: Any = 0) -> Variable:
    """Puts sequences of different lengths into one array, filled up at the ends.

    Args:
        xs: sequence of Variables or arrays of one dtype, equal in shape but for axis 0.
        length: the common length; None for that of the longest.
        padding: the number that fills; in an integer dtype it is cut off to an integer, and wraps around.

    Returns:
        Variable of shape ``(len(xs), length, ...)``.

    Raises:
        InvalidType: shapes or dtypes do not fit, a sequence is longer than ``length``, or ``xs`` is empty.
        ValueError: ``padding`` is NaN, and the dtype has none.
        OverflowError: ``padding`` is no number of 64 bits, and the dtype is an integer one.

    >>> import numpy as np, minichainer.functions as F
    >>> F.pad_sequence([np.array([1., 2.]), np.array([3.])], padding=-1)
    variable([[ 1.,  2.],
              [ 3., -1.]])
    """
    xs = [as_variable(x) for x in xs]
    _check(xs, 'PadSequence')
    check_number(padding, 'pad_sequence', 'padding')
    if length is not None:
        check_int(length, 'pad_sequence', 'length')
    longest = max(x.shape[0] for x in xs)
    if length is not None and longest > length:
        raise misfit('PadSequence', f'sequences of length <= {length}', f'one of length {longest}')
    filling = number_in(xs[0].dtype, padding, 'pad_sequence')
    return PadSequence(longest if length is None else length, filling).apply(xs)[0]


def _check(xs: list[Variable], op: str) -> None:
    check_one_dtype(xs, op)
    for i, x in enumerate(xs):
        if x.ndim == 0:
            raise misfit(op, 'arrays with at least one axis', f'array {i} has none')
        if x.shape[1:] != xs[0].shape[1:]:
            raise misfit(op, f'shape {xs[0].shape} but for axis 0', f'{x.shape} of array {i}')


class TransposeSequence(_Sequences):
    """Makes of sequences of decreasing lengths the list of their elements per step; its gradient is such a one.

    Args:
        lengths: lengths of the outputs: how many inputs have an element at that step.
    """

    def __init__(self, lengths: list[int]) -> None:
        self.lengths = lengths

    def forward(self, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        tail, dtype = inputs[0].shape[1:], inputs[0].dtype
        steps = get_array_module(*inputs).zeros((len(self.lengths), len(inputs), *tail), dtype)
        for i, x in enumerate(inputs):
            steps[: len(x), i] = x
        self.shapes, self.dtype_of_outputs = [(length, *tail) for length in self.lengths], dtype
        return tuple([step[:length] for step, length in zip(steps, self.lengths, strict=True)])

    def backward_arrays(self, indexes: Any, grad_outputs: Any) -> Any:
        xp = get_array_module(*[g for g in grad_outputs if g is not None])
        tail = self.shapes[0][1:]
        found = [xp.zeros((self._applied_edges()[i].shape[0], *tail), self.dtype_of_outputs) for i in indexes]
        for step, gradient in enumerate(grad_outputs):
            if gradient is not None:
                for place, i in enumerate(indexes):
                    if i < len(gradient):
                        found[place][step] = gradient[i]
        return found

    def backward(self, target_input_indexes: Any, grad_outputs: Any) -> Any:
        parts = TransposeSequence(self.lengths_of_inputs()).apply(self.filled(grad_outputs))
        return tuple([parts[i] for i in target_input_indexes])


def transpose_sequence(xs: Any) -> tuple[Variable, ...]:
    """Makes of a batch of sequences the batches of their elements at each step.

    Args:
        xs: sequence of Variables or arrays of one dtype, in order of decreasing length, equal in shape but for
            axis 0.

    Returns:
        Tuple of Variables, as many as the first sequence has elements; number t has the elements at step t of all
        sequences that are longer than t.

    Raises:
        InvalidType: shapes or dtypes do not fit, or a sequence is longer than the one before it.

    >>> import numpy as np, minichainer.functions as F
    >>> F.transpose_sequence([np.array([1., 2.]), np.array([3.])])
    (variable([1., 3.]), variable([2.]))
    """
    xs = [as_variable(x) for x in xs]
    if not xs:
        return ()
    _check(xs, 'TransposeSequence')
    lengths = [x.shape[0] for x in xs]
    if any(a < b for a, b in zip(lengths, lengths[1:], strict=False)):
        raise misfit('TransposeSequence', 'sequences in order of decreasing length', f'lengths {lengths}')
    if lengths[0] == 0:
        return ()
    return TransposeSequence(_lengths_transposed(lengths)).apply(xs)


def _lengths_transposed(lengths: list[int]) -> list[int]:
    """For each step, how many of the sequences (of decreasing lengths) are longer."""
    ends = [*lengths, 0]
    return [i for i in range(len(lengths), 0, -1) for _ in range(ends[i], ends[i - 1])]
