"""Iterators over mini-batches of a dataset."""

import typing

from minichainer._names import namespace as _namespace
from minichainer.iterators.dali_iterator import DaliIterator as DaliIterator
from minichainer.iterators.multiprocess_iterator import MultiprocessIterator as MultiprocessIterator
from minichainer.iterators.multithread_iterator import MultithreadIterator as MultithreadIterator
from minichainer.iterators.order_samplers import OrderSampler as OrderSampler
from minichainer.iterators.order_samplers import ShuffleOrderSampler as ShuffleOrderSampler
from minichainer.iterators.serial_iterator import SerialIterator as SerialIterator

if not typing.TYPE_CHECKING:
    __getattr__, __dir__ = _namespace(__name__)
