"""EmbedID: a vector for each index."""

from __future__ import annotations

from typing import Any

from minichainer.functions.connection.embed_id import embed_id
from minichainer.initializers._generate import _get_initializer
from minichainer.initializers.normal import Normal
from minichainer.link.link import Link
from minichainer.links._arguments import LinkArguments
from minichainer.variable import Parameter, Variable, as_array


class EmbedID(Link):
    """Embeddings of indices, such as word numbers: each index selects a row of W, :math:`y_i = W_{x_i}`.

    Args:
        in_size: how many numbers there are, V.
        out_size: size of the embeddings, D.
        initialW: initializer of W, ``(V, D)``: an initializer, a number or an array; by default normal with standard
            deviation 1.
        ignore_label: a number whose embedding is zero; None for none.

    >>> import numpy as np, minichainer as chainer
    >>> embed = chainer.links.EmbedID(5, 3, ignore_label=-1)
    >>> embed(np.array([[0, 4], [2, -1]])).shape
    (2, 2, 3)
    """

    #: Also of embeddings in pickles that were made without it.
    ignore_label: int | None = None

    def __init__(self, in_size: int, out_size: int, initialW: Any = None, ignore_label: int | None = None) -> None:
        check = LinkArguments(self)
        check.sizes(in_size=in_size, out_size=out_size)
        check.initializers((in_size, out_size), initialW=initialW)
        if ignore_label is not None:
            check.integers(ignore_label=ignore_label)
        super().__init__()
        self.ignore_label = ignore_label
        with self.init_scope():
            self.W = Parameter(Normal(1.0) if initialW is None else _get_initializer(initialW), (in_size, out_size))

    @classmethod
    def from_params(cls, W: Any, ignore_label: int | None = None) -> EmbedID:
        """An EmbedID with a copy of given embeddings.

        Args:
            W: array or Variable ``(V, D)``.
            ignore_label: as for the class.

        >>> import numpy as np, minichainer as chainer
        >>> embed = chainer.links.EmbedID.from_params(np.array([[1., 2.], [3., 4.]], np.float32))
        >>> embed(np.array([1])).array
        array([[3., 4.]], dtype=float32)
        """
        in_size, out_size = W.shape
        return cls(in_size, out_size, as_array(W), ignore_label)

    def forward(self, x: Any) -> Variable:
        """The embeddings of indices.

        Args:
            x: int array or Variable ``(B, ...)``.

        Returns:
            Variable ``(B, ..., D)``.

        Raises:
            InvalidType: x is not an int array.
            IndexError: a number is out of range (on a CPU).
        """
        return embed_id(x, self.W, self.ignore_label)
