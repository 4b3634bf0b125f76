"""The file of a log: dicts are appended to it, and between two appends it is complete."""

from __future__ import annotations

import json
import math
import os
import re
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

from minichainer.training.extensions._files import replacing

# The encoder in C knows no indentation, but any separators: 4 µs for a dict, and 11 with indentation.
_INDENTED = json.JSONEncoder(separators=(',\n        ', ': '), allow_nan=False)
_ON_ONE_LINE = json.JSONEncoder(allow_nan=False)
#: Texts that stand for infinities until the encoder has run.
_INFINITIES = {math.inf: '\ue000inf', -math.inf: '\ue000-inf'}


def _indented(entry: dict[str, Any]) -> str:
    return f'{{\n        {_encoded(_INDENTED, entry)[1:-1]}\n    }}'


def _on_one_line(entry: dict[str, Any]) -> str:
    return _encoded(_ON_ONE_LINE, entry)


def _encoded(encoder: json.JSONEncoder, entry: dict[str, Any]) -> str:
    """An entry as JSON, which has no NaN, but numbers too large for a float."""
    try:
        return encoder.encode(entry)
    except ValueError:
        text = encoder.encode(_without_nan(entry))
    return text.replace(json.dumps(_INFINITIES[math.inf]), '1e999').replace(
        json.dumps(_INFINITIES[-math.inf]), '-1e999'
    )


def _without_nan(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nan(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return list(map(_without_nan, value))
    if not isinstance(value, float) or math.isfinite(value):
        return value
    return None if math.isnan(value) else _INFINITIES[float(value)]


class _Format(NamedTuple):
    """How dicts become a text."""

    encode: Any
    start: str
    between: str
    end: str
    #: Whether spaces may follow the end.
    has_room: bool

    def text(self, log: Sequence[dict[str, Any]]) -> str:
        return self.start + self.between.join(map(self.encode, log)) + self.end


_LIST = _Format(_indented, '[\n    ', ',\n    ', '\n]', True)
_LINES = _Format(_on_one_line, '', '\n', '\n', False)


def _format_of(path: str) -> _Format:
    return _LINES if path.endswith('.jsonl') else _LIST


#: Which :class:`LogFile` of this process has written a file last, by a mark of its own. The number of a file does not
#: tell, since a removed file leaves it to another one.
_WRITERS: dict[str, object] = {}


class LogFile:
    """A file to which dicts are appended: a JSON list, or a dict on each line if its name ends with ``.jsonl``.

    Spaces follow the list, and a dict is written over them in one call. So the size stays the same meanwhile, and a
    reader who has come to the end finds nothing more there. (Two processes, one writes each half millisecond, one
    reads: without the spaces 1.6 % of the reads got half of a dict, with them 1 of 11 000.) What is left are reads in
    the very microsecond of a write: files have no locks, and to write a list of 10 000 dicts as a whole takes 30 ms.
    A reader who finds half of a dict reads again.
    """

    #: Bytes of spaces: at least, and at most.
    _ROOM = 512, 2**16

    def __init__(self) -> None:
        self._path: str | None = None
        self._count = 0
        self._last: dict[str, Any] = {}
        #: Where the last dict begins, where the text ends, and where the file ends.
        self._start = self._end = self._size = 0
        self._mark = object()
        self._room = self._ROOM[0]
        self._room_made_at = 0.0

    def append(self, path: str, log: list[dict[str, Any]], entry: dict[str, Any]) -> None:
        """Makes the file hold the log and one more dict.

        Args:
            path: the file.
            log: the dicts so far. It is written as a whole if it is not what was written before.
            entry: the new dict.

        Raises:
            TypeError: the dict cannot be written as JSON; the file is as before.
            OSError: the file cannot be written; names it.
        """
        if not self._continues(path, log) or not self._append(path, log[-1], entry):
            self.replace(path, [*log, entry])

    def _continues(self, path: str, log: list[dict[str, Any]]) -> bool:
        is_same = path == self._path and 0 < len(log) == self._count and log[-1] is self._last
        return is_same and self._is_mine(path)

    def _is_mine(self, path: str) -> bool:
        """Whether no other report of the same name has replaced the file."""
        return _WRITERS.get(path, self._mark) is self._mark

    def _append(self, path: str, last: dict[str, Any], entry: dict[str, Any]) -> bool:
        """Appends a dict; returns False if the file must be written as a whole."""
        kind = _format_of(path)
        # The one before is written again: programs add values to `log_report.log[-1]`.
        before = (kind.encode(last) + kind.between).encode()
        content = before + (kind.encode(entry) + kind.end).encode()
        end = self._start + len(content)
        if end < self._end or (kind.has_room and end > self._size):
            return False
        try:
            with open(path, 'r+b', buffering=0) as file:
                if os.fstat(file.fileno()).st_size != self._size:
                    return False
                file.seek(self._start)
                if (file.write(content) or 0) < len(content):
                    file.truncate(self._size)
                    return False
                self._note(self._count + 1, entry, self._start + len(before), end)
                if kind.has_room:
                    self._make_room(file, len(content))
        except OSError:
            return False  # it is gone, or the disk is full: says whoever writes the whole
        return True

    def _note(self, count: int, last: dict[str, Any], start: int, end: int) -> None:
        self._count, self._last = count, last
        self._start, self._end, self._size = start, end, max(self._size, end)

    def _make_room(self, file: Any, needed: int) -> None:
        """Appends spaces, long before they are written over, as measured by what a slow reader takes."""
        if self._size - self._end >= self._room // 2:
            return
        now = time.monotonic()
        is_fast = now - self._room_made_at < 0.1
        least, most = self._ROOM
        self._room = max(min(2 * self._room, most) if is_fast else least, 4 * needed)
        self._room_made_at = now
        file.seek(self._size)
        self._size += file.write(b' ' * (self._end + self._room - self._size))

    def replace(self, path: str, log: list[dict[str, Any]]) -> None:
        """Writes the file as a whole, so that it is the one of before or the new one at any time."""
        kind = _format_of(path)
        text = kind.text(log).encode()
        last = kind.encode(log[-1]).encode()
        size = len(text) + self._room * kind.has_room
        with replacing(path) as part, open(part, 'wb') as file:
            file.write(text.ljust(size))
        _WRITERS[path] = self._mark
        self._path, self._size = path, size
        self._note(len(log), log[-1], len(text) - len(kind.end) - len(last), len(text))

    def finish(self, log: list[dict[str, Any]]) -> None:
        """Makes the file what the log is at the end, without spaces, whoever has changed dicts of it.

        A file that another report of this name has written last is left to it.
        """
        if self._path is None or not log or not self._is_mine(self._path):
            return
        text = _format_of(self._path).text(log).encode()
        try:
            with open(self._path, 'r+b') as file:
                if file.read().rstrip(b' ') == text:
                    file.truncate(len(text))
                    return
        except OSError:
            pass  # says whoever writes the whole
        with replacing(self._path) as part, open(part, 'wb') as file:
            file.write(text)


def repair(path: str) -> None:
    """Removes the dict at the end of a file that a killed process has not finished, if there is one.

    Args:
        path: the file; may be missing. What is not a log is left alone.
    """
    try:
        with open(path, encoding='utf-8', errors='replace') as file:
            text = file.read()
    except OSError:
        return
    kind = _format_of(path)
    log, rest = _complete_dicts(text)
    if text.startswith(kind.start.strip() or '{') and rest.strip() != kind.end.strip():
        with replacing(path) as part, open(part, 'w', encoding='utf-8') as file:
            file.write(kind.text(log) if log else '[]' if kind.has_room else '')


def _complete_dicts(text: str) -> tuple[list[Any], str]:
    """The dicts at the beginning of a text, and the text after them."""
    decoder, at = json.JSONDecoder(), 0
    log: list[Any] = []
    while True:
        start = _BEFORE_A_DICT.match(text, at).end()  # type: ignore[union-attr]
        try:
            entry, at = decoder.raw_decode(text, start)
        except ValueError:
            return log, text[at:]
        log.append(entry)


_BEFORE_A_DICT = re.compile(r'[\s\[,]*')
