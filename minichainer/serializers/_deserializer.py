"""Shared code of the deserializers: loading an object as a whole or not at all."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Sequence, Set
from typing import Any, Literal, TypeAlias

from minichainer.link.link import Link
from minichainer.serializer import (
    DamagedSnapshotError,
    Deserializer,
    EntryTypeError,
    MissingEntryError,
    SnapshotError,
    misfit,
)
from minichainer.serializers._entries import Allowance, Entry
from minichainer.serializers._memento import Memento

#: What must fit: 'all' of the file and the object; 'links', all of the parts for links, and what else the object asks
#: for; True, what the object asks for; False, what both have.
Strictness: TypeAlias = bool | Literal['all', 'links']

_logger = logging.getLogger('minichainer.serializers')
_MOST_NAMED = 10
_ADVICE = (
    'For missing and additional entries: path names the part of the snapshot to load, '
    'ignore_names skips single entries, strict=False skips all of them.'
)
#: Errors of a ``serialize`` method that cannot make sense of what it has got.
_MISUNDERSTANDINGS = (ValueError, TypeError, LookupError, ArithmeticError)


class _Findings:
    """What a load has found out so far."""

    def __init__(self) -> None:
        self.asked: set[str] = set()
        self.last = ''
        self.problems: list[Exception] = []
        #: Entries of the file that a link has not asked for, with its class; something else may ask for them later.
        self.left_by_links: dict[str, str] = {}
        #: Those that the object which is loaded has not asked for, such as an optimizer or a trainer.
        self.left: dict[str, str] = {}
        #: Values that the file lacks, if that is allowed.
        self.absent: list[str] = []
        #: Whether a link is being loaded: then missing entries are collected too, else an object may do without.
        self.in_link = False

    def others(self, links_only: bool = False) -> dict[str, str]:
        """Entries that nothing has asked for, with the class of the link or object that might have."""
        left = self.left_by_links if links_only else {**self.left, **self.left_by_links}
        return {name: kind for name, kind in sorted(left.items()) if name not in self.asked}


class EntryDeserializer(Deserializer):
    """Base class of deserializers that find entries by name."""

    strict: Strictness
    allowance: Allowance | None = None
    _findings: _Findings | None = None

    def _share_with(self, part: EntryDeserializer) -> None:
        """Gives a new deserializer of a part what belongs to the whole file and load."""
        part.allowance = self.allowance
        part._findings = self._findings

    def expect(self, nbytes: int) -> None:
        """Lets the file take more memory than its size allows, because the object requires it.

        Args:
            nbytes: how much more.
        """
        if self.allowance is not None:
            self.allowance.add(nbytes)

    def find(self, key: str) -> Entry | None:
        """The entry, or None if there is none.

        Args:
            key: its name.

        Raises:
            SnapshotError: it is damaged, or not to be loaded.
        """
        raise NotImplementedError

    def names(self) -> Iterable[str]:
        """Full names of all entries of this part."""
        raise NotImplementedError

    def damages(self) -> Iterable[DamagedSnapshotError]:
        """What is damaged in this part, whether an object asks for it or not; reads everything."""
        return ()

    def is_ignored(self, name: str) -> bool:
        """Whether the user wants to skip an entry.

        Args:
            name: its full name.
        """
        return False

    def __call__(self, key: str, value: Any) -> Any:
        name, findings = self.full_name(key), self._findings
        if findings is not None:
            findings.asked.add(name)
            findings.last = name
        if self.is_ignored(name):
            return value
        try:
            entry = self.find(key)
            if entry is not None:
                return entry.load(value)
            if self.strict:
                raise self._missing(key, value)
            if findings is not None:
                findings.absent.append(name)
        except SnapshotError as error:
            if findings is None or (isinstance(error, MissingEntryError) and not findings.in_link):
                raise
            findings.problems.append(error)
        return value

    def _missing(self, key: str, value: Any) -> MissingEntryError:
        name = self.full_name(key)
        if self._findings is None or not self._findings.in_link:
            return MissingEntryError(f'{name} is not in the snapshot')
        expected = '' if value is None else f' (expected {_described(value)})'
        return MissingEntryError(f'{name}: missing in the snapshot{expected}')

    def refuse(self, description: str, problems: Sequence[Exception]) -> None:
        if self._findings is None:
            super().refuse(description, problems)
        else:
            self._findings.problems += problems

    def load(self, obj: Any) -> None:
        """Loads an object as a whole or not at all: after an error it has the state that it had before.

        Within the ``serialize`` method of a larger object it loads a part of it.

        Args:
            obj: the object, changed in place.

        Raises:
            DamagedSnapshotError: entries are damaged, whether the object asks for them or not.
            MissingEntryError: entries are missing.
            SnapshotError: entries do not fit, or are too many (only if ``strict`` is ``'all'`` or ``'links'``).
        """
        if self._findings is not None:
            self._load_part(obj)
            return
        damages = list(self.damages())
        if damages:
            lines = ['the snapshot is damaged, nothing was loaded:', *('  ' + str(damage) for damage in damages)]
            raise DamagedSnapshotError('\n'.join(lines))
        self._findings = _Findings()
        memento = Memento(obj)
        try:
            self._load_all(obj, self._findings)
            _log(obj, self._findings)
        except BaseException as error:
            _restore(memento, obj, error)
            raise
        finally:
            self._findings = None

    def _load_all(self, obj: Any, findings: _Findings) -> None:
        """Loads an object, and raises one error for everything that does not fit."""
        failure: Exception | None = None
        try:
            self._load_part(obj)
            self._note_left(obj, findings.left, findings.asked)
        except Exception as error:
            failure = error
        problems = findings.problems
        if isinstance(self.strict, str):
            others = findings.others(self.strict == 'links')
            problems += [SnapshotError(f'{name}: not in the {kind}') for name, kind in others.items()]
        if isinstance(failure, SnapshotError):
            problems.append(failure)
        elif isinstance(failure, _MISUNDERSTANDINGS) and not problems:
            kind = EntryTypeError if isinstance(failure, TypeError) else SnapshotError
            problems.append(kind(f'{findings.last}: {failure}'))
        if len(problems) == 1 and not isinstance(obj, Link):
            raise problems[0] from failure
        if problems:
            advice = _ADVICE if isinstance(self.strict, str) else _besides(findings) + _ADVICE
            raise misfit(f'{type(obj).__name__}, which is unchanged', problems, advice) from failure
        if failure is not None:
            raise failure

    def _load_part(self, obj: Any) -> None:
        findings = self._findings
        if findings is None or not isinstance(obj, Link):
            obj.serialize(self)
            return
        was_in_link, findings.in_link = findings.in_link, True
        try:
            obj.serialize(self)
        finally:
            findings.in_link = was_in_link
        self._note_left(obj, findings.left_by_links, findings.asked)

    def _note_left(self, obj: Any, left: dict[str, str], asked: Set[str]) -> None:
        """Notes what an object has not asked for."""
        for name in set(self.names()) - asked:
            if not self.is_ignored(name):
                left.setdefault(name, type(obj).__name__)


def strictness(strict: Any) -> Strictness:
    """Checks an argument ``strict``.

    Args:
        strict: what the user gives.

    Raises:
        ValueError: it is a text other than ``'all'`` and ``'links'``.
    """
    if isinstance(strict, str):
        if strict not in ('all', 'links'):
            raise ValueError(f"strict must be True, False, 'all' or 'links', got {strict!r}")
        return strict  # type: ignore[return-value]
    return bool(strict)


def _log(obj: Any, findings: _Findings) -> None:
    """Says what of the file, and of the object, a load has left; by logging, since both are allowed."""
    kind, left, absent = type(obj).__name__, [*findings.others()], findings.absent
    for what, names in (('left in the snapshot', left), ('not in the snapshot, kept as before', absent)):
        if names:
            count = '1 entry' if len(names) == 1 else f'{len(names)} entries'
            _logger.warning('loading %s: %s %s: %s', kind, count, what, _named(names))


def _besides(findings: _Findings) -> str:
    """What the file has besides, which shows renamed parts."""
    others = findings.others()
    return f'The snapshot also has: {_named(others)}\n' if others else ''


def _named(names: Collection[str]) -> str:
    """The first names, and how many more there are."""
    first = ', '.join(sorted(names)[:_MOST_NAMED])
    return first + (f' and {len(names) - _MOST_NAMED} more' if len(names) > _MOST_NAMED else '')


def _restore(memento: Memento, obj: Any, error: BaseException) -> None:
    try:
        memento.restore()
    except Exception as second:
        if isinstance(error, SnapshotError):
            raise type(error)(
                f'{error}\nThe {type(obj).__name__} may be loaded in part, because its serialize method could not '
                f'restore the earlier state: {type(second).__name__}: {second}'
            ) from error


def _described(value: Any) -> str:
    shape = getattr(value, 'shape', None)
    return type(value).__name__ if shape is None else f'{value.dtype} {tuple(shape)}'
