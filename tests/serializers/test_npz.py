"""What is special to ``.npz`` files: parts of them, file objects, damage, and files made to do harm."""

from __future__ import annotations

import io
import os
import pickle
import struct
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minichainer.link import Chain, Link
from minichainer.links.connection.linear import Linear
from minichainer.serializer import SnapshotError
from minichainer.serializers import DictionarySerializer, NpzDeserializer, load_npz, save_npz
from minichainer.serializers._npz_file import is_pickled_none
from minichainer.variable import Parameter


def saved(obj: Any, **kwargs: Any) -> io.BytesIO:
    file = io.BytesIO()
    save_npz(file, obj, **kwargs)
    file.seek(0)
    return file


def with_members(**members: bytes) -> io.BytesIO:
    """An ``.npz`` file of the given bytes, for what no serializer writes."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, 'w') as archive:
        for name, content in members.items():
            archive.writestr(f'{name}.npy', content)
    file.seek(0)
    return file


def npy(array: Any, **kwargs: Any) -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array(file, np.asanyarray(array), **kwargs)
    return file.getvalue()


W, B = np.ones((2, 3), np.float32), np.zeros(2, np.float32)


@pytest.mark.parametrize('compression', [False, True])
def test_numpy_reads_what_is_saved(compression: bool) -> None:
    model = Chain(l1=Linear(3, 2), file=Linear(2, 1, nobias=True))
    with np.load(saved(model, compression=compression)) as loaded:
        assert sorted(loaded.files) == ['file/W', 'l1/W', 'l1/b']
        np.testing.assert_array_equal(loaded['l1/W'], model.l1.W.array)
        kinds = {info.compress_type for info in loaded.zip.infolist()}
    assert kinds == {zipfile.ZIP_DEFLATED if compression else zipfile.ZIP_STORED}


def test_numpy_reads_the_none_of_an_uninitialized_parameter() -> None:
    with np.load(saved(Linear(None, 2)), allow_pickle=True) as loaded:
        assert (loaded['W'].dtype, loaded['W'].shape, loaded['W'][()]) == (np.dtype(object), (), None)


def test_same_model_gives_the_same_bytes() -> None:
    model = Chain(a=Linear(3, 2), late=Linear(None, 2))
    assert saved(model).getvalue() == saved(model).getvalue()


@pytest.mark.parametrize('array', [np.asfortranarray(W), W[:, ::-1], W[:, :1], np.broadcast_to(B, (3, 2))])
def test_layout_in_memory_does_not_matter(array: Any) -> None:
    source, target = Chain(), Chain()
    for chain in (source, target):
        chain.add_persistent('value', array)
    target.value = np.full(array.shape, 9, np.float32)
    load_npz(saved(source), target)
    np.testing.assert_array_equal(target.value, array)


def test_part_of_a_file() -> None:
    model, part = Chain(l1=Linear(3, 2), l2=Linear(2, 1)), Linear(3, 2)
    load_npz(saved(model), part, path='l1/')
    np.testing.assert_array_equal(part.W.array, model.l1.W.array)
    with pytest.raises(SnapshotError, match=r'(?s)nowhere/W: missing.*nowhere/b: missing.*path names the part'):
        load_npz(saved(model), part, path='nowhere/')


def test_not_strict_takes_what_fits() -> None:
    source, target = Chain(a=Linear(1, 1), b=Linear(2, 2)), Chain(b=Linear(2, 2), c=Linear(1, 1))
    load_npz(saved(source), target, strict=False)
    np.testing.assert_array_equal(target.b.W.array, source.b.W.array)
    with pytest.raises(SnapshotError, match=r'b/W: shape \(2, 2\)'):
        load_npz(saved(source), Chain(b=Linear(3, 2)), strict=False)


@pytest.mark.parametrize(('dtype', 'largest'), [(np.float16, 65519.99), (np.float32, 3.4028235677e38)])
def test_numbers_that_become_infinite_are_named(dtype: Any, largest: float) -> None:
    wide, link = Link(), Link()
    with wide.init_scope(), link.init_scope():
        wide.w, link.w = Parameter(np.array([1, 1e300, np.inf, -1e300])), Parameter(np.ones(4, dtype))
        wide.b, link.b = Parameter(np.array([1, largest])), Parameter(np.ones(2, dtype))
    with pytest.warns(RuntimeWarning, match=f'^w: 2 of 4 numbers .* too large for {np.dtype(dtype)}') as caught:
        load_npz(saved(wide), link)
    assert len(caught) == 1
    np.testing.assert_array_equal(link.w.array, [1, np.inf, np.inf, -np.inf])


def test_ignored_names_may_be_missing_additional_or_misfitting() -> None:
    source, target = Chain(a=Linear(1, 1), b=Linear(2, 2)), Chain(b=Linear(3, 2), c=Linear(1, 1))
    before = target.b.W.array.copy()
    load_npz(saved(source), target, ignore_names=[lambda name: name[0] in 'ac', 'b/W'])
    np.testing.assert_array_equal(target.b.W.array, before)
    np.testing.assert_array_equal(target.b.b.array, source.b.b.array)


@pytest.mark.parametrize('allow_pickle', [False, True])
def test_deserializer_takes_what_numpy_loads(allow_pickle: bool) -> None:
    source, target = Chain(a=Linear(1, 1), b=Linear(None, 2)), Chain(a=Linear(1, 1), b=Linear(None, 2))
    with np.load(saved(source), allow_pickle=allow_pickle) as npz:
        NpzDeserializer(npz).load(target)
    np.testing.assert_array_equal(target.a.W.array, source.a.W.array)
    assert target.b.W.array is None


# --- damage ---


def test_flipped_bit_is_found_before_anything_is_written() -> None:
    model = Chain(a=Linear(100, 50), z=Linear(100, 50))
    content = bytearray(saved(model, compression=False).getvalue())
    at = content.index(model.z.W.array.tobytes())
    content[at + 15000] ^= 1  # far from the header, so that it shows only when the values are read
    target = Chain(a=Linear(100, 50), z=Linear(100, 50))
    before = target.a.W.array.copy()
    with pytest.raises(SnapshotError, match=r'z/W: this entry of .* is damaged \(Bad CRC-32'):
        load_npz(io.BytesIO(bytes(content)), target)
    np.testing.assert_array_equal(target.a.W.array, before)


@pytest.mark.parametrize(
    ('content', 'message'),
    [
        (b'', 'W: this entry .* is damaged'),
        (b'not npy', 'W: this entry .* is damaged'),
        (npy(W)[:-1], 'bytes cannot be float32'),
        (npy(W) + b'x', 'bytes cannot be float32'),
        (npy(W).replace(b'(2, 3)', b'(-2, -3)'.ljust(6)), 'is damaged'),
        (npy(W).replace(b"'<f4'", b"'<x4'"), 'is damaged'),
        (npy(W)[:6] + b'\x09\x00' + npy(W)[8:], 'is damaged'),
    ],
)
def test_damaged_entry(content: bytes, message: str) -> None:
    model = Linear(3, 2)
    before = model.W.array.copy()
    with pytest.raises(SnapshotError, match=message):
        load_npz(with_members(W=content, b=npy(B)), model)
    np.testing.assert_array_equal(model.W.array, before)


def test_header_that_promises_too_much_gets_no_memory() -> None:
    huge = io.BytesIO()
    header = {'descr': '<f4', 'fortran_order': False, 'shape': (1 << 40, 1 << 20)}
    np.lib.format.write_array_header_1_0(huge, header)
    with pytest.raises(SnapshotError, match=r'W: this entry .* is damaged'):
        load_npz(with_members(W=huge.getvalue(), b=npy(B)), Linear(None, 2))


# --- files made to do harm ---


class Harm:
    """A pickle that runs a command when it is loaded."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.marker),)


def object_array(*entries: Any, shape: Any = None) -> Any:
    array = np.empty(len(entries), object)
    array[:] = entries
    return array.reshape(shape if shape is not None else (len(entries),))


def hostile_arrays(marker: Path) -> list[Any]:
    harm = Harm(marker)
    return [
        object_array(harm, shape=()),
        object_array(harm),
        object_array(None, harm),
        object_array([None, harm], shape=()),
        np.array([(harm, 1)], dtype=[('a', object), ('b', int)]),
    ]


@pytest.mark.parametrize('index', range(5))
@pytest.mark.parametrize('name', ['W', 'extra'])
def test_pickles_are_never_run(tmp_path: Path, index: int, name: str) -> None:
    marker = tmp_path / 'harm'
    hostile = npy(hostile_arrays(marker)[index], allow_pickle=True)
    members = {'W': npy(W), 'b': npy(B), name: hostile}
    model = Linear(3, 2)
    before = model.W.array.copy()
    reason = 'W: contains Python objects.*any code' if name == 'W' else 'extra: not in'
    with pytest.raises(SnapshotError, match=reason):
        load_npz(with_members(**members), model, strict='all')
    if name == 'extra':
        load_npz(with_members(W=npy(before), b=npy(B), extra=hostile), model)
    assert not marker.exists()
    np.testing.assert_array_equal(model.W.array, before)


def test_pickle_in_what_is_no_link_is_not_run_either(tmp_path: Path) -> None:
    class Thing:
        def serialize(self, serializer: Any) -> None:
            self.value = serializer('value', None)

    marker = tmp_path / 'harm'
    hostile = npy(object_array(Harm(marker), shape=()), allow_pickle=True)
    for strict in (True, False):
        with pytest.raises(SnapshotError, match='value: contains Python objects'):
            load_npz(with_members(value=hostile), Thing(), strict=strict)
    assert not marker.exists()


@pytest.mark.parametrize('protocol', range(2, pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize('module', [b'numpy.core.multiarray', b'numpy._core.multiarray'])
def test_pickled_none_is_known_in_all_protocols(protocol: int, module: bytes) -> None:
    pickled = pickle.dumps(np.array(None), protocol)
    for written in (b'numpy._core.multiarray', b'numpy.core.multiarray'):
        if protocol < 4:
            pickled = pickled.replace(written, module)
    assert is_pickled_none(pickled)


def test_pickled_none_of_python_2() -> None:
    assert is_pickled_none(
        b'\x80\x02cnumpy.core.multiarray\n_reconstruct\nq\x01cnumpy\nndarray\nq\x02K\x00\x85U\x01b\x87Rq\x03(K\x01)'
        b'cnumpy\ndtype\nq\x04U\x02O8K\x00K\x01\x87Rq\x05(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK?tb\x89]'
        b'q\x06Natb.'
    )


NONE = pickle.dumps(np.array(None), 3)


@pytest.mark.parametrize(
    'pickled',
    [
        pickle.dumps(np.array(3, object), 3),
        pickle.dumps(object_array(None), 3)[:-1],
        pickle.dumps(None),
        pickle.dumps([None]),
        pickle.dumps(np.zeros(3), 3),
        b'',
        b'.',
        NONE[:-2],
        NONE + b'\x00' * 2000,
        NONE.replace(b'cnumpy\ndtype', b'cnumpy\nsave'),
        NONE.replace(b'cnumpy\ndtype', b'cos\nsystem'),
        b'\x80\x03cos\nsystem\nX\x02\x00\x00\x00ls\x85R.',
        NONE.replace(b'q\x00', b'r' + struct.pack('<I', 1 << 20), 1),  # would make room for a million entries
        b'\x80\x03]r\xff\xff\xff\x7f.',
        b'\x80\x03cnumpy\nndarray\n)\x81.',
    ],
)
def test_anything_else_is_no_pickled_none(pickled: bytes) -> None:
    assert not is_pickled_none(pickled)


def test_none_of_another_shape_is_refused() -> None:
    content = npy(np.array(None), allow_pickle=True).replace(b"'shape': (), ", b"'shape': (3,)", 1)
    with pytest.raises(SnapshotError, match='W: contains Python objects'):
        load_npz(with_members(W=content, b=npy(B)), Linear(3, 2))


def test_long_names_of_parameters() -> None:
    model, target = Chain(), Chain()
    for chain in (model, target):
        with chain.init_scope():
            setattr(chain, 'x' * 200, Parameter(np.zeros(1, np.float32)))
            chain.größe = Parameter(np.zeros(1, np.float32))
    model.größe.array[...] = 4
    load_npz(saved(model), target)
    assert target.größe.array[0] == 4


def test_a_dict_of_arrays(tmp_path: Path) -> None:
    entries = {'W': np.arange(3), 'l1/b': 2.5, 'n': None}
    save_npz(tmp_path / 'a.npz', entries)
    with np.load(tmp_path / 'a.npz', allow_pickle=True) as file:
        assert {name: file[name].tolist() for name in file} == {'W': [0, 1, 2], 'l1/b': 2.5, 'n': None}
    model = Chain(l1=Linear(3, 2))
    save_npz(tmp_path / 'b.npz', {'l1/W': np.ones((2, 3)), 'l1/b': np.ones(2)})
    load_npz(tmp_path / 'b.npz', model)
    assert model.l1.W.array.tolist() == [[1] * 3] * 2


def test_what_a_dictionary_serializer_has_collected(tmp_path: Path) -> None:
    model = Chain(l1=Linear(None, 2))
    serializer = DictionarySerializer()
    serializer.save(model)
    save_npz(tmp_path / 'a.npz', serializer.target)
    save_npz(tmp_path / 'b.npz', model)
    assert (tmp_path / 'a.npz').read_bytes() == (tmp_path / 'b.npz').read_bytes()


@pytest.mark.parametrize(
    ('entries', 'message'), [({1: np.ones(2)}, 'the name 1: names must be texts'), ({'a': object()}, 'cannot save a')]
)
def test_a_dict_of_something_else(tmp_path: Path, entries: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        save_npz(tmp_path / 'a.npz', entries)
    assert not list(tmp_path.iterdir())


def test_a_dict_cannot_be_loaded_into(tmp_path: Path) -> None:
    save_npz(tmp_path / 'a.npz', {'W': np.arange(3)})
    with pytest.raises(TypeError, match='load_npz: an object with a method serialize expected'):
        load_npz(tmp_path / 'a.npz', {'W': np.zeros(3)})
