"""Links in float32, with draws of their inputs: their parameters may be checked too, or left out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import minichainer.functions as F
import minichainer.links as L
from minichainer.link import Chain


@dataclass(frozen=True)
class OfLink:
    """A Link in float32: ``make()`` builds it, and ``draw(rng)`` gives its inputs."""

    name: str
    make: Callable[[], Any]
    draw: Callable[[Any], tuple[Any, ...]]
    order: int = 2

    def build(self, seed: int) -> Any:
        """The link, its parameters from the seed."""
        state = np.random.get_state()
        np.random.seed(seed)
        link = self.make()
        np.random.set_state(state)
        return link


def of(*shapes: tuple[int, ...]) -> Callable[[Any], tuple[Any, ...]]:
    """Normal float32 inputs of these shapes."""
    return lambda rng: tuple(rng.normal(size=s).astype('f') for s in shapes)


class Perceptron(Chain):  # type: ignore[misc]
    """Two layers with a normalization between them."""

    def __init__(self) -> None:
        super().__init__()
        with self.init_scope():
            self.l1, self.bn, self.l2 = L.Linear(4, 5), L.BatchNormalization(5), L.Linear(5, 2)

    def forward(self, x: Any) -> Any:
        return self.l2(F.tanh(self.bn(self.l1(x))))


LINKS = [
    OfLink('Linear', lambda: L.Linear(4, 3), of((5, 4))),
    OfLink('Linear without bias', lambda: L.Linear(4, 3, nobias=True), of((5, 4))),
    OfLink('Bilinear', lambda: L.Bilinear(3, 2, 4), of((5, 3), (5, 2))),
    OfLink('Convolution2D', lambda: L.Convolution2D(2, 3, 3, pad=1), of((2, 2, 4, 5))),
    OfLink('Convolution1D', lambda: L.Convolution1D(2, 3, 2), of((2, 2, 6))),
    OfLink('Deconvolution2D', lambda: L.Deconvolution2D(2, 3, 2), of((2, 2, 3, 3))),
    OfLink('BatchNormalization', lambda: L.BatchNormalization(3), of((6, 3))),
    OfLink('LayerNormalization', lambda: L.LayerNormalization(4), of((3, 4))),
    OfLink('GroupNormalization', lambda: L.GroupNormalization(2, 4), of((2, 4, 3))),
    OfLink('PReLU', lambda: L.PReLU(), of((3, 4))),
    OfLink('StatelessLSTM', lambda: L.StatelessLSTM(3, 2), of((4, 2), (4, 2), (4, 3))),
    OfLink('StatelessGRU', lambda: L.StatelessGRU(3, 2), of((4, 2), (4, 3))),
    OfLink('Perceptron', Perceptron, of((6, 4))),
]
