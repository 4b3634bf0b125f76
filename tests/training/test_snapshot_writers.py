"""Writers of snapshots that programs define by the methods of Chainer's classes."""

from __future__ import annotations

import multiprocessing
import queue
import threading
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest

from minichainer.serializers import save_npz
from minichainer.training.extensions import snapshot_writers as writers

ARRAYS = {'a': np.arange(3)}


def read(path: Path) -> list[int]:
    with np.load(path) as file:
        return list(file['a'])


class Threads(writers.StandardWriter):
    """As programs have it."""

    def create_worker(self, filename: str, outdir: str, target: Any, **kwds: Any) -> Any:
        arguments = filename, outdir, target, self._savefun
        return threading.Thread(target=self.save, args=arguments, kwargs=kwds)


class OtherThreads(writers.ThreadWriter):
    used = 0

    def create_worker(self, *args: Any, **kwds: Any) -> Any:
        self.used += 1
        return super().create_worker(*args, **kwds)


class Queue(writers.QueueWriter):
    def create_queue(self) -> Any:
        return queue.Queue()

    def create_consumer(self, q: Any) -> Any:
        return threading.Thread(target=self.consume, args=(q,))


class ThreadQueue(writers.ThreadQueueWriter):
    used = 0

    def create_task(self, savefun: Any) -> Any:
        self.used += 1
        return super().create_task(savefun)


MADE = {
    'worker': Threads,
    'worker of a thread writer': OtherThreads,
    'queue': Queue,
    'task of a queue of threads': ThreadQueue,
    'task': lambda: writers.ThreadQueueWriter(task=writers.SimpleWriter()),
    'task of a process': lambda: writers.ProcessQueueWriter(task=writers.SimpleWriter()),
    'threads': writers.ThreadWriter,
    'processes': writers.ProcessWriter,
}


@pytest.mark.parametrize('name', MADE)
def test_files_are_written_as_they_were_when_the_writer_was_called(name: str, tmp_path: Path) -> None:
    writer, arrays = MADE[name](), {'a': np.arange(3)}
    for step in range(3):
        writer(f'{step}.npz', str(tmp_path), arrays)
        arrays['a'] += 1
    writer.finalize()
    assert [read(tmp_path / f'{step}.npz') for step in range(3)] == [[0, 1, 2], [1, 2, 3], [2, 3, 4]]
    assert getattr(writer, 'used', 1) >= 1
    writer.finalize()


def test_a_writer_waits_for_the_worker_before() -> None:
    worker = mock.MagicMock()
    with mock.patch.object(writers.StandardWriter, 'create_worker', return_value=worker):
        writer = writers.StandardWriter()
        writer('a', 'out', 'anything')
        writer('a', 'out', 'anything')
        assert (worker.start.call_count, worker.join.call_count) == (2, 1)
        writer.finalize()
    assert worker.join.call_count == 2


def test_a_queue_has_one_consumer() -> None:
    q, consumer = mock.MagicMock(), mock.MagicMock()
    with (
        mock.patch.object(writers.QueueWriter, 'create_queue', return_value=q),
        mock.patch.object(writers.QueueWriter, 'create_consumer', return_value=consumer),
    ):
        writer = writers.QueueWriter()
        for _ in range(3):
            writer('a', 'out', 'anything')
        assert (consumer.start.call_count, q.put.call_count) == (1, 3)
        writer.finalize()
    assert (q.put.call_count, q.join.call_count, consumer.join.call_count) == (4, 1, 1)


def test_consuming_ends_with_none() -> None:
    q, task = mock.MagicMock(), mock.MagicMock()
    q.get.side_effect = [[task, 'a', 'b', 'c'], [task, 'd', 'e', 'f'], None]
    writers.ThreadQueueWriter().consume(q)
    assert q.task_done.call_count == 3 and task.call_args_list == [mock.call('a', 'b', 'c'), mock.call('d', 'e', 'f')]


def test_what_the_methods_of_chainer_return() -> None:
    thread, process = writers.ThreadQueueWriter(), writers.ProcessQueueWriter()
    assert isinstance(thread.create_queue(), queue.Queue)
    assert isinstance(thread.create_consumer(None), threading.Thread)
    assert isinstance(process.create_consumer(None), multiprocessing.Process)
    assert isinstance(writers.ThreadWriter().create_worker('a', 'b', {}, savefun=save_npz), threading.Thread)
    assert isinstance(writers.ProcessWriter().create_worker('a', 'b', {}), multiprocessing.Process)
    assert isinstance(thread.create_task(save_npz), writers.SimpleWriter)


@pytest.mark.parametrize('make', [Queue, lambda: writers.ThreadQueueWriter(task=_fail)])
def test_an_error_of_a_consumer_is_raised_at_the_end(
    make: Any, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    writer = make()
    if isinstance(writer, Queue):
        writer._task = _fail
    writer('a.npz', str(tmp_path), ARRAYS)
    writer('b.npz', str(tmp_path), ARRAYS)
    with pytest.raises(OSError, match='full'):
        writer.finalize()
    writer.finalize()
    assert capfd.readouterr().err.count('OSError: full') == 2


def _fail(*args: Any) -> None:
    raise OSError('full')


@pytest.mark.parametrize('base', [writers.StandardWriter, writers.QueueWriter])
def test_a_writer_without_any_of_the_methods(base: Any, tmp_path: Path) -> None:
    with pytest.raises(NotImplementedError, match=r'Own must define create_executor\(\),? or create_'):
        type('Own', (base,), {})()('a.npz', str(tmp_path), ARRAYS)
