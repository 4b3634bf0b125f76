"""What to write where a scalar of NumPy has made an array float64, for errors about dtypes."""

from __future__ import annotations

import sys
from typing import Any

import numpy

#: Whether a NumPy scalar widens arrays, as since NumPy 2: before, an array decided alone.
_SCALARS_WIDEN = (numpy.ones(1, numpy.float32) * numpy.float64(1)).dtype == numpy.float64
_OF_SCALARS = (
    'An array of float32 times a scalar of NumPy, such as np.sqrt(2.), is float64 since NumPy 2: '
    'give float(np.sqrt(2.)), or use astype at the end'
)


def advised(text: str, expect: str, actual: str) -> str:
    """The text of an error, with advice if float32 has met float64 and a scalar of NumPy may be why.

    Args:
        text: the text.
        expect: what was expected.
        actual: what was got.
    """
    both = 'float64' in f'{expect} {actual}' and 'float32' in f'{expect} {actual}'
    is_widened = _SCALARS_WIDEN and both and _OF_SCALARS not in text and _may_be_widened()
    return f'{text}\n\n{_OF_SCALARS}' if is_widened else text


def _may_be_widened() -> bool:
    """Whether an array of the op that raises may be a product of float32 and a wider number.

    A product has digits that float32 has not; ``astype(np.float64)`` gives none.
    """
    frame, wide = sys._getframe(2), []
    while frame is not None and frame.f_globals.get('__name__', '').startswith('minichainer.'):
        wide += [array for value in frame.f_locals.values() for array in _wide_arrays(value)]
        frame = frame.f_back  # type: ignore[assignment]
    return not wide or any(_has_more_digits(array) for array in wide)


def _wide_arrays(value: Any) -> list[Any]:
    """The float64 arrays of NumPy that a local variable is, or contains."""
    entries = value if isinstance(value, (list, tuple)) else (value,)
    arrays = [getattr(entry, '_data', entry) for entry in entries]
    return [array for array in arrays if type(array) is numpy.ndarray and array.dtype == numpy.float64]


def _has_more_digits(array: Any) -> bool:
    with numpy.errstate(all='ignore'):
        return bool(((array.astype(numpy.float32) != array) & (array == array)).any())
