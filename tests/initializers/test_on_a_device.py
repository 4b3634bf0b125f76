"""Initializers on a GPU: the values of the CPU, or numbers of its own generator with the same spread."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minichainer as chainer
from minichainer import backend
from minichainer.backends import cuda
from minichainer.initializers import generate_array
from tests.initializers.test_initializers import RANDOM, ROWS, Row

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures('devices_of_parameters')]
every_device = pytest.mark.parametrize('device', ['@cupy:0', '@cupy:1'])


def place(array: Any) -> str:
    return str(backend.get_device_from_array(array).name)


def made(row: Row, device: str, **kwargs: Any) -> Any:
    return generate_array(row.make(**kwargs), row.shape, cuda.cupy, 'd', device)


@every_device
@pytest.mark.parametrize('row', ROWS, ids=lambda row: row.name)
def test_values(row: Row, device: str) -> None:
    array = made(row, device)
    assert place(array) == device and array.dtype == 'd'
    values = array.get()
    if row.values is not None:
        np.testing.assert_allclose(values, row.values)
    elif row.bound is not None:
        assert 0.9 * row.bound < abs(values).max() <= row.bound
    else:
        assert row.deviation is not None
        np.testing.assert_allclose(values.std(), row.deviation, rtol=0.15)


@every_device
@pytest.mark.parametrize('row', RANDOM, ids=lambda row: row.name)
def test_a_generator_of_the_host(row: Row, device: str) -> None:
    """Its numbers do not depend on the device."""
    expected = generate_array(row.make(rng=np.random.RandomState(0)), row.shape, np, 'd')
    np.testing.assert_allclose(made(row, device, rng=np.random.RandomState(0)).get(), expected, 1e-12, 1e-12)


@pytest.mark.parametrize('row', RANDOM, ids=lambda row: row.name)
def test_the_seed_of_the_device(row: Row) -> None:
    found = []
    for _ in range(2):
        cuda.cupy.random.seed(3)
        found.append(made(row, '@cupy:0').get())
    np.testing.assert_array_equal(*found)


@every_device
def test_a_parameter_of_later_shape(device: str) -> None:
    param = chainer.Parameter(chainer.initializers.Normal())
    param.to_device(device)
    param.initialize((3, 2))
    assert place(param.array) == place(param.grad) == device
