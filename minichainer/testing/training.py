"""A trainer with a mock updater, for tests of extensions and triggers."""

from __future__ import annotations

import unittest.mock
from typing import Any

from minichainer.training.trainer import Trainer

__all__ = ['get_trainer_with_mock_updater']


def get_trainer_with_mock_updater(
    stop_trigger: Any = (10, 'iteration'), iter_per_epoch: float = 10, extensions: Any = None
) -> Trainer:
    """A Trainer whose updater only counts: ``iteration``, ``epoch``, ``epoch_detail``, ``is_new_epoch``.

    Args:
        stop_trigger: As :class:`~minichainer.training.Trainer` takes it.
        iter_per_epoch: Iterations of an epoch; less than 1 if an iteration takes several epochs.
        extensions: As :class:`~minichainer.training.Trainer` takes them.

    Source: documentation of ``chainer.testing.get_trainer_with_mock_updater``.

    >>> from minichainer import testing
    >>> trainer = testing.get_trainer_with_mock_updater((3, 'iteration'), iter_per_epoch=2)
    >>> trainer.extend(lambda t: print(t.updater.epoch_detail), trigger=(1, 'iteration'), name='show')
    >>> trainer.run()
    0.5
    1.0
    1.5
    """
    if iter_per_epoch <= 0:
        raise ValueError(f'iter_per_epoch: expected a positive number, got {iter_per_epoch}')
    updater = unittest.mock.Mock()
    updater.get_all_optimizers.return_value = {}
    updater.iteration, updater.epoch, updater.epoch_detail = 0, 0, 0
    updater.is_new_epoch, updater.previous_epoch_detail = True, None

    def update() -> None:
        updater.update_core()
        updater.previous_epoch_detail = updater.epoch_detail
        updater.iteration += 1
        before, updater.epoch_detail = updater.epoch, updater.iteration / iter_per_epoch
        updater.epoch = int(updater.iteration // iter_per_epoch)
        updater.is_new_epoch = updater.epoch != before

    updater.update.side_effect = update
    return Trainer(updater, stop_trigger, extensions=extensions)
