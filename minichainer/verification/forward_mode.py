r"""Checks forward mode: tangents :math:`J d` of the outputs for directions :math:`d` of the inputs.

If backward is right, tangents need no differences: :math:`\langle v, J d \rangle = \langle J^T v, d \rangle` up to
rounding, for any upstream gradient :math:`v`. Only where that fails, and where backward is not checked, the tangent
of every output element is compared with differences of the function along :math:`d`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from minichainer.verification.arguments import is_float
from minichainer.verification.arrays import fresh_copy, host, largest, norm
from minichainer.verification.directional_derivatives import Derivatives
from minichainer.verification.directions import isotropic, project, relative
from minichainer.verification.exact_checks import ExactChecks
from minichainer.verification.linearity import breaks_scaling
from minichainer.verification.order_check import OrderCheck
from minichainer.verification.rounding import ROUNDINGS
from minichainer.verification.tangents import REFUSED, ForwardMode, OutputSlopes, Tangents
from minichainer.verification.verdict import FAIL, NONDIFFERENTIABLE, NOT_FINITE, PASS, UNRESOLVED

#: The beginning of causes.
NAME = 'forward mode: '
#: Factors of a direction, the second to expose thresholds; powers of two commute with rounding.
_FACTORS = (-2.0, 2.0**-30)
#: In units of the dtype's epsilon: the difference of tangents in the given dtype and in double precision.
_NATIVE_ROUNDINGS = 1024.0


class ForwardModeChecks:
    """All checks of forward mode at a point.

    Args:
        order_check: Where and how the function is checked.
        arrays: The leaves of the numeric side.
        values: The outputs there.
        derivatives: The gradients, if backward was checked and is right.
    """

    def __init__(
        self,
        order_check: OrderCheck,
        arrays: Sequence[Any],
        values: Sequence[Any],
        derivatives: Derivatives | None = None,
    ) -> None:
        self.order_check, self.arrays, self.derivatives = order_check, arrays, derivatives
        self.values = [values[o] for o in order_check.outputs]
        self.precision = max((float(np.finfo(y.dtype).eps) for y in self.values), default=2.0**-52)
        self._mode = ForwardMode(order_check, arrays)
        self._slopes = OutputSlopes(order_check, arrays, self.values, self.precision)
        self._exact = True
        self.moving = [i for i in order_check.function.moving if arrays[i].size]

    def run(self) -> None:
        """Adds failures to the report."""
        if not self.moving or not self.order_check.outputs:
            return
        try:
            self._run()
        except RuntimeError as error:
            if not REFUSED.search(str(error)):
                raise
            self._fail(self.order_check.outputs[0], self.moving[0], str(error).removeprefix(NAME).replace('\n', ', '))

    def _run(self) -> None:
        first = {i: self._direction(i, isotropic) for i in self.moving}
        second = {i: self._direction(i, relative) for i in self.moving}
        together = self._mode.flat(first)
        if self._unequal_values() or self._native(first, together) or self._nonlinear(first, second, together):
            return
        alone = {i: self._mode.flat({i: d}) if len(self.moving) > 1 else together for i, d in first.items()}
        if self._undefined(first, together, alone) or self._unrecorded(first, together):
            return
        for i in self.moving:
            rows = [(first[i], alone[i]), (second[i], self._mode.flat({i: second[i]}))]
            if not all(self._agrees(i, direction, tangents) for direction, tangents in rows):
                return

    def _direction(self, i: int, draw: Any) -> Any:
        x = host(self.arrays[i])
        return project(self.order_check, i, np.where(np.isfinite(x), draw(self.order_check.rng, x), 0.0))

    # --- without differences -----------------------------------------------------------------------------------
    def _unequal_values(self) -> bool:
        """Whether the outputs themselves differ in forward mode."""
        for o, y in zip(self.order_check.outputs, self.values, strict=True):
            z = self._mode.values[o]
            with np.errstate(all='ignore'):
                if z.shape != y.shape or not bool((abs(z - y) <= self._rounding(y) + self._tolerance).all()):
                    self._fail(o, self.moving[0], f'output {o} itself has another value than without')
                    return True
        return False

    def _native(self, directions: Mapping[int, Any], expected: Tangents) -> bool:
        """Whether tangents are wrong in the dtypes that the user gave, if these are not those of the numeric side."""
        order_check = self.order_check
        if all(x.dtype == a.dtype for x, a in zip(order_check.arrays, self.arrays, strict=True)):
            return False
        mode = ForwardMode(order_check, order_check.arrays)
        found, flat = mode(directions), mode.flat(directions)
        for o, y, wide, narrow in zip(order_check.outputs, self.values, expected, flat, strict=True):
            native = order_check.values[o]
            if found[o] is not None and found[o].dtype != native.dtype:
                self._fail(
                    o, self.moving[0], f'the tangent of output {o} is {found[o].dtype}, the output {native.dtype}'
                )
                return True
            with np.errstate(all='ignore'):
                amplified = 1 + largest(native - y) / (largest(y) or 1.0) / np.finfo(native.dtype).eps
                scale = largest(wide) + largest(y)
                allowed = _NATIVE_ROUNDINGS * amplified * np.finfo(native.dtype).eps * scale + self._tolerance
                wrong = abs(narrow - wide) > allowed
            if wrong.any():
                self._differ(o, self.moving[0], wrong, wide, narrow, f'in {native.dtype} the tangent differs')
                return True
        return False

    def _nonlinear(self, first: Mapping[int, Any], second: Mapping[int, Any], together: Tangents) -> bool:
        """Whether tangents of multiples or sums of directions are not multiples or sums of tangents."""
        for factor in _FACTORS:
            scaled = self._mode.flat({i: factor * d for i, d in first.items()})
            for o, t, s in zip(self.order_check.outputs, together, scaled, strict=True):
                with np.errstate(all='ignore'):
                    wrong = breaks_scaling(t, s, factor) & (abs(s - factor * t) > self._rounding(factor * t) / 64)
                if wrong.any():
                    text = f'not linear, these are the tangents for {factor:g} times the direction'
                    self._differ(o, self.moving[0], wrong, factor * t, s, text)
                    return True
        other = self._mode.flat(second)
        both = self._mode.flat({i: d + second[i] for i, d in first.items()})
        text = 'not linear, the tangents for two directions do not add up'
        return self._unlike(both, [together, other], [first, second], text)

    def _undefined(self, first: Mapping[int, Any], together: Tangents, alone: Mapping[int, Tangents]) -> bool:
        """Whether inputs without a tangent are not as inputs with a tangent of zeros."""
        if len(alone) < 2:
            return False
        text = 'the tangents for each input alone, where the others have none, do not add up to that for all'
        return self._unlike(together, list(alone.values()), [first], text)

    def _unrecorded(self, first: Mapping[int, Any], together: Tangents) -> bool:
        """Whether tangents differ if no graph is recorded, as is usual in forward mode."""
        if self.order_check.order > 1:
            return False
        found = self._mode.flat(first, recorded=False)
        text = 'the tangent differs if the graph for backward is not recorded'
        return self._unlike(found, [together], [first], text)

    def _unlike(
        self, found: Tangents, terms: Sequence[Tangents], rows: Sequence[Mapping[int, Any]], text: str
    ) -> bool:
        """Whether tangents are not the sums of others; reports it. Rounding is measured along ``rows``."""
        for k, o in enumerate(self.order_check.outputs):
            expected: Any = sum(t[k] for t in terms)
            with np.errstate(all='ignore'):
                off = abs(found[k] - expected)
                rounding = sum(self._rounding(t[k]) for t in terms)
                self._exact &= bool((off <= rounding).all())
                single = 2.0**-23 / self.precision
                wrong = off > rounding * max(1.0, single) + self._tolerance
                if wrong.any():
                    wrong &= off > sum(self._mode.noise(row, self.precision)[k] for row in rows) + self._tolerance
            if wrong.any():
                self._differ(o, self.moving[0], wrong, expected, found[k], text)
                return True
        return False

    def _rounding(self, tangent: Any) -> Any:
        return ROUNDINGS * self.precision * largest(tangent)

    @property
    def _tolerance(self) -> float:
        return self.order_check.options.extra[0] + self.order_check.options.nondet_tol

    # --- slopes ------------------------------------------------------------------------------------------------
    def _agrees(self, i: int, direction: Any, tangents: Tangents) -> bool:
        """Whether tangents agree with backward or, if that is not known, with differences; reports it if not."""
        if self.derivatives is not None and not self._against_backward(self.derivatives, i, direction, tangents):
            return True
        found, analytic, verdicts = self._slopes.measured(i, direction, tangents)
        bounds = np.cumsum([y.size for y in self.values])[:-1]
        for o, *fields in zip(
            self.order_check.outputs, *(np.split(f, bounds) for f in (found.value, analytic, verdicts)), strict=True
        ):
            if not (fields[2] == PASS).all():
                self._report(o, i, *fields)
                return False
        if self.derivatives is None or not self._exact or found.kink.any() or any(self.order_check.options.extra):
            return True
        off = self._against_backward(self.derivatives, i, direction, tangents)
        label = self.order_check.function.leaves[i].label
        text = f'the tangents along {label} disagree with backward by {off:.2g} of their size'
        self._fail(self.order_check.outputs[0], i, text)
        return False

    def _against_backward(self, derivatives: Derivatives, i: int, direction: Any, tangents: Tangents) -> float:
        """By how much tangents and gradients disagree, relative to their size; 0 for rounding errors."""
        expected, worst = derivatives.expected(i, direction)[0], 0.0
        place = 0
        for vs in derivatives.upstream:
            for k, (v, t) in enumerate(zip(vs, tangents, strict=True)):
                terms = host(v).astype(np.float64, copy=False).ravel() * t
                d = place // len(vs)
                size = float(abs(terms).sum() + abs(host(derivatives.gradient(d, k, i)) * direction).sum())
                off = abs(float(terms.sum()) - expected[place])
                allowed = ROUNDINGS * derivatives.precision * size
                if not off <= allowed:
                    noise = 16 * norm(host(derivatives.backward_noise(i)[place]) * direction)
                    cancelling = derivatives.on_the_way(derivatives.only(k, v), i) * norm(direction)
                    noise += ROUNDINGS * derivatives.precision * cancelling
                    worst = max(worst, off / size) if not off <= allowed + noise + self._tolerance else worst
                place += 1
        return worst

    # --- the report --------------------------------------------------------------------------------------------
    def _report(self, o: int, i: int, numeric: Any, analytic: Any, verdicts: Any) -> None:
        """Reports the tangent of an output along one leaf."""
        for verdict in (FAIL, NOT_FINITE, NONDIFFERENTIABLE, UNRESOLVED):
            wrong = verdicts == verdict
            if wrong.any():
                break
        label = self.order_check.function.leaves[i].label
        if verdict == FAIL:
            text = f'{_relation(numeric, analytic, wrong)}along {label}'
            self._differ(o, i, wrong, numeric, analytic, text)
        elif verdict == UNRESOLVED:
            self._fail(o, i, f'rounding errors hide whether the tangent along {label} is right', verdict=verdict)
        else:
            self._fail(o, i, f'the function is not differentiable along {label}', verdict=NONDIFFERENTIABLE)

    def _differ(self, o: int, i: int, wrong: Any, expected: Any, found: Any, text: str) -> None:
        """Reports elements of the tangent of an output, with the one that is most wrong."""
        with np.errstate(all='ignore'):
            off = np.where(wrong, abs(found - expected), -1.0)
        flat = int(np.argmax(np.where(np.isnan(off), np.inf, off)))
        y = self.values[self.order_check.outputs.index(o)]
        place = self.order_check.place(o, tuple(map(int, np.unravel_index(flat, y.shape))))
        cause = (
            f'{text}; {int(wrong.sum())} of {wrong.size} elements of the tangent of output {o}, the worst at {place}'
        )
        self._fail(o, i, cause, numeric=float(expected[flat]), analytic=float(found[flat]))

    def _fail(self, o: int, i: int, text: str, **values: Any) -> None:
        self.order_check.fail(o, i, NAME + text, **values)


def _relation(numeric: Any, analytic: Any, wrong: Any) -> str:
    """How wrong tangents are related to the right ones."""
    if not analytic[wrong].any():
        return 'detached, zeros '
    square = float((numeric[wrong] ** 2).sum())
    factor = float((numeric[wrong] * analytic[wrong]).sum()) / square if square else 0.0
    same = norm(analytic[wrong] - factor * numeric[wrong]) <= 1e-6 * norm(analytic[wrong])
    if factor and same and abs(factor - 1) > 1e-5:
        return 'the opposite sign ' if abs(factor + 1) < 1e-6 else f'{factor:.6g} times the tangent '
    return 'wrong '


def forward_only(order_check: OrderCheck) -> None:
    """Checks a function by forward mode and differences; no backward pass is run.

    Args:
        order_check: Where and how the function is checked.
    """
    exact = ExactChecks(order_check)
    exact.begin()
    exact.repeat_forward()
    arrays, values = _wide(order_check)
    ForwardModeChecks(order_check, arrays, values).run()


def _wide(order_check: OrderCheck) -> tuple[list[Any], list[Any]]:
    """The leaves and outputs of the numeric side, in double precision or the dtype that the user wants."""
    dtype = np.dtype(np.float64) if order_check.options.dtype is None else order_check.options.dtype
    arrays = [x.astype(dtype) if is_float(x) else x for x in order_check.arrays]
    if all(a.dtype == x.dtype for a, x in zip(arrays, order_check.arrays, strict=True)):
        return order_check.arrays, order_check.values
    try:
        return arrays, order_check.function.evaluate([fresh_copy(a) for a in arrays]).arrays
    except Exception:
        order_check.report.notes.append('The function does not take float64: measured in the dtype of the inputs.')
        return order_check.arrays, order_check.function.evaluate([fresh_copy(x) for x in order_check.arrays]).arrays
