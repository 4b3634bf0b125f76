"""Functions for the tests of autograd.Function."""

from __future__ import annotations

import numpy as np

import minichainer.functions as F
from minichainer.autograd.function import Function


def make(forward, backward=None, base=Function, **methods):
    """A Function of these methods, with the name that messages show."""
    if backward is not None:
        methods['backward'] = backward
    return type(
        'Made', (base,), {'forward': staticmethod(forward), **{k: staticmethod(m) for k, m in methods.items()}}
    )


def double(ctx, g):
    return 2 * g


def twice(ctx, x, *args):
    return x * 2


def as_list(ys):
    return list(ys) if isinstance(ys, tuple) else [ys]


class Exp(Function):
    @staticmethod
    def forward(ctx, x):
        y = F.exp(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, gy):
        (y,) = ctx.saved_tensors
        return gy * y

    @staticmethod
    def jvp(ctx, tx):
        return tx * ctx.saved_tensors[0]


class ExpOnArrays(Exp):
    @staticmethod
    def forward(ctx, x):
        y = np.exp(x.array)
        ctx.save_for_backward(y)
        return y


class CubeOnArrays(Function):
    """Saves the array of its input, which must stand where the input does."""

    @staticmethod
    def forward(x):
        return x.array**3

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0].array)

    @staticmethod
    def backward(ctx, gy):
        (x,) = ctx.saved_tensors
        return 3 * x * x * gy


class ScaledProduct(Function):
    @staticmethod
    def forward(ctx, x, k, w):
        ctx.save_for_backward(x, w)
        ctx.k = k
        return k * x * w

    @staticmethod
    def backward(ctx, gy):
        x, w = ctx.saved_tensors
        return ctx.k * gy * w, None, ctx.k * gy * x  # summed over the axes along which w was broadcast


class SinCos(Function):
    @staticmethod
    def forward(ctx, x):
        sin, cos = F.sin(x), F.cos(x)
        ctx.save_for_backward(sin, cos)
        return sin, cos

    @staticmethod
    def backward(ctx, gsin, gcos):
        sin, cos = ctx.saved_tensors
        return gsin * cos - gcos * sin

    @staticmethod
    def jvp(ctx, tx):
        sin, cos = ctx.saved_tensors
        return tx * cos, -tx * sin


class ExpInPlace(Function):
    @staticmethod
    def forward(ctx, x):
        np.exp(x.array, out=x.array)
        ctx.mark_dirty(x)
        ctx.save_for_backward(x)
        return x

    backward = Exp.backward


class Fourth(Function):
    """Applies Functions in forward and in backward."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return CubeOnArrays.apply(x) * x

    @staticmethod
    def backward(ctx, gy):
        return 4 * CubeOnArrays.apply(ctx.saved_tensors[0]) * gy
