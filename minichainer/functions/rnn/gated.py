"""Cells with gates, one step at a time: LSTM, S-LSTM and Tree-LSTM."""

from __future__ import annotations

from typing import Any

from minichainer.functions._arguments import Arguments, described
from minichainer.functions._composed import differentiated
from minichainer.functions._define import primitive
from minichainer.functions.activation.sigmoidal import sigmoid, tanh
from minichainer.functions.array.joining import concat
from minichainer.kernels import cells as kernels
from minichainer.variable import Variable, as_variable

_lstm, _slstm, _tree = Arguments('LSTM', 'lstm'), Arguments('SLSTM', 'slstm'), Arguments('TreeLSTM', 'tree_lstm')

# All cells are c = sum of sigmoid(z_k) u_k, h = sigmoid(z_o) tanh(c), where the u_k are new inputs tanh(a_j) and
# previous cells. They differ in how their inputs contain these: the ``..._parts`` functions return the gates z_1, ..,
# z_o, a_1, .. and the cells, for arrays and Variables.
Parts = tuple[list[Any], list[Any]]


def _forward(xp: Any, parts: Parts, new_inputs: int = 1) -> Any:
    gates, cells = parts
    return _narrowed(kernels.gated_sum(xp, gates, cells, new_inputs), gates[0].dtype)


def _narrowed(found: Any, dtype: Any) -> Any:
    c, h, saved = found
    return (c.astype(dtype, copy=False), h.astype(dtype, copy=False)), saved


def _plain(parts: Parts, new_inputs: int = 1) -> tuple[Variable, Variable]:
    """The composition of plain ops."""
    gates, cells = parts
    terms = [*[tanh(a) for a in gates[len(gates) - new_inputs :]], *cells]
    c: Any = sum(sigmoid(gate) * term for gate, term in zip(gates, terms, strict=False))
    return c, sigmoid(gates[len(terms)]) * tanh(c)


# --- LSTM -----------------------------------------------------------------------------------------------------------
def _lstm_parts(c: Any, x: Any) -> Parts:
    planes = kernels.adjacent_gates(x)
    return [planes[:, :, k] for k in (1, 2, 3, 0)], [c]


def _lstm_gradients(xp: Any, gy: Any, residual: Any) -> tuple[Any, ...]:
    return kernels.lstm_cell_backward(xp, residual, *gy)


@primitive(
    rule=differentiated(lambda c_prev, x: _plain(_lstm_parts(c_prev, x))),
    fast=_lstm_gradients,
    name='LSTM',
    several_outputs=True,
)
def lstm_cell(xp: Any, c_prev: Any, x: Any) -> Any:
    """One step of LSTM; c and x have the same batch size."""
    return _narrowed(kernels.lstm_cell(xp, c_prev, x), x.dtype)


# --- S-LSTM ---------------------------------------------------------------------------------------------------------
def _slstm_parts(c1: Any, c2: Any, x1: Any, x2: Any) -> Parts:
    first, second = kernels.adjacent_gates(x1), kernels.adjacent_gates(x2)
    (a1, a2), (i1, i2), (f1, f2), (o1, o2) = [(first[:, :, k], second[:, :, k]) for k in range(4)]
    return [i1, i2, f1, f2, o1 + o2, a1, a2], [c1, c2]


def _slstm_gradients(xp: Any, gy: Any, residual: Any) -> tuple[Any, ...]:
    gc, gh = gy
    gz, *gcells = kernels.gated_sum_backward(xp, residual, gc, gh, 2)
    return (*gcells, kernels.joined_gates(xp, gz, (5, 0, 2, 4)), kernels.joined_gates(xp, gz, (6, 1, 3, 4)))


@primitive(
    rule=differentiated(lambda c_prev1, c_prev2, x1, x2: _plain(_slstm_parts(c_prev1, c_prev2, x1, x2), 2)),
    fast=_slstm_gradients,
    name='SLSTM',
    several_outputs=True,
)
def slstm_cell(xp: Any, c_prev1: Any, c_prev2: Any, x1: Any, x2: Any) -> Any:
    """One step of S-LSTM."""
    return _forward(xp, _slstm_parts(c_prev1, c_prev2, x1, x2), 2)


# --- Tree-LSTM ------------------------------------------------------------------------------------------------------
def _tree_parts(*xs: Any) -> Parts:
    *cells, x = xs
    n = x.shape[1] // (3 + len(cells))
    a, i, o, *f = [x[:, k * n : (k + 1) * n] for k in range(3 + len(cells))]
    return [i, *f, o, a], cells


def _tree_gradients(xp: Any, gy: Any, residual: Any) -> tuple[Any, ...]:
    gc, gh = gy
    (i, *f, o, a), *gcells = kernels.gated_sum_backward(xp, residual, gc, gh, 1)
    return (*gcells, xp.concatenate([a, i, o, *f], axis=1))


@primitive(
    rule=differentiated(lambda *xs: _plain(_tree_parts(*xs))),
    fast=_tree_gradients,
    name='TreeLSTM',
    several_outputs=True,
)
def tree_cell(xp: Any, *xs: Any) -> Any:
    """One step of Tree-LSTM: the arguments are the children's cells, then the gates."""
    return _forward(xp, _tree_parts(*xs))


# --- the functions --------------------------------------------------------------------------------------------------
def lstm(c_prev: Any, x: Any) -> tuple[Variable, Variable]:
    r"""One step of long short-term memory.

    With :math:`x` split into :math:`a, i, f, o`, which are adjacent for each unit (``x[:, 0::4]`` is a):

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
    _check_floats(_lstm, c_prev, x)
    rows, fits = 0, c_prev.ndim == x.ndim >= 2
    if fits:
        rows = x.shape[0]
        fits = rows <= c_prev.shape[0] and x.shape[1:] == (4 * c_prev.shape[1], *c_prev.shape[2:])
    if not fits:
        expected = "c of shape (B', n, ...) and x of shape (B, 4 n, ...) with B <= B'"
        raise _lstm.misfit(expected, described(c_prev, x))
    if rows == c_prev.shape[0]:
        c, h = lstm_cell(c_prev, x)
        return c, h
    c, h = lstm_cell(c_prev[:rows], x)
    return concat([c, c_prev[rows:]], axis=0), h


def slstm(c_prev1: Any, c_prev2: Any, x1: Any, x2: Any) -> tuple[Variable, Variable]:
    r"""One step of S-LSTM, which merges two branches.

    With each :math:`x_k` split into :math:`a_k, i_k, f_k, o_k` as in :func:`lstm`:

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
    _check_floats(_slstm, *inputs)
    cell, other, first, second = [x.shape for x in inputs]
    gates = (cell[0], 4 * cell[1], *cell[2:]) if len(cell) >= 2 else None
    if not (other == cell and first == second == gates):
        expected = 'two cells of shape (B, n, ...) and two x of shape (B, 4 n, ...)'
        raise _slstm.misfit(expected, described(*inputs))
    c, h = slstm_cell(*inputs)
    return c, h


def tree_lstm(*inputs: Any) -> tuple[Variable, Variable]:
    r"""One step of Tree-LSTM: a node with N children.

    With :math:`x` split along axis 1 into :math:`a, i, o, f_1, \dots, f_N`:

    .. math:: c = \tanh(a)\, \sigma(i) + \sum_k c_k\, \sigma(f_k), \qquad h = \tanh(c)\, \sigma(o)

    From Tai, Socher and Manning, *Improved Semantic Representations From Tree-Structured Long Short-Term Memory
    Networks*, 2015.

    Args:
        inputs: the children's cells :math:`c_1, \dots, c_N`, at least one, each a Variable or float array
            :math:`(B, n, \dots)`; then x, :math:`(B, (3 + N) n, \dots)` of the same dtype.

    Returns:
        Tuple of Variables c and h, :math:`(B, n, \dots)`.

    Raises:
        InvalidType: shapes or dtypes do not fit, or there are fewer than two arguments.

    >>> import numpy as np, minichainer.functions as F
    >>> c, h = F.tree_lstm(np.ones((1, 2)), np.ones((1, 2)), np.zeros((1, 10)))
    >>> c.array
    array([[1., 1.]])
    """
    variables = [as_variable(x) for x in inputs]
    if len(variables) < 2:
        raise _tree.misfit('at least one cell, and x', f'{len(variables)} arguments')
    _check_floats(_tree, *variables)
    *cells, x = [v.shape for v in variables]
    gates = (cells[0][0], (3 + len(cells)) * cells[0][1], *cells[0][2:]) if len(cells[0]) >= 2 else None
    if x != gates or any(c != cells[0] for c in cells):
        expected = f'cells of shape (B, n, ...) and x of shape (B, {3 + len(cells)} n, ...)'
        raise _tree.misfit(expected, described(*variables))
    c, h = tree_cell(*variables)
    return c, h


def _check_floats(arguments: Arguments, *xs: Variable) -> None:
    if xs[0].dtype.kind != 'f' or any(x.dtype != xs[0].dtype for x in xs):
        raise arguments.misfit('float arrays of one dtype', described(*xs))
