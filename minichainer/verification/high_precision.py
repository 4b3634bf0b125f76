"""Compares backward with slopes at 50 digits or more: exact where differences of floats only measure.

What remains between backward and such slopes is the rounding of the backward pass. If that is more than usual, the
backward pass runs on such numbers, too.

Elements that differ much in size move in directions of their own, and so do those whose part of a slope is too small
to be seen beside the others. Agreement with backward proves both. After a disagreement two steps have to agree with
each other before backward is called wrong, and then at 720 digits: numbers inside the function, such as the 1 in
``log(1 + x)``, may be larger than all that it is given and returns, and no float is lost beside another one there.

Where a function needs floats, and for larger arrays, slopes are measured by differences of float64.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from minichainer.backend import get_array_module
from minichainer.verification.arrays import coarsest, full, largest, norm
from minichainer.verification.directional_derivatives import Derivatives
from minichainer.verification.directions import by_size, generator
from minichainer.verification.extended_precision.arrays import available, numbers, rounded, using
from minichainer.verification.extrapolation import Slopes
from minichainer.verification.many_digits import (
    DIGITS,
    LEAST,
    MOST_DIGITS,
    STEP,
    ManyDigits,
    Unsuitable,
    enlarged,
)
from minichainer.verification.reporting.report import Failure
from minichainer.verification.rounding import ROUNDINGS, SINGLE, jitter
from minichainer.verification.shares import hidden_elements
from minichainer.verification.verdict import FAIL, PASS, UNRESOLVED

#: Slopes that are smaller have few digits.
_FEW_DIGITS = 1e-307
#: Slopes of two steps that differ by more, relative to their size, are not settled.
_SETTLED = 1e-3
#: Elements whose part of a slope is smaller, relative to all of it, are moved without the others; a part that is not
#: measured as sharply as the second number says is not vouched for.
_HIDDEN, _SHARP = 1e-10, 1e-4
#: The same as _HIDDEN in units of the precision for whose digits rules may be made.
_CONSTANTS = 2.0**10
#: The largest part of a gradient, and of terms that cancel in it, that rounding may take and leave it right.
_STILL_RIGHT, _CANCELLED = 1e-2, 1e-9
#: The largest relative difference of slopes, measured by floats and here, that are the same.
_ALIKE = 1e-2
#: Unless high precision is asked for: the most elements in all, before and after a doubt, and the most work, in
#: additions, for measuring a leaf along all directions or its elements one by one.
_FEW, _MANY, _LONGEST = 256, 2**14, 1e7


class HighPrecision(ManyDigits):
    """The verdicts on gradients, by the function at many digits.

    Attributes:
        worst: The largest relative difference of backward in float64 from a slope that it agrees with.
        wrong: For each leaf whose gradient is wrong, the directions that show it.
        unseen: For leaves that pass, the elements whose part of the slopes is lost beside larger ones.
    """

    def __init__(self, derivatives: Derivatives, digits: int) -> None:
        super().__init__(derivatives, digits)
        self.worst = 0.0
        self.wrong: dict[int, list[Any]] = {}
        self.unseen: dict[int, Any] = {}

    @property
    def _most_work(self) -> float:
        """The most work for the directions of a leaf; elements of many sizes each have one of their own."""
        return math.inf if self.derivatives.order_check.options.precise else _LONGEST

    def locates(self, i: int) -> bool:
        """Whether the elements of a leaf can be measured one by one in a short time."""
        calls = 2 * len(self.steps) * min(self.derivatives.arrays[i].size, _FEW)
        return bool(self.work * calls < _LONGEST)

    def agrees_with(self, other: HighPrecision, i: int) -> bool:
        """Whether both have measured the same slope along a direction that shows a leaf to be wrong."""
        mine, others = (engine.slopes({i: self.wrong[i][0]}).value for engine in (self, other))
        return bool((abs(mine - others) <= _ALIKE * abs(mine)).all())

    def measures_alike(self, i: int, failure: Failure) -> bool:
        """Whether a slope that differences of floats have measured of an element is the slope here, about."""
        if failure.index is None or failure.numeric is None:
            return False
        direction = np.zeros(self.derivatives.arrays[i].shape)
        direction[failure.index] = 1.0
        mine = slice(self.derivatives.outputs.index(failure.output), None, len(self.derivatives.outputs))
        slopes = self._difference({i: direction}, STEP).value[mine]
        size = np.maximum(abs(slopes), abs(failure.analytic or 0.0))
        return bool((abs(slopes - failure.numeric) <= _ALIKE * size).any())

    def judge(self, directions: Mapping[int, Sequence[Any]]) -> dict[int, str]:
        """The verdicts for leaves: "pass", "fail" or, where differences of float64 must decide, "unresolved".

        Args:
            directions: For each leaf, the directions in which it is moved: an isotropic and a relative one.
        """
        parts = {i: self._parts(i, drawn) for i, drawn in directions.items()}
        even = {i: mine[0] for i, mine in parts.items() if len(mine) == 1}
        together = len(even) > 1 and self._verdict(even) == PASS
        return {i: self._verdict_of_leaf(i, mine, together and len(mine) == 1) for i, mine in parts.items()}

    def _parts(self, i: int, drawn: Sequence[Any]) -> list[Any]:
        """Directions that together move all elements of a leaf, each among others of its size."""
        if self.derivatives.order_check.options.tangent is not None:
            return [*drawn]
        return [enlarged(part) for part in by_size(self.derivatives.arrays[i], *drawn)]

    def _verdict_of_leaf(self, i: int, parts: Sequence[Any], known: bool) -> str:
        """The worst verdict along the parts of a leaf; ``known`` says that the only one has passed."""
        if self.work * 2 * len(self.steps) * len(parts) > self._most_work:
            return UNRESOLVED
        verdicts = [PASS] if known else [self._verdict({i: part}) for part in parts]
        worst = max(verdicts, key=(PASS, UNRESOLVED, FAIL).index)
        if worst == PASS and self.derivatives.order_check.options.tangent is None:
            questions = (self._verdict_of_zeros, self._verdict_of_hidden)
            alone = [ask(i, part) for ask in questions for part in parts]
            return FAIL if FAIL in alone else PASS
        return worst

    def _verdict_of_zeros(self, i: int, direction: Any) -> str:
        """The verdict on elements for which backward gives 0, moved alone: their slope may be small beside others."""
        gradients = [self.derivatives.gradient(d, k, i) for d, k in self.derivatives.pairs]
        zero = (direction != 0) & ~np.any([g != 0 for g in gradients], axis=0)
        if not zero.any() or bool((zero == (direction != 0)).all()):
            return PASS
        return self._verdict({i: np.where(zero, direction, 0.0)})

    def _verdict_of_hidden(self, i: int, direction: Any) -> str:
        """The verdict on elements whose part of the slope along a direction could not be seen, moved alone."""
        hidden = hidden_elements(self.derivatives, i, [direction], max(_HIDDEN, _CONSTANTS * self._precision))
        if not hidden.any():
            return PASS
        alone = np.where(hidden, direction, 0.0)
        verdict = self._verdict({i: alone})
        if verdict == PASS and self._is_measured(i, alone):
            return self._verdict_of_hidden(i, alone)
        if verdict != FAIL:
            self.unseen[i] = self.unseen.get(i, False) | hidden
        return verdict

    def _is_measured(self, i: int, direction: Any) -> bool:
        """Whether the errors of slopes along a direction are small beside the slopes."""
        sizes = [norm(self.derivatives.gradient(d, k, i) * direction) for d, k in self.derivatives.pairs]
        lost = (self._lost / self._unit({i: direction}) / STEP).rounded()
        return bool((lost * self._sizes_of({i: direction}) <= _SHARP * np.array(sizes)).all())

    def _verdict(self, directions: Mapping[int, Any]) -> str:
        """The verdict along a direction; "unresolved" also if the function raises an error beside the point."""
        try:
            return self._verdict_of_slopes(directions)
        except Exception:
            return UNRESOLVED

    def _verdict_of_slopes(self, directions: Mapping[int, Any]) -> str:
        """Whether backward in float64, or else backward on such numbers, agrees with the slopes along a direction."""
        measured: list[Slopes] = []
        for found in self._measured(directions):
            measured.append(found)
            if self._agree(found, directions):
                return PASS
            if len(directions) > 1:
                return UNRESOLVED  # each alone will tell
        found = self._settled(measured)
        size = np.maximum(abs(found.left), abs(found.right))
        settled = (found.error <= _SETTLED * size) | (np.maximum(found.error, size) < _FEW_DIGITS)
        if not found.finite.all() or found.kink.any() or not settled.all():
            return UNRESOLVED
        verdict = self._verdict_at_many_digits(found, directions)
        if verdict == FAIL:
            for i, direction in directions.items():
                self.wrong.setdefault(i, []).append(direction)
        return verdict

    def _agree(self, found: Slopes, directions: Mapping[int, Any]) -> bool:
        """Whether backward in float64 agrees with measured slopes, which proves both."""
        if not found.finite.all() or found.kink.any():
            return False
        off, allowed = self._compared(found, directions, self.derivatives.gradients)
        error = np.where(allowed > 0, found.error, 0.0)  # no part of a slope that is 0 on both sides
        if not bool((np.maximum(off, error) <= allowed).all()):
            return False
        self._note(off, found)
        return True

    def _verdict_at_many_digits(self, found: Slopes, directions: Mapping[int, Any]) -> str:
        """The verdict where backward in float64 disagrees: rounding may be the reason."""
        off, _ = self._compared(found, directions, self.derivatives.gradients)
        if self.gradients is None:
            return FAIL if self._is_wrong_in_float64(found, directions, off) else UNRESOLVED
        exactly_off, allowed = self._compared(found, directions, self.gradients)
        wrong = ~(exactly_off <= allowed + found.error)
        if wrong.any() and self._is_sharp(found, directions, np.where(wrong, exactly_off, 0.0)):
            # Where backward in float64 is right, its factors are rounded ones that only many digits see.
            return FAIL if (off > 0.5 * exactly_off)[wrong].all() else UNRESOLVED
        if not all(map(self._is_rounding, directions)):
            return UNRESOLVED
        self._note(off, found)
        return PASS

    def _is_sharp(self, found: Slopes, directions: Mapping[int, Any], off: Any) -> bool:
        """Whether a slope is wrong by more than its error, and than factors explain that a rule has as floats."""
        wrong = off > found.error
        if not (wrong.any() and (off > self._rounding_of_terms(directions))[wrong].any()):
            return False
        return self.gradients is None or bool((off > self._rounding_of_constants(directions))[wrong].any())

    def _is_wrong_in_float64(self, found: Slopes, directions: Mapping[int, Any], off: Any) -> bool:
        """Whether backward, which loses digits, is wrong by more than its rounding errors in float64 can be."""
        derivatives = self.derivatives
        sizes = [
            sum([derivatives.on_the_way(derivatives.only(k, v), i) * norm(move) for i, move in directions.items()])
            for vs in derivatives.upstream
            for k, v in enumerate(vs)
        ]
        allowed = 4 * self._rounding_of_terms(directions, derivatives.precision)
        allowed = allowed + ROUNDINGS * derivatives.precision * np.array(sizes)
        return bool((off > allowed).any()) and self._is_sharp(found, directions, np.where(off > allowed, off, 0.0))

    def _compared(self, found: Slopes, directions: Mapping[int, Any], gradients: Any) -> tuple[Any, Any]:
        """By how much the slopes from backward are off, and by how much rounding lets them be."""
        slopes, sizes = [], []
        for gradient in (gs for draw in gradients for gs in draw):
            terms = [gradient[i] * v for i, v in directions.items() if gradient[i] is not None]
            slopes.append(sum([float(t.sum()) for t in terms]))
            # The smallest part counts: rounding of a large one would hide that a small one is wrong.
            sizes.append(min(map(norm, terms), default=0.0))
        least = 4 * LEAST * sum([1.0 + norm(v) for v in directions.values()])  # of the gradients, and of their slopes
        return abs(found.value - np.array(slopes)), 16 * self._precision * np.array(sizes) + least

    @functools.cached_property
    def _precision(self) -> float:
        """Machine epsilon of the dtypes that the user gave, for whose digits rules may be made; at most float32's."""
        order_check = self.derivatives.order_check
        return min(coarsest([*order_check.arrays, *order_check.values]), SINGLE)

    def _note(self, off: Any, found: Slopes) -> None:
        """Keeps the largest relative difference, for the report."""
        with np.errstate(all='ignore'):
            ratio = np.where(off == 0, 0.0, off / abs(found.value))
        self.worst = max(self.worst, float(np.nan_to_num(ratio).max(initial=0.0)))

    # --- rounding ----------------------------------------------------------------------------------------------
    def _rounding_of_terms(self, directions: Mapping[int, Any], epsilon: float = 0.0) -> Any:
        """How much of a slope may be due to factors in a rule that are rounded to float64, where its terms cancel.

        Args:
            directions: As in :meth:`slopes`.
            epsilon: The relative change of the inputs that also counts as rounding.
        """
        derivatives, allowed = self.derivatives, []
        for d, vs in enumerate(derivatives.upstream):
            for k, v in enumerate(vs):
                gys, off = derivatives.only(k, v), 0.0
                for i, move in directions.items():
                    rounding = jitter(
                        derivatives.order_check,
                        derivatives.arrays,
                        gys,
                        i,
                        epsilon,
                        derivatives.precision,
                        on_variables=d == 1,
                    )
                    off += norm(rounding * move)
                allowed.append(off)
        return np.array(allowed)

    def _rounding_of_constants(self, directions: Mapping[int, Any]) -> Any:
        """How much of each slope a rule's constants in float64 may take where terms cancel: what few bits change."""
        return np.array(
            [
                sum([norm(self._lost_in_element(d, k, i) * move) for i, move in directions.items()])
                for d, k in self.derivatives.pairs
            ]
        )

    def _lost_in_element(self, d: int, k: int, i: int) -> Any:
        derivatives = self.derivatives
        on_the_way = derivatives.on_the_way(derivatives.only(k, derivatives.upstream[d][k]), i)
        return np.minimum(self._errors_in_few_bits(d, k, i), ROUNDINGS * derivatives.precision * on_the_way)

    def _is_rounding(self, i: int) -> bool:
        """Whether rounding explains how far the gradient in float64 is from the one at many digits."""
        for d, draw in enumerate(self.gradients or ()):
            for k, gradients in enumerate(draw):
                exact = full(gradients[i], self.derivatives.arrays[i])
                off = abs(self.derivatives.gradient(d, k, i) - exact)
                allowed = ROUNDINGS * max(self.derivatives.precision * largest(exact), self._sensitivity[d][k][i])
                allowed += _FEW_DIGITS
                if not largest(off) <= allowed and not bool((off <= self._rounding_of_backward(d, k, i)).all()):
                    return False
        return True

    def _rounding_of_backward(self, d: int, k: int, i: int) -> Any:
        """Bounds of the rounding errors of a gradient in float64: what few digits, there or here, change in it."""
        gys = self.derivatives.only(k, self.derivatives.upstream[d][k])
        exact = full((self.gradients or [])[d][k][i], self.derivatives.arrays[i])
        most = max(_STILL_RIGHT * largest(exact), _CANCELLED * self.derivatives.on_the_way(gys, i))
        return (
            4 * self.derivatives.noise_of(gys, i, d == 1)
            + np.minimum(self._errors_in_few_bits(d, k, i), most)
            + _FEW_DIGITS
        )

    @functools.cached_property
    def _sensitivity(self) -> list[list[list[float]]]:
        """The change of each gradient when inputs are rounded; 0 where it is not in proportion to their change."""
        large, small = (
            self._changes(epsilon) for epsilon in (self.derivatives.precision, 1e-3 * self.derivatives.precision)
        )
        pairs = [list(zip(*draws, strict=True)) for draws in zip(large, small, strict=True)]
        return [
            [[a if 1e-4 * a <= b <= 1e-2 * a else 0.0 for a, b in zip(*gs, strict=True)] for gs in draw]
            for draw in pairs
        ]

    def _changes(self, epsilon: float) -> list[list[list[float]]]:
        """The largest change of an element of each gradient when each input element changes by one ``epsilon``."""
        rng, moves = generator(0), {}
        with using(self.digits):
            for i in self.derivatives.order_check.function.moving:
                moves[i] = self._arrays[i] * numbers(rng.choice([-1.0, 1.0], self._arrays[i].shape)) * epsilon
            moved = self._gradients_of(self._evaluated(moves))
            draws = zip(moved, self._gradients or (), strict=True)
            return [[self._largest_changes(*gs) for gs in zip(*draw, strict=True)] for draw in draws]

    def _largest_changes(self, moved: list[Any], gradients: list[Any]) -> list[float]:
        return [0.0 if g is None else largest(rounded(h - g)) for h, g in zip(moved, gradients, strict=True)]


def attempt(derivatives: Derivatives) -> HighPrecision | None:
    """The function at 50 digits; None, with a reason in the report, where that is not possible or would take long."""
    options, report = derivatives.order_check.options, derivatives.order_check.report
    if options.precise is False or not available():
        return None
    try:
        _require_suitable(derivatives)
        if options.precise is None and _count(derivatives) > _FEW:
            raise Unsuitable('there are many elements; precise=True asks for it')
        return _computed(derivatives, DIGITS)
    except Exception as error:
        reason = str(error) if isinstance(error, Unsuitable) else f'{type(error).__name__}: {error}'
        report.not_precise = reason.strip().partition('\n')[0][:100].rstrip('.')
    return None


def last_resort(derivatives: Derivatives) -> HighPrecision | None:
    """The function at the most digits, to confirm what is not a pass; None where that is not possible."""
    try:
        _require_suitable(derivatives)
        return _computed(derivatives, MOST_DIGITS) if available() and _count(derivatives) <= _MANY else None
    except Exception:
        return None


def _computed(derivatives: Derivatives, digits: int) -> HighPrecision:
    with using(digits):
        return HighPrecision(derivatives, digits)


def _count(derivatives: Derivatives) -> int:
    """The number of elements."""
    return sum(a.size for a in (*derivatives.arrays, *derivatives.values))


def _require_suitable(derivatives: Derivatives) -> None:
    """Raises an error where high precision is out of the question, before anything is computed."""
    arrays = [*derivatives.arrays, *derivatives.values]
    if any(get_array_module(a) is not np for a in arrays):
        raise Unsuitable('the arrays are on a GPU')
    if derivatives.precision > 2.0**-52:
        raise Unsuitable('the function does not take float64')
    if not all(np.isfinite(x).all() for x in derivatives.arrays if x.dtype.kind == 'f'):
        raise Unsuitable('an input is not finite')
