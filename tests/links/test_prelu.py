"""PReLU: the slopes and their gradient. Its figures are in the recorded cases."""

from __future__ import annotations

import numpy as np

import minichainer.links as L


def test_each_channel_has_its_slope_and_gets_its_gradient() -> None:
    layer = L.PReLU((2,), np.array([0.5, -1], 'f'))
    layer.cleargrads()
    y = layer(np.array([[-2, -3], [-4, 5]], 'f'))
    np.testing.assert_array_equal(y.array, [[-1, 3], [-2, 5]])
    y.grad = np.array([[1, 10], [100, 1000]], 'f')
    y.backward()
    np.testing.assert_array_equal(layer.W.grad, [-402, -30])


def test_default_is_one_slope_of_a_quarter() -> None:
    layer = L.PReLU()
    assert layer.W.shape == () and layer.W.dtype == np.float32 and layer.W.array == 0.25
