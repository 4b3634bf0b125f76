"""What a module says about its names: where they are from, and which links its attributes are."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import libcst as cst
from libcst.metadata import BuiltinAssignment, MetadataWrapper, PositionProvider, QualifiedNameSource, ScopeProvider

from minichainer.compat import nodes
from minichainer.compat.port import names
from minichainer.compat.port.rules import CALLED_NODE, PARTS, of_kind

#: Calls whose keyword arguments become attributes.
_HOLDERS = ('chainer.Chain', 'chainer.FunctionSet')
#: Arguments that functions and links of v1 took.
OLD_KEYWORDS = frozenset('train test volatile use_cudnn deterministic wscale'.split())


class OldCall(NamedTuple):
    """A call that has arguments of v1.

    Args:
        node: the call.
        inside: the class around it.
        keywords: the names of these arguments.
        by_place: names that arguments without a name may have, as their values are called so.
        is_starred: whether they are, or may be, in ``**x``.
    """

    node: cst.Call
    inside: str
    keywords: frozenset[str]
    by_place: frozenset[str]
    is_starred: bool


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
        #: What makes ``self.x`` and ``name``, keys as in ``types``, if it is nothing of Chainer.
        self.makers: dict[tuple[str, str], str] = {}
        #: Calls with arguments of v1, and the text of calls of ``switch_on``.
        self.old_calls: list[OldCall] = []
        self.switched_on = ''
        #: What is assigned to, as text.
        self.assigned_to: set[str] = set()
        #: Whether it makes or derives from node classes.
        self.makes_nodes = False
        #: Names of lists whose elements are lists.
        self.rows: set[str] = set()
        self.module.visit(_Collector(self))
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

    def made_by(self, node: cst.BaseExpression, inside: str) -> str:
        """The name of what made an object, if that is a function or class that is not Chainer's; else empty.

        Args:
            node: such as ``self.block``, or a call.
            inside: the class around it.
        """
        if isinstance(node, cst.Call):
            return '' if names.is_chainer(self.name_of(node.func)) else self.name_of(node.func) or dotted(node.func)
        text = dotted(node)
        key = (inside, text[len('self.') :]) if text.startswith('self.') else ('', text)
        return self.makers.get(key, '')

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
        #: Values of the items of dicts that are written out, by the name of the dict.
        self._dicts: dict[str, dict[str, list[cst.BaseExpression]]] = {}

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
                self._facts.assigned_to.add(dotted(one))
                self._note(dotted(one), value)
                self._note_items(one, value)

    def visit_Call(self, node: cst.Call) -> None:
        self._facts.has |= {f'{argument.keyword.value}=' for argument in node.args if argument.keyword is not None}
        self._note_old_call(node)
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

    def _note_old_call(self, node: cst.Call) -> None:
        if dotted(node.func).rpartition('.')[2] == 'switch_on':
            self._facts.switched_on += self._facts.code(node)
        named = {argument.keyword.value for argument in node.args if argument.keyword is not None}
        starred = {key for argument in node.args if argument.star == '**' for key in self._items(argument.value)}
        places = {_flag(argument.value) for argument in node.args[1:] if argument.keyword is None}
        found = OldCall(
            node,
            self._classes[-1] if self._classes else '',
            OLD_KEYWORDS & (named | starred),
            OLD_KEYWORDS & places,
            bool(OLD_KEYWORDS & starred),
        )
        if found.keywords or found.by_place:
            self._facts.old_calls.append(found)

    def _items(self, node: cst.BaseExpression) -> dict[str, list[cst.BaseExpression]]:
        """The items of a dict, as far as they are written: the values that each key may have."""
        if isinstance(node, cst.Dict):
            pairs = [(_string(e.key), e.value) for e in node.elements if isinstance(e, cst.DictElement)]
        elif isinstance(node, cst.Call) and dotted(node.func) == 'dict':
            pairs = [(a.keyword.value, a.value) for a in node.args if a.keyword is not None]
        else:
            return self._dicts.get(dotted(node), {})
        return {key: [value for other, value in pairs if other == key] for key, _ in pairs if key}

    def _note_items(self, target: cst.BaseExpression, value: cst.BaseExpression) -> None:
        """Notes ``x = {'key': value}`` and ``x['key'] = value``."""
        if isinstance(target, cst.Subscript):
            index = target.slice[0].slice
            key = _string(index.value) if isinstance(index, cst.Index) and len(target.slice) == 1 else ''
            self._dicts.setdefault(dotted(target.value), {}).setdefault(key, []).append(value)
        elif isinstance(value, (cst.Dict, cst.Call)):
            self._dicts[dotted(target)] = self._items(value)

    def _note(self, target: str, value: cst.BaseExpression) -> None:
        if not target or not isinstance(value, cst.Call):
            return
        name = self._facts.name_of(value.func)
        if name.startswith('chainer.optimizers.'):
            self._facts.optimizers.add(target)
        if names.is_chainer(name):
            self._set(self._facts.types, target, moved(name))
        elif dotted(value.func):
            self._set(self._facts.makers, target, name or dotted(value.func))
        if name == 'chainer.FunctionSet':
            self._facts.function_sets.add(('', target))
        if name in _HOLDERS:
            self._note_keywords(target, value)

    def _note_keywords(self, target: str, call: cst.Call) -> None:
        for argument in call.args:
            if argument.keyword is not None:
                self._note(f'{target}.{argument.keyword.value}', argument.value)
            for key, values in self._items(argument.value).items() if argument.star == '**' else ():
                for value in values:
                    self._note(f'{target}.{key}', value)

    def _set(self, table: dict[tuple[str, str], str], target: str, kind: str) -> None:
        """Notes a type or maker, or that there are several."""
        is_own = target.startswith('self.') and bool(self._classes)
        key = (self._classes[-1], target[len('self.') :]) if is_own else ('', target)
        table[key] = kind if table.get(key, kind) == kind else ''


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


def _flag(node: cst.BaseExpression) -> str:
    """``test`` of ``test``, ``self.test`` and ``not test``."""
    is_negated = isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Not)
    return dotted(node.expression if is_negated else node).rpartition('.')[2]  # type: ignore[attr-defined]


def _string(node: cst.BaseExpression | None) -> str:
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
