"""What the rows of kernels that are not elementwise share: arguments by dtype, and drawn numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tests.kernels import comparing
from tests.kernels.comparing import ANY, Case

Arguments = tuple[Any, ...]


@dataclass
class Row(comparing.Row):
    """A kernel whose arguments are listed, for each dtype."""

    arguments: Callable[[str], Iterator[Arguments]]
    dtypes: str = field(default='efd', kw_only=True)
    tolerance: float = field(default=16, kw_only=True)
    relative_to: str = field(default='largest', kw_only=True)
    #: Those that the kernel takes its arrays in.
    layouts: tuple[str, ...] = field(default=ANY, kw_only=True)

    def cases(self) -> Iterator[Case]:
        """The arguments, in all dtypes."""
        for dtype in self.dtypes:
            for number, args in enumerate(self.arguments(dtype)):
                yield Case(f'case {number}, {dtype}', args, dtype, self.layouts)


def drawn(dtype: str, *shapes: tuple[int, ...], seed: int = 0) -> list[Any]:
    """Arrays of numbers from -1 to 1."""
    random = np.random.RandomState(seed)
    return [np.asarray(random.uniform(-1, 1, shape)).astype(dtype) for shape in shapes]


def each(make: Callable[..., Arguments], *cases: Any) -> Callable[[str], Iterator[Arguments]]:
    """Arguments from a function of the dtype and what each case has."""
    return lambda dtype: (make(dtype, *(case if isinstance(case, tuple) else (case,))) for case in cases)


def same(*cases: Arguments) -> Callable[[str], Iterator[Arguments]]:
    """Arguments that have nothing to do with the dtype."""
    return lambda dtype: iter(cases)


def wanted(*args: Any) -> Any:
    """The plain form of rows whose last argument is the result."""
    return args[-1]


def without_wanted(k: Any, *args: Any) -> Any:
    """Calls the kernel of such a row."""
    return k(*args[:-1])


def transposed(f: Callable[[Any], Any], shape: tuple[int, ...], y: Any) -> Any:
    """What the transpose of a linear map of arrays of that shape makes of ``y``: unit by unit."""
    size = int(np.prod(shape))
    found = np.zeros(size)
    for i, unit in enumerate(np.eye(size)):
        found[i] = (f(unit.reshape(shape)) * y).sum()
    return found.reshape(shape)


def transposed_of_samples(f: Callable[[Any], Any], shape: tuple[int, ...], y: Any) -> Any:
    """The same of a map that treats all samples along axis 0 alike, so that the units can be one array."""
    size = int(np.prod(shape))
    if size == 0:
        return np.zeros(shape)
    of_units = f(np.eye(size).reshape(size * shape[0], *shape[1:])).reshape(size, y.size)
    return (of_units * y.reshape(y.size)).sum(axis=1).reshape(shape)
