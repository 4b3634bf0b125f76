"""Snapshot writers, which determine where and when the file of a snapshot is written."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from typing import Any

import numpy

from minichainer.iterators._start_methods import how_to_start
from minichainer.iterators._worker import held_signals
from minichainer.serializers._replacing import replacing
from minichainer.serializers.npz import save_npz
from minichainer.training.extensions import _parent_watch


class Writer:
    """Base class of snapshot writers.

    A subclass defines ``__call__(filename, outdir, target)``, which writes immediately or later by :meth:`save`.

    .. admonition:: Example

        >>> import minichainer as chainer
        >>> from minichainer.training.extensions import snapshot_writers
        >>> class Uncompressed(snapshot_writers.Writer):
        ...     def __call__(self, filename, outdir, target):
        ...         self.save(filename, outdir, target, chainer.serializers.save_npz, compression=False)

    """

    def __init__(self) -> None:
        self._post_save_hooks: list[Callable[[], None]] = []

    def __call__(self, filename: str, outdir: str, target: Any) -> None:
        """Writes a snapshot.

        Args:
            filename (str): Name of the file.
            outdir (str): Folder.
            target (dict): Arrays by key.
        """
        raise NotImplementedError(f'{type(self).__name__} must define __call__(filename, outdir, target)')

    def finalize(self) -> None:
        """Waits until everything is written."""

    def save(self, filename: str, outdir: str, target: Any, savefun: Callable[..., Any], **kwds: Any) -> None:
        """Writes the file under a temporary name, renames it, and calls the hooks.

        Args:
            filename (str): Name of the file.
            outdir (str): Folder.
            target (dict): Arrays by key.
            savefun: Function ``savefun(path, target, **kwds)``.
            kwds: Keyword arguments of ``savefun``; but ``durable`` says whether to wait until the file is on the
                disk, which is the default.
        """
        write(os.path.join(outdir, filename), target, savefun, kwds)
        self._post_save()

    def _add_cleanup_hook(self, hook_fun: Callable[[], None]) -> None:
        self._post_save_hooks.append(hook_fun)

    def _post_save(self) -> None:
        for hook in self._post_save_hooks:
            hook()


def write(path: str, target: Any, savefun: Callable[..., Any], kwds: dict[str, Any]) -> None:
    """Writes a file that gets its name only when it is complete."""
    options = {name: value for name, value in kwds.items() if name != 'durable'}
    with _parent_watch.not_interrupted(), replacing(path, kwds.get('durable', True)) as part:
        savefun(part, target, **options)


class SimpleWriter(Writer):
    """Writes the file before the training continues.

    Args:
        savefun: Function ``savefun(path, target, **kwds)``.
        kwds: Keyword arguments of ``savefun``; but ``durable=False`` does not wait until the file is on the disk.

    .. admonition:: Example

        >>> from minichainer.training import extensions
        >>> writer = extensions.snapshot_writers.SimpleWriter(compression=False)
        >>> saving = extensions.snapshot(writer=writer)

    """

    def __init__(self, savefun: Callable[..., Any] = save_npz, **kwds: Any) -> None:
        super().__init__()
        self._savefun = savefun
        self._kwds = kwds

    def __call__(self, filename: str, outdir: str, target: Any) -> None:
        """Writes a snapshot."""
        self.save(filename, outdir, target, self._savefun, **self._kwds)


class StandardWriter(SimpleWriter):
    """Base class of writers that write during training, one snapshot at a time.

    A write error is raised at the next snapshot or at the end of the training.

    Args:
        savefun: Function ``savefun(path, target, **kwds)``.
        kwds: Keyword arguments of ``savefun``.

    .. admonition:: Example

        >>> from concurrent.futures import ThreadPoolExecutor
        >>> from minichainer.training.extensions import snapshot_writers
        >>> class Own(snapshot_writers.StandardWriter):
        ...     def create_executor(self):
        ...         return ThreadPoolExecutor(1, thread_name_prefix='snapshot')

    """

    _executor: Executor | None = None
    _max_pending = 1

    def __init__(self, savefun: Callable[..., Any] = save_npz, **kwds: Any) -> None:
        super().__init__(savefun, **kwds)
        self._pending: list[Future[None]] = []

    def create_executor(self) -> Executor:
        """Returns the executor for writing, with one worker."""
        raise NotImplementedError(f'{type(self).__name__} must define create_executor()')

    def __call__(self, filename: str, outdir: str, target: Any) -> None:
        """Starts to write a snapshot; waits for the previous one."""
        self._wait(self._max_pending - 1)
        if self._executor is None:
            self._executor = self.create_executor()
        # The training changes the arrays during writing.
        frozen = type(target)({key: numpy.array(value) for key, value in target.items()})
        path = os.path.join(outdir, filename)
        with held_signals():  # a process may be started here
            self._pending.append(self._executor.submit(write, path, frozen, self._savefun, self._kwds))

    def _wait(self, left: float) -> None:
        while self._pending and (len(self._pending) > left or self._pending[0].done()):
            try:
                self._pending.pop(0).result()
            except BrokenExecutor as error:
                raise RuntimeError(_died(type(self).__name__)) from error
            self._post_save()

    def finalize(self) -> None:
        """Waits until everything is written."""
        executor, self._executor = self._executor, None
        if executor is not None:
            executor.shutdown()
            self._wait(0)


def _died(writer: str) -> str:
    """The message for a process that has ended before a snapshot was written."""
    text = f'{writer}: the process that writes snapshots died. {how_to_start(multiprocessing.get_start_method())}'
    return f'{text}Its standard error may say why; ThreadWriter writes without processes'


class ThreadWriter(StandardWriter):
    """Writes in a thread; a snapshot waits until the previous one is written.

    Args:
        savefun: Function ``savefun(path, target, **kwds)``.
        kwds: Keyword arguments of ``savefun``.

    .. admonition:: Example

        >>> from minichainer.training import extensions
        >>> saving = extensions.snapshot(writer=extensions.snapshot_writers.ThreadWriter())

    """

    def create_executor(self) -> Executor:
        """Returns an executor with one thread."""
        return ThreadPoolExecutor(1)


class ProcessWriter(StandardWriter):
    """Writes in another process, one snapshot at a time; ``savefun`` must be picklable.

    The process ends with the training, even if that is killed; a snapshot that it has got by then is still written.

    Args:
        savefun: Function ``savefun(path, target, **kwds)``.
        kwds: Keyword arguments of ``savefun``.

    .. admonition:: Example

        >>> from minichainer.training import extensions
        >>> saving = extensions.snapshot(writer=extensions.snapshot_writers.ProcessWriter())

    """

    def create_executor(self) -> Executor:
        """Returns an executor with one process."""
        from concurrent.futures import ProcessPoolExecutor

        return ProcessPoolExecutor(1, initializer=_parent_watch.end_with_the_parent)


class QueueWriter(StandardWriter):
    """Base class of writers that queue snapshots while earlier ones are being written.

    Args:
        savefun: Function ``savefun(path, target, **kwds)``.
        kwds: Keyword arguments of ``savefun``.

    .. admonition:: Example

        >>> from minichainer.training.extensions import snapshot_writers
        >>> issubclass(snapshot_writers.ThreadQueueWriter, snapshot_writers.QueueWriter)
        True

    """

    _max_pending = 10**9


class ThreadQueueWriter(QueueWriter, ThreadWriter):
    """Writes in a thread; snapshots are queued, so that the training does not wait.

    Args:
        savefun: Function ``savefun(path, target, **kwds)``.
        kwds: Keyword arguments of ``savefun``.

    .. admonition:: Example

        >>> from minichainer.training import extensions
        >>> saving = extensions.snapshot(writer=extensions.snapshot_writers.ThreadQueueWriter())

    """


class ProcessQueueWriter(QueueWriter, ProcessWriter):
    """Writes in another process; snapshots are queued, so that the training does not wait.

    Args:
        savefun: Function ``savefun(path, target, **kwds)``.
        kwds: Keyword arguments of ``savefun``.

    .. admonition:: Example

        >>> from minichainer.training import extensions
        >>> saving = extensions.snapshot(writer=extensions.snapshot_writers.ProcessQueueWriter())

    """
