from __future__ import annotations

from typing import Any

from minichainer.training.extension import Extension
from minichainer.variable import Variable


class unchain_variables(Extension):
    """Drops the graphs of reported Variables, so that their memory is released.

    Only needed if Variables are reported with ``config.keep_graph_on_report``. Runs after all other extensions of an
    iteration.

    .. admonition:: Example

        >>> from types import SimpleNamespace
        >>> import numpy as np
        >>> import minichainer as chainer
        >>> from minichainer.training import extensions
        >>> y = chainer.Variable(np.ones(2, np.float32)) * 2
        >>> extensions.unchain_variables()(SimpleNamespace(observation={'y': y}))
        >>> y.creator is None
        True

    """

    priority = 0

    def trigger(self, trainer: Any) -> bool:
        """Always fires."""
        return True

    def initialize(self, trainer: Any) -> None:
        """Drops the graphs of values reported before training."""
        self(trainer)

    def __call__(self, trainer: Any) -> None:
        """Drops the graph of each Variable in the trainer's observation."""
        for value in trainer.observation.values():
            if isinstance(value, Variable):
                value.unchain_backward()
