"""One object that switches a style on and off."""

from __future__ import annotations

from minichainer.compat.changes import Changes
from minichainer.compat.legacy import defaults, keywords, names, optimizers, spellings
from minichainer.compat.legacy.volatile import Volatile

STYLES = ('v1', 'v2')


class Dialect(Changes):
    """Context manager in which the package accepts the style of Chainer v1 or v2; :meth:`undo` ends it too.

    v1 means what Chainer v1.24 did. v2 adds the spellings of the Trainer that v3 and later refuse.

    Args:
        style: 'v1' or 'v2'.

    Raises:
        ValueError: another style.

    >>> import numpy as np, minichainer as chainer, minichainer.functions as F
    >>> with Dialect('v1'):
    ...     F.dropout(np.ones(2, np.float32), train=False)
    variable([1., 1.])
    """

    def __init__(self, style: str) -> None:
        super().__init__()
        if style not in STYLES:
            raise ValueError(f"legacy: expected 'v1' or 'v2', got {style!r}")
        self.style = style
        self._volatile: Volatile | None = None

    def __enter__(self) -> Dialect:
        spellings.install(self)
        if self.style == 'v1':
            self._volatile = Volatile(self)
            defaults.install(self)  # before keywords, whose translation comes first in a call
            keywords.install(self)
            names.install(self)
            optimizers.install(self)
            spellings.install_v1(self)
        return self

    def undo(self) -> None:
        """Restores the package."""
        super().undo()
        if self._volatile is not None:
            self._volatile.end()
            self._volatile = None
