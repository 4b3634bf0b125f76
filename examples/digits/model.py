"""A convolutional network for 8x8 digits, with a Function and a Link of its own."""

from __future__ import annotations

from typing import Any

import numpy as np

import minichainer as chainer
import minichainer.functions as F
import minichainer.links as L
from minichainer import initializers


class Swish(chainer.FunctionNode):
    """y = x sigmoid(x), elementwise.

    ``backward`` is written in differentiable functions, so it can be differentiated again.
    """

    def forward(self, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        self.retain_inputs((0,))
        (x,) = inputs
        xp = chainer.backend.get_array_module(x)
        return (x / (1 + xp.exp(-x)),)

    def backward(self, indexes: tuple[int, ...], grad_outputs: tuple[Any, ...]) -> tuple[Any, ...]:
        (x,) = self.get_retained_inputs()
        (gy,) = grad_outputs
        s = F.sigmoid(x)
        return (gy * (s + x * s * (1 - s)),)


def swish(x: Any) -> Any:
    (y,) = Swish().apply((x,))
    return y


class NormalizedLinear(chainer.Link):
    """Affine map whose weight rows have the learnt length ``g``: W = g V / |V|, row by row."""

    def __init__(self, in_size: int, out_size: int) -> None:
        super().__init__()
        with self.init_scope():
            self.V = chainer.Parameter(initializers.Normal(0.05), (out_size, in_size))
            self.g = chainer.Parameter(np.ones((out_size, 1), np.float32))
            self.b = chainer.Parameter(0, (out_size,))

    def forward(self, x: Any) -> Any:
        length = F.sqrt(F.sum(self.V * self.V, axis=1, keepdims=True))
        scale = F.broadcast_to(self.g / length, self.V.shape)
        return F.linear(x, scale * self.V, self.b)


class DigitNet(chainer.Chain):
    """Two convolutions, a pooling and two affine maps.

    Images are (N, 1, 8, 8), the result is (N, 10): a score for each digit.
    """

    def __init__(self, n_units: int) -> None:
        super().__init__()
        with self.init_scope():
            self.c1 = L.Convolution2D(1, 16, ksize=3, pad=1)
            self.c2 = L.Convolution2D(16, 32, ksize=3, pad=1)
            self.l3 = NormalizedLinear(32 * 4 * 4, n_units)
            self.l4 = NormalizedLinear(n_units, 10)

    def forward(self, x: Any) -> Any:
        h = swish(self.c2(swish(self.c1(x))))
        h = F.max_pooling_2d(h, 2)
        h = swish(self.l3(F.reshape(h, (len(h), -1))))
        return self.l4(h)
