"""Extensions of trainers on several processes."""

from minichainer.compat.chainermn.extensions.checkpoint import (
    create_multi_node_checkpointer as create_multi_node_checkpointer,
)
from minichainer.compat.chainermn.extensions.evaluator import GenericMultiNodeEvaluator as GenericMultiNodeEvaluator
from minichainer.compat.chainermn.extensions.evaluator import (
    create_multi_node_evaluator as create_multi_node_evaluator,
)
from minichainer.compat.chainermn.extensions.observation import AllreducePersistent as AllreducePersistent
from minichainer.compat.chainermn.extensions.observation import (
    MultiNodeEarlyStoppingTrigger as MultiNodeEarlyStoppingTrigger,
)
from minichainer.compat.chainermn.extensions.observation import ObservationAggregator as ObservationAggregator
from minichainer.compat.chainermn.extensions.observation import multi_node_snapshot as multi_node_snapshot
