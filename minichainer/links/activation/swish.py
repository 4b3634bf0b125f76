"""The swish activation with learned slopes."""

from __future__ import annotations

from typing import Any

from minichainer._once import one_at_a_time
from minichainer.functions.activation.gated import swish
from minichainer.initializers._generate import _get_initializer
from minichainer.link.link import Link
from minichainer.links._arguments import LinkArguments
from minichainer.variable import Parameter, Variable


class Swish(Link):
    r"""Swish, :math:`y = x\, \sigma(\beta x)`, with learned :math:`\beta`.

    Args:
        beta_shape: shape of beta, the first axes of an input after the batch axis; () for one, None to take all axes
            after the first from the data of the first call.
        beta_init: initial beta, a number, an array or an initializer.

    Attributes:
        beta: Parameter of shape ``beta_shape``.

    Source: Ramachandran, Zoph and Le, Searching for Activation Functions, 2017.

    >>> import numpy as np, minichainer as chainer
    >>> chainer.links.Swish(())(np.array([[0, 1]], np.float32)).array.round(3)
    array([[0.   , 0.731]], dtype=float32)
    """

    def __init__(self, beta_shape: Any, beta_init: Any = 1.0) -> None:
        check = LinkArguments(self)
        if beta_shape is not None:
            check.shapes(beta_shape=beta_shape)
        check.given(beta_init=beta_init)
        check.initializers(beta_shape, beta_init=beta_init)
        super().__init__()
        with self.init_scope():
            self.beta = Parameter(_get_initializer(beta_init), beta_shape)

    def forward(self, x: Any) -> Variable:
        """Applies the activation.

        Args:
            x: Variable or float array (batch, *beta_shape, ...).

        Returns:
            Variable of the same shape.

        Raises:
            InvalidType: the shape of beta does not fit.
        """
        if self.beta._data is None:
            with one_at_a_time(self):
                if self.beta._data is None:
                    self.beta.initialize(x.shape[1:])
        return swish(x, self.beta)
