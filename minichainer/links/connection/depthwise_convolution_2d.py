"""Depthwise convolution of images."""

from __future__ import annotations

from typing import Any

from minichainer.functions.connection.convolution_nd import depthwise_convolution_2d
from minichainer.initializers._generate import _get_initializer
from minichainer.links._arguments import LinkArguments
from minichainer.links.connection.convolution import LazyFilters, per_axis
from minichainer.variable import Parameter, Variable


class DepthwiseConvolution2D(LazyFilters):
    """Convolution of each channel of images by itself, with filters and biases.

    See :func:`~minichainer.functions.depthwise_convolution_2d` for the formula.

    Args:
        in_channels: number of input channels; None to take it from the data of the first call.
        channel_multiplier: number of filters for each channel; the result has ``in_channels`` times as many channels.
        ksize: size of the filters, an int or a pair.
        stride: step of the filters, an int or a pair.
        pad: rows and columns of zeros on each side, an int or a pair.
        nobias: without b.
        initialW: initializer of W; by default normal with standard deviation ``1 / sqrt(in_channels * kh * kw)``.
        initial_bias: initializer of b; zero by default.

    Attributes:
        W: Parameter (channel_multiplier, in_channels, kh, kw).
        b: Parameter (channel_multiplier * in_channels,), or None.

    Source: Chollet, Xception: Deep Learning with Depthwise Separable Convolutions, 2017.

    >>> import numpy as np, minichainer as chainer
    >>> layer = chainer.links.DepthwiseConvolution2D(4, 3, ksize=2)
    >>> layer(np.ones((1, 4, 5, 5), np.float32)).shape
    (1, 12, 4, 4)
    """

    def __init__(
        self,
        in_channels: int | None,
        channel_multiplier: int,
        ksize: Any,
        stride: Any = 1,
        pad: Any = 0,
        nobias: bool = False,
        initialW: Any = None,
        initial_bias: Any = None,
    ) -> None:
        check = LinkArguments(self)
        check.optional_sizes(in_channels=in_channels)
        check.sizes(channel_multiplier=channel_multiplier)
        check.each_axis(2, 1, ksize=ksize, stride=stride)
        check.each_axis(2, 0, pad=pad)
        check.flags(nobias=nobias)
        outputs = None if in_channels is None else channel_multiplier * in_channels
        check.initializers((channel_multiplier, in_channels, *per_axis(ksize, 2)), initialW=initialW)
        check.initializers((outputs,), initial_bias=initial_bias)
        super().__init__()
        self.channel_multiplier = channel_multiplier
        self.ksize = ksize
        self.stride = per_axis(stride, 2)
        self.pad = per_axis(pad, 2)
        self.nobias = nobias
        with self.init_scope():
            self.W = Parameter(_get_initializer(initialW))
            self.b = None if nobias else Parameter(_get_initializer(0 if initial_bias is None else initial_bias))
        if in_channels is not None:
            self._initialize_params(in_channels)

    def _initialize_params(self, in_channels: int) -> None:
        if self.b is not None:
            self.b.initialize((self.channel_multiplier * in_channels,))
        self.W.initialize((self.channel_multiplier, in_channels, *per_axis(self.ksize, 2)))

    def forward(self, x: Any) -> Variable:
        """Applies the layer.

        Args:
            x: Variable or float array (batch, in_channels, height, width).

        Returns:
            Variable (batch, in_channels * channel_multiplier, height, width).

        Raises:
            InvalidType: the sizes do not fit.
        """
        self._prepare(x)
        return depthwise_convolution_2d(x, self.W, self.b, self.stride, self.pad)
