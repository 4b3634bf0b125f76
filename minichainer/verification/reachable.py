"""What a function can reach: Variables and links in closures, globals, attributes and containers."""

from __future__ import annotations

import types
from collections.abc import Iterator, Sequence
from typing import Any

from minichainer.backend import get_array_types
from minichainer.variable import Variable

#: Functions of the package, which hold no parameters.
_STATELESS = 'minichainer.functions'
#: Objects that are looked into, at most, and how deep they may be nested.
_MOST, _DEPTH = 2000, 6
#: Objects that hold no Variables.
_OPAQUE: tuple[Any, ...] = (str, bytes, int, float, complex, type(None), type, types.ModuleType, *get_array_types())
#: A Variable and the path by which it was reached.
Named = tuple[Variable, str]
#: Libraries whose objects are not looked into.
_FOREIGN = frozenset('builtins numpy cupy scipy pytest _pytest unittest minichainer'.split())


def named_leaves(func: Any) -> list[Named]:
    """The parameters and other leaves of graphs that a function can reach, each with its path."""
    found: dict[int, Named] = {}
    for path, x in _reached(func):
        if isinstance(x, Variable):
            if x.is_leaf:
                found.setdefault(id(x), (x, path))
        elif is_link(x):
            for name, p in x.namedparams():
                found.setdefault(id(p), (p, path.rstrip('.') + name if path else name))
    return list(found.values())


def links_of(func: Any) -> list[Any]:
    """The links that ``func`` is, is bound to, or can reach."""
    return [x for _, x in _reached(func) if is_link(x)]


def stateful_link_of(func: Any) -> str:
    """The class of a link that keeps a state from call to call, as recurrent ones do; empty if there is none."""
    links = [link for root in links_of(func) for _, link in root.namedlinks()]
    return next((type(link).__name__ for link in links if hasattr(link, 'reset_state')), '')


def is_link(x: Any) -> bool:
    """Whether this is a link; not a class of links."""
    return hasattr(x, 'namedlinks') and not isinstance(x, type)


def _reached(func: Any) -> list[tuple[str, Any]]:
    """The Variables and links that a function can reach, with paths such as ``layers[0].w``."""
    if not is_link(func) and str(getattr(func, '__module__', '')).startswith(_STATELESS):
        return []
    return list(_Walk().found('', func, 0))


class _Walk:
    """A search for Variables and links; no object is looked into twice."""

    def __init__(self) -> None:
        self._seen: dict[int, Any] = {}

    def found(self, path: str, x: Any, depth: int) -> Iterator[tuple[str, Any]]:
        """Yields what an object is or contains."""
        if isinstance(x, _OPAQUE) or id(x) in self._seen or depth > _DEPTH or len(self._seen) > _MOST:
            return
        self._seen[id(x)] = x  # which keeps it alive, so that no other object gets its id
        if isinstance(x, Variable):
            yield path, x
            return
        if is_link(x):
            yield path, x
        for more, item in _parts(x):
            yield from self.found(f'{path}{more}'.removeprefix('.'), item, depth + 1)


def _parts(x: Any) -> Iterator[tuple[str, Any]]:
    """The objects that one can reach from another one in a single step, with what to add to its path."""
    if isinstance(x, dict):
        yield from ((f'[{key!r}]', item) for key, item in list(x.items()))
    elif isinstance(x, (list, tuple, set, frozenset)):
        yield from ((f'[{i}]', item) for i, item in enumerate(x))
    elif isinstance(x, types.MethodType):
        yield from (('', x.__self__), ('', x.__func__))
    elif isinstance(x, types.FunctionType):
        yield from _surroundings(x)
    elif hasattr(x, 'func') and hasattr(x, 'keywords'):  # functools.partial
        yield from (('', x.func), *((f'args[{i}]', a) for i, a in enumerate(x.args)), *_named(x.keywords))
    elif is_link(x):
        yield from _unregistered(x)
    elif type(x).__module__.partition('.')[0] not in _FOREIGN:
        yield from _named(getattr(x, '__dict__', {}))
        yield from (('', method) for method in _methods(x))


def _surroundings(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    """What a function closes over, or uses as defaults and globals."""
    if function.__module__ and function.__module__.partition('.')[0] in _FOREIGN:
        return
    code = function.__code__
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=False):
        if _is_filled(cell):
            yield f'.{name}', cell.cell_contents
    yield from ((f'.defaults[{i}]', x) for i, x in enumerate(function.__defaults__ or ()))
    yield from _named(function.__kwdefaults__ or {})
    yield from ((f'.{name}', function.__globals__[name]) for name in code.co_names if name in function.__globals__)


def _unregistered(link: Any) -> Iterator[tuple[str, Any]]:
    """What links hold besides parameters and child links, and what their methods use."""
    for name, one in link.namedlinks():
        place = name.replace('/', '.').rstrip('.')
        known = {*one._params, *getattr(one, '_children', ())}
        for attribute, x in list(vars(one).items()):
            if attribute not in known and not attribute.startswith('_'):
                yield f'{place}.{attribute}', x
        yield from (('', method) for method in _methods(one))


def _methods(x: Any) -> Sequence[Any]:
    """The methods of an object that are called when it is."""
    methods = [getattr(type(x), name, None) for name in ('__call__', 'forward')]
    return [m for m in methods if isinstance(m, types.FunctionType)]


def _named(items: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    return ((f'.{name}', x) for name, x in list(items.items()))


def _is_filled(cell: Any) -> bool:
    """Whether a closure cell has a value."""
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False
