"""Applies the rules to a module."""

from __future__ import annotations

import libcst as cst
from libcst.metadata import MetadataWrapper

from minichainer.compat import removed
from minichainer.compat.port import calls, changes, imports, names
from minichainer.compat.port.alias_only import AliasOnly
from minichainer.compat.port.blocks import Blocks, has_comment
from minichainer.compat.port.facts import Facts, dotted, moved
from minichainer.compat.port.function_sets import FunctionSets
from minichainer.compat.port.notes import Notes, short
from minichainer.compat.port.program import Program
from minichainer.compat.port.rules import OLD_ATTRIBUTES, OLD_OF_LINKS, OLD_SETS, of_kind
from minichainer.compat.port.spelling import Spelling, with_imports
from minichainer.compat.port.v1_keywords import V1Keywords
from minichainer.compat.port.v1_values import V1Values

#: What an ``except`` clause around an import names, if the program expects it to fail.
_IMPORT_ERRORS = ('ImportError', 'ModuleNotFoundError', 'Exception', 'AttributeError', 'NameError')


class Rewriter(cst.CSTTransformer):
    """The transformer.

    Args:
        facts: of the module.
        is_v1: whether the program is written for Chainer 1.
        program: the files that the module belongs to.
    """

    def __init__(self, facts: Facts, is_v1: bool, program: Program) -> None:
        super().__init__()
        self.facts = facts
        self.notes = Notes(facts)
        self.spelling = Spelling(facts)
        self._calls = calls.Calls(facts, self.notes, self.spelling, is_v1)
        self._blocks = Blocks(facts, self._calls)
        self._values = V1Values(facts, self.notes, self.spelling, is_v1)
        self._sets = FunctionSets(facts, self.notes, self.spelling, program)
        self._alias_only = AliasOnly(facts, self.notes, program)
        V1Keywords(facts, self._calls, program, is_v1).note(self.notes)
        self._expected_to_fail = 0
        self._depth, self._has_comment = 0, False
        self._targets: set[cst.BaseExpression] = set()
        #: The modules that the module's own lines import, as text.
        self._imported: set[str] = set()

    # Imports.

    def visit_Try(self, node: cst.Try) -> None:
        self._expected_to_fail += _expects_import_error(node)

    def leave_Try(self, original_node: cst.Try, updated_node: cst.Try) -> cst.Try:
        self._expected_to_fail -= _expects_import_error(original_node)
        return updated_node

    def visit_If_body(self, node: cst.If) -> None:
        self.notes.with_chainerx += self._asks_for_chainerx(node)

    def leave_If_body(self, node: cst.If) -> None:
        self.notes.with_chainerx -= self._asks_for_chainerx(node)

    def _asks_for_chainerx(self, node: cst.If) -> bool:
        """Whether a block runs only if ChainerX is available."""
        called = node.test.func if isinstance(node.test, cst.Call) else node.test
        return self.facts.name_of(called) == 'chainer.chainerx.is_available'

    def visit_ImportAlias(self, node: cst.ImportAlias) -> bool:
        return False

    def visit_ImportFrom(self, node: cst.ImportFrom) -> bool:
        return False

    def leave_Import(self, original_node: cst.Import, updated_node: cst.Import) -> cst.Import | cst.RemovalSentinel:
        aliases: list[cst.ImportAlias] = []
        for alias, new, target in imports.plain(original_node):
            self._note_module(original_node, target)
            aliases += new if self._is_wanted(target) else [alias]
        if list(map(id, aliases)) == list(map(id, original_node.names)):
            return updated_node
        replaced = updated_node.with_changes(names=imports.without_repetition(aliases))
        self._done_import(original_node, replaced)
        text = self.facts.code(replaced)
        if not self._depth and text in self._imported and not self._has_comment:
            return cst.RemoveFromParent()  # such as a second `import minichainer as chainer`
        self._imported |= set() if self._depth else {text}
        return replaced

    def _is_wanted(self, target: imports.Target) -> bool:
        """Whether to write the target: not if the program has a second choice of its own."""
        return names.is_chainer(target.was) or not self._expected_to_fail

    def _note_module(self, node: cst.CSTNode, target: imports.Target) -> None:
        root = target.was.partition('.')[0]
        if names.is_chainer(target.was):
            self.notes.use(node, moved(names.canonical(target.was)))
        elif root in imports.BUILT_ON_CHAINER:
            write = 'minichainer.compat.install() before this import, or leave the package out'
            self.notes.add(node, 'attention', 'package', write, f'{root} imports chainer itself')
        elif self._is_wanted(target):
            self._note_removed(node, target.was)

    def _note_removed(self, node: cst.CSTNode, name: str) -> None:
        """Notes a dropped name that only a person can replace."""
        row = removed.by_name().get(name)
        if row is None or imports.target_of(name).rule:
            return
        if row.kind == 'name' or (row.kind == 'module' and not names.is_installed(name)):
            self.notes.add(node, 'attention', row.name, row.instead, f'{row.name} was dropped by {row.since}')

    def _done_import(self, was: cst.CSTNode, new: cst.CSTNode) -> None:
        why = 'minichainer takes the place of chainer, and other modules were moved'
        self.notes.add(was, 'done', 'import', short(self.facts.code(new)), why)

    def leave_ImportFrom(
        self, original_node: cst.ImportFrom, updated_node: cst.ImportFrom
    ) -> cst.ImportFrom | cst.FlattenSentinel[cst.BaseSmallStatement]:
        module = dotted(original_node.module) if original_node.module is not None else ''
        if not module or original_node.relative:
            return updated_node
        if isinstance(original_node.names, cst.ImportStar):
            return self._star(original_node, updated_node, module)
        groups = imports.grouped(original_node, module)
        targets = [target for group in groups.values() for _, target in group]
        for target in targets:
            self._note_module(original_node, target)
        wanted = all(self._is_wanted(target) for target in targets)
        if not wanted or all(target.was == target.name for target in targets):
            return updated_node
        new = [imports.from_statement(original_node, home, group) for home, group in groups.items()]
        for statement in new:
            self._done_import(original_node, statement)
        return new[0] if len(new) == 1 else cst.FlattenSentinel(new)

    def _star(self, was: cst.ImportFrom, new: cst.ImportFrom, module: str) -> cst.ImportFrom:
        if not names.is_chainer(module) or module == names.ours(module):
            return new
        self.notes.use(was, names.canonical(module))
        replaced = new.with_changes(module=imports.attribute(names.ours(module)))
        self._done_import(was, replaced)
        return replaced

    # Names.

    def visit_Attribute(self, node: cst.Attribute) -> bool:
        return not dotted(node)  # a chain of names is looked at as a whole

    def leave_Attribute(self, original_node: cst.Attribute, updated_node: cst.Attribute) -> cst.BaseExpression:
        text = dotted(original_node)
        name = self.facts.name_of(original_node) if text else ''
        if not name and original_node not in self._targets:
            self._alias_only.attribute(original_node)
        if not name and self._is_of_v1(original_node):
            return self._of_v1(original_node, updated_node)
        value = self._values.replaced(original_node) if name else ''
        if value:
            return cst.parse_expression(value)
        old = OLD_ATTRIBUTES.get(original_node.attr.value)
        if old and not name and original_node.attr.value not in self.facts.parts:
            self.notes.add(original_node, 'attention', original_node.attr.value, '', old)
        return self._replaced(original_node, updated_node, name) if name else updated_node

    def visit_AssignTarget(self, node: cst.AssignTarget) -> None:
        self._targets.add(node.target)

    def _is_of_v1(self, node: cst.Attribute) -> bool:
        """Whether an attribute is read that links, or FunctionSets if the module has some, had in v1."""
        attribute = node.attr.value
        of_set = attribute in OLD_SETS and self.facts.uses_function_sets
        return (of_set or attribute in OLD_OF_LINKS) and node not in self._targets

    def _of_v1(self, node: cst.Attribute, updated: cst.Attribute) -> cst.BaseExpression:
        """``former.parameters(model)`` for ``model.parameters``."""
        function = self.spelling.of({**OLD_SETS, **OLD_OF_LINKS}[node.attr.value])
        call = cst.Call(cst.parse_expression(function), [cst.Arg(updated.value)])
        why = f'the attribute {node.attr.value} was dropped by v2'
        self.notes.add(node, 'done', 'FunctionSet', self.facts.code(call), why)
        return call

    def _replaced(self, node: cst.Attribute, updated: cst.Attribute, name: str) -> cst.BaseExpression:
        """A dotted name, or what takes its place."""
        change = changes.of_chainer(name) if names.is_chainer(name) else changes.of_others(name)
        if change.write and not change.certain:
            self.notes.add(node, 'attention', change.rule, change.write, change.why)
            return updated
        if names.is_chainer(name):
            self._use(node, change.write or name)
        new = change.write
        if not new:
            return updated
        if new.isidentifier() and new in self.facts.assigned:
            why = f'{change.why}; this file has a {new} of its own'
            self.notes.add(node, 'attention', change.rule, new, why)
            return updated
        return self._written(node, change)

    def _written(self, node: cst.Attribute, change: changes.Change) -> cst.BaseExpression:
        is_name = change.write.replace('.', '').isidentifier()
        spelled = (
            self.spelling.of(change.write, dotted(node)) if is_name else self.spelling.in_expression(change.write)
        )
        text = f'({spelled})' if spelled.startswith('-') else spelled
        self.notes.add(node, 'done', change.rule, text, change.why)
        return cst.parse_expression(text)

    def _use(self, node: cst.CSTNode, name: str) -> None:
        """Counts a name of Chainer that was reached by attributes."""
        if name.startswith("'") or any(rule.is_about(name) for rule in of_kind('statement')):
            return
        self.notes.use(node, name)
        module = names.unreachable_part(name)
        if module:
            self.spelling.need(module)

    def leave_Name(self, original_node: cst.Name, updated_node: cst.Name) -> cst.BaseExpression:
        if not self.facts.is_load(original_node):
            return updated_node
        name = self.facts.name_of(original_node)
        if name and names.is_chainer(name):
            self.notes.use(original_node, moved(name))
        value = self._values.replaced(original_node) if name else ''
        if value:
            return cst.parse_expression(value)
        row = removed.by_name().get(original_node.value)
        if row is None or row.kind != 'builtin' or not self.facts.is_builtin(original_node):
            return updated_node
        change = changes.of_row(row)
        if not change.certain:
            self.notes.add(original_node, 'attention', row.name, change.write, change.why)
            return updated_node
        text = self.spelling.of(change.write)
        self.notes.add(original_node, 'done', row.name, text, change.why)
        return cst.parse_expression(text)

    # Calls, statements and blocks.

    def visit_ClassDef(self, node: cst.ClassDef) -> None:
        self._calls.classes.append(node.name.value)
        self._sets.note_class(node)

    def leave_ClassDef(self, original_node: cst.ClassDef, updated_node: cst.ClassDef) -> cst.ClassDef:
        self._calls.classes.pop()
        return updated_node

    def visit_Call(self, node: cst.Call) -> None:
        self._calls.enter(node)
        self._values.enter_call(node)
        self._alias_only.call(node)

    def visit_Subscript(self, node: cst.Subscript) -> None:
        self._alias_only.subscript(node)

    def visit_Expr(self, node: cst.Expr) -> None:
        self._alias_only.statement(node)

    def visit_ConcatenatedString(self, node: cst.ConcatenatedString) -> bool:
        self._alias_only.text(node)
        return False

    def visit_SimpleString(self, node: cst.SimpleString) -> None:
        self._alias_only.text(node)

    def visit_Comparison(self, node: cst.Comparison) -> None:
        self._values.enter_comparison(node)

    def visit_Annotation(self, node: cst.Annotation) -> None:
        self._values.leave_alone(node)

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.BaseExpression:
        result = self._calls.rewritten(original_node, updated_node, self._blocks.setting)
        inside = self._calls.classes[-1] if self._calls.classes else ''
        return self._sets.made(original_node, result, inside)

    def leave_BinaryOperation(
        self, original_node: cst.BinaryOperation, updated_node: cst.BinaryOperation
    ) -> cst.BinaryOperation:
        obstacles = self._calls.obstacles
        return obstacles.promotion.operation(original_node, obstacles.formatted(original_node, updated_node))

    def leave_Expr(self, original_node: cst.Expr, updated_node: cst.Expr) -> cst.Expr | cst.RemovalSentinel:
        return self._calls.statement(original_node, updated_node)

    def leave_Assign(self, original_node: cst.Assign, updated_node: cst.Assign) -> cst.BaseSmallStatement:
        self._calls.obstacles.promotion.assignment(original_node)
        return self._calls.assignment(original_node, updated_node)

    def visit_SimpleStatementLine(self, node: cst.SimpleStatementLine) -> None:
        self._has_comment = has_comment(node)
        self._blocks.enter(node)

    def leave_SimpleStatementLine(
        self, original_node: cst.SimpleStatementLine, updated_node: cst.SimpleStatementLine
    ) -> cst.BaseStatement | cst.RemovalSentinel | cst.FlattenSentinel[cst.BaseStatement]:
        return self._blocks.leave(original_node, updated_node)

    def visit_IndentedBlock(self, node: cst.IndentedBlock) -> None:
        self._depth += 1

    def leave_IndentedBlock(
        self, original_node: cst.IndentedBlock, updated_node: cst.IndentedBlock
    ) -> cst.IndentedBlock:
        self._depth -= 1
        return updated_node.with_changes(body=self._blocks.merged(updated_node.body))

    def leave_Module(self, original_node: cst.Module, updated_node: cst.Module) -> cst.Module:
        module = updated_node.with_changes(body=self._blocks.merged(updated_node.body))
        switches = self._switches(original_node)
        return with_imports(module, [*self.spelling.added, *switches])

    def _switches(self, module: cst.Module) -> list[str]:
        """The statement that switches parts of the style of v1 on, if the module needs some."""
        if not self.facts.parts or not self.facts.is_old:
            return []
        function = self.spelling.of('chainer.compat.legacy.former.switch_on')
        text = f'{function}({", ".join(map(repr, self.facts.parts))})'
        self.notes.add(module, 'done', 'switch_on', text, 'needs the style of v1: see docs/porting.md')
        return [text]


def _expects_import_error(node: cst.Try) -> bool:
    """Whether a ``try`` statement has a second choice if an import fails."""
    caught = [handler.type for handler in node.handlers]
    return any(kind is None or dotted(kind) in _IMPORT_ERRORS or isinstance(kind, cst.Tuple) for kind in caught)


def rewrite(text: bytes | str, is_v1: bool | None = None, program: Program | None = None) -> tuple[bytes, Notes]:
    """Ports the source of one module.

    Args:
        text: the source.
        is_v1: whether the program is written for Chainer 1; by default the module shows it.
        program: the files that the module belongs to; by default it is the only one.

    Returns:
        The new source, and what was found.
    """
    wrapper = MetadataWrapper(cst.parse_module(text), unsafe_skip_copy=True)
    program = Program([text]) if program is None else program
    rewriter = Rewriter(Facts(wrapper), bool(is_v1), program)
    new = wrapper.module.visit(rewriter)
    if is_v1 is None and rewriter.notes.show_v1:
        return rewrite(text, True, program)
    return new.bytes, rewriter.notes
