"""Tests of faults that are still open are expected to fail."""

from __future__ import annotations

import pytest

from tests.verification.open_faults import REASONS


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks the tests that ``open_faults.py`` names."""
    for item in items:
        reason = REASONS.get(f'{item.path.stem}::{item.name}')
        if reason is not None:
            # Not strict: rounding, and so the draws that fail, differs between processors.
            item.add_marker(pytest.mark.xfail(strict=False, reason=reason))
