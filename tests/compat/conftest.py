"""The alias for the tests of this folder that ask for it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from minichainer import compat


@pytest.fixture
def alias() -> Iterator[None]:
    """The alias is installed while the test runs."""
    compat.install()
    yield
    compat.uninstall()
