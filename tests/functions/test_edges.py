"""Functions at the edge of what a dtype holds: the rows of edges.py."""

from __future__ import annotations

from typing import Any

import mpmath as mp
import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F
import minichainer.links as L
from minichainer.kernels import sampling, softmax
from tests.functions.edges import ROWS, SMOOTH, Row, Smooth

pytestmark = pytest.mark.filterwarnings('ignore::RuntimeWarning')


def close(found: Any, right: Any, dtype: str, units: float) -> None:
    info = np.finfo(dtype)
    assert found.dtype == dtype
    with np.errstate(over='ignore'):
        right = np.asarray(right, 'd').astype(dtype)
    assert found.shape == right.shape
    same = (found == right) | (np.isnan(found) & np.isnan(right))
    error = np.abs(found.astype('d') - right.astype('d'))
    good = error <= units * float(info.eps) * np.abs(right.astype('d')) + float(info.smallest_subnormal)
    assert (same | good).all(), f'got {found}, right is {right}'


@pytest.mark.parametrize('row', [pytest.param(row, id=row.name) for row in ROWS])
def test_value_and_gradients_are_right_at_the_edge(row: Row) -> None:
    for dtype in row.dtypes:
        _check(row, dtype)


def _check(row: Row, dtype: str) -> None:
    xs = [chainer.Variable(np.array(x, dtype)) for x in row.arrays]
    y = row.call(*xs)
    if row.value is not None:
        close(y.array, row.value, dtype, row.units)
    if not row.gradients:
        return
    ones = [chainer.Variable(np.ones_like(y.array))]
    plain = chainer.grad([row.call(*xs)], xs, ones)
    for found, right in zip(plain, row.gradients, strict=True):
        close(found.array, right, dtype, row.units)
    differentiable = chainer.grad([y], xs, ones, enable_double_backprop=True)
    for found, right in zip(differentiable, row.gradients, strict=True):
        close(found.array, right, dtype, row.units)
    if row.second:
        total = sum(F.sum(g) for g in differentiable)
        for found, right in zip(chainer.grad([total], xs), row.second, strict=True):
            close(np.zeros_like(right, dtype) if found is None else found.array, right, dtype, row.units)


@pytest.mark.parametrize('row', [pytest.param(row, id=row.name) for row in SMOOTH])
def test_derivatives_are_those_of_mpmath(row: Smooth) -> None:
    for dtype, points in row.points.items():
        x = chainer.Variable(np.array(points, dtype))
        y = row.call(x)
        (gx,) = chainer.grad([y], [x], enable_double_backprop=True)
        (plain,) = chainer.grad([row.call(x)], [x])
        found = {0: [y], 1: [gx, plain], 2: chainer.grad([gx], [x]) if 2 in row.orders else []}
        with mp.workdps(50):
            for order in row.orders:
                right = [float(mp.diff(row.exact, mp.mpf(float(v)), order)) for v in x.array]
                for values in found[order]:
                    close(values.array, right, dtype, row.units)


@pytest.mark.parametrize(('a', 'b', 'right'), [(0, 1e-25, 0), (1e-30, 1e-25, -1e20), (1e25, 1e25, -1e-25)])
def test_the_gradient_of_a_quotient_passes_no_square_of_the_divisor(a: float, b: float, right: float) -> None:
    a, b, gy = (chainer.Variable(np.array([value], 'f')) for value in (a, b, 1))
    (gb,) = chainer.grad([a / b], [b], [gy], enable_double_backprop=True)
    for found in (gb, *chainer.grad([gb], [gy])):
        close(found.array, [right], 'f', 8)


# --- poles and reflections ------------------------------------------------------------------------------------------
@pytest.mark.parametrize('x', [-64.25, -70.5, -1000.3, -1e5 - 0.5, -1e11 - 0.5])
@pytest.mark.parametrize('n', [1, 2, 3, 8])
def test_polygamma_far_below_zero_ends(n: int, x: float) -> None:
    with mp.workdps(150):
        near = mp.pi * (mp.mpf(x) - mp.nint(x))
        cotangent = mp.pi ** (n + 1) * mp.diff(mp.cot, near, n)
        right = (-1) ** n * mp.polygamma(n, 1 - mp.mpf(x)) - cotangent
        zeta = (-1) ** (n + 1) * right / mp.factorial(n)
    close(F.polygamma(np.array([n]), np.array([x])).array, [float(right)], 'd', 32)
    close(F.zeta(n + 1.0, np.array([x])).array, [float(zeta)], 'd', 32)


def test_the_gradient_of_digamma_far_below_zero_ends() -> None:
    x = chainer.Variable(np.array([-1e11 - 0.5, -1e15, -100.0, 3.0]))
    (gx,) = chainer.grad([F.digamma(x)], [x], enable_double_backprop=True)
    close(gx.array, [np.pi**2 - 1e-11, np.inf, np.inf, float(mp.psi(1, 3))], 'd', 8)
    assert np.isfinite(chainer.grad([gx[0]], [x])[0].array[0])
    close(F.zeta(np.array([2.0, 2.5, 2.5, 1.0]), np.array([-100.0, -100.0, -100.5, -100.5])).array,
          [np.inf, np.inf, np.nan, np.nan], 'd', 8)  # fmt: skip


@pytest.mark.parametrize('x', [5e-324, 1.5e-323, 1e-310, 1e-305])
def test_erfcinv_of_tiny_numbers(x: float) -> None:
    y = F.erfcinv(np.array([x, 0.5])).array
    with mp.workdps(30):
        assert abs(mp.log(mp.erfc(mp.mpf(float(y[0])))) - mp.log(mp.mpf(x))) < 1e-12
    assert abs(y[1] - 0.4769362762044699) < 1e-15


# --- images ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize('dtype', 'efd')
def test_the_identity_samples_exactly_the_pixels(dtype: str) -> None:
    for height, width in ((7, 5), (2, 11), (28, 28), (1, 33), (224, 3)):
        image = chainer.Variable(np.random.RandomState(0).randn(1, 2, height, width).astype(dtype))
        theta = chainer.Variable(np.array([[[1, 0, 0], [0, 1, 0]]], dtype))
        grid = F.spatial_transformer_grid(theta, (height, width))
        if dtype == 'e':  # coordinates of float16 are not those of the pixels
            continue
        np.testing.assert_array_equal(F.spatial_transformer_sampler(image, grid).array, image.array)


def test_places_within_rounding_of_a_pixel_are_on_it() -> None:
    eps = np.finfo('f').eps
    coordinates = np.array([-1 / 3, -1 / 3 + eps / 4, -1 / 3 - eps / 4, -1 / 3 + 1e-5], 'f')
    lower, behind = sampling._neighbours(np, coordinates, 7)
    assert (lower == 2).all() and (behind[:3] == 0).all() and behind[3] > sampling.slack_of(coordinates, 7)


def test_the_gradient_at_the_identity_takes_the_side_of_the_pixels_that_follow() -> None:
    image = np.random.RandomState(0).randn(1, 1, 7, 7).astype('f')
    found = [_gradient_of_theta(image, shift) for shift in (0.0, 1e-4)]
    np.testing.assert_allclose(found[0], found[1], rtol=0.02, atol=0.1)


def _gradient_of_theta(image: Any, shift: float) -> Any:
    theta = chainer.Variable(np.array([[[1, 0, shift], [0, 1, shift]]], 'f'))
    y = F.spatial_transformer_sampler(image, F.spatial_transformer_grid(theta, (7, 7)))
    (plain,) = chainer.grad([F.sum(y)], [theta])
    (differentiable,) = chainer.grad([F.sum(y)], [theta], enable_double_backprop=True)
    np.testing.assert_allclose(plain.array, differentiable.array, rtol=1e-4, atol=1e-4)
    return plain.array


# --- sizes of zero, and arguments -----------------------------------------------------------------------------------
def test_embeddings_without_width_have_derivatives_of_both_orders() -> None:
    x, W = chainer.Variable(np.zeros((2, 0))), chainer.Variable(np.zeros((3, 0)))
    y = F.negative_sampling(x, np.array([0, 1]), W, lambda shape: np.zeros(shape, int), 2)
    first = chainer.grad([y], [x, W], enable_double_backprop=True)
    second = chainer.grad([F.sum(first[0]) + F.sum(first[1])], [x, W])
    assert [g.shape for g in (*first, *second)] == [(2, 0), (3, 0)] * 2


@pytest.mark.parametrize('name', ['softmax', 'log_softmax', 'gumbel_softmax'])
def test_an_axis_given_as_an_array_stays(name: str) -> None:
    axis, x = np.array(-2), chainer.Variable(np.ones((2, 3), 'f'))
    F.sum(getattr(F, name)(x, axis=axis)).backward()
    assert axis == -2


def test_recurrent_functions_name_a_state_that_is_none() -> None:
    ws = [[np.ones((2, 2), 'f')] * 8] * 2
    bs = [[np.ones(2, 'f')] * 8] * 2
    xs, h = [np.ones((1, 2), 'f')], np.ones((2, 1, 2), 'f')
    with pytest.raises(TypeError, match='NStepBiLSTM: an array expected as cx, got NoneType'):
        F.n_step_bilstm(1, 0.0, h, None, ws, bs, xs)
    with pytest.raises(TypeError, match='NStepLSTM: an array expected as hx, got NoneType'):
        F.n_step_lstm(2, 0.0, None, h, ws, bs, xs)


@pytest.mark.parametrize('link', ['StatelessGRU', 'StatelessMGU'])
def test_stateless_links_name_a_state_that_is_none(link: str) -> None:
    x = np.ones((1, 3), 'f')
    with pytest.raises(TypeError, match=f'{link}: an array expected as h, got NoneType'):
        getattr(L, link)(3, 2)(None, x)


@pytest.mark.parametrize(('link', 'name', 'count'), [
    ('NStepLSTM', 'hx', 2), ('NStepGRU', 'hx', 1), ('NStepBiRNNTanh', 'hx', 1), ('ChildSumTreeLSTM', 'c1', 2),
    ('NaryTreeLSTM', 'c1', 4),
])  # fmt: skip
def test_links_name_a_state_that_is_a_number(link: str, name: str, count: int) -> None:
    made = getattr(L, link)(1, 3, 2, 0.0) if 'NStep' in link else getattr(L, link)(3, 2)
    x = np.ones((1, 3), 'f')
    with pytest.raises(TypeError, match=rf'{link}: an array \(or None, for zeros\) expected as {name}, got int'):
        made(*[0] * count, [x] if 'NStep' in link else x)


def test_weights_that_see_zeros_have_gradients_and_those_that_see_nothing_have_none() -> None:
    x = np.ones((2, 2), 'f')
    peephole, tree = L.StatefulPeepholeLSTM(2, 3), L.NaryTreeLSTM(2, 2, 2)
    for link, y in ((peephole, peephole(x)), (tree, tree(None, None, None, np.ones((2, 2), 'f'), x)[1])):
        link.cleargrads()
        F.sum(y).backward()
    for part in (peephole.peep_i, peephole.peep_f):
        np.testing.assert_array_equal(part.W.grad, np.zeros((3, 3)))
    assert tree.W_h1.W.grad is None and tree.W_h2.W.grad is not None


# --- sums of many numbers ------------------------------------------------------------------------------------------
def test_marginals_of_long_sequences_keep_their_digits() -> None:
    random = np.random.RandomState(0)
    steps, cost, labels = random.randn(500, 2, 3), random.randn(3, 3), random.randint(0, 3, (500, 2))
    found = {}
    for dtype in 'fd':
        xs = [chainer.Variable(x) for x in steps.astype(dtype)]
        y = F.crf1d(cost.astype(dtype), xs, list(labels), reduce='no')
        found[dtype] = y.array, np.array([g.array for g in chainer.grad([F.sum(y)], xs)])
    np.testing.assert_allclose(found['f'][0], found['d'][0], rtol=2e-6)
    np.testing.assert_allclose(found['f'][1], found['d'][1], atol=1e-5)


def test_labels_that_are_impossible_stay_so_in_a_crf() -> None:
    xs = [chainer.Variable(np.array([[0.0, -np.inf]])) for _ in range(3)]
    y = F.crf1d(np.zeros((2, 2)), xs, [np.array([0])] * 3)
    assert y.array == 0
    assert np.isfinite([g.array for g in chainer.grad([y], xs)]).all()


def test_a_sum_without_the_largest_keeps_its_digits() -> None:
    e = np.array([[1, 1e-9, 2e-9], [1, 1, 0.5], [0.5, 1, 0.5], [1, 0, 0]], 'f')
    others, logarithms = softmax.total_of_others(np, e.copy(), 1)
    np.testing.assert_allclose(others[:, 0], [3e-9, 1.5, 1, 0], rtol=1e-6)
    np.testing.assert_allclose(logarithms[:, 0], np.log1p([3e-9, 1.5, 1, 0]), rtol=1e-6)


def test_the_mean_of_many_squares_keeps_its_digits() -> None:
    x = np.random.RandomState(0).randn(3_000_000).astype('f')
    right = (x.astype('d') ** 2).mean()
    assert abs(F.mean_squared_error(x, np.zeros_like(x)).array - right) <= 4 * np.finfo('f').eps * right


def test_a_power_that_underflows_has_the_mixed_derivative_of_its_base() -> None:
    x, y = (chainer.Variable(np.array([value], 'f')) for value in (1e-38, 2.0))
    gx, gy = chainer.grad([x**y], [x, y], enable_double_backprop=True)
    base = float(x.array[0])
    right = base * (1 + 2 * np.log(base))
    close(chainer.grad([gx], [y])[0].array, [right], 'f', 64)
    # By the result, which is 0, the smaller part is lost.
    np.testing.assert_allclose(chainer.grad([gy], [x])[0].array, [right - base], rtol=1e-5)
