"""Checks of shapes and dtypes of a function's inputs, written as expressions that explain errors.

In ``check_type_forward`` the inputs are expressions: ``in_types[0].ndim == 2`` does not compare, it records the
comparison. :func:`expect` evaluates it; its error says what was expected and what was got. In *light mode* the same
code runs on plain values, which is fast and gives no messages.

>>> import numpy as np
>>> from minichainer.utils import type_check
>>> in_types = type_check.get_types((np.zeros((2, 3), 'f'),), 'in_types', False)
>>> type_check.expect(in_types.size() == 1, in_types[0].ndim == 3)
Traceback (most recent call last):
    ...
minichainer.utils.type_check.InvalidType: Expect: in_types[0].ndim == 3
Actual: 2 != 3
"""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from typing import Any

import numpy

from minichainer.errors import InvalidType
from minichainer.utils._expressions import (
    Atom,
    BinaryOperator,
    BoolBinaryOperator,
    Call,
    Constant,
    Expr,
    GetAttr,
    GetItem,
    Testable,
    UnaryOperator,
    Variable,
    value_of,
)

__all__ = [
    'Atom',
    'BinaryOperator',
    'BoolBinaryOperator',
    'Call',
    'Constant',
    'Expr',
    'GetAttr',
    'GetItem',
    'InvalidType',
    'LightMode',
    'LightTypeInfoTuple',
    'Testable',
    'TypeInfo',
    'TypeInfoTuple',
    'UnaryOperator',
    'Variable',
    'eval',
    'expect',
    'expect_broadcast_shapes',
    'get_function_check_context',
    'get_light_types',
    'get_types',
    'in_light_mode',
    'light_mode',
    'make_variable',
    'prod',
    'same_types',
]


class _State(threading.local):
    depth = 0


_state = _State()


class LightMode:
    """Context manager in which checks run on plain values; :data:`light_mode` is its only instance."""

    def __enter__(self) -> None:
        _state.depth += 1

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        _state.depth -= 1


light_mode = LightMode()


def in_light_mode() -> bool:
    """True inside ``with light_mode:`` in this thread."""
    return _state.depth > 0


class TypeInfo:
    """Shape and dtype of an array.

    Args:
        shape: shape of the array.
        dtype: dtype of the array.
    """

    def __init__(self, shape: tuple[int, ...], dtype: Any) -> None:
        self.shape = shape
        self.dtype = dtype
        self.ndim = len(shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)


class TypeInfoTuple(tuple):  # type: ignore[type-arg]
    """The shapes and dtypes of several arrays, as expressions."""

    name = ''

    def size(self) -> Any:
        """Their number, as an expression."""
        return Variable(len(self), f'{self.name}.size')


class LightTypeInfoTuple(tuple):  # type: ignore[type-arg]
    """The arrays themselves, in light mode."""

    def size(self) -> int:
        """Their number."""
        return len(self)


def get_types(
    data: Sequence[Any], name: str, accept_none: bool, *, shapes: Sequence[tuple[int, ...]] | None = None
) -> TypeInfoTuple:
    """The shapes and dtypes of arrays as expressions.

    Args:
        data: the arrays.
        name: what error texts call the tuple of them.
        accept_none: whether there may be None among them.
        shapes: shapes to take in place of the arrays' own.
    """
    infos = []
    for i, array in enumerate(data):
        if array is None and not accept_none:
            raise InvalidType(f'{name}[{i}] is an array', 'None')
        info = None if array is None else TypeInfo(array.shape if shapes is None else shapes[i], array.dtype)
        infos.append(Variable(info, f'{name}[{i}]'))
    types = TypeInfoTuple(infos)
    types.name = name
    return types


def get_light_types(data: Sequence[Any], *, shapes: Sequence[tuple[int, ...]] | None = None) -> LightTypeInfoTuple:
    """The arrays for light mode: unchanged, or with other shapes.

    Args:
        data: the arrays.
        shapes: shapes to take in place of the arrays' own.
    """
    if shapes is None:
        return LightTypeInfoTuple(data)
    return LightTypeInfoTuple([TypeInfo(shape, array.dtype) for array, shape in zip(data, shapes, strict=True)])


def expect(*bool_exprs: Any) -> None:
    """Raises :class:`InvalidType` unless all conditions hold.

    Args:
        bool_exprs: comparisons of expressions, such as ``in_types[0].ndim == 2``; plain bools in light mode.

    Raises:
        InvalidType: a condition does not hold.
        AssertionError: not a comparison of expressions.
    """
    for condition in bool_exprs:
        if isinstance(condition, Testable):
            condition.expect()
        elif isinstance(condition, Expr):
            raise AssertionError(
                f'type_check.expect takes comparisons, got "{condition}": '
                'give several conditions as several arguments'
            )
        elif not _state.depth:
            raise AssertionError(f'type_check.expect takes comparisons of expressions, got {condition!r}')
        elif not condition:
            raise InvalidType('', '')


def eval(exp: Any) -> Any:
    """The value of an expression; anything else unchanged."""
    return value_of(exp)


def make_variable(value: Any, name: str) -> Any:
    """A value with a name for messages; the plain value in light mode.

    Args:
        value: the value.
        name: how texts call it.
    """
    return value if _state.depth or isinstance(value, Expr) else Variable(value, name)


def prod(xs: Any) -> Any:
    """Product of the elements of a shape: an expression, or a number in light mode.

    Args:
        xs: a shape, or a list of expressions.

    >>> import numpy as np
    >>> from minichainer.utils import type_check
    >>> (x,) = type_check.get_types((np.zeros((2, 3)),), 'x', False)
    >>> type_check.eval(type_check.prod(x.shape))
    6
    """
    return math.prod(xs) if _state.depth else Call(Variable(math.prod, 'prod'), (xs,))


def expect_broadcast_shapes(*shape_types: Any) -> None:
    """Raises :class:`InvalidType` unless the shapes broadcast together.

    Args:
        shape_types: shapes, or expressions of shapes such as ``in_types[0].shape``.
    """
    shapes = [value_of(shape) for shape in shape_types]
    try:
        numpy.broadcast_shapes(*shapes)
    except ValueError:
        pass
    else:
        return
    actual = ', '.join(
        f'{type_} = {shape}' if isinstance(type_, Expr) else str(shape)
        for type_, shape in zip(shape_types, shapes, strict=True)
    )
    raise InvalidType('shapes that broadcast to one shape', actual)


def same_types(*arrays: Any) -> bool:
    """True if all are NumPy arrays, or all are CuPy arrays."""
    if all(isinstance(array, numpy.ndarray) for array in arrays):
        return True
    kinds = {type(array) for array in arrays}
    return len(kinds) == 1 and all(hasattr(array, '__cuda_array_interface__') for array in arrays)


def _argname(in_types: Sequence[Any], names: Sequence[str]) -> None:
    """Names the inputs for messages, after checking their number."""
    if len(in_types) != len(names):
        raise InvalidType(f'{len(names)} inputs ({", ".join(names)})', f'{len(in_types)} inputs')
    for in_type, name in zip(in_types, names, strict=True):
        if isinstance(in_type, Variable):
            in_type.name = name


class _FunctionCheck:
    """Context manager that adds a function's name to the errors of its checks."""

    def __init__(self, f: Any) -> None:
        self._function = f

    def __enter__(self) -> None:
        """Nothing to prepare."""

    def __exit__(self, exc_type: Any, error: Any, traceback: Any) -> None:
        if not isinstance(error, InvalidType):
            return
        name = getattr(self._function, '_impl_name', type(self._function).__name__)
        text = f'Invalid operation is performed in: {name} (Forward)\n\n{error}'
        raise InvalidType(error.expect, error.actual, text).with_traceback(traceback) from None


def get_function_check_context(f: Any) -> Any:
    """Context manager in which the function ``f`` checks its inputs: errors include its name.

    Args:
        f: a function node.
    """
    return _FunctionCheck(f)
