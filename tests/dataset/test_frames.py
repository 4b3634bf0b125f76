"""Frames as datasets: rows by position, whatever the brackets of the library mean."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F
from minichainer import datasets, iterators
from minichainer.dataset import concat_examples
from minichainer.dataset.tabular import from_data

DATA = np.arange(12, dtype=np.float32).reshape(3, 4)
LABELS = np.array([10, 20, 30], np.int32)


class Located:
    """Stands for a frame or series of pandas: brackets take a label, ``iloc`` a position."""

    def __init__(self, values: Any, labels: Any) -> None:
        self.values, self.labels = values, list(labels)

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Any:
        return iter(self.values if self.values.ndim == 1 else self.labels)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self.values

    def __getitem__(self, label: Any) -> Any:
        where = self.labels.index(label)  # ValueError where pandas raises KeyError
        return self.values[where] if self.values.ndim == 1 else self.values[:, where]

    @property
    def iloc(self) -> Any:
        return _Locator(self)


class _Locator:
    def __init__(self, of: Located) -> None:
        self._of = of

    def __getitem__(self, i: int) -> Any:
        assert type(i) is int
        value = self._of.values[i]
        return value if self._of.values.ndim == 1 else Located(value, self._of.labels)


def _class(module: str, name: str, **methods: Any) -> type:
    """A class that says that it is of a library."""
    return type(name, (), {'__module__': module, **methods})


def _length(self: Any) -> int:
    return len(self.values)


def _slice(self: Any, start: int, length: int) -> Any:
    return _made(type(self), self.values[start : start + length])


def _columns(self: Any, index: Any) -> Any:
    return self.values[:, index]


def _made(kind: type, values: Any) -> Any:
    obj = kind()
    obj.values = values  # type: ignore[attr-defined]
    return obj


COMMON: dict[str, Any] = {'__len__': _length, 'slice': _slice}
ARRAY: dict[str, Any] = {'__array__': lambda self, dtype=None, copy=None: self.values}
PolarsSeries = _class(
    'polars.series.series', 'Series', __getitem__=_columns, to_numpy=lambda self: self.values, **COMMON
)
ArrowArray = type('Int64Array', (_class('pyarrow.lib', 'Array', __getitem__=_columns, **COMMON, **ARRAY),), {})
ArrowChunks = _class('pyarrow.lib', 'ChunkedArray', __getitem__=_columns, **COMMON, **ARRAY)


def _parts(kind: type) -> Any:
    return lambda self: [_made(kind, column) for column in self.values.T]


PolarsFrame = _class(
    'polars.dataframe.frame', 'DataFrame', __getitem__=_columns, get_columns=_parts(PolarsSeries), **COMMON
)
ArrowTable = _class('pyarrow.lib', 'Table', __getitem__=_columns, columns=property(_parts(ArrowChunks)), **COMMON)
ArrowBatch = _class(
    'pyarrow.lib', 'RecordBatch', __getitem__=_columns, columns=property(_parts(ArrowArray)), **COMMON
)


def library(name: str) -> Any:
    return pytest.importorskip(name, reason=f'{name} is not installed')


def named(values: Any) -> dict[str, Any]:
    return {name: values[:, i] for i, name in enumerate('abcd')}


#: Tables whose rows are those of DATA.
TABLES: dict[str, Callable[[], Any]] = {
    'iloc, labels 0 to 3': lambda: Located(DATA, range(4)),
    'iloc, names': lambda: Located(DATA, 'abcd'),
    'polars stand-in': lambda: _made(PolarsFrame, DATA),
    'arrow table stand-in': lambda: _made(ArrowTable, DATA),
    'arrow batch stand-in': lambda: _made(ArrowBatch, DATA),
}
#: Columns with the elements of LABELS.
COLUMNS: dict[str, Callable[[], Any]] = {
    'iloc': lambda: Located(LABELS, [2, 1, 0]),
    'iloc, names': lambda: Located(LABELS, 'xyz'),
    'polars stand-in': lambda: _made(PolarsSeries, LABELS),
    'arrow stand-in': lambda: _made(ArrowArray, LABELS),
    'arrow chunks stand-in': lambda: _made(ArrowChunks, LABELS),
}
#: The same of the libraries, where they are installed.
REAL: dict[str, tuple[str, Callable[[Any], Any], Any]] = {
    'table, pandas': ('pandas', lambda pandas: pandas.DataFrame(DATA), DATA),
    'table, pandas, names': ('pandas', lambda pandas: pandas.DataFrame(named(DATA)), DATA),
    'table, pandas, index': ('pandas', lambda pandas: pandas.DataFrame(DATA, index=[2, 0, 1]), DATA),
    'table, polars': ('polars', lambda polars: polars.DataFrame(named(DATA)), DATA),
    'table, arrow table': ('pyarrow', lambda pyarrow: pyarrow.table(named(DATA)), DATA),
    'table, arrow batch': ('pyarrow', lambda pyarrow: pyarrow.table(named(DATA)).to_batches()[0], DATA),
    'column, pandas': ('pandas', lambda pandas: pandas.Series(LABELS, index=[2, 1, 0]), LABELS),
    'column, pandas, names': ('pandas', lambda pandas: pandas.Series(LABELS, index=list('xyz')), LABELS),
    'column, polars': ('polars', lambda polars: polars.Series(LABELS), LABELS),
    'column, arrow': ('pyarrow', lambda pyarrow: pyarrow.array(LABELS), LABELS),
    'column, arrow chunks': ('pyarrow', lambda pyarrow: pyarrow.chunked_array([LABELS[:1], LABELS[1:]]), LABELS),
}
ALL = [(make, DATA) for make in TABLES.values()] + [(make, LABELS) for make in COLUMNS.values()]
NAMES = [f'table, {name}' for name in TABLES] + [f'column, {name}' for name in COLUMNS]

stand_ins = pytest.mark.parametrize(('make', 'expected'), ALL, ids=NAMES)
real = pytest.mark.parametrize(('name', 'make', 'expected'), REAL.values(), ids=REAL)


def stacked(examples: Any) -> Any:
    return np.stack([np.asarray(example) for example in examples])


def joined(parts: Any) -> list[Any]:
    return [example for part in parts for example in part[:]]


def one(iterator: Any) -> Any:
    with iterator:
        return next(iterator)


class Doubled(chainer.dataset.DatasetMixin):
    """Has the attributes of a frame, and examples of its own."""

    def __init__(self, frame: Any) -> None:
        self.frame = frame

    def __getattr__(self, name: str) -> Any:
        return getattr(self.frame, name)

    def __len__(self) -> int:
        return len(self.frame)

    def get_example(self, i: int) -> int:
        return 2 * i


def identity(example: Any) -> Any:
    return example


#: What gives the examples of a dataset, in its order.
READERS: dict[str, Callable[[Any], Any]] = {
    'TupleDataset[i]': lambda d: [datasets.TupleDataset(d)[i][0] for i in range(3)],
    'TupleDataset[np.int64]': lambda d: [datasets.TupleDataset(d)[i][0] for i in np.arange(3)],
    'TupleDataset[-i]': lambda d: [datasets.TupleDataset(d)[i - 3][0] for i in range(3)],
    'TupleDataset[:]': lambda d: [row[0] for row in datasets.TupleDataset(d)[:]],
    'TupleDataset[list]': lambda d: datasets.TupleDataset(d)[[0, 1, 2]][0],
    'TupleDataset[mask]': lambda d: datasets.TupleDataset(d)[np.ones(3, bool)][0],
    'TupleDataset with others': lambda d: [row[1] for row in datasets.TupleDataset(range(3), d)[:]],
    'DictDataset[i]': lambda d: [datasets.DictDataset(x=d)[i]['x'] for i in range(3)],
    'DictDataset[:]': lambda d: [row['x'] for row in datasets.DictDataset(x=d, t=LABELS)[:]],
    'ConcatenatedDataset': lambda d: datasets.ConcatenatedDataset(d, d)[:3],
    'ConcatenatedDataset, second': lambda d: datasets.ConcatenatedDataset(d, d)[3:],
    'TransformDataset': lambda d: datasets.TransformDataset(d, identity)[:],
    'SubDataset': lambda d: [*datasets.SubDataset(d, 0, 1)[:], *datasets.SubDataset(d, 1, 3)[:]],
    'split_dataset': lambda d: joined(datasets.split_dataset(d, 1)),
    'split_dataset_n': lambda d: joined(datasets.split_dataset_n(d, 3)),
    'split_dataset, order': lambda d: joined(datasets.split_dataset(d, 3, Located(np.arange(3), [1, 2, 0]))),
    'cross validation': lambda d: joined(datasets.get_cross_validation_datasets(d, 3)[0]),
    'SerialIterator': lambda d: one(iterators.SerialIterator(d, 3, shuffle=False)),
    'SerialIterator, order': lambda d: one(iterators.SerialIterator(d, 3, order_sampler=lambda o, i: np.arange(3))),
    'MultithreadIterator': lambda d: one(iterators.MultithreadIterator(d, 3, shuffle=False)),
    'from_data': lambda d: [x for (x,) in from_data(d).astuple()[:]],
    'from_data, slice': lambda d: from_data((('x', d), LABELS)).slice[0:3, ('x',)].get_examples(None, None)[0],
    'from_data, list': lambda d: from_data(('x', d)).slice[[0, 1, 2]].get_examples(None, None)[0],
    'concat_examples': lambda d: concat_examples(d),
    'concat_examples of SerialIterator': lambda d: concat_examples(
        one(iterators.SerialIterator(d, 3, shuffle=False))
    ),
    'concat_examples of TupleDataset': lambda d: concat_examples(datasets.TupleDataset(LABELS, d)[:])[1],
    'concat_examples of DictDataset': lambda d: concat_examples(datasets.DictDataset(x=d)[:])['x'],
    'concat_examples, padding': lambda d: concat_examples(
        one(iterators.SerialIterator(d, 3, shuffle=False)), padding=0
    ),
    'ConcatWithAsyncTransfer': lambda d: chainer.dataset.ConcatWithAsyncTransfer()(d),
}


def check_examples(found: Any, expected: Any) -> None:
    rows = stacked(found)
    np.testing.assert_array_equal(rows, expected)
    assert rows.dtype == expected.dtype


def check_positions(dataset: Any) -> None:
    for index in (3, -4, 10**6):
        with pytest.raises(IndexError, match=rf'there is no row {index}, the length is 3'):
            dataset[index]


@stand_ins
@pytest.mark.parametrize('read', READERS.values(), ids=READERS)
def test_examples_are_rows(make: Callable[[], Any], expected: Any, read: Callable[[Any], Any]) -> None:
    check_examples(read(make()), expected)


@real
def test_examples_of_libraries_are_rows(name: str, make: Callable[[Any], Any], expected: Any) -> None:
    frame = make(library(name))
    for read in READERS.values():
        check_examples(read(frame), expected)
    check_examples(one(iterators.MultiprocessIterator(frame, 3, shuffle=False, n_processes=1)), expected)
    check_positions(datasets.TupleDataset(frame))


@stand_ins
def test_positions_that_do_not_exist(make: Callable[[], Any], expected: Any) -> None:
    check_positions(datasets.TupleDataset(make()))
    check_positions(datasets.DictDataset(x=make()))


def test_rows_of_pandas_have_names() -> None:
    pandas = library('pandas')
    frame = pandas.DataFrame({'age': [1.0, 2.0], 'name': ['x', 'y']}, index=[7, 3])
    dataset = datasets.TransformDataset(frame, lambda row: (row['age'], len(row['name'])))
    assert dataset[:] == [(1.0, 1), (2.0, 1)]


def test_columns_of_several_dtypes() -> None:
    pandas = library('pandas')
    frame = pandas.DataFrame({'a': [1, 2], 'b': [True, False], 'c': [0.5, 1.5]})
    np.testing.assert_array_equal(concat_examples(frame), [[1, 1, 0.5], [2, 0, 1.5]])
    assert concat_examples(frame).dtype == np.float64


MIXED = {'a': [1, 2], 'b': ['x', 'y']}


@pytest.mark.parametrize(
    ('name', 'make', 'remedy'),
    [
        ('pandas', lambda pandas: pandas.DataFrame(MIXED), r'concat_examples.*must be of numbers.*frame\.astype'),
        ('polars', lambda polars: polars.DataFrame(MIXED), r'DataFrame as a dataset.*numbers.*frame\.to_dicts'),
        ('pyarrow', lambda pyarrow: pyarrow.table(MIXED), r'Table as a dataset.*numbers.*table\.to_pylist'),
    ],
)
def test_rows_with_texts_are_refused(name: str, make: Callable[[Any], Any], remedy: str) -> None:
    frame = make(library(name))
    with pytest.raises(TypeError, match=remedy):
        concat_examples(frame)


def test_rows_with_texts_are_refused_by_stand_ins() -> None:
    values = np.array([[1, 'x'], [2, 'y']], dtype=object)
    for kind, remedy in ((PolarsFrame, 'to_dicts'), (ArrowTable, 'to_pylist')):
        with pytest.raises(TypeError, match=rf"a row must be of numbers, got 1, 'x'.*{remedy}"):
            datasets.TupleDataset(_made(kind, values))[0]
    with pytest.raises(TypeError, match=r"concat_examples: rows of a frame must be of numbers, got \[1, 'x'\]"):
        concat_examples(Located(values, 'ab'))


def test_datasets_that_wrap_a_frame_keep_their_examples() -> None:
    dataset = Doubled(Located(DATA, 'abcd'))
    assert hasattr(dataset, 'iloc')
    assert datasets.TupleDataset(dataset)[:] == [(0,), (2,), (4,)]
    assert datasets.TransformDataset(dataset, identity)[1] == 2
    assert one(iterators.SerialIterator(dataset, 3, shuffle=False)) == [0, 2, 4]


def test_a_dataset_of_frames_can_be_pickled() -> None:
    dataset = datasets.TupleDataset(Located(DATA, 'abcd'), LABELS)
    again = pickle.loads(pickle.dumps(dataset))
    np.testing.assert_array_equal(again[1][0], DATA[1])


def test_files_of_images_from_a_column(tmp_path: Any) -> None:
    pytest.importorskip('PIL', reason='images need Pillow')
    for i in range(3):
        (tmp_path / f'{i}.pgm').write_bytes(b'P5 1 1 255 ' + bytes([i]))
    paths = np.array([f'{i}.pgm' for i in range(3)])
    images = datasets.ImageDataset(Located(paths, [2, 1, 0]), root=tmp_path)
    assert [image.item() for image in images[:]] == [0, 1, 2]
    pairs = Located(np.array([[f'{i}.pgm', 10 * i] for i in range(3)], dtype=object), ['path', 'label'])
    found = [(image.item(), int(label)) for image, label in datasets.LabeledImageDataset(pairs, root=tmp_path)[:]]
    assert found == [(0, 0), (1, 10), (2, 20)]


LOSSES: dict[str, Callable[[Any, Any], Any]] = {
    'softmax_cross_entropy': lambda y, t: F.softmax_cross_entropy(y, t),
    'accuracy': lambda y, t: F.accuracy(y, t),
    'sigmoid_cross_entropy': lambda y, t: F.sigmoid_cross_entropy(y[:, 0], t),
    'hinge': lambda y, t: F.hinge(y, t),
    'select_item': lambda y, t: F.select_item(y, t),
    'embed_id': lambda y, t: F.embed_id(t, y),
}


@pytest.mark.parametrize('loss', LOSSES.values(), ids=LOSSES)
def test_functions_refuse_series_with_the_remedy(loss: Callable[[Any, Any], Any]) -> None:
    labels = Located(np.array([0, 1, 1]), [2, 1, 0])
    labels.dtype, labels.shape, labels.ndim = labels.values.dtype, (3,), 1  # type: ignore[attr-defined]
    with pytest.raises(TypeError, match=r'got Located; write numpy\.asarray|Located given; .*numpy\.asarray'):
        loss(np.eye(3, dtype=np.float32), labels)


def test_arithmetic_with_a_series_is_an_error_of_ours() -> None:
    assert chainer.Variable.__pandas_priority__ > 4000  # of a frame
    series, x = library('pandas').Series([1.0, 2.0]), chainer.Variable(np.ones(2))
    for compute in (lambda: series * x, lambda: x * series, lambda: series - x):
        with pytest.raises(TypeError, match='An operand must be a number, an array or a Variable'):
            compute()
