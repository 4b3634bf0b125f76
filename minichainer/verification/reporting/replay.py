"""The arguments of a check as the user's program names them, for the line that repeats the check."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any

import numpy as np

from minichainer._frames import user_frame

#: Arrays with up to this many elements are written out, if they have no name.
_FEW = 6
#: Longer expressions are left out.
_LONG = 80


def arguments_of(func: Any, name: str, inputs: Sequence[Any], params: Any) -> list[str]:
    """The first arguments of :func:`~minichainer.gradient_check.check_gradients`.

    Args:
        func: The function.
        name: Its own name.
        inputs: Its arguments.
        params: The parameters, or "all".

    Returns:
        Expressions of the program that has called the check; ``func``, ``inputs`` or ``params`` for what it has no
        name for.
    """
    frame = user_frame()
    scope = {**frame.f_globals, **frame.f_locals}
    texts = [_function(func, name, scope), _tuple(inputs, scope) or 'inputs']
    if isinstance(params, str):
        texts.append(f'params={params!r}')
    elif len(params):
        texts.append(f'params={_tuple(params, scope) or "params"}')
    return texts


def _function(func: Any, name: str, scope: Mapping[str, Any]) -> str:
    """A name of the function, an attribute of a module such as ``F.tanh``, or its own name."""
    found = _name(func, scope)
    if found is None and name == getattr(func, '__name__', None) and name.isidentifier():
        modules = [n for n, x in scope.items() if isinstance(x, ModuleType) and vars(x).get(name) is func]
        found = f'{min(modules, key=len)}.{name}' if modules else name
    return found or 'func'


def _tuple(values: Sequence[Any], scope: Mapping[str, Any]) -> str | None:
    """The expression of one value, or of a tuple of several; None if one has no name."""
    texts = [_expression(x, scope) for x in values]
    if None in texts:
        return _name(values, scope)
    text = str(texts[0]) if len(texts) == 1 else f'({", ".join(map(str, texts))})'
    return text if len(text) <= _LONG else _name(values, scope)


def _expression(value: Any, scope: Mapping[str, Any]) -> str | None:
    """A name of a value, or a literal; None for a large value without a name."""
    found = _name(value, scope)
    if found is None and (value is None or isinstance(value, (bool, int, float, str))):
        return repr(value)
    numpy = _name(np, scope)
    if found is None and numpy is not None and type(value) is np.ndarray and value.size <= _FEW:
        dtype = '' if value.dtype == np.float64 else f', dtype={value.dtype.name!r}'
        return f'{numpy}.array({value.tolist()!r}{dtype})'
    return found


def _name(value: Any, scope: Mapping[str, Any]) -> str | None:
    """The shortest name of a value; names that begin with _ or @ are the program's own affair."""
    names = [n for n, x in scope.items() if x is value and n.isidentifier() and not n.startswith('_')]
    return min(names, key=len, default=None)
