"""The inception module."""

from __future__ import annotations

from typing import Any

from minichainer.functions.activation.rectifiers import relu
from minichainer.functions.array.joining import concat
from minichainer.functions.pooling.max_pooling_nd import max_pooling_2d
from minichainer.link.link import Chain
from minichainer.links._arguments import LinkArguments
from minichainer.links.connection.convolution import Convolution2D
from minichainer.variable import Variable


class Inception(Chain):
    r"""Convolutions of three sizes and a pooling in parallel, with concatenated channels.

    .. math::

        y = r([C_1 x,\; C_3\, r(P_3 x),\; C_5\, r(P_5 x),\; P\, \mathrm{maxpool}_3(x)]), \quad r = \mathrm{relu}

    Args:
        in_channels: channels of the input; None to take them from the data of the first call.
        out1: channels of the 1x1 convolution.
        proj3: channels of the 1x1 convolution before the 3x3 one.
        out3: channels of the 3x3 convolution.
        proj5: channels of the 1x1 convolution before the 5x5 one.
        out5: channels of the 5x5 convolution.
        proj_pool: channels of the 1x1 convolution after the pooling.
        conv_init: initializer of all filters, as of :class:`Convolution2D`.
        bias_init: initializer of all biases.

    Source: Szegedy et al., Going Deeper with Convolutions, 2014.

    >>> import numpy as np, minichainer as chainer
    >>> chainer.links.Inception(3, 1, 2, 3, 2, 4, 5)(np.ones((2, 3, 6, 6), np.float32)).shape
    (2, 13, 6, 6)
    """

    def __init__(
        self,
        in_channels: int | None,
        out1: int,
        proj3: int,
        out3: int,
        proj5: int,
        out5: int,
        proj_pool: int,
        conv_init: Any = None,
        bias_init: Any = None,
    ) -> None:
        check = LinkArguments(self)
        check.optional_sizes(in_channels=in_channels)
        check.sizes(out1=out1, proj3=proj3, out3=out3, proj5=proj5, out5=out5, proj_pool=proj_pool)
        ones, others = [(out1, 1), (proj3, 1), (proj5, 1), (proj_pool, 1)], [(out3, proj3, 3), (out5, proj5, 5)]
        filters = [(n, in_channels, k, k) for n, k in ones] + [(n, m, k, k) for n, m, k in others]
        check.common_initializers(filters, conv_init=conv_init)
        check.common_initializers([shape[:1] for shape in filters], bias_init=bias_init)
        super().__init__()

        def convolution(channels: int | None, outputs: int, ksize: int) -> Convolution2D:
            return Convolution2D(channels, outputs, ksize, pad=ksize // 2, initialW=conv_init, initial_bias=bias_init)

        with self.init_scope():
            self.conv1 = convolution(in_channels, out1, 1)
            self.proj3 = convolution(in_channels, proj3, 1)
            self.conv3 = convolution(proj3, out3, 3)
            self.proj5 = convolution(in_channels, proj5, 1)
            self.conv5 = convolution(proj5, out5, 5)
            self.projp = convolution(in_channels, proj_pool, 1)

    def forward(self, x: Any) -> Variable:
        """Applies the module.

        Args:
            x: images (N, in_channels, h, w), Variable or array.

        Returns:
            Variable (N, out1 + out3 + out5 + proj_pool, h, w).

        Raises:
            InvalidType: ``x`` has another number of channels.
        """
        pooled = max_pooling_2d(x, 3, stride=1, pad=1)
        branches = (
            self.conv1(x),
            self.conv3(relu(self.proj3(x))),
            self.conv5(relu(self.proj5(x))),
            self.projp(pooled),
        )
        y: Variable = relu(concat(branches, axis=1))
        return y
