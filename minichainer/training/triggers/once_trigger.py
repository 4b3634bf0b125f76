from __future__ import annotations

import warnings
from typing import Any


class OnceTrigger:
    """Fires only at the first call.

    Args:
        call_on_resume (bool): Whether it fires once more in a run resumed from a snapshot.

    .. admonition:: Example

        >>> from minichainer.training import triggers
        >>> trigger = triggers.OnceTrigger()
        >>> trigger(trainer=None), trigger(trainer=None), trigger.finished
        (True, False, True)

    """

    def __init__(self, call_on_resume: bool = False) -> None:
        self._flag_first = True
        self._flag_resumed = call_on_resume

    @property
    def finished(self) -> bool:
        """Whether it has fired for the last time."""
        return not (self._flag_first or self._flag_resumed)

    def __call__(self, trainer: Any) -> bool:
        """Returns whether this is the first call.

        Args:
            trainer: the trainer, whose iteration, epoch and observation count.
        """
        fire = not self.finished
        self._flag_first = self._flag_resumed = False
        return fire

    def serialize(self, serializer: Any) -> None:
        """Saves or restores whether it has fired.

        Args:
            serializer: a :class:`~minichainer.Serializer` to save, or a :class:`~minichainer.Deserializer` to
                restore.
        """
        try:
            self._flag_first = serializer('_flag_first', self._flag_first)
        except KeyError:
            warnings.warn('The snapshot lacks the flag of OnceTrigger; it is assumed to have fired.', stacklevel=2)
            self._flag_first = False
