"""Triggers, which determine when an extension is called and when the training ends."""

import typing

from minichainer._names import namespace as _namespace
from minichainer.training._interval_trigger import IntervalTrigger as IntervalTrigger
from minichainer.training.triggers.early_stopping_trigger import EarlyStoppingTrigger as EarlyStoppingTrigger
from minichainer.training.triggers.manual_schedule_trigger import (
    ManualScheduleTrigger as ManualScheduleTrigger,
)
from minichainer.training.triggers.minmax_value_trigger import BestValueTrigger as BestValueTrigger
from minichainer.training.triggers.minmax_value_trigger import MaxValueTrigger as MaxValueTrigger
from minichainer.training.triggers.minmax_value_trigger import MinValueTrigger as MinValueTrigger
from minichainer.training.triggers.once_trigger import OnceTrigger as OnceTrigger
from minichainer.training.triggers.time_trigger import TimeTrigger as TimeTrigger

if not typing.TYPE_CHECKING:
    __getattr__, __dir__ = _namespace(__name__)
