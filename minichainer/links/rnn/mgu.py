"""MGU: minimal gated units, one step at a time."""

from __future__ import annotations

from typing import Any

from minichainer.functions.activation.sigmoidal import sigmoid, tanh
from minichainer.functions.array.joining import concat
from minichainer.functions.math.scaling import linear_interpolate
from minichainer.link.link import Chain
from minichainer.links._arguments import LinkArguments
from minichainer.links.connection.linear import Linear
from minichainer.links.rnn._state import Stateful, check_states
from minichainer.variable import Variable


class MGUBase(Chain):
    """The parameters of an MGU: ``W_f`` for the gate and ``W_h`` for the candidate, from state and input together.

    Args:
        n_inputs: number of inputs.
        n_units: number of units.
    """

    #: What a class calls its sizes.
    size_names = ('n_inputs', 'n_units')

    def __init__(self, n_inputs: int, n_units: int) -> None:
        LinkArguments(self).sizes(**dict(zip(self.size_names, (n_inputs, n_units), strict=True)))
        super().__init__()
        with self.init_scope():
            self.W_f = Linear(n_inputs + n_units, n_units)
            self.W_h = Linear(n_inputs + n_units, n_units)

    def _step(self, h: Any, x: Any) -> Variable:
        f = sigmoid(self.W_f(concat([h, x])))
        return linear_interpolate(f, tanh(self.W_h(concat([f * h, x]))), h)


class StatelessMGU(MGUBase):
    r"""Minimal gated unit whose state is an argument of each call.

    .. math:: f = \sigma(W_f [h, x]), \quad \bar h = \tanh(W_h [f h, x]), \quad h' = (1 - f) h + f \bar h

    Each product has a bias. From Zhou et al., *Minimal Gated Unit for Recurrent Neural Networks*, 2016.

    Args:
        n_inputs: number of inputs.
        n_units: number of units.

    >>> import numpy as np, minichainer as chainer
    >>> cell = chainer.links.StatelessMGU(3, 2)
    >>> cell(np.zeros((4, 2), np.float32), np.ones((4, 3), np.float32)).shape
    (4, 2)
    """

    def forward(self, h: Any, x: Any) -> Variable:
        """Applies one step.

        Args:
            h: state before the step, Variable or array ``(B, n_units)``.
            x: inputs ``(B, n_inputs)``.

        Returns:
            The state after the step.

        Raises:
            TypeError: one is None.
            InvalidType: shapes or dtypes do not fit.
        """
        if h is None or x is None:
            check_states(self, h=h, x=x)
        return self._step(h, x)


class StatefulMGU(Stateful, MGUBase):
    """Minimal gated unit that keeps its state between calls; see :class:`StatelessMGU` for the formulas.

    Args:
        in_size: number of inputs.
        out_size: number of units.

    >>> import numpy as np, minichainer as chainer
    >>> layer = chainer.links.StatefulMGU(3, 2)
    >>> for _ in range(3):
    ...     h = layer(np.ones((4, 3), np.float32))
    >>> h.shape
    (4, 2)
    """

    size_names = ('in_size', 'out_size')

    def __init__(self, in_size: int, out_size: int) -> None:
        super().__init__(in_size, out_size)
        self._state_size = out_size
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
        before = self.h
        if before is None:
            with self.device.create_context():
                before = Variable(self.xp.zeros((x.shape[0], self._state_size), x.dtype))
        self.h = after = self._step(before, x)
        return after
