"""Calls and methods that work or fail by their arguments: where the source does not show it, the call of a copy."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Any

import libcst as cst

from minichainer.compat import removed, restored_calls
from minichainer.compat.port.arrays import Arrays
from minichainer.compat.port.facts import Facts, dotted
from minichainer.compat.port.promotion import Promotion
from minichainer.compat.port.spelling import Spelling

if TYPE_CHECKING:
    from minichainer.compat.port.notes import Notes

_HOME = 'chainer.compat.restored_calls'
_CONVERSIONS = frozenset('float int complex'.split())
_STACKS = frozenset(f'numpy.{name}' for name in 'vstack hstack dstack stack column_stack'.split())
#: Built-in functions that give an iterator.
_ITERATORS = ('map', 'filter', 'zip', 'reversed', 'iter')
#: Formats of ``text % values``, and the letters of those that need a number.
_FORMAT = re.compile(r'%[-+ #0]*\d*(?:\.\d+)?[hlL]?(.)')
_OF_NUMBERS = frozenset('diouxXeEfFgG')


class Obstacles:
    """The obstacles of a module.

    Args:
        facts: of the module.
        notes: where to note findings.
        spelling: how to write names.
    """

    def __init__(self, facts: Facts, notes: Notes, spelling: Spelling) -> None:
        self._facts, self._notes, self._spelling = facts, notes, spelling
        self._arrays = Arrays(facts)
        self.promotion = Promotion(facts, notes, self._arrays)
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
        is_one = (
            name in {*_CONVERSIONS, 'open'} and isinstance(call.func, cst.Name) and self._facts.is_builtin(call.func)
        )
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

    def in_place(self, original: cst.Call, call: cst.Call, name: str) -> cst.Call:
        """A call with an argument that is taken today: a list of what a generator gives, a mode without U.

        Args:
            original: as it was.
            call: with its parts rewritten.
            name: what is called.
        """
        index = 1 if name in ('open', 'codecs.open') else 0
        plain = len(call.args) > index and all(not a.star and a.keyword is None for a in call.args[: index + 1])
        if not plain:
            return call
        value = call.args[index].value
        if name in _STACKS and self._is_iterator(value):
            new: cst.BaseExpression = cst.Call(cst.Name('list'), [cst.Arg(value.with_changes(lpar=[], rpar=[]))])
        elif index and isinstance(value, cst.SimpleString) and 'U' in value.raw_value:
            mode = value.raw_value.replace('U', '')
            new = cst.SimpleString(repr(mode if set(mode) & set('rwax') else f'r{mode}'))
        else:
            return call
        args = [*call.args[:index], call.args[index].with_changes(value=new), *call.args[index + 1 :]]
        row, changed = removed.by_name()[name], call.with_changes(args=args)
        self._notes.add(original, 'done', row.name, self._facts.code(changed), f'{row.since} refuses this call')
        return changed

    def _is_iterator(self, value: cst.BaseExpression) -> bool:
        called = value.func if isinstance(value, cst.Call) else None
        is_builtin = isinstance(called, cst.Name) and self._facts.is_builtin(called)
        return isinstance(value, cst.GeneratorExp) or (is_builtin and dotted(called or value) in _ITERATORS)

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

    def of_math(self, original: cst.Call, call: cst.Call) -> cst.Call:
        """The call of a function of ``math``, with the numbers in what may be arrays.

        Args:
            original: as it was.
            call: with its parts rewritten.
        """
        pairs = zip(original.args, call.args, strict=True)
        return call.with_changes(
            args=[new.with_changes(value=self._number(old.value, new.value)) for old, new in pairs]
        )

    def formatted(self, original: cst.BinaryOperation, updated: cst.BinaryOperation) -> cst.BinaryOperation:
        """``text % values``, with the numbers in what may be arrays.

        Args:
            original: as it was.
            updated: with its parts rewritten.
        """
        kinds = _conversions(original.left) if isinstance(original.operator, cst.Modulo) else []
        old, new = original.right, updated.right
        if isinstance(old, cst.Tuple) and isinstance(new, cst.Tuple) and len(old.elements) == len(kinds):
            triples = zip(kinds, old.elements, new.elements, strict=True)
            elements = [
                b.with_changes(value=self._number(a.value, b.value)) if kind in _OF_NUMBERS else b
                for kind, a, b in triples
            ]
            return updated.with_changes(right=new.with_changes(elements=elements))
        is_one = len(kinds) == 1 and kinds[0] in _OF_NUMBERS
        return updated.with_changes(right=self._number(old, new)) if is_one else updated

    def _number(self, old: cst.BaseExpression, new: cst.BaseExpression) -> cst.BaseExpression:
        """``number(x)`` for what may be an array with axes."""
        if not self._arrays.axes(old):
            return new
        row, text = removed.by_name()['float'], self._spelling.of(f'{_HOME}.number')
        why = f'{row.since} makes no numbers of arrays with axes; this does, of one element. Better: x.item()'
        self._notes.add(old, 'done', row.name, text, why)
        return cst.Call(cst.parse_expression(text), [cst.Arg(new)])

    def _written(self, row: removed.Removed, original: cst.Call, call: cst.Call, args: Any) -> cst.Call:
        text = self._spelling.of(f'{_HOME}.{restored_calls.name_of(row)}')
        why = f'{row.since} refuses some calls of {row.name}; this is a copy. Better: {row.instead}'
        self._notes.add(original, 'done', row.name, text, why)
        return call.with_changes(func=cst.parse_expression(text), args=args)

    def _may_have_axes(self, call: cst.Call) -> bool:
        """Whether the only argument may be an array with axes."""
        return len(call.args) == 1 and self._arrays.axes(call.args[0].value) > 0

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
        if not isinstance(value, cst.List):
            return False
        pieces = [self._arrays.axes(element.value) > 0 for element in value.elements]
        return sum(pieces) > 1 or _is_uneven(self._facts.code(value))


def _is_even(code: str) -> bool:
    """Whether the elements of a list are written one by one, so that each row has as many."""
    return isinstance(ast.parse(code.strip(), mode='eval').body, ast.List)


def _is_uneven(code: str) -> bool:
    """Whether a list has rows of different lengths, or rows whose lengths are not written."""
    node = ast.parse(code.strip(), mode='eval').body
    rows = [row for row in getattr(node, 'elts', []) if isinstance(row, (ast.List, ast.Tuple, ast.ListComp))]
    return len({len(getattr(row, 'elts', 'unknown')) for row in rows}) > 1


def _conversions(text: cst.BaseExpression) -> list[str]:
    """The letters of the formats in a literal text; none if they are not known."""
    if not isinstance(text, cst.SimpleString):
        return []
    value = ast.literal_eval(text.value)
    return [kind for kind in _FORMAT.findall(value) if kind != '%'] if isinstance(value, str) else []
