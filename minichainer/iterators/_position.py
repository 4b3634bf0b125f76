from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy

from minichainer.dataset._rows import at, is_framed
from minichainer.errors import check_ints
from minichainer.iterators.order_samplers import ShuffleOrderSampler
from minichainer.link._calls import check_call
from minichainer.serializer import Serializer


@dataclass(frozen=True)
class Position:
    """The position of an iterator in an epoch, and the order of the epoch (``None``: the dataset's own)."""

    current_position: int = 0
    epoch: int = 0
    is_new_epoch: bool = False
    order: numpy.ndarray | None = None


class Plan:
    """Determines the next indices from an iterator's arguments."""

    def __init__(self, dataset: Any, batch_size: int, repeat: bool, shuffle: bool | None, order_sampler: Any) -> None:
        _check_dataset(dataset, batch_size)
        check_ints('an iterator', batch_size=batch_size)
        if batch_size < 1:
            raise ValueError(f'batch_size must be at least 1, got {batch_size}')
        if order_sampler is not None and shuffle is not None:
            raise ValueError(
                '`shuffle` is not `None` and a custom `order_sampler` is set; leave `shuffle` out to use the sampler'
            )
        self.dataset = dataset
        self.batch_size = batch_size
        self.repeat = repeat
        if order_sampler is None and (shuffle is None or shuffle):
            order_sampler = ShuffleOrderSampler()
        #: ``order_sampler(current_order, current_position)`` returns the next order, or None for the dataset's.
        self.order_sampler: Any = order_sampler

    def first(self) -> Position:
        """The position before the first mini-batch."""
        if self.order_sampler is None:
            return Position()
        return Position(order=_as_order(self.order_sampler(numpy.arange(len(self.dataset)), 0)))

    def epoch_size(self, position: Position) -> int:
        """Number of examples in an epoch."""
        return len(self.dataset) if position.order is None else len(position.order)

    def advance(
        self, position: Position, draw: Callable[[numpy.ndarray | None, int, int], numpy.ndarray | None]
    ) -> tuple[Position, list[int] | None]:
        """Returns the position after the next mini-batch and its indices, which are ``None`` at the end.

        Args:
            position: where the mini-batch starts.
            draw: gives the order of an epoch that begins in the mini-batch, see :meth:`PositionedIterator._draw`.
        """
        if not self.repeat and position.epoch > 0:
            return position, None
        size = self.epoch_size(position)
        if size == 0:
            raise ValueError(
                f'the epoch is empty: {type(self.dataset).__name__} of length {len(self.dataset)}; an iterator needs '
                'at least one example'
            )
        start = position.current_position
        stop = start + self.batch_size
        indices = _between(position.order, start, min(stop, size))
        if stop < size:
            return replace(position, current_position=stop, is_new_epoch=False), indices
        # Also where no epoch follows, as in Chainer: what draws next gets the same numbers.
        epoch, order = position.epoch + 1, draw(position.order, start, 0)
        if not self.repeat:
            return Position(0, epoch, True, order), indices
        rest = stop - size
        # A mini-batch may be longer than an epoch, and then contains several ends of epochs.
        while rest >= size:
            indices += _between(order, 0, size)
            rest -= size
            epoch += 1
            order = draw(order, start, epoch - position.epoch - 1)
        return Position(rest, epoch, True, order), indices + _between(order, 0, rest)

    def is_determined(self, position: Position) -> bool:
        """Whether the next mini-batch is known without drawing an order."""
        if self.order_sampler is None or (not self.repeat and position.epoch > 0):
            return True
        return position.current_position + self.batch_size < self.epoch_size(position)

    def rest_of_epoch(self, position: Position) -> list[int]:
        """The indices from a position to the end of its epoch, at most a mini-batch."""
        start = position.current_position
        return _between(position.order, start, min(start + self.batch_size, self.epoch_size(position)))

    def next_order(self, order: numpy.ndarray, position: int) -> numpy.ndarray | None:
        """Draws the order of the next epoch."""
        if self.order_sampler is None:
            return order
        new = _as_order(self.order_sampler(order, position))
        size = len(self.dataset if new is None else new)
        if size != len(order):
            raise ValueError(
                f'The size of order does not match the size of the previous order: {size} after {len(order)}'
            )
        return new


def _as_order(order: Any) -> numpy.ndarray | None:
    """What an order sampler has returned; ``None`` is the order of the dataset, from then on."""
    return None if order is None else numpy.asarray(order)


def _check_dataset(dataset: Any, batch_size: Any) -> None:
    """Raises TypeError for arguments that are swapped, or something else than a dataset."""
    if hasattr(batch_size, '__len__') and isinstance(dataset, int):
        raise TypeError(
            'an iterator got a number as dataset: the arguments look swapped, write (dataset, batch_size)'
        )
    if hasattr(dataset, '__getitem__') and _has_entries(batch_size):
        raise TypeError(
            f'an iterator takes one dataset, got {type(batch_size).__name__} as batch_size; for examples and labels '
            'write (chainer.datasets.TupleDataset(x, t), batch_size)'
        )
    if not hasattr(dataset, '__len__') or not hasattr(dataset, '__getitem__'):
        remedy = '; write list(dataset)' if hasattr(dataset, '__iter__') else ''
        raise TypeError(f'a dataset with a length and indices expected, got {type(dataset).__name__}{remedy}')


def _has_entries(value: Any) -> bool:
    """Whether a value is data, and neither a number nor a text."""
    return hasattr(value, '__len__') and not isinstance(value, (str, bytes)) and getattr(value, 'ndim', 1) > 0


def examples(dataset: Any, indices: Iterable[int]) -> list[Any]:
    """The examples at some indices; StopIteration of a dataset, which would end the epoch, becomes RuntimeError."""
    try:
        if is_framed(dataset):
            return [at(dataset, index) for index in indices]
        return [dataset[index] for index in indices]
    except StopIteration as error:
        raise RuntimeError(_stopped(dataset)) from error


def example(dataset: Any, index: int) -> Any:
    """One example, like :func:`examples`."""
    return examples(dataset, (index,))[0]


def _stopped(dataset: Any) -> str:
    """The message for a dataset that raises StopIteration."""
    return (
        f'{type(dataset).__name__} has raised StopIteration while an example was read, which would end the epoch in '
        'silence; use next(iterator, default) or a for loop in it'
    )


def _between(order: numpy.ndarray | None, start: int, stop: int) -> list[int]:
    return list(range(start, stop)) if order is None else list(order[start:stop])


class PositionedIterator:
    """Shared code of the iterators over a dataset: arguments, position, saving and restoring."""

    _plan: Plan

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        if args or kwargs:
            check_call(cls, args, kwargs)
        return super().__new__(cls)

    _state: Position
    _previous_epoch_detail: float
    #: Orders of epochs that begin in the next mini-batch, if they were drawn and it could not be read.
    _drawn: tuple[numpy.ndarray | None, ...] = ()
    #: The name of the order in snapshots, which Chainer's iterators do not have in common.
    _order_entry = 'order'
    _saves_no_order = False  # whether there is an entry without shuffling

    def _setup(self, plan: Plan) -> None:
        self.dataset = plan.dataset
        self.batch_size = plan.batch_size
        self.order_sampler = plan.order_sampler
        self._plan = plan
        self._rewind()

    def _rewind(self) -> None:
        self._state, self._previous_epoch_detail, self._drawn = self._plan.first(), -1.0, ()

    def _advance(self, position: Position) -> tuple[Position, list[int] | None]:
        """The position after the mini-batch at a position, and its indices; nothing has moved."""
        return self._plan.advance(position, self._draw)

    def _draw(self, order: numpy.ndarray | None, start: int, number: int) -> numpy.ndarray | None:
        """The order of an epoch that begins in the next mini-batch, drawn once even if reading it is tried again.

        Args:
            order: that of the epoch before.
            start: where the mini-batch starts.
            number: how many epochs begin in the mini-batch before this one.
        """
        if order is None:
            return None
        if number == len(self._drawn):
            self._drawn = (*self._drawn, self._plan.next_order(order, start))
        return self._drawn[number]

    def _move(self, after: Position) -> None:
        """Goes on to a position, once the mini-batch before it was read."""
        detail = self.epoch_detail
        # In one statement without a call, so that no interrupt comes in between.
        self._previous_epoch_detail, self._state, self._drawn = detail, after, ()

    @property
    def repeat(self) -> bool:
        """Whether the iterator restarts after the last example."""
        return self._plan.repeat

    @property
    def current_position(self) -> int:
        """Number of examples of the current epoch that were returned."""
        return self._state.current_position

    @property
    def epoch(self) -> int:
        """Number of completed sweeps over the dataset."""
        return self._state.epoch

    @property
    def is_new_epoch(self) -> bool:
        """Whether the last mini-batch completed an epoch."""
        return self._state.is_new_epoch

    @property
    def epoch_detail(self) -> float:
        """Number of sweeps over the dataset, including the fraction of the current one."""
        size = self._epoch_size
        return self.epoch + self.current_position / size if size else float(self.epoch)

    @property
    def previous_epoch_detail(self) -> float | None:
        """The value of :attr:`epoch_detail` before the last mini-batch; ``None`` before the first one."""
        return None if self._previous_epoch_detail < 0 else self._previous_epoch_detail

    @property
    def _epoch_size(self) -> int:
        return self._plan.epoch_size(self._state)

    def serialize(self, serializer: Any) -> None:
        """Saves or restores the position, the order of the epoch and the sampler's own random state."""
        if isinstance(serializer, Serializer):
            self._save(serializer)
        else:
            self._load(serializer)
        if hasattr(self.order_sampler, 'serialize'):
            self.order_sampler.serialize(serializer['order_sampler'])

    def _save(self, serializer: Any) -> None:
        state = self._state
        serializer('current_position', state.current_position)
        serializer('epoch', state.epoch)
        serializer('is_new_epoch', state.is_new_epoch)
        if state.order is not None or self._saves_no_order:
            serializer(self._order_entry, state.order)
        if self._drawn:
            own = numpy.arange(len(self.dataset))
            serializer('drawn_orders', numpy.stack([own if order is None else order for order in self._drawn]))
        serializer('previous_epoch_detail', self._previous_epoch_detail)

    def _load(self, serializer: Any) -> None:
        position = int(serializer('current_position', self._state.current_position))
        epoch = int(serializer('epoch', self._state.epoch))
        is_new_epoch = bool(serializer('is_new_epoch', self._state.is_new_epoch))
        order, drawn = self._load_orders(serializer)
        size = self._plan.epoch_size(Position(0, 0, False, order))
        is_beyond = position > size or (order is None and position >= len(self.dataset) > 0)
        if is_beyond or min(position, epoch) < 0:
            raise ValueError(
                f'{type(self).__name__}: the snapshot was made after {position} examples of epoch {epoch}; '
                f'the dataset here has {len(self.dataset)}'
            )
        self._state, self._drawn = Position(position, epoch, is_new_epoch, order), drawn
        try:
            self._previous_epoch_detail = float(serializer('previous_epoch_detail', self._previous_epoch_detail))
        except KeyError:
            # Missing in snapshots of Chainer 1.
            before = self.epoch_detail - self.batch_size / self._epoch_size
            self._previous_epoch_detail = max(before, 0.0) if self.epoch_detail > 0 else -1.0

    def _load_orders(self, serializer: Any) -> tuple[numpy.ndarray | None, tuple[numpy.ndarray | None, ...]]:
        """The order of the epoch from a snapshot, or else the current one; and those drawn for the next epochs."""
        own = self._state.order
        if own is None:
            if self._saves_no_order:
                _entry(serializer, self._order_entry)
            return None, ()
        order = _entry(serializer, self._order_entry)
        if order is None:
            order = _entry(serializer, '_order' if self._order_entry == 'order' else 'order')
        if order is None:
            return own, ()
        self._check_order(order, own.shape)
        drawn = _rare_entry(serializer, 'drawn_orders')
        drawn = () if drawn is None else tuple(drawn)
        for each in drawn:
            self._check_order(each, own.shape)
        return order, drawn

    def _check_order(self, order: numpy.ndarray, shape: tuple[int, ...]) -> None:
        """Raises ValueError for an order that does not belong to the dataset."""
        if order.shape != shape:
            raise ValueError(
                f'{type(self).__name__}: the snapshot was made with {order.size} examples in an epoch, '
                f'the dataset here has {shape[0]}'
            )
        low, high = (order.min(), order.max()) if order.size else (0, 0)
        if order.dtype.kind not in 'iu' or not 0 <= low <= high <= max(0, len(self.dataset) - 1):
            raise ValueError(
                f'{type(self).__name__}: the order in the snapshot is {order.dtype} from {low} to {high}; '
                f'expected integers from 0 to {len(self.dataset) - 1}'
            )


def _entry(serializer: Any, name: str) -> Any:
    """An entry of a snapshot; None if there is none."""
    try:
        return serializer(name, None)
    except KeyError:
        return None


def _rare_entry(serializer: Any, name: str) -> Any:
    """An entry that most snapshots lack: a load that is not strict does not name it as missing then."""
    find = getattr(serializer, 'find', None)
    return None if find is not None and find(name) is None else _entry(serializer, name)
