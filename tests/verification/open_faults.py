"""Tests that fail, by what is missing. Whoever repairs it takes the name out: such a test must not pass unseen."""

from __future__ import annotations

#: What is missing, and the tests, as ``module::name``.
OPEN: dict[str, tuple[str, ...]] = {}
REASONS = {name: reason for reason, names in OPEN.items() for name in names}
