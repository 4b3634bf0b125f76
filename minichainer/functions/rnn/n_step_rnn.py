"""Plain recurrent layers over batches of sequences."""

from __future__ import annotations

from typing import Any

from minichainer.functions.rnn._n_step import ELMAN, Kind, n_step
from minichainer.functions.rnn._removed import check_kwargs
from minichainer.variable import Variable


def n_step_rnn(
    n_layers: int, dropout_ratio: float, hx: Any, ws: Any, bs: Any, xs: Any, activation: str = 'tanh', **kwargs: Any
) -> tuple[Variable, tuple[Variable, ...]]:
    r"""Plain recurrent layers over a batch of sequences.

    Each layer computes from its input :math:`x_t`

    .. math:: h_t = a(W_0 x_t + W_1 h_{t-1} + b_0 + b_1)

    Args:
        n_layers: number of layers.
        dropout_ratio: probability with which an element between two layers is dropped, in ``[0, 1)``, where
            ``config.train`` is true.
        hx: first states, Variable or float array ``(n_layers, B, units)``.
        ws: for each layer a list of :math:`W_0`, ``(units, inputs)``, and :math:`W_1`, ``(units, units)``;
            ``inputs`` of the second and further layers are ``units``.
        bs: for each layer a list of :math:`b_0` and :math:`b_1`, ``(units,)``.
        xs: for each step the inputs ``(B_t, inputs)`` of the sequences that have it. The sequences are in order of
            decreasing length: :math:`B \ge B_0 \ge B_1 \ge \dots`.
        activation: a, ``'tanh'`` or ``'relu'``.

    Returns:
        Tuple of the last states, of the shape of ``hx``, and a tuple of the last layer's :math:`h_t`,
        ``(B_t, units)``.

    Raises:
        InvalidType: shapes or dtypes do not fit, or a step has more sequences than the one before.
        ValueError: ``activation`` is unknown, the number of inputs is not that of the weights, there are more or
            less weights than needed, or ``dropout_ratio`` is out of range.

    >>> import numpy as np, minichainer.functions as F
    >>> ws, bs = [[np.ones((3, 4)), np.ones((3, 3))]], [[np.zeros(3), np.zeros(3)]]
    >>> hy, ys = F.n_step_rnn(1, 0., np.zeros((1, 2, 3)), ws, bs, [np.ones((2, 4)), np.ones((1, 4))])
    >>> hy.shape, [y.shape for y in ys]
    ((1, 2, 3), [(2, 3), (1, 3)])
    """
    check_kwargs(kwargs)
    hy, ys = n_step(_kind(activation), 1, n_layers, dropout_ratio, (hx,), ws, bs, xs)
    return hy, ys


def n_step_birnn(
    n_layers: int, dropout_ratio: float, hx: Any, ws: Any, bs: Any, xs: Any, activation: str = 'tanh', **kwargs: Any
) -> tuple[Variable, tuple[Variable, ...]]:
    """Plain recurrent layers in both directions over a batch of sequences.

    Each layer processes the sequences forward and backward like :func:`n_step_rnn`, and concatenates both outputs.

    Args:
        n_layers: number of layers.
        dropout_ratio: as for :func:`n_step_rnn`.
        hx: first states, Variable or float array ``(2 * n_layers, B, units)``: forward and backward of the first
            layer, then of the second, and so on.
        ws: in that order, a list of two weights each; see :func:`n_step_rnn`. ``inputs`` of the second and further
            layers are ``2 * units``.
        bs: in that order, a list of two biases each.
        xs: for each step the inputs ``(B_t, inputs)``, see :func:`n_step_rnn`.
        activation: ``'tanh'`` or ``'relu'``.

    Returns:
        Tuple of the last states, of the shape of ``hx``, and a tuple of the last layer's outputs
        ``(B_t, 2 * units)``.

    Raises:
        InvalidType: as for :func:`n_step_rnn`.
        ValueError: as for :func:`n_step_rnn`.

    >>> import numpy as np, minichainer.functions as F
    >>> ws, bs = [[np.ones((3, 4)), np.ones((3, 3))]] * 2, [[np.zeros(3), np.zeros(3)]] * 2
    >>> hy, ys = F.n_step_birnn(1, 0., np.zeros((2, 2, 3)), ws, bs, [np.ones((2, 4)), np.ones((1, 4))])
    >>> hy.shape, [y.shape for y in ys]
    ((2, 2, 3), [(2, 6), (1, 6)])
    """
    check_kwargs(kwargs)
    hy, ys = n_step(_kind(activation), 2, n_layers, dropout_ratio, (hx,), ws, bs, xs)
    return hy, ys


def _kind(activation: str) -> Kind:
    if not isinstance(activation, str) or activation not in ELMAN:
        raise ValueError(f"n_step_rnn: activation must be 'tanh' or 'relu', got {activation!r}")
    return ELMAN[activation]
