"""Attention and gelu beyond their rows: blocks, masks of minus infinity, drawn dropout, precision, torch."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest
import scipy.special

import minichainer as chainer
import minichainer.functions as F
from minichainer.functions.activation import gelu as gelu_module
from minichainer.functions.attention import scaled_dot_product as attention_module
from minichainer.kernels import attention as kernels
from minichainer.kernels import gelu as gelu_kernels
from tests.functions.numeric import signed

INF = np.inf
ATTEND = F.scaled_dot_product_attention


def qkv(*lead: int, length: int = 6, keys: int = 7, dtype: str = 'd', seed: int = 0) -> list[np.ndarray]:
    rng = np.random.RandomState(seed)
    return [rng.randn(*lead, n, size).astype(dtype) for n, size in ((length, 4), (keys, 4), (keys, 3))]


def with_gradients(function: Any, arrays: list[np.ndarray], seed: int = 3) -> list[np.ndarray]:
    """Result and gradients of the inputs, for a random signed upstream gradient."""
    variables = [chainer.Variable(a) for a in arrays]
    y = function(*variables)
    y.grad = signed(y.shape, np.random.RandomState(seed), y.dtype.char)
    y.backward()
    return [y.array, *[v.grad for v in variables]]


MASKS: dict[str, Any] = {
    'none': lambda rng: None,
    'bool': lambda rng: rng.rand(2, 1, 6, 7) < 0.6,
    'padding': lambda rng: rng.rand(2, 1, 1, 7) < 0.6,
    'added': lambda rng: rng.randn(3, 6, 7),
    'minus infinity': lambda rng: np.where(rng.rand(6, 7) < 0.6, 0.5, -INF),
}


@pytest.mark.parametrize('causal', [False, True])
@pytest.mark.parametrize('mask', MASKS)
@pytest.mark.parametrize('block', [1, 7 * 8, 3 * 7 * 8, 6 * 7 * 8 * 2, 1 << 20])
def test_blocks_of_any_size_agree_with_the_plain_composition(
    monkeypatch: pytest.MonkeyPatch, mask: str, causal: bool, block: int
) -> None:
    """Blocks of one query, of some, of whole heads, and of all."""
    monkeypatch.setattr(kernels, '_BLOCK_BYTES', block)
    chosen = MASKS[mask](np.random.RandomState(1))
    arrays = qkv(2, 3)
    found = with_gradients(lambda *xs: ATTEND(*xs, chosen, is_causal=causal), arrays)
    expected = with_gradients(lambda *xs: attention_module._reference(*xs, chosen, causal), arrays)
    for a, e in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, e, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize('of', [bool, float])
def test_a_query_without_keys_gives_zeros_and_no_gradient(of: Any) -> None:
    allowed = np.ones((6, 7), '?')
    allowed[[1, 4]] = False
    mask = allowed if of is bool else np.where(allowed, 0.0, -INF)
    y, gq, gk, gv = with_gradients(lambda *xs: ATTEND(*xs, mask), qkv(2))
    np.testing.assert_array_equal(y[:, [1, 4]], 0)
    np.testing.assert_array_equal(gq[:, [1, 4]], 0)
    assert y[:, [0, 2, 3, 5]].all() and np.isfinite(gk).all() and np.isfinite(gv).all()


@pytest.mark.parametrize('order', [1, 2])
def test_minus_infinity_in_a_mask_with_a_gradient(order: int) -> None:
    """What is masked gets gradient zero, also under double backprop; the rest is as without those keys."""
    arrays = [chainer.Variable(a) for a in qkv()]
    free = np.arange(7) % 3 > 0
    mask = chainer.Variable(np.where(free, 0.3, -INF))
    few = [arrays[0], arrays[1][free], arrays[2][free]]
    part = chainer.Variable(np.full(int(free.sum()), 0.3))
    found = chainer.grad([F.sum(F.sin(ATTEND(*arrays, mask)))], [mask], enable_double_backprop=True)
    expected = chainer.grad([F.sum(F.sin(ATTEND(*few, part)))], [part], enable_double_backprop=True)
    if order == 2:
        found = chainer.grad([F.sum(found[0] ** 2)], [mask])
        expected = chainer.grad([F.sum(expected[0] ** 2)], [part])
    np.testing.assert_array_equal(found[0].array[~free], 0)
    np.testing.assert_allclose(found[0].array[free], expected[0].array, rtol=1e-10, atol=1e-15)


def test_large_scores_do_not_overflow() -> None:
    arrays = [a * 100 for a in qkv(dtype='f')]
    found = with_gradients(ATTEND, arrays)
    expected = with_gradients(ATTEND, [a.astype('d') for a in arrays])
    for a, e in zip(found, expected, strict=True):
        # Scores of 1e4 have errors of 1e-3; here one of each row decides, and its weight is 1 in any case.
        np.testing.assert_allclose(a, e, rtol=1e-5, atol=1e-5 * max(1, abs(e).max()))


@pytest.mark.parametrize('largest', [15.9, 16.1, 80.0])
@pytest.mark.parametrize('causal', [False, True])
@pytest.mark.parametrize('length', [6, 20])
def test_small_and_large_scores_agree_with_the_plain_composition(length: int, causal: bool, largest: float) -> None:
    """On both sides of where exponentials are made relative to the largest score; one sequence has small ones."""
    arrays = qkv(2, 3, length=length, keys=20)
    scores = np.matmul(arrays[0], arrays[1].swapaxes(-1, -2)) / 2
    arrays[0][0] *= largest / abs(scores[0]).max()
    found = with_gradients(lambda *xs: ATTEND(*xs, is_causal=causal), arrays)
    expected = with_gradients(lambda *xs: attention_module._reference(*xs, None, causal), arrays)
    for a, e in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, e, rtol=1e-10, atol=1e-13)


def test_an_added_mask_may_be_large() -> None:
    mask = np.full((6, 7), -1000.0)
    mask[:, 3] = 1000
    arrays = qkv(2)
    np.testing.assert_allclose(ATTEND(*arrays, mask).array, arrays[2][:, [3] * 6], rtol=1e-12)


def test_float16_is_computed_in_float32() -> None:
    """4096 keys with equal weights: a sum in float16 would stop at 2048."""
    q, k, v = np.zeros((2, 4), 'e'), np.zeros((4096, 4), 'e'), np.ones((4096, 3), 'e')
    y, gq, gk, gv = with_gradients(ATTEND, [q, k, v])
    assert {a.dtype.char for a in (y, gq, gk, gv)} == {'e'}
    np.testing.assert_allclose(y, 1, rtol=1e-3)


def test_dropout_draws_where_training_only() -> None:
    q, k, v = qkv(2, 3, dtype='f')
    np.random.seed(0)
    y, mask = ATTEND(q, k, v, dropout_p=0.25, return_mask=True)
    assert mask.shape == (2, 3, 6, 7) and mask.dtype == np.float32
    np.testing.assert_allclose(np.unique(mask), [0, 4 / 3], rtol=1e-6)
    assert 0.5 < (mask > 0).mean() < 0.95
    np.testing.assert_array_equal(ATTEND(q, k, v, dropout_p=0.25, dropout_mask=mask).array, y.array)
    plain = ATTEND(q, k, v).array
    assert not np.array_equal(y.array, plain)
    with chainer.using_config('train', False):
        y, drawn = ATTEND(q, k, v, dropout_p=0.25, dropout_mask=mask, return_mask=True)
    assert drawn is None
    np.testing.assert_array_equal(y.array, plain)
    assert ATTEND(q, k, v, return_mask=True)[1] is None


def test_memory_grows_with_the_length_not_its_square() -> None:
    """Weights of 2048 x 2048 would be 16 MiB, forward as well as backward."""
    arrays = [np.random.RandomState(i).randn(2048, 8).astype('f') for i in range(3)]
    tracemalloc.start()
    try:
        with_gradients(ATTEND, arrays)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 6 << 20


@pytest.mark.parametrize('layout', ['heads inside', 'heads outside'])
def test_the_result_lies_in_memory_as_the_queries(layout: str) -> None:
    """So that heads that come from one row of features go back into it without a copy."""
    q, k, v = (np.random.RandomState(i).randn(2, 5, 3, 4).transpose(0, 2, 1, 3) for i in range(3))
    if layout == 'heads outside':
        q = np.ascontiguousarray(q)
    y = ATTEND(q, k, v).array
    assert (y.transpose(0, 2, 1, 3) if layout == 'heads inside' else y).flags.c_contiguous


@pytest.mark.parametrize('mask', [None, 'bool', 'added'])
@pytest.mark.parametrize('causal', [False, True])
def test_as_torch(mask: str | None, causal: bool) -> None:
    torch = pytest.importorskip('torch')
    if causal and mask:
        pytest.skip('torch takes only one of the two')
    chosen = None if mask is None else MASKS[mask](np.random.RandomState(1))
    arrays = qkv(2, 3)
    y, *gradients = with_gradients(lambda *xs: ATTEND(*xs, chosen, is_causal=causal, scale=0.4), arrays)
    tensors = [torch.tensor(a, requires_grad=True) for a in arrays]
    theirs = torch.nn.functional.scaled_dot_product_attention(
        *tensors, attn_mask=None if chosen is None else torch.tensor(chosen), is_causal=causal, scale=0.4
    )
    theirs.backward(torch.tensor(signed(y.shape, np.random.RandomState(3))))
    for a, e in zip([y, *gradients], [theirs.detach(), *[t.grad for t in tensors]], strict=True):
        np.testing.assert_allclose(a, e.numpy(), rtol=1e-10, atol=1e-13)


# --- gelu -----------------------------------------------------------------------------------------------------------
FORMS = ['none', 'tanh']
WIDE = np.concatenate([np.linspace(-14, 14, 20001), np.geomspace(1e-38, 1, 500), -np.geomspace(1e-38, 1, 500)])


def exact(x: np.ndarray, form: str) -> tuple[np.ndarray, np.ndarray]:
    """Value and slope in float64."""
    if form == 'none':
        density = np.exp(-x * x / 2) / np.sqrt(2 * np.pi)
        return x * scipy.special.ndtr(x), scipy.special.ndtr(x) + x * density
    u, du = 0.79788456 * (x + 0.044715 * x**3), 0.79788456 * (1 + 3 * 0.044715 * x**2)
    share = scipy.special.expit(2 * u)
    return x * share, share + 2 * x * share * (1 - share) * du


@pytest.mark.parametrize('form', FORMS)
def test_gelu_in_float32_is_as_precise_as_its_format_allows(form: str) -> None:
    x = WIDE.astype('f')
    y, slope = with_ones(x, form)
    value, expected = exact(x.astype('d'), form)
    scale = np.maximum(1, abs(value))
    # Rounding of the result (6e-8), of the exponential's argument (up to twice that), and the fit (1.2e-7).
    assert (abs(y - value) / scale).max() < 3e-7
    # In the tanh form the rounding of 1 - share (6e-8) is multiplied by x times the inner slope, up to 60.
    assert abs(slope - expected).max() < (1e-6 if form == 'none' else 4e-6)


def with_ones(x: np.ndarray, form: str) -> tuple[np.ndarray, np.ndarray]:
    variable = chainer.Variable(x)
    y = F.gelu(variable, form)
    y.grad = np.ones_like(x)
    y.backward()
    return y.array, variable.grad


@pytest.mark.parametrize('form', FORMS)
@pytest.mark.parametrize('dtype', ['f', 'd'])
def test_gelu_agrees_with_the_plain_composition(form: str, dtype: str) -> None:
    x = np.random.RandomState(0).randn(50, 30).astype(dtype) * 3
    found = with_gradients(lambda v: F.gelu(v, approximate=form), [x])
    expected = with_gradients(lambda v: gelu_module._reference(v, form), [x])
    for a, e in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, e, rtol=2e-6 if dtype == 'f' else 1e-12, atol=3e-6 if dtype == 'f' else 1e-13)


@pytest.mark.parametrize('form', FORMS)
@pytest.mark.parametrize('size', [1, gelu_kernels._BLOCK - 1, gelu_kernels._BLOCK, gelu_kernels._BLOCK + 1])
def test_gelu_of_blocks_is_that_of_their_elements(form: str, size: int) -> None:
    x = np.random.RandomState(size % 5).randn(size).astype('f') * 3
    y, slope = with_ones(x, form)
    last, slope_of_last = with_ones(x[-1:].copy(), form)
    np.testing.assert_allclose(y[-1:], last, rtol=1e-6)
    np.testing.assert_allclose(slope[-1:], slope_of_last, rtol=1e-5)
    np.testing.assert_allclose(y, exact(x.astype('d'), form)[0], rtol=0, atol=2e-6)


@pytest.mark.parametrize('form', FORMS)
def test_gelu_keeps_the_layout_of_images(form: str) -> None:
    """Channels last in memory stay so, with a mixture of layouts in backward."""
    x = np.random.RandomState(0).randn(2, 5, 4, 3).astype('f').transpose(0, 3, 1, 2)
    gy = np.random.RandomState(1).randn(2, 3, 5, 4).astype('f')
    variable = chainer.Variable(x)
    y = F.gelu(variable, form)
    y.grad = gy
    y.backward()
    assert y.array.strides == x.strides
    value, slope = exact(x.astype('d'), form)
    np.testing.assert_allclose(y.array, value, atol=1e-6)
    np.testing.assert_allclose(variable.grad, gy * slope, atol=1e-5)


@pytest.mark.parametrize('form', FORMS)
def test_gelu_as_torch(form: str) -> None:
    torch = pytest.importorskip('torch')
    x = np.random.RandomState(0).randn(40, 50)
    y, gx = with_gradients(lambda v: F.gelu(v, approximate=form), [x])
    tensor = torch.tensor(x, requires_grad=True)
    theirs = torch.nn.functional.gelu(tensor, approximate=form)
    theirs.backward(torch.tensor(signed(y.shape, np.random.RandomState(3))))
    np.testing.assert_allclose(y, theirs.detach().numpy(), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(gx, tensor.grad.numpy(), rtol=1e-12, atol=1e-14)


@pytest.mark.gpu
@pytest.mark.parametrize('name', ['attn_mask', 'dropout_mask'])
@pytest.mark.parametrize('dtype', '?f')
def test_a_mask_elsewhere_is_an_error(name: str, dtype: str) -> None:
    q = chainer.backends.cuda.to_gpu(np.ones((1, 3, 4), 'f'))
    for x, mask in (
        (q, np.ones((1, 3, 3), dtype)),
        (q.get(), chainer.backends.cuda.to_gpu(np.ones((1, 3, 3), dtype))),
    ):
        with pytest.raises(TypeError, match=f'and {name}, must be arrays of one kind'):
            ATTEND(x, x, x, **{name: mask})
