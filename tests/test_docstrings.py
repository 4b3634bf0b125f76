"""Public functions, classes and methods say what they take: how many do not, which may only become fewer."""

from __future__ import annotations

import functools
import importlib
import inspect
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from tests.test_names import PACKAGES

AUTOGRAD = [f'minichainer.autograd{name}' for name in ('', '.functional', '.graph', '.profiler')]
#: What is missing today. Lower a number when you add a docstring; never raise one: write the docstring instead.
WITHOUT_DOCSTRING, WITHOUT_ARGS, WITH_INCOMPLETE_ARGS = 0, 33, 0


class Documented(NamedTuple):
    """A callable, its arguments, and docstrings: its own, and those of the methods that it overrides."""

    path: str
    arguments: set[str]
    texts: list[str]


@functools.cache
def documented() -> list[Documented]:
    """All that users import, classes with their constructors and own methods."""
    found: dict[Any, list[Documented]] = {}
    for package in [*PACKAGES, *AUTOGRAD]:
        module = importlib.import_module(package)
        for name in dir(module):
            value, path = getattr(module, name), f'{package}.{name}'
            if not str(getattr(value, '__module__', '')).startswith('minichainer') or name.startswith('_'):
                continue
            if inspect.isclass(value):
                found.setdefault(value, list(_of_class(path, value)))
            elif inspect.isfunction(value):
                found.setdefault(value, [_one(path, value, 0, [value])])
    return [row for rows in found.values() for row in rows]


def _of_class(path: str, cls: Any) -> Iterator[Documented]:
    if inspect.isfunction(cls.__init__):
        yield _one(path, cls.__init__, 1, [cls.__init__, *[c for c in cls.__mro__ if '__init__' in vars(c)], cls])
    for name, member in vars(cls).items():
        function = getattr(member, '__func__', member)
        if inspect.isfunction(function) and (not name.startswith('_') or name == '__call__'):
            overridden = [vars(c)[name] for c in cls.__mro__ if name in vars(c)]
            yield _one(f'{path}.{name}', function, 0 if isinstance(member, staticmethod) else 1, overridden)


def _one(path: str, function: Any, skipped: int, described: list[Any]) -> Documented:
    arguments = [*inspect.signature(function).parameters.values()][skipped:]
    stars = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    names = {a.name for a in arguments if a.kind not in stars and not a.name.startswith('_')}
    return Documented(path, names, [getattr(value, '__func__', value).__doc__ or '' for value in described])


def _described(text: str) -> set[str]:
    """The names in the sections of arguments."""
    sections = re.findall(r'^( *)Args:\n((?:\1 +.*\n|\n)*)', f'{text}\n', re.MULTILINE)
    lines = '\n'.join(section for _, section in sections)
    heads = re.findall(r'^ *([\w*, ]+?)(?: \([^)]*\))?:', lines, re.MULTILINE)
    return {name.strip(' *') for head in heads for name in head.split(',')}


def test_callables_without_a_docstring_become_fewer() -> None:
    found = [row.path for row in documented() if not any(row.texts)]
    assert len(found) == WITHOUT_DOCSTRING, found


def test_callables_whose_docstrings_do_not_tell_arguments_become_fewer() -> None:
    found = [row.path for row in documented() if row.arguments and not any('Args:' in text for text in row.texts)]
    assert len(found) == WITHOUT_ARGS, found


def test_sections_of_arguments_that_lack_some_become_fewer() -> None:
    found = []
    for row in documented():
        sections = [_described(text) for text in row.texts if 'Args:' in text]
        missing = min((row.arguments - names for names in sections), key=len, default=set())
        found += [f'{row.path}: {", ".join(sorted(missing))}'] if missing else []
    assert len(found) == WITH_INCOMPLETE_ARGS, found
