"""The registry of differentiable functions, by name: the graph itself does not know any op.

The modules of ``functions/`` fill the registry when they are loaded, which is when one of their ops is needed.
``Variable``'s operators and the package's own derivative rules call the registered ops. Only the package can register
ops, so a user's op cannot replace one of ours. Names in a user's rule are explained in
:mod:`minichainer.functions._scope`.

Each op has two forms of the same name: the differentiable function (an attribute of this module) and its forward body
on raw arrays. A rule ``lambda m, gy, x: gy * m.cos(x)`` is evaluated with either form as ``m``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from threading import RLock
from types import FunctionType
from typing import Any, NamedTuple
from weakref import WeakSet

import numpy

from minichainer._locks import lock_of
from minichainer.backend import get_array_module
from minichainer.configuration import using_config


class Op(NamedTuple):
    """The two forms of an op.

    Args:
        function: takes Variables, returns a Variable.
        body: ``body(xp, *arrays, **static)``, takes and returns raw arrays.
    """

    function: Callable[..., Any]
    body: Callable[..., Any]

    def on(self, xp: Any) -> Callable[..., Any]:
        """The body for arrays of a module; a kernel has several, and chooses."""
        choose = getattr(self.body, 'body_for', None)
        return partial(self.body if choose is None else choose(xp), xp)


_built_in: dict[str, Op] = {}
_public: dict[str, Op] = {}
#: The modules of the public functions.
_homes: dict[str, str] = {}
#: Namespaces with cached names, which must be cleared when an op is defined.
_in_use: WeakSet[_Namespace] = WeakSet()
_lock = lock_of(globals(), '_lock', RLock)


def __getattr__(name: str) -> Any:
    """An op that is not registered yet: all modules are loaded, because any of them may have it."""
    for module in () if name.startswith('__') else {*_homes.values()}:
        import_module(module)
    if name not in globals():
        raise AttributeError(f'the package has no op named {name!r}')
    return globals()[name]


def define(function: Callable[..., Any], body: Callable[..., Any]) -> Op:
    """Makes an op of a function; rules that can see it may call it. All rules look up their names again."""
    op = function.op = Op(function, body)  # type: ignore[attr-defined]
    with _lock:
        while _in_use:
            vars(_in_use.pop()).clear()
    return op


def op_of(value: Any) -> Op | None:
    """The op of a value, or None; a function that wraps an op, and has copied its attributes, is not one."""
    if type(value) is not FunctionType:
        return None
    op = getattr(value, 'op', None) or public(value.__name__)
    return op if isinstance(op, Op) and op.function is value else None


def register(name: str, function: Callable[..., Any], body: Callable[..., Any] | None = None) -> Op:
    """Registers an op of the package under a name.

    Args:
        name: in the package's rules ``m.name``.
        function: takes Variables, returns a Variable.
        body: ``body(xp, *arrays, **static)``, takes and returns raw arrays; by default the function does that,
            without a graph.

    Raises:
        ValueError: another module has taken the name.
    """
    taken = globals().get(name)
    if taken is not None and getattr(taken, '__module__', None) != function.__module__:
        raise ValueError(f'an op named {name!r} already exists')
    globals()[name] = function
    op = _built_in[name] = define(function, body or partial(_without_graph, function))
    return op


def register_constant(name: str, body: Callable[..., Any]) -> None:
    """Registers a function without a derivative: it takes Variables or arrays, and returns raw arrays."""

    def constant(*args: Any, **static: Any) -> Any:
        arrays = [arg if isinstance(arg, numpy.ndarray) else getattr(arg, '_data', arg) for arg in args]
        return body(get_array_module(*arrays), *arrays, **static)

    constant.__module__ = body.__module__
    register(name, constant, body)


def publish(homes: Mapping[str, str]) -> None:
    """Makes the functions of ``minichainer.functions`` available to every rule, by the modules that define them."""
    _homes.update(homes)


def public(name: str) -> Op | None:
    """A function of ``minichainer.functions`` as an op; None if there is none of that name."""
    if name in _homes and name not in _public:
        function = getattr(import_module(_homes[name]), name)
        _public[name] = getattr(function, 'op', None) or Op(function, partial(_without_graph, function))
    return _public.get(name)


def _without_graph(function: Callable[..., Any], xp: Any, *args: Any, **static: Any) -> Any:
    """Applies a function of Variables to raw arrays, without a graph."""
    with using_config('enable_backprop', False):
        return _array_of(function(*map(_no_scalar, args), **{k: _no_scalar(v) for k, v in static.items()}))


def _no_scalar(value: Any) -> Any:
    """Converts a NumPy scalar, the result of arithmetic on 0-d arrays, back to an array."""
    return numpy.asarray(value) if isinstance(value, numpy.generic) else value


def _array_of(result: Any) -> Any:
    if isinstance(result, (tuple, list)):
        return type(result)(map(_array_of, result))
    return getattr(result, '_data', result)


class _Namespace:
    """The ``m`` of a rule; names are cached as attributes."""

    __slots__ = ('__dict__', '__find', '__weakref__')  # nothing else, because any name may be an op's

    def __init__(self, find: Callable[[str], Any]) -> None:
        self.__find = find

    def __getattr__(self, name: str) -> Any:
        self.__find(name)  # may load modules, whose ops other threads register under the lock
        with _lock:
            found = self.__find(name)
            setattr(self, name, found)
            _in_use.add(self)
        return found


class Evaluators:
    """The ``m`` of rules, given a function that finds ops by name.

    Args:
        find: ``find(name)`` returns an :class:`Op`, or raises AttributeError.
    """

    def __init__(self, find: Callable[[str], Op]) -> None:
        self._find = find
        #: ``m`` under double backprop: differentiable functions.
        self.on_variables = _Namespace(lambda name: find(name).function)
        #: ``m`` in ordinary backward: forward bodies on NumPy arrays.
        self.on_numpy = _Namespace(lambda name: find(name).on(numpy))
        self._on_others: dict[Any, _Namespace] = {}

    def on(self, xp: Any) -> _Namespace:
        """``m`` in ordinary backward on arrays of module ``xp``."""
        if xp is numpy:
            return self.on_numpy
        if xp not in self._on_others:
            self._on_others[xp] = _Namespace(lambda name: self._find(name).on(xp))
        return self._on_others[xp]

    def check(self) -> None:
        """Raises AttributeError if a name is known not to exist; ours are covered by tests."""


def _find_built_in(name: str) -> Op:
    if name not in _built_in:
        __getattr__(name)
    return _built_in[name]


#: For the package's own rules.
built_in = Evaluators(_find_built_in)


def raw(xp: Any) -> _Namespace:
    """The package's forward bodies for arrays of module ``xp``."""
    return built_in.on(xp)


class Modules:
    """The ``m`` of fast forms: the array module."""

    on_numpy = numpy

    def on(self, xp: Any) -> Any:
        """The module itself."""
        return xp


#: For fast forms of rules.
modules = Modules()
