"""The rectifier with learned slopes."""

from __future__ import annotations

from typing import Any

from minichainer.functions.activation.parametric import prelu
from minichainer.initializers._generate import _get_initializer
from minichainer.link.link import Link
from minichainer.links._arguments import LinkArguments
from minichainer.variable import Parameter, Variable


class PReLU(Link):
    """Parametric rectified linear unit: the slopes for negative values are learned.

    See :func:`~minichainer.functions.prelu`.

    Args:
        shape: shape of the slopes, the first axes of an input after the batch axis; () for one slope.
        init: initial slope, a number, an array or an initializer.

    Attributes:
        W: Parameter of shape ``shape``.

    Source: He et al., Delving Deep into Rectifiers, 2015.

    >>> import numpy as np, minichainer as chainer
    >>> chainer.links.PReLU()(np.array([[-4, 2]], np.float32))
    variable([[-1.,  2.]])
    """

    def __init__(self, shape: Any = (), init: Any = 0.25) -> None:
        check = LinkArguments(self)
        if shape is not None:
            check.shapes(shape=shape)
        check.given(init=init)
        check.initializers(shape, init=init)
        super().__init__()
        with self.init_scope():
            self.W = Parameter(_get_initializer(init), shape)

    def forward(self, x: Any) -> Variable:
        """Applies the activation.

        Args:
            x: Variable or float array (batch, *shape, ...).

        Returns:
            Variable of the same shape.
        """
        return prelu(x, self.W)
