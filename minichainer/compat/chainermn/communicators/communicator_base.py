"""The interface of communicators."""

from __future__ import annotations

from typing import Any


class CommunicatorBase:
    """Base class of communicators: ranks and sizes, and what is sent between processes.

    Programs may define communicators of their own; :func:`~minichainer.compat.chainermn.create_communicator` makes
    one of a single process.
    """

    #: The number of this process, and how many there are.
    rank: int
    size: int
    #: The same among the processes of this machine.
    intra_rank: int
    intra_size: int
    #: The number of this machine, and how many there are.
    inter_rank: int
    inter_size: int

    def __init__(self) -> None:
        self._config: dict[str, Any] = {}

    def _missing(self, name: str) -> NotImplementedError:
        return NotImplementedError(f'{type(self).__name__} must define {name}')

    def set_config(self, name: str, value: Any = True, **kwargs: Any) -> None:
        """Sets an option; options have no effect here."""
        self._config[name] = value

    def get_config(self, name: str | None = None) -> Any:
        """An option, or all of them as a dict."""
        return self._config if name is None else self._config[name]

    def split(self, color: int, key: int) -> CommunicatorBase:
        """The communicator of the processes with this color, ordered by their keys."""
        raise self._missing('split')

    def alltoall(self, xs: Any) -> Any:
        """Sends one array to each process, and returns a tuple of those received."""
        raise self._missing('alltoall')

    def send(self, data: Any, dest: int, tag: int) -> None:
        """Sends an array to a process."""
        raise self._missing('send')

    def recv(self, source: int, tag: int) -> Any:
        """Receives an array of a process."""
        raise self._missing('recv')

    def bcast(self, data: Any, max_buf_len: int | None = None, root: int = 0) -> Any:
        """Sends an array of the root to all."""
        raise self._missing('bcast')

    def gather(self, data: Any, root: int = 0) -> Any:
        """Collects an array of each process at the root, as a tuple."""
        raise self._missing('gather')

    def allgather(self, x: Any) -> Any:
        """Collects an array of each process at all of them, as a tuple."""
        raise self._missing('allgather')

    def allreduce(self, data: Any) -> Any:
        """The sum of an array over all processes."""
        raise self._missing('allreduce')

    def scatter(self, xs: Any, root: int = 0) -> Any:
        """Sends one array of the root to each process."""
        raise self._missing('scatter')

    def finalize(self) -> None:
        """Releases what it holds."""

    def send_obj(self, obj: Any, dest: int, tag: int = 0) -> None:
        """Sends an object to a process."""
        raise self._missing('send_obj')

    def recv_obj(self, source: int, status: Any = None, tag: int = 0) -> Any:
        """Receives an object of a process."""
        raise self._missing('recv_obj')

    def bcast_obj(self, obj: Any, max_buf_len: int | None = None, root: int = 0) -> Any:
        """Sends an object of the root to all."""
        raise self._missing('bcast_obj')

    def gather_obj(self, obj: Any, root: int = 0) -> Any:
        """Collects an object of each process at the root, as a list."""
        raise self._missing('gather_obj')

    def allreduce_obj(self, obj: Any) -> Any:
        """The sum of an object over all processes."""
        raise self._missing('allreduce_obj')

    def bcast_data(self, model: Any) -> None:
        """Sends the parameters of the root's model to all."""
        raise self._missing('bcast_data')

    def broadcast_data(self, model: Any) -> None:
        """The same as :meth:`bcast_data`."""
        self.bcast_data(model)

    def multi_node_mean_grad(self, model: Any, zero_fill: bool = False) -> None:
        """Replaces the gradients of a model by their means over all processes."""
        raise self._missing('multi_node_mean_grad')

    def allreduce_grad(self, model: Any, zero_fill: bool = False) -> None:
        """The same as :meth:`multi_node_mean_grad`."""
        self.multi_node_mean_grad(model, zero_fill)
