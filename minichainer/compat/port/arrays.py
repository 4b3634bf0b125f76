"""Which expressions of a module may be arrays with axes, as far as its own lines show it.

NumPy 2.4 makes no numbers of these, even if they have one element: neither ``float(x)`` nor ``math.exp(x)`` nor
``'%g' % x`` does. What an expression is depends on the program's run. So this counts axes where the source shows an
array: the array of a Variable, calls of NumPy that make arrays, and names that are assigned one of these. Arguments
and results of functions of the program count as numbers.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

import libcst as cst
from libcst import matchers as m

from minichainer.compat.port import names

if TYPE_CHECKING:
    from minichainer.compat.port.facts import Facts

#: Attributes that are arrays, of Variables.
_OF_VARIABLES = frozenset('data array grad'.split())
#: Names of what is a number in an array without axes, which Python still converts.
_NUMBERS = re.compile(r'(loss|acc|accuracy)(_\w+|\d)?')
#: Functions of NumPy, and methods of arrays, whose result has the axes of the array.
_KEEP = frozenset(
    'abs absolute around astype ceil clip copy cos cumsum exp floor log log10 log2 maximum minimum negative power '
    'rint round sign sin sort sqrt square tanh'.split()
)
#: Functions of NumPy that make arrays: by what the first argument says.
_OF_SHAPE = frozenset('zeros ones empty full'.split())
_OF_VALUES = frozenset('array asarray ascontiguousarray asanyarray'.split())
_OF_LENGTH = frozenset('arange linspace'.split())
#: Methods that give an array any axes.
_RESHAPE = frozenset('reshape transpose swapaxes squeeze'.split())
#: Functions of Variables that give a number unless they have an axis.
_REDUCE = re.compile(r'chainer\.functions\.(sum|mean|average|max|min|prod|logsumexp)')
_UNKNOWN = math.inf


class Arrays:
    """The arrays of a module.

    Args:
        facts: of the module.
    """

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        #: By scope and name: the largest number of axes among what is assigned.
        self._names: dict[tuple[Any, str], float] = {}
        assigned = _Assigned()
        facts.module.visit(assigned)
        #: What is assigned to what, and how many axes that loses.
        self.assigned = assigned.found
        for _ in range(3):  # arrays of arrays of arrays that are assigned further up
            for target, value, lost in self.assigned:
                self._note(target, self.axes(value) - lost)

    def _note(self, target: cst.BaseExpression, axes: float) -> None:
        if isinstance(target, cst.Name) and axes > 0 and not _NUMBERS.fullmatch(target.value):
            key = self._facts.scope_of(target), target.value
            self._names[key] = max(axes, self._names.get(key, 0))

    def axes(self, node: cst.BaseExpression) -> float:
        """How many axes an expression has, as far as the source shows it: 0 for a number or if nothing is known.

        Args:
            node: the expression.
        """
        if isinstance(node, cst.Name):
            scopes = self._facts.scopes_that_assign(node)
            return max((self._names.get((scope, node.value), 0) for scope in scopes), default=0)
        if isinstance(node, cst.Attribute):
            return self._of_attribute(node)
        if isinstance(node, cst.Subscript):
            return self._of_subscript(node)
        if isinstance(node, cst.BinaryOperation):
            return max(self.axes(node.left), self.axes(node.right))
        if isinstance(node, cst.UnaryOperation):
            return self.axes(node.expression)
        return self._of_call(node) if isinstance(node, cst.Call) else 0

    def _of_attribute(self, node: cst.Attribute) -> float:
        if node.attr.value == 'T':
            return self.axes(node.value)
        if node.attr.value not in _OF_VARIABLES or self._facts.name_of(node) or not self._facts.imports_chainer:
            return 0
        receiver = self._facts.code(node.value).rpartition('.')[2]
        return 0 if _NUMBERS.fullmatch(receiver) or self._is_number(node.value) else _UNKNOWN

    def _is_number(self, node: cst.BaseExpression) -> bool:
        """Whether a Variable is the result of a loss, or of a sum of all elements."""
        name = self._facts.name_of(node.func) if isinstance(node, cst.Call) else ''
        if not isinstance(node, cst.Call) or not name.startswith('chainer.functions.'):
            return False
        options = {argument.keyword.value for argument in node.args if argument.keyword is not None}
        home = getattr(names.find(name), '__module__', '')
        is_loss = re.search(r'\.(loss|evaluation)\.', home) is not None and 'reduce' not in options
        return is_loss or (_REDUCE.fullmatch(name) is not None and len(node.args) == 1)

    def _of_subscript(self, node: cst.Subscript) -> float:
        parts = [element.slice for element in node.slice]
        if any(isinstance(part, cst.Index) and m.matches(part.value, _NEW_AXIS) for part in parts):
            return _UNKNOWN
        lost = sum(isinstance(part, cst.Index) and not self.axes(part.value) for part in parts)
        axes = self.axes(node.value)
        is_complete = len(parts) > 1 and lost == len(parts) and axes == _UNKNOWN
        return 0 if is_complete else max(axes - lost, 0)  # a[i, j] is an element of a matrix

    def _of_call(self, node: cst.Call) -> float:
        home, _, name = self._facts.name_of(node.func).rpartition('.')
        first = node.args[0].value if node.args else None
        if name == 'to_cpu' and first is not None:
            return self.axes(first)
        if home == 'numpy' and first is not None:
            return self._of_numpy(name, first, node)
        if home or not isinstance(node.func, cst.Attribute):
            return 0
        method, axes = node.func.attr.value, self.axes(node.func.value)
        if method == 'reshape' and m.matches(node, _TO_NUMBER):
            return 0
        return (_UNKNOWN if method in _RESHAPE else axes if method in _KEEP else 0) if axes else 0

    def _of_numpy(self, name: str, first: cst.BaseExpression, node: cst.Call) -> float:
        if name in _OF_VALUES:
            return self._nested(first)
        if name in _OF_SHAPE:
            return len(first.elements) if isinstance(first, (cst.Tuple, cst.List)) else 1
        if name in _KEEP:
            return max(self.axes(argument.value) for argument in node.args)
        return float(name in _OF_LENGTH)

    def _nested(self, value: cst.BaseExpression) -> float:
        """The axes of an array of some value: one for each list in it."""
        if isinstance(value, (cst.List, cst.Tuple)):
            return 1 + max((self._nested(element.value) for element in value.elements), default=0)
        return 1 + self._nested(value.elt) if isinstance(value, cst.ListComp) else self.axes(value)


#: ``x.reshape(())``.
_TO_NUMBER = m.Call(args=[m.Arg(m.Tuple(elements=[]))])
#: ``None`` and ``np.newaxis``, and ``...``, as indices.
_NEW_AXIS = m.Name('None') | m.Attribute(attr=m.Name('newaxis')) | m.Ellipsis()


class _Assigned(cst.CSTVisitor):
    """Collects what is assigned to what; items of an array have an axis less."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[cst.BaseExpression, cst.BaseExpression, int]] = []

    def visit_Assign(self, node: cst.Assign) -> None:
        self.found += [(target.target, node.value, 0) for target in node.targets]

    def visit_AugAssign(self, node: cst.AugAssign) -> None:
        self.found.append((node.target, node.value, 0))

    def visit_For(self, node: cst.For) -> None:
        self.found.append((node.target, node.iter, 1))

    def visit_CompFor(self, node: cst.CompFor) -> None:
        self.found.append((node.target, node.iter, 1))
