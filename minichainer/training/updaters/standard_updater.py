from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

from minichainer import backend
from minichainer.dataset.convert import call_converter, call_with, concat_examples
from minichainer.optimizer.rule import serialize_single_precision
from minichainer.serializers._deserializer import EntryDeserializer
from minichainer.training._first_error import run_all
from minichainer.training.updater import Updater
from minichainer.training.util import check_iterator, is_dataset, kind_of


class StandardUpdater(Updater):
    """Gets a mini-batch, computes the loss, and updates the parameters.

    For several iterators or optimizers, or a different step, a subclass defines :meth:`update_core`.

    Args:
        iterator: Iterator over the training set, or a dict of iterators by name. One alone is called
            ``'main'``.
        optimizer: Optimizer that was set up with the model, or a dict of optimizers by name. One alone is
            called ``'main'``.
        converter: Function ``converter(batch, device)`` that makes arrays of a list of examples.
        device: Device to which the models are sent; ``None`` leaves them where they are.
        loss_func: Function of the arrays that returns the loss; the main optimizer's model when omitted.
        loss_scale (float): The loss's gradient is multiplied by it, the parameters' gradients are divided by
            it before the update: against underflow in float16.
        auto_new_epoch (bool): Whether to call ``new_epoch`` of the main optimizer after each epoch.
        input_device: Device to which the arrays are sent; ``device`` when omitted.

    Attributes:
        converter: Converter.
        loss_func: Loss function or ``None``.
        iteration: Number of updates done.
        auto_new_epoch: Whether ``new_epoch`` of the optimizer is called.

    .. admonition:: Example

        >>> import numpy as np
        >>> import minichainer as chainer
        >>> import minichainer.links as L
        >>> from minichainer import training
        >>> model = L.Classifier(L.Linear(2, 3))
        >>> data = chainer.datasets.TupleDataset(np.ones((8, 2), np.float32), np.zeros(8, np.int32))
        >>> updater = training.updaters.StandardUpdater(
        ...     chainer.iterators.SerialIterator(data, 4), chainer.optimizers.SGD().setup(model))
        >>> updater.update()
        >>> updater.iteration, updater.epoch_detail
        (1, 0.5)

    """

    def __init__(
        self,
        iterator: Any,
        optimizer: Any,
        converter: Callable[..., Any] = concat_examples,
        device: Any = None,
        loss_func: Callable[..., Any] | None = None,
        loss_scale: float | None = None,
        auto_new_epoch: bool = True,
        *,
        input_device: Any = None,
    ) -> None:
        check_arguments(type(self).__name__, iterator, optimizer)
        self._device = _get_device(device)
        self._input_device = self._device if input_device is None else _get_device(input_device)
        self._iterators: Any = iterator if isinstance(iterator, Mapping) else {'main': iterator}
        self._optimizers = optimizer if isinstance(optimizer, dict) else {'main': optimizer}
        self.converter = converter
        self.loss_func = loss_func
        self.iteration = 0
        self._loss_scale = loss_scale
        self.auto_new_epoch = auto_new_epoch
        for o in self._optimizers.values():
            if self._device is not None:
                o.target.to_device(self._device)
            if loss_scale is not None:
                o.set_loss_scale(loss_scale)
            if auto_new_epoch:
                o.use_auto_new_epoch = True

    @property
    def device(self) -> Any:
        """The device of the models, or ``None``."""
        return self._device

    @property
    def input_device(self) -> Any:
        """The device for the inputs, or ``None``."""
        return self._input_device

    @property
    def epoch(self) -> int:
        """Number of completed epochs of the main iterator."""
        epoch: int = self._iterators['main'].epoch
        return epoch

    @property
    def epoch_detail(self) -> float:
        """Number of epochs of the main iterator, including the fraction of the current one."""
        epochs: float = self._iterators['main'].epoch_detail
        return epochs

    @property
    def previous_epoch_detail(self) -> float | None:
        """The value of :attr:`epoch_detail` before the last update."""
        epochs: float | None = self._iterators['main'].previous_epoch_detail
        return epochs

    @property
    def is_new_epoch(self) -> bool:
        """Whether the last update completed an epoch."""
        completed: bool = self._iterators['main'].is_new_epoch
        return completed

    def finalize(self) -> None:
        """Finalizes the iterators."""
        run_all((f'finalize of iterator {name!r}', it.finalize) for name, it in self._iterators.items())

    def get_optimizer(self, name: str) -> Any:
        """Returns the optimizer of this name."""
        return self._optimizers[name]

    def get_all_optimizers(self) -> dict[str, Any]:
        """Returns a dict of the optimizers by name."""
        return dict(self._optimizers)

    def get_iterator(self, name: str) -> Any:
        """Returns the iterator of this name.

        Args:
            name: the name; ``'main'`` for that of the training set.
        """
        return self._iterators[name]

    def update(self) -> None:
        """Does one update and counts it."""
        self.update_core()
        self.iteration += 1

    def update_core(self) -> None:
        """Gets a batch, converts it, and updates with the main optimizer; subclasses may override it."""
        iterator = self._iterators['main']
        optimizer = self._optimizers['main']
        arrays = call_converter(self.converter, iterator.next(), self.input_device)
        call_with(functools.partial(optimizer.update, self.loss_func or optimizer.target), arrays)
        if self.auto_new_epoch and iterator.is_new_epoch:
            optimizer.new_epoch(auto=True)

    def serialize(self, serializer: Any) -> None:
        """Saves or restores iterators, optimizers, their models and the number of updates."""
        for name, optimizer in self._optimizers.items():
            model = serializer['model:' + name]
            if isinstance(model, EntryDeserializer):
                model.load(optimizer.target)  # names all entries that do not fit
            else:
                optimizer.target.serialize(model)
        for name, iterator in self._iterators.items():
            iterator.serialize(serializer['iterator:' + name])
        for name, optimizer in self._optimizers.items():
            optimizer.serialize(serializer['optimizer:' + name])
            serialize_single_precision(serializer['single precision:' + name], optimizer.target)
        self.iteration = serializer('iteration', self.iteration)


def check_arguments(name: str, iterators: Any, optimizers: Any) -> None:
    """Raises TypeError for arguments that are swapped, classes, datasets or models.

    Anything else is accepted, because programs define iterators and optimizers of their own.
    """
    if hasattr(iterators, 'setup') and not hasattr(optimizers, 'setup'):
        raise TypeError(f'{name}: the arguments look swapped: write {name}(iterator, optimizer)')
    for value in iterators.values() if isinstance(iterators, dict) else (iterators,):
        if isinstance(value, type) or hasattr(value, 'namedlinks') or is_dataset(value):
            remedy = 'write iterators.SerialIterator(dataset, batch_size)'
            raise TypeError(f'{name}: an iterator expected, got {kind_of(value)}; {remedy}')
        check_iterator(name, value, 'batch_size')
    for value in optimizers.values() if isinstance(optimizers, dict) else (optimizers,):
        if isinstance(value, type) or hasattr(value, 'namedlinks'):
            remedy = 'write optimizers.Adam().setup(model)'
            raise TypeError(f'{name}: an optimizer expected, got {kind_of(value)}; {remedy}')


def _get_device(spec: Any) -> Any:
    return None if spec is None else backend.get_device(spec)
