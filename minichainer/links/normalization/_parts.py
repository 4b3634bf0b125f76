"""What links with scales, shifts and running statistics have in common."""

from __future__ import annotations

import copy
from typing import Any

from minichainer.initializer import Initializer
from minichainer.initializers._generate import _get_initializer
from minichainer.variable import Parameter


class _Typed:
    """Some callable that fills arrays, with a dtype."""

    def __init__(self, fill: Any, dtype: Any) -> None:
        self.fill = fill
        self.dtype = dtype

    def __call__(self, array: Any) -> None:
        self.fill(array)


def typed_initializer(initializer: Any, default: float, dtype: Any) -> Any:
    """What a user gives as initializer, as one for arrays of a dtype; a number where it is None."""
    initializer = _get_initializer(default if initializer is None else initializer)
    if not isinstance(initializer, Initializer):
        return _Typed(initializer, dtype)
    initializer = copy.copy(initializer)  # the user's own keeps its dtype
    initializer.dtype = dtype
    return initializer


def parameter(initializer: Any, default: float, dtype: Any, shape: Any = None) -> Parameter:
    """A Parameter of a dtype, whose shape may be left open."""
    return Parameter(typed_initializer(initializer, default, dtype), shape)
