from __future__ import annotations

import warnings
from typing import Any

from minichainer.training._interval_trigger import ProgressMemory, check_unit


class ManualScheduleTrigger(ProgressMemory):
    """Fires at given points of the training.

    Args:
        points (int, float, or list of them): When to fire.
        unit (str): ``'epoch'`` or ``'iteration'``.

    ``finished`` tells whether the last point is behind.

    .. admonition:: Example

        >>> from minichainer.training import triggers
        >>> trigger = triggers.ManualScheduleTrigger([5, 10], 'iteration')
        >>> trigger.finished
        False

    """

    def __init__(self, points: Any, unit: str) -> None:
        check_unit('ManualScheduleTrigger', unit, points)
        self.points = points if isinstance(points, list) else [points]
        self.unit = unit
        self.finished = False
        self._finished_unknown = False

    def __call__(self, trainer: Any) -> bool:
        """Returns whether a point has been reached since the last call.

        Args:
            trainer: the trainer, whose iteration, epoch and observation count.
        """
        before, now = self._advance(trainer.updater, self.unit)
        fire = any(before < p <= now for p in self.points)
        if (fire or self._finished_unknown) and now >= max(self.points):
            self.finished = True
        self._finished_unknown = False
        return fire

    def serialize(self, serializer: Any) -> None:
        """Saves or restores the progress at the last call and ``finished``.

        Args:
            serializer: a :class:`~minichainer.Serializer` to save, or a :class:`~minichainer.Deserializer` to
                restore.
        """
        super().serialize(serializer)
        try:
            self.finished = serializer('finished', self.finished)
        except KeyError:
            warnings.warn(
                'The snapshot lacks `finished` of ManualScheduleTrigger; the next call determines it.',
                stacklevel=2,
            )
            self.finished = False
            self._finished_unknown = True
