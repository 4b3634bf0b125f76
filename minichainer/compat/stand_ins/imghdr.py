"""What programs use of ``imghdr``: ``what``."""

from __future__ import annotations

from typing import Any

_HEADERS = {b'\x89PNG': 'png', b'\xff\xd8': 'jpeg', b'GIF8': 'gif', b'BM': 'bmp', b'II': 'tiff', b'MM': 'tiff'}


def what(file: Any, h: bytes | None = None) -> str | None:
    """The format of an image by its first bytes, or None.

    Args:
        file: path.
        h: the first bytes, instead of the file.
    """
    if h is None:
        with open(file, 'rb') as stream:
            h = stream.read(32)
    return next((name for header, name in _HEADERS.items() if h.startswith(header)), None)
