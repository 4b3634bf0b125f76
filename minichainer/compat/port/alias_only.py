"""What exists only while the alias is installed, and that no import statement shows: members, and texts."""

from __future__ import annotations

import functools
import re

import libcst as cst

from minichainer.compat import members
from minichainer.compat.port import names
from minichainer.compat.port.facts import Facts, dotted
from minichainer.compat.port.notes import Notes
from minichainer.compat.port.program import Program

_INSTALL = f'{names.OURS}.compat.install() before it'
#: Lines of a program in a text.
_IMPORT = re.compile(r'(?:^|[\n;\'"(])\s*(?:import|from)\s+(chainer\w*)\b')
#: Functions that ask for an installed package by its name.
_ASK_FOR_PACKAGE = frozenset('version distribution metadata requires files get_distribution require'.split())
_IS_CHAINER = re.compile(r'[rRuUbBfF]*[\'"]chainer(?:mn|x)?[.\'"]')


@functools.cache
def _private() -> dict[str, str]:
    """The private members of classes that exist only under the alias, and expressions of ``self`` for them."""
    rows = [row for table in members.rows().values() for row in table]
    return {name: expression for _, name, expression in rows if name.startswith('_') and not name.endswith('__')}


class AliasOnly:
    """What a module uses that only the alias has.

    Args:
        facts: of the module.
        notes: where to note findings.
        program: the files that the module belongs to.
    """

    def __init__(self, facts: Facts, notes: Notes, program: Program) -> None:
        self._facts, self._notes, self._program = facts, notes, program
        self._texts: set[cst.CSTNode] = set()

    def attribute(self, node: cst.Attribute) -> None:
        """Notes private members of Chainer's classes that the program does not define itself.

        Args:
            node: an attribute, or a chain of them.
        """
        part: cst.BaseExpression = node
        while isinstance(part, cst.Attribute):
            name = part.attr.value
            expression = _private().get(name)
            if expression is not None and name not in self._program.stored and self._facts.imports_chainer:
                is_plain = not re.match(r'def |hooks_of|.*self\._', expression)
                text = re.sub(r'\bself\b', self._facts.code(part.value), expression)
                write = f'{text}, or {_INSTALL}' if is_plain else _INSTALL
                why = f'the member {name} of a class of Chainer exists only while the alias is installed'
                self._notes.add(part, 'attention', 'alias', write, why)
            if not dotted(node):
                return  # the rest is visited by itself
            part = part.value

    def subscript(self, node: cst.Subscript) -> None:
        """Notes ``sys.modules['chainer']``.

        Args:
            node: the expression.
        """
        index = node.slice[0].slice
        if dotted(node.value).rpartition('.')[2] == 'modules' and isinstance(index, cst.Index):
            self._module(node, index.value)

    def call(self, node: cst.Call) -> None:
        """Notes ``sys.modules.get('chainer')`` and questions for the installed package.

        Args:
            node: the call.
        """
        owner, _, last = dotted(node.func).rpartition('.')
        if not node.args:
            return
        if last in ('get', 'pop') and owner.rpartition('.')[2] == 'modules':
            self._module(node, node.args[0].value)
        if last in _ASK_FOR_PACKAGE and self._facts.code(node.args[0].value).strip('\'"') == 'chainer':
            write = f"'7.8.1', or {_INSTALL}" if last == 'version' else _INSTALL
            self._notes.add(node, 'attention', 'text', write, 'asks for the installed package chainer')

    def _module(self, node: cst.CSTNode, key: cst.BaseExpression) -> None:
        if _IS_CHAINER.match(self._facts.code(key)):
            why = 'names a module of Chainer by a text'
            self._notes.add(node, 'attention', 'text', f'{names.OURS} instead of chainer', why)

    def statement(self, node: cst.Expr) -> None:
        """Leaves texts alone that are statements: they describe something.

        Args:
            node: the statement.
        """
        self._texts.add(node.value)

    def text(self, node: cst.SimpleString | cst.ConcatenatedString) -> None:
        """Notes texts that are programs, such as that of ``exec('import chainer')``.

        Args:
            node: the text.
        """
        value = node.evaluated_value
        found = _IMPORT.search(value) if isinstance(value, str) and node not in self._texts else None
        if found is not None:
            why = f'a text that imports {found.group(1)}, if it is executed'
            self._notes.add(node, 'attention', 'text', f'import {names.OURS} as chainer, or {_INSTALL}', why)
