"""The probable cause of a wrong gradient, from everything that was measured."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np

from minichainer.verification.arrays import full, host, largest
from minichainer.verification.comparison import differ
from minichainer.verification.diagnosis.evidence import Cause, Evidence, diagnose
from minichainer.verification.diagnosis.experiments import Experiments, Unmeasurable, close, dot, experiments
from minichainer.verification.diagnosis.jacobian_entries import factor_by_axes, factor_of_entries, wrong_axis
from minichainer.verification.diagnosis.rearrangements import (
    other_axis,
    other_function,
    rearranged_gradient,
    rearranged_input,
    rearranged_upstream,
)
from minichainer.verification.diagnosis.recurrence import truncated_cause
from minichainer.verification.diagnosis.slices import (
    elements_of_gradient,
    elements_of_upstream,
    slices_of_gradient,
    slices_of_upstream,
    zeros_of_gradient,
)
from minichainer.verification.diagnosis.thresholds import threshold_cause
from minichainer.verification.directional_derivatives import Derivatives
from minichainer.verification.order_check import times


def cause_of_second(derivatives: Derivatives, i: int, k: int) -> str | None:
    """The cause where only the second draw is wrong; None if that draw used the rules on Variables."""
    found, x = derivatives.gradient(1, k, i), derivatives.arrays[i]
    gys = derivatives.only(k, derivatives.upstream[1][k])
    large, plain = (full(derivatives.evaluation.vjp(gys, on)[i], x) for on in (True, False))
    other = full(derivatives.elsewhere.vjp_of_variables(gys)[i], x)
    if differ(derivatives, gys, i, other, large, largest(large)) is not None:
        return 'depends on layout: wrong where the inputs are not contiguous in C order'
    if differ(derivatives, gys, i, found, other, largest(other)) is not None:
        return 'not linear in the upstream gradient: wrong where the upstream gradient is tiny, as small as 2**-50'
    if differ(derivatives, gys, i, found, plain, largest(plain)) is not None:
        return None
    return 'not linear in the upstream gradient: right for one upstream gradient, wrong for another'


def missing_cause(derivatives: Derivatives, i: int, k: int, d: int) -> str | None:
    """The cause where backward returns None or only zeros; None where it returns anything else."""
    g = derivatives.gradients[d][k][i]
    if g is not None and bool(g.any()):
        return None
    if g is not None and _gives_elsewhere(experiments(derivatives, i, k, d)):
        return None
    o, label = derivatives.outputs[k], derivatives.order_check.function.leaves[i].label
    rest = [other for other in range(len(derivatives.outputs)) if other != k and _gives(derivatives, d, other, i)]
    if rest and derivatives.order_check.order == 1:
        return f"an output's gradient ignored: {label} gets gradients from other outputs, but none from output {o}"
    if g is None and derivatives.order_check.order == 1:
        return 'missing: backward gives None, but the function depends on this input'
    what = 'None' if g is None else 'zeros'
    advice = '' if derivatives.order_check.order == 1 else ': does it compute on arrays, not on Variables?'
    return f'detached: backward gives {what}; the gradient does not get through to this input{advice}'


def _gives(derivatives: Derivatives, d: int, k: int, i: int) -> bool:
    g = derivatives.gradients[d][k][i]
    return g is not None and bool(g.any())


def _gives_elsewhere(e: Experiments) -> bool:
    """Whether backward gives a gradient for larger inputs, or for those of the opposite sign."""
    for factor in (4.0, -4.0) if e.possible else ():
        arrays = list(e.derivatives.arrays)
        arrays[e.i] = times(arrays[e.i], factor)
        with contextlib.suppress(Unmeasurable):
            if e.backward(e.upstream[0], arrays).any():
                return True
    return False


def same_cause(derivatives: Derivatives, i: int, k: int, d: int) -> str | None:
    """The cause where the gradient of this leaf equals the gradient of another leaf."""
    g = derivatives.gradient(d, k, i)
    for j in derivatives.order_check.function.moving:
        other = derivatives.gradient(d, k, j)
        if j != i and other.shape == g.shape and g.size > 1 and bool((other == g).all()):
            label = derivatives.order_check.function.leaves[j].label
            return f'swapped inputs: backward gives here what it gives for {label}'
    return None


def unsummed_cause(derivatives: Derivatives, i: int, k: int, d: int) -> str | None:
    """The cause where backward uses only one slice of the upstream gradient along an axis that should be summed."""
    v, g = derivatives.upstream[d][k], derivatives.gradient(d, k, i)
    if v.size <= g.size or not v.ndim:
        return None
    for axis, n in enumerate(v.shape):
        for index in {0, n - 1} if n > 1 else ():
            alone = times(v, 0)
            place = (slice(None),) * axis + (index,)
            alone[place] = v[place]
            found = derivatives.evaluation.vjp(derivatives.only(k, alone))[i]
            same = found is not None and bool((abs(found - g) <= 1e-9 * abs(g).max()).all())
            if same and _is_part(experiments(derivatives, i, k, d), host(alone), host(v - alone), host(g)):
                return (
                    f'not summed over a broadcast axis: backward uses index {index} of axis {axis} of the upstream '
                    'gradient and ignores the others'
                )
    return None


def _is_part(e: Experiments, used: Any, ignored: Any, g: Any) -> bool:
    """Whether a gradient is right for the used part of an upstream gradient, and the ignored part matters."""
    try:
        tangents = e.tangents if e.possible else []
    except Unmeasurable:
        tangents = []
    right = np.array([[dot(gy, jd) for jd in tangents] for gy in (used, ignored)])
    given = np.array([dot(g, d) for d in e.directions[: len(tangents)]])
    return not tangents or (close(right[0], given) and not close(right[1], 0 * given))


def element_cause(derivatives: Derivatives, i: int, k: int, d: int, evidence: dict[str, Any]) -> str:
    """The cause from the wrong elements, or from the whole gradient where the others are known to be right."""
    y, v = host(derivatives.values[k]), host(derivatives.upstream[d][k]).astype(np.float64)
    data = {'the upstream gradient': v, 'the output': y}
    for j, leaf in enumerate(derivatives.order_check.function.leaves):
        if j != i and leaf.array.dtype.kind == 'f':
            data[leaf.label] = host(derivatives.arrays[j])
    partial = evidence['analytic'].shape != derivatives.arrays[i].shape
    further, known = experiments(derivatives, i, k, d), Evidence(**evidence, data=data, partial=partial)
    cause = threshold_cause(further, known) or diagnose(known, lambda: explanation(further))
    return f'{cause.name}: {cause.text}'


def cut_cause(derivatives: Derivatives, i: int, k: int, d: int) -> str | None:
    """The cause where the gradient of a recurrence is cut off."""
    cause = truncated_cause(experiments(derivatives, i, k, d))
    return f'{cause.name}: {cause.text}' if cause else None


def explanation(e: Experiments) -> Cause | None:
    """The first hypothesis, from simple to complex, that explains what backward gives; None for a small error."""
    try:
        if not e.possible or not e.differs:
            return None
    except Unmeasurable:
        return None
    return next((cause for hypothesis in _HYPOTHESES if (cause := _tested(hypothesis, e)) is not None), None)


def _tested(hypothesis: Callable[[Experiments], Cause | None], e: Experiments) -> Cause | None:
    try:
        return hypothesis(e)
    except Unmeasurable:
        return None


_HYPOTHESES: tuple[Callable[[Experiments], Cause | None], ...] = (
    slices_of_gradient,
    slices_of_upstream,
    zeros_of_gradient,
    other_axis,
    rearranged_gradient,
    rearranged_upstream,
    rearranged_input,
    other_function,
    elements_of_upstream,
    elements_of_gradient,
    factor_of_entries,
    factor_by_axes,
    wrong_axis,
)
