"""Bilinear and Inception: values and gradients. Their figures are in the recorded cases."""

from __future__ import annotations

import numpy as np
import pytest

import minichainer.functions as F
import minichainer.links as L
from minichainer.gradient_check import check_gradients

RNG = np.random.RandomState(0)


@pytest.mark.parametrize('nobias', [False, True])
def test_bilinear_is_its_formula_and_its_gradients_are_right(nobias: bool) -> None:
    layer = L.Bilinear(2, 3, 4, nobias=nobias)
    left, right = RNG.randn(5, 2).astype('f'), RNG.randn(5, 3).astype('f')
    expected = np.einsum('ni,nj,ijk->nk', left, right, layer.W.array)
    if not nobias:
        layer.b.array[...] = [1, 2, 3, 4]
        expected += left @ layer.V1.array + right @ layer.V2.array + layer.b.array
    np.testing.assert_allclose(layer(left, right).array, expected, rtol=1e-5, atol=1e-5)
    assert check_gradients(layer, (left, right), params='all', order=2, seed=0)


def test_bilinear_wants_three_initializers_of_biases() -> None:
    with pytest.raises(ValueError, match='three initializers, for V1, V2 and b, expected as initial_bias, got 0'):
        L.Bilinear(2, 3, 4, initial_bias=0)


def test_inception_joins_its_ways_and_its_gradients_are_right() -> None:
    module = L.Inception(2, 1, 2, 3, 2, 1, 2)
    x = RNG.randn(2, 2, 5, 4).astype('f')
    y = module(x)
    assert y.shape == (2, 1 + 3 + 1 + 2, 5, 4)
    np.testing.assert_array_equal(y.array[:, :1], F.relu(module.conv1(x)).array)
    np.testing.assert_array_equal(y.array[:, 5:], F.relu(module.projp(F.max_pooling_2d(x, 3, 1, 1))).array)
    assert check_gradients(module, x, params='all', subgradient=True, seed=0)


def test_inception_takes_its_channels_from_data() -> None:
    module = L.Inception(None, 1, 1, 1, 1, 1, 1)
    module(np.zeros((1, 3, 4, 4), 'f'))
    assert module.conv1.W.shape == (1, 3, 1, 1) and module.projp.W.shape == (1, 3, 1, 1)
