"""Kernels in C++ without a device: their sources as CuPy would make them, and their bodies on NumPy arrays."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import pkgutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

import minichainer.kernels.cuda
from minichainer.kernels.cuda import _table

PATH = Path(__file__).resolve().parents[1] / 'cupy_stand_in' / 'cupy' / '_compiled.py'


@functools.lru_cache(None)
def host() -> Any:
    """The module that builds kernels by the host's compiler, also where the stand-in is not in use."""
    if (module := sys.modules.get('cupy._compiled')) is not None:
        return module
    spec = importlib.util.spec_from_file_location('minichainer_test_kernels', PATH)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def declared() -> list[Any]:
    """All kernels of the package."""
    for found in pkgutil.iter_modules(minichainer.kernels.cuda.__path__, 'minichainer.kernels.cuda.'):
        importlib.import_module(found.name)
    return list(_table.declared())


def on_host(kernel: Any) -> Any:
    """A declared kernel as :class:`Elementwise` or :class:`Reducing`, callable with a list of NumPy arrays."""
    if isinstance(kernel, _table.ElementwiseKernel):
        return host().Elementwise(kernel.inputs, kernel.outputs, kernel.body, kernel.name, preamble=kernel.preamble)
    options = {'reduce_type': kernel.reduce_type, 'preamble': kernel.preamble}
    return host().Reducing(kernel.inputs, kernel.outputs, *kernel.expressions, kernel.name, **options)


def for_device(kernel: Any, dtypes: Mapping[str, str]) -> str:
    """The source of a declared kernel for NVRTC; all inputs but those of a fixed type are arrays."""
    built = on_host(kernel)
    found = {letter: np.dtype(char) for letter, char in dtypes.items()}
    _, source = built.source([param.raw or param.dtype is None for param in built.ins], found)
    return f'{host().HEADER}\n{source}'


def elementwise(in_params: str, out_params: str, operation: str, name: str, **kwargs: Any) -> Any:
    """In the place of ``backends.cuda.elementwise``: the kernel on NumPy arrays."""
    kernel = host().Elementwise(in_params, out_params, operation, name, **kwargs)

    def call(*args: Any, size: int | None = None) -> Any:
        results = kernel(list(map(_array, args)), size)
        return results[0] if len(results) == 1 else tuple(results)

    return call


def reduce(*args: Any, **kwargs: Any) -> Any:
    """In the place of ``backends.cuda.reduce``."""
    kernel = host().Reducing(*args, **kwargs)
    return lambda *given, axis=None, keepdims=False: kernel(list(map(_array, given)), None, axis, keepdims)


def _array(value: Any) -> Any:
    """NumPy makes scalars of arrays without axes; CuPy does not."""
    return np.asarray(value) if isinstance(value, np.generic) else value
