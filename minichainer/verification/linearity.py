r"""A backward pass is linear in the upstream gradient, and exactly so for powers of two.

``vjp(-2 v)`` is ``-2 vjp(v)`` bit by bit, since powers of two commute with rounding, and ``vjp(0)`` is 0.
Two calls without any tolerance detect ``abs(gy)``, ``relu(gy)``, ``gy ** 2``, an ignored ``gy``, an added
``1e-6``, and clipping of the upstream gradient. Rounding commutes with powers of two only away from overflow and
underflow. So the calls use the wide dtype of the numeric side, and differences near overflow or underflow do not
count.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from minichainer.backend import get_array_module
from minichainer.verification.arrays import full, host, largest
from minichainer.verification.comparison import differ
from minichainer.verification.directional_derivatives import Derivatives
from minichainer.verification.exact_checks import at
from minichainer.verification.function_under_test import Evaluation
from minichainer.verification.order_check import times

#: Factors in place of -2: the largest is tried first; if it fails, the smallest one that also fails is reported.
FACTORS = (-2.0, -(2.0**20), -(2.0**50))
FACTOR = FACTORS[0]
#: The beginning of causes.
NAME = 'not linear in the upstream gradient: '
#: How much larger than a subnormal step its consequences may be.
_NEAR = 2.0**16
#: A finite difference this large, relative to the largest element, is not due to underflow or overflow.
_CLEARLY = 1e-3


def breaks_scaling(gradient: Any, scaled_gradient: Any, factor: float = FACTOR) -> Any:
    """Where ``vjp(-2 v)`` is not ``-2 vjp(v)``, or the same for another negative power of two.

    Numbers that are not finite or would overflow are skipped; where one of the two is (almost) subnormal, one
    subnormal step is allowed per rounding.

    Args:
        gradient: ``vjp(v)``, of a floating-point dtype.
        scaled_gradient: ``vjp(-2 v)``, of the same shape and dtype.
        factor: The factor in place of -2.

    Returns:
        A boolean array of that shape.
    """
    info = np.finfo(gradient.dtype)
    with np.errstate(all='ignore'):
        expected = gradient * gradient.dtype.type(factor)
        comparable = np.isfinite(expected) & np.isfinite(gradient)
        # Numbers this small may have been rounded to subnormal steps in between, and multiplied afterwards.
        near_zero = abs(gradient) < abs(factor) * _NEAR * float(info.tiny)
        steps = 2 * abs(factor) * min(_NEAR * float(info.smallest_subnormal), float(info.tiny))
        off = abs(expected.astype(np.float64) - scaled_gradient.astype(np.float64))
        return comparable & np.where(near_zero, ~(off <= steps), scaled_gradient != expected)


def breaks_zero(zero_gradient: Any) -> Any:
    """Where ``vjp(0)`` is not 0; NaN is not 0."""
    return ~(zero_gradient == 0)


def far_factor(gradients: Sequence[Any]) -> float:
    """The largest factor for ``v`` that cannot overflow: it also exposes clipping of the upstream gradient."""
    least = 2
    for g in gradients:
        if g is not None and g.size and g.dtype.kind == 'f':
            size = g.dtype.itemsize
            if size < 4 or not float(abs(g).max()) < float(np.finfo(g.dtype).max) * 1e-30:
                return FACTORS[0]
            least = least if size > 4 else 1
    return FACTORS[least]


class LinearityChecks:
    """Checks every output with scaled and with zero upstream gradients.

    Args:
        derivatives: The numeric side.
        evaluation: A call of the function with the arrays of the numeric side.
    """

    def __init__(self, derivatives: Derivatives, evaluation: Evaluation) -> None:
        self.derivatives, self.order_check, self.evaluation = derivatives, derivatives.order_check, evaluation

    def run(self) -> None:
        """Adds failures to the report."""
        for k in range(len(self.derivatives.outputs)):
            self._check(k)

    def _check(self, k: int) -> None:
        """Checks scaled and zero upstream gradients of one output."""
        gradients = self.derivatives.gradients[0][k]
        factor = far_factor(gradients)
        scaled = self._scaled(k, factor, zeros=True)
        zero = self._scaled(k, 0.0, zeros=True)
        for i in self.order_check.function.moving:
            if (self.derivatives.outputs[k], i) not in self.order_check.broken:
                g, gs, gz = gradients[i], scaled[i], zero[i]
                if g is None or gs is None or gz is None:
                    g, gs, gz = [full(a, self.derivatives.arrays[i]) for a in (g, gs, gz)]
                if not bool((gs == factor * g).all()):
                    self._off_scale(k, i, factor, g, gs)
                if bool(gz.any()):
                    self._off_zero(k, i, g, gz)

    def _scaled(self, k: int, factor: float, zeros: bool = False) -> list[Any]:
        zeros = zeros and self.order_check.options.check_undefined_grad and len(self.derivatives.outputs) > 1
        return self.evaluation.vjp(self.derivatives.only(k, times(self.derivatives.upstream[0][k], factor), zeros))

    # --- after a difference ------------------------------------------------------------------------------------
    def _off_scale(self, k: int, i: int, factor: float, g: Any, scaled: Any) -> None:
        """Reports gradients that do not scale, with the smallest factor that shows it."""
        if not bool(self._unscaled(g, scaled, factor).any()):
            return
        alone = full(self._scaled(k, factor)[i], self.derivatives.arrays[i])
        if not bool(self._unscaled(g, alone, factor).any()):
            self._off_zeros_for_others(k, i, factor, g, scaled)
            return
        tried = {f: full(self._scaled(k, f)[i], self.derivatives.arrays[i]) for f in FACTORS[: FACTORS.index(factor)]}
        tried[factor] = alone
        wrong = [f for f, a in tried.items() if bool(self._unscaled(g, a, f).any())]
        wrong = [f for f in wrong if self._is_clear(g, tried[f], f) or not self._overflows(k, f)]
        if not wrong:
            return
        if self._off_none(k, i, g):
            return
        factor, alone = wrong[0], tried[wrong[0]]
        cause = f'{NAME}these are the gradients for {_words(factor)} times the upstream gradient'
        cause += ', the same as for itself: does backward use it?' if bool((alone == g).all()) else ''
        add_elements(self.derivatives, k, i, self._unscaled(g, alone, factor), factor * g, alone, cause)

    def _off_none(self, k: int, i: int, g: Any) -> bool:
        """Reports gradients that scale only if the other outputs have zeros in place of None."""
        x = self.derivatives.arrays[i]
        others = [o for o in range(len(self.derivatives.outputs)) if o != k]
        if not others or not self.order_check.options.check_undefined_grad:
            return False
        zeros, twice = (full(self._scaled(k, f, zeros=True)[i], x) for f in (1.0, FACTOR))
        rest = g - zeros
        if bool(self._unscaled(zeros, twice, FACTOR).any()) or not bool(rest.any()):
            return False
        cause = 'undefined upstream gradient: None gives a different result than zeros, which it means'
        for name, several in ((f'for output {self.derivatives.outputs[o]} ', [o]) for o in others):
            if self._is_ones(k, i, several, zeros, rest):
                cause = f'undefined upstream gradient: None {name}is taken as ones; it means zeros'
        if len(others) > 1 and self._is_ones(k, i, others, zeros, rest):
            cause = 'undefined upstream gradient: None is taken as ones; it means zeros'
        off = abs(rest) > 1e-9 * max(largest(g), largest(zeros))
        add_elements(self.derivatives, k, i, off, zeros, g, cause)
        return True

    def _is_ones(self, k: int, i: int, others: Sequence[int], zeros: Any, rest: Any) -> bool:
        """Whether None for some outputs gives what an upstream gradient of ones gives."""
        gys = self.derivatives.only(k, self.derivatives.upstream[0][k], zeros=True)
        for other in others:
            gys[self.derivatives.outputs[other]] = self.derivatives.upstream[0][other] * 0 + 1
        ones = full(self.evaluation.vjp(gys)[i], self.derivatives.arrays[i])
        return largest(ones - zeros - rest) <= 1e-9 * max(largest(ones), largest(zeros))

    def _unscaled(self, g: Any, scaled: Any, factor: float) -> Any:
        with np.errstate(all='ignore'):
            allowed = abs(factor) * self.order_check.options.nondet_tol
            return breaks_scaling(g, scaled, factor) & ~(abs(scaled - factor * g) <= allowed)

    def _overflows(self, k: int, factor: float) -> bool:
        """Whether intermediate results are too large or too small for powers of two to commute with rounding."""
        try:
            with np.errstate(over='raise', under='raise'):
                self._scaled(k, 1.0)
                self._scaled(k, factor)
        except FloatingPointError:
            return True
        return self.derivatives.precision > 1e-4  # casts to half precision underflow without an error

    def _is_clear(self, g: Any, scaled: Any, factor: float) -> bool:
        with np.errstate(all='ignore'):
            off = (abs(scaled / factor - g) > _CLEARLY * largest(g)) & get_array_module(g).isfinite(scaled)
        return bool(off.any())

    def _off_zeros_for_others(self, k: int, i: int, factor: float, g: Any, scaled: Any) -> None:
        """Reports gradients that differ if the other outputs have zeros instead of None."""
        gys = self.derivatives.only(k, times(self.derivatives.upstream[0][k], factor))
        where = differ(self.derivatives, gys, i, scaled, factor * g, abs(factor) * largest(g))
        if where is not None:
            cause = 'undefined upstream gradient: zeros for the other outputs give a different result than None'
            add_elements(self.derivatives, k, i, where, g, scaled / factor, cause)

    def _off_zero(self, k: int, i: int, g: Any, zero: Any) -> None:
        """Reports gradients that are not zero for an upstream gradient of zeros."""
        with np.errstate(all='ignore'):
            finite = get_array_module(g).isfinite(g)
            where = breaks_zero(zero) & finite & ~(abs(zero) <= self.order_check.options.nondet_tol)
        if bool(where.any()) and (self.derivatives.outputs[k], i) not in self.order_check.broken:
            cause = f'{NAME}these are the gradients for an upstream gradient of zeros'
            add_elements(self.derivatives, k, i, where, g * 0, zero, cause)


def add_elements(derivatives: Derivatives, k: int, i: int, where: Any, expected: Any, found: Any, cause: str) -> None:
    """Adds a failure for each element, up to the most that are shown."""
    order_check, o = derivatives.order_check, derivatives.outputs[k]
    indices = np.argwhere(host(where))
    failures = [
        order_check.failure(o, i, cause, index=index, numeric=at(expected, index), analytic=at(found, index))
        for index in (tuple(map(int, row)) for row in indices[: order_check.options.max_failures])
    ]
    order_check.report.add(failures, len(indices))
    order_check.broken.add((o, i))


def _words(factor: float) -> str:
    return f'{factor:g}' if abs(factor) < 1e5 else f'-2**{int(np.log2(abs(factor)))}'
