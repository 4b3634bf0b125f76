"""Attention with several heads."""

from __future__ import annotations

from typing import Any

from minichainer.functions.array.shape import reshape, transpose
from minichainer.functions.attention.scaled_dot_product import scaled_dot_product_attention
from minichainer.link.link import Chain
from minichainer.links._arguments import LinkArguments
from minichainer.links.connection.linear import Linear
from minichainer.utils.type_check import InvalidType
from minichainer.variable import Variable, as_array, as_variable


class MultiHeadAttention(Chain):
    r"""Attention with several heads, :math:`Y = [H_1, \dots, H_n] W_o^\top + b_o`; not in Chainer.

    Head i is :func:`~minichainer.functions.scaled_dot_product_attention` of the i-th parts of the projected queries,
    keys and values.

    Args:
        size: size of queries and results.
        n_heads: number of heads, a divisor of ``size``.
        dropout: share of the attention weights that become 0, where ``config.train`` is true.
        nobias: projections without biases.
        key_size: size of the keys; ``size`` by default.
        value_size: size of the values; ``size`` by default.
        initialW: initializer of the weights; by default normal with standard deviation ``1 / sqrt(inputs)``.
        initial_bias: initializer of the biases; zero by default.

    Attributes:
        query: Linear, the projection of queries.
        key: Linear, the projection of keys.
        value: Linear, the projection of values.
        out: Linear, the projection of the result.

    Source: Vaswani et al., Attention Is All You Need, 2017.

    >>> import numpy as np, minichainer as chainer
    >>> layer = chainer.links.MultiHeadAttention(8, n_heads=2)
    >>> layer(np.ones((3, 5, 8), np.float32), is_causal=True).shape
    (3, 5, 8)
    """

    def __init__(
        self,
        size: int,
        n_heads: int,
        dropout: float = 0.0,
        nobias: bool = False,
        key_size: int | None = None,
        value_size: int | None = None,
        initialW: Any = None,
        initial_bias: Any = None,
    ) -> None:
        check = LinkArguments(self)
        check_heads(check, size, n_heads)
        check.ratios(dropout=dropout)
        check.flags(nobias=nobias)
        check.optional_sizes(key_size=key_size, value_size=value_size)
        inputs = [other for other in (size, key_size, value_size) if other is not None]
        check.common_initializers([(size, n) for n in inputs], initialW=initialW)
        check.initializers((size,), initial_bias=initial_bias)
        super().__init__()
        self.n_heads = n_heads
        self.dropout = dropout
        with self.init_scope():
            self.query = Linear(size, size, nobias, initialW, initial_bias)
            self.key = Linear(size if key_size is None else key_size, size, nobias, initialW, initial_bias)
            self.value = Linear(size if value_size is None else value_size, size, nobias, initialW, initial_bias)
            self.out = Linear(size, size, nobias, initialW, initial_bias)

    def forward(
        self,
        query: Any,
        key: Any = None,
        value: Any = None,
        attn_mask: Any = None,
        key_mask: Any = None,
        is_causal: bool = False,
    ) -> Variable:
        """Applies the layer.

        Args:
            query: Variable or float array (B, L, size).
            key: Variable or float array (B, S, key_size); the query by default.
            value: Variable or float array (B, S, value_size); the key by default.
            attn_mask: as of the function: bool (True: the query attends to the key) or float (added to the scores),
                of a shape that broadcasts to (B, n_heads, L, S).
            key_mask: bool array (B, S), False for keys that no query attends to, such as padding.
            is_causal: query i attends only to keys 0 to i.

        Returns:
            Variable (B, L, size).

        Raises:
            InvalidType: shapes or dtypes do not fit.
        """
        query = as_variable(query)
        key = query if key is None else as_variable(key)
        value = key if value is None else as_variable(value)
        attn_mask = _combined(attn_mask, key_mask, query, key)
        heads = scaled_dot_product_attention(
            self._heads(self.query, query), self._heads(self.key, key), self._heads(self.value, value),
            attn_mask, self.dropout, is_causal,
        )  # fmt: skip
        y: Variable = self.out(reshape(transpose(heads, (0, 2, 1, 3)), query.shape), n_batch_axes=2)
        return y

    def _heads(self, layer: Linear, x: Variable) -> Variable:
        """The projection of an input, of shape (B, n_heads, length, size / n_heads)."""
        if x.ndim != 3:
            raise _misfit('query, key and value of shape (batch, length, size)', f'{x.shape}')
        y = layer(x, n_batch_axes=2)
        return transpose(reshape(y, (*y.shape[:2], self.n_heads, y.shape[2] // self.n_heads)), (0, 2, 1, 3))


def check_heads(check: LinkArguments, size: Any, n_heads: Any) -> None:
    """Raises TypeError unless both are ints, ValueError unless ``n_heads`` divides ``size``."""
    check.sizes(size=size)
    check.integers(1, n_heads=n_heads)
    if size % n_heads:
        raise check.wrong_value(f'a divisor of size = {size}', 'n_heads', n_heads)


def _combined(attn_mask: Any, key_mask: Any, query: Variable, key: Variable) -> Any:
    """The mask of the function, from that of the scores and that of the keys."""
    if key_mask is None:
        return attn_mask
    allowed = as_array(key_mask)
    if allowed.dtype.kind != 'b' or allowed.shape != key.shape[:2]:
        raise _misfit(f'bool key_mask of shape {key.shape[:2]}', f'{allowed.dtype} {allowed.shape}')
    allowed = allowed[:, None, None, :]
    if attn_mask is None:
        return allowed
    if attn_mask.dtype.kind == 'b':
        return as_array(attn_mask) & allowed
    xp = query.xp
    return attn_mask + xp.where(allowed, 0, -xp.inf).astype(query.dtype)


def _misfit(expected: str, actual: str) -> InvalidType:
    return InvalidType(expected, actual, f'MultiHeadAttention\n\nExpect: {expected}\nActual: {actual}')
