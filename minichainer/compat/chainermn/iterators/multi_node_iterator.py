"""With one process, an iterator serves itself."""

from __future__ import annotations

from typing import Any


def create_multi_node_iterator(actual_iterator: Any, communicator: Any, rank_master: int = 0) -> Any:
    """The iterator, whose batches all processes get.

    Args:
        actual_iterator: an iterator.
        communicator: a communicator.
        rank_master: the process that has the dataset; 0.
    """
    return communicator.bcast_obj(actual_iterator, root=rank_master)


def create_synchronized_iterator(actual_iterator: Any, communicator: Any) -> Any:
    """The iterator, in the same order on all processes.

    Args:
        actual_iterator: an iterator.
        communicator: a communicator.
    """
    return actual_iterator
