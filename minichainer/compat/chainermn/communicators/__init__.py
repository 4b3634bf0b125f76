"""Communicators of one process."""

from __future__ import annotations

import os
from typing import Any

from minichainer.compat.chainermn.communicators.communicator_base import CommunicatorBase as CommunicatorBase
from minichainer.compat.chainermn.communicators.single_process import SingleProcessCommunicator

_NAMES = """
    dummy flat hierarchical naive non_cuda_aware pure_nccl single_node two_dimensional
""".split()
#: Where launchers of MPI say how many processes there are.
_SIZES = ('OMPI_COMM_WORLD_SIZE', 'PMI_SIZE', 'MV2_COMM_WORLD_SIZE')


def create_communicator(
    communicator_name: str = 'pure_nccl',
    mpi_comm: Any = None,
    *,
    allreduce_grad_dtype: Any = None,
    batched_copy: bool = True,
) -> CommunicatorBase:
    """A communicator of this process alone, whatever the name is.

    Args:
        communicator_name: one of ChainerMN's names, such as ``'naive'`` or ``'pure_nccl'``.
        mpi_comm: a communicator of mpi4py, of size 1.
        allreduce_grad_dtype: for ``'pure_nccl'``; has no effect, because no gradients are sent.
        batched_copy: has no effect.

    Raises:
        ValueError: the name is unknown, or has no ``allreduce_grad_dtype``.
        RuntimeError: the program has been started as several processes.

    >>> from minichainer.compat import chainermn
    >>> comm = chainermn.create_communicator('naive')
    >>> comm.rank, comm.size
    (0, 1)
    """
    if communicator_name not in _NAMES:
        raise ValueError(f'create_communicator: expected one of {", ".join(_NAMES)}, got {communicator_name!r}')
    if communicator_name != 'pure_nccl' and allreduce_grad_dtype is not None:
        raise ValueError("create_communicator: only 'pure_nccl' takes allreduce_grad_dtype")
    size = _size(mpi_comm)
    if size > 1:
        raise RuntimeError(
            f'create_communicator: the program was started as {size} processes, and only one is supported\n'
            'Start it without mpiexec; for several GPUs of one machine, use training.updaters.ParallelUpdater'
        )
    return SingleProcessCommunicator(mpi_comm)


def _size(mpi_comm: Any) -> int:
    """The number of processes, as mpi4py or the launcher says."""
    if mpi_comm is not None:
        return int(mpi_comm.size)
    return max([int(os.environ.get(name, '1')) for name in _SIZES])
