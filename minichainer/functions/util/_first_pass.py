"""Records what a call of a function reads and changes besides its arguments, so that it can be repeated.

Settings and random numbers are those of the thread. States of links are recorded before the first call of each link,
together with those of the links below it. Arrays that functions write to, such as running statistics, are recorded
before the first write (:func:`about_to_write`).
"""

from __future__ import annotations

import contextlib
import copy
import random
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import numpy

from minichainer import backend, function_hook, link_hook
from minichainer._checks import array_types
from minichainer.backends import cuda
from minichainer.configuration import config, current_settings, using_settings
from minichainer.function_hook import FunctionHook
from minichainer.link_hook import LinkHook
from minichainer.variable import Parameter, Variable, variable_on
from minichainer.variable_node import creator_of

T = TypeVar('T')


class FirstPass:
    """The first call of a function, :meth:`first`, and further calls, :meth:`again`.

    Args:
        func: the function.
        arrays: its arguments.
    """

    def __init__(self, func: Callable[..., Any], arrays: Sequence[Any]) -> None:
        self._settings = current_settings()
        self._numbers = _RandomNumbers(any(isinstance(x, cuda.ndarray) for x in arrays))
        self._written = _WrittenArrays()
        self._links = _LinkStates(func)

    def first(self, call: Callable[[], T]) -> T:
        """Calls the function for the first time."""
        functions = self._functions = _AppliedFunctions()
        try:
            with self._numbers.first(), self._written, self._links, functions:
                return call()
        finally:  # an interrupt where a block ends may leave them
            function_hook.discard(functions)
            link_hook.discard(self._links)
            self._written.discard()

    def states(self) -> list[tuple[Any, str]]:
        """Links and the names of their attributes that hold a Variable made during the call."""
        held = self._links.new_variables()
        return [(link, name) for link, name, y in held if creator_of(y.edge) in self._functions.seen]

    def places_outside(self, outputs: Sequence[Variable], inputs: Sequence[Variable]) -> list[Variable]:
        """Where gradients of ``outputs`` leave the functions of the call, apart from ``inputs``."""
        inside, known = self._functions.seen, {x.edge for x in inputs}
        del self._functions
        found: dict[Any, Variable] = {}
        gone_through: set[Any] = set()
        waiting = [y.edge for y in outputs]
        while waiting:
            edge = waiting.pop()
            function = creator_of(edge)
            if function not in inside:
                if edge.requires_grad and edge not in known:
                    found[edge] = variable_on(None, edge)
            elif function not in gone_through:
                gone_through.add(function)
                waiting += function.edges
        return list(found.values())

    def again(self, call: Callable[[], T]) -> T:
        """Calls the function with everything as its first call found it, and undoes that; the graph is recorded."""
        settings = {**self._settings, 'enable_backprop': True, 'in_recomputing': True}
        changed = {name: value for name, value in settings.items() if getattr(config, name, None) is not value}
        context = using_settings(changed)
        try:
            with context, self._numbers.again(), self._written.again(), self._links.again():
                return call()
        finally:
            context.discard()


class _AppliedFunctions(FunctionHook):
    """Collects the functions that are applied inside the context."""

    def __init__(self) -> None:
        self.name = f'{type(self).__name__} {id(self)}'
        self.seen: set[Any] = set()

    def forward_preprocess(self, function: Any, in_data: tuple[Any, ...]) -> None:
        self.seen.add(function)


class _RandomNumbers:
    """The states of the random number generators.

    CuPy's state cannot be read: on a GPU the first call gets its own generator, with a seed drawn from CuPy's.
    """

    def __init__(self, on_gpu: bool) -> None:
        self._on_gpu = on_gpu
        self._seed = 0

    @contextlib.contextmanager
    def first(self) -> Iterator[None]:
        self._states = _host_states()
        if self._on_gpu:
            self._seed = int(cuda.cupy.random.randint(1 << 31))
        with self._seeded():
            yield

    @contextlib.contextmanager
    def again(self) -> Iterator[None]:
        """Context manager with the recorded states of the generators."""
        now = _host_states()
        _set_host_states(self._states)
        try:
            with self._seeded():
                yield
        finally:
            _set_host_states(now)

    @contextlib.contextmanager
    def _seeded(self) -> Iterator[None]:
        """Context manager with CuPy's generator seeded as in the first call."""
        if not self._on_gpu:
            yield
            return
        source = cuda.cupy.random
        now = source.get_random_state()
        source.set_random_state(source.RandomState(self._seed))
        try:
            yield
        finally:
            source.set_random_state(now)


def _host_states() -> tuple[Any, Any]:
    return numpy.random.get_state(), random.getstate()


def _set_host_states(states: tuple[Any, Any]) -> None:
    numpy.random.set_state(states[0])
    random.setstate(states[1])


class _Passes(threading.local):
    """The nested first passes of a thread."""

    def __init__(self) -> None:
        self.written: list[_WrittenArrays] = []


_passes = _Passes()


def about_to_write(array: Any) -> None:
    """Must be called by a function before it writes to an array that it has been given."""
    for written in _passes.written:
        written.keep(array)


class _WrittenArrays:
    """Arrays that functions write to, and their first values."""

    def __init__(self) -> None:
        self._kept: dict[int, tuple[Any, Any]] = {}

    def __enter__(self) -> None:
        _passes.written.append(self)

    def __exit__(self, *exception: Any) -> None:
        self.discard()

    def discard(self) -> None:
        """Ends the pass, if it has not ended."""
        if self in _passes.written:
            _passes.written.remove(self)

    def keep(self, array: Any) -> None:
        if id(array) not in self._kept:
            self._kept[id(array)] = (array, backend.copied(array))

    @contextlib.contextmanager
    def again(self) -> Iterator[None]:
        """Context manager with the first values of the arrays."""
        now = [(array, backend.copied(array)) for array, _ in self._kept.values()]
        try:
            for array, values in self._kept.values():
                backend.copyto(array, values)
            yield
        finally:
            for array, values in now:
                backend.copyto(array, values)


class _LinkStates(LinkHook):
    """The attributes of links before the links are called."""

    def __init__(self, func: Callable[..., Any]) -> None:
        self.name = f'{type(self).__name__} {id(self)}'
        self._kept: dict[int, tuple[Any, dict[str, Any]]] = {}
        for root in (func, getattr(func, '__self__', None)):
            if hasattr(root, 'namedlinks') and not isinstance(root, type):
                self._keep(root)

    def forward_preprocess(self, args: Any) -> None:
        self._keep(args.link)

    def _keep(self, root: Any) -> None:
        if id(root) in self._kept:
            return
        for link in root.links():
            if id(link) not in self._kept:
                self._kept[id(link)] = (link, {name: _state(value) for name, value in link.__dict__.items()})

    def new_variables(self) -> list[tuple[Any, str, Variable]]:
        """Links, names of attributes, and the Variables that they hold only since the call."""
        return [
            (link, name, value)
            for link, before in self._kept.values()
            for name, value in link.__dict__.items()
            if isinstance(value, Variable) and value is not before.get(name) and not isinstance(value, Parameter)
        ]

    @contextlib.contextmanager
    def again(self) -> Iterator[None]:
        """Context manager with the recorded attributes of the links."""
        now = [(link, dict(link.__dict__)) for link, _ in self._kept.values()]
        parameters: dict[int, Any] = {}  # a shared parameter stays shared
        try:
            for link, state in self._kept.values():
                _set_attributes(link, {name: _as_found(value, parameters) for name, value in state.items()})
            yield
        finally:
            for link, state in now:
                _set_attributes(link, state)


def _set_attributes(link: Any, attributes: dict[str, Any]) -> None:
    for name in link.__dict__.keys() - attributes.keys():
        del link.__dict__[name]
    link.__dict__.update(attributes)


class _NotInitialized:
    """Stands for a Parameter whose shape is determined by the first call."""

    def __init__(self, parameter: Parameter) -> None:
        self.parameter = parameter


class _InitializedAgain(Parameter):
    """A Parameter that was initialized in the first call: gets the same array, and draws the same numbers."""

    _found: Any

    def __init__(self, parameter: Parameter) -> None:
        self.__dict__.update(parameter.__dict__, _found=parameter._data)
        self._data, self._node, self._view = None, parameter._node, None
        self._grad_initializer = None  # the gradient of their common leaf belongs to the original

    def initialize(self, shape: Any) -> None:
        if getattr(self.initializer, 'rng', None) is None:
            super().initialize(shape)
        self._data = self._found


def _state(value: Any) -> Any:
    """A copy of a link's attribute that later changes of the link do not affect."""
    if isinstance(value, Parameter):
        return value if value.is_initialized else _NotInitialized(value)
    if isinstance(value, array_types()):
        return backend.copied(value)
    return copy.copy(value) if isinstance(value, (list, dict, set)) else value


def _as_found(value: Any, parameters: dict[int, Any]) -> Any:
    """The recorded attribute; a Parameter that has been initialized since is replaced."""
    if not isinstance(value, _NotInitialized):
        return _state(value)
    parameter = value.parameter
    if parameter._data is None:
        return parameter
    return parameters.setdefault(id(parameter), _InitializedAgain(parameter))
