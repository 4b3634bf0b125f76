"""Arguments of iterators, and what Chainer 7.8.1 draws with them: both of its iterators draw the same.

Before each row ``numpy.random.seed(0)`` is called; nine mini-batches are drawn, or all where they end.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from minichainer.iterators import ShuffleOrderSampler


@dataclass
class Row:
    """Arguments, and what comes out."""

    kwargs: dict[str, Any]
    examples: int
    batch_size: int
    #: Positions in the dataset.
    batches: list[list[int]]
    #: The epochs in hundredths after each mini-batch.
    details: list[int]


def rotated(order: Any, position: int) -> Any:
    return np.roll(order, position + 1)


def own_random_state(seed: int = 3) -> ShuffleOrderSampler:
    """Made anew for each iterator, since drawing changes it."""
    return ShuffleOrderSampler(np.random.RandomState(seed))


ROWS = {
    'in order': Row(
        {'shuffle': False},
        5,
        2,
        [[0, 1], [2, 3], [4, 0], [1, 2], [3, 4], [0, 1], [2, 3], [4, 0], [1, 2]],
        [40, 80, 120, 160, 200, 240, 280, 320, 360],
    ),
    'in order, once': Row({'shuffle': False, 'repeat': False}, 5, 2, [[0, 1], [2, 3], [4]], [40, 80, 100]),
    'whole epochs': Row(
        {'shuffle': False},
        6,
        3,
        [[0, 1, 2], [3, 4, 5], [0, 1, 2], [3, 4, 5], [0, 1, 2], [3, 4, 5], [0, 1, 2], [3, 4, 5], [0, 1, 2]],
        [50, 100, 150, 200, 250, 300, 350, 400, 450],
    ),
    'longer than an epoch': Row(
        {'shuffle': False},
        3,
        7,
        [
            [0, 1, 2, 0, 1, 2, 0],
            [1, 2, 0, 1, 2, 0, 1],
            [2, 0, 1, 2, 0, 1, 2],
            [0, 1, 2, 0, 1, 2, 0],
            [1, 2, 0, 1, 2, 0, 1],
            [2, 0, 1, 2, 0, 1, 2],
            [0, 1, 2, 0, 1, 2, 0],
            [1, 2, 0, 1, 2, 0, 1],
            [2, 0, 1, 2, 0, 1, 2],
        ],
        [233, 467, 700, 933, 1167, 1400, 1633, 1867, 2100],
    ),
    'longer than an epoch, once': Row({'shuffle': False, 'repeat': False}, 3, 7, [[0, 1, 2]], [100]),
    'shuffled': Row(
        {},
        7,
        3,
        [[6, 2, 1], [3, 0, 5], [4, 1, 0], [6, 3, 4], [2, 5, 6], [3, 5, 1], [2, 4, 0], [5, 2, 3], [4, 1, 0]],
        [43, 86, 129, 171, 214, 257, 300, 343, 386],
    ),
    'shuffled, once': Row({'repeat': False}, 7, 3, [[6, 2, 1], [3, 0, 5], [4]], [43, 86, 100]),
    'shuffled, whole epochs': Row(
        {},
        6,
        3,
        [[5, 2, 1], [3, 0, 4], [1, 3, 4], [0, 2, 5], [3, 5, 1], [2, 4, 0], [5, 2, 3], [4, 1, 0], [2, 4, 3]],
        [50, 100, 150, 200, 250, 300, 350, 400, 450],
    ),
    'shuffled, longer than an epoch': Row(
        {'shuffle': True},
        3,
        4,
        [
            [2, 1, 0, 2],
            [0, 1, 0, 2],
            [1, 2, 0, 1],
            [2, 1, 0, 1],
            [0, 2, 1, 2],
            [0, 0, 1, 2],
            [0, 1, 2, 1],
            [0, 2, 0, 2],
            [1, 0, 2, 1],
        ],
        [133, 267, 400, 533, 667, 800, 933, 1067, 1200],
    ),
    'own sampler': Row(
        {'order_sampler': rotated},
        5,
        3,
        [[4, 0, 1], [2, 3, 0], [1, 2, 3], [4, 0, 1], [2, 3, 4], [2, 3, 4], [0, 1, 3], [4, 0, 1], [2, 3, 4]],
        [60, 120, 180, 240, 300, 360, 420, 480, 540],
    ),
    'own random state': Row(
        {'order_sampler': own_random_state},
        5,
        3,
        [[3, 4, 1], [0, 2, 2], [1, 3, 4], [0, 0, 4], [1, 2, 3], [3, 0, 4], [1, 2, 3], [2, 1, 0], [4, 3, 4]],
        [60, 120, 180, 240, 300, 360, 420, 480, 540],
    ),
}
