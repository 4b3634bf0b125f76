"""LSTM: long short-term memory, one step at a time."""

from __future__ import annotations

from typing import Any

from minichainer._once import one_at_a_time
from minichainer.functions.array.joining import concat
from minichainer.functions.rnn.gated import lstm
from minichainer.initializers._generate import _get_initializer, generate_array
from minichainer.link.link import Chain
from minichainer.links._arguments import LinkArguments
from minichainer.links.connection.linear import Linear, in_size_of
from minichainer.links.rnn._state import Stateful
from minichainer.variable import Variable


class LSTMBase(Chain):
    """The parameters of an LSTM: the links ``upward`` for the input and ``lateral`` for the state.

    Each computes the gates a, i, f, o of each unit next to each other, as :func:`~minichainer.functions.lstm` expects
    them. The arguments are those of :class:`LSTM`.

    Args:
        in_size: number of inputs; None to take it from the data of the first call. With one size alone, that is
            ``out_size``.
        out_size: number of units.
        lateral_init: initializer of each quarter of the state's weights.
        upward_init: initializer of each quarter of the input's weights.
        bias_init: initializer of the biases of a, i and o; zero by default.
        forget_bias_init: initializer of the bias of the forget gate; one by default.
    """

    def __init__(
        self,
        in_size: int | None,
        out_size: int | None = None,
        lateral_init: Any = None,
        upward_init: Any = None,
        bias_init: Any = None,
        forget_bias_init: Any = None,
    ) -> None:
        if out_size is None:
            in_size, out_size = None, in_size
        check = LinkArguments(self)
        check.optional_sizes(in_size=in_size)
        check.integers(1, out_size=out_size)
        check.initializers((out_size, out_size), lateral_init=lateral_init)
        check.initializers((out_size, in_size), upward_init=upward_init)
        check.initializers((out_size,), bias_init=bias_init, forget_bias_init=forget_bias_init)
        super().__init__()
        size: Any = out_size
        self.state_size = size
        self.lateral_init = lateral_init
        self.upward_init = upward_init
        self.bias_init = 0 if bias_init is None else bias_init
        self.forget_bias_init = 1 if forget_bias_init is None else forget_bias_init
        with self.init_scope():
            self.upward = Linear(in_size, 4 * size, initialW=0)
            self.lateral = Linear(size, 4 * size, nobias=True, initialW=0)
            if in_size is not None:
                self._initialize_params()

    def _initialize_params(self) -> None:
        self._fill(self.upward.W._data)

    def _fill(self, weights: Any) -> None:
        """Initializes the weights of the input and state, and the biases."""
        lateral, upward = _get_initializer(self.lateral_init), _get_initializer(self.upward_init)
        size = self.state_size
        for begin in range(0, 4 * size, size):
            lateral(self.lateral.W._data[begin : begin + size])
            upward(weights[begin : begin + size])
        bias: Any = self.upward.b
        initializers = (self.bias_init, self.bias_init, self.forget_bias_init, self.bias_init)
        for gate, initializer in zip(bias._data.reshape(size, 4).T, initializers, strict=True):
            _get_initializer(initializer)(gate)

    def _prepare(self, x: Any) -> None:
        """Makes the parameters if the size of the input was unknown."""
        W = self.upward.W
        if W._data is not None:
            return
        shape = 4 * self.state_size, in_size_of(x.shape, 1)
        with one_at_a_time(self), self.device.create_context():
            if W._data is None:
                weights = generate_array(W.initializer, shape, self.xp, device=self.device)
                self._fill(weights)
                W._begin_with(weights)


class StatelessLSTM(LSTMBase):
    r"""Long short-term memory whose state is an argument and a result of each call.

    .. math:: c, h = \mathrm{lstm}(c_\mathrm{prev},\; W_u x + b + W_l h_\mathrm{prev})

    See :func:`~minichainer.functions.lstm` for the function, and :class:`LSTM` for the arguments.

    >>> import numpy as np, minichainer as chainer
    >>> cell = chainer.links.StatelessLSTM(3, 2)
    >>> c, h = cell(None, None, np.ones((4, 3), np.float32))
    >>> c, h = cell(c, h, np.ones((4, 3), np.float32))
    >>> h.shape
    (4, 2)
    """

    def forward(self, c: Any, h: Any, x: Any) -> tuple[Variable, Variable]:
        """Applies one step.

        Args:
            c: cells before the step, Variable or array ``(B, out_size)``, or None for zeros.
            h: state before the step, likewise.
            x: inputs ``(B, in_size)``.

        Returns:
            Cells and state after the step.

        Raises:
            InvalidType: shapes or dtypes do not fit.
        """
        self._prepare(x)
        gates = self.upward(x)
        if h is not None:
            gates = gates + self.lateral(h)
        if c is None:
            with self.device.create_context():
                c = Variable(self.xp.zeros((x.shape[0], self.state_size), gates.dtype))
        return lstm(c, gates)


class LSTM(Stateful, LSTMBase):
    r"""Long short-term memory that keeps its state between calls.

    .. math:: c, h \leftarrow \mathrm{lstm}(c,\; W_u x + b + W_l h)

    See :func:`~minichainer.functions.lstm`. Sequences that have ended must be last in the batch; the next inputs are
    those of the other sequences, and the states of ended sequences stay unchanged.

    Args:
        in_size: number of inputs; None to take it from the data of the first call. With one size alone, that is
            ``out_size``.
        out_size: number of units.
        lateral_init: initializer of each quarter of the state's weights.
        upward_init: initializer of each quarter of the input's weights.
        bias_init: initializer of the biases of a, i and o; zero by default.
        forget_bias_init: initializer of the bias of the forget gate; one by default.

    >>> import numpy as np, minichainer as chainer
    >>> layer = chainer.links.LSTM(3, 2)
    >>> for _ in range(3):
    ...     y = layer(np.ones((4, 3), np.float32))
    >>> y.shape, layer.c.shape
    ((4, 2), (4, 2))
    >>> layer.reset_state()
    """

    states = ('c', 'h')

    def __init__(
        self,
        in_size: int | None,
        out_size: int | None = None,
        lateral_init: Any = None,
        upward_init: Any = None,
        bias_init: Any = None,
        forget_bias_init: Any = None,
    ) -> None:
        super().__init__(in_size, out_size, lateral_init, upward_init, bias_init, forget_bias_init)
        self.reset_state()

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
            x: inputs ``(B, in_size)``; B may not grow from one step to the next.

        Returns:
            The state of the sequences of x, Variable ``(B, out_size)``.

        Raises:
            TypeError: there are more sequences than at the step before.
            InvalidType: shapes or dtypes do not fit.
        """
        self._prepare(x)
        batch, h, rest = x.shape[0], self.h, None
        gates = self.upward(x)
        if h is not None:
            if h.shape[0] < batch:
                raise TypeError(
                    f'LSTM: expected no more sequences than at the previous step, got x of shape {x.shape} after a '
                    f'state of shape {h.shape}; call reset_state() before new sequences'
                )
            if h.shape[0] > batch:
                h, rest = h[:batch], h[batch:]
            gates = gates + self.lateral(h)
        c = self.c
        if c is None:
            with self.device.create_context():
                c = Variable(self.xp.zeros((batch, self.state_size), gates.dtype))
        c, y = lstm(c, gates)
        self.c, self.h = c, y if rest is None else concat([y, rest], axis=0)
        return y
