"""All tests here need CuPy or its stand-in; those of the stand-in's own say so."""

from __future__ import annotations

from pathlib import Path

import pytest

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.gpu)


@pytest.fixture
def cupy() -> object:
    """CuPy, or what stands in for it."""
    return pytest.importorskip('cupy')


@pytest.fixture
def meter() -> object:
    """What the stand-in counts with."""
    return pytest.importorskip('cupy._meter', reason='CuPy itself counts nothing')
