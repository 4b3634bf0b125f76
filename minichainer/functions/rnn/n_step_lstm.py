"""Layers of long short-term memory over batches of sequences."""

from __future__ import annotations

from typing import Any

from minichainer.functions.rnn._n_step import LSTM, n_step
from minichainer.functions.rnn._removed import check_kwargs
from minichainer.variable import Variable


def n_step_lstm(
    n_layers: int, dropout_ratio: float, hx: Any, cx: Any, ws: Any, bs: Any, xs: Any, **kwargs: Any
) -> tuple[Variable, Variable, tuple[Variable, ...]]:
    r"""Layers of long short-term memory over a batch of sequences.

    Each layer computes from its input :math:`x_t`

    .. math::

        i &= \sigma(W_0 x_t + W_4 h_{t-1} + b_0 + b_4) & f &= \sigma(W_1 x_t + W_5 h_{t-1} + b_1 + b_5) \\
        g &= \tanh(W_2 x_t + W_6 h_{t-1} + b_2 + b_6) & o &= \sigma(W_3 x_t + W_7 h_{t-1} + b_3 + b_7) \\
        c_t &= f c_{t-1} + i g & h_t &= o \tanh(c_t)

    Args:
        n_layers: number of layers.
        dropout_ratio: probability with which an element between two layers is dropped, in ``[0, 1)``, where
            ``config.train`` is true.
        hx: first states, Variable or float array ``(n_layers, B, units)``.
        cx: first cells, likewise.
        ws: for each layer a list of :math:`W_0, \dots, W_7`, the first four ``(units, inputs)``, the others
            ``(units, units)``; ``inputs`` of the second and further layers are ``units``.
        bs: for each layer a list of :math:`b_0, \dots, b_7`, ``(units,)``.
        xs: for each step the inputs ``(B_t, inputs)`` of the sequences that have it. The sequences are in order of
            decreasing length: :math:`B \ge B_0 \ge B_1 \ge \dots`.

    Returns:
        Tuple of the last states and the last cells, each of the shape of ``hx``, and a tuple of the last layer's
        :math:`h_t`, ``(B_t, units)``.

    Raises:
        InvalidType: shapes or dtypes do not fit, or a step has more sequences than the one before.
        ValueError: the number of inputs is not that of the weights, there are more or less weights than needed, or
            ``dropout_ratio`` is out of range.

    >>> import numpy as np, minichainer.functions as F
    >>> states = np.zeros((1, 2, 3))
    >>> ws, bs = [[np.ones((3, 4))] * 4 + [np.ones((3, 3))] * 4], [[np.zeros(3)] * 8]
    >>> hy, cy, ys = F.n_step_lstm(1, 0., states, states, ws, bs, [np.ones((2, 4)), np.ones((1, 4))])
    >>> hy.shape, [y.shape for y in ys]
    ((1, 2, 3), [(2, 3), (1, 3)])
    """
    check_kwargs(kwargs)
    hy, cy, ys = n_step(LSTM, 1, n_layers, dropout_ratio, (hx, cx), ws, bs, xs)
    return hy, cy, ys


def n_step_bilstm(
    n_layers: int, dropout_ratio: float, hx: Any, cx: Any, ws: Any, bs: Any, xs: Any, **kwargs: Any
) -> tuple[Variable, Variable, tuple[Variable, ...]]:
    """Layers of long short-term memory in both directions over a batch of sequences.

    Each layer processes the sequences forward and backward like :func:`n_step_lstm`, and concatenates both outputs.

    Args:
        n_layers: number of layers.
        dropout_ratio: as for :func:`n_step_lstm`.
        hx: first states, Variable or float array ``(2 * n_layers, B, units)``: forward and backward of the first
            layer, then of the second, and so on.
        cx: first cells, likewise.
        ws: in that order, a list of eight weights each; see :func:`n_step_lstm`. ``inputs`` of the second and
            further layers are ``2 * units``.
        bs: in that order, a list of eight biases each.
        xs: for each step the inputs ``(B_t, inputs)``, see :func:`n_step_lstm`.

    Returns:
        Tuple of the last states and the last cells, each of the shape of ``hx``, and a tuple of the last layer's
        outputs ``(B_t, 2 * units)``.

    Raises:
        InvalidType: as for :func:`n_step_lstm`.
        ValueError: as for :func:`n_step_lstm`.

    >>> import numpy as np, minichainer.functions as F
    >>> states = np.zeros((2, 2, 3))
    >>> ws, bs = [[np.ones((3, 4))] * 4 + [np.ones((3, 3))] * 4] * 2, [[np.zeros(3)] * 8] * 2
    >>> hy, cy, ys = F.n_step_bilstm(1, 0., states, states, ws, bs, [np.ones((2, 4)), np.ones((1, 4))])
    >>> hy.shape, [y.shape for y in ys]
    ((2, 2, 3), [(2, 6), (1, 6)])
    """
    check_kwargs(kwargs)
    hy, cy, ys = n_step(LSTM, 2, n_layers, dropout_ratio, (hx, cx), ws, bs, xs)
    return hy, cy, ys
