from __future__ import annotations

import numbers
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, TypeAlias

import numpy

from minichainer.dataset._rows import at
from minichainer.dataset.dataset_mixin import DatasetMixin
from minichainer.errors import number_remedy

#: Indices of the examples.
Order: TypeAlias = Sequence[int] | numpy.ndarray[Any, Any]


class SubDataset(DatasetMixin):
    """A contiguous part of a dataset, or of a permutation of it.

    Args:
        dataset: Dataset, or a frame of pandas, polars or Arrow, whose rows are the examples.
        start (int): First position.
        finish (int): Position after the last one, at most the length of the dataset.
        order: Sequence of all indices of ``dataset``; example ``i`` is then ``dataset[order[start + i]]``.

    Raises:
        ValueError: The range is not within the dataset, or ``order`` has another length than the dataset.

    .. admonition:: Example

        >>> import minichainer as chainer
        >>> chainer.datasets.SubDataset('abcde', 1, 4)[:]
        ['b', 'c', 'd']

    """

    def __init__(self, dataset: Any, start: int, finish: int, order: Order | None = None) -> None:
        if start < 0 or finish > len(dataset):
            raise ValueError(
                f'SubDataset: subset overruns the base dataset: [{start}, {finish}) of {len(dataset)} examples'
            )
        if order is not None and len(order) != len(dataset):
            raise ValueError(
                'SubDataset: order option must have the same length as the base dataset: '
                f'len(order) = {len(order)} while len(dataset) = {len(dataset)}'
            )
        self._dataset = dataset
        self._start = start
        self._size = finish - start
        self._order = order

    def __len__(self) -> int:
        """Returns the number of examples."""
        return self._size

    def get_example(self, i: int) -> Any:
        """Returns the ``i``-th example; negative ``i`` counts from the end."""
        if not -self._size <= i < self._size:
            raise IndexError(f'SubDataset: dataset index out of range: {i} of {self._size} examples')
        index = self._start + (i + self._size if i < 0 else i)
        return at(self._dataset, index if self._order is None else at(self._order, index))


def split_dataset(dataset: Any, split_at: int, order: Order | None = None) -> tuple[SubDataset, SubDataset]:
    """Splits a dataset in two: the first ``split_at`` examples and the rest.

    Args:
        dataset: Dataset.
        split_at (int): Number of examples of the first part.
        order: Sequence of all indices, see :class:`SubDataset`.

    Raises:
        TypeError: ``split_at`` is not an integer.
        ValueError: ``split_at`` is negative or larger than the dataset.

    .. admonition:: Example

        >>> import minichainer as chainer
        >>> first, rest = chainer.datasets.split_dataset('abcde', 2)
        >>> rest[:]
        ['c', 'd', 'e']

    """
    if not isinstance(split_at, (numbers.Integral, numpy.integer)):
        is_share = isinstance(split_at, float) and 0 < split_at < 1
        remedy = '; write int(split_at * len(dataset))' if is_share else number_remedy('split_at', split_at, int)
        raise TypeError(f'split_dataset: split_at must be int, got {type(split_at)} instead{remedy}')
    if split_at < 0:
        raise ValueError(f'split_dataset: split_at must be non-negative, got {split_at}')
    if split_at > len(dataset):
        raise ValueError(f'split_dataset: split_at exceeds the dataset size: {split_at} > {len(dataset)}')
    n = int(split_at)
    return SubDataset(dataset, 0, n, order), SubDataset(dataset, n, len(dataset), order)


def split_dataset_random(dataset: Any, first_size: int, seed: int | None = None) -> tuple[SubDataset, SubDataset]:
    """Splits a dataset in two at random: ``first_size`` examples and the rest.

    Args:
        dataset: Dataset.
        first_size (int): Number of examples of the first part.
        seed (int): Seed of the permutation; ``None`` takes one from the operating system.

    .. admonition:: Example

        >>> import minichainer as chainer
        >>> first, rest = chainer.datasets.split_dataset_random('abcde', 2, seed=0)
        >>> sorted(first[:] + rest[:])
        ['a', 'b', 'c', 'd', 'e']

    """
    return split_dataset(dataset, first_size, _permutation(dataset, seed))


def split_dataset_n(dataset: Any, n: int, order: Order | None = None) -> list[SubDataset]:
    """Splits a dataset into ``n`` parts of ``len(dataset) // n`` examples; the remainder is dropped.

    Args:
        dataset: Dataset.
        n (int): Number of parts.
        order: Sequence of all indices, see :class:`SubDataset`.

    .. admonition:: Example

        >>> import minichainer as chainer
        >>> [part[:] for part in chainer.datasets.split_dataset_n('abcde', 2)]
        [['a', 'b'], ['c', 'd']]

    """
    size = len(dataset) // n
    return [SubDataset(dataset, size * i, size * (i + 1), order) for i in range(n)]


def split_dataset_n_random(dataset: Any, n: int, seed: int | None = None) -> list[SubDataset]:
    """Splits a dataset at random into ``n`` parts of equal size; see :func:`split_dataset_n`.

    Args:
        dataset: Dataset.
        n (int): Number of parts.
        seed (int): Seed of the permutation; ``None`` takes one from the operating system.

    .. admonition:: Example

        >>> import minichainer as chainer
        >>> [len(part) for part in chainer.datasets.split_dataset_n_random('abcde', 2, seed=0)]
        [2, 2]

    """
    return split_dataset_n(dataset, n, _permutation(dataset, seed))


def get_cross_validation_datasets(
    dataset: Any, n_folds: int | None = None, order: Order | None = None, **kwargs: Any
) -> list[tuple[SubDataset, SubDataset]]:
    """Returns the pairs (training set, test set) of a cross validation.

    Args:
        dataset: Dataset.
        n_folds (int): Number of pairs; each example is in one test set. Test sets differ by one example at
            most.
        order: Sequence of all indices, see :class:`SubDataset`.

    Raises:
        ValueError: There are more folds than examples, or fewer than one.

    .. admonition:: Example

        >>> import minichainer as chainer
        >>> for train, test in chainer.datasets.get_cross_validation_datasets('abcd', 2):
        ...     print(train[:], test[:])
        ['a', 'b'] ['c', 'd']
        ['c', 'd'] ['a', 'b']

    """
    if 'n_fold' in kwargs:
        n_folds = kwargs.pop('n_fold')
    if kwargs:
        raise TypeError(f'get_cross_validation_datasets: unexpected arguments {sorted(kwargs)}')
    if n_folds is None:
        raise TypeError('get_cross_validation_datasets: n_folds, the number of folds, is required')
    if not 1 <= n_folds <= len(dataset):
        raise ValueError(
            'get_cross_validation_datasets: n_folds must be between 1 and the number of examples, '
            f'{len(dataset)}, got {n_folds}'
        )
    indices = numpy.arange(len(dataset)) if order is None else numpy.asarray(order)
    size = len(dataset)
    ends = [size * (n_folds - i) // n_folds for i in range(n_folds + 1)]
    folds = []
    for finish, start in pairwise(ends):
        # The test set goes to the end, the training set starts right behind it and wraps around.
        rotated = numpy.concatenate([indices[finish:], indices[:finish]])
        folds.append(split_dataset(dataset, size - (finish - start), rotated))
    return folds


def get_cross_validation_datasets_random(
    dataset: Any, n_folds: int, seed: int | None = None, **kwargs: Any
) -> list[tuple[SubDataset, SubDataset]]:
    """Returns the pairs of :func:`get_cross_validation_datasets` over a random order.

    Args:
        dataset: Dataset.
        n_folds (int): Number of pairs.
        seed (int): Seed of the permutation; ``None`` takes one from the operating system.

    .. admonition:: Example

        >>> import minichainer as chainer
        >>> folds = chainer.datasets.get_cross_validation_datasets_random('abcd', 2, seed=0)
        >>> [(len(train), len(test)) for train, test in folds]
        [(2, 2), (2, 2)]

    """
    return get_cross_validation_datasets(dataset, n_folds, _permutation(dataset, seed), **kwargs)


def _permutation(dataset: Any, seed: int | None) -> numpy.ndarray:
    return numpy.random.RandomState(seed).permutation(len(dataset))
