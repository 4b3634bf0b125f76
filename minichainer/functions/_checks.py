"""The error of an op whose arguments do not fit."""

from __future__ import annotations

from minichainer.utils.type_check import InvalidType


def invalid(expected: str, actual: str, where: str) -> InvalidType:
    """The InvalidType of an op: which one, what was expected, what came.

    Args:
        expected: what was expected.
        actual: what came, with shapes and dtypes.
        where: ``Invalid operation is performed in: NAME (Forward)``.
    """
    return InvalidType(expected, actual, f'{where}\n\nExpect: {expected}\nActual: {actual}')
