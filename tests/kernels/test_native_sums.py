"""Sums of compiled kernels: errors against float64, beside those of the NumPy path, on every level."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import minichainer as chainer
from minichainer._native import library
from minichainer.kernels import cross_entropy, normalization, reductions, sample_normalization, softmax
from minichainer.kernels.cross_entropy import Samples
from minichainer.kernels.sample_normalization import Groups

if library.kernels is None:
    pytest.skip(f'compiled parts: {library.state}', allow_module_level=True)

from minichainer._native import _compiled  # type: ignore[attr-defined]

EPS = 1e-5
SHAPES = [(2, 100_003), (60, 500), (3000, 10), (64, 64)]
LEVELS = _compiled.levels()


class Row(NamedTuple):
    """A call of kernels with arrays, and with which sizes."""

    call: Callable[..., Any]
    shapes: list[tuple[int, int]] = SHAPES
    mean: float = 0


def _labels(x: Any) -> Any:
    return np.random.RandomState(1).randint(0, x.shape[1], len(x))


def _loss(gy: Any, x: Any) -> Any:
    samples = Samples(_labels(x), None, 1 / len(x))
    loss, residual = cross_entropy.cross_entropy(np, x, samples)
    return loss, cross_entropy.cross_entropy_gradient(np, np.ones((), x.dtype), x, samples, residual)


def _rows(gy: Any, x: Any) -> Any:
    gamma, beta = gy[0], gy[1]
    y, moments = sample_normalization.normalize_rows(np, x, gamma, beta, EPS)
    return y, *sample_normalization.rows_gradient(np, gy, x, gamma, moments)


def _channels(axes: tuple[int, ...], shape: tuple[int, ...]) -> Callable[[Any, Any], Any]:
    def call(gy: Any, x: Any) -> Any:
        gy, x = gy.reshape(shape), x.reshape(shape)
        known = normalization.statistics(np, x, axes)
        gamma, beta = gy.reshape(-1, known.channels.channels)[:2]
        y = normalization.normalize(np, x, gamma, beta, known, EPS)
        return y, *normalization.normalize_gradients(np, gy, x, gamma, known, EPS, True), known.moments.var

    return call


def _groups(last: bool) -> Callable[[Any, Any], Any]:
    def call(gy: Any, x: Any) -> Any:
        shape, groups = (4, 200, 12) if last else (4, 12, 200), Groups(3, last)
        gy, x = gy.reshape(shape), x.reshape(shape)
        gamma, beta = gy.reshape(-1, 12)[:2]
        y, moments = sample_normalization.normalize_groups(np, x, groups, gamma, beta, EPS)
        return y, *sample_normalization.groups_gradient(np, gy, x, groups, gamma, moments)

    return call


IMAGES = [(80, 120)]
ROWS = {
    'softmax': Row(lambda gy, x: softmax.softmax(np, x, 1)),
    'softmax, first axis': Row(lambda gy, x: softmax.softmax(np, x, 0)),
    'softmax_gradient': Row(lambda gy, x: softmax.softmax_gradient(np, gy, x, 1)),
    'log_softmax': Row(lambda gy, x: softmax.log_softmax(np, x, 1)),
    'log_softmax_gradient': Row(lambda gy, x: softmax.log_softmax_gradient(np, gy, softmax.log_softmax(np, x, 1), 1)),
    'log_sum_exp': Row(lambda gy, x: reductions.log_sum_exp(np, x, (1,), False)),
    'cross_entropy': Row(_loss),
    'rows': Row(_rows),
    'rows, far': Row(_rows, mean=30),
    'channels, last': Row(_channels((0,), (400, 24)), IMAGES),
    'channels, last, far': Row(_channels((0,), (400, 24)), IMAGES, 30),
    'channels, many': Row(_channels((0,), (32, 300)), IMAGES),
    'channels, first': Row(_channels((0, 2), (4, 24, 100)), IMAGES),
    'groups, last': Row(_groups(True), IMAGES),
    'groups, first': Row(_groups(False), IMAGES),
    'groups, far': Row(_groups(True), IMAGES, 30),
}


def _results(row: Row, *arrays: Any) -> list[np.ndarray]:
    found = row.call(*arrays)
    return [np.asarray(y) for y in (found if isinstance(found, tuple) else (found,))]


@pytest.fixture(params=LEVELS)
def level(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The kernels of a level in place of the best."""
    for name, kernel in _compiled.kernels(request.param).items():
        monkeypatch.setattr(library.kernels, name, kernel)
    return request.param


@pytest.mark.parametrize('name', ROWS)
def test_error_is_at_most_twice_that_of_numpy(name: str, level: str) -> None:
    row = ROWS[name]
    for shape in row.shapes:
        x, gy = np.random.RandomState(0).randn(2, *shape)
        x = x + row.mean
        single = [a.astype('f') for a in (gy, x)]
        ours = _results(row, *single)
        with chainer.using_config('use_native_kernels', False):
            theirs, exact = _results(row, *single), _results(row, *[a.astype('d') for a in single])
        for k, (a, b, e) in enumerate(zip(ours, theirs, exact, strict=True)):
            errors = [float(np.sqrt(np.mean((v - e) ** 2))) for v in (a, b)]
            least = 2.0**-25 * float(np.abs(e).max())  # NumPy's error may be smaller by chance
            assert errors[0] <= 2 * errors[1] + least, (shape, k, errors)


@pytest.mark.parametrize('value', [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize('name', ROWS)
def test_what_is_not_finite_is_as_in_numpy(name: str, value: float, level: str) -> None:
    row = ROWS[name]
    x, gy = np.random.RandomState(0).randn(2, *row.shapes[-1]).astype('f')
    x[3, 5], x[7, 1] = value, value
    with np.errstate(all='ignore'):
        ours = _results(row, gy, x)
        with chainer.using_config('use_native_kernels', False):
            theirs = _results(row, gy, x)
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(np.isfinite(a), np.isfinite(b))
        np.testing.assert_array_equal(np.nan_to_num(a[~np.isfinite(a)]), np.nan_to_num(b[~np.isfinite(b)]))


@pytest.mark.parametrize('label', [-1, 10, 1 << 30])
def test_labels_that_are_no_class_are_not_read(label: int, level: str) -> None:
    """Labels are checked before; but a program may write to them between forward and backward."""
    x, labels = np.random.RandomState(0).randn(4, 10).astype('f'), np.array([1, 2, 3, 4])
    samples = Samples(labels, None, None)
    residual = cross_entropy.cross_entropy(np, x, samples)[1]
    labels[2] = label
    losses = cross_entropy.cross_entropy(np, x, samples)[0]
    gx = cross_entropy.cross_entropy_gradient(np, np.ones(4, 'f'), x, samples, residual)
    np.testing.assert_array_equal(np.isnan(losses), labels == label)
    np.testing.assert_array_equal(np.isnan(gx), np.repeat((labels == label)[:, None], 10, 1))
