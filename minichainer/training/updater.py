from __future__ import annotations

from typing import Any


class Updater:
    """Base class of updaters, which do one step of training.

    A trainer calls :meth:`update` until its stop trigger fires, and reads ``iteration``, the number of updates.
    """

    def connect_trainer(self, trainer: Any) -> None:
        """Called by a trainer that uses this updater.

        Args:
            trainer: the trainer.
        """

    def finalize(self) -> None:
        """Called at the end of the run, also after an error."""

    def get_optimizer(self, name: str) -> Any:
        """Returns the optimizer of this name.

        Args:
            name: the name; ``'main'`` for the only one.
        """
        raise NotImplementedError(f'{type(self).__name__} must define get_optimizer(name)')

    def get_all_optimizers(self) -> dict[str, Any]:
        """Returns a dict of the optimizers by name."""
        raise NotImplementedError(f'{type(self).__name__} must define get_all_optimizers()')

    def update(self) -> None:
        """Does one update of the parameters."""
        raise NotImplementedError(f'{type(self).__name__} must define update()')

    def serialize(self, serializer: Any) -> None:
        """Saves or restores the state.

        Args:
            serializer: a :class:`~minichainer.Serializer` to save, or a :class:`~minichainer.Deserializer` to
                restore.
        """
        raise NotImplementedError(f'{type(self).__name__} must define serialize(serializer)')
