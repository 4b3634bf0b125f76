"""Shared code of links with scales, shifts and running statistics."""

from __future__ import annotations

import copy
import math
from typing import Any

from minichainer.initializer import Initializer
from minichainer.initializers._generate import _get_initializer
from minichainer.links._arguments import LinkArguments
from minichainer.variable import Parameter


class _Typed:
    """A callable that fills arrays, with a dtype."""

    def __init__(self, fill: Any, dtype: Any) -> None:
        self.fill = fill
        self.dtype = dtype

    def __call__(self, array: Any) -> None:
        self.fill(array)


def typed_initializer(initializer: Any, default: float, dtype: Any) -> Any:
    """A user's initializer as one for arrays of a dtype; for None, a constant initializer."""
    initializer = _get_initializer(default if initializer is None else initializer)
    if not isinstance(initializer, Initializer):
        return _Typed(initializer, dtype)
    initializer = copy.copy(initializer)  # do not change the user's initializer
    initializer.dtype = dtype
    return initializer


def parameter(initializer: Any, default: float, dtype: Any, shape: Any = None) -> Parameter:
    """A Parameter of a dtype; its shape may be unknown."""
    return Parameter(typed_initializer(initializer, default, dtype), shape)


def check_running(check: LinkArguments, decay: float, eps: float, dtype: Any) -> None:
    """Raises TypeError or ValueError for wrong arguments of running statistics."""
    check.numbers(0, 1, decay=decay)
    check.numbers(0, math.inf, eps=eps)
    check.dtype(dtype)


def check_normalization(check: LinkArguments, size: int | None, eps: float, **initializers: Any) -> None:
    """Raises TypeError or ValueError for a wrong size, ``eps``, or initializer of vectors."""
    check.optional_sizes(size=size)
    check.numbers(0, math.inf, eps=eps)
    check.initializers((size,), **initializers)
