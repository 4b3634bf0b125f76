"""Shared code of the random initializers: the source of the numbers, and their scale."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy

from minichainer.backend import get_array_module, get_device_from_array
from minichainer.initializer import Initializer, get_fans
from minichainer.utils.argument import parse_kwargs

#: Values that are drawn at a time: 0.5 MB, because NumPy draws in float64.
_PART = 1 << 16


def _draws_in_parts(rng: Any) -> bool:
    """Whether a generator, or None for ``xp.random``, draws the same values in parts; a user's own might not."""
    return rng is None or type(rng) in (numpy.random.RandomState, numpy.random.Generator)


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
        """The standard deviation, or half the width, of the distribution for an array.

        Args:
            shape: the shape of the array.

        Args:
            shape: the shape of the array.
        """
        return self.scale

    def generator(self, array: Any) -> Any:
        """The generator for the values of ``array``."""
        return get_array_module(array).random if self.rng is None else self.rng

    def fill_normal(self, array: Any) -> None:
        """Fills with normal values of mean 0."""
        self._check_dtype(array)
        self._fill(array, functools.partial(self.generator(array).normal, loc=0.0, scale=self.spread(array.shape)))

    def fill_uniform(self, array: Any) -> None:
        """Fills with uniform values around 0."""
        self._check_dtype(array)
        bound = self.spread(array.shape)
        self._fill(array, functools.partial(self.generator(array).uniform, low=-bound, high=bound))

    def _fill(self, array: Any, draw: Callable[..., Any]) -> None:
        """Fills with what ``draw(size=...)`` returns; in parts, which takes less memory, if that gives the same."""
        if not _draws_in_parts(self.rng) or type(array) is not numpy.ndarray or not array.flags.c_contiguous:
            self.put(array, draw(size=array.shape))
            return
        values = array.reshape(-1)
        for start in range(0, array.size, _PART):
            part = values[start : start + _PART]
            part[...] = draw(size=part.shape)

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
