"""Convolution followed by a multilayer perceptron at each pixel."""

from __future__ import annotations

from typing import Any

from minichainer.functions.activation.rectifiers import relu
from minichainer.link.link import ChainList
from minichainer.links._arguments import LinkArguments
from minichainer.links.connection.convolution import Convolution2D, per_axis
from minichainer.utils.argument import parse_kwargs
from minichainer.variable import Variable

_WSCALE = 'wscale is not supported anymore: use conv_init and bias_init to change the scale of initial parameters'


class MLPConvolution2D(ChainList):
    r"""Convolution of images, followed by a multilayer perceptron at each pixel.

    .. math:: y = C_n f(C_{n-1} \cdots f(C_1 x))

    where :math:`C_1` is a convolution with filters of size ``ksize``, and the others have filters of one pixel.

    Args:
        in_channels: number of input channels; None, or left out, to take it from the data of the first call.
        out_channels: tuple with the number of channels of each convolution.
        ksize: size of the first filters, an int or a pair.
        stride: step of the first filters, an int or a pair.
        pad: rows and columns of zeros on each side, an int or a pair.
        activation: the function f.
        conv_init: initializer of all filters (keyword only), as of :class:`Convolution2D`.
        bias_init: initializer of all biases (keyword only); zero by default.

    Source: Lin, Chen and Yan, Network In Network, 2013.

    >>> import numpy as np, minichainer as chainer
    >>> layers = chainer.links.MLPConvolution2D(4, (8, 3), ksize=2)
    >>> layers(np.ones((1, 4, 5, 5), np.float32)).shape
    (1, 3, 4, 4)
    """

    def __init__(
        self,
        in_channels: int | None,
        out_channels: Any,
        ksize: Any = None,
        stride: Any = 1,
        pad: Any = 0,
        activation: Any = relu,
        *args: Any,
        **kwargs: Any,
    ) -> None:
        if args:
            raise TypeError(f'{type(self).__name__}: {_WSCALE}')
        conv_init, bias_init = parse_kwargs(kwargs, ('conv_init', None), ('bias_init', None), wscale=_WSCALE)
        if ksize is None:
            in_channels, out_channels, ksize = None, in_channels, out_channels
        check = LinkArguments(self)
        check.optional_sizes(in_channels=in_channels)
        check.each_axis(2, 1, ksize=ksize, stride=stride)
        check.each_axis(2, 0, pad=pad)
        check.callables(activation=activation)
        first, *others = _checked(check, out_channels)
        pixels = [(after, before, 1, 1) for before, after in zip((first, *others), others, strict=False)]
        check.common_initializers([(first, in_channels, *per_axis(ksize, 2)), *pixels], conv_init=conv_init)
        check.common_initializers([(n,) for n in (first, *others)], bias_init=bias_init)
        super().__init__(Convolution2D(in_channels, first, ksize, stride, pad, False, conv_init, bias_init))
        for before, after in zip((first, *others), others, strict=False):
            self.append(Convolution2D(before, after, 1, initialW=conv_init, initial_bias=bias_init))
        self.activation = activation

    def forward(self, x: Any) -> Variable:
        """Applies the layers.

        Args:
            x: Variable or float array (batch, in_channels, height, width).

        Returns:
            Variable (batch, out_channels[-1], out_h, out_w).

        Raises:
            InvalidType: the sizes do not fit.
        """
        for layer in self[:-1]:
            x = self.activation(layer(x))
        y: Variable = self[-1](x)
        return y


def _checked(check: LinkArguments, out_channels: Any) -> Any:
    if not isinstance(out_channels, (tuple, list)):
        expected = 'a tuple of ints (the first argument if ksize is None)'
        raise check.wrong_type(expected, 'out_channels', out_channels)
    if not out_channels:
        raise check.wrong_value('a tuple of at least one int', 'out_channels', out_channels)
    for channels in out_channels:
        check.sizes(out_channels=channels)
    return out_channels
