"""One order of a check: the function, the point, the upstream gradients, and the results so far."""

from __future__ import annotations

import dataclasses
import functools
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from minichainer.backend import get_array_module
from minichainer.verification.differences import check_pairs, describe_arrays
from minichainer.verification.directions import signed
from minichainer.verification.leaves import fresh_copy
from minichainer.verification.options import Options
from minichainer.verification.report import Failure, GradientReport
from minichainer.verification.subject import Evaluation, Subject, flat_arrays

#: Upstream gradients per output.
DRAWS = 2

#: Size of the second draw, to expose thresholds below which upstream gradients are dropped.
SMALL = 2.0**-50

#: Stands for missing upstream gradients: the function must be a loss, with a single output of shape ``()``.
LOSS = object()


@dataclasses.dataclass
class Point:
    """Where and how one order of a function is checked.

    Attributes:
        subject: The function.
        options: The user's options.
        report: Collects the failures.
        order: 1, 2, ...
        rng: The check's own random number generator.
        given: The user's upstream gradients, one per output or None for an output that does not count; None if
            there are none.
        outputs: Positions of the outputs that are checked.
        upstream: ``upstream[o]`` are the upstream gradients of output ``o``, in its dtype.
        gradients: ``gradients[o]`` are the gradients of the leaves for the first draw.
        broken: Pairs (output, leaf) that need no further checks.
    """

    subject: Subject
    options: Options
    report: GradientReport
    order: int
    rng: np.random.Generator
    given: Sequence[Any] | None = None
    outputs: list[int] = dataclasses.field(default_factory=list)
    upstream: dict[int, list[Any]] = dataclasses.field(default_factory=dict)
    gradients: dict[int, list[Any]] = dataclasses.field(default_factory=dict)
    values: list[Any] = dataclasses.field(default_factory=list)
    broken: set[tuple[int, int]] = dataclasses.field(default_factory=set)

    @functools.cached_property
    def arrays(self) -> list[Any]:
        """The values of the leaves."""
        return [leaf.array for leaf in self.subject.leaves]

    def draw(self, evaluation: Evaluation) -> None:
        """Chooses the outputs to check, and two upstream gradients for each: the given one and a random one."""
        self.values = evaluation.arrays
        self.given = self._matching()
        any_gradient = any(y is not None and y.requires_grad for y in evaluation.outputs)
        for o, (y, output) in enumerate(zip(self.values, evaluation.outputs, strict=True)):
            if output is None or y is None or (self.given is not None and self.given[o] is None):
                continue
            if not output.requires_grad and any_gradient:
                self.report.notes.append(f'Output {o} does not require a gradient and is not checked.')
                continue
            xp = get_array_module(y)
            drawn = [xp.asarray(signed(self.rng, y.shape).astype(y.dtype)) for _ in range(DRAWS)]
            if self.given is not None and bool(self.given[o].any()):
                drawn[0] = self.given[o]
            self.outputs.append(o)
            scale = _scale(y)
            self.upstream[o] = [times(v, scale) for v in drawn]

    def _matching(self) -> list[Any] | None:
        """The given upstream gradients, if they match the outputs."""
        if self.given is LOSS:
            if [getattr(y, 'shape', None) for y in self.values] != [()]:
                raise ValueError(
                    'y_grad may be left out only for a loss, which has a single output with shape ().\n'
                    f'Actual outputs: {describe_arrays(self.values)}'
                )
            return None
        if self.given is None:
            return None
        given = flat_arrays(self.given)
        check_pairs(self.values, given)
        counted = [gy for gy in given if gy is not None and gy.size]
        if counted and not any(bool(gy.any()) for gy in counted):
            warnings.warn('all upstream gradients given are zero: random ones are used', stacklevel=7)
        return given

    def only(self, o: int, v: Any, others: str = 'none') -> list[Any]:
        """Upstream gradients: ``v`` for one output; None, zeros or the drawn ones for the others."""
        gys: list[Any] = [None] * len(self.values)
        for k in self.outputs:
            if k != o and others == 'zeros':
                gys[k] = times(self.upstream[k][0], 0)
            elif k != o and others == 'drawn':
                gys[k] = fresh_copy(self.upstream[k][0])
        gys[o] = v
        return gys

    def fail(self, o: int, i: int, cause: str, **values: Any) -> None:
        """Adds one failure of output ``o`` with regard to leaf ``i``."""
        self.report.add([self.failure(o, i, cause, **values)])
        self.broken.add((o, i))

    def failure(self, o: int, i: int, cause: str, **values: Any) -> Failure:
        """A failure of output ``o`` with regard to leaf ``i``."""
        values = {'index': None, 'numeric': None, 'analytic': None, **values}
        name = self.subject.leaves[i].name if i >= 0 else None
        return Failure(self.order, o, name, cause=cause, **values)


def times(array: Any, factor: float) -> Any:
    """The product as a new array of the same dtype and layout."""
    copy = fresh_copy(array)
    copy *= array.dtype.type(factor)
    return copy


def _scale(y: Any) -> float:
    """A power of two, at most 1, that prevents overflow in sums over a huge output."""
    if not y.size:
        return 1.0
    largest = float(abs(y).max())
    limit = float(np.finfo(y.dtype).max) / (64 * max(y.size, 1)) if y.dtype.itemsize > 2 else float('inf')
    if not np.isfinite(largest) or largest <= limit:
        return 1.0
    return 2.0 ** -int(np.ceil(np.log2(largest) - np.log2(limit)))
