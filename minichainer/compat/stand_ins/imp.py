"""What programs use of ``imp``: loading and reloading modules."""

from __future__ import annotations

import importlib.util
import sys
import types
from importlib import reload as reload
from importlib.machinery import SourceFileLoader
from typing import Any

PY_SOURCE = 1


def load_source(name: str, pathname: str, file: Any = None) -> types.ModuleType:
    """Loads a module from a file.

    Args:
        name: its name.
        pathname: the file.
        file: ignored.
    """
    loader = SourceFileLoader(name, pathname)
    module = types.ModuleType(name)
    module.__file__, module.__loader__ = pathname, loader
    sys.modules[name] = module
    loader.exec_module(module)
    return module


def new_module(name: str) -> types.ModuleType:
    """An empty module.

    Args:
        name: its name.
    """
    return types.ModuleType(name)


def find_module(name: str, path: Any = None) -> tuple[Any, str, tuple[str, str, int]]:
    """File, path and description of a module, for :func:`load_module`.

    Args:
        name: its name.
        path: ignored; ``sys.path`` is searched.
    """
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        raise ImportError(f'No module named {name!r}', name=name)
    return None, spec.origin, ('.py', 'r', PY_SOURCE)


def load_module(name: str, file: Any, pathname: str, description: Any) -> types.ModuleType:
    """Loads a module that :func:`find_module` has found."""
    return load_source(name, pathname)
