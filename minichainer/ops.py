"""The registry of differentiable functions: the graph knows no op, it finds them here by name.

``functions/`` fills the registry when it is imported; ``Variable``'s operators and the derivative rules call what
is in it. Each op has two faces of the same name: the differentiable function (an attribute of this module) and its
forward body on raw arrays (an attribute of :func:`raw`'s namespace). A rule ``lambda m, gy, x: gy * m.cos(x)`` is
evaluated with either one as ``m``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy

from minichainer.backend import get_array_module

_bodies: dict[str, Callable[..., Any]] = {}
_namespaces: dict[Any, _Raw] = {}


def __getattr__(name: str) -> Any:
    raise AttributeError(f'no op named {name!r} is registered; there are: {", ".join(sorted(_bodies))}')


def register(name: str, function: Callable[..., Any], body: Callable[..., Any]) -> None:
    """Makes an op known. A name that another module has taken stays with it; one's own may be defined again.

    Args:
        name: its name in ``functions``, and in rules as ``m.name``.
        function: takes Variables, returns a Variable.
        body: ``body(xp, *arrays, **static)``, takes and returns raw arrays.
    """
    taken = globals().get(name)
    if taken is not None and getattr(taken, '__module__', None) != getattr(function, '__module__', None):
        return
    globals()[name] = function
    _bodies[name] = body
    for namespace in _namespaces.values():
        namespace.__dict__.pop(name, None)


def register_constant(name: str, body: Callable[..., Any]) -> None:
    """Makes a function known that has no derivative: it takes Variables or arrays, and returns raw arrays."""

    def constant(*args: Any, **static: Any) -> Any:
        arrays = [arg if isinstance(arg, numpy.ndarray) else getattr(arg, 'array', arg) for arg in args]
        return body(get_array_module(*arrays), *arrays, **static)

    globals()[name] = constant
    _bodies[name] = body


class _Raw:
    """The ops' forward bodies with one array module bound: what rules call in ordinary backward."""

    def __init__(self, xp: Any) -> None:
        self._xp = xp

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name not in _bodies:
            raise AttributeError(f'no op named {name!r} is registered; there are: {", ".join(sorted(_bodies))}')
        bound = partial(_bodies[name], self._xp)
        setattr(self, name, bound)
        return bound


def raw(xp: Any) -> _Raw:
    """The namespace of forward bodies for the arrays of module ``xp``."""
    if xp not in _namespaces:
        _namespaces[xp] = _Raw(xp)
    return _namespaces[xp]


#: The namespace for NumPy arrays.
on_numpy = raw(numpy)
