"""Files of arrays on GPUs: saved from any device, loaded to the one where the target is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minichainer as chainer
import minichainer.links as L
from minichainer import serializers
from minichainer.backends import cuda
from minichainer.serializers import DictionarySerializer, NpzDeserializer

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures('devices_of_parameters')]
DEVICES = ['@numpy', '@cupy:0', '@cupy:1']
every_pair = pytest.mark.parametrize(('source', 'target'), [(a, b) for a in DEVICES for b in DEVICES])


def model_on(device: str, fill: float, size: int | None = 3) -> Any:
    model = chainer.Chain(a=L.Linear(size, 2), b=L.BatchNormalization(2)).to_device(device)
    for param in model.params(include_uninit=False):
        with model.device.create_context():
            param.array[...] = fill
    with model.device.create_context():
        model.b.avg_mean[...] = fill
    return model


def assert_loaded(model: Any, device: str, fill: float) -> None:
    arrays = {name: param.array for name, param in model.namedparams()} | {'mean': model.b.avg_mean}
    for name, array in arrays.items():
        assert chainer.backend.get_device_from_array(array).name == device, name
        np.testing.assert_array_equal(cuda.to_cpu(array), fill, err_msg=name)


@pytest.mark.parametrize('size', [3, None])
@pytest.mark.parametrize('kind', ['npz', 'hdf5'])
@every_pair
def test_files(source: str, target: str, kind: str, size: int | None, tmp_path: Path) -> None:
    file = tmp_path / 'model'
    getattr(serializers, f'save_{kind}')(file, model_on(source, 2.0))
    model = model_on(target, 0.0, size)
    getattr(serializers, f'load_{kind}')(file, model)
    assert_loaded(model, target, 2.0)


@every_pair
def test_dictionaries(source: str, target: str) -> None:
    serializer = DictionarySerializer()
    serializer.save(model_on(source, 3.0))
    assert all(isinstance(value, np.ndarray) for value in serializer.target.values())
    model = model_on(target, 0.0)
    NpzDeserializer(serializer.target).load(model)
    assert_loaded(model, target, 3.0)
