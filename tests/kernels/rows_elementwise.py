"""Rows of kernels that act element by element: their plain forms, and the sizes where they change their method."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.special

from tests.kernels.kernels import generic, kernel, threshold

LAYOUTS: dict[str, Callable[[Any], Any]] = {
    'C': lambda x: x,
    'F': np.asfortranarray,
    'every second': lambda x: np.repeat(x, 2, axis=-1)[..., ::2],
    'backwards': lambda x: x[..., ::-1],
    'transposed': lambda x: np.ascontiguousarray(x.T).T,
    'one row repeated': lambda x: np.broadcast_to(x[:1], x.shape),
}
SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 1e-30, -1e-30]


@dataclass
class Row:
    """A kernel and its plain form, both functions of the array module's arrays and what comes with them."""

    #: Function of the kernel and the arrays, which calls it.
    call: Callable[..., Any]
    #: Function of the arrays.
    plain: Callable[..., Any]
    #: Numbers of elements from which on the kernel has another method.
    sizes: tuple[int, ...] = ()
    arrays: int = 1
    dtypes: str = 'fd'
    low: float = -3
    high: float = 3
    special: tuple[float, ...] = tuple(SPECIAL)
    #: In units of the dtype's precision.
    tolerance: float = 8
    #: Whether the tolerance is relative to numbers of size 1: where differences are taken.
    absolute: bool = False
    #: Whether it takes arrays without axes: what is for large arrays only need not.
    scalars: bool = True

    def cases(self) -> Iterator[tuple[str, tuple[Any, ...]]]:
        """Labels and arrays: no axis, no elements, few, and both sides of each size in each layout."""
        for dtype in self.dtypes:
            for shape in [
                *[()] * self.scalars,
                (0,),
                (0, 3),
                (1,),
                (5,),
                *[(n,) for t in self.sizes for n in (t - 1, t)],
            ]:
                yield f'{dtype} {shape}', self._drawn(shape, dtype)
            for size in (24, *self.sizes):
                for name, layout in LAYOUTS.items():
                    drawn = self._drawn((4, size // 3), dtype)
                    yield f'{dtype} {size} {name}', tuple(layout(x) for x in drawn)

    def _drawn(self, shape: tuple[int, ...], dtype: str) -> tuple[Any, ...]:
        found = []
        for seed in range(self.arrays):
            random = np.random.RandomState(seed)
            x = np.asarray(random.uniform(self.low, self.high, shape)).astype(dtype)
            special = np.array(self.special).astype(dtype)
            if x.size > 2 * len(special):
                x.reshape(-1)[: len(special)] = special
                x.reshape(-1)[x.size - len(special) :] = random.permutation(special)
            found.append(x)
        return tuple(found)


def _like(value: float, x: Any) -> Any:
    return np.asarray(value, x.dtype)


def _sigmoid(x: Any) -> Any:
    return scipy.special.expit(x)


def _gelu(x: Any, form: str) -> Any:
    x = x.astype('d')
    if form == 'tanh':
        return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))
    return x * scipy.special.ndtr(x)


def _gelu_slope(x: Any, form: str) -> Any:
    x = x.astype('d')
    if form == 'none':
        return scipy.special.ndtr(x) + x * np.exp(-x * x / 2) / np.sqrt(2 * np.pi)
    t = np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))
    return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * np.sqrt(2 / np.pi) * (1 + 3 * 0.044715 * x * x)


def _tail_ratio(x: Any, n: int) -> Any:
    """By the integrals themselves, of the moments of a normal variable above -x."""
    nodes, weights = np.polynomial.legendre.leggauss(200)
    x = x[..., None]
    t = (nodes + 1) * (np.maximum(x, 0) + 12) / 2
    # I_n(x) is the integral of t^n exp(-(t - x)^2 / 2) over positive t, but for a factor that cancels.
    integrals = [(weights * t**k * np.exp(-((t - x) ** 2) / 2)).sum(-1) for k in (n, n - 1)]
    return integrals[0] / integrals[1]


def _gelu_rows(form: str) -> dict[str, Row]:
    def gradient(k: Any, gy: Any, x: Any) -> Any:
        return k(gy, x, kernel('gelu.gelu')(x, form), form)

    sizes, special = (threshold('gelu', '_BLOCK'),), (np.nan, 0.0, 1.0, -1.0, 12.0, -12.0, 1e4, -1e4, 1e15, -1e15)
    return {
        f'gelu.gelu, {form}': Row(
            lambda k, x: k(x, form),
            lambda x: _gelu(x, form),
            sizes,
            dtypes='f',
            special=(*special, np.inf, 3e38),
            absolute=True,
        ),
        f'gelu.gelu_gradient, {form}': Row(
            gradient,
            lambda gy, x: gy * _gelu_slope(x, form),
            sizes,
            2,
            'f',
            special=special,
            tolerance=32,
            absolute=True,
        ),
    }


_MANY = threshold('gates', '_MANY')
_SMALL = threshold('rectifier', '_SMALL')
_BLOCKS = 2 * threshold('blocks', '_BLOCK')
_ERF = (threshold('error_functions', '_MANY'), _BLOCKS)
_BOUNDS = threshold('bounds', '_MANY')
_WHOLE = tuple(value for value in SPECIAL if not np.isinf(value))

ROWS = {
    'rectifier.relu': Row(
        lambda k, x: k(x), generic('rectifier.relu'), (_SMALL,), dtypes='efd', tolerance=0
    ),
    # A factor, of bools or of numbers.
    'rectifier.step': Row(
        lambda k, x: k(x) * _like(1, x),
        lambda x: np.where(x > 0, _like(1, x), _like(0, x)),
        (_SMALL,),
        dtypes='efd',
        tolerance=0,
    ),
    **{
        f'rectifier.leaky_relu, {slope}': Row(
            lambda k, x, slope=slope: k(x, slope),
            lambda x, slope=slope: np.where(x >= 0, x, _like(slope, x) * x),
            (_SMALL,),
            dtypes='efd',
            tolerance=0,
        )
        for slope in (0, 0.2, 1)
    },
    'rectifier.leaky_factor': Row(
        lambda k, x: k(x, 0.2),
        lambda x: np.where(x >= 0, _like(1, x), _like(0.2, x)),
        (_SMALL,),
        dtypes='efd',
        tolerance=0,
    ),
    'bounds.above': Row(
        lambda k, x: k(x, _like(-0.5, x)), lambda x: np.maximum(x, -0.5), (_BOUNDS,), dtypes='efd', tolerance=0
    ),
    'bounds.below': Row(
        lambda k, x: k(x, _like(0.5, x)), lambda x: np.minimum(x, 0.5), (_BOUNDS,), dtypes='efd', tolerance=0
    ),
    'bounds.between': Row(
        lambda k, x: k(x, _like(-0.5, x), _like(0.5, x)),
        lambda x: np.minimum(np.maximum(x, -0.5), 0.5),
        (_BOUNDS,),
        dtypes='efd',
        tolerance=0,
    ),
    'bounds.fmod': Row(
        lambda k, x, y: k(x, y), generic('bounds.fmod'), (_BOUNDS, _BLOCKS), 2, 'efd', tolerance=0
    ),
    'blocks.in_blocks': Row(
        lambda k, x, y: k(lambda a, b: a * b + 1, x, y), lambda x, y: x * y + 1, (_BLOCKS, _BLOCKS + 1), 2, 'fd',
        tolerance=0,
    ),
    'gates.sigmoid': Row(lambda k, x: k(x), generic('gates.sigmoid'), (_MANY,), low=-30),
    'gates.sigmoid_slope': Row(lambda k, x: k(x), lambda x: _sigmoid(x) * _sigmoid(-x), (_MANY,), low=-30),
    'gates.silu': Row(lambda k, x: k(x), generic('gates.silu'), (_MANY,), low=-30),
    'gates.silu_gradient': Row(
        lambda k, gy, x: k(gy, x, kernel('gates.silu')(x)),
        lambda gy, x: gy * (_sigmoid(x) + x * _sigmoid(x) * _sigmoid(-x)),
        (_MANY,),
        2,
        special=_WHOLE,
        absolute=True,
    ),
    'gates.mish': Row(lambda k, x: k(x), generic('gates.mish'), (_BOUNDS,), low=-20, high=50),
    'gates.mish_gradient': Row(
        lambda k, gy, x: k(gy, x),
        lambda gy, x: gy * (np.tanh(np.logaddexp(0, x)) + x * _sigmoid(x) / np.cosh(np.logaddexp(0, x)) ** 2),
        (_BOUNDS,),
        2,
        special=_WHOLE,
        absolute=True,
    ),
    'gates.scaled_inside': Row(
        lambda k, gy, x: k(gy, x, 0.25, -1, 2),
        lambda gy, x: np.where((x > -1) & (x < 2), gy * _like(0.25, x), _like(0, x)),
        (threshold('selection', '_MANY'),),
        2,
        tolerance=0,
    ),
    **_gelu_rows('none'),
    **_gelu_rows('tanh'),
    'error_functions.erf': Row(lambda k, x: k(x), scipy.special.erf, _ERF, dtypes='f', scalars=False),
    'error_functions.erfc': Row(lambda k, x: k(x), scipy.special.erfc, _ERF, dtypes='f', scalars=False),
    'error_functions.ndtr': Row(lambda k, x: k(x), scipy.special.ndtr, _ERF, dtypes='f', scalars=False),
    'error_functions.erfinv': Row(
        lambda k, x: k(x), scipy.special.erfinv, _ERF, dtypes='f', low=-1, high=1,
        special=(np.nan, 1.0, -1.0, 0.0, -0.0, 2.0), scalars=False,
    ),
    'error_functions.tail_ratio': Row(
        lambda k, x: k(x, 2), lambda x: _tail_ratio(x, 2), dtypes='d', low=-8,
        special=(0.0, -2.0), tolerance=1e4,
    ),
    'gamma.polygamma': Row(
        lambda k, x: k(_like(1, x), x),
        lambda x: scipy.special.polygamma(1, x.astype('d')),
        (threshold('gamma', '_MANY'), _BLOCKS),
        dtypes='f',
        low=0.01,
        high=20,
        special=(np.nan, 1.0, 1e-10),
    ),
    'selection.masked': Row(
        lambda k, x, y: k(x, y > 0),
        lambda x, y: generic('selection.masked')(x, y > 0),
        (threshold('selection', '_MANY'),),
        2,
        'efdi',
        special=(0.0, 1.0, -1.0),
        tolerance=0,
    ),
    'selection.masked, infinite': Row(
        lambda k, x, y: k(x, y > 0),
        lambda x, y: generic('selection.masked')(x, y > 0),
        (threshold('selection', '_MANY'),),
        2,
        'efd',
        tolerance=0,
    ),
    'selection.chosen': Row(
        lambda k, x, y: k(x > y, x, y),
        lambda x, y: np.where(x > y, x, y),
        (threshold('selection', '_MANY'),),
        2,
        'efd',
        tolerance=0,
    ),
}  # fmt: skip
