r"""The slope of a function of one number, with an error estimate and without a step to choose.

Central differences :math:`(\phi(t) - \phi(-t)) / 2t` at :math:`t_k = t_0 / 4^k` are extrapolated to ``t =
0`` (Neville's table in powers of :math:`t^2`; Ridders 1982). The difference between neighbours in the table
is the error estimate; since it is too optimistic once rounding prevails, a noise floor is added. The second
difference :math:`(\phi(t) - 2 \phi(0) + \phi(-t)) / t` shrinks with ``t`` where the function is smooth and
stays where it has a kink.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

#: Takes ``t`` to the values of m functions and to their magnitudes (the size of what was summed up to the
#: value).
Curve = Callable[[float], tuple[Any, Any]]

_RATIO = 4.0
_SAFETY = 20.0
#: A second difference that shrinks by less than this, where smoothness demands 1/4, is a kink.
_SHRINKS = 0.6
#: One-sided slopes that grow by more than this from step to step have no limit.
_GROWS = 1.5


@dataclasses.dataclass(frozen=True)
class Slopes:
    """What a ladder found out about m functions; every field has the shape (m,), except ``calls``.

    Attributes:
        value: The derivatives at 0.
        error: How far off they may be, rounding included; infinite where nothing could be computed.
        left: Slopes from the left at the smallest step; infinite where they grow without limit.
        right: Slopes from the right.
        finite: Whether the function is finite at 0 and, on both sides, at some step.
        kink: Whether there is no derivative, as far down as the steps go.
        steps: The steps, largest first.
        samples: The values at ``-t``, 0 and ``t`` for every step, of shape (steps, 3, m).
        noise: Rounding error of a single value.
        calls: How often the function was called.
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
    calls: int


def first_step(precision: float) -> float:
    """The largest step, relative to the scale of the inputs, for numbers of this relative precision."""
    return max(1e-2, float(precision) ** 0.2)


def slopes(curve: Curve, precision: float, target: Any = None, levels: int = 6) -> Slopes:
    """Differentiates m functions of one number at 0, all with the same steps.

    Args:
        curve: Takes ``t`` to (values, magnitudes), two arrays of shape (m,). The magnitude, for example
            ``sum(abs(v * y))`` for the value ``sum(v * y)``, times ``precision`` is the rounding error of
            the value.
        precision: Machine epsilon of the arithmetic inside ``curve``.
        target: Error that is small enough to stop, of shape (m,); ``1e-8`` of value or magnitude by default.
        levels: The most steps to try, at least 2. The function is called at most ``1 + 2 * levels`` times;
            up to twice as often where the larger steps lead out of its domain.

    >>> import numpy as np
    >>> found = slopes(lambda t: (np.array([np.exp(t)]), np.array([np.exp(t)])), 2.0 ** -52)
    >>> bool(abs(found.value[0] - 1) < found.error[0] < 1e-8), found.calls
    (True, 7)
    """
    with np.errstate(all='ignore'):
        ladder = _Ladder(curve, precision, target)
        while ladder.useful < levels and len(ladder.steps) < 2 * levels:
            ladder.descend(first_step(precision) / _RATIO ** len(ladder.steps))
            if ladder.is_done() or not np.isfinite(ladder.centre).any():
                break
        return ladder.result()


class _Ladder:
    def __init__(self, curve: Curve, precision: float, target: Any) -> None:
        self.curve, self.precision, self.target = curve, precision, target
        centre, magnitude = curve(0.0)
        self.centre, self.magnitude = np.asarray(centre, float), np.asarray(magnitude, float)
        self.useful = 0
        self.steps: list[float] = []
        self.samples: list[Any] = []
        self.second: list[Any] = []
        self.row: list[Any] = []
        self.value = np.full(self.centre.shape, np.nan)
        self.error = np.full(self.centre.shape, np.inf)

    @property
    def noise(self) -> Any:
        return 4 * self.precision * self.magnitude

    def descend(self, t: float) -> None:
        """Goes on to the next smaller step."""
        (above, size_above), (below, size_below) = self.curve(t), self.curve(-t)
        above, below = np.asarray(above, float), np.asarray(below, float)
        sizes = np.maximum(size_above, size_below)
        self.magnitude = np.where(np.isfinite(sizes), np.maximum(self.magnitude, sizes), self.magnitude)
        self.steps.append(t)
        self.samples.append(np.stack([below, self.centre, above]))
        self.second.append((above - 2 * self.centre + below) / t)
        self.useful += bool(np.isfinite((above + below)[np.isfinite(self.centre)]).all())
        self._extrapolate((above - below) / (2 * t), t)

    def _extrapolate(self, difference: Any, t: float) -> None:
        above, self.row = self.row, [difference]
        for order, coarser in enumerate(above, start=1):
            finer = self.row[-1]
            better = finer + (finer - coarser) / (_RATIO ** (2 * order) - 1)
            estimate = np.maximum(abs(better - finer), abs(better - coarser))
            error = _SAFETY * estimate + self.noise / t
            improves = error < self.error
            self.value = np.where(improves, better, self.value)
            self.error = np.where(improves, error, self.error)
            self.row.append(better)

    def is_done(self) -> bool:
        """Whether the errors are small enough, and nothing looks like a kink."""
        if len(self.steps) < 2:
            return False
        target = self.target
        if target is None:
            target = 1e-8 * np.maximum(abs(self.value), self.magnitude)
        target = np.maximum(target, 2 * self.noise / self.steps[0])
        return bool(np.all((self.error <= target) & ~self._suspicious()))

    def _suspicious(self) -> Any:
        """Where the last second difference, well above rounding, has not shrunk as it should."""
        last, before = abs(self.second[-1]), abs(self.second[-2])
        visible = last > 4 * self.noise / self.steps[-1] + 1e-12 * abs(self.value)
        return visible & ~(last < _SHRINKS * before)

    def _runaway(self) -> Any:
        """Where the central difference itself grows, as it does at a jump that is symmetric about the point."""
        differences = [(s[2] - s[0]) / (2 * t) for s, t in zip(self.samples, self.steps, strict=True)]
        last, before = abs(differences[-1]), abs(differences[-2])
        return (last > _GROWS * before) & (last > 8 * self.noise / self.steps[-1])

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
            calls=1 + 2 * len(self.steps),
        )

    def _limit(self, new: Any, coarse: Any) -> Any:
        grows = (abs(new) > _GROWS * abs(coarse)) & (abs(new) * self.steps[-1] > 8 * self.noise)
        return np.where(grows, np.copysign(np.inf, new), new)
