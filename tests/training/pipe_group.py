"""Communicators of processes without GPUs: pipes, in place of NCCL."""

from __future__ import annotations

import multiprocessing
from typing import Any

import numpy as np


class PipeGroup:
    """Connects up to four processes; its own pipes go to the other processes with it."""

    def __init__(self) -> None:
        self.pipes = [multiprocessing.Pipe() for _ in range(4)]

    def available(self) -> bool:
        return True

    def new_id(self) -> Any:
        return 'pipes'

    def join(self, size: int, group_id: Any, rank: int) -> PipeCommunicator:
        assert group_id == 'pipes'
        mine = [self.pipes[k][0] for k in range(1, size)] if rank == 0 else [self.pipes[rank][1]]
        return PipeCommunicator(rank, mine)


class PipeCommunicator:
    def __init__(self, rank: int, pipes: list[Any]) -> None:
        self.rank, self.pipes = rank, pipes

    def reduce(self, array: Any) -> None:
        assert isinstance(array, np.ndarray)
        for pipe in self.pipes:
            if self.rank == 0:
                array += pipe.recv()
            else:
                pipe.send(array)

    def broadcast(self, array: Any) -> None:
        for pipe in self.pipes:
            if self.rank == 0:
                pipe.send(array)
            else:
                array[...] = pipe.recv()
