"""Loads what fits, and says what does not."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy

from minichainer.compat.files import formats
from minichainer.link.link import Link
from minichainer.optimizer.base import Optimizer
from minichainer.serializer import MissingEntryError, Serializer, SnapshotError
from minichainer.serializers._deserializer import EntryDeserializer
from minichainer.serializers._entries import Entry
from minichainer.serializers._memento import Memento

#: A count of updates of one parameter. Chainer 1 has only one count, of the optimizer.
_COUNT = re.compile(r'(?P<optimizer>(updater/optimizer:[^/]+/)?).+/t')
#: Where a file has a model that may lack what is around it in the object: the whole file, or a model of a trainer.
_MODEL = re.compile(r'(updater/model:[^/]+/)?')
#: Iterators compute this themselves if it is missing.
_COMPUTED = re.compile(r'(.*/)?iterator:[^/]+/previous_epoch_detail')


@dataclass
class LoadReport:
    """What :func:`load` did.

    Args:
        file: its path.
        format: ``npz``, ``h5``, ``safetensors``, ``pickle`` or ``caffemodel``.
        part: the part of the file that was loaded; empty for all.
        into: the part of the object that was loaded, empty for all.
        loaded: names of entries in the file.
        missing: names that the object has and the file lacks, with the nearest names that the file has.
        unexpected: names in that part of the file which the object does not have.
        skipped: names that do not fit, with the reason.
        filled: names that old versions did not write, with what took their place.
    """

    file: str
    format: str
    part: str = ''
    into: str = ''
    loaded: list[str] = field(default_factory=list)
    missing: dict[str, list[str]] = field(default_factory=dict)
    unexpected: list[str] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)
    filled: dict[str, str] = field(default_factory=dict)

    @property
    def complete(self) -> bool:
        """Whether everything was loaded and nothing was left."""
        return not (self.missing or self.unexpected or self.skipped)

    def __str__(self) -> str:
        where = f' from {self.part}' if self.part else ''
        into = f' into {self.into}' if self.into else ''
        lines = [f'{self.file} ({self.format}): {len(self.loaded)} entries loaded{where}{into}']
        for name, near in self.missing.items():
            lines.append(f'  missing: {name}' + (f' (the file has {", ".join(near)})' if near else ''))
        lines += [f'  unexpected: {name}' for name in self.unexpected]
        lines += [f'  skipped: {name}: {reason}' for name, reason in self.skipped.items()]
        lines += [f'  filled: {name}: {how}' for name, how in self.filled.items()]
        return '\n'.join(lines)


def load(
    file: str | os.PathLike[str], obj: Any, *, part: str | None = None, strict: bool = False, unsafe: bool = False
) -> LoadReport:
    """Loads an object from a file that any version of Chainer wrote, as far as it fits.

    The format is recognized by the content. A link is found in the file of a trainer or of a larger model, and the
    predictor in a link also if the file has the predictor only. Entries that Chainer 1 did not write are computed.

    Args:
        file: a ``.npz``, HDF5, safetensors, pickle or ``.caffemodel`` file.
        obj: a link, optimizer, trainer or any object with a ``serialize`` method; changed in place.
        part: the part of the file to load, such as ``'updater/model:main/'``; by default the one that fits best.
        strict: whether entries that are missing, unexpected (of a link) or do not fit are an error. A link is then
            unchanged.
        unsafe: whether pickles are accepted. Their code is not run: only names and arrays are taken from them.

    Returns:
        What was loaded, and what was not.

    Raises:
        SnapshotError: the file is damaged, several parts fit equally; or ``strict`` is set and something does not
            fit.
        RuntimeError: a library is not installed.

    >>> import minichainer as chainer
    >>> from minichainer.compat import files
    >>> chainer.serializers.save_npz(getfixture('tmp_path') / 'mlp.h5', chainer.Chain(l1=chainer.links.Linear(3, 2)))
    >>> report = files.load(getfixture('tmp_path') / 'mlp.h5', chainer.Chain(fc=chainer.links.Linear(3, 2)))
    >>> report.format, report.missing['fc/W']
    ('npz', ['l1/W'])
    """
    with formats.opened(file, unsafe) as (kind, source):
        report = LoadReport(os.fspath(file), kind)
        names = frozenset(source.names())
        report.part, report.into = _place(obj, source, names, part)
        memento = Memento(obj)
        try:
            obj.serialize(_Tolerant(source, names, report))
            _finish(obj, names, report, strict)
        except BaseException:
            memento.restore()
            raise
    return report


def _finish(obj: Any, names: frozenset[str], report: LoadReport, strict: bool) -> None:
    """Completes a report; raises an error if the file had to fit."""
    used = {*report.loaded, *report.skipped, *report.filled}
    if isinstance(obj, (Link, Optimizer)):
        report.unexpected = sorted(name for name in names - used if name.startswith(report.part))
    free = names - set(report.loaded)
    report.missing = {name: _nearest(name, free, report.part) for name in report.missing}
    if strict and not report.complete:
        raise SnapshotError(f'the file does not fit the {type(obj).__name__}:\n{report}')


def _nearest(name: str, names: Iterable[str], part: str) -> list[str]:
    """Names of entries in the file that may be meant: those like it that end with the same word."""
    last = name.rpartition('/')[2]
    candidates = [n for n in names if n.rpartition('/')[2] == last and n.startswith(part)]
    return difflib.get_close_matches(name, candidates, n=2, cutoff=0.3)


class _Tolerant(EntryDeserializer):
    """Loads entries that are there and fit, and notes the others."""

    strict = False

    def __init__(self, source: EntryDeserializer, names: frozenset[str], report: LoadReport, path: str = '') -> None:
        self._source, self._names, self.report, self._path = source, names, report, path
        self.allowance = source.allowance

    def __getitem__(self, key: str) -> _Tolerant:
        path = f'{self._path}{key.strip("/")}/'
        return _Tolerant(self._source, self._names, self.report, path)

    def full_name(self, key: str) -> str:
        """The name in the file."""
        own = self._path + key.lstrip('/')
        return self.report.part + own.removeprefix(self.report.into)

    def find(self, key: str) -> Entry | None:
        name = self.full_name(key)
        return self._source.find(name) if name in self._names else None

    def names(self) -> Iterable[str]:
        return self._names

    def __call__(self, key: str, value: Any) -> Any:
        name = self.full_name(key)
        try:
            entry = self.find(key)
            if entry is None:
                return self._absent(name, key, value)
            value = entry.load(value)
        except MissingEntryError:
            raise
        except SnapshotError as error:
            self.report.skipped[name] = str(error)
            return value
        self.report.loaded.append(name)
        return value

    def _absent(self, name: str, key: str, value: Any) -> Any:
        """The value of an entry that the file lacks."""
        if _COMPUTED.fullmatch(name):
            self.report.filled[name] = 'computed from the epoch'
            raise MissingEntryError(f'{name} is not in the snapshot')
        count = _COUNT.fullmatch(name) if key == 't' else None
        total = f'{count["optimizer"]}t' if count is not None else ''
        if total in self._names:
            entry = self._source.find(total)
            assert entry is not None
            self.report.filled[name] = f'the count of the optimizer, {total}'
            return entry.load(value)
        self.report.missing[self._path + key.lstrip('/')] = []
        return value


class _Shapes(Serializer):
    """Notes the names of an object, and the shapes of their values; None if they are not known."""

    def __init__(self, shapes: dict[str, tuple[int, ...] | None], path: str = '') -> None:
        self._shapes, self._path = shapes, path

    def __getitem__(self, key: str) -> _Shapes:
        return _Shapes(self._shapes, f'{self._path}{key.strip("/")}/')

    def __call__(self, key: str, value: Any) -> Any:
        shape = None if value is None else numpy.shape(value)
        self._shapes[self._path + key.lstrip('/')] = shape
        return value


def _place(obj: Any, source: EntryDeserializer, names: frozenset[str], part: str | None) -> tuple[str, str]:
    """Which part of the file belongs to which part of the object."""
    if isinstance(obj, Optimizer):
        parts = sorted(name.removesuffix('t') for name in names if re.fullmatch(r'updater/optimizer:[^/]+/t', name))
        return (part if part is not None else '' if 't' in names or not parts else parts[0]), ''
    if not isinstance(obj, Link):
        return part or '', ''
    shapes: dict[str, tuple[int, ...] | None] = {}
    obj.serialize(_Shapes(shapes))
    parts = _folders(names) if part is None else [part]
    places = [(p, into) for p in parts for into in _folders(shapes) if not into or _MODEL.fullmatch(p) or p == part]
    scores = {place: _matches(place, source, names, shapes) for place in places}
    best = [place for place in places if scores[place] == max(scores.values())]
    shortest = [place for place in best if len(place[1]) == min(len(into) for _, into in best)]
    if ('', '') in best or not max(scores.values()):
        return part or '', ''
    if len(shortest) > 1:
        fitting = ', '.join(repr(p) for p, _ in shortest)
        raise SnapshotError(f'several parts of the file fit the {type(obj).__name__}: name one by part=: {fitting}')
    return shortest[0]


def _folders(names: Iterable[str]) -> list[str]:
    """All beginnings of names up to a slash, and the empty one."""
    found = {''}
    for name in names:
        found.update(name[: match.end()] for match in re.finditer('/', name))
    return sorted(found)


def _matches(
    place: tuple[str, str], source: EntryDeserializer, names: frozenset[str], shapes: dict[str, Any]
) -> int:  # fmt: skip
    """How many entries fit if a part of the file is loaded into a part of the object."""
    part, into = place
    count = 0
    for name, shape in shapes.items():
        there = part + name.removeprefix(into)
        if name.startswith(into) and there in names:
            entry = _find(source, there)
            count += 1 + (entry is not None and (shape is None or entry.shape == shape))
    return count


def _find(source: EntryDeserializer, name: str) -> Entry | None:
    try:
        return source.find(name)
    except SnapshotError:
        return None
