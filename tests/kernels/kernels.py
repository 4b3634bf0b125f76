"""Where the tables of kernels find them: the one place that knows modules and names."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path
from typing import Any

import minichainer.kernels

FOLDER = Path(minichainer.kernels.__file__).parent


def kernel(name: str) -> Any:
    """The function of a name like ``module.function``."""
    module, function = name.split('.')
    return getattr(importlib.import_module(f'minichainer.kernels.{module}'), function)


def threshold(module: str, name: str) -> int:
    """A size from which on kernels of a module change their method."""
    return getattr(importlib.import_module(f'minichainer.kernels.{module}'), name)


def public() -> list[str]:
    """All functions of all modules whose names, and whose modules' names, begin without an underscore."""
    found = []
    for path in sorted(FOLDER.glob('[a-z]*.py')):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.FunctionDef) and not node.name.startswith('_'):
                found.append(f'{path.stem}.{node.name}')
    return found
