"""``cupy.cuda``: devices, streams, memory."""

from __future__ import annotations

from typing import Any

from .._devices import Device
from .._memory import PINNED as _PINNED
from .._memory import POOL as _POOL
from .._memory import MemoryHook, MemoryPool, PinnedMemoryPool, alloc_pinned_memory
from .._streams import Event, Stream, get_current_stream, get_elapsed_time
from . import nvtx, runtime

__all__ = [
    'Device',
    'Event',
    'MemoryHook',
    'MemoryPool',
    'PinnedMemoryPool',
    'Stream',
    'alloc_pinned_memory',
    'get_allocator',
    'get_current_stream',
    'get_device_id',
    'get_elapsed_time',
    'is_available',
    'nvtx',
    'runtime',
    'set_allocator',
    'set_pinned_memory_allocator',
]


def is_available() -> bool:
    return True


def get_device_id() -> int:
    return Device().id


def get_allocator() -> Any:
    return _POOL.malloc


def set_allocator(allocator: Any = None) -> None:
    """Accepted, and without effect."""


def set_pinned_memory_allocator(allocator: Any = None) -> None:
    """Accepted, and without effect."""


def _default_memory_pool() -> MemoryPool:
    return _POOL


def _default_pinned_memory_pool() -> PinnedMemoryPool:
    return _PINNED
