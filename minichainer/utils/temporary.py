"""Temporary folders."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any


@contextlib.contextmanager
def tempdir(**kwargs: Any) -> Iterator[str]:
    """Context manager that makes a temporary folder and removes it at the end.

    Args:
        kwargs: ``suffix``, ``prefix`` and ``dir`` of :func:`tempfile.mkdtemp`.
    """
    import tempfile  # imported here, because it takes a tenth of the package's import time

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True, **kwargs) as path:
        yield path
