"""What counts as an array for functions of the user's own, and as one that has a gradient."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import Any

import numpy

from minichainer._checks import array_types, as_raw
from minichainer.backend import get_array_module
from minichainer.variable import Variable

_array_types = array_types()


def is_array(x: Any) -> bool:
    """Whether it is a Variable or an array; NumPy's scalars are results of reductions, and count as arrays."""
    return isinstance(x, (Variable, numpy.generic, *_array_types))


def raw(x: Any) -> Any:
    """The array of a Variable, array or scalar."""
    return numpy.asarray(x) if isinstance(x, numpy.generic) else as_raw(x)


def constant(x: Any) -> Variable:
    return Variable(raw(x), requires_grad=False)


def type_of(x: Any) -> tuple[Any, Any]:
    array = raw(x)
    return (None, None) if array is None else (array.shape, array.dtype)


def is_float(x: Any) -> bool:
    """Whether it is a Variable or array of real or complex numbers, which may have a gradient."""
    array = raw(x) if is_array(x) else None
    return array is not None and array.dtype.kind in 'fc'


def needs_gradient(x: Any) -> bool:
    return isinstance(x, Variable) and x.requires_grad and (x.array is None or is_float(x))


def as_input(x: Variable) -> Variable:
    """The Variable, without a gradient if it holds integers."""
    return x if needs_gradient(x) or not x.requires_grad else constant(x)


def only_arrays(method: str, values: tuple[Any, ...]) -> tuple[Any, ...]:
    for i, x in enumerate(values):
        if not is_array(x):
            raise RuntimeError(f'{method}: Variables or arrays expected, got {type(x).__name__} as argument {i}')
    return values


def contains(values: Sequence[Any], x: Any) -> bool:
    """Whether ``x`` is one of the values: by identity, because arrays are compared element by element."""
    return any(x is value for value in values)


def is_shared(x: Variable, *known: Iterable[Any]) -> bool:
    """Whether something else refers to the memory of a Variable than the Variable, its function, and what is known.

    The references to its array are counted, and if that is a view those to the array that owns the memory. False if
    the interpreter does not count references.

    Args:
        x: the Variable, a result of a function.
        known: what may contain its array.
    """
    node: Any = x._node
    saved = node.saved if type(getattr(node, 'saved', None)) is tuple else ()
    count = sum([value is x._data for values in (saved, *known) for value in values])
    if _references_to_array(x) > _UNSHARED + count:
        return True
    return x._data.base is not None and _references_to_owner(x) > _UNSHARED


def _references_to_array(x: Any) -> int:
    return _references(x._data)


def _references_to_owner(x: Any) -> int:
    return _references(x._data.base)


_references = getattr(sys, 'getrefcount', lambda _: 0)
#: The count for an array that only one Variable, or one view, refers to; it differs between versions of Python.
_UNSHARED = _references_to_array(Variable(numpy.empty(1)))


def materialized(given: dict[int, Any], types: tuple[Any, ...], with_zeros: bool) -> list[Any]:
    """Gradients or tangents by position; zeros of the types for those that are missing, if wanted."""
    present = [g for g in given.values() if g is not None]
    xp = get_array_module(*present)

    def at(position: int) -> Any:
        found = given.get(position)
        if found is not None or not with_zeros or types[position] is None:
            return found
        shape, dtype = types[position]
        return Variable(xp.zeros(shape, dtype), requires_grad=False)

    return [at(i) for i in range(len(types))]
