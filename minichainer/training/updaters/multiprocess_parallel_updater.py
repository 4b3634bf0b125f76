from __future__ import annotations

import atexit
import contextlib
import multiprocessing
import multiprocessing.connection
import traceback
from collections.abc import Callable, Sequence
from typing import Any

from minichainer import backend
from minichainer.dataset.convert import concat_examples
from minichainer.iterators._worker import end_with_the_parent, held_signals, leave_signals_to_the_parent
from minichainer.reporter import Reporter
from minichainer.training._first_error import run_all
from minichainer.training.updaters._communicator import NcclGroup, broadcast_params, reduce_grads
from minichainer.training.updaters._parallel import as_device, differentiate, is_initialized, main_first
from minichainer.training.updaters.standard_updater import StandardUpdater

#: Messages to a worker. The first comes with initial parameters, or None.
_UPDATE, _FINISH, _STOP = 'update', 'finish', 'stop'


class MultiprocessParallelUpdater(StandardUpdater):
    """Like :class:`ParallelUpdater`, with a process for each GPU; they exchange arrays by NCCL.

    Each process has an iterator and a copy of the model. The gradients of all are added up in the main process, whose
    optimizer updates the parameters; then the others copy them. So if the loss is a mean, the gradient is that of
    :class:`StandardUpdater` times the number of processes: adjust the learning rate, or divide the loss.

    The processes are started by the first update, with the start method of :mod:`multiprocessing`. Nothing may have
    used a GPU before if that is ``'fork'``. Only the main process reports values, and only its iterator, its
    persistent values and the optimizer are saved.

    Args:
        iterators: Iterators over parts of the training set, one for each device; the first is the main one.
        optimizer: Optimizer that was set up with the model.
        converter: Function ``converter(batch, device)`` that makes arrays of a list of examples.
        devices: Devices: a list whose first one is the main process's, or a dict with a key ``'main'``.
        auto_new_epoch (bool): Whether to call ``new_epoch`` of the optimizer after each epoch.

    Raises:
        RuntimeError: There is no NCCL, or, at an update, another process has failed.
        ValueError: There are not as many iterators as devices.

    .. admonition:: Example

        >>> from minichainer import training
        >>> if training.updaters.MultiprocessParallelUpdater.available():
        ...     pass  # MultiprocessParallelUpdater(iterators, optimizer, devices=[0, 1])

    """

    #: Connects the processes; tests have others.
    _group: Any = NcclGroup()

    def __init__(
        self,
        iterators: Sequence[Any],
        optimizer: Any,
        converter: Callable[..., Any] = concat_examples,
        devices: Any = None,
        auto_new_epoch: bool = True,
    ) -> None:
        if not self._group.available():
            raise RuntimeError(
                'NCCL is not enabled: MultiprocessParallelUpdater requires CuPy with NCCL and GPUs; install them, or '
                'use ParallelUpdater, or StandardUpdater for one device'
            )
        self._all_devices = _as_devices(devices)
        if len(iterators) != len(self._all_devices):
            raise ValueError(
                f'MultiprocessParallelUpdater: one iterator for each device is required, got {len(iterators)} '
                f'iterators and {len(self._all_devices)} devices'
            )
        super().__init__(iterators[0], optimizer, converter, auto_new_epoch=auto_new_epoch)
        self._all_iterators = list(iterators)
        self._workers: list[_Worker] = []
        self._communicator: Any = None

    @staticmethod
    def available() -> bool:
        """Whether CuPy and NCCL are installed."""
        return NcclGroup().available()

    @property
    def device(self) -> Any:
        """The device of the main process."""
        return self._all_devices[0]

    @property
    def input_device(self) -> Any:
        """The same as :attr:`device`."""
        return self._all_devices[0]

    def setup_workers(self) -> None:
        """Starts the other processes, if they do not run yet; the first update calls it."""
        if self._communicator is not None:
            return
        target, size = self.get_optimizer('main').target, len(self._all_devices)
        group_id = self._group.new_id()
        atexit.register(self._stop)
        for rank in range(1, size):
            job = (self._group, group_id, size, rank, self._all_devices[rank])
            self._workers.append(_Worker(job, target, self._all_iterators[rank], self.converter))
        with backend.using_device(self.device):
            target.to_device(self.device)
            self._communicator = self._group.join(size, group_id, 0)

    def update_core(self) -> None:
        """Computes gradients in all processes, and updates with the optimizer."""
        self.setup_workers()
        iterator, optimizer = self.get_iterator('main'), self.get_optimizer('main')
        model = optimizer.target
        is_lazy = not is_initialized(model)
        if is_lazy:  # the others need the initial values that the first call draws
            self._differentiate(model, iterator.next())
        self._send_message((_UPDATE, _initial_values(model) if is_lazy else None))
        if not is_lazy:
            self._differentiate(model, iterator.next())
        self._wait()
        self._send_message((_FINISH, None))
        with backend.using_device(self.device):
            reduce_grads(model, self._communicator)
            optimizer.update()
            broadcast_params(model, self._communicator)
        if self.auto_new_epoch and iterator.is_new_epoch:
            optimizer.new_epoch(auto=True)

    def _differentiate(self, model: Any, batch: list[Any]) -> None:
        model.cleargrads()
        differentiate(model, self.loss_func, self.converter, batch, self.device)

    def _send_message(self, message: Any) -> None:
        for worker in self._workers:
            worker.connection.send(message)

    def _wait(self) -> None:
        """Waits until all processes have their gradients; raises if one has failed."""
        for worker in self._workers:
            error = worker.answer()
            if error is not None:
                self._stop()
                raise RuntimeError(f'MultiprocessParallelUpdater: {error}')

    def finalize(self) -> None:
        """Ends the processes and finalizes the iterators."""
        iterators = [(f'finalize of iterator {n}', it.finalize) for n, it in enumerate(self._all_iterators)]
        run_all([('ending the processes', self._stop), *iterators])

    def _stop(self) -> None:
        atexit.unregister(self._stop)
        for worker in self._workers:
            worker.stop()
        self._workers, self._communicator = [], None


class _Worker:
    """The main process's view of another one."""

    def __init__(self, job: tuple[Any, ...], model: Any, iterator: Any, converter: Any) -> None:
        self.connection, connection = multiprocessing.Pipe()
        # Not daemonic: its iterator may have processes of its own.
        self._process = multiprocessing.Process(target=_work, args=(connection, job, model, iterator, converter))
        with held_signals():
            self._process.start()
        connection.close()

    def answer(self) -> str | None:
        """Waits until it has gradients; returns a message if it has failed."""
        multiprocessing.connection.wait([self.connection, self._process.sentinel])
        with contextlib.suppress(EOFError, OSError):
            if self.connection.poll():
                error: str | None = self.connection.recv()
                return error
        self._process.join(1)
        return f'process {self._process.pid} died (exit code {self._process.exitcode})'

    def stop(self) -> None:
        with contextlib.suppress(OSError):  # it has died
            self.connection.send((_STOP, None))
        self._process.join(2)
        if self._process.is_alive():  # it computes, or waits for a process that has failed
            self._process.kill()
        self._process.join()
        self.connection.close()


def _work(connection: Any, job: tuple[Any, ...], model: Any, iterator: Any, converter: Any) -> None:
    """What another process does."""
    leave_signals_to_the_parent()
    end_with_the_parent()
    group, group_id, size, rank, device = job
    with backend.using_device(device), iterator, _unread_reports(model), contextlib.suppress(EOFError):
        model.to_device(device)
        communicator = group.join(size, group_id, rank)
        while True:
            command, values = connection.recv()
            if command == _STOP:
                return
            if command == _FINISH:
                reduce_grads(model, communicator)
                broadcast_params(model, communicator)
            else:
                connection.send(_try_to_differentiate(model, iterator, converter, device, values))


def _unread_reports(model: Any) -> Reporter:
    """A reporter for what the model reports here, which nobody reads."""
    reporter = Reporter()
    reporter.add_observer('main', model)
    reporter.add_observers('main', model.namedlinks(skipself=True))
    return reporter


def _try_to_differentiate(model: Any, iterator: Any, converter: Any, device: Any, values: Any) -> str | None:
    """Computes gradients; returns the traceback if that fails."""
    try:
        for name, param in model.namedparams() if values else ():
            if not param.is_initialized:
                param.array = device.send(values[name])
        model.cleargrads()
        differentiate(model, None, converter, iterator.next(), device)
    except Exception:
        return f'a process failed:\n{traceback.format_exc()}'
    return None


def _initial_values(model: Any) -> dict[str, Any]:
    cpu = backend.get_device('@numpy')
    return {name: cpu.send(param.array) for name, param in model.namedparams()}


def _as_devices(devices: Any) -> list[Any]:
    """The devices, the main one first."""
    if isinstance(devices, dict):
        if 'main' not in devices:
            raise KeyError(f"MultiprocessParallelUpdater: 'devices' must contain a 'main' key, got {sorted(devices)}")
        devices = [devices[name] for name in main_first(devices)]
    if not isinstance(devices, (list, tuple)) or not devices or any(device is None for device in devices):
        raise ValueError(
            'MultiprocessParallelUpdater: devices must be a list or tuple of devices, or a dict with a key '
            f"'main', got {devices!r}"
        )
    return [as_device(device) for device in devices]
