"""Saving and loading models in both formats: values, errors that name everything, files that are never half."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minichainer.initializers.constant import Constant
from minichainer.link import Chain, ChainList, Link
from minichainer.links.connection.linear import Linear
from minichainer.serializer import DamagedSnapshotError, EntryTypeError, MissingEntryError, SnapshotError
from minichainer.serializers import load_npz, save_npz
from minichainer.serializers._deserializer import EntryDeserializer
from minichainer.variable import Parameter


class Model(Chain):
    """Parameters of several dtypes, one of unknown shape, persistents of several kinds."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        rng = np.random.default_rng(seed)
        with self.init_scope():
            self.l1 = Linear(3, 2, initialW=rng.standard_normal((2, 3)))
            self.late = Linear(None, 2)
            self.layers = ChainList(Linear(2, 2, initialW=rng.standard_normal((2, 2)), nobias=True))
            self.half = Parameter(rng.standard_normal(4).astype(np.float16))
            self.scalar = Parameter(np.array(rng.standard_normal()))
            self.empty = Parameter(np.zeros((0, 3), np.float32))
        self.add_persistent('steps', seed)
        self.add_persistent('rate', seed / 2)
        self.add_persistent('flag', seed > 1)
        self.add_persistent('mean', rng.standard_normal((2, 2)))
        self.add_persistent('text', f'größe {seed}')
        self.add_persistent('nothing', None)


def state(link: Link) -> dict[str, Any]:
    """All that belongs to a link, as copies."""
    found = {path: None if p.array is None else p.array.copy() for path, p in link.namedparams()}
    for path, part in link.namedlinks():
        for name in part._persistent:
            value = getattr(part, name)
            found[f'{path}/{name}'] = value.copy() if isinstance(value, np.ndarray) else value
    return found


def assert_same(found: dict[str, Any], expected: dict[str, Any]) -> None:
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        assert type(found[name]) is type(value), name
        np.testing.assert_array_equal(found[name], value, err_msg=name)


def test_all_values_come_back(file_format: Any, tmp_path: Path) -> None:
    file = tmp_path / 'model'
    saved, loaded = Model(1), Model(2)
    file_format.save(file, saved)
    arrays = {path: param.array for path, param in loaded.namedparams()}
    file_format.load(file, loaded)
    assert_same(state(loaded), state(saved))
    assert all(param.array is arrays[path] for path, param in loaded.namedparams())


def test_unknown_shapes_come_from_the_file(file_format: Any, tmp_path: Path) -> None:
    saved, loaded = Linear(3, 2), Linear(None, 2)
    file_format.save(tmp_path / 'model', saved)
    file_format.load(tmp_path / 'model', loaded)
    np.testing.assert_array_equal(loaded.W.array, saved.W.array)
    assert not np.shares_memory(loaded.W.array, saved.W.array)


def test_parameter_without_values_in_the_file_stays(file_format: Any, tmp_path: Path) -> None:
    file_format.save(tmp_path / 'model', Linear(None, 2))
    model = Linear(3, 2)
    before = model.W.array.copy()
    file_format.load(tmp_path / 'model', model)
    np.testing.assert_array_equal(model.W.array, before)


def test_dtypes_convert_within_their_kind(file_format: Any, tmp_path: Path) -> None:
    file_format.save(tmp_path / 'model', Linear(3, 2, initialW=np.full((2, 3), 0.1)))
    model = Chain(l=Linear(3, 2)).l
    model.W.array = np.zeros((2, 3), np.float16)
    file_format.load(tmp_path / 'model', model)
    np.testing.assert_array_equal(model.W.array, np.full((2, 3), 0.1, np.float16))


def misfitting() -> Chain:
    """Lacks l1/b and late, has extra, and l1/W and mean of other shapes or dtypes."""
    model = Model(3)
    del model.l1.b, model.late
    model.l1.W.array = np.zeros((2, 4), np.float32)
    model.mean = np.zeros((2, 2), np.int64)
    model.rate = 3
    model.add_link('extra', Linear(1, 1))
    model.add_persistent('more', 5)
    return model


EXPECTED = [
    'extra/W: missing in the snapshot (expected float32 (1, 1))',
    'extra/b: missing in the snapshot (expected float32 (1,))',
    'l1/W: shape (2, 3) in the snapshot, (2, 4) in the object',
    'l1/b: not in the Model',
    'late/W: not in the Model',
    'late/b: not in the Model',
    'mean: dtype float64 in the snapshot cannot become int64',
    'more: missing in the snapshot (expected int)',
    "rate: cannot safely deserialize from numpy array with dtype=float64 into a variable of type <class 'int'>",
]


def test_every_entry_that_does_not_fit_is_named_and_the_model_stays(file_format: Any, tmp_path: Path) -> None:
    file_format.save(tmp_path / 'model', Model(1))
    model = misfitting()
    before = state(model)
    with pytest.raises(SnapshotError, match='does not fit the Model, which is unchanged') as caught:
        file_format.load(tmp_path / 'model', model, strict='all')
    entries = [line.strip() for line in str(caught.value).splitlines()[1:-1]]
    assert sorted(entries) == EXPECTED
    assert_same(state(model), before)


@pytest.mark.parametrize('error', [KeyError, ValueError])
def test_misfits_are_the_errors_of_chainer(file_format: Any, tmp_path: Path, error: type[Exception]) -> None:
    file_format.save(tmp_path / 'model', Linear(3, 2, nobias=True))
    with pytest.raises(error, match='b: missing in the snapshot'):
        file_format.load(tmp_path / 'model', Linear(3, 2))


def test_read_only_parameter_is_found_before_anything_is_written(file_format: Any, tmp_path: Path) -> None:
    file_format.save(tmp_path / 'model', Model(1))
    model = Model(2)
    model.scalar.array.flags.writeable = False
    before = state(model)
    with pytest.raises(SnapshotError, match='scalar: the array of the object is read-only'):
        file_format.load(tmp_path / 'model', model)
    assert_same(state(model), before)


class WithOwnSerialize(Link):
    """Cannot do with a value given back as it is, so that only loading itself can tell whether it fits."""

    def __init__(self) -> None:
        super().__init__()
        self.entries = [1.0, 2.0]
        with self.init_scope():
            self.w = Parameter(Constant(1), 2)

    def serialize(self, serializer: Any) -> None:
        super().serialize(serializer)
        saving = hasattr(serializer, 'save')
        entries = serializer('entries', np.array(self.entries) if saving else None)
        self.entries = list(entries)


def test_link_with_its_own_serialize(file_format: Any, tmp_path: Path) -> None:
    saved, loaded = WithOwnSerialize(), WithOwnSerialize()
    saved.entries = [3.0, 4.0, 5.0]
    file_format.save(tmp_path / 'model', Chain(part=saved))
    file_format.load(tmp_path / 'model', Chain(part=loaded))
    assert loaded.entries == [3, 4, 5]


class Careless(Link):
    """Takes over what it is given, also in the rehearsal before loading."""

    def __init__(self) -> None:
        super().__init__()
        self.table = np.arange(3)

    def serialize(self, serializer: Any) -> None:
        self.table = serializer('table', self.table if hasattr(serializer, 'save') else None)


def test_rehearsal_leaves_no_traces_in_links_with_their_own_serialize(file_format: Any, tmp_path: Path) -> None:
    file_format.save(tmp_path / 'model', Chain(a=Careless(), b=Linear(2, 2)))
    model = Chain(a=Careless(), b=Linear(3, 2))
    table = model.a.table
    with pytest.raises(SnapshotError, match='b/W: shape'):
        file_format.load(tmp_path / 'model', model)
    assert model.a.table is table


def test_objects_that_are_no_links(file_format: Any, tmp_path: Path) -> None:
    class Counter:
        def __init__(self, count: int) -> None:
            self.count = count
            self.history = np.arange(count)

        def serialize(self, serializer: Any) -> None:
            self.count = serializer('count', self.count)
            self.history = serializer('history', self.history)

    file_format.save(tmp_path / 'counter', Counter(3))
    loaded = Counter(3)
    loaded.history = None  # type: ignore[assignment]
    file_format.load(tmp_path / 'counter', loaded)
    assert loaded.count == 3
    np.testing.assert_array_equal(loaded.history, [0, 1, 2])
    with pytest.raises(SnapshotError, match=r'history: shape \(3,\) in the snapshot, \(2,\) in the object'):
        file_format.load(tmp_path / 'counter', Counter(2))


# --- all or nothing ---


class Log:
    """Takes over its values before it finds out that there is something wrong."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.count, self.table, self.items, self.error = 0, np.zeros(3), [1, 2], error

    def serialize(self, serializer: Any) -> None:
        self.count = serializer('count', self.count)
        self.table = serializer('table', self.table)
        self.items = serializer('items', self.items)
        if self.error is not None and isinstance(serializer, EntryDeserializer):
            raise self.error


@pytest.mark.parametrize(
    ('error', 'expected', 'match'),
    [
        (ValueError('no good'), SnapshotError, 'items: no good'),
        (KeyError('lost'), SnapshotError, 'items: '),
        (TypeError('strange'), EntryTypeError, 'items: strange'),
        (RuntimeError('mine'), RuntimeError, 'mine'),
        (KeyboardInterrupt(), KeyboardInterrupt, '^$'),
    ],
)
def test_object_whose_serialize_fails_is_unchanged(
    file_format: Any, tmp_path: Path, error: BaseException, expected: type[BaseException], match: str
) -> None:
    other = Log()
    other.count, other.table, other.items = 5, np.ones(3), [3, 4]
    file_format.save(tmp_path / 'log', other)
    log = Log(error)
    table, items = log.table, log.items
    with pytest.raises(expected, match=match):
        file_format.load(tmp_path / 'log', log)
    assert log.count == 0 and log.table is table and not table.any() and log.items is items
    log.error = None
    file_format.load(tmp_path / 'log', log)
    assert log.count == 5 and log.table is table and table.all() and log.items == [3, 4]


def test_parameters_of_unknown_shape_stay_so_after_an_error(file_format: Any, tmp_path: Path) -> None:
    file_format.save(tmp_path / 'model', Chain(a=Linear(3, 2), b=Linear(4, 5)))
    model = Chain(a=Linear(None, 2), b=Linear(9, 9))
    copied = model.a.copy()
    with pytest.raises(SnapshotError, match='b/W: shape'):
        file_format.load(tmp_path / 'model', model)
    assert model.a.W.array is None and copied.W.array is None
    model.a(np.zeros((1, 7), np.float32))
    assert model.a.W.shape == (2, 7)


@pytest.mark.parametrize('strict', [True, False])
def test_absence_and_damage(tmp_path: Path, strict: bool) -> None:
    file = tmp_path / 'model'
    save_npz(file, Linear(40, 20, nobias=True), compression=False)
    model = Linear(40, 20)
    if strict:
        with pytest.raises(MissingEntryError, match='b: missing in the snapshot'):
            load_npz(file, model, strict=strict)
    else:
        load_npz(file, model, strict=strict)
    content = bytearray(file.read_bytes())
    content[1000] ^= 1
    file.write_bytes(content)
    with pytest.raises(DamagedSnapshotError, match='W: this entry') as caught:
        load_npz(file, model, strict=strict)
    assert not isinstance(caught.value, KeyError)
    load_npz(file, model, strict=False, ignore_names='W')  # what is intact can be had


@pytest.mark.parametrize('damage', ['values', 'name in the table of contents'])
def test_damage_is_no_absence_even_if_nobody_asks_for_the_entry(tmp_path: Path, damage: str) -> None:
    file = tmp_path / 'model'
    save_npz(file, Chain(a=Linear(40, 20), z=Linear(40, 20)), compression=False)
    content = bytearray(file.read_bytes())
    if damage == 'values':
        content[content.index(b'z/W.npy') + 1000] ^= 1
        model = Chain(a=Linear(40, 20))
    else:
        content[content.rindex(b'z/W.npy') + 2] ^= 1
        model = Chain(a=Linear(40, 20), z=Linear(40, 20))
    file.write_bytes(content)
    before = state(model)
    with pytest.raises(DamagedSnapshotError, match=r'z/[WV]: this entry of .* is damaged'):
        load_npz(file, model, strict=False)
    assert_same(state(model), before)


# --- files ---


def test_name_is_taken_as_it_is(file_format: Any, tmp_path: Path) -> None:
    file_format.save(str(tmp_path / 'no_suffix'), Linear(1, 1))
    assert os.listdir(tmp_path) == ['no_suffix']


def test_missing_file(file_format: Any, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        file_format.load(tmp_path / 'nothing', Linear(1, 1))


def test_missing_folder(file_format: Any, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r'cannot save model, nothing was written.*nowhere'):
        file_format.save(tmp_path / 'nowhere' / 'model', Linear(1, 1))


@pytest.mark.skipif(sys.platform == 'win32', reason='folders have no such permissions')
def test_read_only_folder(file_format: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / 'out'
    folder.mkdir()
    file_format.save(folder / 'model', Linear(1, 1))
    before = (folder / 'model').read_bytes()
    if os.geteuid() == 0:  # whom permissions do not stop
        monkeypatch.setattr(os, 'open', _refused)
    folder.chmod(0o555)
    try:
        with pytest.raises(PermissionError, match='cannot save model, nothing was written: Permission denied'):
            file_format.save(folder / 'model', Linear(2, 2))
    finally:
        folder.chmod(0o755)
    assert os.listdir(folder) == ['model']
    assert (folder / 'model').read_bytes() == before


def _refused(path: str, *_: Any) -> int:
    raise PermissionError(13, 'Permission denied', path)


class Interrupted(Linear):
    """Fails in the middle of being saved."""

    def serialize(self, serializer: Any) -> None:
        super().serialize(serializer)
        raise KeyboardInterrupt


def test_interrupted_saving_leaves_the_old_file(file_format: Any, tmp_path: Path) -> None:
    file_format.save(tmp_path / 'model', Linear(1, 1))
    before = (tmp_path / 'model').read_bytes()
    with pytest.raises(KeyboardInterrupt):
        file_format.save(tmp_path / 'model', Interrupted(1, 1))
    assert os.listdir(tmp_path) == ['model']
    assert (tmp_path / 'model').read_bytes() == before


def test_failing_disk_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from minichainer.serializers import npz

    def fails(file: str, *_: Any) -> None:
        Path(file).write_bytes(b'half')
        raise OSError(28, 'No space left on device')

    npz.save_npz(tmp_path / 'model', Linear(1, 1))
    before = (tmp_path / 'model').read_bytes()
    monkeypatch.setattr(npz, 'write_npz', fails)
    with pytest.raises(OSError, match='No space left'):
        npz.save_npz(tmp_path / 'model', Linear(2, 2))
    assert os.listdir(tmp_path) == ['model']
    assert (tmp_path / 'model').read_bytes() == before


@pytest.mark.skipif(not os.path.exists('/dev/full'), reason='needs the device that is always full')
def test_full_device_is_named(file_format: Any) -> None:
    with pytest.raises(OSError, match='cannot save full, nothing was written: No space left') as caught:
        file_format.save('/dev/full', Linear(100, 100))
    assert (caught.value.errno, caught.value.filename) == (errno.ENOSPC, '/dev/full')


def test_value_that_cannot_be_saved_leaves_no_file(file_format: Any, tmp_path: Path) -> None:
    model = Linear(1, 1)
    model.add_persistent('table', {'a': 1})
    with pytest.raises(TypeError, match="cannot save table, an object of <class 'dict'>"):
        file_format.save(tmp_path / 'model', model)
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(sys.platform == 'win32', reason='links and modes are those of POSIX')
def test_links_and_modes_of_files_are_kept(file_format: Any, tmp_path: Path) -> None:
    real, link = tmp_path / 'real', tmp_path / 'link'
    file_format.save(real, Linear(1, 1))
    real.chmod(0o640)
    link.symlink_to(real)
    file_format.save(link, Linear(2, 2))
    assert link.is_symlink()
    assert real.stat().st_mode & 0o777 == 0o640
    model = Linear(2, 2)
    file_format.load(real, model)


@pytest.mark.parametrize('damage', ['empty', 'text', 'half', 'without end'])
def test_damaged_file(file_format: Any, tmp_path: Path, damage: str) -> None:
    file = tmp_path / 'model'
    file_format.save(file, Model(1))
    whole = file.read_bytes()
    pieces = {'empty': b'', 'text': b'no snapshot', 'half': whole[: len(whole) // 2], 'without end': whole[:-30]}
    file.write_bytes(pieces[damage])
    model = Model(2)
    before = state(model)
    with pytest.raises(SnapshotError, match=r'cut short.*nothing was loaded'):
        file_format.load(file, model)
    assert_same(state(model), before)
