"""Modules that Chainer has for one or a few names of a package, such as ``functions.activation.relu``.

Here these names are defined in fewer files. Programs that import the modules get them from a table
(:mod:`minichainer.compat.paths`), without files.
"""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


class ModulePaths:
    """Finds these modules after all others, so the table is loaded when one of them is needed."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """The specification of a module of the table; None for others."""
        if not fullname.startswith(f'{__package__}.') or fullname.startswith(f'{__package__}.compat.'):
            return None
        from minichainer.compat import paths

        if not paths.is_module(fullname):
            return None
        loader: Any = self  # the base class of loaders takes 10 ms to import
        return ModuleSpec(fullname, loader, is_package=paths.is_package(fullname))

    def create_module(self, spec: ModuleSpec) -> None:
        """None: Python makes an empty module."""

    def exec_module(self, module: ModuleType) -> None:
        """Fills a module with its names."""
        from minichainer.compat import paths

        paths.fill(module)


def install() -> None:
    """Lets Python find these modules."""
    if not any(type(finder).__name__ == ModulePaths.__name__ for finder in sys.meta_path):
        sys.meta_path.append(ModulePaths())
