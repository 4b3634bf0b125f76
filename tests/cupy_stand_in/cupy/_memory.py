"""Memory pools that count, and the hooks that watch them."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from ._devices import current

#: Blocks of CuPy's pool are multiples of this many bytes.
BLOCK = 512


class MemoryPool:
    """Counts what is in use; freed blocks stay with the pool until ``free_all_blocks``."""

    def __init__(self, allocator: Any = None) -> None:
        self._used: dict[int, int] = {}
        self._total: dict[int, int] = {}

    def _take(self, size: int, device: int) -> None:
        self._used[device] = self._used.get(device, 0) + size
        self._total[device] = max(self._total.get(device, 0), self._used[device])

    def _give_back(self, size: int, device: int) -> None:
        self._used[device] -= size

    def used_bytes(self) -> int:
        return self._used.get(current(), 0)

    def total_bytes(self) -> int:
        return self._total.get(current(), 0)

    def free_bytes(self) -> int:
        return self.total_bytes() - self.used_bytes()

    def n_free_blocks(self) -> int:
        return int(self.free_bytes() > 0)

    def free_all_blocks(self, stream: Any = None) -> None:
        self._total[current()] = self.used_bytes()

    def malloc(self, size: int) -> Any:
        return size


class PinnedMemoryPool(MemoryPool):
    """The pool of the host's memory that the device can read."""


class MemoryHook:
    """Base class of what watches allocations; ``with hook:`` switches it on."""

    name = 'MemoryHook'

    def alloc_preprocess(self, *, device_id: int, mem_size: int) -> None:
        """Called before the pool takes memory from the device."""

    def malloc_preprocess(self, *, device_id: int, size: int, mem_size: int) -> None:
        """Called before memory is taken from the pool."""

    def __enter__(self) -> MemoryHook:
        if self.name in _hooks:
            raise KeyError(f'memory hook {self.name} already exists')
        _hooks[self.name] = self
        return self

    def __exit__(self, *args: Any) -> None:
        del _hooks[self.name]


class PinnedMemory(bytearray):
    """Page-locked memory of the host."""


_hooks: dict[str, Any] = {}
POOL = MemoryPool()
PINNED = PinnedMemoryPool()


def alloc_pinned_memory(size: int) -> PinnedMemory:
    """Page-locked memory of so many bytes."""
    return PinnedMemory(size)


def allocated(array: np.ndarray) -> None:
    """Counts the memory of a new array until it is freed."""
    size, device = -(-array.nbytes // BLOCK) * BLOCK, current()
    if not size:
        return
    grows = POOL._used.get(device, 0) + size > POOL._total.get(device, 0)
    for hook in tuple(_hooks.values()):
        hook.malloc_preprocess(device_id=device, size=array.nbytes, mem_size=size)
        if grows:
            hook.alloc_preprocess(device_id=device, mem_size=size)
    POOL._take(size, device)
    weakref.finalize(array, POOL._give_back, size, device).atexit = False
