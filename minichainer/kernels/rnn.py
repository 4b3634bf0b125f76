"""Recurrent layers on arrays: the loops over steps, forward and backward.

A batch of sequences is packed: the rows of step 0, then those of step 1, ...; the rows of a step belong to the first
sequences of the batch. So a layer multiplies the inputs of all steps in one gemm, and computes each weight gradient
in one too. The loop over steps contains only the product with the state and the elementwise part of the cell. The
part of the gradient that does not depend on later steps is computed for all steps at once, before the loop.

Logistic sigmoids are :math:`1 / (1 + e^{-z})`, which is accurate where it is tiny; ``(1 + tanh(z / 2)) / 2`` is
exactly 0 below 3e-8. Internally, arrays are float32 or float64.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy

from minichainer.kernels.precision import in_float32
from minichainer.kernels.rnn_steps import gru_step, gru_step_backward, lstm_step, lstm_step_backward

#: First and last row of each step, in the order of computation.
Spans = Sequence[tuple[int, int]]


class Weights(NamedTuple):
    """The parameters of one layer in one direction, with the gates stacked in the cell's order."""

    #: Weights of the input ``(gates * units, inputs)`` and of the state ``(gates * units, units)``.
    x: Any
    h: Any
    #: Both biases ``(gates * units,)``.
    bx: Any
    bh: Any


class Cell:
    """The computation of a step. Gates are in the kernel's own order, those with a sigmoid first."""

    #: Number of arrays in the state.
    states = 1
    #: The index of each gate among the parameters.
    order: tuple[int, ...]

    def forward(self, xp: Any, z: Any, w: Weights, states: list[Any], y: Any, spans: Spans) -> tuple[Any, ...]:
        """Computes all steps; writes the outputs to ``y`` and the last states to ``states``.

        Args:
            xp: numpy or cupy.
            z: the input's part of the gates, without bias, ``(rows, gates * units)``; may be overwritten.
            w: the parameters.
            states: arrays ``(batch, units)`` before the first step.
            y: array ``(rows, units)`` for the outputs.
            spans: rows of each step.

        Returns:
            What :meth:`backward` needs; its first element is the state before each step, ``(rows, units)``.
        """
        raise NotImplementedError

    def backward(self, xp: Any, saved: tuple[Any, ...], Wh: Any, gy: Any, gstates: list[Any], spans: Spans) -> Any:
        """Computes the gradients of all steps; overwrites ``gstates`` with the gradients of the first states.

        Args:
            xp: numpy or cupy.
            saved: returned by :meth:`forward`; not changed.
            Wh: the state's weights ``(gates * units, units)``.
            gy: gradients of the outputs ``(rows, units)``.
            gstates: gradients of the last states; overwritten.
            spans: as in :meth:`forward`.

        Returns:
            Gradients of the input's and the state's part of the gates, ``(rows, gates * units)`` each; the same array
                twice where they are equal.
        """
        raise NotImplementedError


class LSTM(Cell):
    """Long short-term memory; gates o, i, f, g."""

    states = 2
    order = (3, 0, 1, 2)

    def forward(self, xp: Any, z: Any, w: Weights, states: list[Any], y: Any, spans: Spans) -> tuple[Any, ...]:
        h, c = states
        n = h.shape[1]
        before_h, before_c, squashed = (xp.empty((len(z), n), z.dtype) for _ in range(3))
        gates, product, new = xp.empty(z.size, z.dtype), xp.empty((len(h), 4 * n), z.dtype), xp.empty_like(h)
        Wh, b = _transposed(w.h), (w.bx + w.bh).reshape(4, 1, n)
        with numpy.errstate(over='ignore'):  # in the exponentials of the gates
            for begin, end in spans:
                size = end - begin
                state, cell, tanh_c = h[:size], c[:size], squashed[begin:end]
                before = before_h[begin:end], before_c[begin:end]
                values = _gates_of_step(gates, begin, end, 4, n)
                xp.dot(state, Wh, out=product[:size])
                outs = state, cell, *before, tanh_c, y[begin:end], values
                lstm_step(xp, product[:size], z[begin:end], b, new[:size], *outs)
        return before_h, before_c, squashed, gates

    def backward(self, xp: Any, saved: tuple[Any, ...], Wh: Any, gy: Any, gstates: list[Any], spans: Spans) -> Any:
        before_h, before_c, squashed, gates = saved
        gh, gc = gstates
        n = gh.shape[1]
        gz, work, slopes = xp.empty((len(before_h), 4 * n), gates.dtype), xp.empty(4 * gh.size, gh.dtype), gh.copy()
        for begin, end in reversed(spans):
            size = end - begin
            dh, dc, slope, tanh_c = gh[:size], gc[:size], slopes[:size], squashed[begin:end]
            values, d = _gates_of_step(gates, begin, end, 4, n), _gates_of_step(work, 0, size, 4, n)
            ins = gy[begin:end], tanh_c, before_c[begin:end], values
            lstm_step_backward(xp, *ins, slope, d, dh, dc, gz[begin:end])
            xp.dot(gz[begin:end], Wh, out=dh)
        return gz, gz


class GRU(Cell):
    """Gated recurrent unit; gates r, z, and the candidate."""

    order = (0, 1, 2)

    def forward(self, xp: Any, z: Any, w: Weights, states: list[Any], y: Any, spans: Spans) -> tuple[Any, ...]:
        (h,) = states
        n = h.shape[1]
        before, from_state = (xp.empty((len(z), n), z.dtype) for _ in range(2))
        gates, work, product = (xp.empty(size, z.dtype) for size in (z.size, 3 * h.size, (len(h), 3 * n)))
        Wh, bx, bh = _transposed(w.h), w.bx.reshape(3, 1, n), w.bh.reshape(3, 1, n)
        with numpy.errstate(over='ignore'):  # in the exponentials of the gates
            for begin, end in spans:
                size = end - begin
                state = h[:size]
                values, of_state = _gates_of_step(gates, begin, end, 3, n), _gates_of_step(work, 0, size, 3, n)
                xp.dot(state, Wh, out=product[:size])
                outs = state, before[begin:end], from_state[begin:end], y[begin:end], values
                gru_step(xp, product[:size], z[begin:end], bx, bh, of_state, *outs)
        return before, from_state, gates

    def backward(self, xp: Any, saved: tuple[Any, ...], Wh: Any, gy: Any, gstates: list[Any], spans: Spans) -> Any:
        before, from_state, gates = saved
        (gh,) = gstates
        n = gh.shape[1]
        gx, ga = (xp.empty((len(before), 3 * n), gates.dtype) for _ in range(2))
        work, unchanged = xp.empty(3 * gh.size, gh.dtype), xp.empty_like(gh)
        for begin, end in reversed(spans):
            size = end - begin
            dh, rest = gh[:size], unchanged[:size]
            values, d = _gates_of_step(gates, begin, end, 3, n), _gates_of_step(work, 0, size, 3, n)
            ins = gy[begin:end], before[begin:end], from_state[begin:end], values
            gru_step_backward(xp, *ins, d, dh, rest, gx[begin:end], ga[begin:end])
            xp.dot(ga[begin:end], Wh, out=dh)
            dh += rest
        return gx, ga


class Elman(Cell):
    """The plain recurrent layer, with tanh or relu."""

    order = (0,)

    def __init__(self, activation: str) -> None:
        self.activation = activation

    def forward(self, xp: Any, z: Any, w: Weights, states: list[Any], y: Any, spans: Spans) -> tuple[Any, ...]:
        (h,) = states
        before, Wh, b = xp.empty_like(z), _transposed(w.h), w.bx + w.bh
        for begin, end in spans:
            new = z[begin:end]
            before[begin:end] = h[: end - begin]
            new += before[begin:end].dot(Wh)
            new += b
            if self.activation == 'tanh':
                xp.tanh(new, out=new)
            else:
                xp.maximum(new, 0, out=new)
            h[: end - begin] = new
            y[begin:end] = new
        return before, z

    def backward(self, xp: Any, saved: tuple[Any, ...], Wh: Any, gy: Any, gstates: list[Any], spans: Spans) -> Any:
        _, after = saved
        (gh,) = gstates
        gz = 1 - after * after if self.activation == 'tanh' else xp.asarray(after != 0, after.dtype)
        for begin, end in reversed(spans):
            dh = gh[: end - begin]
            dh += gy[begin:end]
            gz[begin:end] *= dh
            xp.dot(gz[begin:end], Wh, out=dh)
        return gz, gz


def _gates_of_step(flat: Any, begin: int, end: int, gates: int, n: int) -> Any:
    """One step of an array that stores, for each step, one gate after another: ``(gates, rows, n)``.

    In this order each gate is contiguous, and the elementwise part is four times as fast as on columns of a matrix.
    """
    width = gates * n
    return flat[begin * width : end * width].reshape(gates, end - begin, n)


def _transposed(weights: Any) -> Any:
    """The transposed matrix, C-contiguous: that makes the small product of each step twice as fast."""
    return weights.T.copy(order='C')


def spans_of(sizes: Sequence[int], backward: bool = False) -> Spans:
    """The rows of each step, from the numbers of rows; in reverse order for a backward layer."""
    spans, end = [], 0
    for size in sizes:
        spans.append((end, end + size))
        end += size
    return spans[::-1] if backward else spans


def layer_forward(xp: Any, cell: Cell, w: Weights, x: Any, states: list[Any], y: Any, spans: Spans) -> Any:
    """One layer in one direction over all steps.

    Args:
        xp: numpy or cupy.
        cell: the computation of a step.
        w: the parameters.
        x: packed inputs ``(rows, inputs)``.
        states: arrays ``(batch, units)``, C-contiguous; overwritten with the states after the last step.
        y: array ``(rows, units)`` for the outputs.
        spans: rows of each step, from :func:`spans_of`.

    Returns:
        What :func:`layer_backward` needs.
    """
    return cell.forward(xp, x.dot(w.x.T), w, states, y, spans)


def layer_backward(
    xp: Any, cell: Cell, w: Weights, x: Any, saved: Any, gy: Any, gstates: list[Any], spans: Spans, wanted: Any
) -> tuple[Any, Weights | None]:
    """Gradients of :func:`layer_forward`.

    Args:
        cell: the computation of a step.
        cell: what a step computes.
        w: the parameters.
        x: packed inputs.
        saved: from :func:`layer_forward`; not changed.
        gy: gradients of the outputs ``(rows, units)``.
        gstates: gradients of the last states, C-contiguous; overwritten with those of the first states.
        spans: as in :func:`layer_forward`.
        wanted: whether the gradients of the inputs, and those of the parameters, are wanted.

    Returns:
        Gradients of ``x`` and of the parameters; None where not wanted.
    """
    gz, ga = cell.backward(xp, saved, w.h, gy, gstates, spans)
    gx = gz.dot(w.x) if wanted[0] else None
    if not wanted[1]:
        return gx, None
    ones = xp.ones(len(gz), gz.dtype)
    gbx = ones.dot(gz)
    gbh = gbx if ga is gz else ones.dot(ga)
    return gx, Weights(gz.T.dot(x), ga.T.dot(saved[0]), gbx, gbh)


class Layers(NamedTuple):
    """What :func:`layers_backward` needs: weights, input and saved arrays of each layer and direction."""

    weights: Sequence[Weights]
    inputs: Sequence[Any]
    saved: Sequence[Any]
    sizes: Sequence[int]
    directions: int


def layers_forward(
    xp: Any, cell: Cell, weights: Sequence[Weights], masks: Any, states: Any, steps: Sequence[Any], directions: int
) -> tuple[list[Any], Any, Layers]:
    """Stacked layers, each in one or both directions.

    Args:
        xp: numpy or cupy.
        cell: the computation of a step.
        weights: the parameters of each layer and direction.
        masks: for each of them, factors of its packed inputs, or None.
        states: arrays ``(layers * directions, batch, units)``.
        steps: the inputs ``(size, inputs)`` of each step.
        directions: 1 or 2.

    Returns:
        The last states, the outputs of the last layer ``(rows, directions * units)``, and what
        :func:`layers_backward` needs. Arrays of float16 are computed, and returned, in float32.
    """
    last = [xp.array(in_float32(s), order='C') for s in states]
    units, sizes = last[0].shape[2], [len(step) for step in steps]
    y = xp.concatenate(steps) if steps else xp.empty((0, weights[0].x.shape[1]))
    y = y.astype(last[0].dtype, copy=False)
    inputs, saved = [], []
    for begin in range(0, len(weights), directions):
        x, y = y, xp.empty((len(y), directions * units), y.dtype)
        for direction in range(directions):
            at = begin + direction
            inputs.append(x if masks[at] is None else x * masks[at])
            part = y[:, direction * units : (direction + 1) * units]
            first, spans = [s[at] for s in last], spans_of(sizes, direction == 1)
            saved.append(layer_forward(xp, cell, weights[at], inputs[at], first, part, spans))
    return last, y, Layers(weights, inputs, saved, sizes, directions)


def layers_backward(
    xp: Any, cell: Cell, layers: Layers, masks: Any, gstates: Any, gsteps: Any, wanted: tuple[bool, bool]
) -> tuple[list[Any], list[Weights | None], Any]:
    """Gradients of :func:`layers_forward`.

    Args:
        xp: numpy or cupy.
        cell: the computation of a step.
        layers: returned by :func:`layers_forward`.
        masks: as in :func:`layers_forward`.
        gstates: gradients of the last states.
        gsteps: gradients of the outputs at each step.
        wanted: whether the gradients of the inputs, and those of the parameters, are wanted.

    Returns:
        Gradients of the states, of the parameters of each layer and direction, and of the packed inputs.
    """
    dtype, units = layers.weights[0].x.dtype, gstates[0].shape[2]
    gstates = [xp.array(g, dtype=dtype, order='C') for g in gstates]
    gy = xp.concatenate(gsteps) if gsteps else xp.zeros((0, layers.directions * units))
    gy = gy.astype(dtype, copy=False)
    gradients: list[Any] = [None] * len(layers.weights)
    for begin in reversed(range(0, len(gradients), layers.directions)):
        gx: Any = None
        for direction in reversed(range(layers.directions)):
            at = begin + direction
            part = gy[:, direction * units : (direction + 1) * units]
            found, gradients[at] = layer_backward(
                xp,
                cell,
                layers.weights[at],
                layers.inputs[at],
                layers.saved[at],
                part,
                [g[at] for g in gstates],
                spans_of(layers.sizes, direction == 1),
                (begin > 0 or wanted[0], wanted[1]),
            )
            if found is not None and masks[at] is not None:
                found *= masks[at]
            gx = found if gx is None else gx + found
        gy = gx
    return gstates, gradients, gy
