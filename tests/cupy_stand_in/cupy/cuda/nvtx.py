"""``cupy.cuda.nvtx``: ranges that nobody watches."""

from __future__ import annotations


def RangePush(message: str, id_color: int = -1) -> None:
    """Begins a range."""


def RangePop() -> None:
    """Ends the last range."""
