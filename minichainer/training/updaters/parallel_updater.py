from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minichainer.dataset.convert import concat_examples
from minichainer.serializer import Serializer
from minichainer.training.updaters._parallel import as_device, differentiate, is_initialized, main_first
from minichainer.training.updaters.standard_updater import StandardUpdater


class ParallelUpdater(StandardUpdater):
    """Splits each mini-batch among several devices, which have copies of the model, in one process.

    Each copy computes the loss of its part. The gradients are added to those of the main model, which is updated, and
    its parameters and persistent values are copied to the others. So with two devices, and a loss that is a mean, the
    gradient is twice as large as that of :class:`StandardUpdater`: adjust the learning rate, or divide the loss.

    What the models report is observed as ``'main/loss'``, ``'second/loss'`` and so on.

    Args:
        iterator: Iterator over the training set, or a dict of iterators by name.
        optimizer: Optimizer that was set up with the main model, or a dict of optimizers by name.
        converter: Function ``converter(batch, device)`` that makes arrays of a list of examples.
        models (dict): Models by name, the optimizer's under ``'main'``; copies of that one when omitted.
        devices (dict): Devices by name, one of them ``'main'``; those of the models when omitted.
        loss_func: Function of the arrays that returns the loss; the models when omitted.
        loss_scale (float): See :class:`StandardUpdater`.
        auto_new_epoch (bool): Whether to call ``new_epoch`` of the main optimizer after each epoch.

    Raises:
        KeyError: There is no ``'main'`` among the devices or the models.
        ValueError: Neither models nor devices are given, or their names differ.

    .. admonition:: Example

        >>> import numpy as np
        >>> import minichainer as chainer
        >>> import minichainer.links as L
        >>> from minichainer import training
        >>> model = L.Classifier(L.Linear(2, 3))
        >>> data = chainer.datasets.TupleDataset(np.ones((8, 2), np.float32), np.zeros(8, np.int32))
        >>> updater = training.updaters.ParallelUpdater(
        ...     chainer.iterators.SerialIterator(data, 4), chainer.optimizers.SGD().setup(model),
        ...     devices={'main': '@numpy', 'second': '@numpy'})
        >>> updater.update()
        >>> updater.iteration, updater.epoch_detail
        (1, 0.5)

    """

    def __init__(
        self,
        iterator: Any,
        optimizer: Any,
        converter: Callable[..., Any] = concat_examples,
        models: dict[str, Any] | None = None,
        devices: dict[str, Any] | None = None,
        loss_func: Callable[..., Any] | None = None,
        loss_scale: float | None = None,
        auto_new_epoch: bool = True,
    ) -> None:
        _check_names(models, devices)
        super().__init__(
            iterator, optimizer, converter, loss_func=loss_func, loss_scale=loss_scale, auto_new_epoch=auto_new_epoch
        )
        target = self.get_optimizer('main').target
        if models is None:
            models = {name: target if name == 'main' else target.copy('copy') for name in devices or ()}
        self._models = models
        if devices is None:
            self._devices = {name: model.device for name, model in models.items()}
        else:
            self._devices = {name: as_device(device) for name, device in devices.items()}
            for name, model in models.items():
                model.to_device(self._devices[name])

    def connect_trainer(self, trainer: Any) -> None:
        """Lets the trainer observe what all models report."""
        for name, model in self._models.items():
            if name != 'main':
                trainer.reporter.add_observer(name, model)
                trainer.reporter.add_observers(name, model.namedlinks(skipself=True))

    def update_core(self) -> None:
        """Gets a batch, computes gradients on all devices, and updates with the main optimizer."""
        iterator, optimizer = self.get_iterator('main'), self.get_optimizer('main')
        batch = iterator.next()
        for model in self._models.values():
            model.cleargrads()
        main = self._models['main']
        was_initialized = is_initialized(main)
        # The main model is first: its lazy parameters get their initial values, and the others copy them.
        names = main_first(self._models)
        for n, name in enumerate(names):
            part = batch[n :: len(names)]
            if part:
                self._differentiate(name, part)
            if name == 'main' and not was_initialized:
                self._copy_to_others()
        for name in names[1:]:
            main.addgrads(self._models[name])
        optimizer.update()
        self._copy_to_others()
        if self.auto_new_epoch and iterator.is_new_epoch:
            optimizer.new_epoch(auto=True)

    def _differentiate(self, name: str, part: list[Any]) -> None:
        model, device = self._models[name], self._devices[name]
        differentiate(model, self.loss_func, self.converter, part, device, self._loss_scale)

    def _copy_to_others(self) -> None:
        for name, model in self._models.items():
            if name != 'main':
                model.copyparams(self._models['main'])

    def serialize(self, serializer: Any) -> None:
        """Saves or restores what :class:`StandardUpdater` does; all models get the restored parameters."""
        super().serialize(serializer)
        if not isinstance(serializer, Serializer):
            self._copy_to_others()


def _check_names(models: dict[str, Any] | None, devices: dict[str, Any] | None) -> None:
    if models is None and devices is None:
        raise ValueError('ParallelUpdater: either models or devices must be specified')
    for what, given in (('models', models), ('devices', devices)):
        if given is not None and not isinstance(given, dict):
            raise TypeError(f'ParallelUpdater: {what} must be a dict by name, got {type(given).__name__}')
        if given is not None and 'main' not in given:
            raise KeyError(f"ParallelUpdater: '{what}' must contain a 'main' key, got {sorted(given)}")
    if models is not None and devices is not None and models.keys() != devices.keys():
        raise ValueError(
            f'ParallelUpdater: models {sorted(models)} and devices {sorted(devices)} must have equal names'
        )
