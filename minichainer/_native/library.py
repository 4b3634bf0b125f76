"""Compiled kernels, if they are there: the package is complete without them.

``kernels.relu(x, y)`` computes and returns True, or returns False if the arrays are not what it takes (another type,
gaps in memory). ``kernels`` is None if nothing was built, or if ``MINICHAINER_PURE=1`` is set. To compare
instructions, ``MINICHAINER_NATIVE_LEVEL`` names a level below the best of the processor: ``avx2`` or ``baseline``.
"""

from __future__ import annotations

import os
import types
from typing import Any


def is_pure() -> bool:
    """Whether the environment switches compiled parts off."""
    return os.environ.get('MINICHAINER_PURE', '0') not in ('', '0')


def _load() -> tuple[Any, str, str]:
    """The kernels, the level of instructions that they use, and what to say about them."""
    if is_pure():
        return None, '', 'none: MINICHAINER_PURE is set'
    try:
        import minichainer._native._compiled as compiled  # type: ignore[import-not-found]
    except ModuleNotFoundError:
        return None, '', 'none, pure Python'
    except ImportError as e:
        return None, '', f'none: {e}'
    level = os.environ.get('MINICHAINER_NATIVE_LEVEL') or compiled.levels()[0]
    found = types.SimpleNamespace(**compiled.kernels(level))
    return found, level, f'kernels for {level} (compiler {compiled.compiler})'


def _load_tape() -> tuple[Any, str]:
    """The compiled tape, and what to say about it; nothing if it was not built, or ``MINICHAINER_TAPE=0`` is set."""
    if is_pure() or os.environ.get('MINICHAINER_TAPE') == '0':
        return None, ''
    try:
        import minichainer._native._tape as compiled  # type: ignore[import-not-found]
    except ModuleNotFoundError:
        return None, ''
    except (ImportError, RuntimeError) as e:  # NumPy raises RuntimeError if it is too old for the headers
        return None, f'; no tape: {e}'
    return compiled, '; tape'


#: The kernels, the level of instructions that they use, and what ``print_runtime_info`` says about them.
kernels, level, state = _load()
#: The compiled tape, or None.
tape, _state_of_tape = _load_tape()
state += _state_of_tape


def by_width(numbers: Any) -> tuple[Any, Any]:
    """An array of ints as kernels take it: as one of 32 and one of 64 bits, one of them None."""
    return (numbers, None) if numbers.itemsize == 4 else (None, numbers)
