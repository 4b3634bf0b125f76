"""Categories of warnings."""

from __future__ import annotations


class PerformanceWarning(RuntimeWarning):
    """Warns that something works, but not as fast as it could.

    >>> import minichainer as chainer
    >>> issubclass(chainer.warnings.PerformanceWarning, RuntimeWarning)
    True
    """
