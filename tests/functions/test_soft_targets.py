"""Soft targets of softmax_cross_entropy with every option, against the formula in float64."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import scipy.special

import minichainer as chainer
import minichainer.functions as F

OPTIONS = list(itertools.product((True, False), ('mean', 'no'), (None, 'e', 'f', 'd'), (True, False)))
TOLERANCE = {'e': 5e-3, 'f': 1e-5, 'd': 1e-12}


def _arrays(shape: tuple[int, ...]) -> tuple[Any, Any]:
    random = np.random.RandomState(0)
    t = random.uniform(0.1, 1, shape)
    t[0, :, ...] = 0
    t[0, 1, ...] = 1  # as good as a label
    return random.uniform(-1, 1, shape), t / t.sum(axis=1, keepdims=True)


def _expected(x: Any, t: Any, kind: str, weight: Any, reduce: str) -> Any:
    losses = -t * scipy.special.log_softmax(x, axis=1)
    if kind == 'kl-divergence':
        losses = losses + scipy.special.xlogy(t, t)
    losses = (losses * (1 if weight is None else weight.reshape(-1, *[1] * (x.ndim - 2)))).sum(axis=1)
    return losses if reduce == 'no' else losses.mean()


@pytest.mark.parametrize('shape', [(4, 3), (2, 3, 2, 2)], ids=str)
@pytest.mark.parametrize('kind', ['cross-entropy', 'kl-divergence'])
@pytest.mark.parametrize('dtypes', list(itertools.product('efd', 'efd')), ids=''.join)
def test_soft_targets_with_every_option(dtypes: tuple[str, str], kind: str, shape: tuple[int, ...]) -> None:
    scores, shares = _arrays(shape)
    dtype = dtypes[0]
    for normalize, reduce, weight_dtype, double in OPTIONS:
        x, t = chainer.Variable(scores.astype(dtype)), chainer.Variable(shares.astype(dtypes[1]))
        weight = None if weight_dtype is None else np.array([0.5, 1.0, 2.0], weight_dtype)
        loss = F.softmax_cross_entropy(
            x, t, normalize, class_weight=weight, reduce=reduce, enable_double_backprop=double, soft_target_loss=kind
        )
        assert loss.dtype == x.dtype
        tolerance = max(TOLERANCE[char] for char in dtypes)
        expected = _expected(scores, shares, kind, weight, reduce)
        np.testing.assert_allclose(loss.array, expected, rtol=tolerance, atol=tolerance)
        gx, gt = chainer.grad([F.sum(loss)], [x, t])
        assert gx is not None and gx.dtype == x.dtype and np.isfinite(gx.array).all()
        assert (gt is not None) == double
        assert gt is None or (gt.dtype == t.dtype and np.isfinite(gt.array).all())


@pytest.mark.parametrize('kind', ['cross-entropy', 'kl-divergence'])
def test_a_loss_does_not_train_the_model_that_made_its_targets(kind: str) -> None:
    scores, teacher = chainer.Variable(np.zeros((2, 3), 'f')), chainer.Variable(np.ones((2, 3), 'f'))
    x, t = scores * 2, F.softmax(teacher)
    F.softmax_cross_entropy(x, t, soft_target_loss=kind).backward()
    assert scores.grad is not None and teacher.grad is None
    (gx,) = chainer.grad([F.softmax_cross_entropy(x, t)], [x], enable_double_backprop=True)
    F.sum(gx * gx).backward()  # the gradient of x is differentiable without the option
    assert teacher.grad is None


def test_a_class_weight_of_another_dtype() -> None:
    x, t = chainer.Variable(np.zeros((2, 2), 'f')), np.full((2, 2), 0.5, 'f')
    loss = F.softmax_cross_entropy(x, t, class_weight=np.ones(2))
    assert loss.dtype == np.float32 and round(float(loss.array), 4) == 0.6931
