"""Changes of other objects that can be undone: the only way in which this room changes what it imports."""

from __future__ import annotations

from typing import Any

_absent: Any = object()


class Changes:
    """Attributes that are set for a time; :meth:`undo` restores them, the last first.

    >>> from types import SimpleNamespace
    >>> settings, changes = SimpleNamespace(a=1), Changes()
    >>> changes.set(settings, 'a', 2)
    >>> changes.set(settings, 'b', 3)
    >>> settings
    namespace(a=2, b=3)
    >>> changes.undo()
    >>> settings
    namespace(a=1)
    """

    def __init__(self) -> None:
        self._before: list[tuple[Any, str, Any]] = []

    def set(self, target: Any, name: str, value: Any) -> None:
        """Sets an attribute.

        Args:
            target: the object, module or class.
            name: its attribute.
            value: what it becomes.
        """
        self._before.append((target, name, vars(target).get(name, _absent)))
        setattr(target, name, value)

    def undo(self) -> None:
        """Restores all attributes that were set."""
        while self._before:
            target, name, value = self._before.pop()
            if value is _absent:
                delattr(target, name)
            else:
                setattr(target, name, value)

    def __enter__(self) -> Changes:
        return self

    def __exit__(self, *error: object) -> None:
        self.undo()
