"""Thresholds in the wrong place: a gradient that is wrong for the values in an interval, and right for all others.

The wrong elements of one point show where to look; an experiment decides. Slopes and backward are compared at other
values: if what is wrong follows the values, in one or two intervals, and not the places, it is a threshold.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from minichainer.backend import get_array_module
from minichainer.verification.arrays import host
from minichainer.verification.diagnosis.evidence import Cause, Evidence, multiple
from minichainer.verification.diagnosis.experiments import STEPS, Experiments, Unmeasurable, dot
from minichainer.verification.directions import generator

#: Values that are tried, and the least number of known ones that say anything.
_VALUES, _LEAST = 160, 40
#: A single wrong element of more than this many has a place, and an interval would contain others.
_MANY = 64
#: The most rounds, and the most elements of a round that are measured one by one.
_ROUNDS, _ONE_BY_ONE = 48, 16
#: An element is right up to the first and wrong from the second on, relative to itself; between them nothing is said.
_RIGHT, _WRONG = 1e-5, 1e-3
#: Slopes on both sides that differ by more, relative to them, are those of a kink.
_KINK = 0.05
#: The least wrong values of one interval, and of two together: fewer are side by side by chance. Right values between
#: or beside them.
_ONE, _TWO, _BESIDE = 4, 8, 3
#: The share of values near an edge that may be neither right nor wrong: more of them fade, as formulas that converge.
_FADING = 0.03
#: The least share of the range of all values that a range of right ones takes: formulas that cross do so at a point.
_WIDE = 0.05
#: Slopes that are smaller, relative to the largest, are zero.
_ZERO = 1e-9
#: Rounds that narrow the edges, for functions of single elements and others, and the gap that needs none, relative.
_NARROWING, _NARROWING_OTHERS, _NARROW = 8, 3, 1e-4


@dataclasses.dataclass
class Sample:
    """Elements at some values.

    Attributes:
        keys: What may decide whether an element is right, by name.
        right: The measured gradient of each.
        given: The gradient from backward.
        known: Whether the first is known.
    """

    keys: dict[str, Any]
    right: Any
    given: Any
    known: Any

    @property
    def is_wrong(self) -> Any:
        off = abs(self.right - self.given)
        return self.known & (off > _WRONG * self._size) & (off > _ZERO * self._largest)

    @property
    def is_right(self) -> Any:
        equal = abs(self.right - self.given) <= _RIGHT * self._size
        return self.known & (equal | ((self.given == 0) & self.has_no_slope))

    @property
    def has_no_slope(self) -> Any:
        """Where the measured gradient is zero."""
        return self.known & (abs(self.right) <= _ZERO * self._largest)

    @property
    def _largest(self) -> float:
        """The largest known gradient; at jumps differences are much larger."""
        return float(self._size[self.known].max(initial=0.0))

    @property
    def _size(self) -> Any:
        return np.maximum(abs(self.right), abs(self.given))

    def joined(self, other: Sample) -> Sample:
        """The elements of both."""
        keys = {name: np.concatenate([values, other.keys[name]]) for name, values in self.keys.items()}
        names = ('right', 'given', 'known')
        return Sample(keys, *[np.concatenate([getattr(self, n), getattr(other, n)]) for n in names])


@dataclasses.dataclass
class Interval:
    """Wrong values from ``low`` to ``high``; the nearest right ones are ``below`` and ``above``, or infinite."""

    below: float
    low: float
    high: float
    above: float

    def words(self, name: str) -> str:
        """As in "0.3 <= x <= 0.5", with as few digits as separate right and wrong.

        >>> Interval(0.298, 0.302, 0.498, 0.51).words('x'), Interval(-1.0, 0.1, 9.0, np.inf).words('x')
        ('0.3 <= x <= 0.5', 'x > 0')
        """
        if np.isinf(self.below):
            return f'{name} < 0' if self.high <= 0 <= self.above else f'{name} <= {_between(self.high, self.above)}'
        if np.isinf(self.above):
            return f'{name} > 0' if self.below <= 0 <= self.low else f'{name} >= {_between(self.low, self.below)}'
        return f'{_between(self.low, self.below)} <= {name} <= {_between(self.high, self.above)}'


def _between(wrong: float, right: float) -> str:
    """The shortest number between a wrong value and the next right one, near the wrong one."""
    low, high = min(wrong, right), max(wrong, right)
    if low <= 0 <= high and high - low < 1e-2 * max(abs(low), abs(high), 1.0):
        return '0'
    texts = (f'{wrong:.{digits}g}' for digits in range(1, 17))
    return next((t for t in texts if low < float(t) < high or float(t) == wrong), f'{wrong!r}')


def threshold_cause(e: Experiments, evidence: Evidence) -> Cause | None:
    """The cause if the gradient is wrong exactly where a known number is in one interval, or in two."""
    leaf = e.derivatives.order_check.function.leaves[e.i]
    alone = evidence.wrong.sum() == 1 and e.x.size > _MANY
    if not e.possible or leaf.is_complex or alone or not _may_be(evidence):
        return None
    try:
        return _tested(_Values(e, evidence))
    except Unmeasurable:
        return None


def _may_be(evidence: Evidence) -> bool:
    """Whether the wrong elements of the point itself lie in one or two intervals."""
    wrong = evidence.wrong
    if evidence.x is None or np.shape(evidence.x) != wrong.shape or not wrong.any():
        return False
    others = {n: a for n, a in evidence.data.items() if np.shape(a) == wrong.shape}
    keys = {'x': evidence.x, **others, **{f'x - {n}': evidence.x - a for n, a in others.items()}}
    nothing = evidence.equal(evidence.numeric, 0) & evidence.equal(evidence.analytic, 0)
    one_is_zero = evidence.equal(evidence.numeric, 0) | evidence.equal(evidence.analytic, 0)
    if bool(one_is_zero[wrong].all()):
        return True
    for values in keys.values():
        for key in (values, abs(values)):
            if any(len(_intervals(key, wrong, ~wrong & part)) in (1, 2) for part in (~nothing, True)):
                return True
    return False


def _tested(values: _Values) -> Cause | None:
    """The cause if it stands at other values."""
    found = values.sample()
    return _of_intervals(values, found, 1) or _wrong_mask(found) or _of_intervals(values, found, 2)


def _of_intervals(values: _Values, found: Sample, count: int) -> Cause | None:
    """The cause if the wrong values of a number are those in so many intervals."""
    for name in found.keys:
        if len(_separated(found, name)) == count:
            return _named(values.narrowed(found, name), name)
    return None


def _separated(sample: Sample, name: str, narrowed: bool = False) -> list[Interval]:
    """The intervals of wrong values, if there are enough of them and of right ones; else none.

    Near an edge few values may be neither, unless edges have been narrowed: there formulas may be nearly equal.
    """
    wrong, right, key = sample.is_wrong, sample.is_right, sample.keys[name]
    if wrong.sum() + right.sum() < _LEAST or right.sum() < _BESIDE:
        return []
    found = _intervals(key, wrong, right)
    if len(found) > 2 or wrong.sum() < (_ONE if len(found) == 1 else _TWO):
        return []
    if not all(_is_wide(key[right & (key > low) & (key < high)], key) for low, high in _gaps(found)):
        return []
    inside = [(key > i.below) & (key < i.above) & ~wrong & ~right & sample.known for i in found]
    fading = max(int(part.sum()) for part in inside) if inside else 0
    return found if narrowed or fading <= _BESIDE + _FADING * key.size else []


def _gaps(intervals: Sequence[Interval]) -> Iterator[tuple[float, float]]:
    """The ranges beside and between intervals that have right values."""
    if intervals and np.isfinite(intervals[0].below):
        yield -np.inf, intervals[0].low
    yield from ((a.high, b.low) for a, b in itertools.pairwise(intervals))
    if intervals and np.isfinite(intervals[-1].above):
        yield intervals[-1].high, np.inf


def _is_wide(right: Any, key: Any) -> bool:
    """Whether there are some right values in a range of them, and not next to one point only."""
    return right.size >= _BESIDE and bool(np.ptp(right) >= _WIDE * np.ptp(key))


def _intervals(key: Any, wrong: Any, right: Any) -> list[Interval]:
    """The intervals of a key in which elements are wrong, none of them right, in ascending order."""
    known = wrong | right
    order = np.argsort(key[known], kind='stable')
    values, bad = key[known][order], wrong[known][order]
    edges = np.flatnonzero(np.diff(np.concatenate([[False], bad, [False]]).astype(int)))
    found = []
    for first, last in edges.reshape(-1, 2):
        below = values[first - 1] if first else -np.inf
        above = values[last] if last < len(values) else np.inf
        if below == values[first] or above == values[last - 1]:
            return []
        found.append(Interval(float(below), float(values[first]), float(values[last - 1]), float(above)))
    return found


def _named(sample: Sample, name: str) -> Cause | None:
    """The intervals in words, and what backward gives there."""
    intervals = _separated(sample, name, narrowed=True)
    if not intervals:
        return None
    where = ' or '.join(i.words(name) for i in intervals)
    right, given = (array[sample.is_wrong] for array in (sample.right, sample.given))
    is_open = any(np.isinf([i.below, i.above]).any() for i in intervals)
    why = '' if where in ('x < 0', 'x > 0') else ': a threshold in the wrong place?'
    if not right.any():
        why = ': a mask is missing?' if is_open else why
        return Cause(f'wrong where {where}', f'there the gradient is 0, and backward gives another one{why}')
    ratio = given / np.where(right, right, np.nan)
    if not given.any():
        text = 'there backward gives zeros'
    elif np.nanmax(ratio) - np.nanmin(ratio) <= _WRONG * abs(np.nanmean(ratio)):
        factor = float(np.nanmedian(ratio))
        text = f'there backward gives {multiple(-1.0 if abs(factor + 1) < _WRONG else factor)}'
    else:
        text = 'there backward gives another gradient'
    return Cause(f'wrong where {where}', f'{text}, the rest is right{why}')


def _wrong_mask(sample: Sample) -> Cause | None:
    """The cause if backward gives zeros where another number is in an interval than where the gradient is zero."""
    zero, given = sample.has_no_slope, sample.known & (sample.given == 0)
    both = sample.known & ~zero & ~given
    if not (both & sample.is_right).any() or bool((both & sample.is_wrong).any()):
        return None
    names = [_deciding(sample, part) for part in (zero, given)]
    if None in names or names[0] == names[1]:
        return None
    return Cause('wrong mask', f'the gradient is 0 where {names[0]}, that from backward where {names[1]}')


def _deciding(sample: Sample, part: Any) -> str | None:
    """The interval, in words, of the first number that decides which elements are in a part."""
    for name, key in sample.keys.items():
        found = _intervals(key, part, sample.known & ~part)
        if len(found) == 1 and min(part.sum(), (sample.known & ~part).sum()) >= _TWO:
            return found[0].words(name)
    return None


class _Values:
    """Measures a leaf at other values."""

    def __init__(self, e: Experiments, evidence: Evidence) -> None:
        self.e, self.rng = e, generator(1)
        wrong = evidence.wrong
        self.range = _wider(e.x.astype(np.float64), 0.25)
        self.near = _wider(np.asarray(evidence.x, np.float64)[wrong], 0.5, self.range)
        self.others = [
            j
            for j, leaf in enumerate(e.derivatives.order_check.function.leaves)
            if j != e.i and leaf.array.dtype.kind == 'f' and leaf.array.shape == e.x.shape
        ]
        self.pointwise = e.y.shape == e.x.shape and self._is_pointwise()

    def sample(self) -> Sample:
        """The elements at the point, and at random values in the range of the input."""
        found = self._measured(self.e.x, permuted=False)
        count = found.right.size
        for turn in range(int(np.clip(_VALUES // max(count, 1), 2, _ROUNDS))):
            moved = self._random(self.near if turn % 2 else self.range)
            found = found.joined(self._tried(moved))
        return found

    def _random(self, limits: tuple[float, float]) -> Any:
        """Values that fill a range evenly, in random order."""
        n = self.e.x.size
        steps = (self.rng.permutation(n) + self.rng.random(n)) / n
        return (limits[0] + (limits[1] - limits[0]) * steps).reshape(self.e.x.shape)

    def _tried(self, values: Any) -> Sample:
        """The elements at other values; at their own in another order where the function rejects those."""
        try:
            return self._measured(values)
        except Unmeasurable:
            return self._measured(self.rng.permutation(self.e.x.ravel()).reshape(self.e.x.shape))

    def narrowed(self, found: Sample, name: str) -> Sample:
        """More values at the edges of the intervals of a key of the leaf itself."""
        rounds = _NARROWING if self.pointwise else _NARROWING_OTHERS
        for _ in range(rounds if name in ('x', '|x|') else 0):
            pairs = [p for i in _separated(found, name, narrowed=True) for p in ((i.below, i.low), (i.high, i.above))]
            gaps = [
                (a, b) for a, b in pairs if np.isfinite(b - a) and b - a > _NARROW * (self.range[1] - self.range[0])
            ]
            if gaps:
                inner = np.concatenate([np.linspace(a, b, self._room(len(gaps)) + 2)[1:-1] for a, b in gaps])
                found = found.joined(self._tried(np.resize(self.rng.permutation(inner), self.e.x.shape)))
        return found

    def _room(self, gaps: int) -> int:
        """How many values fit into each gap."""
        size = self.e.x.size if self.pointwise else min(self.e.x.size, _ONE_BY_ONE)
        return int(np.clip(size // gaps, 1, 16))

    def _measured(self, x: Any, permuted: bool = True) -> Sample:
        """The elements at values of the leaf, with other leaves of its shape in another order."""
        arrays = list(self.e.derivatives.arrays)
        arrays[self.e.i] = get_array_module(arrays[self.e.i]).asarray(x, arrays[self.e.i].dtype)
        for j in self.others if permuted else ():
            order = self.rng.permutation(arrays[j].size)
            arrays[j] = arrays[j].ravel()[order].reshape(arrays[j].shape)
        y = self.e.accepts(arrays)
        if y is None:
            raise Unmeasurable
        chosen = np.arange(x.size) if self.pointwise else self.rng.permutation(x.size)[:_ONE_BY_ONE]
        right, known, given = self._diagonal(arrays, y) if self.pointwise else self._elements(arrays, y, chosen)
        keys = {name: values.ravel()[chosen] for name, values in self._keys(arrays, y)}
        return Sample(keys, right, given, known & np.isfinite(given))

    def _keys(self, arrays: Sequence[Any], y: Any) -> Iterator[tuple[str, Any]]:
        leaves = self.e.derivatives.order_check.function.leaves
        for name, values in (('x', arrays[self.e.i]), *((leaves[j].label, arrays[j]) for j in self.others)):
            yield name, host(values).astype(np.float64, copy=False)
            yield f'|{name}|', abs(host(values).astype(np.float64, copy=False))
        for j in self.others:
            yield f'x - {leaves[j].label}', host(arrays[self.e.i] - arrays[j]).astype(np.float64, copy=False)
        if y.shape == self.e.x.shape:
            yield 'the output', y

    def _is_pointwise(self) -> bool:
        """Whether each element of the output depends on one of the leaf: slopes are the same in any direction."""
        arrays, y = self.e.derivatives.arrays, self.e.y.astype(np.float64)
        (a, known), (b, also) = (self._slope(arrays, y, d) for d in self.e.directions[:2])
        same = abs(a - b) <= _RIGHT * np.maximum(abs(a), abs(b)) + 1e-6 * float(abs(a[known]).max(initial=0.0))
        g, h = (given / gy for given, gy in zip(self.e.given[:2], self.e.upstream, strict=False))
        return bool((same | ~(known & also)).all()) and bool((abs(g - h) <= 1e-9 * np.maximum(abs(g), abs(h))).all())

    def _diagonal(self, arrays: Sequence[Any], y: Any) -> tuple[Any, Any, Any]:
        """The slopes of all elements, whether they are known, and those from backward."""
        slope, known = self._slope(arrays, y, self.e.directions[0])
        given = self.e.backward(self.e.upstream[0], arrays) / self.e.upstream[0]
        return slope.ravel(), known.ravel(), given.ravel()

    def _elements(self, arrays: Sequence[Any], y: Any, chosen: Any) -> tuple[Any, Any, Any]:
        """The same for some elements of any function, each moved alone."""
        pairs = []
        for element in chosen:
            direction = np.zeros(self.e.x.shape)
            direction.ravel()[element] = 1
            pairs.append(self._slope(arrays, y, direction, self.e.upstream[0]))
        slopes, known = zip(*pairs, strict=True)
        return np.array(slopes), np.array(known), self.e.backward(self.e.upstream[0], arrays).ravel()[chosen]

    def _slope(self, arrays: Sequence[Any], y: Any, direction: Any, weights: Any = None) -> tuple[Any, Any]:
        """Slopes along a direction, of each element or of the weighted sum, and where they are known."""
        shape = y.shape if weights is None else ()
        value, known = np.zeros(shape), np.zeros(shape, bool)
        for step in STEPS:
            if not known.all():
                new, sure = self._with_step(arrays, y, direction, weights, step * self.e.size)
                value, known = np.where(known, value, new), known | sure
        return value, known

    def _with_step(self, arrays: Sequence[Any], y: Any, direction: Any, weights: Any, step: float) -> tuple[Any, Any]:
        slopes = []
        for t in (step, step / 2):
            ahead, behind = self.e.sides(direction, arrays, t)
            pair = (ahead - y) / t, (y - behind) / t
            slopes.append([p / direction if weights is None else np.array(dot(weights, p)) for p in pair])
        (left, right), (near_left, near_right) = slopes
        coarse, fine = (left + right) / 2, (near_left + near_right) / 2
        size = np.maximum(abs(near_left), abs(near_right))
        rounding = 64 * self.e.derivatives.precision * float(abs(y).max(initial=0.0)) / step
        smooth = abs(fine - coarse) <= _WRONG * size + rounding
        return (4 * fine - coarse) / 3, smooth & (abs(near_left - near_right) <= _KINK * size + rounding)


def _wider(values: Any, share: float, limits: tuple[float, float] = (-np.inf, np.inf)) -> tuple[float, float]:
    """The range of values, and somewhat more."""
    low, high = float(values.min()), float(values.max())
    room = share * (high - low) or 4 * abs(high) or 1.0
    return max(low - room, limits[0]), min(high + room, limits[1])
