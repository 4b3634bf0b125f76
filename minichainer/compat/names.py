"""Names and modules that were dropped, restored for the time of a run.

A module's ``__getattr__`` is called for names that it lacks. Modules that have dropped names get one, at once or when
they are imported; :class:`RemovedNames` takes all of them away again.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from minichainer.compat.changes import Changes
from minichainer.compat.removed import Removed, by_name, rows
from minichainer.compat.rewriting import Runtime, stand_in
from minichainer.compat.usage import Usage, caller, is_own

#: Names of Python 2, by which other packages find out which Python they run on: served to the program only.
_OF_PYTHON_2 = 'Python 3'


class RemovedNames(MetaPathFinder):
    """Restores the rows of kinds ``name`` and ``module``, and tells the runtime about modules with changed calls.

    Args:
        usage: notes what was used.
        runtime: what rewritten code calls.

    >>> import collections
    >>> usage = Usage()
    >>> with RemovedNames(usage, Runtime(usage)):
    ...     collections.Iterable.__name__
    'Iterable'
    >>> hasattr(collections, 'Iterable')
    False
    """

    def __init__(self, usage: Usage, runtime: Runtime) -> None:
        self._usage, self._runtime = usage, runtime
        self._names = _by_owner('name')
        self._callers = set(_by_owner('call'))
        self._changes = Changes()
        self._modules = _RemovedModules(usage)

    def __enter__(self) -> RemovedNames:
        for name in {*self._names, *self._callers} & set(sys.modules):
            self._complete(sys.modules[name])
        sys.meta_path.insert(0, self)
        sys.meta_path.append(self._modules)
        return self

    def __exit__(self, *error: object) -> None:
        sys.meta_path.remove(self)
        sys.meta_path.remove(self._modules)
        self._modules.forget()
        self._changes.undo()

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: Any = None) -> ModuleSpec | None:
        """The specification that others find, with a loader that completes the module at the end."""
        if fullname not in self._names and fullname not in self._callers:
            return None
        spec = _found_by_others(self, fullname, path, target)
        if spec is not None and spec.loader is not None and hasattr(spec.loader, 'exec_module'):
            vars(spec.loader)['exec_module'] = self._completing(spec.loader)
        return spec

    def _completing(self, loader: Any) -> Callable[[ModuleType], None]:
        execute = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            vars(loader).pop('exec_module', None)
            execute(module)
            self._complete(module)

        return exec_module

    def _complete(self, module: ModuleType) -> None:
        name = module.__name__
        if name in self._callers:
            self._runtime.add_calls(name)
        if name in self._names:
            finder = self._getattr(module, self._names[name], vars(module).get('__getattr__'))
            self._changes.set(module, '__getattr__', finder)

    def _getattr(self, module: ModuleType, removed: dict[str, Removed], before: Any) -> Callable[[str], Any]:
        def __getattr__(name: str) -> Any:
            row = removed.get(name)
            if row is not None:
                file, line = caller()
                if is_own(file) or row.since != _OF_PYTHON_2:
                    found = stand_in(row)
                    self._usage.note(row, file, line)
                    return found
            if before is not None:
                return before(name)
            raise AttributeError(f'module {module.__name__!r} has no attribute {name!r}')

        return __getattr__


class _RemovedModules(MetaPathFinder, Loader):
    """Finds modules that were dropped, after all others have been asked."""

    def __init__(self, usage: Usage) -> None:
        self._usage = usage
        self._rows = {row.name: row for row in rows() if row.kind == 'module'}

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """The specification of a dropped module; None for others, and if another package asks for one of Python 2."""
        row = self._rows.get(fullname)
        file, line = caller()
        if row is None or (row.since == _OF_PYTHON_2 and not is_own(file)):
            return None
        if not row.restore:
            raise ModuleNotFoundError(
                f'No module named {fullname!r}: {row.since} does not have it. Instead: {row.instead}', name=fullname
            )
        self._usage.note(row, file, line)
        return ModuleSpec(fullname, self, is_package=any(name.startswith(f'{fullname}.') for name in self._rows))

    def forget(self) -> None:
        """Takes the modules that stand in out of ``sys.modules``."""
        for name in self._rows:
            if getattr(getattr(sys.modules.get(name), '__spec__', None), 'loader', None) is self:
                del sys.modules[name]

    def exec_module(self, module: ModuleType) -> None:
        """Fills the module with the names of the one that stands in."""
        found = importlib.import_module(by_name()[module.__name__].restore)
        public = {name: value for name, value in vars(found).items() if not name.startswith('__')}
        vars(module).update(public)


def _by_owner(kind: str) -> dict[str, dict[str, Removed]]:
    owners: dict[str, dict[str, Removed]] = {}
    for row in rows():
        if row.kind == kind:
            owners.setdefault(row.owner or 'builtins', {})[row.last] = row
    return owners


def _found_by_others(this: Any, fullname: str, path: Any, target: Any) -> ModuleSpec | None:
    for finder in sys.meta_path:
        find = getattr(finder, 'find_spec', None)
        spec = find(fullname, path, target) if find is not None and finder is not this else None
        if spec is not None:
            found: ModuleSpec = spec
            return found
    return None
