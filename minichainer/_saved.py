"""What stands in place of a node's saved values when they were freed, or packed by a hook.

Backward reads ``node.saved`` as a tuple: it unpacks, indexes and slices it. The classes here do the same, so no
derivative rule knows about them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from minichainer._checks import array_types
from minichainer._trace import timed
from minichainer.errors import FreedGraphError


class Freed:
    """The saved values of a node that a backward pass has freed: reading them is an error.

    Args:
        label: the label of the node.
    """

    __slots__ = ('_label',)

    def __init__(self, label: str) -> None:
        self._label = label

    def __len__(self) -> int:
        return 0

    def __iter__(self) -> Iterator[Any]:
        raise FreedGraphError(
            f'backward through {self._label} a second time: an earlier backward pass has freed what it saved; '
            'give retain_graph=True to that pass'
        )

    def __getitem__(self, index: Any) -> Any:
        return iter(self)


class Packed:
    """Saved values, of which a hook has packed the arrays; they are unpacked each time they are read.

    Args:
        values: what a node saves.
        pack: takes an array, returns anything.
        unpack: takes what ``pack`` returned, returns the array.
    """

    __slots__ = ('_unpack', '_values')

    def __init__(self, values: tuple[Any, ...], pack: Callable[[Any], Any], unpack: Callable[[Any], Any]) -> None:
        self._values = tuple([_packed(value, pack) for value in values])
        self._unpack = unpack

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Iterator[Any]:
        return iter([_unpacked(value, self._unpack) for value in self._values])

    def __getitem__(self, index: Any) -> Any:
        return _unpacked(self._values[index], self._unpack)  # of a slice, which is a tuple, each of its values


class _Pack:
    """What a hook has made of an array."""

    __slots__ = ('content',)

    def __init__(self, content: Any) -> None:
        self.content = content


def _packed(value: Any, pack: Callable[[Any], Any]) -> Any:
    if isinstance(value, array_types()):
        return _Pack(timed('saved_tensors_hooks.pack', pack, value))
    return tuple([_packed(part, pack) for part in value]) if type(value) is tuple else value


def _unpacked(value: Any, unpack: Callable[[Any], Any]) -> Any:
    if isinstance(value, _Pack):
        return timed('saved_tensors_hooks.unpack', unpack, value.content)
    return tuple([_unpacked(part, unpack) for part in value]) if type(value) is tuple else value


def has_arrays(values: Any) -> bool:
    """Whether saved values include arrays."""
    if isinstance(values, (Freed, Packed)):
        return len(values) > 0
    types = array_types()
    return any(isinstance(value, types) or (type(value) is tuple and has_arrays(value)) for value in values)
