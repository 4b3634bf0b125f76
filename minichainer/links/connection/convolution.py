"""Convolutions and transposed convolutions with parameters."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from minichainer._once import one_at_a_time
from minichainer.functions.connection.convolution_nd import convolution_2d, convolution_nd
from minichainer.functions.connection.deconvolution_nd import deconvolution_2d, deconvolution_nd
from minichainer.initializers._generate import _get_initializer
from minichainer.link.link import Link
from minichainer.links._arguments import LinkArguments
from minichainer.utils import argument
from minichainer.variable import Parameter, Variable, as_array

_REMOVED = {
    'deterministic': 'deterministic is not supported anymore: use chainer.using_config('
    "'cudnn_deterministic', True or False)"
}


class LazyFilters(Link):
    """The base of links that may take the shape of their filters from the first data."""

    #: Number of spatial axes.
    _ndim = 2
    W: Parameter

    def _initialize_for(self, in_channels: int, in_size: tuple[int, ...]) -> None:
        """Makes the parameters for data of so many channels, and of a size if the filters depend on it."""
        self._initialize_params(in_channels)

    def _initialize_params(self, in_channels: int) -> None:
        raise NotImplementedError

    def _prepare(self, x: Any) -> None:
        """Takes ``in_channels`` from the first data, after checking the number of axes."""
        if self.W._data is not None:
            return
        if x.ndim != self._ndim + 2:
            raise unknown_channels(self, x, self._ndim + 2)
        with one_at_a_time(self):
            if self.W._data is None:
                self._initialize_for(x.shape[1], x.shape[2:])


class Filters(LazyFilters):
    """The base of convolutions with the same filters everywhere: filters and biases, their sizes and groups."""

    #: Whether ``in_channels`` is the first axis of the filters.
    transposed = False
    out_channels: int
    ksize: Any
    groups: int
    b: Parameter | None

    def _check(
        self, n: int, in_channels: Any, out_channels: Any, nobias: Any, groups: Any, pad: Any, **axes: Any
    ) -> LinkArguments:
        """Raises TypeError or ValueError for wrong arguments; ``axes`` are positive ints or sequences of them."""
        check = LinkArguments(self)
        check.optional_sizes(in_channels=in_channels)
        check.sizes(out_channels=out_channels)
        check.each_axis(n, 1, **axes)
        check.each_axis(n, 0, pad=pad)
        check.flags(nobias=nobias)
        check.integers(1, groups=groups)
        return check

    def _make_parameters(
        self, check: LinkArguments, ndim: int, in_channels: int | None, nobias: bool, initialW: Any, initial_bias: Any
    ) -> None:
        self._ndim = ndim
        check.initializers(self._shape(in_channels), initialW=initialW)
        check.initializers((self.out_channels,), initial_bias=initial_bias)
        with self.init_scope():
            self.W = Parameter(_get_initializer(initialW))
            if in_channels is not None:
                self._initialize_params(in_channels)
            bias = _get_initializer(0 if initial_bias is None else initial_bias)
            self.b = None if nobias else Parameter(bias, self.out_channels)

    def _shape(self, in_channels: int | None) -> tuple[Any, ...]:
        """The shape of the filters; None for the size that is not known yet."""
        for what, channels in (('input', in_channels), ('output', self.out_channels)):
            if channels is not None and channels % self.groups:
                raise ValueError(
                    f'{type(self).__name__}: the number of {what} channels must be divisible by the number of '
                    f'groups, got {channels} and groups = {self.groups}'
                )
        ksize = per_axis(self.ksize, self._ndim)
        if self.transposed:
            return (in_channels, self.out_channels // self.groups, *ksize)
        return (self.out_channels, None if in_channels is None else in_channels // self.groups, *ksize)

    def _initialize_params(self, in_channels: int) -> None:
        self.W.initialize(self._shape(in_channels))


def unknown_channels(link: Link, x: Any, axes: int) -> ValueError:
    """The error for first data with a wrong number of axes, from which the channels cannot be taken."""
    return ValueError(
        f'{type(link).__name__}: in_channels is not known yet and cannot be taken from an x of shape {x.shape}: '
        f'expected {axes} axes'
    )


def per_axis(value: Any, ndim: int) -> tuple[Any, ...]:
    """A value for each of ``ndim`` axes: the elements of a sequence, or the same one repeated."""
    return tuple(value) if hasattr(value, '__len__') else (value,) * ndim


class ConvolutionND(Filters):
    """Convolution over any number of axes, with filters and biases.

    See :func:`~minichainer.functions.convolution_nd` for the formula.

    Args:
        ndim: number of axes of space.
        in_channels: number of input channels; None, or left out, to take it from the data of the first call.
        out_channels: number of filters.
        ksize: size of the filters, an int or one per axis.
        stride: step of the filters, an int or one per axis.
        pad: zeros before and after each axis, an int or one per axis.
        nobias: without b.
        initialW: initializer of W, shape ``(out_channels, in_channels / groups, *ksize)``: an initializer, a number
            or an array; by default normal with standard deviation ``1 / sqrt(in_channels / groups * n)`` for
            filters of ``n`` elements.
        initial_bias: initializer of b, shape ``(out_channels,)``; zero by default.
        cover_all: also use an incomplete window at the end of each axis.
        dilate: distance of a filter's elements on the input, an int or one per axis.
        groups: number of groups of channels.

    Raises:
        ValueError: ``groups`` does not divide the channels.

    >>> import numpy as np, minichainer as chainer
    >>> layer = chainer.links.ConvolutionND(1, None, 3, 2)
    >>> layer(np.ones((1, 4, 5), np.float32)).shape, layer.W.shape
    ((1, 3, 4), (3, 4, 2))
    """

    def __init__(
        self,
        ndim: int,
        in_channels: int | None,
        out_channels: int,
        ksize: Any = None,
        stride: Any = 1,
        pad: Any = 0,
        nobias: bool = False,
        initialW: Any = None,
        initial_bias: Any = None,
        cover_all: bool = False,
        dilate: Any = 1,
        groups: int = 1,
    ) -> None:
        if ksize is None:
            in_channels, out_channels, ksize = None, in_channels, out_channels  # type: ignore[assignment]
        LinkArguments(self).integers(1, ndim=ndim)
        check = self._check(
            ndim, in_channels, out_channels, nobias, groups, pad, ksize=ksize, stride=stride, dilate=dilate
        )
        check.flags(cover_all=cover_all)
        super().__init__()
        self.out_channels = out_channels
        self.ksize = per_axis(ksize, ndim)
        self.stride = stride
        self.pad = pad
        self.cover_all = cover_all
        self.dilate = per_axis(dilate, ndim)
        self.groups = int(groups)
        self._make_parameters(check, ndim, in_channels, nobias, initialW, initial_bias)

    def forward(self, x: Any) -> Variable:
        """Applies the layer to an array or Variable (batch, in_channels, *size).

        Args:
            x: images, of floats.
        """
        self._prepare(x)
        return convolution_nd(x, self.W, self.b, self.stride, self.pad, self.cover_all, self.dilate, self.groups)

    @classmethod
    def from_params(
        cls, W: Any, b: Any = None, stride: Any = 1, pad: Any = 0, nobias: bool = False, **kwargs: Any
    ) -> ConvolutionND:
        """A layer with copies of given parameters.

        Args:
            W: array or Variable (out_channels, in_channels / groups, k1, ...).
            b: array or Variable (out_channels,); None for zeros.
            stride: as of the class.
            pad: as of the class.
            nobias: without b.
            kwargs: ``cover_all``, ``dilate``, ``groups``.

        >>> import numpy as np, minichainer as chainer
        >>> chainer.links.ConvolutionND.from_params(np.ones((2, 3, 4), np.float32)).ksize
        (4,)
        """
        out_channels, channels, *ksize = W.shape
        make: Any = cls
        made: ConvolutionND = make(
            *cls._leading(len(ksize)),
            channels * kwargs.get('groups', 1),
            out_channels,
            tuple(ksize),
            stride,
            pad,
            nobias,
            as_array(W),
            None if b is None else as_array(b),
            **kwargs,
        )
        return made

    @classmethod
    def _leading(cls, ndim: int) -> tuple[Any, ...]:
        """The arguments of the class before the channels."""
        return (ndim,)


class DeconvolutionND(Filters):
    """Transposed convolution over any number of axes, with filters and biases.

    See :func:`~minichainer.functions.deconvolution_nd` for the formula.

    Args:
        ndim: number of axes of space.
        in_channels: number of input channels; None, or left out, to take it from the data of the first call.
        out_channels: number of output channels.
        ksize: size of the filters, an int or one per axis.
        stride: step of the filters on the result, an int or one per axis.
        pad: number of elements removed before and after each axis of the result, an int or one per axis.
        nobias: without b.
        outsize: tuple with the size of the result along each axis, or None.
        initialW: initializer of W, shape ``(in_channels, out_channels / groups, *ksize)``: an initializer, a number
            or an array; by default normal with standard deviation ``1 / sqrt(out_channels / groups * n)`` for
            filters of ``n`` elements.
        initial_bias: initializer of b, shape ``(out_channels,)``; zero by default.
        dilate: distance of a filter's elements on the result, an int or one per axis.
        groups: number of groups of channels.

    Raises:
        ValueError: ``groups`` does not divide the channels.

    >>> import numpy as np, minichainer as chainer
    >>> layer = chainer.links.DeconvolutionND(1, 4, 3, 2, stride=2)
    >>> layer(np.ones((1, 4, 5), np.float32)).shape, layer.W.shape
    ((1, 3, 10), (4, 3, 2))
    """

    transposed = True

    def __init__(
        self,
        ndim: int,
        in_channels: int | None,
        out_channels: int,
        ksize: Any = None,
        stride: Any = 1,
        pad: Any = 0,
        nobias: bool = False,
        outsize: Any = None,
        initialW: Any = None,
        initial_bias: Any = None,
        dilate: Any = 1,
        groups: int = 1,
    ) -> None:
        if ksize is None:
            in_channels, out_channels, ksize = None, in_channels, out_channels  # type: ignore[assignment]
        LinkArguments(self).integers(1, ndim=ndim)
        check = self._check(
            ndim, in_channels, out_channels, nobias, groups, pad, ksize=ksize, stride=stride, dilate=dilate
        )
        check.outsize(ndim, outsize)
        super().__init__()
        self.out_channels = out_channels
        self.ksize = per_axis(ksize, ndim)
        self.stride = stride
        self.pad = pad
        self.outsize = outsize
        self.dilate = per_axis(dilate, ndim)
        self.groups = int(groups)
        self._make_parameters(check, ndim, in_channels, nobias, initialW, initial_bias)

    def forward(self, x: Any) -> Variable:
        """Applies the layer to an array or Variable (batch, in_channels, *size).

        Args:
            x: images, of floats.
        """
        self._prepare(x)
        return deconvolution_nd(x, self.W, self.b, self.stride, self.pad, self.outsize, self.dilate, self.groups)


class Convolution1D(ConvolutionND):
    """Convolution over one axis, with filters and biases; see :class:`ConvolutionND` for the arguments.

    >>> import numpy as np, minichainer as chainer
    >>> chainer.links.Convolution1D(2, 3, 2)(np.ones((1, 2, 5), np.float32)).shape
    (1, 3, 4)
    """

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
        cover_all: bool = False,
        dilate: Any = 1,
        groups: int = 1,
    ) -> None:
        super().__init__(
            1,
            in_channels,
            out_channels,
            ksize,
            stride,
            pad,
            nobias,
            initialW,
            initial_bias,
            cover_all,
            dilate,
            groups,
        )

    @classmethod
    def _leading(cls, ndim: int) -> tuple[Any, ...]:
        return ()


class Deconvolution1D(DeconvolutionND):
    """Transposed convolution over one axis, with parameters; see :class:`DeconvolutionND` for the arguments.

    >>> import numpy as np, minichainer as chainer
    >>> chainer.links.Deconvolution1D(2, 3, 2)(np.ones((1, 2, 5), np.float32)).shape
    (1, 3, 6)
    """

    def __init__(
        self,
        in_channels: int | None,
        out_channels: int,
        ksize: Any,
        stride: Any = 1,
        pad: Any = 0,
        nobias: bool = False,
        outsize: Any = None,
        initialW: Any = None,
        initial_bias: Any = None,
        dilate: Any = 1,
        groups: int = 1,
    ) -> None:
        super().__init__(
            1, in_channels, out_channels, ksize, stride, pad, nobias, outsize, initialW, initial_bias, dilate, groups
        )


class Convolution2D(Filters):
    """Convolution of images, with filters and biases.

    See :func:`~minichainer.functions.convolution_2d` for the formula.

    Args:
        in_channels: number of input channels; None, or left out, to take it from the data of the first call.
        out_channels: number of filters.
        ksize: size of the filters, an int or a pair.
        stride: step of the filters, an int or a pair.
        pad: rows and columns of zeros on each side, an int or a pair.
        nobias: without b.
        initialW: initializer of W, shape ``(out_channels, in_channels / groups, kh, kw)``: an initializer, a number
            or an array; by default normal with standard deviation ``1 / sqrt(in_channels / groups * n)`` for
            filters of ``n`` elements.
        initial_bias: initializer of b, shape ``(out_channels,)``; zero by default.
        dilate: distance of a filter's elements on the input, an int or a pair (keyword only).
        groups: number of groups of channels (keyword only).

    Raises:
        ValueError: ``groups`` does not divide the channels.

    >>> import numpy as np, minichainer as chainer
    >>> layer = chainer.links.Convolution2D(None, 3, 2)
    >>> layer(np.ones((1, 4, 5, 5), np.float32)).shape, layer.W.shape
    ((1, 3, 4, 4), (3, 4, 2, 2))
    """

    def __init__(
        self,
        in_channels: int | None,
        out_channels: int,
        ksize: Any = None,
        stride: Any = 1,
        pad: Any = 0,
        nobias: bool = False,
        initialW: Any = None,
        initial_bias: Any = None,
        **kwargs: Any,
    ) -> None:
        dilate, groups = argument.parse_kwargs(kwargs, ('dilate', 1), ('groups', 1), **_REMOVED)
        if ksize is None:
            in_channels, out_channels, ksize = None, in_channels, out_channels  # type: ignore[assignment]
        check = self._check(
            2, in_channels, out_channels, nobias, groups, pad, ksize=ksize, stride=stride, dilate=dilate
        )
        super().__init__()
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.ksize = ksize
        self.stride = per_axis(stride, 2)
        self.pad = per_axis(pad, 2)
        self.dilate = per_axis(dilate, 2)
        self.groups = int(groups)
        self._make_parameters(check, 2, in_channels, nobias, initialW, initial_bias)

    @property
    def printable_specs(self) -> Iterator[tuple[str, Any]]:
        for name in ('in_channels', 'out_channels', 'ksize', 'stride', 'pad'):
            yield name, getattr(self, name)
        yield from (('nobias', self.b is None), ('dilate', self.dilate), ('groups', self.groups))

    @classmethod
    def from_params(
        cls, W: Any, b: Any = None, stride: Any = 1, pad: Any = 0, nobias: bool = False, **kwargs: Any
    ) -> Convolution2D:
        """A layer with copies of given parameters.

        Args:
            W: array or Variable (out_channels, in_channels / groups, kh, kw).
            b: array or Variable (out_channels,); None for zeros.
            stride: as of the class.
            pad: as of the class.
            nobias: without b.
            kwargs: ``dilate``, ``groups``.

        >>> import numpy as np, minichainer as chainer
        >>> layer = chainer.links.Convolution2D.from_params(np.ones((2, 3, 4, 4), np.float32), pad=1)
        >>> layer.ksize, layer.pad
        ((4, 4), (1, 1))
        """
        out_channels, channels, *ksize = W.shape
        in_channels = channels * kwargs.get('groups', 1)
        bias = None if b is None else as_array(b)
        return cls(in_channels, out_channels, tuple(ksize), stride, pad, nobias, as_array(W), bias, **kwargs)

    def forward(self, x: Any) -> Variable:
        """Applies the layer to an array or Variable (batch, in_channels, height, width).

        Args:
            x: images, of floats.
        """
        self._prepare(x)
        return convolution_2d(x, self.W, self.b, self.stride, self.pad, dilate=self.dilate, groups=self.groups)


class Deconvolution2D(Filters):
    """Transposed convolution of images, with filters and biases.

    See :func:`~minichainer.functions.deconvolution_2d` for the formula.

    Args:
        in_channels: number of input channels; None, or left out, to take it from the data of the first call.
        out_channels: number of output channels.
        ksize: size of the filters, an int or a pair.
        stride: step of the filters on the result, an int or a pair.
        pad: rows and columns that are cut off on each side, an int or a pair.
        nobias: without b.
        outsize: pair with the size of the result, or None.
        initialW: initializer of W, shape ``(in_channels, out_channels / groups, kh, kw)``: an initializer, a number
            or an array; by default normal with standard deviation ``1 / sqrt(out_channels / groups * n)`` for
            filters of ``n`` elements.
        initial_bias: initializer of b, shape ``(out_channels,)``; zero by default.
        dilate: distance of a filter's elements on the result, an int or a pair (keyword only).
        groups: number of groups of channels (keyword only).

    Raises:
        ValueError: ``groups`` does not divide the channels.

    >>> import numpy as np, minichainer as chainer
    >>> chainer.links.Deconvolution2D(4, 3, 2, stride=2)(np.ones((1, 4, 5, 5), np.float32)).shape
    (1, 3, 10, 10)
    """

    transposed = True

    def __init__(
        self,
        in_channels: int | None,
        out_channels: int,
        ksize: Any = None,
        stride: Any = 1,
        pad: Any = 0,
        nobias: bool = False,
        outsize: Any = None,
        initialW: Any = None,
        initial_bias: Any = None,
        **kwargs: Any,
    ) -> None:
        dilate, groups = argument.parse_kwargs(kwargs, ('dilate', 1), ('groups', 1), **_REMOVED)
        if ksize is None:
            in_channels, out_channels, ksize = None, in_channels, out_channels  # type: ignore[assignment]
        check = self._check(
            2, in_channels, out_channels, nobias, groups, pad, ksize=ksize, stride=stride, dilate=dilate
        )
        check.outsize(2, outsize)
        super().__init__()
        self.out_channels = out_channels
        self.ksize = ksize
        self.stride = per_axis(stride, 2)
        self.pad = per_axis(pad, 2)
        self.dilate = per_axis(dilate, 2)
        self.outsize = (None, None) if outsize is None else outsize
        self.groups = int(groups)
        self._make_parameters(check, 2, in_channels, nobias, initialW, initial_bias)

    def forward(self, x: Any) -> Variable:
        """Applies the layer to an array or Variable (batch, in_channels, height, width).

        Args:
            x: images, of floats.
        """
        self._prepare(x)
        outsize = None if self.outsize == (None, None) else self.outsize
        return deconvolution_2d(
            x, self.W, self.b, self.stride, self.pad, outsize, dilate=self.dilate, groups=self.groups
        )


class Convolution3D(ConvolutionND):
    """Convolution over three axes, with filters and biases; see :class:`ConvolutionND` for the arguments.

    >>> import numpy as np, minichainer as chainer
    >>> chainer.links.Convolution3D(2, 3, 2)(np.ones((1, 2, 4, 4, 4), np.float32)).shape
    (1, 3, 3, 3, 3)
    """

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
        cover_all: bool = False,
        dilate: Any = 1,
        groups: int = 1,
    ) -> None:
        super().__init__(
            3,
            in_channels,
            out_channels,
            ksize,
            stride,
            pad,
            nobias,
            initialW,
            initial_bias,
            cover_all,
            dilate,
            groups,
        )

    @classmethod
    def _leading(cls, ndim: int) -> tuple[Any, ...]:
        return ()


class Deconvolution3D(DeconvolutionND):
    """Transposed convolution over three axes, with parameters; see :class:`DeconvolutionND` for the arguments.

    >>> import numpy as np, minichainer as chainer
    >>> chainer.links.Deconvolution3D(2, 3, 2)(np.ones((1, 2, 4, 4, 4), np.float32)).shape
    (1, 3, 5, 5, 5)
    """

    def __init__(
        self,
        in_channels: int | None,
        out_channels: int,
        ksize: Any,
        stride: Any = 1,
        pad: Any = 0,
        nobias: bool = False,
        outsize: Any = None,
        initialW: Any = None,
        initial_bias: Any = None,
        dilate: Any = 1,
        groups: int = 1,
    ) -> None:
        super().__init__(
            3, in_channels, out_channels, ksize, stride, pad, nobias, outsize, initialW, initial_bias, dilate, groups
        )
