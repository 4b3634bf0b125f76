"""Kernels that act element by element, against their plain forms, on both sides of the sizes where they change."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.special

from minichainer.kernels import blocks, bounds, error_functions, gamma, gates, rectifier, transcendental
from minichainer.kernels._dispatch import DECLINED

LAYOUTS = {
    'C': lambda x: x,
    'reversed axes': lambda x: np.asarray(x, order='F'),
    'every second': lambda x: np.repeat(x, 2, axis=-1)[..., ::2],
    'backwards': lambda x: x[..., ::-1],
    'repeated': lambda x: np.broadcast_to(x[:1], x.shape),
}
SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 1.5, -1.5, 1e-45, -1e-45, 3e38]


def uniform(shape: Any, low: float = -3, high: float = 3, dtype: str = 'f') -> Any:
    return np.random.RandomState(0).uniform(low, high, shape).astype(dtype)


@pytest.mark.parametrize('layout', LAYOUTS)
@pytest.mark.parametrize('shape', [(0,), (7, 3), (2, blocks._BLOCK), (3, blocks._BLOCK - 1), (601, 500)], ids=str)
def test_blocks_give_what_the_whole_gives(shape, layout):
    x = LAYOUTS[layout](uniform(shape)) if shape != (0,) else uniform(shape)
    for y in (uniform(shape, 1, 2), np.float32(2), np.asarray(3, 'f'), uniform(shape)[::-1]):
        found = blocks.in_blocks(lambda a, b: a * b + 1, x, y)
        np.testing.assert_array_equal(found, x * y + 1)
        assert found.dtype == x.dtype and found.flags.writeable and not np.shares_memory(found, x)


def test_blocks_are_taken_and_keep_the_layout():
    sizes = []
    x = uniform((600, 500)).T
    y = blocks.in_blocks(lambda a: sizes.append(a.size) or a + 1, x)
    assert sizes == [120000, 120000, 60000] and y.strides == x.strides


#: Ranges where results differ from their limits, and some near the ends.
RANGES = {'erf': (-5, 5), 'erfc': (-4, 10.5), 'ndtr': (-14.5, 6), 'erfinv': (-1, 1)}


@pytest.mark.parametrize('name', RANGES)
def test_error_functions_are_precise_to_a_unit_in_the_last_place(name):
    random = np.random.RandomState(1)
    x = np.concatenate([
        random.uniform(*RANGES[name], 300000), random.choice([-1, 1], 40000) * 10.0 ** random.uniform(-40, 0, 40000),
        random.choice([-1, 1], 40000) * (1 - 10.0 ** random.uniform(-7.2, 0, 40000)),
    ]).astype('f')  # fmt: skip
    expected = getattr(scipy.special, name)(x.astype('d'))
    found = getattr(error_functions, name)(np, x)
    unit = np.spacing(np.maximum(np.abs(expected).astype('f'), np.finfo('f').tiny)).astype('d')
    inside = np.isfinite(expected)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found[~inside], expected[~inside].astype('f'))
    assert (np.abs(found - expected)[inside] / unit[inside]).max() < 0.9


@pytest.mark.parametrize('name', RANGES)
@pytest.mark.parametrize('layout', LAYOUTS)
def test_error_functions_at_special_values_and_in_any_layout(name, layout):
    x = LAYOUTS[layout](np.resize(np.array(SPECIAL, 'f'), (1000, 10)))
    expected = getattr(scipy.special, name)(x)
    np.testing.assert_allclose(getattr(error_functions, name)(np, x), expected, rtol=2e-7, atol=1e-44)


def test_error_functions_are_for_large_arrays_of_float32():
    for name in RANGES:
        body = getattr(error_functions, name).bodies['numpy']
        assert body(np, np.zeros(8192, 'f')) is not DECLINED
        assert body(np, np.zeros(8191, 'f')) is DECLINED and body(np, np.zeros(8192)) is DECLINED


def test_trigamma_is_precise_to_half_a_unit():
    x = np.concatenate([10.0 ** np.random.RandomState(0).uniform(-18, 18, 20000), np.arange(1, 99)]).astype('f')
    found = gamma.polygamma.bodies['numpy'](np, 1, x)
    np.testing.assert_allclose(found, scipy.special.polygamma(1, x.astype('d')), rtol=6e-8)


@pytest.mark.parametrize('bad', [0, -1, np.nan])
def test_trigamma_is_for_positive_numbers(bad):
    x = np.ones(3000, 'f')
    x[7] = bad
    body = gamma.polygamma.bodies['numpy']
    assert all(body(np, 1, y) is DECLINED for y in (x, np.ones(3000), np.ones(5, 'f')))
    assert body(np, 2, np.ones(3000, 'f')) is DECLINED


@pytest.mark.parametrize('dtype', 'efd')
@pytest.mark.parametrize('size', [1, 12, 4095, 4096, 5000])
def test_limits(size, dtype):
    with np.errstate(over='ignore'):
        x = np.resize(np.array(SPECIAL).astype(dtype), size)
    low, high = np.asarray(-0.5, dtype), np.asarray(1.25, dtype)
    for found, expected in [
        (bounds.above(np, x, low), np.maximum(x, low)),
        (bounds.below(np, x, high), np.minimum(x, high)),
        (bounds.between(np, x, low, high), np.minimum(np.maximum(x, low), high)),
        (rectifier.relu(np, x), np.maximum(x, np.asarray(0, dtype))),
    ]:
        assert found.dtype == x.dtype
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize('slope', [0, 0.0, 0.2, 1])
@pytest.mark.parametrize('dtype', 'efd')
@pytest.mark.parametrize('size', [12, 2047, 2048])
def test_leaky_relu(size, dtype, slope):
    x = np.resize(np.array([np.nan, np.inf, 0.0, -0.0, 1.0, -1.0, 2.5, -2.5], dtype), size)
    with np.errstate(invalid='ignore'):
        expected = np.where(x > 0, x, np.asarray(slope, dtype) * x)
    found = rectifier.leaky_relu(np, x, slope)
    assert found.dtype == x.dtype
    np.testing.assert_array_equal(found, expected)
    factor = rectifier.leaky_factor(np, x, slope)
    np.testing.assert_array_equal(factor, np.where(x > 0, np.asarray(1, dtype), np.asarray(slope, dtype)))


@pytest.mark.parametrize('dtype', 'efd')
@pytest.mark.parametrize('size', [60, 4096, 250000])
def test_fmod_is_exact(size, dtype):
    random = np.random.RandomState(0)
    x, divisor = (random.choice([-1, 1], size) * 2.0 ** random.uniform(-12, 12, size) for _ in range(2))
    x, divisor = x.astype(dtype), divisor.astype(dtype)
    x[:20] = divisor[:20] * np.arange(20).astype(dtype)
    found, expected = bounds.fmod(np, x, divisor), np.fmod(x, divisor)
    assert found.dtype == x.dtype
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))


@pytest.mark.parametrize(
    'pair', [(3e38, 1e-30), (1.0, 0.0), (np.inf, 2.0), (2.0, np.inf), (np.nan, 1.0), (1.0, np.nan)]
)
@pytest.mark.filterwarnings('ignore:invalid value')
def test_fmod_of_what_float64_cannot_divide(pair):
    x, divisor = uniform(5000, 1, 9), uniform(5000, 1, 2)
    x[100], divisor[100] = pair
    np.testing.assert_array_equal(bounds.fmod(np, x, divisor), np.fmod(x, divisor))


@pytest.mark.parametrize('dtype', 'fd')
@pytest.mark.parametrize('layout', LAYOUTS)
@pytest.mark.parametrize('shape', [(3, 4), (70, 80)], ids=str)
def test_gates(shape, layout, dtype):
    x, gy = LAYOUTS[layout](uniform(shape, dtype=dtype)), uniform(shape, 1, 2, dtype)
    y, s = gates.silu(np, x), scipy.special.expit(x)
    tolerance = 4 * np.finfo(dtype).eps
    np.testing.assert_allclose(gates.sigmoid(np, x), gates.sigmoid.generic(np, x), rtol=tolerance)
    np.testing.assert_allclose(gates.mish(np, x), x * np.tanh(np.logaddexp(0, x)), rtol=tolerance)
    np.testing.assert_allclose(y, x * s, rtol=tolerance)
    np.testing.assert_allclose(gates.silu_gradient(np, gy, x, y), gy * (s + y * (1 - s)), atol=8 * tolerance)
    gy[0] = np.inf
    factor = np.asarray(0.2, dtype)
    with np.errstate(invalid='ignore'):
        expected = np.where((x > -1) & (x < 1), gy * factor, np.asarray(0, dtype))
    np.testing.assert_array_equal(gates.scaled_inside(np, gy, x, 0.2, -1, 1), expected)
    assert gates.scaled_inside(np, gy, x, 0.2, -1, 1).dtype == gates.silu(np, x).dtype == np.dtype(dtype)


#: Elements that have no result, or an infinite one.
UNDEFINED = {
    'arcsin': (2, np.inf), 'arccos': (-2, -np.inf), 'arctanh': (1, -1, 2), 'tan': (np.inf, -np.inf),
    'sinh': (90, -90), 'cosh': (90, -90), 'exp': (89,), 'expm1': (89,),
    'log': (0, -0.0, -1, -np.inf), 'log1p': (-1, -2), 'log2': (0, -1), 'log10': (0, -1),
}  # fmt: skip


@pytest.mark.parametrize(('name', 'value'), [(name, value) for name, values in UNDEFINED.items() for value in values])
def test_transcendental_functions_warn_as_numpy_does(name, value):
    function, of_numpy = getattr(transcendental, name), getattr(np, name)
    x = uniform(5000, 0.25, 0.75)
    x[4000] = value
    with np.errstate(all='raise'), pytest.raises(FloatingPointError) as expected:
        of_numpy(x)
    with np.errstate(all='raise'), pytest.raises(FloatingPointError, match=str(expected.value)):
        function(np, x)
    with np.errstate(all='ignore'):
        np.testing.assert_array_equal(function(np, x), of_numpy(x))


@pytest.mark.parametrize('name', UNDEFINED)
def test_transcendental_functions_do_not_warn_of_other_elements(name):
    x = uniform(5000, 0.25, 0.75)
    x[::7] = np.nan
    with np.errstate(all='raise'):
        np.testing.assert_allclose(getattr(transcendental, name)(np, x), getattr(np, name)(x), rtol=5e-7)
