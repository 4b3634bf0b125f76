"""Text representations of Variables."""

from __future__ import annotations

from typing import Any

import numpy


def variable_repr(var: Any) -> str:
    """``repr`` of a Variable: ``variable name([...])``."""
    return _text(var, ', ')


def variable_str(var: Any) -> str:
    """``str`` of a Variable: ``variable name([...])`` without commas."""
    return _text(var, ' ')


def _text(var: Any, separator: str) -> str:
    prefix = f'variable {var.name}(' if var.name else 'variable('
    array = var.array
    if array is None:
        return prefix + 'None)'
    array = var.device.send_to_cpu(array) if hasattr(var.device, 'send_to_cpu') else array
    if array.size == 0:
        return f'{prefix}[], shape={array.shape})' if array.ndim > 1 and separator == ', ' else f'{prefix}[])'
    return f'{prefix}{numpy.array2string(array, separator=separator, prefix=prefix)})'


def statistics(array: Any) -> str:
    """Mean and standard deviation as text; None without an array."""
    if array is None:
        return 'None'
    mean, std = (array.mean().item(), array.std().item()) if array.size else (numpy.nan, numpy.nan)
    return f'mean={mean:.8f}, std={std:.8f}'
