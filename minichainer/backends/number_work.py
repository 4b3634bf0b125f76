"""How much work operations on arrays of numbers are, and a limit to it.

Work is counted, not timed: what is too long on one machine, or beside other programs, is so on every other one. The
unit is one addition; :meth:`.NumberArray.cost` says how many of them another operation is worth.
"""

from __future__ import annotations

import contextlib
import math
import threading
from collections.abc import Iterator
from typing import Any

import numpy

#: A factorization of n x n matrices in products, relative to n ** 3.
_FACTORIZATION, _ITERATED = 5.0, {'eigh': 70.0, 'svd': 70.0}
#: Ufuncs that sum over a common axis, and functions of NumPy that do.
_MATRICES = frozenset('matmul vecdot matvec vecmat'.split())
CONTRACTIONS = frozenset('dot inner vdot tensordot einsum'.split())


class _Work(threading.local):
    """What operations have cost in each thread, and may cost."""

    done, most = 0.0, math.inf


_work = _Work()


class Counted:
    """The result of :func:`within`.

    Attributes:
        done: How many additions the operations were worth; known at the end.
    """

    done = 0.0


@contextlib.contextmanager
def within(most: float) -> Iterator[Counted]:
    """Context manager in which operations on arrays of numbers raise TimeoutError after so many additions."""
    counted, before = Counted(), (_work.done, _work.most)
    _work.done, _work.most = 0.0, most
    try:
        yield counted
    finally:
        counted.done = _work.done
        _work.done, _work.most = before[0] + counted.done, before[1]


def charge(count: float, each: float) -> None:
    """Counts results, and what each of them is worth."""
    _work.done += count * each
    if _work.done > _work.most:
        raise TimeoutError('computing on these numbers takes long')


def results_of(name: str, method: str, operands: Any) -> float:
    """How many numbers a method of a ufunc computes, those that it sums included."""
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
