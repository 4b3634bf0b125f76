"""The bilinear layer."""

from __future__ import annotations

from typing import Any

from minichainer.functions.connection.bilinear import bilinear
from minichainer.initializers._generate import _get_initializer
from minichainer.link.link import Link
from minichainer.links._arguments import LinkArguments
from minichainer.variable import Parameter, Variable


class Bilinear(Link):
    """A bilinear map of two vectors, plus a linear map of each, plus a bias.

    See :func:`~minichainer.functions.bilinear` for the formula.

    Args:
        left_size: number of inputs on the left.
        right_size: number of inputs on the right.
        out_size: number of outputs.
        nobias: leaves out the linear maps and the bias.
        initialW: initializer of the bilinear map; LeCun's normal one by default.
        initial_bias: three initializers, of the left map, the right map and the bias; LeCun's normal one and zero by
            default.

    Attributes:
        W: Parameter (left_size, right_size, out_size).
        V1: Parameter (left_size, out_size), unless ``nobias``.
        V2: Parameter (right_size, out_size), unless ``nobias``.
        b: Parameter (out_size,), unless ``nobias``.

    Raises:
        ValueError: ``initial_bias`` is not three initializers.
        AssertionError: an array of initial values has a wrong shape.

    Source: Socher et al., Reasoning With Neural Tensor Networks for Knowledge Base Completion, 2013.

    >>> import numpy as np, minichainer as chainer
    >>> layer = chainer.links.Bilinear(2, 3, 4)
    >>> layer(np.ones((5, 2), np.float32), np.ones((5, 3), np.float32)).shape
    (5, 4)
    """

    def __init__(
        self,
        left_size: int,
        right_size: int,
        out_size: int,
        nobias: bool = False,
        initialW: Any = None,
        initial_bias: Any = None,
    ) -> None:
        check = LinkArguments(self)
        check.sizes(left_size=left_size, right_size=right_size, out_size=out_size)
        check.flags(nobias=nobias)
        check.whole('initialW', initialW, (left_size, right_size, out_size))
        left, right, bias = (None, None, 0) if nobias else _three(check, initial_bias)
        check.whole('initial_bias[0]', left, (left_size, out_size))
        check.whole('initial_bias[1]', right, (right_size, out_size))
        check.whole('initial_bias[2]', bias, (out_size,))
        super().__init__()
        self.in_sizes = (left_size, right_size)
        self.nobias = nobias
        with self.init_scope():
            self.W = Parameter(_get_initializer(initialW), (left_size, right_size, out_size))
            if not nobias:
                self.V1 = Parameter(_get_initializer(left), (left_size, out_size))
                self.V2 = Parameter(_get_initializer(right), (right_size, out_size))
                self.b = Parameter(_get_initializer(bias), (out_size,))

    def forward(self, e1: Any, e2: Any) -> Variable:
        """Applies the layer.

        Args:
            e1: Variable or array (batch, left_size); further axes are taken together.
            e2: Variable or array (batch, right_size).

        Returns:
            Variable (batch, out_size).

        Raises:
            InvalidType: the sizes do not fit.
        """
        if self.nobias:
            return bilinear(e1, e2, self.W)
        return bilinear(e1, e2, self.W, self.V1, self.V2, self.b)

    def zero_grads(self) -> None:
        """Sets the gradients to zeros; the same as :meth:`zerograds`."""
        self.zerograds()


def _three(check: LinkArguments, initial_bias: Any) -> Any:
    if initial_bias is None:
        return None, None, 0
    if not isinstance(initial_bias, (tuple, list)) or len(initial_bias) != 3:
        raise check.wrong_value('a tuple of three initializers, for V1, V2 and b,', 'initial_bias', initial_bias)
    return initial_bias
