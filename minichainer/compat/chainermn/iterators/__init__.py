"""Iterators whose batches are sent to all processes."""

from minichainer.compat.chainermn.iterators.multi_node_iterator import (
    create_multi_node_iterator as create_multi_node_iterator,
)
from minichainer.compat.chainermn.iterators.multi_node_iterator import (
    create_synchronized_iterator as create_synchronized_iterator,
)
