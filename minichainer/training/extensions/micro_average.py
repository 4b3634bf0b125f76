from __future__ import annotations

from typing import Any

from minichainer.reporter import report
from minichainer.training.extension import PRIORITY_EDITOR, Extension
from minichainer.training.util import get_trigger


class MicroAverage(Extension):
    r"""Reports the ratio of two sums, :math:`\sum_i a_i / \sum_i b_i` over the iterations of an interval.

    Args:
        numerator_key (str): Key of the reported values :math:`a_i`.
        denominator_key (str): Key of the reported values :math:`b_i`.
        result_key (str): Key under which the ratio is reported.
        trigger: Trigger that ends an interval.
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

    def __call__(self, trainer: Any) -> None:
        """Adds the values of this iteration; at the end of an interval reports the ratio."""
        observation = trainer.observation
        if self._numerator_key not in observation or self._denominator_key not in observation:
            return
        self._numerator += observation[self._numerator_key]
        self._denominator += observation[self._denominator_key]
        if self._trigger(trainer):
            result = float(self._numerator) / self._denominator
            self._numerator = self._denominator = 0.0
            report({self._result_key: result})

    def serialize(self, serializer: Any) -> None:
        """Saves or restores the sums of the running interval."""
        self._numerator = serializer('_numerator', float(self._numerator))
        self._denominator = serializer('_denominator', float(self._denominator))
