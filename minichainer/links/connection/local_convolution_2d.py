"""Convolution of images with different filters at each pixel."""

from __future__ import annotations

from typing import Any

from minichainer.functions.connection.local_convolution_2d import local_convolution_2d
from minichainer.initializers._generate import _get_initializer
from minichainer.links._arguments import LinkArguments
from minichainer.links.connection.convolution import LazyFilters, per_axis
from minichainer.utils.argument import assert_kwargs_empty
from minichainer.utils.conv import get_conv_outsize
from minichainer.variable import Parameter, Variable


class LocalConvolution2D(LazyFilters):
    """Convolution of images with different filters and biases at each pixel.

    See :func:`~minichainer.functions.local_convolution_2d` for the formula.

    Args:
        in_channels: number of input channels; None to take it from the data of the first call.
        out_channels: number of filters at each pixel.
        in_size: size of the images, an int or a pair; None to take it from the data of the first call.
        ksize: size of the filters, an int or a pair.
        stride: step of the filters, an int or a pair.
        nobias: without b.
        initialW: initializer of W; by default LeCun's normal one for its shape.
        initial_bias: initializer of b; zero by default.

    Attributes:
        W: Parameter (out_channels, out_h, out_w, in_channels, kh, kw).
        b: Parameter (out_channels, out_h, out_w), or None.

    >>> import numpy as np, minichainer as chainer
    >>> layer = chainer.links.LocalConvolution2D(4, 3, in_size=5, ksize=2)
    >>> layer(np.ones((1, 4, 5, 5), np.float32)).shape
    (1, 3, 4, 4)
    """

    def __init__(
        self,
        in_channels: int | None,
        out_channels: int,
        in_size: Any = None,
        ksize: Any = None,
        stride: Any = 1,
        nobias: bool = False,
        initialW: Any = None,
        initial_bias: Any = None,
        **kwargs: Any,
    ) -> None:
        assert_kwargs_empty(kwargs)
        check = LinkArguments(self)
        check.optional_sizes(in_channels=in_channels)
        check.sizes(out_channels=out_channels)
        check.each_axis(2, 1, ksize=ksize, stride=stride)
        check.flags(nobias=nobias)
        self.ksize = ksize
        self.stride = per_axis(stride, 2)
        outputs = (None, None) if in_size is None else self._checked_out_size(check, in_size)
        check.initializers((out_channels, *outputs, in_channels, *per_axis(ksize, 2)), initialW=initialW)
        check.initializers((out_channels, *outputs), initial_bias=initial_bias)
        super().__init__()
        self.nobias = nobias
        self.out_channels = out_channels
        with self.init_scope():
            self.W = Parameter(_get_initializer(initialW))
            self.b = None if nobias else Parameter(_get_initializer(0 if initial_bias is None else initial_bias))
        if in_channels is not None and in_size is not None:
            self._initialize_for(in_channels, per_axis(in_size, 2))

    def _checked_out_size(self, check: LinkArguments, in_size: Any) -> tuple[int, ...]:
        check.each_axis(2, 1, in_size=in_size)
        sizes = self._out_size(per_axis(in_size, 2))
        if min(sizes) < 1:
            raise check.wrong_value(f'at least ksize = {self.ksize}', 'in_size', in_size)
        return sizes

    def _out_size(self, in_size: tuple[int, ...]) -> tuple[int, ...]:
        axes = zip(in_size, per_axis(self.ksize, 2), self.stride, strict=True)
        return tuple([get_conv_outsize(size, k, stride, 0) for size, k, stride in axes])

    def _initialize_for(self, in_channels: int, in_size: tuple[int, ...]) -> None:
        outputs = (self.out_channels, *self._out_size(in_size))
        if self.b is not None:
            self.b.initialize(outputs)
        self.W.initialize((*outputs, in_channels, *per_axis(self.ksize, 2)))

    def forward(self, x: Any) -> Variable:
        """Applies the layer.

        Args:
            x: Variable or float array (batch, in_channels, height, width).

        Returns:
            Variable (batch, out_channels, out_h, out_w).

        Raises:
            InvalidType: the sizes do not fit.
        """
        self._prepare(x)
        return local_convolution_2d(x, self.W, self.b, self.stride)
