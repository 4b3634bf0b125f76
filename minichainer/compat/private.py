"""Private and deprecated functions of Chainer that programs import nevertheless."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy

from minichainer.backend import get_array_module
from minichainer.dataset.convert import _concat
from minichainer.functions.activation import softmax
from minichainer.functions.connection.linear import linear
from minichainer.functions.rnn import _n_step, n_step_gru, n_step_lstm, n_step_rnn
from minichainer.utils.array import sum_to
from minichainer.variable import as_variable

# --- datasets and arrays -------------------------------------------------------------------------------------------


def concat_arrays(arrays: Sequence[Any], padding: Any) -> Any:
    """Arrays stacked along a new first axis, padded if ``padding`` is not None."""
    return _concat(arrays, padding, None)


def summed_to(x: Any, g: Any) -> Any:
    """A gradient of the broadcast array ``x``, summed to its shape; zeros if it is None."""
    return get_array_module(x).zeros_like(x) if g is None else sum_to(g, x.shape)


# --- functions of arrays -------------------------------------------------------------------------------------------


def log_softmax(x: Any, axis: int = 1) -> Any:
    """Logarithm of softmax of an array."""
    return softmax.log_softmax(x, axis).array


def matmul(a: Any, b: Any, transa: bool = False, transb: bool = False, transout: bool = False) -> Any:
    """The product of two arrays, each transposed first if asked for, and the product too."""
    if transout:
        a, b, transa, transb = b, a, not transb, not transa
    left = a.swapaxes(-1, -2) if transa and a.ndim > 1 else a
    right = b.swapaxes(-1, -2) if transb and b.ndim > 1 else b
    return get_array_module(a).matmul(left, right)


def get_check_index(trans: bool, right: bool, row_idx: int = 0, col_idx: int = 1) -> int:
    """The axis of an operand of a matrix product that must match the other operand."""
    return row_idx if bool(trans) != bool(right) else col_idx


def extract_gates(x: Any) -> list[Any]:
    """The four gates of an LSTM, which alternate along the second axis of ``x``."""
    gates = x.reshape((len(x), x.shape[1] // 4, 4, *x.shape[2:]))
    return [gates[:, :, i] for i in range(4)]


def lstm_step(x: Any, h: Any, c: Any, w: Sequence[Any], b: Sequence[Any]) -> tuple[Any, Any]:
    """One step of a layer of ``n_step_lstm``, with its eight weights and biases: the new h and c."""
    of_x = [linear(x, w[i], b[i]) for i in range(4)]
    of_h = [linear(h, w[i], b[i]) for i in range(4, 8)]
    new_h, new_c = _n_step.lstm_step(of_x, of_h, [as_variable(h), as_variable(c)])
    return new_h, new_c


def n_step_lstm_base(
    n_layers: int,
    dropout_ratio: float,
    hx: Any,
    cx: Any,
    ws: Any,
    bs: Any,
    xs: Any,
    use_bi_direction: bool,
    **kwargs: Any,
) -> Any:
    """``n_step_bilstm`` if ``use_bi_direction``, else ``n_step_lstm``."""
    function = n_step_lstm.n_step_bilstm if use_bi_direction else n_step_lstm.n_step_lstm
    return function(n_layers, dropout_ratio, hx, cx, ws, bs, xs, **kwargs)


def n_step_gru_base(
    n_layers: int, dropout_ratio: float, hx: Any, ws: Any, bs: Any, xs: Any, use_bi_direction: bool, **kwargs: Any
) -> Any:
    """``n_step_bigru`` if ``use_bi_direction``, else ``n_step_gru``."""
    function = n_step_gru.n_step_bigru if use_bi_direction else n_step_gru.n_step_gru
    return function(n_layers, dropout_ratio, hx, ws, bs, xs, **kwargs)


def n_step_rnn_base(
    n_layers: int, dropout_ratio: float, hx: Any, ws: Any, bs: Any, xs: Any, activation: str, use_bi_direction: bool
) -> Any:
    """``n_step_birnn`` if ``use_bi_direction``, else ``n_step_rnn``."""
    function = n_step_rnn.n_step_birnn if use_bi_direction else n_step_rnn.n_step_rnn
    return function(n_layers, dropout_ratio, hx, ws, bs, xs, activation)


def argsort_list_descent(lst: Sequence[Any]) -> Any:
    """The order of arrays by their lengths, the longest first."""
    return numpy.argsort([-len(x) for x in lst], kind='stable').astype(numpy.int32)


def permutate_list(lst: Sequence[Any] | None, indices: Sequence[int], inv: bool) -> Any:
    """The elements in another order, or back in their own; None if there is no list."""
    if lst is None:
        return None
    order = numpy.argsort(indices) if inv else indices
    return [lst[i] for i in order]


# --- operators as functions ----------------------------------------------------------------------------------------


def _operator(function: Callable[[Any, Any], Any], name: str, swapped: bool = False) -> Callable[[Any, Any], Any]:
    def apply(self: Any, rhs: Any) -> Any:
        x = as_variable(self)
        return function(rhs, x) if swapped else function(x, rhs)

    apply.__name__ = apply.__qualname__ = name
    apply.__doc__ = f'The operator ``{name}`` on Variables.'
    return apply


sub, rsub = _operator(operator.sub, 'sub'), _operator(operator.sub, 'rsub', True)
mul = _operator(operator.mul, 'mul')
div, rdiv = _operator(operator.truediv, 'div'), _operator(operator.truediv, 'rdiv', True)
floordiv, rfloordiv = _operator(operator.floordiv, 'floordiv'), _operator(operator.floordiv, 'rfloordiv', True)
pow, rpow = _operator(operator.pow, 'pow'), _operator(operator.pow, 'rpow', True)
rmatmul = _operator(operator.matmul, 'rmatmul', True)


# --- all gradients of a link in one array --------------------------------------------------------------------------


def size_num_grads(link: Any) -> tuple[int, int]:
    """The number of elements of all parameters that have some, and the number of these parameters."""
    sizes = [param.size for param in _parameters(link)]
    return sum(sizes), len(sizes)


def gather_grads(link: Any) -> Any:
    """All gradients of a link in one float32 array, ordered by the names of parameters."""
    return _gathered([param.grad for param in _parameters(link)])


def gather_params(link: Any) -> Any:
    """All parameters of a link in one float32 array, ordered by their names."""
    return _gathered([param.array for param in _parameters(link)])


def scatter_grads(link: Any, array: Any) -> None:
    """Writes what ``gather_grads`` returned to the gradients of a link."""
    _scatter([param.grad for param in _parameters(link)], array)


def scatter_params(link: Any, array: Any) -> None:
    """Writes what ``gather_params`` returned to the parameters of a link."""
    _scatter([param.array for param in _parameters(link)], array)


def _parameters(link: Any) -> list[Any]:
    return [param for _, param in sorted(link.namedparams()) if param.size]


def _gathered(arrays: list[Any]) -> Any:
    present = [x for x in arrays if x is not None]
    xp = get_array_module(*present)
    return xp.concatenate([x.ravel().astype(numpy.float32) for x in present]) if present else xp.zeros(0, 'f')


def _scatter(arrays: list[Any], source: Any) -> None:
    begin = 0
    for x in arrays:
        if x is not None:
            x[...] = source[begin : begin + x.size].reshape(x.shape)
            begin += x.size
