"""Deformable convolution of images."""

from __future__ import annotations

from typing import Any

from minichainer.functions.connection.deformable_convolution_2d_sampler import deformable_convolution_2d_sampler
from minichainer.initializers._generate import _get_initializer
from minichainer.link.link import Chain
from minichainer.links._arguments import LinkArguments
from minichainer.links.connection.convolution import Convolution2D, LazyFilters, per_axis
from minichainer.variable import Parameter, Variable


class DeformableConvolution2D(Chain):
    """Convolution of images at points that are moved by learned offsets.

    See :func:`~minichainer.functions.deformable_convolution_2d_sampler` for the formula; another convolution of the
    images computes the offsets.

    Args:
        in_channels: number of input channels; None to take it from the data of the first call.
        out_channels: number of filters.
        ksize: size of the filters, an int or a pair.
        stride: step of the filters, an int or a pair.
        pad: rows and columns of zeros on each side, an int or a pair.
        offset_nobias: no biases of the offsets.
        offset_initialW: initializer of the filters of the offsets; by default normal with standard deviation
            ``1 / sqrt(in_channels * kh * kw)``.
        offset_initial_bias: initializer of the biases of the offsets; zero by default.
        deform_nobias: no biases of the result.
        deform_initialW: initializer of the filters; zero by default, as in Chainer: give another one, such as
            ``initializers.LeCunNormal()``.
        deform_initial_bias: initializer of the biases; zero by default.

    Attributes:
        offset_conv: Convolution2D with two outputs for each element of the filters.
        deform_conv: link with W (out_channels, in_channels, kh, kw) and b (out_channels,).

    Source: Dai et al., Deformable Convolutional Networks, 2017.

    >>> import numpy as np, minichainer as chainer
    >>> layer = chainer.links.DeformableConvolution2D(4, 3, ksize=2)
    >>> layer(np.ones((1, 4, 5, 5), np.float32)).shape
    (1, 3, 4, 4)
    """

    def __init__(
        self,
        in_channels: int | None,
        out_channels: int,
        ksize: Any,
        stride: Any = 1,
        pad: Any = 0,
        offset_nobias: bool = False,
        offset_initialW: Any = None,
        offset_initial_bias: Any = None,
        deform_nobias: bool = False,
        deform_initialW: Any = None,
        deform_initial_bias: Any = None,
    ) -> None:
        check = LinkArguments(self)
        check.optional_sizes(in_channels=in_channels)
        check.sizes(out_channels=out_channels)
        check.each_axis(2, 1, ksize=ksize, stride=stride)
        check.each_axis(2, 0, pad=pad)
        check.flags(offset_nobias=offset_nobias, deform_nobias=deform_nobias)
        kh, kw = per_axis(ksize, 2)
        check.initializers((2 * kh * kw, in_channels, kh, kw), offset_initialW=offset_initialW)
        check.initializers((2 * kh * kw,), offset_initial_bias=offset_initial_bias)
        check.initializers((out_channels, in_channels, kh, kw), deform_initialW=deform_initialW)
        check.initializers((out_channels,), deform_initial_bias=deform_initial_bias)
        super().__init__()
        with self.init_scope():
            self.offset_conv = Convolution2D(
                in_channels, 2 * kh * kw, ksize, stride, pad, offset_nobias, offset_initialW, offset_initial_bias
            )
            self.deform_conv = DeformableConvolution2DSampler(
                in_channels, out_channels, ksize, stride, pad, deform_nobias, deform_initialW, deform_initial_bias
            )

    def forward(self, x: Any) -> Variable:
        """Applies the layer.

        Args:
            x: Variable or float array (batch, in_channels, height, width).

        Returns:
            Variable (batch, out_channels, out_h, out_w).

        Raises:
            InvalidType: the sizes do not fit.
        """
        y: Variable = self.deform_conv(x, self.offset_conv(x))
        return y


class DeformableConvolution2DSampler(LazyFilters):
    """The part of :class:`DeformableConvolution2D` that takes the offsets as an input; the same arguments."""

    def __init__(
        self,
        in_channels: int | None,
        out_channels: int,
        ksize: Any,
        stride: Any = 1,
        pad: Any = 0,
        nobias: bool = False,
        initialW: Any = None,
        initial_bias: Any = None,
    ) -> None:
        super().__init__()
        self.out_channels = out_channels
        self.ksize = ksize
        self.stride = per_axis(stride, 2)
        self.pad = per_axis(pad, 2)
        with self.init_scope():
            self.W = Parameter(_get_initializer(0 if initialW is None else initialW))
            self.b = None if nobias else Parameter(_get_initializer(0 if initial_bias is None else initial_bias))
        if in_channels is not None:
            self._initialize_params(in_channels)

    def _initialize_params(self, in_channels: int) -> None:
        if self.b is not None:
            self.b.initialize((self.out_channels,))
        self.W.initialize((self.out_channels, in_channels, *per_axis(self.ksize, 2)))

    def forward(self, x: Any, offset: Any) -> Variable:
        """The convolution at the moved points."""
        self._prepare(x)
        return deformable_convolution_2d_sampler(x, offset, self.W, self.b, self.stride, self.pad)
