"""Saved trainers go on as if nothing had happened; Chainer's snapshots can be resumed."""

from __future__ import annotations

import io
import os
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minichainer.serializer import SnapshotError
from minichainer.serializers.npz import load_npz, save_npz
from minichainer.training import extensions, triggers
from minichainer.training.extensions import snapshot_writers

WRITERS = ['SimpleWriter', 'ThreadWriter', 'ProcessWriter', 'ThreadQueueWriter', 'ProcessQueueWriter']


def with_everything(trainer: Any, evaluation: Any) -> Any:
    """Adds extensions that have a state."""
    model = trainer.updater.get_optimizer('main').target
    trainer.extend(extensions.Evaluator(evaluation, model))
    trainer.extend(extensions.LogReport(trigger=(3, 'iteration')))
    trainer.extend(extensions.ExponentialShift('alpha', 0.9), trigger=(2, 'iteration'))
    trainer.extend(extensions.MultistepShift('beta1', 0.9, [2, 4], None))
    trainer.extend(extensions.PrintReport(['iteration', 'main/loss'], out=io.StringIO()))
    best = triggers.MinValueTrigger('main/loss', (2, 'iteration'))
    trainer.extend(extensions.snapshot(filename='best'), name='best', trigger=best)
    return trainer


def state(trainer: Any) -> dict[str, Any]:
    optimizer = trainer.updater.get_optimizer('main')
    log = [{k: v for k, v in e.items() if k != 'elapsed_time'} for e in trainer.get_extension('LogReport').log]
    return {
        'params': {k: p.array.tolist() for k, p in optimizer.target.namedparams()},
        'moments': {k: p.update_rule.state['m'].tolist() for k, p in optimizer.target.namedparams()},
        'hyper': (optimizer.alpha, optimizer.beta1, optimizer.t, optimizer.epoch),
        'updater': (trainer.updater.iteration, trainer.updater.epoch_detail),
        'log': log,
    }


@pytest.mark.parametrize('at', [1, 3, 4, 7])
def test_resumed_run_is_the_uninterrupted_one(make_trainer: Any, evaluation: Any, tmp_path: Path, at: int) -> None:
    whole = with_everything(make_trainer((5, 'epoch'), out=tmp_path / 'a'), evaluation)
    whole.run()
    part = with_everything(make_trainer((at, 'iteration'), out=tmp_path / 'b'), evaluation)
    part.extend(extensions.snapshot(filename='last'), trigger=(at, 'iteration'))
    part.run()
    rest = with_everything(make_trainer((5, 'epoch'), out=tmp_path / 'c', seed=99), evaluation)
    rest.extend(extensions.snapshot(filename='last'), trigger=(at, 'iteration'))
    with np.load(tmp_path / 'b' / 'last') as saved:
        names = set(saved.files)
    # A stop trigger of iterations and one of epochs save alike.
    load_npz(tmp_path / 'b' / 'last', rest)
    assert rest.updater.iteration == at
    rest.run()
    assert state(rest) == state(whole)
    assert rest.elapsed_time > part.elapsed_time
    assert {'updater/iterator:main/order_sampler/random_state', 'extensions/ExponentialShift/_t'} < names


def test_trainer_can_be_saved_before_its_run(make_trainer: Any, tmp_path: Path) -> None:
    save_npz(tmp_path / 'start', make_trainer())
    with np.load(tmp_path / 'start') as saved:
        assert (saved['updater/iteration'], saved['_snapshot_elapsed_time']) == (0, 0)


@pytest.mark.parametrize('writer', WRITERS)
def test_writers(make_trainer: Any, writer: str) -> None:
    threads = threading.active_count()
    trainer = make_trainer((3, 'epoch'))
    model = trainer.updater.get_optimizer('main').target
    weights = {}
    trainer.extend(lambda t: weights.update({t.updater.iteration: model.predictor.l1.W.array.copy()}), name='spy')
    made = getattr(snapshot_writers, writer)(compression=False)
    trainer.extend(extensions.snapshot(writer=made), trigger=(1, 'iteration'))
    trainer.extend(
        extensions.snapshot_object(model, 'model_{.updater.iteration}', n_retains=2), trigger=(2, 'iteration')
    )
    trainer.run()
    want = ['model_6', 'model_8', *(f'snapshot_iter_{i}' for i in range(1, 9))]
    assert sorted(p.name for p in Path(trainer.out).iterdir()) == want
    for i in range(1, 9):
        with np.load(Path(trainer.out) / f'snapshot_iter_{i}') as saved:
            np.testing.assert_array_equal(saved['updater/model:main/predictor/l1/W'], weights[i])
            assert saved['updater/iteration'] == i
    assert threading.active_count() == threads


@pytest.mark.parametrize('writer', WRITERS)
def test_old_files_are_removed(make_trainer: Any, writer: str) -> None:
    trainer = make_trainer((8, 'iteration'))
    made = getattr(snapshot_writers, writer)()
    trainer.extend(extensions.snapshot(writer=made, n_retains=3), trigger=(1, 'iteration'))
    Path(trainer.out).mkdir()
    (Path(trainer.out) / 'other').write_text('')
    trainer.run()
    names = sorted(p.name for p in Path(trainer.out).iterdir())
    assert names == ['other', 'snapshot_iter_6', 'snapshot_iter_7', 'snapshot_iter_8']


def test_autoload_takes_the_latest_iteration_whatever_the_times_of_the_files(make_trainer: Any) -> None:
    first = make_trainer((11, 'iteration'))
    first.extend(extensions.snapshot(), trigger=(1, 'iteration'))
    first.extend(extensions.ExponentialShift('alpha', 0.5), trigger=(5, 'iteration'))
    first.extend(lambda t: None, name='spy')
    first.run()
    for name in ('snapshot_iter_2', 'snapshot_iter_9'):
        os.utime(Path(first.out) / name, (2e9, 2e9))
    for name in ('snapshot_iter_best', 'snapshot_iter_99.bak', 'snapshot_iter_'):
        (Path(first.out) / name).write_bytes(b'not made by this format')
    second = make_trainer((12, 'iteration'))
    seen = []
    second.extend(extensions.snapshot(autoload=True), trigger=(99, 'iteration'))
    second.extend(extensions.ExponentialShift('alpha', 0.5), trigger=(5, 'iteration'))
    second.extend(lambda t: seen.append((t.updater.iteration, t.updater.get_optimizer('main').alpha)), name='spy')
    second.run()
    # The rate too is that of the snapshot from the first iteration on.
    assert seen == [(12, 0.0125)]


def test_autoload_without_files_starts_afresh(make_trainer: Any) -> None:
    trainer = make_trainer((2, 'iteration'))
    trainer.extend(extensions.snapshot(autoload=True))
    trainer.run()
    assert trainer.updater.iteration == 2


def test_condition_file_name_function_and_savefun(make_trainer: Any) -> None:
    calls = []
    trainer = make_trainer((4, 'iteration'))

    def save(path: str, target: Any) -> None:
        calls.append(sorted(target)[:1])
        np.savez(path, **target)

    answers = iter([True, False, True, False])
    trainer.extend(
        extensions.snapshot(save, lambda t: f'at{t.updater.iteration}.npz', condition=lambda: next(answers)),
        trigger=(1, 'iteration'),
    )
    trainer.run()
    assert sorted(p.name for p in Path(trainer.out).iterdir()) == ['at1.npz', 'at3.npz']
    assert calls == [['_snapshot_elapsed_time']] * 2


@pytest.mark.parametrize('on_error', [True, False])
def test_snapshot_on_error(make_trainer: Any, on_error: bool) -> None:
    def fail(trainer: Any) -> None:
        raise RuntimeError('stop')

    trainer = make_trainer()
    trainer.extend(extensions.snapshot(snapshot_on_error=on_error))
    trainer.extend(fail)
    with pytest.raises(RuntimeError, match='stop'):
        trainer.run(show_loop_exception_msg=False)
    assert [p.name for p in Path(trainer.out).iterdir()] == ['snapshot_iter_1'] * on_error


def fail_to_write(path: str, target: Any) -> None:
    Path(path).write_text('half')
    raise OSError('disk full')


@pytest.mark.parametrize('writer', WRITERS)
def test_failure_to_write_is_not_silent_and_leaves_no_half_file(make_trainer: Any, writer: str) -> None:
    trainer = make_trainer((2, 'iteration'))
    trainer.extend(
        extensions.snapshot(writer=getattr(snapshot_writers, writer)(fail_to_write)), trigger=(1, 'iteration')
    )
    with pytest.raises(OSError, match='disk full'):
        trainer.run(show_loop_exception_msg=False)
    assert list(Path(trainer.out).iterdir()) == []


@pytest.mark.parametrize(
    ('make', 'message'),
    [
        (
            lambda: extensions.snapshot(save_npz, writer=snapshot_writers.SimpleWriter()),
            'cannot be specified together',
        ),
        (lambda: extensions.snapshot(foo=1), "unexpected arguments \\['foo'\\]"),
    ],
)
def test_bad_arguments(make: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        make()


@pytest.mark.parametrize('option', [{'n_retains': 1}, {'autoload': True}])
def test_files_of_a_function_of_names_cannot_be_found(option: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r'filename must be a text, such as .* got <function'):
        extensions.snapshot(filename=lambda trainer: 'last', **option)


def test_older_spelling_of_n_retains() -> None:
    assert extensions.snapshot_object(None, 'x', num_retain=4).n_retains == 4


def test_model_that_does_not_fit_is_told_before_anything_is_restored(make_trainer: Any, tmp_path: Path) -> None:
    saved = make_trainer((2, 'iteration'))
    saved.run()
    del saved.updater.get_optimizer('main').target.predictor.l2
    save_npz(tmp_path / 'file', saved)
    trainer = make_trainer()
    before = trainer.updater.get_optimizer('main').target.predictor.l1.W.array.copy()
    with pytest.raises(SnapshotError) as caught:
        load_npz(tmp_path / 'file', trainer)
    for name in ('l2/W', 'l2/b'):
        assert f'updater/model:main/predictor/{name}: missing in the snapshot' in str(caught.value)
    assert (trainer.updater.iteration, trainer.updater.get_iterator('main').current_position) == (0, 0)
    np.testing.assert_array_equal(trainer.updater.get_optimizer('main').target.predictor.l1.W.array, before)
