"""Casting as users call it: always a node, as in Chainer."""

from __future__ import annotations

from typing import Any

import numpy

from minichainer.configuration import config
from minichainer.functions.array.conversion import cast_to
from minichainer.variable import Variable, as_variable


def cast(x: Any, typ: Any) -> Variable:
    """Converts an array to another dtype; its gradient is converted back.

    Args:
        x: Variable or array.
        typ: the dtype.

    Returns:
        Variable. Where the dtype is already right it shares the array of ``x``; while no graph is recorded
        (``no_backprop_mode``) it is ``x`` itself.

    >>> import numpy as np, minichainer.functions as F
    >>> F.cast(np.arange(2), np.float32).dtype
    dtype('float32')
    """
    x = as_variable(x)
    try:
        dtype = numpy.dtype(typ)
    except TypeError:
        raise TypeError(f'cast: data type {typ!r} not understood') from None
    if dtype.kind not in 'fiubc':
        raise TypeError(f'cast: a dtype of numbers expected, got {typ!r}')
    return x if x.dtype == dtype and not config.enable_backprop else cast_to(x, dtype)
