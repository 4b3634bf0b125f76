"""The elementwise part of a step of LSTM and GRU: one launch on a device."""

from __future__ import annotations

from typing import Any

import numpy

from minichainer._native.library import kernels as native
from minichainer.kernels._dispatch import DECLINED, kernel
from minichainer.kernels.cuda import rnn as cuda


def _by_gate(rows: Any, gates: int) -> Any:
    """A view ``(gates, rows, n)`` of a matrix ``(rows, gates * n)``."""
    return rows.reshape(rows.shape[0], gates, rows.shape[1] // gates).transpose(1, 0, 2)


def _sigmoids(xp: Any, z: Any) -> None:
    """Logistic sigmoids, in place; below -88 (float32) the exponential overflows, and the sigmoid is 0."""
    xp.negative(z, out=z)
    sigmoids_of_negated(xp, z)


def sigmoids_of_negated(xp: Any, z: Any) -> None:
    one = z.dtype.type(1)  # NumPy takes 0.4 µs longer with a Python int
    xp.exp(z, out=z)
    z += one
    xp.divide(one, z, out=z)


def _slopes_of_sigmoids(xp: Any, values: Any, out: Any) -> None:
    xp.multiply(values, values, out=out)
    xp.subtract(values, out, out=out)


def _slope_of_tanh(xp: Any, values: Any, one: Any, out: Any) -> None:
    xp.multiply(values, values, out=out)
    xp.subtract(one, out, out=out)


@kernel
def lstm_step(
    xp: Any, product: Any, z: Any, b: Any, new: Any, h: Any, c: Any,
    before_h: Any, before_c: Any, tanh_c: Any, y: Any, values: Any,
) -> None:  # fmt: skip
    """One step of LSTM after the product with the state; changes ``h`` and ``c``, and fills what follows them.

    Args:
        xp: numpy or cupy.
        product: the state's part of the gates ``(rows, 4 * units)``; may be overwritten.
        z: the input's part.
        b: the sum of the biases ``(4, 1, units)``.
        new: scratch ``(rows, units)``.
        h, c: the state.
        before_h, before_c: get the state before the step.
        tanh_c: gets the squashed new cells.
        y: gets the outputs.
        values: gets the gates ``(4, rows, units)``.
    """
    before_h[...] = h
    before_c[...] = c
    product += z
    xp.add(_by_gate(product, 4), b, out=values)
    o, i, f, g = values
    _sigmoids(xp, values[:3])
    xp.tanh(g, out=g)
    xp.multiply(i, g, out=new)
    c *= f
    c += new
    xp.tanh(c, out=tanh_c)
    xp.multiply(o, tanh_c, out=h)
    y[...] = h


@lstm_step.on_native
def _lstm_step_native(
    xp: Any, product: Any, z: Any, b: Any, new: Any, h: Any, c: Any,
    before_h: Any, before_c: Any, tanh_c: Any, y: Any, values: Any,
) -> Any:  # fmt: skip
    whole = y if y.flags.c_contiguous else new  # the outputs of one of two directions are columns
    if not native.lstm_step(product, z, b, h, c, before_h, before_c, tanh_c, whole, values, *h.shape):
        return DECLINED
    if whole is new:
        y[...] = new
    return None


@lstm_step.on('cuda')
def _lstm_step_cuda(xp: Any, product: Any, z: Any, b: Any, new: Any, *outs: Any) -> None:
    cuda.lstm_forward(product, z, b, b.shape[2], *outs)


@kernel
def lstm_step_backward(
    xp: Any, gy: Any, tanh_c: Any, before_c: Any, values: Any, slope: Any, d: Any, dh: Any, dc: Any, gz: Any
) -> None:
    """Gradients of :func:`lstm_step`; changes ``dc``, the gradient of the cells, and fills ``gz``, that of the gates.

    Args:
        xp: numpy or cupy.
        gy: gradient of the outputs.
        tanh_c, before_c, values: as :func:`lstm_step` filled them.
        slope: scratch ``(rows, units)``.
        d: scratch ``(4, rows, units)``.
        dh: gradient of the new state; may be overwritten.
        dc: gradient of the new cells, overwritten with that of the former ones.
        gz: gets the gradient of the gates ``(rows, 4 * units)``.
    """
    o, i, f, g = values
    do, di, df, dg = d
    one = values.dtype.type(1)
    dh += gy
    _slope_of_tanh(xp, tanh_c, one, slope)
    slope *= o
    slope *= dh
    dc += slope
    _slopes_of_sigmoids(xp, values[:3], d[:3])
    _slope_of_tanh(xp, g, one, dg)
    do *= tanh_c
    do *= dh
    di *= g
    df *= before_c
    dg *= i
    d[1:] *= dc
    dc *= f
    _by_gate(gz, 4)[...] = d


@lstm_step_backward.on_native
def _lstm_step_backward_native(
    xp: Any, gy: Any, tanh_c: Any, before_c: Any, values: Any, slope: Any, d: Any, dh: Any, dc: Any, gz: Any
) -> Any:
    gy = numpy.ascontiguousarray(gy)
    return None if native.lstm_step_gradient(gy, tanh_c, before_c, values, dh, dc, gz, *dh.shape) else DECLINED


@lstm_step_backward.on('cuda')
def _lstm_step_backward_cuda(
    xp: Any, gy: Any, tanh_c: Any, before_c: Any, values: Any, slope: Any, d: Any, dh: Any, dc: Any, gz: Any
) -> None:
    cuda.lstm_backward(dh, gy, tanh_c, before_c, values, dh.shape[1], dc, gz)


@kernel
def gru_step(
    xp: Any, product: Any, z: Any, bx: Any, bh: Any, of_state: Any, h: Any, before: Any, from_state: Any, y: Any,
    values: Any,
) -> None:  # fmt: skip
    """One step of GRU after the product with the state; changes ``h``, and fills what follows it.

    Args:
        xp: numpy or cupy.
        product: the state's part of the gates ``(rows, 3 * units)``.
        z: the input's part.
        bx, bh: the biases ``(3, 1, units)``.
        of_state: scratch ``(3, rows, units)``.
        h: the state.
        before: gets the state before the step.
        from_state: gets the state's part of the candidate.
        y: gets the outputs.
        values: gets the gates ``(3, rows, units)``.
    """
    before[...] = h
    xp.add(_by_gate(product, 3), bh, out=of_state)
    xp.add(_by_gate(z, 3), bx, out=values)
    from_state[...] = of_state[2]
    r, u, candidate = values
    values[:2] += of_state[:2]
    _sigmoids(xp, values[:2])
    of_state[2] *= r
    candidate += of_state[2]
    xp.tanh(candidate, out=candidate)
    h -= candidate
    h *= u
    h += candidate
    y[...] = h


@gru_step.on_native
def _gru_step_native(
    xp: Any, product: Any, z: Any, bx: Any, bh: Any, of_state: Any, h: Any, before: Any, from_state: Any, y: Any,
    values: Any,
) -> Any:  # fmt: skip
    whole = y if y.flags.c_contiguous else of_state[0]
    if not native.gru_step(product, z, bx, bh, h, before, from_state, whole, values, *h.shape):
        return DECLINED
    if whole is not y:
        y[...] = whole
    return None


@gru_step.on('cuda')
def _gru_step_cuda(xp: Any, product: Any, z: Any, bx: Any, bh: Any, of_state: Any, *outs: Any) -> None:
    cuda.gru_forward(product, z, bx, bh, bx.shape[2], *outs)


@kernel
def gru_step_backward(
    xp: Any, gy: Any, before: Any, from_state: Any, values: Any, d: Any, dh: Any, rest: Any, gx: Any, ga: Any
) -> None:
    """Gradients of :func:`gru_step`: ``gx`` and ``ga``, of the input's and the state's part of the gates.

    Args:
        xp: numpy or cupy.
        gy: gradient of the outputs.
        before, from_state, values: as :func:`gru_step` filled them.
        d: scratch ``(3, rows, units)``.
        dh: gradient of the new state; may be overwritten.
        rest: gets the part of the former state's gradient that does not pass through the gates.
        gx, ga: get the gradients ``(rows, 3 * units)``.
    """
    r, u, candidate = values
    dr, du, dc = d
    one = values.dtype.type(1)
    dh += gy
    _slopes_of_sigmoids(xp, values[:2], d[:2])
    _slope_of_tanh(xp, candidate, one, dc)
    xp.subtract(one, u, out=rest)
    dc *= rest
    dc *= dh
    xp.subtract(before, candidate, out=rest)
    du *= rest
    du *= dh
    dr *= dc
    dr *= from_state
    _by_gate(gx, 3)[...] = d
    dc *= r
    _by_gate(ga, 3)[...] = d
    xp.multiply(dh, u, out=rest)


@gru_step_backward.on_native
def _gru_step_backward_native(
    xp: Any, gy: Any, before: Any, from_state: Any, values: Any, d: Any, dh: Any, rest: Any, gx: Any, ga: Any
) -> Any:
    gy = numpy.ascontiguousarray(gy)
    return None if native.gru_step_gradient(gy, before, from_state, values, dh, rest, gx, ga, *dh.shape) else DECLINED


@gru_step_backward.on('cuda')
def _gru_step_backward_cuda(
    xp: Any, gy: Any, before: Any, from_state: Any, values: Any, d: Any, dh: Any, rest: Any, gx: Any, ga: Any
) -> None:
    cuda.gru_backward(dh, gy, before, from_state, values, dh.shape[1], rest, gx, ga)
