"""Datasets of seven examples, and what Chainer 7.8.1 gives at ``INDICES``: errors stand by their names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from minichainer import datasets as d

L = list(range(7))
INDICES = [0, -1, slice(None), slice(1, 3), slice(None, None, -2), [2, 0], 99, np.int64(1)]

#: How to make a dataset; its length, and what it gives.
ROWS: dict[str, tuple[Callable[[], Any], int, list[Any]]] = {
    'TupleDataset': (
        lambda: d.TupleDataset(L, 'abcdefg'),
        7,
        [
            (0, 'a'),
            (6, 'g'),
            [(0, 'a'), (1, 'b'), (2, 'c'), (3, 'd'), (4, 'e'), (5, 'f'), (6, 'g')],
            [(1, 'b'), (2, 'c')],
            [(6, 'g'), (4, 'e'), (2, 'c'), (0, 'a')],
            'TypeError',
            'IndexError',
            (1, 'b'),
        ],
    ),
    'DictDataset': (
        lambda: d.DictDataset(x=L, t='abcdefg'),
        7,
        [
            {'x': 0, 't': 'a'},
            {'x': 6, 't': 'g'},
            [
                {'x': 0, 't': 'a'},
                {'x': 1, 't': 'b'},
                {'x': 2, 't': 'c'},
                {'x': 3, 't': 'd'},
                {'x': 4, 't': 'e'},
                {'x': 5, 't': 'f'},
                {'x': 6, 't': 'g'},
            ],
            [{'x': 1, 't': 'b'}, {'x': 2, 't': 'c'}],
            [{'x': 6, 't': 'g'}, {'x': 4, 't': 'e'}, {'x': 2, 't': 'c'}, {'x': 0, 't': 'a'}],
            'TypeError',
            'IndexError',
            {'x': 1, 't': 'b'},
        ],
    ),
    'ConcatenatedDataset': (
        lambda: d.ConcatenatedDataset(L[:2], [], L[2:]),
        7,
        [0, 'IndexError', [0, 1, 2, 3, 4, 5, 6], [1, 2], [6, 4, 2, 0], [2, 0], 'IndexError', 1],
    ),
    'TransformDataset': (
        lambda: d.TransformDataset(L, lambda x: 10 * x),
        7,
        [0, 60, [0, 10, 20, 30, 40, 50, 60], [10, 20], [60, 40, 20, 0], [20, 0], 'IndexError', 10],
    ),
    'SubDataset': (lambda: d.SubDataset(L, 2, 6), 4, [2, 5, [2, 3, 4, 5], [3, 4], [5, 3], [4, 2], 'IndexError', 3]),
    'SubDataset, order': (
        lambda: d.SubDataset(L, 2, 6, [6, 5, 4, 3, 2, 1, 0]),
        4,
        [4, 1, [4, 3, 2, 1], [3, 2], [1, 3], [2, 4], 'IndexError', 3],
    ),
    'split_dataset': (
        lambda: d.split_dataset(L, 3)[1],
        4,
        [3, 6, [3, 4, 5, 6], [4, 5], [6, 4], [5, 3], 'IndexError', 4],
    ),
    'split_dataset_random': (
        lambda: d.split_dataset_random(L, 3, seed=1)[1],
        4,
        [0, 5, [0, 4, 3, 5], [4, 3], [5, 4], [3, 0], 'IndexError', 4],
    ),
    'split_dataset_n': (
        lambda: d.split_dataset_n(L, 3)[2],
        2,
        [4, 5, [4, 5], [5], [5], 'IndexError', 'IndexError', 5],
    ),
    'split_dataset_n_random': (
        lambda: d.split_dataset_n_random(L, 3, seed=1)[2],
        2,
        [4, 3, [4, 3], [3], [3], 'IndexError', 'IndexError', 3],
    ),
    'get_cross_validation_datasets': (
        lambda: d.get_cross_validation_datasets(L, 3)[1][0],
        5,
        [4, 1, [4, 5, 6, 0, 1], [5, 6], [1, 6, 4], [6, 4], 'IndexError', 5],
    ),
    'get_cross_validation_datasets_random': (
        lambda: d.get_cross_validation_datasets_random(L, 3, seed=1)[1][0],
        5,
        [4, 2, [4, 3, 5, 6, 2], [3, 5], [2, 5, 4], [5, 4], 'IndexError', 3],
    ),
}
