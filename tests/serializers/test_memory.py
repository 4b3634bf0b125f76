"""What a small file says must not fill the memory of whoever loads it."""

from __future__ import annotations

import io
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minichainer import links, optimizers
from minichainer.link import Link
from minichainer.serializer import SnapshotError
from minichainer.serializers._entries import Allowance
from minichainer.serializers.npz import DictionarySerializer, NpzDeserializer
from minichainer.training import extensions
from minichainer.variable import Parameter

MANY = 1_500_000  # elements; 6 MB of float32, which compress to 6 kB


@pytest.fixture(autouse=True)
def small_allowance(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes the limit small, so that the tests need not be large."""
    monkeypatch.setattr(Allowance, 'ALWAYS', 1 << 18)


class Entries(dict):
    """A dict of arrays that can be saved."""

    def serialize(self, serializer: Any) -> None:
        for name, value in self.items():
            serializer(name, value)


def peak_of(function: Any) -> int:
    tracemalloc.start()
    try:
        function()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def check_refused(file_format: Any, path: Path, target: Any) -> None:
    assert path.stat().st_size < 120_000

    def load() -> None:
        with pytest.raises((SnapshotError, TypeError)) as caught:
            file_format.load(path, target)
        assert 'bytes in memory from a file of' in str(caught.value) or 'the object has one' in str(caught.value)

    assert peak_of(load) < 4_500_000


class Lazy(Link):
    """A parameter and a persistent value of unknown shape."""

    def __init__(self) -> None:
        super().__init__()
        with self.init_scope():
            self.W = Parameter()
        self.add_persistent('mean', None)


LAZY = {
    'Linear': (lambda: links.Linear(None, 30), {'W': (30, MANY // 30), 'b': (30,)}),
    'Convolution2D': (lambda: links.Convolution2D(None, 2, 1), {'W': (2, MANY // 2, 1, 1), 'b': (2,)}),
    'Deconvolution2D': (lambda: links.Deconvolution2D(None, 2, 1), {'W': (MANY // 2, 2, 1, 1), 'b': (2,)}),
    'LayerNormalization': (lambda: links.LayerNormalization(), {'gamma': (MANY,), 'beta': (MANY,)}),
    'BatchNormalization': (
        lambda: links.BatchNormalization(axis=0),
        {'gamma': (MANY,), 'beta': (MANY,), 'avg_mean': (MANY,), 'avg_var': (MANY,), 'N': ()},
    ),
    'LSTM': (
        lambda: links.LSTM(None, 1),
        {'upward/W': (4, MANY // 4), 'upward/b': (4,), 'lateral/W': (4, 1)},
    ),
    'persistent': (Lazy, {'W': (2,), 'mean': (MANY,)}),
    'many parts': (Lazy, {'W': (50_000,), 'mean': (50_000,)}),
}


@pytest.mark.parametrize('name', LAZY)
def test_sizes_that_the_file_alone_tells(file_format: Any, tmp_path: Path, name: str) -> None:
    make, shapes = LAZY[name]
    entries = {key: np.zeros(shape, int if key == 'N' else np.float32) for key, shape in shapes.items()}
    file_format.save(tmp_path / 'file', Entries(entries))
    link = make()
    check_refused(file_format, tmp_path / 'file', link)
    assert all(
        not param.is_initialized for path, param in link.namedparams() if path in ('/W', '/gamma', '/upward/W')
    )


@pytest.mark.parametrize('nbytes', [1 << 17, 1 << 22])
def test_allowance_is_a_small_multiple_of_the_file(
    file_format: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nbytes: int
) -> None:
    monkeypatch.undo()
    model = links.Linear(nbytes // 40, 10)
    file_format.save(tmp_path / 'file', model)
    small = tmp_path / 'small'
    file_format.save(small, links.Linear(nbytes * 8 // 40, 10, initialW=0))
    file_format.load(tmp_path / 'file', links.Linear(None, 10))
    limit = max(1 << 20, 16 * small.stat().st_size)
    if nbytes * 8 > limit:
        check_refused(file_format, small, links.Linear(None, 10))
    else:
        file_format.load(small, links.Linear(None, 10))


@pytest.mark.parametrize('value', [3, 2.5, True, None, 'text'])
def test_values_that_are_no_arrays(file_format: Any, tmp_path: Path, value: Any) -> None:
    # NumPy pads texts to the longest.
    texts = np.array(['x' * 1300, *[''] * 1300])
    saved = texts if isinstance(value, str) else np.zeros(MANY, type(value or 1))
    file_format.save(tmp_path / 'file', Entries({'mean': saved, 'W': np.zeros(2, 'f')}))
    link = Lazy()
    link.mean = value
    check_refused(file_format, tmp_path / 'file', link)


def test_other_shapes_are_refused_unread(file_format: Any, tmp_path: Path) -> None:
    file_format.save(tmp_path / 'file', Entries({'W': np.zeros((30, MANY // 30), 'f'), 'b': np.zeros(30, 'f')}))

    def load() -> None:
        with pytest.raises(SnapshotError, match=r'W: shape \(30, 50000\) in the snapshot, \(30, 5\) in the object'):
            file_format.load(tmp_path / 'file', links.Linear(5, 30))

    assert peak_of(load) < 1_000_000


@pytest.mark.parametrize('compression', [True, False])
def test_weights_that_are_no_bomb_are_loaded(file_format: Any, tmp_path: Path, compression: bool) -> None:
    """Random ones, half of them pruned; or zeros, where the file is as large as the array."""
    model = links.Linear(30_000, 10, initialW=None if compression else 0)
    model.W.array[:, ::2] = 0
    if compression or file_format.suffix == '.npz':
        file_format.save(tmp_path / 'file', model, compression)
    else:
        file_format.save(tmp_path / 'file', model, 0)
    loaded = links.Linear(None, 10)
    peak = peak_of(lambda: file_format.load(tmp_path / 'file', loaded))
    np.testing.assert_array_equal(loaded.W.array, model.W.array)
    assert peak < 4 * model.W.array.nbytes


def test_sizes_that_the_object_tells_need_no_allowance(file_format: Any, tmp_path: Path) -> None:
    """Zeros by the million, in parameters and in the states of their optimizer: the model has as many."""
    optimizer = optimizers.Adam().setup(links.Linear(MANY // 30, 30, initialW=0))
    for param in optimizer.target.params():
        param.cleargrad()
    optimizer.update()
    file_format.save(tmp_path / 'model', optimizer.target)
    file_format.save(tmp_path / 'optimizer', optimizer)
    assert (tmp_path / 'optimizer').stat().st_size < 400_000
    other = optimizers.Adam().setup(links.Linear(MANY // 30, 30))
    file_format.load(tmp_path / 'model', other.target)
    file_format.load(tmp_path / 'optimizer', other)
    assert other.target.W.update_rule.state['m'].shape == other.target.W.shape


def test_what_is_in_memory_already_is_not_limited() -> None:
    source = DictionarySerializer()
    source.save(links.Linear(MANY // 30, 30, initialW=0))
    model = links.Linear(None, 30)
    NpzDeserializer(source.target).load(model)
    assert model.W.shape == (30, MANY // 30)
    assert not np.shares_memory(model.W.array, source.target['W'])


def test_a_log_of_a_long_training_is_loaded(file_format: Any, tmp_path: Path) -> None:
    report = extensions.LogReport()
    report._log = [{'main/loss': i / 7, 'iteration': i} for i in range(3000)]
    file_format.save(tmp_path / 'file', report)
    other = extensions.LogReport()
    file_format.load(tmp_path / 'file', other)
    assert other.log == report.log


def test_hdf5_chunks_and_filters_are_looked_at(tmp_path: Path) -> None:
    h5py = pytest.importorskip('h5py')
    from minichainer.serializers import load_hdf5

    with h5py.File(tmp_path / 'chunk', 'w') as file:
        file.create_dataset('W', (30, 5), 'f', chunks=(30, MANY // 30), maxshape=(30, None), compression=4)[...] = 1
        file['b'] = np.zeros(30, 'f')
    with pytest.raises(SnapshotError, match=r'W \(a chunk\): 6000000 bytes in memory'):
        load_hdf5(tmp_path / 'chunk', links.Linear(5, 30))
    with h5py.File(tmp_path / 'twice', 'w') as file:
        plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        plist.set_chunk((30, 5))
        plist.set_deflate(4)
        plist.set_deflate(4)
        h5py.h5d.create(file.id, b'W', h5py.h5t.NATIVE_FLOAT, h5py.h5s.create_simple((30, 5)), plist)
        file['b'] = np.zeros(30, 'f')
    with pytest.raises(SnapshotError, match='W: this entry is damaged'):
        load_hdf5(tmp_path / 'twice', links.Linear(5, 30))


def test_an_archive_that_lies_about_sizes() -> None:
    """Zip tells how long an entry is: what it has beyond that is not unpacked, what it lacks is an error."""
    from minichainer.serializers import load_npz, save_npz

    file = io.BytesIO()
    save_npz(file, Entries({'W': np.zeros((30, MANY // 30), 'f'), 'b': np.zeros(30, 'f')}))
    data = file.getvalue().replace((128 + MANY * 4).to_bytes(4, 'little'), (128 + 600).to_bytes(4, 'little'))
    assert data != file.getvalue()

    def load() -> None:
        with pytest.raises(SnapshotError):
            load_npz(io.BytesIO(data), links.Linear(None, 30))

    assert peak_of(load) < 5_000_000
