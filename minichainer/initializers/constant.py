"""Deterministic initializers: one value, or the identity."""

from __future__ import annotations

from typing import Any

import numpy

from minichainer.backend import get_device_from_array
from minichainer.initializer import Initializer


class Constant(Initializer):
    """Fills with one value, or with the values of an array.

    Args:
        fill_value: a scalar, or an array that broadcasts to the one to fill.
        dtype: dtype of the arrays it is meant for.

    >>> import numpy as np
    >>> from minichainer import initializers
    >>> initializers.generate_array(initializers.Constant(3), (2,), np)
    array([3., 3.], dtype=float32)
    """

    fill_value: Any = None

    def __init__(self, fill_value: Any, dtype: Any = None) -> None:
        self.fill_value = fill_value
        super().__init__(dtype)

    def __call__(self, array: Any) -> None:
        self._check_dtype(array)
        value = self.fill_value
        array[...] = value if numpy.isscalar(value) else get_device_from_array(array).send(value)


class _Fixed(Constant):
    """A :class:`Constant` with a fixed value, defined by the class."""

    def __init__(self, dtype: Any = None) -> None:
        Initializer.__init__(self, dtype)


class Zero(_Fixed):
    """Fills with zeros.

    Args:
        dtype: dtype of the arrays it is meant for.
    """

    fill_value = 0.0


class One(_Fixed):
    """Fills with ones.

    Args:
        dtype: dtype of the arrays it is meant for.
    """

    fill_value = 1.0


class NaN(_Fixed):
    """Fills with NaN, so that forgetting to set the values is noticed.

    Args:
        dtype: dtype of the arrays it is meant for.
    """

    fill_value = numpy.nan

    def __call__(self, array: Any) -> None:
        if array.dtype.kind in 'iu':
            # Integers have no NaN; use the smallest one.
            array[...] = numpy.iinfo(array.dtype).min
        else:
            super().__call__(array)


class Identity(Initializer):
    """Fills a square matrix with a multiple of the identity.

    Args:
        scale: the value on the diagonal.
        dtype: dtype of the arrays it is meant for.

    >>> import numpy as np
    >>> from minichainer import initializers
    >>> initializers.generate_array(initializers.Identity(2), (2, 2), np)
    array([[2., 0.],
           [0., 2.]], dtype=float32)
    """

    def __init__(self, scale: float = 1.0, dtype: Any = None) -> None:
        self.scale = scale
        super().__init__(dtype)

    def __call__(self, array: Any) -> None:
        self._check_dtype(array)
        shape = array.shape
        if len(shape) != 2 or shape[0] != shape[1]:
            raise ValueError(f'Identity: expected a square matrix, got an array of shape {shape}')
        array[...] = 0
        diagonal = range(shape[0])
        array[diagonal, diagonal] = self.scale
