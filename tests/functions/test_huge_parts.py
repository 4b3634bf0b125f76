"""Normalizations of numbers whose squares are beyond the range, against those of the same numbers divided by 2^n."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F
import minichainer.links as L
from minichainer._native import library
from minichainer.configuration import using_config
from minichainer.kernels import huge_parts

#: Without compiled kernels NumPy warns that squares overflow.
pytestmark = [] if library.kernels is not None else pytest.mark.filterwarnings('ignore::RuntimeWarning')


@dataclass(frozen=True)
class Row:
    """A normalization with an array; parts are what its mean and variance are taken of."""

    call: Callable[..., Any]
    shape: tuple[int, ...]
    #: The array's axes of parts, and of gamma.
    parts: tuple[int, ...]
    of_gamma: tuple[int, ...]
    groups: int = 0
    order: tuple[int, ...] | None = None
    has_beta: bool = True

    def spread(self, values: np.ndarray) -> np.ndarray:
        """One value per part, to broadcast against the array."""
        if self.groups:
            each = self.shape[1] // self.groups
            return values.repeat(each, axis=1).reshape(*self.shape[:2], *[1] * (len(self.shape) - 2))
        return values.reshape([n if i in self.parts else 1 for i, n in enumerate(self.shape)])

    @property
    def counts(self) -> tuple[int, ...]:
        return (self.shape[0], self.groups) if self.groups else tuple([self.shape[i] for i in self.parts])

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple([self.shape[i] for i in self.of_gamma])

    def of_gammas(self, values: np.ndarray) -> np.ndarray:
        return values.reshape([n if i in self.of_gamma else 1 for i, n in enumerate(self.shape)])

    def sums(self, values: np.ndarray) -> np.ndarray:
        return values.sum(tuple([i for i in range(len(self.shape)) if i not in self.of_gamma]))


def _rms(x: Any, gamma: Any, beta: Any, eps: float) -> Any:
    return F.rms_norm(x, gamma, eps)


def _batch(x: Any, gamma: Any, beta: Any, eps: float, axis: Any = None) -> Any:
    return F.batch_normalization(x, gamma, beta, eps=eps, axis=axis)


def _renormalized(x: Any, gamma: Any, beta: Any, eps: float) -> Any:
    ones = np.ones(gamma.shape)
    return F.batch_renormalization(x, gamma, beta, 1.0, 0.0, eps, ones, ones)


def _groups(x: Any, gamma: Any, beta: Any, eps: float) -> Any:
    return F.group_normalization(x, 2, gamma, beta, eps)


ROWS = {
    'layer': Row(F.layer_normalization, (5, 7), (0,), (1,)),
    'layer, wide': Row(F.layer_normalization, (33, 300), (0,), (1,)),
    'rms': Row(_rms, (5, 7), (0,), (1,), has_beta=False),
    'rms, three axes': Row(_rms, (2, 3, 8), (0, 1), (2,), has_beta=False),
    'group': Row(_groups, (3, 6, 5), (0, 1), (1,), 2),
    'group, no image': Row(_groups, (4, 8), (0, 1), (1,), 2),
    'group, channels last': Row(_groups, (3, 6, 4, 5), (0, 1), (1,), 2, (0, 2, 3, 1)),
    'instance': Row(F.instance_normalization, (3, 4, 5), (0, 1), (1,)),
    'batch': Row(_batch, (6, 4), (1,), (1,)),
    'batch, tall': Row(_batch, (700, 3), (1,), (1,)),
    'batch of images': Row(_batch, (3, 4, 2, 5), (1,), (1,)),
    'batch, channels last': Row(_batch, (3, 4, 2, 5), (1,), (1,), order=(0, 2, 3, 1)),
    'batch, two axes': Row(lambda *args: _batch(*args, axis=(1,)), (4, 9, 3), (0, 2), (0, 2)),
    'renorm': Row(_renormalized, (6, 4), (1,), (1,)),
}  # fmt: skip
EXPONENTS = {'f': (30, 38, 40, 42, 60, 67, 100, 124), 'd': (300, 398, 400, 402, 450, 520, 700, 1000)}
CASES = [pytest.param(name, dtype, id=f'{name}-{dtype}') for name in ROWS for dtype in 'fd']
NATIVE = pytest.mark.parametrize('native', [True, False], ids=['compiled', 'plain'])
MIXED = pytest.mark.parametrize('mixed', [True, False], ids=['mixed', 'all'])


def _drawn(row: Row, dtype: str) -> list[np.ndarray]:
    """An array, gamma, beta, and the upstream gradient."""
    rng = np.random.RandomState(len(row.shape))
    x = (rng.uniform(-2, 3.5, row.shape)).astype(dtype)
    gamma, beta = (rng.uniform(0.5, 1.5, row.sizes).astype(dtype) for _ in range(2))
    arrays = [x, gamma, beta, rng.uniform(-1, 1, row.shape).astype(dtype)]
    return arrays if row.order is None else [_laid_out(a, row.order) if a.ndim > 1 else a for a in arrays]


def _laid_out(x: np.ndarray, order: tuple[int, ...]) -> np.ndarray:
    """The same array, with its axes in another order in memory."""
    return np.ascontiguousarray(x.transpose(order)).transpose(np.argsort(order))


def _some(row: Row, mixed: bool) -> np.ndarray:
    """Which parts are huge."""
    return np.arange(np.prod(row.counts)).reshape(row.counts) % (2 if mixed else 1) == 0


def _computed(row: Row, arrays: list[np.ndarray], eps: float, twice: bool = False) -> list[np.ndarray]:
    """The value, and gradients; ``twice``: those that can be differentiated, and derivatives of gx times gy."""
    xs = [chainer.Variable(a) for a in arrays[:3]]
    gy = chainer.Variable(arrays[3])
    y = row.call(*xs, eps)
    found = chainer.grad([y], xs, [gy], enable_double_backprop=twice)
    results = [y, *[g for g in found if g is not None]]
    if twice:
        results.append(chainer.grad([found[0]], xs[:1], [gy])[0])
    return [v.array for v in results]


def _right(row: Row, arrays: list[np.ndarray], huge: Any, scale: float, eps: float, twice: bool) -> list[np.ndarray]:
    """The same in float64 from the array before it was multiplied, where eps is 0 in huge parts."""
    wide = [a.astype('d') for a in arrays]
    one, other = (_computed(row, wide, e, twice) for e in (eps, 0.0))
    place = row.spread(huge)
    y = np.where(place, other[0], one[0])
    z = (y - row.of_gammas(wide[2]) * row.has_beta) / row.of_gammas(wide[1])
    gx = np.where(place, other[1] / scale, one[1])
    second = [np.where(place, other[-1] / scale / scale, one[-1])] if twice else []
    return [y, gx, row.sums(wide[3] * z), *one[3 : 3 + row.has_beta], *second]


def _close(row: Row, found: list[np.ndarray], right: list[np.ndarray], huge: np.ndarray, dtype: str) -> None:
    """Compares huge and other parts apart, because gradients of the first are tiny."""
    eps, place = float(np.finfo(dtype).eps), np.broadcast_to(row.spread(huge), row.shape)
    for actual, expected in zip(found, right, strict=True):
        assert actual.dtype == dtype
        masks = [place, ~place] if actual.shape == row.shape else [np.ones(actual.shape, '?')]
        for mask in masks:
            if mask.any():
                limit = 64 * eps * np.abs(expected[mask]).max() + 4 * float(np.finfo(dtype).smallest_subnormal)
                np.testing.assert_allclose(actual[mask], expected[mask], rtol=0, atol=limit)


@NATIVE
@MIXED
@pytest.mark.parametrize('eps', [1e-5, 0.0])
@pytest.mark.parametrize(('name', 'dtype'), CASES)
def test_values_and_gradients(name: str, dtype: str, eps: float, mixed: bool, native: bool) -> None:
    row, arrays = ROWS[name], _drawn(ROWS[name], dtype)
    huge = _some(row, mixed)
    for exponent in EXPONENTS[dtype]:
        scale = np.where(row.spread(huge), 2.0**exponent, 1.0).astype(dtype)
        with using_config('use_native_kernels', native):
            found = _computed(row, [arrays[0] * scale, *arrays[1:]], eps)
        _close(row, found, _right(row, arrays, huge, 2.0**exponent, eps, False), huge, dtype)


@MIXED
@pytest.mark.parametrize(('name', 'dtype'), CASES)
def test_differentiable_gradients_and_second_derivatives(name: str, dtype: str, mixed: bool) -> None:
    row, arrays = ROWS[name], _drawn(ROWS[name], dtype)
    huge = _some(row, mixed)
    for exponent in EXPONENTS[dtype]:
        scale = np.where(row.spread(huge), 2.0**exponent, 1.0).astype(dtype)
        found = _computed(row, [arrays[0] * scale, *arrays[1:]], 1e-5, twice=True)
        _close(row, found, _right(row, arrays, huge, 2.0**exponent, 1e-5, True), huge, dtype)


@NATIVE
@pytest.mark.parametrize(('name', 'dtype'), CASES)
def test_tiny_upstream_gradients(name: str, dtype: str, native: bool) -> None:
    """Products with squares of inverse deviations do not lose digits by underflow."""
    row, arrays = ROWS[name], _drawn(ROWS[name], dtype)
    huge, tiny = _some(row, True), {'f': 2.0**-40, 'd': 2.0**-210}[dtype]
    arrays[3] = arrays[3] * np.asarray(tiny, dtype)
    for exponent in (*EXPONENTS[dtype][:4], *{'f': (62,), 'd': (500, 508)}[dtype]):
        scale = np.where(row.spread(huge), 2.0**exponent, 1.0).astype(dtype)
        with using_config('use_native_kernels', native):
            found = _computed(row, [arrays[0] * scale, *arrays[1:]], 1e-5)
        _close(row, found, _right(row, arrays, huge, 2.0**exponent, 1e-5, False), huge, dtype)


@NATIVE
@pytest.mark.parametrize('name', [name for name in ROWS if 'rms' not in name])
def test_huge_parts_far_from_zero_keep_their_digits(name: str, native: bool) -> None:
    row, arrays = ROWS[name], _drawn(ROWS[name], 'd')
    far = arrays[0] + 1e6  # rounded as its multiples are
    with using_config('use_native_kernels', native):
        found = _computed(row, [far * 2.0**500, *arrays[1:]], 1e-5)
    right = _computed(row, [far - 1e6, *arrays[1:]], 0.0)
    np.testing.assert_allclose(found[0], right[0], rtol=0, atol=1e-14)
    np.testing.assert_allclose(found[1] * 2.0**500, right[1], rtol=0, atol=1e-13)


@NATIVE
@pytest.mark.filterwarnings('ignore::RuntimeWarning')
@pytest.mark.parametrize(('name', 'dtype'), CASES)
def test_other_parts_stay_as_they_are(name: str, dtype: str, native: bool) -> None:
    """Bit for bit; beside a huge part, too, there may be one that is not finite."""
    row, arrays = ROWS[name], _drawn(ROWS[name], dtype)
    huge = _some(row, True)
    place = np.broadcast_to(row.spread(huge), row.shape)
    for spoilt in (1.0, np.inf, np.nan):
        x = arrays[0].copy('K')
        x[~place] *= np.where(np.arange(np.sum(~place)) == 0, spoilt, 1).astype(dtype)
        zeros = x.copy('K')
        zeros[place] = 0
        x[place] *= np.asarray(2.0 ** EXPONENTS[dtype][-1], dtype)
        with using_config('use_native_kernels', native):
            found, right = [_computed(row, [a, *arrays[1:]], 1e-5) for a in (x, zeros)]
        for k in (0, 1):
            np.testing.assert_array_equal(found[k][~place], right[k][~place])
            assert np.isfinite(found[k][place]).all()


@NATIVE
@pytest.mark.parametrize('sign', [1, -1])
@pytest.mark.parametrize(('name', 'dtype'), [pytest.param(*c.values, id=c.id) for c in CASES if 'rms' not in c.id])
def test_constants_become_beta(name: str, dtype: str, sign: int, native: bool) -> None:
    row, arrays = ROWS[name], _drawn(ROWS[name], dtype)
    right = _computed(row, [np.ones_like(arrays[0]), *arrays[1:]], 1e-5)
    for exponent in EXPONENTS[dtype]:
        x = np.full_like(arrays[0], sign * 1.7 * 2.0**exponent)
        with using_config('use_native_kernels', native):
            found = _computed(row, [x, *arrays[1:]], 1e-5)
        np.testing.assert_array_equal(found[0], np.broadcast_to(row.of_gammas(arrays[2]), row.shape))
        twice = _computed(row, [x, *arrays[1:]], 1e-5, twice=True)
        for gradients in (found[1:], twice[1:4]):
            for actual, expected in zip(gradients, right[1:], strict=True):
                np.testing.assert_allclose(actual, expected, rtol=1e-4, atol=1e-3)


@NATIVE
@pytest.mark.parametrize('dtype', 'fd')
def test_the_largest_numbers_of_both_signs(dtype: str, native: bool) -> None:
    top = float(np.finfo(dtype).max)
    x, ones = np.array([[top, -top, top, -top], [top, top, top, -top]], dtype), np.ones(4, dtype)
    with using_config('use_native_kernels', native):
        y = F.layer_normalization(x, ones, 0 * ones).array
        of_root = F.rms_norm(x, ones).array
        of_channels = F.batch_normalization(x.T.copy(), ones[:2], 0 * ones[:2]).array
    right = [[1, -1, 1, -1], [3**-0.5, 3**-0.5, 3**-0.5, -(3**0.5)]]
    np.testing.assert_allclose(y, right, rtol=1e-6)
    np.testing.assert_allclose(of_root, np.sign(x), rtol=1e-6)
    np.testing.assert_allclose(of_channels.T, right, rtol=1e-6)


@NATIVE
def test_running_statistics_of_huge_channels(native: bool) -> None:
    x = np.array([[1e200, 1.0], [3e200, 3.0]])
    mean, var = np.zeros(2), np.zeros(2)
    with using_config('use_native_kernels', native):
        y = F.batch_normalization(x, np.ones(2), np.zeros(2), running_mean=mean, running_var=var, decay=0.0, eps=0.0)
    np.testing.assert_array_equal(y.array, [[-1, -1], [1, 1]])
    np.testing.assert_array_equal(mean, [2e200, 2])
    np.testing.assert_array_equal(var, [np.inf, 2])


@pytest.mark.filterwarnings('ignore:overflow encountered')
def test_links_with_running_statistics_that_overflow() -> None:
    link = L.BatchNormalization(3)
    x = np.random.RandomState(0).randn(8, 3).astype('f')
    y = link(x * np.float32(1e30))
    np.testing.assert_allclose(y.array, L.BatchNormalization(3, eps=1e-12)(x).array, rtol=1e-5, atol=1e-6)
    assert np.isfinite(link(x * np.float32(1e30)).array).all()


@pytest.mark.filterwarnings('ignore::RuntimeWarning')
def test_a_large_eps_counts() -> None:
    x, ones = np.array([[3e25, -3e25, 0.0]], 'f'), np.ones(3, 'f')
    found = F.layer_normalization(x, ones, 0 * ones, eps=6e50).array
    np.testing.assert_allclose(found, x.astype('d') / np.sqrt(6e50 + 6e50), rtol=1e-6)
    for eps in (1e30, 1e70):
        y, gx, *_ = _computed(ROWS['layer'], _drawn(ROWS['layer'], 'f'), eps, twice=True)
        np.testing.assert_allclose(y, np.broadcast_to(_drawn(ROWS['layer'], 'f')[2], y.shape), rtol=1e-6)
        assert np.abs(gx).max() < 1e-14


def test_numbers_that_are_not_huge_are_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """Deviations below the limit, whatever the elements are."""
    monkeypatch.setattr(huge_parts, '_mask_of', lambda *args: pytest.fail('elements are looked at'))
    for name in ('layer', 'rms', 'group', 'instance', 'batch', 'renorm'):
        for dtype, exponent in (('f', 37), ('d', 390)):
            row, arrays = ROWS[name], _drawn(ROWS[name], dtype)
            with using_config('use_native_kernels', False):
                _computed(row, [arrays[0] * np.asarray(2.0**exponent, dtype), *arrays[1:]], 1e-5)
