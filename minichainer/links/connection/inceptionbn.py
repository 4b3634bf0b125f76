"""The inception module with batch normalization."""

from __future__ import annotations

from typing import Any

from minichainer.functions.activation.rectifiers import relu
from minichainer.functions.array.joining import concat
from minichainer.functions.pooling.average_pooling_nd import average_pooling_2d
from minichainer.functions.pooling.max_pooling_nd import max_pooling_2d
from minichainer.link.link import Chain
from minichainer.links._arguments import LinkArguments
from minichainer.links.connection.convolution import Convolution2D
from minichainer.links.normalization.batch_normalization import BatchNormalization
from minichainer.variable import Variable


class InceptionBN(Chain):
    r"""Inception module with batch normalization, and two 3x3 convolutions in place of one 5x5.

    With :math:`r(C\,x) = \mathrm{relu}(\mathrm{BN}(C\,x))`, the channels of these results are concatenated:

    .. math::

        r(C_1 x),\; r(C_3\, r(P_3 x)),\; r(C_{33b}\, r(C_{33a}\, r(P_{33} x))),\; r(P\, \mathrm{pool}_3(x))

    Args:
        in_channels: channels of the input; None to take them from the data of the first call.
        out1: channels of the 1x1 convolution; 0 to leave it out.
        proj3: channels of the 1x1 convolution before the 3x3 one.
        out3: channels of the 3x3 convolution.
        proj33: channels of the 1x1 convolution before the two 3x3 ones.
        out33: channels of each of the two 3x3 convolutions.
        pooltype: ``'max'`` or ``'avg'``.
        proj_pool: channels of the 1x1 convolution after the pooling; None to leave it out.
        stride: step of the last convolution of each branch, and of the pooling.
        conv_init: initializer of all filters, as of :class:`Convolution2D`.
        dtype: of the batch normalizations' parameters.

    Raises:
        NotImplementedError: ``pooltype`` is another word.
        AssertionError: ``out1`` is not 0 while ``proj_pool`` is None or ``stride`` is not 1.

    Source: Ioffe and Szegedy, Batch Normalization: Accelerating Deep Network Training by Reducing Internal Covariate
    Shift, 2015.

    >>> import numpy as np, minichainer as chainer
    >>> module = chainer.links.InceptionBN(3, 1, 2, 3, 2, 4, 'avg', 5)
    >>> module(np.ones((2, 3, 6, 6), np.float32)).shape
    (2, 13, 6, 6)
    """

    def __init__(
        self,
        in_channels: int | None,
        out1: int,
        proj3: int,
        out3: int,
        proj33: int,
        out33: int,
        pooltype: str,
        proj_pool: int | None = None,
        stride: int = 1,
        conv_init: Any = None,
        dtype: Any = None,
    ) -> None:
        check = LinkArguments(self)
        check.optional_sizes(in_channels=in_channels, proj_pool=proj_pool)
        check.sizes(out1=out1, proj3=proj3, out3=out3, proj33=proj33, out33=out33)
        check.integers(1, stride=stride)
        ones = [(n, in_channels, 1, 1) for n in (out1, proj3, proj33, proj_pool) if n]
        others = [(out3, proj3, 3, 3), (out33, proj33, 3, 3), (out33, out33, 3, 3)]
        check.common_initializers([*ones, *others], conv_init=conv_init)
        check.dtype(dtype)
        _check_pooling(type(self).__name__, out1, pooltype, proj_pool, stride)
        super().__init__()
        self.out1 = out1
        self.proj_pool = proj_pool
        self.stride = stride
        self.pooltype = pooltype

        def convolution(channels: int | None, outputs: int, ksize: int, stride: int = 1) -> Convolution2D:
            return Convolution2D(channels, outputs, ksize, stride, ksize // 2, nobias=True, initialW=conv_init)

        with self.init_scope():
            self.proj3 = convolution(in_channels, proj3, 1)
            self.conv3 = convolution(proj3, out3, 3, stride)
            self.proj33 = convolution(in_channels, proj33, 1)
            self.conv33a = convolution(proj33, out33, 3)
            self.conv33b = convolution(out33, out33, 3, stride)
            self.proj3n = BatchNormalization(proj3, dtype=dtype)
            self.conv3n = BatchNormalization(out3, dtype=dtype)
            self.proj33n = BatchNormalization(proj33, dtype=dtype)
            self.conv33an = BatchNormalization(out33, dtype=dtype)
            self.conv33bn = BatchNormalization(out33, dtype=dtype)
            if out1:
                self.conv1 = convolution(in_channels, out1, 1)
                self.conv1n = BatchNormalization(out1, dtype=dtype)
            if proj_pool is not None:
                self.poolp = convolution(in_channels, proj_pool, 1)
                self.poolpn = BatchNormalization(proj_pool, dtype=dtype)

    def forward(self, x: Any) -> Variable:
        """Applies the module.

        Args:
            x: images (N, in_channels, h, w), Variable or array.

        Returns:
            Variable (N, channels, h', w').

        Raises:
            InvalidType: ``x`` has another number of channels.
        """
        paths: list[tuple[str, ...]] = [('conv1',)] if self.out1 else []
        paths += [('proj3', 'conv3'), ('proj33', 'conv33a', 'conv33b')]
        y: Variable = concat([*[self._layers(x, *path) for path in paths], self._pooled(x)], axis=1)
        return y

    def _layers(self, x: Any, *names: str) -> Any:
        """Convolutions, each followed by its batch normalization and a rectifier."""
        for name in names:
            x = relu(self[f'{name}n'](self[name](x)))
        return x

    def _pooled(self, x: Any) -> Any:
        if self.pooltype == 'max':
            pooled = max_pooling_2d(x, 3, self.stride, 1, cover_all=False)
        else:
            pooled = average_pooling_2d(x, 3, self.stride, 1)
        return pooled if self.proj_pool is None else self._layers(pooled, 'poolp')


def _check_pooling(name: str, out1: int, pooltype: Any, proj_pool: Any, stride: int) -> None:
    if not isinstance(pooltype, str) or pooltype not in ('max', 'avg'):
        raise NotImplementedError(f"{name}: pooltype must be 'max' or 'avg', got {pooltype!r}")
    if out1 and (stride != 1 or proj_pool is None):
        raise AssertionError(
            f'{name}: out1 must be 0 if stride is not 1 or proj_pool is None, '
            f'got out1 = {out1}, stride = {stride} and proj_pool = {proj_pool}'
        )
