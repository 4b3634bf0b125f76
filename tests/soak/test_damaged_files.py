"""A damaged file gives the right values, or SnapshotError and an unchanged object; never anything else."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minichainer.serializer import SnapshotError
from minichainer.serializers import load_npz, save_npz
from tests.soak.damage import DAMAGES, FORMATS, MAKERS, check_loading, same, state_of

PER_CASE = 96  # 6 kinds of objects in 4 formats: 2 304 files


def skip_without_h5py(file_format: str) -> None:
    if file_format == 'hdf5':
        pytest.importorskip('h5py', reason='HDF5 files need h5py')


@pytest.mark.parametrize('file_format', FORMATS)
@pytest.mark.parametrize('kind', ['lazy link', 'new optimizer', 'trainer'])
def test_some_damaged_files(kind: str, file_format: str, tmp_path: Path) -> None:
    skip_without_h5py(file_format)
    outcomes = check_loading(kind, file_format, tmp_path, range(2 * len(DAMAGES)))
    assert outcomes['refused'] > len(DAMAGES)


@pytest.mark.slow
@pytest.mark.parametrize('file_format', FORMATS)
@pytest.mark.parametrize('kind', MAKERS)
def test_many_damaged_files(kind: str, file_format: str, tmp_path: Path) -> None:
    skip_without_h5py(file_format)
    outcomes = check_loading(kind, file_format, tmp_path, range(1000, 1000 + PER_CASE))
    assert outcomes['refused'] > PER_CASE // 2


# --- files whose checksums are right, with wrong entries ---


def npy(array: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, array, allow_pickle=True)
    return file.getvalue()


def other_shape(array: Any) -> Any:
    return np.zeros((2, 3, 5), 'f' if array.dtype.kind == 'U' else array.dtype)


WRONG: dict[str, Callable[[Any], bytes]] = {
    'no array': lambda array: b'garbage',
    'cut short': lambda array: npy(array)[:-1],
    'objects': lambda array: npy(np.asarray([None, 3], object)),
    'text': lambda array: npy(np.asarray('garbage')),
    'shape': lambda array: npy(other_shape(array)),
}


@pytest.mark.parametrize('wrong', WRONG)
def test_each_wrong_entry_of_a_trainer_is_named(wrong: str, tmp_path: Path) -> None:
    save_npz(tmp_path / 'file', MAKERS['trainer'](1, tmp_path))
    with np.load(tmp_path / 'file') as npz:
        contents = {name: npy(array) for name, array in npz.items()}
        entries = dict(npz)
    target = MAKERS['new trainer'](2, tmp_path)
    before = state_of(target)
    for name, array in entries.items():
        if name.endswith('/text') and wrong in ('text', 'shape'):
            continue  # is a text
        file = io.BytesIO()
        with zipfile.ZipFile(file, 'w') as archive:
            for key, content in contents.items():
                archive.writestr(key + '.npy', WRONG[wrong](array) if key == name else content)
        with pytest.raises(SnapshotError, match=name) as caught:
            load_npz(file, target)
        assert not isinstance(caught.value, KeyError)
        assert same(state_of(target), before), name


def test_a_count_that_is_none_is_named(tmp_path: Path) -> None:
    """None stands for a value that there was not yet, so most entries may be that; counts are always there."""
    save_npz(tmp_path / 'file', MAKERS['trainer'](1, tmp_path))
    entries = dict(np.load(tmp_path / 'file'))
    counts = [name for name in entries if name.startswith('updater/optimizer') and name.endswith(('/t', '/epoch'))]
    assert len(counts) > 5
    for name in counts:
        np.savez(tmp_path / 'damaged.npz', **{**entries, name: np.array(None)})
        with pytest.raises(SnapshotError, match=f'{name}: .* not .NoneType'):
            load_npz(tmp_path / 'damaged.npz', MAKERS['new trainer'](2, tmp_path))
