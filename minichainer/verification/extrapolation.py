r"""The slope of a function of one number, with an error estimate and an automatic step.

Central differences :math:`(\phi(t) - \phi(-t)) / 2t` at :math:`t_k = t_0 / 4^k` are extrapolated to ``t =
0`` (Neville's table in powers of :math:`t^2`; Ridders 1982). The difference between neighbours in the table
table is the error estimate. It is too optimistic once rounding dominates, so a noise floor is added. The second
difference :math:`(\phi(t) - 2 \phi(0) + \phi(-t)) / t` shrinks with ``t`` where the function is smooth and
does not where it has a kink.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

#: Maps ``t`` to the values of m functions and their magnitudes (the sizes of the terms that were summed).
Curve = Callable[[float], tuple[Any, Any]]

_RATIO = 4.0

_SAFETY = 20.0
#: How coarse values may be that are differences of numbers near 1, in units of the precision.
_COARSE = 1e3
#: A second difference that shrinks by less than this indicates a kink; a smooth one shrinks to 1/4.
_SHRINKS = 0.6
#: Fractions of the last step at which a kink must show again, with at least a part of its greatest size there.
_NEIGHBOURS, _PART = (1.0, 0.875, 0.75, 0.625), 0.25
#: How closely the slopes of two steps agree that a plateau at smaller steps contradicts, and by how much it does so.
_AGREE, _CONTRADICTS = 5e-2, 1e-3
#: How often rounded values jump within one of the distances at which they are looked at.
_JUMPS = 3
#: The distances, in steps, over which the rounding of a staircase is measured; in steps that first move a value, if
#: they are larger; and how many of such steps are tried.
_WIDER, _FARTHER, _FAR = (1.0, 4.0, 16.0), (64.0, 256.0, 1024.0), 24
#: How much larger steps are from there on, and how many.
_LEAP, _LEAPS = _RATIO ** (_FAR - 1), 23
#: One-sided slopes that grow by more than this per step are unbounded.
_GROWS = 1.5


@dataclasses.dataclass(frozen=True)
class Slopes:
    """What a ladder has measured of m functions; every field has the shape (m,), except ``calls``.

    Attributes:
        value: The derivatives at 0.
        error: Bounds of their errors, rounding included; infinite where nothing could be computed.
        left: Slopes from the left at the smallest step; infinite where they are unbounded.
        right: Slopes from the right.
        finite: Whether the function is finite at 0 and, on both sides, at some step.
        kink: Whether there is no derivative, down to the smallest step.
        steps: The steps, largest first.
        samples: The values at ``-t``, 0 and ``t`` for every step, of shape (steps, 3, m).
        noise: Rounding error of a single value.
        best: The smallest step that was used for the value; NaN where there is none.
        calls: How many times the function was called.
    """

    value: Any
    error: Any
    left: Any
    right: Any
    finite: Any
    kink: Any
    steps: Any
    samples: Any
    noise: Any
    best: Any
    calls: int

    @property
    def secant(self) -> Any:
        """The steepest slope between 0 and the largest step at which the function is finite."""
        return _secant(self.samples, self.steps)

    @property
    def credible(self) -> Any:
        """Where the error is small compared with the slopes at the smallest step, or is only rounding."""
        with np.errstate(all='ignore'):
            fine = np.maximum(abs(self.left), abs(self.right))
            return (np.isfinite(fine) & (self.error <= 1e-2 * fine)) | (self.error <= 10 * self.noise / self.best)

    @property
    def motionless(self) -> Any:
        """Where the function does not change at any step, not even by rounding."""
        return (self.samples == self.samples[:, 1:2]).all(axis=(0, 1))

    @property
    def flat(self) -> Any:
        """Where the function changes at no step by more than rounding."""
        return (abs(self.samples - self.samples[:, 1:2]) <= self.noise).all(axis=(0, 1))


class SlopeSource(Protocol):
    """What measures slopes in place of differences: :mod:`.high_precision`, which has gradients too, and fits."""

    @property
    def gradients(self) -> Any: ...

    def slopes(self, directions: Mapping[int, Any]) -> Slopes: ...

    def slopes_of_elements(self, i: int, elements: Any, scales: Any) -> Slopes: ...


def joined(parts: Sequence[Slopes]) -> Slopes:
    """The slopes of all parts, which were measured with the same number of steps."""
    fields = {f.name: [getattr(part, f.name) for part in parts] for f in dataclasses.fields(Slopes)}
    calls, steps, samples = (
        sum(fields.pop('calls')),
        fields.pop('steps')[0],
        np.concatenate(fields.pop('samples'), axis=2),
    )
    arrays: dict[str, Any] = {name: np.concatenate(values) for name, values in fields.items()}
    return Slopes(**arrays, steps=steps, samples=samples, calls=calls)


def _secant(samples: Any, steps: Any) -> Any:
    """The steepest chord at the largest step where the function is finite."""
    with np.errstate(all='ignore'):
        chords = abs(samples - samples[:, 1:2]).max(axis=1) / steps[:, None]
    finite = np.isfinite(chords)
    first = np.argmax(finite, axis=0)
    return np.where(finite.any(axis=0), np.take_along_axis(chords, first[None], axis=0)[0], 0.0)


def first_step(precision: float) -> float:
    """The largest step, relative to the scale of the inputs, for this relative precision."""
    return max(1e-2, float(precision**0.2))


def slopes(
    curve: Curve,
    precision: float,
    target: Any = None,
    levels: int = 6,
    max_calls: int | None = None,
    start: float | None = None,
    noise: Any = None,
) -> Slopes:
    """Differentiates m functions of one number at 0, with the same steps for all.

    Args:
        curve: Maps ``t`` to (values, magnitudes), two arrays of shape (m,). The magnitude, for example
            ``sum(abs(v * y))`` for the value ``sum(v * y)``, times ``precision`` is the rounding error of
            the value.
        precision: Machine epsilon of the arithmetic inside ``curve``.
        target: An error that is small enough to stop, of shape (m,); by default ``1e-8`` of the slope or of
            the steepest one nearby.
        levels: The most steps to try, at least 2. The function is called at most ``1 + 2 * levels`` times;
            up to twice as often if larger steps leave its domain.
        max_calls: The most calls, whatever ``levels`` is.
        start: The largest step; by default it follows from ``precision``.
        noise: Rounding error of a single value, of shape (m,), if it is known to be greater than ``precision``
            implies.

    >>> import numpy as np
    >>> found = slopes(lambda t: (np.array([np.exp(t)]), np.array([np.exp(t)])), 2.0 ** -52)
    >>> bool(abs(found.value[0] - 1) < found.error[0] < 1e-8), found.calls
    (True, 7)
    """
    start = first_step(precision) if start is None else start
    most = 2 * levels if max_calls is None else min(2 * levels, (max_calls - 1) // 2)
    with np.errstate(all='ignore'):
        ladder = _descended(_Ladder(curve, precision, target, noise), start, levels, most)
        coarse = ladder.quantization()
        if coarse.any():
            start = ladder.start_above(coarse)
            noise = np.maximum(ladder.least_noise, coarse)
            ladder = _descended(_Ladder(curve, precision, target, noise), start, levels, 2 * levels)
        return ladder.result()


def _descended(ladder: _Ladder, start: float, levels: int, most: int) -> _Ladder:
    """The ladder after as many steps as it takes."""
    while len(ladder.steps) < most and (ladder.useful < levels or ladder.is_blurred()):
        ladder.descend(start / _RATIO ** len(ladder.steps))
        if ladder.is_done() or not np.isfinite(ladder.centre).any():
            break
    return ladder


def is_staircase(curve: Curve, step: float) -> Any:
    """Where values jump and are constant between the jumps, as rounded ones are; a single jump is none of rounding.

    Args:
        curve: As in :func:`slopes`.
        step: About the distance of the first jump.
    """
    ties, jumps = False, False
    for window in (step, 4 * step, 16 * step, 64 * step, 256 * step):
        for sign in (1, -1):
            values = np.stack([np.asarray(curve(sign * window * k / 16)[0], float) for k in (0, *range(5, 17))])
            moves = np.diff(values, axis=0) != 0
            earlier, later = (np.logical_or.accumulate(m, axis=0) for m in (moves, moves[::-1]))
            ties = ties | (~moves & earlier & later[::-1]).any(axis=0)  # constant between two jumps
            jumps = jumps | (moves.sum(axis=0) >= _JUMPS)
    return ties & jumps


def measured_noise(curve: Curve, step: float, most: Any = 0.05) -> Any:
    """Rounding error of single values: the distance of eight neighbours on one side from a smooth line.

    The line is a polynomial of degree 4, on the side where it fits better: a kink or jump at the point itself does
    not count as noise.

    Args:
        curve: As in :func:`slopes`.
        step: The distance of the farthest neighbour. If the polynomial does not fit because the function is
            not smooth at this scale, the result is 0.
        most: The largest part of the change of the values that counts as rounding.
    """
    t = np.arange(1, 9) / 8
    basis = t[:, None] ** np.arange(5)
    project = np.eye(8) - basis @ np.linalg.pinv(basis)
    sides = [np.stack([np.asarray(curve(sign * step * k)[0], float) for k in t]) for sign in (1, -1)]
    with np.errstate(all='ignore'):
        residuals = [3 * np.sqrt(((project @ side) ** 2).sum(axis=0) / 3) for side in sides]
        residuals = [np.where(r < most * np.ptp(s, axis=0), r, np.nan) for r, s in zip(residuals, sides, strict=True)]
    return np.nan_to_num(np.fmin(*residuals))


def _agree(values: Any) -> Any:
    """Whether values along the first axis are of one sign and not too different in size, or not finite."""
    sizes = abs(values)
    one_sign = abs(np.sign(values).sum(axis=0)) == len(values)
    return (one_sign & (sizes.min(axis=0) >= _PART * sizes.max(axis=0))) | ~np.isfinite(sizes).all(axis=0)


class _Ladder:
    def __init__(self, curve: Curve, precision: float, target: Any, noise: Any) -> None:
        self.curve, self.precision, self.target = curve, precision, target
        self.least_noise = 0.0 if noise is None else noise
        centre, magnitude = curve(0.0)
        self.centre, self.magnitude = np.asarray(centre, float), np.asarray(magnitude, float)
        self.useful = 0
        self.first_move = 0.0
        self.steps: list[float] = []
        self.samples: list[Any] = []
        self.second: list[Any] = []
        self.row: list[Any] = []
        self.last: list[Any] = []
        self.value = np.full(self.centre.shape, np.nan)
        self.error = np.full(self.centre.shape, np.inf)
        self.best = np.full(self.centre.shape, np.nan)

    @property
    def noise(self) -> Any:
        return np.maximum(4 * self.precision * self.magnitude, self.least_noise)

    def descend(self, t: float) -> None:
        """Continues with the next smaller step."""
        (above, size_above), (below, size_below) = self.curve(t), self.curve(-t)
        above, below = np.asarray(above, float), np.asarray(below, float)
        sizes = np.maximum(size_above, size_below)
        self.magnitude = np.where(np.isfinite(sizes), np.maximum(self.magnitude, sizes), self.magnitude)
        self._notice_plateau(above - below)
        self.steps.append(t)
        self.samples.append(np.stack([below, self.centre, above]))
        self.second.append((above - 2 * self.centre + below) / t)
        self.useful += bool(np.isfinite((above + below)[np.isfinite(self.centre)]).all())
        self._extrapolate((above - below) / (2 * t), t)

    def _notice_plateau(self, change: Any) -> None:
        """Detects coarse rounding: a value that stops changing, or jumps by a few roundings."""
        if not self.samples:
            return
        before, change = abs(self.samples[-1][2] - self.samples[-1][0]), abs(change)
        stuck = (change == 0) | (change > 0.5 * before)
        stuck &= (before > 0) & (np.maximum(before, change) < _COARSE * self.precision)
        rounded = np.where(stuck, np.maximum(before, change), 0.0)
        self.least_noise = np.maximum(rounded, self.least_noise)

    def _extrapolate(self, difference: Any, t: float) -> None:
        """Adds a row to Neville's table, and accepts better values."""
        above, self.row = self.row, [difference]
        for order, coarser in enumerate(above, start=1):
            finer = self.row[-1]
            better = finer + (finer - coarser) / (_RATIO ** (2 * order) - 1)
            estimate = np.maximum(abs(better - finer), abs(better - coarser))
            floor = self.noise / t
            error = _SAFETY * np.maximum(estimate - floor, 0) + 4 * floor
            self._accept(error < self.error, better, error, t)
            self.row.append(better)
        self.last.append(self.row[-1])
        # A coarse estimate that finer ones contradict was right by chance: its steps were too long.
        away = abs(self.row[-1] - self.value)
        self._accept(away > self.error + 8 * self.noise / t, self.row[-1], _SAFETY * away, t)

    def _accept(self, where: Any, value: Any, error: Any, t: float) -> None:
        self.value = np.where(where, value, self.value)
        self.error = np.where(where, error, self.error)
        self.best = np.where(where, t, self.best)

    def quantization(self) -> Any:
        """The rounding of values that smaller steps do not move any more, although larger ones have shown a slope.

        A function that computes in single or half precision inside is such a staircase. One that is constant at the
        point and not next to it has no steps there, and its values at larger steps follow a smooth line.
        """
        stairs = np.zeros(self.centre.shape, bool)
        last_moves = self._last_moves()
        for step in last_moves:
            stairs |= is_staircase(self.curve, step)
        steep = stairs | self._is_contradicted()
        if not steep.any():
            return np.zeros(self.centre.shape)
        most, widths = np.where(stairs, 0.5, 0.05), [width * self.steps[0] for width in _WIDER]
        self.first_move = max(last_moves, default=0.0)
        if self.first_move > self.steps[0]:
            widths = [width * self.first_move for width in _FARTHER]
        measured = [measured_noise(self.curve, width, most) for width in widths]
        # Rounding is the same at all widths; what is left beside a kink is in proportion to them.
        return np.where(stairs, np.max(measured, axis=0), np.where(steep, np.min(measured, axis=0), 0.0))

    def start_above(self, noise: Any) -> float:
        """The first step of a ladder that this rounding of values does not disturb."""
        if self.first_move > self.steps[0]:
            return _FARTHER[-1] * self.first_move
        return max(self.steps[0], first_step(float(np.nanmax(noise / self.magnitude))))

    def _last_moves(self) -> set[float]:
        """The smallest steps that have moved a value that the next ones did not move.

        Numbers inside the function may be much larger than all that it is given and returns, such as the 1 in ``log(1
        + x)``. Then only larger steps than usual move anything.
        """
        moves, found = [np.ptp(s, axis=0) > 0 for s in self.samples], set()
        if not np.any(moves):
            return {*itertools.islice(filter(self._moves_at, self._farther()), 1)}
        for step, moved, after in zip(self.steps, moves, moves[1:], strict=False):
            if (moved & ~after).any():
                found.add(step)
        return found

    def _farther(self) -> Iterator[float]:
        """Larger steps: close to each other at first, then only around the first one that moves a value."""
        yield from (self.steps[0] * _RATIO**k for k in range(1, _FAR))
        leaps = (self.steps[0] * _LEAP**k for k in range(1, _LEAPS))
        for end in itertools.islice(filter(self._moves_at, leaps), 1):
            yield from (end / _RATIO**k for k in reversed(range(_FAR)))

    def _moves_at(self, t: float) -> bool:
        """Whether a step changes a value, and all stay finite."""
        ends = np.stack([np.asarray(self.curve(sign * t)[0], float) for sign in (1, -1)])
        return bool((ends != self.centre).any() and np.isfinite(ends).all())

    def _is_contradicted(self) -> Any:
        """Where two steps in turn have given a slope that the accepted one contradicts.

        Rounded values have no slope at smaller steps but 0, or none that is sharp; beyond many kinks another one.
        """
        contradicted = np.zeros(self.centre.shape, bool)
        for coarse, fine in itertools.pairwise(self.last):
            off = abs(fine - coarse)
            agree = np.isfinite(off) & (off <= _AGREE * abs(fine)) & (fine != 0)
            contradicted |= agree & (abs(self.value - fine) > np.maximum(_SAFETY * off, _CONTRADICTS * abs(fine)))
        sharp = (self.value != 0) & (self.error <= _CONTRADICTS * abs(self.value))
        return contradicted & ~sharp

    def is_done(self) -> bool:
        """Whether the errors are small enough, and nothing looks like a kink."""
        if len(self.steps) < 2:
            return False
        target = self.target
        if target is None:
            target = 1e-8 * self._scale()
        reachable = 4 * _RATIO * self.noise / self.steps[0]
        target = np.maximum(target, reachable)
        return bool(np.all((self.error <= target) & ~self._suspicious()))

    def is_blurred(self) -> bool:
        """Whether some slope is inaccurate and smaller steps can still improve it."""
        hopeful = self.error > 4 * _RATIO * self.noise / self.steps[-1]
        blurred = (self.error > 1e-6 * self._scale()) & hopeful & np.isfinite(self.centre)
        return bool(blurred.any())

    def _scale(self) -> Any:
        """The size of slopes nearby, even if the slope at the point itself is 0."""
        return np.maximum(abs(self.value), _secant(np.stack(self.samples), np.array(self.steps)))

    def _suspicious(self) -> Any:
        """Where the last second difference is well above rounding and has not shrunk enough."""
        if len(self.steps) < 2:
            return np.zeros(self.centre.shape, bool)
        last, before = abs(self.second[-1]), abs(self.second[-2])
        noise = 4 * self.noise + 12 * self.least_noise
        visible = last > noise / self.steps[-1] + 1e-12 * abs(self.value)
        return visible & ~(last < _SHRINKS * before)

    def _persists(self) -> Any:
        """Whether a kink or a jump shows again at neighbouring steps; rounding errors, at the centre too, do not."""
        bends, gaps, widths = [], [], []
        for fraction in _NEIGHBOURS:
            t = fraction * self.steps[-1]
            above, below, near_above, near_below = [np.asarray(self.curve(h)[0]) for h in (t, -t, t / 64, -t / 64)]
            bends.append((above - near_above - near_below + below) / t)
            gaps.append(near_above - near_below)
            widths.append(above - below)
        jumps = _agree(np.stack(gaps)) & (2 * abs(np.stack(gaps)) >= abs(np.stack(widths))).all(axis=0)
        return _agree(np.stack(bends)) | jumps

    def _runaway(self) -> Any:
        """Where the central difference itself grows, as at a jump that is symmetric about the point."""
        if len(self.steps) < 2:
            return np.zeros(self.centre.shape, bool)
        differences = [(s[2] - s[0]) / t for s, t in zip(self.samples[-2:], self.steps[-2:], strict=True)]
        before, last = abs(differences[0]), abs(differences[1])
        return (last > _GROWS * before) & (last > 16 * self.noise / self.steps[-1])

    def result(self) -> Slopes:
        below, centre, above = self.samples[-1]
        t = self.steps[-1]
        sides = [(centre - below) / t, (above - centre) / t]
        if len(self.steps) > 1:
            old_below, _, old_above = self.samples[-2]
            old = [(centre - old_below) / self.steps[-2], (old_above - centre) / self.steps[-2]]
            sides = [self._limit(new, coarse) for new, coarse in zip(sides, old, strict=True)]
        finite = np.isfinite(centre) & np.isfinite(below) & np.isfinite(above)
        kink = finite & (self._suspicious() | (self._runaway() & ~np.isfinite(sides[0] + sides[1])))
        calls = 1 + 2 * len(self.steps)
        if kink.any():
            kink, calls = kink & self._persists(), calls + 4 * len(_NEIGHBOURS)
        return Slopes(
            value=self.value,
            error=self.error,
            left=sides[0],
            right=sides[1],
            finite=finite,
            kink=kink,
            steps=np.array(self.steps),
            samples=np.stack(self.samples),
            noise=self.noise,
            best=self.best,
            calls=calls,
        )

    def _limit(self, new: Any, coarse: Any) -> Any:
        grows = (abs(new) > _GROWS * abs(coarse)) & (abs(new) * self.steps[-1] > 8 * self.noise)
        return np.where(grows, np.copysign(np.inf, new), new)


_RUNGS = 3
#: A second difference shrinks by 4 per step where the function is smooth, and does not at a kink.
_SURELY_SHRINKS = 0.4
#: How close to 4 the ratio must be, so that not even a kink that is small against the curvature can hide.
_EXACTLY = 1e-3

_SHARP = 1e-4


def agrees(
    curve: Callable[[float], Any],
    analytic: Sequence[float],
    noise: Sequence[float],
    slack: Sequence[float],
    size: Sequence[float],
    precision: float,
    start: float,
    strict: bool = False,
) -> bool:
    """Whether ``analytic`` are the slopes at 0 of m functions that vanish there, to ten digits.

    A quick test for the common case. Such close agreement with the first few differences is proof, whatever the
    error of the difference is. A disagreement proves nothing: :func:`slopes`, with its error estimate, continues from
    the same samples. Plain Python numbers are used because there are only a few, and NumPy would spend more on each
    than on the function itself.

    Args:
        curve: Maps ``t`` to the m values.
        analytic: The slopes from backward.
        noise: Rounding errors of single values.
        slack: Differences of slopes that count as agreement.
        size: The size of a large slope; agreement proves nothing if rounding errors are nearly as large.
        precision: Machine epsilon, for the rounding errors of large changes.
        start: The largest step.
        strict: Only ``size`` decides which slopes are large, and second differences must shrink exactly as
            those of smooth functions do. Then a small part of the slope and curvature is not hidden by the rest.

    >>> import numpy as np
    >>> sine = lambda t: np.array([np.sin(1 + t) - np.sin(1)])
    >>> agrees(sine, [np.cos(1)], [1e-16], [1e-10], [1.0], 2.0 ** -52, 1e-2)
    True
    >>> agrees(sine, [np.cos(1) + 1e-7], [1e-16], [1e-10], [1.0], 2.0 ** -52, 1e-2)
    False
    """
    rows: list[list[float]] = [[] for _ in analytic]
    bends = [float('inf')] * len(analytic)
    for rung in range(_RUNGS):
        t = start / _RATIO**rung
        above, below = curve(t).tolist(), curve(-t).tolist()
        good = 0
        for m, (a, b) in enumerate(zip(above, below, strict=True)):
            rounding = 8 * (noise[m] + 4 * precision * (abs(a) + abs(b))) / t
            rows[m] = _extrapolated(rows[m], (a - b) / (2 * t))
            bend, before, bends[m] = abs(a + b) / t, bends[m], abs(a + b) / t
            smooth = bend <= rounding or (rung > 0 and _shrinks(bend, before, rounding, strict))
            sharp = rounding <= _SHARP * (size[m] if strict else max(size[m], abs(rows[m][-1])))
            still = a == b == analytic[m] == 0  # nothing moves, and backward says so
            known = sharp or (still and not (strict and size[m]))
            good += known and smooth and abs(rows[m][-1] - analytic[m]) <= rounding + slack[m]
        if good == len(rows):
            return True
    return False


def _shrinks(bend: float, before: float, rounding: float, strict: bool) -> bool:
    if strict:
        return abs(bend - before / _RATIO) <= _EXACTLY * before + rounding
    return bend <= _SURELY_SHRINKS * before


def _extrapolated(coarser: list[float], difference: float) -> list[float]:
    """The next row of Neville's table in powers of the squared step."""
    row = [difference]
    for order, value in enumerate(coarser, start=1):
        row.append(row[-1] + (row[-1] - value) / (_RATIO ** (2 * order) - 1))
    return row
