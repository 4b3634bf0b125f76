"""What takes the place of a dotted name."""

from __future__ import annotations

from dataclasses import dataclass

from minichainer.compat import removed
from minichainer.compat.port import names
from minichainer.compat.port.rules import of_kind


@dataclass(frozen=True)
class Change:
    """What to write for a name.

    Args:
        write: a dotted name or an expression; words if not ``certain``; empty if the name stays.
        rule: the name of the rule.
        why: the reason.
        certain: whether the tool may write it.
    """

    write: str = ''
    rule: str = ''
    why: str = ''
    certain: bool = True


def of_chainer(name: str) -> Change:
    """The change of a name of Chainer.

    Args:
        name: as Chainer spells it.
    """
    for rule in of_kind('name'):
        if rule.is_about(name):
            write = rule.applied(name) if rule.certain else rule.write
            return Change(write if write != name else '', rule.name, rule.why, rule.certain)
    home = names.home_of(name)
    return Change(home, 'import', f'{name.rpartition(".")[2]} has its home there') if home else Change()


def of_others(name: str) -> Change:
    """The change of a name that Python or a library dropped.

    Args:
        name: the full dotted name.
    """
    if any(rule.is_about(name) for rule in of_kind('call')):
        return Change()  # the whole call is replaced
    row = removed.by_name().get(name)
    owner, _, last = name.rpartition('.')
    module = removed.by_name().get(owner)
    if row is None and module is not None and module.kind == 'name' and module.certain:
        return Change(f'{module.instead}.{last}', module.name, f'{module.name} was dropped by {module.since}')
    return Change() if row is None or row.kind != 'name' else of_row(row)


def of_row(row: removed.Removed) -> Change:
    """The change of a dropped name: what replaces it, or else the copy that this package has, or else words.

    Args:
        row: of the table.
    """
    why = f'{row.name} was dropped by {row.since}'
    copy = '' if row.certain else names.copy_of(row.restore)
    if copy:
        return Change(copy, row.name, f'{why}; this is a copy. Better: {row.instead}')
    return Change(row.instead, row.name, why, row.certain)
