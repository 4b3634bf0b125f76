from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator


@contextlib.contextmanager
def replacing(path: str) -> Iterator[str]:
    """Gives a temporary path in the same folder, and moves the file written there to ``path`` when all went
    well.

    So under ``path`` there is always a complete file, the old one or the new one.
    """
    folder, name = os.path.split(path)
    with tempfile.TemporaryDirectory(prefix='.writing-', dir=folder or '.') as temporary:
        part = os.path.join(temporary, name)
        yield part
        os.replace(part, path)
