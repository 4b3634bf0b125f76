"""TheanoFunction, which needs a library that is no longer maintained."""

from __future__ import annotations

from typing import Any

from minichainer.link.link import Link


class TheanoFunction(Link):
    """A graph of Theano as a link; it does not exist here.

    Args:
        inputs: anything.
        outputs: anything.

    Raises:
        RuntimeError: always; write the graph with :mod:`~minichainer.functions` instead.

    .. admonition:: Example

        >>> import minichainer as chainer
        >>> chainer.links.TheanoFunction([], [])  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        RuntimeError: TheanoFunction: Theano is not installed...

    """

    def __init__(self, inputs: Any, outputs: Any) -> None:
        raise RuntimeError(
            'TheanoFunction: Theano is not installed, is not maintained any more and does not work here; write its '
            'graph with minichainer.functions, or as a FunctionNode'
        )
