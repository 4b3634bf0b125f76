"""The initializer with orthogonal matrices."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from minichainer.backend import get_array_module
from minichainer.initializers._random import RandomInitializer

# mode -> how the number of outputs must relate to the number of inputs
_FITS: dict[str, Callable[[int, int], bool]] = {
    'auto': lambda n_out, n_in: True,
    'projection': lambda n_out, n_in: n_out <= n_in,
    'embedding': lambda n_out, n_in: n_out >= n_in,
    'basis': lambda n_out, n_in: n_out == n_in,
}


class Orthogonal(RandomInitializer):
    """Fills with a multiple of a random matrix whose rows, or columns if there are fewer, are orthonormal.

    An array of more than two axes is treated as the matrix (first axis, all others). A. M. Saxe et al., Exact
    solutions to the nonlinear dynamics of learning in deep linear neural networks (2013).

    Args:
        scale: norm of the rows or columns.
        dtype: dtype of the arrays it is meant for.
        mode: what shapes to accept: ``'embedding'`` at least as many outputs as inputs, ``'projection'`` at
            most as many, ``'basis'`` as many, ``'auto'`` any.
        kwargs: ``rng``, the generator to draw from; ``xp.random`` by default.

    >>> import numpy as np
    >>> from minichainer import initializers
    >>> w = initializers.generate_array(initializers.Orthogonal(1.0), (2, 3), np)
    >>> np.allclose(w @ w.T, np.eye(2), atol=1e-6)
    True
    """

    def __init__(self, scale: float = 1.1, dtype: Any = None, mode: str = 'auto', **kwargs: Any) -> None:
        super().__init__(scale, dtype, kwargs)
        if mode not in _FITS:
            raise ValueError(f'Orthogonal: expected mode to be one of {", ".join(map(repr, _FITS))}, got {mode!r}')
        self.mode = mode

    def __call__(self, array: Any) -> None:
        self._check_dtype(array)
        if array.size == 0:
            raise ValueError(f'Orthogonal: expected an array with elements, got one of shape {array.shape}')
        generator = self.generator(array)
        if array.ndim == 0:
            # The orthogonal group of one dimension is 1 and -1.
            draw = generator.integers if hasattr(generator, 'integers') else generator.randint
            array[...] = self.scale * (2 * int(draw(2)) - 1)
            return
        n_out, n_in = array.shape[0], math.prod(array.shape[1:])
        if not _FITS[self.mode](n_out, n_in):
            raise ValueError(
                f"Orthogonal(mode='{self.mode}') does not fit an array of shape {array.shape}, "
                f'which has {n_out} outputs and {n_in} inputs'
            )
        normal = generator.normal(loc=0.0, scale=1.0, size=(n_out, n_in))
        self.put(array, self.scale * _orthonormal(normal).reshape(array.shape))


def _orthonormal(a: Any) -> Any:
    """The orthogonal factor of a tall matrix, or of a wide one's transpose; the signs make it unique."""
    if a.shape[0] < a.shape[1]:
        return _orthonormal(a.T).T
    xp = get_array_module(a)
    q, r = xp.linalg.qr(a)
    return q * xp.copysign(1, xp.diagonal(r))
