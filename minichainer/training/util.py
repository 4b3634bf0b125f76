from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from minichainer.training._interval_trigger import IntervalTrigger


def get_trigger(trigger: Any) -> Any:
    """Returns a trigger object.

    Args:
        trigger: A trigger (a function of the trainer that returns a bool), a pair ``(period, unit)``, which
            becomes an :class:`~minichainer.training.triggers.IntervalTrigger`, or ``None``: never.

    Raises:
        TypeError: It is something else.

    .. admonition:: Example

        >>> from minichainer import training
        >>> print(training.get_trigger((2, 'epoch')))
        IntervalTrigger(2, 'epoch')

    """
    if trigger is None:
        return _never
    if callable(trigger):
        return trigger
    if isinstance(trigger, (tuple, list)) and len(trigger) == 2:
        return IntervalTrigger(*trigger)
    raise TypeError(f"a trigger must be a callable, None or a pair like (1, 'epoch'), got {trigger!r}")


def _never(trainer: Any) -> bool:
    return False


def names_of(names: Iterable[str], extension: str, argument: str) -> list[str]:
    """A list of names; TypeError for one name, whose letters would be taken for names."""
    if isinstance(names, str):
        raise TypeError(f'{extension}: a list of names expected as {argument}, got {names!r}; write [{names!r}]')
    return list(names)


def is_dataset(value: Any) -> bool:
    """Whether it is a dataset, or something else with indices, and not an iterator."""
    is_iterator = hasattr(value, 'next') or hasattr(value, '__next__')
    return hasattr(value, '__getitem__') and hasattr(value, '__len__') and not is_iterator


def kind_of(value: Any) -> str:
    """What a wrong argument is, for errors."""
    return f'the class {value.__name__}' if isinstance(value, type) else f'an object of type {type(value).__name__}'


def check_iterator(user: str, value: Any, arguments: str) -> None:
    """Raises TypeError for what can only be iterated, such as a DataLoader of torch or a generator.

    Args:
        user: who was given it.
        value: what should be an iterator of this package, or what programs define in its place.
        arguments: of the iterator to make instead, after the dataset.
    """
    if hasattr(value, '__iter__') and not hasattr(value, 'next') and not isinstance(value, dict):
        source = 'loader.dataset' if hasattr(value, 'dataset') else 'dataset'
        raise TypeError(
            f'{user}: an iterator of minichainer expected, got {kind_of(value)}, which has no position to save; '
            f'write iterators.SerialIterator({source}, {arguments})'
        )
