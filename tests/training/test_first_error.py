"""Errors in each stage of a run: the first one is raised, all others are shown with it, and nothing is left."""

from __future__ import annotations

import multiprocessing
import os
import sys
import tempfile
import threading
import traceback
from pathlib import Path
from typing import Any

import pytest

from minichainer import iterators
from minichainer.serializers._file_lock import FileLock
from minichainer.training import _folder, extensions
from minichainer.training._first_error import run_all
from minichainer.training.extension import Extension
from minichainer.training.extensions import snapshot_writers
from minichainer.training.trainer import Trainer
from tests.training.conftest import make_data

PAIRS = [
    ('SimpleWriter', 'SerialIterator'),
    ('ThreadWriter', 'MultithreadIterator'),
    ('ProcessWriter', 'MultiprocessIterator'),
    ('ThreadQueueWriter', 'MultiprocessIterator'),
    ('ProcessQueueWriter', 'MultithreadIterator'),
]
OPTIONS = {'MultiprocessIterator': {'n_processes': 1}, 'MultithreadIterator': {'n_threads': 2}}
STAGES = ['initialize', 'before training', 'update', 'call', 'finalize', 'on_error', 'trigger', 'stop trigger']
#: Stages before the loop, whose errors on_error does not see.
BEFORE = ['initialize', 'before training']


class Failing(Extension):
    """Fails in some stages; notes the stages that it has seen."""

    priority = 50

    def __init__(self, *stages: str) -> None:
        self.stages = stages
        self.seen: list[str] = []

    def _fail(self, stage: str) -> None:
        self.seen.append(stage)
        if stage in self.stages:
            raise ValueError(f'{self.name} in {stage}')

    def initialize(self, trainer: Any) -> None:
        self._fail('initialize')

    def __call__(self, trainer: Any) -> None:
        self._fail('before training' if trainer.is_before_training else 'call')

    def on_error(self, trainer: Any, exc: Exception, tb: Any) -> None:
        self._fail('on_error')

    def finalize(self) -> None:
        self._fail('finalize')


def shown(error: BaseException) -> str:
    return ''.join(traceback.format_exception(type(error), error, error.__traceback__))


def make(make_trainer: Any, writer: str, iterator: str, stage: str) -> tuple[Trainer, Failing]:
    """A trainer with threads, processes and files, in which a stage fails in the second iteration."""

    def reading(repeat: bool) -> Any:
        return getattr(iterators, iterator)(make_data(), 8, repeat=repeat, **OPTIONS.get(iterator, {}))

    trainer = make_trainer((4, 'iteration'))
    trainer.updater._iterators['main'] = reading(repeat=True)
    evaluator = extensions.Evaluator(reading(repeat=False), trainer.updater.get_optimizer('main').target)
    trainer.extend(evaluator, trigger=(1, 'iteration'), call_before_training=True)
    made = getattr(snapshot_writers, writer)()
    trainer.extend(extensions.snapshot(writer=made, snapshot_on_error=True), trigger=(1, 'iteration'))
    trainer.extend(extensions.LogReport(trigger=(1, 'iteration')))
    failing = Failing(*(['call', 'on_error'] if stage == 'on_error' else [stage]))
    trainer.extend(failing, name='failing', trigger=(2, 'iteration'), call_before_training=True, priority=-200)

    def fail(*args: Any) -> Any:
        if trainer.updater.iteration == 2:
            raise ValueError(f'failing in {stage}')
        return False if stage == 'stop trigger' else original(*args)

    original: Any = trainer.updater.update_core
    if stage == 'update':
        trainer.updater.update_core = fail
    elif stage == 'stop trigger':
        trainer.stop_trigger = fail
    elif stage == 'trigger':
        original = bool
        trainer.extend(lambda t: None, name='other', trigger=fail)
    return trainer, failing


@pytest.mark.filterwarnings('ignore:.*multi-threaded, use of fork:DeprecationWarning')
@pytest.mark.parametrize('stage', STAGES)
@pytest.mark.parametrize(('writer', 'iterator'), PAIRS)
def test_nothing_is_left(
    make_trainer: Any, tmp_path: Path, monkeypatch: Any, writer: str, iterator: str, stage: str
) -> None:
    temporary = tmp_path / 'tmp'
    temporary.mkdir()
    monkeypatch.setattr(tempfile, 'tempdir', str(temporary))
    before = set(threading.enumerate())
    trainer, failing = make(make_trainer, writer, iterator, stage)
    trainer.extend(Failing('finalize'), name='last', priority=-300)
    with pytest.raises(ValueError, match=f'failing in {"call" if stage == "on_error" else stage}') as caught:
        trainer.run(show_loop_exception_msg=False)
    if stage != 'initialize' and sys.version_info >= (3, 11):  # 'last' is initialized after the one that fails
        assert "finalize of extension 'last' failed as well" in shown(caught.value)
    assert ('on_error' in failing.seen) == (stage not in (*BEFORE, 'finalize'))
    assert ('finalize' in failing.seen) == (stage != 'initialize')
    assert set(threading.enumerate()) == before
    assert multiprocessing.active_children() == []
    assert os.listdir(temporary) == []
    files = {name for name in os.listdir(trainer.out) if not name.startswith('snapshot_iter_')}
    assert files == (set() if stage in BEFORE else {'log'})


def test_the_lock_of_the_folder(make_trainer: Any) -> None:
    trainer, failing = make(make_trainer, 'ThreadWriter', 'MultithreadIterator', '')
    before = set(threading.enumerate())
    os.makedirs(trainer.out)
    lock = FileLock(os.path.join(trainer.out, _folder._LOCK))
    assert lock.acquire()
    try:
        with pytest.raises(_folder.FolderInUseError):
            trainer.run()
    finally:
        lock.release()
    assert failing.seen == []
    assert set(threading.enumerate()) == before
    trainer.run()  # nothing has happened yet
    assert failing.seen[0] == 'initialize'


def test_the_others_are_finalized_after_an_error_in_initialize(make_trainer: Any) -> None:
    trainer = make_trainer((1, 'iteration'))
    spies = [Failing(), Failing('finalize'), Failing('initialize'), Failing()]
    for i, spy in enumerate(spies):
        trainer.extend(spy, name=str(i))
    ended: list[str] = []
    trainer.updater.finalize = lambda: ended.append('updater')
    with pytest.raises(ValueError, match='2 in initialize') as caught:
        trainer.run()
    assert [spy.seen for spy in spies] == [['initialize', 'finalize'], ['initialize', 'finalize'], ['initialize'], []]
    assert ended == ['updater']
    if sys.version_info >= (3, 11):
        assert "finalize of extension '1' failed as well" in shown(caught.value)


def test_all_errors_are_shown_in_their_order(make_trainer: Any, capsys: pytest.CaptureFixture[str]) -> None:
    trainer = make_trainer((2, 'iteration'))
    for name, stages in {'a': ['call', 'on_error'], 'b': ['on_error', 'finalize'], 'c': ['finalize']}.items():
        trainer.extend(Failing(*stages), name=name)
    with pytest.raises(ValueError, match='a in call') as caught:
        trainer.run(show_loop_exception_msg=False)
    text = shown(caught.value) + capsys.readouterr().err
    wanted = [
        'ValueError: a in call', "on_error of extension 'a'", 'a in on_error', "on_error of extension 'b'",
        "finalize of extension 'b'", 'b in finalize', "finalize of extension 'c'", 'c in finalize',
    ]  # fmt: skip
    places = [text.index(words) for words in wanted]
    assert places == sorted(places)
    assert text.count('ValueError: a in call') == 1
    assert 'During handling' not in text


def test_where_notes_are_not_shown_they_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    def leave() -> None:
        sys.exit(3)

    def fail() -> None:
        raise ValueError('later')

    with pytest.raises(SystemExit):
        run_all([('one', leave), ('two', fail)])
    assert 'two failed as well:\n  Traceback' in capsys.readouterr().err


def test_an_iterator_that_cannot_end_does_not_keep_others_from_it(make_trainer: Any) -> None:
    ended: list[str] = []

    class Ends(iterators.SerialIterator):
        def __init__(self, name: str) -> None:
            super().__init__(make_data(), 8, repeat=False)
            self.name = name

        def finalize(self) -> None:
            if self.name not in ended:
                ended.append(self.name)
                raise ValueError(self.name)

    updater = make_trainer().updater
    updater._iterators.update({'a': Ends('a'), 'b': Ends('b')})
    evaluator = extensions.Evaluator({'main': Ends('c'), 'other': Ends('d')}, updater.get_optimizer('main').target)
    for finalize, first in ((updater.finalize, 'a'), (evaluator.finalize, 'c')):
        with pytest.raises(ValueError, match=first):
            finalize()
    assert ended == ['a', 'b', 'c', 'd']
