"""Scaled dot-product attention: one fused op."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy

from minichainer._checks import native
from minichainer.backend import get_array_module, on_device_of_arguments
from minichainer.configuration import config
from minichainer.functions._arguments import Arguments, described
from minichainer.functions._define import primitive
from minichainer.functions._precision import in_float32
from minichainer.functions.activation.softmax import softmax
from minichainer.functions.array.conversion import as_dtype
from minichainer.functions.array.selection import masked
from minichainer.functions.array.shape import broadcast_to
from minichainer.functions.math.matmul import matrix_product
from minichainer.functions.math.reductions import sum as sum_
from minichainer.functions.noise.dropout import drop
from minichainer.kernels import attention as kernels
from minichainer.kernels.dropout import dropout_factors
from minichainer.recorder import check_arrays
from minichainer.utils.argument import parse_kwargs
from minichainer.variable import Variable, as_array, as_variable

_NAME = 'ScaledDotProductAttention'
_arguments = Arguments(_NAME, 'scaled_dot_product_attention')


def _rule(
    m: Any, gy: Any, xs: Any, wanted: Any, allowed: Any, dropped: Any, causal: bool, scale: float
) -> tuple[Any, ...]:
    """The composition of ops; the fast form recomputes the weights block by block."""
    inputs = [in_float32(m, x) for x in xs]
    q, k, v = inputs[:3]
    gy = as_dtype(gy, q.dtype)
    weights = _weights(q, k, inputs[3] if len(inputs) == 4 else allowed, causal, scale)
    gweights, kept = matrix_product(gy, v, False, True), weights
    if dropped is not None:
        factors = dropped.astype(q.dtype, copy=False)
        kept, gweights = drop(weights, factors), drop(gweights, factors)
    gscores = weights * (gweights - sum_(gweights * weights, -1, True))
    gradients: tuple[Callable[[], Any], ...] = (
        lambda: matrix_product(gscores, k, False, False) * scale,
        lambda: matrix_product(gscores, q, True, False) * scale,
        lambda: matrix_product(kept, gy, True, False),
        lambda: gscores,
    )
    return tuple([gradient() if needed else None for gradient, needed in zip(gradients, wanted, strict=False)])


def _fast(
    xp: Any, gy: Any, xs: Any, wanted: Any, allowed: Any, dropped: Any, causal: bool, scale: float, residual: Any
) -> Any:
    q, k, v, *added = xs
    mask = added[0] if added else allowed
    of_mask = wanted[3:] == (True,)
    found = kernels.attend_gradients(xp, gy, q, k, v, mask, dropped, scale, causal, residual, of_mask)
    return (*found, None) if added and not of_mask else found


@primitive(rule=_rule, fast=_fast, name=_NAME)
def attention(xp: Any, *xs: Any, allowed: Any, dropped: Any, causal: bool, scale: float) -> Any:
    """Attention of queries to keys and values; an additive mask is a fourth array."""
    q, k, v, *added = xs
    return kernels.attend(xp, q, k, v, added[0] if added else allowed, dropped, scale, causal)


def _weights(q: Variable, k: Variable, mask: Any, causal: bool, scale: float) -> Variable:
    """The weights as a composition of ops; ``mask`` is None, a bool array, or a Variable added to the scores."""
    xp = get_array_module(q._data)
    scores = matrix_product(q, k, False, True) * scale
    allowed = xp.ones(scores.shape, '?')
    if causal:
        allowed = xp.tril(allowed)
    if isinstance(mask, Variable):
        finite = mask._data != -numpy.inf
        scores = scores + broadcast_to(masked(mask, finite), scores.shape)
        mask = finite
    if mask is not None:
        allowed = allowed & mask
    lowest = xp.asarray(numpy.finfo(scores.dtype).min / 2, scores.dtype)
    scores = masked(scores, allowed) + xp.where(allowed, xp.zeros((), scores.dtype), lowest)
    return masked(softmax(scores, -1), allowed)


def _reference(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    is_causal: bool = False,
    scale: float | None = None,
    dropout_mask: Any = None,
) -> Variable:
    """The plain composition: documentation, and reference for the tests."""
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

    The weights are not saved: memory grows with the length of the sequences, not with its square.

    Args:
        query: Variable or float array :math:`(\dots, L, E)`; leading axes, such as batch and heads, are broadcast
            with those of ``key`` and ``value``.
        key: the same, :math:`(\dots, S, E)`.
        value: the same, :math:`(\dots, S, F)`.
        attn_mask: None, or an array that broadcasts to :math:`(\dots, L, S)`: a bool array (True: the query
            attends to the key), or a Variable or float array that is added to the scores, also with minus
            infinity; a Variable gets a gradient.
        dropout_p: share of the weights that become 0 (the others are scaled by :math:`1 / (1 - p)`), where
            ``config.train`` is true as with all functions that draw random numbers.
        is_causal: query i attends only to keys 0 to i, in addition to ``attn_mask``.
        scale: the factor s; :math:`1 / \sqrt E` by default.
        dropout_mask: keyword only; an array of the weights' shape with 0 or the scale for each weight, instead of a
            drawn one.
        return_mask: keyword only; return the pair of result and dropout mask (None where nothing was dropped).

    Returns:
        Variable :math:`(\dots, L, F)`, or a pair. A query that attends to no key gives zeros, with gradient zero.
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
    _arguments.number(dropout_p, 'dropout_p')
    if scale is not None:
        _arguments.number(scale, 'scale')
    if not 0.0 <= dropout_p < 1.0:
        raise _arguments.wrong_value('a number in [0, 1)', 'dropout_p', dropout_p)
    q, k, v = as_variable(query), as_variable(key), as_variable(value)
    _check(q, k, v)
    q, k, v = _broadcast_lead(q, k, v)
    shape = (*q.shape[:-1], k.shape[-2])
    additive, allowed = _checked_mask(attn_mask, q, shape)
    dropped = _dropout_mask(dropout_mask, q, shape, dropout_p)
    y = attention(
        *((q, k, v) if additive is None else (q, k, v, additive)),
        allowed=allowed,
        dropped=dropped,
        causal=bool(is_causal),
        scale=_default_scale(q) if scale is None else scale,
    )
    return (y, dropped) if return_mask else y


def _default_scale(q: Variable) -> float:
    return 1 / math.sqrt(max(1, q.shape[-1]))


def _dropout_mask(given: Any, q: Variable, shape: tuple[int, ...], ratio: float) -> Any:
    """The given or drawn dropout factors of the weights; None without dropout."""
    if not config.train:
        return None
    if given is not None:
        check_arrays((q._data, given), f'{_NAME}, the query and dropout_mask,')
        given = native(given)
        if given.shape != shape or given.dtype != q.dtype:
            raise _arguments.misfit(f'dropout_mask: {q.dtype} {shape}', f'{given.dtype} {given.shape}')
        return given
    if not ratio:
        return None
    xp = get_array_module(q._data)
    return dropout_factors(xp, xp.asarray(xp.random.rand(*shape)), ratio, q.dtype)


def _checked_mask(mask: Any, q: Variable, shape: tuple[int, ...]) -> tuple[Variable | None, Any]:
    """The mask as a Variable to be added to the scores, or as a bool array."""
    if mask is None:
        return None, None
    if not hasattr(mask, 'dtype'):
        raise _arguments.wrong_type('array or Variable', 'attn_mask', mask)
    check_arrays((q._data, as_array(mask)), f'{_NAME}, the query and attn_mask,')
    if mask.dtype.kind not in 'bf':
        raise _arguments.misfit(
            'attn_mask of bool or float', f'{mask.dtype}; bool: True where a query attends to a key'
        )
    if len(mask.shape) > len(shape) or numpy.broadcast_shapes(*_lenient(mask.shape, shape)) != shape:
        raise _arguments.misfit(f'attn_mask that broadcasts to {shape}', f'{mask.shape}')
    if mask.dtype.kind == 'b':
        return None, mask._data if isinstance(mask, Variable) else native(mask)
    if not isinstance(mask, Variable):
        return as_variable(mask.astype(q.dtype, copy=False)), None
    if mask.dtype != q.dtype:
        raise _arguments.misfit(f'attn_mask.dtype == query.dtype ({q.dtype})', f'{mask.dtype}')
    return mask, None


def _lenient(shape: tuple[int, ...], wide: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    """Both shapes if they broadcast together, else two shapes that do not broadcast to ``wide``."""
    axes = zip(shape[::-1], wide[::-1], strict=False)
    return (shape, wide) if all(n in (1, m) for n, m in axes) else ((), ())


def _check(q: Variable, k: Variable, v: Variable) -> None:
    """Raises InvalidType unless dtypes and shapes fit."""
    expected = 'query (..., L, E), key (..., S, E) and value (..., S, F)'
    if not q.dtype == k.dtype == v.dtype or q.dtype.kind != 'f':
        raise _arguments.misfit('float query, key and value of one dtype', described(q, k, v))
    if min(q.ndim, k.ndim, v.ndim) < 2:
        raise _arguments.misfit(expected, described(q, k, v))
    if q.shape[-1] != k.shape[-1] or k.shape[-2] != v.shape[-2]:
        raise _arguments.misfit(f'{expected} with common E and S', described(q, k, v))


def _broadcast_lead(*variables: Variable) -> list[Variable]:
    """The arrays with their leading axes broadcast together."""
    leads = [x.shape[:-2] for x in variables]
    if leads[0] == leads[1] == leads[2]:
        return list(variables)
    try:
        lead = numpy.broadcast_shapes(*leads)
    except ValueError:
        shapes = ', '.join(str(x.shape) for x in variables)
        raise _arguments.misfit('leading axes of query, key and value that broadcast', shapes) from None
    return [x if x.shape[:-2] == lead else broadcast_to(x, (*lead, *x.shape[-2:])) for x in variables]
