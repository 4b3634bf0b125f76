"""The trigger of intervals, where Chainer has it."""

from minichainer.training._interval_trigger import IntervalTrigger as IntervalTrigger
