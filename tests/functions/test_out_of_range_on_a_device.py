"""Numbers that are out of range, on a GPU: CuPy wraps them around in silence; here they are seen."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F
from minichainer.backends import cuda
from minichainer.errors import LabelError

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize('label', [-2, 3, 100])
@pytest.mark.parametrize('options', [{}, {'ignore_label': None}, {'class_weight': [1.0, 2.0, 3.0]}])
def test_such_a_label_makes_its_sample_nan(label: int, options: dict[str, Any]) -> None:
    if 'class_weight' in options:
        options = {'class_weight': cuda.cupy.asarray(options['class_weight'], 'f')}
    x = chainer.Variable(cuda.cupy.zeros((3, 3), 'f'))
    losses = F.softmax_cross_entropy(x, cuda.cupy.asarray([0, label, 2]), reduce='no', **options)
    assert np.isnan(losses.array.get()).tolist() == [False, True, False]
    losses.grad = cuda.cupy.ones(3, 'f')
    losses.backward()
    assert np.isnan(x.grad.get()).all(axis=1).tolist() == [False, True, False]


@pytest.mark.parametrize('number', [-2, 3, 100])
def test_debug_mode_waits_and_raises(number: int) -> None:
    numbers = cuda.cupy.asarray([0, number, 2])
    with chainer.DebugMode(True):
        for call in (
            lambda: F.softmax_cross_entropy(cuda.cupy.zeros((3, 3), 'f'), numbers),
            lambda: F.embed_id(numbers, cuda.cupy.zeros((3, 2), 'f')),
        ):
            with pytest.raises(LabelError, match=str(number)):
                call()
