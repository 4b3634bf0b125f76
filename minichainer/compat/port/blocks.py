"""Statements that get a ``with`` around them, and lines that become several or none."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from minichainer.compat.port.calls import Calls
from minichainer.compat.port.facts import Facts, dotted


class Blocks:
    """Decides which statements run with a setting.

    ``train=`` of v1 held for one call. ``with chainer.using_config('train', train):`` holds for a whole statement, so
    a statement gets it only if nothing else in it depends on the setting, and if all of it runs at once: what is in a
    ``lambda`` or a generator runs after the block, and a ``yield`` would let others run in it. Otherwise the one call
    gets it.

    Args:
        facts: of the module.
        calls: of the module.
    """

    def __init__(self, facts: Facts, calls: Calls) -> None:
        self._facts = facts
        self._calls = calls
        #: The value of the setting for the statement that is being rewritten; empty for none.
        self.setting = ''
        self._made: dict[int, tuple[str, cst.With]] = {}

    def enter(self, node: cst.SimpleStatementLine) -> None:
        """Decides for one line.

        Args:
            node: the line.
        """
        found = _Calls()
        node.visit(found)
        values = {self._calls.setting_of(call) for call in found.calls} - {''}
        others = [call for call in found.calls if not self._calls.setting_of(call)]
        value = next(iter(values), '')
        is_pure = value in ('True', 'False') or dotted(cst.parse_expression(value.removeprefix('not ') or 'x')) != ''
        alone = len(values) == 1 and is_pure and not found.is_later and all(map(self._calls.is_plain, others))
        self.setting = value if alone else ''

    def leave(
        self, original: cst.SimpleStatementLine, updated: cst.SimpleStatementLine
    ) -> cst.BaseStatement | cst.RemovalSentinel | cst.FlattenSentinel[cst.BaseStatement]:
        """One line, as a block, several lines or none.

        Args:
            original: as it was.
            updated: with its parts rewritten.
        """
        if self.setting:
            return self._block(updated)
        if not updated.body:
            return updated.with_changes(body=[cst.Pass()]) if has_comment(updated) else cst.RemoveFromParent()
        if len(updated.body) > len(original.body) == 1:
            return _separate_lines(updated)
        return updated

    def _block(self, line: cst.SimpleStatementLine) -> cst.With:
        head = cst.parse_statement(f'with {self._calls.using_config(self.setting)}:\n    pass\n')
        assert isinstance(head, cst.With)
        inner = line.with_changes(leading_lines=[])
        block = head.with_changes(leading_lines=line.leading_lines, body=cst.IndentedBlock([inner]))
        self._made[id(block)] = (self.setting, block)
        self.setting = ''
        return block

    def merged(self, body: Sequence[cst.BaseStatement]) -> list[cst.BaseStatement]:
        """Statements, with neighbouring new blocks of the same setting as one.

        Args:
            body: the statements of a block.
        """
        result: list[cst.BaseStatement] = []
        for statement in body:
            last = result[-1] if result else None
            if isinstance(last, cst.With) and isinstance(statement, cst.With) and self._same(last, statement):
                result[-1] = self._joined(last, statement)
            else:
                result.append(statement)
        return result

    def _same(self, first: cst.With, second: cst.With) -> bool:
        values = [self._made.get(id(block), ('', block))[0] for block in (first, second)]
        return values[0] == values[1] != ''

    def _joined(self, first: cst.With, second: cst.With) -> cst.With:
        line = second.body.body[0]
        assert isinstance(line, cst.SimpleStatementLine)
        above = [gap if gap.comment else gap.with_changes(indent=False) for gap in second.leading_lines]
        line = line.with_changes(leading_lines=above)
        block = first.with_changes(body=first.body.with_changes(body=[*first.body.body, line]))
        self._made[id(block)] = (self._made[id(first)][0], block)
        return block


def has_comment(line: cst.SimpleStatementLine) -> bool:
    """Whether there is a comment above or behind a line.

    Args:
        line: the line.
    """
    return line.trailing_whitespace.comment is not None or any(gap.comment for gap in line.leading_lines)


class _Calls(cst.CSTVisitor):
    """The calls in a statement, and whether a block around it ends before some are made, or is left in the middle."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[cst.Call] = []
        self.is_later = False

    def visit_Lambda(self, node: cst.Lambda) -> None:
        self.is_later = True

    def visit_GeneratorExp(self, node: cst.GeneratorExp) -> None:
        self.is_later = True

    def visit_Yield(self, node: cst.Yield) -> None:
        self.is_later = True

    def visit_Await(self, node: cst.Await) -> None:
        self.is_later = True

    def visit_Call(self, node: cst.Call) -> None:
        self.calls.append(node)


def _separate_lines(line: cst.SimpleStatementLine) -> cst.FlattenSentinel[cst.BaseStatement]:
    """A line of several statements as lines of one; the first has the comments above, the last the one behind."""
    plain = cst.TrailingWhitespace()
    statements = [part.with_changes(semicolon=cst.MaybeSentinel.DEFAULT) for part in line.body]
    lines = [
        cst.SimpleStatementLine(
            [part],
            leading_lines=line.leading_lines if index == 0 else [],
            trailing_whitespace=line.trailing_whitespace if index == len(statements) - 1 else plain,
        )
        for index, part in enumerate(statements)
    ]
    return cst.FlattenSentinel(lines)
