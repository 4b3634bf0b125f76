"""The rectifier's kernels against their plain forms, on both sides of the sizes where they change method."""

from __future__ import annotations

import numpy as np
import pytest

from minichainer.kernels import rectifier

SHAPES = [(), (0,), (3,), (2047,), (2048,), (4096,), (3, 4096), (5, 7, 9, 11), (2, 3, 40, 41)]
LAYOUTS = {
    'C': lambda x: x,
    'reversed axes': lambda x: np.asarray(x, order='F'),
    'channels last': lambda x: np.ascontiguousarray(np.moveaxis(x, 1, -1)).swapaxes(1, -1) if x.ndim == 4 else x,
    'every second': lambda x: np.repeat(x, 2, axis=-1)[..., ::2] if x.ndim else x,
    'backwards': lambda x: x[..., ::-1] if x.ndim else x,
    'other byte order': lambda x: x.astype(x.dtype.newbyteorder()),
}


@pytest.mark.parametrize('layout', LAYOUTS)
@pytest.mark.parametrize('dtype', 'efd')
@pytest.mark.parametrize('shape', SHAPES, ids=str)
def test_is_the_maximum_with_zero(shape, dtype, layout):
    x = LAYOUTS[layout](np.random.RandomState(0).uniform(-1, 1, shape).astype(dtype))
    before = x.copy()
    y = np.asarray(rectifier.relu(np, x))
    np.testing.assert_array_equal(y, rectifier.relu.generic(np, x))
    np.testing.assert_array_equal(x, before)
    assert not np.shares_memory(x, y)


def test_large_arrays_keep_their_layout():
    x = np.zeros((2, 40, 41, 3), 'f').transpose(0, 3, 1, 2)
    assert rectifier.relu(np, x).strides == x.strides


@pytest.mark.parametrize('size', [1, 4097])
def test_nan_stays_nan(size):
    assert np.isnan(rectifier.relu(np, np.full(size, np.nan, 'f'))).all()


@pytest.mark.parametrize('size', [5, 4095])
def test_step_is_zero_where_the_result_is(size):
    y = np.random.RandomState(0).uniform(0, 1, size).astype('f')
    y[:4] = 0, -0.0, np.nan, np.inf
    np.testing.assert_array_equal(rectifier.step(np, y) * np.float32(3), np.where(y == 0, 0, np.float32(3)))


@pytest.mark.parametrize('dtype', 'efd')
@pytest.mark.parametrize('slope', [0, 0.0, 0.2, 1])
def test_leaky_factor_is_one_or_the_slope(dtype, slope):
    x = np.array([-np.inf, -1, -0.0, 0, 2, np.inf, np.nan], dtype)
    factor = rectifier.leaky_factor(np, x, slope)
    assert factor.dtype == x.dtype
    np.testing.assert_array_equal(factor, np.where(x > 0, 1, slope).astype(dtype))
