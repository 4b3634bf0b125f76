"""How much work operations on arrays of numbers are, and a limit to it.

Work is counted: what is too long on one machine, or beside other programs, is so on every other one. The unit is one
addition; :meth:`.NumberArray.cost` says how many of them another operation is worth. The clock counts only where an
addition would have taken 10 µs: some functions take a thousand times as long at some points.
"""

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy

#: A factorization of n x n matrices in products, relative to n ** 3.
_FACTORIZATION, _ITERATED = 5.0, {'eigh': 70.0, 'svd': 70.0}
#: Ufuncs that sum over a common axis, and functions of NumPy that do.
_MATRICES = frozenset('matmul vecdot matvec vecmat'.split())
CONTRACTIONS = frozenset('dot inner vdot tensordot einsum'.split())


class _Work(threading.local):
    """What operations have cost in each thread, and may cost, and when it must be done, in time of the processor."""

    done, most, until = 0.0, math.inf, math.inf


_work = _Work()
#: So many additions at least are made in a second.
_SLOWEST = 1e5


class Counted:
    """The result of :func:`within`.

    Attributes:
        done: How many additions the operations were worth; known at the end, as the rest.
        seconds: The time of the processor that all took.
    """

    done, seconds = 0.0, 0.0

    @property
    def work(self) -> float:
        """The additions, or more where they took far longer than additions do."""
        return max(self.done, self.seconds * _SLOWEST)


@contextlib.contextmanager
def within(most: float) -> Iterator[Counted]:
    """Context manager in which operations on arrays of numbers raise TimeoutError after so many additions.

    The limit may be infinite.
    """
    counted, started = Counted(), time.thread_time()
    before = _work.done, _work.most, _work.until
    _work.done, _work.most, _work.until = 0.0, most, started + most / _SLOWEST
    try:
        yield counted
    finally:
        counted.done, counted.seconds = _work.done, time.thread_time() - started
        _work.done, _work.most, _work.until = before[0] + _work.done, *before[1:]


def charge(count: float, each: float) -> None:
    """Counts results, and what each of them is worth."""
    _work.done += count * each
    if _work.done > _work.most or (_work.most < math.inf and time.thread_time() > _work.until):
        raise TimeoutError('computing on these numbers takes long')


def results_of(name: str, method: str, operands: Any) -> float:
    """How many numbers a method of a ufunc computes, those that it sums included."""
    if method == 'at':  # the second one says where, and may be a tuple
        operands = [operands[0], *operands[2:]]
    shapes = [numpy.shape(x) for x in operands]
    sizes: list[int] = [math.prod(shape) for shape in shapes]
    if name in _MATRICES and len(shapes) == 2:
        return summed(sizes, shapes[0][-1] if shapes[0] else 1)
    return math.prod(sizes) if method == 'outer' else max(sizes, default=0)


def summed(sizes: Any, common: int) -> float:
    """How many products there are in one of matrices with a common axis."""
    return float(math.prod(sizes) / max(common, 1))


def contracted(arrays: Any, result: Any) -> float:
    """The same from the sizes of operands and result: the root of m k · k n · m n."""
    sizes = [numpy.size(x) for x in arrays if isinstance(x, numpy.ndarray)]
    return math.sqrt(math.prod(sizes) * numpy.size(result))


def factorized(name: str, matrices: Any) -> float:
    """How many products a factorization of matrices takes."""
    return float(_ITERATED.get(name, _FACTORIZATION) * matrices.size * matrices.shape[-1])
