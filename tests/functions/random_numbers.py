"""Calls with random numbers: combined keywords, sizes 0 and 1, strides, ties, infinities, NaN, huge and tiny.

The judge of a low precision is the same call in float64: a result that is finite and in the range of the dtype must
be there, NaN must not be hidden, and what is finite must be near, relative to the largest element and to what one
rounding of the inputs changes. In float64 the same call with contiguous arrays is the judge.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import minichainer as chainer
from tests.functions.checks import bound, derivative_of
from tests.functions.row import Case, Row

KINDS = ['normal'] * 5 + ['ties', 'zeros', 'special', 'huge', 'tiny']
#: Roundings of the dtype that a result may be off, beside what the roundings of its inputs do.
UNITS = 64
#: How many times what roundings of the inputs change a result may be off.
CONDITION = 64


@dataclass(frozen=True)
class Call:
    """A call of a row's function; ``wide`` are the same numbers in float64, contiguous."""

    row: Row
    case: Case
    dtype: str
    kind: str
    arrays: list[np.ndarray]

    def __str__(self) -> str:
        return f'{self.row} {self.case} {self.dtype} {self.kind}'

    @property
    def wide(self) -> list[np.ndarray]:
        return [np.array(a, 'd' if a.dtype.kind == 'f' else a.dtype, order='C') for a in self.arrays]


def _numbers(x: np.ndarray, kind: str, dtype: str, rng: np.random.RandomState) -> np.ndarray:
    if kind == 'ties':
        return np.round(x * 1.5)
    if kind == 'zeros':
        return np.where(rng.rand(*x.shape) < 0.4, np.copysign(0.0, x), x)
    if kind == 'special':
        special = rng.choice([np.nan, np.inf, -np.inf, 0.0, -0.0], x.shape)
        return np.where(rng.rand(*x.shape) < 0.15, special, x)
    if kind == 'huge':
        return x * 10.0 ** rng.randint(0, 5 if dtype == 'e' else 25, x.shape)
    if kind == 'tiny':
        return x * 10.0 ** -rng.randint(0, 8 if dtype == 'e' else 30, x.shape)
    return x


def _laid_out(a: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
    """The same numbers with other strides, in half of the cases."""
    layout = rng.randint(0, 8) if a.ndim else 7
    if layout == 0:
        return np.asfortranarray(a)
    if layout == 1:
        return np.repeat(a, 2, axis=-1)[..., ::2]
    if layout == 2:
        return np.ascontiguousarray(a[::-1])[::-1]
    if layout == 3:
        return np.pad(a, [(1, 1), *[(0, 0)] * (a.ndim - 1)])[1:-1]
    return a


def _resized(shapes: Sequence[tuple[int, ...]], rng: np.random.RandomState) -> tuple[tuple[int, ...], ...]:
    """Shapes in which one size has become 0 or 1 wherever it is, in a fifth of the cases."""
    sizes = sorted({size for shape in shapes for size in shape})
    if not sizes or rng.rand() > 0.2:
        return tuple(shapes)
    old, new = rng.choice(sizes), int(rng.randint(0, 2))
    return tuple(tuple(new if size == old else size for size in shape) for shape in shapes)


def _combined(row: Row, base: Case, rng: np.random.RandomState) -> dict[str, Any]:
    """Keywords of a case, some of them with the values that other cases have."""
    params = dict(base.params)
    for name in sorted({name for case in row.cases for name in case.params}):
        values = [case.params[name] for case in row.cases if name in case.params]
        if rng.rand() < 0.2:
            params[name] = values[rng.randint(len(values))]
    return params


def draw(row: Row, seed: int) -> Call:
    rng = np.random.RandomState(seed)
    base = row.cases[rng.randint(len(row.cases))]
    case = Case(_resized(base.shapes, rng), _combined(row, base, rng))
    dtype, kind = rng.choice([*row.dtypes]), KINDS[rng.randint(len(KINDS))]
    arrays = []
    for domain, shape in zip(row.domains, case.shapes, strict=True):
        a = domain.draw(shape, 'd', rng)
        if domain.is_variable:
            a = _numbers(a, kind, dtype, rng)
        with np.errstate(over='ignore'):
            arrays.append(_laid_out(np.asarray(a.astype(dtype) if a.dtype.kind == 'f' else a), rng))
    return Call(row, case, dtype, kind, arrays)


def _derivatives(call: Call, arrays: list[np.ndarray], seed: int) -> Iterator[list[np.ndarray]]:
    """What the function returns, its gradients, and the gradients of these, where the row has them."""
    function, xs = bound(call.row, call.case, arrays)
    ys = [y for y in function(*[chainer.Variable(x) for x in xs]) if isinstance(y, chainer.Variable)]
    yield [y.array for y in ys]
    arguments: list[Any] = list(xs)
    for order in range(1, min(call.row.order, 2) + 1):
        if not ys or any(y.dtype.kind != 'f' for y in ys):
            return
        rng = np.random.RandomState(seed + order)
        upstream = [rng.choice([-1.0, -0.5, 0.5, 1.0], y.shape).astype(y.dtype) for y in ys]
        function = derivative_of(function, len(arguments), differentiable=order < call.row.order)
        arguments += upstream
        ys = function(*[chainer.Variable(np.asarray(x)) for x in arguments])
        yield [y.array for y in ys]


def results(call: Call, arrays: list[np.ndarray], seed: int) -> list[list[np.ndarray]]:
    with warnings.catch_warnings(), np.errstate(all='ignore'):
        warnings.simplefilter('ignore')
        return list(_derivatives(call, arrays, seed))


def _moved(call: Call, seed: int) -> list[np.ndarray]:
    """The inputs in float64, each off by up to a rounding of the dtype."""
    rng, unit = np.random.RandomState(seed), np.finfo(call.dtype).eps
    return [
        a * (1 + unit * rng.uniform(-1, 1, a.shape)) if a.dtype.kind == 'f' and d.is_variable else a
        for a, d in zip(call.wide, call.row.domains, strict=True)
    ]


def _size(arrays: Sequence[np.ndarray]) -> float:
    """The largest finite element of the results of one order: what cancels in one array is as large in another."""
    finite = [abs(a[np.isfinite(a)]) for a in arrays if a.dtype.kind == 'f']
    return max((float(a.max(initial=0.0)) for a in finite), default=0.0)


def complaint(found: np.ndarray, right: np.ndarray, moved: list[np.ndarray], size: float, order: int) -> str:
    """What is wrong with an array, given the same in float64, and what it becomes when the inputs are rounded."""
    found, right = np.asarray(found), np.asarray(right)
    if found.shape != right.shape:
        return f'shape {found.shape}, right is {right.shape}'
    if right.dtype.kind != 'f':
        return '' if (found == right).all() else 'another integer'
    limits = np.finfo(found.dtype)
    largest = float(limits.max)
    with np.errstate(all='ignore'):
        rounded = right.astype(found.dtype).astype('d')
        found = found.astype('d')
        certain = np.all([np.isfinite(m) == np.isfinite(right) for m in moved], axis=0)
        for name, holds in (('NaN', np.isnan), ('infinite', np.isinf)):
            places = holds(found) & np.isfinite(right) & certain & (abs(right) < largest / 4)
            if places.any():
                return f'{name} where {right[places][0]:.6g} is right'
        if (np.isnan(right) & ~np.isnan(found) & certain).any():
            return f'{found[np.isnan(right) & ~np.isnan(found)][0]:.6g} where NaN is right'
        places = np.isinf(rounded) & np.isfinite(found) & certain & (abs(right) > largest * 4)
        if places.any():
            return f'{found[places][0]:.6g} where {rounded[places][0]:.6g} is right'
        finite = np.isfinite(found) & np.isfinite(right) & np.isfinite(rounded)
        if not finite.any():
            return ''
        error = abs(np.where(finite, found - right, 0))
        change = np.max([abs(np.where(np.isfinite(m) & finite, m - right, 0)).max() for m in moved])
        # Upstream gradients are at most 1: what is left where terms of that size cancel may be a rounding of them.
        allowed = UNITS * limits.eps * size + CONDITION * change + 4 * limits.eps * (order > 0)
        allowed += 4 * float(limits.smallest_subnormal)
        if error.max() > allowed:
            place = np.unravel_index(error.argmax(), error.shape)
            return f'{found[place]:.9g} where {right[place]:.9g} is right (allowed {allowed:.2g})'
    return ''


#: What is known: rows, dtypes, kinds of numbers, orders, and why. Patterns are matched from the beginning.
Known = tuple[str, str, str, str, str]
KNOWN: list[Known] = [
    ('.*', 'e', 'huge|tiny|special', '2', 'second derivatives are chains of ops whose steps are rounded to float16'),
    ('__pow__|__r?truediv__|average', '[ef]', 'huge|tiny', '.', 'what is summed, or a step, is out of range'),
    ('norm\\[matrices|svd|forget', '[ef]', 'huge|tiny|zeros', '[12]', 'steps of the derivatives are out of range'),
    ('polygamma', '.', 'tiny', '[12]', 'infinite terms of both signs are summed where n is broadcast'),
    ('cholesky|slogdet|logdet', '[ef]', '.*', '.', "the row's own matrix is rounded"),
    (
        'n_step_|scaled_dot|black_out|negative|(batch_)?det|linear_inter',
        '[ef]',
        'huge',
        '.',
        'products of huge numbers are summed',
    ),
    (
        '(argmax_)?crf1d|discriminative|local_resp',
        '[ef]',
        'huge',
        '.',
        'sums of huge numbers cancel, or of their squares',
    ),
    (
        'n_step_|s?lstm',
        '[ef]',
        'normal|ties|zeros|tiny|huge',
        '[12]',
        'slopes of tanh and sigmoid come from the output',
    ),
    ('deformable|spatial', '[ef]', 'tiny', '.', 'a place beside a pixel is rounded to it, which is a kink'),
    ('argmax_crf1d', 'e', 'tiny', '.', 'scores become equal when they are rounded'),
    ('normalize$|rms_norm', '[ef]', 'huge|normal|tiny', '[12]', 'a vector of one element: all but eps cancels'),
    ('softmax_cross_entropy\\[soft', '[ef]', '.*', '[12]', 'log 0 is that of the least number of the dtype'),
    ('triplet|contrastive', '[ef]', 'huge', '.', 'differences of squares that are out of range'),
    ('(layer|group|instance|batch)_norm', '[ef]', 'huge', '2', 'scales of very different sizes cancel'),
    ('qr', '[ef]', 'huge|tiny', '.', 'columns of very different sizes'),
]


def is_known(call: Call, order: int) -> bool:
    """Whether a row of the table above says why a result may be off."""
    asked = str(call.row), call.dtype, call.kind, str(order)
    return any(all(map(re.match, known, asked)) for *known, _ in KNOWN)


def complaints(call: Call, seed: int) -> Iterator[str]:
    """What is wrong with a call; errors are not looked at here."""
    before = [a.tobytes() for a in call.arrays]
    found = results(call, call.arrays, seed)
    if [a.tobytes() for a in call.arrays] != before:
        yield 'an argument has been changed'
    right = results(call, call.wide, seed)
    moved = [results(call, _moved(call, s), seed) for s in (seed, seed + 1, seed + 2)]
    for order, (ys, expected, *others) in enumerate(zip(found, right, *moved, strict=True)):
        if is_known(call, order):
            continue
        for i, (y, e, *m) in enumerate(zip(ys, expected, *others, strict=True)):
            what = complaint(y, e, m, _size(expected), order)
            if what:
                yield f'order {order}, array {i}: {what}'
