"""Scale: a product with a learned array."""

from __future__ import annotations

from typing import Any

from minichainer.functions.math.scaling import scale
from minichainer.link.link import Chain
from minichainer.links._arguments import LinkArguments
from minichainer.links.connection.bias import Bias, with_parameter
from minichainer.variable import Parameter, Variable


class Scale(Chain):
    """Product with a learned array that is repeated along other axes; see :func:`~minichainer.functions.scale`.

    Args:
        axis: the axis of the input that is the first of the factors.
        W_shape: shape of the factors, an int or a tuple; None for a link that takes them as its second input.
        bias_term: whether a :class:`Bias` is added to the product.
        bias_shape: shape of the bias if ``W_shape`` is None.

    Attributes:
        W: Parameter of shape ``W_shape``, one at first; None without ``W_shape``.
        bias: Bias, or None.

    Raises:
        ValueError: there is a bias, and neither shape is given.

    >>> import numpy as np, minichainer as chainer
    >>> chainer.links.Scale(W_shape=(3,), bias_term=True)(np.ones((2, 3, 4), np.float32)).shape
    (2, 3, 4)
    """

    def __init__(self, axis: int = 1, W_shape: Any = None, bias_term: bool = False, bias_shape: Any = None) -> None:
        check = LinkArguments(self)
        check.integers(axis=axis)
        check.flags(bias_term=bias_term)
        check.shapes(**{k: v for k, v in (('W_shape', W_shape), ('bias_shape', bias_shape)) if v is not None})
        shape = bias_shape if W_shape is None else W_shape
        if bias_term and shape is None:
            raise check.wrong_value(
                'the shape of the bias, where W_shape is None and bias_term is true,', 'bias_shape', None
            )
        super().__init__()
        self.axis = axis
        with self.init_scope():
            if W_shape is not None:
                self.W = Parameter(1, W_shape)
            if bias_term:
                self.bias = Bias(axis, shape)

    def forward(self, *xs: Any) -> Variable:
        """Multiplies, and adds the bias.

        Args:
            xs: Variable or float array; and the factors, if the link has none.

        Returns:
            Variable of the shape of the first.

        Raises:
            ValueError: there are too many or too few arguments.
            InvalidType: the shapes do not fit.
        """
        y = scale(*with_parameter(self, xs, getattr(self, 'W', None)), self.axis)
        return self.bias(y) if hasattr(self, 'bias') else y
