"""Rows of losses over samples, sequences and images, of measures, embeddings and the bilinear layer."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import scipy.special

import minichainer.functions as F
from minichainer.backends.cuda import to_cpu
from minichainer.utils.type_check import InvalidType
from tests.functions.row import ANY, DISTINCT, Row, Special, beside, case, grid
from tests.functions.rows_elementwise import INF, INTEGERS, NAN, refuses_two_dtypes
from tests.functions.rows_losses import (
    COMPOSED,
    LABELS,
    NEEDS_AXES,
    ONE_SPECIAL,
    T,
    V,
    X,
    reduced,
    shapes_differ,
    unknown_reduce,
)
from tests.functions.rows_network import bad, wrong_kind


def _cluster(x: Any, t: Any, k: int = 2, norm: int = 1, **factors: Any) -> Any:
    batch, dim = x.shape[:2]
    means, pull, counts = np.zeros((batch, k, dim)), np.zeros(k), np.zeros(k)
    for b in range(batch):
        for c in range(k):
            pixels = x[b][:, t[b] == c + 1]
            if pixels.size:
                means[b, c] = pixels.mean(axis=1)
            distance = np.linalg.norm(pixels - means[b, c][:, None], norm, axis=0)
            pull[c] += (np.maximum(distance - 0.3, 0) ** 2).sum()
            counts[c] += pixels.shape[1]
    push = [
        np.maximum(3 - np.linalg.norm(m[i] - m[j], norm), 0) ** 2
        for m in means for i in range(k) for j in range(k) if i != j
    ]  # fmt: skip
    size = np.linalg.norm(means.transpose(1, 0, 2).reshape(k, -1), norm, axis=1).sum() / (batch * k)
    factors = {'alpha': 1.0, 'beta': 1.0, 'gamma': 0.001, **factors}
    pulled = (pull / np.maximum(counts, 1)).mean()
    pushed = np.sum(push) / max(batch * k * (k - 1), 1)
    return pulled * factors['alpha'], pushed * factors['beta'], size * factors['gamma']


def cluster(x: Any, t: Any, k: int = 2, norm: int = 1, **factors: Any) -> Any:
    return F.discriminative_margin_based_clustering_loss(x, t, 0.3, 1.5, k, norm, **factors)


def negative_sampling(x: Any, W: Any, t: Any, **params: Any) -> Any:
    first, drawn = (beside(x, labels) for labels in (to_cpu(t)[:, 0] - 1, to_cpu(t) % 2))
    return F.negative_sampling(x, first, W, lambda shape: drawn.copy(), t.shape[1] - 1, **params)


def _negative_sampling(x: Any, W: Any, t: Any, reduce: str = 'sum') -> Any:
    scores = (W[t % 2] * x[:, None]).sum(axis=2)
    labels = t[:, 0] - 1
    losses = np.logaddexp(0, -(W[labels] * x).sum(axis=1)) + np.logaddexp(0, scores[:, 1:]).sum(axis=1)
    return reduced(np.where(labels == -1, 0, losses), reduce)


def _black_out(x: Any, W: Any, t: Any, reduce: str = 'mean') -> Any:
    p = scipy.special.softmax((W[t] * x[:, None]).sum(axis=2), axis=1)
    return reduced(-np.log(p[:, 0]) - np.log(1 - p[:, 1:]).sum(axis=1), reduce)


def _paths(k: int, length: int) -> Any:
    return np.stack(np.meshgrid(*[np.arange(k)] * length, indexing='ij'), axis=-1).reshape(-1, length)


def _path_scores(cost: Any, rows: list[Any]) -> Any:
    """The scores of all label sequences."""
    paths = _paths(len(cost), len(rows))
    scores = sum(row[paths[:, t]] for t, row in enumerate(rows))
    for t in range(1, len(rows)):
        scores = scores + cost[paths[:, t - 1], paths[:, t]]
    return paths, scores


def _crf1d(cost: Any, x0: Any, x1: Any, x2: Any, reduce: str = 'mean') -> Any:
    xs, losses = (x0, x1, x2), []
    for b in range(len(x0)):
        rows = [x[b] for x in xs if b < len(x)]
        paths, scores = _path_scores(cost, rows)
        wanted = (paths == [(b + t) % 3 for t in range(len(rows))]).all(axis=1)
        losses.append(np.log(np.exp(scores).sum()) - scores[wanted][0])
    return reduced(np.array(losses), reduce)


def crf1d(cost: Any, *xs: Any, **params: Any) -> Any:
    return F.crf1d(cost, xs, [(np.arange(len(x)) + t) % 3 for t, x in enumerate(xs)], **params)


def argmax_crf1d(cost: Any, *xs: Any) -> Any:
    """The scores; and they are those of the paths."""
    score, path = F.argmax_crf1d(cost, xs)
    steps = [to_cpu(y) for y in path]
    total = sum(to_cpu(x.array)[np.arange(len(y)), y].sum() for x, y in zip(xs, steps, strict=True))
    total += sum(to_cpu(cost.array)[before[: len(y)], y].sum() for before, y in pairwise(steps))
    np.testing.assert_allclose(to_cpu(score.array).astype('d').sum(), float(total), rtol=1e-2)
    return score


def _argmax_crf1d(cost: Any, *xs: Any) -> Any:
    every = [_path_scores(cost, [x[b] for x in xs if b < len(x)])[1].max() for b in range(len(xs[0]))]
    return np.array(every)


def _summary(y: Any, t: Any, label_num: int = 3, beta: float = 1.0, ignore_label: int = -1) -> Any:
    counted = t != ignore_label
    guess, label = y.argmax(axis=1)[counted], t[counted]
    rows = []
    for c in range(label_num):
        right, said, real = (x.sum() for x in ((guess == c) & (label == c), guess == c, label == c))
        p, r = right / said if said else np.nan, right / real if real else np.nan
        rows.append((p, r, (1 + beta**2) * p * r / (beta**2 * p + r) if p + r > 0 else np.nan, real))
    return np.reshape(rows, (label_num, 4)).T


def summary(y: Any, t: Any, label_num: int = 3, **params: Any) -> Any:
    p, r, f, n = F.classification_summary(y, t, label_num, **params)
    assert n.dtype == np.int64
    return F.stack([p, r, f, F.cast(n, 'd')])


def one_of(place: int) -> tuple[Any, Any]:
    """A share, beside the F-score: where that is NaN, debug mode refuses all of them."""

    def call(y: Any, t: Any, **params: Any) -> Any:
        name = ('precision', 'recall', 'f1_score')[place]
        return F.stack([getattr(F, name)(y, t, label_num=3, **params)[0], F.f1_score(y, t, 3, **params)[0]])

    return call, lambda y, t, **params: _summary(y, t, **params)[[place, 2]]


def _r2(pred: Any, true: Any, multioutput: str = 'uniform_average') -> Any:
    scores = 1 - ((pred - true) ** 2).sum(axis=0) / ((true - true.mean(axis=0)) ** 2).sum(axis=0)
    return scores if multioutput == 'raw_values' else np.mean(scores)


def _bilinear(e1: Any, e2: Any, W: Any, V1: Any = None, V2: Any = None, b: Any = None) -> Any:
    e1, e2 = e1.reshape(len(e1), W.shape[0]), e2.reshape(len(e2), W.shape[1])
    y = np.einsum('bj,bk,jkl->bl', e1, e2, W)
    return y if V1 is None else y + e1 @ V1 + e2 @ V2 + b


MEASURE = {**ONE_SPECIAL, **NEEDS_AXES}
SUMMARY_CASES = (case((8, 3), (8,)), case((4, 3, 2), (4, 2)), case((8, 3), (8,), ignore_label=1), case((0, 3), (0,)))

ROWS = [
    Row(
        'discriminative_margin_based_clustering_loss', cluster, _cluster, (ANY, LABELS),
        (
            case((2, 3, 3, 4), (2, 3, 4)), case((2, 3, 3, 4), (2, 3, 4), norm=2), case((1, 2, 2, 3), (1, 2, 3), k=1),
            case((3, 1, 2, 3), (3, 2, 3), k=4, alpha=0.5, beta=2.0, gamma=0.1), case((1, 2, 2, 3), (1, 2, 3), k=3,
                norm=2),
        ),
        errors=(
            wrong_kind(lambda: cluster(np.ones((1, 1, 2, 3), 'i'), X[None].astype('i')), 'clustering'),
            bad('shapes', lambda: cluster(np.ones((1, 1, 2, 3)), INTEGERS), InvalidType, '(1, 1, 2, 3)', '(B, H, W)'),
            bad('norm', lambda: cluster(X, INTEGERS, norm=3), ValueError, 'norm', '1 or 2', '3'),
            bad('instances', lambda: cluster(X, INTEGERS, k=0), ValueError, 'max_embedding_dim', 'positive', '0'),
        ),
        except_from={**NEEDS_AXES, **ONE_SPECIAL, **COMPOSED,
            'zero-size': 'an image has pixels, in a batch of one at least'},
    ),
    Row(
        'negative_sampling', negative_sampling, _negative_sampling, (ANY, ANY, LABELS),
        (*grid((5, 3), (4, 3), (5, 3), reduce=['sum', 'no']), case((0, 3), (2, 3), (0, 3))), order=3,
        label='NegativeSamplingFunction',
        errors=(
            wrong_kind(lambda: negative_sampling(INTEGERS, INTEGERS, INTEGERS), 'NegativeSampling'),
            refuses_two_dtypes(lambda x, W: negative_sampling(x, W, np.zeros((len(x), 2), 'i')), 'NegativeSampling'),
            bad('widths', lambda: F.negative_sampling(X, T, X[:, :2], None, 2), InvalidType, '(2, 3)', '(2, 2)',
                '(V, D)'),
            bad('keyword', lambda: F.negative_sampling(X, T, X, None, 2, what=1), TypeError, 'what',
                'return_samples'),
            unknown_reduce(lambda: negative_sampling(X, X, INTEGERS, reduce='bad'), 'negative_sampling'),
        ),
        except_from={**NEEDS_AXES, **ONE_SPECIAL},
    ),
    Row(
        'black_out', lambda x, W, t, **params: F.black_out(x, t[:, 0], W, t[:, 1:], **params), _black_out, (ANY, ANY,
            LABELS),
        (*grid((5, 3), (4, 3), (5, 3), reduce=['mean', 'no']), case((2, 3), (3, 3), (2, 2))),
        errors=(
            wrong_kind(lambda: F.black_out(INTEGERS, T, INTEGERS, INTEGERS), 'BlackOut'),
            refuses_two_dtypes(lambda x, W: F.black_out(x, np.zeros(len(x), 'i'), W, np.zeros((len(x), 2), 'i')),
                'BlackOut'),
            bad('batch', lambda: F.black_out(X, T, X, INTEGERS[:1]), InvalidType, 'BlackOut', '(2, 3)', 'samples',
                '(1, 3)'),
            unknown_reduce(lambda: F.black_out(X, T, X, INTEGERS, 'bad'), 'black_out'),
        ),
        except_from={**NEEDS_AXES, **ONE_SPECIAL, **COMPOSED,
            'zero-size': 'the mean of nothing is NaN, as of average'},
    ),
    Row(
        'crf1d', crf1d, _crf1d, (ANY, ANY, ANY, ANY),
        (
            *grid((3, 3), (4, 3), (4, 3), (2, 3), reduce=['mean', 'no']), case((3, 3), (3, 3), (2, 3), (1, 3),
                reduce='no'),
            case((3, 3), (2, 3), (0, 3), (0, 3), reduce='no'),
        ),
        errors=(
            wrong_kind(lambda: crf1d(np.ones((3, 3), 'i'), INTEGERS)),
            refuses_two_dtypes(
                lambda c, x: crf1d(V(np.ones((3, 3), c.dtype)), V(X.astype(x.dtype)), V(X.astype(x.dtype))), '',
            ),
            bad('cost', lambda: crf1d(X, X), InvalidType, 'crf1d', '(K, K)', '(2, 3)'),
            bad('widths', lambda: crf1d(np.ones((2, 2)), X), InvalidType, 'crf1d', '(B_t, 2)', '(2, 3)'),
            bad('order', lambda: crf1d(np.ones((3, 3)), X[:1], X), InvalidType, 'crf1d', 'longest first', '(1, 3)'),
            bad('labels', lambda: F.crf1d(np.ones((3, 3)), [X], [T[:1]]), InvalidType, 'crf1d', 'ys', '(1,)',
                '(2, 3)'),
            unknown_reduce(lambda: crf1d(X, X, reduce='bad'), 'crf1d'),
        ),
        except_from={**NEEDS_AXES, **ONE_SPECIAL, **COMPOSED},
    ),
    Row(
        'argmax_crf1d', argmax_crf1d, _argmax_crf1d, (ANY, ANY, ANY, ANY),
        (
            case((3, 3), (5, 3), (4, 3), (2, 3)), case((3, 3), (3, 3), (2, 3), (1, 3)), case((3, 3), (2, 3), (0, 3),
                (0, 3)),
            case((2, 2), (1, 2), (1, 2), (1, 2)),
        ),
        errors=(
            wrong_kind(lambda: F.argmax_crf1d(np.ones((3, 3), 'i'), [INTEGERS, INTEGERS])),
            refuses_two_dtypes(lambda c, x: F.argmax_crf1d(V(c[:2, :2]), [V(x[:, :2]), V(x[:, :2])]), ''),
            bad('cost', lambda: F.argmax_crf1d(X, [X]), InvalidType, 'argmax_crf1d', '(K, K)', '(2, 3)'),
            bad('no labels', lambda: F.argmax_crf1d(X[:0, :0], [X[:, :0]]), InvalidType, 'argmax_crf1d', 'label'),
        ),
        except_from={**NEEDS_AXES, **ONE_SPECIAL, **COMPOSED},
    ),
    Row(
        'binary_accuracy', lambda y, t: F.binary_accuracy(y, beside(y, to_cpu(t) - 1)),
        lambda y, t: np.float64(((y >= 0) == t - 1)[t != 0].sum() / max((t != 0).sum(), 1)), (DISTINCT, LABELS),
        (case((4, 3), (4, 3)), case((), ()), case((0, 3), (0, 3))), order=0, label='BinaryAccuracy',
        special=(Special((np.array([0.0, -0.0, INF, -INF]), np.array([2, 2, 1, 1], 'i')),
            expected=np.float64(0.75)),),
        errors=(
            wrong_kind(lambda: F.binary_accuracy(INTEGERS, INTEGERS), 'BinaryAccuracy'),
            bad('shapes', lambda: F.binary_accuracy(X, T), InvalidType, 'BinaryAccuracy', '(2, 3)', '(2,)'),
            bad('float t', lambda: F.binary_accuracy(X, X), InvalidType, 'BinaryAccuracy', 'int t', 'float64'),
        ),
    ),
    Row(
        'classification_summary', summary, _summary, (DISTINCT, LABELS),
        (*SUMMARY_CASES, case((8, 3), (8,), label_num=5, beta=2.0), case((8, 3), (8,), label_num=2)), order=0,
            result='d',
        errors=(
            wrong_kind(lambda: F.classification_summary(INTEGERS, T), 'ClassificationSummary'),
            bad('shapes', lambda: F.classification_summary(X, T[:1]), InvalidType, 'ClassificationSummary', '(2, 3)',
                '(1,)'),
            bad('empty', lambda: F.classification_summary(X[:0], T[:0]), ValueError, 'classification_summary',
                'label_num'),
        ),
        except_from={**MEASURE, 'label': 'the row stacks the results'},
    ),
    *[
        Row(
            name, *one_of(place), (DISTINCT, LABELS), SUMMARY_CASES, order=0, result='d',
            errors=(
                wrong_kind(lambda name=name: getattr(F, name)(INTEGERS, T), 'ClassificationSummary'),
                bad('shapes', lambda name=name: getattr(F, name)(X, T[:1]), InvalidType,
                    'ClassificationSummary', '(2, 3)',
                    '(1,)'),
            ),
            except_from={**MEASURE, 'label': 'the row stacks results'},
        )
        for place, name in enumerate(('precision', 'recall', 'f1_score'))
    ],
    Row(
        'r2_score', F.r2_score, _r2, (DISTINCT, DISTINCT),
        (case((4,), (4,)), *grid((4, 3), (4, 3), multioutput=['uniform_average', 'raw_values']), case((2, 2, 3), (2,
            2, 3))),
        order=0, label='R2_score',
        special=(Special((np.array([1.0, 2.0]), np.array([3.0, 3.0])), expected=np.float64(0)),),
        errors=(
            wrong_kind(lambda: F.r2_score(INTEGERS, INTEGERS), 'R2_score'), shapes_differ(F.r2_score, 'R2_score'),
            bad('0-d', lambda: F.r2_score(np.array(1.0), np.array(1.0)), InvalidType, 'R2_score', 'batch axis', '()'),
            bad('weights', lambda: F.r2_score(X, X, X), NotImplementedError, 'r2_score', 'sample_weight', 'None'),
            bad('output', lambda: F.r2_score(X, X, None, 'bad'), ValueError, 'r2_score', 'multioutput', "'bad'"),
        ),
        except_from={**NEEDS_AXES, 'zero-size': 'scores of nothing are 0',
            'wrong dtype': 'two float dtypes are fine, as in Chainer'},
    ),
    Row(
        'embed_id', lambda W, x, **params: F.embed_id(x, W, **params),
        lambda W, x, ignore_label=None: np.where((x == ignore_label)[..., None], 0, W[x]), (ANY, LABELS),
        (
            case((3, 2), (4,)), case((4, 2), (2, 5)), *grid((3, 2), (2, 5), ignore_label=[0, 2, -1]), case((3, 2),
                (0,)),
            case((3, 0), (2,)),
        ),
        order=3, label='EmbedIDFunction',
        special=(Special((np.array([[INF], [NAN]]), np.array([0, 1, 1], 'i')), expected=np.array([[INF], [NAN],
            [NAN]]),
                         gradients=(np.array([[1.0], [2.0]]),)),),
        errors=(
            wrong_kind(lambda: F.embed_id(T, INTEGERS), 'EmbedIDFunction'),
            bad('float ids', lambda: F.embed_id(X, X), InvalidType, 'EmbedIDFunction', 'int x', 'float64'),
            bad('0-d', lambda: F.embed_id(T[0], X), InvalidType, 'EmbedIDFunction', '(B, ...)', '()'),
            bad('range', lambda: F.embed_id(T, X), IndexError, 'embed_id', '[0, 2)', '2'),
        ),
        except_from=NEEDS_AXES,
    ),
    Row(
        'bilinear', F.bilinear, _bilinear, (ANY, ANY, ANY),
        (case((2, 3), (2, 4), (3, 4, 2)), case((2, 3, 1), (2, 2, 2), (3, 4, 2)), case((0, 3), (0, 4), (3, 4, 2))),
            order=3,
        errors=(
            wrong_kind(lambda: F.bilinear(INTEGERS, INTEGERS, np.ones((3, 3, 1), 'i')), 'BilinearFunction'),
            refuses_two_dtypes(lambda a, b: F.bilinear(a, b, np.ones((a.shape[1], b.shape[1], 1))),
                'BilinearFunction'),
            bad('W', lambda: F.bilinear(X, X, np.ones((3, 2, 1))), InvalidType, 'BilinearFunction', '(2, 3)',
                '(3, 2, 1)'),
            bad('batch', lambda: F.bilinear(X, X[:1], np.ones((3, 3, 1))), InvalidType, 'BilinearFunction', '(1, 3)'),
            bad('partial', lambda: F.bilinear(X, X, np.ones((3, 3, 1)), X), ValueError, 'bilinear', 'V1', 'together'),
        ),
        except_from={**NEEDS_AXES, **ONE_SPECIAL, **COMPOSED},
    ),
    Row(
        'bilinear', F.bilinear, _bilinear, (ANY,) * 6,
        (
            case((2, 3), (2, 4), (3, 4, 2), (3, 2), (4, 2), (2,)), case((0, 3), (0, 4), (3, 4, 2), (3, 2), (4, 2),
                (2,)),
        ),
        variant='all terms',
        errors=(
            bad('wrong dtype', lambda: F.bilinear(X, X, np.ones((3, 3, 3)), np.ones((3, 3), 'f'), np.ones((3, 3)),
                X[0]),
                InvalidType, 'BilinearFunction', 'float32', 'float64'),
            bad('V2', lambda: F.bilinear(X, X, np.ones((3, 3, 3)), np.ones((3, 3)), X, X[0]), InvalidType, '(K, L)',
                '(2, 3)'),
        ),
        except_from={**NEEDS_AXES, **ONE_SPECIAL, **COMPOSED, 'wrong kind': 'the first row of the name has it'},
    ),
]  # fmt: skip
