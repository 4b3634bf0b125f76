"""A communicator of one process: collective operations return what they are given."""

from __future__ import annotations

from typing import Any

from minichainer.compat.chainermn.communicators.communicator_base import CommunicatorBase


class SingleProcessCommunicator(CommunicatorBase):
    """The communicator of this process alone.

    Args:
        mpi_comm: a communicator of mpi4py, which is only kept.
    """

    rank = intra_rank = inter_rank = 0
    size = intra_size = inter_size = 1

    def __init__(self, mpi_comm: Any = None) -> None:
        super().__init__()
        self.mpi_comm = mpi_comm

    def split(self, color: int, key: int) -> CommunicatorBase:
        return self

    def alltoall(self, xs: Any) -> Any:
        self._check_count('alltoall', xs)
        return tuple(xs)

    def send(self, data: Any, dest: int, tag: int = 0) -> None:
        raise self._no_partner('send', dest)

    def recv(self, source: int, tag: int = 0) -> Any:
        raise self._no_partner('recv', source)

    def bcast(self, data: Any, max_buf_len: int | None = None, root: int = 0) -> Any:
        self._check_root('bcast', root)
        return data

    def gather(self, data: Any, root: int = 0) -> Any:
        self._check_root('gather', root)
        return (data,)

    def allgather(self, x: Any) -> Any:
        return (x,)

    def allreduce(self, data: Any) -> Any:
        return data.copy()

    def scatter(self, xs: Any, root: int = 0) -> Any:
        self._check_root('scatter', root)
        self._check_count('scatter', xs)
        return xs[0]

    def send_obj(self, obj: Any, dest: int, tag: int = 0) -> None:
        raise self._no_partner('send_obj', dest)

    def recv_obj(self, source: int, status: Any = None, tag: int = 0) -> Any:
        raise self._no_partner('recv_obj', source)

    def bcast_obj(self, obj: Any, max_buf_len: int | None = None, root: int = 0) -> Any:
        self._check_root('bcast_obj', root)
        return obj

    def gather_obj(self, obj: Any, root: int = 0) -> Any:
        self._check_root('gather_obj', root)
        return [obj]

    def allgather_obj(self, obj: Any) -> Any:
        """Collects an object of each process at all of them, as a list."""
        return [obj]

    def scatter_obj(self, objs: Any, root: int = 0) -> Any:
        """Sends one object of the root to each process."""
        self._check_root('scatter_obj', root)
        self._check_count('scatter_obj', objs)
        return objs[0]

    def allreduce_obj(self, obj: Any) -> Any:
        return obj

    def bcast_data(self, model: Any) -> None:
        """Does nothing: there is no other model."""

    def multi_node_mean_grad(self, model: Any, zero_fill: bool = False) -> None:
        """The gradients are their means already; with ``zero_fill``, missing ones become zeros."""
        for param in model.params() if zero_fill else ():
            if param.array is not None and param.grad is None:
                param.grad = param.xp.zeros_like(param.array)

    def _no_partner(self, name: str, rank: int) -> RuntimeError:
        return RuntimeError(
            f'{name}: there is no process {rank} to communicate with, because only one process is supported\n'
            'Models that are divided among processes do not run; training in parallel does, on one process'
        )

    def _check_root(self, name: str, root: int) -> None:
        if root != 0:
            raise ValueError(f'{name}: root must be 0, the only process, got {root}')

    def _check_count(self, name: str, xs: Any) -> None:
        if len(xs) != 1:
            raise ValueError(f'{name}: expected one element for each process, which is 1, got {len(xs)}')
