from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy

from minichainer.reporter import DictSummary
from minichainer.training.util import get_trigger


def optional_float(value: Any) -> float | None:
    """A number from a serializer, or ``None``, possibly wrapped in an array."""
    if isinstance(value, numpy.ndarray):
        value = value.item()
    return None if value is None else float(value)


class BestValueTrigger:
    """Fires when the mean of a reported value over an interval is the best so far. A NaN is never the best.

    Args:
        key (str): Key of the value, ``'validation/main/accuracy'``.
        compare: Function of (best, new) that returns whether the new value is better.
        trigger: Trigger that ends an interval; the values reported since the last one are averaged.

    .. admonition:: Example

        >>> from minichainer.training import extensions, triggers
        >>> clearly_better = triggers.BestValueTrigger('validation/main/loss', lambda best, new: new < 0.99 * best)
        >>> saving = extensions.snapshot(filename='best')  # trainer.extend(saving, trigger=clearly_better)

    """

    def __init__(self, key: str, compare: Callable[[float, float], bool], trigger: Any = (1, 'epoch')) -> None:
        self._key = key
        self._compare = compare
        self._interval_trigger = get_trigger(trigger)
        self._best_value: float | None = None
        self._init_summary()

    def _init_summary(self) -> None:
        """Begins an interval; subclasses of programs replace it."""
        self._summary = DictSummary()

    def __call__(self, trainer: Any) -> bool:
        """Returns whether an interval has ended with a new best value.

        Args:
            trainer: the trainer, whose iteration, epoch and observation count.

        Raises:
            KeyError: Nothing was reported under the key during the interval.
        """
        if self._key in trainer.observation:
            self._summary.add({self._key: trainer.observation[self._key]})
        if not self._interval_trigger(trainer):
            return False
        means = self._summary.compute_mean()
        if self._key not in means:
            raise KeyError(
                f'{type(self).__name__}: {self._key!r} was not reported; reported keys: {sorted(trainer.observation)}'
            )
        value = float(means[self._key])
        self._init_summary()
        # Nothing compares as better than a NaN, in Chainer's trigger for ever.
        if math.isnan(value):
            return False
        best = self._best_value
        if best is not None and not math.isnan(best) and not self._compare(best, value):
            return False
        self._best_value = value
        return True

    def serialize(self, serializer: Any) -> None:
        """Saves or restores the interval, its mean so far and the best value.

        Args:
            serializer: a :class:`~minichainer.Serializer` to save, or a :class:`~minichainer.Deserializer` to
                restore.
        """
        if hasattr(self._interval_trigger, 'serialize'):
            self._interval_trigger.serialize(serializer['interval_trigger'])
        self._summary.serialize(serializer['summary'])
        self._best_value = optional_float(serializer('best_value', self._best_value))


class MaxValueTrigger(BestValueTrigger):
    """Fires if the mean of a reported value over an interval is the largest so far. A NaN is never the largest.

    Args:
        key (str): Key of the value, ``'validation/main/accuracy'``.
        trigger: Trigger that ends an interval.

    .. admonition:: Example

        >>> from minichainer.training import extensions, triggers
        >>> best = triggers.MaxValueTrigger('validation/main/accuracy')
        >>> saving = extensions.snapshot(filename='best')  # trainer.extend(saving, trigger=best)

    """

    def __init__(self, key: str, trigger: Any = (1, 'epoch')) -> None:
        super().__init__(key, operator.lt, trigger)


class MinValueTrigger(BestValueTrigger):
    """Fires if the mean of a reported value over an interval is the smallest so far. A NaN is never the smallest.

    Args:
        key (str): Key of the value, ``'validation/main/loss'``.
        trigger: Trigger that ends an interval.

    .. admonition:: Example

        >>> from minichainer.training import extensions, triggers
        >>> best = triggers.MinValueTrigger('validation/main/loss')
        >>> saving = extensions.snapshot(filename='best')  # trainer.extend(saving, trigger=best)

    """

    def __init__(self, key: str, trigger: Any = (1, 'epoch')) -> None:
        super().__init__(key, operator.gt, trigger)
