"""Tree-LSTM: long short-term memory along trees, one node at a time."""

from __future__ import annotations

from typing import Any

from minichainer.functions.array.joining import concat
from minichainer.functions.rnn.gated import tree_lstm
from minichainer.link.link import Chain
from minichainer.links._arguments import LinkArguments
from minichainer.links.connection.linear import Linear
from minichainer.links.rnn._state import check_states
from minichainer.variable import Variable, as_variable


class _TreeLSTM(Chain):
    """A link that is called with cells and states of children, then an input."""

    W_x: Linear

    def __init__(self, in_size: int | None, out_size: int) -> None:
        check = LinkArguments(self)
        check.optional_sizes(in_size=in_size)
        check.sizes(out_size=out_size)
        super().__init__()
        self.in_size = in_size
        self.state_size = out_size

    def _parts(self, arguments: tuple[Any, ...]) -> tuple[list[Any], list[Any], Any]:
        """Cells, states and input, with zeros in place of None."""
        *children, x = arguments
        half = len(children) // 2
        names = [*[f'c{k}' for k in range(1, half + 1)], *[f'h{k}' for k in range(1, half + 1)], 'x']
        named = {name: v for name, v in zip(names, arguments, strict=True) if v is not None}
        check_states(self, **named)
        given = list(named.values())
        if not given:
            raise ValueError(
                f'{type(self).__name__}: all inputs (cs, hs, x) are None; at least one is needed for the batch size'
            )
        batch, dtype = given[0].shape[0], given[0].dtype
        with self.device.create_context():
            zeros = Variable(self.xp.zeros((batch, self.state_size), dtype))
        children = [zeros if v is None else as_variable(v) for v in children]
        if x is None:
            with self.device.create_context():
                x = Variable(self.xp.zeros((batch, self._known_in_size()), dtype))
        return children[:half], children[half:], x

    def _known_in_size(self) -> Any:
        if self.W_x.W._data is None:
            raise ValueError(
                f'{type(self).__name__}: x is None, and in_size is not known yet: give it, or an x at the first call'
            )
        return self.W_x.W.shape[1]


class ChildSumTreeLSTM(_TreeLSTM):
    r"""Tree-LSTM for any number of unordered children.

    .. math::

        a, i, o &= W_{aio} \textstyle\sum_k h_k + W_x x & f_k &= W_f h_k + W_x x \\
        c &= \tanh(a)\, \sigma(i) + \textstyle\sum_k c_k\, \sigma(f_k) & h &= \tanh(c)\, \sigma(o)

    with a bias in :math:`W_x`, which computes a, i, o and its part of all f. From Tai, Socher and Manning, *Improved
    Semantic Representations From Tree-Structured Long Short-Term Memory Networks*, 2015.

    Args:
        in_size: number of inputs; None to take it from the data of the first call.
        out_size: number of units.

    >>> import numpy as np, minichainer as chainer
    >>> cell = chainer.links.ChildSumTreeLSTM(3, 2)
    >>> c, h = cell(np.ones((1, 3), np.float32))
    >>> c, h = cell(c, c, h, h, np.ones((1, 3), np.float32))
    >>> h.shape
    (1, 2)
    """

    def __init__(self, in_size: int | None, out_size: int) -> None:
        super().__init__(in_size, out_size)
        with self.init_scope():
            self.W_x = Linear(in_size, 4 * out_size)
            self.W_h_aio = Linear(out_size, 3 * out_size, nobias=True)
            self.W_h_f = Linear(out_size, out_size, nobias=True)

    def forward(self, *cshsx: Any) -> tuple[Variable, Variable]:
        """Applies it to a node.

        Args:
            cshsx: cells of the children, their states, and the input ``(B, in_size)``: Variables or arrays; None
                counts as zeros.

        Returns:
            Cells and state of the node, ``(B, out_size)``.

        Raises:
            ValueError: there is no argument, an even number of them, or all are None.
            InvalidType: shapes or dtypes do not fit.
        """
        if len(cshsx) % 2 == 0:
            raise ValueError(
                f'ChildSumTreeLSTM: expected as many cells as states, and one input, got {len(cshsx)} arguments'
            )
        cells, states, x = self._parts(cshsx)
        size = self.state_size
        if not states:
            with self.device.create_context():
                cells = states = [Variable(self.xp.zeros((x.shape[0], size), x.dtype))]
        total: Any = sum(states[1:], states[0])
        of_x = self.W_x(x)
        forget = [self.W_h_f(h) + of_x[:, 3 * size :] for h in states]
        return tree_lstm(*cells, concat([self.W_h_aio(total) + of_x[:, : 3 * size], *forget]))


class NaryTreeLSTM(_TreeLSTM):
    r"""Tree-LSTM for a fixed number of children, with separate weights for each.

    .. math::

        a, i, o, f_1, \dots, f_n &= W_x x + b + \textstyle\sum_k W_{h_k} h_k \\
        c &= \tanh(a)\, \sigma(i) + \textstyle\sum_k c_k\, \sigma(f_k) \qquad h = \tanh(c)\, \sigma(o)

    From Tai, Socher and Manning, *Improved Semantic Representations From Tree-Structured Long Short-Term Memory
    Networks*, 2015.

    Args:
        in_size: number of inputs; None to take it from the data of the first call.
        out_size: number of units.
        n_ary: number of children.

    >>> import numpy as np, minichainer as chainer
    >>> cell = chainer.links.NaryTreeLSTM(3, 2)
    >>> c, h = cell(None, None, None, None, np.ones((1, 3), np.float32))
    >>> c, h = cell(c, c, h, h, np.ones((1, 3), np.float32))
    >>> h.shape
    (1, 2)
    """

    def __init__(self, in_size: int | None, out_size: int, n_ary: int = 2) -> None:
        LinkArguments(self).integers(n_ary=n_ary)
        if n_ary < 1:
            raise AssertionError(f'NaryTreeLSTM: n_ary must be at least 1, got {n_ary}')
        super().__init__(in_size, out_size)
        self.n_ary = n_ary
        with self.init_scope():
            self.W_x = Linear(in_size, (3 + n_ary) * out_size)
            for k in range(1, n_ary + 1):
                setattr(self, f'W_h{k}', Linear(out_size, (3 + n_ary) * out_size, nobias=True))

    def forward(self, *cshsx: Any) -> tuple[Variable, Variable]:
        """Applies it to a node.

        Args:
            cshsx: cells of the ``n_ary`` children, their states, and the input ``(B, in_size)``: Variables or
                arrays; None counts as zeros.

        Returns:
            Cells and state of the node, ``(B, out_size)``.

        Raises:
            ValueError: their number is not ``2 * n_ary + 1``, or all are None.
            InvalidType: shapes or dtypes do not fit.
        """
        if len(cshsx) != 2 * self.n_ary + 1:
            raise ValueError(
                f'NaryTreeLSTM: expected {self.n_ary} cells, as many states and one input, got {len(cshsx)} arguments'
            )
        cells, states, x = self._parts(cshsx)
        gates = self.W_x(x)
        for k, (h, given) in enumerate(zip(states, cshsx[self.n_ary : -1], strict=True), start=1):
            if given is not None:  # weights that see no state have no gradient, as in Chainer
                gates = gates + self[f'W_h{k}'](h)
        return tree_lstm(*cells, gates)
