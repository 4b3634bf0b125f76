from __future__ import annotations

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
