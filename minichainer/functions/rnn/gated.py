"""Cells with gates, one step at a time: LSTM, S-LSTM and Tree-LSTM."""

from __future__ import annotations

from typing import Any

from minichainer.backend import get_array_module
from minichainer.functions._checks import invalid
from minichainer.functions.activation.sigmoidal import sigmoid, tanh
from minichainer.functions.array.joining import concat
from minichainer.functions.rnn._fused import FusedNode
from minichainer.kernels import rnn as kernels
from minichainer.kernels.precision import in_float32
from minichainer.utils.type_check import InvalidType
from minichainer.variable import Variable, as_variable


class GatedCell(FusedNode):
    r"""The node of :math:`c = \sum_k \sigma(z_k) u_k,\; h = \sigma(z_o) \tanh c`, where :math:`u_k` are new inputs

    :math:`\tanh a_j` and previous cells. A subclass says where in its inputs these are.
    """

    #: Number of new inputs :math:`a_j`.
    new_inputs = 1

    def split(self, *inputs: Any) -> tuple[list[Any], list[Any]]:
        """Gates :math:`z_1, \\dots, z_o, a_1, \\dots` and cells, of arrays as of Variables."""
        raise NotImplementedError

    def join(self, xp: Any, gz: Any, gcells: list[Any]) -> list[Any]:
        """Gradients of the inputs from those of the gates and of the cells."""
        raise NotImplementedError

    def forward(self, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        self.retain_inputs(range(len(inputs)))
        xp, dtype = get_array_module(*inputs), inputs[0].dtype
        gates, cells = self.split(*[in_float32(x) for x in inputs])
        c, h, self.workspace = kernels.gated_sum(xp, xp.stack(gates), cells, self.new_inputs)
        return c.astype(dtype, copy=False), h.astype(dtype, copy=False)

    def backward_arrays(self, indexes: Any, grad_outputs: Any) -> Any:
        known = next(g for g in grad_outputs if g is not None)
        xp = get_array_module(known)
        gc, gh = [in_float32(xp.zeros_like(known) if g is None else g) for g in grad_outputs]
        gz, gcells = kernels.gated_sum_backward(xp, self.workspace, gc, gh, self.new_inputs)
        gradients = self.join(xp, gz, gcells)
        return [gradients[i].astype(known.dtype, copy=False) for i in indexes]

    def _reference(self, *inputs: Variable) -> tuple[Variable, ...]:
        gates, cells = self.split(*inputs)
        terms = [*[tanh(a) for a in gates[len(gates) - self.new_inputs :]], *cells]
        c: Any = sum(sigmoid(gate) * term for gate, term in zip(gates, terms, strict=False))
        return c, sigmoid(gates[len(terms)]) * tanh(c)


def _interleaved(x: Any) -> Any:
    """The gates of each unit beside each other, ``(B, n, 4, ...)``."""
    return x.reshape(x.shape[0], x.shape[1] // 4, 4, *x.shape[2:])


class LSTM(GatedCell):
    """The node of :func:`lstm`, for c and x of one batch size."""

    def split(self, *inputs: Any) -> tuple[list[Any], list[Any]]:
        planes = _interleaved(inputs[1])
        return [planes[:, :, k] for k in (1, 2, 3, 0)], [inputs[0]]

    def join(self, xp: Any, gz: Any, gcells: list[Any]) -> list[Any]:
        return [*gcells, _joined(xp, gz, (3, 0, 1, 2))]


class SLSTM(GatedCell):
    """The node of :func:`slstm`."""

    new_inputs = 2

    def split(self, *inputs: Any) -> tuple[list[Any], list[Any]]:
        c1, c2, x1, x2 = inputs
        first, second = _interleaved(x1), _interleaved(x2)
        pairs = [(first[:, :, k], second[:, :, k]) for k in range(4)]
        (a1, a2), (i1, i2), (f1, f2), (o1, o2) = pairs
        return [i1, i2, f1, f2, o1 + o2, a1, a2], [c1, c2]

    def join(self, xp: Any, gz: Any, gcells: list[Any]) -> list[Any]:
        return [*gcells, _joined(xp, gz, (5, 0, 2, 4)), _joined(xp, gz, (6, 1, 3, 4))]


def _joined(xp: Any, gz: Any, order: tuple[int, ...]) -> Any:
    """The gradient of an input whose gates stand beside each other."""
    _, batch, units, *rest = gz.shape
    gx = xp.empty((batch, units, 4, *rest), gz.dtype)
    for place, gate in enumerate(order):
        gx[:, :, place] = gz[gate]
    return gx.reshape(batch, units * 4, *rest)


class TreeLSTM(GatedCell):
    """The node of :func:`tree_lstm`."""

    def split(self, *inputs: Any) -> tuple[list[Any], list[Any]]:
        *cells, x = inputs
        n = x.shape[1] // (3 + len(cells))
        a, i, o, *f = [x[:, k * n : (k + 1) * n] for k in range(3 + len(cells))]
        return [i, *f, o, a], cells

    def join(self, xp: Any, gz: Any, gcells: list[Any]) -> list[Any]:
        i, *f, o, a = gz
        return [*gcells, xp.concatenate([a, i, o, *f], axis=1)]


def lstm(c_prev: Any, x: Any) -> tuple[Variable, Variable]:
    r"""One step of long short-term memory.

    With :math:`x` split into :math:`a, i, f, o`, which stand beside each other for each unit (``x[:, 0::4]`` is a):

    .. math:: c = \tanh(a)\, \sigma(i) + c_\mathrm{prev}\, \sigma(f), \qquad h = \tanh(c)\, \sigma(o)

    From Gers, Schmidhuber and Cummins, *Learning to Forget*, 2000.

    Args:
        c_prev: previous cells, Variable or float array :math:`(B', n, \dots)`.
        x: gates, Variable or array :math:`(B, 4 n, \dots)` of the same dtype, :math:`B \le B'`: sequences that have
            ended stand last, and their cells are handed on.

    Returns:
        Tuple of Variables c :math:`(B', n, \dots)` and h :math:`(B, n, \dots)`.

    Raises:
        InvalidType: shapes or dtypes do not fit.

    >>> import numpy as np, minichainer.functions as F
    >>> c, h = F.lstm(np.ones((3, 2)), np.zeros((2, 8)))
    >>> c.array[:, 0]
    array([0.5, 0.5, 1. ])
    >>> h.shape
    (2, 2)
    """
    c_prev, x = as_variable(c_prev), as_variable(x)
    _check_floats('LSTM', c_prev, x)
    rows, fits = 0, c_prev.ndim == x.ndim >= 2
    if fits:
        rows = x.shape[0]
        fits = rows <= c_prev.shape[0] and x.shape[1:] == (4 * c_prev.shape[1], *c_prev.shape[2:])
    if not fits:
        raise _misfit('LSTM', "c of shape (B', n, ...) and x of shape (B, 4 n, ...) with B <= B'", c_prev, x)
    if rows == c_prev.shape[0]:
        c, h = LSTM().apply((c_prev, x))
        return c, h
    c, h = LSTM().apply((c_prev[:rows], x))
    return concat([c, c_prev[rows:]], axis=0), h


def slstm(c_prev1: Any, c_prev2: Any, x1: Any, x2: Any) -> tuple[Variable, Variable]:
    r"""One step of S-LSTM, which merges two branches.

    With each :math:`x_k` split into :math:`a_k, i_k, f_k, o_k` as by :func:`lstm`:

    .. math::

        c = \sum_{k=1}^2 \tanh(a_k)\, \sigma(i_k) + c_{\mathrm{prev}\,k}\, \sigma(f_k), \qquad
        h = \tanh(c)\, \sigma(o_1 + o_2)

    From Zhu, Sobhani and Guo, *Long Short-Term Memory Over Recursive Structures*, 2015.

    Args:
        c_prev1: cells of the first branch, Variable or float array :math:`(B, n, \dots)`.
        c_prev2: cells of the second branch, likewise.
        x1: gates of the first branch, Variable or array :math:`(B, 4 n, \dots)` of the same dtype.
        x2: gates of the second branch, likewise.

    Returns:
        Tuple of Variables c and h, :math:`(B, n, \dots)`.

    Raises:
        InvalidType: shapes or dtypes do not fit.

    >>> import numpy as np, minichainer.functions as F
    >>> c, h = F.slstm(np.ones((1, 2)), np.ones((1, 2)), np.zeros((1, 8)), np.zeros((1, 8)))
    >>> c.array
    array([[1., 1.]])
    """
    inputs = [as_variable(x) for x in (c_prev1, c_prev2, x1, x2)]
    _check_floats('SLSTM', *inputs)
    c, other, first, second = [x.shape for x in inputs]
    gates = (c[0], 4 * c[1], *c[2:]) if len(c) >= 2 else None
    if not (other == c and first == second == gates):
        raise _misfit('SLSTM', 'two cells of shape (B, n, ...) and two x of shape (B, 4 n, ...)', *inputs)
    c, h = SLSTM().apply(inputs)
    return c, h


def tree_lstm(*inputs: Any) -> tuple[Variable, Variable]:
    r"""One step of Tree-LSTM: a node with N children.

    With :math:`x` cut along axis 1 into :math:`a, i, o, f_1, \dots, f_N`:

    .. math:: c = \tanh(a)\, \sigma(i) + \sum_k c_k\, \sigma(f_k), \qquad h = \tanh(c)\, \sigma(o)

    From Tai, Socher and Manning, *Improved Semantic Representations From Tree-Structured Long Short-Term Memory
    Networks*, 2015.

    Args:
        inputs: the children's cells :math:`c_1, \dots, c_N`, at least one, each a Variable or float array
            :math:`(B, n, \dots)`; then x, :math:`(B, (3 + N) n, \dots)` of the same dtype.

    Returns:
        Tuple of Variables c and h, :math:`(B, n, \dots)`.

    Raises:
        InvalidType: shapes or dtypes do not fit, or there are less than two arguments.

    >>> import numpy as np, minichainer.functions as F
    >>> c, h = F.tree_lstm(np.ones((1, 2)), np.ones((1, 2)), np.zeros((1, 10)))
    >>> c.array
    array([[1., 1.]])
    """
    variables = [as_variable(x) for x in inputs]
    if len(variables) < 2:
        where = 'Invalid operation is performed in: TreeLSTM (Forward)'
        raise invalid('at least one cell, and x', f'{len(variables)} arguments', where)
    _check_floats('TreeLSTM', *variables)
    *cells, x = [v.shape for v in variables]
    gates = (cells[0][0], (3 + len(cells)) * cells[0][1], *cells[0][2:]) if len(cells[0]) >= 2 else None
    if x != gates or any(c != cells[0] for c in cells):
        expected = f'cells of shape (B, n, ...) and x of shape (B, {3 + len(cells)} n, ...)'
        raise _misfit('TreeLSTM', expected, *variables)
    c, h = TreeLSTM().apply(variables)
    return c, h


def _check_floats(op: str, *xs: Variable) -> None:
    dtype = xs[0].dtype
    if dtype.kind != 'f' or any(x.dtype != dtype for x in xs):
        came = ', '.join(str(x.dtype) for x in xs)
        raise invalid('float arrays of one dtype', came, f'Invalid operation is performed in: {op} (Forward)')


def _misfit(op: str, expected: str, *xs: Variable) -> InvalidType:
    came = ' and '.join(str(x.shape) for x in xs)
    return invalid(expected, came, f'Invalid operation is performed in: {op} (Forward)')
