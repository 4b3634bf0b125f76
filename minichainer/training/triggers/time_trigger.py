from __future__ import annotations

from typing import Any

from minichainer.serializer import Serializer


class TimeTrigger:
    """Fires after every ``period`` seconds of training.

    Args:
        period (float): Seconds.

    It cannot be the stop trigger with :class:`~minichainer.training.extensions.ProgressBar`, which needs a length in
    epochs or iterations.

    .. admonition:: Example

        >>> from types import SimpleNamespace
        >>> from minichainer.training import triggers
        >>> trigger = triggers.TimeTrigger(60)
        >>> [trigger(SimpleNamespace(elapsed_time=seconds)) for seconds in (50, 70, 110, 130)]
        [False, True, False, True]

    """

    def __init__(self, period: float) -> None:
        self._period = period
        self._next_time = period

    def __call__(self, trainer: Any) -> bool:
        """Returns whether ``trainer.elapsed_time`` has passed the end of an interval.

        Args:
            trainer: the trainer, whose iteration, epoch and observation count.
        """
        fire: bool = self._next_time < trainer.elapsed_time
        if fire:
            self._next_time += self._period
        return fire

    def serialize(self, serializer: Any) -> None:
        """Saves or restores the end of the current interval, in seconds of training.

        Args:
            serializer: a :class:`~minichainer.Serializer` to save, or a :class:`~minichainer.Deserializer` to
                restore.
        """
        if isinstance(serializer, Serializer):
            serializer('next_time', self._next_time)
        else:
            self._next_time = serializer('next_time', float(self._next_time))
