"""Downloads that are resumed where they broke, and checked."""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import os
import sys
import urllib.error
import urllib.request
from collections.abc import Sequence
from typing import IO, Any

_ATTEMPTS = 4
_CHUNK = 1 << 16
#: Seconds without any data.
_TIMEOUT = 60.0


class _Broken(OSError):
    """A download that ended too early, or with other data than expected."""


def fetch(urls: Sequence[str], path: str, checksum: str | None) -> None:
    """Downloads a file from the first address that works.

    Data are collected in ``path.part``, so that a later call can go on. ``path`` appears when all is there and
    has the checksum.
    """
    reasons = []
    for url in urls:
        sys.stderr.write(f'Downloading from {url}...\n')
        try:
            _download(_Part(url, path), checksum)
            return
        except (OSError, http.client.HTTPException) as error:
            reasons.append((url, error))
    text = '; '.join(f'{url}: {error}' for url, error in reasons)
    raise OSError(
        f'cannot download {text}. Call again to go on, or get the file in another way and save it as {path}'
    ) from reasons[0][1]


def check(path: str, checksum: str | None) -> None:
    """Raises OSError if a file has another checksum."""
    if checksum is not None and (found := _digest(path, checksum)) != checksum:
        raise OSError(
            f'{path} is broken: its {_algorithm(checksum)} checksum is {found}, expected {checksum}; delete it, and '
            'it is downloaded anew'
        )


def _algorithm(checksum: str) -> str:
    """The name of the algorithm that gives checksums of this length."""
    return {32: 'MD5', 40: 'SHA1', 64: 'SHA256'}[len(checksum)]


def _digest(path: str, checksum: str) -> str:
    """The checksum of a file, of the same kind as another one."""
    digest = hashlib.new(_algorithm(checksum), usedforsecurity=False)
    with open(path, 'rb') as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


class _Part:
    """The beginning of a file, and which version of which address it is of."""

    def __init__(self, url: str, path: str) -> None:
        self.url = url
        self.final = path
        self.path = f'{path}.part'
        self._origin = f'{path}.part.origin'

    def size(self) -> int:
        """Bytes that can be kept; 0 if the server could not tell whether they are of the same version."""
        return self.received() if self.version() else 0

    def received(self) -> int:
        return os.path.getsize(self.path) if os.path.exists(self.path) else 0

    def version(self) -> str:
        with contextlib.suppress(OSError), open(self._origin, encoding='utf-8') as file:
            url, _, version = file.read().partition('\n')
            return version if url == self.url else ''
        return ''

    def begin(self, version: str) -> None:
        self.drop()
        with open(self._origin, 'w', encoding='utf-8') as file:
            file.write(f'{self.url}\n{version}')

    def drop(self) -> None:
        for path in (self.path, self._origin):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)

    def finish(self) -> None:
        os.replace(self.path, self.final)
        self.drop()


def _download(part: _Part, checksum: str | None) -> None:
    """Receives the whole file. Goes on after an interruption, as long as something is received in between."""
    for attempt in range(_ATTEMPTS):
        before = part.size()
        try:
            _receive(part)
            _check_part(part, checksum)
            part.finish()
            return
        except (OSError, http.client.HTTPException) as error:
            resumed = before > 0 and isinstance(error, _Broken)
            if attempt == _ATTEMPTS - 1 or not (resumed or part.received() > before):
                if part.size() == 0:
                    part.drop()
                raise


def _check_part(part: _Part, checksum: str | None) -> None:
    if checksum is not None and (found := _digest(part.path, checksum)) != checksum:
        part.drop()
        raise _Broken(f'the file received has the {_algorithm(checksum)} checksum {found}, expected {checksum}')


def _receive(part: _Part) -> None:
    """Appends what is missing, or begins anew if the server has another version or cannot skip."""
    size = part.size()
    with _open(part, size) as response:
        start = _start(response)
        if start not in (0, size):
            part.drop()
            raise _Broken(f'the server sent the file from byte {start}, asked for was {size}')
        if start == 0:
            part.begin(_version(response))
        expected = response.headers.get('Content-Length')
        with open(part.path, 'ab') as file:
            received = _copy(response, file)
    if expected is not None and received < int(expected):
        raise _Broken(f'the connection ended after {start + received} of {start + int(expected)} bytes')


def _open(part: _Part, size: int) -> Any:
    headers = {'Range': f'bytes={size}-', 'If-Range': part.version()} if size else {}
    try:
        return urllib.request.urlopen(urllib.request.Request(part.url, headers=headers), timeout=_TIMEOUT)
    except urllib.error.HTTPError as error:
        error.close()
        if error.code != http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            raise
        part.drop()
        raise _Broken('the server has fewer bytes than were received before') from error


def _start(response: Any) -> int:
    """The position of the first byte that the server sends."""
    if getattr(response, 'status', None) != http.HTTPStatus.PARTIAL_CONTENT:
        return 0
    text = response.headers.get('Content-Range', '').removeprefix('bytes ').partition('-')[0]
    return int(text) if text.isdecimal() else -1


def _version(response: Any) -> str:
    """What If-Range takes: a strong ETag, or else the date."""
    tag: str = response.headers.get('ETag', '')
    date: str = response.headers.get('Last-Modified', '')
    return tag if tag.startswith('"') else date


def _copy(response: Any, file: IO[bytes]) -> int:
    received = 0
    while chunk := response.read(_CHUNK):
        file.write(chunk)
        received += len(chunk)
    return received
