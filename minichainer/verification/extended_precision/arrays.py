"""Arrays of numbers of 50 digits, on which derivatives can be had to machine precision.

Functions take these arrays for arrays of float64, so that forward and backward passes run on them unchanged, inside
of :func:`using`. A central difference with a step of 1e-20 is then accurate to 30 digits. What would lose digits,
such as ``float(x)`` or compiled code for floats, raises TypeError. mpmath computes functions; it is imported when the
first numbers are made.

One evaluation of tanh takes 9 µs per element (8 of them mpmath's), an addition or a product 1 µs, and a linear layer
from (8, 100) to (8, 50), that is 40000 products and sums, 84 ms; measured with Python 3.11 and without gmpy2.

>>> import minichainer as chainer, minichainer.functions as F
>>> x = numbers(numpy.array([0.5]))
>>> with using():
...     difference = F.tanh(x + 1e-20).array - F.tanh(x - 1e-20).array
>>> rounded(difference / 2e-20)
array([0.78644773])
"""

from __future__ import annotations

import contextlib
import functools
import importlib.util
from collections.abc import Iterator
from typing import Any

import numpy

from minichainer.backends import number_arrays

__all__ = ['available', 'numbers', 'rounded', 'using']


@contextlib.contextmanager
def using(digits: int = 50, bits: int | None = None) -> Iterator[None]:
    """Context manager in which functions compute on such arrays.

    Args:
        digits: How many digits results have, in this thread.
        bits: The same in bits, in place of digits.

    >>> with using(100):
    ...     rounded(numbers(1.0) / 3 * 3 - 1 + 1e-80)
    array(1.e-80)
    """
    from minichainer.verification.extended_precision.functions import libmp, precision

    with number_arrays.using(), precision(bits or libmp.dps_to_prec(digits)):
        yield


@functools.cache
def available() -> bool:
    """True if mpmath can be imported.

    Raises:
        ModuleNotFoundError: It cannot, although minichainer depends on it: errors that only 50 digits show would
            pass in silence.
    """
    if importlib.util.find_spec('mpmath') is None:
        raise ModuleNotFoundError(
            'minichainer needs mpmath for gradient checks at 50 digits, and it is not installed: pip install '
            "'mpmath>=1.3' (or pass precise=False)",
            name='mpmath',
        )
    return True


def numbers(array: Any) -> Any:
    """The same numbers with 50 digits: an object array of the same shape, which functions take for float64.

    Args:
        array: array of floats, ints or bools, or a number.

    Raises:
        TypeError: an element is not a real number.

    >>> numbers(numpy.array([0.5, 2.])).sum()
    ExtendedArray(Extended('2.5'))
    """
    return _array_class().of(array)


def rounded(array: Any) -> Any:
    """The nearest float64 of each number of an array.

    Args:
        array: what :func:`numbers` made, or a result of computing with it.

    >>> rounded(numbers(numpy.array([1., 3.])) / 3)
    array([0.33333333, 1.        ])
    """
    plain = numpy.asarray(array)
    return numpy.array([_array_class().number(x).rounded() for x in plain.flat], float).reshape(plain.shape)


@functools.cache
def _array_class() -> Any:
    from minichainer.verification.extended_precision.number import ExtendedArray

    return ExtendedArray
