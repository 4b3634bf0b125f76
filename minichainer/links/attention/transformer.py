"""The layers of transformers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from minichainer.functions.activation.rectifiers import relu
from minichainer.functions.noise.dropout import dropout
from minichainer.link.link import Chain
from minichainer.links._arguments import LinkArguments
from minichainer.links.attention.multi_head_attention import MultiHeadAttention, check_heads
from minichainer.links.connection.linear import Linear
from minichainer.links.normalization.sample_normalization import LayerNormalization
from minichainer.variable import Variable


class _TransformerLayer(Chain):
    """What both layers share: the perceptron at each place, and how a sublayer is added to its input."""

    def __init__(
        self,
        size: int,
        n_heads: int,
        hidden_size: int | None = None,
        dropout: float = 0.1,
        activation: Callable[[Any], Any] = relu,
        norm_first: bool = False,
        eps: float = 1e-5,
        initialW: Any = None,
        initial_bias: Any = None,
    ) -> None:
        check = LinkArguments(self)
        check_heads(check, size, n_heads)
        check.optional_sizes(hidden_size=hidden_size)
        check.ratios(dropout=dropout)
        check.callables(activation=activation)
        check.flags(norm_first=norm_first)
        check.numbers(0, math.inf, eps=eps)
        hidden = 4 * size if hidden_size is None else hidden_size
        check.common_initializers([(size, size), (hidden, size), (size, hidden)], initialW=initialW)
        check.common_initializers([(size,), (hidden,)], initial_bias=initial_bias)
        super().__init__()
        self.dropout = dropout
        self.activation = activation
        self.norm_first = norm_first
        with self.init_scope():
            self.attention = MultiHeadAttention(size, n_heads, dropout, initialW=initialW, initial_bias=initial_bias)
            self.linear1 = Linear(size, hidden, initialW=initialW, initial_bias=initial_bias)
            self.linear2 = Linear(hidden, size, initialW=initialW, initial_bias=initial_bias)
            self.norm1 = LayerNormalization(size, eps)
            self.norm2 = LayerNormalization(size, eps)

    def _added(self, x: Any, norm: LayerNormalization, sublayer: Callable[[Any], Any]) -> Any:
        """A sublayer with its normalization, added to its input."""
        if self.norm_first:
            return x + dropout(sublayer(norm(x)), self.dropout)
        return norm(x + dropout(sublayer(x), self.dropout))

    def _perceptron(self, x: Any) -> Variable:
        hidden = self.activation(self.linear1(x, n_batch_axes=2))
        y: Variable = self.linear2(dropout(hidden, self.dropout), n_batch_axes=2)
        return y


class TransformerEncoderLayer(_TransformerLayer):
    r"""Layer of a transformer's encoder; not in Chainer.

    Self-attention and then a perceptron at each place, each of them added to its input and normalized:

    .. math:: h = \mathrm{norm}_1(x + \mathrm{attention}(x)), \quad y = \mathrm{norm}_2(h + W_2 f(W_1 h + b_1) + b_2)

    Args:
        size: size of inputs and results.
        n_heads: number of heads of the attention, a divisor of ``size``.
        hidden_size: size of the hidden layer of the perceptron; ``4 * size`` by default.
        dropout: share of the elements that become 0, where ``config.train`` is true: of the attention weights, of the
            hidden layer, and of what is added.
        activation: the function f.
        norm_first: normalize the input of attention and perceptron, in place of the sums:
            :math:`h = x + \mathrm{attention}(\mathrm{norm}_1(x))`, and likewise for y.
        eps: of the layer normalizations.
        initialW: initializer of the weights; by default normal with standard deviation ``1 / sqrt(inputs)``.
        initial_bias: initializer of the biases; zero by default.

    Attributes:
        attention: MultiHeadAttention.
        linear1: Linear, the first layer of the perceptron.
        linear2: Linear, the second one.
        norm1: LayerNormalization of the attention.
        norm2: LayerNormalization of the perceptron.

    Source: Vaswani et al., Attention Is All You Need, 2017.

    >>> import numpy as np, minichainer as chainer
    >>> layer = chainer.links.TransformerEncoderLayer(8, n_heads=2)
    >>> layer(np.ones((3, 5, 8), np.float32)).shape
    (3, 5, 8)
    """

    def forward(self, x: Any, attn_mask: Any = None, key_mask: Any = None, is_causal: bool = False) -> Variable:
        """Applies the layer.

        Args:
            x: Variable or float array (B, L, size).
            attn_mask: as of :class:`MultiHeadAttention`.
            key_mask: bool array (B, L), False for places that are padding.
            is_causal: place i attends only to places 0 to i.

        Returns:
            Variable (B, L, size).

        Raises:
            InvalidType: shapes or dtypes do not fit.
        """
        h = self._added(x, self.norm1, lambda x: self.attention(x, None, None, attn_mask, key_mask, is_causal))
        y: Variable = self._added(h, self.norm2, self._perceptron)
        return y


class TransformerDecoderLayer(_TransformerLayer):
    r"""Layer of a transformer's decoder; not in Chainer.

    As :class:`TransformerEncoderLayer`, with attention to the encoder's results between the two parts:

    .. math::

        h &= \mathrm{norm}_1(x + \mathrm{attention}(x)) \\
        g &= \mathrm{norm}_2(h + \mathrm{attention_{memory}}(h, m)) \\
        y &= \mathrm{norm}_3(g + W_2 f(W_1 g + b_1) + b_2)

    Args:
        size: as of :class:`TransformerEncoderLayer`.
        n_heads: likewise.
        hidden_size: likewise.
        dropout: likewise.
        activation: likewise.
        norm_first: likewise.
        eps: likewise.
        initialW: likewise.
        initial_bias: likewise.

    Attributes:
        attention: MultiHeadAttention of the inputs.
        memory_attention: MultiHeadAttention of the inputs to the memory.
        linear1: Linear, the first layer of the perceptron.
        linear2: Linear, the second one.
        norm1: LayerNormalization of the attention.
        norm2: LayerNormalization of the attention to the memory.
        norm3: LayerNormalization of the perceptron.

    Source: Vaswani et al., Attention Is All You Need, 2017.

    >>> import numpy as np, minichainer as chainer
    >>> layer = chainer.links.TransformerDecoderLayer(8, n_heads=2)
    >>> layer(np.ones((3, 5, 8), np.float32), np.ones((3, 7, 8), np.float32), is_causal=True).shape
    (3, 5, 8)
    """

    def __init__(
        self,
        size: int,
        n_heads: int,
        hidden_size: int | None = None,
        dropout: float = 0.1,
        activation: Callable[[Any], Any] = relu,
        norm_first: bool = False,
        eps: float = 1e-5,
        initialW: Any = None,
        initial_bias: Any = None,
    ) -> None:
        super().__init__(size, n_heads, hidden_size, dropout, activation, norm_first, eps, initialW, initial_bias)
        with self.init_scope():
            self.memory_attention = MultiHeadAttention(
                size, n_heads, dropout, initialW=initialW, initial_bias=initial_bias
            )
            self.norm3 = LayerNormalization(size, eps)

    def forward(
        self,
        x: Any,
        memory: Any,
        attn_mask: Any = None,
        memory_mask: Any = None,
        key_mask: Any = None,
        memory_key_mask: Any = None,
        is_causal: bool = False,
    ) -> Variable:
        """Applies the layer.

        Args:
            x: Variable or float array (B, L, size).
            memory: results of the encoder, Variable or float array (B, S, size).
            attn_mask: mask of the attention of ``x`` to itself, as of :class:`MultiHeadAttention`.
            memory_mask: mask of the attention to ``memory``, likewise.
            key_mask: bool array (B, L), False for places of ``x`` that are padding.
            memory_key_mask: bool array (B, S), False for places of ``memory`` that are padding.
            is_causal: place i of ``x`` attends only to its places 0 to i.

        Returns:
            Variable (B, L, size).

        Raises:
            InvalidType: shapes or dtypes do not fit.
        """
        h = self._added(x, self.norm1, lambda x: self.attention(x, None, None, attn_mask, key_mask, is_causal))
        g = self._added(h, self.norm2, lambda h: self.memory_attention(h, memory, None, memory_mask, memory_key_mask))
        y: Variable = self._added(g, self.norm3, self._perceptron)
        return y
