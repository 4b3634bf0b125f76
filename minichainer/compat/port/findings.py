"""What the porting tool did, and what a person has to do, as text and as JSON."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass

#: Kinds of findings, in the order in which the summary counts them, and what each means.
KINDS = {
    'done': 'rewritten',
    'attention': 'for a person to change',
    'missing': 'names that minichainer does not have',
    'error': 'files that could not be read',
}
#: What is left to do after the tool has run.
OPEN_KINDS = frozenset(KINDS) - {'done'}


@dataclass(frozen=True)
class Finding:
    """One place in a program.

    Args:
        path: the file.
        line: its line, from 1.
        column: its column, from 0.
        kind: one of :data:`KINDS`.
        rule: the name of the rule.
        was: the source there.
        write: what it was replaced by, or what to write.
        why: the reason.
    """

    path: str
    line: int
    column: int
    kind: str
    rule: str
    was: str
    write: str = ''
    why: str = ''

    def __str__(self) -> str:
        arrow = f'\n    {self.was}\n  → {self.write}' if self.write else f'\n    {self.was}' if self.was else ''
        return f'{self.path}:{self.line}: {self.kind} ({self.rule}): {self.why}{arrow}'


@dataclass
class Report:
    """Everything found in all files.

    Args:
        findings: in the order of files and lines.
        changed: files that were changed, or would be.
        names: how often each name of Chainer is used.
    """

    findings: list[Finding]
    changed: list[str]
    names: Counter[str]

    @property
    def open(self) -> list[Finding]:
        """What a person has to do."""
        return [finding for finding in self.findings if finding.kind in OPEN_KINDS]

    def count(self, kind: str) -> int:
        """How many findings are of a kind.

        Args:
            kind: one of :data:`KINDS`.
        """
        return sum(finding.kind == kind for finding in self.findings)

    def to_json(self) -> str:
        """The report as a JSON object."""
        report = {
            'changed': self.changed,
            'counts': {kind: self.count(kind) for kind in KINDS},
            'findings': [asdict(finding) for finding in self.findings],
            'names': dict(sorted(self.names.items())),
        }
        return json.dumps(report, indent=1, ensure_ascii=False)

    def to_text(self, kinds: Iterable[str] = tuple(KINDS)) -> str:
        """The findings of the given kinds, and a summary.

        Args:
            kinds: which to show.
        """
        kinds = set(kinds)
        lines = [str(finding) for finding in self.findings if finding.kind in kinds]
        counts = [f'{self.count(kind)} {meaning}' for kind, meaning in KINDS.items() if self.count(kind)]
        return '\n'.join([*lines, ', '.join(counts) if counts else 'nothing to do'])
