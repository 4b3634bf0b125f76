"""Makes initialized arrays from a user's ``initializer``."""

from __future__ import annotations

import types
from collections.abc import Sequence
from typing import Any

import numpy

from minichainer._dtype import get_dtype
from minichainer.backend import CpuDevice, Device, GpuDevice, get_device
from minichainer.backends import cuda
from minichainer.initializer import Initializer
from minichainer.initializers.constant import Constant
from minichainer.initializers.normal import LeCunNormal
from minichainer.types import AbstractInitializer


def generate_array(
    initializer: AbstractInitializer,
    shape: int | Sequence[int],
    xp: types.ModuleType,
    dtype: Any = None,
    device: Any = None,
) -> Any:
    """A new array with the values of an initializer.

    Args:
        initializer: what fills the array.
        shape: shape of the array.
        xp: ``numpy`` or ``cupy``.
        dtype: dtype of the array; that of the initializer by default, or ``chainer.config.dtype``.
        device: device of the array; the current one of ``xp`` by default.

    Raises:
        TypeError: ``initializer`` is a class.
        ValueError: ``dtype`` is not that of the initializer, or ``device`` is not of ``xp``.

    >>> import numpy as np
    >>> from minichainer import initializers
    >>> initializers.generate_array(initializers.One(), (3,), np)
    array([1., 1., 1.], dtype=float32)
    """
    _refuse_class(initializer)
    own_dtype = getattr(initializer, 'dtype', None)
    if dtype is not None and own_dtype is not None and get_dtype(dtype) != get_dtype(own_dtype):
        raise ValueError(
            f'generate_array: expected dtype {get_dtype(dtype)}, but the initializer '
            f'{type(initializer).__name__} is for {get_dtype(own_dtype)}'
        )
    target = _target(xp, device)
    with target.create_context():
        dtype = get_dtype(own_dtype if dtype is None else dtype)
        array = target.xp.empty(shape, dtype)
        initializer(array)
    return array


def _refuse_class(initializer: Any) -> None:
    """Raises TypeError for a class: called with an array, it would make an initializer and leave the array alone."""
    if isinstance(initializer, type) and issubclass(initializer, Initializer):
        name = initializer.__name__
        raise TypeError(f'expected an initializer, got the class {name}: write {name}()')


def _target(xp: types.ModuleType, device: Any) -> Device:
    if device is None:
        return CpuDevice() if xp is numpy else GpuDevice(cuda.Device())
    target = get_device(device)
    if target.xp is not xp:
        raise ValueError(f'generate_array: device {target} is not of the array module {getattr(xp, "__name__", xp)}')
    return target


def _get_initializer(initializer: Any) -> Any:
    """A callable that fills arrays, from a user's ``initializer``.

    Args:
        initializer: None (for :class:`LeCunNormal`), a scalar or an array (for :class:`Constant`), or a callable that
            fills arrays, which is returned unchanged.
    """
    if initializer is None:
        return LeCunNormal()
    if isinstance(initializer, (numpy.ndarray, cuda.ndarray, int, float, complex, numpy.generic)):
        return Constant(initializer)
    _refuse_class(initializer)
    if not callable(initializer):
        raise TypeError(
            f'expected an initializer, a scalar, an array or None, got {initializer!r} of {type(initializer)}'
        )
    return initializer
