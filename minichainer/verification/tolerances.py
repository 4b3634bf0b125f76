"""What tolerances that the caller gave allow, element by element, as other frameworks compare.

The check itself needs no tolerance. Only a gradient that it does not confirm is compared again: each element may
differ from its slope by ``atol + rtol * abs(slope)``, and no more. So a tolerance means the same for one element and
for many, and it never hides what it does not allow. A gradient that is accepted gives a warning, with the size of its
error.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from minichainer._frames import stacklevel
from minichainer.errors import GradientToleranceWarning
from minichainer.verification.arrays import host, root_mean_square
from minichainer.verification.directional_derivatives import Derivatives
from minichainer.verification.outcome import place_in_words, size_in_words
from minichainer.verification.reporting.report import Failure
from minichainer.verification.strictness import ChainerComparison
from minichainer.verification.verdict import FAIL, UNRESOLVED

#: The most elements of a gradient that are compared; of larger ones as many at random.
MOST = 2048
#: Of more elements, those that floats measure with a smaller part of the tolerance need no more digits.
_FEW, _SHARP = 64, 0.05


@dataclasses.dataclass(frozen=True)
class Difference:
    """The element of a gradient that is farthest from what is allowed."""

    index: tuple[int, ...]
    numeric: float
    analytic: float
    allowed: float

    @property
    def distance(self) -> float:
        return abs(self.numeric - self.analytic)

    @property
    def ratio(self) -> float:
        """The error divided by the tolerance."""
        return self.distance / self.allowed if self.allowed else float('inf')


def accept_allowed(derivatives: Derivatives, failures: Sequence[Failure]) -> None:
    """Accepts gradients whose elements are all within the caller's tolerances; keeps what exceeds these.

    Args:
        derivatives: The numeric side.
        failures: What the comparison with slopes has added to the report.
    """
    order_check = derivatives.order_check
    atol, rtol = order_check.options.extra
    pairs = {(f.output, f.input) for f in failures if f.verdict in (FAIL, UNRESOLVED)}
    if not (atol or rtol) or not pairs:
        return
    names: list[int | str | None] = [leaf.name for leaf in order_check.function.leaves]
    for o, name in sorted(pairs, key=str):
        mine = [f for f in failures if (f.output, f.input) == (o, name)]
        worst = farthest(derivatives, derivatives.outputs.index(o), names.index(name), _places(mine))
        if worst.ratio <= 1.0 and not _refused_by_chainer(derivatives):
            _accept(derivatives, mine, worst)
        else:
            _keep(derivatives, mine, worst)


def _places(failures: Sequence[Failure]) -> list[tuple[int, ...]]:
    return [f.index for f in failures if f.index is not None]


def farthest(derivatives: Derivatives, k: int, i: int, places: Sequence[tuple[int, ...]] = ()) -> Difference:
    """The element of a leaf whose gradient for output ``k`` exceeds its tolerance most; ``places`` are compared."""
    elements = _chosen(derivatives, i, places)
    worst: Difference | None = None
    for numeric, analytic in _gradients(derivatives, k, i, elements):
        difference = _worst(derivatives, i, elements, numeric, analytic)
        worst = difference if worst is None or not difference.ratio <= worst.ratio else worst
    assert worst is not None
    return worst


def _chosen(derivatives: Derivatives, i: int, places: Sequence[tuple[int, ...]]) -> Any:
    """The elements that are compared."""
    x = derivatives.arrays[i]
    if x.size <= MOST:
        return np.arange(x.size)
    known = [int(np.ravel_multi_index(place, x.shape)) for place in places]
    return np.unique([*known, *derivatives.order_check.rng.permutation(x.size)[:MOST]])


def _gradients(derivatives: Derivatives, k: int, i: int, elements: Any) -> list[tuple[Any, Any]]:
    """For each draw, measured gradients of elements, and backward's: with the step that the caller gave, if any."""
    count, columns = len(derivatives.outputs), []
    eps = derivatives.order_check.options.eps
    if eps is not None:
        numeric, analytic, _ = derivatives.differences(i, elements, np.ones(len(elements)), eps)
    else:
        x = abs(host(derivatives.arrays[i]).astype(np.float64).ravel()[elements])
        scales = np.maximum(x, root_mean_square(host(derivatives.arrays[i])) or 1.0)
        numeric, analytic = _measured(derivatives, i, elements, scales)
    for d in range(len(derivatives.upstream)):
        columns.append((numeric[:, d * count + k], analytic[:, d * count + k]))
    return columns


def _measured(derivatives: Derivatives, i: int, elements: Any, scales: Any) -> tuple[Any, Any]:
    """The measured gradients of elements and backward's; of many, floats measure those that they see sharply."""
    source = derivatives.source
    if source is None or len(elements) <= _FEW:
        return _by_source(derivatives, i, elements, scales)[:2]
    derivatives.source = None
    try:
        numeric, analytic, error = _by_source(derivatives, i, elements, scales)
    finally:
        derivatives.source = source
    atol, rtol = derivatives.order_check.options.extra
    left = np.flatnonzero(~(error <= _SHARP * (atol + rtol * abs(numeric))).all(axis=1))
    if left.size:
        numeric[left], analytic[left], _ = _by_source(derivatives, i, elements[left], scales[left])
    return numeric, analytic


def _by_source(derivatives: Derivatives, i: int, elements: Any, scales: Any) -> tuple[Any, Any, Any]:
    """Measured gradients of elements, backward's, and the errors of the measured ones."""
    along = derivatives.elementwise(i, elements, scales, levels=3)
    fields = (along.found.value, along.analytic, along.found.error)
    numeric, analytic, error = (f.reshape(len(elements), -1) / scales[:, None] for f in fields)
    return numeric, analytic, error


def _worst(derivatives: Derivatives, i: int, elements: Any, numeric: Any, analytic: Any) -> Difference:
    atol, rtol = derivatives.order_check.options.extra
    with np.errstate(all='ignore'):
        allowed = atol + derivatives.order_check.options.nondet_tol + rtol * abs(numeric)
        ratio = abs(numeric - analytic) / allowed
    ratio = np.where(numeric == analytic, 0.0, np.where(np.isnan(ratio), np.inf, ratio))
    worst = int(ratio.argmax())
    index = tuple(map(int, np.unravel_index(int(elements[worst]), derivatives.arrays[i].shape)))
    return Difference(index, float(numeric[worst]), float(analytic[worst]), float(allowed[worst]))


def _refused_by_chainer(derivatives: Derivatives) -> bool:
    """Whether Chainer's own comparison would fail, for the calls that have its names."""
    options = derivatives.order_check.options
    return options.follows_chainer and ChainerComparison(derivatives.order_check).disagrees()


def _accept(derivatives: Derivatives, failures: list[Failure], worst: Difference) -> None:
    """Moves the failures of a gradient to what was accepted, with a warning."""
    order_check = derivatives.order_check
    first = dataclasses.replace(failures[0], index=worst.index, numeric=worst.numeric, analytic=worst.analytic)
    where = place_in_words(first.input or 0, first.index)
    text = (
        f'{where}, order {first.order}: {size_in_words(first)}, {worst.ratio:.2g} of what '
        f'{order_check.options.tolerances()} allow. {first.cause}'
    )
    order_check.report.accept(failures, 'within the given tolerances')
    order_check.report.notes.append(f'Wrong by less than the tolerances: {text}.')
    text = f'{order_check.function.name}: a gradient is wrong by less than the tolerances: {text}'
    warnings.warn(text, GradientToleranceWarning, stacklevel=stacklevel())


def _keep(derivatives: Derivatives, failures: list[Failure], worst: Difference) -> None:
    """Leaves only what exceeds the tolerances, with ratios relative to these."""
    order_check = derivatives.order_check
    atol, rtol = order_check.options.extra
    kept = []
    for f in failures:
        allowed = atol + rtol * abs(f.numeric or 0.0)
        known = f.index is not None and f.numeric is not None and f.analytic is not None
        ratio = abs((f.numeric or 0.0) - (f.analytic or 0.0)) / allowed if allowed and known else f.ratio
        if not known or not ratio <= 1.0:
            kept.append(dataclasses.replace(f, ratio=ratio))
    if not kept and worst.ratio > 1.0:
        first = dataclasses.replace(failures[0], index=worst.index, verdict=FAIL, ratio=worst.ratio)
        kept = [dataclasses.replace(first, numeric=worst.numeric, analytic=worst.analytic)]
    order_check.report.replace(failures, kept or failures)
