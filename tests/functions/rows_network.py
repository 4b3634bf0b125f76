"""Rows of matrix products, the fully connected layer, losses, accuracy, dropout and forget."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import scipy.special

import minichainer as chainer
import minichainer.functions as F
from minichainer.errors import LabelError
from minichainer.utils.type_check import InvalidType
from tests.functions.row import ANY, Bad, Domain, Row, Special, beside, case, grid
from tests.functions.rows_elementwise import INF, INTEGERS, NAN, SHAPES, refuses_two_dtypes

V = chainer.Variable
X = np.ones((2, 3))
LABELS = Domain(labels=3)
PROBABILITIES = Domain(low=0.1, high=0.9)


def bad(name: str, call: Any, error: Any, *words: str) -> Bad:
    return Bad(name, call, error, words)


def wrong_kind(call: Any, *words: str) -> Bad:
    return Bad('wrong kind', call, InvalidType, (*words, 'float', 'int32'))


def _swapped(x: Any, wanted: bool) -> Any:
    return x.swapaxes(-1, -2) if wanted and x.ndim > 1 else x


def _matmul(a: Any, b: Any, transa: bool = False, transb: bool = False) -> Any:
    return np.matmul(_swapped(a, transa), _swapped(b, transb))


PRODUCTS = (
    case((2, 3), (3, 4)), case((2, 2, 3), (2, 3, 2)), case((2, 1, 2, 3), (3, 3, 1)), case((1, 2), (3, 2, 1)),
    case((2, 0), (0, 3)), case((0, 3), (3, 2)), case((0, 2, 3), (3, 2)),
)  # fmt: skip
TRANSPOSED = (
    case((3, 2), (3, 4), transa=True), case((2, 3), (4, 3), transb=True),
    case((3, 2), (4, 3), transa=True, transb=True),
    case((2, 3, 2), (3, 2), transa=True), case((2, 3), (2, 4, 3), transb=True),
    case((3, 2), (1, 3), transa=1, transb=1),
    case((2, 3, 1), (2, 2, 3), transa=True, transb=True),
)  # fmt: skip
WITH_VECTORS = (
    case((3,), (3,)), case((2, 3), (3,)), case((3,), (3, 2)), case((3,), (2, 3, 2)), case((2, 2, 3), (3,)),
    case((0,), (0,)), case((3,), (3, 2), transa=True), case((2, 3), (3,), transb=True),
    case((3, 2), (3,), transa=True),
    case((3,), (2, 3), transb=True),
)  # fmt: skip
PRODUCT_EXCUSES = {'zero-d': 'an operand needs one axis at least; the errors say so'}
OF_TWO = {**PRODUCT_EXCUSES, 'wrong dtype': 'the wider dtype is taken'}


def product_errors(call: Any) -> tuple[Bad, ...]:
    """Operands that cannot be multiplied."""
    return (
        Bad('wrong kind', lambda: call(V(INTEGERS), V(INTEGERS.T)), InvalidType, ('MatMul', 'float', 'int32')),
        bad('inner', lambda: call(V(X), V(X)), InvalidType, 'MatMul', '3 != 2', '(2, 3)'),
        bad('0-d', lambda: call(V(X), V(np.array(1.0))), InvalidType, 'MatMul', 'axis', '()'),
        bad(
            'leading', lambda: call(V(np.ones((2, 2, 2))), V(np.ones((3, 2, 2)))), InvalidType, 'MatMul', '(3, 2, 2)'
        ),
    )


def _linear(x: Any, W: Any, b: Any = None, n_batch_axes: int = 1) -> Any:
    rows = x.reshape(*x.shape[:n_batch_axes], int(np.prod(x.shape[n_batch_axes:], dtype=int)))
    return rows @ W.T + (0 if b is None else b)


LINEAR_ERRORS = (
    bad('wrong size', lambda: F.linear(X, np.ones((4, 2))), InvalidType, 'LinearFunction', '(2, 3)', '(4, 2)'),
    bad('vector W', lambda: F.linear(X, np.ones(3)), InvalidType, 'LinearFunction', '(2, 3)', '(3,)'),
    bad('wrong b', lambda: F.linear(X, X, np.ones(3)), InvalidType, 'LinearFunction', 'b of shape (2,)', '(3,)'),
    bad('vector x', lambda: F.linear(X[0], X), ValueError, 'linear', 'x.ndim > n_batch_axes', '(3,)'),
    bad('batch axes', lambda: F.linear(X, X, n_batch_axes=0), ValueError, 'linear', 'n_batch_axes', '0'),
    bad('no features', lambda: F.linear(X, X, n_batch_axes=2), ValueError, 'linear', 'n_batch_axes', '2', '(2, 3)'),
    wrong_kind(lambda: F.linear(INTEGERS, INTEGERS), 'LinearFunction'),
    bad('wrong dtype', lambda: F.linear(X, X, np.ones(2, 'f')), InvalidType, 'LinearFunction', 'float32', 'float64'),
)
LINEAR_EXCUSES = {'zero-d': 'x needs a batch axis', 'special values': 'matmul has them'}


def _cross_entropy(x: Any, t: Any, normalize: Any = True, class_weight: Any = None, ignore_label: int = -1,
                   reduce: str = 'mean', **ignored: Any) -> Any:  # fmt: skip
    log_p = scipy.special.log_softmax(x, axis=1) if x.size else x
    valid = t != ignore_label
    weights = np.ones(x.shape[1]) if class_weight is None else class_weight
    shape = (-1, *[1] * (x.ndim - 2))
    losses = np.zeros(t.shape)
    for c in range(x.shape[1]):
        losses -= np.where(valid & (t == c), log_p[:, c], 0) * weights.reshape((*shape, 1))[c].reshape(())
    if reduce == 'no':
        return losses
    return losses.sum() / max(valid.sum() if normalize else len(x), 1)


def _soft(x: Any, t: Any, soft_target_loss: str = 'cross-entropy', reduce: str = 'mean', normalize: bool = True,
          class_weight: Any = None) -> Any:  # fmt: skip
    log_p = scipy.special.log_softmax(x, axis=1)
    if soft_target_loss == 'kl-divergence':
        log_p = log_p - np.log(t)
    weights = 1 if class_weight is None else class_weight.reshape(-1, *[1] * (x.ndim - 2))
    losses = -(weights * log_p * t).sum(axis=1)
    if reduce == 'no':
        return losses
    return losses.mean()


def sce(x: Any, t: Any, **params: Any) -> Any:
    """A class weight takes the dtype of x."""
    weight = params.get('class_weight')
    if weight is not None:
        params['class_weight'] = beside(x, np.asarray(weight, x.dtype))
    return F.softmax_cross_entropy(x, t, **params)


def soft_sce(x: Any, t: Any, **params: Any) -> Any:
    """With a gradient of the targets."""
    return sce(x, t, enable_double_backprop=True, **params)


W3 = np.array([0.5, 1.5, 2.0])
T = np.array([0, 2], 'i')
SCE_ERRORS = (
    wrong_kind(lambda: F.softmax_cross_entropy(INTEGERS, T), 'SoftmaxCrossEntropy'),
    bad(
        'shape of t', lambda: F.softmax_cross_entropy(X, T[:1]), InvalidType, 'SoftmaxCrossEntropy', '(2, 3)', '(1,)'
    ),
    bad('vector', lambda: F.softmax_cross_entropy(X[0], T), InvalidType, 'SoftmaxCrossEntropy', '(3,)', '(2,)'),
    bad('label', lambda: F.softmax_cross_entropy(X, T + 1), LabelError, 'softmax_cross_entropy', '[0, 3)', '3'),
    bad('negative', lambda: F.softmax_cross_entropy(X, T - 2), LabelError, 'softmax_cross_entropy', '[0, 3)', '-2'),
    bad('reduce', lambda: F.softmax_cross_entropy(X, T, reduce='sum'), ValueError, 'reduce', 'mean', 'sum'),
    bad('kind', lambda: F.softmax_cross_entropy(X, T, soft_target_loss='x'), ValueError, 'soft_target_loss', "'x'"),
    bad('weights', lambda: sce(V(X), T, class_weight=W3[:2]), InvalidType, 'class_weight', '(3,)', '(2,)'),
    bad('weights 2', lambda: sce(V(X), T, class_weight=X), ValueError, 'class_weight', '(2, 3)'),
    bad(
        'weights 3', lambda: F.softmax_cross_entropy(X, T, class_weight=V(W3)), ValueError, 'class_weight', 'Variable'
    ),
    bad('bool t', lambda: F.softmax_cross_entropy(X, T > 0), InvalidType, 'SoftmaxCrossEntropy', 'integer', 'bool'),
)
SCE_SPECIAL = (
    Special(
        (np.array([[1000.0, -1000, 0], [0, 0, 0]]), T), gradients=(np.array([[0.0, 0, 0], [1 / 6, 1 / 6, -1 / 3]]),)
    ),
    Special((np.array([[NAN, INF, 0], [1, 1, 1]]), np.array([-1, 1], 'i')), expected=np.log(3.0)),
)


def _accuracy(y: Any, t: Any, ignore_label: Any = None) -> Any:
    right = y.argmax(axis=1).reshape(t.shape) == t
    counted = np.ones(t.shape, bool) if ignore_label is None else t != ignore_label
    return np.float64(right[counted].mean()) if counted.any() else (np.nan if ignore_label is None else 0.0)


def _mse(x0: Any, x1: Any) -> Any:
    return np.mean((x0 - x1) ** 2)


def mse(x: Any, y: Any) -> Any:
    return F.mean_squared_error(x, y)


CHECKED = {'wrong kind': 'the first row of the name has it', 'wrong dtype': 'the first row of the name has it'}
SCE_CASES = (
    case((4, 3), (4,)), case((4, 3), (4,), normalize=False), case((4, 3), (4,), ignore_label=1),
    case((4, 3), (4,), ignore_label=1, normalize=False),
    *grid((4, 3), (4,), class_weight=[W3], reduce=['mean', 'no']),
    case((2, 3, 2), (2, 2)), case((2, 3, 2), (2, 2), reduce='no', ignore_label=0), case((2, 3, 2, 2), (2, 2, 2)),
    case((2, 3, 2), (2, 2), class_weight=W3, ignore_label=2, normalize=False), case((1, 3), (1,)),
    case((0, 3), (0,)), case((0, 3), (0,), reduce='no'), case((2, 3, 0), (2, 0)),
    case((4, 3), (4,), cache_score=False, enable_double_backprop=True),
)  # fmt: skip
SOFT = {
    'special values': 'the row with labels has them',
    'zero-d': 'x needs two axes',
    'zero-size': 'rows are needed',
}

ROWS = [
    Row(
        'matmul', F.matmul, _matmul, (ANY, ANY), (*PRODUCTS, *TRANSPOSED), order=3, label='MatMul',
        errors=product_errors(F.matmul), except_from=OF_TWO,
        special=(Special((np.array([[INF, 1.0], [NAN, 2.0]]), np.array([[1.0, 0.0], [2.0, 1.0]]))),),
    ),
    Row(
        'matmul', F.matmul, _matmul, (ANY, ANY), WITH_VECTORS, variant='vectors', order=3,
        except_from={
            **CHECKED, **OF_TWO, 'special values': 'the first row of the name has them',
            'label': 'a vector is reshaped to a matrix and back: more nodes than in Chainer',
        },
    ),
    Row(
        '__matmul__', operator.matmul, np.matmul, (ANY, ANY), PRODUCTS, label='MatMul',
        errors=product_errors(operator.matmul), except_from={**OF_TWO, 'special values': 'matmul has them'},
    ),
    Row(
        '__matmul__', operator.matmul, np.matmul, (ANY, Domain(values=(-1.0, 0.5, 2.0))), PRODUCTS, variant='array',
        label='MatMul',
        except_from={**PRODUCT_EXCUSES, 'special values': 'matmul has them', 'wrong kind': 'matmul has it'},
    ),
    Row(
        '__rmatmul__', operator.matmul, np.matmul, (Domain(values=(-1.0, 0.5, 2.0)), ANY), PRODUCTS, variant='array',
        label='MatMul',
        except_from={**PRODUCT_EXCUSES, 'special values': 'matmul has them', 'wrong kind': 'matmul has it'},
    ),
    Row(
        'linear', F.linear, _linear, (ANY, ANY, ANY),
        (
            case((2, 3), (4, 3), (4,)), case((2, 3, 2), (2, 6), (2,)), case((0, 3), (2, 3), (2,)),
            case((2, 3), (0, 3), (0,)),
            case((2, 0), (3, 0), (3,)), case((1, 3), (1, 3), (1,)),
        ),
        order=3, label='LinearFunction', errors=LINEAR_ERRORS, except_from=LINEAR_EXCUSES,
    ),
    Row(
        'linear', F.linear, _linear, (ANY, ANY),
        (case((2, 3), (4, 3)), case((0, 3), (2, 3)), case((2, 0, 3), (2, 0)), case((2, 3, 1), (2, 3))),
        variant='no bias', order=3, label='LinearFunction', except_from={**LINEAR_EXCUSES, **CHECKED},
    ),
    Row(
        'linear', F.linear, _linear, (ANY, ANY, ANY),
        (
            case((2, 2, 3), (4, 3), (4,), n_batch_axes=2), case((2, 1, 3, 2), (4, 6), (4,), n_batch_axes=2),
            case((2, 0, 3), (4, 3), (4,), n_batch_axes=2), case((1, 2, 2, 3), (2, 3), (2,), n_batch_axes=3),
        ),
        variant='batch axes', label='Reshape', except_from={**LINEAR_EXCUSES, **CHECKED},
    ),
    Row(
        'mean_squared_error', mse, _mse, (ANY, ANY), (case((2, 3), (2, 3)), case((3,), (3,)), case((), ())), order=3,
        label='MeanSquaredError',
        special=(Special((np.array([NAN, 1]), np.ones(2))), Special((np.array([INF, 1]), np.ones(2)))),
        errors=(
            refuses_two_dtypes(mse, 'MeanSquaredError'),
            wrong_kind(lambda: mse(INTEGERS, INTEGERS), 'MeanSquaredError'),
            bad('shapes', lambda: mse(X, X[:1]), InvalidType, 'MeanSquaredError', '(2, 3)', '(1, 3)'),
        ),
        except_from={'zero-size': 'the mean of nothing is NaN; see test_noise_and_losses.py'},
    ),
    Row(
        'softmax_cross_entropy', sce, _cross_entropy, (ANY, LABELS), SCE_CASES, order=3, label='SoftmaxCrossEntropy',
        errors=SCE_ERRORS, special=SCE_SPECIAL, except_from={'zero-d': 'x needs two axes'},
    ),
    Row(
        'softmax_cross_entropy', soft_sce, _soft, (ANY, PROBABILITIES),
        (
            *grid((2, 3), (2, 3), soft_target_loss=['cross-entropy', 'kl-divergence'], reduce=['mean', 'no']),
            case((2, 3, 2), (2, 3, 2)), case((2, 3, 2), (2, 3, 2), normalize=False),
            case((2, 3, 2, 2), (2, 3, 2, 2), normalize=False), case((2, 3, 2), (2, 3, 2), class_weight=W3),
        ),
        variant='soft targets',
        errors=(
            wrong_kind(lambda: sce(V(INTEGERS), X), 'SoftmaxCrossEntropy'),
            bad('shapes', lambda: sce(V(X), X[:1]), InvalidType, 'SoftmaxCrossEntropy', '(2, 3)', '(1, 3)'),
            bad('vector', lambda: sce(V(X[0]), X[0]), InvalidType, 'SoftmaxCrossEntropy', '(B, C, ...)', '(3,)'),
            bad('weights', lambda: sce(V(X), X, class_weight=W3[:2]), InvalidType, 'class_weight', '(3,)', '(2,)'),
        ),
        except_from={
            **SOFT, 'label': 'a composition of other functions, as in Chainer',
            'wrong dtype': 'targets are converted to the dtype of x',
        },
    ),
    Row(
        'accuracy', F.accuracy, _accuracy, (Domain(distinct=True), LABELS),
        (
            case((4, 3), (4,)), case((4, 3), (4,), ignore_label=1), case((4, 3, 1), (4,)), case((2, 3, 2), (2, 2)),
            case((2, 3, 2), (2, 2), ignore_label=0), case((4, 3), (4,), ignore_label=7),
            case((0, 3), (0,), ignore_label=0),
            case((1, 3, 1, 1), (1,)),
        ),
        order=0, label='Accuracy',
        errors=(
            wrong_kind(lambda: F.accuracy(INTEGERS, T), 'Accuracy'),
            bad('float labels', lambda: F.accuracy(X, X[:, 0]), InvalidType, 'Accuracy', 'integer t', 'float64'),
            bad('shape of t', lambda: F.accuracy(X, T[:1]), InvalidType, 'Accuracy', '(2, 3)', '(1,)'),
            bad('vector', lambda: F.accuracy(X[0], T), InvalidType, 'Accuracy', '(3,)', '(2,)'),
        ),
        special=(Special((np.array([[0.0, INF, 1], [-INF, -1e30, -2]]), np.array([1, 2], 'i')), expected=1.0),),
        except_from={'zero-d': 'y needs two axes'},
    ),
    Row(
        'dropout', lambda x, mask, **params: F.dropout(x, mask=mask, **params), lambda x, mask, **params: x * mask,
        (ANY, Domain(values=(0.0, 2.0))),
        (case((3, 4), (3, 4)), case((), ()), case((0, 3), (0, 3)), case((3,), (3,), ratio=0.25)), order=3,
        label='Dropout',
        special=(Special((np.array([INF, 1e30]), np.array([2.0, 0.0])), gradients=(np.array([2.0, 0.0]),)),),
        errors=(
            wrong_kind(lambda: F.dropout(INTEGERS), 'Dropout'),
            bad('ratio 1', lambda: F.dropout(X, 1.0), ValueError, 'dropout', 'ratio', '[0, 1)', '1.0'),
            bad('ratio', lambda: F.dropout(X, -0.1), ValueError, 'dropout', 'ratio', '[0, 1)', '-0.1'),
            bad('mask', lambda: F.dropout(X, mask=X[0]), InvalidType, 'Dropout', 'mask', '(2, 3)', '(3,)'),
            bad('mask dtype', lambda: F.dropout(X, mask=X.astype('f')), InvalidType, 'Dropout', 'mask', 'float32'),
            bad('train', lambda: F.dropout(X, train=True), ValueError, 'train', 'using_config'),
            bad('unknown', lambda: F.dropout(X, what=1), TypeError, 'what'),
        ),
    ),
    Row(
        'forget', lambda x, y: F.forget(lambda a, b: F.tanh(a * b) * a, x, y), lambda x, y: np.tanh(x * y) * x,
        (ANY, ANY),
        (case((3, 4), (3, 4)), case((3, 1), (1, 4)), case((), ()), case((0, 3), (0, 3))), label='Forget',
        errors=(
            bad('no Variable', lambda: F.forget(lambda x: 1, V(X)), RuntimeError, 'forget', 'Variable', 'int'),
            refuses_two_dtypes(lambda x, y: F.forget(lambda a, b: V(a.array) + b, x, y), '_ + _'),
        ),
        except_from={'wrong kind': 'up to the function', 'special values': 'up to the function inside'},
    ),
    Row(
        'forget', lambda x: F.forget(lambda a: (F.sin(a), a * a), x), lambda x: (np.sin(x), x * x), (ANY,), SHAPES,
        variant='two results', label='Forget',
        except_from={'wrong kind': 'up to the function', 'special values': 'up to the function inside'},
    ),
]  # fmt: skip
