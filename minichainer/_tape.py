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

#: What nodes have in fields, beside ``__dict__``.
_FIELDS = 'edges', 'level', 'shape', 'dtype', 'saved', 'static', '_prints'


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
    Place = native.Place

    class Applied(native.Applied):
        """The compiled form, whose attributes are fields; copies and pickles have them beside ``__dict__``."""

        def __getstate__(self) -> dict[str, Any]:
            """The attributes by name."""
            return {**self.__dict__, **{name: getattr(self, name) for name in _FIELDS}}

        def __setstate__(self, state: dict[str, Any]) -> None:
            for name, value in state.items():
                setattr(self, name, value)
