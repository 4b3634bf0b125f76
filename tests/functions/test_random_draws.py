"""The functions that draw random numbers: what is drawn, in which order, and what the modes do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F

V = chainer.Variable
X = np.linspace(-2, 2, 12).reshape(3, 4)


def seeded(call: Any) -> Any:
    np.random.seed(5)
    return call()


def drawn(draw: Any) -> np.ndarray:
    return np.asarray(draw(np.random.RandomState(5)))


# --- the draws are those of numpy.random, in Chainer's order --------------------------------------------------------
@pytest.mark.parametrize('dtype', 'efd')
@pytest.mark.parametrize('shape', [(3, 4), (), (0, 2)])
def test_rrelu_draws_its_slopes(shape: tuple[int, ...], dtype: str) -> None:
    y, r = seeded(lambda: F.rrelu(np.full(shape, -1, dtype), 0.1, 0.6, return_r=True))
    expected = drawn(lambda rng: rng.uniform(0.1, 0.6, shape)).astype(dtype)
    np.testing.assert_array_equal(r, expected)
    np.testing.assert_array_equal(y.array, -expected)
    assert r.dtype == y.dtype == np.dtype(dtype) and r.shape == y.shape == shape


@pytest.mark.parametrize('dtype', 'efd')
@pytest.mark.parametrize('shape', [(30, 40), (), (0, 2)])
@pytest.mark.parametrize('bounds', [(), (np.float32(0.1), np.float32(0.6))])
def test_rrelu_without_its_slopes_draws_the_same(bounds: Any, shape: tuple[int, ...], dtype: str) -> None:
    for x in (np.full(shape, -1, dtype), np.full(shape, -1, dtype).T):
        y, then = seeded(lambda: (F.rrelu(x, *bounds), np.random.rand()))  # noqa: B023
        z, r, expected = seeded(lambda: (*F.rrelu(x, *bounds, return_r=True), np.random.rand()))  # noqa: B023
        np.testing.assert_array_equal(y.array, z.array)
        np.testing.assert_array_equal(y.array, -r)
        assert then == expected and y.dtype == np.dtype(dtype)


@pytest.mark.parametrize('dtype', 'efd')
@pytest.mark.parametrize('shape', [(3, 4), (), (0, 2)])
def test_gaussian_draws_its_noise(shape: tuple[int, ...], dtype: str) -> None:
    y, eps = seeded(lambda: F.gaussian(np.ones(shape, dtype), np.zeros(shape, dtype), return_eps=True))
    expected = drawn(lambda rng: rng.standard_normal(shape)).astype(dtype)
    np.testing.assert_array_equal(eps, expected)
    np.testing.assert_array_equal(y.array, np.asarray(1, dtype) + expected)
    assert eps.dtype == y.dtype == np.dtype(dtype) and eps.shape == y.shape == shape


@pytest.mark.parametrize('dtype', 'efd')
def test_gumbel_softmax_draws_its_noise(dtype: str) -> None:
    y = seeded(lambda: F.gumbel_softmax(X.astype(dtype), 0.5))
    noise = drawn(lambda rng: rng.gumbel(size=X.shape)).astype(dtype)
    np.testing.assert_array_equal(y.array, F.softmax((V(X.astype(dtype)) + noise) / 0.5).array)
    assert y.dtype == np.dtype(dtype)


@pytest.mark.parametrize('shape', [(3, 4), (), (0, 2)])
@pytest.mark.parametrize('ratio', [0.0, 0.3, 1.0])
def test_zoneout_keeps_where_the_draw_is_below_the_ratio(ratio: float, shape: tuple[int, ...]) -> None:
    y = seeded(lambda: F.zoneout(np.ones(shape), np.zeros(shape), ratio))
    np.testing.assert_array_equal(y.array, drawn(lambda rng: rng.rand(*shape)) < ratio)
    assert y.shape == shape


@pytest.mark.parametrize('batchwise', [True, False])
@pytest.mark.parametrize('train', [True, False])
def test_dropconnect_drops_where_the_draw_is_below_the_ratio(train: bool, batchwise: bool) -> None:
    x, W = X[:, :2], X[:2, 1:3]
    call = lambda: F.simplified_dropconnect(x, W, None, 0.3, train, None, batchwise)  # noqa: E731
    shape = (3, 2, 2) if batchwise else (2, 2)
    ratio = 0.3 if train else 0
    mask = np.broadcast_to(drawn(lambda rng: rng.rand(*shape)) >= ratio, (3, 2, 2))
    expected = np.einsum('nd,md,nmd->nm', x, W, mask / (1 - ratio))
    np.testing.assert_allclose(seeded(call).array, expected, rtol=1e-14)
    assert train or not (mask == 0).any()


GIVEN: dict[str, Any] = {
    'rrelu': lambda: F.rrelu(X, r=X),
    'rrelu in test mode': lambda: _tested(lambda: F.rrelu(X)),
    'gaussian': lambda: F.gaussian(X, X, eps=X),
    'dropconnect': lambda: F.simplified_dropconnect(X, X, mask=np.ones((3, 3, 4))),
    'zoneout in test mode': lambda: _tested(lambda: F.zoneout(X, X)),
}


def _tested(call: Any) -> Any:
    with chainer.using_config('train', False):
        return call()


@pytest.mark.parametrize('name', GIVEN)
def test_nothing_is_drawn_where_nothing_is_needed(name: str) -> None:
    seeded(GIVEN[name])
    assert np.random.rand() == drawn(lambda rng: rng.rand())


# --- modes ----------------------------------------------------------------------------------------------------------
def test_rrelu_in_test_mode_takes_the_middle() -> None:
    y, r = _tested(lambda: F.rrelu(X.astype('f'), 0.2, 0.6, r=X, return_r=True))
    np.testing.assert_array_equal(r, np.full(X.shape, 0.4, 'f'))
    np.testing.assert_allclose(y.array, np.where(X >= 0, X, 0.4 * X), rtol=1e-6)


def test_zoneout_in_test_mode_is_the_new_state() -> None:
    x = V(X)
    assert _tested(lambda: F.zoneout(V(-X), x)) is x


def test_dropconnect_does_not_ask_the_configuration() -> None:
    expected = seeded(lambda: F.simplified_dropconnect(X, X)).array
    np.testing.assert_array_equal(seeded(lambda: _tested(lambda: F.simplified_dropconnect(X, X))).array, expected)


def test_what_was_drawn_repeats_the_result() -> None:
    y, r = F.rrelu(X, return_r=True)
    np.testing.assert_array_equal(F.rrelu(X, r=r).array, y.array)
    y, eps = F.gaussian(X, X, return_eps=True)
    np.testing.assert_array_equal(F.gaussian(X, X, eps=eps).array, y.array)


DRAWERS: dict[str, Any] = {
    'dropout mask': lambda x, mask=None: F.dropout(x, 0.3, mask=mask),
    'rrelu r': lambda x, r=None: F.rrelu(x, r=r),
    'gaussian eps': lambda x, eps=None: F.gaussian(x, x, eps=eps),
    'simplified_dropconnect mask': lambda x, mask=None: F.simplified_dropconnect(x, x, None, 0.3, mask=mask),
    'simplified_dropconnect mask, with bias': lambda x, mask=None: F.simplified_dropconnect(
        x, x, np.ones(3, x.dtype), 0.3, mask=mask
    ),
    'simplified_dropconnect mask, one for all': lambda x, mask=None: F.simplified_dropconnect(
        x, x, None, 0.3, True, mask, False
    ),
}


@pytest.mark.parametrize('dtype', 'efd')
@pytest.mark.parametrize('name', DRAWERS)
def test_what_the_node_has_repeats_the_result(name: str, dtype: str) -> None:
    x, attribute = V((X * np.ones((3, 4))).astype(dtype)), name.split(',')[0].split()[1]
    y = DRAWERS[name](x)
    kept = getattr(y.creator, attribute)
    again = DRAWERS[name](x, **{attribute: kept})
    np.testing.assert_array_equal(again.array, y.array)
    if 'dropconnect' in name:
        assert kept.dtype == bool and again.creator.mask is kept


# --- what is computed from the draws --------------------------------------------------------------------------------
def test_gaussian_takes_noise_of_another_dtype() -> None:
    y = F.gaussian(np.zeros(3, 'f'), np.zeros(3, 'f'), eps=np.arange(3.0))
    assert y.dtype == np.float32
    np.testing.assert_array_equal(y.array, np.arange(3.0))


def test_dropconnect_without_drops_is_linear() -> None:
    x, W, b = X, X[:2] * 3, np.array([0.5, -2.0])
    mask = np.ones((3, 2, 4), bool)
    y = F.simplified_dropconnect(x, W, b, ratio=0.0, mask=mask)
    np.testing.assert_allclose(y.array, F.linear(x, W, b).array, rtol=1e-14, atol=1e-14)


def test_zoneout_keeps_its_share() -> None:
    y = F.zoneout(np.ones((100, 200)), np.zeros((100, 200)), 0.3)
    assert abs(y.array.mean() - 0.3) < 0.015


def test_gumbel_softmax_draws_categories_by_their_probabilities() -> None:
    log_pi = np.log(np.tile([0.2, 0.5, 0.3], (20000, 1)))
    winners = seeded(lambda: F.gumbel_softmax(log_pi)).array.argmax(axis=1)
    np.testing.assert_allclose(np.bincount(winners) / 20000, [0.2, 0.5, 0.3], atol=0.015)
