"""Gradients of float16 arrays: of all finite numbers of the dtype, beside those of float64."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F

_NUMBERS = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
NUMBERS = _NUMBERS[np.isfinite(_NUMBERS)]
FUNCTIONS: dict[str, Any] = {
    'gelu': F.gelu, 'gelu, tanh': partial(F.gelu, approximate='tanh'), 'silu': F.silu, 'mish': F.mish, 'elu': F.elu,
    'selu': F.selu, 'softplus': F.softplus, 'sigmoid': F.sigmoid, 'tanh': F.tanh, 'relu': F.relu, 'erf': F.erf,
    'leaky_relu': F.leaky_relu, 'clipped_relu': F.clipped_relu, 'hard_sigmoid': F.hard_sigmoid, 'ndtr': F.ndtr,
    'log_ndtr': F.log_ndtr, 'arctan': F.arctan,
}  # fmt: skip


def _computed(function: Any, dtype: str, double: bool) -> tuple[np.ndarray, np.ndarray]:
    x = chainer.Variable(NUMBERS.astype(dtype))
    with np.errstate(all='ignore'):
        y = function(x)
        y.grad = np.ones(y.shape, dtype)
        y.backward(enable_double_backprop=double)
    return y.array, x.grad


@pytest.mark.parametrize('double', [False, True])
@pytest.mark.parametrize('name', FUNCTIONS)
def test_results_and_gradients_of_all_numbers(name: str, double: bool) -> None:
    for found, exact in zip(*(_computed(FUNCTIONS[name], dtype, double) for dtype in 'ed'), strict=True):
        fits = np.abs(exact) < 65488  # what rounds to a number
        np.testing.assert_allclose(found[fits].astype('d'), exact[fits], 3e-3, 1e-3)
