"""Rows of losses, measures, embeddings and the bilinear layer."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.special

import minichainer as chainer
import minichainer.functions as F
from minichainer.backends.cuda import to_cpu
from minichainer.utils.type_check import InvalidType
from tests.functions.row import ANY, DISTINCT, Bad, Domain, Row, Special, beside, case, grid
from tests.functions.rows_elementwise import INF, INTEGERS, NAN, refuses_two_dtypes
from tests.functions.rows_network import bad, wrong_kind

V = chainer.Variable
X = np.ones((2, 3))
T = np.array([0, 2], 'i')
LABELS = Domain(labels=3)
SIGNED_LABELS = Domain(labels=2)
COMPOSED = {'label': 'a composition of other functions'}
ONE_SPECIAL = {'special values': 'sums and products of elementary functions, which have them'}
NEEDS_AXES = {'zero-d': 'it needs a batch axis, and more'}
NEEDS_ROWS = {'zero-size': 'the mean of nothing is refused; see the errors'}
SAME_SHAPES = (case((2, 3), (2, 3)), case((), ()), case((0, 3), (0, 3)), case((2, 1, 3), (2, 1, 3)))


def shapes_differ(f: Any, label: str) -> Bad:
    return bad('shapes', lambda: f(X, X[:1]), InvalidType, label, '(2, 3)', '(1, 3)')


def unknown_reduce(call: Any, op: str) -> Bad:
    return bad('reduce', call, ValueError, op, 'reduce', "'bad'", "'no'")


def two_arrays(f: Any, label: str) -> tuple[Bad, ...]:
    return (
        wrong_kind(lambda: f(INTEGERS, INTEGERS), label), refuses_two_dtypes(f, label), shapes_differ(f, label),
    )  # fmt: skip


def reduced(losses: Any, reduce: str) -> Any:
    return losses if reduce == 'no' else losses.mean() if reduce == 'mean' else losses.sum()


def _bernoulli(x: Any, y: Any, reduce: str = 'sum') -> Any:
    return reduced(np.logaddexp(0, y) - x * y, reduce)


def _kl(mean: Any, ln_var: Any, reduce: str = 'sum') -> Any:
    return reduced((mean**2 + np.exp(ln_var) - ln_var - 1) / 2, reduce)


def _gaussian(x: Any, mean: Any, ln_var: Any, reduce: str = 'sum') -> Any:
    return reduced((np.log(2 * np.pi) + ln_var + (x - mean) ** 2 * np.exp(-ln_var)) / 2, reduce)


def _huber(x: Any, t: Any, delta: float, reduce: str = 'sum_along_second_axis') -> Any:
    losses = scipy.special.huber(delta, x - t)
    return losses if reduce == 'no' else losses.sum(axis=1)


def _contrastive(x0: Any, x1: Any, y: Any, margin: float = 1, reduce: str = 'mean') -> Any:
    d = np.sqrt(((x0 - x1) ** 2).sum(axis=1))
    return reduced((y * d**2 + (1 - y) * np.maximum(margin - d, 0) ** 2) / 2, reduce)


def _triplet(a: Any, p: Any, n: Any, margin: float = 0.2, reduce: str = 'mean') -> Any:
    losses = np.maximum(((a - p) ** 2).sum(axis=1) - ((a - n) ** 2).sum(axis=1) + margin, 0)
    return losses if reduce == 'no' else losses.sum() / len(a)


def _hinge(x: Any, t: Any, norm: str = 'L1', reduce: str = 'mean') -> Any:
    signs = np.where(np.arange(x.shape[1]) == t[:, None], 1, -1)
    losses = np.maximum(1 - signs * x, 0) ** (1 if norm == 'L1' else 2)
    return losses if reduce == 'no' else losses.sum() / len(x)


def _sigmoid_cross_entropy(x: Any, t: Any, normalize: bool = True, reduce: str = 'mean') -> Any:
    losses = np.where(t == -1, 0, np.logaddexp(0, x) - t * x)
    if reduce == 'no':
        return losses
    return losses.sum() / max((t != -1).sum() if normalize else len(x), 1)


def sigmoid_cross_entropy(x: Any, t: Any, **params: Any) -> Any:
    return F.sigmoid_cross_entropy(x, beside(x, to_cpu(t) - 1), **params)


def _cross_covariance(y: Any, z: Any, reduce: str = 'half_squared_sum') -> Any:
    c = (y - y.mean(axis=0)).T @ (z - z.mean(axis=0)) / len(y)
    return c if reduce == 'no' else (c**2).sum() / 2


def _decov(h: Any, reduce: str = 'half_squared_sum') -> Any:
    c = _cross_covariance(h, h, 'no') * (1 - np.eye(h.shape[1]))
    return c if reduce == 'no' else (c**2).sum() / 2


REDUCES = ['sum', 'mean', 'no']
PAIRS = (
    *grid((2, 3), (2, 3), reduce=REDUCES), case((2, 1), (3,), reduce='no'), case((), ()), case((0, 3), (0, 3)),
    case((0, 3), (0, 3), reduce='no'),
)  # fmt: skip

ROWS = [
    Row(
        'absolute_error', F.absolute_error, lambda a, b: abs(a - b), (DISTINCT, Domain(low=-1.95, high=2.05,
            distinct=True)),
        SAME_SHAPES, label='AbsoluteError', errors=two_arrays(F.absolute_error, 'AbsoluteError'),
        special=(Special((np.array([INF, NAN, 1.0]), np.array([1.0, 1, 1])), gradients=(np.array([1, NAN, 0]),
            np.array([-1, NAN, 0]))),),
    ),
    Row(
        'squared_error', F.squared_error, lambda a, b: (a - b) ** 2, (ANY, ANY), SAME_SHAPES, order=3,
            label='SquaredError',
        errors=two_arrays(F.squared_error, 'SquaredError'), special=(Special((np.array([INF, NAN]), np.array([1.0,
            1]))),),
    ),
    Row(
        'mean_absolute_error', F.mean_absolute_error, lambda a, b: abs(a - b).mean(),
        (DISTINCT, Domain(low=-1.95, high=2.05, distinct=True)),
        (case((2, 3), (2, 3)), case((), ()), case((2, 1, 3), (2, 1, 3))), label='MeanAbsoluteError',
        errors=two_arrays(F.mean_absolute_error, 'MeanAbsoluteError'),
        special=(Special((np.array([NAN, 1.0]), np.array([1.0, 1]))), Special((np.zeros(0), np.zeros(0)),
            expected=np.float64(NAN))),
        except_from={'zero-size': 'the mean of nothing is NaN; see the special values'},
    ),
    Row(
        'huber_loss', F.huber_loss, _huber, (Domain(low=0.0, high=0.4), Domain(values=(-1.0, 0.0, 0.5, 1.0))),
        (
            case((3, 4), (3, 4), delta=0.55), case((2, 3, 2), (2, 3, 2), delta=0.55), case((0, 3), (0, 3), delta=1.0),
            case((), (), delta=0.55, reduce='no'), case((2, 3), (2, 3), delta=0.55, reduce='no'),
        ),
        label='HuberLoss', special=(Special((np.array([[1e3, -1e3, NAN]]), np.zeros((1, 3))), {'delta': 2.0,
            'reduce': 'no'}),),
        errors=(
            wrong_kind(lambda: F.huber_loss(INTEGERS, INTEGERS, 1), 'HuberLoss'),
            shapes_differ(lambda x, t: F.huber_loss(x, t, 1.0), 'HuberLoss'),
            unknown_reduce(lambda: F.huber_loss(X, X, 1.0, 'bad'), 'huber_loss'),
            bad('vector', lambda: F.huber_loss(X[0], X[0], 1.0), InvalidType, 'HuberLoss', 'two axes', '(3,)'),
        ),
    ),
    Row(
        'huber_loss', F.huber_loss, _huber, (Domain(low=0.0, high=0.4), Domain(low=-0.4, high=-0.1)),
        (case((3, 4), (3, 4), delta=1.0), case((3, 4), (3, 4), delta=0.09), case((), (), delta=1.0, reduce='no'),
         case((0, 2), (0, 2), delta=1.0)),
        variant='two Variables', label='HuberLoss',
        errors=(refuses_two_dtypes(lambda x, t: F.huber_loss(x, t, 1.0), 'HuberLoss'),),
        except_from={**ONE_SPECIAL, 'wrong kind': 'the first row of the name has it'},
    ),
    Row(
        'bernoulli_nll', F.bernoulli_nll, _bernoulli, (ANY, ANY), PAIRS[:-4] + PAIRS[-3:], order=3,
        special=(Special((np.array([0.0, 1.0, 0.5]), np.array([-1e3, 1e3, 0.0])), {'reduce': 'no'},
                         gradients=(np.array([1e3, -1e3, 0]), np.array([0.0, 0, 0]))),),
        errors=(
            refuses_two_dtypes(lambda x, y: F.bernoulli_nll(V(x), V(y)), 'BernoulliNLL'),
            wrong_kind(lambda: F.bernoulli_nll(INTEGERS, INTEGERS), 'BernoulliNLL'),
            unknown_reduce(lambda: F.bernoulli_nll(X, X, 'bad'), 'bernoulli_nll'),
        ),
        except_from=COMPOSED,
    ),
    Row(
        'gaussian_kl_divergence', F.gaussian_kl_divergence, _kl, (ANY, ANY), PAIRS, order=3,
        errors=(
            refuses_two_dtypes(lambda x, y: F.gaussian_kl_divergence(V(x), V(y)), ''),
            wrong_kind(lambda: F.gaussian_kl_divergence(INTEGERS, INTEGERS)),
            unknown_reduce(lambda: F.gaussian_kl_divergence(X, X, 'bad'), 'gaussian_kl_divergence'),
        ),
        except_from={**COMPOSED, **ONE_SPECIAL},
    ),
    Row(
        'gaussian_nll', F.gaussian_nll, _gaussian, (ANY, ANY, ANY),
        (
            *grid((2, 3), (2, 3), (2, 3), reduce=REDUCES), case((2, 1), (3,), (1, 1), reduce='no'), case((), (), ()),
            case((0, 3), (0, 3), (0, 3)),
        ),
        order=3,
        errors=(
            refuses_two_dtypes(lambda x, y: F.gaussian_nll(V(x), V(y), V(y)), ''),
            wrong_kind(lambda: F.gaussian_nll(INTEGERS, INTEGERS, INTEGERS)),
            unknown_reduce(lambda: F.gaussian_nll(X, X, X, 'bad'), 'gaussian_nll'),
        ),
        except_from={**COMPOSED, **ONE_SPECIAL},
    ),
    Row(
        'contrastive', F.contrastive, _contrastive, (ANY, ANY, SIGNED_LABELS),
        (*grid((6, 2), (6, 2), (6,), margin=[1.5, 2.5], reduce=['mean', 'no']), case((3, 1), (3, 1), (3,))),
        label='Contrastive',
        special=(
            Special((np.zeros((1, 2)), np.zeros((1, 2)), T[:1]), expected=np.float64(0.5), gradients=(np.zeros((1,
                2)),) * 2),
        ),
        errors=(
            wrong_kind(lambda: F.contrastive(INTEGERS, INTEGERS, T), 'Contrastive'),
            refuses_two_dtypes(lambda x, y: F.contrastive(x.reshape(-1, 1), y.reshape(-1, 1), np.zeros(x.size, 'i')),
                'Contrastive'),
            bad('labels', lambda: F.contrastive(X, X, T[:1]), InvalidType, 'Contrastive', '(2, 3)', '(1,)'),
            bad('empty', lambda: F.contrastive(X[:0], X[:0], T[:0]), InvalidType, 'Contrastive', 'B > 0', '(0, 3)'),
            bad('margin', lambda: F.contrastive(X, X, T, 0), ValueError, 'contrastive', 'margin', 'positive', '0'),
            unknown_reduce(lambda: F.contrastive(X, X, T, reduce='bad'), 'contrastive'),
        ),
        except_from={**NEEDS_AXES, **NEEDS_ROWS},
    ),
    Row(
        'triplet', F.triplet, _triplet, (ANY, ANY, ANY),
        (*grid(*[(6, 3)] * 3, margin=[0.2, 3.0], reduce=['mean', 'no']), case(*[(2, 3, 2)] * 3), case(*[(2, 3,
            2)] * 3, reduce='no')),
        label='Triplet',
        errors=(
            wrong_kind(lambda: F.triplet(INTEGERS, INTEGERS, INTEGERS), 'Triplet'),
            refuses_two_dtypes(lambda x, y: F.triplet(x, y, y), 'Triplet'),
            bad('shapes', lambda: F.triplet(X, X, X[:1]), InvalidType, 'Triplet', '(2, 3)', '(1, 3)'),
            bad('empty', lambda: F.triplet(X[:0], X[:0], X[:0]), InvalidType, 'Triplet', 'B > 0', '(0, 3)'),
            bad('margin', lambda: F.triplet(X, X, X, -1), ValueError, 'triplet', 'margin', 'positive', '-1'),
            unknown_reduce(lambda: F.triplet(X, X, X, reduce='bad'), 'triplet'),
        ),
        except_from={**NEEDS_AXES, **NEEDS_ROWS, **ONE_SPECIAL},
    ),
    Row(
        'hinge', F.hinge, _hinge, (Domain(avoid=(-1.0, 1.0)), LABELS),
        (*grid((4, 3), (4,), norm=['L1', 'L2'], reduce=['mean', 'no']), case((0, 3), (0,), reduce='no')),
            label='Hinge',
        special=(Special((np.array([[INF, -INF, NAN]]), T[:1]), {'reduce': 'no'}, gradients=(np.array([[0.0, 0,
            NAN]]),)),),
        errors=(
            wrong_kind(lambda: F.hinge(INTEGERS, T), 'Hinge'),
            bad('labels', lambda: F.hinge(X, T[:1]), InvalidType, 'Hinge', '(2, 3)', '(1,)'),
            bad('range', lambda: F.hinge(X, T + 1), IndexError, 'hinge', '[0, 3)', '3'),
            bad('norm', lambda: F.hinge(X, T, 'L3'), NotImplementedError, 'hinge', 'norm', "'L3'"),
            unknown_reduce(lambda: F.hinge(X, T, reduce='bad'), 'hinge'),
        ),
        except_from=NEEDS_AXES,
    ),
    Row(
        'sigmoid_cross_entropy', sigmoid_cross_entropy, lambda x, t, **params: _sigmoid_cross_entropy(x, t - 1,
            **params),
        (ANY, LABELS),
        (
            *grid((4, 3), (4, 3), normalize=[True, False], reduce=['mean', 'no']), case((), ()), case((0, 3), (0, 3)),
            case((2, 3, 2), (2, 3, 2)),
        ),
        order=3, label='SigmoidCrossEntropy',
        special=(
            Special((np.array([1e3, -1e3, 1e3, NAN]), np.array([2, 1, 1, 0], 'i')), {'reduce': 'no'},
                    expected=np.array([0.0, 0, 1e3, 0])),
        ),
        errors=(
            wrong_kind(lambda: F.sigmoid_cross_entropy(INTEGERS, INTEGERS), 'SigmoidCrossEntropy'),
            bad('shapes', lambda: F.sigmoid_cross_entropy(X, T), InvalidType, 'SigmoidCrossEntropy', '(2, 3)',
                '(2,)'),
            unknown_reduce(lambda: F.sigmoid_cross_entropy(X, INTEGERS, reduce='bad'), 'sigmoid_cross_entropy'),
        ),
    ),
    Row(
        'cross_covariance', F.cross_covariance, _cross_covariance, (ANY, ANY),
        (*grid((4, 3), (4, 2), reduce=['half_squared_sum', 'no']), case((1, 3), (1, 2)), case((2, 0), (2, 2),
            reduce='no')),
        order=3, label='CrossCovariance',
        errors=(
            wrong_kind(lambda: F.cross_covariance(INTEGERS, INTEGERS), 'CrossCovariance'),
            refuses_two_dtypes(F.cross_covariance, 'CrossCovariance'),
            bad('batch', lambda: F.cross_covariance(X, X[:1]), InvalidType, 'CrossCovariance', '(2, 3)', '(1, 3)'),
            unknown_reduce(lambda: F.cross_covariance(X, X, 'bad'), 'cross_covariance'),
        ),
        except_from={**NEEDS_AXES, **ONE_SPECIAL},
    ),
    Row(
        'decov', F.decov, _decov, (ANY,),
        (*grid((4, 3), reduce=['half_squared_sum', 'no']), case((1, 3)), case((2, 0), reduce='no')), order=3,
            label='DeCov',
        errors=(
            wrong_kind(lambda: F.decov(INTEGERS), 'DeCov'),
            bad('axes', lambda: F.decov(X[0]), InvalidType, 'DeCov', '(3,)'),
            unknown_reduce(lambda: F.decov(X, 'bad'), 'decov'),
        ),
        except_from={**NEEDS_AXES, **ONE_SPECIAL},
    ),
]  # fmt: skip
