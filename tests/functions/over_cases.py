"""Runs a test over all cases of each row of the table of functions."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest

from tests.functions.row import Case, Row


def over_cases(
    pairs: Iterable[tuple[Row, Case]],
    marks: Callable[[str], Any] = lambda name: (),
    is_later: Callable[[Row, int], bool] = lambda row, number: False,
) -> Any:
    """Decorator of a test of ``row`` and ``case``, which may also take fixtures and other parameters.

    pytest sees one test for each row: what it does around a test takes longer than most cases do, and there are 1700.
    Random numbers are seeded anew for each case.

    Args:
        pairs: the rows and cases.
        marks: marks of a row by its name.
        is_later: whether a case, by its number in the row, is for the long run only.
    """
    rows: dict[str, tuple[Row, list[Case]]] = {}
    for row, case in pairs:
        rows.setdefault(str(row), (row, []))[1].append(case)
    chosen = []
    for name, (row, cases) in rows.items():
        now, later = ([c for i, c in enumerate(cases) if is_later(row, i) == which] for which in (False, True))
        if now:
            chosen.append(pytest.param(row, now, id=name, marks=marks(name)))
        if later:
            chosen.append(pytest.param(row, later, id=f'{name}, more cases', marks=pytest.mark.slow))

    def decorate(test: Callable[..., None]) -> Any:
        @functools.wraps(test)
        def each_case(row: Row, cases: list[Case], **others: Any) -> None:
            for case in cases:
                np.random.seed(0)
                try:
                    test(row=row, case=case, **others)
                except Exception as error:
                    raise AssertionError(f'{row}-{case}: {type(error).__name__}: {error}') from error

        parameters = inspect.signature(test).parameters.values()
        named = [p.replace(name='cases') if p.name == 'case' else p for p in parameters]
        each_case.__signature__ = inspect.Signature(named)  # type: ignore[attr-defined]
        return pytest.mark.parametrize(('row', 'cases'), chosen)(each_case)

    return decorate
