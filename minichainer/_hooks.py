"""Hooks on nodes of the graph, for gradients that reach a Variable and for the backward of a function."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Iterable
from typing import Any

import numpy

from minichainer import backprop
from minichainer._checks import as_raw, native
from minichainer._lifetimes import removing
from minichainer._locks import lock_of
from minichainer._trace import hook_name, timed
from minichainer.configuration import using_config
from minichainer.errors import describe

_numbers = itertools.count()
_lock = lock_of(globals(), '_lock')


class Hooks:
    """The hooks of one node; made by the first that is added.

    Args:
        as_constant: makes a Variable of an array.
    """

    __slots__ = (
        '__weakref__',
        '_as_constant',
        'accumulated',
        'after',
        'before',
        'gradient',
        'metadata',
        'retains',
    )

    def __init__(self, as_constant: Callable[[Any], Any]) -> None:
        self._as_constant = as_constant
        #: Called with the gradient of the Variable.
        self.gradient: dict[int, Callable[[Any], Any]] = {}
        #: Called when a leaf's gradient has been accumulated.
        self.accumulated: dict[int, Callable[[], Any]] = {}
        #: Called before and after the backward of a function.
        self.before: dict[int, Callable[..., Any]] = {}
        self.after: dict[int, Callable[..., Any]] = {}
        #: Whether the gradient of an intermediate Variable is stored.
        self.retains = False
        #: What users attach to a function; None if nobody has asked for it.
        self.metadata: dict[Any, Any] | None = None
        # So that passes over graphs without hooks need not look for them.
        backprop.hooked[id(self)] = weakref.ref(self, removing(backprop.hooked, id(self)))

    def __bool__(self) -> bool:
        hooks = self.gradient or self.accumulated or self.before or self.after
        return bool(hooks) or self.retains or self.metadata is not None

    def on_gradient(self, gradient: Any, variables: bool) -> Any:
        """The gradient, as the hooks of its Variable replace it."""
        for hook in tuple(self.gradient.values()):
            with using_config('enable_backprop', variables):
                result = timed(hook_name(hook), hook, self._variable(gradient))
            gradient = self._replaced(hook, result, gradient, variables)
        return gradient

    def on_upstream(self, gradients: Any, variables: bool) -> Any:
        """The upstream gradient or gradients of a function, as its hooks replace them."""
        several = type(gradients) is list
        given = gradients if several else [gradients]
        for hook in tuple(self.before.values()):
            with using_config('enable_backprop', variables):
                results = timed(hook_name(hook), hook, self._all_variables(given))
            given = self._all_replaced(hook, results, given, variables)
        return given if several else given[0]

    def on_found(self, found: Any, upstream: Any, variables: bool) -> Any:
        """The gradients of a function's edges, as its hooks replace them."""
        given = self._all_variables(upstream if type(upstream) is list else [upstream])
        for hook in tuple(self.after.values()):
            with using_config('enable_backprop', variables):
                results = timed(hook_name(hook), hook, self._all_variables(found), given)
            found = self._all_replaced(hook, results, found, variables)
        return found

    def on_accumulated(self, gradient: Any, variables: bool) -> None:
        """Calls the hooks of a leaf after its gradient has been accumulated."""
        for hook in tuple(self.accumulated.values()):
            timed(hook_name(hook), hook)
        self.on_found((), gradient, variables)

    def _variable(self, gradient: Any) -> Any:
        return gradient if gradient is None or hasattr(gradient, 'edge') else self._as_constant(gradient)

    def _all_variables(self, gradients: Iterable[Any]) -> tuple[Any, ...]:
        return tuple(map(self._variable, gradients))

    def _all_replaced(self, hook: Any, results: Any, gradients: Any, variables: bool) -> list[Any]:
        if results is None:
            return list(gradients)
        results = results if isinstance(results, (tuple, list)) else (results,)
        if len(results) != len(gradients):
            raise RuntimeError(f'{hook_name(hook)}: expected None or {len(gradients)} gradients, got {len(results)}')
        pairs = zip(results, gradients, strict=True)
        return [self._replaced(hook, result, gradient, variables) for result, gradient in pairs]

    def _replaced(self, hook: Any, result: Any, gradient: Any, variables: bool) -> Any:
        """The gradient that a hook returned, checked; the former one for None."""
        if result is None:
            return gradient
        array = as_raw(result)
        if isinstance(result, numpy.ndarray):
            array = result = native(result)
        if isinstance(array, numpy.generic):  # NumPy returns scalars for 0-d results
            array = result = numpy.asarray(array)
        if not hasattr(array, 'dtype') or not hasattr(array, 'shape'):
            raise TypeError(f'{hook_name(hook)}: expected None, a Variable or an array, got {type(result).__name__}')
        present = as_raw(gradient)
        if present is not None and (array.shape != present.shape or array.dtype != present.dtype):
            raise RuntimeError(
                f'{hook_name(hook)}: a hook may replace a gradient by one of its shape and dtype\n'
                f'Expect: {describe(present)}\nActual: {describe(array)}'
            )
        return self._variable(result) if variables else array


def hooks_of_edge(node: Any, as_constant: Callable[[Any], Any]) -> Hooks:
    """The hooks of a node, made if there are none."""
    with _lock:
        if node._hooks is None:
            node._hooks = Hooks(as_constant)
        hooks: Hooks = node._hooks
        return hooks


class RemovableHandle:
    """Removes a hook: by :meth:`remove`, or at the end of a ``with`` block.

    Args:
        node: the node that has the hook.
        kind: which of its hooks.
        hook: the function.
        as_constant: makes a Variable of an array.
    """

    def __init__(self, node: Any, kind: str, hook: Callable[..., Any], as_constant: Callable[[Any], Any]) -> None:
        if not callable(hook):
            raise TypeError(f'a hook must be callable, got {type(hook).__name__}')
        self.id = next(_numbers)
        self._node, self._kind = weakref.ref(node), kind
        getattr(hooks_of_edge(node, as_constant), kind)[self.id] = hook

    def remove(self) -> None:
        """Removes the hook; does nothing if it has been removed."""
        node = self._node()
        if node is None or node._hooks is None:
            return
        getattr(node._hooks, self._kind).pop(self.id, None)
        if not node._hooks:
            node._hooks = None

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exception: Any) -> None:
        self.remove()
