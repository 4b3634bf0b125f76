"""States of random number generators as texts, and the seeds of worker processes."""

from __future__ import annotations

import json
import random
import zlib
from typing import Any

import numpy


class TaskSeeds:
    """Seeds for the tasks of worker processes: each depends on its number, not on the worker that gets it.

    The first seed is taken from NumPy's global state when it is first needed, without drawing from it.
    """

    def __init__(self) -> None:
        self._base: int | None = None
        self._count = 0

    def seed(self, ahead: int) -> tuple[int, int]:
        """The seed of a task.

        Args:
            ahead: number of tasks between the last one that is done and this one.
        """
        if self._base is None:
            self._base = zlib.crc32(state_as_text(numpy.random).encode())
        return self._base, self._count + ahead

    def advance(self) -> None:
        """Counts a task as done."""
        self._count += 1

    def getstate(self) -> tuple[int | None, int]:
        """What :meth:`setstate` takes."""
        return self._base, self._count

    def setstate(self, state: Any) -> None:
        """Restores a state.

        Raises:
            ValueError: it is none.
        """
        base, count = state
        if not isinstance(base, (int, type(None))) or not isinstance(count, int):
            raise ValueError(f'expected two numbers, got {state!r}')
        self._base, self._count = base, count


#: Classes of objects with a state that determines what they draw.
_CLASSES = numpy.random.RandomState, numpy.random.Generator, random.Random, TaskSeeds


def is_generator(value: Any) -> bool:
    """Whether it draws random numbers, and has a state that can be saved."""
    return isinstance(value, _CLASSES) and not isinstance(value, random.SystemRandom)


def state_as_text(generator: Any) -> str:
    """The state of a generator in JSON.

    Args:
        generator: a generator of NumPy or Python, or one of the modules ``numpy.random`` and ``random``.
    """
    if hasattr(generator, 'get_state'):
        state = generator.get_state(legacy=False)
    elif hasattr(generator, 'getstate'):
        state = generator.getstate()
    else:
        state = generator.bit_generator.state
    return json.dumps(state, default=_plain)


def set_state(generator: Any, text: str) -> None:
    """Gives a generator a state that was saved.

    Raises:
        ValueError: the text is not the state of such a generator; other errors are possible too.
    """
    state = json.loads(text)
    if hasattr(generator, 'get_state'):
        generator.set_state(state)
    elif hasattr(generator, 'getstate'):
        generator.setstate(_with_tuples(state))
    else:
        generator.bit_generator.state = state


def _plain(value: Any) -> Any:
    return value.tolist()


def _with_tuples(value: Any) -> Any:
    return tuple(map(_with_tuples, value)) if isinstance(value, list) else value
