"""The fully connected layer with dropped connections."""

from __future__ import annotations

import math
from typing import Any

from minichainer._once import one_at_a_time
from minichainer.functions.noise.dropconnect import simplified_dropconnect
from minichainer.initializers._generate import _get_initializer
from minichainer.link.link import Link
from minichainer.links._arguments import LinkArguments
from minichainer.variable import Parameter, Variable


class SimplifiedDropconnect(Link):
    """Fully connected layer with random connections dropped.

    See :func:`~minichainer.functions.simplified_dropconnect` for the formula.

    Args:
        in_size: number of inputs; None to take it from the data of the first call.
        out_size: number of outputs.
        ratio: share of the connections that are dropped, in ``[0, 1)``.
        nobias: without b.
        initialW: initializer of W; by default normal with standard deviation ``1 / sqrt(in_size)``.
        initial_bias: initializer of b; zero by default.

    Attributes:
        W: Parameter (out_size, in_size).
        b: Parameter (out_size,), or None.

    Source: Wan et al., Regularization of Neural Networks using DropConnect, 2013.

    >>> import numpy as np, minichainer as chainer
    >>> layer = chainer.links.SimplifiedDropconnect(3, 2)
    >>> layer(np.ones((4, 3), np.float32)).shape
    (4, 2)
    """

    def __init__(
        self,
        in_size: int | None,
        out_size: int,
        ratio: float = 0.5,
        nobias: bool = False,
        initialW: Any = None,
        initial_bias: Any = None,
    ) -> None:
        check = LinkArguments(self)
        check.optional_sizes(in_size=in_size)
        check.sizes(out_size=out_size)
        check.ratios(ratio=ratio)
        check.flags(nobias=nobias)
        check.initializers((out_size, in_size), initialW=initialW)
        check.initializers((out_size,), initial_bias=initial_bias)
        super().__init__()
        self.out_size = out_size
        self.ratio = ratio
        with self.init_scope():
            self.W = Parameter(_get_initializer(initialW))
            if in_size is not None:
                self._initialize_params(in_size)
            bias = _get_initializer(0 if initial_bias is None else initial_bias)
            self.b = None if nobias else Parameter(bias, out_size)

    def _initialize_params(self, in_size: int) -> None:
        self.W.initialize((self.out_size, in_size))

    def forward(self, x: Any, train: bool = True, mask: Any = None, use_batchwise_mask: bool = True) -> Variable:
        """Applies the layer.

        Args:
            x: Variable or float array; the axes after the first are taken together as ``in_size`` numbers.
            train: whether connections are dropped; ``config.train`` is ignored.
            mask: array that says which connections stay, in place of a drawn one. The first one is kept as the
                persistent value ``mask``, as in Chainer.
            use_batchwise_mask: draw other connections for each row of the batch.

        Returns:
            Variable (batch, out_size).

        Raises:
            InvalidType: shapes or dtypes do not fit.
        """
        if self.W._data is None:
            with one_at_a_time(self):
                if self.W._data is None:
                    self._initialize_params(math.prod(x.shape[1:]))
        if mask is not None and 'mask' not in self.__dict__:
            self.add_persistent('mask', mask)
        y: Variable = simplified_dropconnect(x, self.W, self.b, self.ratio, train, mask, use_batchwise_mask)
        return y
