"""Classes and functions that had other defaults in v1, where a program uses them as values.

A call gets an argument for the old default. Elsewhere, as in ``cells = {'lstm': L.LSTM}`` or ``class Cell(L.LSTM)``,
nobody sees the calls; so what is written there is a subclass that has the defaults of v1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from minichainer.compat.port.facts import Facts, dotted, moved
from minichainer.compat.port.rules import Rule, of_kind
from minichainer.compat.port.spelling import Spelling

if TYPE_CHECKING:
    from minichainer.compat.port.notes import Notes

_HOME = 'chainer.compat.legacy.defaults'
#: Functions that ask for the class of an object: an object of a subclass is one of the class too.
_ASK = ('isinstance', 'issubclass')


class V1Values:
    """The values of a module.

    Args:
        facts: of the module.
        notes: where to note findings.
        spelling: how to write names.
        is_v1: whether the program is written for Chainer 1.
    """

    def __init__(self, facts: Facts, notes: Notes, spelling: Spelling, is_v1: bool) -> None:
        self._facts, self._notes, self._spelling = facts, notes, spelling
        self._rules = of_kind('default') + of_kind('function') if is_v1 else ()
        #: What is called, and what stays as it is.
        self._left: set[cst.CSTNode] = set()
        self._compared: set[cst.CSTNode] = set()

    def enter_call(self, call: cst.Call) -> None:
        """Leaves what is called to the rules about calls.

        Args:
            call: the call.
        """
        self._left.add(call.func)
        if dotted(call.func) in _ASK:
            self.leave_alone(call.args[-1] if call.args else call)

    def leave_alone(self, node: cst.CSTNode) -> None:
        """Leaves all names in a part of the source alone, such as an annotation.

        Args:
            node: the part.
        """
        self._left |= _names_in(node)

    def enter_comparison(self, node: cst.Comparison) -> None:
        """Notes what is compared: whether a class is another one depends on all places that use it.

        Args:
            node: the comparison.
        """
        self._compared |= _names_in(node)

    def replaced(self, node: cst.Attribute | cst.Name) -> str:
        """What to write for a value, or for an attribute of it; empty if it stays.

        Args:
            node: the name as it was.
        """
        name = self._facts.name_of(node) if self._rules else ''
        for known, rest in ((name, ''), _owner(name)):
            rule = next((rule for rule in self._rules if known and rule.is_about(moved(known))), None)
            if rule is not None and (rest or node not in self._left):
                return self._written(node, rule, moved(known), rest)
        return ''

    def _written(self, node: cst.Attribute | cst.Name, rule: Rule, name: str, rest: str) -> str:
        if node in self._compared:
            self._notes.add(node, 'attention', rule.name, f'one class at all places: see {_HOME}', rule.why)
            return ''
        of_v1 = rule.write if rule.kind == 'function' else f'{_HOME}.{name.rpartition(".")[2]}'
        text = self._spelling.of(of_v1) + rest
        self._notes.add(node, 'done', rule.name, text, rule.why)
        return text


def _owner(name: str) -> tuple[str, str]:
    """A dotted name without its last part, and the rest with its dot."""
    owner, dot, last = name.rpartition('.')
    return owner, dot + last


def _names_in(node: cst.CSTNode) -> set[cst.CSTNode]:
    found = _Names()
    node.visit(found)
    return found.nodes


class _Names(cst.CSTVisitor):
    def __init__(self) -> None:
        super().__init__()
        self.nodes: set[cst.CSTNode] = set()

    def visit_Name(self, node: cst.Name) -> None:
        self.nodes.add(node)

    def visit_Attribute(self, node: cst.Attribute) -> None:
        self.nodes.add(node)
