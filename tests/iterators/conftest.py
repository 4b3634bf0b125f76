"""Processes of iterators are forked in these tests, which is fast; ``test_multiprocess_iterator.py`` has the others."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def forked() -> Iterator[None]:
    before = multiprocessing.get_start_method(allow_none=True)
    if 'fork' in multiprocessing.get_all_start_methods():
        multiprocessing.set_start_method('fork', force=True)
    yield
    multiprocessing.set_start_method(before, force=True)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Python warns of forks of processes that have threads, such as those of NumPy's BLAS."""
    for item in items:
        item.add_marker(pytest.mark.filterwarnings('ignore:.*multi-threaded, use of fork:DeprecationWarning'))
