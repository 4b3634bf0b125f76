"""Arrays of NumPy's subclasses that compute something else than arrays: matrices, and arrays with a mask."""

from __future__ import annotations

import warnings
from typing import Any

import numpy

from minichainer._frames import stacklevel
from minichainer.errors import MatrixWarning


def plain(array: Any) -> Any:
    """The array without what a subclass adds, where that changes results: products of a matrix, and a mask.

    Anything else is returned as it is. Callers ask only if the type is not ``numpy.ndarray``.

    Raises:
        TypeError: elements are masked.
    """
    if isinstance(array, numpy.ma.MaskedArray):
        masked = int(numpy.ma.getmaskarray(array).sum())
        if masked:
            raise TypeError(
                f'an array without a mask expected, got a masked array of shape {array.shape} with {masked} masked '
                'elements, which would count as data; fill them first, for example by x.filled(0)'
            )
        return numpy.asarray(array)
    if isinstance(array, numpy.matrix):
        warnings.warn(
            f'got a numpy.matrix of shape {array.shape}, whose operators are not those of arrays; it is converted. '
            'Write numpy.asarray(x), or x.toarray() instead of x.todense() for a sparse matrix of SciPy',
            MatrixWarning,
            stacklevel=stacklevel(),
        )
        return numpy.asarray(array)
    return array
