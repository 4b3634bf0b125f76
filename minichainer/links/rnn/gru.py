"""GRU: gated recurrent units, one step at a time."""

from __future__ import annotations

from typing import Any

from minichainer.functions.activation.sigmoidal import sigmoid, tanh
from minichainer.functions.math.scaling import linear_interpolate
from minichainer.link.link import Chain
from minichainer.links._arguments import LinkArguments
from minichainer.links.connection.linear import Linear
from minichainer.links.rnn._state import Stateful, check_states
from minichainer.variable import Variable


class GRUBase(Chain):
    """The parameters of a GRU: ``W_r``, ``W_z``, ``W`` for the input, ``U_r``, ``U_z``, ``U`` for the state.

    The arguments are those of :class:`StatelessGRU`.

    Args:
        in_size: number of inputs; None to take it from the data of the first call.
        out_size: number of units.
        init: initializer of the input's weights.
        inner_init: initializer of the state's weights.
        bias_init: initializer of the biases; zero by default.
    """

    def __init__(
        self, in_size: int | None, out_size: int, init: Any = None, inner_init: Any = None, bias_init: Any = None
    ) -> None:
        check = LinkArguments(self)
        check.optional_sizes(in_size=in_size)
        check.sizes(out_size=out_size)
        check.initializers((out_size, in_size), init=init)
        check.initializers((out_size, out_size), inner_init=inner_init)
        check.initializers((out_size,), bias_init=bias_init)
        super().__init__()
        with self.init_scope():
            self.W_r = Linear(in_size, out_size, initialW=init, initial_bias=bias_init)
            self.U_r = Linear(out_size, out_size, initialW=inner_init, initial_bias=bias_init)
            self.W_z = Linear(in_size, out_size, initialW=init, initial_bias=bias_init)
            self.U_z = Linear(out_size, out_size, initialW=inner_init, initial_bias=bias_init)
            self.W = Linear(in_size, out_size, initialW=init, initial_bias=bias_init)
            self.U = Linear(out_size, out_size, initialW=inner_init, initial_bias=bias_init)


class StatelessGRU(GRUBase):
    r"""Gated recurrent unit whose state is an argument of each call.

    .. math::

        r &= \sigma(W_r x + U_r h) & z &= \sigma(W_z x + U_z h) \\
        \bar h &= \tanh(W x + U (r h)) & h' &= (1 - z) h + z \bar h

    Each product has a bias. From Cho et al., *On the Properties of Neural Machine Translation*, 2014.

    Args:
        in_size: number of inputs; None to take it from the data of the first call.
        out_size: number of units.
        init: initializer of the input's weights.
        inner_init: initializer of the state's weights.
        bias_init: initializer of the biases; zero by default.

    >>> import numpy as np, minichainer as chainer
    >>> cell = chainer.links.StatelessGRU(3, 2)
    >>> cell(np.zeros((4, 2), np.float32), np.ones((4, 3), np.float32)).shape
    (4, 2)
    """

    def forward(self, h: Any, x: Any) -> Variable:
        """Applies one step.

        Args:
            h: state before the step, Variable or array ``(B, out_size)``.
            x: inputs ``(B, in_size)``.

        Returns:
            The state after the step.

        Raises:
            TypeError: one is None.
            InvalidType: shapes or dtypes do not fit.
        """
        if h is None or x is None:
            check_states(self, h=h, x=x)
        r = sigmoid(self.W_r(x) + self.U_r(h))
        z = sigmoid(self.W_z(x) + self.U_z(h))
        return linear_interpolate(z, tanh(self.W(x) + self.U(r * h)), h)


class StatefulGRU(Stateful, GRUBase):
    r"""Gated recurrent unit that keeps its state between calls.

    See :class:`StatelessGRU` for the formulas and the arguments.

    At the first step, without a state, it is :math:`h = \sigma(W_z x) \tanh(W x)`.

    >>> import numpy as np, minichainer as chainer
    >>> layer = chainer.links.StatefulGRU(3, 2)
    >>> for _ in range(3):
    ...     h = layer(np.ones((4, 3), np.float32))
    >>> h.shape
    (4, 2)
    """

    def __init__(
        self, in_size: int | None, out_size: int, init: Any = None, inner_init: Any = None, bias_init: Any = 0
    ) -> None:
        super().__init__(in_size, out_size, init, inner_init, bias_init)
        self.state_size = out_size
        self.reset_state()

    def set_state(self, h: Any) -> None:
        """Sets the state.

        Args:
            h: Variable ``(B, out_size)``.

        Raises:
            AssertionError: it is not a Variable.
        """
        self._set_states(h=h)

    def forward(self, x: Any) -> Variable:
        """Applies one step.

        Args:
            x: inputs ``(B, in_size)``.

        Returns:
            The state after the step, Variable ``(B, out_size)``.

        Raises:
            InvalidType: shapes or dtypes do not fit.
        """
        h = self.h
        if h is None:
            after: Variable = sigmoid(self.W_z(x)) * tanh(self.W(x))
        else:
            after = StatelessGRU.forward(self, h, x)  # type: ignore[arg-type]
        self.h = after
        return after


class GRU(StatefulGRU):
    """Another name of :class:`StatefulGRU`; its arguments are those of :class:`StatelessGRU`.

    >>> import numpy as np, minichainer as chainer
    >>> chainer.links.GRU(3, 2)(np.ones((4, 3), np.float32)).shape
    (4, 2)
    """

    # By position only: a call with the state as the first of two arguments is one of Chainer v1's.
    def forward(self, *args: Any) -> Variable:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Applies one step; see :meth:`StatefulGRU.forward`.

        Raises:
            ValueError: it is called as in Chainer v1, with a state.
        """
        if len(args) != 1:
            raise ValueError(
                f'GRU: expected one argument, the inputs, got {len(args)}. Since Chainer v2 it keeps its state: '
                'use StatelessGRU to pass the state as an argument'
            )
        return super().forward(args[0])
