"""Iterators: how mini-batches are drawn from a dataset."""

from minichainer.iterators.multithread_iterator import MultithreadIterator as MultithreadIterator
from minichainer.iterators.order_samplers import OrderSampler as OrderSampler
from minichainer.iterators.order_samplers import ShuffleOrderSampler as ShuffleOrderSampler
from minichainer.iterators.serial_iterator import SerialIterator as SerialIterator
