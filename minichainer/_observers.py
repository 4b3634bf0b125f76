"""Observers of a backward step: function hooks, debug mode and the detection of anomalies."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable
from typing import Any

from minichainer import _trace, configuration
from minichainer._checks import as_raw
from minichainer._frames import PACKAGE
from minichainer.backends import cuda
from minichainer.configuration import config
from minichainer.errors import NaNError
from minichainer.function_hook import FunctionHook, get_function_hooks


def is_nan(array: Any) -> bool:
    """Whether an array contains a NaN; False for integers."""
    if array is None or array.dtype.kind not in 'fc':
        return False
    with cuda.get_device_from_array(array):
        total = array.sum()  # quick, but infinities may also give NaN
        return bool(total != total) and bool((array != array).any())


def nan_error(function: Any, direction: str) -> NaNError:
    """The error of debug mode: names the op and shows where it was applied."""
    return NaNError(f'NaN is detected on {direction} computation of {function.label}' + _application(function))


def _application(function: Any) -> str:
    if not function.stack:
        return ''
    head = '\nStacktrace of the function, which was applied here (most recent call last):\n'
    return head + ''.join(function.stack.format()).rstrip()


def users_stack() -> traceback.StackSummary:
    """The present stack without the package's own frames."""
    stack = traceback.extract_stack()
    users = [frame for frame in stack if not frame.filename.startswith(PACKAGE)]
    return traceback.StackSummary.from_list(users) if users else stack


def add_application(error: Exception, function: Any) -> None:
    """Adds to an error of a function's backward where the function was applied, if that was recorded.

    In debug mode the text becomes a part of the message, as in Chainer, so that whoever logs only that has it.
    """
    text = _application(function)
    if not text or any(text in str(part) for part in (error, *error.args)):
        return
    text = f'The error occurred in the backward of {function.label}.{text}'
    if config.debug and error.args and isinstance(error.args[0], str):
        error.args = (f'{error.args[0]}\n{text}', *error.args[1:])
    elif sys.version_info >= (3, 11):
        error.add_note(text)
    else:
        print(text, file=sys.stderr)


def records_stacks() -> bool:
    """Whether the stack is recorded when a function is applied."""
    return bool(config.debug or config.detect_anomaly)


def hooks_of(function: Any) -> list[Any]:
    """The hooks of the thread and those of the function itself."""
    hooks = dict(get_function_hooks())
    hooks.update(function.local_function_hooks)
    return list(hooks.values())


def call_hook(hook: Any, method: str, *args: Any) -> None:
    """Calls a method of a function hook; a recording of this thread gets a row, unless the hook does not define it.

    Args:
        hook: the hook.
        method: name of the method.
        args: its arguments.
    """
    call = getattr(hook, method)
    if getattr(call, '__func__', None) is getattr(FunctionHook, method):
        return
    _trace.timed(f'{type(hook).__name__}.{method}', call, *args)


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
        call_hook(hook, 'backward_preprocess', *arguments)

    def after() -> None:
        for hook in hooks:
            call_hook(hook, 'backward_postprocess', *arguments)

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
    if not configuration.nondefault or _trace.alone() is not None:
        return []
    return [call_hooks, detect_nan] if config.debug or config.detect_anomaly is True else [call_hooks]
