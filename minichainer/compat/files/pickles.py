"""Pickled models of ``chainer``, read without running anything that the file names.

A pickle names classes and functions, and unpickling calls them. Here only arrays and plain containers are made; every
other name becomes an empty class that keeps what it is given. Arrays are then read from what was kept.
"""

from __future__ import annotations

import importlib
import io
import os
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import numpy

from minichainer.compat.files.classes import build
from minichainer.compat.files.shells import Shell, is_link, shell_class
from minichainer.serializer import SnapshotError

#: Functions that make arrays, and where they are; the last is that of protocol 5, the default from Python 3.14 on.
_MAKERS = {'_reconstruct': 'multiarray', 'scalar': 'multiarray', '_frombuffer': 'numeric'}
_ARRAYS = ('numpy.core.multiarray', 'numpy._core.multiarray', 'numpy.core.numeric', 'numpy._core.numeric')
#: Classes and functions that pickles may call: they make arrays and containers, and do nothing else.
_PLAIN = {
    'numpy': ('ndarray', 'dtype'),
    'builtins': ('set', 'frozenset', 'list', 'dict', 'tuple', 'complex', 'slice', 'range', 'bytearray', 'object'),
    'collections': ('OrderedDict', 'defaultdict', 'deque'),
    '_codecs': ('encode',),
}
#: Modules of Python 2.
_RENAMED = {'__builtin__': 'builtins', 'copy_reg': 'copyreg'}


def _reconstructor(cls: Any, base: Any, state: Any) -> Any:
    """What ``copyreg`` does for objects of old pickles."""
    return cls() if isinstance(cls, type) and issubclass(cls, Shell) else base(state)


class _Unpickler(pickle.Unpickler):
    """Makes arrays, containers and shells."""

    def __init__(self, file: Any) -> None:
        super().__init__(file, encoding='latin1')
        self.made: dict[str, None] = {}

    def find_class(self, module: str, name: str) -> Any:
        module = _RENAMED.get(module, module)
        if module in _ARRAYS and name in _MAKERS:
            return getattr(_of_core(_MAKERS[name]), name)
        if name in _PLAIN.get(module, ()):
            return getattr(importlib.import_module(module), name)
        if module == 'copyreg' and name == '_reconstructor':
            return _reconstructor
        if module.startswith('cupy') and name in ('array', '_reconstruct'):
            return numpy.asarray
        self.made[f'{module}.{name}'] = None
        return shell_class(module, name)


def _of_core(name: str) -> Any:
    """A private module of NumPy."""
    core = 'numpy._core' if int(numpy.__version__.partition('.')[0]) >= 2 else 'numpy.core'
    return importlib.import_module(f'{core}.{name}')


def read_pickle(file: str | os.PathLike[str], unsafe: bool) -> tuple[Any, list[str]]:
    """The object in a pickle with empty shells for classes, and the names of these classes.

    Raises:
        SnapshotError: ``unsafe`` is not set, or the file is damaged.
    """
    if not unsafe:
        raise SnapshotError(
            f'{os.fspath(file)} is a pickle, which can name any class or function of your computer. Its names and '
            'arrays can be read without running what it names: if you trust the file, give unsafe=True (--unsafe)'
        )
    with open(file, 'rb') as stream:
        unpickler = _Unpickler(io.BytesIO(stream.read()))
    try:
        found = unpickler.load()
    except Exception as error:
        raise SnapshotError(
            f'{os.fspath(file)}: this pickle cannot be read ({type(error).__name__}: {error})'
        ) from error
    return found, list(unpickler.made)


def pickled_entries(file: str | os.PathLike[str], unsafe: bool = False) -> tuple[dict[str, Any], list[str]]:
    """The arrays of a pickled model by the names that a snapshot has, and the names of the pickled classes.

    Args:
        file: its path.
        unsafe: must be true.

    Raises:
        SnapshotError: ``unsafe`` is not set, the file is damaged or has no link.
    """
    found, made = read_pickle(file, unsafe)
    entries = {name: array for path, link in _links(found) for name, array in link.entries(path)}
    if not entries:
        raise SnapshotError(f'{os.fspath(file)}: this pickle has no link with parameters: it has {", ".join(made)}')
    return entries, made


def _links(found: Any) -> Iterator[tuple[str, Shell]]:
    """The links in an object: it is one, or a container of some."""
    if is_link(found):
        yield '', found
    elif isinstance(found, dict):
        yield from ((f'{key}/', value) for key, value in found.items() if is_link(value))
    elif isinstance(found, (list, tuple)):
        yield from ((f'{key}/', value) for key, value in enumerate(found) if is_link(value))


def load_pickle(
    file: str | os.PathLike[str], *, unsafe: bool = False, classes: dict[str, Callable[..., Any]] | None = None
) -> tuple[Any, list[str]]:
    """Makes a model from a pickle of Chainer.

    Args:
        file: its path.
        unsafe: must be true.
        classes: your own classes by their names, such as ``{'MyNet': MyNet}``. They are made without calling
            ``__init__`` and get the attributes that were saved.

    Returns:
        The model, and the names of the classes in the pickle.

    Raises:
        SnapshotError: ``unsafe`` is not set, the file is damaged, or a class is not known.
    """
    found, made = read_pickle(file, unsafe)
    if not is_link(found):
        raise SnapshotError(f'{os.fspath(file)}: expected a pickled link, got {type(found).__name__}')
    return build(found, classes or {}), made
