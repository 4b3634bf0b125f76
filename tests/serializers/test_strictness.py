"""How much must fit: files that have more than an object, or less; what is told about it; files that are closed."""

from __future__ import annotations

import io
import logging
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minichainer import optimizers
from minichainer.iterators import MultithreadIterator, SerialIterator
from minichainer.link import Chain
from minichainer.links.connection.linear import Linear
from minichainer.serializer import DamagedSnapshotError, MissingEntryError, SnapshotError
from minichainer.serializers import HDF5Deserializer, NpzDeserializer, load_npz, save_hdf5, save_npz
from minichainer.serializers._formats import load_any
from minichainer.serializers._npz_file import NpzFile
from minichainer.training import Trainer, extensions
from minichainer.training.updaters import StandardUpdater


def larger() -> Chain:
    return Chain(a=Linear(3, 2), head=Linear(2, 4))


@pytest.fixture
def told(monkeypatch: Any) -> list[str]:
    """What the serializers log."""
    texts: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: texts.append(f'{record.levelname}: {record.getMessage()}')
    logger = logging.getLogger('minichainer.serializers')
    monkeypatch.setattr(logger, 'handlers', [handler])
    monkeypatch.setattr(logger, 'propagate', False)
    return texts


# --- more entries than the object has ---


@pytest.mark.parametrize('strict', [True, False])
def test_a_file_may_have_more_than_the_link(file_format: Any, tmp_path: Path, told: list[str], strict: bool) -> None:
    source, target = larger(), Chain(a=Linear(3, 2))
    file_format.save(tmp_path / 'model', source)
    with warnings.catch_warnings():
        warnings.simplefilter('error')  # as python -W error
        file_format.load(tmp_path / 'model', target, strict=strict)
    np.testing.assert_array_equal(target.a.W.array, source.a.W.array)
    assert told == ['WARNING: loading Chain: 2 entries left in the snapshot: head/W, head/b']


def test_all_refuses_it(file_format: Any, tmp_path: Path, told: list[str]) -> None:
    file_format.save(tmp_path / 'model', larger())
    target = Chain(a=Linear(3, 2))
    before = target.a.W.array.copy()
    with pytest.raises(SnapshotError, match=r'(?s)which is unchanged.*head/W: not in the Chain.*head/b: not in'):
        file_format.load(tmp_path / 'model', target, strict='all')
    np.testing.assert_array_equal(target.a.W.array, before)
    assert not told


@pytest.mark.parametrize('strict', [True, False, 'all'])
def test_nothing_is_told_if_all_fits(file_format: Any, tmp_path: Path, told: list[str], strict: Any) -> None:
    file_format.save(tmp_path / 'model', larger())
    file_format.load(tmp_path / 'model', larger(), strict=strict)
    assert not told


@pytest.mark.parametrize('iterator', [SerialIterator, MultithreadIterator])
@pytest.mark.parametrize('shuffle', [True, False])
@pytest.mark.parametrize('strict', [True, False, 'all'])
def test_nothing_is_told_of_iterators(
    file_format: Any, tmp_path: Path, told: list[str], strict: Any, iterator: Any, shuffle: bool
) -> None:
    """Neither of entries that only an iterator has that could not read a mini-batch."""
    file_format.save(tmp_path / 'iterator', iterator(range(5), 2, shuffle=shuffle))
    file_format.load(tmp_path / 'iterator', iterator(range(5), 2, shuffle=shuffle), strict=strict)
    assert not told


def test_ignored_names_and_other_parts_are_not_counted(told: list[str]) -> None:
    file = io.BytesIO()
    save_npz(file, Chain(one=larger(), other=larger()))
    load_npz(file, Linear(3, 2), path='one/a/')
    load_npz(file, Chain(a=Linear(3, 2)), path='one/', ignore_names=lambda name: 'head' in name)
    assert not told
    load_npz(file, Chain(a=Linear(3, 2)), path='one/', ignore_names='one/head/b')
    assert told == ['WARNING: loading Chain: 1 entry left in the snapshot: one/head/W']


def test_long_lists_are_shortened(told: list[str]) -> None:
    file = io.BytesIO()
    save_npz(file, Chain(**{f'l{i:02}': Linear(1, 1) for i in range(10)}))
    load_npz(file, Chain())
    first = ', '.join(f'l{i:02}/{name}' for i in range(5) for name in 'Wb')
    assert told == [f'WARNING: loading Chain: 20 entries left in the snapshot: {first} and 10 more']


def test_values_that_the_file_lacks_are_told_if_that_is_allowed(
    file_format: Any, tmp_path: Path, told: list[str]
) -> None:
    file_format.save(tmp_path / 'model', Chain(a=Linear(3, 2)))
    file_format.load(tmp_path / 'model', larger(), strict=False)
    assert told == ['WARNING: loading Chain: 2 entries not in the snapshot, kept as before: head/W, head/b']
    with pytest.raises(MissingEntryError, match='head/W: missing'):
        file_format.load(tmp_path / 'model', larger())


def test_an_error_also_names_what_the_file_has_besides(file_format: Any, tmp_path: Path) -> None:
    file_format.save(tmp_path / 'model', Chain(a=Linear(3, 2), top=Linear(2, 4)))
    with pytest.raises(MissingEntryError, match=r'(?s)head/W: missing.*The snapshot also has: top/W, top/b'):
        file_format.load(tmp_path / 'model', larger())


class Counted:
    """Has a link whose entries stand beside its own, and asks for its own last."""

    def __init__(self) -> None:
        self.link, self.count = Linear(3, 2), 0

    def serialize(self, serializer: Any) -> None:
        load = getattr(serializer, 'load', self.link.serialize)
        load(self.link if load != self.link.serialize else serializer)
        self.count = serializer('count', self.count)


@pytest.mark.parametrize('strict', [True, False, 'all'])
def test_what_is_asked_for_later_is_not_left(file_format: Any, tmp_path: Path, told: list[str], strict: Any) -> None:
    source, target = Counted(), Counted()
    source.count = 7
    file_format.save(tmp_path / 'counted', source)
    file_format.load(tmp_path / 'counted', target, strict=strict)
    assert target.count == 7
    assert not told


@pytest.mark.parametrize('strict', ['ALL', 'every', '', 'True'])
def test_another_text_is_refused(file_format: Any, tmp_path: Path, strict: Any) -> None:
    file_format.save(tmp_path / 'model', larger())
    with pytest.raises(ValueError, match=f"strict must be True, False, 'all' or 'links', got '{strict}'"):
        file_format.load(tmp_path / 'model', larger(), strict=strict)
    with pytest.raises(ValueError, match='strict must be'):
        NpzDeserializer({}, strict=strict)


@pytest.mark.parametrize('strict', [1, 0, None, np.True_, np.False_])
def test_other_values_are_true_or_false(strict: Any) -> None:
    assert NpzDeserializer({}, strict=strict).strict is bool(strict)


def test_deserializers_without_a_file_of_their_own(told: list[str]) -> None:
    arrays = {'W': np.ones((2, 3), 'f'), 'b': np.ones(2, 'f'), 'extra': np.ones(1)}
    NpzDeserializer(arrays).load(Linear(3, 2))
    assert told == ['WARNING: loading Linear: 1 entry left in the snapshot: extra']
    with pytest.raises(SnapshotError, match='extra: not in the Linear'):
        NpzDeserializer(arrays, strict='all').load(Linear(3, 2))


def test_what_finds_its_file_itself_wants_all_to_fit(file_format: Any, tmp_path: Path) -> None:
    file_format.save(tmp_path / 'model', larger())
    with pytest.raises(SnapshotError, match='head/W: not in the Chain'):
        load_any(str(tmp_path / 'model'), Chain(a=Linear(3, 2)))


# --- optimizers and trainers ---


def trained(optimizer: Any) -> Any:
    model = Chain(a=Linear(3, 2))
    optimizer.setup(model)
    for param in model.params():
        param.grad = np.ones(param.shape, 'f')
    optimizer.update()
    return optimizer


def test_an_optimizer_that_keeps_less(file_format: Any, tmp_path: Path, told: list[str]) -> None:
    file_format.save(tmp_path / 'adam', trained(optimizers.Adam()))
    for strict in (True, False, 'links'):
        file_format.load(tmp_path / 'adam', trained(optimizers.SGD()), strict=strict)
        assert told == ['WARNING: loading SGD: 4 entries left in the snapshot: a/W/m, a/W/v, a/b/m, a/b/v']
        told.clear()
    sgd = trained(optimizers.SGD())
    with pytest.raises(SnapshotError, match=r'(?s)SGD, which is unchanged.*a/W/m: not in the SGD'):
        file_format.load(tmp_path / 'adam', sgd, strict='all')
    assert sgd.t == 1 and not told
    for target in (optimizers.Adam().setup(Chain(a=Linear(3, 2))), trained(optimizers.Adam())):
        file_format.load(tmp_path / 'adam', target, strict='all')
    assert not told


def trainer_with(out: Path, *added: Any, model: Chain | None = None) -> Trainer:
    optimizer = optimizers.Adam().setup(Chain(a=Linear(3, 2)) if model is None else model)
    trainer = Trainer(StandardUpdater(SerialIterator([1, 2], 1), optimizer), (1, 'epoch'), str(out))
    for extension in added:
        trainer.extend(extension)
    return trainer


def test_a_trainer_with_fewer_extensions(file_format: Any, tmp_path: Path, told: list[str]) -> None:
    source = trainer_with(tmp_path, extensions.LogReport(), extensions.ExponentialShift('alpha', 0.5))
    file_format.save(tmp_path / 'all', source)
    file_format.load(tmp_path / 'all', trainer_with(tmp_path, extensions.LogReport()))
    assert len(told) == 1
    assert (
        'loading Trainer: ' in told[0]
        and '4 entries left in the snapshot' in told[0]
        and 'extensions/ExponentialShift/_t' in told[0]
    )
    load_any(str(tmp_path / 'all'), trainer_with(tmp_path, extensions.LogReport()))
    assert len(told) == 2
    with pytest.raises(SnapshotError, match=r'ExponentialShift/.*: not in the Trainer'):
        file_format.load(tmp_path / 'all', trainer_with(tmp_path, extensions.LogReport()), strict='all')
    same = trainer_with(tmp_path, extensions.LogReport(), extensions.ExponentialShift('alpha', 0.5))
    file_format.load(tmp_path / 'all', same, strict='all')
    assert len(told) == 2


@pytest.mark.parametrize('strict', ['all', 'links'])
def test_a_trainer_with_a_smaller_model(file_format: Any, tmp_path: Path, strict: Any) -> None:
    file_format.save(tmp_path / 'all', trainer_with(tmp_path, model=larger()))
    with pytest.raises(SnapshotError, match='model:main/head/W: not in the Chain'):
        file_format.load(tmp_path / 'all', trainer_with(tmp_path), strict=strict)


# --- two members of one name ---


def archive(*names: str) -> io.BytesIO:
    file = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(file, 'w') as opened:
        warnings.simplefilter('ignore', UserWarning)  # what zipfile says of names that it writes twice
        for i, name in enumerate(names):
            content = io.BytesIO()
            np.save(content, np.full((2, 3) if 'W' in name else 2, i, np.float32))
            opened.writestr(name, content.getvalue())
    file.seek(0)
    return file


@pytest.mark.parametrize('names', [('W.npy', 'W.npy', 'b.npy'), ('W.npy', 'b.npy', 'W'), ('W', 'W', 'W', 'b')])
@pytest.mark.parametrize('strict', [True, False, 'all'])
def test_two_entries_of_one_name_are_damage(names: tuple[str, ...], strict: Any) -> None:
    model = Linear(3, 2)
    before = model.W.array.copy()
    with pytest.raises(DamagedSnapshotError, match=r'W: this entry .* two entries of this name') as caught:
        load_npz(archive(*names), model, strict=strict)
    assert str(caught.value).count('W: this entry') == 1
    np.testing.assert_array_equal(model.W.array, before)


def test_they_are_found_by_single_calls_and_where_nobody_asks() -> None:
    file = archive('W.npy', 'b.npy', 'extra.npy', 'extra.npy')
    with pytest.raises(DamagedSnapshotError, match='extra: this entry'):
        load_npz(file, Linear(3, 2))
    load_npz(file, Linear(3, 2), ignore_names='extra')
    with pytest.raises(DamagedSnapshotError, match='two entries'):
        NpzDeserializer(NpzFile(file))('extra', None)


# --- files that nobody else holds, or that are closed ---


@pytest.mark.parametrize('part', [False, True])
def test_deserializer_holds_the_file(tmp_path: Path, part: bool) -> None:
    source, target = larger(), larger()
    save_npz(tmp_path / 'model.npz', source)
    deserializer = NpzDeserializer(np.load(tmp_path / 'model.npz'))
    if part:
        deserializer['head'].load(target.head)
    else:
        deserializer.load(target)
    np.testing.assert_array_equal(target.head.W.array, source.head.W.array)


def test_hdf5_deserializer_holds_the_file(tmp_path: Path) -> None:
    h5py = pytest.importorskip('h5py', reason='HDF5 files need h5py')
    source, target = larger(), larger()
    save_hdf5(tmp_path / 'model.h5', source)
    HDF5Deserializer(h5py.File(tmp_path / 'model.h5', 'r')['head']).load(target.head)
    np.testing.assert_array_equal(target.head.W.array, source.head.W.array)


USES = [lambda d: d.load(Chain(a=Linear(3, 2))), lambda d: d['a']('W', None), lambda d: d('a/W', None)]


@pytest.mark.parametrize('use', USES)
def test_a_closed_file_is_not_called_damaged(file_format: Any, tmp_path: Path, use: Any) -> None:
    path = tmp_path / f'model{file_format.suffix}'
    file_format.save(path, larger())
    if file_format.suffix == '.npz':
        opened, kind = np.load(path), NpzDeserializer
    else:
        opened, kind = pytest.importorskip('h5py').File(path, 'r'), HDF5Deserializer
    with opened:
        deserializer = kind(opened)
    with pytest.raises(ValueError, match=r'is closed: load within the with block') as caught:
        use(deserializer)
    assert not isinstance(caught.value, SnapshotError)
    with pytest.raises(ValueError, match=r'is closed: load within the with block'):
        kind(opened)
