"""Summaries of values on a GPU, the current one and another."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minichainer as chainer
from minichainer.backends import cuda

pytestmark = pytest.mark.gpu
VALUES = [1.0, 2.0, 6.0]


@pytest.fixture(params=[0, 1])
def device(request: pytest.FixtureRequest) -> Any:
    if request.param >= cuda.cupy.cuda.runtime.getDeviceCount():
        pytest.skip('one GPU only')
    return chainer.get_device(f'@cupy:{request.param}')


@pytest.mark.parametrize('shape', [(), (2,)])
@pytest.mark.parametrize('dtype', 'fd')
def test_mean_and_deviation(dtype: str, shape: tuple[int, ...], device: Any) -> None:
    summary = chainer.Summary()
    for value in VALUES:
        summary.add(device.send(np.full(shape, value, dtype)))
    for found, expected in zip(
        (summary.compute_mean(), *summary.make_statistics()), (3, 3, np.std(VALUES)), strict=True
    ):
        assert device.is_array_supported(found) and found.shape == shape
        np.testing.assert_allclose(found.get(), expected, 1e-6)


def test_summaries_by_name(device: Any) -> None:
    summary = chainer.DictSummary()
    for value in VALUES:
        summary.add({'loss': chainer.Variable(device.send(np.array(value))), 'number': value})
    found = summary.make_statistics()
    assert device.is_array_supported(found['loss.std'])
    np.testing.assert_allclose(float(found['loss']), 3)
    np.testing.assert_allclose(float(found['loss.std']), np.std(VALUES))
    assert found['number'] == 3
