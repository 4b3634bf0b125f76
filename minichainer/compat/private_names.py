"""Private names of Chainer's modules that tests and tools use, and the modules that its modules import.

A row of :mod:`minichainer.compat.private_table` is an expression. It is evaluated when the name is first used, in the
namespace of the modules ``private``, ``private_arrays``, ``private_functions`` and ``private_checks``.
"""

from __future__ import annotations

import functools
import importlib
from typing import Any

from minichainer.compat.private_table import MODULES, ROWS

_ROOT = __name__.partition('.')[0]
_OF_PYTHON = ('contextlib', 'itertools', 'math', 'os', 'shutil', 'string')
#: What :func:`find` returns for names that are not in the tables: None is a value of some names.
ABSENT: Any = object()


@functools.cache
def rows() -> dict[str, dict[str, str]]:
    """For each path of a module, its names and their expressions."""
    found: dict[str, dict[str, str]] = {}
    for line in filter(None, ROWS.replace('\\\n', '').splitlines()):
        where, _, expression = line.partition(' = ')
        paths, _, names = where.partition(' ')
        for path in paths.split(','):
            found.setdefault(path, {}).update(dict.fromkeys(names.split(), expression))
    return found


@functools.cache
def _module_names() -> dict[str, str]:
    """The names under which Chainer's modules import others, and these."""
    pairs = [line.partition(' ') for line in MODULES.strip().splitlines()]
    return {name: module for name, _, module in pairs}


@functools.cache
def _namespace() -> dict[str, Any]:
    """What expressions may use: the names of four modules of this package, and some modules of Python."""
    found: dict[str, Any] = {name: importlib.import_module(name) for name in _OF_PYTHON}
    for module in ('private', 'private_arrays', 'private_functions', 'private_checks'):
        found.update(vars(importlib.import_module(f'{_ROOT}.compat.{module}')))
    return found


@functools.cache
def find(path: str, name: str) -> Any:
    """The value of a name of the table; ABSENT if there is none.

    Args:
        path: the path of a module below this package; a dot for the package itself.
        name: the name in it.

    >>> find('functions.connection.convolution_2d', '_pair')(3)
    (3, 3)
    >>> find('variable', 'no_such_name') is ABSENT
    True
    """
    expression = rows().get(path, {}).get(name)
    if expression is None:
        return ABSENT
    value = eval(expression, _namespace())
    if getattr(value, '__name__', '') == '<lambda>':
        value.__name__ = value.__qualname__ = name
        value.__module__ = f'{_ROOT}.{path}'
        value.__doc__ = f'``{expression}``'
    return value


def imported(path: str, name: str) -> Any:
    """A module that Chainer's module of a path may have imported under a name; ABSENT if there is none.

    Args:
        path: the path of a module, not of a package.
        name: the name in it.

    >>> imported('links.connection.linear', 'variable').__name__
    'minichainer.variable'
    """
    home = _module_names().get(name)
    if home is None or home == path:
        return ABSENT
    return importlib.import_module(f'{_ROOT}.{home}')
