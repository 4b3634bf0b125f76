"""Stateful variants of the LSTM: with peepholes, and with zoneout."""

from __future__ import annotations

from typing import Any

from minichainer.functions.activation.sigmoidal import sigmoid, tanh
from minichainer.functions.array.shape import reshape
from minichainer.functions.noise.zoneout import zoneout
from minichainer.functions.rnn.gated import lstm
from minichainer.links._arguments import LinkArguments
from minichainer.links.connection.linear import Linear
from minichainer.links.rnn._state import Stateful
from minichainer.utils.argument import assert_kwargs_empty
from minichainer.variable import Variable


class _WithCells(Stateful):
    """A layer with states c and h, and links ``upward`` and ``lateral`` that compute the gates."""

    states = ('c', 'h')

    def __init__(self, in_size: int | None, out_size: int) -> None:
        check = LinkArguments(self)
        check.optional_sizes(in_size=in_size)
        check.sizes(out_size=out_size)
        super().__init__()
        self.state_size = out_size
        self.reset_state()
        with self.init_scope():
            self.upward = Linear(in_size, 4 * out_size)
            self.lateral = Linear(out_size, 4 * out_size, nobias=True)

    def _gates(self, x: Any) -> Variable:
        gates: Variable = self.upward(x)
        return gates if self.h is None else gates + self.lateral(self.h)

    def _zeros_like_state(self, gates: Variable) -> Variable:
        with self.device.create_context():
            return Variable(self.xp.zeros((gates.shape[0], self.state_size), gates.dtype))


class StatefulPeepholeLSTM(_WithCells):
    r"""Long short-term memory with peepholes from the cells to the gates, which keeps its state between calls.

    With :math:`W_u x + b + W_l h` split into :math:`a, i, f, o`, which are next to each other for each unit:

    .. math::

        c' &= \tanh(a)\, \sigma(i + P_i c) + c\, \sigma(f + P_f c) \\
        h' &= \tanh(c')\, \sigma(o + P_o c')

    From Gers and Schmidhuber, *Recurrent Nets that Time and Count*, 2000.

    Args:
        in_size: number of inputs; None to take it from the data of the first call.
        out_size: number of units.

    >>> import numpy as np, minichainer as chainer
    >>> layer = chainer.links.StatefulPeepholeLSTM(3, 2)
    >>> for _ in range(3):
    ...     h = layer(np.ones((4, 3), np.float32))
    >>> h.shape
    (4, 2)
    """

    def __init__(self, in_size: int | None, out_size: int) -> None:
        super().__init__(in_size, out_size)
        with self.init_scope():
            self.peep_i = Linear(out_size, out_size, nobias=True)
            self.peep_f = Linear(out_size, out_size, nobias=True)
            self.peep_o = Linear(out_size, out_size, nobias=True)

    def forward(self, x: Any) -> Variable:
        """Applies one step.

        Args:
            x: inputs ``(B, in_size)``.

        Returns:
            The state after the step, Variable ``(B, out_size)``.

        Raises:
            InvalidType: shapes or dtypes do not fit.
        """
        gates = self._gates(x)
        planes = reshape(gates, (gates.shape[0], self.state_size, 4))
        a, i, f, o = [planes[:, :, k] for k in range(4)]
        c = self._zeros_like_state(gates) if self.c is None else self.c
        i, f = i + self.peep_i(c), f + self.peep_f(c)  # also at the first step: gradients of zeros, not None
        c = tanh(a) * sigmoid(i) + c * sigmoid(f)
        h: Variable = tanh(c) * sigmoid(o + self.peep_o(c))
        self.c, self.h = c, h
        return h


class StatefulZoneoutLSTM(_WithCells):
    r"""Long short-term memory with zoneout, which keeps random elements of its state; keeps its state between calls.

    .. math:: c', h' = \mathrm{lstm}(c,\; W_u x + b + W_l h)

    as :func:`~minichainer.functions.lstm`; if ``config.train`` is true, each element of c stays unchanged with
    probability ``c_ratio``, and each element of h with ``h_ratio``.

    Args:
        in_size: number of inputs; None to take it from the data of the first call.
        out_size: number of units.
        c_ratio: probability with which an element of the cells stays.
        h_ratio: probability with which an element of the state stays.

    >>> import numpy as np, minichainer as chainer
    >>> layer = chainer.links.StatefulZoneoutLSTM(3, 2)
    >>> for _ in range(3):
    ...     h = layer(np.ones((4, 3), np.float32))
    >>> h.shape
    (4, 2)
    """

    def __init__(
        self, in_size: int | None, out_size: int, c_ratio: float = 0.5, h_ratio: float = 0.5, **kwargs: Any
    ) -> None:
        if kwargs:
            assert_kwargs_empty(kwargs)
        LinkArguments(self).numbers(0, 1, c_ratio=c_ratio, h_ratio=h_ratio)
        super().__init__(in_size, out_size)
        self.c_ratio = c_ratio
        self.h_ratio = h_ratio

    def set_state(self, c: Any, h: Any) -> None:
        """Sets the state.

        Args:
            c: cells, Variable ``(B, out_size)``.
            h: state, Variable ``(B, out_size)``.

        Raises:
            AssertionError: one is not a Variable.
        """
        self._set_states(c=c, h=h)

    def forward(self, x: Any) -> Variable:
        """Applies one step.

        Args:
            x: inputs ``(B, in_size)``.

        Returns:
            The state after the step, Variable ``(B, out_size)``.

        Raises:
            InvalidType: shapes or dtypes do not fit.
        """
        gates = self._gates(x)
        before_c = self._zeros_like_state(gates) if self.c is None else self.c
        before_h = self._zeros_like_state(gates) if self.h is None else self.h
        c, h = lstm(before_c, gates)
        c = zoneout(before_c, c, self.c_ratio)
        after: Variable = zoneout(before_h, h, self.h_ratio)
        self.c, self.h = c, after
        return after
