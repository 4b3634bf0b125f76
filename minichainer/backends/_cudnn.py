"""Whether to use cuDNN, given CuPy and the settings."""

from __future__ import annotations

from typing import Any

import numpy

from minichainer.configuration import config

#: CuPy's module for cuDNN, or None.
library: Any = None
#: cuDNN's version number, such as 8900.
version = 0


def set_library(module: Any, its_version: int) -> None:
    """Sets the cuDNN library, once it is known whether CuPy can be used."""
    global library, version
    library, version = module, its_version


_USE_LEVELS = {'never': 0, 'auto': 1, 'always': 2}


def get_max_workspace_size() -> int:
    """The largest workspace of cuDNN in bytes; 0 without cuDNN."""
    return library.get_max_workspace_size() if library is not None else 0


def set_max_workspace_size(size: int) -> None:
    """Sets the largest workspace of cuDNN in bytes; does nothing without cuDNN."""
    if library is not None:
        library.set_max_workspace_size(size)


def should_use_cudnn(level: str, lowest_version: int = 0) -> bool:
    """True if cuDNN is available and ``chainer.config.use_cudnn`` enables it.

    Args:
        level: ``'==always'`` (the setting must be ``'always'``) or ``'>=auto'`` (``'auto'`` is enough).
        lowest_version: the oldest version of cuDNN that will do, as cuDNN counts it (such as 7000).
    """
    if level not in ('==always', '>=auto'):
        raise ValueError(f"should_use_cudnn: expected level '==always' or '>=auto', got {level!r}")
    if config.use_cudnn not in _USE_LEVELS:
        raise ValueError(f"chainer.config.use_cudnn: expected 'always', 'auto' or 'never', got {config.use_cudnn!r}")
    if library is None or version < lowest_version:
        return False
    return _USE_LEVELS[config.use_cudnn] >= _USE_LEVELS[level[2:]]


def should_use_cudnn_tensor_core(dtype: Any) -> bool:
    """True if cuDNN should use tensor cores for ``dtype``, according to ``chainer.config.use_cudnn_tensor_core``.

    Args:
        dtype: dtype of the arrays.
    """
    setting = config.use_cudnn_tensor_core
    if setting not in _USE_LEVELS:
        raise ValueError(
            f"chainer.config.use_cudnn_tensor_core: expected 'always', 'auto' or 'never', got {setting!r}"
        )
    if library is None or setting == 'never':
        return False
    return setting == 'always' or bool(library.is_tensor_core_available(numpy.dtype(dtype)))
