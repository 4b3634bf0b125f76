"""float16 in rules: computed in float32, as the kernels do."""

from __future__ import annotations

from typing import Any


def in_float32(m: Any, x: Any) -> Any:
    """A float16 array or Variable in float32; any other unchanged. ``PrimitiveNode`` casts gradients back.

    Args:
        m: the ``m`` of a rule; outside of rules, :mod:`minichainer.ops`.
        x: the array or Variable.
    """
    return m.cast(x, 'f') if x.dtype.char == 'e' else x
