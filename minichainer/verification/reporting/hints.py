"""What to do about arguments that cannot be checked."""

from __future__ import annotations

import inspect
import numbers
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from minichainer._frames import stacklevel
from minichainer.backend import get_array_types
from minichainer.errors import NumbersError
from minichainer.function_node import FunctionNode
from minichainer.variable import Variable

_ARRAYS = (Variable, *get_array_types())
_NO_GRADIENT = 'expected at least one input that requires a gradient'


def check_func(func: Any) -> None:
    """Raises TypeError unless ``func`` can be called with the inputs, several times."""
    if not callable(func):
        raise TypeError(f'func must be callable, not {type(func).__name__}')
    name = getattr(func, '__name__', type(func).__name__)
    if isinstance(func, type) and issubclass(func, FunctionNode):
        raise TypeError(
            f'func is the class {name}: each call needs a node of its own, so pass lambda *xs: {name}().apply(xs)'
        )
    if isinstance(func, type) and hasattr(func, 'namedparams'):
        raise TypeError(f'func is the class {name}: pass a link of this class, such as {name}(...)')
    if isinstance(func, FunctionNode):
        raise TypeError(
            f'func is a {name}, which can be applied only once: pass lambda *xs: {name}().apply(xs), which makes '
            'a new one for each call'
        )


def nothing_to_check(name: str, inputs: Sequence[Any], is_error: bool = False) -> None:
    """Warns that no input is differentiable; raises an error if all are numbers, where an array is needed.

    Args:
        name: The function.
        inputs: Its arguments.
        is_error: Raise ValueError instead of the warning.
    """
    items = list(_flat(inputs))
    arrays: list[Any] = [x for x in items if isinstance(x, _ARRAYS)]
    if not arrays and any(isinstance(x, numbers.Real) and not isinstance(x, bool) for x in items):
        raise NumbersError(_numbers_given(name, inputs) + (f'; {_NO_GRADIENT}' if is_error else ''))
    kinds = sorted({str(x.dtype) for x in arrays})
    advice = (
        f'; the inputs are {" and ".join(kinds)}: convert them, such as by x.astype(numpy.float64)' if kinds else ''
    )
    text = f'{name}: nothing to check, no input and no parameter is differentiable{advice}'
    if is_error:
        raise ValueError(f'{text}; {_NO_GRADIENT}')
    warnings.warn(text, stacklevel=stacklevel())


def _numbers_given(name: str, inputs: Sequence[Any]) -> str:
    """The message for numbers instead of arrays."""
    text = f'inputs: expected an array of floats, or a tuple with an array per argument of {name}, got'
    meant = inputs[0] if len(inputs) == 1 else list(inputs)
    example = repr(meant) if _is_table(meant) and len(repr(meant)) < 60 else '[...]'
    if isinstance(meant, numbers.Real):
        return f'{text} the number {meant}: write np.array({float(meant)!r})'
    kind = 'a list of numbers' if len(inputs) == 1 else f'{len(inputs)} arguments that contain only numbers'
    return f'{text} {kind} (a list or tuple means several arguments): for one array write np.array({example})'


def _is_table(values: Any) -> bool:
    """Whether NumPy makes an array of floats of nested lists."""
    try:
        return np.asarray(values).dtype.kind in 'fiu'
    except ValueError:  # lists of different lengths
        return False


def _flat(value: Any) -> Iterator[Any]:
    """The items of nested containers."""
    if isinstance(value, (tuple, list, dict)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _flat(item)
    else:
        yield value


def add_hint(error: Exception, func: Callable[..., Any], inputs: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    """Adds to an exception of the function what may be the reason, if it is a common one."""
    hint = _arguments(error, func, inputs, kwargs)
    if not hint:
        return
    add_note = getattr(error, 'add_note', None)
    if add_note is not None:
        add_note(hint)
    elif len(error.args) == 1 and isinstance(error.args[0], str):  # Python 3.10
        error.args = (f'{error.args[0]}\n{hint}',)


def _arguments(error: Exception, func: Callable[..., Any], inputs: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    """The hint for a list that was meant as one argument."""
    if not isinstance(error, TypeError):
        return ''
    try:
        signature = inspect.signature(func)
    except ValueError:  # built-in functions have none
        return ''
    entries = '1 entry' if len(inputs) == 1 else f'{len(inputs)} entries'
    if not _fits(signature.bind_partial, inputs, kwargs):
        return (
            f'inputs has {entries}, each an argument of the function: for an argument that is a list of arrays write '
            '([x, y],), for one array np.array([x, y])'
        )
    if not _fits(signature.bind, inputs, kwargs):
        return f'inputs has {entries}: write a tuple with one entry per argument of the function'
    return ''


def _fits(bind: Callable[..., Any], inputs: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    try:
        bind(*inputs, **kwargs)
    except TypeError:
        return False
    return True
