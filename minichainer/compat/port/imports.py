"""Import statements: Chainer's, and those of names and modules that were dropped."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from minichainer.compat import removed
from minichainer.compat.port import changes, names
from minichainer.compat.port.facts import dotted, moved

#: Packages over Chainer, which import it themselves.
BUILT_ON_CHAINER = frozenset('chainercv chainerrl chainer_chemistry chainerui chainer_pytorch_migration'.split())
#: ChainerMN for one process.
_CHAINERMN = f'{names.OURS}.compat.chainermn'


@dataclass(frozen=True)
class Target:
    """Where an imported name is from.

    Args:
        was: the full dotted name in the source.
        name: the full dotted name to import.
        rule: why they differ; empty if they do not.
        why: the reason in words.
    """

    was: str
    name: str
    rule: str = ''
    why: str = ''


def target_of(name: str) -> Target:
    """What to import instead of a full dotted name.

    Args:
        name: as the source has it.
    """
    if names.is_chainer(name):
        new = moved(names.canonical(name))
        return Target(name, names.ours(new), '' if new == name else 'import', 'Chainer is minichainer')
    if name.partition('.')[0] == 'chainermn':
        return Target(name, _CHAINERMN + name[len('chainermn') :], 'chainermn', 'ChainerMN is in minichainer.compat')
    row = removed.by_name().get(name)
    change = changes.of_row(row) if row is not None else changes.Change()
    if row is not None and change.certain and _is_importable(row, change.write):
        write = names.ours(change.write) if names.is_chainer(change.write) else change.write
        return Target(name, write, row.name, change.why)
    owner, _, last = name.rpartition('.')
    row = removed.by_name().get(owner)
    if row is not None and row.kind == 'module' and row.certain:
        return Target(name, f'{row.instead}.{last}', row.name, f'{row.name} was dropped by {row.since}')
    return Target(name, name)


def _is_importable(row: removed.Removed, name: str) -> bool:
    """Whether what replaces a name can be imported: it is a module, or an attribute of one."""
    return name.replace('.', '').isidentifier() and ('.' in name or row.kind == 'module')


def attribute(name: str) -> cst.Attribute | cst.Name:
    """A dotted name as a node.

    Args:
        name: the name.
    """
    node = cst.parse_expression(name)
    assert isinstance(node, (cst.Attribute, cst.Name))
    return node


def plain(node: cst.Import) -> Iterator[tuple[cst.ImportAlias, list[cst.ImportAlias], Target]]:
    """For ``import a, b``: each alias, what replaces it, and its target.

    Args:
        node: the statement.
    """
    for alias in node.names:
        target = target_of(dotted(alias.name))
        yield alias, _new_aliases(alias, target), target


def _new_aliases(alias: cst.ImportAlias, target: Target) -> list[cst.ImportAlias]:
    if target.was == target.name or target.name.partition('.')[0] == target.was:
        return [alias]
    name = attribute(target.name)
    if alias.asname is not None or ('.' not in target.was + target.name and target.name == _bound(alias)):
        return [alias.with_changes(name=name)]
    bound = target.was.partition('.')[0]
    if bound == 'chainermn' and '.' in target.was:
        return [cst.ImportAlias(attribute(_CHAINERMN), _as(bound)), cst.ImportAlias(name)]
    if bound == 'chainerx' or not names.is_chainer(target.was):
        return [cst.ImportAlias(name, _as(bound))] if '.' not in target.was else [alias]
    root = cst.ImportAlias(cst.Name(names.OURS), _as(bound))
    if bound != 'chainer':
        return [alias]
    return [root, cst.ImportAlias(name)] if names.unreachable_part(target.name) else [root]


def _bound(alias: cst.ImportAlias) -> str:
    return dotted(alias.name).partition('.')[0]


def _as(name: str) -> cst.AsName:
    return cst.AsName(cst.Name(name), cst.SimpleWhitespace(' '), cst.SimpleWhitespace(' '))


def without_repetition(aliases: list[cst.ImportAlias]) -> list[cst.ImportAlias]:
    """Import aliases, each once, with commas between them.

    Args:
        aliases: in order.
    """
    texts: dict[str, cst.ImportAlias] = {}
    for alias in aliases:
        name = f'{dotted(alias.name)} as {alias.evaluated_alias}'
        texts.setdefault(name, alias)
    *rest, last = texts.values()
    comma = cst.Comma(whitespace_after=cst.SimpleWhitespace(' '))
    given = [a if isinstance(a.comma, cst.Comma) else a.with_changes(comma=comma) for a in rest]
    return [*given, last.with_changes(comma=cst.MaybeSentinel.DEFAULT)]


def grouped(node: cst.ImportFrom, module: str) -> dict[str, list[tuple[cst.ImportAlias, Target]]]:
    """For ``from module import a, b``: by the new module, what is imported from it.

    Args:
        node: the statement.
        module: its module, absolute.
    """
    groups: dict[str, list[tuple[cst.ImportAlias, Target]]] = {}
    for alias in node.names if not isinstance(node.names, cst.ImportStar) else ():
        target = target_of(f'{module}.{dotted(alias.name)}')
        groups.setdefault(target.name.rpartition('.')[0], []).append((alias, target))
    return groups


def from_statement(node: cst.ImportFrom, home: str, group: list[tuple[cst.ImportAlias, Target]]) -> cst.ImportFrom:
    """``from home import ...`` for a group, in the form of the original statement.

    Args:
        node: the original statement.
        home: the new module.
        group: what is imported from it.
    """
    aliases = [_renamed(alias, target.name.rpartition('.')[2]) for alias, target in group]
    if isinstance(node.names, cst.ImportStar) or [alias for alias, _ in group] != list(node.names):
        aliases[-1] = aliases[-1].with_changes(comma=cst.MaybeSentinel.DEFAULT)
    return node.with_changes(module=attribute(home), names=aliases)


def _renamed(alias: cst.ImportAlias, name: str) -> cst.ImportAlias:
    """An alias that imports another name under the same local name."""
    was = dotted(alias.name)
    if name == was:
        return alias
    asname = alias.asname if alias.asname is not None else _as(was)
    same = alias.asname is not None and alias.evaluated_alias == name
    return alias.with_changes(name=cst.Name(name), asname=None if same else asname)
