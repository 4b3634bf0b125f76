"""Compares the gradient of one leaf with slopes by differences of floats, and locates errors after a mismatch.

First all elements move together, along two directions. If that leaves any doubt, and the elements differ much in
size, each moves among others of its size, with steps that suit it. Elements whose part of a slope cannot be seen
beside the others move without these; where rounding hides them even then, the report does not vouch for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from minichainer.verification.arrays import host
from minichainer.verification.directional_derivatives import Along, Derivatives
from minichainer.verification.directions import by_size
from minichainer.verification.localization import AS_LARGE, Locator
from minichainer.verification.shares import hidden_elements
from minichainer.verification.small_steps import difference
from minichainer.verification.verdict import FAIL, NONDIFFERENTIABLE, PASS, UNRESOLVED

#: Calls of the function that may be made for each leaf if nothing looks wrong.
_BUDGET = 24
#: Elements whose part of every slope is smaller than this many units of the precision are moved without the others.
_HIDDEN = 2.0**19
#: Elements whose part of a slope is not so many times what may be wrong in it are moved without the others, too.
_SAFETY = 4.0
#: Slopes whose errors are a larger part of them show nothing.
BLURRED = 0.1
#: Slopes whose parts cancel are not evidence where more than this part of them may be wrong.
_CANCELLED = 1e-3
#: The step, relative to the inputs, that shows signs of slopes that backward denies; for so many elements at most.
_FAR, _FEW = 0.25, 64
#: Elements that are smaller than this part of a step of the others, and the steps at which these move as far.
_SMALL, _STEPS = 1e-3, (1e-4, 2.5e-5)
#: More groups of elements that cannot be seen beside each other are not looked for.
_MOST_GROUPS = 4


def examine_leaf(derivatives: Derivatives, i: int, directions: Sequence[Any]) -> None:
    """Measures the slopes of one leaf, and locates the errors after a mismatch.

    Args:
        derivatives: The numeric side.
        i: Position of the leaf.
        directions: An isotropic and a relative one.
    """
    measured, verdicts = _measured(derivatives, i, directions)
    if not measured:
        return
    parts = _parts(derivatives, i, directions)
    apart = len(parts) > 1 and not (verdicts == PASS).all()
    if apart:
        measured, verdicts = _measured(derivatives, i, parts)
        if not measured:
            return
    for k, o in enumerate(derivatives.outputs):
        mine = verdicts[:, k :: len(derivatives.outputs)]
        if (o, i) not in derivatives.order_check.broken and not (mine == PASS).all():
            Locator(derivatives, i, k, measured, mine, apart).explain()


def examine_whole(derivatives: Derivatives, i: int, directions: Sequence[Any]) -> None:
    """Adds a wrong gradient of a leaf to the report as a whole, where it would take long to find its elements."""
    measured, verdicts = _measured(derivatives, i, directions)
    for k in range(len(derivatives.outputs)):
        mine = verdicts[:, k :: len(derivatives.outputs)]
        if (mine == FAIL).any():
            Locator(derivatives, i, k, measured, mine).report_whole()


def _parts(derivatives: Derivatives, i: int, directions: Sequence[Any]) -> list[Any]:
    """Directions that move elements of one size each; none where the user's tangents or another source decide."""
    if derivatives.source is not None or derivatives.order_check.options.tangent is not None or len(directions) != 2:
        return []
    isotropic, relative = directions
    return by_size(derivatives.arrays[i], isotropic, relative, zeros_apart=True)


def _measured(derivatives: Derivatives, i: int, directions: Sequence[Any]) -> tuple[list[Along], Any]:
    """The slopes along some directions and the verdicts on them; nothing if the first steps show that all agree."""
    paths, agree = [], []
    for direction in directions:
        paths.append(derivatives.path(i, direction))
    for path in paths:
        agree.append(derivatives.agrees(i, path))
    if all(agree):
        return [], None
    measured: list[Along] = []
    for path, agrees in zip(paths, agree, strict=True):
        used = sum(p.calls for p in paths if p is not path)
        most = max(5, path.calls) if agrees else max(_BUDGET - used, 5)
        measured.append(derivatives.along(i, path.direction, most, path))
    verdicts = np.stack([derivatives.verdicts(along) for along in measured])
    verdicts[np.array(agree)] = PASS
    return measured, verdicts


def examine_hidden(derivatives: Derivatives, i: int, directions: Sequence[Any]) -> None:
    """Looks at the elements whose part of the slopes could not be seen, once the gradient of a leaf has passed."""
    blur = derivatives.blur.get(i, 0.0)
    if not blur and all_are_seen(derivatives, i, directions[0]):
        return
    if not any([vector.any() for vector in derivatives.vectors(i)]):
        _doubt_zeros(derivatives, i, directions[0])
        return
    if blur > _CANCELLED and not _is_seen(derivatives, i, _aligned(derivatives, i, directions[0])):
        derivatives.does_not_vouch(i, np.ones(directions[0].shape, bool), AS_LARGE)
        return
    share = max(_HIDDEN * derivatives.precision, min(_SAFETY * blur, 1.0))
    _examine_zeros(derivatives, i, directions, blur > 0)
    hidden = hidden_elements(derivatives, i, directions, share)
    for _ in range(_MOST_GROUPS):
        if not hidden.any():
            return
        alone = [np.where(hidden, direction, 0.0) for direction in directions]
        if not any([_is_seen(derivatives, i, direction) for direction in alone]):
            derivatives.does_not_vouch(i, hidden, 'a fault there is lost in the rounding of larger numbers')
            return
        hidden = hidden & hidden_elements(derivatives, i, alone, share)


def _aligned(derivatives: Derivatives, i: int, direction: Any) -> Any:
    """A direction along which the parts of a slope add up, so that a common factor cannot hide between them."""
    signs = next((np.sign(host(vector)) for vector in derivatives.vectors(i) if vector.any()), None)
    if signs is None:
        elements = np.arange(direction.size)
        signs = np.sign(derivatives.differences(i, elements, abs(direction).ravel(), _FAR)[0][:, 0])
    return abs(direction) * signs.reshape(direction.shape)


def _doubt_zeros(derivatives: Derivatives, i: int, direction: Any) -> None:
    """Leaves a gradient of zeros to many digits where outputs depend on the leaf: floats may only not have moved.

    What differences of single elements show is looked at together.
    """
    depends = derivatives.dependent(i, np.ones(derivatives.arrays[i].shape, bool))
    if not any([bool(found.any()) for found in depends]):
        return
    derivatives.blur[i] = 1.0
    if direction.size <= _FEW:
        _is_seen(derivatives, i, _aligned(derivatives, i, direction))


def _examine_zeros(derivatives: Derivatives, i: int, directions: Sequence[Any], blurred: bool) -> None:
    """Moves the elements alone for which backward gives 0: a slope there may be too small beside the others.

    Where slopes are blurred, the check does not vouch for zeros that it cannot see alone either.
    """
    zero = ~np.any([host(vector) != 0 for vector in derivatives.vectors(i)], axis=0)
    zero = zero.reshape(directions[0].shape)
    if zero.any() and not zero.all():
        seen = _is_seen(derivatives, i, np.where(zero, directions[-1], 0.0))
        small = zero & (abs(host(derivatives.arrays[i])) < _SMALL * np.ptp(directions[0]))
        alone = np.where(small, directions[0], 0.0)
        if small.any() and _has_slope(derivatives, i, alone):
            seen = _is_seen(derivatives, i, alone) or seen
        if blurred and not seen:
            derivatives.does_not_vouch(i, zero, AS_LARGE)


def _has_slope(derivatives: Derivatives, i: int, direction: Any) -> bool:
    """Whether two steps agree on a slope that is not 0: of small elements, which steps in proportion hardly move."""
    path = derivatives.path(i, direction)
    (before, bend_before, _), (slope, bend, lost) = [difference(path, t, derivatives.precision) for t in _STEPS]
    visible = (abs(slope) > 2 * lost) & (abs(slope - before) <= BLURRED * abs(slope))
    return bool((visible & (abs(bend) <= 0.5 * abs(bend_before) + 2 * lost)).any())


def hides_elements(derivatives: Derivatives, i: int, directions: Sequence[Any]) -> bool:
    """Whether some gradients, other than 0, are lost beside the others along all directions."""
    if all_are_seen(derivatives, i, directions[0]):
        return False
    return bool(hidden_elements(derivatives, i, directions, _HIDDEN * derivatives.precision).any())


def all_are_seen(derivatives: Derivatives, i: int, direction: Any) -> bool:
    """Whether no element has a gradient that is lost beside the others along one direction: the usual case."""
    flat, limit = np.ravel(direction), _HIDDEN * derivatives.precision
    for vector in derivatives.vectors(i):
        terms = abs((vector if type(vector) is np.ndarray else host(vector)) * flat)  # host would cost a call
        if not terms.size or not float(terms.min()) >= limit * float(terms.dot(terms)) ** 0.5 > 0:
            return False
    return True


def _is_seen(derivatives: Derivatives, i: int, direction: Any) -> bool:
    """Whether slopes along a direction can be measured; wrong elements are added to the report."""
    if not direction.any():
        return False
    measured, verdicts = _measured(derivatives, i, [direction])
    if not measured:
        return True
    if (verdicts == FAIL).any():
        for k in range(len(derivatives.outputs)):
            mine = verdicts[:, k :: len(derivatives.outputs)]
            if (mine == FAIL).any():
                Locator(derivatives, i, k, measured, mine, apart=True).explain()
    (along,) = measured
    blurred = derivatives.tolerance(along) > BLURRED * along.spread
    return not (np.isin(verdicts, (UNRESOLVED, NONDIFFERENTIABLE)).any() or blurred.any())
