"""float16 in rules: computed in float32, as the kernels do."""

from __future__ import annotations

from typing import Any

from minichainer.functions.array.conversion import cast


def in_float32(x: Any) -> Any:
    """A Variable of float16 in float32; any other as it is. ``PrimitiveNode`` casts the gradients back."""
    return cast(x, 'f') if x.dtype.char == 'e' else x
