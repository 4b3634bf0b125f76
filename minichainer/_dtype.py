"""The default dtype."""

from __future__ import annotations

from typing import Any

import numpy

from minichainer.configuration import config, mixed16


def get_dtype(dtype: Any = None, map_mixed16: Any = None) -> numpy.dtype[Any]:
    """The NumPy dtype for ``dtype``; ``chainer.config.dtype`` if it is None.

    Args:
        dtype: anything that names a dtype, :data:`mixed16`, or None.
        map_mixed16: what :data:`mixed16` becomes; float16 when this is None.

    >>> import minichainer as chainer
    >>> chainer.get_dtype()
    dtype('float32')
    >>> chainer.get_dtype(chainer.mixed16, map_mixed16='float32')
    dtype('float32')
    """
    if dtype is None:
        dtype = config.dtype
    if dtype is mixed16 and map_mixed16 is not None:
        dtype = map_mixed16
    found: numpy.dtype[Any] = numpy.dtype(dtype)
    return found
