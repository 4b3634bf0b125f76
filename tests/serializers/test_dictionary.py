"""DictionarySerializer and NpzDeserializer on a dict: how values go through."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from minichainer.serializer import (
    AbstractSerializer,
    DamagedSnapshotError,
    Deserializer,
    EntryTypeError,
    MissingEntryError,
    Serializer,
    SnapshotError,
)
from minichainer.serializers import DictionarySerializer, NpzDeserializer


@pytest.mark.parametrize(
    ('value', 'expected'),
    [
        (3, np.array(3)),
        (2.5, np.array(2.5)),
        (True, np.array(True)),
        ('text', np.array('text')),
        (b'bytes', np.array(b'bytes')),
        (np.float32(3), np.array(3, np.float32)),
        (np.arange(3), np.arange(3)),
        ([1, 2], np.array([1, 2])),
        ((1, 2.5), np.array([1, 2.5])),
        ([np.ones(2), np.zeros(2)], np.array([[1.0, 1], [0, 0]])),
    ],
)
def test_values_become_arrays(value: Any, expected: np.ndarray) -> None:
    serializer = DictionarySerializer()
    assert serializer('key', value) is value
    saved = serializer.target['key']
    assert (type(saved), saved.dtype) == (np.ndarray, expected.dtype)
    np.testing.assert_array_equal(saved, expected)


def test_none_becomes_an_object_array() -> None:
    serializer = DictionarySerializer()
    serializer('key', None)
    saved = serializer.target['key']
    assert (saved.dtype, saved.shape, saved[()]) == (np.dtype(object), (), None)


@pytest.mark.parametrize('value', [{}, object(), [None, 1], [np.ones(2), np.ones(3)], np.array([{}])])
def test_what_would_need_a_pickle_is_refused(value: Any) -> None:
    serializer = DictionarySerializer()
    with pytest.raises(TypeError, match='cannot save part/key'):
        serializer['part']('key', value)
    assert serializer.target == {}


def test_paths() -> None:
    serializer = DictionarySerializer()
    serializer('a', 1)
    serializer('/b', 1)
    serializer['x']('c', 1)
    serializer['/y/']['z']('/d', 1)
    assert list(serializer.target) == ['a', 'b', 'x/c', 'y/z/d']
    assert serializer['x']['y'].path == 'x/y/'
    assert DictionarySerializer({}, 'start/')['x'].path == 'start/x/'


SAVED = {
    'i': np.array(3),
    'f': np.array(2.5),
    'b': np.array(True),
    's': np.array('abc'),
    'none': np.array(None),
    'vector': np.array([1, 2]),
    'one': np.array([1.5]),
    'floats': np.arange(3.0),
    'part/i': np.array(7),
}


@pytest.mark.parametrize(
    ('key', 'value', 'expected'),
    [
        ('i', 1, 3),
        ('i', 1.0, 3.0),
        ('i', 'x', '3'),
        ('f', 1.0, 2.5),
        ('f', 1j, 2.5 + 0j),
        ('b', False, True),
        ('b', 5, 1),
        ('s', 'x', 'abc'),
        ('one', 0.0, 1.5),
        ('vector', [0], [1, 2]),
        ('vector', (0,), (1, 2)),
        ('none', 5, None),
        ('none', None, None),
        ('/i', 1, 3),
        ('f', np.float64(1), np.float64(2.5)),
        ('i', np.int64(1), np.int64(3)),
    ],
)
def test_values_keep_their_class(key: str, value: Any, expected: Any) -> None:
    loaded = NpzDeserializer(SAVED)(key, value)
    assert loaded == expected
    assert type(loaded) is type(expected)


@pytest.mark.parametrize('key', ['i', 's', 'vector'])
def test_without_a_value_the_array_is_given(key: str) -> None:
    assert NpzDeserializer(SAVED)(key, None) is SAVED[key]


@pytest.mark.parametrize('dtype', [np.float64, np.float32, np.float16])
def test_arrays_are_loaded_in_place(dtype: Any) -> None:
    array = np.zeros(3, dtype)
    assert NpzDeserializer(SAVED)('floats', array) is array
    np.testing.assert_array_equal(array, [0, 1, 2])


@pytest.mark.parametrize(
    ('key', 'value', 'error', 'message'),
    [
        ('f', 1, TypeError, "f: cannot safely deserialize .* dtype=float64 into a variable of type <class 'int'>"),
        ('i', True, TypeError, "dtype=int64 into a variable of type <class 'bool'>"),
        ('i', np.int8(1), TypeError, 'cannot safely deserialize'),
        ('f', np.float32(1), TypeError, 'cannot safely deserialize'),
        ('s', 1, ValueError, 's: invalid literal for int'),
        ('vector', 1, TypeError, r'vector: shape \(2,\) in the snapshot, the object has one int'),
        ('floats', np.zeros(3, np.int32), TypeError, 'floats: dtype float64 in the snapshot cannot become int32'),
        ('floats', np.zeros(2), ValueError, r'floats: shape \(3,\) in the snapshot, \(2,\) in the object'),
        ('one', np.zeros(3), ValueError, r'one: shape \(1,\) in the snapshot, \(3,\) in the object'),
        ('i', np.zeros(3), ValueError, r'i: shape \(\) in the snapshot, \(3,\) in the object'),
        ('missing', 3, KeyError, 'missing is not in the snapshot'),
        ('missing', None, KeyError, 'missing is not in the snapshot'),
    ],
)
def test_what_does_not_fit(key: str, value: Any, error: type[Exception], message: str) -> None:
    before = np.array(value)
    with pytest.raises(error, match=message):
        NpzDeserializer(SAVED)(key, value)
    np.testing.assert_array_equal(value, before)


def test_parts_and_paths() -> None:
    assert NpzDeserializer(SAVED)['part']('i', 0) == 7
    assert NpzDeserializer(SAVED)['/part/']('/i', 0) == 7
    assert NpzDeserializer(SAVED, path='part/')('i', 0) == 7
    with pytest.raises(KeyError, match='part/f is not in the snapshot'):
        NpzDeserializer(SAVED)['part']('f', 0)


def test_missing_entries_are_left_out_if_not_strict() -> None:
    deserializer = NpzDeserializer(SAVED, strict=False)
    assert deserializer('missing', 5) == 5
    assert deserializer['part']('missing', 5) == 5
    assert deserializer('i', 5) == 3
    with pytest.raises(ValueError, match='shape'):
        deserializer('floats', np.zeros(2))


@pytest.mark.parametrize(
    'ignore_names',
    [
        'part/i',
        ['part/i'],
        ('x', 'part/i'),
        {'part/i'},
        lambda name: name.startswith('part/'),
        ['x', 'part/i'.__eq__],
    ],
)
def test_ignored_names(ignore_names: Any) -> None:
    deserializer = NpzDeserializer(SAVED, ignore_names=ignore_names)
    assert deserializer['part']('i', 5) == 5
    assert deserializer('i', 5) == 3


@pytest.mark.parametrize('ignore_names', [5, ['x', 5]])
def test_ignored_names_are_names_or_functions(ignore_names: Any) -> None:
    with pytest.raises(ValueError, match=r'ignore_names needs to be a callable, string or list of them\. Got 5'):
        NpzDeserializer(SAVED, ignore_names=ignore_names)


@pytest.mark.parametrize('base', [AbstractSerializer, Serializer, Deserializer])
def test_base_classes_are_abstract(base: Any) -> None:
    with pytest.raises(NotImplementedError, match='must define __call__'):
        base()('key', 1)
    with pytest.raises(NotImplementedError, match='must define __getitem__'):
        base()['key']


def test_save_and_load_call_serialize() -> None:
    class Thing:
        def serialize(self, serializer: Any) -> None:
            self.serializer = serializer

    thing = Thing()
    for serializer, method in ((Serializer(), 'save'), (Deserializer(), 'load')):
        getattr(serializer, method)(thing)
        assert thing.serializer is serializer


@pytest.mark.parametrize(
    ('error', 'bases', 'others'),
    [
        (SnapshotError, [ValueError], (KeyError, TypeError, OSError)),
        (DamagedSnapshotError, [SnapshotError], (KeyError, TypeError, OSError)),
        (MissingEntryError, [SnapshotError, KeyError], (TypeError, OSError)),
        (EntryTypeError, [SnapshotError, TypeError], (KeyError, OSError)),
    ],
)
def test_errors_are_those_of_chainer_and_readable(
    error: type[Exception], bases: list[type[Exception]], others: tuple[type[Exception], ...]
) -> None:
    assert all(issubclass(error, base) for base in bases) and not issubclass(error, others)
    assert str(error('two\nlines')) == 'two\nlines'
