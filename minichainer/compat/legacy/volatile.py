"""Volatile Variables of Chainer v1: from what is computed with them no graph is built.

A function with a volatile input records nothing, and its outputs are volatile. v1 raised an error if others among its
inputs were explicitly not volatile; here the volatile one decides.
"""

from __future__ import annotations

from typing import Any

from minichainer.compat.changes import Changes
from minichainer.configuration import put_counted, using_config
from minichainer.function_node import FunctionNode
from minichainer.variable import Parameter, Variable


class Flag:
    """One of ``ON``, ``OFF`` and ``AUTO``; equal to its name in lower case and to True, False or None.

    >>> ON == 'on', ON == True, OFF == 'on', bool(OFF)
    (True, True, False, False)
    """

    def __init__(self, name: str, value: bool | None) -> None:
        self._name, self._value = name, value

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Flag):
            return self is other
        return other in (self._name, self._value)

    def __hash__(self) -> int:
        return hash(self._name)

    def __bool__(self) -> bool:
        return self._value is True

    def __repr__(self) -> str:
        return self._name.upper()


ON, OFF, AUTO = Flag('on', True), Flag('off', False), Flag('auto', None)


def flag(value: Any) -> Flag:
    """The flag of a value: a flag, its name, True, False or None.

    Args:
        value: what programs pass as ``volatile=``.

    Raises:
        ValueError: it is none of these.
    """
    for known in (ON, OFF, AUTO):
        if known == value:
            return known
    raise ValueError(f"volatile: expected 'on', 'off', 'auto', True or False, got {value!r}")


def is_on(value: Any) -> bool:
    """Whether a value for ``volatile=`` means that no graph is built."""
    return flag(value) is ON


class Volatile:
    """Gives Variables the argument and the attribute ``volatile``, and functions their way with it.

    Args:
        changes: that undo it; afterwards call :meth:`end`.
    """

    def __init__(self, changes: Changes) -> None:
        self._is_used = False
        changes.set(Variable, '__init__', self._init(Variable.__init__))
        changes.set(Variable, 'volatile', property(_flag_of, self._set))
        changes.set(FunctionNode, 'apply', _apply(FunctionNode.apply))

    def end(self) -> None:
        """Ops may use their short forms again."""
        if self._is_used:
            put_counted(vars(self), '_is_used', False, -1)

    def _set(self, variable: Variable, value: Any) -> None:
        vars(variable)['_volatile'] = chosen = flag(value)
        if chosen is ON and not self._is_used:
            put_counted(
                vars(self), '_is_used', True
            )  # ops then leave their short forms, and reach FunctionNode.apply

    def _init(self, original: Any) -> Any:
        def __init__(variable: Variable, data: Any = None, *args: Any, **kwargs: Any) -> None:
            given = {**dict(zip(('volatile', 'name', 'grad'), args, strict=False)), **kwargs}
            volatile = given.pop('volatile', None)
            original(variable, data, **given)
            if volatile is not None:
                self._set(variable, volatile)

        return __init__


def _flag_of(variable: Variable) -> Flag:
    found: Flag = vars(variable).get('_volatile', AUTO if isinstance(variable, Parameter) else OFF)
    return found


def _apply(original: Any) -> Any:
    def apply(node: Any, inputs: Any) -> Any:
        if not any([isinstance(x, Variable) and vars(x).get('_volatile') is ON for x in inputs]):
            return original(node, inputs)
        with using_config('enable_backprop', False):
            outputs = original(node, inputs)
        for y in outputs:
            vars(y)['_volatile'] = ON
        return outputs

    return apply
