"""Objects of a pickle without their classes: what they were, and what they kept."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import numpy

#: Arrays of links of Chainer 1.0 to 1.4, which did not list their parameters.
_OLD_ARRAYS = frozenset('W b gamma beta avg_mean avg_var'.split())


class Shell:
    """Stands for an object of any class; keeps the arguments and the state.

    Args:
        args: of the constructor.
    """

    module = ''
    name = ''

    args: tuple[Any, ...]
    state: dict[str, Any]
    items: list[Any]

    def __new__(cls, *args: Any, **keywords: Any) -> Shell:
        """Unpickling may call this alone."""
        shell = object.__new__(cls)
        shell.args, shell.state, shell.items = args, dict(keywords), []
        return shell

    def __init__(self, *args: Any, **keywords: Any) -> None:
        super().__init__()

    def __setstate__(self, state: Any) -> None:
        parts = state if isinstance(state, tuple) else (state,)
        for part in parts:
            if isinstance(part, dict):
                self.state.update(part)

    def append(self, item: Any) -> None:
        """Keeps an item of a subclass of list."""
        self.items.append(item)

    def extend(self, items: Any) -> None:
        """Keeps items of a subclass of list."""
        self.items.extend(items)

    def __setitem__(self, key: Any, value: Any) -> None:
        self.state[key] = value

    def array(self) -> Any:
        """The array of a pickled Variable or Parameter; None if it had none."""
        if self.name in ('_recover_parameter', '_recover_variable'):
            return self.args[0] if self.args else None
        data = self.state.get('_data', self.state.get('data'))
        return data[0] if isinstance(data, list) and data else data

    def parts(self) -> Iterator[tuple[str, Any]]:
        """The links below this one, by their names."""
        children = self.state.get('_children')
        if isinstance(children, list) and all(map(is_link, children)):
            yield from ((str(number), child) for number, child in enumerate(children))
            return
        names = self.state if children is None else children
        for name in sorted(names):
            child = self.state.get(name)
            if isinstance(child, Shell) and is_link(child):
                yield name, child

    def values(self) -> Iterator[tuple[str, Any]]:
        """The parameters and persistent values, by their names."""
        names = {*self.state.get('_params', ()), *self.state.get('_persistent', ())}
        for name in sorted(names or _OLD_ARRAYS & set(self.state)):
            value = self.state.get(name)
            yield name, value.array() if isinstance(value, Shell) else value

    def entries(self, path: str = '') -> Iterator[tuple[str, Any]]:
        """All arrays, by the names that a snapshot has.

        Args:
            path: before each name.
        """
        for name, value in self.values():
            yield path + name, numpy.asarray(value)
        for name, part in self.parts():
            yield from part.entries(f'{path}{name}/')


@functools.cache
def shell_class(module: str, name: str) -> type[Shell]:
    """The shell of a class.

    Args:
        module: of the class.
        name: of the class.
    """
    return type(name, (Shell,), {'module': module, 'name': name})


def is_link(value: Any) -> bool:
    """Whether an object of a pickle was a link, or a parametrized function of Chainer 1.

    Args:
        value: the object.
    """
    if not isinstance(value, Shell) or value.name.startswith('_recover'):
        return False
    of_links = ('_params' in value.state or '_children' in value.state) and 'update_rule' not in value.state
    return of_links or (value.module.startswith('chainer.function') and bool(_kept(value)))


def _kept(value: Shell) -> list[Any]:
    """What a function or function set of Chainer 1 has to save."""
    arrays = [v for name, v in value.state.items() if name in _OLD_ARRAYS and isinstance(v, numpy.ndarray)]
    return arrays + [v for v in value.state.values() if isinstance(v, Shell) and v is not value]
