"""Processes of iterators are forked in these tests, which is fast; programs are run with other start methods."""

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
