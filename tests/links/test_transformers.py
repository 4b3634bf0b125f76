"""Layers of transformers and normalizations give torch's numbers; and what masks do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F
import minichainer.links as L
from minichainer.utils.type_check import InvalidType

RNG = np.random.RandomState(0)
SIZE, HEADS = 8, 2


def data(*shape: int) -> np.ndarray:
    return RNG.randn(*shape).astype('f')


def filled(link: Any) -> Any:
    for param in link.params():
        param.array[...] = RNG.uniform(-0.5, 0.5, param.shape)
    return link


# --- torch ---------------------------------------------------------------------------------------------------------
def copied(torch: Any, theirs: Any, mine: Any, prefix: str = '') -> None:
    """Copies the parameters of an attention."""
    for kind in ('W', 'b'):
        parts = [getattr(getattr(mine, name), kind).array for name in ('query', 'key', 'value')]
        getattr(theirs, 'in_proj_weight' if kind == 'W' else 'in_proj_bias').data = torch.tensor(
            np.concatenate(parts)
        )
    set_linear(torch, theirs.out_proj, mine.out)


def set_linear(torch: Any, theirs: Any, mine: Any) -> None:
    weight, bias = (mine.W, mine.b) if hasattr(mine, 'W') else (mine.gamma, mine.beta)
    theirs.weight.data, theirs.bias.data = torch.tensor(weight.array), torch.tensor(bias.array)


def same(torch: Any, mine: Any, theirs: Any, inputs: Any, xs: Any) -> None:
    """The results are equal, and the gradients of inputs of a random sum of them."""
    np.testing.assert_allclose(mine.array, theirs.detach().numpy(), rtol=1e-4, atol=1e-5)
    upstream = data(*mine.shape)
    F.sum(mine * upstream).backward()
    (theirs * torch.tensor(upstream)).sum().backward()
    for a, b in zip(inputs, xs, strict=True):
        np.testing.assert_allclose(a.grad, b.grad.numpy(), rtol=1e-3, atol=1e-4)


def pairs(torch: Any, *arrays: np.ndarray) -> tuple[list[Any], list[Any]]:
    return [chainer.Variable(x) for x in arrays], [torch.tensor(x, requires_grad=True) for x in arrays]


def test_attention_is_torchs() -> None:
    torch = pytest.importorskip('torch')
    mine = filled(L.MultiHeadAttention(SIZE, HEADS))
    theirs = torch.nn.MultiheadAttention(SIZE, HEADS, batch_first=True)
    copied(torch, theirs, mine)
    inputs, xs = pairs(torch, data(3, 5, SIZE), data(3, 4, SIZE), data(3, 4, SIZE))
    padding = np.array([[1, 1, 1, 0], [1, 1, 1, 1], [1, 0, 0, 0]], '?')
    y, _ = theirs(*xs, key_padding_mask=torch.tensor(~padding))
    same(torch, mine(*inputs, key_mask=padding), y, inputs, xs)


@pytest.mark.parametrize('norm_first', [False, True])
def test_the_encoder_layer_is_torchs(norm_first: bool) -> None:
    torch = pytest.importorskip('torch')
    mine = filled(L.TransformerEncoderLayer(SIZE, HEADS, 16, 0.0, F.gelu, norm_first))
    theirs = torch.nn.TransformerEncoderLayer(
        SIZE, HEADS, 16, 0.0, torch.nn.functional.gelu, batch_first=True, norm_first=norm_first
    )
    copied(torch, theirs.self_attn, mine.attention)
    for name in ('linear1', 'linear2', 'norm1', 'norm2'):
        set_linear(torch, getattr(theirs, name), getattr(mine, name))
    inputs, xs = pairs(torch, data(3, 5, SIZE))
    causal = torch.triu(torch.ones(5, 5, dtype=torch.bool), 1)
    same(torch, mine(*inputs, is_causal=True), theirs(*xs, src_mask=causal), inputs, xs)


@pytest.mark.parametrize('norm_first', [False, True])
def test_the_decoder_layer_is_torchs(norm_first: bool) -> None:
    torch = pytest.importorskip('torch')
    mine = filled(L.TransformerDecoderLayer(SIZE, HEADS, 16, 0.0, norm_first=norm_first))
    theirs = torch.nn.TransformerDecoderLayer(SIZE, HEADS, 16, 0.0, batch_first=True, norm_first=norm_first)
    copied(torch, theirs.self_attn, mine.attention)
    copied(torch, theirs.multihead_attn, mine.memory_attention)
    for name in ('linear1', 'linear2', 'norm1', 'norm2', 'norm3'):
        set_linear(torch, getattr(theirs, name), getattr(mine, name))
    inputs, xs = pairs(torch, data(3, 5, SIZE), data(3, 4, SIZE))
    causal = torch.triu(torch.ones(5, 5, dtype=torch.bool), 1)
    kept = np.array([[1, 1, 1, 0], [1, 1, 1, 1], [1, 1, 0, 0]], '?')
    y = theirs(*xs, tgt_mask=causal, memory_key_padding_mask=torch.tensor(~kept))
    same(torch, mine(*inputs, is_causal=True, memory_key_mask=kept), y, inputs, xs)


@pytest.mark.parametrize('shape', [(5, SIZE), (3, 5, SIZE), (2, 3, 4, SIZE), (SIZE,)])
def test_normalizations_along_the_last_axis_are_torchs(shape: tuple[int, ...]) -> None:
    torch = pytest.importorskip('torch')
    for mine, theirs in (
        (L.LayerNormalization(SIZE, 1e-5), torch.nn.LayerNorm(SIZE, 1e-5)),
        (L.RMSNormalization(SIZE, 1e-5), torch.nn.RMSNorm(SIZE, 1e-5)),
    ):
        filled(mine)
        theirs.weight.data = torch.tensor(mine.gamma.array)
        if hasattr(mine, 'beta'):
            theirs.bias.data = torch.tensor(mine.beta.array)
        inputs, xs = pairs(torch, data(*shape))
        same(torch, mine(*inputs), theirs(*xs), inputs, xs)


@pytest.mark.parametrize('axes', [1, 2, 3])
def test_instance_normalization_is_torchs(axes: int) -> None:
    torch = pytest.importorskip('torch')
    mine = filled(L.InstanceNormalization(4))
    theirs = getattr(torch.nn, f'InstanceNorm{axes}d')(4, affine=True)
    theirs.weight.data, theirs.bias.data = torch.tensor(mine.gamma.array), torch.tensor(mine.beta.array)
    inputs, xs = pairs(torch, data(3, 4, *[5] * axes))
    same(torch, mine(*inputs), theirs(*xs), inputs, xs)


# --- masks ---------------------------------------------------------------------------------------------------------
def test_a_causal_layer_does_not_see_what_follows() -> None:
    with chainer.using_config('train', False):
        for layer in (L.TransformerEncoderLayer(SIZE, HEADS), L.TransformerDecoderLayer(SIZE, HEADS)):
            x, others = data(2, 5, SIZE), [] if isinstance(layer, L.TransformerEncoderLayer) else [data(2, 3, SIZE)]
            before = layer(x, *others, is_causal=True).array
            x[:, 3:] = 7
            after = layer(x, *others, is_causal=True).array
            np.testing.assert_allclose(after[:, :3], before[:, :3], rtol=1e-5, atol=1e-6)
            assert not np.allclose(after[:, 3:], before[:, 3:])


@pytest.mark.parametrize('kind', ['bool', 'float', 'none'])
def test_masks_of_scores_and_of_keys_are_combined(kind: str) -> None:
    layer, x = L.MultiHeadAttention(SIZE, HEADS), data(2, 4, SIZE)
    allowed = np.tril(np.ones((4, 4), '?'))
    keys = np.array([[1, 1, 1, 1], [1, 1, 0, 0]], '?')
    both = allowed & keys[:, None, None, :]
    masks = {'bool': allowed, 'float': np.where(allowed, 0, -np.inf).astype('f'), 'none': None}
    y = layer(x, attn_mask=masks[kind], key_mask=keys, is_causal=kind == 'none')
    np.testing.assert_allclose(y.array, layer(x, attn_mask=both).array, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ('call', 'words'),
    [
        (lambda layer: layer(data(4, SIZE)), r'query, key and value of shape \(batch, length, size\)'),
        (lambda layer: layer(data(2, 4, SIZE), key_mask=np.ones((2, 3), '?')), r'bool key_mask of shape \(2, 4\)'),
        (lambda layer: layer(data(2, 4, SIZE), key_mask=np.ones((2, 4), 'i')), r'bool key_mask'),
    ],
)
def test_wrong_inputs(call: Any, words: str) -> None:
    with pytest.raises(InvalidType, match=words):
        call(L.MultiHeadAttention(SIZE, HEADS))


@pytest.mark.parametrize('shape', [(0, 4, SIZE), (2, 0, SIZE)])
def test_nothing_in_nothing_out(shape: Any) -> None:
    assert L.TransformerEncoderLayer(SIZE, HEADS)(np.zeros(shape, 'f')).shape == shape
