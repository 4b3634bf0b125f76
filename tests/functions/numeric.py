"""Numerical differentiation for the tests: central differences in float64, and nothing of the package."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

Arrays = Sequence[np.ndarray]


def signed(shape: tuple[int, ...], rng: np.random.RandomState, dtype: str = 'd') -> np.ndarray:
    """Random numbers of either sign, none of them near zero."""
    return np.asarray(rng.uniform(0.5, 1.5, shape) * rng.choice([-1.0, 1.0], shape)).astype(dtype)


def directional(
    f: Callable[..., Arrays], xs: Arrays, grads: Arrays, step: float = 2e-3, linear_from: int | None = None
) -> list[np.ndarray]:
    """For each x the derivative of ``sum(g * y)`` over the outputs y of f, element by element.

    Differences with steps h and 2h are combined so that the error is of order h**4. In each element of the arrays
    from number ``linear_from`` on, f is linear: there one difference is exact.
    """
    points = [np.array(x, 'd') for x in xs]

    def value() -> float:
        ys = f(*[point.copy() for point in points])
        return float(sum(np.sum(np.asarray(y, 'd') * g) for y, g in zip(ys, grads, strict=True)))

    results = []
    for i, point in enumerate(points):
        gradient, is_linear = np.zeros(point.shape), linear_from is not None and i >= linear_from
        for index in np.ndindex(point.shape):
            gradient[index] = (_slope if is_linear else _derivative)(value, point, index, step)
        results.append(gradient)
    return results


def _derivative(value: Callable[[], float], point: np.ndarray, index: tuple[int, ...], step: float) -> float:
    near, far = (_slope(value, point, index, h) for h in (step, 2 * step))
    return (4 * near - far) / 3


def _slope(value: Callable[[], float], point: np.ndarray, index: tuple[int, ...], step: float) -> float:
    centre = point[index]
    point[index] = centre + step
    above = value()
    point[index] = centre - step
    below = value()
    point[index] = centre
    return (above - below) / (2 * step)
