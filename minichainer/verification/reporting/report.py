"""The results of a check: the verdict, the wrong elements, and the exceptions."""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from minichainer.errors import GradcheckError, NondifferentiableError, RefusedGradientError, UnresolvedError
from minichainer.verification.reporting.explanation import Comparison, Explanation
from minichainer.verification.reporting.page import fragment
from minichainer.verification.reporting.picture import plot
from minichainer.verification.reporting.tolerances import enough

#: The most severe first; a report has the first one that applies.
VERDICTS = (
    'input_modified',
    'nondeterministic',
    'not_finite',
    'fail',
    'nondifferentiable',
    'unresolved',
    'pass',
)


@dataclasses.dataclass(frozen=True)
class Failure:
    """A wrong element of a gradient, or a gradient that is wrong as a whole.

    Attributes:
        order: 1 for the gradient of the function, 2 for the gradient of its gradients, and so on.
        output: Position of the output. From the second order on the outputs are gradients, in the order of the
            inputs and parameters of the order below.
        input: Position of the input, its path inside containers (``0.b[1]``), or a parameter's name;
            None if it concerns the function itself.
        index: Tuple of integers into the input; None for the gradient as a whole.
        part: "real" or "imaginary", of the gradient of a complex input: the part that the numbers are about.
        numeric: The finite difference, or None if there is none.
        analytic: The value from backward, or None if there is none.
        left_slope: At a kink, the slope from the left.
        right_slope: At a kink, the slope from the right.
        cause: A short name, a colon and a sentence.
        ratio: The error divided by the tolerance.
        verdict: The verdict for this failure alone.
    """

    order: int
    output: int
    input: int | str | None
    index: tuple[int, ...] | None
    numeric: float | None
    analytic: float | None
    left_slope: float | None = None
    right_slope: float | None = None
    cause: str = ''
    ratio: float = float('inf')
    verdict: str = 'fail'
    part: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values; numbers that are not finite as strings, because JSON has none."""
        return {key: _plain(value) for key, value in dataclasses.asdict(self).items()}


@dataclasses.dataclass(frozen=True)
class Unvouched:
    """Elements of a gradient for which a check does not vouch: it would not have seen an error there.

    Attributes:
        order: As in :class:`Failure`.
        output: Likewise; None for all.
        input: Likewise.
        count: How many elements.
        indices: The first of them, tuples of integers into the input; at most ``max_failures``.
        reason: Why, in words that continue a sentence.
    """

    order: int
    output: int | None
    input: int | str
    count: int
    indices: list[tuple[int, ...]]
    reason: str

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values."""
        return {**dataclasses.asdict(self), 'indices': [list(index) for index in self.indices]}


#: The fields of a report that are not in its dict.
_ARRAYS = ('_counts', '_kinks', 'comparisons', 'explanation')
#: The verdicts of an element at a kink or a jump, and the most of these that a report keeps.
_SINGULAR, _KEPT = ('nondifferentiable', 'not_finite'), 64


def _plain(value: Any) -> Any:
    if isinstance(value, float) and not abs(value) < float('inf'):
        return repr(value)
    return list(value) if isinstance(value, tuple) else value


@dataclasses.dataclass
class GradientReport:
    """The result of :func:`~minichainer.gradient_check.check_gradients`; true if the verdict is "pass".

    Attributes:
        verdict: "pass", "fail", "nondifferentiable", "unresolved", "nondeterministic", "input_modified" or
            "not_finite".
        failures: What is wrong, worst first, at most ``max_failures`` per pair of output and input.
        failure_count: How many elements are wrong; a lower bound if ``complete`` is False.
        complete: Whether all wrong elements are known.
        order: The requested order.
        seed: The seed of the directions and upstream gradients; the same seed gives the same report.
        forward_calls: Calls of the function.
        backward_calls: Backward passes.
        jacobian_calls: Further calls of either kind, made for the full Jacobian.
        accuracy: The largest relative difference of backward from slopes at 50 digits or more; None if they were
            measured by differences of float64.
        digits: How many digits that took: 50, or 720 where numbers inside the function are far larger than the rest.
        not_precise: Why they were, if 50 digits were tried.
        notes: Further remarks, in sentences.
        strictness: "strict" or "chainer".
        accepted: What a strict check would list as failures, and the caller's rules accept: ``strictness='chainer'``,
            tolerances that were given, torch's comparison in :func:`~minichainer.gradient_check.gradcheck`.
        accepted_by: In which sense the gradients are then right, in words; empty if nothing was accepted.
        unvouched: Elements for which the check does not vouch.
        message: The report as text.
        comparisons: Arrays of the gradients that were searched for wrong elements: see
            :class:`~minichainer.verification.reporting.explanation.Comparison`. Not part of :meth:`to_dict`.
        explanation: The parts of ``message``.
    """

    order: int
    seed: int
    verdict: str = 'pass'
    failures: list[Failure] = dataclasses.field(default_factory=list)
    failure_count: int = 0
    complete: bool = True
    forward_calls: int = 0
    backward_calls: int = 0
    jacobian_calls: int = 0
    accuracy: float | None = None
    digits: int = 50
    not_precise: str = ''
    notes: list[str] = dataclasses.field(default_factory=list)
    strictness: str = 'strict'
    accepted: list[Failure] = dataclasses.field(default_factory=list)
    accepted_by: str = ''
    unvouched: list[Unvouched] = dataclasses.field(default_factory=list)
    message: str = ''
    comparisons: list[Comparison] = dataclasses.field(default_factory=list, repr=False, compare=False)
    explanation: Explanation = dataclasses.field(default_factory=lambda: Explanation(''), repr=False, compare=False)
    _counts: dict[tuple[Any, ...], int] = dataclasses.field(default_factory=dict, repr=False)
    _kinks: list[tuple[int, int | str, tuple[int, ...]]] = dataclasses.field(
        default_factory=list, repr=False, compare=False
    )

    def __bool__(self) -> bool:
        return self.verdict == 'pass'

    @property
    def enough(self) -> dict[str, float]:
        """The tolerances with which the same check would pass, such as ``{'rtol': 1e-06}``.

        Empty if an error is not small, or of a kind that no tolerance accepts.
        """
        return enough(self.failures, self.comparisons) if self.verdict == 'fail' else {}

    def __str__(self) -> str:
        return self.message

    def add(self, failures: list[Failure], count: int | None = None, complete: bool = True) -> None:
        """Adds failures of one pair of output and input, and updates the verdict."""
        self.failures += failures
        self.failure_count += len(failures) if count is None else count
        self.complete &= complete
        if failures:
            self._counts[_pair(failures[0])] = len(failures) if count is None else count
        for failure in failures:
            self.lower(failure.verdict)

    def accept(self, failures: list[Failure] | None = None, by: str = "as far as Chainer's own check looks") -> None:
        """Moves failures to the accepted ones; without any, the verdict is "pass".

        Args:
            failures: All or some, of one order.
            by: In which sense the gradients are right, for the message.
        """
        accepted = list(self.failures) if failures is None else failures
        self.accepted, self.accepted_by = self.accepted + accepted, by
        self.replace(accepted, [])

    def replace(self, failures: list[Failure], by: list[Failure]) -> None:
        """Replaces failures by others, of which there may be none."""
        gone = set(map(id, failures))
        gradients = {(f.order, f.output, f.input) for f in failures}
        self.failure_count -= sum(self._counts.pop(pair, 1) for pair in {_pair(f) for f in failures})
        self.failures = [f for f in self.failures if id(f) not in gone]
        if not by:
            self.comparisons = [c for c in self.comparisons if (c.order, c.output, c.input) not in gradients]
        self.verdict = min([f.verdict for f in self.failures], key=VERDICTS.index, default='pass')
        self.complete |= not self.failures
        if by:
            self.add(by)

    def does_not_vouch(
        self,
        order: int,
        output: int | None,
        input: int | str,
        indices: Iterable[Sequence[int]],
        count: int,
        reason: str,
    ) -> None:
        """Says that an error in some elements of a gradient would not have been seen.

        The verdict stays; with ``strict=True`` it becomes "unresolved" at the end of the check.

        Args:
            order: As in :class:`Failure`.
            output: Likewise.
            input: Likewise.
            indices: The elements, or the first of them.
            count: How many there are.
            reason: Why, in words that continue a sentence.
        """
        listed = [tuple(map(int, index)) for index in itertools.islice(indices, _KEPT)]
        self.unvouched.append(Unvouched(order, output, input, int(count), listed, reason))

    @property
    def kinks(self) -> list[tuple[int | str, tuple[int, ...]]]:
        """Where gradients were measured at kinks, as pairs of input and index; the first 64."""
        return [(input, index) for _, input, index in self._kinks]

    def forget(self, order: int, input: int | str) -> None:
        """Removes what was measured of a leaf, and for which elements nobody vouches: something sharper decides."""
        self.comparisons = [c for c in self.comparisons if (c.order, c.input) != (order, input)]
        self.unvouched = [u for u in self.unvouched if (u.order, u.input) != (order, input)]
        self._kinks = [kink for kink in self._kinks if kink[:2] != (order, input)]

    def count_of(self, failure: Failure) -> int:
        """How many elements of the same gradient are wrong in the same way."""
        return self._counts.get(_pair(failure), 1)

    def lower(self, verdict: str) -> None:
        """Sets the verdict, unless the current one is more severe."""
        self.verdict = min(self.verdict, verdict, key=VERDICTS.index)

    def explain(self, explanation: Explanation) -> None:
        """Sets the explanation, and the message."""
        self.explanation, self.message = explanation, explanation.text()

    def compared(
        self, order: int, output: int, input: int | str, backward: Any, found: Any, right: Any = None
    ) -> None:
        """Stores the elements of a gradient that were measured.

        Args:
            order: As in :class:`Failure`.
            output: Likewise.
            input: Likewise.
            backward: The gradient from backward.
            found: What was measured: :class:`~minichainer.verification.localization.Measured`.
            right: The right gradient, if it is known as a whole.
        """
        comparison = Comparison(
            order,
            output,
            input,
            backward,
            found.elements,
            found.numeric,
            found.tolerance,
            found.left,
            found.right,
            found.complete and bool(np.isfinite(backward).all()),
        )
        self.comparisons.append(comparison if right is None else comparison.filled(right))
        singular = found.elements[np.isin(found.verdict, _SINGULAR)][: _KEPT - len(self._kinks)]
        self._kinks += [
            (order, input, tuple(map(int, np.unravel_index(e, backward.shape)))) for e in singular.tolist()
        ]

    def plot(self, path: Any = None, rows: int = 6) -> Any:
        """Draws the gradients from backward beside the measured ones.

        A row of panels per wrong gradient: measured, backward, and the error divided by the tolerance, over the
        elements; at a kink, the slopes on both sides. Arrays of more than two axes are folded. If there are more
        elements than can be drawn, each cell shows the element with the largest error. Elements that were not
        measured are hatched, unless they are known to be right.

        Args:
            path: Where to save the picture, in the format of its suffix; by default it is not saved.
            rows: At most so many gradients.

        Returns:
            The figure, a ``matplotlib.figure.Figure``.

        Raises:
            ImportError: matplotlib is not installed.

        >>> import numpy as np
        >>> import minichainer.functions as F
        >>> from minichainer.gradient_check import check_gradients
        >>> figure = check_gradients(F.absolute, np.array([1.0, 0.0, -2.0])).plot()
        >>> [axes.get_title() for axes in figure.axes[:3]]
        ['numeric', 'backward', 'slopes at (1,)']
        """
        return plot(self.explanation, path, rows)

    def _repr_html_(self) -> str:
        """The report for notebooks, with the picture if matplotlib is installed."""
        return fragment(self.verdict, self.explanation)

    def to_dict(self) -> dict[str, Any]:
        """Everything but the arrays as plain values for JSON; the same for the same seed."""
        values = {f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.name not in _ARRAYS}
        listed = {name: [f.to_dict() for f in getattr(self, name)] for name in ('failures', 'accepted', 'unvouched')}
        return {**values, 'enough': self.enough, 'notes': list(self.notes), **listed}


def _pair(failure: Failure) -> tuple[Any, ...]:
    return failure.order, failure.output, failure.input, failure.cause


def error_of(report: GradientReport) -> GradcheckError:
    """The exception for a report that did not pass."""
    kinds = {'nondifferentiable': NondifferentiableError, 'unresolved': UnresolvedError}
    refused = any(re.match(r'[^:]+: backward of .* returned', failure.cause) for failure in report.failures)
    kind = RefusedGradientError if refused else GradcheckError
    return kinds.get(report.verdict, kind)(report.message, report)
