r"""Complex arrays as real ones with one more axis, the last, for the real and the imaginary part.

The gradient of a real loss :math:`L` of :math:`z = a + ib` is :math:`\partial L/\partial a + i\, \partial
L/\partial b`, the convention of torch and of this package. So the parts of a gradient are the gradient of the parts,
and the checker sees real numbers only: the parts become complex numbers where it calls the function, and outputs and
gradients become parts.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minichainer.backend import get_array_module
from minichainer.verification.arrays import backwards, relaid

#: What the last axis counts.
PARTS = ('real', 'imaginary')


def is_complex(array: Any) -> bool:
    """Whether this is an array of complex numbers."""
    return array is not None and array.dtype.kind == 'c'


def parts(array: Any) -> Any:
    """A view of a complex array of shape ``s`` as a real one of shape ``(*s, 2)``; any other value as it is.

    >>> import numpy as np
    >>> parts(np.array([1 + 2j, 3]))
    array([[1., 2.],
           [3., 0.]])
    """
    if not is_complex(array):
        return array
    as_strided = get_array_module(array).lib.stride_tricks.as_strided
    return as_strided(array.real, (*array.shape, 2), (*array.strides, array.itemsize // 2))


def joined(array: Any) -> Any:
    """The complex array whose parts these are: a view where the memory layout allows it.

    Otherwise a copy that is not contiguous either, and read-only if ``array`` is.

    >>> import numpy as np
    >>> joined(np.array([[1., 2.], [3., 0.]]))
    array([1.+2.j, 3.+0.j])
    """
    dtype = np.result_type(array.dtype, np.complex64)
    if array.strides[-1] == array.itemsize and all(s % dtype.itemsize == 0 for s in array.strides[:-1]):
        return array.view(dtype)[..., 0]
    copy = get_array_module(array).empty(array.shape[:-1], dtype)
    copy.real, copy.imag = array[..., 0], array[..., 1]
    return backwards(copy) if min(array.strides) < 0 else relaid(copy)


def in_words(cause: str, axis: int) -> str:
    """A cause whose text is about the axis of parts, as a sentence about complex numbers.

    >>> in_words('one slice: the gradient is wrong at index 1 of axis 2, everywhere', 2)
    'one slice: the gradient is wrong at the imaginary part, everywhere'
    """
    for index, name in enumerate(PARTS):
        cause = cause.replace(f'index {index} of axis {axis}', f'the {name} part')
    return cause


def place(index: tuple[int, ...]) -> str:
    """The place of a part, such as ``(1, 2), imaginary part``.

    >>> place((1, 2, 1))
    '(1, 2), imaginary part'
    """
    return f'{index[:-1]}, {PARTS[index[-1]]} part'
