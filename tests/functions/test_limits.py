"""Values and derivatives at the ends and at corners: infinite scores, powers and products at 0, singular matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F

V = chainer.Variable


def derivatives(function: Callable[[Any], Any], point: Any, order: int) -> list[np.ndarray]:
    """The value, and derivatives of the sum up to an order, by the same or by plain backward for the last one."""
    x = V(np.asarray(point))
    found = [function(x)]
    for _ in range(order):
        (gx,) = chainer.grad([found[-1]], [x], enable_double_backprop=True)
        found.append(V(np.zeros_like(x.array)) if gx is None else gx)
    (plain,) = chainer.grad([found[-2]], [x]) if found[-2].requires_grad else (found[-1],)
    np.testing.assert_allclose(plain.array, found[-1].array)
    return [y.array for y in found]


# --- losses of infinite scores: as good as very large ones ----------------------------------------------------------
def _labels(x: Any, first: int) -> Any:
    return np.resize([0, 1, first], x.shape)


def _hinge(x: Any, norm: str) -> Any:
    rows = F.reshape(x, (-1, 2))
    return F.hinge(rows, np.resize([0, 1, 1], len(rows)), norm, reduce='no')


LOSSES: dict[str, Callable[[Any], Any]] = {
    'sigmoid_cross_entropy': lambda x: F.sigmoid_cross_entropy(x, _labels(x, -1), reduce='no'),
    'bernoulli_nll': lambda x: F.bernoulli_nll(_labels(x, 0) * 1.0, x, reduce='no'),
    'bernoulli_nll[shares]': lambda x: F.bernoulli_nll(np.full(x.shape, 0.25), x, reduce='no'),
    'softplus': F.softplus,
    'huber_loss': lambda x: F.huber_loss(x, np.zeros_like(x.array), 1.0, reduce='no'),
    'absolute_error': lambda x: F.absolute_error(x, np.zeros_like(x.array)),
    'hinge': lambda x: _hinge(x, 'L1'),
    'hinge[L2]': lambda x: _hinge(x, 'L2'),
}


@pytest.mark.parametrize('name', LOSSES)
@pytest.mark.parametrize('dtype', 'fd')
@pytest.mark.parametrize('size', [6, 6000])
def test_losses_of_infinite_scores_are_those_of_large_ones(name: str, dtype: str, size: int) -> None:
    signs = np.resize([1, 1, 1, -1, -1, -1], size).astype(dtype)
    infinite = derivatives(LOSSES[name], np.copysign(np.inf, signs), 2)
    large = derivatives(LOSSES[name], signs * np.asarray(1e6, dtype), 2)
    for actual, near in zip(infinite, large, strict=True):
        np.testing.assert_allclose(actual, np.where(np.abs(near) > 1e5, np.copysign(np.inf, near), near))


def test_the_mean_loss_of_an_infinite_score() -> None:
    x, t = V(np.array([[np.inf, -np.inf]])), np.array([[0, 1]])
    assert float(F.sigmoid_cross_entropy(x, t).array) == np.inf
    assert float(F.sigmoid_cross_entropy(x, 1 - t).array) == 0


@pytest.mark.parametrize('name', ['sigmoid_cross_entropy', 'bernoulli_nll'])
@pytest.mark.parametrize('dtype', 'fd')
def test_gradients_of_scores_far_on_the_right_side_are_precise(name: str, dtype: str) -> None:
    points = np.array([-60, -30, 5, 20, 30, 60], dtype)
    labels = (points > 0).astype('i')
    x = V(points)
    loss = (
        F.sigmoid_cross_entropy(x, labels, reduce='no') if name[0] == 's' else F.bernoulli_nll(labels * 1.0, x, 'no')
    )
    (gx,) = chainer.grad([loss], [x])
    sizes = np.abs(points.astype('d'))
    expected = -np.sign(points) * np.exp(-sizes) / (1 + np.exp(-sizes))
    np.testing.assert_allclose(gx.array, expected, rtol=8 * np.finfo(dtype).eps)


# --- powers and products at 0 ---------------------------------------------------------------------------------------
BASES = np.array([0.0, -1.5, 2.0])


def _power_derivatives(bases: Any, exponent: int, order: int) -> list[Any]:
    found, factor = [bases.astype('d') ** exponent], 1.0
    for k in range(order):
        factor *= exponent - k
        found.append(factor * bases ** max(exponent - k - 1, 0))
    return found


@pytest.mark.parametrize('dtype', 'fd')
@pytest.mark.parametrize('exponent', [0, 1, 2, 3, 0.0, 1.0, 2.0, 3.0])
@pytest.mark.parametrize('kind', ['number', 'Variable', 'array', '0-d Variable'])
def test_whole_powers_have_all_derivatives_at_0_and_below(kind: str, exponent: float, dtype: str) -> None:
    exponents: dict[str, Any] = {
        'number': exponent, 'Variable': V(np.full(3, exponent, dtype)), 'array': np.full(3, exponent, dtype),
        '0-d Variable': V(np.array(exponent, dtype)),
    }  # fmt: skip
    found = derivatives(lambda x: x ** exponents[kind], BASES.astype(dtype), 4)
    for actual, wanted in zip(found, _power_derivatives(BASES, int(exponent), 4), strict=True):
        np.testing.assert_allclose(actual, wanted, rtol=1e-6)


@pytest.mark.parametrize('kind', ['number', 'Variable'])
def test_powers_of_0_do_not_change_with_a_positive_exponent(kind: str) -> None:
    base: Any = 0.0 if kind == 'number' else V(np.zeros(3))
    for k, actual in enumerate(derivatives(lambda x: base**x, np.array([0.5, 1.0, 2.0]), 3)):
        np.testing.assert_array_equal(actual, [0, 0, 0], f'derivative {k}')


def test_the_mixed_derivative_of_a_power_where_the_exponent_is_0() -> None:
    x, y = V(np.array([2.0, 4.0])), V(np.zeros(2))
    (gx,) = chainer.grad([x**y], [x], enable_double_backprop=True)
    (gxy,) = chainer.grad([gx], [y])
    np.testing.assert_array_equal(gx.array, [0, 0])
    np.testing.assert_array_equal(gxy.array, [0.5, 0.25])


@pytest.mark.parametrize('times', [1, 1000])
@pytest.mark.parametrize('double', [False, True])
@pytest.mark.parametrize(('scale', 'dtype'), [(1e-30, 'f'), (1.0, 'f'), (1e30, 'f'), (1e-200, 'd'), (1e200, 'd')])
def test_arctan2_of_arguments_whose_squares_are_beyond_the_dtype(
    scale: float, dtype: str, double: bool, times: int
) -> None:
    points = np.tile(np.array([[3.0, -4.0], [4.0, 3.0]], dtype), times) * np.array(scale, dtype)
    x1, x2 = map(V, points)
    g1, g2 = chainer.grad([F.arctan2(x1, x2)], [x1, x2], enable_double_backprop=double)
    np.testing.assert_allclose(g1.array, np.tile([0.16, 0.12], times) / scale, rtol=1e-6)
    np.testing.assert_allclose(g2.array, np.tile([-0.12, 0.16], times) / scale, rtol=1e-6)


# --- determinants of any rank ---------------------------------------------------------------------------------------
def _minor(a: Any, rows: set[int], columns: set[int]) -> float:
    return (
        float(np.linalg.det(np.delete(np.delete(a, list(rows), 0), list(columns), 1))) if len(a) > len(rows) else 1.0
    )


def _cofactors(a: Any) -> Any:
    n = range(len(a))
    return np.array([[(-1) ** (i + j) * _minor(a, {i}, {j}) for j in n] for i in n])


def _change_of_cofactors(a: Any, step: Any) -> Any:
    """By minors without two rows and columns."""
    change = np.zeros_like(a)
    for i, j, k, m in np.ndindex(*a.shape, *a.shape):
        if i != k and j != m:
            sign = (-1) ** (i + j + k + m) * (1 if (k > i) == (m > j) else -1)
            change[i, j] += sign * _minor(a, {i, k}, {j, m}) * step[k, m]
    return change


def _of_rank(n: int, rank: int, seed: int) -> Any:
    random = np.random.RandomState(seed)
    return random.uniform(-1, 1, (n, rank)) @ random.uniform(-1, 1, (rank, n))


SINGULAR = {
    **{f'{n}x{n} of rank {rank}': _of_rank(n, rank, n)[None] for n in (1, 2, 3, 4) for rank in range(n + 1)},
    'rows alike': np.array([[[1.0, 2.0], [1.0, 2.0]]]),
    'a batch with some': np.stack([_of_rank(3, rank, rank) for rank in (3, 2, 1, 0, 3)]),
    'nearly': _of_rank(3, 2, 5)[None] + 1e-9 * np.eye(3),
    'reflection': np.array([[[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]]),
}


@pytest.mark.parametrize('dtype', 'fd')
@pytest.mark.parametrize('name', SINGULAR)
def test_derivatives_of_determinants_of_any_rank(name: str, dtype: str) -> None:
    matrices = SINGULAR[name].astype(dtype)
    wide, step = matrices.astype('d'), np.random.RandomState(0).uniform(-1, 1, matrices.shape)
    x, weights = V(matrices), V(np.arange(1.0, 1 + len(matrices)).astype(dtype))
    (gx,) = chainer.grad([F.batch_det(x)], [x], [weights], enable_double_backprop=True)
    (ggx,) = chainer.grad([gx], [x], [V(step.astype(dtype))])
    tolerance = 50 * np.finfo(dtype).eps
    scale = weights.array[:, None, None]
    np.testing.assert_allclose(gx.array, scale * [_cofactors(a) for a in wide], atol=tolerance)
    changes = [_change_of_cofactors(a, s) for a, s in zip(wide, step, strict=True)]
    np.testing.assert_allclose(ggx.array, scale * changes, atol=tolerance)
    y = F.batch_det(V(matrices))
    y.grad = weights.array
    y.backward()


def test_the_determinant_of_a_singular_matrix_has_a_gradient() -> None:
    x = V(np.array([[1.0, 2.0], [2.0, 4.0]]))
    F.det(x).backward()
    np.testing.assert_allclose(x.grad, [[4, -2], [-2, 1]])


@pytest.mark.parametrize('size', [2, 12])
def test_the_factors_of_a_singular_matrix_have_no_gradient(size: int) -> None:
    _, r = F.qr(V(np.ones((size, size)) * (np.arange(size) > 0)))
    r.grad = np.ones((size, size))
    with pytest.raises(ValueError, match=rf'solve: singular matrix among a, of shape \({size}, {size}\)'):
        r.backward()


def test_third_derivatives_of_determinants() -> None:
    a = V(_of_rank(4, 4, 0))
    steps = [np.random.RandomState(seed).uniform(-1, 1, (4, 4)) for seed in range(3)]
    found = F.det(a)
    for step in steps:
        (gx,) = chainer.grad([found], [a], enable_double_backprop=True)
        found = F.sum(gx * step)
    expected = sum(
        sign * np.linalg.det(a.array + sum(s * step for s, step in zip(signs, steps, strict=True)))
        for signs in np.ndindex(2, 2, 2) for sign in [(-1) ** (3 - sum(signs))]
    )  # fmt: skip
    fourth = chainer.grad([found], [a])[0]
    assert np.isfinite(fourth.array).all()
    # The mixed difference of a polynomial of degree 4, less what is of degree 4 in the three steps.
    rest = sum(float(np.vdot(fourth.array, step)) for step in steps) / 2
    np.testing.assert_allclose(found.array, expected - rest, rtol=1e-9)


def test_gradient_of_rsqrt_where_a_power_alone_overflows() -> None:
    x = V(np.full(3, 1e-28, 'f'))
    y = F.rsqrt(x)
    y.grad = np.full(3, 1e-20, 'f')
    y.backward()
    np.testing.assert_allclose(x.grad, -5e21, rtol=1e-5)
