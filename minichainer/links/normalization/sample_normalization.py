"""Layer and group normalization with parameters."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy

from minichainer._dtype import get_dtype
from minichainer._once import one_at_a_time
from minichainer.functions.normalization.sample_normalization import group_normalization, layer_normalization
from minichainer.link.link import Link
from minichainer.links.normalization._parts import parameter
from minichainer.variable import Variable


class LayerNormalization(Link):
    """Layer normalization of rows, with a scale and a shift for each column.

    See :func:`~minichainer.functions.layer_normalization`.

    Args:
        size: length of rows; None to take it from the data of the first call.
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
    """

    def __init__(
        self, size: int | None = None, eps: float = 1e-6, initial_gamma: Any = None, initial_beta: Any = None
    ) -> None:
        super().__init__()
        dtype = get_dtype()
        with self.init_scope():
            self.gamma = parameter(initial_gamma, 1, dtype)
            self.beta = parameter(initial_beta, 0, dtype)
        self.eps = eps
        if size is not None:
            self._initialize_params(size)

    def _initialize_params(self, size: int) -> None:
        for param in (self.gamma, self.beta):
            if param._data is None:
                param.initialize((size,))

    @property
    def printable_specs(self) -> Iterator[tuple[str, Any]]:
        yield from (('size', _size(self.gamma)), ('eps', self.eps))

    def forward(self, x: Any) -> Variable:
        """Applies the layer.

        Args:
            x: Variable or float array (N, size).

        Returns:
            Variable (N, size).

        Raises:
            InvalidType: shapes or dtypes do not fit.
            ValueError: ``size`` is not known yet, and ``x`` is not a matrix.
        """
        if self.gamma._data is None or self.beta._data is None:
            if x.ndim != 2:
                raise _unknown('LayerNormalization', x, '2 axes')
            with one_at_a_time(self):
                self._initialize_params(x.shape[1])
        return layer_normalization(x, self.gamma, self.beta, self.eps)


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


def _size(param: Any) -> Any:
    return None if param._data is None else param._data.size


def _unknown(name: str, x: Any, expected: str) -> ValueError:
    """The error for first data with a wrong number of axes, from which the size cannot be taken."""
    return ValueError(
        f'{name}: size is not known yet and cannot be taken from an x of shape {x.shape}: expected {expected}'
    )
