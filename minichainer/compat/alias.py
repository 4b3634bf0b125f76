"""The alias: programs that ``import chainer`` get this package.

``chainer.X`` is the same module object as ``X`` of this package, so that classes and state are the same under both
names. Only the root is a module of its own, because it has another version. One finder, before all others, does that.
"""

from __future__ import annotations

import atexit
import builtins
import difflib
import importlib
import importlib.util
import sys
import threading
from collections.abc import Iterable
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import FrameType, ModuleType
from typing import Any

from minichainer._locks import lock_of
from minichainer.compat import members, paths, private_names
from minichainer.compat.changes import Changes
from minichainer.compat.children import InChildren
from minichainer.compat.legacy.advice import Advising
from minichainer.configuration import global_config

#: What ``chainer.__version__`` is; programs branch on it.
VERSION = '7.8.1'
_ROOT = __name__.partition('.')[0]
#: The names of the alias, and the modules of this package that they stand for.
_HOMES = {'chainer': _ROOT, 'chainermn': f'{__package__}.chainermn', 'chainerx': f'{_ROOT}.chainerx'}
#: A package of Chainer's distribution that is used where it is on the path, and what stands in elsewhere.
_EXPORTER, _HOME_OF_EXPORTER = 'onnx_chainer', f'{__package__}.onnx_chainer'


_plain_dict: Any = vars(ModuleType)['__dict__']


class AliasedPackage(ModuleType):
    """The module ``chainer``: its attributes are those of this package, except for the version and the like.

    Args:
        name: its name.
        home: the package.
    """

    #: What it does not share with the package.
    OWN = frozenset('__doc__ __home__ __loader__ __name__ __package__ __path__ __spec__ __version__'.split())

    def __init__(self, name: str, home: ModuleType) -> None:
        super().__init__(name, home.__doc__)
        self.__home__, self.__version__, self.__path__ = home, VERSION, home.__path__

    @property
    def __dict__(self) -> dict[str, Any]:  # type: ignore[override]
        """All attributes, for ``vars`` and ``from chainer import *``."""
        return {**vars(self.__home__), **_plain_dict.__get__(self)}

    def __getattr__(self, name: str) -> Any:
        found = paths.find('.', name)
        found = private_names.find('.', name) if found is None else found
        return getattr(self.__home__, name) if found is private_names.ABSENT else found

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self.OWN:
            super().__setattr__(name, value)
        else:
            setattr(self.__home__, name, value)

    def __delattr__(self, name: str) -> None:
        if name in self.OWN:
            super().__delattr__(name)
        else:
            delattr(self.__home__, name)

    def __dir__(self) -> list[str]:
        return dir(self.__home__)

    def __reduce__(self) -> tuple[Any, tuple[str, str | None]]:
        """Functions that joblib and cloudpickle send to other processes refer to it: it is imported there."""
        return _imported, (self.__name__, _alias.legacy)


class AliasFinder(MetaPathFinder, Loader):
    """Finds ``chainer``, ``chainermn``, ``chainerx`` and all modules below them: loads this package's for them."""

    def __init__(self) -> None:
        self.legacy_names = Changes()

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """The specification of a module of the alias; None for others, and for modules that do not exist."""
        if fullname == _EXPORTER:
            return PathFinder.find_spec(fullname, path) or self._standing_in(fullname, _HOME_OF_EXPORTER)
        home = home_of(fullname)
        if home is None and fullname.startswith(f'{_ROOT}.') and not fullname.startswith(f'{__package__}.'):
            return self._watched(fullname, path)
        if home is None:
            return None
        spec = self._standing_in(fullname, home)
        if spec is None and _is_imported(sys._getframe(2)):
            raise ModuleNotFoundError(f'No module named {fullname!r}: {_advice_on_module(home)}', name=fullname)
        return spec

    def _standing_in(self, fullname: str, home: str) -> ModuleSpec | None:
        """The specification of a module that is a module of this package; None if there is none."""
        found = _spec_of(home)
        if found is None:
            return None
        spec = ModuleSpec(fullname, self, origin=found.origin, is_package=fullname == 'chainer')
        spec.loader_state = found
        return spec

    def find_distributions(self, context: Any = None) -> list[Any]:
        """The distribution ``chainer``, for programs that ask which version is installed."""
        if str(getattr(context, 'name', '')).lower() != 'chainer':
            return []
        from minichainer.compat.distribution import Installed  # its module imports much, which few need

        return [Installed(VERSION)]

    def _watched(self, name: str, path: Any) -> ModuleSpec | None:
        """The specification of a module of this package, whose loader adds what Chainer's module has besides."""
        spec = PathFinder.find_spec(name, path)
        if spec is not None and spec.loader is not None and _may_lack_names(spec):
            spec.loader = _WithLegacyNames(spec.loader, self)
        return spec

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """The module of this package; a module of its own for the root."""
        home = importlib.import_module(spec.loader_state.name)
        self.add_legacy_names(home)
        self._share(spec.name, home.__name__)
        return AliasedPackage(spec.name, home) if spec.name == 'chainer' else home

    def exec_module(self, module: ModuleType) -> None:
        """Python has set the specification of the module to that of the alias: restores its own."""
        if not isinstance(module, AliasedPackage):
            module.__spec__ = getattr(module.__spec__, 'loader_state')  # noqa: B009, its type is not declared

    def _share(self, name: str, home: str) -> None:
        """Names what has been loaded below a module.

        Otherwise Python would load these modules once more, and then replace functions of their names in the package.
        """
        for key in [key for key in list(sys.modules) if key.startswith(f'{home}.')]:
            sys.modules.setdefault(name + key.removeprefix(home), sys.modules[key])
            self.add_legacy_names(sys.modules[key])

    def add_legacy_names(self, module: ModuleType) -> None:
        """Lets a module find the names that Chainer's module of this path has, and this one has not."""
        known = vars(module)
        lacks = module.__spec__ is not None and _may_lack_names(module.__spec__)
        if lacks and not isinstance(known.get('__getattr__'), paths.LegacyNames):
            self.legacy_names.set(module, '__getattr__', paths.LegacyNames(module))
            members.add(module, self.legacy_names)


def _may_lack_names(spec: ModuleSpec) -> bool:
    """Whether Chainer's module of this path may have names, or modules, that this one has not."""
    home = home_of(spec.name) or spec.name
    return spec.submodule_search_locations is not None or paths.has_legacy_names(home)


class _WithLegacyNames(Loader):
    """The loader of a module, after which the module finds the names that Chainer's has."""

    def __init__(self, loader: Any, finder: AliasFinder) -> None:
        self._loader, self._finder = loader, finder

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        spec.loader = self._loader
        module: ModuleType | None = self._loader.create_module(spec)
        spec.loader = self
        return module

    def exec_module(self, module: ModuleType) -> None:
        spec: Any = module.__spec__
        spec.loader = module.__loader__ = self._loader
        self._loader.exec_module(module)
        self._finder.add_legacy_names(module)


class Alias:
    """The state of the alias: installed or not."""

    def __init__(self) -> None:
        self._lock = lock_of(self, '_lock', threading.RLock)
        self._finder: AliasFinder | None = None
        self._changes = Changes()
        self._dialect: Changes | None = None
        #: The style that is accepted.
        self.legacy: str | None = None
        #: What Python, NumPy and others dropped, if it is restored.
        self._restored: Any = None

    def install(self, legacy: str | None = None, numpy: bool = False) -> None:
        with self._lock:
            if self._finder is None:
                self._install(legacy)
            elif legacy not in (None, self.legacy):
                raise RuntimeError(
                    f'compat.install: installed with legacy={self.legacy!r}, got {legacy!r}; uninstall() first'
                )
            if numpy and self._restored is None:
                self._restore()

    def _install(self, legacy: str | None) -> None:
        _check_absent(_HOMES)
        self._accept(legacy)
        self._finder = AliasFinder()
        sys.meta_path.insert(0, self._finder)
        self._changes.set(global_config, 'gradcheck_strictness', 'chainer')
        self._changes.set(global_config, 'record_constants', True)
        self._changes.set(global_config, 'tied_parameters', 'each')
        self._advising = Advising()
        self._children = InChildren('alias', f'import {__package__}\n{__package__}.install({legacy!r})')

    def _restore(self) -> None:
        """Restores what was dropped; `compat run` has done so already."""
        from minichainer.compat.program import Restored  # many modules, which others do not need
        from minichainer.compat.rewriting import HELPER

        if hasattr(builtins, HELPER):
            return
        self._restored = Restored().__enter__()
        self._children.undo()
        code = f'import {__package__}\n{__package__}.install({self.legacy!r}, numpy=True)'
        self._children = InChildren('alias', code)
        atexit.register(self.report)

    def report(self) -> None:
        if self._restored is not None:
            self._restored.usage.report(sys.stderr)

    def _accept(self, legacy: str | None) -> None:
        """Switches the style of an old version on."""
        if legacy is not None:
            from minichainer.compat.legacy.dialect import Dialect  # many modules, which others do not need

            self._dialect = Dialect(legacy).__enter__()
        self.legacy = legacy

    def uninstall(self) -> None:
        with self._lock:
            if self._finder is None:
                return
            sys.meta_path.remove(self._finder)
            for name in [name for name in list(sys.modules) if home_of(name) or name.partition('.')[0] == _EXPORTER]:
                del sys.modules[name]
            self._finder.legacy_names.undo()
            self._children.undo()
            self._advising.undo()
            self._changes.undo()
            if self._dialect is not None:
                self._dialect.undo()
            if self._restored is not None:
                atexit.unregister(self.report)
                self._restored.__exit__()
                self._restored = None
            self._finder = self._dialect = self.legacy = None

    def installed(self) -> bool:
        return self._finder is not None


def home_of(name: str) -> str | None:
    """The module of this package that a module of the alias stands for; None for other modules."""
    root, dot, rest = name.partition('.')
    return f'{_HOMES[root]}{dot}{rest}' if root in _HOMES else None


def _spec_of(home: str) -> ModuleSpec | None:
    """The specification of a module of this package; None if there is none, or if what it is in is not a package."""
    try:
        return importlib.util.find_spec(home)
    except ModuleNotFoundError:
        return None


def _is_imported(frame: FrameType) -> bool:
    """Whether a frame that looks for a module is that of an import, not of a question whether the module exists."""
    return frame.f_code.co_name == '_find_and_load_unlocked'


def _advice_on_module(home: str) -> str:
    """What to import instead of a module that does not exist."""
    package, _, last = home.rpartition('.')
    known = [name.rpartition('.') for name in paths.modules()]
    elsewhere = [home for home, _, name in known if name == last]
    near = difflib.get_close_matches(last, [name for home, _, name in known if home == package], 1, 0.7)
    found = [f'{home}.{last}' for home in elsewhere] or [f'{package}.{name}' for name in near]
    return f'did you mean {found[0].replace(_ROOT, "chainer", 1)}?' if found else 'nor any whose name resembles it'


def _check_absent(names: Iterable[str]) -> None:
    """Raises if another package of this name is in use."""
    for name in names:
        module = sys.modules.get(name)
        if module is not None:
            where = getattr(module, '__file__', None) or 'an unknown place'
            raise RuntimeError(
                f'compat.install: another package {name!r} is already imported, from {where}\n'
                f'Call {__package__}.install() before the first import of {name}, or do not use both in one process'
            )


def _imported(name: str, legacy: str | None) -> ModuleType:
    """A module of the alias, which is installed if it is not yet."""
    _alias.install(legacy if not _alias.installed() else None)
    return importlib.import_module(name)


_alias = Alias()


def install(legacy: str | None = None, numpy: bool = False) -> None:
    """Lets programs ``import chainer``, and get this package; a second call does nothing.

    Every module below ``chainer`` is the module of this package, so classes and settings are the same under both
    names. ``chainer.__version__`` is that of the last release of Chainer. Gradient checks accept what Chainer's own
    accepted (``config.gradcheck_strictness`` is 'chainer'), and an update changes parameters that a model has several
    times each time (``config.tied_parameters`` is 'each'). Processes that the program starts get the alias, too.
    Errors that come from the style of an old version say how to accept it, wherever their traceback is shown.

    Args:
        legacy: 'v1' or 'v2' to accept what only these versions accepted, in its meaning of then.
        numpy: whether to restore what NumPy, Python, SciPy and others dropped, as ``compat run`` does, until
            :func:`uninstall`. Names are restored at once; calls and methods in modules that are imported, loaded or
            executed after this call. What was used is reported at the end of the process, and by :func:`report`.

    Raises:
        RuntimeError: another package of the name chainer, chainermn or chainerx is imported.
        ValueError: ``legacy`` is something else.

    >>> import minichainer.compat
    >>> minichainer.compat.install()
    >>> import chainer.links.connection.linear
    >>> chainer.links is minichainer.links, chainer.__version__
    (True, '7.8.1')
    >>> minichainer.compat.uninstall()
    """
    _alias.install(legacy, numpy)


def report() -> None:
    """Prints what was used of the names that ``install(numpy=True)`` restores, and what to write, to standard error.

    >>> import minichainer.compat
    >>> minichainer.compat.report()
    """
    _alias.report()


def uninstall() -> None:
    """Restores what :func:`install` has changed; does nothing if the alias is not installed.

    >>> import minichainer.compat
    >>> minichainer.compat.uninstall()
    """
    _alias.uninstall()


def installed() -> bool:
    """Whether the alias is installed.

    >>> import minichainer.compat
    >>> minichainer.compat.installed()
    False
    """
    return _alias.installed()
