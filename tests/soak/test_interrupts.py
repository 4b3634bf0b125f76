"""Ctrl-C in a terminal and SIGTERM at random moments: nothing is half done, and resumed runs equal unbroken ones."""

from __future__ import annotations

import importlib.util
import json
import multiprocessing
import os
import random
import re
import signal
import textwrap
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.soak.interrupted import make_trainer
from tests.soak.terminal import terminal

pytestmark = pytest.mark.skipif(importlib.util.find_spec('termios') is None, reason='needs pseudo-terminals')

ITERATORS = ['SerialIterator', 'MultithreadIterator', 'MultiprocessIterator']
WRITERS = ['SimpleWriter', 'ThreadWriter', 'ProcessWriter', 'ThreadQueueWriter', 'ProcessQueueWriter']
N = 160


@pytest.fixture(scope='module')
def unbroken(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[int, Any], list[Any]]:
    """Everything that belongs to the updater, at each iteration, and the log."""
    states: dict[int, Any] = {}

    def note(trainer: Any) -> None:
        from minichainer.serializers.npz import DictionarySerializer

        serializer = DictionarySerializer()
        serializer.save(trainer.updater)
        states[trainer.updater.iteration] = {name: np.array(value) for name, value in serializer.target.items()}

    out = tmp_path_factory.mktemp('unbroken')
    trainer = make_trainer(str(out), 'SerialIterator', 'SimpleWriter', N)
    trainer.extend(note, priority=-300)
    trainer.run()
    return states, log_of(out)


def log_of(folder: Path) -> list[Any]:
    entries = json.loads((folder / 'log').read_text())
    return [{name: value for name, value in entry.items() if name != 'elapsed_time'} for entry in entries]


def assert_state(path: Path, states: dict[int, Any]) -> int:
    """A snapshot is that of the unbroken run in the same iteration; returns the iteration."""
    with np.load(path) as file:
        iteration = int(file['updater/iteration'])
        assert int(file['updater/optimizer:main/t']) == int(file['updater/model:main/predictor/calls']) == iteration
        found = {name.removeprefix('updater/').replace('/_order', '/order'): file[name] for name in file.files}
        np.testing.assert_equal({name: found[name] for name in states[iteration]}, states[iteration])
    return iteration


def send(running: Any, how: str) -> None:
    if how == 'Ctrl-C':
        running.press_ctrl_c()
    elif how == 'SIGTERM':
        running.process.send_signal(signal.SIGTERM)
    else:
        os.killpg(running.process.pid, signal.SIGTERM)


def interrupt(arguments: list[str], folder: Path, at: int, delay: float, how: str) -> Path:
    """Runs the program until an iteration and a little longer; returns the path that it has printed."""
    with terminal(['-m', 'tests.soak.interrupted', str(folder), *arguments]) as running:
        running.wait_for(f'iteration {at}')
        time.sleep(delay)
        send(running, how)
        code = running.end()
        running.assert_no_process_is_left()
    assert code == (-signal.SIGINT if how == 'Ctrl-C' else 143), running.text
    assert running.text.count('Traceback') == (how == 'Ctrl-C'), running.text
    assert running.text.count('\nKeyboardInterrupt\n') == (how == 'Ctrl-C'), running.text
    match = re.search(r'The snapshot is (.*)\nTo resume, run the program again', running.text)
    assert match is not None, running.text
    others = {name for name in os.listdir(folder) if not name.startswith('snapshot_iter_')}
    assert others <= {'log'}
    return Path(match[1])


def check(
    iterator: str, writer: str, folder: Path, unbroken: Any, seed: int, n_interrupts: int, how: str = 'Ctrl-C'
) -> None:
    """A run that is interrupted some times, and then ends."""
    states, log = unbroken
    moments = random.Random(seed)
    done, arguments = 0, [iterator, writer, str(N)]
    for i in range(n_interrupts):
        at = moments.randint(done + 1, max(done + 1, (i + 1) * (N - 60) // n_interrupts))
        path = interrupt(arguments, folder, at, moments.uniform(0, 0.03), how)
        done = assert_state(path, states)
        assert at <= done < N
    with terminal(['-m', 'tests.soak.interrupted', str(folder), *arguments]) as running:
        running.wait_for(f'iteration {done + 1}')
        assert running.end() == 0, running.text
    assert assert_state(folder / 'end', states) == N
    assert log_of(folder) == log


@pytest.mark.parametrize(
    ('iterator', 'writer', 'how'),
    [
        ('MultiprocessIterator', 'ProcessWriter', 'Ctrl-C'),
        ('SerialIterator', 'SimpleWriter', 'SIGTERM'),
        ('MultiprocessIterator', 'ProcessQueueWriter', 'SIGTERM to all processes'),
    ],
)
def test_one_interrupt(iterator: str, writer: str, how: str, tmp_path: Path, unbroken: Any) -> None:
    check(iterator, writer, tmp_path, unbroken, 0, 1, how)


def check_while_processes_start(folder: Path, method: str, delay: float) -> None:
    """Ctrl-C reaches workers that are being made: they live as long as the first iteration needs them."""
    arguments = ['-m', 'tests.soak.interrupted', str(folder), 'MultiprocessIterator', 'ProcessWriter', str(N), method]
    with terminal(arguments) as running:
        running.wait_for('begins')
        time.sleep(delay)
        running.press_ctrl_c()
        assert running.end() == -signal.SIGINT, running.text
        running.assert_no_process_is_left()
    assert running.text.count('Traceback') == running.text.count('\nKeyboardInterrupt\n') == 1, running.text
    assert ('The snapshot is' in running.text) == ('the training stops' in running.text), running.text


METHODS = ['spawn', 'forkserver', 'fork']


def test_ctrl_c_arrives_where_the_tests_ignore_it() -> None:
    """As in a job in the background."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with terminal(['-c', 'import time; print("waits", flush=True); time.sleep(60)']) as running:
            running.wait_for('waits')
            running.press_ctrl_c()
            assert running.end() == -signal.SIGINT
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.slow
@pytest.mark.parametrize('method', [name for name in METHODS if name in multiprocessing.get_all_start_methods()])
def test_interrupts_while_processes_start(method: str, tmp_path: Path) -> None:
    for delay in (0.0, 0.05, 0.15, 0.4):
        check_while_processes_start(tmp_path / str(delay), method, delay)


PARALLEL = textwrap.dedent(
    """
    import multiprocessing, sys
    import numpy as np
    from minichainer import iterators, optimizers
    from minichainer.links.connection.linear import Linear
    from minichainer.links.model.classifier import Classifier
    from minichainer.training import extensions, updaters, Trainer
    from tests.training.pipe_group import PipeGroup

    class OnPipes(updaters.MultiprocessParallelUpdater):
        _group = PipeGroup()

    multiprocessing.set_start_method('fork')
    data = [(np.ones(4, 'f'), np.int32(i % 3)) for i in range(12)]
    parts = [iterators.MultiprocessIterator(data[i::2], 3, n_processes=1) for i in range(2)]
    updater = OnPipes(parts, optimizers.Adam().setup(Classifier(Linear(4, 3))), devices=['@numpy', '@numpy'])
    trainer = Trainer(updater, None, sys.argv[1])
    trainer.extend(extensions.snapshot(autoload=True))
    trainer.extend(lambda trainer: print('iteration', trainer.updater.iteration, flush=True), name='telling')
    trainer.run()
    """
)


@pytest.mark.skipif(not hasattr(os, 'fork'), reason='needs fork')
def test_processes_that_share_a_model(tmp_path: Path) -> None:
    with terminal(['-W', 'ignore', '-c', PARALLEL, str(tmp_path)]) as running:
        running.wait_for('iteration 20')
        running.press_ctrl_c()
        assert running.end() == -signal.SIGINT
        running.assert_no_process_is_left()
    assert running.text.count('Traceback') == running.text.count('\nKeyboardInterrupt\n') == 1, running.text
    match = re.search(r'The snapshot is (.*)\n', running.text)
    assert match is not None
    with np.load(match[1]) as file:
        assert file['updater/optimizer:main/t'] == file['updater/iteration'] >= 20


@pytest.mark.slow
@pytest.mark.parametrize('writer', WRITERS)
@pytest.mark.parametrize('iterator', ITERATORS)
def test_many_interrupts(iterator: str, writer: str, tmp_path: Path, unbroken: Any) -> None:
    """Four for each pair: 60."""
    check(iterator, writer, tmp_path, unbroken, 10 * ITERATORS.index(iterator) + WRITERS.index(writer), 4)
