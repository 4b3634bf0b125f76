"""What a module says about its names: where they are from, and which links its attributes are."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

import libcst as cst
from libcst.metadata import BuiltinAssignment, MetadataWrapper, PositionProvider, QualifiedNameSource, ScopeProvider

from minichainer.compat import nodes
from minichainer.compat.port import names
from minichainer.compat.port.rules import CALLED_NODE, PARTS, UNKNOWN_LINK, of_kind

#: Calls whose keyword arguments become attributes.
_HOLDERS = ('chainer.Chain', 'chainer.FunctionSet')


def dotted(node: cst.BaseExpression) -> str:
    """``a.b.c`` as text; empty if the expression is anything else."""
    if isinstance(node, cst.Name):
        return node.value
    if isinstance(node, cst.Attribute):
        value = dotted(node.value)
        return f'{value}.{node.attr.value}' if value else ''
    return ''


class Facts:
    """Names of a module.

    Args:
        wrapper: of the module.
    """

    def __init__(self, wrapper: MetadataWrapper) -> None:
        self.module = wrapper.module
        self._scopes: Mapping[cst.CSTNode, Any] = wrapper.resolve(ScopeProvider)
        self.positions: Mapping[cst.CSTNode, Any] = wrapper.resolve(PositionProvider)
        #: Names that the module's global scope imports, and what they are.
        self.imported = dict(self._imports())
        scopes = {scope for scope in self._scopes.values() if scope is not None}
        self._loads = {access.node for scope in scopes for access in scope.accesses}
        #: Every name that is assigned, imported or an argument anywhere.
        self.assigned = {
            assignment.name
            for scope in scopes
            for assignment in scope.assignments
            if not isinstance(assignment, BuiltinAssignment)
        }
        #: Modules of Chainer that are imported by their full names.
        self.modules: set[str] = set()
        #: Functions and methods that the module defines, and the names of their arguments.
        self.functions: set[str] = set()
        self.arguments: set[str] = set()
        #: The class of what ``self.x`` is, by class of the module and ``x``; of ``name.x`` with class ''.
        self.types: dict[tuple[str, str], str] = {}
        self.bases: dict[str, list[str]] = {}
        self.optimizers: set[str] = set()
        #: What is, or derives from, FunctionSet: class and text, as in ``types``.
        self.function_sets: set[tuple[str, str]] = set()
        #: What the module has, as the table of parts spells it: ``.attribute``, ``argument=`` and names defined.
        self.has: set[str] = set()
        #: What gets ``wscale``, and is no link that the rules know.
        self.unknown_links: set[str] = set()
        #: Whether it makes or derives from node classes.
        self.makes_nodes = False
        #: Names of lists whose elements are lists.
        self.rows: set[str] = set()
        self.module.visit(_Collector(self))
        if self.unknown_links - self.functions:
            self.has.add(UNKNOWN_LINK)
        if self.makes_nodes and '.apply' not in self.has:
            self.has.add(CALLED_NODE)
        #: Whether it imports Chainer itself, so that it has not been ported.
        self.is_old = any(name.partition('.')[0] == 'chainer' for name in self.imported.values())
        self.uses_function_sets = bool(self.function_sets)
        self.parts = [part for part, signs in PARTS.items() if any(sign <= self.has for sign in signs)]

    def code(self, node: cst.CSTNode) -> str:
        """The source of a node."""
        return self.module.code_for_node(node)

    def line(self, node: cst.CSTNode) -> tuple[int, int]:
        """Where a node starts."""
        start = self.positions[node].start
        return start.line, start.column

    def _imports(self) -> Iterator[tuple[str, str]]:
        scope = self._scopes.get(self.module)
        for assignment in scope.assignments if scope else ():
            found = {q.name for q in assignment.get_qualified_names_for(assignment.name)}
            if len(found) == 1 and hasattr(assignment, 'as_name'):
                yield assignment.name, found.pop()

    def name_of(self, node: cst.BaseExpression) -> str:
        """The full dotted name of an imported name, as Chainer spells it; empty if it is not certain."""
        text = dotted(node)
        first: cst.BaseExpression = node
        while isinstance(first, cst.Attribute):
            first = first.value
        scope = self._scopes.get(first) if text else None
        found = scope.get_qualified_names_for(text) if scope else set()
        if not found or any(q.source is not QualifiedNameSource.IMPORT for q in found):
            return ''
        known = {names.canonical(q.name) for q in found}
        return known.pop() if len(known) == 1 else ''

    def scope_of(self, node: cst.CSTNode) -> Any:
        """The scope that a name is written in."""
        return self._scopes.get(node)

    def scopes_that_assign(self, node: cst.Name) -> set[Any]:
        """The scopes in which what a name reads may be assigned."""
        scope = self._scopes.get(node)
        return {assignment.scope for assignment in scope[node.value]} if scope is not None else set()

    @property
    def imports_chainer(self) -> bool:
        """Whether the module imports something of Chainer: others have attributes like those of Variables."""
        return any(map(names.is_chainer, self.imported.values()))

    def is_load(self, node: cst.Name) -> bool:
        """Whether a name is read there, and not part of a longer one."""
        return node in self._loads

    def is_builtin(self, node: cst.Name) -> bool:
        """Whether a name is defined nowhere in the module."""
        return node.value not in self.assigned

    def instance(self, node: cst.BaseExpression, inside: str) -> str:
        """``chainer.links.X()`` if an expression is known to be an instance of this link, else empty.

        Args:
            node: such as ``self.bn``.
            inside: the class around it.
        """
        text = dotted(node)
        if not text.startswith('self.'):
            found = self.types.get(('', text), '')
        else:
            found = self._attribute(inside, text[len('self.') :], set())
        return f'{found}()' if found else ''

    def _attribute(self, owner: str, name: str, seen: set[str]) -> str:
        """The type of an attribute of a class of this module or of one of its bases."""
        if owner in seen:
            return ''
        own = self.types.get((owner, name), '')
        return own or next(
            filter(None, (self._attribute(base, name, seen | {owner}) for base in self.bases.get(owner, []))), ''
        )


class _Collector(cst.CSTVisitor):
    """Fills the tables of :class:`Facts`."""

    def __init__(self, facts: Facts) -> None:
        super().__init__()
        self._facts = facts
        self._classes: list[str] = []

    def visit_ClassDef(self, node: cst.ClassDef) -> None:
        self._classes.append(node.name.value)
        if any(self._facts.name_of(base.value) == 'chainer.FunctionSet' for base in node.bases):
            self._facts.function_sets.add((node.name.value, 'self'))
        self._note_node_class(*(base.value for base in node.bases))
        self._facts.bases[node.name.value] = [dotted(base.value).rpartition('.')[2] for base in node.bases]

    def leave_ClassDef(self, original_node: cst.ClassDef) -> None:
        self._classes.pop()

    def visit_Attribute(self, node: cst.Attribute) -> None:
        self._facts.has |= {f'.{node.attr.value}', node.attr.value if node.attr.value == 'make_extension' else ''}

    def visit_FunctionDef(self, node: cst.FunctionDef) -> None:
        self._facts.has.add(node.name.value)
        self._facts.functions.add(node.name.value)

    def visit_Import(self, node: cst.Import) -> None:
        self._facts.modules.update(names.canonical(dotted(alias.name)) for alias in node.names)

    def visit_Param(self, node: cst.Param) -> None:
        self._facts.arguments.add(node.name.value)

    def visit_Assign(self, node: cst.Assign) -> None:
        for target in node.targets:
            self._facts.has |= {dotted(target.target)} if self._classes else set()
            self._facts.rows |= {dotted(target.target)} if _has_rows(node.value) else set()
            for one, value in _pairs(target.target, node.value):
                self._note(dotted(one), value)

    def visit_Call(self, node: cst.Call) -> None:
        self._facts.has |= {f'{argument.keyword.value}=' for argument in node.args if argument.keyword is not None}
        self._note_wscale(node)
        self._note_node_class(node.func)
        if not isinstance(node.func, cst.Attribute):
            return
        receiver, method = node.func.value, node.func.attr.value
        if method == 'append' and node.args and _is_row(node.args[0].value):
            self._facts.rows.add(dotted(receiver))
        if method == 'setup':
            self._facts.optimizers.add(dotted(receiver))
        if method == '__init__' and isinstance(receiver, cst.Call) and self._facts.code(receiver.func) == 'super':
            self._note_keywords('self', node)
        if method == 'add_link' and len(node.args) == 2:
            name = _string(node.args[0].value)
            self._note(f'{dotted(receiver)}.{name}' if name else '', node.args[1].value)

    def _note_node_class(self, *classes: cst.BaseExpression) -> None:
        found = [name.rpartition('.') for name in map(self._facts.name_of, classes)]
        known = [nodes.rows().get((path.removeprefix('chainer.functions.'), name)) for path, _, name in found]
        self._facts.makes_nodes |= any(row is not None and row.call for row in known)

    def _note_wscale(self, node: cst.Call) -> None:
        name = moved(self._facts.name_of(node.func))
        known = any(rule.name == 'wscale' and rule.is_about(name) for rule in of_kind('keyword'))
        if any(argument.keyword is not None and argument.keyword.value == 'wscale' for argument in node.args):
            self._facts.unknown_links |= set() if known else {dotted(node.func).rpartition('.')[2]}

    def _note(self, target: str, value: cst.BaseExpression) -> None:
        if not target or not isinstance(value, cst.Call):
            return
        name = self._facts.name_of(value.func)
        if name.startswith('chainer.optimizers.'):
            self._facts.optimizers.add(target)
        if names.is_chainer(name):
            self._set(target, moved(name))
        if name == 'chainer.FunctionSet':
            self._facts.function_sets.add(('', target))
        if name in _HOLDERS:
            self._note_keywords(target, value)

    def _note_keywords(self, target: str, call: cst.Call) -> None:
        for argument in call.args:
            if argument.keyword is not None:
                self._note(f'{target}.{argument.keyword.value}', argument.value)

    def _set(self, target: str, kind: str) -> None:
        """Notes a type, or that there are several."""
        is_own = target.startswith('self.') and bool(self._classes)
        key = (self._classes[-1], target[len('self.') :]) if is_own else ('', target)
        self._facts.types[key] = kind if self._facts.types.get(key, kind) == kind else ''


def _pairs(
    target: cst.BaseExpression, value: cst.BaseExpression
) -> list[tuple[cst.BaseExpression, cst.BaseExpression]]:
    """What is assigned to what, in ``a, b = x, y`` too."""
    if not isinstance(target, cst.Tuple) or not isinstance(value, cst.Tuple):
        return [(target, value)]
    starred = any(isinstance(part, cst.StarredElement) for part in (*target.elements, *value.elements))
    return [] if starred else [(a.value, b.value) for a, b in zip(target.elements, value.elements, strict=False)]


def _has_rows(node: cst.BaseExpression) -> bool:
    """Whether an expression is a list whose elements are lists of lengths that are not written."""
    return isinstance(node, cst.ListComp) and _is_row(node.elt)


def _is_row(node: cst.BaseExpression) -> bool:
    made = (
        isinstance(node, cst.Call)
        and isinstance(node.func, (cst.Name, cst.Attribute))
        and dotted(node.func) == 'list'
    )
    ends = isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and node.func.attr.value == 'tolist'
    return made or ends or isinstance(node, cst.ListComp)


def _string(node: cst.BaseExpression) -> str:
    """The value of a literal string, else empty."""
    if not isinstance(node, cst.SimpleString):
        return ''
    value = ast.literal_eval(node.value)
    return value if isinstance(value, str) else ''


def moved(name: str) -> str:
    """A name of Chainer after the certain rules about names."""
    for rule in of_kind('name'):
        if rule.certain and rule.is_about(name):
            return rule.applied(name)
    return names.home_of(name) or name
