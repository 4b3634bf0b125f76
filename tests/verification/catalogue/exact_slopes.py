"""The truth about a gradient, element by element, at 720 digits and without the checker.

Each element is moved alone, by steps in proportion to itself; a slope counts if two steps agree. So this proves, or
disproves, what a check says of a function, at any magnitude: 1 + 1e-300 is not 1 here.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import minichainer as chainer
from minichainer.verification.extended_precision.arrays import numbers, rounded, using
from minichainer.verification.many_digits import MOST_DIGITS
from tests.functions.checks import gradients, outputs_of

#: So many elements of an array are looked at.
SAMPLE = 40
#: Seconds of the processor after which a proof is given up.
PATIENCE = 20.0
#: Steps relative to an element, the smallest first; of zeros, relative to this.
STEPS = (1e-22, 1e-18, 1e-14, 1e-10, 1e-6)
OF_ZERO = 1e-10
#: Slopes of two steps agree if they differ by less, relative to the slope.
AGREE = 1e-9
#: Slopes on the two sides of a kink differ by more.
KINK = 1e-3
#: A gradient is right if it differs by less, relative to the element, or to the largest element.
RIGHT = {'d': (1e-6, 1e-13), 'f': (1e-3, 1e-6), 'e': (5e-2, 5e-3)}


@dataclass
class Truth:
    """Slopes of one leaf: NaN where none could be measured, or none was asked for; ``kinked`` where there is none."""

    slopes: Any
    kinked: Any
    complete: bool = True


@contextlib.contextmanager
def many_digits() -> Iterator[None]:
    """Numbers have 720 digits for a while."""
    with using(MOST_DIGITS), np.errstate(all='ignore'):
        yield


def slopes_of(func: Callable[..., Any], arrays: Sequence[Any], gys: Sequence[Any]) -> list[Truth] | None:
    """The slope of the weighted outputs with respect to each element; None if the function needs floats."""
    try:
        with many_digits():
            around = Around(func, arrays, gys)
            return [around.leaf(i) for i in range(len(arrays))]
    except Exception:
        return None


class Around:
    """The function near a point, at many digits."""

    def __init__(self, func: Callable[..., Any], arrays: Sequence[Any], gys: Sequence[Any]) -> None:
        self.func, self.until = func, time.thread_time() + PATIENCE
        self.arrays = [numbers(x) for x in arrays]
        self.weights = [numbers(g) for g in gys]
        self.here = self._values(self.arrays)

    def _values(self, arrays: Sequence[Any]) -> list[Any]:
        if time.thread_time() > self.until:
            raise TimeoutError('the function takes long at many digits')
        found = outputs_of(self.func(*[chainer.Variable(x) for x in arrays]))
        return [numbers(y.array) for y in found if y is not None]

    def leaf(self, i: int) -> Truth:
        """The slopes of one input."""
        shape = self.arrays[i].shape
        truth = Truth(np.full(shape, np.nan), np.zeros(shape, bool))
        for k in _sample(self.arrays[i]):
            truth.slopes[k], truth.kinked[k] = self._slope(i, k)
            truth.complete = truth.complete and bool(np.isfinite(truth.slopes[k]))
        return truth

    def _slope(self, i: int, k: tuple[int, ...]) -> tuple[float, bool]:
        """The slope that two steps agree on, and whether it differs on the two sides."""
        size = abs(float(rounded(self.arrays[i][k]))) or OF_ZERO
        before = None
        for relative in STEPS:
            step = numbers(np.array(relative))[()] * size
            ahead, behind = (self._change(i, k, s) for s in (step, -step))
            found = np.array([(ahead + behind) / 2, ahead, behind])
            scale = abs(found).max()
            if before is not None and (abs(found - before) <= AGREE * scale).all():
                return found[0], bool(abs(ahead - behind) > KINK * scale)
            before = found
        return np.nan, False

    def _change(self, i: int, k: tuple[int, ...], step: Any) -> float:
        """The change of the weighted outputs, divided by the step."""
        moved = [x.copy() for x in self.arrays]
        moved[i][k] = moved[i][k] + step
        changes = zip(self.weights, self._values(moved), self.here, strict=True)
        total = sum([(w * (y - y0)).sum() for w, y, y0 in changes])
        return float(rounded(np.asarray(total / step)))


def _sample(array: Any) -> list[tuple[int, ...]]:
    """The indices of elements to look at: all, or the smallest, the largest and some others."""
    indices = list(np.ndindex(*array.shape))
    if len(indices) <= SAMPLE:
        return indices
    order = np.argsort([abs(float(rounded(array[k]))) for k in indices], kind='stable')
    chosen = {*order[:5], *order[-5:], *np.random.RandomState(0).permutation(len(indices))[: SAMPLE - 10]}
    return [indices[n] for n in sorted(chosen)]


@dataclass
class Proof:
    """What is true of a function at a point: ``off`` is the largest error, relative to what is allowed."""

    known: bool
    kink: bool = False
    off: float = 0.0

    @property
    def right(self) -> bool:
        return self.known and self.off <= 1


def prove(func: Callable[..., Any], arrays: Sequence[Any], gys: Sequence[Any], dtype: str = 'd') -> Proof:
    """Compares values of a function in float64, and the gradients that backward gives in a dtype, with the truth."""
    truths = slopes_of(func, arrays, gys)
    if truths is None:
        return Proof(False)
    own = [np.asarray(a, dtype) for a in arrays], [np.asarray(g, dtype) for g in gys]
    with np.errstate(all='ignore'):
        found = gradients(lambda *xs: outputs_of(func(*xs)), *own)
    found = [np.zeros_like(x) if g is None else g for g, x in zip(found, own[0], strict=True)]
    kink = any(t.kinked.any() for t in truths)
    off = [_off(g, t, dtype) for g, t in zip(found, truths, strict=True)]
    off.append(_off_values(func, arrays))
    known = all(t.complete for t in truths)
    return Proof(known, kink, max(off))


def _off_values(func: Callable[..., Any], arrays: Sequence[Any]) -> float:
    """The largest error of a value that the function computes in float64, such as one that overflows on the way."""
    xs = [np.asarray(a, 'd') for a in arrays]
    with np.errstate(all='ignore'):
        found = [y.array for y in outputs_of(func(*map(chainer.Variable, xs)))]
    with many_digits():
        exact = [numbers(y.array) for y in outputs_of(func(*[chainer.Variable(numbers(x)) for x in xs]))]
    pairs = zip(found, map(rounded, exact), strict=True)
    truths = [(y, Truth(value, np.zeros(value.shape, bool))) for y, value in pairs]
    return max([_off(y, truth, 'd') for y, truth in truths], default=0.0)


def _off(found: Any, truth: Truth, dtype: str) -> float:
    known = np.isfinite(truth.slopes) & ~truth.kinked
    relative, absolute = RIGHT[dtype]
    largest = abs(truth.slopes[known]).max(initial=0.0)
    allowed = relative * abs(truth.slopes) + absolute * largest + 4 * float(np.finfo(dtype).tiny)
    with np.errstate(all='ignore'):
        ratio = abs(found.astype('d') - truth.slopes) / allowed
    return float(ratio[known].max(initial=0.0))
