"""Errors of the runtime, and the sentences of CuPy's TypeErrors."""

from __future__ import annotations

from typing import Any


class CUDARuntimeError(RuntimeError):
    """A call of the CUDA runtime failed."""


IMPLICIT = (
    'Implicit conversion to a NumPy array is not allowed. Please use `.get()` to construct a NumPy array explicitly.'
)


def unsupported(value: Any, where: str) -> TypeError:
    """The error about an operand that is not of the device."""
    return TypeError(f'Unsupported type {type(value)} in {where}')
