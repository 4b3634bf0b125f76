"""Operations whose dtype is another one since NumPy 2, where a scalar of NumPy counts as an array does.

``x * np.sqrt(2.)`` was float32 for a float32 array and is float64; ``a[a == 255] = -1`` wrapped in an array of uint8
and is an error.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import libcst as cst

from minichainer.compat import removed
from minichainer.compat.port.arrays import Arrays
from minichainer.compat.port.facts import Facts, dotted

if TYPE_CHECKING:
    from minichainer.compat.port.notes import Notes

#: Functions that make a scalar of NumPy of a number.
_OF_NUMBERS = frozenset(
    'sqrt exp log log2 log10 log1p expm1 sin cos tan arcsin arccos arctan sinh cosh tanh square power float64 float_ '
    'double array asarray prod hypot arctan2'.split()
)
_ARITHMETIC = (cst.Add, cst.Subtract, cst.Multiply, cst.Divide, cst.FloorDivide, cst.Power)
_CONSTANTS = frozenset('numpy.pi numpy.e numpy.euler_gamma math.pi math.e math.tau'.split())
_UNSIGNED = re.compile(r'\buint(8|16|32|64)\b')


class Promotion:
    """The operations of a module.

    Args:
        facts: of the module.
        notes: where to note findings.
        arrays: what may be an array.
    """

    def __init__(self, facts: Facts, notes: Notes, arrays: Arrays) -> None:
        self._facts, self._notes, self._arrays = facts, notes, arrays
        self._unsigned = {
            dotted(target) for target, value, _ in arrays.assigned if _UNSIGNED.search(facts.code(value))
        } - {''}

    def operation(self, original: cst.BinaryOperation, updated: cst.BinaryOperation) -> cst.BinaryOperation:
        """An operation, with a Python number in the place of a scalar of NumPy.

        Args:
            original: as it was.
            updated: with its parts rewritten.
        """
        if not isinstance(original.operator, _ARITHMETIC):
            return updated
        for side, other in (('left', original.right), ('right', original.left)):
            scalar = getattr(original, side)
            certain = self._is_scalar(scalar) if not self._is_number(other) and not self._is_scalar(other) else None
            if certain:
                updated = updated.with_changes(**{side: self._as_float(scalar, getattr(updated, side))})
            elif certain is False and self._arrays.axes(other) > 0:
                row = removed.by_name()['numpy.promotion']
                self._notes.add(scalar, 'attention', row.name, f'float({self._facts.code(scalar)})', _why(row))
        return updated

    def assignment(self, node: cst.Assign) -> None:
        """Notes a negative number that is assigned to elements of an array of unsigned integers.

        Args:
            node: the assignment.
        """
        negative = isinstance(node.value, cst.UnaryOperation) and isinstance(node.value.operator, cst.Minus)
        for target in node.targets:
            one = target.target
            if negative and isinstance(one, cst.Subscript) and dotted(one.value) in self._unsigned:
                row = removed.by_name()['numpy.unsigned']
                self._notes.add(node, 'attention', row.name, row.instead, _why(row))

    def _is_scalar(self, node: cst.BaseExpression) -> bool | None:
        """Whether an expression is a scalar of NumPy: None if it is not, False if it is not certain."""
        if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, _ARITHMETIC):
            sides = (node.left, node.right)
            found = [self._is_scalar(side) for side in sides if not self._is_number(side)]
            return None if None in found or not found else all(found)
        name = self._facts.name_of(node.func) if isinstance(node, cst.Call) else ''
        home, _, last = name.rpartition('.')
        if not isinstance(node, cst.Call) or home != 'numpy' or last not in _OF_NUMBERS or not node.args:
            return None
        if any(argument.star or argument.keyword is not None for argument in node.args):
            return None
        values = [argument.value for argument in node.args]
        if all(map(self._is_number, values)):
            return True
        return False if all(map(self._may_be_number, values)) and last not in ('array', 'asarray', 'prod') else None

    def _is_number(self, node: cst.BaseExpression) -> bool:
        """Whether an expression is a number of Python for certain."""
        if isinstance(node, (cst.Integer, cst.Float)):
            return True
        if isinstance(node, cst.UnaryOperation):
            return self._is_number(node.expression)
        if isinstance(node, cst.BinaryOperation):
            return self._is_number(node.left) and self._is_number(node.right)
        if isinstance(node, cst.Subscript):
            return isinstance(node.value, cst.Attribute) and node.value.attr.value == 'shape'
        if isinstance(node, cst.Call):
            return dotted(node.func) == 'len'
        is_size = isinstance(node, cst.Attribute) and node.attr.value in ('size', 'ndim')
        return is_size or (bool(dotted(node)) and self._facts.name_of(node) in _CONSTANTS)

    def _may_be_number(self, node: cst.BaseExpression) -> bool:
        if isinstance(node, cst.BinaryOperation):
            return self._may_be_number(node.left) and self._may_be_number(node.right)
        is_name = isinstance(node, cst.Name) and self._arrays.axes(node) == 0
        return is_name or self._is_number(node)

    def _as_float(self, node: cst.BaseExpression, updated: Any) -> cst.BaseExpression:
        row = removed.by_name()['numpy.promotion']
        if 'float' in self._facts.assigned:
            self._notes.add(node, 'attention', row.name, row.instead, _why(row))
            new: cst.BaseExpression = updated
            return new
        call = cst.Call(cst.Name('float'), [cst.Arg(updated.with_changes(lpar=[], rpar=[]))])
        self._notes.add(node, 'done', row.name, self._facts.code(call), _why(row))
        return call


def _why(row: removed.Removed) -> str:
    if row.name == 'numpy.promotion':
        return f'since {row.since} an array of float32 and a scalar of NumPy make float64'
    return f'since {row.since} a negative number does not fit an array of unsigned integers'
