"""Finds a simple change that would make a wrong gradient right, without calling the function again.

A candidate, such as the negated or transposed gradient, is right if it agrees with all slopes that the check has
measured. Four numbers known to eight digits rule out chance, and the candidate shows exactly which elements are
wrong, however many there are.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from minichainer.verification.arrays import host
from minichainer.verification.diagnosis.conjugation import conjugated
from minichainer.verification.diagnosis.evidence import NO_FACTOR, multiple
from minichainer.verification.directional_derivatives import Along, Derivatives

#: A repaired gradient must be this many times closer to the slopes; a factor near 1 may be closer by chance.
_MUST_EXPLAIN = 10.0

Gradients = list[Any]


@dataclasses.dataclass(frozen=True)
class Repair:
    """A right gradient for each wrong draw, and the cause of the error."""

    gradients: Gradients
    cause: str


class Repairer:
    """Candidates for one leaf and one output, and the slopes with which they must agree."""

    def __init__(
        self, derivatives: Derivatives, i: int, k: int, draws: Sequence[int], measured: Sequence[Along]
    ) -> None:
        self.derivatives, self.i, self.k, self.draws = derivatives, i, k, draws
        self.gradients = [host(derivatives.gradient(d, k, i)) for d in draws]
        self.shape = self.gradients[0].shape
        self.x = host(derivatives.arrays[i])
        rows = [a for a in measured if self._usable(a)]
        columns = [d * len(derivatives.outputs) + k for d in draws]
        self.directions = [a.direction for a in rows]
        self.values = np.array([a.found.value[columns] for a in rows]).reshape(len(rows), len(draws))
        self.errors = np.array([derivatives.tolerance(a)[columns] for a in rows]).reshape(self.values.shape)

    def _usable(self, along: Along) -> bool:
        mine = slice(self.k, None, len(self.derivatives.outputs))
        return bool((along.found.finite & ~along.found.kink & np.isfinite(along.found.value))[mine].all())

    def find(self) -> Repair | None:
        """The first candidate that agrees with the measured slopes."""
        if not self.directions or not all(np.isfinite(g).all() for g in self.gradients):
            return None
        allowed = min(4.0, self._badness(self.gradients) / _MUST_EXPLAIN)
        for cause, candidate in self._candidates():
            if self._badness(candidate) <= allowed:
                return Repair(candidate, cause)
        return None

    def _along(self, gradients: Gradients) -> Any:
        return np.array([[float((g * d).sum()) for g in gradients] for d in self.directions])

    def _badness(self, candidate: Gradients) -> float:
        """The distance of a gradient from the slopes, in units of their errors."""
        sizes = np.array([[float(abs(g * d).sum()) for g in candidate] for d in self.directions])
        with np.errstate(all='ignore'):
            off = abs(self._along(candidate) - self.values)
            ratio = np.where(off == 0, 0.0, off / (self.errors + 2.5e-11 * sizes))
        return float(np.where(np.isnan(ratio), np.inf, ratio).max())

    def _candidates(self) -> Iterator[tuple[str, Gradients]]:
        yield from conjugated(self.derivatives, self.i, self.k, self.draws)
        yield from self._scaled()
        yield from self._rearranged()
        yield from self._exchanged()
        yield from self._half()

    def _scaled(self) -> Iterator[tuple[str, Gradients]]:
        """The gradient times the factor that fits the slopes best."""
        given = self._along(self.gradients)
        factor = _ratio(self.values, given)
        if factor and abs(factor - 1) > max(2 * self._doubt, NO_FACTOR):
            yield (
                factor_cause(1 / factor, self._sizes(), max(1e-6, self._doubt)),
                [factor * g for g in self.gradients],
            )

    @property
    def _doubt(self) -> float:
        """Relative error of the slopes: a factor closer to 1 than this explains nothing."""
        return float(self.errors.max()) / (float(abs(self.values).max()) or 1.0)

    def _sizes(self) -> dict[str, int]:
        """The sizes that a factor may come from, by name."""
        sizes = {f'the size of axis {a}': n for a, n in enumerate(self.shape)}
        y = self.derivatives.values[self.k]
        sizes |= {f'the size of axis {a} of the output': n for a, n in enumerate(y.shape)}
        return {**sizes, 'the number of elements': self.gradients[0].size, 'the size of the output': y.size}

    def _rearranged(self) -> Iterator[tuple[str, Gradients]]:
        """The gradient transposed, shifted or reversed."""
        shape, gs = self.shape, self.gradients
        if len(shape) > 1 and min(shape[-2:]) > 1:
            for undo in (_transposed, _back):
                yield 'transposed: backward gives the transposed gradient', [undo(g) for g in gs]
        for axis, n in enumerate(shape):
            for shift in range(1, min(n, 9)):
                for step in {shift, -shift if n - shift != shift else shift}:
                    text = f'shifted: backward gives the gradient shifted by {-step} along axis {axis}'
                    yield text, [np.roll(g, step, axis) for g in gs]
            if n > 1:
                text = f'shifted: backward gives the gradient reversed along axis {axis}'
                yield text, [np.flip(g, axis) for g in gs]
        if len(shape) > 1:
            for step in (1, -1):
                yield (
                    f'shifted: backward gives the gradient shifted by {-step} in C order',
                    [np.roll(g, step) for g in gs],
                )

    def _exchanged(self) -> Iterator[tuple[str, Gradients]]:
        """The gradients of other leaves."""
        for j in self.derivatives.order_check.function.moving:
            label = self.derivatives.order_check.function.leaves[j].label
            others = [host(self.derivatives.gradient(d, self.k, j)) for d in self.draws]
            if j == self.i or others[0].size != self.gradients[0].size:
                continue
            text = f'swapped inputs: what backward gives for {label} would be right here'
            if others[0].shape == self.shape:
                yield text, others
            if others[0].shape[::-1] == self.shape:
                yield text, [g.T for g in others]

    def _half(self) -> Iterator[tuple[str, Gradients]]:
        """The gradient scaled only where x is negative, or only where it is positive."""
        for name, side in (('x < 0', self.x < 0), ('x > 0', self.x > 0)):
            if not side.any() or side.all():
                continue
            inside = self._along([np.where(side, g, 0) for g in self.gradients])
            outside = self._along([np.where(side, 0, g) for g in self.gradients])
            factor = _ratio(self.values - outside, inside)
            if abs(factor) > 4 * self._doubt and abs(factor - 1) > 4 * self._doubt:
                given = -1.0 if abs(factor + 1) < 4 * self._doubt else 1 / factor
                text = f'wrong where {name}: there backward gives {multiple(given)}'
                yield text, [np.where(side, factor * g, g) for g in self.gradients]


def factor_cause(given: float, sizes: dict[str, int], doubt: float = 1e-6) -> str:
    """The cause for a wrong factor, known up to a relative error ``doubt``."""
    if abs(given + 1) < doubt:
        return f'sign: backward gives {multiple(-1.0)}'
    hint = ''
    for name, n in sizes.items():
        if n > 2 and not hint:
            if abs(abs(given) / n - 1) < doubt:
                hint = f', {name}; a mean that is treated as a sum?'
            elif abs(abs(given) * n - 1) < doubt:
                hint = f', one over {name}; a sum that is treated as a mean?'
    return f'factor: backward gives {multiple(given, _digits(doubt))}{hint}'


def _digits(doubt: float) -> int:
    """How many digits to show of a number with the relative error ``doubt``, which is usually much smaller."""
    return int(np.clip(2 - np.log10(doubt), 3, 6))


def _ratio(values: Any, given: Any) -> float:
    """The factor from ``given`` to ``values`` by least squares; 0 if there is none."""
    square = float((given**2).sum())
    return float((given * values).sum()) / square if square else 0.0


def _transposed(g: Any) -> Any:
    """The last two axes transposed; if they differ in size, the elements in that order in the original shape."""
    return np.swapaxes(g, -1, -2).reshape(g.shape)


def _back(g: Any) -> Any:
    """The inverse of :func:`_transposed`."""
    return np.swapaxes(g.reshape(*g.shape[:-2], g.shape[-1], g.shape[-2]), -1, -2)
