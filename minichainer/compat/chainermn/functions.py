"""Functions that communicate: with one process, most return what they are given."""

from __future__ import annotations

from typing import Any

from minichainer.function_node import FunctionNode
from minichainer.variable import Variable, as_variable


def allgather(comm: Any, x: Any) -> tuple[Variable, ...]:
    """The Variables of all processes, as a tuple.

    Args:
        comm: a communicator.
        x: Variable or array.
    """
    return tuple(map(as_variable, comm.allgather(x)))


def alltoall(comm: Any, xs: Any) -> tuple[Variable, ...]:
    """One Variable for each process, and one of each.

    Args:
        comm: a communicator.
        xs: Variables or arrays, one for each process.
    """
    return tuple(map(as_variable, comm.alltoall(xs)))


def bcast(comm: Any, x: Any, root: int = 0) -> Variable:
    """The Variable of the root.

    Args:
        comm: a communicator.
        x: Variable or array.
        root: a process.
    """
    return as_variable(comm.bcast(x, root=root))


def gather(comm: Any, x: Any, root: int = 0) -> tuple[Variable, ...]:
    """The Variables of all processes, at the root.

    Args:
        comm: a communicator.
        x: Variable or array.
        root: a process.
    """
    return tuple(map(as_variable, comm.gather(x, root=root)))


def scatter(comm: Any, xs: Any, root: int = 0) -> Variable:
    """This process's Variable among those of the root.

    Args:
        comm: a communicator.
        xs: Variables or arrays, one for each process.
        root: a process.
    """
    return as_variable(comm.scatter(xs, root=root))


def send(x: Any, communicator: Any, rank: int, tag: int = 0) -> Any:
    """Sends a Variable to another process.

    Args:
        x: Variable or array.
        communicator: a communicator.
        rank: the other process.
        tag: a number of the message.

    Raises:
        RuntimeError: there is no other process.
    """
    return communicator.send(x, rank, tag)


def recv(communicator: Any, rank: int, delegate_variable: Any = None, tag: int = 0, force_tuple: bool = False) -> Any:
    """Receives a Variable of another process.

    Args:
        communicator: a communicator.
        rank: the other process.
        delegate_variable: what must be differentiated after the result.
        tag: a number of the message.
        force_tuple: return a tuple also for one Variable.

    Raises:
        RuntimeError: there is no other process.
    """
    return communicator.recv(rank, tag)


class PseudoConnect(FunctionNode):
    """Returns all inputs but the first, whose gradient is zero."""

    def forward(self, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        self.retain_inputs((0,))
        return inputs[1:]

    def backward(self, target_input_indexes: tuple[int, ...], grad_outputs: tuple[Any, ...]) -> Any:
        (delegate,) = self.get_retained_inputs()
        return (as_variable(delegate.xp.zeros_like(delegate.array)), *grad_outputs)


def pseudo_connect(delegate_variable: Any, *actual_variables: Any) -> tuple[Variable, ...]:
    """The Variables after the first, connected to it in the graph: a backward pass reaches it after them.

    Args:
        delegate_variable: a Variable, which gets zeros as gradient; None for no connection.
        actual_variables: the Variables to return.
    """
    if delegate_variable is None:
        return tuple(map(as_variable, actual_variables))
    return PseudoConnect().apply((delegate_variable, *actual_variables))
