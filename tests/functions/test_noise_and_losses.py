"""What the table cannot say: random draws, modes, the fused loss beside its plain form, means of nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F
from minichainer.functions.loss.softmax_cross_entropy import _reference

V = chainer.Variable


# --- dropout -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize('dtype', 'efd')
@pytest.mark.parametrize('ratio', [0.0, 0.2, 0.5, 0.9])
def test_dropout_drops_its_share_and_scales_the_rest(ratio: float, dtype: str) -> None:
    x = V(np.ones((100, 200), dtype))
    y = F.dropout(x, ratio)
    scale = np.asarray(1 / (1 - ratio), dtype)
    assert y.dtype == x.dtype
    assert set(np.unique(y.array)) <= {np.dtype(dtype).type(0), scale[()]}
    assert abs((y.array == 0).mean() - ratio) < 0.015
    y.grad = np.full(x.shape, 3, dtype)
    y.backward()
    np.testing.assert_array_equal(x.grad, 3 * y.array)


def test_dropout_draws_anew_and_is_seeded_by_numpy() -> None:
    x = np.ones(100)
    np.random.seed(1)
    first, second = F.dropout(x).array, F.dropout(x).array
    np.random.seed(1)
    assert (first != second).any()
    np.testing.assert_array_equal(F.dropout(x).array, first)


def test_dropout_in_test_mode_is_the_identity() -> None:
    x = V(np.ones(3))
    with chainer.using_config('train', False):
        assert F.dropout(x) is x
        y, mask = F.dropout(x, return_mask=True)
        assert y is x and mask is None


def test_dropout_returns_a_mask_that_repeats_it() -> None:
    x = np.random.rand(4, 5)
    y, mask = F.dropout(x, 0.3, return_mask=True)
    np.testing.assert_array_equal(F.dropout(x, 0.3, mask=mask).array, y.array)
    np.testing.assert_array_equal(y.array, x * mask)


def test_dropout_of_a_0d_array() -> None:
    found = {float(F.dropout(np.array(1.0)).array) for _ in range(50)}
    assert found == {0.0, 2.0}


# --- losses --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize('shape', [(4, 3), (2, 3, 2), (0, 3)])
@pytest.mark.parametrize('ignore_label', [-1, 0])
def test_the_fused_cross_entropy_is_its_plain_form_at_every_order(shape: tuple[int, ...], ignore_label: int) -> None:
    rng = np.random.RandomState(3)
    x, t = rng.randn(*shape), rng.randint(0, 3, (shape[0], *shape[2:]))
    gy, ggx = rng.randn(*t.shape), rng.randn(*shape)
    found: list[list[Any]] = []
    for loss in (
        lambda v: F.softmax_cross_entropy(v, t, ignore_label=ignore_label, reduce='no'),
        lambda v: _reference(v, t, ignore_label),
    ):
        v, g = V(x), V(gy)
        y = loss(v)
        (gx,) = chainer.grad([y], [v], [g], enable_double_backprop=True)
        second = chainer.grad([gx], [v, g], [V(ggx)])
        found.append([y.array, gx.array, *[s.array for s in second]])
    for fused, plain in zip(*found, strict=True):
        np.testing.assert_allclose(fused, plain, rtol=1e-12, atol=1e-14)


def test_all_labels_ignored_is_a_loss_of_0_with_gradient_0() -> None:
    x = V(np.random.randn(3, 4))
    loss = F.softmax_cross_entropy(x, np.full(3, -1))
    loss.backward()
    assert loss.array == 0
    np.testing.assert_array_equal(x.grad, np.zeros((3, 4)))


def test_an_ignored_sample_with_nan_scores_has_gradient_0() -> None:
    x = V(np.array([[np.nan, np.inf, 0.0], [1.0, 2.0, 3.0]]))
    with np.errstate(all='ignore'):
        loss = F.softmax_cross_entropy(x, np.array([-1, 1]))
        loss.backward()
    assert np.isfinite(loss.array)
    np.testing.assert_array_equal(x.grad[0], np.zeros(3))
    assert np.isfinite(x.grad[1]).all()


def test_cross_entropy_of_huge_scores() -> None:
    for dtype in 'efd':
        x = V(np.array([[3e4, -3e4, 0.0], [-3e4, 3e4, 0.0]], dtype))
        loss = F.softmax_cross_entropy(x, np.array([0, 2]))
        loss.backward()
        np.testing.assert_allclose(loss.array, 15000, rtol=1e-3)
        np.testing.assert_allclose(x.grad, [[0, 0, 0], [0, 0.5, -0.5]], atol=1e-6)


def test_means_of_nothing_are_nan() -> None:
    empty = V(np.ones((0, 3)))
    assert np.isnan(F.mean_squared_error(empty, empty).array)
    assert np.isnan(F.average(empty).array)
    assert np.isnan(F.accuracy(empty, np.zeros(0, 'i')).array)


def test_mean_squared_error_of_float16_does_not_overflow_on_the_way() -> None:
    x = V(np.full(4000, 200, 'e'))
    loss = F.mean_squared_error(x, np.zeros(4000, 'e'))
    assert loss.dtype == np.float16 and loss.array == 40000


# --- sums of float16 -----------------------------------------------------------------------------------------------
def test_sums_of_float16_accumulate_in_float32() -> None:
    x = V(np.full(5000, 0.1, 'e'))
    expected = 5000 * float(np.float16(0.1))
    assert abs(float(F.sum(x).array) - expected) < 0.25
    assert abs(float(F.average(V(np.full(5000, 60000, 'e'))).array) - 60000) < 32
    total = F.softmax(V(np.zeros((1, 5000), 'e'))).array.astype('f').sum()
    assert abs(total - 1) < 0.02


# --- forget --------------------------------------------------------------------------------------------------------
def test_forget_adds_gradients_to_parameters_inside() -> None:
    w = chainer.Parameter(np.array([2.0, 3.0]))
    x = V(np.array([1.0, -1.0]))
    F.sum(F.forget(lambda v: F.square(v * w), x)).backward()
    np.testing.assert_allclose(w.grad, 2 * w.array * x.array**2)
    np.testing.assert_allclose(x.grad, 2 * w.array**2 * x.array)


def test_forget_computes_twice_and_keeps_nothing_between() -> None:
    calls = []

    def function(v: Any) -> Any:
        calls.append(chainer.config.in_recomputing)
        return F.exp(v)

    y = F.forget(function, V(np.ones(2)))
    assert calls == [False]
    F.sum(y).backward()
    assert calls == [False, True]


# --- copy and cast -------------------------------------------------------------------------------------------------
def test_copy_shares_no_memory_and_cast_to_the_same_dtype_is_a_node() -> None:
    x = V(np.ones(3))
    assert not np.shares_memory(F.copy(x, -1).array, x.array)
    assert F.cast(x, 'd') is not x
    assert F.cast(x, 'd').creator.label == 'Cast'


def test_copy_to_the_dummy_device_is_one_on_the_cpu() -> None:
    x = V(np.ones(3))
    y = F.copy(x, chainer.backends.cuda.DummyDevice)
    F.sum(y * 2).backward()
    np.testing.assert_array_equal(x.grad, [2, 2, 2])


@pytest.mark.parametrize('typ', 'ef')
def test_cast_to_a_narrower_dtype_and_gradient_back(typ: str) -> None:
    x = V(np.array([0.1, 1.0, -3.3]))
    y = F.cast(x, typ)
    assert y.dtype == np.dtype(typ)
    np.testing.assert_array_equal(y.array, x.array.astype(typ))
    y.grad = np.array([0.1, 2.0, 1.0], typ)
    y.backward()
    assert x.grad.dtype == np.float64
    np.testing.assert_array_equal(x.grad, np.array([0.1, 2, 1], typ).astype('d'))


def test_cast_of_integers_to_floats_and_back() -> None:
    x = V(np.array([1, 2, 3]))
    np.testing.assert_array_equal(F.cast(x, 'f').array, np.array([1, 2, 3], 'f'))
    assert F.cast(V(np.array([1.7])), 'i').array.tolist() == [1]


# --- where nothing was chosen --------------------------------------------------------------------------------------
def test_what_maximum_did_not_choose_gets_0_even_of_an_infinite_gradient() -> None:
    a, b = V(np.array([1.0, 2.0])), V(np.array([2.0, 1.0]))
    y = F.maximum(a, b)
    y.grad = np.array([np.inf, np.inf])
    with np.errstate(all='ignore'):
        y.backward()
    np.testing.assert_array_equal(a.grad, [0, np.inf])
    np.testing.assert_array_equal(b.grad, [np.inf, 0])


@pytest.mark.parametrize('size', [3, 5000])
@pytest.mark.parametrize('double', [False, True])
def test_relu_passes_the_gradient_of_nan_whatever_the_size(size: int, double: bool) -> None:
    x = V(np.full(size, np.nan))
    y = F.relu(x)
    y.grad = np.ones(size)
    y.backward(enable_double_backprop=double)
    np.testing.assert_array_equal(x.grad, np.ones(size))


def test_results_do_not_change_with_their_inputs_afterwards_where_they_are_no_views() -> None:
    x = np.array([1.0, 2.0])
    y = F.relu(V(x))
    x[:] = -1
    np.testing.assert_array_equal(y.array, [1.0, 2.0])
