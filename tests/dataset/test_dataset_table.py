"""Every public dataset gives at every kind of index what Chainer's gives; what is public is documented."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

from minichainer import dataset, datasets
from tests.dataset.rows_datasets import INDICES, ROWS
from tests.training.documented import check_documentation, check_methods


def public(module: Any) -> dict[str, Any]:
    return {name: value for name, value in vars(module).items() if callable(value) and not name.startswith('_')}


#: Have data of their own, which other files look at.
DATA = {
    'get_digits',
    *'get_mnist get_fashion_mnist get_fashion_mnist_labels get_kuzushiji_mnist get_kuzushiji_mnist_labels'.split(),
    *'get_cifar10 get_cifar100 get_svhn get_ptb_words get_ptb_words_vocabulary'.split(),
    *'ImageDataset LabeledImageDataset ZippedImageDataset MultiZippedImageDataset LabeledZippedImageDataset'.split(),
    *'PickleDataset PickleDatasetWriter open_pickle_dataset open_pickle_dataset_writer TextDataset'.split(),
}
DOCUMENTED = {**public(dataset), **public(datasets)}

# Figures of Chainer 7.8.1: a batch, keyword arguments, and the arrays; errors stand by their types.
X, Y, Z = np.array([1, 2]), np.array([3, 4]), np.array([3])
BATCHES: dict[str, tuple[list[Any], dict[str, Any], Any]] = {
    'arrays': ([X, Y], {}, [[1, 2], [3, 4]]),
    'numbers': ([1, 2], {}, [1, 2]),
    'tuples': ([(X / 2, 1), (Y / 2, 2)], {}, ([[0.5, 1.0], [1.5, 2.0]], [1, 2])),
    'dicts': ([{'x': X, 't': 1}, {'x': Y, 't': 2}], {}, {'x': [[1, 2], [3, 4]], 't': [1, 2]}),
    'padding': ([X, Z], {'padding': -1}, [[1, 2], [3, -1]]),
    'paddings': ([(X, Z), (Z, Y)], {'padding': (-1, -2)}, ([[1, 2], [3, -1]], [[3, -2], [3, 4]])),
    'paddings by key': ([{'x': X}, {'x': Z}], {'padding': {'x': 9}}, {'x': [[1, 2], [3, 9]]}),
    'two axes': ([np.ones((1, 2)), np.ones((2, 1))], {'padding': 0}, [[[1, 1], [0, 0]], [[1, 0], [1, 0]]]),
    'nothing': ([], {}, ValueError),
    'shapes that differ': ([X, Z], {}, ValueError),
    'lengths that differ': ([(1, 2), (1,)], {}, IndexError),
}


def given(examples: Any, index: Any) -> Any:
    try:
        return examples[index]
    except (IndexError, TypeError) as error:
        return type(error).__name__


def check(examples: Any, length: int, expected: list[Any]) -> None:
    assert len(examples) == length
    for index, wanted in zip(INDICES, expected, strict=True):
        found = given(examples, index)
        assert (type(found), found) == (type(wanted), wanted), index


def test_the_tables_have_everything_public() -> None:
    assert {name.partition(',')[0] for name in ROWS} | DATA == set(public(datasets))


@pytest.mark.parametrize('name', ROWS)
def test_gives_what_chainers_gives(name: str) -> None:
    make, length, expected = ROWS[name]
    check(make(), length, expected)


@pytest.mark.parametrize('device', [None, '@numpy', -1])
@pytest.mark.parametrize('name', BATCHES)
def test_batches_are_stacked_as_chainers_are(name: str, device: Any) -> None:
    batch, kwargs, expected = BATCHES[name]
    if inspect.isclass(expected):
        with pytest.raises(expected, match='concat_examples'):
            dataset.concat_examples(batch, device, **kwargs)
        return
    found = dataset.concat_examples(batch, device, **kwargs)
    if isinstance(expected, dict):
        assert list(found) == list(expected)
        found, expected = tuple(found.values()), tuple(expected.values())
    if not isinstance(expected, tuple):
        found, expected = (found,), (expected,)
    assert isinstance(found, tuple)
    for a, e in zip(found, expected, strict=True):
        np.testing.assert_array_equal(a, e)


@pytest.mark.parametrize('name', DOCUMENTED)
def test_documentation(name: str) -> None:
    check_documentation(DOCUMENTED[name])
    if inspect.isclass(DOCUMENTED[name]):
        check_methods(DOCUMENTED[name])


# --- The tests fail where they should. ---


class OneOff(datasets.SubDataset):
    def get_example(self, i: int) -> Any:
        return super().get_example(i) if i else super().get_example(1)


class WithoutEnd(datasets.SubDataset):
    def get_example(self, i: int) -> Any:
        return self._dataset[(self._start + i) % 7]


@pytest.mark.parametrize('mutant', [OneOff, WithoutEnd])
def test_a_wrong_dataset_is_noticed(mutant: Any) -> None:
    _, length, expected = ROWS['SubDataset']
    with pytest.raises(AssertionError):
        check(mutant(list(range(7)), 2, 6), length, expected)
