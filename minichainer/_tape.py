"""What stands in the memory of Variables and of applied ops, and whether the tape has its compiled parts.

The Python code of the tape is complete. Where the extension ``_native/_tape`` was built, its classes are used instead
of :class:`Place` and :class:`Applied`, so that C reads attributes without looking them up. Calls of common ops on
small arrays and passes that nothing watches are then computed there; ``docs/compiled.md`` lists the parts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from minichainer._native import library

#: The extension module, or None.
native: Any = library.tape


class Place:
    """Base class of Variable: an array and a node of the graph."""

    _data: Any
    _node: Any = None
    _view: Any = None

    def _settle(self, node: Any) -> Any:
        """Sets its node, unless another thread has done so; returns the one that counts."""
        return self.__dict__.setdefault('_node', node)


class Applied:
    """Base class of the nodes of ops; what they have is declared in FunctionNode."""

    #: Values of the static parameters.
    static: tuple[Any, ...] = ()

    def _forget_application(self) -> None:
        """Clears what is not in ``__dict__``, apart from the static arguments."""


if native is not None and not TYPE_CHECKING:
    Place, Applied = native.Place, native.Applied
