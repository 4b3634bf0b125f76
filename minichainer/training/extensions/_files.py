from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator


@contextlib.contextmanager
def replacing(path: str) -> Iterator[str]:
    """Yields a temporary path in the same folder; if no error occurs, the file is then moved to ``path``.

    So ``path`` is always a complete file, the old one or the new one.
    """
    folder, name = os.path.split(path)
    with tempfile.TemporaryDirectory(prefix='.writing-', dir=folder or '.') as temporary:
        part = os.path.join(temporary, name)
        yield part
        os.replace(part, path)
