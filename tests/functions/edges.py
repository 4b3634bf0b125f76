"""Points at the edge of what a dtype holds, with the right values: huge and tiny arguments, cancellation, ties.

A row has a function of Variables, its arrays, and what is right: the value, and the gradients of the sum of the
value's elements. Rows of smooth functions of one number have the function in mpmath instead, from which value, first
and second derivative are computed with 50 digits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mpmath as mp
import numpy as np

import minichainer.functions as F
from minichainer.variable import Variable

INF, NAN = math.inf, math.nan

_LOG_2_PI = math.log(2 * math.pi)


@dataclass(frozen=True)
class Row:
    """A function at one point, and what is right there."""

    name: str
    call: Callable[..., Any]
    arrays: tuple[Any, ...]
    #: The value, and the gradient of each array; None where it is not compared.
    value: Any = None
    gradients: tuple[Any, ...] = ()
    #: The gradients of the sum of the gradients.
    second: tuple[Any, ...] = ()
    dtypes: str = 'efd'
    #: Relative error that is allowed, in units in the last place.
    units: float = 8.0


@dataclass(frozen=True)
class Smooth:
    """A smooth function of a number at some points of a dtype."""

    name: str
    call: Callable[..., Any]
    exact: Callable[[Any], Any]
    points: dict[str, tuple[float, ...]]
    #: Orders that are compared.
    orders: tuple[int, ...] = (0, 1, 2)
    units: float = 8.0


def _not_same(x0: Any, x1: Any) -> Any:
    return F.contrastive(x0, x1, np.array([0]))


def _decov_of_features(h: Any) -> Any:
    return F.decov(h, reduce='no')


def _hinge(norm: str) -> Callable[[Any], Any]:
    return lambda x: F.hinge(x, np.array([0, 0]), norm)


def _cross_entropy(label: int) -> Callable[[Any], Any]:
    return lambda x: F.softmax_cross_entropy(x, np.array([label]))


_CLOSED = [[0.0]], [0.0]
#: Of the scores 20, 0, 0 and of 0, 0, -20: the logarithm of the sum of exponentials, without the largest score, and
#: the smallest probability.
_LOG, _P, _LOG_2 = math.log1p(2 * math.exp(-20)), 1 / (math.exp(20) + 2), math.log(2 + math.exp(-20))
ROWS = [
    Row('arctan2 at the origin', F.arctan2, (0.0, 0.0), 0.0, (NAN, NAN)),
    Row('arctan2 at infinity', F.arctan2, ([INF, 1, -INF], [0.0, INF, 2]), None, ([0, 0, 0], [0, 0, 0])),
    Row('arctan2 of infinities', F.arctan2, ([INF], [INF]), [math.pi / 4], ([0], [0])),
    Row('arctan2 of huge numbers', F.arctan2, ([60000.0], [60000.0]), [math.pi / 4], ([8.3333e-6], [-8.3333e-6]),
        dtypes='e', units=32),
    Row('square', lambda x: F.square(x) * 0.25, ([35810.0],), None, ([17904.0],), dtypes='e'),
    Row('log10 of huge numbers', F.log10, ([60000.0],), None, ([7.2382e-6],), dtypes='e', units=32),
    Row('swish where its gate is closed', F.swish, ([[2554.0]], [-249.0]), [[0.0]], _CLOSED, _CLOSED),
    Row('swish far below', F.swish, ([[-5644.0]], [249.0]), [[0.0]], ([[0.0]], [0.0]), ([[0.0]], [0.0])),
    Row('swish where its gate is open', F.swish, ([[5644.0]], [249.0]), [[5644.0]], ([[1.0]], [0.0]), _CLOSED),
    Row('swish beyond float32', F.swish, ([[-1e30]], [1e30]), [[0.0]], _CLOSED, _CLOSED, dtypes='fd'),
    Row('silu of huge numbers', F.silu, ([40000.0, -40000.0],), [40000.0, 0], ([1.0, 0],), ([0.0, 0],)),
    Row('mish of huge numbers', F.mish, ([40000.0, -40000.0],), [40000.0, 0], ([1.0, 0],), ([0.0, 0],)),
    Row('decov', F.decov, ([[300.0, 1], [-300, 2]],), 11250.0 * 2, ([[75, -45000.0], [-75, 45000]],), dtypes='efd'),
    Row('decov of features', _decov_of_features, ([[1e20, 1], [-1e20, 2]],), [[0, -5e19], [-5e19, 0]],
        ([[-0.5, 1e20], [0.5, -1e20]],), dtypes='fd'),
    Row('hinge of NaN', _hinge('L1'), ([[NAN], [0.0]],), NAN, ([[NAN], [-0.5]],)),
    Row('squared hinge of NaN', _hinge('L2'), ([[NAN], [0.0]],), NAN, ([[NAN], [-1.0]],)),
    Row('einsum off the diagonal', lambda x, y: F.einsum('ik,jj->', x, y), ([[INF]], [[1.0, 5], [7, 2]]), INF,
        ([[3.0]], [[INF, 0], [0, INF]])),
    Row('a third of einsum', lambda x, y: F.einsum('jij,j->i', x, y),
        (np.arange(8.0).reshape(2, 2, 2), [INF, 1]), None,
        ([[[INF, 0], [INF, 0]], [[0, 1], [0, 1]]], [2, 12])),
    Row('batch normalization by an infinite mean', F.fixed_batch_normalization,
        ([[1.0, 1]], [1.0, 1], [0.0, 0], [INF, -INF], [1.0, 1]), [[-INF, INF]]),
    Row('contrastive of near points', _not_same, ([[2e-4]], [[0.0]]), 0.49980002, ([[-0.9998]], [[0.9998]]),
        ([[0.0]], [[0.0]]), units=16),
    Row('contrastive of very near points', _not_same, ([[1e-21]], [[0.0]]), 0.5, ([[-1.0]], [[1.0]]),
        ([[0.0]], [[0.0]]), dtypes='fd'),
    Row('contrastive of the same point', _not_same, ([[1.0]], [[1.0]]), 0.5, ([[0.0]], [[0.0]]), ([[0.0]], [[0.0]])),
    Row('contrastive of x0 alone', lambda x: _not_same(x, np.zeros_like(x.array)), ([[1e-3]],),
        0.4990005, ([[-0.999]],),
        ([[1.0]],), units=16),
    Row('triplet', F.triplet, ([[300.0]], [[0.0]], [[1.0]]), 599.2, ([[2.0]], [[-600.0]], [[598.0]])),
    Row('triplet of huge numbers', F.triplet, ([[0.0]], [[1e30]], [[2e30]]), 0.0, ([[0.0]], [[0.0]], [[0.0]]),
        dtypes='f'),
    Row('gaussian_nll of huge numbers', F.gaussian_nll, ([1e25], [0.0], [100.0]),
        50 + (_LOG_2_PI + 1e50 * math.exp(-100)) / 2,
        ([1e25 * math.exp(-100)], [-1e25 * math.exp(-100)], [0.5 - 1e50 * math.exp(-100) / 2]),
        dtypes='fd', units=256),
    Row('gaussian_nll of large numbers', F.gaussian_nll, ([1000.0], [0.0], [20.0]),
        10 + (_LOG_2_PI + 1e6 * math.exp(-20)) / 2,
        ([1e3 * math.exp(-20)], [-1e3 * math.exp(-20)], [0.5 - 1e6 * math.exp(-20) / 2]), units=64),
    Row('power 1 of a number whose reciprocal is out of range', lambda x: x ** Variable(np.ones_like(x.array)),
        ([1e-323],), [1e-323], ([1.0],), ([0.0],), dtypes='d'),
    Row('norm of huge numbers', F.norm, ([1e20, 2e20],), math.sqrt(5) * 1e20, ([5**-0.5, 2 * 5**-0.5],),
        dtypes='f'),
    Row('norm of tiny numbers', F.norm, ([1e-25, 2e-25],), math.sqrt(5) * 1e-25, ([5**-0.5, 2 * 5**-0.5],),
        dtypes='f'),
    Row('norm of tinier numbers', F.norm, ([1e-200, 2e-200],), math.sqrt(5) * 1e-200, ([5**-0.5, 2 * 5**-0.5],),
        dtypes='d'),
    Row('norms of rows', lambda x: F.norm(x, axis=1), ([[3e-30, 4e-30], [3.0, 4], [3e30, 4e30], [0, 0]],),
        [5e-30, 5, 5e30, 0], ([[0.6, 0.8], [0.6, 0.8], [0.6, 0.8], [0, 0]],), dtypes='f'),
    Row('norm of order 3', lambda x: F.norm(x, 3), ([1e20, 1e20],), 2 ** (1 / 3) * 1e20, ([2 ** (-2 / 3)] * 2,),
        dtypes='fd', units=64),
    Row('norm of order -1 beside zero', lambda x: F.norm(x, -1), ([0.0, 2],), 0.0, ([0.0, 0],)),
    Row('norm of order -1', lambda x: F.norm(x, -1), ([2.0, 2],), 1.0, ([0.25, 0.25],)),
    Row('norm of small numbers', F.norm, ([3e-4, 4e-4],), 5e-4, ([0.6, 0.8],), ([320.0, -240.0],), units=16),
    Row('softplus of huge numbers', lambda x: F.softplus(x, 3.0), ([1.2e38, -1.2e38],), [1.2e38, 0], ([1.0, 0],),
        ([0.0, 0],), dtypes='fd'),
    Row('softplus of a negative beta', lambda x: F.softplus(x, -3.0), ([1.2e38, -1.2e38],), [0, -1.2e38],
        ([0.0, 1],), dtypes='fd'),
    Row('r2_score of huge numbers', F.r2_score, ([9e19, 1.8e20, 3.6e20], [1e20, 2e20, 4e20]), 0.955, dtypes='fd'),
    Row('r2_score of tiny numbers', F.r2_score, ([9e-31, 1.8e-30, 3.6e-30], [1e-30, 2e-30, 4e-30]), 0.955,
        dtypes='fd'),
    Row('mean_squared_error', F.mean_squared_error, ([300.0], [0.0]), None, ([600.0], [-600.0])),
    Row('mean_squared_error of far points', F.mean_squared_error, ([60000.0, 0], [-10000.0, 0]), INF,
        ([INF, 0], [-INF, 0]), dtypes='e'),
    Row('cross entropy of a certain label', _cross_entropy(0), ([[20.0, 0, 0]],), _LOG,
        ([[-2 * _P, _P, _P]],), dtypes='fd'),
    Row('cross entropies of rows and columns',
        lambda x: F.softmax_cross_entropy(x, np.zeros((1, 2), int), reduce='no'),
        ([[[20.0, 0], [0, -20], [0, -20]]],), [[_LOG, _LOG]],
        ([[[-2 * _P, -2 * _P], [_P, _P], [_P, _P]]],), dtypes='fd'),
    Row('cross entropy of a wrong label', _cross_entropy(1), ([[20.0, 0, 0]],), 20 + _LOG,
        ([[1 - 2 * _P, _P - 1, _P]],), dtypes='fd'),
    Row('log_softmax of a label', lambda x: F.log_softmax(x)[0, 0], ([[20.0, 0, 0]],), -_LOG,
        ([[-math.expm1(-_LOG), -math.exp(-20 - _LOG), -math.exp(-20 - _LOG)]],), units=32),
    Row('log_softmax of a label of a column', lambda x: F.log_softmax(x, axis=0)[0, 0], ([[20.0], [0], [0]],), -_LOG,
        ([[-math.expm1(-_LOG)], [-math.exp(-20 - _LOG)], [-math.exp(-20 - _LOG)]],), units=32),
    Row('log_softmax', F.log_softmax, ([[20.0, 0, 0], [0, 0, -20]],),
        [[-_LOG, -20 - _LOG, -20 - _LOG], [-_LOG_2, -_LOG_2, -20 - _LOG_2]], dtypes='fd'),
    Row('log_softmax of columns', lambda x: F.log_softmax(x, axis=0), ([[20.0, 0], [0, 0], [0, -20]],),
        [[-_LOG, -_LOG_2], [-20 - _LOG, -_LOG_2], [-20 - _LOG, -20 - _LOG_2]], dtypes='fd'),
    Row('lgamma where it is 0', F.lgamma, ([1.0, 2.0],), [0.0, 0.0], dtypes='fd'),
    Row('logsumexp', F.logsumexp, ([0.0, -20, -20],), _LOG, ([1 - 2 * _P, _P, _P],), dtypes='fd'),
    Row('logsumexp of a column', lambda x: F.logsumexp(x, axis=0), ([[0.0, -30], [-20, 0], [-20, -30]],),
        [_LOG, math.log1p(2 * math.exp(-30))], dtypes='fd'),
    Row('logsumexp of nothing', F.logsumexp, ([-INF, -INF],), -INF),
]  # fmt: skip


def _normal(x: Any) -> Any:
    """The normal distribution function."""
    return mp.erfc(-x / mp.sqrt(2)) / 2


SMOOTH = [
    Smooth('arctan', F.arctan, mp.atan, {'e': (255.0, 256.0, 1000.0, 60000.0), 'f': (1e15,)}, units=64),
    Smooth('erfc', F.erfc, mp.erfc, {'d': (26.9, 27.2)}, (0,), units=2000),
    Smooth('ndtr', F.ndtr, _normal, {'d': (-38.2, -37.9)}, (0,), units=4000),
    Smooth('log_ndtr', F.log_ndtr, lambda x: mp.log1p(-_normal(-x)), {'d': (38.2, 37.9)}, (0,), units=4000),
    Smooth('lgamma', F.lgamma, lambda x: mp.log(mp.gamma(x)), {
        'd': (1 + 1e-9, 1 + 1e-5, 0.9999999, 1.05, 2 + 1e-9, 2 - 1e-6), 'f': (1 + 1e-6, 2 - 1e-6)}, (0, 1), units=8),
    Smooth('lgamma of subnormal numbers', F.lgamma, lambda x: mp.log(mp.gamma(x)), {'d': (1e-310, 5e-324)}, (0,)),
    Smooth('gelu', F.gelu, lambda x: x * _normal(x), {'f': (-12.3, -9.0, -5.0)}, (0, 1), units=128),
]  # fmt: skip
