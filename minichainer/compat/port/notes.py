"""What is found while a module is rewritten."""

from __future__ import annotations

from collections import Counter

import libcst as cst

from minichainer.compat.port import names
from minichainer.compat.port.facts import Facts
from minichainer.compat.port.rules import SHOW_V1


class Notes:
    """What is found in one module.

    Args:
        facts: of the module.
    """

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        #: Line, column, kind, rule, was, write, why.
        self.found: list[tuple[int, int, str, str, str, str, str]] = []
        self.names: Counter[str] = Counter()
        #: How many blocks around the current place run with ChainerX only, which is never.
        self.with_chainerx = 0

    def add(self, node: cst.CSTNode, kind: str, rule: str, write: str, why: str) -> None:
        """Notes one place; the arguments are those of :class:`~minichainer.compat.port.findings.Finding`."""
        line, column = self._facts.line(node)
        self.found.append((line, column, kind, rule, short(self._facts.code(node)), write, why))

    @property
    def show_v1(self) -> bool:
        """Whether the module is written for Chainer 1."""
        needs_keywords = self._facts.is_old and 'keywords' in self._facts.parts
        return needs_keywords or any(found[3] in SHOW_V1 for found in self.found)

    def use(self, node: cst.CSTNode, name: str) -> None:
        """Counts a name of Chainer, and notes it if it does not exist here."""
        self.names[name] += 1
        is_of_chainerx = name.startswith('chainer.chainerx.')
        if not names.exists(name) and not (is_of_chainerx and self.with_chainerx):
            if names.under_alias(name):
                write, why = f'{names.OURS}.compat.install() before it', 'exists only while the alias is installed'
                self.add(node, 'attention', 'alias', write, f'{name[len("chainer.") :]} {why}')
                return
            near = '' if is_of_chainerx else names.nearest(name)
            advice = f'did you mean {near}?' if near else 'see docs/porting.md'
            advice = 'arrays of NumPy or CuPy: ChainerX does not exist here' if is_of_chainerx else advice
            self.add(node, 'missing', 'name', advice, f'minichainer has no {name[len("chainer.") :]}')


def short(code: str) -> str:
    """The first line of some code.

    Args:
        code: the code.
    """
    lines = code.strip().splitlines() or ['']
    return lines[0] if len(lines) == 1 else f'{lines[0]} ...'
