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
    frame, names = user_frame(), {}
    for scope in (frame.f_globals, frame.f_locals):
        for key, x in scope.items():
            if key.isidentifier() and not key.startswith('_'):
                names[id(x)] = key
    texts = [_function(func, name, frame.f_globals, names), _tuple(inputs, names) or 'inputs']
    if isinstance(params, str):
        texts.append(f'params={params!r}')
    elif len(params):
        texts.append(f'params={_tuple(params, names) or "params"}')
    return texts


def _function(func: Any, name: str, scope: Mapping[str, Any], names: Mapping[int, str]) -> str:
    """A name of the function, an attribute of a module such as ``F.tanh``, or its own name."""
    found = names.get(id(func))
    if found is None and name == getattr(func, '__name__', None) and name.isidentifier():
        found = name
        for module, x in scope.items():
            if isinstance(x, ModuleType) and vars(x).get(name) is func:
                found = f'{module}.{name}'
                break
    return found or 'func'


def _tuple(values: Sequence[Any], names: Mapping[int, str]) -> str | None:
    """The expression of one value, or of a tuple of several; None if one has no name, or all together are long."""
    texts: list[str] = []
    for x in values:
        text = names.get(id(x)) or _literal(x, names)
        if text is None:
            return names.get(id(values))
        texts.append(text)
    text = texts[0] if len(texts) == 1 else f'({", ".join(texts)})'
    return text if len(text) <= _LONG else names.get(id(values))


def _literal(value: Any, names: Mapping[int, str]) -> str | None:
    """A number, or an array of few elements, as it is written in a program; None for anything else."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return repr(value)
    numpy = names.get(id(np))
    if numpy is None or type(value) is not np.ndarray or value.size > _FEW:
        return None
    dtype = '' if value.dtype == np.float64 else f', dtype={value.dtype.name!r}'
    return f'{numpy}.array({value.tolist()!r}{dtype})'
