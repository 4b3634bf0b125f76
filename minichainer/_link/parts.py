"""Small parts that links are made of."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy

from minichainer import backend
from minichainer.variable import Parameter


class SetByInit:
    """Stands in the class for state that ``__init__`` sets, so that forgetting to call it has its words.

    It has no ``__set__``: what the instance holds comes first, at no cost.
    """

    def __get__(self, link: Any, owner: type) -> Any:
        if link is None:
            return self
        raise RuntimeError(not_initialised(owner))


def not_initialised(cls: type) -> str:
    """The error text for a link whose class does not call ``super().__init__()``."""
    return f'Link.__init__() has not been called: call super().__init__() first in {cls.__name__}.__init__'


class SequentialMaker:
    """Where ``sequential.py``, which stands above, leaves the class that :meth:`Link.repeat` makes."""

    make: Callable[..., Any]


def shape_and_dtype(value: Any) -> tuple[Any, Any]:
    """A shape, or a pair of shape and dtype, as the pair."""
    if isinstance(value, tuple) and len(value) == 2 and not isinstance(value[1], (int, numpy.integer)):
        return value
    return value, numpy.float32


def initialize_again(param: Parameter) -> None:
    """New initial values; a parameter made of an array has no others than that array's."""
    initial: Any = param.initializer
    param.grad_var = None
    if isinstance(initial, backend.get_array_types()):
        backend.copyto(param.array, initial)
    else:
        param.initialize(param.shape)


def difference(path: str, mine: Parameter, theirs: Any) -> str:
    """Why one parameter cannot be combined with another, or nothing."""
    if not isinstance(theirs, Parameter):
        return f'{path}: missing'
    if mine.array is not None and theirs.array is not None and mine.shape != theirs.shape:
        return f'{path}: its shape is {theirs.shape}, expected {mine.shape}'
    return ''


def copied_persistent(mine: Any, theirs: Any, device: backend.Device) -> Any:
    """The value to keep after copying ``theirs``; an array is written in place where the shape allows it.

    Args:
        mine: the value so far.
        theirs: the value to copy.
        device: where a new array is to lie.
    """
    array_types = backend.get_array_types()
    if isinstance(mine, array_types) and isinstance(theirs, array_types) and mine.shape == theirs.shape:
        backend.copyto(mine, theirs)
        return mine
    theirs = copy.deepcopy(theirs)
    return device.send(theirs) if isinstance(theirs, array_types) else theirs
