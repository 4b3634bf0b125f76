"""Text representations of Variables."""

from __future__ import annotations

from typing import Any

import numpy


def variable_repr(var: Any) -> str:
    """``repr`` of a Variable: ``variable name([...])``."""
    return _text(var, numpy.array2string, ', ')


def variable_str(var: Any) -> str:
    """``str`` of a Variable: ``variable name([...])`` without commas."""
    return _text(var, numpy.array2string, ' ')


def _text(var: Any, array2string: Any, separator: str) -> str:
    prefix = f'variable {var.name}(' if var.name else 'variable('
    array = var.array
    if array is None:
        return prefix + 'None)'
    array = var.device.send_to_cpu(array) if hasattr(var.device, 'send_to_cpu') else array
    if array.size == 0:
        return f'{prefix}[], shape={array.shape})'
    return f'{prefix}{array2string(array, separator=separator, prefix=prefix)})'


def statistics(array: Any) -> str:
    """Mean and standard deviation as text."""
    return f'mean={float(array.mean()):.8f}, std={float(array.std()):.8f}'
