"""What does not fit is refused with words of ours, whatever it is that does not fit."""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable, Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F
from minichainer.utils import CooMatrix
from minichainer.utils.type_check import InvalidType

REFERENCE = Path(__file__).parents[1] / 'reference'
PACKAGE = str(Path(chainer.__file__).parent)

# --- named cases ----------------------------------------------------------------------------------------------------
V, X, T = chainer.Variable, np.ones((2, 3)), np.array([0, 2], 'i')
NONE = np.ones((2, 0))


def _negative_sampling(labels: Any, drawn: Any) -> Any:
    return F.negative_sampling(X, np.asarray(labels), np.ones((3, 3)), lambda shape: np.asarray(drawn), 1)


def _sparse(row: Any, col: Any) -> Any:
    return F.sparse_matmul(CooMatrix(np.ones(2), np.asarray(row), np.asarray(col), (3, 3), 'other'), np.ones((3, 2)))


REFUSED: list[tuple[str, Callable[[], Any], type[Exception], tuple[str, ...]]] = [
    ('get_item', lambda: F.get_item(X, (0, 3)), IndexError, ('get_item', '3', '(2, 3)')),
    ('permutate', lambda: F.permutate(X, np.array([0, 2])), IndexError, ('permutate', '[0, 2)', 'got 2', '(2, 3)')),
    ('max', lambda: F.max(NONE), ValueError, ('max', 'nothing to reduce', '(2, 0)')),
    ('min', lambda: F.min(NONE, axis=1), ValueError, ('min', 'nothing to reduce', '(2, 0)', '(1,)')),
    ('logsumexp', lambda: F.logsumexp(NONE, axis=1), ValueError, ('logsumexp', 'nothing to reduce', '(2, 0)')),
    ('argmax', lambda: F.argmax(NONE, axis=1), ValueError, ('argmax', 'empty', '(2, 0)')),
    ('argmin', lambda: F.argmin(NONE), ValueError, ('argmin', 'empty', '(2, 0)')),
    ('sign', lambda: F.sign(X > 0), InvalidType, ('sign', 'float or int', 'bool')),
    ('gaussian_nll', lambda: F.gaussian_nll(X, X, X > 0), InvalidType, ('gaussian_nll', 'float', 'bool')),
    ('crf1d label', lambda: F.crf1d(np.eye(3), [X], [T + 1]), IndexError, ('crf1d', '[0, 3)', 'got 3 at position')),
    ('crf1d float', lambda: F.crf1d(np.eye(3), [X], [X[:, 0]]), InvalidType, ('crf1d', 'int', 'float64')),
    ('sampling label', lambda: _negative_sampling([0, 3], [[0, 0]] * 2), IndexError, ('[0, 3)', 'got 3 at position')),
    ('sampling drawn', lambda: _negative_sampling([0, 1], [[0, 3]] * 2), IndexError, ('sampler', '[0, 3)', '3')),
    ('sampling shape', lambda: _negative_sampling([0, 1], [[0, 1, 2]]), ValueError, ('sampler((2, 2))', '(1, 3)')),
    ('sparse row', lambda: _sparse([0, 3], [0, 1]), ValueError, ('sparse_matmul', 'row numbers below 3', '3')),
    ('sparse column', lambda: _sparse([0, 2], [0, 4]), ValueError, ('sparse_matmul', 'column numbers below 3', '4')),
    ('sparse float', lambda: _sparse([0.0, 2], [0, 1]), InvalidType, ('CooMatMul', 'int row', 'float64')),
    ('no class', lambda: F.softmax_cross_entropy(NONE, T), InvalidType, ('SoftmaxCrossEntropy', '(2, 0)')),
    ('accuracy', lambda: F.accuracy(NONE, T), InvalidType, ('Accuracy', '(B, C, ...)', '(2, 0)')),
    ('accuracy t', lambda: F.accuracy(X, T[:, None]), InvalidType, ('Accuracy', '(2, 3)', '(2, 1)')),
    ('summary', lambda: F.classification_summary(NONE, T), InvalidType, ('ClassificationSummary', '(2, 0)')),
    (
        'negative label', lambda: F.recall(X, T - 3, label_num=3), ValueError,
        ('classification_summary', 'negative', '-3'),
    ),
    ('dtypes', lambda: F.matmul(V(X), V(np.ones((3, 2), 'i'))), InvalidType, ('MatMul', 'float', 'int32')),
]  # fmt: skip


@pytest.mark.parametrize(('call', 'error', 'words'), [r[1:] for r in REFUSED], ids=[r[0] for r in REFUSED])
def test_is_refused(call: Callable[[], Any], error: type[Exception], words: tuple[str, ...]) -> None:
    with pytest.raises(error) as caught:
        call()
    assert caught.type is error
    assert not [word for word in words if word not in str(caught.value)], str(caught.value)


def test_labels_of_unsigned_samples_may_be_ignored() -> None:
    y = F.negative_sampling(X, T * 0 - 1, np.ones((3, 3)), lambda shape: np.zeros(shape, 'B'), 2, 'no')
    np.testing.assert_array_equal(y.array, 0)


@pytest.mark.parametrize('entry', [-1, -7])
def test_entries_of_a_sparse_matrix_that_are_not_there_get_no_gradient(entry: int) -> None:
    sparse = CooMatrix(np.ones(2), np.array([0, entry]), np.array([2, entry]), (3, 3), 'other', requires_grad=True)
    dense = V(np.arange(6.0).reshape(3, 2))
    F.sum(F.sparse_matmul(sparse, dense)).backward()
    np.testing.assert_array_equal(sparse.data.grad, [9, 0])
    np.testing.assert_array_equal(dense.grad, [[0, 0], [0, 0], [1, 1]])


@pytest.mark.parametrize('function', [F.matmul, F.simplified_dropconnect])
def test_two_float_dtypes_are_taken_as_by_chainer(function: Any) -> None:
    narrow, wide = V(np.ones((2, 2), 'f')), V(np.ones((2, 2)))
    y = function(narrow, wide)
    assert y.dtype == (np.float64 if function is F.matmul else np.float32)
    F.sum(y).backward()
    assert (narrow.grad.dtype, wide.grad.dtype) == (np.float32, np.float64)


# --- every recorded call, with inputs that do not fit ---------------------------------------------------------------
OTHERS = (
    '*pooling*', '*convolution*', '*norm*aliz*', '*lstm*', '*gru*', '*rnn*', 'im2col', 'shift', 'roi_*', 'forget',
    'linear', 'embed_id',
)  # fmt: skip


def _recorded() -> dict[str, list[dict[str, Any]]]:
    index = json.loads((REFERENCE / 'functions.json').read_text(encoding='utf-8'))
    by_target: dict[str, list[dict[str, Any]]] = {}
    for entry in index['cases']:
        plain = '@' not in entry['id'] and 'prelude' not in entry
        if plain and not any(fnmatch(entry['target'], pattern) for pattern in OTHERS):
            by_target.setdefault(entry['target'], []).append(entry)
    return by_target


RECORDED = _recorded()


@pytest.fixture(scope='module')
def data() -> Any:
    return np.load(REFERENCE / 'functions.npz')


def _spoilt(x: np.ndarray) -> Iterator[np.ndarray]:
    """The array with another shape, another dtype, other labels."""
    yield from (x[None], x[..., None])
    for axis in sorted({0, x.ndim - 1} & set(range(x.ndim))):
        if x.shape[axis]:
            yield from (np.take(x, places, axis=axis) for places in ([0], [], [*range(x.shape[axis]), 0]))
    if x.ndim and x.shape[0]:
        yield np.asarray(x[0])
    if x.dtype.kind == 'f':
        yield from (np.zeros(x.shape, dtype) for dtype in ('i', '?', 'e', 'd'))
    else:
        yield from (x + 100, x - 100, x.astype('f'), x.astype('?'), x.astype('q'), x.astype('B'))


def _evaluate(entry: dict[str, Any], arrays: list[np.ndarray]) -> None:
    scope = {'F': F, 'np': np, 'chainer': chainer}
    for i, (kind, array) in enumerate(zip(entry.get('inputs', ''), arrays, strict=True)):
        scope[f'x{i}'] = array.copy() if kind == 'a' else V(array.copy(), requires_grad=kind == 'v')
    exec(entry.get('setup', ''), scope)
    ys = eval(entry['call'], scope)
    first = ys[0] if isinstance(ys, (tuple, list)) and ys else ys
    if isinstance(first, V) and first.requires_grad and first.dtype.kind == 'f':
        first.grad = np.ones_like(first.array)
        first.backward()


@pytest.mark.parametrize('target', sorted(RECORDED))
def test_errors_are_raised_by_us_and_not_by_numpy(target: str, data: Any) -> None:
    for entry in RECORDED[target]:
        arrays = [data[f'{entry["id"]}:x{i}'] for i in range(len(entry.get('inputs', '')))]
        for place, array in enumerate(arrays):
            for other in _spoilt(array):
                np.random.seed(0)
                try:
                    with np.errstate(all='ignore'):
                        _evaluate(entry, [*arrays[:place], other, *arrays[place + 1 :]])
                except Exception as error:
                    _check_origin(error, f'{entry["id"]}, x{place} of {other.dtype} {other.shape}')


def _check_origin(error: Exception, what: str) -> None:
    """Asserts that the error comes from a raise statement of the package, or from the recorded expression itself."""
    frames = traceback.extract_tb(error.__traceback__)
    if not any(frame.filename.startswith(PACKAGE) for frame in frames):
        return
    last = frames[-1]
    if last.name == '_is_sorted':  # in CooMatrix, before a function is called
        return
    assert last.filename.startswith(PACKAGE), f'{what}: {type(error).__name__} from {last.filename}: {error}'
    assert 'raise' in (last.line or ''), f'{what}: {type(error).__name__} from {last.name}: {last.line}: {error}'
    assert str(error), f'{what}: {type(error).__name__} without words'
