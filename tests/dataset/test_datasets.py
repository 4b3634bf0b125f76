"""Datasets made of datasets, and the digits."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from minichainer import datasets
from minichainer.configuration import using_config


def columns(folds: Any) -> list[list[list[int]]]:
    return [[list(part) for part in fold] for fold in folds]


@pytest.mark.parametrize(
    ('dataset', 'index', 'want'),
    [
        (datasets.TupleDataset([1, 2], 'ab'), 1, (2, 'b')),
        (datasets.TupleDataset([1, 2], 'ab'), slice(None), [(1, 'a'), (2, 'b')]),
        (datasets.DictDataset(x=[1, 2], t='ab'), 1, {'x': 2, 't': 'b'}),
        (datasets.DictDataset(x=[1, 2], t='ab'), slice(0, 1), [{'x': 1, 't': 'a'}]),
        (datasets.ConcatenatedDataset([1], [], [2, 3]), slice(None), [1, 2, 3]),
        (datasets.ConcatenatedDataset([1], [], [2, 3]), 1, 2),
        (datasets.TransformDataset([1, 2, 3], lambda x: -x), [2, 0], [-3, -1]),
        (datasets.SubDataset([0, 1, 2, 3, 4], 1, 4), slice(None), [1, 2, 3]),
        (datasets.SubDataset([0, 1, 2, 3, 4], 1, 4), -1, 3),
        (datasets.SubDataset('abcd', 1, 3, [3, 2, 1, 0]), slice(None), ['c', 'b']),
    ],
)
def test_examples(dataset: Any, index: Any, want: Any) -> None:
    assert dataset[index] == want


def test_array_index_of_a_tuple_dataset_goes_to_each_dataset() -> None:
    x, t = datasets.TupleDataset(np.arange(3), np.arange(5, 8))[[2, 0]]
    np.testing.assert_array_equal(x, [2, 0])
    np.testing.assert_array_equal(t, [7, 5])


@pytest.mark.parametrize(
    ('make', 'error', 'message'),
    [
        (lambda: datasets.TupleDataset(), ValueError, 'expected at least one dataset'),
        (
            lambda: datasets.TupleDataset([1], [1, 2]),
            ValueError,
            'index 1 has a wrong length: 2, dataset 0 has 1',
        ),
        (lambda: datasets.DictDataset(), ValueError, 'expected at least one dataset'),
        (lambda: datasets.DictDataset(a=[1], b=[1, 2]), ValueError, 'length conflicts at "b": 2, "a" has 1'),
        (
            lambda: datasets.SubDataset([1, 2], 0, 3),
            ValueError,
            'overruns the base dataset: [0, 3) of 2 examples',
        ),
        (lambda: datasets.SubDataset([1, 2], 0, 1, [0]), ValueError, 'len(order) = 1 while len(dataset) = 2'),
        (lambda: datasets.SubDataset([1, 2], 0, 1)[1], IndexError, 'index out of range: 1 of 1'),
        (lambda: datasets.ConcatenatedDataset([1])[1], IndexError, 'index 1 is out of range for 1 examples'),
        (lambda: datasets.ConcatenatedDataset([1])[-1], IndexError, 'index -1'),
        (lambda: datasets.split_dataset([1], 1.0), TypeError, "split_at must be int, got <class 'float'>"),
        (lambda: datasets.split_dataset([1], -1), ValueError, 'must be non-negative, got -1'),
        (lambda: datasets.split_dataset([1], 2), ValueError, 'exceeds the dataset size: 2 > 1'),
        (lambda: datasets.get_cross_validation_datasets([1]), TypeError, 'n_folds'),
        (
            lambda: datasets.get_cross_validation_datasets([1], 2),
            ValueError,
            'between 1 and the number of examples, 1',
        ),
        (
            lambda: datasets.get_cross_validation_datasets([1], 1, fold=1),
            TypeError,
            "unexpected arguments ['fold']",
        ),
        (lambda: datasets.get_digits(ndim=4), ValueError, 'ndim must be 1, 2 or 3, got 4'),
    ],
)
def test_bad_input(make: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=re.escape(message)):
        make()


# Figures of Chainer 7.8.1.
FOLDS = {
    (7, 3): [[[0, 1, 2, 3], [4, 5, 6]], [[4, 5, 6, 0, 1], [2, 3]], [[2, 3, 4, 5, 6], [0, 1]]],
    (5, 1): [[[], [0, 1, 2, 3, 4]]],
}


@pytest.mark.parametrize(('size', 'n'), FOLDS)
def test_cross_validation(size: int, n: int) -> None:
    assert columns(datasets.get_cross_validation_datasets(range(size), n)) == FOLDS[size, n]
    assert columns(datasets.get_cross_validation_datasets(range(size), n_fold=n)) == FOLDS[size, n]


def test_random_cross_validation_is_that_of_chainer() -> None:
    want = [[[6, 2, 1, 3], [0, 5, 4]], [[0, 5, 4, 6, 2], [1, 3]], [[1, 3, 0, 5, 4], [6, 2]]]
    assert columns(datasets.get_cross_validation_datasets_random(range(7), 3, seed=0)) == want


@pytest.mark.parametrize('split', ['split_dataset_random', 'split_dataset_n_random'])
def test_random_splits_follow_their_seed_only(split: str) -> None:
    first = columns([getattr(datasets, split)(range(100), 3, seed=4)])
    np.random.seed(1)
    state = np.random.get_state()[1].copy()
    assert columns([getattr(datasets, split)(range(100), 3, seed=4)]) == first
    assert columns([getattr(datasets, split)(range(100), 3)]) != first
    np.testing.assert_array_equal(np.random.get_state()[1], state)


def test_digits_are_split_once_for_all() -> None:
    train, test = datasets.get_digits()
    assert (len(train), len(test)) == (1437, 360)
    x, t = train[:][0]
    assert (x.shape, x.dtype, t.dtype) == ((64,), np.float32, np.int32)
    # A checksum of which examples are where: the split is part of what results are compared by.
    assert [int(t) for _, t in test[:12]] == [7, 9, 4, 7, 0, 2, 6, 1, 3, 1, 3, 7]
    assert float(sum(x.sum() for x, _ in test[:])) == 7020.75
    np.random.seed(3)
    again = datasets.get_digits()[1]
    assert all(np.array_equal(a, b) for (a, _), (b, _) in zip(test[:], again[:], strict=True))


@pytest.mark.parametrize(
    ('kwargs', 'shape'),
    [
        ({}, (64,)),
        ({'ndim': 2}, (8, 8)),
        ({'ndim': 3}, (1, 8, 8)),
        ({'ndim': 3, 'rgb_format': True}, (3, 8, 8)),
    ],
)
@pytest.mark.parametrize('dtype', ['float16', 'float32', 'float64'])
def test_digits_shapes_and_range(kwargs: dict[str, Any], shape: tuple[int, ...], dtype: str) -> None:
    with using_config('dtype', np.dtype(dtype)):
        train, test = datasets.get_digits(withlabel=False, scale=2.0, **kwargs)
    assert train.shape == (1437, *shape)
    assert test.shape == (360, *shape)
    assert train.dtype == dtype
    assert (train.min(), train.max()) == (0, 2)


def test_digits_have_the_label_dtype_asked_for() -> None:
    labels = [t for _, t in datasets.get_digits(label_dtype=np.int64)[0][:]]
    assert labels[0].dtype == np.int64
    assert sorted(set(map(int, labels))) == list(range(10))
