"""The generic tests of links: each runs over every row of the table."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.links import checks
from tests.links.row import Row
from tests.links.table import ROWS

#: Links with the same code as others, in both directions or with dropout.
LIKE_OTHERS = re.compile(r'NStepBi(?!LSTM$)|(NStep|Transformer)\w+ with')
#: Links with so many parameters, or such deep graphs, that their second derivatives take more than a few seconds.
DEEP = re.compile(r'NStep|GRU|LSTM|Transformer|MultiHead|Inception')


def _cases() -> Iterator[Any]:
    for row in ROWS:
        for check in checks.CHECKS:
            yield pytest.param(row, check, id=f'{row}-{check}', marks=[pytest.mark.slow] * _is_slow(row, check))


def _is_slow(row: Row, check: str) -> bool:
    if check == 'gradients_in_testing':  # the same computation, unless the results differ
        return row.same_in_test or LIKE_OTHERS.search(str(row)) is not None
    long = {'second_order': DEEP, 'gradients': LIKE_OTHERS}.get(check)
    return long is not None and long.search(str(row)) is not None


@pytest.mark.parametrize(('row', 'check'), list(_cases()))
def test_row(row: Row, check: str) -> None:
    checks.CHECKS[check](row)


@pytest.mark.parametrize('row', ROWS, ids=str)
def test_serialization(row: Row, tmp_path: Path) -> None:
    checks.serialization(row, tmp_path)


@pytest.mark.parametrize('row', [row for row in ROWS if row.lazy is not None], ids=str)
def test_lazy_form(row: Row) -> None:
    checks.lazy_form(row)
