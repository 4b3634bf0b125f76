"""Linear: the fully connected layer."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from minichainer._once import one_at_a_time
from minichainer.errors import UninitializedParameterError
from minichainer.functions.connection.linear import linear
from minichainer.initializers._generate import _get_initializer
from minichainer.link.link import Link
from minichainer.links._arguments import LinkArguments
from minichainer.variable import Parameter, Variable, as_array, as_variable


class Linear(Link):
    r"""Fully connected layer, :math:`y = x W^\top + b`.

    Args:
        in_size: number of inputs; None to take it from the data of the first call. With one argument alone,
            that is ``out_size``.
        out_size: number of outputs.
        nobias: without b.
        initialW: initializer of W, shape ``(out_size, in_size)``: an initializer, a number or an array; by
            default normal with standard deviation ``1 / sqrt(in_size)``.
        initial_bias: initializer of b, shape ``(out_size,)``; zero by default.

    >>> import numpy as np, minichainer as chainer
    >>> layer = chainer.links.Linear(None, 2)
    >>> layer(np.ones((4, 3), np.float32)).shape
    (4, 2)
    >>> layer.W.shape
    (2, 3)
    """

    def __init__(
        self,
        in_size: int | None,
        out_size: int | None = None,
        nobias: bool = False,
        initialW: Any = None,
        initial_bias: Any = None,
    ) -> None:
        if out_size is None:
            in_size, out_size = None, in_size
        check = LinkArguments(self)
        check.optional_sizes(in_size=in_size)
        check.sizes(out_size=out_size)
        check.flags(nobias=nobias)
        check.initializers((out_size, in_size), initialW=initialW)
        check.initializers((out_size,), initial_bias=initial_bias)
        super().__init__()
        self.in_size = in_size
        self.out_size = out_size
        with self.init_scope():
            self.W = Parameter(_get_initializer(initialW))
            if in_size is not None:
                self._initialize_params(in_size)
            bias = _get_initializer(0 if initial_bias is None else initial_bias)
            self.b = None if nobias else Parameter(bias, out_size)

    def _initialize_params(self, in_size: int) -> None:
        self.W.initialize((self.out_size, in_size))

    def _prepare(self, x: Any, n_batch_axes: int) -> None:
        if isinstance(x, Variable) and x._data is None:
            raise UninitializedParameterError(
                'Linear: x is a Variable without data, so in_size is unknown; give it an array'
            )
        if not hasattr(x, 'shape'):
            x = as_variable(x)
        in_size = in_size_of(x.shape, n_batch_axes)
        with one_at_a_time(self):
            if self.W._data is None:
                self._initialize_params(in_size)

    @property
    def printable_specs(self) -> Iterator[tuple[str, Any]]:
        yield from (('in_size', self.in_size), ('out_size', self.out_size), ('nobias', self.b is None))

    @classmethod
    def from_params(cls, W: Any, b: Any = None, nobias: bool = False) -> Linear:
        """A Linear with copies of given parameters.

        Args:
            W: array or Variable of shape ``(out_size, in_size)``.
            b: array or Variable of shape ``(out_size,)``; None for zeros.
            nobias: without b.

        >>> import numpy as np, minichainer as chainer
        >>> print(chainer.links.Linear.from_params(np.ones((2, 3), np.float32)))
        Linear(in_size=3, out_size=2, nobias=False)
        """
        out_size, in_size = W.shape
        return cls(in_size, out_size, nobias, as_array(W), None if b is None else as_array(b))

    def forward(self, x: Any, n_batch_axes: int = 1) -> Variable:
        """Applies the layer.

        Args:
            x: array or Variable; the axes after the batch axes are taken together as ``in_size`` numbers.
            n_batch_axes: number of leading axes that stay.

        Returns:
            Variable of shape ``(*x.shape[:n_batch_axes], out_size)``.

        Raises:
            InvalidType: the sizes do not match W.
            ValueError: ``n_batch_axes`` is less than 1, or leaves no axis to begin with.
        """
        if self.W._data is None:
            self._prepare(x, n_batch_axes)
        return linear(x, self.W, self.b, n_batch_axes)


def in_size_of(shape: tuple[int, ...], n_batch_axes: int) -> int:
    """Number of inputs from the shape of the first data, after checking it."""
    if n_batch_axes < 1:
        raise ValueError(f'n_batch_axes should be greater than 0. Linear got {n_batch_axes}')
    if len(shape) <= n_batch_axes:
        remedy = '; for one example write x[None]' if len(shape) == 1 else ''
        raise ValueError(
            f'Linear: in_size is not known yet and cannot be taken from an x of shape {shape}: '
            f'expected more than n_batch_axes = {n_batch_axes} axes{remedy}'
        )
    return math.prod(shape[n_batch_axes:])
