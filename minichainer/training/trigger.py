"""Triggers of intervals, where Chainer 1 has them."""

from minichainer.training._interval_trigger import IntervalTrigger as IntervalTrigger
from minichainer.training.util import get_trigger as get_trigger
