"""Parameter: a link that holds one array."""

from __future__ import annotations

from typing import Any

from minichainer import variable
from minichainer._checks import array_types
from minichainer.functions.array.conversion import identity
from minichainer.link.link import Link
from minichainer.links._arguments import LinkArguments


class Parameter(Link):
    """A link with one parameter, which is its result: :math:`y = W`.

    Args:
        array: the initial values; the parameter uses this array.

    Attributes:
        W: Parameter with the given array.

    >>> import numpy as np, minichainer as chainer
    >>> chainer.links.Parameter(np.array([1, 2], np.float32))()
    variable([1., 2.])
    """

    def __init__(self, array: Any) -> None:
        if not isinstance(array, array_types()) or array.dtype.kind not in 'biufc':
            raise LinkArguments(self).wrong_type('an array of numbers', 'array', array)
        super().__init__()
        with self.init_scope():
            self.W = variable.Parameter(array)

    def forward(self, volatile: str = 'off') -> variable.Variable:
        """The parameter as a Variable.

        Args:
            volatile: has no effect; kept for code of Chainer v1.

        Returns:
            Variable with the array of W.
        """
        y: variable.Variable = identity(self.W)
        return y
