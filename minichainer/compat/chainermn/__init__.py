"""ChainerMN for one process: scripts that can train on several nodes run on one, with a communicator of size 1.

What needs a second process says so when it is used.
"""

from minichainer.compat.chainermn import communicators as communicators
from minichainer.compat.chainermn import datasets as datasets
from minichainer.compat.chainermn import extensions as extensions
from minichainer.compat.chainermn import functions as functions
from minichainer.compat.chainermn import global_except_hook as global_except_hook
from minichainer.compat.chainermn import iterators as iterators
from minichainer.compat.chainermn import links as links
from minichainer.compat.chainermn import nccl as nccl
from minichainer.compat.chainermn import optimizers as optimizers
from minichainer.compat.chainermn.communicators import create_communicator as create_communicator
from minichainer.compat.chainermn.communicators.communicator_base import CommunicatorBase as CommunicatorBase
from minichainer.compat.chainermn.datasets import DataSizeError as DataSizeError
from minichainer.compat.chainermn.datasets import scatter_dataset as scatter_dataset
from minichainer.compat.chainermn.datasets import scatter_index as scatter_index
from minichainer.compat.chainermn.extensions.checkpoint import (
    create_multi_node_checkpointer as create_multi_node_checkpointer,
)
from minichainer.compat.chainermn.extensions.evaluator import (
    create_multi_node_evaluator as create_multi_node_evaluator,
)
from minichainer.compat.chainermn.links import MultiNodeChainList as MultiNodeChainList
from minichainer.compat.chainermn.optimizers import create_multi_node_optimizer as create_multi_node_optimizer

__version__ = '7.8.1'
