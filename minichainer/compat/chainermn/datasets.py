"""Datasets that are divided among processes, of which there is one."""

from __future__ import annotations

from typing import Any

import numpy

from minichainer.datasets.sub_dataset import SubDataset
from minichainer.datasets.transform_dataset import TransformDataset
from minichainer.errors import DataSizeError as DataSizeError


def scatter_dataset(
    dataset: Any,
    comm: Any,
    root: int = 0,
    shuffle: bool = False,
    seed: int | None = None,
    max_buf_len: int = 256 * 1024 * 1024,
    *,
    force_equal_length: bool = True,
) -> SubDataset:
    """The share of this process in a dataset: all of it.

    Args:
        dataset: the dataset.
        comm: a communicator.
        root: the process that has the dataset; 0.
        shuffle: draw an order.
        seed: for drawing it.
        max_buf_len: has no effect.
        force_equal_length: has no effect.

    >>> from minichainer.compat import chainermn
    >>> chainermn.scatter_dataset([3, 1, 2], chainermn.create_communicator('naive'))[:]
    [3, 1, 2]
    """
    begin, end = scatter_index(len(dataset), comm, root)
    order = numpy.random.RandomState(seed).permutation(len(dataset)) if shuffle else None
    return SubDataset(comm.bcast_obj(dataset, root=root), begin, end, order)


def scatter_index(
    n_total_samples: int, comm: Any, root: int = 0, *, force_equal_length: bool = True
) -> tuple[int, int]:
    """Where the share of this process begins and ends.

    Args:
        n_total_samples: the number of samples.
        comm: a communicator.
        root: the process that decides; 0.
        force_equal_length: has no effect.
    """
    shares: tuple[int, int] = comm.scatter_obj([(0, n_total_samples)], root=root)
    return shares


def create_empty_dataset(dataset: Any) -> TransformDataset:
    """A dataset of the same length whose examples are empty tuples, for processes that need no data.

    Args:
        dataset: the dataset.
    """
    return TransformDataset(dataset, _nothing)


def _nothing(example: Any) -> tuple[()]:
    return ()
