"""Values at which checkers stumble: tiny, huge, of all sizes in one array, tied, at kinks and beside them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Region:
    """Where an input may lie.

    Args:
        sign: 0 for all real numbers, 1 or -1 for those of one sign.
        most: the largest absolute value.
        special: points where there is a kink, or may be one.
        ordinary: draws an array of a shape from the middle of the region.
    """

    ordinary: Callable[[tuple[int, ...], np.random.RandomState], Any]
    sign: int = 0
    most: float = np.inf
    special: tuple[float, ...] = ()

    def hold(self, x: Any) -> Any:
        """The same values, as far as they are inside of the region."""
        x = np.clip(x, -self.most, self.most)
        return x if self.sign == 0 else self.sign * abs(x)


#: Powers of ten that a dtype has, subnormal numbers left out; its smallest number.
POWERS = {'d': (-300, 200), 'f': (-37, 37), 'e': (-4, 4)}
SMALLEST = {'d': 5e-324, 'f': 1.4e-45, 'e': 6e-8}


def _powers(rng: Any, dtype: str, shape: tuple[int, ...] = (), most: float = 200.0) -> Any:
    low, high = POWERS[dtype]
    return 10.0 ** rng.uniform(max(low, -1.5 * most), min(high, most), shape)


def ordinary(region: Region, shape: tuple[int, ...], dtype: str, rng: Any) -> Any:
    return region.ordinary(shape, rng)


def scaled(region: Region, shape: tuple[int, ...], dtype: str, rng: Any) -> Any:
    """All of one size, between 1e-300 and 1e200."""
    return region.ordinary(shape, rng) * _powers(rng, dtype)


def moderately_scaled(region: Region, shape: tuple[int, ...], dtype: str, rng: Any) -> Any:
    """All of one size, between 1e-15 and 1e10."""
    return region.ordinary(shape, rng) * _powers(rng, dtype, (), 10.0)


def mixed(region: Region, shape: tuple[int, ...], dtype: str, rng: Any) -> Any:
    """Each element of a size of its own."""
    return region.ordinary(shape, rng) * _powers(rng, dtype, shape, rng.choice([3.0, 10.0, 200.0]))


def ladder(region: Region, shape: tuple[int, ...], dtype: str, rng: Any) -> Any:
    """From 1e-7 to 1e7 in equal ratios."""
    most = min(POWERS[dtype][1], rng.choice([3, 5, 7]))
    steps = 10.0 ** np.linspace(-most, most, int(np.prod(shape, dtype=int)))
    return region.ordinary(shape, rng) * steps.reshape(shape)


def speck(region: Region, shape: tuple[int, ...], dtype: str, rng: Any) -> Any:
    """Ordinary elements beside one of 1e-18 to 1e-22."""
    return _with_one(region.ordinary(shape, rng), rng, 10.0 ** rng.uniform(-22, -18))


def near_zero(region: Region, shape: tuple[int, ...], dtype: str, rng: Any) -> Any:
    """Ordinary elements beside one of 1e-9, where many functions have a kink not far away."""
    return _with_one(region.ordinary(shape, rng), rng, rng.choice([-1, 1]) * 1e-9)


def with_zero(region: Region, shape: tuple[int, ...], dtype: str, rng: Any) -> Any:
    """Ordinary elements beside a zero."""
    return _with_one(region.ordinary(shape, rng), rng, 0.0)


def tied(region: Region, shape: tuple[int, ...], dtype: str, rng: Any) -> Any:
    """Equal elements: all, or a third of them."""
    x = np.array(region.ordinary(shape, rng))
    if x.size:
        x[rng.rand(*shape) < rng.choice([0.4, 1.1])] = x.flat[0]
    return x


def nearly_tied(region: Region, shape: tuple[int, ...], dtype: str, rng: Any) -> Any:
    """Elements that differ in the ninth digit."""
    apart = {'d': 1e-9, 'f': 1e-6, 'e': 4e-3}[dtype]
    x = tied(region, shape, dtype, rng)
    return x * (1 + apart * np.arange(x.size)[rng.permutation(x.size)].reshape(shape))


def at_special_points(region: Region, shape: tuple[int, ...], dtype: str, rng: Any) -> Any:
    """Some elements at points where a kink may be."""
    x = region.ordinary(shape, rng)
    points = rng.choice(region.special or (0.0,), shape)
    return np.where(rng.rand(*shape) < 0.4, points, x)


def beside_special_points(region: Region, shape: tuple[int, ...], dtype: str, rng: Any) -> Any:
    """Some elements at a distance of 1e-10 of these points."""
    apart = {'d': 1e-10, 'f': 1e-6, 'e': 2e-3}[dtype]
    x = region.ordinary(shape, rng)
    points = rng.choice(region.special or (0.0,), shape) + apart * rng.choice([-1, 1], shape)
    return np.where(rng.rand(*shape) < 0.4, points, x)


def subnormal(region: Region, shape: tuple[int, ...], dtype: str, rng: Any) -> Any:
    """Some elements below the normal numbers of the dtype."""
    x = region.ordinary(shape, rng)
    tiny = np.sign(x) * SMALLEST[dtype] * np.ceil(10 ** rng.uniform(0, 5 if dtype != 'e' else 2, shape))
    return np.where(rng.rand(*shape) < rng.choice([0.3, 1.1]), tiny, x)


def saturated(region: Region, shape: tuple[int, ...], dtype: str, rng: Any) -> Any:
    """Where tanh is 1, and the exponential a part of another."""
    factor = rng.choice([10.0, 30.0, 100.0, 300.0] if dtype != 'e' else [10.0, 30.0])
    return region.ordinary(shape, rng) * factor


def _with_one(x: Any, rng: Any, value: float) -> Any:
    x = np.array(x)
    if x.size:
        x.flat[rng.randint(x.size)] = value
    return x


#: By name; the second entry says how often, the third whether a kink may be there.
KINDS: dict[str, tuple[Callable[..., Any], float, bool]] = {
    'ordinary': (ordinary, 0.5, False),
    'scaled': (scaled, 2.0, False),
    'moderately scaled': (moderately_scaled, 1.0, False),
    'mixed': (mixed, 2.0, False),
    'ladder': (ladder, 1.0, False),
    'speck': (speck, 1.5, False),
    'near zero': (near_zero, 1.0, False),
    'with zero': (with_zero, 0.7, True),
    'tied': (tied, 0.7, True),
    'nearly tied': (nearly_tied, 1.0, False),
    'special points': (at_special_points, 0.7, True),
    'beside special points': (beside_special_points, 1.0, False),
    'subnormal': (subnormal, 1.0, False),
    'saturated': (saturated, 1.5, False),
}


def choose(rng: Any) -> str:
    """The name of a kind, by their weights."""
    weights = np.array([weight for _, weight, _ in KINDS.values()])
    return str(list(KINDS)[rng.choice(len(KINDS), p=weights / weights.sum())])


def draw(kind: str, region: Region, shape: tuple[int, ...], dtype: str, rng: Any) -> Any:
    """An array of a kind, rounded to the dtype and held inside of the region."""
    with np.errstate(all='ignore'):
        x = region.hold(np.asarray(KINDS[kind][0](region, shape, dtype, rng)))
        return np.asarray(x).astype(dtype)
