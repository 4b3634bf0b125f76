"""Ctrl-C and SIGTERM: the iteration ends, a snapshot is written, the signal is raised, handlers are put back."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minichainer import iterators
from minichainer.iterators._worker import held_signals, leave_signals_to_the_parent
from minichainer.serializers.npz import DictionarySerializer, load_npz
from minichainer.training import extensions
from minichainer.training.extensions import snapshot_writers

ROOT = Path(__file__).resolve().parents[2]
POSIX = pytest.mark.skipif(os.name != 'posix', reason='SIGTERM has no handlers on Windows')
SIGNALS = [
    pytest.param(signal.SIGINT, KeyboardInterrupt, id='SIGINT'),
    pytest.param(signal.SIGTERM, SystemExit, id='SIGTERM', marks=POSIX),
]
WRITERS = ['SimpleWriter', 'ThreadWriter', 'ProcessWriter', 'ThreadQueueWriter', 'ProcessQueueWriter']


@pytest.fixture(autouse=True)
def default_handlers() -> Iterator[None]:
    """Python's own handlers, which a runner of tests may have replaced, are there before and after each test."""
    numbers = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
    before = {number: signal.signal(number, default) for number, default in numbers.items()}
    yield
    after = {number: signal.signal(number, handler) for number, handler in before.items()}
    assert after == numbers


def at(iteration: int, *numbers: int) -> Any:
    """An extension in the middle of the others that sends signals to its own process in an iteration."""

    def sending(trainer: Any) -> None:
        if trainer.updater.iteration == iteration:
            for number in numbers:
                signal.raise_signal(number)

    return sending


def state(trainer: Any) -> dict[str, Any]:
    serializer = DictionarySerializer()
    serializer.save(trainer)
    return {
        name: value for name, value in serializer.target.items() if 'elapsed_time' not in name and 'log' not in name
    }


def assert_same_state(trainer: Any, other: Any) -> None:
    np.testing.assert_equal(state(trainer), state(other))


def logged(trainer: Any) -> list[Any]:
    log = trainer.get_extension('LogReport').log
    return [{name: value for name, value in entry.items() if name != 'elapsed_time'} for entry in log]


def with_extensions(trainer: Any, calls: list[Any], *numbers: int, **kwargs: Any) -> Any:
    trainer.extend(at(4, *numbers), name='sending', priority=250)
    trainer.extend(extensions.LogReport(trigger=(2, 'iteration')))
    trainer.extend(lambda t: calls.append(t.updater.iteration), name='calls', priority=-200)
    trainer.extend(extensions.snapshot(autoload=True, **kwargs), trigger=(3, 'iteration'))
    return trainer


@pytest.mark.parametrize('writer', WRITERS)
@pytest.mark.parametrize(('number', 'error'), SIGNALS)
def test_the_run_stops_saves_and_resumes(
    make_trainer: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str], number: int, error: Any, writer: str
) -> None:
    whole = with_extensions(make_trainer((9, 'iteration'), out=tmp_path / 'whole'), [])
    whole.run()
    calls: list[int] = []
    made = {'writer': getattr(snapshot_writers, writer)()}
    part = with_extensions(make_trainer((9, 'iteration')), calls, number, **made)
    with pytest.raises(error) as caught:
        part.run()
    assert calls == [1, 2, 3, 4]
    assert getattr(caught.value, 'code', 143) == 143
    text = capsys.readouterr().err
    path = os.path.join(part.out, 'snapshot_iter_4')
    assert f'The snapshot is {path}\nTo resume, run the program again' in text
    assert 'stops after this iteration; a second' in text
    assert 'Exception' not in text
    assert sorted(os.listdir(part.out)) == ['log', 'snapshot_iter_3', 'snapshot_iter_4']
    rest = with_extensions(make_trainer((9, 'iteration'), seed=99), calls)
    rest.run()
    assert calls == list(range(1, 10))
    assert_same_state(rest, whole)
    assert logged(rest) == logged(whole)


def test_the_snapshot_is_that_of_the_iteration(make_trainer: Any) -> None:
    """Whether the signal or the trigger causes it, and loaded by hand."""
    trainer = make_trainer((9, 'iteration'))
    trainer.extend(extensions.snapshot(), trigger=(9, 'iteration'))
    trainer.extend(at(5, signal.SIGINT), name='sending')
    with pytest.raises(KeyboardInterrupt):
        trainer.run()
    loaded = make_trainer((9, 'iteration'))
    loaded.extend(extensions.snapshot(), trigger=(9, 'iteration'))
    loaded.extend(at(5), name='sending')
    load_npz(os.path.join(trainer.out, 'snapshot_iter_5'), loaded)
    assert_same_state(loaded, trainer)
    assert loaded.updater.iteration == loaded.updater.get_optimizer('main').t == 5


ADVICE = {
    'autoload': ({'autoload': True}, 'run the program again: snapshot(autoload=True) loads it'),
    'npz': ({}, "write serializers.load_npz('{path}', trainer) before trainer.run()"),
    'by a function': ({'filename': lambda t: 'own'}, "serializers.load_npz('{path}', trainer)"),
    'unknown format': ({'savefun': lambda path, target: Path(path).write_text('?')}, 'pass autoload=True'),
    'condition': ({'condition': lambda: False}, 'No snapshot was written'),
    'of the model': ({'target': {}}, 'No snapshot was written'),
}


@pytest.mark.parametrize('case', ADVICE)
def test_what_is_printed(make_trainer: Any, capsys: pytest.CaptureFixture[str], case: str) -> None:
    kwargs, advice = ADVICE[case]
    trainer = make_trainer((9, 'iteration'))
    trainer.extend(extensions.snapshot(**kwargs), trigger=(9, 'iteration'))
    trainer.extend(at(2, signal.SIGINT), name='sending')
    with pytest.raises(KeyboardInterrupt):
        trainer.run()
    files = os.listdir(trainer.out)
    assert len(files) == (0 if 'No snapshot' in advice else 1)
    path = os.path.join(trainer.out, files[0]) if files else ''
    text = capsys.readouterr().err
    assert advice.replace('{path}', path) in text
    assert ('Stopped after iteration 2.' in text) == (not files)


@pytest.mark.parametrize(
    ('numbers', 'error'),
    [
        ((signal.SIGINT, signal.SIGINT), KeyboardInterrupt),
        pytest.param((signal.SIGTERM, signal.SIGINT), KeyboardInterrupt, marks=POSIX),
        pytest.param((signal.SIGINT, signal.SIGTERM), SystemExit, marks=POSIX),
    ],
)
def test_a_second_signal_stops_at_once(make_trainer: Any, numbers: tuple[int, ...], error: Any) -> None:
    calls: list[int] = []
    trainer = with_extensions(make_trainer((9, 'iteration')), calls, *numbers)
    with pytest.raises(error):
        trainer.run()
    assert calls == [1, 2, 3]
    assert sorted(os.listdir(trainer.out)) == ['log', 'snapshot_iter_3']


@POSIX
def test_a_sigterm_that_is_sent_twice_is_one(make_trainer: Any) -> None:
    """``timeout`` sends it to the process, and then to its group."""
    calls: list[int] = []
    trainer = with_extensions(make_trainer((9, 'iteration')), calls, signal.SIGTERM, signal.SIGTERM)
    with pytest.raises(SystemExit):
        trainer.run()
    assert calls == [1, 2, 3, 4]


@pytest.mark.parametrize('number', [signal.SIGINT, pytest.param(signal.SIGTERM, marks=POSIX)])
def test_handlers_of_the_program_stay(make_trainer: Any, number: int) -> None:
    received: list[int] = []

    def own(number: int, frame: Any) -> None:
        received.append(number)

    before = signal.signal(number, own)
    try:
        calls: list[int] = []
        with_extensions(make_trainer((6, 'iteration')), calls, number).run()
        assert signal.getsignal(number) is own
    finally:
        signal.signal(number, before)
    assert (received, calls) == ([number], [1, 2, 3, 4, 5, 6])


def test_a_handler_that_is_set_during_the_run_stays(make_trainer: Any) -> None:
    def own(number: int, frame: Any) -> None: ...

    trainer = make_trainer((2, 'iteration'))
    trainer.extend(lambda t: signal.signal(signal.SIGINT, own), name='setting')
    trainer.run()
    assert signal.signal(signal.SIGINT, signal.default_int_handler) is own


def test_handlers_are_there_in_the_run_only(make_trainer: Any, tmp_path: Path) -> None:
    seen: list[Any] = []

    def note(trainer: Any) -> None:
        seen.append([signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)])

    def nested(trainer: Any) -> None:
        inner = make_trainer((1, 'iteration'), out=tmp_path / 'inner')
        inner.extend(note, name='note')
        inner.run()

    trainer = make_trainer((1, 'iteration'))
    trainer.extend(note, name='note', priority=3)
    trainer.extend(nested, name='nested', priority=2)
    trainer.extend(note, name='again', priority=1)
    trainer.run()
    assert seen[0] == seen[1] == seen[2]
    assert seen[0][0] is not signal.default_int_handler
    assert (seen[0][1] == signal.SIG_DFL) == (os.name != 'posix')

    seen.clear()
    other = make_trainer((1, 'iteration'))
    other.extend(note, name='note')
    thread = threading.Thread(target=other.run)
    thread.start()
    thread.join()
    assert seen == [[signal.default_int_handler, signal.SIG_DFL]]


def test_a_nested_run_is_part_of_the_iteration(make_trainer: Any, tmp_path: Path) -> None:
    inner = make_trainer((7, 'iteration'), out=tmp_path / 'inner')
    inner.extend(at(3, signal.SIGINT), name='sending')

    def nested(trainer: Any) -> None:
        if trainer.updater.iteration == 2:
            inner.run()

    trainer = make_trainer((9, 'iteration'))
    trainer.extend(nested, name='nested')
    trainer.extend(extensions.snapshot(), trigger=(9, 'iteration'))
    with pytest.raises(KeyboardInterrupt):
        trainer.run()
    assert inner.updater.iteration == 7
    assert os.listdir(trainer.out) == ['snapshot_iter_2']


def test_a_signal_before_the_first_iteration_stops_at_once(make_trainer: Any) -> None:
    def interrupted(trainer: Any) -> None:
        signal.raise_signal(signal.SIGINT)

    trainer = make_trainer((9, 'iteration'))
    trainer.extend(interrupted, call_before_training=True)
    trainer.extend(extensions.snapshot())
    with pytest.raises(KeyboardInterrupt):
        trainer.run()
    assert trainer.updater.iteration == 0
    assert os.listdir(trainer.out) == []


def test_a_signal_during_finalization_is_raised_at_the_end(make_trainer: Any) -> None:
    ends: list[str] = []

    class Slow(extensions.LogReport):
        def finalize(self) -> None:
            signal.raise_signal(signal.SIGINT)
            ends.append('slow')

    trainer = make_trainer((2, 'iteration'))
    trainer.extend(Slow())
    trainer.updater.finalize = lambda: ends.append('updater')
    with pytest.raises(KeyboardInterrupt):
        trainer.run()
    assert ends == ['slow', 'updater']


def test_an_error_after_the_signal_is_shown_with_it(make_trainer: Any) -> None:
    def failing(trainer: Any) -> None:
        raise ValueError('a tool got the signal, too')

    trainer = make_trainer((9, 'iteration'))
    trainer.extend(at(1, signal.SIGINT), name='sending', priority=300)
    trainer.extend(failing)
    trainer.extend(extensions.snapshot())
    with pytest.raises(KeyboardInterrupt) as caught:
        trainer.run()
    assert str(caught.value.__context__) == 'a tool got the signal, too'
    assert os.listdir(trainer.out) == []


def test_a_snapshot_that_cannot_be_written(make_trainer: Any, capsys: pytest.CaptureFixture[str]) -> None:
    def full(path: str, target: Any) -> None:
        raise OSError(28, 'No space left on device')

    trainer = make_trainer((9, 'iteration'))
    trainer.extend(extensions.snapshot(full), trigger=(9, 'iteration'))
    trainer.extend(extensions.snapshot(filename='second'), trigger=(9, 'iteration'), name='second')
    trainer.extend(at(2, signal.SIGINT), name='sending')
    with pytest.raises(KeyboardInterrupt) as caught:
        trainer.run()
    assert 'No space left' in str(caught.value.__context__)
    assert os.listdir(trainer.out) == ['second']
    assert 'snapshot_iter_2' not in capsys.readouterr().err


def test_a_keyboard_interrupt_of_the_program_saves_nothing(make_trainer: Any) -> None:
    def interrupted(trainer: Any) -> None:
        raise KeyboardInterrupt

    trainer = make_trainer((9, 'iteration'))
    trainer.extend(extensions.snapshot(snapshot_on_error=True))
    trainer.extend(interrupted)
    with pytest.raises(KeyboardInterrupt):
        trainer.run()
    assert os.listdir(trainer.out) == []


@pytest.mark.skipif(not hasattr(os, 'fork'), reason='needs fork')
@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_a_forked_process_ends_by_signals(make_trainer: Any, number: int) -> None:
    """Processes that a program makes during the run are not asked to finish an iteration."""
    codes: list[int] = []

    def forking(trainer: Any) -> None:
        child = os.fork()
        if child == 0:
            try:
                signal.raise_signal(number)
                os._exit(1)
            except KeyboardInterrupt:
                os._exit(2)
        codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))

    trainer = make_trainer((1, 'iteration'))
    trainer.extend(forking)
    trainer.run()
    assert codes == [2 if number == signal.SIGINT else -signal.SIGTERM]


@pytest.mark.skipif(not hasattr(os, 'fork'), reason='needs fork')
@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_signals_wait_until_a_worker_ignores_them(number: int) -> None:
    with held_signals():
        child = os.fork()
        if child == 0:
            try:
                signal.raise_signal(number)
                leave_signals_to_the_parent()
                signal.raise_signal(number)
            finally:
                os._exit(0)
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.skipif(not hasattr(signal, 'pthread_sigmask'), reason='needs masks of signals')
def test_signals_that_waited_arrive_at_the_end_of_the_block() -> None:
    done: list[str] = []

    def interrupted() -> None:
        with held_signals():
            signal.raise_signal(signal.SIGINT)
            done.append('block')

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert done == ['block']
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])


def test_asking_for_a_signal_takes_less_than_a_microsecond() -> None:
    from minichainer.training._stopping import StopSignals

    with StopSignals() as stop:
        best = min(_seconds(lambda: stop.number > 0) for _ in range(5))
    assert best < 1e-6


def _seconds(function: Any) -> float:
    begin = time.perf_counter()
    for _ in range(10_000):
        function()
    return (time.perf_counter() - begin) / 10_000


# --- other processes ---

HANGING = textwrap.dedent(
    """
    import signal, sys, time
    from tests.soak.interrupted import make_trainer

    signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background has it ignored

    def hang(trainer):
        print('hangs', flush=True)
        time.sleep(600)

    trainer = make_trainer(sys.argv[1], 'SerialIterator', 'SimpleWriter', 9)
    trainer.extend(hang)
    trainer.run()
    """
)


@pytest.mark.skipif(os.name != 'posix', reason='sends signals to processes')
@pytest.mark.parametrize(('number', 'code'), [(signal.SIGINT, -signal.SIGINT), (signal.SIGTERM, 143)])
def test_an_iteration_that_hangs_ends_by_the_second_signal(tmp_path: Path, number: int, code: int) -> None:
    command = [sys.executable, '-c', HANGING, str(tmp_path)]
    streams: Any = {'stdout': subprocess.PIPE, 'stderr': subprocess.PIPE, 'text': True}
    with subprocess.Popen(command, **streams, cwd=ROOT) as process:
        assert process.stdout is not None and process.stderr is not None
        assert process.stdout.readline() == 'hangs\n'
        process.send_signal(number)
        assert 'stops after this iteration' in process.stderr.readline()
        time.sleep(0.1)
        process.send_signal(number)
        assert process.wait(20) == code
    assert not [name for name in os.listdir(tmp_path) if 'snapshot' in name]


def test_workers_leave_a_running_iterator_alone_after_the_signal(make_trainer: Any) -> None:
    """A MultithreadIterator reads on for the last iteration, and its threads end."""
    before = threading.active_count()
    trainer = make_trainer((9, 'iteration'))
    dataset = trainer.updater.get_iterator('main').dataset
    trainer.updater._iterators['main'] = iterators.MultithreadIterator(dataset, 8, n_threads=2)
    trainer.extend(at(3, signal.SIGINT), name='sending')
    trainer.extend(extensions.snapshot(writer=snapshot_writers.ThreadWriter()), trigger=(1, 'iteration'))
    with pytest.raises(KeyboardInterrupt):
        trainer.run()
    assert threading.active_count() == before
    assert sorted(os.listdir(trainer.out)) == ['snapshot_iter_1', 'snapshot_iter_2', 'snapshot_iter_3']
