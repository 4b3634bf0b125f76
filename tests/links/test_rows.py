"""The generic tests of links: each runs over every row of the table."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.links import checks
from tests.links.row import Row
from tests.links.table import ROWS


@pytest.mark.parametrize('check', checks.CHECKS)
@pytest.mark.parametrize('row', ROWS, ids=str)
def test_row(row: Row, check: str) -> None:
    checks.CHECKS[check](row)


@pytest.mark.parametrize('row', ROWS, ids=str)
def test_serialization(row: Row, tmp_path: Path) -> None:
    checks.serialization(row, tmp_path)


@pytest.mark.parametrize('row', [row for row in ROWS if row.lazy is not None], ids=str)
def test_lazy_form(row: Row) -> None:
    checks.lazy_form(row)
