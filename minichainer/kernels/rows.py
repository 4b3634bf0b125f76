"""Row numbers of a matrix."""

from __future__ import annotations

from typing import Any

from minichainer.kernels._dispatch import kernel


@kernel
def range_of(xp: Any, ids: Any) -> tuple[int, int]:
    """The smallest and largest number; 0 if there is none, and on a GPU, to avoid a synchronization."""
    return 0, 0


@range_of.on('numpy')
def _range_of_numpy(xp: Any, ids: Any) -> tuple[int, int]:
    return (int(ids.min()), int(ids.max())) if ids.size else (0, 0)
