"""Derivatives at 50 digits, where the function can be computed on such numbers: exact where differences only measure.

NumPy computes on arrays of such numbers as on arrays of float64, so that the function under test runs unchanged. One
central difference with a step of 1e-20 is then right to 20 digits, whatever the conditioning of the function; what
remains is the rounding of the backward pass. If that is more than usual, the backward pass runs on such numbers, too.

The step is relative to each element: elements that differ much in size move in directions of their own, and so do
those whose part of a slope is too small to be seen beside the others. Agreement with backward proves both. After a
disagreement two smaller steps have to agree with each other before backward is called wrong.

Whatever converts the numbers to float raises an error, so that no digits are lost in silence. Then, and for larger
arrays, slopes are measured by differences of float64.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from minichainer.backend import get_array_module
from minichainer.backends import number_arrays
from minichainer.verification.arrays import coarsest, full, largest, norm
from minichainer.verification.directional_derivatives import Derivatives
from minichainer.verification.directions import by_size, generator
from minichainer.verification.extended_precision.arrays import available, numbers, rounded
from minichainer.verification.extrapolation import Slopes, joined
from minichainer.verification.function_under_test import Evaluation
from minichainer.verification.rounding import ROUNDINGS, SINGLE, jitter
from minichainer.verification.verdict import FAIL, PASS, UNRESOLVED

DIGITS = 50
#: The step, relative to what moves, and those that follow after a disagreement: larger ones lose fewer digits.
_STEP, _OTHERS = 1e-20, (1e-17, 1e-14, 1e-25, 1e-30)
#: One-sided slopes that differ by more are looked at again with a smaller step: a kink stays.
_SMOOTH = 1e-12
#: The error of a slope: of its rounding to float64, relative; of each output, in digits that may be lost.
_ERROR, _LOST = 2.0**-52, 1e-48
#: Slopes of two steps that differ by more, relative to their size, are not settled.
_SETTLED = 1e-3
#: Elements whose part of a slope is smaller, relative to all of it, are moved without the others; a part that is not
#: measured as sharply as the second number says is not vouched for.
_HIDDEN, _SHARP = 1e-10, 1e-4
#: Unless high precision is asked for: the most elements in all, and the most seconds for a call of the function.
_FEW, _PATIENCE = 256, 0.1


class Unsuitable(Exception):
    """The function cannot be computed at 50 digits; the text says why."""


class HighPrecision:
    """The function under test at 50 digits, for the point and the upstream gradients of a check.

    Attributes:
        worst: The largest relative difference of backward in float64 from a slope that it agrees with.
        wrong: For each leaf whose gradient is wrong, the directions that show it.
    """

    def __init__(self, derivatives: Derivatives) -> None:
        self.derivatives, self.worst = derivatives, 0.0
        self.wrong: dict[int, list[Any]] = {}
        self._arrays = [numbers(x) if x.dtype.kind == 'f' else x for x in derivatives.arrays]
        self._upstream = [[numbers(v) for v in vs] for vs in derivatives.upstream]
        started = time.thread_time()  # which does not count other processes
        self._evaluation = self._evaluated({})
        if time.thread_time() - started > _PATIENCE and derivatives.order_check.options.precise is None:
            raise Unsuitable('the function takes long; precise=True asks for it')
        self._values = self._outputs(self._evaluation)
        self._require_same_values()

    def _evaluated(self, moves: Mapping[int, Any]) -> Evaluation:
        """A call with some of the leaves moved."""
        arrays = [x + moves[i] if i in moves else x.copy() for i, x in enumerate(self._arrays)]
        return self.derivatives.order_check.function.evaluate(arrays)

    def _outputs(self, evaluation: Evaluation) -> list[Any]:
        """The outputs that are checked, which must have kept their digits."""
        outputs = [evaluation.arrays[o] for o in self.derivatives.outputs]
        if not all(isinstance(y, number_arrays.NumberArray) for y in outputs):
            raise Unsuitable('the function returns other arrays than it gets')
        if [y.shape for y in outputs] != [y.shape for y in self.derivatives.values]:
            raise Unsuitable('the shapes of its outputs differ')
        return outputs

    def _require_same_values(self) -> None:
        """Raises an error unless the outputs in float64 are what these are, up to rounding, also of numbers near 1.

        Many functions have such numbers inside: ``log(1 + exp(x))`` in float64 has few right digits at -30.
        """
        for y, exact in zip(self.derivatives.values, self._values, strict=True):
            off, allowed = largest(rounded(exact) - y), ROUNDINGS * self.derivatives.precision * max(largest(y), 1.0)
            if not off <= allowed and not off <= self._rounding_of_outputs():
                raise Unsuitable('its values there differ by more than rounding')

    def _rounding_of_outputs(self) -> float:
        """The change of the outputs in float64 when the inputs change by a few roundings."""
        moving, changes = self.derivatives.order_check.function.moving, [0.0]
        for sign in (1, -1):
            factor = 1 + sign * 4 * self.derivatives.precision
            arrays = [x * factor if i in moving else x for i, x in enumerate(self.derivatives.arrays)]
            outputs = self.derivatives.order_check.function.evaluate(arrays).arrays
            values = zip(self.derivatives.outputs, self.derivatives.values, strict=True)
            changes += [largest(outputs[o] - y) for o, y in values]
        return ROUNDINGS * max(changes)

    # --- slopes ------------------------------------------------------------------------------------------------
    def slopes(self, directions: Mapping[int, Any]) -> Slopes:
        """The slopes of all weighted outputs while some leaves move along directions, with a measured error."""
        return self._settled(list(self._measured(directions)))

    def _measured(self, directions: Mapping[int, Any], scale: float = 1.0) -> Iterator[Slopes]:
        """The slopes by one step after the other."""
        before: Slopes | None = None
        for step in (_STEP, *_OTHERS):
            found = self._difference(directions, scale * step)
            yield found if before is None else dataclasses.replace(found, kink=found.kink & _stays(before, found))
            before = found

    def slopes_of_elements(self, i: int, elements: Any, scales: Any) -> Slopes:
        """The slopes while single elements of a leaf move, each alone: one entry per (element, draw, output)."""
        found, x = [], self.derivatives.arrays[i].ravel()
        for element, scale in zip(elements, scales, strict=True):
            direction = np.zeros(self._arrays[i].shape)
            direction.ravel()[element] = scale
            near = min(1.0, abs(float(x[element]) / scale)) or 1.0
            found.append(self._settled(list(self._measured({i: direction}, near))))
        return joined(found)

    def _settled(self, measured: Sequence[Slopes]) -> Slopes:
        """The best slopes that two neighbouring steps agree on; their distance is a part of the error.

        A kink is where one-sided slopes never approach each other. A step that moves nothing, where others do, is
        lost in the rounding of numbers inside the function.
        """
        moved = np.any([_moves(found) for found in measured], axis=0)
        seen = [dataclasses.replace(m, error=np.where(moved & ~_moves(m), np.inf, m.error)) for m in measured]
        pairs = itertools.pairwise(sorted(seen, key=lambda found: -float(found.steps[0])))
        return functools.reduce(_better, [_agreed(*pair) for pair in pairs])

    def _difference(self, directions: Mapping[int, Any], step: float) -> Slopes:
        """The slopes by one central difference; a kink is only suspected."""
        with number_arrays.using():
            moves = {i: numbers(d) * step for i, d in directions.items()}
            ahead = self._weighted(self._evaluated(moves))
            behind = self._weighted(self._evaluated({i: -move for i, move in moves.items()}))
        with np.errstate(all='ignore'):
            left, right, nothing = -behind / step, ahead / step, np.zeros_like(ahead)
            size = np.maximum(abs(left), abs(right))
            lost = _LOST * self._sizes / step
            bent = abs(left - right) > _SMOOTH * size + lost
            value = (ahead - behind) / (2 * step)
        return Slopes(
            value=value,
            error=_ERROR * size + lost,
            left=left,
            right=right,
            finite=np.isfinite(size),
            kink=np.isfinite(size) & bent,
            steps=np.array([step]),
            samples=np.stack([behind, nothing, ahead])[None],
            noise=nothing,
            best=nothing + step,
            calls=2,
        )

    @functools.cached_property
    def _sizes(self) -> Any:
        """The size of each weighted output."""
        pairs = [zip(vs, self.derivatives.values, strict=True) for vs in self.derivatives.upstream]
        return np.array([norm(v * y) for draw in pairs for v, y in draw])

    def _weighted(self, evaluation: Evaluation) -> Any:
        """The weighted change of each output, for each draw; rounded only after all cancellation."""
        changes = [y - y0 for y, y0 in zip(self._outputs(evaluation), self._values, strict=True)]
        weighted = [(v * change).sum() for vs in self._upstream for v, change in zip(vs, changes, strict=True)]
        return np.array([float(rounded(w)) for w in weighted])

    # --- verdicts ----------------------------------------------------------------------------------------------
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
        return by_size(self.derivatives.arrays[i], *drawn)

    def _verdict_of_leaf(self, i: int, parts: Sequence[Any], known: bool) -> str:
        """The worst verdict along the parts of a leaf; ``known`` says that the only one has passed."""
        verdicts = [PASS] if known else [self._verdict({i: part}) for part in parts]
        worst = max(verdicts, key=(PASS, UNRESOLVED, FAIL).index)
        if worst == PASS and self.derivatives.order_check.options.tangent is None:
            return FAIL if any([self._verdict_of_hidden(i, part) == FAIL for part in parts]) else PASS
        return worst

    def _verdict_of_hidden(self, i: int, direction: Any) -> str:
        """The verdict on elements whose part of the slope along a direction could not be seen, moved alone."""
        hidden = self._hidden(i, direction)
        if not hidden.any():
            return PASS
        alone = np.where(hidden, direction, 0.0)
        verdict = self._verdict({i: alone})
        if verdict == PASS and self._is_measured(i, alone):
            return self._verdict_of_hidden(i, alone)
        if verdict != FAIL:
            self.derivatives.does_not_vouch(i, hidden, 'their part of the slopes is lost beside larger ones')
        return verdict

    def _hidden(self, i: int, direction: Any) -> Any:
        """Which elements have gradients whose part of each slope is too small to be seen."""
        share = np.zeros(direction.shape)
        for d, k in self.derivatives.pairs:
            terms = abs(self.derivatives.gradient(d, k, i) * direction)
            share = np.maximum(share, terms / (norm(terms) or 1.0))
        return (share > 0) & (share < _HIDDEN)

    def _is_measured(self, i: int, direction: Any) -> bool:
        """Whether the errors of slopes along a direction are small beside the slopes."""
        sizes = [norm(self.derivatives.gradient(d, k, i) * direction) for d, k in self.derivatives.pairs]
        return bool((_LOST * self._sizes / _STEP <= _SHARP * np.array(sizes)).all())

    def _verdict(self, directions: Mapping[int, Any]) -> str:
        """The verdict along a direction; "unresolved" also if the function raises an error beside the point."""
        try:
            return self._verdict_of_slopes(directions)
        except Exception:
            return UNRESOLVED

    def _verdict_of_slopes(self, directions: Mapping[int, Any]) -> str:
        """Whether backward in float64, or else backward at 50 digits, agrees with the slopes along a direction."""
        measured: list[Slopes] = []
        for found in self._measured(directions):
            measured.append(found)
            if self._agree(found, directions):
                return PASS
            if len(directions) > 1:
                return UNRESOLVED  # each alone will tell
        found = self._settled(measured)
        size = np.maximum(abs(found.left), abs(found.right))
        if not found.finite.all() or found.kink.any() or not (found.error <= _SETTLED * size).all():
            return UNRESOLVED
        verdict = self._verdict_at_50_digits(found, directions)
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

    def _verdict_at_50_digits(self, found: Slopes, directions: Mapping[int, Any]) -> str:
        """The verdict where backward in float64 disagrees: rounding may be the reason."""
        off, _ = self._compared(found, directions, self.derivatives.gradients)
        if self.gradients is None:
            return FAIL if self._is_wrong_in_float64(found, directions, off) else UNRESOLVED
        exactly_off, allowed = self._compared(found, directions, self.gradients)
        if not bool((exactly_off <= allowed + found.error).all()):
            return FAIL if self._is_sharp(found, directions, exactly_off) else UNRESOLVED
        if not all(map(self._is_rounding, directions)):
            return UNRESOLVED
        self._note(off, found)
        return PASS

    def _is_sharp(self, found: Slopes, directions: Mapping[int, Any], off: Any) -> bool:
        """Whether a slope is wrong by more than its error, and than rounded factors explain."""
        wrong = off > found.error
        return bool(wrong.any()) and bool((off > self._rounding_of_terms(directions))[wrong].any())

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
        return abs(found.value - np.array(slopes)), 16 * self._precision * np.array(sizes)

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

    # --- backward ----------------------------------------------------------------------------------------------
    @functools.cached_property
    def gradients(self) -> list[list[list[Any]]] | None:
        """The gradients at 50 digits, rounded, by draw, output and leaf; None if backward loses digits."""
        if self._gradients is None:
            return None
        return [[[None if g is None else rounded(g) for g in gs] for gs in draw] for draw in self._gradients]

    @functools.cached_property
    def _gradients(self) -> list[list[list[Any]]] | None:
        try:
            with number_arrays.using():
                return self._gradients_of(self._evaluation)
        except Exception:
            return None

    def _gradients_of(self, evaluation: Evaluation) -> list[list[list[Any]]]:
        """For the first draw by the rules on arrays, for the second by those on Variables."""
        draws = zip(self._upstream, (False, True), strict=True)
        return [[self._gradient(evaluation, k, v, recorded) for k, v in enumerate(vs)] for vs, recorded in draws]

    def _gradient(self, evaluation: Evaluation, k: int, v: Any, on_variables: bool) -> list[Any]:
        found = evaluation.vjp(self.derivatives.only(k, v), on_variables)
        return [None if g is None else numbers(g) for g in found]

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

    def _is_rounding(self, i: int) -> bool:
        """Whether rounding explains how far the gradient in float64 is from the one at 50 digits."""
        for d, draw in enumerate(self.gradients or ()):
            for k, gradients in enumerate(draw):
                exact = full(gradients[i], self.derivatives.arrays[i])
                off = abs(self.derivatives.gradient(d, k, i) - exact)
                allowed = ROUNDINGS * max(self.derivatives.precision * largest(exact), self._sensitivity[d][k][i])
                gys = self.derivatives.only(k, self.derivatives.upstream[d][k])
                if not largest(off) <= allowed and not bool(
                    (off <= 4 * self.derivatives.noise_of(gys, i, d == 1)).all()
                ):
                    return False
        return True

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
        with number_arrays.using():
            for i in self.derivatives.order_check.function.moving:
                moves[i] = self._arrays[i] * numbers(rng.choice([-1.0, 1.0], self._arrays[i].shape)) * epsilon
            moved = self._gradients_of(self._evaluated(moves))
            draws = zip(moved, self._gradients or (), strict=True)
            return [[self._largest_changes(*gs) for gs in zip(*draw, strict=True)] for draw in draws]

    def _largest_changes(self, moved: list[Any], gradients: list[Any]) -> list[float]:
        return [0.0 if g is None else largest(rounded(h - g)) for h, g in zip(moved, gradients, strict=True)]


def _moves(found: Slopes) -> Any:
    """Where a step has changed a value."""
    return (found.left != 0) | (found.right != 0)


def _agreed(coarse: Slopes, fine: Slopes) -> Slopes:
    """The slopes of the step that has lost fewer digits, with their distance from the others in the error."""
    with np.errstate(all='ignore'):
        off = 2 * abs(coarse.value - fine.value)
    off = np.where(np.isnan(off), np.inf, off)
    either = _better(fine, coarse)
    return dataclasses.replace(either, error=either.error + off, kink=coarse.kink & fine.kink & _stays(coarse, fine))


def _stays(one: Slopes, other: Slopes) -> Any:
    """Whether one-sided slopes of different steps are about as far from each other, as at a kink."""
    with np.errstate(all='ignore'):
        bends = [abs(found.left - found.right) for found in (one, other)]
        return ~(np.minimum(*bends) <= 0.5 * np.maximum(*bends))


def _better(first: Slopes, second: Slopes) -> Slopes:
    """For each entry, the slope with the smaller error; a kink only where both have it."""
    smaller = second.error < first.error
    names = ('value', 'error', 'left', 'right', 'finite', 'noise', 'best')
    chosen = {name: np.where(smaller, getattr(second, name), getattr(first, name)) for name in names}
    at_the_same_step = first.samples * (second.steps[0] / first.steps[0])
    samples = np.where(smaller, second.samples, at_the_same_step)
    return dataclasses.replace(second, **chosen, samples=samples, kink=first.kink & second.kink)


def attempt(derivatives: Derivatives) -> HighPrecision | None:
    """The function at 50 digits; None, with a reason in the report, where that is not possible or would take long."""
    options, report = derivatives.order_check.options, derivatives.order_check.report
    if options.precise is False or not available():
        return None
    try:
        _require_suitable(derivatives)
        with number_arrays.using():
            return HighPrecision(derivatives)
    except Exception as error:
        reason = str(error) if isinstance(error, Unsuitable) else f'{type(error).__name__}: {error}'
        report.not_precise = reason.strip().partition('\n')[0][:100].rstrip('.')
    return None


def _require_suitable(derivatives: Derivatives) -> None:
    """Raises an error where high precision is out of the question, before anything is computed."""
    arrays = [*derivatives.arrays, *derivatives.values]
    if any(get_array_module(a) is not np for a in arrays):
        raise Unsuitable('the arrays are on a GPU')
    if derivatives.precision > 2.0**-52:
        raise Unsuitable('the function does not take float64')
    if not all(np.isfinite(x).all() for x in derivatives.arrays if x.dtype.kind == 'f'):
        raise Unsuitable('an input is not finite')
    if derivatives.order_check.options.precise is None and sum(a.size for a in arrays) > _FEW:
        raise Unsuitable('there are many elements; precise=True asks for it')
