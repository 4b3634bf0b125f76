"""float16 in rules: computed in float32, as the kernels do."""

from __future__ import annotations

from typing import Any


def in_float32(m: Any, x: Any) -> Any:
    """An array or Variable of float16 in float32; any other as it is. Gradients are cast back by ``PrimitiveNode``.

    Args:
        m: that of a rule; outside of rules, :mod:`minichainer.ops`.
        x: the array or Variable.
    """
    return m.cast(x, 'f') if x.dtype.char == 'e' else x
