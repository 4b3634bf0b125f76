"""What the table cannot say of normalizations: running statistics, layouts, precision, dtypes, other libraries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minichainer as chainer
import minichainer.functions as F
from minichainer.functions.normalization import batch_normalization
from minichainer.functions.normalization import sample_normalization as samples
from tests.functions.checks import differentiable_gradients, gradients
from tests.functions.numeric import directional


def channels_last(x: np.ndarray) -> np.ndarray:
    return np.moveaxis(np.ascontiguousarray(np.moveaxis(x, 1, -1)), -1, 1)


def random(*shape: int, dtype: str = 'd', seed: int = 0) -> np.ndarray:
    return np.asarray(np.random.RandomState(seed + sum(shape)).uniform(-1, 1, shape), dtype)


def parameters(count: int, dtype: str = 'd') -> tuple[np.ndarray, np.ndarray]:
    return random(count, dtype=dtype) + np.asarray(1.5, dtype), random(count, dtype=dtype, seed=1)


LAYOUTS = pytest.mark.parametrize(
    'way', [np.ascontiguousarray, channels_last, np.asfortranarray], ids=['C', 'channels last', 'Fortran']
)


# --- precision -----------------------------------------------------------------------------------------------------
@LAYOUTS
@pytest.mark.parametrize('axis', [None, (0, 1, 2)])
def test_batch_normalization_far_from_zero_in_float32(way: Any, axis: Any) -> None:
    """At mean 1e4, std 1 the mean of squares less the square of the mean would have no right digit."""
    x = way((np.random.RandomState(0).randn(16, 6, 20, 9) + 1e4).astype('f'))
    gamma, beta = parameters(6 if axis is None else 9, 'f')
    gy = way(random(*x.shape, dtype='f'))

    def function(*xs: Any) -> Any:
        return (F.batch_normalization(*xs, axis=axis),)

    wide = [a.astype('d') for a in (x, gamma, beta)]
    (expected,) = function(*wide)
    (y,) = function(x, gamma, beta)
    # Each element of x is exact; differences from the mean round at the size of the std, 6e-8 of 3.
    np.testing.assert_allclose(y.array, expected.array, rtol=0, atol=2e-6)
    found, expected = gradients(function, [x, gamma, beta], [gy]), gradients(function, wide, [gy.astype('d')])
    for a, e in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, e, rtol=0, atol=3e-6 * max(np.abs(e).max(), 1))


ONES = np.ones(8)
FAR_FROM_ZERO: dict[str, tuple[tuple[int, ...], Callable[..., Any]]] = {
    'batch': ((16, 8, 16, 16), F.batch_normalization),
    'batch of rows': ((128, 64), F.batch_normalization),
    'renorm': (
        (16, 8, 8, 8),
        lambda *xs: F.batch_renormalization(*xs, 1.0, 0.0, running_mean=ONES, running_var=ONES),
    ),
    'decorrelated': ((64, 8, 4, 4), lambda x, *_: F.decorrelated_batch_normalization(x, groups=2)),
    'group': ((4, 8, 16, 16), lambda x, *xs: F.group_normalization(x, 2, *xs)),
    'instance': ((4, 8, 32, 32), F.instance_normalization),
    'layer': ((32, 256), F.layer_normalization),
    'rms': ((32, 256), lambda x, gamma, _: F.rms_norm(x, gamma)),
}


@LAYOUTS
@pytest.mark.parametrize('mean', [0, 1, 1.9, 2.1, 4, 7, 7.9, 8.1, 10, 100, 1e3, 1e4])
@pytest.mark.parametrize('name', FAR_FROM_ZERO)
def test_precision_does_not_depend_on_the_mean(name: str, mean: float, way: Any) -> None:
    """Means in standard deviations; errors of result, gradients and second order, as parts of the largest element."""
    shape, function = FAR_FROM_ZERO[name]
    rng = np.random.RandomState(1)
    x, gy, ggx = [(rng.randn(*shape) + shift).astype('f') for shift in (mean, 0, 0)]
    params = rng.uniform(0.5, 1.5, (2, shape[1])).astype('f')

    def results(dtype: str) -> list[np.ndarray]:
        xs = [chainer.Variable(way(x.astype(dtype))), *map(chainer.Variable, params.astype(dtype))]
        y = function(*xs)
        plain = gradients(lambda *xs: (function(*xs),), [v.array for v in xs], [gy.astype(dtype)])
        (gx,) = chainer.grad([y], [xs[0]], [chainer.Variable(gy.astype(dtype))], enable_double_backprop=True)
        (second,) = chainer.grad([gx], [xs[0]], [chainer.Variable(ggx.astype(dtype))])
        return [second.array, gx.array, y.array, *[g for g in plain if g is not None]]

    pairs = zip(results('f'), results('d'), strict=True)
    errors = [np.abs(actual - expected).max() / np.abs(expected).max() for actual, expected in pairs]
    assert errors[0] < 5e-6 and max(errors[1:]) < 1.5e-6  # the second order is what is left of large sums


def test_running_statistics_whatever_the_mean() -> None:
    for mean in (0, 1, 4, 7.9, 100, 1e4):
        x = (np.random.RandomState(0).randn(512, 3) + mean).astype('f')
        running = np.zeros(3), np.zeros(3)
        F.batch_normalization(x, *parameters(3, 'f'), running_mean=running[0], running_var=running[1], decay=0)
        np.testing.assert_allclose(running[0], x.mean(0, 'd'), rtol=1e-6, atol=1e-7)
        np.testing.assert_allclose(running[1], x.astype('d').var(0, ddof=1), rtol=1e-6)


@pytest.mark.parametrize(
    'function',
    [
        lambda x: F.layer_normalization(x, *parameters(6, x.dtype.char)),
        lambda x: F.group_normalization(x, 2, *parameters(6, x.dtype.char)),
    ],
)
def test_rows_far_from_zero_in_float32(function: Callable[..., Any]) -> None:
    x = (np.random.RandomState(0).randn(50, 6) + 1e4).astype('f')
    # Rows have few elements: their std, which differences are divided by, is as little as a tenth.
    np.testing.assert_allclose(function(x).array, function(x.astype('d')).array, rtol=0, atol=3e-6)


def test_fixed_statistics_far_from_zero_are_not_rounded_to_x() -> None:
    """A float64 mean of 10000.3 is 10000.2998 in float32."""
    x, gamma, beta = (np.random.RandomState(0).randn(20, 3) + 1e4).astype('f'), *parameters(3)
    xs = [gamma, beta, np.full(3, 1e4 + 0.3), np.ones(3)]
    gy = random(20, 3, dtype='f')
    results = [
        [
            F.fixed_batch_normalization(a, *xs).array,
            *gradients(lambda *v: (F.fixed_batch_normalization(*v),), [a, *xs], [g]),
        ]
        for a, g in ((x, gy), (x.astype('d'), gy.astype('d')))
    ]
    for a, e in zip(*results, strict=True):
        np.testing.assert_allclose(a, e, rtol=0, atol=3e-6 * max(np.abs(e).max(), 1))


def _normalizations(count: int, dtype: str) -> dict[str, Callable[..., Any]]:
    gamma, beta = parameters(count, dtype)
    return {
        'batch': lambda x: F.batch_normalization(x, gamma, beta),
        'fixed': lambda x: F.fixed_batch_normalization(x, gamma, beta, 300 * beta, 1e4 * gamma),
        'layer': lambda x: F.layer_normalization(x, gamma.astype(x.dtype), beta.astype(x.dtype)),
        'group': lambda x: F.group_normalization(x, 2, gamma, beta),
        'instance': lambda x: F.instance_normalization(x, gamma, beta),
        'rms': lambda x: F.rms_norm(x, gamma),
        'normalize': F.normalize,
        'local response': lambda x: F.local_response_normalization(x, alpha=0.1),
        'decorrelated': lambda x: F.decorrelated_batch_normalization(x, groups=4),
    }


@pytest.mark.parametrize('name', sorted(_normalizations(8, 'f')))
def test_float16_neither_overflows_nor_loses_sums(name: str) -> None:
    """Squares of 300 overflow float16, and so do sums of 5000 elements."""
    x = (300 * random(5000, 8)).astype('e')
    y = _normalizations(8, 'f')[name](chainer.Variable(x))
    expected = _normalizations(8, 'd')[name](x.astype('d')).array
    assert y.dtype == 'e'
    np.testing.assert_allclose(y.array, expected, rtol=2e-3, atol=2e-3)
    y.grad = np.ones_like(y.array)
    y.backward()
    assert np.isfinite(y.array).all()


@pytest.mark.parametrize(('of_x', 'of_params'), [('e', 'f'), ('f', 'd'), ('d', 'f'), ('f', 'e')])
@pytest.mark.parametrize('name', ['batch', 'fixed', 'group', 'instance'])
def test_parameters_of_another_dtype(name: str, of_x: str, of_params: str) -> None:
    x, (gamma, beta) = random(6, 4, dtype=of_x), parameters(4, of_params)
    mean, var = random(4, dtype=of_params), parameters(4, of_params)[0]

    def call(*xs: Any) -> Any:
        return {
            'batch': lambda: F.batch_normalization(*xs[:3]),
            'fixed': lambda: F.fixed_batch_normalization(*xs),
            'group': lambda: F.group_normalization(F.reshape(xs[0], (2, 4, 3)), 2, *xs[1:3]),
            'instance': lambda: F.instance_normalization(F.reshape(xs[0], (2, 4, 3)), *xs[1:3]),
        }[name]()

    count = 5 if name == 'fixed' else 3
    inputs = [x, gamma, beta, mean, var][:count]
    y = call(*inputs)
    wide = [a.astype('d') for a in inputs]
    eps = float(np.finfo(of_x).eps)
    assert y.dtype == of_x
    np.testing.assert_allclose(y.array, call(*wide).array, rtol=8 * eps, atol=8 * max(eps, 1e-7))
    gy = random(*y.shape, dtype=of_x, seed=5)  # not x, in whose direction there is no gradient
    functions = (lambda *xs: (call(*xs),)), inputs, [gy]
    expected = gradients(lambda *xs: (call(*xs),), wide, [gy.astype('d')])
    for found in (gradients(*functions), differentiable_gradients(*functions)):
        assert [g.dtype for g in found] == [a.dtype for a in inputs]
        for g, e in zip(found, expected, strict=True):
            tolerance = 8 * max(np.finfo(g.dtype).eps, 1e-7)  # float32 arithmetic at least
            np.testing.assert_allclose(g, e, rtol=tolerance, atol=tolerance * max(np.abs(e).max(), 1))


# --- layouts -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize('name', ['batch', 'fixed', 'group', 'instance'])
@pytest.mark.parametrize('mixed', [False, True])
@LAYOUTS
def test_layout_is_kept_and_changes_no_value(name: str, mixed: bool, way: Any) -> None:
    function = _normalizations(4, 'd')[name]
    x, gy = random(3, 4, 5, 6), random(3, 4, 5, 6, seed=1)
    expected = [function(x).array, *gradients(lambda x: (function(x),), [x], [gy])]
    v = chainer.Variable(way(x))
    y = function(v)
    (gx,) = y.creator.pullback(np.ascontiguousarray(gy) if mixed else way(gy), {v.edge}, {})[:1]
    for actual, e in zip((y.array, gx), expected, strict=True):
        np.testing.assert_allclose(actual, e, rtol=1e-11, atol=1e-13)
        if name in ('batch', 'fixed') or way is not np.asfortranarray:  # samples in a row, for groups
            assert actual.strides == v.array.strides


def test_gradients_of_parameters_are_contiguous() -> None:
    gamma, beta = (chainer.Parameter(a) for a in parameters(4))
    y = F.batch_normalization(channels_last(random(2, 4, 3, 3)), gamma, beta)
    y.grad = random(*y.shape)
    y.backward()
    assert gamma.grad.flags.c_contiguous and beta.grad.flags.c_contiguous


# --- plain compositions, random shapes -----------------------------------------------------------------------------
@st.composite
def shapes(draw: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    shape = tuple(draw(st.lists(st.integers(0, 4), min_size=1, max_size=4)))
    return shape, tuple(sorted(draw(st.sets(st.integers(0, len(shape) - 1)))))


def _agree(function: Any, reference: Any, xs: list[np.ndarray]) -> None:
    """Two functions have the same values, gradients, and gradients of these."""
    gy = random(*xs[0].shape, seed=5)
    np.testing.assert_allclose(function(*xs).array, reference(*xs).array, rtol=1e-9, atol=1e-11)
    ggxs = [random(*x.shape, seed=9) for x in xs]
    results = []
    for f in (function, reference):
        variables = [chainer.Variable(x) for x in [*xs, gy]]
        found = chainer.grad([f(*variables[:-1])], variables[:-1], variables[-1:], enable_double_backprop=True)
        kept = [(g, gg) for g, gg in zip(found, ggxs, strict=True) if g is not None]
        second = chainer.grad([g for g, _ in kept], variables, [chainer.Variable(gg) for _, gg in kept])
        zeros = [np.zeros_like(x.array) for x in variables]
        results.append([
            *[g.array for g, _ in kept],
            *[z if g is None else g.array for z, g in zip(zeros, second, strict=True)],
        ])  # fmt: skip
    for a, e in zip(*results, strict=True):
        np.testing.assert_allclose(a, e, rtol=1e-7, atol=1e-9 * max(np.abs(e).max(initial=0), 1))


@settings(max_examples=50, deadline=None)
@given(shapes())
def test_batch_normalization_is_its_plain_composition(drawing: Any) -> None:
    shape, axes = drawing
    key = tuple([n for i, n in enumerate(shape) if i not in axes])
    xs = [random(*shape), np.asarray(random(*key) + 2), np.asarray(random(*key, seed=1))]
    _agree(
        lambda *xs: F.batch_normalization(*xs, axis=axes, eps=0.1),
        lambda *xs: batch_normalization._reference(*xs, axes, eps=0.1),
        xs,
    )


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 3), st.integers(1, 2), st.integers(1, 3), st.lists(st.integers(0, 3), max_size=2))
def test_group_normalization_is_its_plain_composition(n: int, groups: int, each: int, space: list[int]) -> None:
    channels = groups * each
    xs = [random(n, channels, *space), random(channels) + 2, random(channels, seed=1)]
    _agree(
        lambda x, gamma, beta: F.group_normalization(x, groups, gamma, beta, eps=0.1),
        lambda *xs: samples._reference(*xs, groups, 0.1),
        xs,
    )


def test_layer_and_rms_norm_are_their_plain_compositions() -> None:
    xs = [random(4, 5), *parameters(5)]
    _agree(F.layer_normalization, lambda *xs: samples._reference(*xs, 1, 1e-5), xs)
    zeros = np.zeros(5)
    _agree(F.rms_norm, lambda x, gamma: samples._reference(x, gamma, zeros, 1, 1e-5, centered=False), xs[:2])


def test_instance_normalization_without_parameters() -> None:
    x = random(2, 3, 4)
    y = F.instance_normalization(x)
    np.testing.assert_allclose(y.array.mean(2), 0, atol=1e-15)
    np.testing.assert_array_equal(y.array, F.instance_normalization(x, np.ones(3), np.zeros(3)).array)
    beta = random(3)
    np.testing.assert_allclose(F.instance_normalization(x, beta=beta).array, y.array + beta[:, None], atol=1e-14)
    gamma = random(3, dtype='f')
    np.testing.assert_allclose(F.instance_normalization(x, gamma).array, y.array * gamma[:, None], atol=1e-14)


@pytest.mark.parametrize(('name', 'label'), [('rms', 'RMSNorm'), ('instance', 'InstanceNormalization')])
def test_labels_of_what_chainer_has_not(name: str, label: str) -> None:
    y = _normalizations(4, 'd')[name](chainer.Variable(random(2, 4)))
    assert y.creator.label == label


# --- running statistics --------------------------------------------------------------------------------------------
@pytest.mark.parametrize('dtype', ['e', 'f', 'd'])
@pytest.mark.parametrize('wrap', [np.asarray, chainer.Variable])
def test_running_statistics_are_updated_in_place(dtype: str, wrap: Any) -> None:
    x = random(5, 3, 2)
    mean, var = np.full(3, 2, dtype), np.full(3, 3, dtype)
    F.batch_normalization(
        x, np.ones(3), np.zeros(3), running_mean=wrap(mean), running_var=wrap(var), decay=0.75
    )  # fmt: skip
    rtol = np.finfo(dtype).eps * 2
    np.testing.assert_allclose(mean, 0.75 * 2 + 0.25 * x.mean((0, 2)), rtol=rtol)
    np.testing.assert_allclose(var, 0.75 * 3 + 0.25 * x.var((0, 2), ddof=1), rtol=rtol)


def test_running_statistics_of_one_element_and_of_none() -> None:
    mean, var = np.ones(2), np.ones(2)
    for x in (np.zeros((0, 2)), np.full((1, 2), 3.0)):
        F.batch_normalization(x, np.ones(2), np.zeros(2), running_mean=mean, running_var=var, decay=0.5)
        expected = (1, 1) if not x.size else (2, 0.5)
        np.testing.assert_allclose([mean[0], var[1]], expected)


def test_running_statistics_far_from_zero() -> None:
    x = (np.random.RandomState(0).randn(1000, 2) + 1e4).astype('f')
    mean, var = np.zeros(2, 'f'), np.zeros(2, 'f')
    F.batch_normalization(x, np.ones(2, 'f'), np.zeros(2, 'f'), running_mean=mean, running_var=var, decay=0)
    np.testing.assert_allclose(mean, x.astype('d').mean(0), rtol=1e-7)
    np.testing.assert_allclose(var, x.astype('d').var(0, ddof=1), rtol=1e-5)


def test_a_failing_call_leaves_running_statistics() -> None:
    mean, var = np.ones(2), np.ones(3)
    with pytest.raises(ValueError, match='running_var'):
        F.batch_normalization(random(3, 2), np.ones(2), np.ones(2), running_mean=mean, running_var=var)
    assert (mean == 1).all()


# --- renormalization -----------------------------------------------------------------------------------------------
def _renormalized(x: Any, gamma: Any, beta: Any, r: Any, d: Any) -> np.ndarray:
    z = (x - x.mean(0)) / np.sqrt(x.var(0) + 2e-5)
    return gamma * (z * r + d) + beta


@pytest.mark.parametrize(('rmax', 'dmax'), [(1, 0), (3, 5), (1.2, 0.1)])
def test_batch_renormalization(rmax: float, dmax: float) -> None:
    x, (gamma, beta) = 3 * random(6, 3) + 1, parameters(3)
    mean, var = random(3), parameters(3)[0]
    before = mean.copy(), var.copy()
    std, running = np.sqrt(x.var(0) + 2e-5), np.sqrt(var + 2e-5)
    r, d = np.clip(std / running, 1 / rmax, rmax), np.clip((x.mean(0) - mean) / running, -dmax, dmax)

    def call(*xs: Any) -> Any:
        return (F.batch_renormalization(*xs, rmax, dmax, running_mean=mean, running_var=var),)

    xs, gy = [x, gamma, beta], random(6, 3)
    np.testing.assert_allclose(call(*xs)[0].array, _renormalized(*xs, r, d), rtol=1e-12, atol=1e-13)
    expected = directional(lambda *xs: [_renormalized(*xs, r, d)], xs, [gy])
    for found in (gradients(call, xs, [gy]), differentiable_gradients(call, xs, [gy])):
        for a, e in zip(found, expected, strict=True):
            np.testing.assert_allclose(a, e, rtol=1e-7, atol=1e-8)
    np.testing.assert_array_equal([mean, var], before)


def test_batch_renormalization_is_right_at_second_order() -> None:
    """Against batch normalization with the corrections as constants."""
    mean, var = np.zeros(3), np.ones(3)
    x = random(5, 3)
    r = np.clip(np.sqrt((x.var(0) + 2e-5) / (1 + 2e-5)), 1 / 3, 3)
    d = np.clip(x.mean(0) / np.sqrt(1 + 2e-5), -5, 5)
    _agree(
        lambda *xs: F.batch_renormalization(*xs, 3, 5, running_mean=mean, running_var=var),
        lambda x, gamma, beta: batch_normalization._reference(x, gamma * r, beta + gamma * d, (0,)),
        [x, *parameters(3)],
    )


@pytest.mark.parametrize('dtype', ['e', 'f', 'd'])
def test_batch_renormalization_updates_running_statistics_when_asked(dtype: str) -> None:
    x = random(5, 3, 2, dtype=dtype)
    mean, var = np.ones(3, 'f'), np.ones(3, 'f')
    y = F.batch_renormalization(
        x, np.ones(3, 'f'), np.zeros(3, 'f'), 1, 0, running_mean=mean, running_var=var, decay=0.5,
        update_statistics=True,
    )  # fmt: skip
    assert y.dtype == dtype
    np.testing.assert_allclose(mean, 0.5 + 0.5 * x.mean((0, 2), dtype='d'), rtol=1e-6)
    np.testing.assert_allclose(var, 0.5 + 0.5 * x.astype('d').var((0, 2), ddof=1), rtol=1e-6)


@pytest.mark.parametrize(
    ('given', 'error', 'words'),
    [
        ({'running_mean': None}, TypeError, 'running_mean is required'),
        ({'running_var': None}, TypeError, 'running_var is required'),
        ({'running_mean': np.zeros(2)}, ValueError, r'running_mean must have shape \(3,\), got \(2,\)'),
        ({'eps': -1}, ValueError, 'eps >= 0'),
    ],
)
def test_errors_of_batch_renormalization(given: Any, error: Any, words: str) -> None:
    arguments = {'running_mean': np.zeros(3), 'running_var': np.ones(3), **given}
    with pytest.raises(error, match=words):
        F.batch_renormalization(random(4, 3), np.ones(3), np.zeros(3), 1, 0, **arguments)


def test_shapes_that_batch_renormalization_refuses() -> None:
    running = {'running_mean': np.zeros(2), 'running_var': np.ones(2)}
    with pytest.raises(chainer.utils.type_check.InvalidType, match=r'gamma.shape == \(3,\)'):
        F.batch_renormalization(random(4, 3), np.ones(2), np.zeros(2), 1, 0, **running)


# --- decorrelation -------------------------------------------------------------------------------------------------
def test_decorrelated_channels_have_the_unit_matrix_as_covariance() -> None:
    x = random(200, 6) @ random(6, 6)
    y = F.decorrelated_batch_normalization(x, groups=2, eps=0).array
    for part in (y[:, :3], y[:, 3:]):
        np.testing.assert_allclose(part.mean(0), 0, atol=1e-12)
        np.testing.assert_allclose(part.T @ part / 200, np.eye(3), atol=1e-10)


def test_decorrelation_in_float32_is_close_to_float64() -> None:
    x = random(200, 6, dtype='f')
    y = F.decorrelated_batch_normalization(x, groups=2).array
    expected = F.decorrelated_batch_normalization(x.astype('d'), groups=2).array
    assert y.dtype == 'f'
    np.testing.assert_allclose(y, expected, rtol=0, atol=1e-5)


def test_equal_eigenvalues_have_second_derivatives() -> None:
    """Formulas with one over differences of eigenvalues have none here."""
    x = np.concatenate([np.eye(3), -np.eye(3)])

    def gradient(x: Any, gy: Any) -> Any:
        x, gy = chainer.Variable(x), chainer.Variable(gy)
        y = F.decorrelated_batch_normalization(x, groups=1)
        return x, chainer.grad([y], [x], [gy], enable_double_backprop=True)[0]

    gy, ggx = random(6, 3), random(6, 3, seed=1)
    v, gx = gradient(x, gy)
    (found,) = chainer.grad([gx], [v], [chainer.Variable(ggx)])
    (expected,) = directional(lambda x: [gradient(x, gy)[1].array], [x], [ggx])
    np.testing.assert_allclose(found.array, expected, rtol=1e-6, atol=1e-7)


def test_running_projection() -> None:
    """Chainer multiplies the projection by m / (m - 1), as if it were a variance; snapshots hold such values."""
    x, mean, projection = random(9, 2), np.ones((1, 2)), np.ones((1, 2, 2))
    F.decorrelated_batch_normalization(x, groups=1, running_mean=mean, running_projection=projection, decay=0.5)
    values, vectors = np.linalg.eigh(np.cov(x.T, ddof=0) + 2e-5 * np.eye(2))
    expected = vectors / np.sqrt(values) @ vectors.T
    np.testing.assert_allclose(mean[0], 0.5 + 0.5 * x.mean(0), rtol=1e-12)
    np.testing.assert_allclose(projection[0], 0.5 + 0.5 * expected * 9 / 8, rtol=1e-10)


# --- lengths -------------------------------------------------------------------------------------------------------
def test_normalize_at_zero_has_finite_gradients() -> None:
    x = chainer.Variable(np.zeros((2, 3)))
    x.array[1] = 1
    (gx,) = chainer.grad(
        [F.normalize(x, eps=0.1)], [x], [chainer.Variable(random(2, 3))], enable_double_backprop=True
    )
    gx.grad = np.ones((2, 3))
    gx.backward()
    assert np.isfinite(gx.array).all() and np.isfinite(x.grad).all()


# --- torch ---------------------------------------------------------------------------------------------------------
TORCH = {
    'batch': lambda t, x, w, b: t.batch_norm(x, None, None, w, b, True, 0.1, 2e-5),
    'group': lambda t, x, w, b: t.group_norm(x, 2, w, b, 1e-5),
    'instance': lambda t, x, w, b: t.instance_norm(x, None, None, w, b, True, 0.1, 1e-5),
    'layer': lambda t, x, w, b: t.layer_norm(x.reshape(-1, 4), (4,), w, b, 1e-5),
    'rms': lambda t, x, w, b: t.rms_norm(x.reshape(-1, 4), (4,), w, 1e-5) + 0 * b,
}
OURS: dict[str, Callable[..., Any]] = {
    'batch': F.batch_normalization,
    'group': lambda x, w, b: F.group_normalization(x, 2, w, b),
    'instance': F.instance_normalization,
    'layer': lambda x, w, b: F.layer_normalization(F.reshape(x, (-1, 4)), w, b),
    'rms': lambda x, w, b: F.rms_norm(F.reshape(x, (-1, 4)), w) + 0 * F.broadcast_to(b, (24, 4)),
}


@pytest.mark.parametrize('name', sorted(TORCH))
def test_values_and_gradients_are_those_of_torch(name: str) -> None:
    torch: Any = pytest.importorskip('torch')
    arrays = [random(2, 4, 4, 3), *parameters(4)]
    tensors = [torch.from_numpy(a.copy()).requires_grad_() for a in arrays]
    t = TORCH[name](torch.nn.functional, *tensors)
    gy = random(*t.shape)
    first = torch.autograd.grad(t, tensors, torch.from_numpy(gy), create_graph=True)
    second = torch.autograd.grad(sum((g * g).sum() for g in first[:2]), tensors[:2])
    variables = [chainer.Variable(a) for a in arrays]
    y = OURS[name](*variables)
    np.testing.assert_allclose(y.array, t.detach().numpy(), rtol=1e-10, atol=1e-12)
    found = chainer.grad([y], variables, [chainer.Variable(gy)], enable_double_backprop=True)
    for a, e in zip(found, first, strict=True):
        np.testing.assert_allclose(a.array, e.detach().numpy(), rtol=1e-9, atol=1e-11)
    again = chainer.grad([F.sum(g * g) for g in found[:2]], variables[:2])
    for a, e in zip(again, second, strict=True):
        np.testing.assert_allclose(a.array, e.numpy(), rtol=1e-8, atol=1e-10)


def test_a_singular_covariance_without_eps_gives_no_foreign_error():
    x = chainer.Variable(np.arange(6.0).reshape(2, 3))
    with np.errstate(all='ignore'):
        y = F.decorrelated_batch_normalization(x, groups=1, eps=0)
        y.grad = np.ones_like(y.array)
        y.backward()
    assert not np.isfinite(x.grad).all()
