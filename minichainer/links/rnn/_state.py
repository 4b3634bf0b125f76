"""Shared code of links that keep a state between calls."""

from __future__ import annotations

from typing import Any

from minichainer.device_resident import DeviceResidentsVisitor
from minichainer.link.link import Chain, Link
from minichainer.variable import Variable


class Stateful(Chain):
    """A chain whose attributes ``states`` are Variables that are kept between calls, or None."""

    c: Any
    h: Any
    #: Names of the attributes.
    states: tuple[str, ...] = ('h',)

    def reset_state(self) -> None:
        """Drops the state: the next call begins a new sequence."""
        for name in self.states:
            setattr(self, name, None)

    def _set_states(self, **values: Any) -> None:
        """Sets the states, and moves them to the link's device."""
        for name, value in values.items():
            if not isinstance(value, Variable):
                raise AssertionError(
                    f'{type(self).__name__}.set_state: {name} must be a Variable, got {type(value).__name__}'
                )
        for name, value in values.items():
            value.to_device(self.device)
            setattr(self, name, value)

    def device_resident_accept(self, visitor: DeviceResidentsVisitor) -> None:
        """Passes the state to the visitor too; a state that moves to another device loses its graph."""
        super().device_resident_accept(visitor)
        for name in self.states:
            state = getattr(self, name)
            if state is not None:
                array = visitor.visit_array(state._data)
                if array is not state._data:
                    setattr(self, name, Variable(array))


def check_states(link: Link, **values: Any) -> None:
    """Raises TypeError unless they are arrays or Variables; a caller whose link takes None leaves that out."""
    for name, value in values.items():
        if not (hasattr(value, 'dtype') and hasattr(value, 'shape')):
            others = '' if value is None else ' (or None, for zeros)'
            raise TypeError(f'{type(link).__name__}: an array{others} expected as {name}, got {type(value).__name__}')
