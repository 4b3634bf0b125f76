"""Which dtypes CuPy has, and which loop of a ufunc takes given operands."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ._surface import NEP_50

CHARS = frozenset('?bBhHiIlLqQefdFD')
_KINDS = {bool: 0, int: 1, float: 2, complex: 3}
_RANK = {'b': 0, 'u': 1, 'i': 1, 'f': 2, 'c': 3}


def check_dtype(dtype: Any) -> np.dtype:
    """The dtype; ValueError where CuPy has none such."""
    found = np.dtype(dtype)
    if found.char not in CHARS:
        raise ValueError(f'Unsupported dtype {found}')
    return found


def choose_loop(name: str, loops: tuple[str, ...], operands: list[Any]) -> tuple[str, str]:
    """The characters of the inputs and of the outputs of the first loop that takes the operands."""
    found = _first_loop(loops, tuple(map(_token, operands, [operands] * len(operands))))
    if found is None:
        kinds = tuple(str(getattr(x, 'dtype', type(x).__name__)) for x in operands)
        raise TypeError(f'Wrong type ({kinds}) of arguments for cupy_{name}')
    return found


def _token(operand: Any, operands: list[Any]) -> Any:
    """A dtype character, or for a weak number its kind: what decides the loop."""
    if not isinstance(operand, (bool, int, float, complex, np.generic)):
        return operand.dtype.char
    if NEP_50:
        return operand.dtype.char if isinstance(operand, np.generic) else _KINDS[type(operand)]
    number = np.asarray(operand)
    ranks = [_RANK[x.dtype.kind] for x in operands if getattr(x, '__cuda_array_interface__', None) is not None]
    if ranks and _RANK[number.dtype.kind] <= max(ranks):  # the values of numbers decide, as in NumPy 1
        return np.min_scalar_type(number[()]).char
    return number.dtype.char


@functools.cache
def _first_loop(loops: tuple[str, ...], tokens: tuple[Any, ...]) -> tuple[str, str] | None:
    for loop in loops:
        inputs, _, outputs = loop.partition('->')
        if all(_fits(token, to) for token, to in zip(tokens, inputs, strict=True)):
            return inputs, outputs
    return None


def _fits(token: Any, to: str) -> bool:
    if isinstance(token, str):
        return np.can_cast(np.dtype(token), np.dtype(to), 'safe')
    return token <= _RANK[np.dtype(to).kind]
