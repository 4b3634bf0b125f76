"""Copies of arrays in other memory layouts, and a call of the function on them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from minichainer.verification.leaves import fresh_copy, is_float, largest, spread
from minichainer.verification.subject import Evaluation


def relaid(array: Any) -> Any:
    """A copy in another layout: Fortran order if that differs, else with gaps between the elements."""
    if array.ndim > 1 and array.flags.c_contiguous and not array.flags.f_contiguous:
        return array.copy(order='F')
    return spread(array) if array.flags.c_contiguous else array.copy(order='C')


def backwards(array: Any) -> Any:
    """A read-only copy that runs backwards through memory, with gaps between the elements."""
    if not array.ndim:
        return array.copy()
    everywhere = (slice(None, None, -1),) * array.ndim
    copy = spread(array[everywhere])[everywhere]
    if hasattr(copy.flags, 'writeable'):
        copy.flags.writeable = False
    return copy


def laid_out(usual: Evaluation, arrays: Sequence[Any], layout: Callable[[Any], Any]) -> Evaluation:
    """A call of a function on inputs in another layout; the usual call if it rejects them or gives other values.

    Args:
        usual: The call with ``arrays``.
        arrays: One per leaf.
        layout: Makes a copy of an array in the other layout.
    """
    leaves = usual.subject.leaves
    inputs = [p.parameter is None and is_float(x) and x.size > 1 for p, x in zip(leaves, arrays, strict=True)]
    if not any(inputs):
        return usual
    try:
        other = usual.subject.evaluate(
            [layout(x) if i else fresh_copy(x) for i, x in zip(inputs, arrays, strict=True)]
        )
    except Exception:
        return usual
    pairs = zip(usual.arrays, other.arrays, strict=True)
    return other if all(y is None or _nearly(y, z) for y, z in pairs) else usual


def _nearly(y: Any, z: Any) -> bool:
    if z is None or y.shape != z.shape:
        return False
    return bool((abs(y - z) <= 1e-9 * largest(y)).all())
