"""Calls and methods that work or fail by their arguments: where the source does not show it, the call of a copy."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Any

import libcst as cst

from minichainer.compat import removed, restored_calls
from minichainer.compat.port import names
from minichainer.compat.port.facts import Facts, dotted
from minichainer.compat.port.spelling import Spelling

if TYPE_CHECKING:
    from minichainer.compat.port.notes import Notes

_HOME = 'chainer.compat.restored_calls'
#: Attributes that are arrays: their number is asked for.
_ARRAYS = frozenset('data array grad'.split())
#: Names of what is a number in an array without axes, which Python still converts.
_NUMBERS = re.compile(r'(loss|acc|accuracy)(_\w+|\d)?')
_CONVERSIONS = frozenset('float int complex'.split())


class Obstacles:
    """The obstacles of a module.

    Args:
        facts: of the module.
        notes: where to note findings.
        spelling: how to write names.
    """

    def __init__(self, facts: Facts, notes: Notes, spelling: Spelling) -> None:
        self._facts, self._notes, self._spelling = facts, notes, spelling
        self._uses = {
            'numpy.array': self._may_be_ragged,
            'numpy.asarray': self._may_be_ragged,
            'random.shuffle': lambda call: len(call.args) == 2,
            **dict.fromkeys(_CONVERSIONS, self._may_have_axes),
        }

    def builtin(self, call: cst.Call) -> str:
        """The name of a built-in function that is called and is an obstacle, else empty.

        Args:
            call: the call.
        """
        name = dotted(call.func)
        is_one = name in _CONVERSIONS and isinstance(call.func, cst.Name) and self._facts.is_builtin(call.func)
        return name if is_one else ''

    def call(self, original: cst.Call, call: cst.Call, name: str) -> cst.Call | None:
        """The call of a copy; None if the call is known to work.

        Args:
            original: as it was.
            call: with its parts rewritten.
            name: what is called.
        """
        if name not in self._uses or not self._uses[name](original):
            return None
        row = removed.by_name()[name]
        return self._written(row, original, call, call.args)

    def method(self, row: removed.Removed, original: cst.Call, call: cst.Call) -> cst.Call:
        """The call of a copy of a method.

        Args:
            row: of the method.
            original: as it was.
            call: with its parts rewritten.
        """
        if not restored_calls.name_of(row):
            self._notes.add(original, 'attention', row.name, row.instead, f'{row.name} was dropped by {row.since}')
            return call
        comma = cst.Comma(whitespace_after=cst.SimpleWhitespace(' ')) if call.args else cst.MaybeSentinel.DEFAULT
        receiver = cst.ensure_type(call.func, cst.Attribute).value
        return self._written(row, original, call, [cst.Arg(receiver, comma=comma), *call.args])

    def _written(self, row: removed.Removed, original: cst.Call, call: cst.Call, args: Any) -> cst.Call:
        text = self._spelling.of(f'{_HOME}.{restored_calls.name_of(row)}')
        why = f'{row.since} refuses some calls of {row.name}; this is a copy. Better: {row.instead}'
        self._notes.add(original, 'done', row.name, text, why)
        return call.with_changes(func=cst.parse_expression(text), args=args)

    def _may_have_axes(self, call: cst.Call) -> bool:
        """Whether the argument is an array of a Variable that is not known to be a number."""
        value = call.args[0].value if len(call.args) == 1 else None
        if not isinstance(value, cst.Attribute) or value.attr.value not in _ARRAYS or self._facts.name_of(value):
            return False
        if not any(map(names.is_chainer, self._facts.imported.values())):
            return False  # what is no Variable has such attributes, too
        receiver = self._facts.code(value.value).rpartition('.')[2]
        return _NUMBERS.fullmatch(receiver) is None

    def _may_be_ragged(self, call: cst.Call) -> bool:
        """Whether the argument may be rows of different lengths, or an array that cannot but be copied."""
        if not call.args or call.args[0].star or call.args[0].keyword is not None:
            return False
        given = {a.keyword.value: self._facts.code(a.value) for a in call.args[1:] if a.keyword is not None}
        if len(given) != len(call.args) - 1:
            return False
        if given.get('copy') == 'False':
            return True
        return not given and self._is_of_rows(call.args[0].value)

    def _is_of_rows(self, value: cst.BaseExpression) -> bool:
        if isinstance(value, cst.Name):
            return value.value in self._facts.rows
        if isinstance(value, cst.ListComp):
            return isinstance(value.elt, (cst.List, cst.ListComp)) and not _is_even(self._facts.code(value.elt))
        return isinstance(value, cst.List) and _is_uneven(self._facts.code(value))


def _is_even(code: str) -> bool:
    """Whether the elements of a list are written one by one, so that each row has as many."""
    return isinstance(ast.parse(code.strip(), mode='eval').body, ast.List)


def _is_uneven(code: str) -> bool:
    """Whether a list has rows of different lengths, or rows whose lengths are not written."""
    node = ast.parse(code.strip(), mode='eval').body
    rows = [row for row in getattr(node, 'elts', []) if isinstance(row, (ast.List, ast.Tuple, ast.ListComp))]
    return len({len(getattr(row, 'elts', 'unknown')) for row in rows}) > 1
