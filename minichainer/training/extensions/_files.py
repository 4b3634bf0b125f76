from __future__ import annotations

import contextlib

from minichainer.serializers._replacing import replacing as _replacing


def replacing(path: str) -> contextlib.AbstractContextManager[str]:
    """Yields a temporary path in the same folder; if no error occurs, the file is then moved to ``path``.

    So ``path`` is always a complete file, the old one or the new one. Logs and plots, which are written often and can
    be made again, do not wait for the disk.
    """
    return _replacing(path, durable=False)
