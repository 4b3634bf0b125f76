"""Sums and copies of arrays between processes, each with a GPU of its own."""

from __future__ import annotations

from typing import Any, Protocol

from minichainer.backends import cuda


class Communicator(Protocol):
    """One process's access to the others; process 0 is the main one. All processes call the same methods."""

    def reduce(self, array: Any) -> None:
        """Adds up the arrays of all processes; the sum is written to that of process 0."""

    def broadcast(self, array: Any) -> None:
        """Copies the array of process 0 to those of all others."""


class NcclGroup:
    """Makes communicators that use NCCL, through CuPy."""

    def available(self) -> bool:
        """Whether CuPy has NCCL."""
        return cuda.available and bool(getattr(_nccl(), 'available', False))

    def new_id(self) -> Any:
        """The name of a new group."""
        return _nccl().get_unique_id()

    def join(self, size: int, group_id: Any, rank: int) -> Communicator:
        """Waits for all processes of the group; the current GPU is used."""
        return _NcclCommunicator(_nccl().NcclCommunicator(size, group_id, rank))


class _NcclCommunicator:
    def __init__(self, nccl: Any) -> None:
        self._nccl = nccl

    def reduce(self, array: Any) -> None:
        place, stream = array.data.ptr, cuda.cupy.cuda.get_current_stream().ptr
        self._nccl.reduce(place, place, array.size, _type_of(array), _nccl().NCCL_SUM, 0, stream)

    def broadcast(self, array: Any) -> None:
        stream = cuda.cupy.cuda.get_current_stream().ptr
        self._nccl.bcast(array.data.ptr, array.size, _type_of(array), 0, stream)


def _type_of(array: Any) -> int:
    number: int = getattr(_nccl(), f'NCCL_{array.dtype.name.upper()}')
    return number


def _nccl() -> Any:
    return getattr(cuda.cupy.cuda, 'nccl', None)


def reduce_grads(model: Any, communicator: Communicator) -> None:
    """Adds up the gradients of all processes in the model of process 0; one that is missing counts as zeros."""
    for params in _by_dtype(model):
        grads = [params[0].xp.zeros_like(p.array) if p.grad is None else p.grad for p in params]
        flat = params[0].xp.concatenate([grad.ravel() for grad in grads])
        communicator.reduce(flat)
        for param, grad in zip(params, _split(flat, params), strict=True):
            param.grad = grad


def broadcast_params(model: Any, communicator: Communicator) -> None:
    """Copies the parameters of process 0 to the models of all others."""
    for params in _by_dtype(model):
        flat = params[0].xp.concatenate([p.array.ravel() for p in params])
        communicator.broadcast(flat)
        for param, array in zip(params, _split(flat, params), strict=True):
            param.array[...] = array


def _by_dtype(model: Any) -> list[list[Any]]:
    """The parameters in the same order in all processes, those of a dtype together."""
    groups: dict[str, list[Any]] = {}
    for _, param in sorted(model.namedparams()):
        groups.setdefault(param.dtype.name, []).append(param)
    return list(groups.values())


def _split(flat: Any, params: list[Any]) -> list[Any]:
    arrays, start = [], 0
    for param in params:
        arrays.append(flat[start : start + param.size].reshape(param.shape))
        start += param.size
    return arrays
