"""The kernels of normalizations against their plain forms, over many shapes, axes and layouts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minichainer._native import library
from minichainer.kernels import huge_parts
from minichainer.kernels import normalization as kernels
from minichainer.kernels import sample_normalization as samples
from minichainer.kernels._dispatch import DECLINED
from minichainer.kernels.sample_normalization import Groups

EPS = 1e-5


def laid_out(x: np.ndarray, order: tuple[int, ...]) -> np.ndarray:
    """The same array, with its axes in another order in memory."""
    return np.ascontiguousarray(x.transpose(order)).transpose(np.argsort(order))


@st.composite
def channels(draw: Any) -> tuple[Any, ...]:
    """Shape, axes of the statistics, order in memory, and whether the mean is far from zero."""
    shape = tuple(draw(st.lists(st.integers(1, 4), min_size=1, max_size=4)))
    axis = tuple(sorted(draw(st.sets(st.integers(0, len(shape) - 1)))))
    return shape, axis, tuple(draw(st.permutations(range(len(shape))))), draw(st.booleans())


def drawn(shape: tuple[int, ...], order: tuple[int, ...], far: bool, seed: int = 0) -> np.ndarray:
    return laid_out(np.random.RandomState(seed).randn(*shape) + 1e3 * far, order)


@settings(max_examples=150, deadline=None)
@given(channels())
def test_laying_and_its_inverse(drawing: Any) -> None:
    shape, axis, order, _ = drawing
    x = drawn(shape, order, False)
    found = kernels.channels_of(x, axis)
    np.testing.assert_array_equal(found.unlay(found.lay(x).copy()), x)
    assert found.channels == np.prod([n for i, n in enumerate(shape) if i not in axis])
    assert found.size * found.channels == x.size


@settings(max_examples=150, deadline=None)
@given(channels())
def test_moments_scaling_and_gradient(drawing: Any) -> None:
    shape, axis, order, far = drawing
    x, g = drawn(shape, order, far), drawn(shape, order[::-1], False, 1)
    found = kernels.channels_of(x, axis)
    laid = found.lay(x)
    moments = kernels.moments(np, laid, found)
    mean, var = kernels.moments_reference(x, axis)
    np.testing.assert_allclose(moments.true_mean, mean, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(moments.var, var, rtol=1e-11, atol=1e-13)
    gamma = np.arange(1.0, found.channels + 1)
    spread = gamma.reshape([1 if i in axis else n for i, n in enumerate(shape)])
    inv_std = 1 / np.sqrt(moments.var + EPS)
    y = kernels.scale_channels(np, laid, found, moments.shift, gamma * inv_std, -moments.mean * gamma * inv_std)
    z = (x - x.mean(axis, keepdims=True)) / np.sqrt(x.var(axis, keepdims=True) + EPS)
    np.testing.assert_allclose(found.unlay(y), spread * z, rtol=1e-9, atol=1e-9)
    gradients = kernels.batch_norm_gradient(np, found.lay(g), laid, found, moments, inv_std, gamma)
    expected = kernels.batch_norm_gradient_reference(g, x, axis, spread, EPS)
    scale = max(np.abs(expected[0]).max(), 1.0)  # up to 300 where a channel has one element
    np.testing.assert_allclose(found.unlay(gradients[0]), expected[0], rtol=1e-9, atol=1e-9 * scale)
    for actual, e in zip(gradients[1:], expected[1:], strict=True):
        np.testing.assert_allclose(actual, e, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize('order', [(0, 1, 2, 3), (0, 2, 3, 1), (3, 1, 0, 2)], ids=['C', 'channels last', 'scattered'])
@pytest.mark.parametrize(('mean', 'std'), [(0, 1), (1e4, 1), (-1e3, 0.1), (1.9, 1), (7.9, 1), (0, 1e-3)])
def test_moments_in_float32_are_right_far_from_zero(order: Any, mean: float, std: float) -> None:
    x = laid_out((np.random.RandomState(0).randn(8, 5, 30, 31) * std + mean).astype('f'), order)
    found = kernels.channels_of(x, (0, 2, 3))
    moments = kernels.moments(np, found.lay(x), found)
    expected_mean, expected_var = kernels.moments_reference(x, (0, 2, 3))
    # The sum of n rounded differences errs by far less than one rounding of an element.
    np.testing.assert_allclose(moments.true_mean, expected_mean, atol=2e-6 * std)
    np.testing.assert_allclose(moments.var, expected_var, rtol=1e-6)


def test_many_pieces_are_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    x, g = drawn((20, 6, 5), (0, 2, 1), False), drawn((20, 6, 5), (0, 1, 2), False, 1)
    x_rows = np.ascontiguousarray(x)
    results = []
    for piece in (1, 50, 1 << 17):
        monkeypatch.setattr(kernels, 'PIECE', piece)
        found = kernels.channels_of(x, (0, 2))
        moments = kernels.moments(np, found.lay(x), found)
        gamma = np.arange(1.0, 7.0)
        y, of_groups = samples.normalize_groups(np, x_rows, Groups(2, False), gamma, gamma, EPS)
        gradients = samples.groups_gradient(np, g, x_rows, Groups(2, False), gamma, of_groups)
        z, of_rows = samples.normalize_rows(np, x_rows[:, :, 0], gamma, gamma, EPS)
        of_z = samples.rows_gradient(np, g[:, :, 0], x_rows[:, :, 0], gamma, of_rows)
        gradient = kernels.batch_norm_gradient(
            np, found.lay(g), found.lay(x), found, moments, moments.var, of_rows.mean[:6]
        )
        results.append([*moments[1:3], y, z, *gradient, *gradients, *of_z])
    for a, b, c in zip(*results, strict=True):
        np.testing.assert_allclose(a, c, rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(b, c, rtol=1e-12, atol=1e-13)


def _gradient_reference(g: Any, x: Any, gamma: Any, groups: int, centered: bool) -> list[np.ndarray]:
    """Gradients of groups of (N, C, S) as the formula says."""
    z, scaled = samples.normalize_reference(x, groups, EPS, centered), g * gamma[:, None]
    shape = (len(x), groups, -1)
    rows, of_z = scaled.reshape(shape), z.reshape(shape)
    centre = x.reshape(shape) - x.reshape(shape).mean(2, keepdims=True) * centered
    inv_std = 1 / np.sqrt((centre**2).mean(2, keepdims=True) + EPS)
    gx = inv_std * (rows - rows.mean(2, keepdims=True) * centered - of_z * (rows * of_z).mean(2, keepdims=True))
    return [gx.reshape(x.shape), (g * z).sum((0, 2)), g.sum((0, 2))]


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 4), st.integers(2, 6), st.booleans(), st.booleans())
def test_rows(n: int, size: int, centered: bool, far: bool) -> None:
    x, g = drawn((n, size), (0, 1), far), drawn((n, size), (0, 1), False, 1)
    gamma, beta = np.arange(1.0, size + 1), np.ones(size) * centered
    y, moments = samples.normalize_rows(np, x, gamma, beta if centered else None, EPS)
    expected = samples.normalize_reference(x[:, :, None], 1, EPS, centered)[:, :, 0]
    np.testing.assert_allclose(y, gamma * expected + beta, rtol=1e-8, atol=1e-8)
    gradients = _gradient_reference(g[:, :, None], x[:, :, None], gamma, 1, centered)
    for a, e in zip(samples.rows_gradient(np, g, x, gamma, moments), gradients, strict=True):
        np.testing.assert_allclose(a, e.reshape(a.shape), rtol=1e-7, atol=1e-8 * max(np.abs(e).max(), 1))


@settings(max_examples=100, deadline=None)
@given(
    st.integers(1, 4), st.integers(1, 3), st.integers(1, 3), st.integers(1, 4), st.booleans(), st.booleans()
)  # fmt: skip
def test_groups(n: int, groups: int, each: int, s: int, last: bool, far: bool) -> None:
    shape = (n, groups * each, s)
    x, g = drawn(shape, (0, 1, 2), far), drawn(shape, (0, 1, 2), False, 1)
    gamma, beta = np.arange(1.0, shape[1] + 1), np.ones(shape[1])

    def lay(a: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(a.swapaxes(1, 2)) if last else a

    y, moments = samples.normalize_groups(np, lay(x), Groups(groups, last), gamma, beta, EPS)
    expected = gamma[:, None] * samples.normalize_reference(x, groups, EPS) + 1
    np.testing.assert_allclose(y, lay(expected), rtol=1e-8, atol=1e-7)
    found = samples.groups_gradient(np, lay(g), lay(x), Groups(groups, last), gamma, moments)
    gx, *sums = _gradient_reference(g, x, gamma, groups, True)
    for a, e in zip(found, (lay(gx), *sums), strict=True):
        np.testing.assert_allclose(a, e, rtol=1e-7, atol=1e-7 * max(np.abs(e).max(), 1))


def test_dead_and_constant_channels() -> None:
    x = np.zeros((50, 3), 'f')
    x[:, 1] = 1e4 + 0.1
    x[:, 2] = np.arange(50)
    found = kernels.channels_of(x, (0,))
    moments = kernels.moments(np, found.lay(x), found)
    assert moments.var[0] == 0 and 0 <= moments.var[1] < 1e-9
    np.testing.assert_allclose(moments.true_mean, [0, np.float32(1e4 + 0.1), 24.5], rtol=1e-12)


def test_memory_is_neither_copied_nor_reordered() -> None:
    """A view where the channels of the array are last or in the middle, whatever lies around them."""
    for order, axis in (((0, 1, 2, 3), (0, 2, 3)), ((0, 2, 3, 1), (0, 2, 3)), ((3, 2, 1, 0), (0, 2, 3))):
        x = laid_out(np.zeros((2, 3, 4, 5)), order)
        found = kernels.channels_of(x, axis)
        assert np.shares_memory(found.lay(x), x)
        assert found.unlay(np.empty_like(found.lay(x))).strides == x.strides


def test_rows_that_are_constant_with_a_tiny_eps_have_finite_gradients() -> None:
    """The inverse of the deviation is 1e15: its third power is no float32."""
    x, g, gamma = np.ones((2, 4), 'f'), np.float32([[1, 2, 3, 4], [0, 1, 0, 1]]), np.ones(4, 'f')
    y, moments = samples.normalize_rows(np, x, gamma, gamma, 1e-30)
    np.testing.assert_array_equal(y, 1)
    gx = samples.rows_gradient(np, g, x, gamma, moments)[0]
    np.testing.assert_allclose(gx, (g - g.mean(axis=1, keepdims=True)) * 1e15, rtol=1e-6)


# --- huge parts -----------------------------------------------------------------------------------------------------
HUGE = np.array([[1.0, 2.0, 4.0, -3.0], [1e200, 2e200, 4e200, -3e200], [5e90, 5e90, 5e90, 5e90], [np.inf, 1, 2, 3]])


def _deviations(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Means, and variances that overflow."""
    with np.errstate(all='ignore'):
        return x.mean(1), x.var(1)


@np.errstate(over='ignore', invalid='ignore')
def test_huge_parts_are_found_by_deviations_or_variances() -> None:
    mean, var = _deviations(HUGE)
    found = huge_parts.among(HUGE, huge_parts.itself, 1 / np.sqrt(var + EPS), mean, EPS)
    assert found is not None
    np.testing.assert_array_equal(found.mask, [False, True, True, False])
    np.testing.assert_array_equal(huge_parts.by_variance(HUGE, huge_parts.itself, var, mean), found.mask)
    assert huge_parts.among(HUGE[:1], huge_parts.itself, 1 / np.sqrt(var[:1] + EPS), mean[:1], EPS) is None
    assert huge_parts.by_variance(HUGE[:1], huge_parts.itself, var[:1], mean[:1]) is None
    assert huge_parts.by_variance(HUGE[:1], huge_parts.itself, var[:1], None) is None
    zeros = huge_parts.without(HUGE, huge_parts.itself, found.mask)
    np.testing.assert_array_equal(zeros, np.where(found.mask[:, None], 0, HUGE))


def test_huge_parts_are_normalized() -> None:
    mask = np.array([False, True, True, False])
    found = huge_parts.standardized(HUGE, mask, EPS)
    z = HUGE[0] - HUGE[0].mean()
    np.testing.assert_allclose(found.z, [z / z.std(), np.zeros(4)], rtol=1e-14)
    np.testing.assert_allclose(found.inv_std.reshape(-1), [1e-200 / z.std(), EPS**-0.5], rtol=1e-14)
    mean, var = huge_parts.moments(HUGE, mask)
    np.testing.assert_allclose(mean, [1e200, 5e90], rtol=1e-14)
    np.testing.assert_array_equal(var, [np.inf, 0])


def test_huge_parts_are_brought_into_range() -> None:
    shift, scale = huge_parts.into_range(HUGE, (1,), True)
    np.testing.assert_array_equal(shift, [[0], [0], [5e90], [0]])
    moved = (HUGE - shift) * scale
    np.testing.assert_array_equal(moved[[0, 2, 3]], [HUGE[0], [0] * 4, HUGE[3]])
    assert 0.5 <= moved[1].max() < 1 and np.log2(scale[1]) % 1 == 0
    assert huge_parts.into_range(HUGE[:1], (1,), True) is None
    assert huge_parts.into_range(HUGE[::3], (1,), True) is None


@pytest.mark.skipif(library.kernels is None, reason='without compiled kernels there is one limit')
@pytest.mark.parametrize('dtype', 'fd')
def test_compiled_kernels_have_the_same_limits(dtype: str) -> None:
    ones, size = np.ones(4, dtype), huge_parts.LARGE[dtype]
    for factor, is_taken in ((0.9, True), (1.1, False)):
        x = np.array([[1.0, -1, 1, -1]] * 2, dtype) * np.asarray(size * factor, dtype)
        assert (samples.normalize_rows.bodies['native'](np, x, ones, ones, EPS) is not DECLINED) == is_taken
        groups = x[:, :, None], Groups(2, False), ones, ones, EPS
        assert (samples.normalize_groups.bodies['native'](np, *groups) is not DECLINED) == is_taken
        found = kernels.channels_of(x, (1,))
        assert (kernels.moments.bodies['native'](np, found.lay(x), found) is not DECLINED) == is_taken


def test_nothing_warns_of_overflow(monkeypatch: pytest.MonkeyPatch) -> None:
    def body() -> Any:
        return np.float64(1e200) * np.float64(1e200)

    monkeypatch.setattr(library, 'kernels', None)
    with pytest.warns(RuntimeWarning, match='overflow'):
        huge_parts.as_quiet_as_compiled(body)()
    monkeypatch.setattr(library, 'kernels', ())
    assert huge_parts.as_quiet_as_compiled(body)() == np.inf
