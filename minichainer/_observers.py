"""Observers of a backward step: function hooks and debug mode."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minichainer import configuration
from minichainer._checks import as_raw
from minichainer.backends import cuda
from minichainer.errors import NaNError
from minichainer.function_hook import get_function_hooks


def is_nan(array: Any) -> bool:
    """Whether an array contains a NaN; False for integers."""
    if array is None or array.dtype.kind != 'f':
        return False
    with cuda.get_device_from_array(array):
        total = array.sum()  # quick, but infinities may also give NaN
        return bool(total != total) and bool((array != array).any())


def nan_error(function: Any, direction: str) -> NaNError:
    """The error of debug mode: names the op and shows where it was applied."""
    text = f'NaN appeared in the {direction} of {function.label}'
    if function.stack:
        text += '\nThe function was applied here (most recent call last):\n' + ''.join(function.stack.format())
    return NaNError(text)


def hooks_of(function: Any) -> list[Any]:
    """The hooks of the thread and those of the function itself."""
    hooks = dict(get_function_hooks())
    hooks.update(function.local_function_hooks)
    return list(hooks.values())


def call_hooks(node: Any, gradient: Any, table: Any) -> Callable[[], None] | None:
    """Calls ``backward_preprocess`` of every hook of a function; the result calls ``backward_postprocess``."""
    if not hasattr(node, 'local_function_hooks'):
        return None
    hooks = hooks_of(node)
    if not hooks:
        return None
    gradients = gradient if node.output_count > 1 else (gradient,)
    arguments = (node, node.input_arrays(), tuple(map(as_raw, gradients)))
    for hook in hooks:
        hook.backward_preprocess(*arguments)

    def after() -> None:
        for hook in hooks:
            hook.backward_postprocess(*arguments)

    return after


def detect_nan(node: Any, gradient: Any, table: Any) -> Callable[[], None]:
    """Raises after a step if it put NaN into a gradient."""

    def after() -> None:
        for edge in node.edges:
            arrived = table.get(edge)
            if not isinstance(arrived, list) and is_nan(as_raw(arrived)):
                raise nan_error(node, 'backward')

    return after


def observers() -> list[Any]:
    """The observers of passes in this thread."""
    if not configuration.nondefault:
        return []
    return [call_hooks, detect_nan] if configuration.is_debug() else [call_hooks]
