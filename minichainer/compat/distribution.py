"""What ``importlib.metadata`` says of the package chainer while the alias is installed."""

from __future__ import annotations

from importlib.metadata import Distribution
from pathlib import Path
from typing import Any


class Installed(Distribution):
    """A distribution without files.

    Args:
        version: the version whose interface the alias has.

    >>> chainer = Installed('7.8.1')
    >>> chainer.version, chainer.metadata['Name'], chainer.files
    ('7.8.1', 'chainer', None)
    """

    def __init__(self, version: str) -> None:
        self._of = version

    def read_text(self, filename: str) -> str | None:
        return f'Metadata-Version: 2.1\nName: chainer\nVersion: {self._of}\n' if filename == 'METADATA' else None

    def locate_file(self, path: Any) -> Path:
        return Path(__file__).parent.joinpath(path)
