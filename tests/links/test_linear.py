"""L.Linear against its formula."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from minichainer.configuration import using_config
from minichainer.initializers.constant import Constant
from minichainer.links.connection.linear import Linear
from minichainer.utils.type_check import InvalidType
from minichainer.variable import Parameter, Variable


@pytest.mark.parametrize('nobias', [False, True])
@pytest.mark.parametrize('dtype', [np.float16, np.float32, np.float64])
def test_forward_and_gradients(dtype: Any, nobias: bool) -> None:
    rng = np.random.default_rng(0)
    with using_config('dtype', dtype):
        layer = Linear(3, 2, nobias=nobias, initial_bias=0.5)
    x = Variable(rng.standard_normal((4, 3)).astype(dtype))
    y = layer(x)
    expected = x.array @ layer.W.array.T + (0 if nobias else layer.b.array)
    tolerance = {'rtol': 1e-2, 'atol': 1e-2} if dtype is np.float16 else {'rtol': 1e-5, 'atol': 1e-6}
    assert y.dtype == dtype
    np.testing.assert_allclose(y.array, expected, **tolerance)
    layer.cleargrads()
    gy = rng.standard_normal((4, 2)).astype(dtype)
    y.grad = gy
    y.backward()
    np.testing.assert_allclose(x.grad, gy @ layer.W.array, **tolerance)
    np.testing.assert_allclose(layer.W.grad, gy.T @ x.array, **tolerance)
    if not nobias:
        np.testing.assert_allclose(layer.b.grad, gy.sum(0), **tolerance)


@pytest.mark.parametrize(
    ('args', 'shape', 'n_batch_axes', 'W_shape', 'y_shape'),
    [
        ((None, 5), (2, 3), 1, (5, 3), (2, 5)),
        ((5,), (2, 3), 1, (5, 3), (2, 5)),
        ((None, 5), (2, 3, 4), 1, (5, 12), (2, 5)),
        ((None, 5), (2, 3, 4), 2, (5, 4), (2, 3, 5)),
        ((12, 5), (2, 3, 4), 1, (5, 12), (2, 5)),
        ((None, 5), (0, 3), 1, (5, 3), (0, 5)),
    ],
)
def test_sizes(args: Any, shape: Any, n_batch_axes: int, W_shape: Any, y_shape: Any) -> None:
    layer = Linear(*args)
    y = layer(np.ones(shape, np.float32), n_batch_axes=n_batch_axes)
    assert (layer.W.shape, layer.b.shape, y.shape) == (W_shape, (5,), y_shape)
    assert layer.out_size == 5


@pytest.mark.parametrize(
    ('initialW', 'initial_bias', 'W', 'b'),
    [
        (0.5, 1, np.full((2, 3), 0.5), np.ones(2)),
        (np.arange(6).reshape(2, 3), np.array([1, 2]), np.arange(6).reshape(2, 3), np.array([1, 2])),
        (Constant(4), Constant(5), np.full((2, 3), 4), np.full(2, 5)),
    ],
)
@pytest.mark.parametrize('in_size', [3, None])
def test_initial_values(in_size: Any, initialW: Any, initial_bias: Any, W: Any, b: Any) -> None:
    layer = Linear(in_size, 2, initialW=initialW, initial_bias=initial_bias)
    layer(np.ones((1, 3), np.float32))
    np.testing.assert_array_equal(layer.W.array, W)
    np.testing.assert_array_equal(layer.b.array, b)
    assert (layer.W.dtype, layer.b.dtype) == (np.float32, np.float32)


def test_default_initial_values() -> None:
    np.random.seed(0)
    layer = Linear(100, 200)
    assert abs(layer.W.array.std() - 0.1) < 0.002
    np.testing.assert_array_equal(layer.b.array, np.zeros(200))


@pytest.mark.parametrize('wrap', [np.asarray, Parameter])
def test_from_params_copies(wrap: Any) -> None:
    W, b = np.arange(6, dtype=np.float32).reshape(2, 3), np.ones(2, np.float32)
    layer = Linear.from_params(wrap(W), wrap(b))
    np.testing.assert_array_equal(layer.W.array, W)
    np.testing.assert_array_equal(layer.b.array, b)
    assert not np.shares_memory(layer.W.array, W)
    assert str(layer) == 'Linear(in_size=3, out_size=2, nobias=False)'
    assert Linear.from_params(W, nobias=True).b is None
    np.testing.assert_array_equal(Linear.from_params(W).b.array, [0, 0])


@pytest.mark.parametrize(
    ('shape', 'n_batch_axes', 'error', 'message'),
    [
        ((3,), 1, ValueError, r'in_size is not known yet.* x of shape \(3,\): expected more than n_batch_axes = 1'),
        ((2, 3), 2, ValueError, r'expected more than n_batch_axes = 2 axes'),
        ((2, 3), 0, ValueError, 'n_batch_axes should be greater than 0'),
    ],
)
def test_wrong_data_does_not_settle_the_size(shape: Any, n_batch_axes: int, error: Any, message: str) -> None:
    layer = Linear(None, 2)
    with pytest.raises(error, match=message):
        layer(np.ones(shape, np.float32), n_batch_axes=n_batch_axes)
    assert layer.W.array is None


def test_sizes_that_do_not_match() -> None:
    with pytest.raises(InvalidType, match=r'(?s)Linear.*4.*3'):
        Linear(3, 2)(np.zeros((2, 4), np.float32))


def test_uninitialized_weight_says_what_to_do() -> None:
    with pytest.raises(RuntimeError, match='uninitialized Parameter W: call its initialize'):
        Linear(None, 2).W.shape  # noqa: B018
