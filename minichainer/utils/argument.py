"""Helpers for functions that take ``**kwargs``."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from typing import Any

from minichainer._names import unknown_arguments


def check_unexpected_kwargs(kwargs: Mapping[str, Any], **unexpected: str) -> None:
    """Raises a ValueError with an explanation if a removed argument was given.

    Args:
        kwargs: the arguments that were given.
        unexpected: what to say about an argument, by its name.
    """
    messages = [text for name, text in unexpected.items() if name in kwargs]
    if messages:
        raise ValueError('\n'.join(messages))


def assert_kwargs_empty(kwargs: Mapping[str, Any]) -> None:
    """Raises a TypeError that names the calling function and the remaining arguments, if there are any.

    Args:
        kwargs: the arguments that nobody took.
    """
    _refuse(kwargs, 2)


def parse_kwargs(kwargs: dict[str, Any], *name_and_values: tuple[str, Any], **unexpected: str) -> tuple[Any, ...]:
    """The values of keyword arguments, with defaults.

    Args:
        kwargs: the arguments that were given; those that are known are removed.
        name_and_values: pairs of an argument's name and its default.
        unexpected: what to say about arguments no longer taken; see :func:`check_unexpected_kwargs`.

    Raises:
        TypeError: an argument that is in none of the pairs.

    >>> from minichainer.utils import argument
    >>> argument.parse_kwargs({'stride': 2}, ('stride', 1), ('pad', 0))
    (2, 0)
    """
    if not kwargs:
        return tuple([default for _, default in name_and_values])
    check_unexpected_kwargs(kwargs, **unexpected)
    known = dict(name_and_values)
    _refuse([name for name in kwargs if name not in known], 2, known)
    return tuple([kwargs.pop(name, default) for name, default in name_and_values])


def _refuse(names: Any, depth: int, known: Iterable[str] = ()) -> None:
    if not names:
        return
    frame = inspect.currentframe()
    for _ in range(depth):
        frame = frame.f_back if frame is not None else None
    while frame is not None and frame.f_code.co_name in _HELPERS:
        frame = frame.f_back
    quoted = ', '.join(repr(name) for name in names)
    text = f'{_caller(frame)}() got unexpected keyword argument(s) {quoted}'
    code = frame.f_code if frame is not None else None
    own = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount] if code is not None else ()
    raise unknown_arguments(text, names, [*own, *known])


#: Functions that pass the arguments of their callers on.
_HELPERS = ('check_kwargs',)


def _caller(frame: Any) -> str:
    """The function of a frame; for a constructor the class of the object."""
    if frame is None:
        return 'the function'
    name = frame.f_code.co_name
    return type(frame.f_locals['self']).__name__ if name == '__init__' and 'self' in frame.f_locals else name
