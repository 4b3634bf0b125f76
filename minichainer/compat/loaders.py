"""The other ways in which a program loads code: each gets the rewriting that imports of the program get.

Files are loaded by :class:`~importlib.machinery.SourceFileLoader`, whoever made it (``imp``,
``spec_from_file_location``), by :mod:`runpy`, and by pytest, which has a loader of its own for test modules.
"""

from __future__ import annotations

import ast
import runpy
import sys
from collections.abc import Callable
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from types import CodeType, ModuleType
from typing import Any

from minichainer.compat.changes import Changes
from minichainer.compat.rewriting import compiled, rewrite
from minichainer.compat.usage import is_own

_PYTEST = '_pytest.assertion.rewrite'


class RewritingLoader(SourceFileLoader):
    """Loads a file of the program rewritten; never from or to a file of compiled code, which others would load."""

    def get_code(self, fullname: str) -> CodeType:
        """The code of the module.

        Args:
            fullname: its name.
        """
        file = self.get_filename(fullname)
        code: CodeType = compiled(self.get_data(file), file)
        return code


class OtherLoaders(Changes):
    """Rewrites what these load; :meth:`undo` ends that."""

    def install(self) -> None:
        """Changes the loaders."""
        plain = SourceFileLoader.get_code

        def get_code(loader: SourceFileLoader, fullname: str) -> CodeType | None:
            is_plain = type(loader).source_to_code is SourceFileLoader.source_to_code and is_own(loader.path)
            return (RewritingLoader.get_code if is_plain else plain)(loader, fullname)  # type: ignore[arg-type]

        self.set(SourceFileLoader, 'get_code', get_code)
        if hasattr(runpy, '_get_code_from_file'):
            self.set(runpy, '_get_code_from_file', _of_runpy(vars(runpy)['_get_code_from_file']))
        self._pytest = _WhenImported(_PYTEST, self._change_pytest)
        if _PYTEST in sys.modules:
            self._change_pytest(sys.modules[_PYTEST])
        else:
            sys.meta_path.insert(0, self._pytest)

    def undo(self) -> None:
        """Restores the loaders."""
        super().undo()
        if self._pytest in sys.meta_path:
            sys.meta_path.remove(self._pytest)

    def _change_pytest(self, module: ModuleType) -> None:
        """Rewrites test modules of the program, and keeps them out of the files that pytest keeps."""
        known = vars(module)
        if not {'rewrite_asserts', '_read_pyc', '_write_pyc'} <= known.keys():
            return
        asserts = known['rewrite_asserts']

        def rewrite_asserts(tree: ast.Module, source: bytes, module_path: Any = None, config: Any = None) -> None:
            asserts(tree, source, module_path, config)
            if module_path is not None and is_own(str(module_path)):
                rewrite(tree)

        self.set(module, 'rewrite_asserts', rewrite_asserts)
        self.set(module, '_read_pyc', lambda *args, **kwargs: None)
        self.set(module, '_write_pyc', lambda *args, **kwargs: False)
        hook = known.get('AssertionRewritingHook')
        if hasattr(hook, '_warn_already_imported') and hasattr(hook, 'find_spec'):
            self._leave_package_alone(hook)

    def _leave_package_alone(self, hook: Any) -> None:
        """Keeps pytest from loading modules of this package itself, as those of a plugin, and from warning of it.

        The alias loads them: it adds the names that Chainer's modules have.
        """
        root = __name__.partition('.')[0]
        warn, find = hook._warn_already_imported, hook.find_spec

        def warn_of_others(this: Any, name: str) -> None:
            if name != root:
                warn(this, name)

        def find_others(this: Any, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
            spec: ModuleSpec | None = None if name.partition('.')[0] == root else find(this, name, path, target)
            return spec

        self.set(hook, '_warn_already_imported', warn_of_others)
        self.set(hook, 'find_spec', find_others)


def _of_runpy(plain: Callable[..., Any]) -> Callable[..., Any]:
    """``runpy._get_code_from_file``, which returns the code, before Python 3.12 with the name of the file."""

    def get_code_from_file(*args: Any) -> Any:
        result, file = plain(*args), args[-1]
        try:
            with open(file, 'rb') as stream:
                code = compiled(stream.read(), str(file)) if is_own(str(file)) else None
        except (SyntaxError, ValueError):  # a file of compiled code
            code = None
        if code is None:
            return result
        return (code, *result[1:]) if isinstance(result, tuple) else code

    return get_code_from_file


class _WhenImported(MetaPathFinder):
    """Calls a function with a module at the end of its import.

    Args:
        name: of the module.
        function: what is called.
    """

    def __init__(self, name: str, function: Callable[[ModuleType], None]) -> None:
        self._name, self._function = name, function

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """The specification that others find, with a loader that calls the function; None for other modules."""
        if fullname != self._name:
            return None
        sys.meta_path.remove(self)
        others = (getattr(finder, 'find_spec', None) for finder in sys.meta_path)
        spec = next(filter(None, (find(fullname, path, target) for find in others if find is not None)), None)
        loader: Any = getattr(spec, 'loader', None)
        if loader is not None and hasattr(loader, 'exec_module'):
            execute = loader.exec_module

            def exec_module(module: ModuleType) -> None:
                vars(loader).pop('exec_module', None)
                execute(module)
                self._function(module)

            vars(loader)['exec_module'] = exec_module
        return spec
