"""Every figure recorded from Chainer 7.8.1 is reproduced, or listed in pending.py with the reason."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Any

import pytest

from tests.reference import pending, replay
from tests.reference.replay import Case

CASES = [case for family in replay.FAMILIES for case in replay.load(family)]
PENDING = [
    (family, entry, reason)
    for family, by_reason in pending.PENDING.items()
    for reason, entries in by_reason.items()
    for entry in entries
]
DIFFERENT = [
    (family, entry, reason) for family, by_entry in pending.DIFFERENT.items() for entry, reason in by_entry.items()
]
LISTED = PENDING + DIFFERENT


def _covers(family: str, entry: str, case: Case) -> bool:
    if family != case.family:
        return False
    if '/' not in entry:
        return case.target == entry
    return case.id == entry or fnmatchcase(case.id, entry)


def _expected_to_pass() -> Iterator[Any]:
    for case in CASES:
        if not any(_covers(family, entry, case) for family, entry, _ in LISTED):
            marks = [pytest.mark.slow] if 'slow' in case.tags else []
            yield pytest.param(case, id=str(case), marks=marks)


@pytest.fixture(scope='module')
def names() -> Iterator[dict[str, Any]]:
    with replay.names_of('minichainer') as found:
        yield found


@pytest.mark.parametrize('case', list(_expected_to_pass()))
def test_recorded(case: Case, names: dict[str, Any]) -> None:
    found = replay.complaints(case, names)
    assert not found, '\n    '.join([f'{case}: {case.spec["call"]}', *found])


@pytest.mark.parametrize(('family', 'entry', 'reason'), LISTED, ids=[f'{f}:{e}' for f, e, _ in LISTED])
def test_listed_entry_is_still_needed(family: str, entry: str, reason: str, names: dict[str, Any]) -> None:
    cases = [case for case in CASES if _covers(family, entry, case)]
    assert cases, f'{family}:{entry} matches no recorded case; remove it from pending.py'
    still_failing = any(replay.complaints(case, names) for case in cases)
    assert still_failing, f'all {len(cases)} cases of {family}:{entry} pass; remove it from pending.py ({reason})'


def test_no_case_is_listed_twice() -> None:
    by_case = {str(case): [entry for family, entry, _ in LISTED if _covers(family, entry, case)] for case in CASES}
    assert {case: entries for case, entries in by_case.items() if len(entries) > 1} == {}
