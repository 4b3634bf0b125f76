"""The base class of initializers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from minichainer._dtype import get_dtype


class Initializer:
    """Fills arrays with first values; derive from it and define ``__call__``.

    Args:
        dtype: dtype of the arrays it is meant for; None leaves that to the user.

    >>> import numpy as np, minichainer as chainer
    >>> class Ramp(chainer.Initializer):
    ...     def __call__(self, array):
    ...         array[...] = np.arange(array.size).reshape(array.shape)
    >>> chainer.Parameter(Ramp(), (2, 2)).array
    array([[0., 1.],
           [2., 3.]], dtype=float32)
    """

    def __init__(self, dtype: Any = None) -> None:
        self.dtype = dtype

    def __call__(self, array: Any) -> None:
        """Fills ``array`` in place.

        Args:
            array: the array to fill, of NumPy or CuPy.
        """
        raise NotImplementedError(f'{type(self).__name__} must define __call__(array)')

    def _check_dtype(self, array: Any) -> None:
        if self.dtype is None:
            return
        expected = get_dtype(self.dtype)
        if array.dtype != expected:
            raise ValueError(f'{type(self).__name__}: expected an array of dtype {expected}, got {array.dtype}')


def get_fans(shape: Sequence[int]) -> tuple[int, int]:
    """The number of inputs of each output of a weight, and the number of outputs of each input.

    Args:
        shape: shape of the weight: (outputs, inputs, kernel size along each axis).

    Returns:
        fan-in and fan-out.

    >>> from minichainer.initializer import get_fans
    >>> get_fans((20, 3, 5, 5))
    (75, 500)
    """
    if not isinstance(shape, tuple) or len(shape) < 2:
        raise ValueError(
            'get_fans: expected the shape of a weight, a tuple of at least 2 sizes (outputs, inputs, ...), '
            f'got {shape!r}'
        )
    receptive = math.prod(shape[2:])
    return shape[1] * receptive, shape[0] * receptive
