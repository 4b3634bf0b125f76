"""Maxout: the maximum of several linear layers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minichainer.functions.activation.units import maxout
from minichainer.initializer import Initializer
from minichainer.link.link import Chain
from minichainer.links._arguments import LinkArguments
from minichainer.links.connection.linear import Linear
from minichainer.variable import Variable


class Maxout(Chain):
    r"""Maximum of ``pool_size`` fully connected layers, :math:`y_i = \max_j (W_{ij} x + b_{ij})`.

    Args:
        in_size: number of inputs; None to take it from the data of the first call.
        out_size: number of outputs.
        pool_size: number of linear maps for each output.
        initialW: an initializer or a number for weights ``(out_size * pool_size, in_size)``, or an array, or a
            function that fills one, ``(out_size, pool_size, in_size)``; by default normal with standard deviation
            ``1 / sqrt(in_size)``.
        initial_bias: initializer of b, or an array, or a function that fills one, ``(out_size, pool_size)``; None
            for no bias.

    Attributes:
        linear: Linear with ``out_size * pool_size`` outputs.

    Source: Goodfellow et al., Maxout Networks, 2013.

    >>> import numpy as np, minichainer as chainer
    >>> chainer.links.Maxout(3, 2, pool_size=4)(np.ones((5, 3), np.float32)).shape
    (5, 2)
    """

    def __init__(
        self, in_size: int | None, out_size: int, pool_size: int, initialW: Any = None, initial_bias: Any = 0
    ) -> None:
        check = LinkArguments(self)
        check.optional_sizes(in_size=in_size)
        check.sizes(out_size=out_size)
        check.integers(1, pool_size=pool_size)
        initialW = _merged(check, 'initialW', initialW, (out_size, pool_size, in_size))
        initial_bias = _merged(check, 'initial_bias', initial_bias, (out_size, pool_size))
        super().__init__()
        self.out_size = out_size
        self.pool_size = pool_size
        with self.init_scope():
            self.linear = Linear(in_size, out_size * pool_size, initial_bias is None, initialW, initial_bias)

    def forward(self, x: Any) -> Variable:
        """Applies the layer.

        Args:
            x: Variable or float array; the axes after the first are taken together as ``in_size`` numbers.

        Returns:
            Variable (batch, out_size).

        Raises:
            InvalidType: the sizes do not fit.
        """
        return maxout(self.linear(x), self.pool_size)


def _seeing(function: Callable[[Any], Any], shape: tuple[int | None, ...]) -> Callable[[Any], None]:
    """A function that fills an array of the whole shape, as an initializer of the merged one."""

    def fill(array: Any) -> None:
        whole = array.reshape(*shape[:2], *array.shape[1:])  # of the array itself, not of a copy: it is contiguous
        function(whole)

    return fill


def _merged(check: LinkArguments, name: str, value: Any, shape: tuple[int | None, ...]) -> Any:
    """An array with its first two axes merged, after checking its shape; other initializers as they are."""
    check.initializers(**{name: value})
    if callable(value):
        return value if isinstance(value, Initializer) else _seeing(value, shape)
    if getattr(value, 'ndim', 0) == 0:
        return value
    if value.ndim != len(shape) or any(n != m for n, m in zip(value.shape, shape, strict=True) if m is not None):
        raise check.wrong_shape(name, value, shape)
    return value.reshape(value.shape[0] * value.shape[1], *value.shape[2:])
