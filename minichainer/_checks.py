"""Checks of arrays in the graph."""

from __future__ import annotations

from typing import Any

import numpy

from minichainer._names import unknown_arguments
from minichainer.backends import cuda
from minichainer.backends._plain import plain
from minichainer.errors import GradientShapeError, GradientTypeError


def array_types() -> tuple[Any, ...]:
    """The array types that Variables may hold."""
    return (numpy.ndarray, cuda.ndarray)


def native(array: Any) -> Any:
    """The array in the byte order of this machine: a copy of the same memory layout if it has the other one.

    A ``numpy.matrix``, and a masked array without masked elements, becomes a plain array. Anything else than an array
    of NumPy is returned as it is.

    Raises:
        TypeError: elements are masked.
    """
    if not isinstance(array, numpy.ndarray):
        return array
    if type(array) is not numpy.ndarray:
        array = plain(array)
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder('='))


#: The classes of errors for a wrong shape, and for a wrong type or dtype.
Errors = tuple[type[GradientShapeError], type[GradientTypeError]]


def unexpected(kwargs: dict[str, Any]) -> TypeError:
    """The error for keyword arguments that Variable does not have."""
    text = f'Variable() got unexpected keyword arguments: {", ".join(sorted(kwargs))}'
    return unknown_arguments(text, kwargs, ('data', 'name', 'grad', 'requires_grad'))


def check_gradient(grad: Any, data: Any, op: str, errors: Errors = (GradientShapeError, GradientTypeError)) -> None:
    """Raises unless ``grad`` can be the gradient of ``data``: the same kind of array, dtype and shape.

    Raises:
        TypeError: type or dtype.
        ValueError: shape.
    """
    where = f'\nGradient of: {op}' if op else ''
    shape_error, type_error = errors
    if not isinstance(grad, array_types()):
        kinds = ', '.join(dict.fromkeys(kind.__name__ for kind in array_types()))
        remedy = '; write numpy.asarray(grad)' if isinstance(grad, numpy.generic) else ''
        got = f'{type(grad).__name__}{remedy}'
        raise type_error(f'grad is not an array{where}\nExpect: one of {kinds}\nActual: {got}')
    if data is None:
        return
    if isinstance(grad, numpy.ndarray) is not isinstance(data, numpy.ndarray):
        raise type_error(f'grad and data are on different devices{where}\ngrad: {type(grad)} != data: {type(data)}')
    if grad.dtype != data.dtype:
        raise type_error(f'grad and data differ in dtype{where}\ngrad: {grad.dtype} != data: {data.dtype}')
    if grad.shape != data.shape:
        raise shape_error(f'grad and data differ in shape{where}\ngrad: {grad.shape} != data: {data.shape}')


def as_raw(gradient: Any) -> Any:
    """The array of a gradient that is an array or a Variable."""
    return getattr(gradient, '_data', gradient)  # not .array, which exposes it to users
