"""Shared code of the random initializers: the source of the numbers, and their scale."""

from __future__ import annotations

import math
from typing import Any

from minichainer.backend import get_array_module, get_device_from_array
from minichainer.initializer import Initializer, get_fans
from minichainer.utils.argument import parse_kwargs


class RandomInitializer(Initializer):
    """An initializer that draws from ``xp.random``, or from the user's generator.

    Args:
        scale: scale of the values, as defined by the class.
        dtype: dtype of the arrays it is meant for.
        kwargs: ``rng``, the generator to draw from, such as ``numpy.random.RandomState(0)``.
    """

    def __init__(self, scale: float, dtype: Any, kwargs: dict[str, Any]) -> None:
        self.scale = scale
        (self.rng,) = parse_kwargs(kwargs, ('rng', None))
        super().__init__(dtype)

    def spread(self, shape: tuple[int, ...]) -> float:
        """The standard deviation, or half the width, of the distribution for an array."""
        return self.scale

    def generator(self, array: Any) -> Any:
        """The generator for the values of ``array``."""
        return get_array_module(array).random if self.rng is None else self.rng

    def fill_normal(self, array: Any) -> None:
        """Fills with normal values of mean 0."""
        self._check_dtype(array)
        values = self.generator(array).normal(loc=0.0, scale=self.spread(array.shape), size=array.shape)
        self.put(array, values)

    def fill_uniform(self, array: Any) -> None:
        """Fills with uniform values around 0."""
        self._check_dtype(array)
        bound = self.spread(array.shape)
        self.put(array, self.generator(array).uniform(low=-bound, high=bound, size=array.shape))

    @staticmethod
    def put(array: Any, values: Any) -> None:
        """Writes values into an array; the user's generator may draw them on another device."""
        array[...] = get_device_from_array(array).send(values)


def scaled(scale: float, variance: float, fan: float) -> float:
    """``scale * sqrt(variance / fan)``; 0 for a weight without inputs."""
    return scale * math.sqrt(variance / fan) if fan else 0.0


def fan_in(shape: tuple[int, ...]) -> int:
    """The number of inputs of each output, for a weight of that shape."""
    return get_fans(shape)[0]


def mean_fan(shape: tuple[int, ...]) -> float:
    """Mean of fan-in and fan-out."""
    return sum(get_fans(shape)) / 2
