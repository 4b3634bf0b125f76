"""Layer, root mean square, group and instance normalization with parameters."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy

from minichainer._dtype import get_dtype
from minichainer._once import one_at_a_time
from minichainer.functions.array.shape import reshape
from minichainer.functions.normalization.sample_normalization import (
    group_normalization,
    instance_normalization,
    layer_normalization,
    rms_norm,
)
from minichainer.link.link import Link
from minichainer.links._arguments import LinkArguments
from minichainer.links.normalization._parts import check_normalization, parameter
from minichainer.variable import Parameter, Variable


class _OfRows(Link):
    """The base of normalizations along the last axis."""

    gamma: Parameter
    eps: float

    def _make_parameters(self, size: int | None, **parameters: Parameter) -> None:
        with self.init_scope():
            for name, param in parameters.items():
                setattr(self, name, param)
        if size is not None:
            self._initialize_params(size)

    def _initialize_params(self, size: int) -> None:
        for param in self.params():
            if param._data is None:
                param.initialize((size,))

    def _prepare(self, x: Any) -> None:
        """Takes ``size`` from the first data, after checking the number of axes."""
        if all([param._data is not None for param in self.params()]):
            return
        if x.ndim < 1:
            raise _unknown(type(self).__name__, x, 'at least 1 axis')
        with one_at_a_time(self):
            self._initialize_params(x.shape[-1])

    @property
    def printable_specs(self) -> Iterator[tuple[str, Any]]:
        yield from (('size', _size(self.gamma)), ('eps', self.eps))


class LayerNormalization(_OfRows):
    """Layer normalization along the last axis, with a scale and a shift for each element of it.

    See :func:`~minichainer.functions.layer_normalization`.

    Args:
        size: length of the last axis; None to take it from the data of the first call.
        eps: added to the variance.
        initial_gamma: initializer of the scales; one by default.
        initial_beta: initializer of the shifts; zero by default.

    Attributes:
        gamma: Parameter (size,).
        beta: Parameter (size,).
        eps: as given.

    Source: Ba, Kiros and Hinton, Layer Normalization, 2016.

    >>> import numpy as np, minichainer as chainer
    >>> layer = chainer.links.LayerNormalization()
    >>> layer(np.array([[1, 3]], np.float32)).array.round(3)
    array([[-1.,  1.]], dtype=float32)
    >>> layer(np.ones((2, 5, 2), np.float32)).shape
    (2, 5, 2)
    """

    beta: Parameter

    def __init__(
        self, size: int | None = None, eps: float = 1e-6, initial_gamma: Any = None, initial_beta: Any = None
    ) -> None:
        check_normalization(LinkArguments(self), size, eps, initial_gamma=initial_gamma, initial_beta=initial_beta)
        super().__init__()
        dtype = get_dtype()
        self.eps = eps
        self._make_parameters(size, gamma=parameter(initial_gamma, 1, dtype), beta=parameter(initial_beta, 0, dtype))

    def forward(self, x: Any) -> Variable:
        """Applies the layer.

        Args:
            x: Variable or float array (..., size).

        Returns:
            Variable of the same shape.

        Raises:
            InvalidType: shapes or dtypes do not fit.
        """
        self._prepare(x)
        if x.ndim in (0, 2):
            return layer_normalization(x, self.gamma, self.beta, self.eps)
        rows = reshape(x, (math.prod(x.shape[:-1]), x.shape[-1]))
        y: Variable = reshape(layer_normalization(rows, self.gamma, self.beta, self.eps), x.shape)
        return y


class RMSNormalization(_OfRows):
    """Root mean square normalization along the last axis, with a scale for each element of it; not in Chainer.

    See :func:`~minichainer.functions.rms_norm`. Transformers use it in place of :class:`LayerNormalization`.

    Args:
        size: length of the last axis; None to take it from the data of the first call.
        eps: added to the mean of squares.
        initial_gamma: initializer of the scales; one by default.

    Attributes:
        gamma: Parameter (size,).
        eps: as given.

    Source: Zhang and Sennrich, Root Mean Square Layer Normalization, 2019.

    >>> import numpy as np, minichainer as chainer
    >>> layer = chainer.links.RMSNormalization()
    >>> layer(np.array([[1, 7]], np.float32)).array.round(3)
    array([[0.2, 1.4]], dtype=float32)
    """

    def __init__(self, size: int | None = None, eps: float = 1e-6, initial_gamma: Any = None) -> None:
        check_normalization(LinkArguments(self), size, eps, initial_gamma=initial_gamma)
        super().__init__()
        self.eps = eps
        self._make_parameters(size, gamma=parameter(initial_gamma, 1, get_dtype()))

    def forward(self, x: Any) -> Variable:
        """Applies the layer.

        Args:
            x: Variable or float array (..., size).

        Returns:
            Variable of the same shape.

        Raises:
            InvalidType: shapes or dtypes do not fit.
        """
        self._prepare(x)
        return rms_norm(x, self.gamma, self.eps)


class GroupNormalization(Link):
    """Group normalization, with a scale and a shift for each channel.

    See :func:`~minichainer.functions.group_normalization`.

    Args:
        groups: number of groups of channels, a divisor of their number.
        size: number of channels; None to take it from the data of the first call.
        eps: added to the variance.
        initial_gamma: initializer of the scales; one by default.
        initial_beta: initializer of the shifts; zero by default.

    Attributes:
        gamma: Parameter (size,), float32 for ``chainer.mixed16``.
        beta: Parameter (size,), float32 for ``chainer.mixed16``.
        groups: as given.
        eps: as given.

    Source: Wu and He, Group Normalization, 2018.

    >>> import numpy as np, minichainer as chainer
    >>> layer = chainer.links.GroupNormalization(2)
    >>> layer(np.array([[1, 3, 5, 9]], np.float32)).array.round(3)
    array([[-1.,  1., -1.,  1.]], dtype=float32)
    """

    def __init__(
        self,
        groups: int,
        size: int | None = None,
        eps: float = 1e-5,
        initial_gamma: Any = None,
        initial_beta: Any = None,
    ) -> None:
        check = LinkArguments(self)
        check.integers(1, groups=groups)
        check_normalization(check, size, eps, initial_gamma=initial_gamma, initial_beta=initial_beta)
        if size is not None and size % groups:
            raise check.wrong_value(f'a divisor of size = {size}', 'groups', groups)
        super().__init__()
        dtype = get_dtype(map_mixed16=numpy.float32)
        with self.init_scope():
            self.gamma = parameter(initial_gamma, 1, dtype)
            self.beta = parameter(initial_beta, 0, dtype)
        self.groups = groups
        self.eps = eps
        if size is not None:
            self._initialize_params(size)

    def _initialize_params(self, size: int) -> None:
        for param in (self.gamma, self.beta):
            if param._data is None:
                param.initialize((size,))

    @property
    def printable_specs(self) -> Iterator[tuple[str, Any]]:
        yield from (('groups', self.groups), ('size', _size(self.gamma)), ('eps', self.eps))

    def forward(self, x: Any) -> Variable:
        """Applies the layer.

        Args:
            x: Variable or float array (N, size, ...).

        Returns:
            Variable of ``x``'s shape and dtype.

        Raises:
            InvalidType: shapes or dtypes do not fit.
            ValueError: ``x`` has fewer than two axes, or ``groups`` does not divide the number of channels.
        """
        if self.gamma._data is None or self.beta._data is None:
            if x.ndim < 2:
                raise _unknown('GroupNormalization', x, 'at least 2 axes')
            with one_at_a_time(self):
                self._initialize_params(x.shape[1])
        return group_normalization(x, self.groups, self.gamma, self.beta, self.eps)


class InstanceNormalization(Link):
    """Instance normalization: each channel of each sample by itself, with scales and shifts; not in Chainer.

    See :func:`~minichainer.functions.instance_normalization`. It does the same in training and testing.

    Args:
        size: number of channels; None to take it from the data of the first call.
        eps: added to the variance.
        use_gamma: with scales; else they are 1.
        use_beta: with shifts; else they are 0.
        initial_gamma: initializer of the scales; one by default.
        initial_beta: initializer of the shifts; zero by default.

    Attributes:
        gamma: Parameter (size,), or None.
        beta: Parameter (size,), or None.
        eps: as given.

    Source: Ulyanov, Vedaldi and Lempitsky, Instance Normalization: The Missing Ingredient for Fast Stylization, 2016.

    >>> import numpy as np, minichainer as chainer
    >>> layer = chainer.links.InstanceNormalization()
    >>> layer(np.array([[[1, 3], [4, 8]]], np.float32)).array.round(3)
    array([[[-1.,  1.],
            [-1.,  1.]]], dtype=float32)
    """

    def __init__(
        self,
        size: int | None = None,
        eps: float = 1e-5,
        use_gamma: bool = True,
        use_beta: bool = True,
        initial_gamma: Any = None,
        initial_beta: Any = None,
    ) -> None:
        check = LinkArguments(self)
        check_normalization(check, size, eps, initial_gamma=initial_gamma, initial_beta=initial_beta)
        check.flags(use_gamma=use_gamma, use_beta=use_beta)
        super().__init__()
        dtype = get_dtype(map_mixed16=numpy.float32)
        self.eps = eps
        with self.init_scope():
            self.gamma = parameter(initial_gamma, 1, dtype) if use_gamma else None
            self.beta = parameter(initial_beta, 0, dtype) if use_beta else None
        if size is not None:
            self._initialize_params(size)

    def _initialize_params(self, size: int) -> None:
        for param in self.params():
            if param._data is None:
                param.initialize((size,))

    @property
    def printable_specs(self) -> Iterator[tuple[str, Any]]:
        sizes = [_size(param) for param in (self.gamma, self.beta) if param is not None]
        yield from (('size', sizes[0] if sizes else None), ('eps', self.eps))
        yield from (('use_gamma', self.gamma is not None), ('use_beta', self.beta is not None))

    def forward(self, x: Any) -> Variable:
        """Applies the layer.

        Args:
            x: Variable or float array (N, size, ...).

        Returns:
            Variable of ``x``'s shape and dtype.

        Raises:
            InvalidType: shapes or dtypes do not fit.
            ValueError: ``x`` has fewer than two axes.
        """
        if any([param._data is None for param in self.params()]):
            if x.ndim < 2:
                raise _unknown(type(self).__name__, x, 'at least 2 axes')
            with one_at_a_time(self):
                self._initialize_params(x.shape[1])
        return instance_normalization(x, self.gamma, self.beta, self.eps)


def _size(param: Any) -> Any:
    return None if param._data is None else param._data.size


def _unknown(name: str, x: Any, expected: str) -> ValueError:
    """The error for first data with a wrong number of axes, from which the size cannot be taken."""
    return ValueError(
        f'{name}: size is not known yet and cannot be taken from an x of shape {x.shape}: expected {expected}'
    )
