"""Warnings of functions about themselves, and temporary folders."""

from __future__ import annotations

import contextlib
import sys
import warnings
from collections.abc import Iterator
from typing import Any

from minichainer.configuration import config


def experimental(api_name: str) -> None:
    """Warns that a feature may change; the feature itself calls it.

    ``minichainer.disable_experimental_feature_warning = True`` silences it.

    Args:
        api_name: name of the feature.
    """
    root = sys.modules.get(__name__.partition('.')[0])
    if not getattr(root, 'disable_experimental_feature_warning', False):
        warnings.warn(f'{api_name} is experimental: it may change', FutureWarning, stacklevel=3)


def nondeterministic(f_name: str) -> None:
    """Warns that a function is not deterministic, if ``config.warn_nondeterministic`` is set.

    Args:
        f_name: name of the function.
    """
    if config.warn_nondeterministic:
        warnings.warn(f'{f_name} is not deterministic, and config.warn_nondeterministic is set', stacklevel=3)


@contextlib.contextmanager
def tempdir(**kwargs: Any) -> Iterator[str]:
    """Context manager that makes a temporary folder and removes it at the end.

    Args:
        kwargs: ``suffix``, ``prefix`` and ``dir`` of :func:`tempfile.mkdtemp`.
    """
    import tempfile  # imported here, because it takes a tenth of the package's import time

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True, **kwargs) as path:
        yield path
