"""Helpers for functions that take ``**kwargs``."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any


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
    check_unexpected_kwargs(kwargs, **unexpected)
    known = dict(name_and_values)
    _refuse([name for name in kwargs if name not in known], 2)
    return tuple([kwargs.pop(name, default) for name, default in name_and_values])


def _refuse(names: Any, depth: int) -> None:
    if not names:
        return
    frame = inspect.currentframe()
    for _ in range(depth):
        frame = frame.f_back if frame is not None else None
    caller = frame.f_code.co_name if frame is not None else 'the function'
    quoted = ', '.join(repr(name) for name in names)
    raise TypeError(f'{caller}() got unexpected keyword argument(s) {quoted}')
