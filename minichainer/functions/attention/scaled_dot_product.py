"""Scaled dot-product attention: one fused node."""

from __future__ import annotations

import math
from typing import Any

import numpy

from minichainer.backend import get_array_module, on_device_of_arguments
from minichainer.configuration import config
from minichainer.function_node import FunctionNode
from minichainer.functions._checks import check_number, invalid
from minichainer.functions.activation.softmax import softmax
from minichainer.functions.array.conversion import as_dtype
from minichainer.functions.array.selection import masked
from minichainer.functions.array.shape import broadcast_to, sum_to
from minichainer.functions.math.matmul import matrix_product
from minichainer.functions.math.reductions import sum as sum_
from minichainer.functions.noise.dropout import drop
from minichainer.kernels import attention as kernels
from minichainer.utils.argument import parse_kwargs
from minichainer.utils.array import sum_to as sum_array_to
from minichainer.utils.type_check import InvalidType
from minichainer.variable import Variable, as_variable

_NAME = 'ScaledDotProductAttention'


class ScaledDotProductAttention(FunctionNode):
    """The node of :func:`scaled_dot_product_attention`; an additive mask is its fourth input.

    The ordinary gradient computes the weights again, block by block; the differentiable one is a composition of ops.
    """

    takes_any_layout = True

    def __init__(self, allowed: Any, dropped: Any, causal: bool, scale: float) -> None:
        self.allowed = allowed
        self.dropped = dropped
        self.causal = causal
        self.scale = scale

    def forward(self, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        self.retain_inputs(range(len(inputs)))
        xp = get_array_module(inputs[0])
        q, k, v = (_with_four_axes(_wide(x)) for x in inputs[:3])
        y, self.saved = kernels.attend(xp, q, k, v, self._weighting(inputs))
        return (_with_lead_of(y, inputs[0]).astype(inputs[0].dtype, copy=False),)

    def _weighting(self, inputs: tuple[Any, ...]) -> kernels.Weighting:
        lead = inputs[0].shape[:-2]
        mask = _wide(inputs[3]) if len(inputs) == 4 else self.allowed
        mask = None if mask is None else _with_four_axes(_aligned(mask, lead))
        dropped = None if self.dropped is None else _with_four_axes(_wide(self.dropped))
        return kernels.Weighting(self.scale, self.causal, mask, dropped)

    def backward_arrays(self, indexes: Any, grad_outputs: Any) -> Any:
        inputs = self._retained_inputs
        q, k, v = (_with_four_axes(_wide(x)) for x in inputs[:3])
        gy = _with_four_axes(_wide(grad_outputs[0]))
        *found, of_scores = kernels.attend_gradients(
            get_array_module(gy), gy, q, k, v, self._weighting(inputs), self.saved, 3 in indexes
        )
        pairs = zip(found, inputs, strict=False)  # the mask may be a fourth input
        gradients = [_with_lead_of(gx, x).astype(x.dtype, copy=False) for gx, x in pairs]
        if 3 in indexes:
            of_scores = of_scores.reshape(*inputs[0].shape[:-1], inputs[1].shape[-2])
            gradients.append(sum_array_to(of_scores, inputs[3].shape).astype(inputs[3].dtype, copy=False))
        return [gradients[i] for i in indexes]

    def backward(self, target_input_indexes: Any, grad_outputs: Any) -> Any:
        inputs = [as_dtype(x, 'f') if x.dtype.char == 'e' else x for x in self.get_retained_inputs()]
        q, k, v = inputs[:3]
        gy = as_dtype(grad_outputs[0], q.dtype)
        weights = _weights(q, k, _mask_of(inputs, self.allowed), self.causal, self.scale)
        gweights = matrix_product(gy, v, False, True)
        dropped = weights
        if self.dropped is not None:
            factors = _wide(self.dropped)
            dropped, gweights = drop(weights, factors), drop(gweights, factors)
        gscores = weights * (gweights - sum_(gweights * weights, -1, True))
        gradients = (
            lambda: matrix_product(gscores, k, False, False) * self.scale,
            lambda: matrix_product(gscores, q, True, False) * self.scale,
            lambda: matrix_product(dropped, gy, True, False),
            lambda: sum_to(gscores, inputs[3].shape),
        )
        edges = self._applied_edges()
        return tuple([as_dtype(gradients[i](), edges[i].dtype) for i in target_input_indexes])


def _mask_of(inputs: Any, allowed: Any) -> Any:
    return inputs[3] if len(inputs) == 4 else allowed


def _weights(q: Variable, k: Variable, mask: Any, causal: bool, scale: float) -> Variable:
    """The weights as a composition of ops; ``mask`` is None, a bool array, or a Variable added to the scores."""
    xp = get_array_module(q.array)
    scores = matrix_product(q, k, False, True) * scale
    allowed = xp.ones(scores.shape, '?')
    if causal:
        allowed = xp.tril(allowed)
    if isinstance(mask, Variable):
        finite = mask.array != -numpy.inf
        scores = scores + broadcast_to(masked(mask, finite), scores.shape)
        mask = finite
    if mask is not None:
        allowed = allowed & mask
    lowest = xp.asarray(numpy.finfo(scores.dtype).min / 2, scores.dtype)
    scores = masked(scores, allowed) + xp.where(allowed, xp.zeros((), scores.dtype), lowest)
    return masked(softmax(scores, -1), allowed)


def _reference(
    query: Any, key: Any, value: Any, attn_mask: Any = None, is_causal: bool = False, scale: float | None = None,
    dropout_mask: Any = None,
) -> Variable:  # fmt: skip
    """The plain composition: documentation, and oracle of the tests."""
    q, k, v = as_variable(query), as_variable(key), as_variable(value)
    if attn_mask is not None and not isinstance(attn_mask, Variable) and attn_mask.dtype.kind == 'f':
        attn_mask = as_variable(attn_mask)
    weights = _weights(q, k, attn_mask, is_causal, _default_scale(q) if scale is None else scale)
    return matrix_product(weights if dropout_mask is None else drop(weights, dropout_mask), v, False, False)


@on_device_of_arguments
def scaled_dot_product_attention(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    **kwargs: Any,
) -> Any:
    r"""Means of values, weighted by how well their keys fit each query.

    .. math:: Y = \mathrm{softmax}\!\left(s\, Q K^\top + M\right) V

    The weights are not kept: memory grows with the length of the sequences, not with its square.

    Args:
        query: Variable or float array :math:`(\dots, L, E)`; leading axes, such as batch and heads, are broadcast
            with those of ``key`` and ``value``.
        key: the same, :math:`(\dots, S, E)`.
        value: the same, :math:`(\dots, S, F)`.
        attn_mask: None, or what broadcasts to :math:`(\dots, L, S)`: a bool array (True: the query takes part in the
            key), or a Variable or float array that is added to the scores, minus infinity included; a Variable gets
            a gradient.
        dropout_p: share of the weights that become 0 (the others are scaled by :math:`1 / (1 - p)`), where
            ``config.train`` is true as with all functions that draw random numbers.
        is_causal: query i takes part in the keys 0 to i only, in addition to ``attn_mask``.
        scale: the factor s; :math:`1 / \sqrt E` by default.
        dropout_mask: keyword only; an array of the weights' shape with 0 or the scale for each weight, instead of a
            drawn one.
        return_mask: keyword only; return the pair of result and dropout mask (None where nothing was dropped).

    Returns:
        Variable :math:`(\dots, L, F)`, or a pair. A query that takes part in no key gives zeros, with gradient zero.
        float16 is computed in float32.

    Raises:
        InvalidType: shapes or dtypes do not fit.
        ValueError: ``dropout_p`` is not in ``[0, 1)``.

    Source: A. Vaswani et al., Attention Is All You Need, arXiv:1706.03762; recomputing the weights in the gradient
    after T. Dao et al., FlashAttention, arXiv:2205.14135.

    >>> import numpy as np, minichainer.functions as F
    >>> q, k, v = (np.random.rand(2, 4, n, 8).astype('f') for n in (5, 7, 7))
    >>> F.scaled_dot_product_attention(q, k, v).shape
    (2, 4, 5, 8)
    >>> y = F.scaled_dot_product_attention(q, q, q, is_causal=True)
    >>> np.allclose(y.array[..., 0, :], q[..., 0, :])
    True
    """
    dropout_mask, return_mask = parse_kwargs(kwargs, ('dropout_mask', None), ('return_mask', False))
    check_number(dropout_p, 'scaled_dot_product_attention', 'dropout_p')
    if scale is not None:
        check_number(scale, 'scaled_dot_product_attention', 'scale')
    if not 0.0 <= dropout_p < 1.0:
        raise ValueError(f'scaled_dot_product_attention: dropout_p must be in the range [0, 1), came {dropout_p}')
    q, k, v = as_variable(query), as_variable(key), as_variable(value)
    _check(q, k, v)
    q, k, v = _broadcast_lead(q, k, v)
    shape = (*q.shape[:-1], k.shape[-2])
    additive, allowed = _checked_mask(attn_mask, q, shape)
    dropped = _dropout_mask(dropout_mask, q, shape, dropout_p)
    node = ScaledDotProductAttention(allowed, dropped, bool(is_causal), _default_scale(q) if scale is None else scale)
    y = node.apply((q, k, v) if additive is None else (q, k, v, additive))[0]
    return (y, dropped) if return_mask else y


def _default_scale(q: Variable) -> float:
    return 1 / math.sqrt(max(1, q.shape[-1]))


def _dropout_mask(given: Any, q: Variable, shape: tuple[int, ...], ratio: float) -> Any:
    if not config.train:
        return None
    if given is not None:
        if given.shape != shape or given.dtype != q.dtype:
            raise _misfit(f'dropout_mask: {q.dtype} {shape}', f'{given.dtype} {given.shape}')
        return given
    if not ratio:
        return None
    xp = get_array_module(q.array)
    return (xp.random.rand(*shape) >= ratio) * q.dtype.type(1 / (1 - ratio))


def _checked_mask(mask: Any, q: Variable, shape: tuple[int, ...]) -> tuple[Variable | None, Any]:
    """The mask as a Variable that is added to the scores, or as a bool array."""
    if mask is None:
        return None, None
    if not hasattr(mask, 'dtype'):
        raise TypeError(
            f'scaled_dot_product_attention: array or Variable expected as attn_mask, came {type(mask).__name__}'
        )
    if mask.dtype.kind not in 'bf':
        raise _misfit('attn_mask of bool or float', f'{mask.dtype}; bool: True where a query takes part in a key')
    if len(mask.shape) > len(shape) or numpy.broadcast_shapes(*_lenient(mask.shape, shape)) != shape:
        raise _misfit(f'attn_mask that broadcasts to {shape}', f'{mask.shape}')
    if mask.dtype.kind == 'b':
        return None, mask.array if isinstance(mask, Variable) else mask
    if not isinstance(mask, Variable):
        return as_variable(mask.astype(q.dtype, copy=False)), None
    if mask.dtype != q.dtype:
        raise _misfit(f'attn_mask.dtype == query.dtype ({q.dtype})', f'{mask.dtype}')
    return mask, None


def _lenient(shape: tuple[int, ...], wide: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    """Both shapes if they can be broadcast together, else two of which the result is not ``wide``."""
    axes = zip(shape[::-1], wide[::-1], strict=False)
    return (shape, wide) if all(n in (1, m) for n, m in axes) else ((), ())


def _check(q: Variable, k: Variable, v: Variable) -> None:
    given = f'{q.dtype} {q.shape}, {k.dtype} {k.shape} and {v.dtype} {v.shape}'
    if not q.dtype == k.dtype == v.dtype or q.dtype.kind != 'f':
        raise _misfit('float query, key and value of one dtype', given)
    if min(q.ndim, k.ndim, v.ndim) < 2:
        raise _misfit('query (..., L, E), key (..., S, E) and value (..., S, F)', given)
    if q.shape[-1] != k.shape[-1] or k.shape[-2] != v.shape[-2]:
        raise _misfit('query (..., L, E), key (..., S, E) and value (..., S, F) with common E and S', given)


def _broadcast_lead(*variables: Variable) -> list[Variable]:
    leads = [x.shape[:-2] for x in variables]
    if leads[0] == leads[1] == leads[2]:
        return list(variables)
    try:
        lead = numpy.broadcast_shapes(*leads)
    except ValueError:
        shapes = ', '.join(str(x.shape) for x in variables)
        raise _misfit('leading axes of query, key and value that broadcast', shapes) from None
    return [x if x.shape[:-2] == lead else broadcast_to(x, (*lead, *x.shape[-2:])) for x in variables]


def _misfit(expected: str, actual: str) -> InvalidType:
    return invalid(expected, actual, f'Invalid operation is performed in: {_NAME} (Forward)')


def _wide(x: Any) -> Any:
    return x.astype('f') if x.dtype.char == 'e' else x


def _aligned(mask: Any, lead: tuple[int, ...]) -> Any:
    """A mask with as many axes as the weights; with all of its leading axes in full where they will be merged."""
    mask = mask.reshape((1,) * (len(lead) + 2 - mask.ndim) + mask.shape)
    if len(lead) <= 2:
        return mask
    return get_array_module(mask).broadcast_to(mask, (*lead, *mask.shape[-2:]))


def _with_four_axes(x: Any) -> Any:
    """Leading axes made two; a view except of odd layouts with more than two."""
    if x.ndim == 4:
        return x
    if x.ndim < 4:
        return x[(None,) * (4 - x.ndim)]
    return x.reshape(math.prod(x.shape[:-3]), *x.shape[-3:])


def _with_lead_of(y: Any, x: Any) -> Any:
    """The reverse of :func:`_with_four_axes` for an array that shares the leading axes of ``x``."""
    return y if x.ndim == 4 else y.reshape(*x.shape[:-2], *y.shape[-2:])
