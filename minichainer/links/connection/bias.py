"""Bias: a sum with a learned array."""

from __future__ import annotations

from typing import Any

from minichainer.errors import CountError
from minichainer.functions.math.scaling import bias
from minichainer.link.link import Link
from minichainer.links._arguments import LinkArguments
from minichainer.variable import Parameter, Variable


class Bias(Link):
    """Sum with a learned array that is repeated along other axes; see :func:`~minichainer.functions.bias`.

    Args:
        axis: the axis of the input that is the first of the bias.
        shape: shape of the bias, an int or a tuple; None for a link without parameters, which takes the bias as its
            second input.

    Attributes:
        b: Parameter of shape ``shape``, zero at first; None without ``shape``.

    >>> import numpy as np, minichainer as chainer
    >>> chainer.links.Bias(shape=(3,))(np.ones((2, 3, 4), np.float32)).shape
    (2, 3, 4)
    """

    def __init__(self, axis: int = 1, shape: Any = None) -> None:
        check = LinkArguments(self)
        check.integers(axis=axis)
        if shape is not None:
            check.shapes(shape=shape)
        super().__init__()
        self.axis = axis
        if shape is not None:
            with self.init_scope():
                self.b = Parameter(0, shape)

    def forward(self, *xs: Any) -> Variable:
        """Adds the bias.

        Args:
            xs: Variable or float array; and the bias, if the link has none.

        Returns:
            Variable of the shape of the first.

        Raises:
            ValueError: there are too many or too few arguments.
            InvalidType: the shapes do not fit.
        """
        return bias(*with_parameter(self, xs, getattr(self, 'b', None)), self.axis)


def with_parameter(link: Link, xs: tuple[Any, ...], param: Any) -> tuple[Any, Any]:
    """The two arrays that a link combines: one may be its parameter."""
    if len(xs) != (2 if param is None else 1):
        expected = 'two inputs, because it has no parameter' if param is None else 'one input'
        raise CountError(f'{type(link).__name__}: expected {expected}, got {len(xs)}')
    return (xs[0], xs[1]) if param is None else (xs[0], param)
