"""A network for 8x8 digits that is made of one custom Function and one custom Link."""

from __future__ import annotations

from typing import Any

import numpy as np

import minichainer as chainer
import minichainer.functions as F
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
    """Two hidden layers of ``n_units``: 64 pixels in, 10 class scores out."""

    def __init__(self, n_units: int) -> None:
        super().__init__()
        with self.init_scope():
            self.l1 = NormalizedLinear(64, n_units)
            self.l2 = NormalizedLinear(n_units, n_units)
            self.l3 = NormalizedLinear(n_units, 10)

    def forward(self, x: Any) -> Any:
        h = swish(self.l1(x))
        h = swish(self.l2(h))
        return self.l3(h)
