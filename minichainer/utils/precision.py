"""Computing on float16 arrays in float32."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any


def _fp16_mixed_precision_helper(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator for the forward of a function: it gets float32 arrays in place of float16 ones.

    If there is such an input, outputs of float32 become float16. Old code of users imports it.

    Args:
        fn: method of a tuple of arrays that returns a tuple of arrays.
    """

    @functools.wraps(fn)
    def wrapper(self: Any, in_data: tuple[Any, ...]) -> tuple[Any, ...]:
        narrow = any(_is(x, 'float16') for x in in_data)
        outputs = fn(self, tuple(x.astype('float32') if _is(x, 'float16') else x for x in in_data))
        return tuple(y.astype('float16') if narrow and _is(y, 'float32') else y for y in outputs)

    return wrapper


def _is(array: Any, dtype: str) -> bool:
    return array is not None and array.dtype == dtype
