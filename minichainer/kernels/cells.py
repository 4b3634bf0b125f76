"""Single cells with gates: their new cells and results, forward and backward."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from minichainer._native.library import kernels as native
from minichainer.kernels._dispatch import DECLINED, kernel
from minichainer.kernels.precision import in_float32
from minichainer.kernels.rnn_steps import sigmoids_of_negated


def gated_sum(xp: Any, gates: Sequence[Any], cells: Sequence[Any], inputs: int) -> tuple[Any, Any, tuple[Any, ...]]:
    r"""The cell :math:`c = \sum_k \sigma(z_k) u_k,\; h = \sigma(z_o) \tanh c`.

    The :math:`u_k` are :math:`\tanh a_j` for each new input, then the previous cells.

    Args:
        xp: numpy or cupy.
        gates: arrays of one shape: :math:`z_1 \dots z_K, z_o`, then :math:`a_1, \dots`.
        cells: previous cells, ``K - inputs`` arrays.
        inputs: number of new inputs.

    Returns:
        c, h, and what :func:`gated_sum_backward` needs; computed at least in float32.
    """
    last, cells = inputs + len(cells), [in_float32(c) for c in cells]
    z = xp.empty((len(gates), *gates[0].shape), cells[0].dtype)
    for k, gate in enumerate(gates):
        if k <= last:
            xp.negative(gate, out=z[k])
        else:
            xp.tanh(in_float32(gate), out=z[k])
    with numpy.errstate(over='ignore'):
        sigmoids_of_negated(xp, z[: last + 1])
    terms = [*z[last + 1 :], *cells]
    c = z[0] * terms[0]
    for k in range(1, last):
        c += z[k] * terms[k]
    squashed = xp.tanh(c)
    return c, z[last] * squashed, (z, terms, squashed)


@kernel(widens=True)
def gated_sum_backward(xp: Any, saved: Any, gc: Any, gh: Any, inputs: int) -> tuple[Any, ...]:
    """Gradients of :func:`gated_sum` for the gates, stacked, and for each cell; does not change ``saved``."""
    z, terms, squashed = saved
    last = len(terms)
    gz = xp.empty_like(z)
    slopes, of_new = gz[: last + 1], gz[last + 1 :]
    xp.subtract(1, z[: last + 1], out=slopes)
    slopes *= z[: last + 1]
    slopes[last] *= gh
    slopes[last] *= squashed
    total = squashed * squashed
    xp.subtract(1, total, out=total)
    total *= z[last]
    total *= gh
    total += gc
    for slope, term in zip(slopes, terms, strict=False):
        slope *= total
        slope *= term
    xp.multiply(z[last + 1 :], z[last + 1 :], out=of_new)
    xp.subtract(1, of_new, out=of_new)
    of_new *= total
    of_new *= z[:inputs]
    return (gz, *[total * gate for gate in z[inputs:last]])


def adjacent_gates(x: Any) -> Any:
    """The gates of each unit, which are adjacent: ``(B, n, 4, ...)`` of an array or Variable ``(B, 4 n, ...)``."""
    return x.reshape(x.shape[0], x.shape[1] // 4, 4, *x.shape[2:])


def joined_gates(xp: Any, gz: Any, order: Sequence[int]) -> Any:
    """The gradient of an input with adjacent gates: those of ``gz`` in this order."""
    _, batch, units, *rest = gz.shape
    gx = xp.empty((batch, units, 4, *rest), gz.dtype)
    for place, gate in enumerate(order):
        gx[:, :, place] = gz[gate]
    return gx.reshape(batch, units * 4, *rest)


@kernel
def lstm_cell(xp: Any, before: Any, x: Any) -> tuple[Any, Any, tuple[Any, ...]]:
    r"""The cell :math:`c = \sigma(i) \tanh a + \sigma(f) c_\mathrm{prev},\; h = \sigma(o) \tanh c`.

    Args:
        xp: numpy or cupy.
        before: previous cells ``(B, n, ...)``.
        x: gates a, i, f, o, adjacent for each unit, ``(B, 4 n, ...)``.

    Returns:
        As :func:`gated_sum`.
    """
    planes = adjacent_gates(x)
    return gated_sum(xp, [planes[:, :, k] for k in (1, 2, 3, 0)], [before], 1)


@lstm_cell.on_native
def _lstm_cell_native(xp: Any, before: Any, x: Any) -> Any:
    if before.ndim != 2 or x.size != 4 * before.size:
        return DECLINED
    c, h, squashed = numpy.empty_like(before), numpy.empty_like(before), numpy.empty_like(before)
    z = numpy.empty((4, *before.shape), before.dtype)
    if not native.lstm_cell(before, x, c, h, squashed, z, before.size):
        return DECLINED
    return c, h, (z, [z[3], before], squashed)


@kernel(widens=True)
def lstm_cell_backward(xp: Any, saved: Any, gc: Any, gh: Any) -> tuple[Any, Any]:
    """Gradients of :func:`lstm_cell` for the previous cells and the gates; does not change ``saved``."""
    gz, gcell = gated_sum_backward(xp, saved, gc, gh, 1)
    return gcell, joined_gates(xp, gz, (3, 0, 1, 2))


@lstm_cell_backward.on_native
def _lstm_cell_backward_native(xp: Any, saved: Any, gc: Any, gh: Any) -> Any:
    z, (_, before), squashed = saved
    if z.ndim != 3 or gc.shape != before.shape or gh.shape != before.shape:
        return DECLINED
    gcell, gx = numpy.empty_like(before), numpy.empty((z.shape[1], 4 * z.shape[2]), z.dtype)
    return (gcell, gx) if native.lstm_cell_gradient(before, squashed, z, gc, gh, gcell, gx, gcell.size) else DECLINED
