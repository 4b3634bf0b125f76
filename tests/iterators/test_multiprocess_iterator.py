"""The processes of MultiprocessIterator: what they deliver, how they fail, and that they end."""

from __future__ import annotations

import copy
import faulthandler
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minichainer.iterators import MultiprocessIterator, SerialIterator
from minichainer.serializers.npz import DictionarySerializer, NpzDeserializer

METHODS = multiprocessing.get_all_start_methods()
ROOT = Path(__file__).parents[2]
pytestmark = [
    # Of forks of a process that has threads, such as those of NumPy's BLAS.
    pytest.mark.filterwarnings('ignore:.*multi-threaded, use of fork:DeprecationWarning'),
    pytest.mark.skipif('fork' not in METHODS, reason='the datasets here are local classes'),
]


class Function:
    """A dataset of the values of a function."""

    def __init__(self, function: Callable[[int], Any], n: int = 12) -> None:
        self.function = function
        self.n = n

    def __len__(self) -> int:
        return self.n

    def __getitem__(self, i: int) -> Any:
        return self.function(i)


def in_order(function: Callable[[int], Any], batch_size: int = 3, **kwargs: Any) -> MultiprocessIterator:
    kwargs = {'n_processes': 2, 'shuffle': False, **kwargs}
    return MultiprocessIterator(Function(function), batch_size, **kwargs)


def program(name: str, method: str, **kwargs: Any) -> Any:
    command = [sys.executable, str(Path(__file__).with_name('process_programs.py')), name, method]
    environment = {**os.environ, 'PYTHONPATH': str(ROOT)}
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, **kwargs
    )


def output(name: str, method: str) -> str:
    """What a program prints; it ends by itself, without messages."""
    with program(name, method) as process:
        out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, '')
    return str(out).strip()


def draw(iterator: Any, n: int) -> list[Any]:
    return [iterator.next() for _ in range(n)]


# --- examples ---
def example(i: int) -> Any:
    return (
        np.full((3, 700), i, np.float32),
        np.asfortranarray(np.arange(2000.0).reshape(40, 50) + i),
        np.arange(3000)[::-2],
        {'a': [np.array(i), None, 'text'], 'empty': np.zeros((0, 4))},
        np.array([i, 'x', None], object),
        np.zeros(500, [('x', 'f8'), ('y', 'i2')]),
        b'bytes' * 100 * i,
    )


def check_equal(got: Any, expected: Any) -> None:
    assert type(got) is type(expected)
    if isinstance(got, (tuple, list)):
        assert len(got) == len(expected)
        for a, b in zip(got, expected, strict=True):
            check_equal(a, b)
    elif isinstance(got, dict):
        assert list(got) == list(expected)
        check_equal(list(got.values()), list(expected.values()))
    elif isinstance(got, np.ndarray):
        assert (got.dtype, got.flags.writeable) == (expected.dtype, True)
        np.testing.assert_array_equal(got, expected)
    else:
        assert got == expected


@pytest.mark.parametrize('shared_mem', [None, 0, 100, 25_000, 10**6])
def test_examples_of_every_kind_are_delivered(shared_mem: int | None) -> None:
    with in_order(example, shared_mem=shared_mem, n_prefetch=3) as iterator:
        batches = [iterator.next() for _ in range(8)]
    for b, batch in enumerate(batches):
        check_equal(batch, [example((3 * b + k) % 12) for k in range(3)])


@pytest.mark.parametrize(('shared_mem', 'is_used'), [(None, True), (0, False), (100, False), (10**5, True)])
def test_large_arrays_come_through_shared_memory(shared_mem: int | None, is_used: bool) -> None:
    with in_order(lambda i: np.full(10_000, i, 'f'), shared_mem=shared_mem) as iterator:
        iterator.next()
        pool = iterator._pool
        assert pool is not None
        assert [worker.arena is not None for worker in pool._workers] == [is_used] * 2


def test_growing_examples_and_memory_that_is_used_again() -> None:
    with in_order(lambda i: np.full(1000 * (i % 5 + 1) ** 4, i, 'i2'), n_prefetch=2) as iterator:
        kept = [iterator.next() for _ in range(40)]
        pool = iterator._pool
        assert pool is not None
        sizes = [os.fstat(worker.arena._file).st_size for worker in pool._workers if worker.arena]
        assert max(sizes) < 20 * 2 * 5**4 * 1000
    assert [[int(a[0]) for a in batch] for batch in kept] == [[(3 * b + k) % 12 for k in range(3)] for b in range(40)]
    assert all(np.ptp(a) == 0 for batch in kept for a in batch)


def test_indices_are_those_of_serial_iterator() -> None:
    for kwargs in ({'shuffle': False}, {'shuffle': True}):
        with in_order(lambda i: type(i), **kwargs) as iterator:
            assert iterator.next() == SerialIterator(Function(lambda i: type(i)), 3, **kwargs).next()


# --- reading ahead ---
@pytest.mark.parametrize(('kwargs', 'read'), [({}, 4), ({'n_prefetch': 3}, 8), ({'n_prefetch': 0}, 4)])
def test_it_reads_ahead(tmp_path: Path, kwargs: Any, read: int) -> None:
    with in_order(lambda i: (tmp_path / str(i)).touch(), 2, **kwargs) as iterator:
        iterator.next()
        deadline = time.monotonic() + 5
        while len(list(tmp_path.iterdir())) < read and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(0.05)
        assert len(list(tmp_path.iterdir())) == read


def test_the_end_of_a_shuffled_epoch_is_read_ahead_and_the_next_order_is_not_drawn(tmp_path: Path) -> None:
    with in_order(lambda i: (tmp_path / str(i)).touch(), 5, n_prefetch=9, shuffle=None) as iterator:
        before = np.random.get_state()[1].tolist()  # type: ignore[index, union-attr]
        iterator.next()
        deadline = time.monotonic() + 5
        while len(list(tmp_path.iterdir())) < 12 and time.monotonic() < deadline:
            time.sleep(0.01)
        assert len(list(tmp_path.iterdir())) == 12
        assert np.random.get_state()[1].tolist() == before  # type: ignore[index, union-attr]


def test_many_tasks_do_not_block() -> None:
    """Neither small ones, many of which are sent ahead, nor large ones with results that do not fit into a pipe."""
    with in_order(lambda i: i, 1, n_prefetch=500) as iterator:
        assert [iterator.next() for _ in range(600)] == [[i % 12] for i in range(600)]
    with in_order(lambda i: b'x' * 9, 40_000, n_prefetch=4, shared_mem=0) as iterator:
        assert [len(iterator.next()) for _ in range(5)] == [40_000] * 5


@pytest.mark.parametrize('limit', [1, 3])
def test_processes_are_replaced_after_some_tasks(limit: int) -> None:
    with in_order(lambda i: (i, os.getpid(), np.zeros(5000)), 4, maxtasksperchild=limit, n_prefetch=2) as iterator:
        batches = [iterator.next() for _ in range(9)]
        assert len(multiprocessing.active_children()) <= 4
    assert [i for batch in batches for i, _, _ in batch] == [*range(12)] * 3
    pids = [pid for batch in batches for _, pid, _ in batch[::2]]
    assert max(pids.count(pid) for pid in pids) == limit
    assert multiprocessing.active_children() == []


def test_random_numbers_differ_between_processes_and_not_between_runs() -> None:
    def numbers() -> list[Any]:
        np.random.seed(4)
        with in_order(lambda i: np.random.randint(10**9), 4) as iterator:
            return [number for _ in range(4) for number in iterator.next()]

    first = numbers()
    assert len(set(first)) == 16
    assert numbers() == first


# --- errors ---
class Unpicklable(Exception):
    def __init__(self, a: int, b: int) -> None:
        super().__init__(f'{a} and {b}')


def fails(error: BaseException) -> Any:
    raise error


@pytest.mark.parametrize(
    ('function', 'error', 'message'),
    [
        (lambda i: i if i != 4 else fails(KeyError('four')), KeyError, 'four'),
        (lambda i: i if i != 4 else fails(Unpicklable(1, 2)), RuntimeError, 'Unpicklable: 1 and 2'),
        (lambda i: i if i != 4 else (lambda: i), Exception, 'pickle|local object'),
        (lambda i: i if i != 4 else fails(StopAsyncIteration('x')), StopAsyncIteration, 'x'),
    ],
)
def test_an_error_of_the_dataset_is_raised_where_its_batch_is_due(function: Any, error: Any, message: str) -> None:
    with in_order(function, n_prefetch=2) as iterator:
        assert iterator.next() == [0, 1, 2]
        with pytest.raises(error, match=message) as caught:
            iterator.next()
        assert 'in send' in str(caught.value.__cause__)
        with pytest.raises(error, match=message):
            iterator.next()
        assert (iterator.current_position, iterator.epoch_detail) == (3, 0.25)


def test_an_error_is_raised_at_once() -> None:
    with in_order(lambda i: time.sleep(9) if i == 0 else fails(ValueError('no')), 2) as iterator:
        start = time.monotonic()
        with pytest.raises(ValueError, match='no'):
            iterator.next()
        assert time.monotonic() - start < 5


def once(path: Path, deadly: Callable[[], Any]) -> Any:
    if not path.exists():
        path.touch()
        deadly()


def crash() -> None:
    """Dies by SIGSEGV without the report of pytest, which readers of `make test` would take for a fault."""
    faulthandler.disable()
    os.kill(os.getpid(), signal.SIGSEGV)


@pytest.mark.parametrize(
    ('deadly', 'reason'),
    [
        (lambda: os._exit(3), 'exit code 3'),
        (lambda: os.kill(os.getpid(), signal.SIGKILL), 'signal SIGKILL, perhaps for lack of memory'),
        (crash, 'signal SIGSEGV'),
        (lambda: sys.exit(5), 'exit code 5'),
    ],
)
def test_a_process_that_dies_is_an_error_at_once_and_the_batch_is_not_lost(
    tmp_path: Path, deadly: Any, reason: str
) -> None:
    def function(i: int) -> int:
        if i == 4:
            once(tmp_path / 'x', deadly)
        return i

    with in_order(function) as iterator:
        start = time.monotonic()
        with pytest.raises(RuntimeError, match=rf'worker process \d+ died \({reason}\) while it read examples \['):
            draw(iterator, 2)
        assert time.monotonic() - start < 5
        assert multiprocessing.active_children() == []
        position = iterator.current_position
        assert iterator.next() == [position, position + 1, position + 2]


def test_a_wanted_crash_prints_nothing() -> None:
    command = [sys.executable, '-m', 'pytest', '-q', '-p', 'no:cacheprovider', __file__, '-k', 'dies and SIGSEGV']
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert '1 passed' in done.stdout and done.returncode == 0
    assert 'Fatal Python error' not in done.stdout + done.stderr


def test_a_process_that_is_killed_from_outside_is_noticed() -> None:
    with in_order(lambda i: time.sleep(0.05), 12, n_prefetch=3) as iterator:
        iterator.next()
        victim = multiprocessing.active_children()[0]
        os.kill(victim.pid or 0, signal.SIGKILL)
        victim.join()
        with pytest.raises(RuntimeError, match=r'died \(signal SIGKILL'):
            draw(iterator, 8)


def test_a_stalled_dataset_is_warned_about_and_the_batch_is_not_lost() -> None:
    with in_order(lambda i: time.sleep(0.4) or i, dataset_timeout=0.1) as iterator:
        with pytest.warns(MultiprocessIterator.TimeoutWarning, match='stalled.*0.1 seconds') as caught:
            assert iterator.next() == [0, 1, 2]
        timeouts = [w for w in caught if w.category is MultiprocessIterator.TimeoutWarning]  # others are Python's
        assert [w.filename for w in timeouts] == [__file__]
        with warnings.catch_warnings():
            warnings.simplefilter('error')
            with pytest.raises(MultiprocessIterator.TimeoutWarning):
                draw(iterator, 2)
        iterator.dataset_timeout = None
        position = iterator.current_position
        assert iterator.next()[0] == position
    assert issubclass(MultiprocessIterator.TimeoutWarning, RuntimeWarning)


@pytest.mark.parametrize(
    ('name', 'value', 'kind', 'expected'),
    [
        ('n_processes', -1, ValueError, 'at least 0 or None, got -1'),
        ('shared_mem', -1, ValueError, 'at least 0 or None, got -1'),
        ('maxtasksperchild', -1, ValueError, 'at least 1 or None, got -1'),
        ('maxtasksperchild', 0, ValueError, 'at least 1 or None, got 0'),
        ('dataset_timeout', -1, ValueError, 'at least 0 seconds or None, got -1'),
        ('dataset_timeout', float('nan'), ValueError, 'at least 0 seconds or None, got nan'),
        ('dataset_timeout', '9', TypeError, "got '9'"),
    ],
)
def test_numbers_out_of_their_range_are_refused(name: str, value: Any, kind: type, expected: str) -> None:
    with pytest.raises(kind, match=rf'MultiprocessIterator: .*{name}.*{expected}'):
        in_order(abs, **{name: value})


def test_defaults() -> None:
    iterator = MultiprocessIterator(range(3), 2)
    assert iterator.n_processes == MultiprocessIterator(range(3), 2, n_processes=0).n_processes == os.cpu_count()
    assert (iterator.n_prefetch, iterator.shared_mem, iterator.dataset_timeout) == (1, None, 30)
    assert multiprocessing.active_children() == []


# --- copies, forks, threads ---
def as_ints(batches: list[Any]) -> list[list[int]]:
    return [[int(i) for i in batch] for batch in batches]


@pytest.mark.parametrize('copied', [copy.copy, lambda iterator: pickle.loads(pickle.dumps(iterator))])
def test_a_copy_goes_on_from_the_same_position(copied: Any) -> None:
    with MultiprocessIterator(range(12), 5, repeat=False, n_processes=2) as iterator:
        iterator.next()
        with copied(iterator) as other:
            assert other.epoch_detail == iterator.epoch_detail
            assert as_ints(list(other)) == as_ints(list(iterator))


def test_snapshots_of_serial_iterator_fit_and_the_other_way_round() -> None:
    kinds = [lambda: SerialIterator(range(10), 4), lambda: MultiprocessIterator(range(10), 4, n_processes=1)]
    for kind, other in (kinds, kinds[::-1]):
        with kind() as one, other() as two:
            one.next()
            serializer = DictionarySerializer()
            one.serialize(serializer)
            two.next()
            two.serialize(NpzDeserializer(serializer.target))
            assert as_ints([one.next()]) == as_ints([two.next()])


def test_saving_does_not_disturb() -> None:
    with in_order(lambda i: i) as iterator:
        batches = []
        for _ in range(4):
            iterator.serialize(DictionarySerializer())
            batches += iterator.next()
        assert batches == [*range(12)]


def _in_a_fork(iterator: MultiprocessIterator, connection: Any) -> None:
    connection.send(iterator.next())
    iterator.finalize()


def test_a_forked_process_and_its_parent_use_it_independently() -> None:
    with in_order(lambda i: i) as iterator:
        iterator.next()
        ours, theirs = multiprocessing.Pipe()
        process = multiprocessing.Process(target=_in_a_fork, args=(iterator, theirs))
        process.start()
        assert ours.poll(20)
        assert ours.recv() == [3, 4, 5]
        process.join(20)
        assert process.exitcode == 0
        assert [iterator.next(), iterator.next()] == [[3, 4, 5], [6, 7, 8]]


def test_it_runs_in_a_thread_that_ends() -> None:
    with in_order(lambda i: np.full(5000, i)) as iterator:
        thread = threading.Thread(target=iterator.next)
        thread.start()
        thread.join(20)
        time.sleep(0.1)
        assert [int(a[0]) for a in iterator.next()] == [3, 4, 5]


# --- start methods, ends ---
@pytest.mark.parametrize('method', METHODS)
def test_start_methods_draw_the_same(method: str) -> None:
    assert output('draws', method) == 'True'


@pytest.mark.parametrize('method', [method for method in METHODS if method != 'fork'])
def test_a_dataset_that_cannot_be_pickled_is_refused(method: str) -> None:
    text = output('local_class', method)
    assert text.startswith('PicklingError MultiprocessIterator: the dataset of type Local cannot be pickled')
    assert f'start method {method!r} requires' in text
    assert 'at the top level of a module' in text
    assert text.endswith('[]')


@pytest.mark.parametrize(
    'method', [method if method == 'fork' else pytest.param(method, marks=pytest.mark.slow) for method in METHODS]
)
def test_a_program_ends_while_iterators_are_in_use(method: str) -> None:
    assert output('leaves_open', method) == 'done'


def test_an_iterator_that_is_not_referenced_ends_its_processes() -> None:
    assert output('is_collected', 'fork') == '2 0'


@pytest.mark.skipif(sys.platform != 'linux', reason='reads /proc')
@pytest.mark.parametrize('method', METHODS)
def test_no_process_is_left_when_the_parent_is_killed(method: str) -> None:
    """Not even if they read an example, and another fork of the parent has all pipes open."""
    shared = set(os.listdir('/dev/shm'))
    with program('stuck', method) as process:
        *workers, fork = (int(pid) for pid in process.stdout.readline().split())
        assert len(workers) == 2
        assert all(lives(pid) for pid in workers)
        process.kill()
        process.wait()
        deadline = time.monotonic() + 10
        while any(lives(pid) for pid in workers) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not any(lives(pid) for pid in workers)
        os.kill(fork, signal.SIGKILL)
    assert {name for name in os.listdir('/dev/shm') if 'minichainer' in name or 'psm_' in name} <= shared


def lives(pid: int) -> bool:
    """Whether there is such a process, and it is not a zombie."""
    try:
        state = Path(f'/proc/{pid}/stat').read_text(encoding='utf-8').rpartition(')')[2].split()[0]
    except FileNotFoundError:
        return False
    return state != 'Z'


WITHOUT_A_FILE = """
import multiprocessing, numpy
multiprocessing.set_start_method({method!r})
from minichainer.iterators import MultiprocessIterator

class Mine:
    def __len__(self):
        return 6
    def __getitem__(self, i):
        return i

try:
    MultiprocessIterator(Mine(), 2, n_processes=1).next()
except RuntimeError as error:
    print(error)
"""


@pytest.mark.parametrize('method', [name for name in METHODS if name != 'fork'])
def test_what_a_notebook_defines_is_named_as_the_cause(method: str) -> None:
    done = subprocess.run(
        [sys.executable, '-c', WITHOUT_A_FILE.format(method=method)], capture_output=True, text=True, timeout=120
    )
    assert 'put the classes and functions that they need into a module' in done.stdout, done.stderr
    assert 'Mine' in done.stdout and method in done.stdout
