"""TabularDataset, and the views of it that its methods return."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy

from minichainer import backend
from minichainer.dataset.dataset_mixin import DatasetMixin
from minichainer.dataset.tabular import _indices

Columns: TypeAlias = tuple[Any, ...]
KeyIndices: TypeAlias = Sequence[int] | None


class TabularDataset(DatasetMixin):
    """Base class of datasets of columns: each column has a key, and each example has an element of each column.

    A subclass defines ``__len__``, :attr:`keys`, :attr:`mode` and :meth:`get_examples`. Columns and examples are read
    only when they are needed; the methods below return views, which hold no data.

    >>> import numpy as np, minichainer as chainer
    >>> class Squares(chainer.dataset.TabularDataset):
    ...     def __len__(self):
    ...         return 4
    ...     keys = ('number', 'square')
    ...     mode = tuple
    ...     def get_examples(self, indices, key_indices):
    ...         n = np.arange(4)[slice(None) if indices is None else indices]
    ...         columns = n, n ** 2
    ...         return columns if key_indices is None else tuple(columns[i] for i in key_indices)
    >>> Squares().slice[1:, 'square'].fetch()
    array([1, 4, 9])
    """

    def __len__(self) -> int:
        """Returns the number of examples."""
        raise NotImplementedError(f'{type(self).__name__} must define __len__')

    def __iter__(self) -> Iterator[Any]:
        """Iterates over the examples."""
        return (self.get_example(i) for i in range(len(self)))

    @property
    def keys(self) -> tuple[Any, ...]:
        """The keys of the columns, usually strings."""
        raise NotImplementedError(f'{type(self).__name__} must define the property keys')

    @property
    def mode(self) -> Any:
        """What an example is: ``tuple``, ``dict``, or ``None`` for the element of a single column."""
        raise NotImplementedError(f'{type(self).__name__} must define the property mode')

    def get_examples(self, indices: Any, key_indices: Any) -> Columns:
        """Returns columns of examples; subclasses define it.

        Args:
            indices: list of integers from 0 to ``len(self) - 1``, slice, or ``None`` for all examples.
            key_indices: tuple of positions in :attr:`keys`, or ``None`` for all columns.

        Returns:
            Tuple of columns, in the order of ``key_indices``. A column is an array or a list.
        """
        raise NotImplementedError(f'{type(self).__name__} must define get_examples(indices, key_indices)')

    def get_example(self, i: int) -> Any:
        """Returns the ``i``-th example, as :attr:`mode` says."""
        return _arrange(self, tuple(column[0] for column in self.get_examples([i], None)))

    def fetch(self) -> Any:
        """Returns the columns of all examples: a tuple or a dict of columns, or a single column."""
        return _arrange(self, self.get_examples(None, None))

    def convert(self, data: Any) -> Any:
        """Makes arrays of the columns that :meth:`fetch` returned; views of this dataset use it, too.

        Args:
            data: columns: a tuple, dict or list of lists of values.
        """
        if isinstance(data, tuple):
            return tuple(_as_array(column) for column in data)
        if isinstance(data, dict):
            return {key: _as_array(column) for key, column in data.items()}
        return _as_array(data)

    def asarray(self) -> Any:
        """Returns all examples as arrays, ``convert(fetch())``."""
        return self.convert(self.fetch())

    def astuple(self) -> TabularDataset:
        """Returns a view whose examples are tuples."""
        return _WithMode(self, tuple)

    def asdict(self) -> TabularDataset:
        """Returns a view whose examples are dicts."""
        return _WithMode(self, dict)

    as_tuple = astuple
    as_dict = asdict

    @property
    def slice(self) -> _Slicer:
        """Selects examples and columns: ``dataset.slice[indices]`` and ``dataset.slice[indices, keys]`` are views.

        ``indices`` is a slice, a list of integers, or a list of one boolean per example. ``keys`` is a key or its
        position; the examples then are the elements of that column. Or it is a tuple of keys or positions.
        """
        return _Slicer(self)

    def concat(self, *datasets: TabularDataset) -> TabularDataset:
        """Returns a view of the examples of this dataset, and then those of others with the same keys.

        Args:
            datasets: the other datasets.
        """
        return _Concat(self, datasets)

    def join(self, *datasets: TabularDataset) -> TabularDataset:
        """Returns a view of the columns of this dataset, and then those of others of the same length.

        Args:
            datasets: the other datasets.
        """
        return _Join(self, datasets)

    def transform(self, keys: Any, transform: Callable[..., Any]) -> TabularDataset:
        """Returns a view of examples that a function computes.

        Args:
            keys: key, or tuple of keys, of the results.
            transform: function of the elements of an example: positional arguments in mode ``tuple``, keyword
                arguments in mode ``dict``. It returns a tuple or a dict with an element for each key, or else the
                element of a single column; always the same of the three.
        """
        return _Transform(self, keys, transform)

    def transform_batch(self, keys: Any, transform_batch: Callable[..., Any]) -> TabularDataset:
        """Returns a view like :meth:`transform`, with a function of columns; these keep their length.

        Args:
            keys: names of the new columns, as :meth:`transform` takes them.
            transform_batch: function of columns that returns columns.
        """
        return _TransformBatch(self, keys, transform_batch)

    def with_converter(self, converter: Callable[..., Any]) -> TabularDataset:
        """Returns a view whose :meth:`convert` calls a function with the columns, like that of :meth:`transform`.

        Args:
            converter: the function.
        """
        return _WithConverter(self, converter)


class DelegateDataset(TabularDataset):
    """A dataset that is another one: base class of datasets that are composed in their constructors.

    Args:
        dataset: TabularDataset that provides the examples.

    Attributes:
        dataset: that dataset.

    >>> import minichainer as chainer
    >>> class Doubled(chainer.dataset.tabular.DelegateDataset):
    ...     def __init__(self, numbers):
    ...         data = chainer.dataset.tabular.from_data(('x', numbers))
    ...         super().__init__(data.transform('y', lambda x: 2 * x))
    >>> Doubled([1, 2, 3])[:]
    [2, 4, 6]
    """

    def __init__(self, dataset: TabularDataset) -> None:
        self.dataset = _checked(type(self).__name__, dataset)

    def __len__(self) -> int:
        """Returns the number of examples."""
        return len(self.dataset)

    @property
    def keys(self) -> tuple[Any, ...]:
        """The keys of the columns."""
        return self.dataset.keys

    @property
    def mode(self) -> Any:
        """What an example is."""
        return self.dataset.mode

    def get_examples(self, indices: Any, key_indices: Any) -> Columns:
        """Returns columns of examples."""
        return self.dataset.get_examples(indices, key_indices)


class _View(DelegateDataset):
    """What the methods of TabularDataset return. It converts as the dataset does."""

    def convert(self, data: Any) -> Any:
        return self.dataset.convert(data)


class _WithMode(_View):
    def __init__(self, dataset: TabularDataset, mode: type) -> None:
        super().__init__(dataset)
        self._mode = mode

    @property
    def mode(self) -> Any:
        return self._mode


class _WithConverter(_View):
    def __init__(self, dataset: TabularDataset, converter: Callable[..., Any]) -> None:
        super().__init__(dataset)
        self._converter = _function('with_converter', converter)

    def convert(self, data: Any) -> Any:
        if isinstance(data, tuple):
            return self._converter(*data)
        return self._converter(**data) if isinstance(data, dict) else self._converter(data)


class _Slicer:
    """What is in front of the brackets in ``dataset.slice[...]``."""

    def __init__(self, dataset: TabularDataset) -> None:
        self._dataset = dataset

    def __getitem__(self, index: Any) -> TabularDataset:
        if not isinstance(index, tuple):
            index = (index, None)
        if len(index) != 2:
            raise ValueError(f'TabularDataset.slice: expected [indices] or [indices, keys], got {len(index)} values')
        return _Slice(self._dataset, *index)


class _Slice(_View):
    def __init__(self, dataset: TabularDataset, indices: Any, keys: Any) -> None:
        super().__init__(dataset)
        self._indices = _indices.read(indices, len(dataset))
        self._single = keys is not None and not isinstance(keys, tuple)
        self._key_indices: tuple[int, ...] | None = None
        if keys is not None:
            self._key_indices = tuple(_key_index(dataset.keys, key) for key in ((keys,) if self._single else keys))

    def __len__(self) -> int:
        return _indices.count(self._indices, len(self.dataset))

    @property
    def keys(self) -> tuple[Any, ...]:
        keys = self.dataset.keys
        return keys if self._key_indices is None else tuple(keys[k] for k in self._key_indices)

    @property
    def mode(self) -> Any:
        if self._single:
            return None
        return self.dataset.mode if self._key_indices is None else self.dataset.mode or tuple

    def get_examples(self, indices: Any, key_indices: Any) -> Columns:
        chosen = _indices.compose(self._indices, indices, len(self.dataset))
        mine = self._key_indices
        if mine is not None:
            key_indices = mine if key_indices is None else tuple(mine[k] for k in key_indices)
        return self.dataset.get_examples(chosen, key_indices)


class _Join(_View):
    def __init__(self, dataset: TabularDataset, others: Sequence[TabularDataset]) -> None:
        super().__init__(dataset)
        self._datasets = [dataset, *(_checked('join', other) for other in others)]
        for other in others:
            if len(other) != len(dataset):
                raise ValueError(f'join: All datasets must have the same length, got {len(dataset)} and {len(other)}')
        if len({*self.keys}) < len(self.keys):
            raise ValueError(f'join: All keys must be unique among all datasets, got {self.keys}')

    @property
    def keys(self) -> tuple[Any, ...]:
        return tuple(key for dataset in self._datasets for key in dataset.keys)

    @property
    def mode(self) -> Any:
        return self.dataset.mode or tuple

    def get_examples(self, indices: Any, key_indices: Any) -> Columns:
        if key_indices is None:
            return tuple(column for dataset in self._datasets for column in dataset.get_examples(indices, None))
        columns: dict[int, Any] = {}
        start = 0
        for dataset in self._datasets:
            stop = start + len(dataset.keys)
            here = [k for k in dict.fromkeys(key_indices) if start <= k < stop]
            if here:
                local = tuple(k - start for k in here)
                columns.update(zip(here, dataset.get_examples(indices, local), strict=True))
            start = stop
        return tuple(columns[k] for k in key_indices)


class _Concat(_View):
    def __init__(self, dataset: TabularDataset, others: Sequence[TabularDataset]) -> None:
        super().__init__(dataset)
        self._datasets = [dataset, *(_checked('concat', other) for other in others)]
        for other in others:
            if other.keys != dataset.keys:
                raise ValueError(f'concat: All datasets must have the same keys, got {dataset.keys} and {other.keys}')
        self._ends = list(itertools.accumulate(map(len, self._datasets)))

    def __len__(self) -> int:
        return self._ends[-1]

    def get_examples(self, indices: Any, key_indices: Any) -> Columns:
        if isinstance(indices, list):
            return self._of_list(indices, key_indices)
        parts = [dataset.get_examples(part, key_indices) for dataset, part in self._parts(indices)]
        if len(parts) == 1:
            return parts[0]
        return tuple([*itertools.chain(*columns)] for columns in zip(*parts, strict=True)) or self._empty(key_indices)

    def _parts(self, indices: Any) -> Iterator[tuple[TabularDataset, Any]]:
        """The datasets that have selected examples, in the order of these, and the selection from each."""
        if indices is None:
            yield from ((dataset, None) for dataset in self._datasets)
            return
        run = range(*indices.indices(len(self)))
        bounds = list(zip(self._datasets, [0, *self._ends], self._ends, strict=False))
        for dataset, start, stop in bounds if run.step > 0 else bounds[::-1]:
            part = _indices.within(run, start, stop)
            if part:
                yield dataset, _indices.as_slice(part)

    def _of_list(self, indices: list[int], key_indices: KeyIndices) -> Columns:
        found = []
        for dataset, start, stop in zip(self._datasets, [0, *self._ends], self._ends, strict=False):
            places = [place for place, i in enumerate(indices) if start <= i < stop]
            if places:
                found.append((places, dataset.get_examples([indices[p] - start for p in places], key_indices)))
        self._check(indices, sum(len(places) for places, _ in found))
        return found[0][1] if len(found) == 1 else self._merged(found, len(indices), key_indices)

    def _check(self, indices: list[int], n: int) -> None:
        if n < len(indices):
            wrong = next(i for i in indices if not 0 <= i < len(self))
            raise IndexError(f'concat: index {wrong} is out of range for {len(self)} examples')

    def _merged(self, found: list[tuple[list[int], Columns]], n: int, key_indices: KeyIndices) -> Columns:
        merged = tuple([None] * n for _ in self._empty(key_indices))
        for places, columns in found:
            for column, part in zip(merged, columns, strict=True):
                for place, element in zip(places, part, strict=True):
                    column[place] = element
        return merged

    def _empty(self, key_indices: KeyIndices) -> Columns:
        return tuple([] for _ in (self.keys if key_indices is None else key_indices))


class _Computed(_View):
    """What a function computes of a dataset. The type of its result is the mode; without results, ``keys`` tells."""

    name = ''

    def __init__(self, dataset: TabularDataset, keys: Any, function: Callable[..., Any]) -> None:
        super().__init__(dataset)
        self._several = isinstance(keys, tuple)
        self._keys = keys if self._several else (keys,)
        self._function = _function(self.name, function)
        self._result_type: tuple[Any] | None = None

    @property
    def keys(self) -> tuple[Any, ...]:
        return self._keys

    @property
    def mode(self) -> Any:
        if self._result_type is None and len(self) == 0:
            return tuple if self._several else None
        if self._result_type is None:
            self.get_examples([0], None)
        assert self._result_type is not None
        return self._result_type[0]

    def _compute(self, elements: Columns) -> Columns:
        arguments = _arrange(self.dataset, elements)
        if isinstance(arguments, tuple) and self.dataset.mode is tuple:
            return self._columns(self._function(*arguments))
        if isinstance(arguments, dict) and self.dataset.mode is dict:
            return self._columns(self._function(**arguments))
        return self._columns(self._function(arguments))

    def _columns(self, result: Any) -> Columns:
        mode = next((kind for kind in (tuple, dict) if isinstance(result, kind)), None)
        if self._result_type is not None and self._result_type[0] is not mode:
            before = self._result_type[0]
            raise ValueError(
                f'{self.name} must not change its return type: expected mode {before}, got {type(result)}'
            )
        columns = self._by_key(mode, result)
        self._result_type = (mode,)
        return columns

    def _by_key(self, mode: Any, result: Any) -> Columns:
        if mode is dict:
            missing = [key for key in self._keys if key not in result]
            if missing:
                raise KeyError(f'{self.name}: the function returned no {missing[0]!r}; keys are {self._keys}')
            return tuple(result[key] for key in self._keys)
        columns: Columns = result if mode is tuple else (result,)
        if len(columns) < len(self._keys):
            what = f'a tuple of {len(columns)}' if mode is tuple else f'{type(result).__name__}'
            raise IndexError(f'{self.name}: the function returned {what}, expected a tuple for keys {self._keys}')
        return columns[: len(self._keys)]


class _Transform(_Computed):
    name = 'transform'

    def get_examples(self, indices: Any, key_indices: Any) -> Columns:
        examples = zip(*self.dataset.get_examples(indices, None), strict=True)
        rows = [self._compute(example) for example in examples]
        columns = [[row[k] for row in rows] for k in range(len(self._keys))]
        return tuple(columns if key_indices is None else (columns[k] for k in key_indices))


class _TransformBatch(_Computed):
    name = 'transform_batch'

    def get_examples(self, indices: Any, key_indices: Any) -> Columns:
        columns = self._compute(self.dataset.get_examples(indices, None))
        expected = _indices.count(indices, len(self))
        for column in columns:
            if len(column) != expected:
                raise ValueError(
                    f'transform_batch must not change the length of data: expected {expected}, got {len(column)}'
                )
        return columns if key_indices is None else tuple(columns[k] for k in key_indices)


def _arrange(dataset: TabularDataset, columns: Columns) -> Any:
    mode = dataset.mode
    if mode is None:
        return columns[0]
    if mode is tuple:
        return tuple(columns)
    if mode is dict:
        return dict(zip(dataset.keys, columns, strict=True))
    raise ValueError(f'{type(dataset).__name__}: mode must be tuple, dict or None, got {mode!r}')


def _as_array(column: Any) -> Any:
    if isinstance(column, backend.get_array_types()):
        return column
    if isinstance(column, str) or not hasattr(column, '__len__'):
        raise TypeError(f'convert: expected a column (an array or a list), got {column!r} of {type(column)}')
    if len(column) == 0:
        return numpy.asarray(column)
    device = backend.get_device_from_array(column[0])
    try:
        with backend.using_device(device):
            return device.xp.asarray(column)
    except ValueError as error:
        raise ValueError(
            f'convert: the elements of a column have different shapes ({error}); with_converter(f) takes a function '
            'that pads them'
        ) from error


def _key_index(keys: tuple[Any, ...], key: Any) -> int:
    if isinstance(key, (int, numpy.integer)):
        if not -len(keys) <= key < len(keys):
            raise IndexError(f'TabularDataset.slice: index {key} is out of bounds for keys with size {len(keys)}')
        return int(key) % len(keys)
    if not isinstance(key, Hashable) or key not in keys:
        several = '' if isinstance(key, str) else '; several keys are given as a tuple'
        raise KeyError(f'TabularDataset.slice: key {key!r} does not exist, keys are {keys}{several}')
    return keys.index(key)


def _checked(name: str, dataset: Any) -> TabularDataset:
    if not isinstance(dataset, TabularDataset):
        raise TypeError(
            f'{name}: expected a TabularDataset, got {type(dataset)}; tabular.from_data makes one of data'
        )
    return dataset


def _function(name: str, function: Any) -> Callable[..., Any]:
    if not callable(function):
        raise TypeError(f'{name}: expected a function, got {function!r}')
    return function  # type: ignore[no-any-return]
