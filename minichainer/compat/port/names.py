"""Which names of Chainer exist here."""

from __future__ import annotations

import difflib
import functools
import importlib
import importlib.util
import warnings
from types import ModuleType
from typing import Any

from minichainer.compat import paths, private_names

OURS = __name__.partition('.')[0]
#: The packages whose names are meant: Chainer's, and what programs have after they were ported.
ROOTS = ('chainer', OURS, 'chainerx')


def canonical(name: str) -> str:
    """A name of Chainer or of this package as Chainer spells it; other names are returned unchanged.

    ChainerX is a module of this package, and Chainer has it under this name too.

    >>> canonical('minichainer.functions.relu'), canonical('chainerx.ndarray')
    ('chainer.functions.relu', 'chainer.chainerx.ndarray')
    """
    root, dot, rest = name.partition('.')
    if root == 'chainerx':
        return f'chainer.{name}'
    return 'chainer' + dot + rest if root in ROOTS else name


def is_chainer(name: str) -> bool:
    """Whether a dotted name is Chainer's."""
    return name.partition('.')[0] in ROOTS


def ours(name: str) -> str:
    """A name of Chainer in this package.

    >>> ours('chainer.links')
    'minichainer.links'
    """
    return OURS + canonical(name)[len('chainer') :]


@functools.cache
def is_module(name: str) -> bool:
    """Whether a name of Chainer is a module here."""
    return isinstance(find(name), ModuleType)


@functools.cache
def exists(name: str) -> bool:
    """Whether a name of Chainer exists here.

    Attributes of objects are not checked, except of modules and classes.
    """
    return find(name) is not _MISSING


def under_alias(name: str) -> bool:
    """Whether a name exists while the alias is installed."""
    home, _, last = canonical(name).partition('.')[2].rpartition('.')
    is_private = private_names.find(home or '.', last) is not private_names.ABSENT
    return is_private or (bool(home) and paths.find(home, last) is not None)


def home_of(name: str) -> str:
    """Where a name is here that Chainer had in another module, as Chainer would spell it; empty if it stays.

    >>> home_of('chainer.training.updater.StandardUpdater')
    'chainer.training.updaters.StandardUpdater'
    """
    if _home_in_root(name):
        return _home_in_root(name)
    path, _, last = canonical(name).partition('.')[2].rpartition('.')
    home = paths.table().get(path, {}).get(last)
    if home is None or exists(name):
        return ''
    module, _, attribute = home.partition(':')
    found = f'chainer.{module}.{attribute}'
    above = f'chainer.{module.rpartition(".")[0]}.{attribute}'
    return above if exists(above) and find(above) is find(found) else found


def _home_in_root(name: str) -> str:
    """The home of a name that Chainer's root has, or of what is in it, such as ``chainer.basic_math.add``."""
    root, _, path = canonical(name).partition('.')
    first, dot, rest = path.partition('.')
    home = paths.table()['.'].get(first, '').replace(':', '.')
    return f'chainer.{home}{dot}{rest}' if home and root == 'chainer' and not exists(f'chainer.{first}') else ''


def nearest(name: str) -> str:
    """The existing name that is most like a missing one; empty if none is."""
    home, _, last = canonical(name).rpartition('.')
    candidates = {known.lower(): known for known in dir(find(home))}
    close = difflib.get_close_matches(last.lower(), candidates, n=1, cutoff=0.7)
    return f'{home}.{candidates[close[0]]}' if close else ''


def unreachable_part(name: str) -> str:
    """The longest module in a dotted name that must be imported before it can be reached by attributes, else empty.

    These are the modules without a file, which a finder makes when they are first imported.
    """
    parts = canonical(name).split('.')
    prefixes = ('.'.join(parts[:n]) for n in range(len(parts), 2, -1))
    return next((prefix for prefix in prefixes if is_module(prefix) and _is_made_by_finder(prefix)), '')


def _is_made_by_finder(name: str) -> bool:
    module = find(name)
    return getattr(module, '__file__', None) is None or module.__name__.endswith('.interval_trigger')


#: Modules with copies of functions that Python, NumPy and others dropped.
_COPIES = ('chainer.compat.restored', 'chainer.compat.restored_images')


def copy_of(restored: str) -> str:
    """The dotted name of a copy of a dropped function, as Chainer would spell it; empty if there is none.

    Args:
        restored: its name in the table of dropped names.
    """
    if not restored.isidentifier():
        return ''
    return next((f'{home}.{restored}' for home in _COPIES if exists(f'{home}.{restored}')), '')


def is_installed(name: str) -> bool:
    """Whether a module that is not part of Python is there nevertheless, such as ``six``."""
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False


_MISSING = object()


@functools.cache
def find(name: str) -> Any:
    """What a name of Chainer is here; a private object if it does not exist."""
    found: Any = importlib.import_module(OURS)
    path = OURS
    for part in canonical(name).split('.')[1:]:
        path = f'{path}.{part}'
        found = _part(found, path, part)
        if found is _MISSING or not isinstance(found, (ModuleType, type)):
            return found
    return found


def _part(found: Any, path: str, part: str) -> Any:
    """The attribute or submodule of a module."""
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        if isinstance(found, ModuleType):
            try:
                return importlib.import_module(path) if not hasattr(found, part) else getattr(found, part)
            except ImportError:
                return _MISSING
        return getattr(found, part, _MISSING)
