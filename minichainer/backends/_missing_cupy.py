"""Replacements for CuPy's names if CuPy cannot be imported, or sees no GPU."""

from __future__ import annotations

from typing import Any

import numpy

from minichainer.backends._cuda_state import why_unavailable


class _Cupy:
    """Replaces the module ``cupy``."""

    __name__ = 'cupy'

    def __getattr__(self, name: str) -> Any:
        # Python looks up its own special names.
        raise AttributeError(name if name.startswith('__') else f'cupy.{name}: {why_unavailable()}')

    def __repr__(self) -> str:
        return '<cupy is not available>'


cupy: Any = _Cupy()


class Device:
    """Replaces :class:`cupy.cuda.Device`."""

    def __init__(self, device: int | None = None) -> None:
        self.id = device

    def __enter__(self) -> Any:
        raise RuntimeError(why_unavailable())

    def __exit__(self, *args: Any) -> None:
        """Never called, because entering raises."""


class Event:
    """Replaces :class:`cupy.cuda.Event`."""


class Stream:
    """Replaces :class:`cupy.cuda.Stream`."""

    null: Any = None


class ndarray:
    """Replaces :class:`cupy.ndarray`: no array is an instance of it."""

    @property
    def shape(self) -> tuple[int, ...]:
        raise RuntimeError(why_unavailable())

    @property
    def device(self) -> Any:
        raise RuntimeError(why_unavailable())

    def get(self, stream: Any = None) -> numpy.ndarray:
        raise RuntimeError(why_unavailable())

    def set(self, arr: numpy.ndarray, stream: Any = None) -> None:
        raise RuntimeError(why_unavailable())
