"""What Chainer's own check accepts and a strict one refuses: with ``strictness='chainer'`` a warning, not a failure.

Chainer compares backward with one central difference, once. So it does not notice what backward does at other times
and places, nor differences below its tolerances. Both count here only if its comparison confirms the gradients.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from minichainer._frames import stacklevel
from minichainer.backend import get_array_module
from minichainer.errors import GradientCheckLeniencyWarning
from minichainer.verification.arguments import given, is_float
from minichainer.verification.arrays import fresh_copy, host, silent_norm
from minichainer.verification.directions import project, signed
from minichainer.verification.order_check import DRAWS, OrderCheck
from minichainer.verification.reporting.report import Failure

#: Causes that leave the gradient itself right; Chainer's check never looks for them.
_UNSEEN = re.compile(
    'stale cache: |depends on (thread|config|layout): |modified in place: the forward pass '
    '|undefined upstream gradient: .* backward raises '
)
#: The gradient in a low precision is less accurate than its rounding explains.
_INACCURATE = 'dtype: in '

#: Chainer's step, and its absolute and relative tolerances at the first and at higher orders.
_STEP, _TOLERANCES = 1e-3, ((1e-5, 1e-4), (1e-4, 1e-3))
#: The largest rounding error of a slope, relative to it, with which the comparison still says something.
_BLUR = 0.1
#: Differences of so many roundings of the outputs do not count.
_ROUNDINGS = 8


def accept_as_chainer(order_check: OrderCheck) -> None:
    """Accepts all failures of an order, with warnings, if Chainer's own check would accept each of them.

    Modes that Chainer does not have (forward mode, batches) are not accepted unseen: with these every failure stays.
    """
    options = order_check.options
    beyond = options.checks_forward_mode(order_check.order) or options.check_batched_grad
    if beyond or not options.checks_backward(order_check.order):
        return
    comparison = ChainerComparison(order_check)
    if not all(comparison.may_accept(f) for f in order_check.report.failures) or not comparison.agrees():
        return
    _warn(order_check)
    order_check.outputs = sorted(order_check.upstream)
    order_check.report.accept()


def _warn(order_check: OrderCheck) -> None:
    """One note and one warning for each cause."""
    causes = {f.cause: f.verdict for f in order_check.report.failures}
    for cause, verdict in causes.items():
        text = f"Accepted with strictness='chainer': {cause}. With 'strict' the verdict is {verdict!r}."
        order_check.report.notes.append(text)
        warnings.warn(f'{order_check.function.name}: {text}', GradientCheckLeniencyWarning, stacklevel=stacklevel())


class ChainerComparison:
    """The comparison of Chainer's check: a central difference along a unit vector through all leaves at once.

    As there, the step is ``eps=1e-3``, and ``atol + rtol * abs(slope)`` may differ, unless the user gives others. The
    default of ``atol`` shrinks with the gradients, so that small ones cannot pass whatever they are. It is made for
    each draw of upstream gradients, each with a direction of its own.
    """

    def __init__(self, order_check: OrderCheck) -> None:
        self.order_check = order_check
        options, defaults = order_check.options, _TOLERANCES[min(order_check.order, 2) - 1]
        self.eps = options.eps or _STEP
        self._given_atol, self._atol = given(options.atol), defaults[0]
        rtol = given(options.rtol)
        self.rtol = defaults[1] if rtol is None else rtol
        self.arrays = self._wide()

    def _wide(self) -> list[Any]:
        """The leaves in the dtype of the numeric side, if the function takes them."""
        dtype = self.order_check.options.dtype or np.dtype(np.float64)
        arrays = [x.astype(dtype) if is_float(x) else x for x in self.order_check.arrays]
        try:
            outputs = self.order_check.function.outputs([fresh_copy(x) for x in arrays])
        except Exception:  # it says that it does not take this dtype
            return self.order_check.arrays
        finite = [y is None or bool(get_array_module(y).isfinite(y).all()) for y in outputs]
        return arrays if all(finite) else self.order_check.arrays

    def may_accept(self, failure: Failure) -> bool:
        """Whether a failure is none for Chainer, provided that its comparison agrees."""
        if failure.verdict == 'unresolved' or _UNSEEN.match(failure.cause):
            return True
        small = failure.verdict == 'nondeterministic' or failure.cause.startswith(_INACCURATE)
        known = failure.numeric is not None and failure.analytic is not None
        return small and known and self._within(failure.numeric or 0.0, failure.analytic or 0.0)

    def _within(self, numeric: float, analytic: float, size: float = 1.0, lost: float = 0.0) -> bool:
        """Whether two numbers differ by no more than the tolerances, for gradients of this size, and what is lost."""
        atol = self._atol * min(1.0, size) if self._given_atol is None else self._given_atol
        return abs(numeric - analytic) <= atol + self.rtol * abs(analytic) + lost

    def disagrees(self, rounding_counts: bool = False) -> bool:
        """Whether the gradients differ from the differences by more than the tolerances.

        Args:
            rounding_counts: Whether differences that rounding explains are none.
        """
        try:
            return not all(self._agrees(d, blur=None, rounding_counts=rounding_counts) for d in range(DRAWS))
        except Exception:
            return False

    def agrees(self) -> bool:
        """Whether the gradients agree with the differences; errors leave the failures as they are."""
        try:
            return all(self._agrees(d) for d in range(DRAWS))
        except Exception:
            return False

    def _agrees(self, d: int, blur: float | None = _BLUR, rounding_counts: bool = False) -> bool:
        """Compares once, as after one call of the function and one backward pass.

        Args:
            d: The draw of upstream gradients.
            blur: The largest rounding error, relative to the gradients; None for any.
            rounding_counts: Whether differences that rounding explains are none.
        """
        order_check = self.order_check
        evaluation = order_check.function.evaluate([fresh_copy(x) for x in order_check.arrays])
        if not order_check.upstream:
            order_check.draw(evaluation)
        gys = {o: drawn[d] for o, drawn in order_check.upstream.items()}
        upstream = [fresh_copy(gys[o]) if o in gys else None for o in range(len(order_check.values))]
        gradients = evaluation.vjp(upstream)
        if not all(map(_fits, order_check.function.leaves, gradients)):
            return False
        directions = self._unit_vector()
        terms = [host(gradients[i]) * r for i, r in directions.items() if gradients[i] is not None]
        analytic, size = float(sum(float(t.sum()) for t in terms)), _norm(terms)
        numeric, rounding = self._slope(gys, directions)
        lost = _ROUNDINGS * rounding if rounding_counts else 0.0
        return (blur is None or rounding <= blur * size) and self._within(numeric, analytic, size, lost)

    def _unit_vector(self) -> dict[int, Any]:
        """A direction of each leaf; all together have the norm 1, and no element is 0."""
        order_check = self.order_check
        drawn = {
            i: project(order_check, i, signed(order_check.rng, self.arrays[i].shape))
            for i in order_check.function.moving
        }
        norm = _norm([*drawn.values()]) or 1.0
        return {i: r / norm for i, r in drawn.items()}

    def _slope(self, gys: dict[int, Any], directions: dict[int, Any]) -> tuple[float, float]:
        """The central difference of the outputs, weighted by the upstream gradients, and its rounding error."""
        ahead, behind = (self._outputs(t, directions) for t in (self.eps, -self.eps))
        weighted = [(gys[o], ahead[o], behind[o]) for o in gys]
        change = sum(float((gy * (a.astype(np.float64) - b)).sum()) for gy, a, b in weighted)
        rounding = _norm([host(gy * a) * float(np.finfo(a.dtype).eps) for gy, a, _ in weighted])
        return change / (2 * self.eps), rounding / self.eps

    def _outputs(self, t: float, directions: dict[int, Any]) -> list[Any]:
        """The outputs after a step."""
        moved = [fresh_copy(x) for x in self.arrays]
        for i, r in directions.items():
            moved[i] += get_array_module(moved[i]).asarray((t * r).astype(moved[i].dtype))
        return self.order_check.function.outputs(moved)


def _norm(arrays: Sequence[Any]) -> float:
    """The norm of several arrays together."""
    return float(np.hypot.reduce([silent_norm(a) for a in arrays]))


def _fits(leaf: Any, gradient: Any) -> bool:
    """Whether a gradient has the shape and dtype of its leaf; None stands for zeros."""
    if gradient is None:
        return True
    return not leaf.must_be_none and (gradient.shape, gradient.dtype) == (leaf.array.shape, leaf.array.dtype)
