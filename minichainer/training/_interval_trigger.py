from __future__ import annotations

import warnings
from typing import Any

from minichainer.errors import check_numbers


def check_unit(name: str, unit: str, period: Any = None) -> None:
    """Raises :class:`ValueError` unless a trainer counts the unit; ``period`` is for the error."""
    if unit not in ('epoch', 'iteration'):
        is_swapped = isinstance(period, str) and period in ('epoch', 'iteration')
        remedy = f'; write ({unit!r}, {period!r})' if is_swapped else ''
        raise ValueError(f"{name}: Trigger unit must be either 'epoch' or 'iteration', got {unit!r}{remedy}")


class ProgressMemory:
    """The progress at a trigger's last call, in iterations and epochs."""

    _previous_iteration = 0
    _previous_epoch_detail = 0.0

    def _advance(self, updater: Any, unit: str) -> tuple[float, float]:
        """Returns the progress at the last call and now, in the unit, and stores the latter."""
        if unit == 'epoch':
            before, now = self._previous_epoch_detail, updater.epoch_detail
            before = updater.previous_epoch_detail if before < 0 else before
        else:
            before, now = self._previous_iteration, updater.iteration
            before = now - 1 if before < 0 else before
        self._previous_iteration = updater.iteration
        self._previous_epoch_detail = getattr(updater, 'epoch_detail', self._previous_epoch_detail)
        return before, now

    def serialize(self, serializer: Any) -> None:
        """Saves or restores the progress at the last call."""
        self._previous_iteration = self._passed(serializer, 'previous_iteration', self._previous_iteration)
        self._previous_epoch_detail = self._passed(
            serializer, 'previous_epoch_detail', float(self._previous_epoch_detail)
        )

    def _passed(self, serializer: Any, key: str, value: Any) -> Any:
        """Saves or restores a value; warns if a snapshot lacks it."""
        try:
            return serializer(key, value)
        except KeyError:
            warnings.warn(
                f'The snapshot lacks {key} of {type(self).__name__}; it takes the last iteration, '
                'which is wrong if the trigger is not called at each iteration.',
                stacklevel=2,
            )
            # Missing in snapshots of early versions; a negative number means unknown.
            return type(value)(-1)


class IntervalTrigger(ProgressMemory):
    """Fires after every ``period`` units.

    Args:
        period (int or float): Length of the interval; epochs may be fractions.
        unit (str): ``'epoch'`` or ``'iteration'``.

    Asked less often than at each iteration, it fires at the first call after the end of an interval.

    .. admonition:: Example

        >>> from minichainer.training import triggers
        >>> print(triggers.IntervalTrigger(0.5, 'epoch'))
        IntervalTrigger(0.5, 'epoch')

    """

    def __init__(self, period: float, unit: str) -> None:
        check_unit('IntervalTrigger', unit, period)
        check_numbers('IntervalTrigger', period=period)
        if not period > 0:
            raise ValueError(f'IntervalTrigger: the period must be positive, got {period}')
        self.period = period
        self.unit = unit
        self.count = 0

    def __call__(self, trainer: Any) -> bool:
        """Returns whether an interval has ended since the last call.

        Args:
            trainer: the trainer, whose iteration and epoch count.
        """
        before, now = self._advance(trainer.updater, self.unit)
        self.count = int(now // self.period)
        return before // self.period != now // self.period

    def get_training_length(self) -> tuple[float, str]:
        """Returns ``(period, unit)``: the length of the training if this is the stop trigger."""
        return self.period, self.unit

    def __str__(self) -> str:
        return f'IntervalTrigger({self.period}, {self.unit!r})'
