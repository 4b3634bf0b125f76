"""Snapshot writers, which determine where and when the file of a snapshot is written."""

from __future__ import annotations

import multiprocessing
import os
import queue
import threading
import traceback
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

    A write error is raised at the next snapshot or at the end of the training. A subclass defines ``create_executor``
    or, as in Chainer, ``create_worker``.

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
    _worker: Any = None
    _max_pending = 1

    def __init__(self, savefun: Callable[..., Any] = save_npz, **kwds: Any) -> None:
        super().__init__(savefun, **kwds)
        self._pending: list[Future[None]] = []

    def create_executor(self) -> Executor:
        """Returns the executor for writing, with one worker."""
        raise NotImplementedError(f'{type(self).__name__} must define create_executor()')

    def create_worker(self, filename: str, outdir: str, target: Any, **kwds: Any) -> Any:
        """Returns what writes one snapshot: an object with the methods ``start`` and ``join``, such as a thread.

        Args:
            filename (str): Name of the file.
            outdir (str): Folder.
            target (dict): Arrays by key.
            kwds: Keyword arguments of ``savefun``.
        """
        raise NotImplementedError(f'{type(self).__name__} must define create_executor() or create_worker()')

    def __call__(self, filename: str, outdir: str, target: Any) -> None:
        """Starts to write a snapshot; waits for the previous one."""
        frozen = _frozen(target)
        if _in_chainers_way(self, 'create_worker'):
            self._join()
            self._worker = self.create_worker(filename, outdir, frozen, **self._kwds)
            self._worker.start()
            return
        self._wait(self._max_pending - 1)
        if self._executor is None:
            self._executor = self.create_executor()
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

    def _join(self) -> None:
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.join()

    def finalize(self) -> None:
        """Waits until everything is written."""
        self._join()
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

    def create_worker(self, filename: str, outdir: str, target: Any, **kwds: Any) -> Any:
        """Returns a thread that writes one snapshot."""
        return threading.Thread(target=self.save, args=(filename, outdir, target, self._savefun), kwargs=self._kwds)


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

    def create_worker(self, filename: str, outdir: str, target: Any, **kwds: Any) -> Any:
        """Returns a process that writes one snapshot."""
        arguments = filename, outdir, target, self._savefun
        return multiprocessing.Process(target=self.save, args=arguments, kwargs=self._kwds)


class QueueWriter(StandardWriter):
    """Base class of writers that queue snapshots while earlier ones are being written.

    A subclass defines ``create_executor`` or, as in Chainer, ``create_queue`` and ``create_consumer``.

    Args:
        savefun: Function ``savefun(path, target, **kwds)``.
        task: Function ``task(filename, outdir, target)`` in the place of ``savefun``.
        kwds: Keyword arguments of ``savefun``.

    .. admonition:: Example

        >>> from minichainer.training.extensions import snapshot_writers
        >>> issubclass(snapshot_writers.ThreadQueueWriter, snapshot_writers.QueueWriter)
        True

    """

    _max_pending = 10**9
    _queue: Any = None
    _failure: Exception | None = None

    def __init__(
        self,
        savefun: Callable[..., Any] = save_npz,
        task: Callable[[str, str, Any], Any] | None = None,
        **kwds: Any,
    ) -> None:
        super().__init__(savefun, **kwds)
        if task is None and not _in_chainers_way(self, 'create_queue', 'create_consumer', 'create_task', 'consume'):
            return
        self._task = self.create_task(savefun) if task is None else task
        self._queue = self.create_queue()
        self._consumer = self.create_consumer(self._queue)
        self._consumer.start()

    def create_task(self, savefun: Callable[..., Any]) -> Any:
        """Returns what writes a snapshot: a function ``task(filename, outdir, target)``.

        Args:
            savefun: Function ``savefun(path, target, **kwds)``.
        """
        return SimpleWriter(savefun, **self._kwds)

    def create_queue(self) -> Any:
        """Returns the queue: an object with the methods ``put``, ``get``, ``task_done`` and ``join``."""
        raise NotImplementedError(
            f'{type(self).__name__} must define create_executor(), or create_queue() and create_consumer()'
        )

    def create_consumer(self, q: Any) -> Any:
        """Returns what calls ``self.consume(q)``: an object with the methods ``start`` and ``join``.

        Args:
            q: The queue.
        """
        raise NotImplementedError(f'{type(self).__name__} must define create_consumer(), as it has create_queue()')

    def consume(self, q: Any) -> None:
        """Writes the snapshots of a queue, up to None.

        Args:
            q: The queue.
        """
        while True:
            entry = q.get()
            try:
                if entry is None:
                    return
                entry[0](entry[1], entry[2], entry[3])
            except Exception as error:  # the others are written nevertheless
                traceback.print_exc()
                self._failure = error
            finally:
                q.task_done()

    def __call__(self, filename: str, outdir: str, target: Any) -> None:
        """Queues a snapshot."""
        if self._queue is None:
            super().__call__(filename, outdir, target)
        else:
            self._queue.put([self._task, filename, outdir, _frozen(target)])

    def finalize(self) -> None:
        """Waits until everything is written."""
        super().finalize()
        waiting, self._queue = self._queue, None
        if waiting is not None:
            waiting.put(None)
            waiting.join()
            self._consumer.join()
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure


class ThreadQueueWriter(QueueWriter, ThreadWriter):
    """Writes in a thread; snapshots are queued, so that the training does not wait.

    Args:
        savefun: Function ``savefun(path, target, **kwds)``.
        task: Function ``task(filename, outdir, target)`` in the place of ``savefun``.
        kwds: Keyword arguments of ``savefun``.

    .. admonition:: Example

        >>> from minichainer.training import extensions
        >>> saving = extensions.snapshot(writer=extensions.snapshot_writers.ThreadQueueWriter())

    """

    create_executor = ThreadWriter.create_executor

    def create_queue(self) -> Any:
        """Returns a queue of threads."""
        return queue.Queue()

    def create_consumer(self, q: Any) -> Any:
        """Returns a thread that writes the snapshots of the queue."""
        return threading.Thread(target=self.consume, args=(q,))


class ProcessQueueWriter(QueueWriter, ProcessWriter):
    """Writes in another process; snapshots are queued, so that the training does not wait.

    Args:
        savefun: Function ``savefun(path, target, **kwds)``.
        task: Function ``task(filename, outdir, target)`` in the place of ``savefun``.
        kwds: Keyword arguments of ``savefun``.

    .. admonition:: Example

        >>> from minichainer.training import extensions
        >>> saving = extensions.snapshot(writer=extensions.snapshot_writers.ProcessQueueWriter())

    """

    create_executor = ProcessWriter.create_executor

    def create_queue(self) -> Any:
        """Returns a queue of processes."""
        return multiprocessing.JoinableQueue()

    def create_consumer(self, q: Any) -> Any:
        """Returns a process that writes the snapshots of the queue."""
        return multiprocessing.Process(target=self.consume, args=(q,))


def _frozen(target: Any) -> Any:
    """A copy of the arrays, because the training changes them during writing."""
    if not isinstance(target, dict):
        return target
    return type(target)({key: numpy.array(value) for key, value in target.items()})


def _in_chainers_way(writer: StandardWriter, *methods: str) -> bool:
    """Whether a writer is meant to work by these methods of Chainer's, and not by ``create_executor``.

    The nearest class that defines one or the other decides; those of this module have an executor.
    """
    names = {*methods, 'create_executor'}
    nearest = next(cls for cls in type(writer).__mro__ if names & vars(cls).keys())
    return nearest in (StandardWriter, QueueWriter) or 'create_executor' not in vars(nearest)
