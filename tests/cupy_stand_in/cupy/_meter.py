"""What a program does to the device: kernel launches, synchronisations and copies, by what and by place.

>>> with cupy._meter.record() as found:
...     y = x * 2
>>> found.launches
Counter({'multiply': 1})
"""

from __future__ import annotations

import contextlib
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

#: Kernels of operations that launch more than one, as CuPy's sources have it; nobody has measured them.
KERNELS = {
    'mean': 2, 'var': 3, 'std': 4, 'sort': 2, 'argsort': 3, 'lexsort': 4, 'nonzero': 3, 'unique': 6, 'isclose': 6,
    'linalg.inv': 6, 'linalg.det': 6, 'linalg.slogdet': 6, 'linalg.cholesky': 3, 'masked getitem': 3,
    'masked setitem': 2,
}  # fmt: skip
_OWN = str(Path(__file__).resolve().parent.parent)
_FOREIGN = ('site-packages', 'dist-packages', f'{Path(contextlib.__file__).parent}')


class Record:
    """Counts by operation, and by operation and place if places are wanted.

    Attributes:
        launches: kernels, copies within the device included.
        synchronisations: where the host waits for the device: copies to the host, conversions to Python's numbers.
        uploads: copies from the host.
        notes: what works, but otherwise than in NumPy.
        places: ``(operation, 'file:line')`` of all of these.
    """

    def __init__(self, places: bool) -> None:
        self.launches: Counter[str] = Counter()
        self.synchronisations: Counter[str] = Counter()
        self.uploads: Counter[str] = Counter()
        self.notes: Counter[str] = Counter()
        self.places: Counter[tuple[str, str]] | None = Counter() if places else None

    def add(self, kind: str, what: str, count: int) -> None:
        getattr(self, kind)[what] += count
        if self.places is not None:
            self.places[what, _place()] += count


class DeviceSynchronized(RuntimeError):
    """The device was waited for inside ``cupyx.allow_synchronize(False)``."""


_records: list[Record] = []
_fused = 0
_synchronize_allowed = True


def _place() -> str:
    """The line of the program that called CuPy."""
    frame = sys._getframe(1)
    while frame.f_back is not None:
        file = frame.f_code.co_filename
        if not file.startswith(_OWN) and not any(part in file for part in _FOREIGN):
            break
        frame = frame.f_back
    return f'{frame.f_code.co_filename}:{frame.f_lineno}'


def _count(kind: str, what: str, count: int = 1) -> None:
    for record in _records:
        record.add(kind, what, count)


def launch(what: str) -> None:
    """A kernel runs, or several as ``KERNELS`` has it; not counted inside of a fused function."""
    if _records and not _fused:
        _count('launches', what, KERNELS.get(what, 1))


def synchronise(what: str) -> None:
    """The host waits for the device."""
    if not _synchronize_allowed:
        raise DeviceSynchronized(f'Device was synchronized by {what} at {_place()}')
    _count('synchronisations', what)


def upload(what: str) -> None:
    """The host's values are copied to the device."""
    _count('uploads', what)


def note(what: str) -> None:
    """Something that NumPy does otherwise."""
    _count('notes', what)


@contextlib.contextmanager
def record(places: bool = False) -> Iterator[Record]:
    """Counts what happens inside of the block."""
    found = Record(places)
    _records.append(found)
    try:
        yield found
    finally:
        _records.remove(found)


@contextlib.contextmanager
def fused(name: str) -> Iterator[None]:
    """Counts one launch for all of the block."""
    global _fused
    launch(name)
    _fused += 1
    try:
        yield
    finally:
        _fused -= 1


@contextlib.contextmanager
def synchronize_allowed(allow: bool) -> Iterator[None]:
    """Inside of the block a synchronisation raises, unless it is allowed."""
    global _synchronize_allowed
    before, _synchronize_allowed = _synchronize_allowed, allow
    try:
        yield
    finally:
        _synchronize_allowed = before
