"""Rows of attention, with its draws fixed, and of the activation that comes with it."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.special

import minichainer as chainer
import minichainer.functions as F
from minichainer.utils.type_check import InvalidType
from tests.functions.row import ANY, Bad, Domain, Row, Special, case, grid
from tests.functions.rows_elementwise import INF, INTEGERS, NAN, SHAPES, at, refuses_two_dtypes, unary

V = chainer.Variable
ATTEND = F.scaled_dot_product_attention
LABEL = 'ScaledDotProductAttention'


def _gelu(x: Any, approximate: str = 'none') -> Any:
    if approximate == 'none':
        return np.maximum(x, -40) * scipy.special.ndtr(x)
    return np.maximum(x, -40) * (0.5 + 0.5 * np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def _attention(q: Any, k: Any, v: Any, mask: Any = None, is_causal: bool = False, scale: Any = None,
               dropped: Any = None) -> Any:  # fmt: skip
    scores = np.einsum('...le,...se->...ls', q, k) * (1 / np.sqrt(max(1, q.shape[-1])) if scale is None else scale)
    allowed = np.tril(np.ones(scores.shape, '?')) if is_causal else np.ones(scores.shape, '?')
    if mask is not None and mask.dtype.kind == 'b':
        allowed = allowed & mask
    elif mask is not None:
        scores = scores + mask
    e = np.exp(scores) * allowed
    total = e.sum(axis=-1, keepdims=True)
    weights = np.divide(e, total, out=np.zeros_like(e), where=total > 0)
    return np.einsum('...ls,...sf->...lf', weights * (1 if dropped is None else dropped), v)


def masked(q: Any, k: Any, v: Any, mask: Any, **params: Any) -> Any:
    return ATTEND(q, k, v, mask, **params)


def dropped(q: Any, k: Any, v: Any, factors: Any, **params: Any) -> Any:
    return ATTEND(q, k, v, dropout_p=0.5, dropout_mask=factors, **params)


def bad(name: str, call: Any, *words: str, error: Any = InvalidType) -> Bad:
    return Bad(name, call, error, words)


Q, K, X = np.ones((2, 5, 3)), np.ones((2, 4, 3)), np.ones((2, 3))
ERRORS = (
    bad('wrong kind', lambda: ATTEND(INTEGERS, INTEGERS, INTEGERS), LABEL, 'float', 'int32'),
    refuses_two_dtypes(lambda a, b: ATTEND(a, b, b), LABEL),
    bad('vector', lambda: ATTEND(Q, K, K[0, 0]), LABEL, '(..., L, E)', '(3,)'),
    bad('features', lambda: ATTEND(Q, K[..., :2], K), LABEL, 'common E and S', '(2, 5, 3)', '(2, 4, 2)'),
    bad('length', lambda: ATTEND(Q, K, K[:, :2]), LABEL, 'common E and S', '(2, 4, 3)', '(2, 2, 3)'),
    bad('lead', lambda: ATTEND(Q, np.ones((3, 4, 3)), K), LABEL, 'broadcast', '(2, 5, 3)', '(3, 4, 3)'),
    bad('mask', lambda: ATTEND(Q, K, K, np.ones((4, 5), '?')), LABEL, 'attn_mask', '(2, 5, 4)', '(4, 5)'),
    bad(
        'large mask', lambda: ATTEND(Q, K, K, np.ones((1, 2, 5, 4))), LABEL, 'attn_mask', '(2, 5, 4)', '(1, 2, 5, 4)'
    ),
    bad('wide mask', lambda: ATTEND(Q[:1], K[:1], K[:1], np.ones((2, 5, 4))), 'attn_mask', '(1, 5, 4)', '(2, 5, 4)'),
    bad('mask kind', lambda: ATTEND(Q, K, K, np.ones((5, 4), 'i')), LABEL, 'attn_mask', 'int32', 'True where'),
    bad('mask dtype', lambda: ATTEND(Q, K, K, V(np.ones((5, 4), 'f'))), 'attn_mask.dtype', 'float64', 'float32'),
    bad('ratio', lambda: ATTEND(Q, K, K, dropout_p=1.0), 'dropout_p', '[0, 1)', '1.0', error=ValueError),
    bad('negative', lambda: ATTEND(Q, K, K, dropout_p=-0.5), 'dropout_p', '[0, 1)', '-0.5', error=ValueError),
    bad('dropped', lambda: ATTEND(Q, K, K, dropout_mask=np.ones((5, 4))), 'dropout_mask', '(2, 5, 4)', '(5, 4)'),
    bad('unknown', lambda: ATTEND(Q, K, K, enable_gqa=True), 'enable_gqa', error=TypeError),
)
MATRICES = {'zero-d': 'a sequence needs two axes; the errors say so'}
CHECKED = {
    'wrong kind': 'the first row of the name has it', 'wrong dtype': 'the first row of the name has it',
    'special values': 'the first row of the name has them', **MATRICES,
}  # fmt: skip
LENGTHS = ((2, 5, 3), (2, 4, 3), (2, 4, 2))
# A score of 1000 decides alone, one of minus infinity not at all; a NaN spoils its row only.
EXTREME = (np.array([[1000.0], [-1000], [0], [NAN]]), np.array([[1.0], [-1]]), np.array([[2.0], [4]]))

ROWS = [
    unary(
        'gelu', _gelu, 'GELU', at([NAN, 0, -0.0, 30, -30], [NAN, 0.5, 0.5, 1, 0]),
        cases=(*SHAPES, *grid((3, 4), approximate=['none', 'tanh'])),
        errors=(
            bad('form', lambda: F.gelu(X, approximate='erf'), 'gelu', "'none', 'tanh'", "'erf'", error=ValueError),
            bad('bool', lambda: F.gelu(X, True), 'gelu', "'none', 'tanh'", 'True', error=ValueError),
        ),
    ),
    Row(
        'gelu', F.gelu, _gelu, (Domain(low=-9.0, high=9.0),),
        (case((40, 3)), case((40, 3), approximate='tanh'), case(()), case((0,))), variant='far from 0', order=3,
        label='GELU', except_from={'wrong kind': 'the first row of the name has it'},
        special=(
            Special((np.array([INF, -INF, NAN]),), expected=np.array([INF, 0, NAN])),
            Special((np.array([INF, -INF, NAN]),), {'approximate': 'tanh'}, np.array([INF, 0, NAN])),
            Special((np.array([1e30, -1e30]),), expected=np.array([1e30, 0]), gradients=(np.array([1.0, 0]),)),
            Special(
                (np.array([0, 1e-33, -30]),), {'approximate': 'tanh'}, np.array([0, 5e-34, 0]),
                (np.array([0.5, 0.5, 0]),),
            ),
        ),
    ),
    Row(
        'scaled_dot_product_attention', ATTEND, _attention, (ANY, ANY, ANY),
        (
            case(*LENGTHS), case((3, 2), (4, 2), (4, 3)), case((2, 3, 4, 2), (2, 3, 4, 2), (2, 3, 4, 1)),
            case((2, 1, 2, 3, 2), (2, 1, 2, 3, 2), (2, 1, 2, 3, 2)), case((2, 3, 4, 2), (3, 5, 2), (1, 5, 2)),
            *grid(*LENGTHS, is_causal=[True], scale=[None, 0.7]), case((3, 2), (3, 2), (3, 2), is_causal=True),
            case((0, 3, 2), (0, 3, 2), (0, 3, 2)), case((2, 0, 2), (2, 3, 2), (2, 3, 2)),
            case((2, 3, 2), (2, 0, 2), (2, 0, 2)), case((2, 3), (4, 3), (4, 0)),
        ),
        order=3, label=LABEL, errors=ERRORS, except_from=MATRICES,
        special=(Special(EXTREME, expected=np.array([[2.0], [4], [3], [NAN]])),),
    ),
    Row(
        'scaled_dot_product_attention', masked, _attention, (ANY, ANY, ANY, Domain(mask=True)),
        (
            case(*LENGTHS, (2, 5, 4)), case(*LENGTHS, (4,)), case(*LENGTHS, (2, 1, 4)), case(*LENGTHS, (5, 1)),
            case(*LENGTHS, (5, 4), is_causal=True), case((2, 0, 2), (2, 3, 2), (2, 3, 2), (0, 3)),
            case((2, 2, 2, 3, 2), (2, 2, 2, 3, 2), (2, 2, 2, 3, 2), (2, 1, 3, 3)),
        ),
        variant='bool mask', order=3, label=LABEL, except_from=CHECKED,
    ),
    Row(
        'scaled_dot_product_attention', masked, _attention, (ANY, ANY, ANY, ANY),
        (
            case(*LENGTHS, (2, 5, 4)), case(*LENGTHS, (4,)), case(*LENGTHS, (2, 1, 4)), case(*LENGTHS, ()),
            case(*LENGTHS, (5, 1), is_causal=True), case((2, 0, 2), (2, 3, 2), (2, 3, 2), (0, 3)),
            case((2, 2, 2, 3, 2), (2, 2, 2, 3, 2), (2, 2, 2, 3, 2), (2, 1, 3, 3)),
        ),
        variant='additive mask', order=3, label=LABEL,
        except_from={name: why for name, why in CHECKED.items() if name != 'zero-d'},
    ),
    Row(
        'scaled_dot_product_attention', dropped,
        lambda q, k, v, factors, **params: _attention(q, k, v, dropped=factors, **params),
        (ANY, ANY, ANY, Domain(values=(0.0, 2.0))),
        (
            case(*LENGTHS, (2, 5, 4)), case(*LENGTHS, (2, 5, 4), is_causal=True),
            case((2, 0, 2), (2, 3, 2), (2, 3, 2), (2, 0, 3)),
            case((2, 2, 2, 3, 2), (2, 2, 2, 3, 2), (2, 2, 2, 3, 2), (2, 2, 2, 3, 3)),
        ),
        variant='dropout', order=3, label=LABEL, except_from=CHECKED,
    ),
]  # fmt: skip
