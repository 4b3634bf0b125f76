"""How far a trainer is in an iteration."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Container
from typing import Any

from minichainer.serializer import Serializer, decoded


class Progress:
    """What an iteration has still to do after its update; so a snapshot that is taken in its middle loses nothing.

    Attributes:
        is_begun: Whether the run has begun.
        to_call: Names of extensions to call, the next one last: their triggers have fired.
        to_ask: Names of extensions whose triggers are to be asked, the next one last.
        is_observed: Whether the stop trigger has seen the observation.
    """

    def __init__(self) -> None:
        self.is_begun = False
        self.to_call: list[str] = []
        self.to_ask: list[str] = []
        self.is_observed = False

    def serialize(self, serializer: Any) -> None:
        """Saves or restores it; in snapshots that lack it all extensions have been called."""
        if isinstance(serializer, Serializer):
            serializer('progress', json.dumps(vars(self)))
            return
        with contextlib.suppress(KeyError):  # missing in snapshots of Chainer and of early versions
            self._set(decoded(serializer('progress', '{}'), dict))

    def keep(self, names: Container[str]) -> None:
        """Forgets extensions that the trainer does not have any more.

        Args:
            names: names of those that it has.
        """
        self.to_call = [name for name in self.to_call if name in names]
        self.to_ask = [name for name in self.to_ask if name in names]

    def _set(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            own = getattr(self, name, None)
            if not isinstance(value, type(own)) or (isinstance(value, list) and not all(map(_is_name, value))):
                raise ValueError(f'the progress of the iteration has {name}: {value!r}')
            setattr(self, name, value)


def _is_name(value: Any) -> bool:
    return isinstance(value, str)
