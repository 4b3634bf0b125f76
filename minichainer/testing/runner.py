"""Running a test module as a script."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
import unittest

__all__ = ['run_module']


def run_module(name: str, file: str) -> None:
    """Runs the tests of a module if it is started as a script, and exits with pytest's status.

    It stops at the first failure. Command line arguments go to pytest, or to ``unittest`` if pytest is not installed.

    Args:
        name: ``__name__`` of the module; nothing happens unless it is ``'__main__'``.
        file: ``__file__`` of the module.

    Source: documentation of ``chainer.testing.run_module``.

    >>> from minichainer import testing
    >>> testing.run_module('imported', 'test_of_mine.py')
    """
    if name != '__main__':
        return
    if importlib.util.find_spec('pytest') is None:
        unittest.main(module='__main__', failfast=True)
    pytest = importlib.import_module('pytest')
    # Given by name, a file is collected whatever its name is.
    raise SystemExit(pytest.main(['-x', '-v', os.path.abspath(file), *sys.argv[1:]]))
