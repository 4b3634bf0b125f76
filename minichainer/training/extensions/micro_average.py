from __future__ import annotations

from typing import Any

from minichainer.reporter import plain_value, report
from minichainer.serializer import Serializer
from minichainer.training.extension import PRIORITY_EDITOR, Extension
from minichainer.training.extensions._interval import serialize_interval
from minichainer.training.extensions._missing import warn_of_missing
from minichainer.training.util import get_trigger


class MicroAverage(Extension):
    r"""Reports the ratio of two sums, :math:`\sum_i a_i / \sum_i b_i` over the iterations of an interval.

    Args:
        numerator_key (str): Key of the reported values :math:`a_i`.
        denominator_key (str): Key of the reported values :math:`b_i`.
        result_key (str): Key under which the ratio is reported.
        trigger: Trigger that ends an interval.

    .. admonition:: Example

        >>> from minichainer.training import extensions
        >>> accuracy = extensions.MicroAverage('main/correct', 'main/examples', 'main/accuracy')
        >>> accuracy.priority == extensions.LogReport.priority + 100  # so that a log holds the ratio
        True

    """

    priority = PRIORITY_EDITOR

    def __init__(
        self, numerator_key: str, denominator_key: str, result_key: str, trigger: Any = (1, 'epoch')
    ) -> None:
        self._trigger = get_trigger(trigger)
        self._numerator_key = numerator_key
        self._denominator_key = denominator_key
        self._result_key = result_key
        self._numerator = 0.0
        self._denominator = 0.0
        self._observed: set[str] = set()

    def __call__(self, trainer: Any) -> None:
        """Adds the values of this iteration; at the end of an interval reports the ratio."""
        keys = self._numerator_key, self._denominator_key
        self._observed.update(trainer.observation)
        numerator, denominator = (plain_value(trainer.observation.get(key)) for key in keys)
        if numerator is None or denominator is None:
            return
        self._numerator += numerator
        self._denominator += denominator
        if self._trigger(trainer):
            result = self._numerator / self._denominator
            self._numerator = self._denominator = 0.0
            report({self._result_key: result})

    def finalize(self) -> None:
        """Warns of keys without any value."""
        warn_of_missing('MicroAverage', (self._numerator_key, self._denominator_key), self._observed)

    def serialize(self, serializer: Any) -> None:
        """Saves or restores the sums of the current interval and its trigger."""
        self._numerator = _serialized(serializer, '_numerator', self._numerator)
        self._denominator = _serialized(serializer, '_denominator', self._denominator)
        serialize_interval(serializer, self._trigger)


def _serialized(serializer: Any, name: str, value: float) -> float:
    """Saves or restores a sum; whole ones as integers, since Chainer loads nothing else into its 0."""
    if isinstance(serializer, Serializer):
        serializer(name, int(value) if value.is_integer() and abs(value) < 2**53 else value)
        return value
    return float(serializer(name, float(value)))
