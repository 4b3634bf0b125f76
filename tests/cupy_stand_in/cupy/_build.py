"""Fills the modules with what the surface names and NumPy or SciPy can compute."""

from __future__ import annotations

import sys
import types
from typing import Any

import numpy as np

from . import _functions
from ._surface import SURFACE, names
from ._ufuncs import ufunc

_CONSTANTS = (np.generic, np.dtype, np.finfo, np.iinfo, Exception)


def fill(namespace: dict[str, Any], module: str, source: Any) -> None:
    """Adds the names of a module of CuPy that are not there; those that nobody can compute say so when called."""
    for name, entry in names(module).items():
        if name in namespace or name.startswith('_'):
            continue
        found = _made(module, name, entry, getattr(source, name, None))
        if found is not None:
            namespace[name] = found


def _made(module: str, name: str, entry: dict[str, Any], compute: Any) -> Any:
    kind = entry['kind']
    if kind == 'constant':
        return compute
    if kind == 'class':
        return compute if isinstance(compute, type) and issubclass(compute, _CONSTANTS) else None
    if kind == 'module':
        return None
    if not callable(compute):
        return _missing(f'{module}.{name}')
    if kind == 'ufunc' and (entry.get('types') or isinstance(compute, np.ufunc)) and not _is_generalized(compute):
        return ufunc(name, entry, compute)
    return _functions.function(module, name, entry, compute)


def _is_generalized(compute: Any) -> bool:
    return getattr(compute, 'signature', None) is not None


def _missing(full: str) -> Any:
    def missing(*args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f'the stand-in has no {full}; CuPy has')

    missing.__name__ = full.rpartition('.')[2]
    return missing


def prune(namespace: dict[str, Any], module: str) -> None:
    """Removes the public names that CuPy does not have."""
    known = {**names(module), 'annotations': None}
    for name in [n for n in namespace if not n.startswith('_')]:
        if name not in known and not isinstance(namespace[name], types.ModuleType):
            del namespace[name]


def module(name: str, source: Any) -> Any:
    """A module of functions of the surface, also for ``import``."""
    made = types.ModuleType(name)
    fill(made.__dict__, name, source)
    sys.modules[name] = made
    return made


def methods(array_type: type) -> None:
    """Gives the class of arrays the methods that NumPy's arrays compute."""
    for name in [n for n in vars(array_type) if not n.startswith('_') and n not in SURFACE['ndarray']]:
        delattr(array_type, name)
    for name, entry in SURFACE['ndarray'].items():
        if name.startswith('_') or entry['kind'] != 'function' or hasattr(array_type, name):
            continue
        if hasattr(np.ndarray, name) or hasattr(np, name):
            setattr(array_type, name, _functions.method(name))
