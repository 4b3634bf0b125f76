"""Functions for values of all sizes: those of the package, composed ones, and links."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import minichainer.functions as F
from minichainer.backend import get_array_module
from tests.functions.checks import bound
from tests.functions.row import Domain
from tests.functions.table import CASES
from tests.verification.catalogue.correct_links import LINKS, OfLink
from tests.verification.catalogue.extreme_values import Region

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Subject:
    """A function that is right wherever it has a gradient.

    Args:
        name: unique.
        func: takes Variables; its results are one or several.
        regions: one per input.
        shapes: of the inputs.
        order: up to which it may be checked.
        kinked: it has kinks somewhere: at the special points of its regions, or at ties.
        dtypes: dtype characters it is tried with.
        params: parameters that are checked, too.
    """

    name: str
    func: Callable[..., Any]
    regions: tuple[Region, ...]
    shapes: tuple[Shape, ...]
    order: int = 2
    kinked: bool = False
    dtypes: str = 'ddddffe'
    params: tuple[Any, ...] = field(default=())


def _normal(shape: Shape, rng: Any) -> Any:
    return np.asarray(rng.normal(size=shape))


def _uniform(shape: Shape, rng: Any) -> Any:
    return np.asarray(rng.uniform(0.1, 3, shape))


def _probabilities(shape: Shape, rng: Any) -> Any:
    x = np.exp(rng.choice([1.0, 10.0]) * rng.normal(size=shape))
    return np.asarray(x / x.sum(-1, keepdims=True)) if x.ndim else x


REAL = Region(_normal)
POSITIVE = Region(_uniform, sign=1)
PROBABLE = Region(_probabilities, sign=1)
#: Neighbouring numbers above are periods apart: nothing can be measured there.
MOST_PERIODIC = 1e6


# --- composed ---

#: Name, function, regions, order, special points; shapes are drawn. Those of one input take any shape.
ELEMENTWISE: list[tuple[str, Callable[..., Any], Region]] = [
    ('log(x)', F.log, POSITIVE),
    ('log(x + 1e-19)', lambda x: F.log(x + 1e-19), POSITIVE),
    ('log(x + 1e-8)', lambda x: F.log(x + 1e-8), POSITIVE),
    ('log(1 + x * x)', lambda x: F.log(1 + x * x), REAL),
    ('log1p(x)', F.log1p, POSITIVE),
    ('expm1(x)', F.expm1, REAL),
    ('exp(-x * x)', lambda x: F.exp(-x * x), REAL),
    ('sqrt(x)', F.sqrt, POSITIVE),
    ('sqrt(x + 1e-20)', lambda x: F.sqrt(x + 1e-20), POSITIVE),
    ('x ** .5', lambda x: x**0.5, POSITIVE),
    ('x ** -1.5', lambda x: x**-1.5, POSITIVE),
    ('x ** 3', lambda x: x**3, REAL),
    ('x * x', lambda x: x * x, REAL),
    ('1 / x', lambda x: 1 / x, REAL),
    ('1 / (1 + x * x)', lambda x: 1 / (1 + x * x), REAL),
    ('x / (1 + abs(x * x))', lambda x: x / (1 + F.absolute(x * x)), REAL),
    ('x * log(x)', lambda x: x * F.log(x), POSITIVE),
    ('lgamma', F.lgamma, POSITIVE),
    ('digamma', F.digamma, POSITIVE),
    ('tanh', F.tanh, REAL),
    ('sigmoid', F.sigmoid, REAL),
    ('x * sigmoid(x)', lambda x: x * F.sigmoid(x), REAL),
    ('softplus', F.softplus, REAL),
    ('erf', F.erf, REAL),
    ('erfc', F.erfc, REAL),
    ('sin(x)', F.sin, Region(_normal, most=MOST_PERIODIC)),
    ('arctan', F.arctan, REAL),
    ('arcsinh', lambda x: F.log(x + F.sqrt(x * x + 1)), POSITIVE),
    ('elu', F.elu, REAL),
    ('log cosh', lambda x: x + F.softplus(-2 * x), REAL),
    ('relu', F.relu, Region(_normal, special=(0.0,))),
    ('leaky_relu', F.leaky_relu, Region(_normal, special=(0.0,))),
    ('absolute', F.absolute, Region(_normal, special=(0.0,))),
    ('clip', lambda x: F.clip(x, -1.0, 1.0), Region(_normal, special=(-1.0, 1.0))),
    ('clipped_relu', lambda x: F.clipped_relu(x, 1.5), Region(_normal, special=(0.0, 1.5))),
    ('hard_sigmoid', F.hard_sigmoid, Region(_normal, special=(-2.5, 2.5))),
    ('huber', lambda x: F.huber_loss(x, 0 * x.array, 1.0, reduce='no'), Region(_normal, special=(-1.0, 1.0))),
    ('sum(x * x)', lambda x: F.sum(x * x), REAL),
    ('sum(x ** 3)', lambda x: F.sum(x**3), REAL),
    ('norm', lambda x: F.sqrt(F.sum(x * x)), REAL),
    ('mean', F.mean, REAL),
    ('S tanh(x / S)', lambda x: _scales(x) * F.tanh(x / _scales(x)), REAL),
]

#: The same for two axes.
ROWWISE: list[tuple[str, Callable[..., Any], Region]] = [
    ('softmax', F.softmax, REAL),
    ('softmax(300 x)', lambda x: F.softmax(300.0 * x), REAL),
    ('log_softmax', F.log_softmax, REAL),
    ('logsumexp', lambda x: F.logsumexp(x, axis=1), REAL),
    ('entropy', lambda p: -F.sum(p * F.log(p), axis=1), PROBABLE),
    ('entropy of softmax', lambda x: -F.sum(F.softmax(x) * F.log_softmax(x)), REAL),
    ('log(softmax)', lambda x: F.log(F.softmax(x)), REAL),
    ('normalize', lambda x: F.normalize(x), REAL),
    ('normalize, eps 1e-20', lambda x: F.normalize(x, eps=1e-20), REAL),
    ('standardized', lambda x: (x - F.mean(x, axis=1, keepdims=True)) / (1e-3 + F.sqrt(_variance(x))), REAL),
    ('layer norm', lambda x: F.layer_normalization(x, _ones(x), _ones(x), eps=1e-5), REAL),
    ('softmax cross entropy', lambda x: F.softmax_cross_entropy(x, _labels(x)), REAL),
    ('sigmoid cross entropy', lambda x: F.sigmoid_cross_entropy(x, _signs(x)), REAL),
    ('max of rows', lambda x: F.max(x, axis=1), Region(_normal, special=(0.0, 1.0))),
    ('cumsum', lambda x: F.cumsum(x, axis=1), REAL),
    ('cumprod', lambda x: F.cumprod(x, axis=1), REAL),
    ('x @ x.T', lambda x: F.matmul(x, x, transb=True), REAL),
    ('crelu', F.crelu, Region(_normal, special=(0.0,))),
    ('maxout', lambda x: F.max(F.stack([x, 2 * x - 1]), axis=0), Region(_normal, special=(1.0,))),
]

#: The same for two inputs of one shape.
PAIRS: list[tuple[str, Callable[..., Any], tuple[Region, Region]]] = [
    ('m / sqrt(v)', lambda m, v: m / F.sqrt(v), (REAL, POSITIVE)),
    ('m / (sqrt(v) + 1e-8)', lambda m, v: m / (F.sqrt(v) + 1e-8), (REAL, POSITIVE)),
    ('x * y', lambda x, y: x * y, (REAL, REAL)),
    ('x / y', lambda x, y: x / y, (REAL, REAL)),
    ('x ** y', lambda x, y: x**y, (POSITIVE, REAL)),
    ('logaddexp', lambda x, y: x + F.softplus(y - x), (REAL, REAL)),
    ('KL', lambda p, q: F.sum(p * (F.log(p) - F.log(q))), (PROBABLE, PROBABLE)),
    ('gaussian nll', lambda x, s: F.sum(s + 0.5 * x * x * F.exp(-2 * s)), (REAL, REAL)),
    ('maximum', F.maximum, (Region(_normal, special=(1.0,)),) * 2),
    ('minimum', F.minimum, (Region(_normal, special=(1.0,)),) * 2),
    ('mean squared error', F.mean_squared_error, (REAL, REAL)),
    ('hypot', lambda x, y: F.sqrt(x * x + y * y), (REAL, REAL)),
    ('where', lambda x, y: F.where(_half(x), x * x, F.tanh(y)), (REAL, REAL)),
]
KINKED = {
    'relu', 'leaky_relu', 'absolute', 'clip', 'clipped_relu', 'hard_sigmoid', 'max of rows', 'crelu', 'maxout',
    'maximum', 'minimum', 'norm', 'normalize', 'normalize, eps 1e-20', 'hypot', 'standardized', 'elu', 'huber',
}  # fmt: skip
SHAPES: list[Shape] = [(1,), (2,), (3,), (13,), (13,), (3, 4), (400,)]
ROWS: list[Shape] = [(1, 1), (1, 3), (3, 4), (2, 7), (20, 20)]
EMPTY = 0.02  # a share of points without elements


def _scales(x: Any) -> Any:
    return _of(x, (10.0 ** np.linspace(-7, 7, max(x.size, 1)))[: x.size].reshape(x.shape))


def _of(x: Any, array: Any) -> Any:
    return np.asarray(array).astype(x.dtype.newbyteorder('='))


def _variance(x: Any) -> Any:
    centred = x - F.mean(x, axis=1, keepdims=True)
    return F.mean(centred * centred, axis=1, keepdims=True)


def _ones(x: Any) -> Any:
    return _of(x, np.ones(x.shape[1]))


def _labels(x: Any) -> Any:
    return get_array_module(x.array).arange(len(x), dtype='i') % max(x.shape[1], 1)


def _signs(x: Any) -> Any:
    return np.arange(x.size).reshape(x.shape) % 2


def _half(x: Any) -> Any:
    return np.arange(x.size).reshape(x.shape) % 2 == 0


def composed(rng: Any) -> Subject:
    """One of the composed functions, at a shape."""
    kind = rng.randint(len(ELEMENTWISE) + len(ROWWISE) + len(PAIRS))
    empty = rng.rand() < EMPTY
    if kind < len(ELEMENTWISE):
        name, func, region = ELEMENTWISE[kind]
        shape = (0,) if empty else SHAPES[rng.randint(len(SHAPES))]
        return Subject(f'{name}', func, (region,), (shape,), kinked=name in KINKED)
    if kind < len(ELEMENTWISE) + len(ROWWISE):
        name, func, region = ROWWISE[kind - len(ELEMENTWISE)]
        shape = (0, 3) if empty else ROWS[rng.randint(len(ROWS))]
        return Subject(name, func, (region,), (shape,), kinked=name in KINKED)
    name, func, regions = PAIRS[kind - len(ELEMENTWISE) - len(ROWWISE)]
    shape = (0,) if empty else SHAPES[rng.randint(len(SHAPES))]
    return Subject(name, func, regions, (shape, shape), kinked=name in KINKED)


# --- of the package ---


@functools.cache
def _rows() -> list[Any]:
    return [(name, row, case) for name, row, case in CASES if row.order]


def _region(domain: Domain) -> Region:
    """Where the values of a row may lie: a domain of the usual bounds stands for all numbers."""
    sign = 1 if domain.low >= 0 else -1 if domain.high <= 0 else 0
    usual = (domain.low, domain.high) in ((-2.0, 2.0), (-1.95, 2.05), (0.5, 3.0), (0.5, 2.0))
    most = np.inf if usual else max(abs(domain.low), abs(domain.high))
    special = tuple(domain.avoid) or ((1.0,) if domain.distinct else ())
    return Region(lambda shape, rng: domain.draw(shape, 'd', rng), sign, most, special)


def of_row(rng: Any) -> Subject:
    """A case of the table of functions; its constants are those of the table."""
    name, row, case = _rows()[rng.randint(len(_rows()))]
    dtypes = ''.join(c for c in 'ddddffe' if c in row.dtypes)
    dtype = str(rng.choice(list(dtypes)))
    function, arrays = bound(row, case, row.draw(case, dtype))
    domains = [d for d in row.domains if d.is_variable]
    kinked = any(d.avoid or d.distinct for d in domains) or row.name in KINKED_ROWS
    regions = tuple(_region(d) for d in domains)
    if row.name in PERIODIC:
        regions = tuple(dataclasses.replace(r, most=min(r.most, MOST_PERIODIC)) for r in regions)
    shapes = tuple(a.shape for a in arrays)
    return Subject(name, function, regions, shapes, min(row.order, 2), kinked, dtype)


#: Rows of sines: at huge arguments neighbouring numbers are periods apart.
PERIODIC = {'sin', 'cos', 'tan', 'sinc'}
#: Rows with kinks where sums, distances or singular values are equal.
KINKED_ROWS = {'norm', 'svd', 'normalize', 'maxout', 'eigh', 'maximum', 'minimum', 'triplet', 'contrastive'}


# --- links ---


def of_link(rng: Any, seed: int) -> Subject:
    """A link in float32 or float64, with its parameters."""
    link: OfLink = LINKS[rng.randint(len(LINKS))]
    func = link.build(seed)
    dtype = str(rng.choice(['f', 'f', 'd']))
    for parameter in func.params():
        parameter.array = parameter.array.astype(dtype)
        parameter.cleargrad()
    shapes = tuple(x.shape for x in link.draw(rng))
    params = tuple(p for _, p in sorted(func.namedparams()))
    kinked = link.name == 'PReLU'
    return Subject(f'L.{link.name}', func, (REAL,) * len(shapes), shapes, link.order, kinked, dtype, params)


def subject(rng: Any, seed: int) -> Subject:
    """A function with its shapes: composed, of the table, or a link."""
    kind = rng.rand()
    if kind < 0.5:
        return composed(rng)
    return of_row(rng) if kind < 0.93 else of_link(rng, seed)
