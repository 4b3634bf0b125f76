"""Points at which right functions are checked: values of all sizes that they can be computed at."""

from __future__ import annotations

import contextlib
import dataclasses
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

import minichainer as chainer
from minichainer.utils.type_check import InvalidType
from tests.functions.checks import derivative_of, outputs_of
from tests.verification.catalogue import extreme_subjects, extreme_values
from tests.verification.catalogue.extreme_subjects import Subject

#: Draws of values before a point is given up, the last one of ordinary values.
DRAWS = 40


@dataclasses.dataclass
class Point:
    """A function and where it is checked; the same for the same seed and number.

    Args:
        seed, number: what it was drawn from.
        subject: the function.
        kind: of its values.
        dtype: dtype character.
        order: of the bytes, '=' or '>'.
        arrays: the inputs, native ones.
        gys, ggxs: upstream gradients for Chainer's functions.
        gradients: right ones in float64, for these.
        outputs: the size of the outputs, weighted.
        at_kink: the function may have a kink there.
        twice: whether the gradient can be differentiated without overflow.
    """

    seed: int
    number: int
    subject: Subject
    kind: str
    dtype: str
    order: str
    arrays: list[Any]
    gys: list[Any]
    ggxs: list[Any]
    gradients: list[Any]
    outputs: float
    at_kink: bool
    twice: bool

    @property
    def inputs(self) -> tuple[Any, ...]:
        """Fresh copies in the order of bytes of this point."""
        return tuple(a.astype(a.dtype.newbyteorder(self.order)) for a in self.arrays)

    def __str__(self) -> str:
        big = ' big-endian' if self.order == '>' else ''
        return f'{self.subject.name} [{self.kind}, {self.dtype}{big}]'


def point(seed: int, number: int) -> Point:
    """The point of a seed and a number: drawn again where the function overflows or is NaN."""
    rng = np.random.RandomState([seed, number])
    subject = extreme_subjects.subject(rng, seed)
    for attempt in range(DRAWS):
        kind = extreme_values.choose(rng) if attempt < DRAWS - 1 else 'ordinary'
        dtype = str(rng.choice(list(subject.dtypes)))
        regions = zip(subject.regions, subject.shapes, strict=True)
        arrays = [extreme_values.draw(kind, region, shape, dtype, rng) for region, shape in regions]
        made = _complete(Point(seed, number, subject, kind, dtype, '=', arrays, [], [], [], 0.0, False, False), rng)
        if made is not None:
            break
    else:
        return point(seed + 1_000_003, number)
    made.at_kink = subject.kinked and extreme_values.KINDS[made.kind][2]
    made.order = '>' if made.dtype != 'e' and rng.rand() < 0.15 else '='
    return made


def _complete(p: Point, rng: Any) -> Point | None:
    """The point with upstream gradients and right gradients; None where one of them is not finite."""
    with np.errstate(all='ignore'), warnings.catch_warnings():
        warnings.simplefilter('ignore')
        try:
            values = [y.array for y in outputs_of(p.subject.func(*map(chainer.Variable, p.arrays)))]
            p.gys = [upstream(y, rng) for y in values]
            p.ggxs = [upstream(x, rng) for x in p.arrays]
            p.gradients = _gradients(p, [x.astype('d') for x in p.arrays])
            native = _gradients(p, p.arrays)
            p.outputs = max([float(abs(y.astype('d')).max(initial=0.0)) for y in values], default=0.0)
            finite = all(_finite(a) for a in [*p.arrays, *values, *p.gradients, *native])
            p.twice = finite and p.subject.order > 1 and _is_finite_twice(p)
        except (ValueError, FloatingPointError, np.linalg.LinAlgError, InvalidType):  # the last: of one dtype only
            return None
    return p if finite else None


def upstream(like: Any, rng: Any) -> Any:
    """Of either sign, and well away from zero."""
    drawn = rng.uniform(0.5, 1.5, like.shape) * rng.choice([-1.0, 1.0], like.shape)
    return np.asarray(drawn, like.dtype)


def _gradients(p: Point, arrays: Any) -> list[Any]:
    """The gradients of the inputs, by backward."""
    xs = [chainer.Variable(x) for x in arrays]
    dtypes = [x.dtype for x in arrays]
    with _parameters_in(p.subject, dtypes[0] if dtypes else np.dtype('d')):
        ys = outputs_of(p.subject.func(*xs))
        gys = [chainer.Variable(gy.astype(y.dtype)) for gy, y in zip(p.gys, ys, strict=True)]
        found = chainer.grad(ys, xs, gys)
    return [np.zeros_like(x) if g is None else g.array for g, x in zip(found, arrays, strict=True)]


@contextlib.contextmanager
def _parameters_in(subject: Subject, dtype: Any) -> Iterator[None]:
    """The parameters of a link in another dtype, for a while."""
    kept = [p.array for p in subject.params]
    try:
        for p in subject.params:
            p.array = p.array.astype(dtype)
            p.cleargrad()
        yield
    finally:
        for p, array in zip(subject.params, kept, strict=True):
            p.array = array
            p.cleargrad()


def _is_finite_twice(p: Point) -> bool:
    """Whether the second order does not overflow, in float64 and in the dtype of the point."""
    derivative = derivative_of(lambda *xs: outputs_of(p.subject.func(*xs)), len(p.arrays))
    for dtype in {'d', p.dtype}:
        with _parameters_in(p.subject, np.dtype(dtype)):
            inputs = [chainer.Variable(a.astype(dtype)) for a in p.arrays]
            ys = outputs_of(p.subject.func(*inputs))
            xs = [*inputs, *(chainer.Variable(gy.astype(y.dtype)) for gy, y in zip(p.gys, ys, strict=True))]
            first = derivative(*xs)
            found = chainer.grad(first, xs, [chainer.Variable(g.astype(dtype)) for g in p.ggxs])
        if not all(g is None or _finite(g.array) for g in [*found, *first]):
            return False
    return True


def _finite(a: Any) -> bool:
    return bool(np.isfinite(a).all())
