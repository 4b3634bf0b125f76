"""The loop: order, errors, output folder, time, saving."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minichainer import reporter
from minichainer.optimizers.sgd import SGD
from minichainer.training import extension, extensions, triggers, updaters
from minichainer.training.extension import Extension, make_extension
from minichainer.training.trainer import Trainer
from minichainer.training.updater import Updater


class Spy(Extension):
    """Notes each call of its methods."""

    def __init__(self, notes: list[Any], name: str, fail_at: str = '') -> None:
        self.notes = notes
        self.spy_name = name
        self.fail_at = fail_at

    def _note(self, what: str) -> None:
        self.notes.append((self.spy_name, what))
        if what == self.fail_at:
            raise RuntimeError(f'{self.spy_name} fails in {what}')

    def initialize(self, trainer: Any) -> None:
        self._note('initialize')

    def __call__(self, trainer: Any) -> None:
        self._note('call')

    def on_error(self, trainer: Any, exc: Exception, tb: Any) -> None:
        self.error = exc, tb
        self._note('on_error')

    def finalize(self) -> None:
        self._note('finalize')


def test_extensions_run_by_priority_then_order_of_addition(make_trainer: Any) -> None:
    calls: list[str] = []
    trainer = make_trainer((3, 'iteration'))
    every = {'trigger': (1, 'iteration')}
    trainer.extend(lambda t: calls.append('low'), name='low', priority=10, **every)
    trainer.extend(lambda t: calls.append('high'), name='high', priority=400, **every)
    trainer.extend(lambda t: calls.append('mid'), name='mid', trigger=(2, 'iteration'))
    trainer.extend(lambda t: calls.append('first'), name='first', call_before_training=True, trigger=(3, 'iteration'))
    trainer.run()
    assert calls == ['first', 'high', 'low', 'high', 'mid', 'low', 'high', 'first', 'low']


def test_all_moments_of_a_run(make_trainer: Any) -> None:
    notes: list[Any] = []
    trainer = make_trainer((2, 'iteration'))
    for name in 'ab':
        trainer.extend(Spy(notes, name), name=name)
    trainer.run()
    moments = ['initialize', 'call', 'call', 'finalize']
    assert notes == [(name, moment) for moment in moments for name in 'ab']


@pytest.mark.parametrize('show', [True, False])
def test_error_reaches_extensions_then_the_caller(
    make_trainer: Any, show: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    notes: list[Any] = []
    trainer = make_trainer()
    spies = [Spy(notes, 'a'), Spy(notes, 'b', fail_at='call')]
    for spy in spies:
        trainer.extend(spy, name=spy.spy_name)
    finalized = []
    trainer.updater.finalize = lambda: finalized.append(True)
    with pytest.raises(RuntimeError, match='b fails in call') as caught:
        trainer.run(show_loop_exception_msg=show)
    assert notes[-4:] == [('a', 'on_error'), ('b', 'on_error'), ('a', 'finalize'), ('b', 'finalize')]
    error, traceback = spies[0].error
    assert error is caught.value
    assert traceback.tb_frame.f_code.co_name == 'run'
    assert finalized == [True]
    assert ('RuntimeError: b fails in call' in capsys.readouterr().err) == show


def test_all_are_finalized_even_if_one_fails_at_it(make_trainer: Any) -> None:
    notes: list[Any] = []
    trainer = make_trainer((1, 'iteration'))
    trainer.extend(Spy(notes, 'a', fail_at='finalize'), name='a')
    trainer.extend(Spy(notes, 'b'), name='b')
    with pytest.raises(RuntimeError, match='a fails in finalize'):
        trainer.run()
    assert notes[-2:] == [('a', 'finalize'), ('b', 'finalize')]


def test_keyboard_interrupt_finalizes_without_on_error(make_trainer: Any) -> None:
    def interrupt(trainer: Any) -> None:
        raise KeyboardInterrupt

    notes: list[Any] = []
    trainer = make_trainer()
    trainer.extend(Spy(notes, 'a'), name='a')
    trainer.extend(interrupt)
    with pytest.raises(KeyboardInterrupt):
        trainer.run()
    assert [what for _, what in notes] == ['initialize', 'call', 'finalize']


def test_observation_holds_what_one_iteration_reports(make_trainer: Any) -> None:
    trainer = make_trainer((2, 'iteration'))
    seen = []
    trainer.extend(lambda t: reporter.report({'mine': t.updater.iteration}), name='mine')
    trainer.extend(lambda t: seen.append(dict(t.observation)), name='seen', priority=0)
    trainer.run()
    assert [sorted(o) for o in seen] == [['main/accuracy', 'main/loss', 'mine']] * 2
    assert [o['mine'] for o in seen] == [1, 2]
    assert trainer.observation == seen[-1]


def test_names_of_extensions(make_trainer: Any) -> None:
    @make_extension(default_name='given')
    def function(trainer: Any) -> None: ...

    def plain(trainer: Any) -> None: ...

    trainer = make_trainer()
    for one in (Spy([], 'x'), function, plain, extensions.LogReport(), extensions.LogReport()):
        trainer.extend(one)
    trainer.extend(lambda t: None, name='LogReport')
    for name in ('Spy', 'given', 'plain', 'LogReport', 'LogReport_1', 'LogReport_2'):
        assert trainer.get_extension(name).name == name
    with pytest.raises(ValueError, match=r'extension other not found; there are .*Spy'):
        trainer.get_extension('other')


def test_trigger_and_priority_come_from_the_extension_unless_given(make_trainer: Any) -> None:
    trainer = make_trainer((2, 'iteration'))
    calls: list[str] = []
    seldom = make_extension(trigger=(2, 'iteration'), priority=extension.PRIORITY_WRITER)(lambda t: calls.append('s'))
    trainer.extend(seldom, name='seldom')
    trainer.extend(lambda t: calls.append('p'), name='plain')
    trainer.run()
    assert calls == ['p', 's', 'p']


@pytest.mark.parametrize(
    ('call', 'error', 'message'),
    [
        (lambda t: t.extend(print, name='training'), ValueError, 'name "training" is prohibited'),
        (lambda t: t.extend(print, invoke_before_training=True), ValueError, 'call_before_training=True'),
        (lambda t: t.extend(print, foo=1), TypeError, "unexpected arguments ['foo']"),
        (lambda t: t.extend(__import__('functools').partial(print)), TypeError, 'pass name='),
        (lambda t: t.elapsed_time, RuntimeError, 'training has not been started yet'),
        (lambda t: (t.run(), t.run()), RuntimeError, 'cannot run training loop multiple times'),
        (lambda t: make_extension(foo=1), TypeError, "unexpected arguments ['foo']"),
        (lambda t: make_extension(invoke_before_training=True), ValueError, 'initializer='),
        (lambda t: Extension()(t), NotImplementedError, 'Extension must define __call__'),
        (lambda t: Updater().update(), NotImplementedError, 'Updater must define update'),
        (lambda t: Updater().get_optimizer('x'), NotImplementedError, 'get_optimizer'),
        (lambda t: Updater().get_all_optimizers(), NotImplementedError, 'get_all_optimizers'),
        (lambda t: Updater().serialize(None), NotImplementedError, 'serialize'),
    ],
)
def test_bad_calls(make_trainer: Any, call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=re.escape(message)):
        call(make_trainer((1, 'iteration')))


def test_optimizer_without_model_is_told(make_trainer: Any) -> None:
    iterator = make_trainer().updater.get_iterator('main')
    with pytest.raises(RuntimeError, match=r"optimizer 'main' \(SGD\) has no model; call optimizer.setup\(model\)"):
        Trainer(updaters.StandardUpdater(iterator, SGD()))


def test_output_folder_is_made(make_trainer: Any, tmp_path: Path) -> None:
    make_trainer((1, 'iteration'), out=tmp_path / 'a' / 'b').run()
    assert list((tmp_path / 'a' / 'b').iterdir()) == []


def assert_nothing_trained(trainer: Trainer, error: type[OSError], notes: list[Any]) -> None:
    before = [p.array.copy() for p in trainer.updater.get_optimizer('main').target.params()]
    with pytest.raises(error, match=r'cannot write into the output folder .* nothing was trained') as caught:
        trainer.run()
    assert caught.value.filename == os.path.abspath(trainer.out)
    assert trainer.updater.iteration == 0
    assert notes == []
    for array, param in zip(before, trainer.updater.get_optimizer('main').target.params(), strict=True):
        np.testing.assert_array_equal(param.array, array)


def test_output_folder_that_is_a_file(make_trainer: Any, tmp_path: Path) -> None:
    (tmp_path / 'file').write_text('')
    notes: list[Any] = []
    trainer = make_trainer(out=tmp_path / 'file')
    trainer.extend(Spy(notes, 'a'))
    assert_nothing_trained(trainer, FileExistsError, notes)


def test_read_only_output_folder(make_trainer: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / 'read-only'
    folder.mkdir(mode=0o500)
    if os.access(folder, os.W_OK):  # the superuser may write everywhere

        def refuse(dir: Any, **kwargs: Any) -> Any:
            raise PermissionError(13, 'Permission denied', dir)

        monkeypatch.setattr('tempfile.TemporaryFile', refuse)
    notes: list[Any] = []
    trainer = make_trainer(out=folder)
    trainer.extend(Spy(notes, 'a'))
    assert_nothing_trained(trainer, PermissionError, notes)


def test_elapsed_time_stands_still_after_the_run(make_trainer: Any) -> None:
    trainer = make_trainer((1, 'iteration'))
    during = []
    trainer.extend(lambda t: during.append(t.elapsed_time), name='clock')
    trainer.run()
    total = trainer.elapsed_time
    assert 0 < during[0] <= total
    time.sleep(0.01)
    assert trainer.elapsed_time == total


def test_finished_triggers_are_not_initialized(make_trainer: Any) -> None:
    notes: list[Any] = []
    trainer = make_trainer((1, 'iteration'))
    done = triggers.ManualScheduleTrigger(5, 'iteration')
    done.finished = True
    trainer.extend(Spy(notes, 'done'), trigger=done)
    trainer.run()
    assert notes == [('done', 'finalize')]


def test_extensions_may_be_given_to_the_constructor(make_trainer: Any) -> None:
    trainer = Trainer(make_trainer().updater, extensions=[extensions.LogReport(), Spy([], 'a')])
    assert isinstance(trainer.get_extension('Spy'), Spy)
    assert isinstance(trainer.get_extension('LogReport'), extensions.LogReport)
    assert (trainer.out, trainer.is_before_training) == ('result', True)


@pytest.mark.parametrize('error', [ValueError, KeyboardInterrupt])
def test_a_run_that_was_broken_off_goes_on(make_trainer: Any, error: type[BaseException]) -> None:
    """As in Chainer, and the extension that has failed is called again."""
    calls: list[Any] = []

    class Failing(Extension):
        trigger = (1, 'iteration')

        def initialize(self, trainer: Trainer) -> None:
            calls.append('initialize')

        def __call__(self, trainer: Trainer) -> None:
            calls.append(trainer.updater.iteration)
            if calls.count(3) == 1:
                raise error('once')

        def finalize(self) -> None:
            calls.append('finalize')

    trainer, whole = make_trainer((5, 'iteration')), make_trainer((5, 'iteration'))
    trainer.extend(Failing())
    with pytest.raises(error, match='once'):
        trainer.run(show_loop_exception_msg=False)
    elapsed = trainer.elapsed_time
    trainer.run()
    assert trainer.elapsed_time > elapsed
    assert calls == ['initialize', 1, 2, 3, 'finalize', 'initialize', 3, 4, 5, 'finalize']
    whole.run()
    models = [t.updater.get_optimizer('main').target for t in (trainer, whole)]
    for ours, expected in zip(*(model.params() for model in models), strict=True):
        np.testing.assert_array_equal(ours.array, expected.array)
    with pytest.raises(RuntimeError, match='multiple times'):
        trainer.run()
