"""A run that an interrupt ends, wherever it locks or unlocks its folder, leaves the folder free for the next run."""

from __future__ import annotations

import errno
import linecache
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from minichainer.links import Linear
from minichainer.serializers import _file_lock, _replacing, save_hdf5, save_npz
from minichainer.serializers._file_lock import FileLock


def interrupting(monkeypatch: Any, name: str, when: str, times: list[str]) -> None:
    """Makes a function of ``os`` send Ctrl-C to this process, before or after its work, once for a lock."""
    original = getattr(os, name)

    def call(first: Any, *args: Any, **kwargs: Any) -> Any:
        is_lock = name != 'remove' or str(first).endswith('lock')
        if times or not is_lock:
            return original(first, *args, **kwargs)
        times.append(name)
        if when == 'before':
            os.kill(os.getpid(), signal.SIGINT)
        result = original(first, *args, **kwargs)
        if when == 'after':
            os.kill(os.getpid(), signal.SIGINT)
        return result

    monkeypatch.setattr(_file_lock.os, name, call)


@pytest.fixture
def handled() -> Iterator[None]:
    """Ctrl-C raises KeyboardInterrupt also where a shell has started the tests in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures('handled')
@pytest.mark.skipif(os.name == 'nt', reason='os.kill ends the process there')
@pytest.mark.parametrize('when', ['before', 'after'])
@pytest.mark.parametrize('name', ['truncate', 'remove'])
def test_the_next_run_finds_the_folder_free(make_trainer: Any, monkeypatch: Any, name: str, when: str) -> None:
    trainer = make_trainer((1, 'iteration'))
    trainer.extend(lambda t: None, name='something')
    times: list[str] = []
    interrupting(monkeypatch, name, when, times)
    with pytest.raises(KeyboardInterrupt):
        trainer.run()
    assert times == [name]
    following = make_trainer((1, 'iteration'))
    following.extend(lambda t: None, name='something')
    following.run()
    assert following.updater.iteration == 1 and _file_lock._held == {}


class Interrupted:
    """Does something once, and raises KeyboardInterrupt before or after it."""

    def __init__(self, original: Any, when: str) -> None:
        self.original, self.when, self.is_over = original, when, False

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.is_over:
            return self.original(*args, **kwargs)
        self.is_over = True
        if self.when == 'after':
            self.original(*args, **kwargs)
        raise KeyboardInterrupt


def take_and_give_back(path: str) -> None:
    lock = FileLock(path)
    try:
        assert lock.acquire()
    finally:
        lock.release()


STEPS = ['open', 'truncate', 'write', 'getpid', 'remove', 'stat', 'fstat']


@pytest.mark.parametrize('when', ['before', 'after'])
@pytest.mark.parametrize('step', STEPS)
def test_each_step_of_a_lock(tmp_path: Path, monkeypatch: Any, step: str, when: str) -> None:
    path = str(tmp_path / 'lock')
    with monkeypatch.context() as patch:
        patch.setattr(_file_lock.os, step, Interrupted(getattr(os, step), when))
        with pytest.raises(KeyboardInterrupt):
            take_and_give_back(path)
    assert _file_lock._held == {} and not _file_lock._guard.locked()
    take_and_give_back(path)
    assert os.listdir(tmp_path) == []


def test_a_lock_that_another_one_has_stays_its_own(tmp_path: Path) -> None:
    first, second = FileLock(str(tmp_path / 'lock')), FileLock(str(tmp_path / 'lock'))
    assert first.acquire() and not second.acquire()
    second.release()
    assert not second.acquire() and os.listdir(tmp_path) == ['lock']
    first.release()
    assert second.acquire()
    second.release()


def save(path: Path) -> None:
    with _replacing.replacing(path) as part:
        Path(part).write_text('text')


@pytest.mark.parametrize('when', ['before', 'after'])
@pytest.mark.parametrize('step', ['os.open', 'os.mkdir', *('os.' + step for step in STEPS[1:]), '_lock', '_is_at'])
def test_an_interrupted_save_leaves_no_folder(tmp_path: Path, monkeypatch: Any, step: str, when: str) -> None:
    owner = os if step.startswith('os.') else _file_lock
    name = step.removeprefix('os.')
    save(tmp_path / 'file')
    with monkeypatch.context() as patch:
        patch.setattr(owner, name, Interrupted(getattr(owner, name), when))
        with pytest.raises(KeyboardInterrupt):
            save(tmp_path / 'file')
    assert os.listdir(tmp_path) == ['file'] and _file_lock._held == {}


class AtLine:
    """Raises KeyboardInterrupt at the n-th line of two modules that a block runs, generators among them."""

    FILES = _file_lock.__file__, _replacing.__file__

    def __init__(self, number: int) -> None:
        self.number = number

    def __enter__(self) -> AtLine:
        self.before = sys.gettrace()
        sys.settrace(self.called)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(self.before)

    def called(self, frame: Any, event: str, value: Any) -> Any:
        return self.line if frame.f_code.co_filename in self.FILES else None

    def line(self, frame: Any, event: str, value: Any) -> Any:
        # At the end of a block, tracing stops before the lock is given back, where no signal is handled.
        if event == 'line' and 'with _guard' not in linecache.getline(frame.f_code.co_filename, frame.f_lineno):
            self.number -= 1
            if self.number == 0:
                raise KeyboardInterrupt
        return self.line


@pytest.mark.parametrize('save_model', [save_npz, save_hdf5])
def test_a_save_that_is_interrupted_at_any_line_leaves_no_folder(tmp_path: Path, save_model: Any) -> None:
    if save_model is save_hdf5:
        pytest.importorskip('h5py')
    link = Linear(2, 2)
    save_model(tmp_path / 'file', link)
    number, is_cut = 0, True
    while is_cut:
        number += 1
        is_cut = False
        try:
            with AtLine(number):
                save_model(tmp_path / 'file', link)
        except KeyboardInterrupt:
            is_cut = True
        assert os.listdir(tmp_path) == ['file'] and _file_lock._held == {}, number
    assert number > 50


@pytest.mark.skipif(os.name == 'nt', reason='open files cannot be removed there')
def test_an_interrupt_before_the_lock_leaves_the_file_of_another_process(tmp_path: Path, monkeypatch: Any) -> None:
    path = str(tmp_path / 'lock')

    def refused(descriptor: int) -> None:
        raise OSError(errno.EAGAIN, 'another process has it')

    def interrupted(descriptor: int) -> None:
        monkeypatch.setattr(_file_lock, '_lock', refused)
        raise KeyboardInterrupt

    Path(path).touch()
    monkeypatch.setattr(_file_lock, '_lock', interrupted)
    with pytest.raises(KeyboardInterrupt):
        FileLock(path).acquire()
    assert os.listdir(tmp_path) == ['lock'] and _file_lock._held == {}
