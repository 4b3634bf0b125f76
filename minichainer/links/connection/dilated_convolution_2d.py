"""Dilated convolution of images."""

from __future__ import annotations

from typing import Any

from minichainer.functions.connection.convolution_nd import dilated_convolution_2d
from minichainer.links.connection.convolution import Filters, per_axis
from minichainer.variable import Variable


class DilatedConvolution2D(Filters):
    """Dilated convolution of images, with filters and biases; :class:`Convolution2D` has the same option.

    See :func:`~minichainer.functions.dilated_convolution_2d` for the formula.

    Args:
        in_channels: number of input channels; None, or left out, to take it from the data of the first call.
        out_channels: number of filters.
        ksize: size of the filters, an int or a pair.
        stride: step of the filters, an int or a pair.
        pad: rows and columns of zeros on each side, an int or a pair.
        dilate: distance of a filter's elements on the input, an int or a pair.
        nobias: without b.
        initialW: initializer of W; by default normal with standard deviation ``1 / sqrt(in_channels * kh * kw)``.
        initial_bias: initializer of b; zero by default.

    Attributes:
        W: Parameter (out_channels, in_channels, kh, kw).
        b: Parameter (out_channels,), or None.

    >>> import numpy as np, minichainer as chainer
    >>> layer = chainer.links.DilatedConvolution2D(None, 3, 2, dilate=2)
    >>> layer(np.ones((1, 4, 5, 5), np.float32)).shape
    (1, 3, 3, 3)
    """

    def __init__(
        self,
        in_channels: int | None,
        out_channels: int,
        ksize: Any = None,
        stride: Any = 1,
        pad: Any = 0,
        dilate: Any = 1,
        nobias: bool = False,
        initialW: Any = None,
        initial_bias: Any = None,
    ) -> None:
        if ksize is None:
            in_channels, out_channels, ksize = None, in_channels, out_channels  # type: ignore[assignment]
        check = self._check(2, in_channels, out_channels, nobias, 1, pad, ksize=ksize, stride=stride, dilate=dilate)
        super().__init__()
        self.out_channels = out_channels
        self.ksize = ksize
        self.stride = per_axis(stride, 2)
        self.pad = per_axis(pad, 2)
        self.dilate = per_axis(dilate, 2)
        self.groups = 1
        self._make_parameters(check, 2, in_channels, nobias, initialW, initial_bias)

    def forward(self, x: Any) -> Variable:
        """Applies the layer to an array or Variable (batch, in_channels, height, width).

        Args:
            x: images, of floats.
        """
        self._prepare(x)
        return dilated_convolution_2d(x, self.W, self.b, self.stride, self.pad, self.dilate)
