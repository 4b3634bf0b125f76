"""Debug mode on a device finds what CuPy and cuSOLVER are silent about: indices out of range, singular matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F
from minichainer.backends import cuda

pytestmark = pytest.mark.gpu
LinAlgError = np.linalg.LinAlgError
X = np.arange(12.0).reshape(3, 4)
SPACE, TWO = np.ones((2, 5)), np.ones((2, 3))


def ints(*values: Any) -> Any:
    return cuda.to_gpu(np.array(values, 'i'))


def on(x: Any) -> Any:
    return cuda.to_gpu(np.asarray(x, 'd'))


#: A call with an index that is out of range, and what the message says; the wrong value is the last number.
INDICES: dict[str, tuple[Any, str]] = {
    'get_item': (lambda: F.get_item(on(X), (ints(0, 3),)), r'get_item: .*axis 0 .*\[0, 3\).*got 3 at position \[1\]'),
    'get_item, later axis': (lambda: F.get_item(on(X), (Ellipsis, None, ints(-5))), r'axis 1 .*got -5'),
    'get_item, two': (lambda: F.get_item(on(X), (slice(1), ints(4))), r'axis 1 .*got 4'),
    'operator': (lambda: chainer.Variable(on(X))[ints(7)], r'got 7'),
    'scatter_add': (lambda: F.scatter_add(on(X), ints(3), on(X[:1])), r'scatter_add: .*got 3'),
    'permutate': (lambda: F.permutate(on(X), ints(0, 1, 1)), r'permutate: .*\[0, 1, 1\]'),
    'select_item': (lambda: F.select_item(on(X), ints(0, 4, 1)), r'select_item: .*got 4 at position \[1\] of \[3\]'),
    'embed_id': (lambda: F.embed_id(ints(0, 3), on(X)), r'embed_id: .*got 3 at position \[1\]'),
    'softmax_cross_entropy': (lambda: F.softmax_cross_entropy(on(X), ints(0, 9, 1)), r'got 9 at position \[1\]'),
    'hinge': (lambda: F.hinge(on(X), ints(0, 5, 1)), r'hinge: .*got 5 at position \[1\]'),
    'ctc': (
        lambda: F.connectionist_temporal_classification([on(X)] * 3, ints([1], [4], [2]), 0),
        r'got 4 at position \[1, 0\]',
    ),
    'ctc, lengths': (
        lambda: F.connectionist_temporal_classification([on(X)] * 3, ints([1], [3], [2]), 0, ints(3, 4, 1)),
        r'input_length <= 3 expected, got input_lengths from 1 to 4',
    ),
    'crf1d': (lambda: F.crf1d(on(np.ones((4, 4))), [on(X)], [ints(0, 1, 4)]), r'crf1d: .*got 4 at position \[2\]'),
    'negative_sampling': (
        lambda: F.negative_sampling(on(X), ints(0, -2, 1), on(X), lambda shape: cuda.cupy.zeros(shape, 'i'), 2),
        r'negative_sampling: .*got -2 at position \[1\]',
    ),
    'negative_sampling, drawn': (
        lambda: F.negative_sampling(on(X), ints(0, -1, 1), on(X), lambda shape: cuda.cupy.full(shape, 3, 'i'), 2),
        r'the sampler must draw classes in \[0, 3\), got 3',
    ),
    'upsampling_2d': (
        lambda: F.upsampling_2d(on(np.ones((1, 1, 1, 2))), ints([[[0, 4]]]), 2, outsize=(2, 4)),
        r'got 4 at position \[0, 0, 0, 1\]',
    ),
    'classification_summary': (
        lambda: F.classification_summary(on(X), ints(0, -2, 1), label_num=4),
        r'labels must not be negative.*got -2',
    ),
}  # fmt: skip


@pytest.mark.parametrize('name', INDICES)
def test_indices_out_of_range(name: str) -> None:
    call, message = INDICES[name]
    with chainer.using_config('debug', True), pytest.raises((IndexError, ValueError), match=message):
        call()
    call()  # without debug mode nothing is read, and nothing raises


INDICES_WITHIN: dict[str, tuple[Any, Any]] = {
    'negative': (lambda: F.get_item(on(X), (ints(-3, 2),)), X[[-3, 2]]),
    'mask': (lambda: F.get_item(on(X), (cuda.to_gpu(X > 5), ints(0))[:1]), X[X > 5]),
    'ignored': (lambda: F.embed_id(ints(0, 9), on(X), ignore_label=9), np.stack([X[0], 0 * X[0]])),
}


@pytest.mark.parametrize('name', INDICES_WITHIN)
def test_indices_that_are_allowed(name: str) -> None:
    call, expected = INDICES_WITHIN[name]
    with chainer.using_config('debug', True):
        np.testing.assert_array_equal(call().array.get(), expected)


SINGULAR, INDEFINITE = np.ones((2, 2)), np.diag([1.0, -1.0])
NAN = np.full((3, 3), np.nan)
#: A call with a matrix for which there is no result, the error of the CPU and what it says.
MATRICES: dict[str, tuple[Any, type[Exception], str]] = {
    'inv': (lambda xp: F.inv(xp.asarray(SINGULAR)), ValueError, r'inv: Input has singular matrices.*\(2, 2\)'),
    'batch_inv': (
        lambda xp: F.batch_inv(xp.asarray(np.stack([np.eye(2), SINGULAR]))), ValueError, r'singular.*\(2, 2, 2\)'
    ),
    'solve': (lambda xp: F.solve(xp.asarray(SINGULAR), xp.asarray(TWO)), ValueError, r'solve: singular'),
    'cholesky': (lambda xp: F.cholesky(xp.asarray(INDEFINITE)), LinAlgError, r'cholesky: .*shape \(2, 2\)'),
    'eigh': (lambda xp: F.eigh(xp.asarray(NAN)), LinAlgError, r'eigh: .*shape \(3, 3\)'),
    'svd': (lambda xp: F.svd(xp.asarray(NAN)), LinAlgError, r'svd: .*shape \(3, 3\)'),
}  # fmt: skip


@pytest.mark.parametrize('name', MATRICES)
def test_matrices_without_a_result(name: str) -> None:
    call, error, message = MATRICES[name]
    for xp in (np, cuda.cupy):
        with chainer.using_config('debug', True), pytest.raises(error, match=message):
            call(xp)
    call(cuda.cupy)  # cuSOLVER's error is ignored


def test_matrices_with_a_result() -> None:
    matrix = on([[2, 1], [1, 3]])
    with chainer.using_config('debug', True):
        for function in (F.inv, F.cholesky, F.eigh, F.svd, F.qr, F.det):
            function(matrix)
