"""Runs an entry through the checker and compares its report with the truth."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from minichainer.gradient_check import check_gradients
from tests.verification.catalogue import truth
from tests.verification.catalogue.causes import LINEAR, says
from tests.verification.catalogue.entry import Case, Correct, Planted, Shape

ROOM = 64  # elements that a report lists for a pair of output and input
SAMPLE = 8  # of more wrong elements than that, so many at least must be named


@dataclass
class Outcome:
    """What came of one run.

    Args:
        verdict: of the report, or ``error`` and its text where none came.
        right: the verdict is one of those that the entry accepts.
        exact: the wrong elements are those that it names; None where there are none to name.
        cause: it names the right cause; None where the entry has none.
        calls: of the function and of backward.
    """

    name: str
    verdict: str
    right: bool
    exact: bool | None = None
    cause: bool | None = None
    calls: tuple[int, int] = (0, 0)
    seconds: float = 0.0
    said: str = ''


def run(entry: Any, shape: Shape, dtype: str, seed: int) -> Outcome:
    """One entry at one point."""
    case = entry.build(shape, dtype, seed)
    start = time.perf_counter()
    try:
        report = check_gradients(
            case.func, case.inputs, order=entry.order, strictness='strict', seed=seed, **case.options
        )
    except Exception as error:
        wanted = getattr(entry, 'raises', None)
        right = wanted is not None and isinstance(error, wanted)
        return Outcome(
            entry.name, f'error: {type(error).__name__}: {error}', right, seconds=time.perf_counter() - start
        )
    seconds = time.perf_counter() - start
    right = report.verdict in entry.verdicts and getattr(entry, 'raises', None) is None
    outcome = Outcome(entry.name, report.verdict, right, seconds=seconds)
    outcome.calls = report.forward_calls, report.backward_calls
    outcome.said = report.failures[0].cause if report.failures else ''
    if isinstance(entry, Planted) and outcome.right:
        outcome.exact = elements_exact(entry, entry.build(shape, dtype, seed), dtype, report)
        if entry.causes:
            outcome.cause = any(says(f.cause, entry.causes) for f in report.failures[:1])
    return outcome


def elements_exact(entry: Planted, case: Case, dtype: str, report: Any) -> bool | None:
    """Whether the failures name the wrong elements, and no others.

    All of them must be named where there is room for them; of more, a sample will do. Elements that are wrong by
    less than what must be found may be named or not.
    """
    if entry.where in ('any', 'whole') or _is_not_linear(entry, report):
        return None
    errors = truth.difference(entry, case)
    listed = _by_input(report, len(errors), truth.names(case))
    least, rounding = truth.CERTAIN[dtype], truth.POSSIBLE
    if entry.native:
        least, rounding = truth.CERTAIN_NATIVE, truth.NATIVE
    elif entry.family == 'precision':
        least, rounding = truth.CERTAIN_PRECISE, 0.0
    return all(_agrees(found, error, least, rounding) for found, error in zip(listed, errors, strict=True))


def _is_not_linear(entry: Planted, report: Any) -> bool:
    """Whether the failure is one of the whole gradient, rightly: it is not linear in the upstream gradient."""
    return LINEAR in (entry.causes or ()) and says(report.failures[0].cause, (LINEAR,))


def _by_input(report: Any, count: int, names: list[Any]) -> list[list[Any]]:
    listed: list[list[Any]] = [[] for _ in range(count)]
    for failure in report.failures:
        listed[names.index(failure.input) if failure.input in names else int(failure.input)].append(failure.index)
    return listed


def _agrees(found: list[Any], error: Any, least: float, rounding: float) -> bool:
    certain, possible = error > least, error > rounding
    if None in found:
        return bool(possible.all()) and possible.size > 0
    named = np.zeros(error.shape, bool)
    for index in found:
        named[index] = True
    if (named & ~possible).any():
        return False
    if possible.sum() > ROOM:
        return len(found) >= SAMPLE
    return not (certain & ~named).any()


def entries_for(entries: list[Any], shape: Shape, dtype: str) -> list[Any]:
    """Those that can be built."""
    return [entry for entry in entries if entry.fits(shape, dtype)]


def prove(entry: Any, shape: Shape, dtype: str, seed: int) -> None:
    """Raises ``truth.Contradiction`` unless the entry is what it says."""
    case = entry.build(shape, dtype, seed)
    if isinstance(entry, Correct):
        truth.prove_correct(entry, case)
    else:
        truth.prove_planted(entry, case)
