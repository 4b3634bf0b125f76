"""Marks for the requirements of tests; unmet requirements skip the test, in pytest and unittest.

pytest is optional: without it the marks only skip. pytest is not loaded before a test is decorated.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import unittest
import warnings
from typing import Any

from minichainer.backends import cuda

__all__ = ['check_available', 'chainerx', 'cudnn', 'get_error', 'gpu', 'ideep', 'is_available', 'multi_gpu', 'slow']


def get_error() -> ImportError | None:
    """Why pytest's marks are not available, or None.

    >>> from minichainer.testing import attr
    >>> attr.get_error() is None
    True
    """
    if importlib.util.find_spec('pytest') is None:
        return ModuleNotFoundError("No module named 'pytest'", name='pytest')
    return None


def is_available() -> bool:
    """Whether pytest's marks are available.

    >>> from minichainer.testing import attr
    >>> attr.is_available()
    True
    """
    return get_error() is None


def check_available() -> None:
    """Raises a RuntimeError unless pytest's marks are available.

    >>> from minichainer.testing import attr
    >>> attr.check_available()
    """
    error = get_error()
    if error is not None:
        raise RuntimeError(f'minichainer.testing.attr needs pytest, which is not installed: {error}')


def _marked(name: str, test: Any, missing: str | None = None) -> Any:
    """The test with a mark of pytest, and skipped if ``missing`` names an unmet requirement."""
    if missing is not None:
        test = unittest.skip(missing)(test)
    if is_available():
        pytest = importlib.import_module('pytest')
        test = _with_mark(pytest, name, test)
        if missing is not None:
            test = pytest.mark.skip(reason=missing)(test)
    return test


def _with_mark(pytest: Any, name: str, test: Any) -> Any:
    """Adds a mark registered by our plugin; omits it in a strict project that disables the plugin."""
    with warnings.catch_warnings():
        warnings.simplefilter('ignore', pytest.PytestUnknownMarkWarning)
        try:
            return getattr(pytest.mark, name)(test)
        except pytest.fail.Exception:
            return test


def gpu(f: Any) -> Any:
    """Marks a test or a class that needs a GPU; skipped if there is none.

    Source: documentation of ``chainer.testing.attr.gpu``.

    >>> from minichainer.testing import attr
    >>> @attr.gpu
    ... def test_on_gpu():
    ...     pass
    """
    return multi_gpu(1)(f)


def multi_gpu(gpu_num: int) -> Any:
    """Marks a test or a class that needs several GPUs; skipped if there are fewer.

    The environment variable ``CHAINER_TEST_GPU_LIMIT`` limits the number of GPUs for tests.

    Args:
        gpu_num: How many GPUs.

    Source: documentation of ``chainer.testing.attr.multi_gpu``.

    >>> from minichainer.testing import attr
    >>> @attr.multi_gpu(2)
    ... def test_on_two_gpus():
    ...     pass
    """
    found = _gpus()
    missing = None if found >= gpu_num else f'needs {gpu_num} GPU{"s" * (gpu_num > 1)} with CuPy, {found} found'
    return lambda f: _marked('gpu', f, missing)


def _gpus() -> int:
    limit = int(os.environ.get('CHAINER_TEST_GPU_LIMIT', '-1'))
    found = cuda.cupy.cuda.runtime.getDeviceCount() if cuda.available else 0
    return found if limit < 0 else min(found, limit)


def cudnn(*args: Any, **kwargs: Any) -> Any:
    """Marks a test or a class that needs cuDNN; skipped if CuPy has none.

    Source: documentation of ``chainer.testing.attr.cudnn``.

    >>> from minichainer.testing import attr
    >>> @attr.cudnn
    ... def test_with_cudnn():
    ...     pass
    """
    return _decorator('cudnn', None if cuda.cudnn_enabled else 'needs CuPy with cuDNN', args, kwargs)


def slow(*args: Any, **kwargs: Any) -> Any:
    """Marks a test or a class that takes long; ``pytest -m "not slow"`` deselects it.

    Source: documentation of ``chainer.testing.attr.slow``.

    >>> from minichainer.testing import attr
    >>> @attr.slow
    ... def test_that_takes_long():
    ...     pass
    """
    return _decorator('slow', None, args, kwargs)


def ideep(*args: Any, **kwargs: Any) -> Any:
    """Marks a test or a class of iDeep, which is not supported: it is always skipped.

    >>> from minichainer.testing import attr
    >>> @attr.ideep
    ... def test_with_ideep():
    ...     pass
    """
    return _decorator('ideep', 'iDeep is not supported by minichainer', args, kwargs)


def chainerx(*args: Any, **kwargs: Any) -> Any:
    """Marks a test or a class of ChainerX, which is not supported: it is always skipped.

    >>> from minichainer.testing import attr
    >>> @attr.chainerx
    ... def test_with_chainerx():
    ...     pass
    """
    return _decorator('chainerx', 'ChainerX is not supported by minichainer', args, kwargs)


def _decorator(name: str, missing: str | None, args: Any, kwargs: Any) -> Any:
    """Supports both ``@attr.slow`` and ``@attr.slow()``."""
    if len(args) == 1 and not kwargs and callable(args[0]):
        return _marked(name, args[0], missing)
    return lambda test: _marked(name, test, missing)
