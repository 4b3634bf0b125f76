"""What one update of StandardUpdater does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from minichainer import iterators
from minichainer.backend import CpuDevice
from minichainer.dataset.convert import concat_examples, converter
from minichainer.training.updaters.standard_updater import StandardUpdater


class SpyOptimizer:
    """Notes what an optimizer is asked to do."""

    def __init__(self) -> None:
        self.notes: list[Any] = []
        self.target = self.notes.append

    def update(self, loss_func: Any, *args: Any, **kwargs: Any) -> None:
        self.notes.append((loss_func, args, kwargs))

    def new_epoch(self, auto: bool) -> None:
        self.notes.append(('new_epoch', auto))

    def set_loss_scale(self, scale: float) -> None:
        self.notes.append(('loss_scale', scale))


def serial(data: list[Any], n: int = 2) -> iterators.SerialIterator:
    return iterators.SerialIterator(data, n, shuffle=False)


@pytest.mark.parametrize(
    ('examples', 'args', 'kwargs'),
    [
        ([1, 2], ([1, 2],), {}),
        ([(1, 3), (2, 4)], ([1, 2], [3, 4]), {}),
        ([{'x': 1, 't': 3}, {'x': 2, 't': 4}], (), {'x': [1, 2], 't': [3, 4]}),
    ],
)
@pytest.mark.parametrize('loss_func', [None, print])
def test_arrays_go_to_the_loss(examples: Any, args: Any, kwargs: Any, loss_func: Any) -> None:
    optimizer = SpyOptimizer()
    updater = StandardUpdater(serial(examples), optimizer, loss_func=loss_func, auto_new_epoch=False)
    updater.update()
    ((func, got_args, got_kwargs),) = optimizer.notes
    assert func == (loss_func or optimizer.target)
    assert tuple(a.tolist() for a in got_args) == args
    assert {k: a.tolist() for k, a in got_kwargs.items()} == kwargs
    assert updater.iteration == 1


def test_new_epochs_are_told_to_the_optimizer() -> None:
    optimizer = SpyOptimizer()
    updater = StandardUpdater(serial([1, 2, 3]), optimizer)
    for _ in range(3):
        updater.update()
    told = [note == ('new_epoch', True) for note in optimizer.notes]
    assert told == [False, False, True, False, True]
    assert optimizer.use_auto_new_epoch  # type: ignore[attr-defined]
    assert (updater.epoch, updater.epoch_detail, updater.previous_epoch_detail, updater.is_new_epoch) == (
        2,
        2.0,
        pytest.approx(4 / 3),
        True,
    )


def test_real_optimizer_counts_epochs(make_trainer: Any) -> None:
    trainer = make_trainer((3, 'epoch'))
    trainer.run()
    assert trainer.updater.get_optimizer('main').epoch == 3
    assert trainer.updater.get_optimizer('main').t == trainer.updater.iteration == 8


def test_several_iterators_and_optimizers_by_name() -> None:
    its, opts = (
        {'main': serial([1]), 'other': serial([2])},
        {'main': SpyOptimizer(), 'second': SpyOptimizer()},
    )
    updater = StandardUpdater(its, opts, loss_scale=8.0)
    assert updater.get_iterator('other') is its['other']
    assert updater.get_optimizer('second') is opts['second']
    assert updater.get_all_optimizers() == opts
    assert [o.notes for o in opts.values()] == [[('loss_scale', 8.0)]] * 2


def test_all_iterators_are_finalized() -> None:
    done = []
    its = {name: serial([1]) for name in ('main', 'other')}
    for name, it in its.items():
        it.finalize = lambda name=name: done.append(name)  # type: ignore[method-assign]
    StandardUpdater(its, SpyOptimizer()).finalize()
    assert done == ['main', 'other']


def test_devices(make_trainer: Any) -> None:
    updater = make_trainer().updater
    assert (updater.device, updater.input_device) == (None, None)
    updater = make_trainer(device='@numpy').updater
    assert updater.device == updater.input_device == CpuDevice()
    updater = make_trainer(input_device='@numpy').updater
    assert (updater.device, updater.input_device) == (None, CpuDevice())


def test_converter_is_called_with_batch_and_device(make_trainer: Any) -> None:
    calls = []

    @converter()
    def spying(batch: Any, device: Any) -> Any:
        calls.append((len(batch), device))
        return concat_examples(batch, device)

    make_trainer((1, 'iteration'), converter=spying, device='@numpy').run()
    assert calls == [(8, CpuDevice())]


def test_loss_scale_does_not_change_the_result(make_trainer: Any) -> None:
    results = []
    for scale in (None, 1024.0):
        trainer = make_trainer((4, 'iteration'), loss_scale=scale)
        trainer.run()
        results.append([p.array for _, p in sorted(trainer.updater.get_optimizer('main').target.namedparams())])
    for a, b in zip(*results, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)
