"""What a check found out: the verdict, the wrong elements, and the errors that carry them."""

from __future__ import annotations

import dataclasses
from typing import Any

#: Where several apply, the first one is the report's.
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
    """One element of a gradient that is wrong, or a gradient that is wrong as a whole.

    Attributes:
        order: 1 for the gradient of the function, 2 for the gradient of its gradients, and so on.
        output: Position of the output; from the second order on outputs are gradients, in the order of the
            inputs and then the parameters of the order before.
        input: Position of the input, its path inside containers (``0.b[1]``), or a parameter's name;
            None where the function itself is at fault.
        index: Tuple of integers into the input; None for the gradient as a whole.
        numeric: What the finite difference gives, or None where none was made.
        analytic: What backward gives, or None where it gives none.
        left_slope: At a kink, the slope from the left.
        right_slope: At a kink, the slope from the right.
        cause: A short name, a colon, and a sentence.
        ratio: Error over tolerance.
        verdict: What this failure alone amounts to.
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

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values; numbers that are not finite as strings, for JSON has none."""
        return {key: _plain(value) for key, value in dataclasses.asdict(self).items()}


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
        failure_count: How many elements are wrong; at least so many where ``complete`` is False.
        complete: Whether all wrong elements are known.
        order: The order that was asked for.
        seed: Of the directions and upstream gradients; the same seed gives the same report.
        forward_calls: Calls of the function.
        backward_calls: Backward passes.
        jacobian_calls: Calls of either kind made for the full Jacobian, on top of these.
        notes: What else there is to know, in sentences.
        message: The report as text.
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
    notes: list[str] = dataclasses.field(default_factory=list)
    message: str = ''
    _counts: dict[tuple[Any, ...], int] = dataclasses.field(default_factory=dict, repr=False)

    def __bool__(self) -> bool:
        return self.verdict == 'pass'

    def __str__(self) -> str:
        return self.message

    def add(self, failures: list[Failure], count: int | None = None, complete: bool = True) -> None:
        """Takes failures of one pair of output and input, and lets the verdict follow."""
        self.failures += failures
        self.failure_count += len(failures) if count is None else count
        self.complete &= complete
        if failures:
            self._counts[_pair(failures[0])] = len(failures) if count is None else count
        for failure in failures:
            self.lower(failure.verdict)

    def count_of(self, failure: Failure) -> int:
        """How many elements of the same gradient are wrong in the same way."""
        return self._counts.get(_pair(failure), 1)

    def lower(self, verdict: str) -> None:
        """The verdict is now this one, unless a graver one applies."""
        self.verdict = min(self.verdict, verdict, key=VERDICTS.index)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values that JSON can hold; the same for the same seed."""
        values = {f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.name != '_counts'}
        return {**values, 'notes': list(self.notes), 'failures': [f.to_dict() for f in self.failures]}


def _pair(failure: Failure) -> tuple[Any, ...]:
    return failure.order, failure.output, failure.input, failure.cause


class GradcheckError(AssertionError, RuntimeError):
    """A gradient check did not pass; ``report`` says everything that is known."""

    def __init__(self, message: str = '', report: GradientReport | None = None) -> None:
        super().__init__(message)
        self.report = report


class NondifferentiableError(GradcheckError):
    """The function has a kink or a jump at the checked point."""


class UnresolvedError(GradcheckError):
    """At this precision right and wrong cannot be told apart; the text says what would resolve it."""


def error_of(report: GradientReport) -> GradcheckError:
    """The exception for a report that is no "pass"."""
    kinds = {'nondifferentiable': NondifferentiableError, 'unresolved': UnresolvedError}
    return kinds.get(report.verdict, GradcheckError)(report.message, report)
