"""Large arrays take other ways than small ones: both must come to the same, forwards and backwards."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F

#: Functions of rows; each is applied to a few rows, and to so many copies of them that the large way is taken.
BY_ROWS = {
    'erf': F.erf,
    'erfc': F.erfc,
    'ndtr': F.ndtr,
    'erfinv': lambda x: F.erfinv(x * 0.3),
    'digamma': lambda x: F.digamma(x * x + 0.1),
    'polygamma': lambda x: F.polygamma(np.ones(x.shape, 'i'), x * x + 0.1),
    'relu': F.relu,
    'relu6': F.relu6,
    'leaky_relu': F.leaky_relu,
    'elu': lambda x: F.elu(x, 1.5),
    'selu': F.selu,
    'silu': F.silu,
    'mish': F.mish,
    'softplus': lambda x: F.softplus(x, 2.0),
    'hard_sigmoid': F.hard_sigmoid,
    'crelu': F.crelu,
    'prelu': lambda x: F.prelu(x, np.linspace(-1, 3, x.shape[1]).astype(x.dtype)),
    'fmod': lambda x: F.fmod(x, x * 0.3 + 2),
    'maxout': lambda x: F.maxout(x, 4),
    'min': lambda x: F.min(x.reshape((*x.shape, 1)) * np.array([1, 2, -1], x.dtype), 2),
    'softmax': F.softmax,
    'log_softmax': F.log_softmax,
    'cumsum': lambda x: F.cumsum(x, 1),
    'cumprod': lambda x: F.cumprod(x, 1),
    'prod': lambda x: F.prod(x, 1),
    'repeat': lambda x: F.repeat(x, 2, 1),
    'huber_loss': lambda x: F.huber_loss(x, x * 0.5, 0.7),
    'bernoulli_nll': lambda x: F.bernoulli_nll(x, x, 'no'),
    'sigmoid_cross_entropy': lambda x: F.sigmoid_cross_entropy(x, (x.array > 0.3).astype('i'), reduce='no'),
    'get_item': lambda x: x[:, [3, 1, 3, -1]],
    'permutate': lambda x: F.permutate(x, np.arange(x.shape[1])[::-1].copy(), 1),
    'select_item': lambda x: F.select_item(x, np.full(len(x), 5)),
    'where': lambda x: F.where(x.array > 0.5, x, x * 2),
}


def result_and_gradient(function: Any, x: Any) -> tuple[Any, Any]:
    variable = chainer.Variable(x)
    y = function(variable)
    factor = np.linspace(1, 2, y.array[0].size).reshape(y.shape[1:]).astype(x.dtype)
    y.grad = np.array(np.broadcast_to(factor, y.shape))
    y.backward()
    return y.array, variable.grad


@pytest.mark.parametrize('order', 'CF')
@pytest.mark.parametrize('dtype', 'efd')
@pytest.mark.parametrize('name', BY_ROWS)
def test_many_rows_give_what_few_give(name, dtype, order):
    few = np.random.RandomState(3).uniform(-2, 2, (2, 16)).astype(dtype)
    many = np.asarray(np.tile(few, (8000, 1)), order=order)
    y, gx = result_and_gradient(BY_ROWS[name], few)
    large_y, large_gx = result_and_gradient(BY_ROWS[name], many)
    assert large_y.dtype == y.dtype and large_gx.dtype == gx.dtype and large_gx.flags.c_contiguous
    # Both ways are precise to some units in the last place, products of 16 factors to 16; float16 is float32 rounded.
    tolerance = 2 * np.finfo('e').eps if dtype == 'e' else 40 * np.finfo(dtype).eps
    for found, expected in ((large_y, y), (large_gx, gx)):
        expected = np.tile(expected, (8000, *[1] * (expected.ndim - 1)))
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize('dtype', 'efd')
def test_many_sampled_images(dtype):
    random = np.random.RandomState(0)
    x, grid = random.randn(2, 3, 4, 5).astype(dtype), random.uniform(-1.2, 1.2, (2, 2, 3, 4)).astype(dtype)

    def sampled(x: Any, grid: Any) -> list[Any]:
        pair = chainer.Variable(x), chainer.Variable(grid)
        y = F.spatial_transformer_sampler(*pair)
        y.grad = np.ones_like(y.array) * 3
        y.backward()
        return [y.array, *[v.grad for v in pair]]

    for few, many in zip(
        sampled(x, grid), sampled(np.tile(x, (40, 1, 1, 1)), np.tile(grid, (40, 1, 1, 1))), strict=True
    ):
        tolerance = 40 * np.finfo(dtype).eps
        np.testing.assert_allclose(many, np.tile(few, (40, 1, 1, 1)), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize('dtype', 'efd')
@pytest.mark.parametrize('ignored', [None, 1])
def test_gradient_of_many_embeddings(ignored, dtype):
    ids = np.random.RandomState(0).randint(0, 7, (300, 2))
    W = chainer.Variable(np.ones((9, 50), dtype))
    y = F.embed_id(ids, W, ignored)
    y.grad = np.ones_like(y.array)
    y.backward()
    counts = np.bincount(ids.ravel(), minlength=9) * (np.arange(9) != (-1 if ignored is None else ignored))
    np.testing.assert_array_equal(W.grad, np.repeat(counts[:, None], 50, 1).astype(dtype))


@pytest.mark.parametrize(('shape', 'strides', 'offset'), [
    ((300, 200), (1, 300), None), ((200, 150), (-300, 2), 59700), ((300, 3, 200), (200, 0, 1), 0),
    ((5000, 8), (3, 1), 7),
])  # fmt: skip
def test_strided_gradients_are_counts(shape, strides, offset):
    x = chainer.Variable(np.arange(60000.0))
    y = F.as_strided(x, shape, strides, offset)
    places = (offset or 0) + sum(np.arange(n).reshape(-1, *[1] * (len(shape) - 1 - i)) * s
                                 for i, (n, s) in enumerate(zip(shape, strides, strict=True)))  # fmt: skip
    np.testing.assert_array_equal(y.array, places)
    assert not y.array.flags.writeable
    y.grad = np.ones(shape)
    y.backward()
    np.testing.assert_array_equal(x.grad, np.bincount(places.ravel(), minlength=60000))
