"""Connectionist temporal classification: the kernel against its plain composition, on longer sequences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F
from minichainer.functions.loss import ctc
from minichainer.kernels import ctc as kernels

STEPS, BATCH, CLASSES, LABELS = 30, 5, 6, 8
INPUT_LENGTHS, LABEL_LENGTHS = np.array([30, 1, 0, 17, 9]), np.array([8, 1, 0, 0, 3])


def _problem(dtype: str, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.RandomState(seed)
    labels = rng.randint(1, CLASSES, (BATCH, LABELS))
    labels[0, 1:4] = labels[0, 0]  # repetitions need a blank between them
    return (rng.randn(STEPS, BATCH, CLASSES) * 3).astype(dtype), labels


def _gradient(loss: Any, x: chainer.Variable, gy: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    loss.grad = gy.astype(loss.dtype)
    loss.backward()
    assert x.grad is not None
    return loss.array, x.grad


@pytest.mark.parametrize(('dtype', 'rtol'), [('f', 1e-5), ('d', 1e-12)])
@pytest.mark.parametrize('reduce', ['no', 'mean'])
def test_equals_the_plain_composition(dtype: str, rtol: float, reduce: str) -> None:
    x, labels = _problem(dtype)
    gy = np.asarray(np.random.RandomState(1).randn(*([BATCH] if reduce == 'no' else [])))
    fused, plain = chainer.Variable(x), chainer.Variable(x)
    ways = kernels.alignments(np, labels, LABEL_LENGTHS, INPUT_LENGTHS, 0)
    steps = F.separate(fused)
    y = F.connectionist_temporal_classification(steps, labels, 0, INPUT_LENGTHS, LABEL_LENGTHS, reduce)
    for actual, wanted in zip(
        _gradient(y, fused, gy), _gradient(ctc._reference(plain, ways, reduce), plain, gy), strict=True
    ):
        np.testing.assert_allclose(actual, wanted, rtol=rtol, atol=rtol * np.abs(wanted).max())


def test_labels_that_are_too_many_have_an_infinite_loss_and_no_gradient() -> None:
    x = chainer.Variable(np.zeros((3, 2, 4)))
    y = F.connectionist_temporal_classification(F.separate(x), np.array([[1, 1], [1, 2]]), 0, np.array([2, 2]))
    y.backward()
    assert np.isinf(y.array)
    assert np.isfinite(x.grad).all() and not x.grad[:, 0].any() and x.grad[:2, 1].any()


@pytest.mark.parametrize('label', [4, -5])
def test_kernels_read_no_memory_of_labels_that_are_not_classes(label: int) -> None:
    ways = kernels.alignments(np, np.array([[1], [label]]), np.array([1, 1]), np.array([3, 3]), 0)
    log_p = np.zeros((3, 2, 4))
    with pytest.raises(IndexError):
        kernels.forward(np, log_p, ways)
    with pytest.raises(IndexError):
        kernels.gradient(np, log_p, ways, np.zeros(2), np.zeros((3, 2, 3)))


@pytest.mark.parametrize('dtype', ['i', 'q', 'B'])
def test_integers_of_any_width_and_variables_are_taken(dtype: str) -> None:
    x, labels = _problem('d')
    results = [
        F.connectionist_temporal_classification(
            list(x),
            wrap(labels.astype(dtype)),
            0,
            wrap(INPUT_LENGTHS.astype(dtype)),
            wrap(LABEL_LENGTHS.astype(dtype)),
        ).array
        for wrap in (np.asarray, chainer.Variable)
    ]
    plain = F.connectionist_temporal_classification(list(x), labels, 0, INPUT_LENGTHS, LABEL_LENGTHS)
    np.testing.assert_array_equal(results, plain.array)


def test_a_long_sequence_neither_underflows_nor_overflows() -> None:
    x = np.zeros((2000, 1, 50), 'f')
    x[::2, 0, 1:] = -1e4
    variable = chainer.Variable(x)
    y = F.connectionist_temporal_classification(F.separate(variable), np.arange(1, 50)[None], 0)
    y.backward()
    assert np.isfinite(y.array) and y.array > 0
    assert np.isfinite(variable.grad).all()
    np.testing.assert_allclose(variable.grad.sum(axis=2), 0, atol=1e-5)


def test_float16_is_computed_in_float32() -> None:
    x, labels = _problem('e')
    narrow = F.connectionist_temporal_classification(list(x), labels, 0, INPUT_LENGTHS, LABEL_LENGTHS, 'no')
    wide = F.connectionist_temporal_classification(list(x.astype('f')), labels, 0, INPUT_LENGTHS, LABEL_LENGTHS, 'no')
    assert narrow.dtype == np.float16
    np.testing.assert_array_equal(narrow.array, wide.array.astype('e'))
