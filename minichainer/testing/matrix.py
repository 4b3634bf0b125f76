"""Random matrices with given singular values."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ['generate_matrix']


def generate_matrix(shape: tuple[int, ...], dtype: Any = float, **kwargs: Any) -> Any:
    r"""Random matrices :math:`U \mathrm{diag}(s) V^*` with given singular values :math:`s`.

    Args:
        shape: ``(..., M, N)``.
        dtype: Floating-point or complex dtype.
        singular_values: A number, or an array that broadcasts to ``(..., min(M, N))``. Required.

    Returns:
        An array of ``shape`` and ``dtype``, drawn with NumPy's global generator.

    Raises:
        TypeError: ``singular_values`` is missing or complex, an argument is unknown, or ``dtype`` is of another kind.
        ValueError: ``shape`` has fewer than two axes, or the singular values are negative or do not broadcast.

    Source: documentation of ``chainer.testing.generate_matrix``.

    >>> import numpy as np
    >>> from minichainer import testing
    >>> a = testing.generate_matrix((2, 3), singular_values=[1.0, 0.5])
    >>> np.linalg.svd(a, compute_uv=False).round(6)
    array([1. , 0.5])
    """
    values = _only_argument(kwargs)
    dtype = np.dtype(dtype)
    if dtype.kind not in 'fc':
        raise TypeError(f'generate_matrix: dtype {dtype} is not supported; use a floating-point or complex one')
    if len(shape) < 2:
        raise ValueError(f'generate_matrix: shape {shape} has too few axes for matrices')
    if np.iscomplexobj(values):
        raise TypeError(f'generate_matrix: singular_values is not real, got {values!r}')
    if np.any(np.asarray(values) < 0):
        raise ValueError(f'generate_matrix: a negative singular value is given, got {values!r}')
    values = np.broadcast_to(values, (*shape[:-2], min(shape[-2:])))
    drawn = np.random.standard_normal(shape)
    if dtype.kind == 'c':
        drawn = drawn + 1j * np.random.standard_normal(shape)
    u, _, v = np.linalg.svd(drawn, full_matrices=False)
    return ((u * values[..., None, :]) @ v).astype(dtype)


def _only_argument(kwargs: dict[str, Any]) -> Any:
    """The value of ``singular_values``, which must be the only argument."""
    if 'singular_values' not in kwargs:
        raise TypeError('generate_matrix: singular_values is not given')
    unexpected = sorted(set(kwargs) - {'singular_values'})
    if unexpected:
        raise TypeError(f'generate_matrix: got unexpected keyword argument(s) {", ".join(map(repr, unexpected))}')
    return kwargs['singular_values']
