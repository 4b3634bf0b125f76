"""Functions with their right gradients, in NumPy; faults are planted into these.

Forward bodies take complex arrays as well: the complex step proves the gradients.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Draw = Callable[[tuple[int, ...], np.random.RandomState], tuple[Any, ...]]


@dataclass(frozen=True)
class Base:
    """``forward(*xs)`` gives a tuple; ``vjp(xs, gys)`` the gradient of each input."""

    name: str
    draw: Draw
    forward: Callable[..., tuple[Any, ...]]
    vjp: Callable[[Any, Any], list[Any]]


def away(x: Any, distance: float = 0.1) -> Any:
    """The same with all elements at least ``distance`` from 0: no fault of a factor hides in a zero."""
    return np.where(abs(x) < distance, x + np.where(x < 0, -distance, distance), x)


def normal(rng: Any, *shape: int) -> Any:
    """Normal numbers away from 0."""
    return away(rng.normal(size=shape))


def positive(rng: Any, *shape: int) -> Any:
    """Numbers between 1/2 and 3."""
    return rng.uniform(0.5, 3, shape)


def _one(s: Any, r: Any) -> Any:
    return (normal(r, *s),)


def _pair(s: Any, r: Any) -> Any:
    return normal(r, *s), normal(r, *s)


def _softmax(x: Any) -> Any:
    e = np.exp(x - x.real.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def _softmax_vjp(xs: Any, gys: Any) -> Any:
    y = _softmax(xs[0])
    return [y * gys[0] - y * (y * gys[0]).sum(-1, keepdims=True)]


def _log_softmax(x: Any) -> Any:
    z = x - x.real.max(-1, keepdims=True)
    return z - np.log(np.exp(z).sum(-1, keepdims=True))


def centred(x: Any) -> tuple[Any, Any]:
    """Rows without their mean, and one over their standard deviation."""
    c = x - x.mean(-1, keepdims=True)
    return c, 1 / np.sqrt((c * c).mean(-1, keepdims=True) + 1e-5)


def _normalise(x: Any) -> Any:
    c, inv = centred(x)
    return (c * inv,)


def _normalise_vjp(xs: Any, gys: Any) -> Any:
    c, inv = centred(xs[0])
    y, gy = c * inv, gys[0]
    return [inv * (gy - gy.mean(-1, keepdims=True) - y * (y * gy).mean(-1, keepdims=True))]


def _leaky(x: Any) -> Any:
    return (np.where(x.real < 0, 0.2 * x, x),)


def top(x: Any) -> Any:
    """A mask of the greatest element of each row."""
    return np.arange(x.shape[-1]) == x.real.argmax(-1)[..., None]


def _distinct(s: Any, r: Any) -> Any:
    return ((r.permutation(int(np.prod(s))).reshape(s) * 0.37 + r.uniform(0, 0.1)),)


def _windows(x: Any, k: Any) -> Any:
    return (sum(k[i] * x[..., i : x.shape[-1] - 2 + i] for i in range(3)),)


def _windows_vjp(xs: Any, gys: Any) -> Any:
    x, k = xs
    gy, n = gys[0], x.shape[-1] - 2
    gx = np.zeros_like(x)
    for i in range(3):
        gx[..., i : n + i] += k[i] * gy
    return [gx, np.array([(x[..., i : n + i] * gy).sum() for i in range(3)], dtype=x.dtype)]


def rows_of(x: Any) -> Any:
    """Which rows GATHER takes: the first twice, the last thrice."""
    return np.array([0, 0, *range(len(x)), len(x) - 1, len(x) - 1])


def _gather_vjp(xs: Any, gys: Any) -> Any:
    gx = np.zeros_like(xs[0])
    np.add.at(gx, rows_of(xs[0]), gys[0])
    return [gx]


def _cumsum_vjp(xs: Any, gys: Any) -> Any:
    return [np.cumsum(gys[0][..., ::-1], -1)[..., ::-1]]


SQUARE_TIMES = Base(
    'x*x*w, w broadcast over rows',
    lambda s, r: (normal(r, *s), normal(r, s[-1])),
    lambda x, w: (x * x * w,),
    lambda xs, g: [2 * xs[0] * xs[1] * g[0], (xs[0] * xs[0] * g[0]).reshape(-1, len(xs[1])).sum(0)],
)
TANH = Base('tanh', _one, lambda x: (np.tanh(x),), lambda xs, g: [g[0] - g[0] * np.tanh(xs[0]) ** 2])
EXP = Base('exp', _one, lambda x: (np.exp(x),), lambda xs, g: [g[0] * np.exp(xs[0])])
SINE = Base('sin(2x)', _one, lambda x: (np.sin(2 * x),), lambda xs, g: [2 * np.cos(2 * xs[0]) * g[0]])
MATMUL = Base(
    'matrix product',
    lambda s, r: (normal(r, *s), normal(r, s[1], s[0])),
    lambda x, w: (x @ w,),
    lambda xs, g: [g[0] @ xs[1].T, xs[0].T @ g[0]],
)
PRODUCT = Base('x*y', _pair, lambda x, y: (x * y,), lambda xs, g: [xs[1] * g[0], xs[0] * g[0]])
QUOTIENT = Base(
    'x/y',
    lambda s, r: (normal(r, *s), positive(r, *s)),
    lambda x, y: (x / y,),
    lambda xs, g: [g[0] / xs[1], -g[0] * xs[0] / xs[1] ** 2],
)
SOFTMAX = Base('softmax', _one, lambda x: (_softmax(x),), _softmax_vjp)
LOG_SOFTMAX = Base(
    'log_softmax',
    _one,
    lambda x: (_log_softmax(x),),
    lambda xs, g: [g[0] - np.exp(_log_softmax(xs[0])) * g[0].sum(-1, keepdims=True)],
)
MEAN = Base(
    'mean of columns of x*x',
    _one,
    lambda x: ((x * x).mean(0),),
    lambda xs, g: [2 * xs[0] * g[0] / len(xs[0])],
)
TOTAL = Base('sum of x**3', _one, lambda x: ((x**3).sum(),), lambda xs, g: [3 * xs[0] ** 2 * g[0]])
NORMALISE = Base('normalised rows', _one, _normalise, _normalise_vjp)
LEAKY = Base('leaky relu', _one, lambda x: _leaky(x), lambda xs, g: [np.where(xs[0] < 0, 0.2 * g[0], g[0])])
TWO = Base(
    'x*y and x + y*y',
    _pair,
    lambda x, y: (x * y, x + y * y),
    lambda xs, g: [xs[1] * g[0] + g[1], xs[0] * g[0] + 2 * xs[1] * g[1]],
)
CUMSUM = Base('cumsum', _one, lambda x: (np.cumsum(x, -1),), _cumsum_vjp)
GREATEST = Base(
    'max of rows',
    _distinct,
    lambda x: ((x * top(x)).sum(-1),),
    lambda xs, g: [top(xs[0]) * g[0][..., None]],
)
WINDOWS = Base('correlation with three weights', lambda s, r: (normal(r, *s), normal(r, 3)), _windows, _windows_vjp)
SQRT = Base(
    'sqrt', lambda s, r: (positive(r, *s),), lambda x: (np.sqrt(x),), lambda xs, g: [0.5 * g[0] / np.sqrt(xs[0])]
)
LOG = Base(
    'log(x + 0.1)',
    lambda s, r: (positive(r, *s),),
    lambda x: (np.log(x + 0.1),),
    lambda xs, g: [g[0] / (xs[0] + 0.1)],
)
POLYNOMIAL = Base(
    'x + x**2 + x**3',
    _one,
    lambda x: (x + x * x + x**3,),
    lambda xs, g: [(1 + 2 * xs[0] + 3 * xs[0] ** 2) * g[0]],
)
BIAS = Base(
    'x + b, b broadcast over rows',
    lambda s, r: (normal(r, *s), normal(r, s[1])),
    lambda x, b: (x + b,),
    lambda xs, g: [g[0], g[0].sum(0)],
)
COLUMN = Base(
    'x * c, c broadcast over columns',
    lambda s, r: (normal(r, *s), normal(r, s[0], 1)),
    lambda x, c: (x * c,),
    lambda xs, g: [xs[1] * g[0], (xs[0] * g[0]).sum(1, keepdims=True)],
)
GATHER = Base('rows, some twice', _one, lambda x: (x[rows_of(x)],), _gather_vjp)
TRANSPOSE = Base('transposed square', _one, lambda x: (x.T**2,), lambda xs, g: [2 * xs[0] * g[0].T])
OUTER = Base(
    'outer product',
    lambda s, r: (normal(r, s[0]), normal(r, s[1])),
    lambda u, v: (u[:, None] * v,),
    lambda xs, g: [g[0] @ xs[1], xs[0] @ g[0]],
)
THREE = Base(
    'x*y*z',
    lambda s, r: (normal(r, *s), normal(r, *s), normal(r, *s)),
    lambda x, y, z: (x * y * z,),
    lambda xs, g: [xs[1] * xs[2] * g[0], xs[0] * xs[2] * g[0], xs[0] * xs[1] * g[0]],
)

BASES = [value for value in list(globals().values()) if isinstance(value, Base)]
