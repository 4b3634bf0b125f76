"""Marks that say what a test needs; where that is missing, the test is skipped, under pytest and unittest.

pytest is not needed: without it the marks only skip. No mark is made, and pytest not loaded, before a test
is decorated.
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
    """Why pytest's marks cannot be made, or None.

    >>> from minichainer.testing import attr
    >>> attr.get_error() is None
    True
    """
    if importlib.util.find_spec('pytest') is None:
        return ModuleNotFoundError("No module named 'pytest'", name='pytest')
    return None


def is_available() -> bool:
    """Whether pytest's marks can be made.

    >>> from minichainer.testing import attr
    >>> attr.is_available()
    True
    """
    return get_error() is None


def check_available() -> None:
    """Raises a RuntimeError where pytest's marks cannot be made.

    >>> from minichainer.testing import attr
    >>> attr.check_available()
    """
    error = get_error()
    if error is not None:
        raise RuntimeError(f'minichainer.testing.attr makes marks of pytest, which is not here: {error}')


def _marked(name: str, test: Any, missing: str | None = None) -> Any:
    """The test with a mark of pytest's, and skipped where ``missing`` says what it lacks."""
    if missing is not None:
        test = unittest.skip(missing)(test)
    if is_available():
        pytest = importlib.import_module('pytest')
        test = _with_mark(pytest, name, test)
        if missing is not None:
            test = pytest.mark.skip(reason=missing)(test)
    return test


def _with_mark(pytest: Any, name: str, test: Any) -> Any:
    """The mark is registered by our plugin; where that is switched off, a strict project goes without it."""
    with warnings.catch_warnings():
        warnings.simplefilter('ignore', pytest.PytestUnknownMarkWarning)
        try:
            return getattr(pytest.mark, name)(test)
        except pytest.fail.Exception:
            return test


def gpu(f: Any) -> Any:
    """Marks a test or a class that needs a GPU; skipped where there is none.

    Source: documentation of ``chainer.testing.attr.gpu``.

    >>> from minichainer.testing import attr
    >>> @attr.gpu
    ... def test_on_gpu():
    ...     pass
    """
    return multi_gpu(1)(f)


def multi_gpu(gpu_num: int) -> Any:
    """Marks a test or a class that needs several GPUs; skipped where there are fewer.

    The environment variable ``CHAINER_TEST_GPU_LIMIT`` says how many GPUs tests may use, where it should be
    fewer than there are.

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
    """Marks a test or a class that needs cuDNN; skipped where CuPy has none.

    Source: documentation of ``chainer.testing.attr.cudnn``.

    >>> from minichainer.testing import attr
    >>> @attr.cudnn
    ... def test_with_cudnn():
    ...     pass
    """
    return _decorator('cudnn', None if cuda.cudnn_enabled else 'needs CuPy with cuDNN', args, kwargs)


def slow(*args: Any, **kwargs: Any) -> Any:
    """Marks a test or a class that takes long; ``pytest -m "not slow"`` leaves it out.

    Source: documentation of ``chainer.testing.attr.slow``.

    >>> from minichainer.testing import attr
    >>> @attr.slow
    ... def test_that_takes_long():
    ...     pass
    """
    return _decorator('slow', None, args, kwargs)


def ideep(*args: Any, **kwargs: Any) -> Any:
    """Marks a test or a class of iDeep, which does not exist here: it is always skipped.

    >>> from minichainer.testing import attr
    >>> @attr.ideep
    ... def test_with_ideep():
    ...     pass
    """
    return _decorator('ideep', 'iDeep does not exist in minichainer', args, kwargs)


def chainerx(*args: Any, **kwargs: Any) -> Any:
    """Marks a test or a class of ChainerX, which does not exist here: it is always skipped.

    >>> from minichainer.testing import attr
    >>> @attr.chainerx
    ... def test_with_chainerx():
    ...     pass
    """
    return _decorator('chainerx', 'ChainerX does not exist in minichainer', args, kwargs)


def _decorator(name: str, missing: str | None, args: Any, kwargs: Any) -> Any:
    """Serves ``@attr.slow`` and ``@attr.slow()``."""
    if len(args) == 1 and not kwargs and callable(args[0]):
        return _marked(name, args[0], missing)
    return lambda test: _marked(name, test, missing)
