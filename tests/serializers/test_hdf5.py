"""What is special to HDF5 files."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minichainer.link import Chain
from minichainer.links.connection.linear import Linear
from minichainer.serializer import DamagedSnapshotError, SnapshotError
from minichainer.serializers import HDF5Deserializer, HDF5Serializer, load_hdf5, save_hdf5

h5py = pytest.importorskip('h5py')


@pytest.fixture
def file(tmp_path: Path) -> Any:
    with h5py.File(tmp_path / 'file.h5', 'w') as opened:
        yield opened


@pytest.mark.parametrize('value', [3, 2.5, True, b'xx', np.float32(3), np.arange(2), np.zeros((0, 3))])
def test_values_become_datasets(file: Any, value: Any) -> None:
    assert HDF5Serializer(file)('key', value) is value
    np.testing.assert_array_equal(file['key'][()], value)
    assert file['key'].dtype == np.asarray(value).dtype


def test_none_becomes_an_empty_dataset(file: Any) -> None:
    HDF5Serializer(file)('key', None)
    assert (file['key'].shape, file['key'].dtype) == (None, np.float32)
    assert HDF5Deserializer(file)('key', 5) is None


@pytest.mark.parametrize('value', ['text', 'größe', np.array(['a', 'bb'])])
def test_text_comes_back(file: Any, value: Any) -> None:
    HDF5Serializer(file)('key', value)
    loaded = HDF5Deserializer(file)('key', value if isinstance(value, str) else None)
    np.testing.assert_array_equal(loaded, value)
    assert type(loaded) is type(value)


@pytest.mark.parametrize('level', [0, 4, 9])
def test_compression(file: Any, level: int) -> None:
    serializer = HDF5Serializer(file, compression=level)
    serializer['part']('array', np.zeros(100))
    serializer('scalar', 1.0)
    assert (file['part/array'].compression, file['part/array'].compression_opts) == ('gzip', level)
    assert file['scalar'].compression is None


def test_groups(file: Any) -> None:
    serializer = HDF5Serializer(file)
    serializer['/x/']('/a', 1)
    serializer['x']['y']('b', 2)
    deserializer = HDF5Deserializer(file)
    assert (deserializer['x']('a', 0), deserializer['/x/y/']('/b', 0)) == (1, 2)


def test_missing_groups_and_entries(file: Any) -> None:
    file.create_group('group')
    strict, lax = HDF5Deserializer(file), HDF5Deserializer(file, strict=False)
    with pytest.raises(ValueError, match='Inexistent group is specified: nothing/there/'):
        strict['nothing']['there']('key', 1)
    with pytest.raises(ValueError, match='Inexistent group is specified'):
        HDF5Deserializer(None)('key', 1)
    for key in ('key', 'group'):
        with pytest.raises(KeyError, match=f'{key} is not in the snapshot'):
            strict(key, 1)
        assert lax(key, 1) == 1
    assert lax['nothing']['there']('key', 1) == 1
    assert HDF5Deserializer(None, strict=False)('key', 1) == 1


def test_references_are_not_loaded(file: Any) -> None:
    file['target'] = 1
    file['key'] = file['target'].ref
    with pytest.raises(SnapshotError, match='key: contains Python objects or references'):
        HDF5Deserializer(file)('key', None)


def test_other_files_are_not_read(file: Any, tmp_path: Path) -> None:
    with h5py.File(tmp_path / 'secret.h5', 'w') as secret:
        secret['W'] = np.ones(3)
    (tmp_path / 'raw').write_bytes(b'\1' * 24)
    file['external'] = h5py.ExternalLink(str(tmp_path / 'secret.h5'), 'W')
    file.create_dataset('outside', (3,), 'f8', external=[(str(tmp_path / 'raw'), 0, 24)])
    layout = h5py.VirtualLayout((3,), 'f8')
    layout[:] = h5py.VirtualSource(str(tmp_path / 'secret.h5'), 'W', (3,))
    file.create_virtual_dataset('virtual', layout)
    for key in ('external', 'outside', 'virtual'):
        with pytest.raises(SnapshotError, match=f'{key}: in another file, which is not read'):
            HDF5Deserializer(file)(key, None)


def test_groups_that_contain_each_other_end(file: Any) -> None:
    group = file
    for _ in range(40):
        new = group.create_group('a')
        group['b'] = new
        group = new
    group['root'] = file['/']
    group['x'] = 1
    assert list(HDF5Deserializer(file).names()) == ['a/' * 40 + 'x']


def saved_file(tmp_path: Path) -> Path:
    path = tmp_path / 'model.h5'
    save_hdf5(path, Chain(a=Linear(300, 100, initialW=np.random.rand(100, 300)), z=Linear(40, 50)))
    return path


def test_files_carry_checksums(tmp_path: Path) -> None:
    with h5py.File(saved_file(tmp_path)) as opened:
        assert opened['a/W'].fletcher32 and opened['z/b'].fletcher32


@pytest.mark.parametrize(('name', 'others'), [('a/W', ['z/W', 'z/b']), ('z/b', ['a/W'])])
def test_damaged_entries_are_named(tmp_path: Path, name: str, others: list[str]) -> None:
    path = saved_file(tmp_path)
    with h5py.File(path) as opened:
        at = opened[name].id.get_chunk_info(0).byte_offset
    content = bytearray(path.read_bytes())
    content[at + 5] ^= 16
    path.write_bytes(content)
    with pytest.raises(DamagedSnapshotError, match=f'{name}: this entry of .* is damaged .wrong checksum') as caught:
        load_hdf5(path, Chain(a=Linear(300, 100), z=Linear(40, 50)))
    assert not any(f'{other}:' in str(caught.value) for other in others)


def test_a_file_changed_by_hdf5_is_loaded(tmp_path: Path) -> None:
    path = saved_file(tmp_path)
    with h5py.File(path, 'r+') as opened:
        opened['z/b'][0] = 7
    model = Chain(a=Linear(300, 100), z=Linear(40, 50))
    load_hdf5(path, model)
    assert model.z.b.array[0] == 7
    with h5py.File(path, 'r+') as opened:
        at = opened['z/b'].id.get_chunk_info(0).byte_offset
    content = bytearray(path.read_bytes())
    content[at + 2] ^= 16
    path.write_bytes(content)
    with pytest.raises(DamagedSnapshotError, match=r'z/b: this entry of .* is damaged'):  # by fletcher32
        load_hdf5(path, model)


def test_group_that_is_missing_as_a_whole(tmp_path: Path) -> None:
    save_hdf5(tmp_path / 'model.h5', Chain(a=Linear(1, 1)))
    with pytest.raises(SnapshotError, match=r'(?s)a/b: not in the Chain') as caught:
        load_hdf5(tmp_path / 'model.h5', Chain(z=Linear(1, 1)), strict='all')
    lines = [line.split(':')[0].strip() for line in str(caught.value).splitlines()[1:-1]]
    assert lines == ['z/W', 'z/b', 'a/W', 'a/b']


@pytest.mark.parametrize(
    'use',
    [
        lambda path: save_hdf5(path, Linear(1, 1)),
        lambda path: load_hdf5(path, Linear(1, 1)),
        lambda path: HDF5Serializer(None),
        lambda path: HDF5Deserializer(None),
    ],
)
def test_without_h5py(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, use: Any) -> None:
    monkeypatch.setitem(sys.modules, 'h5py', None)
    with pytest.raises(RuntimeError, match='HDF5 files need h5py, which is not installed'):
        use(tmp_path / 'model.h5')
    assert list(tmp_path.iterdir()) == []


def test_a_dict_of_arrays(tmp_path: Path) -> None:
    save_hdf5(tmp_path / 'a.h5', {'W': np.arange(3), '/l1/b': np.float32(2.5)})
    with h5py.File(tmp_path / 'a.h5') as file:
        assert file['W'][()].tolist() == [0, 1, 2] and file['l1/b'][()] == 2.5
