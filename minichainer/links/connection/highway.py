"""The highway layer."""

from __future__ import annotations

from typing import Any

from minichainer.functions.activation.rectifiers import relu
from minichainer.functions.activation.sigmoidal import sigmoid
from minichainer.functions.math.scaling import linear_interpolate
from minichainer.link.link import Chain
from minichainer.links._arguments import LinkArguments
from minichainer.links.connection.linear import Linear
from minichainer.variable import Variable


class Highway(Chain):
    r"""Highway layer: a gate mixes a layer's result with its input.

    .. math:: y = t \odot f(W_h x + b_h) + (1 - t) \odot x, \quad t = \sigma(W_t x + b_t)

    Args:
        in_out_size: number of inputs and of outputs.
        nobias: without biases.
        activate: the function f.
        init_Wh: initializer of W_h; by default normal with standard deviation ``1 / sqrt(in_out_size)``.
        init_Wt: initializer of W_t, likewise.
        init_bh: initializer of b_h; zero by default.
        init_bt: initializer of b_t; negative, so that the layer passes its input on at first.

    Attributes:
        plain: Linear with W_h and b_h.
        transform: Linear with W_t and b_t.

    Source: Srivastava, Greff and Schmidhuber, Highway Networks, 2015.

    >>> import numpy as np, minichainer as chainer
    >>> chainer.links.Highway(3)(np.ones((4, 3), np.float32)).shape
    (4, 3)
    """

    def __init__(
        self,
        in_out_size: int,
        nobias: bool = False,
        activate: Any = relu,
        init_Wh: Any = None,
        init_Wt: Any = None,
        init_bh: Any = None,
        init_bt: Any = -1,
    ) -> None:
        check = LinkArguments(self)
        check.sizes(in_out_size=in_out_size)
        check.flags(nobias=nobias)
        check.callables(activate=activate)
        check.initializers((in_out_size, in_out_size), init_Wh=init_Wh, init_Wt=init_Wt)
        check.initializers((in_out_size,), init_bh=init_bh, init_bt=init_bt)
        super().__init__()
        self.activate = activate
        with self.init_scope():
            self.plain = Linear(in_out_size, in_out_size, nobias, init_Wh, init_bh)
            self.transform = Linear(in_out_size, in_out_size, nobias, init_Wt, init_bt)

    def forward(self, x: Any) -> Variable:
        """Applies the layer.

        Args:
            x: Variable or float array (batch, in_out_size).

        Returns:
            Variable of the same shape.

        Raises:
            InvalidType: the sizes do not fit.
        """
        return linear_interpolate(sigmoid(self.transform(x)), self.activate(self.plain(x)), x)
