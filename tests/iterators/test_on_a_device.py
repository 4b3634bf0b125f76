"""Batches of iterators on GPUs: examples of the host or of a device, through converters, also padded."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minichainer as chainer
from minichainer import iterators
from minichainer.backends import cuda
from minichainer.dataset import ConcatWithAsyncTransfer, concat_examples

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures('devices_of_parameters')]
DEVICES = ['@numpy', '@cupy:0', '@cupy:1']
EXAMPLES = [(np.full(2, i, 'f'), np.int32(i)) for i in range(6)]
ITERATORS: dict[str, Any] = {
    'serial': lambda data: iterators.SerialIterator(data, 2, repeat=False, shuffle=False),
    'threads': lambda data: iterators.MultithreadIterator(data, 2, repeat=False, shuffle=False, n_threads=2),
    'processes': lambda data: iterators.MultiprocessIterator(data, 2, repeat=False, shuffle=False, n_processes=1),
}


def assert_batches(iterator: Any, converter: Any, device: str) -> None:
    count = 0
    for number, batch in enumerate(iterator):
        x, t = converter(batch, chainer.get_device(device))
        for array, dtype in ((x, 'f'), (t, 'i')):
            assert chainer.backend.get_device_from_array(array).name == device and array.dtype == dtype
        np.testing.assert_array_equal(cuda.to_cpu(x)[:, 0], [2 * number, 2 * number + 1])
        np.testing.assert_array_equal(cuda.to_cpu(t), [2 * number, 2 * number + 1])
        count += 1
    iterator.finalize()
    assert count == 3


@pytest.mark.parametrize('device', DEVICES)
@pytest.mark.parametrize('make', ITERATORS.values(), ids=ITERATORS)
@pytest.mark.parametrize('asynchronous', [False, True])
def test_batches_of_the_host(make: Any, device: str, asynchronous: bool) -> None:
    assert_batches(make(EXAMPLES), ConcatWithAsyncTransfer() if asynchronous else concat_examples, device)


@pytest.mark.parametrize('device', DEVICES)
@pytest.mark.parametrize('source', DEVICES)
def test_data_on_a_device(source: str, device: str) -> None:
    """Also where that is not the current device."""
    place = chainer.get_device(source)
    data = [(place.send(x), t) for x, t in EXAMPLES]
    assert_batches(ITERATORS['serial'](data), concat_examples, device)


@pytest.mark.parametrize('source', DEVICES)
def test_padding(source: str) -> None:
    place = chainer.get_device(source)
    found = concat_examples([place.send(np.ones(n, 'f')) for n in (1, 3)], padding=-1)
    assert chainer.backend.get_device_from_array(found) == place
    np.testing.assert_array_equal(cuda.to_cpu(found), [[1, -1, -1], [1, 1, 1]])


@pytest.mark.parametrize('source', ['@cupy:0', '@cupy:1'])
def test_columns_of_a_tabular_dataset(source: str) -> None:
    place = chainer.get_device(source)
    data = chainer.dataset.tabular.from_data((('x', place.send(np.arange(4.0))), ('t', [0, 1, 2, 3])))
    x, t = data.slice[1:3].fetch()
    np.testing.assert_array_equal(cuda.to_cpu(x), [1, 2])
    assert list(t) == [1, 2]


@pytest.mark.parametrize('device', ['@cupy:0', '@cupy:1'])
def test_scatter_to_a_sub_dataset(device: str) -> None:
    data = chainer.datasets.TupleDataset(chainer.get_device(device).send(np.arange(4.0)), np.arange(4))
    x, t = concat_examples(data[1:3], chainer.get_device(device))
    assert (x.get().tolist(), t.get().tolist()) == ([1, 2], [1, 2])
