"""What programs use of ``distutils`` other than building: versions, switches, folders, executables."""

from __future__ import annotations

import functools
import os
import re
import shutil
from typing import Any


@functools.total_ordering
class LooseVersion:
    """A version that is compared part by part: numbers as numbers.

    >>> LooseVersion('1.10') > LooseVersion('1.9')
    True
    """

    def __init__(self, vstring: str | None = None) -> None:
        self.vstring = vstring or ''
        parts = [part for part in re.split(r'(\d+|[a-z]+|\.)', self.vstring) if part and part != '.']
        self.version: list[Any] = [int(part) if part.isdigit() else part for part in parts]

    def __eq__(self, other: object) -> bool:
        return self.version == _version_of(other)

    def __lt__(self, other: object) -> bool:
        return bool(self.version < _version_of(other))

    def __hash__(self) -> int:
        return hash(self.vstring)

    def __str__(self) -> str:
        return self.vstring

    def __repr__(self) -> str:
        return f"LooseVersion ('{self}')"


StrictVersion = LooseVersion


def _version_of(other: Any) -> list[Any]:
    return other.version if isinstance(other, LooseVersion) else LooseVersion(str(other)).version


def strtobool(val: str) -> int:
    """1 for yes, y, true, t, on and 1; 0 for no, n, false, f, off and 0; ValueError for others."""
    text = val.lower()
    if text in ('y', 'yes', 't', 'true', 'on', '1'):
        return 1
    if text in ('n', 'no', 'f', 'false', 'off', '0'):
        return 0
    raise ValueError(f'invalid truth value {text!r}: expected yes or no, true or false, on or off, 1 or 0')


def copy_tree(src: str, dst: str, *args: Any, **kwargs: Any) -> None:
    """Copies a folder into another, which may exist."""
    shutil.copytree(src, dst, dirs_exist_ok=True)


def mkpath(name: str, *args: Any, **kwargs: Any) -> None:
    """Makes a folder and those above it."""
    os.makedirs(name, exist_ok=True)


def remove_tree(directory: str, *args: Any, **kwargs: Any) -> None:
    """Removes a folder with all that it contains."""
    shutil.rmtree(directory)


def find_executable(executable: str, path: str | None = None) -> str | None:
    """The path of a program, or None."""
    return shutil.which(executable, path=path)
