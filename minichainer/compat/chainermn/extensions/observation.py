"""Extensions that combine what processes have observed, and others that concern one process as they do all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minichainer.training.extension import Extension
from minichainer.training.triggers.early_stopping_trigger import EarlyStoppingTrigger
from minichainer.training.util import get_trigger


class AllreducePersistent(Extension):
    """Averages the persistent values of a model over processes, which changes nothing on one.

    Args:
        model: the model.
        comm: a communicator.
    """

    trigger = 1, 'epoch'

    def __init__(self, model: Any, comm: Any) -> None:
        self.model, self.comm = model, comm

    def __call__(self, trainer: Any = None) -> None:
        """Does nothing."""


class ObservationAggregator(Extension):
    """Combines the values that all processes have reported under a key.

    Args:
        comm: a communicator.
        original_key: the key.
        aggregated_key: the key of the result; the same by default.
        comm_trigger: when.
        aggregator: makes the result of one list of values per process; their mean by default.
    """

    trigger = 1, 'iteration'
    priority = 250

    def __init__(
        self,
        comm: Any,
        original_key: str,
        aggregated_key: str | None = None,
        *,
        comm_trigger: Any = (1, 'iteration'),
        aggregator: Callable[[list[list[Any]]], Any] | None = None,
    ) -> None:
        self.comm, self.original_key = comm, original_key
        self.aggregated_key = original_key if aggregated_key is None else aggregated_key
        self.comm_trigger = get_trigger(comm_trigger)
        self.aggregator = aggregator or _mean
        self.observation_history: list[Any] = []

    def __call__(self, trainer: Any) -> None:
        observation = trainer.observation
        if self.original_key in observation:
            self.observation_history.append(observation[self.original_key])
        if self.comm_trigger(trainer):
            history, self.observation_history = self.observation_history, []
            observation[self.aggregated_key] = self.aggregator(self.comm.gather_obj(history))


def _mean(values: list[list[Any]]) -> Any:
    flat = [value for of_process in values for value in of_process]
    return sum(flat) / len(flat)


class MultiNodeEarlyStoppingTrigger(EarlyStoppingTrigger):
    """Early stopping by means over all processes.

    Args:
        comm: a communicator.
        args: as for :class:`~minichainer.training.triggers.EarlyStoppingTrigger`.
        kwargs: as for that.
    """

    def __init__(self, comm: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.comm = comm


def multi_node_snapshot(comm: Any, snapshot: Any, replica_sets: Any) -> Any:
    """The snapshot extension: one process saves its own state.

    Args:
        comm: a communicator.
        snapshot: what ``extensions.snapshot`` returns.
        replica_sets: groups of processes with the same state, lists of ranks.

    Raises:
        ValueError: a group has a process that does not exist.
    """
    ranks = {rank for group in replica_sets for rank in group}
    if ranks - {0}:
        raise ValueError(f'multi_node_snapshot: process 0 is the only one, got replica_sets={replica_sets!r}')
    return snapshot
