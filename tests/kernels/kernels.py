"""Where the table of kernels finds them: the one place that knows modules and names."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np


def kernel(name: str) -> Callable[..., Any]:
    """The function of a name like ``module.function``, on NumPy's arrays."""
    return _on_numpy(_named(name))


def generic(name: str) -> Callable[..., Any]:
    """The body of a kernel that is for any array module, on NumPy's arrays."""
    return _on_numpy(_named(name).generic)


def threshold(module: str, name: str) -> int:
    """A size from which on kernels of a module change their method."""
    return getattr(importlib.import_module(f'minichainer.kernels.{module}'), name)


def _named(name: str) -> Any:
    module, function = name.split('.')
    return getattr(importlib.import_module(f'minichainer.kernels.{module}'), function)


def _on_numpy(function: Callable[..., Any]) -> Callable[..., Any]:
    takes_module = next(iter(inspect.signature(function).parameters)) == 'xp'
    return (lambda *args: function(np, *args)) if takes_module else function
