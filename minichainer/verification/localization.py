"""After a mismatch: whether it is real, which elements are wrong or at a kink, and why."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from minichainer.verification.arrays import host, norm, root_mean_square
from minichainer.verification.bisection import wrong_elements
from minichainer.verification.diagnosis.causes import (
    cause_of_second,
    cut_cause,
    element_cause,
    missing_cause,
    same_cause,
    unsummed_cause,
)
from minichainer.verification.diagnosis.corrections import Repair, Repairer
from minichainer.verification.directional_derivatives import Along, Derivatives
from minichainer.verification.directions import isotropic, relative
from minichainer.verification.extrapolation import first_step
from minichainer.verification.forward_rounding import doubt, measure_noise
from minichainer.verification.measured import Measured
from minichainer.verification.reporting.report import Failure
from minichainer.verification.small_steps import all_confirmed, confirm_elements
from minichainer.verification.verdict import (
    FAIL,
    NONDIFFERENTIABLE,
    NOT_FINITE,
    PASS,
    UNRESOLVED,
    between_slopes,
    taylor_rate,
)

#: Up to this many elements are measured one by one; more are halved first.
_FEW = 256
#: Up to this many are measured one by one if many of them are wrong.
_MANY = 2048
#: If there are even more, this many are drawn at random.
_SAMPLE = 64
#: The work that bisection may cost, in elements moved.
_HALVING = 3e7
#: Smaller steps are tried if they would have to be smaller by this factor.
_LOCAL = 1 / 16
#: Severity of each verdict.
_GRAVITY = {PASS: 0, UNRESOLVED: 1, NONDIFFERENTIABLE: 2, NOT_FINITE: 3, FAIL: 4}

_SINGULAR = (NONDIFFERENTIABLE, NOT_FINITE)
#: Steps at which a kink is looked at again, and those of the slopes of every output beside it.
_NEARER, _HULL_STEPS = (1e-5, 1e-10, 1e-15, 1e-20), (1e-5, 1e-7)
#: Relative errors of slopes that show nothing; the smallest relative step of an element that is not rounding; steps
#: that suit the others show nothing of elements that are smaller than this part of them.
_UNSEEN, _FINEST, _SMALL = 0.5, 2.0**-24, 1e-3
#: The part of the error of a slope that the errors of elements may add up to, if these are to contradict it.
_ROOM = 0.5
#: Why a check does not vouch for elements.
AS_LARGE = 'rounding errors are as large as it'
#: Slopes per unit of less would have few digits.
_LEAST = 1e-150
_FIELDS = ('numeric', 'analytic', 'tolerance', 'verdict', 'left', 'right', 'still')


class Locator:
    """Explains a mismatch of leaf ``i`` and the k-th checked output."""

    def __init__(
        self,
        derivatives: Derivatives,
        i: int,
        k: int,
        measured: Sequence[Along],
        verdicts: Any,
        apart: bool = False,
    ) -> None:
        """``apart`` says that each direction moves some of the elements, and others than the rest."""
        self.derivatives, self.order_check, self.i, self.k = derivatives, derivatives.order_check, i, k
        self.o, self.x = derivatives.outputs[k], derivatives.arrays[i]
        self.measured, self.verdicts, self._apart = list(measured), verdicts, apart
        self._size = root_mean_square(host(self.x)) or 1.0
        self._blurred = False
        self._right: Any = None

    def explain(self) -> None:
        """Adds failures to the report."""
        if self._is_right():
            return
        if self.derivatives.source is None:
            found = self._elements_of_local_function()
            if found is not None:
                self._report(found)
                return
            if self._is_right_after_all():
                return
        self.draws = self._wrong_draws()
        if self.order_check.options.tangent is not None or self._blurred:
            self.report_whole()
            return
        bad = self._not_finite()
        if bad.size:
            self._report_not_finite(self._measure(bad))
            return
        repair = None if self._singular() else self._repair()
        if repair is not None:
            self._report_repaired(repair)
        else:
            self._report(self._elements())

    def _wrong_draws(self) -> list[int]:
        """The draws of upstream gradients for which backward is wrong; all where none clearly is."""
        draws = range(self.verdicts.shape[1])
        return [d for d in draws if (self.verdicts[:, d] == FAIL).any()] or list(draws)

    # --- is the mismatch real? ---------------------------------------------------------------------------------
    def _is_right(self) -> bool:
        """Whether a direction that moves every element passes, and the other one could not be resolved."""
        passed = (self.verdicts == PASS).all(axis=1)
        if self._apart:
            return bool(passed.all())
        if not passed.any() or np.isin(self.verdicts, (FAIL, NONDIFFERENTIABLE)).any():
            return False
        return bool(passed[0]) or bool((host(self.x) != 0).all())

    def _is_right_after_all(self) -> bool:
        """The same with more steps, and then with measured rounding errors."""
        if self._remeasured():
            return True
        starts = [self.derivatives.local_start(self.i, self.k, a.direction) for a in self.measured]
        if min(starts) < _LOCAL * first_step(self.derivatives.precision):
            return self._is_right_nearby(starts)
        measure_noise(self.derivatives, self.i, self.measured)
        if not self._remeasured():
            return all_confirmed(self.derivatives, self.k, self.measured, self.verdicts)
        mine = slice(self.k, None, len(self.derivatives.outputs))
        self.derivatives.note_doubt(self.i, max(doubt(along, mine) for along in self.measured))
        for along in self.measured:
            if self._apart and doubt(along, mine) > _UNSEEN:
                self.derivatives.does_not_vouch(self.i, along.direction != 0, AS_LARGE)
        return True

    def _is_right_nearby(self, starts: Sequence[float]) -> bool:
        """The same with steps so small that the function is nearly linear, according to backward."""
        coarse, verdicts = self.measured, self.verdicts
        if self._remeasured(starts):
            return True
        measure_noise(self.derivatives, self.i, self.measured, nearby=True)
        if self._remeasured(starts):
            return True
        for row, (far, near) in enumerate(zip(coarse, self.measured, strict=True)):
            blurred = (self.verdicts[row] == UNRESOLVED) & (verdicts[row] == FAIL) & self._same_slope(far, near)
            self.verdicts[row, blurred] = FAIL
        self._blurred = not np.isin(self.verdicts, (FAIL, *_SINGULAR)).any()
        return False

    def _same_slope(self, far: Along, near: Along) -> Any:
        """Where the slope from small steps, though inaccurate, agrees with the slope from large steps."""
        mine = slice(self.k, None, len(self.derivatives.outputs))
        with np.errstate(all='ignore'):
            doubt = far.found.error + near.found.error
            same = (abs(far.found.value - near.found.value) <= doubt) & (
                doubt < abs(near.found.value - near.analytic)
            )
        return same[mine]

    def _remeasured(self, starts: Sequence[float | None] | None = None) -> bool:
        """Measures the slopes again, and returns whether they pass."""
        starts = [None] * len(self.measured) if starts is None else starts
        pairs = zip(self.measured, starts, strict=True)
        self.measured = [self.derivatives.along(self.i, a.direction, start=start) for a, start in pairs]
        count = len(self.derivatives.outputs)
        self.verdicts = np.stack([self.derivatives.verdicts(a)[self.k :: count] for a in self.measured])
        return bool((self.verdicts == PASS).all()) or self._is_right()

    def _singular(self) -> bool:
        return bool(np.isin(self.verdicts, _SINGULAR).any())

    def _not_finite(self) -> Any:
        """The elements for which backward gives NaN or infinity, up to the most that are shown."""
        bad = ~np.isfinite(host(self.derivatives.gradient(self.draws[0], self.k, self.i)))
        self._total = int(bad.sum())
        return np.flatnonzero(bad)[: self.order_check.options.max_failures]

    def _repair(self) -> Repair | None:
        if not (self.verdicts == FAIL).any():
            return None
        return Repairer(self.derivatives, self.i, self.k, self.draws, self.measured).find()

    # --- functions of single elements -----------------------------------------------------------------------------
    def _elements_of_local_function(self) -> Measured | None:
        """The wrong elements of a function that seems to be applied to each element alone.

        One difference along a direction gives the slopes of all its elements at once, and so the suspects. These are
        then measured one by one, so that the function need not be like that. None if there are too many suspects, or
        if they do not explain the whole error.
        """
        failed = np.flatnonzero((self.verdicts == FAIL).all(axis=1))
        if self.x.size <= _FEW or not failed.size or self.derivatives.values[self.k].shape != self.x.shape:
            return None
        self.draws = self._wrong_draws()
        suspects = self._suspects(self.measured[int(failed[0])])
        if not 0 < suspects.size <= _SAMPLE:
            return None
        found = self._measure(suspects)
        return found if (found.verdict == FAIL).any() and self._explains(found) else None

    def _suspects(self, along: Along) -> Any:
        """Elements for which the output moves otherwise along a direction than backward says, if it is local."""
        draw, step = self.draws[0], float(np.nanmin(along.found.best))
        v, y = host(self.derivatives.upstream[draw][self.k]), host(self.derivatives.values[self.k])
        expected = host(self.derivatives.gradient(draw, self.k, self.i)) * along.direction
        if not np.isfinite(step):
            return np.zeros(0, int)
        with np.errstate(all='ignore'):
            off = abs(v * self.derivatives.secant(self.i, self.o, along.direction, step) - expected)
            rounding = 8 * self.derivatives.precision * (abs(v * y) + abs(expected)) / step
            return np.flatnonzero(~(off <= 1e-5 * (abs(expected) + root_mean_square(expected)) + rounding))

    def _explains(self, found: Measured, which: Any = slice(None)) -> bool:
        """Whether backward with the measured elements in place of its own, all or some, agrees with all slopes."""
        d, count = self.draws[0], len(self.derivatives.outputs)
        elements, numeric, tolerance = (f[which] for f in (found.elements, found.numeric, found.tolerance))
        corrected = host(self.derivatives.gradient(d, self.k, self.i)).copy()
        corrected.ravel()[elements] = numeric
        for along in self.measured:
            doubt = float(self.derivatives.tolerance(along)[d * count + self.k])
            doubt += float((tolerance * abs(along.direction.ravel()[elements])).sum())
            if not abs(float((corrected * along.direction).sum()) - along.found.value[d * count + self.k]) <= doubt:
                return False
        return True

    # --- elements ----------------------------------------------------------------------------------------------
    def _elements(self) -> Measured:
        """The wrong elements: measured one by one if few, else a random sample, or found by bisection."""
        n = self.x.size
        moved = self._moved()
        if len(moved) <= _FEW:
            return self._measure(moved)
        drawn = self.order_check.rng.permutation(n)
        if (self._measure(drawn[:16]).verdict != PASS).mean() >= 0.25:
            return self._sampled(drawn)
        found = self._bisected()
        if found.complete or n > _MANY:
            return found
        suspects = self._scanned()
        measured = self._measure(suspects[: 4 * _SAMPLE])
        return dataclasses.replace(measured, complete=len(suspects) <= 4 * _SAMPLE)

    def _moved(self) -> Any:
        """The elements that move along directions with wrong slopes."""
        pairs = zip(self.measured, self.verdicts, strict=True)
        wrong = [along.direction != 0 for along, mine in pairs if (mine != PASS).any()]
        return np.flatnonzero(np.any(wrong, axis=0)) if wrong else np.arange(self.x.size)

    def _sampled(self, drawn: Any) -> Measured:
        """Random elements of a gradient that is wrong nearly everywhere, enough for a full list."""
        limit = min(_SAMPLE, self.order_check.options.max_failures)
        found, used = self._measure(drawn[:limit]), limit
        while (found.verdict != PASS).sum() < limit and used < min(4 * limit, self.x.size):
            found, used = found.joined(self._measure(drawn[used : used + limit])), used + limit
        return dataclasses.replace(found, complete=used >= self.x.size)

    def _scanned(self) -> Any:
        """Elements that look wrong after two calls each, the worst first."""
        elements = np.arange(self.x.size)
        step = first_step(self.derivatives.precision) if self.derivatives.is_local else 1e-3
        along = self.derivatives.differences(self.i, elements, np.full(self.x.size, self._size), step)
        columns = [d * len(self.derivatives.outputs) + self.k for d in self.draws]
        value, analytic, error = (f.reshape(self.x.size, -1)[:, columns[0]] for f in along)
        with np.errstate(all='ignore'):
            typical = root_mean_square(analytic)
            ratio = abs(value - analytic) / (1e-5 * (abs(analytic) + typical) + error)
        ratio = np.where(np.isnan(ratio), np.inf, ratio)
        order = np.argsort(-ratio, kind='stable')
        return order[ratio[order] > 1]

    def _bisected(self) -> Measured:
        """Finds the wrong elements by bisection, and measures them."""
        row = int(np.argmax((self.verdicts != PASS).any(axis=1)))
        # Blocks move as in the first row.
        draw = relative if self._apart or (row, len(self.measured)) == (1, 2) else isotropic
        x = host(self.x)

        def badness(part: Any) -> float:
            direction = np.zeros(x.size)
            direction[part] = draw(self.order_check.rng, x).ravel()[part]
            return self._badness(self.derivatives.along(self.i, direction.reshape(x.shape)))

        limit = self.order_check.options.max_failures if x.size > _MANY else 16
        questions = 120 if x.size <= _MANY else int(np.clip(_HALVING / x.size, 80, 1200))
        found = wrong_elements(badness, x.size, limit, questions)
        measured = self._measure(np.array(found.indices, int))
        return dataclasses.replace(measured, complete=found.complete)

    def _badness(self, along: Along) -> float:
        """The error of the slopes divided by the tolerance; infinite at a kink."""
        mine = slice(self.k, None, len(self.derivatives.outputs))
        if bool((along.found.kink | ~along.found.finite)[mine].any()):
            return np.inf
        with np.errstate(all='ignore'):
            distance = abs(along.found.value - along.analytic)[mine]
            ratio = np.where(distance == 0, 0.0, distance / self.derivatives.tolerance(along)[mine])
        return float('inf') if np.isnan(ratio).any() else float(ratio.max())

    def _measure(self, elements: Any) -> Measured:
        """Measures elements one by one: quickly first, then those that need more steps."""
        x = host(self.x).ravel()[elements].astype(np.float64)
        size = np.full(x.shape, self._size)
        own = np.where(np.isfinite(x) & (x != 0), abs(x), size)
        found = self._at(elements, size, levels=3)
        if self.derivatives.source is not None:
            return found
        found.verdict[(found.verdict == FAIL) & (own < _SMALL * size)] = UNRESOLVED
        for scales, levels in ((own, 3), (size, 6), (own, 6)):
            self._improve(found, scales, levels)
        self._improve_nearby(found, size)
        if np.isin(found.verdict, _SINGULAR).any() and self.derivatives.precision < 1e-12:
            self._improve(found, size, start=_NEARER[0])  # a kink nearby is not a kink here
            for start in _NEARER[1:]:
                self._confirm_nearer(found, size, start)
        self._see_hidden_kinks(found, size)
        confirm_elements(self.derivatives, self.i, self.k, self.draws[0], found, own)
        return found

    def _confirm_nearer(self, found: Measured, scales: Any, start: float) -> None:
        """Takes elements for right that looked like kinks, and agree with backward at much smaller steps."""
        x = host(self.x).ravel()[found.elements].astype(np.float64)
        moves = start * scales > _FINEST * abs(x)  # by many of its roundings
        again = np.flatnonzero(np.isin(found.verdict, _SINGULAR) & moves)
        if again.size:
            self._take_right(found, again, self._at(found.elements[again], scales[again], 6, start))

    def _take_right(self, found: Measured, again: Any, new: Measured) -> None:
        """Takes the new values of those elements that these show to be right."""
        right = new.verdict == PASS
        for field in _FIELDS:
            getattr(found, field)[again[right]] = getattr(new, field)[right]

    def _see_hidden_kinks(self, found: Measured, size: Any) -> None:
        """Finds elements that look wrong, but have kinks in some outputs, and gradients between their slopes."""
        outside = np.isin(found.verdict, _SINGULAR) & ~between_slopes(found, found.analytic)
        for p in np.flatnonzero((found.verdict == FAIL) | outside)[:_SAMPLE]:
            low, high = self._between(int(found.elements[p]), float(size[p]))
            slack = 1e-6 * max(abs(low), abs(high))
            if low - slack <= found.analytic[p] <= high + slack:
                found.verdict[p] = NONDIFFERENTIABLE
                found.left[p], found.right[p] = low, high

    def _between(self, element: int, scale: float) -> tuple[float, float]:
        """The least and the largest gradient of an element that the one-sided slopes of all outputs allow.

        Each element of the outputs has slopes of its own. In their weighted sum the kinks of several may cancel. NaN
        where there is no kink: one-sided slopes then approach each other.
        """
        far, near = (self.derivatives.hull(self.i, self.k, self.draws[0], element, scale * h) for h in _HULL_STEPS)
        width = [high - low for low, high in (far, near)]
        is_kink = 0.5 * width[0] < width[1] < 2 * width[0] and width[1] > 1e-3 * max(abs(near[0]), abs(near[1]))
        return near if is_kink else (np.nan, np.nan)

    def _improve(self, found: Measured, scales: Any, levels: int = 6, start: float | None = None) -> None:
        """Measures again, with other steps, the elements that are neither right nor clearly wrong."""
        clearly = (found.verdict == FAIL) & ~(found.distance <= 100 * found.tolerance)
        again = np.flatnonzero((found.verdict != PASS) & ~clearly)
        if not again.size:
            return
        new = self._at(found.elements[again], scales[again], levels, start)
        old = found.verdict[again]
        better = (new.verdict == PASS) | (_severity(new.verdict) > _severity(old))
        better |= (start is not None) & np.isin(old, _SINGULAR)
        better |= (new.verdict == old) & (new.tolerance < found.tolerance[again])
        better &= ~new.still | found.still[again]
        for field in _FIELDS:
            getattr(found, field)[again[better]] = getattr(new, field)[better]

    def _improve_nearby(self, found: Measured, size: Any) -> None:
        """Measures again with smaller steps the elements that look wrong where backward is large."""
        with np.errstate(all='ignore'):
            scales = norm(host(self.derivatives.values[self.k])) / abs(found.analytic)
        again = np.flatnonzero((found.verdict != PASS) & (scales > 0) & (scales < _LOCAL * size))
        if not again.size:
            return
        new = self._at(found.elements[again], scales[again], 6)
        self._take_right(found, again, new)

    def _at(self, elements: Any, scales: Any, levels: int, start: float | None = None) -> Measured:
        """Measures elements one by one with given scales."""
        if not len(elements):
            none = np.zeros(0)
            return Measured(elements, none, none, none, np.zeros(0, object), none, none, np.zeros(0, bool))
        if self.derivatives.source is not None:
            scales = np.maximum(scales, _LEAST)  # its steps suit each element in any case
        along = self.derivatives.elementwise(self.i, elements, scales, levels, start)
        count = len(self.derivatives.outputs)
        columns = [d * count + self.k for d in self.draws]
        table = (len(elements), -1)
        verdicts = self.derivatives.verdicts(along).reshape(table)[:, columns]
        f = along.found
        fields = (f.value, along.analytic, self.derivatives.tolerance(along), f.left, f.right)
        numbers = (c.reshape(table)[:, columns[0]] / scales for c in fields)
        worst = verdicts[np.arange(len(elements)), _severity(verdicts).argmax(axis=1)]
        numeric, analytic, tolerance, left, right = numbers
        still = f.motionless.reshape(table)[:, columns].all(axis=1)
        return Measured(elements, numeric, analytic, tolerance, worst, left, right, still)

    # --- the report --------------------------------------------------------------------------------------------
    def _report_repaired(self, repair: Repair) -> None:
        """Reports the elements that a repair changes most."""
        given = host(self.derivatives.gradient(self.draws[0], self.k, self.i)).ravel()
        off = abs(repair.gradients[0].ravel() - given)
        wrong = off > 1e-12 * float(abs(given).max(initial=0)) + 1e-12 * abs(given)
        if self.x.size <= _FEW:
            self._report(self._measure(np.arange(self.x.size)), repair.cause)
            return
        worst = np.argsort(-off, kind='stable')[: self.order_check.options.max_failures]
        self._right = repair.gradients[0]
        self._total = int(wrong.sum())
        self._report(self._measure(worst[wrong[worst]]), repair.cause, self._total)

    def _report_not_finite(self, found: Measured) -> None:
        """Reports elements that backward gives as NaN or infinity, which may be what the slopes are in float64."""
        overflows = np.isinf(found.analytic) & (found.numeric == found.analytic)
        if overflows.all():
            found.verdict[:] = UNRESOLVED
            cause = 'not finite: backward overflows, and so does the slope: it is larger than the largest float64'
            self._add(found, overflows, cause, UNRESOLVED)
        else:
            self._report(found, 'not finite: backward gives NaN or infinity')

    def _report(self, found: Measured, cause: str | None = None, count: int | None = None) -> None:
        """Adds measured elements to the report, as wrong or as kinks."""
        wrong = found.verdict == FAIL
        kinks = np.isin(found.verdict, _SINGULAR)
        backward = host(self.derivatives.gradient(self.draws[0], self.k, self.i))
        name = self.order_check.function.leaves[self.i].name
        self.order_check.report.compared(self.order_check.order, self.o, name, backward, found, self._right)
        if self.order_check.options.subgradient:
            inside = between_slopes(found, found.analytic)
            wrong, kinks = wrong | (kinks & ~inside), kinks & False
        if wrong.any():
            self._add(found, wrong, self._cause(found, cause), FAIL, count)
        if kinks.any():
            self._add(found, kinks, 'kink: the slopes from the left and from the right differ', NONDIFFERENTIABLE)
        if self._are_right(found):
            return
        if not wrong.any() and not np.isin(found.verdict, _SINGULAR).any():
            if self._may_be_right(found):
                self.verdicts[self.verdicts == FAIL] = UNRESOLVED
            self.report_whole()

    def _are_right(self, found: Measured) -> bool:
        """Whether all elements that moved are right, and no slope along a direction is known to be wrong."""
        if not found.complete or len(found.elements) < len(self._moved()) or (found.verdict != PASS).any():
            return False
        return bool((self.verdicts != FAIL).all()) or self._are_sharper(found)

    def _are_sharper(self, found: Measured) -> bool:
        """Whether elements, all right, leave no room for the errors of slopes along directions: each has its step."""
        d, count = self.draws[0], len(self.derivatives.outputs)
        for along, verdicts in zip(self.measured, self.verdicts, strict=True):
            room = float((found.tolerance * abs(along.direction.ravel()[found.elements])).sum())
            off = abs(along.found.value - along.analytic)[d * count + self.k]
            if verdicts[d] == FAIL and not room <= _ROOM * off:
                return False
        return True

    def _may_be_right(self, found: Measured) -> bool:
        """Whether elements that cannot be resolved, such as those near a kink, may explain all wrong slopes."""
        unresolved = found.verdict == UNRESOLVED
        return len(found.elements) == self.x.size and bool(unresolved.any()) and self._explains(found, unresolved)

    def _cause(self, found: Measured, cause: str | None) -> str:
        """The most specific cause that applies."""
        arguments = (self.derivatives, self.i, self.k, self.draws[0])
        other = cause_of_second(*arguments[:3]) if 0 not in self.draws else None
        cause = other or missing_cause(*arguments) or cause or same_cause(*arguments) or cut_cause(*arguments)
        cause = cause or unsummed_cause(*arguments) or element_cause(*arguments, self._evidence(found))
        if 0 not in self.draws and not other:
            cause += ' (only in the backward pass that can itself be differentiated)'
        return cause if self.order_check.order == 1 else f'second order only, {cause}'

    def _evidence(self, found: Measured) -> dict[str, Any]:
        """The measured elements, or the whole gradient if all others are right."""
        x = host(self.x)
        if not found.complete or np.isin(found.verdict, _SINGULAR).any():
            known = ~np.isin(found.verdict, _SINGULAR)
            fields = (found.numeric, found.analytic, found.tolerance, x.ravel()[found.elements])
            return dict(zip(('numeric', 'analytic', 'tolerance', 'x'), (f[known] for f in fields), strict=True))
        analytic = host(self.derivatives.gradient(self.draws[0], self.k, self.i))
        numeric, tolerance = analytic.copy(), np.full(analytic.shape, 1e-300)
        numeric.ravel()[found.elements] = found.numeric
        tolerance.ravel()[found.elements] = found.tolerance
        return {'numeric': numeric, 'analytic': analytic, 'tolerance': tolerance, 'x': x}

    def _add(self, found: Measured, which: Any, cause: str, verdict: str, count: int | None = None) -> None:
        """Adds the chosen elements to the report, worst first."""
        with np.errstate(all='ignore'):
            ratio = found.distance / found.tolerance
        ratio = np.where(np.isnan(ratio), np.inf, ratio)
        order = sorted(np.flatnonzero(which).tolist(), key=lambda p: (-ratio[p], found.elements[p]))
        shown = order[: self.order_check.options.max_failures]
        failures = [self._failure(found, p, cause, verdict, float(ratio[p])) for p in shown]
        self.order_check.report.add(failures, int(which.sum()) if count is None else count, found.complete)

    def _failure(self, found: Measured, p: int, cause: str, verdict: str, ratio: float) -> Failure:
        index = tuple(map(int, np.unravel_index(int(found.elements[p]), self.x.shape)))
        sides = {}
        if found.verdict[p] in _SINGULAR:
            sides = {'left_slope': float(found.left[p]), 'right_slope': float(found.right[p])}
        missing = self.derivatives.gradients[self.draws[0]][self.k][self.i] is None
        values = {'numeric': float(found.numeric[p]), 'analytic': None if missing else float(found.analytic[p])}
        return self.order_check.failure(
            self.o, self.i, cause, index=index, ratio=ratio, verdict=verdict, **values, **sides
        )

    def report_whole(self) -> None:
        """Reports the gradient as a whole where no single element is known to be wrong."""
        verdict = max(self.verdicts.ravel(), key=_GRAVITY.__getitem__)
        if verdict == PASS or (verdict in _SINGULAR and self.order_check.options.subgradient):
            return
        row, draw = (int(p[0]) for p in np.nonzero(self.verdicts == verdict))
        if verdict == FAIL and self._taylor(row, draw) > 1.8:
            verdict = UNRESOLVED  # the remainder vanishes as for a right gradient
        f, column = self.measured[row].found, draw * len(self.derivatives.outputs) + self.k
        values = {'numeric': float(f.value[column]), 'analytic': float(self.measured[row].analytic[column])}
        if verdict in _SINGULAR:
            values |= {'left_slope': float(f.left[column]), 'right_slope': float(f.right[column])}
        cause = _WHOLE[verdict]
        verdict = NONDIFFERENTIABLE if verdict in _SINGULAR else verdict
        self.order_check.report.add([self.order_check.failure(self.o, self.i, cause, verdict=verdict, **values)])

    def _taylor(self, row: int, draw: int) -> float:
        """The order of the Taylor remainder: 2 for a right gradient, 1 for a wrong one."""
        along, column = self.measured[row], draw * len(self.derivatives.outputs) + self.k
        return float(taylor_rate(along.found, along.analytic)[column])


_WHOLE = {
    FAIL: 'unknown: the slope along a random direction is wrong, but no single element stands out',
    UNRESOLVED: 'unresolved: rounding errors are as large as the measured slopes',
    NOT_FINITE: 'kink: the function is not finite next to the point',
    NONDIFFERENTIABLE: 'kink: along a random direction the slopes from the left and from the right differ',
}


def _severity(verdicts: Any) -> Any:
    return np.vectorize(_GRAVITY.__getitem__, otypes=[int])(verdicts)
