"""Kernels of sums, products and extrema along axes, against their plain forms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from minichainer._native import library
from minichainer.kernels import cofactors, reductions, running, scattering, softmax, triangular


def normal(shape: Any, dtype: str = 'f', seed: int = 0) -> Any:
    return np.asarray(np.random.RandomState(seed).randn(*shape)).astype(dtype)


# --- softmax --------------------------------------------------------------------------------------------------------
SHAPES = [
    ((3, 4), 1),
    ((3, 4), 0),
    ((4, 3000), 1),
    ((4, 3000), -1),
    ((3000, 4), 0),
    ((20, 30, 40), 1),
    ((2, 70000), 1),
]


@pytest.mark.parametrize('dtype', 'fd')
@pytest.mark.parametrize(('shape', 'axis'), SHAPES, ids=str)
@pytest.mark.parametrize('name', ['softmax', 'log_softmax'])
def test_softmax_and_its_gradient(name, shape, axis, dtype):
    x, gy = normal(shape, dtype), normal(shape, dtype, 1)
    y = getattr(softmax, name)(np, x, axis)
    exact = getattr(softmax, name).generic(np, x.astype('g'), axis)
    tolerance = 40 * np.finfo(dtype).eps
    assert y.dtype == x.dtype
    np.testing.assert_allclose(y, exact, rtol=tolerance, atol=tolerance * 1e-3)
    gx = getattr(softmax, f'{name}_gradient')(np, gy, y, axis)
    exact = getattr(softmax, f'{name}_gradient').generic(np, gy.astype('g'), y.astype('g'), axis)
    assert gx.dtype == x.dtype and gx.base is None
    np.testing.assert_allclose(gx, exact, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize('order', 'CF')
def test_totals_of_any_layout(order):
    x = np.asarray(normal((100, 90)), order=order)
    for axis in (0, 1, -1):
        np.testing.assert_allclose(softmax.total(np, x, axis), x.sum(axis, keepdims=True), atol=1e-5)


def test_softmax_of_large_scores_does_not_overflow():
    y = softmax.softmax(np, np.full((10, 1000), 3e38, 'f'), 1)
    np.testing.assert_allclose(y, 1e-3, rtol=1e-6)


# --- sums of rows ---------------------------------------------------------------------------------------------------
NUMBERS = {
    'repeated': lambda n, k: np.arange(k) // 3 % n,
    'negative': lambda n, k: -1 - np.arange(k) % n,
    'unsigned': lambda n, k: (np.arange(k) % n).astype('u1'),
    'all one': lambda n, k: np.zeros(k, 'i'),
}


@pytest.mark.parametrize('dtype', 'efdi')
@pytest.mark.parametrize('numbers', NUMBERS)
@pytest.mark.parametrize(('count', 'k', 'width'), [(5, 7, 3), (50, 170, 200), (5, 0, 3), (3, 2, 0)])
def test_sums_of_rows(count, k, width, numbers, dtype):
    rows, which = normal((k, width), dtype), NUMBERS[numbers](count, k)
    found = scattering.sums_of_rows(np, rows, which, count)
    assert found.shape == (count, width) and found.dtype == rows.dtype
    tolerance = k * np.finfo(dtype).eps if dtype != 'i' else 0
    np.testing.assert_allclose(found, scattering.sums_of_rows.generic(np, rows, which, count), atol=tolerance)


def test_what_is_infinite_stays_in_its_row():
    rows = np.ones((200, 100), 'f')
    rows[0], rows[1, 1] = np.inf, np.nan
    found = scattering.sums_of_rows(np, rows, np.arange(200) % 100, 100)
    assert np.isinf(found[0]).all() and np.isnan(found[1, 1]) and np.isfinite(found[2:]).all()


INDICES = [
    ((30, 700), ([3, 3, -1] * 10,)),
    ((30, 700), (np.arange(60).reshape(3, 20) % 30,)),
    ((700, 30), (slice(None), np.array([3, 3, -1] * 10))),
    ((20, 30, 40), (slice(None), np.arange(26).reshape(2, 13))),
    ((30, 700), (np.arange(30) % 2 == 0,)),
    ((30, 700), (np.array([2, 2]), np.array([3, 3]))),
    ((300, 700), (np.arange(300), slice(0, 300))),
    ((30, 700), (None, np.array([2, 2] * 30))),
    ((30, 700), (slice(0, 20), np.arange(700))),
]


@pytest.mark.parametrize(('shape', 'slices'), INDICES, ids=[str(i) for i in range(len(INDICES))])
def test_scattered(shape, slices):
    x = normal(np.zeros(shape)[slices].shape)
    found = scattering.scattered(np, x, slices, shape)
    assert found.shape == shape and found.dtype == x.dtype
    np.testing.assert_allclose(found, scattering.scattered.generic(np, x, slices, shape), atol=1e-5)


# --- running sums and products --------------------------------------------------------------------------------------
LINES = [((3, 4), 1), ((400, 50), 1), ((50, 400), 0), ((20, 30, 40), 1), ((100000,), 0), ((1, 20000), 0), ((0, 3), 0)]


@pytest.mark.parametrize('dtype', 'fd')
@pytest.mark.parametrize('flip', [False, True])
@pytest.mark.parametrize(('shape', 'axis'), LINES, ids=str)
@pytest.mark.parametrize('kernel', [running.running_sum, running.running_product])
@pytest.mark.filterwarnings('ignore:overflow', 'ignore:invalid')
def test_running_results_are_the_same_to_the_last_digit(kernel, shape, axis, flip, dtype):
    x = normal(shape, dtype)
    x.reshape(-1)[5:9] = [np.inf, 0, np.nan, -0.0] if x.size > 20 else 2
    x.flags.writeable = False
    found = kernel(np, x, axis, flip)
    assert found.dtype == x.dtype
    np.testing.assert_array_equal(found, kernel.generic(np, x, axis, flip))


@pytest.mark.parametrize('flip', [False, True])
@pytest.mark.parametrize(
    ('shape', 'axis'), [line for line in LINES if running.has_long_rows(np.empty(line[0]), line[1])]
)
def test_recurrence(shape, axis, flip):
    g, a = normal(shape, 'd'), normal(shape, 'd', 1)
    expected, lines, factors = (np.moveaxis(np.flip(v, axis) if flip else v, axis, 0).copy() for v in (g, g, a))
    for i in range(1, len(lines)):
        expected[i] = lines[i] + factors[i] * expected[i - 1]
    expected = np.moveaxis(expected, 0, axis)
    expected = np.flip(expected, axis) if flip else expected
    np.testing.assert_allclose(running.recurrence(np, g, a, axis, flip), expected, rtol=1e-12)


def test_long_lines_of_few_rows_are_left_to_numpy():
    assert not running.has_long_rows(np.empty((3, 100000)), 1) and running.has_long_rows(np.empty((3, 100000)), 0)


@pytest.mark.parametrize('dtype', 'fd')
@pytest.mark.parametrize(
    ('shape', 'axis'), [((9,), 0), ((30, 20), 0), ((2, 30, 3), 1), ((20, 300), 0), ((64, 256), 0)]
)
@pytest.mark.parametrize('flip', [False, True])
@pytest.mark.filterwarnings('ignore:overflow')
def test_a_zero_absorbs_an_overflow(dtype: str, shape: Any, axis: int, flip: bool) -> None:
    large = float(np.finfo(dtype).max) / 2
    a = np.random.RandomState(0).choice([large, 0.0, 1.0, 3.0], shape, p=[0.4, 0.2, 0.2, 0.2]).astype(dtype)
    g = abs(normal(shape, dtype))
    product, sums = (np.moveaxis(np.flip(x, axis) if flip else x, axis, 0).astype(float) for x in (a, g))
    factors, highest = product.copy(), float(np.finfo(dtype).max)
    for k in range(1, len(factors)):
        for row, added in ((product, 0), (sums, sums[k])):
            step = np.where(factors[k] == 0, 0, factors[k] * np.where(factors[k] == 0, 0, row[k - 1]))
            row[k] = np.where(abs(step + added) > highest, np.inf, step + added)
    for found, expected in (
        (running.absorbing_running_product(np, a, axis, flip), product),
        (running.absorbing_recurrence(np, g, a, axis, flip), sums),
    ):
        found = np.moveaxis(np.flip(found, axis) if flip else found, axis, 0)
        assert found.dtype == a.dtype
        np.testing.assert_allclose(found, expected, 1e-5)


# --- short axes, triangles ------------------------------------------------------------------------------------------
REDUCED = [
    ((3, 4), (1,)), ((2000, 4), (1,)), ((50, 40, 16), (2,)), ((50, 40, 17), (2,)), ((2000, 4), (0,)),
    ((2000, 4), None), ((2000, 4), (0, 1)), ((9000, 1), (1,)),
]  # fmt: skip


@pytest.mark.parametrize('kernel', [reductions.total, reductions.maximum, reductions.minimum])
@pytest.mark.parametrize('keepdims', [False, True])
@pytest.mark.parametrize(('shape', 'axis'), REDUCED)
def test_reductions(kernel, shape, axis, keepdims):
    x = normal(shape, 'd')
    x.reshape(-1)[:3] = np.nan, np.inf, -np.inf
    found = np.asarray(kernel(np, x, axis, keepdims))
    expected = np.asarray(kernel.generic(np, x, axis, keepdims))
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize('order', 'CF')
@pytest.mark.parametrize('dtype', 'fd')
@pytest.mark.parametrize('size', [1, 5, 23, 24, 60])
def test_lower_inverse(size, dtype, order):
    a = np.asarray(np.tril(normal((size, size), dtype) * 0.1 + 2 * np.eye(size, dtype=dtype)), order=order)
    a.flags.writeable = False
    found = triangular.lower_inverse(np, a)
    assert found.dtype == a.dtype
    exact = triangular.lower_inverse.generic(np, a.astype('d'))
    np.testing.assert_allclose(found, exact, atol=40 * np.finfo(dtype).eps)
    np.testing.assert_array_equal(np.triu(found, 1) == 0, np.ones((size, size), '?'))


@pytest.mark.parametrize('dtype', 'fd')
def test_cofactors_where_there_is_almost_no_inverse(dtype):
    """The inverse is infinite, which is no warning: then the way is by singular values."""
    tiny = np.finfo(dtype).tiny / 100
    found = cofactors.cofactors(np, np.diag(np.array([tiny, 2], dtype)), np.array(2 * tiny, dtype))
    np.testing.assert_allclose(found, [[2, 0], [0, tiny]], rtol=1e-3)


@pytest.mark.parametrize('number', [3, -4, 2**31 - 1, -(2**31)])
@pytest.mark.parametrize('dtype', ['i', 'q'])
def test_a_row_out_of_range_is_added_nowhere(number: int, dtype: str) -> None:
    rows, numbers = np.ones((3, 5), 'f'), np.array([0, number, -1], dtype)
    with pytest.raises(IndexError, match='out of bounds'):
        scattering.sums_of_rows(np, rows, numbers, 3)
    if library.kernels is not None:
        memory, outside = np.full((5, 5), 7, 'f'), np.zeros(1, 'B')
        few, many = (numbers, None) if dtype == 'i' else (None, numbers)
        assert library.kernels.add_rows(rows, few, many, memory[1:4], outside, 3, 5, 3)
        assert outside[0]
        np.testing.assert_array_equal(memory, [[7] * 5, [8] * 5, [7] * 5, [8] * 5, [7] * 5])
