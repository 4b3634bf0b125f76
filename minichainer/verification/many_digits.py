"""A function at 50 digits or more, where it computes on such numbers: its slopes, and the gradients of its backward.

NumPy computes on arrays of such numbers as on arrays of float64, so that the function under test runs unchanged. One
central difference with a step of 1e-20 is then right to 20 digits, whatever the conditioning of the function. A step
is relative to each element, and two of them have to agree before a slope counts.

Whatever converts the numbers to float raises an error, so that no digits are lost in silence.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from minichainer.backends import number_arrays, number_work
from minichainer.verification.arrays import full, largest, norm
from minichainer.verification.directional_derivatives import Derivatives
from minichainer.verification.extended_precision.arrays import numbers, rounded, using
from minichainer.verification.extrapolation import Slopes, joined
from minichainer.verification.function_under_test import Evaluation
from minichainer.verification.rounding import ROUNDINGS

#: The digits that are tried first, and those that decide: float64 spans 632, and steps are smaller.
DIGITS, MOST_DIGITS = 50, 720
#: The step, relative to what moves, and those that follow after a disagreement.
STEP, _OTHERS = 1e-20, (1e-17, 1e-14, 1e-25, 1e-30)
#: One-sided slopes that differ by more are looked at again with a smaller step: a kink stays.
_SMOOTH = 1e-12
#: The error of a slope by rounding it to float64, relative and absolute.
_ERROR, LEAST = 2.0**-52, 2.0**-1072
#: Numbers of bits with which gradients are computed to see how float64 would round them.
_BITS = (50, 51, 52)
#: Directions are made longer, and steps shorter, where elements are smaller than one over this.
_ENLARGED = 1e150
#: The most work of a call of the function, unless high precision is asked for: in additions, of 1 to 2 µs. It is
#: counted, because a verdict must not depend on how busy a machine is.
_PATIENCE, _LONG = {DIGITS: 1e5, MOST_DIGITS: 1e6}, 'the function takes long; precise=True asks for it'


class Unsuitable(Exception):
    """The function cannot be computed at many digits; the text says why."""


class ManyDigits:
    """The function under test at many digits, for the point and the upstream gradients of a check.

    Attributes:
        digits: How many digits numbers have.
        steps: The steps, relative to what moves: with few digits, larger ones lose fewer of them.
        work: What a call of the function is worth, in additions.
    """

    def __init__(self, derivatives: Derivatives, digits: int) -> None:
        self.derivatives, self.digits = derivatives, digits
        self.steps = (STEP, *_OTHERS) if digits == DIGITS else (STEP, _OTHERS[-1])
        self._lost = numbers(10.0).item() ** (2 - digits)  # relative to each output
        self._known_sizes: dict[tuple[int, bytes], Any] = {}
        self._arrays = [numbers(x) if x.dtype.kind == 'f' else x for x in derivatives.arrays]
        self._upstream = [[numbers(v) for v in vs] for vs in derivatives.upstream]
        patience = math.inf if derivatives.order_check.options.precise else _PATIENCE[digits]
        try:
            with number_work.within(patience) as counted:
                self._evaluation = self._evaluated({})
        except TimeoutError:
            raise Unsuitable(_LONG) from None
        self.work = counted.work
        if self.work > patience:
            raise Unsuitable(_LONG)
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
        for k, (y, exact) in enumerate(zip(self.derivatives.values, self._values, strict=True)):
            off, allowed = largest(rounded(exact) - y), ROUNDINGS * self.derivatives.precision * max(largest(y), 1.0)
            if off <= allowed or off <= self._rounding_of_outputs():
                continue
            if not bool((abs(rounded(exact) - y) <= allowed + self._rounding_of_values(k)).all()):
                raise Unsuitable('its values there differ by more than rounding')

    def _rounding_of_values(self, k: int) -> Any:
        """What few digits change in the elements of an output, such as a difference of nearly equal numbers."""
        errors = [abs(rounded(outputs[k] - self._values[k])) for outputs, _ in self._like_floats]
        return 2 * np.max(errors, axis=0)

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

    def _measured(self, directions: Mapping[int, Any]) -> Iterator[Slopes]:
        """The slopes by one step after the other."""
        before: Slopes | None = None
        for step in self.steps:
            found = self._difference(directions, step)
            yield found if before is None else dataclasses.replace(found, kink=found.kink & _stays(before, found))
            before = found

    def _unit(self, directions: Mapping[int, Any]) -> Any:
        """The factor of all steps: where elements are far smaller than a direction, their size relative to it."""
        unit = numbers(1.0).item()
        for i, direction in directions.items():
            moving, longest = direction != 0, float(abs(direction).max(initial=0.0))
            largest_of_these = float(abs(self.derivatives.arrays[i][moving]).max(initial=0.0))
            near = longest if moving.sum() == 1 else longest / _ENLARGED
            if 0 < largest_of_these < near:
                unit = unit.minimum(numbers(largest_of_these).item() / longest)
        return unit

    def slopes_of_elements(self, i: int, elements: Any, scales: Any) -> Slopes:
        """The slopes while single elements of a leaf move, each alone: one entry per (element, draw, output)."""
        found = []
        for element, scale in zip(elements, scales, strict=True):
            direction = np.zeros(self._arrays[i].shape)
            direction.ravel()[element] = scale
            found.append(self.slopes({i: direction}))
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
        with using(self.digits):
            unit = self._unit(directions) * step
            moves = {i: numbers(d) * unit for i, d in directions.items()}
            right = self._weighted(self._evaluated(moves), unit)
            left = self._weighted(self._evaluated({i: -move for i, move in moves.items()}), -unit)
            digits_lost = (self._lost / unit).rounded()
        with np.errstate(all='ignore'):
            nothing, size = np.zeros_like(right), np.maximum(abs(left), abs(right))
            lost = digits_lost * self._sizes_of(directions)
            bent = abs(left - right) > _SMOOTH * size + lost
            value = (left + right) / 2
        return Slopes(
            value=value,
            error=_ERROR * size + LEAST + lost,
            left=left,
            right=right,
            finite=np.isfinite(size),
            kink=np.isfinite(size) & bent,
            steps=np.array([step]),
            samples=np.stack([-left * step, nothing, right * step])[None],
            noise=nothing,
            best=nothing + step,
            calls=2,
        )

    @functools.cached_property
    def _sizes(self) -> Any:
        """The size of each weighted output."""
        pairs = [zip(vs, self.derivatives.values, strict=True) for vs in self.derivatives.upstream]
        return np.array([norm(v * y) for draw in pairs for v, y in draw])

    def _sizes_of(self, directions: Mapping[int, Any]) -> Any:
        """The same for the elements of the outputs that depend on what moves; others lose no digits."""
        ((i, direction), *others) = directions.items()
        if others or bool(direction.all()):
            return self._sizes
        key = i, (direction != 0).tobytes()
        if key not in self._known_sizes:
            masks = self.derivatives.dependent(i, direction != 0)
            rows = [zip(vs, self.derivatives.values, masks, strict=True) for vs in self.derivatives.upstream]
            self._known_sizes[key] = np.array([norm((v * y).ravel() * mask) for row in rows for v, y, mask in row])
        return self._known_sizes[key]

    def _weighted(self, evaluation: Evaluation, step: Any) -> Any:
        """The weighted change of each output per step, for each draw; rounded only after all cancellation."""
        changes = [y - y0 for y, y0 in zip(self._outputs(evaluation), self._values, strict=True)]
        weighted = [(v * change).sum() for vs in self._upstream for v, change in zip(vs, changes, strict=True)]
        return np.array([float(rounded(w / step)) for w in weighted])

    # --- backward ----------------------------------------------------------------------------------------------
    @functools.cached_property
    def gradients(self) -> list[list[list[Any]]] | None:
        """The gradients at many digits, rounded, by draw, output and leaf; None if backward loses digits."""
        if self._gradients is None:
            return None
        return [[[None if g is None else rounded(g) for g in gs] for gs in draw] for draw in self._gradients]

    @functools.cached_property
    def _gradients(self) -> list[list[list[Any]]] | None:
        try:
            with using(self.digits):
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

    @functools.cached_property
    def _like_floats(self) -> list[tuple[list[Any], list[list[list[Any]]]]]:
        """The outputs and the gradients, with about as many bits as float64 has."""
        found = []
        for bits in _BITS:
            with using(bits=bits):
                evaluation = self._evaluated({})
                gradients = self._gradients_of(evaluation) if self._gradients is not None else []
                found.append((self._outputs(evaluation), gradients))
        return found

    def _errors_in_few_bits(self, d: int, k: int, i: int) -> Any:
        """By how much a gradient differs from the exact one if it is computed with about the bits of float64."""
        exact = full((self.gradients or [])[d][k][i], self.derivatives.arrays[i])
        alike = [full(gradients[d][k][i], exact) for _, gradients in self._like_floats]
        return 2 * np.max([abs(rounded(found) - exact) for found in alike], axis=0)

    def rounding_of(self, gys: Sequence[Any], i: int) -> Any:
        """How far the gradient of a leaf, computed with about the bits of float64, is from the exact one."""
        with using(self.digits):
            exact = self._vjp(self._evaluation, gys, i)
        errors = []
        for bits in _BITS:
            with using(bits=bits):
                errors.append(abs(self._vjp(self._evaluated({}), gys, i) - exact))
        return 2 * np.max(errors, axis=0)

    def _vjp(self, evaluation: Evaluation, gys: Sequence[Any], i: int) -> Any:
        upstream = [None if gy is None else numbers(gy) for gy in gys]
        return rounded(numbers(full(evaluation.vjp(upstream)[i], self.derivatives.arrays[i])))


def enlarged(direction: Any) -> Any:
    """A direction of tiny elements times a power of 2, so that slopes along it have all digits of float64."""
    longest = float(abs(direction).max(initial=0.0))
    return np.ldexp(direction, -np.frexp(longest)[1]) if 0 < longest < 1 / _ENLARGED else direction


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
