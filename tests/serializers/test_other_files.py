"""Files of other kinds: the error says what they are, and what it says to write loads them."""

from __future__ import annotations

import gzip
import io
import pickle
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import minichainer
import minichainer.links as L
from minichainer import serializers
from minichainer.compat import files
from minichainer.serializer import SnapshotError

MODEL = L.Linear(4, 3)
NAMES = {'serializers': serializers, 'minichainer': minichainer, 'numpy': np}
#: The first bytes of files of torch before 1.6.
OLD_TORCH = b'\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.\x80\x02M\xe9\x03.'


def _zipped(*names: str) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, 'w') as archive:
        for name in names:
            archive.writestr(name, b'0')
    return content.getvalue()


def _safetensors(path: Path) -> None:
    pytest.importorskip('safetensors.numpy').save_file({'W': MODEL.W.array, 'b': MODEL.b.array}, str(path))


KINDS: dict[str, Callable[[Path], Any]] = {
    'npz': lambda path: serializers.save_npz(path, MODEL),
    'hdf5': lambda path: serializers.save_hdf5(str(path), MODEL),
    'safetensors': _safetensors,
    'pickle': lambda path: path.write_bytes(pickle.dumps(MODEL)),
    'torch': lambda path: path.write_bytes(_zipped('sd/data.pkl', 'sd/byteorder', 'sd/data/0', 'sd/version')),
    'torch before 1.6': lambda path: path.write_bytes(OLD_TORCH),
    'keras': lambda path: path.write_bytes(_zipped('metadata.json', 'config.json', 'model.weights.h5')),
    'npy': lambda path: np.save(path, MODEL.W.array),
    'gzip': lambda path: path.write_bytes(gzip.compress(b'0')),
}
READERS = {'npz': serializers.load_npz, 'hdf5': serializers.load_hdf5, 'compat': files.load}


def _message(reader: str, path: Path) -> str:
    if 'hdf5' in (reader, path.stem):
        pytest.importorskip('h5py')
    KINDS[path.stem](path)
    with pytest.raises(SnapshotError) as caught:
        READERS[reader](str(path), L.Linear(4, 3))
    return str(caught.value)


@pytest.mark.parametrize(
    ('reader', 'kind'),
    [(r, k) for r in ('npz', 'hdf5') for k in ('npz', 'hdf5', 'safetensors', 'pickle') if r != k],
)
def test_what_to_write_loads_the_file(tmp_path: Path, reader: str, kind: str) -> None:
    path = tmp_path / f'{kind}.model'
    (remedy,) = re.findall(r'write ([\w.]+\(.*\))', _message(reader, path))
    model = L.Linear(4, 3)
    eval(remedy, {**NAMES, 'path': str(path), 'obj': model})
    assert (model.W.array == MODEL.W.array).all()


def test_a_single_array(tmp_path: Path) -> None:
    path = tmp_path / 'npy.npy'
    (remedy,) = re.findall(r'write ([\w.]+\(.*\))', _message('npz', path))
    assert (eval(remedy, {**NAMES, 'path': path}) == MODEL.W.array).all()


class Tensor:
    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def numpy(self) -> np.ndarray:
        return self.array


@pytest.mark.parametrize('reader', READERS)
@pytest.mark.parametrize('kind', ['torch', 'torch before 1.6'])
def test_files_of_torch(tmp_path: Path, reader: str, kind: str) -> None:
    """The lines of the message, run with a stand-in for torch."""
    path = tmp_path / f'{kind}.pt'
    message = _message(reader, path)
    model = minichainer.Chain(fc=L.Linear(4, 3))
    torch = SimpleNamespace(load=lambda name, weights_only: {'fc.weight': Tensor(MODEL.W.array)})
    names = {'torch': torch, 'path': str(path), 'model': model}
    for line in re.findall(r'state = [^)]*\)|model\.fc.*\)', message):
        exec(line, names)
    assert 'file of torch' in message and (model.fc.W.array == MODEL.W.array).all()


@pytest.mark.parametrize('reader', READERS)
def test_files_of_keras(tmp_path: Path, reader: str) -> None:
    message = _message(reader, tmp_path / 'keras.model')
    layer = SimpleNamespace(get_weights=lambda: [MODEL.W.array.T])
    model = minichainer.Chain(fc=L.Linear(4, 3))
    exec(message[message.index('model.fc.W') :], {'layer': layer, 'model': model})
    assert 'file of Keras' in message and (model.fc.W.array == MODEL.W.array).all()


@pytest.mark.parametrize('reader', ['npz', 'hdf5'])
def test_compressed_files(tmp_path: Path, reader: str) -> None:
    assert 'compressed by gzip: unpack it first' in _message(reader, tmp_path / 'gzip.model')
