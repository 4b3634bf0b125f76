"""How a leaf refers to its Variable, and what that says about where the Variable comes from.

``LeafNode.owner`` is None or a weak reference. Its class is one of those below if the Variable was computed, but no
graph was recorded: a pass that begins or ends there computes nothing, which nobody can have meant.
"""

from __future__ import annotations

import sys
import warnings
import weakref
from collections.abc import Collection
from typing import Any

from minichainer._frames import stacklevel
from minichainer._trace import hook_name
from minichainer.configuration import config
from minichainer.errors import NoGraphWarning


class OfResult(weakref.ref[Any]):
    """The owner was computed while no graph was recorded."""

    __slots__ = ()


class OfGradient(weakref.ref[Any]):
    """The owner is a gradient that was computed by a pass without a graph."""

    __slots__ = ()


class OfConstants(weakref.ref[Any]):
    """The owner is the result of a function of constants, its ``creator``: no gradient flows, but it is known."""

    __slots__ = ('creator',)

    #: Whether there has been any.
    exist = False
    creator: Any

    @classmethod
    def made_by(cls, creator: Any, variable: Any) -> OfConstants:
        """The reference to a result of ``creator``."""
        owner = cls(variable)
        owner.creator, cls.exist = creator, True
        return owner


def constants_creator(node: Any) -> Any:
    """The function of constants whose result the owner of a leaf is; None for other nodes."""
    owner: Any = getattr(node, 'owner', None)
    return owner.creator if owner.__class__ is OfConstants else None


_RECORD = 'Compute it under force_backprop_mode() or enable_grad(), or give create_graph=True to the pass'
_OF_GRADIENT = (
    'is, or depends on, a gradient that was computed without a graph (grad_var, or a result of grad), so no gradient '
    'flows on from it; let the pass that computes it record one: create_graph=True, or enable_double_backprop=True'
)
#: The calls of hooks and of functions' own backward, during which no graph is recorded in an ordinary pass.
_HOOKS = frozenset(['on_gradient', 'on_upstream', 'on_found'])
_PULLBACKS = frozenset(['_gradients', 'pullback'])


def why_no_graph(node: Any) -> str | None:
    """Why no graph lies behind a Variable that was computed, and what to do; None for other Variables.

    Args:
        node: its node.
    """
    kind = getattr(node, 'owner', None).__class__
    if kind is OfGradient:
        return _OF_GRADIENT
    return f'has no graph: it was computed {_where()}' if kind is OfResult else None


def _where() -> str:
    """Where no graph is recorded: in what is being called, if that is such a place."""
    if config.enable_backprop:
        return f'under no_backprop_mode, in a hook, or in the backward of a function. {_RECORD}'
    frame: Any = sys._getframe(1)
    while frame is not None:
        module, name = frame.f_globals.get('__name__'), frame.f_code.co_name
        if module == 'minichainer._hooks' and name in _HOOKS:
            return f'in the {hook_name(frame.f_locals["hook"])}, during a pass that records no graph. {_RECORD}'
        if module == 'minichainer.function_node' and name in _PULLBACKS:
            label = frame.f_locals['self'].label
            return f'in the backward of {label}, during a pass that records no graph. {_RECORD}'
        frame = frame.f_back
    return (
        'under no_backprop_mode (or with config.enable_backprop = False), where no graph was recorded; compute it '
        'and call backward outside of it'
    )


def is_gradient(leaf: Any) -> bool:
    """Whether a leaf is that of a gradient without a graph."""
    return getattr(leaf, 'owner', None).__class__ is OfGradient


def check_ends(leaves: Collection[Any]) -> None:
    """Refuses what torch refuses: a loss made of gradients without a graph. If only a part is, this warns.

    Args:
        leaves: those that require a gradient, of all on which the loss depends.

    Raises:
        RuntimeError: all of them are such gradients.
    """
    count = len([leaf for leaf in leaves if is_gradient(leaf)])
    if count and count == len(leaves):
        raise RuntimeError(f'autograd: the loss {_OF_GRADIENT}')
    if count:
        warn_of_no_graph(f'autograd: a part of the loss {_OF_GRADIENT}')


def warn_of_no_graph(text: str) -> None:
    """Warns at the user's line."""
    warnings.warn(text, NoGraphWarning, stacklevel=stacklevel())
