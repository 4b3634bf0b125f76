"""FunctionSets of v1 that get what is not a link: functions, which a Chain refuses."""

from __future__ import annotations

import libcst as cst

from minichainer.compat.port.facts import Facts, dotted, moved
from minichainer.compat.port.notes import Notes
from minichainer.compat.port.program import Program
from minichainer.compat.port.spelling import Spelling

_COPY = 'chainer.compat.legacy.names.FunctionSet'
_WHY = 'a Chain takes links only; this is a copy, which takes functions too'
_ARRAYS = 'v1 trained arrays that a Function names in parameter_names; no optimizer of later versions does'
_LINK = 'a Link with self.W = chainer.Parameter(W) that calls a function of x and self.W'


class FunctionSets:
    """The FunctionSets of a module.

    Args:
        facts: of the module.
        notes: where to note findings.
        spelling: how to write names.
        program: the files that the module belongs to.
    """

    def __init__(self, facts: Facts, notes: Notes, spelling: Spelling, program: Program) -> None:
        self._facts, self._notes, self._spelling, self._program = facts, notes, spelling, program

    def note_class(self, node: cst.ClassDef) -> None:
        """Notes a Function with parameters of its own.

        Args:
            node: the class.
        """
        lines = [line for line in node.body.body if isinstance(line, cst.SimpleStatementLine)]
        parts = [part for line in lines for part in line.body if isinstance(part, cst.Assign)]
        names = {dotted(target.target) for part in parts for target in part.targets}
        if 'parameter_names' in names and self._facts.imports_chainer:
            first = next(part for part in parts if dotted(part.targets[0].target) == 'parameter_names')
            self._notes.add(first, 'attention', 'FunctionSet', _LINK, _ARRAYS)

    def made(self, original: cst.Call, updated: cst.BaseExpression, inside: str) -> cst.BaseExpression:
        """The call that makes a FunctionSet, with a copy of this class if it gets something that may be no link.

        Args:
            original: as it was.
            updated: with its parts rewritten.
            inside: the class around it.
        """
        if not isinstance(updated, cst.Call) or not original.args:
            return updated
        if self._facts.name_of(original.func) == 'chainer.FunctionSet':
            if all(self._is_link(argument) for argument in original.args):
                return updated
            text = self._spelling.of(_COPY)
            self._notes.add(original, 'done', 'FunctionSet', text, _WHY)
            return updated.with_changes(func=cst.parse_expression(text))
        if (inside, 'self') in self._facts.function_sets and self._is_constructor(original.func):
            for argument in original.args:
                if argument.keyword is not None and self._is_function(argument.value):
                    write = f'self.{argument.keyword.value} = {self._facts.code(argument.value)} after this line'
                    self._notes.add(argument.value, 'attention', 'FunctionSet', write, 'a Chain takes links only')
        return updated

    def _is_constructor(self, func: cst.BaseExpression) -> bool:
        return isinstance(func, cst.Attribute) and func.attr.value == '__init__'

    def _is_link(self, argument: cst.Arg) -> bool:
        """Whether an argument is seen to be a link."""
        value = argument.value
        if argument.star or not isinstance(value, cst.Call):
            return False
        name = moved(self._facts.name_of(value.func))
        own = dotted(value.func).rpartition('.')[2]
        is_own = own in self._program.classes and not self._program.is_function(own)
        return name.startswith('chainer.links.') or name in ('chainer.Chain', 'chainer.ChainList') or is_own

    def _is_function(self, value: cst.BaseExpression) -> bool:
        """Whether a value is seen to be a function: a class of v1, or of the program."""
        name = moved(self._facts.name_of(value.func)) if isinstance(value, cst.Call) else ''
        called = dotted(value.func).rpartition('.')[2] if isinstance(value, cst.Call) else ''
        is_value = moved(self._facts.name_of(value)).startswith('chainer.functions.')
        return (
            name.startswith('chainer.compat.legacy.function_classes.')
            or self._program.is_function(called)
            or is_value
        )
