from __future__ import annotations

from typing import Any

from minichainer.training.extension import Extension
from minichainer.variable import Variable


class unchain_variables(Extension):  # noqa: N801
    """Cuts the graphs behind reported Variables, so that their memory goes.

    Needed only where Variables are reported with ``config.keep_graph_on_report``. Runs after all other
    extensions of an iteration.
    """

    priority = 0

    def trigger(self, trainer: Any) -> bool:
        """Always fires."""
        return True

    def initialize(self, trainer: Any) -> None:
        """Cuts what is reported before the training."""
        self(trainer)

    def __call__(self, trainer: Any) -> None:
        """Cuts the graph behind each Variable in the trainer's observation."""
        for value in trainer.observation.values():
            if isinstance(value, Variable):
                value.unchain_backward()
