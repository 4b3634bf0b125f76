"""Transposes, permutations and shifts: backward gives the right gradient, but of something rearranged.

Each hypothesis predicts what backward gives, from derivatives of the function along random directions, at a cost that
does not depend on the number of elements; it is named only if all predictions hold.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from minichainer.backend import get_array_module
from minichainer.verification.arrays import host
from minichainer.verification.diagnosis.evidence import Cause
from minichainer.verification.diagnosis.experiments import CLOSE, Experiments, Unmeasurable, close, dot
from minichainer.verification.diagnosis.jacobian_entries import mixes

#: Shapes with more axes have too many permutations.
_MOST_AXES = 4
#: How far single differences may be off, as an inexpensive test of most hypotheses.
_ROUGHLY = 1e-2


@dataclasses.dataclass(frozen=True)
class Rearrangement:
    """A change of the order of an array's elements, some of which may be replaced by zeros.

    Attributes:
        name: Of the cause.
        text: What it does to the array.
        indices: Where each element is taken from, as flat indices; -1 for zero.
    """

    name: str
    text: str
    indices: Any

    def __call__(self, array: Any) -> Any:
        """The array rearranged."""
        return np.where(self.indices < 0, 0, array.ravel()[self.indices])

    def undo(self, array: Any) -> Any:
        """The elements put back, the inverse if none is zero; the transpose of the map in any case."""
        result = np.zeros_like(array)
        kept = self.indices >= 0
        result.ravel()[self.indices[kept]] = array[kept]
        return result


@functools.lru_cache(maxsize=32)
def rearrangements(shape: tuple[int, ...], simple: bool = False) -> list[Rearrangement]:
    """All of them for a shape, the simplest first; those that change nothing, or repeat another, are left out.

    Args:
        shape: Of the array.
        simple: Whether to leave out shifts with zeros, and along two axes.

    >>> [r.text for r in rearrangements((2, 2))][:3]
    ['transposed', 'reversed along axis 0', 'reversed along axis 1']
    """
    start = np.arange(int(np.prod(shape))).reshape(shape)
    seen, kept = {start.tobytes()}, []
    for name, text, indices in _all(start, simple):
        key = np.ascontiguousarray(indices).tobytes()
        if key not in seen:
            seen.add(key)
            kept.append(Rearrangement(name, text, np.ascontiguousarray(indices)))
    return kept


def _all(start: Any, simple: bool) -> Iterator[tuple[str, str, Any]]:
    yield from _transposed(start)
    yield from _permuted(start)
    yield from _reversed(start)
    yield from _shifted(start, simple)


def _transposed(start: Any) -> Iterator[tuple[str, str, Any]]:
    """Two axes exchanged; if they differ in size, the elements in that order in the original shape."""
    shape = start.shape
    for a, b in sorted(itertools.combinations(range(start.ndim), 2), key=lambda pair: -sum(pair)):
        text = 'transposed' if start.ndim == 2 else f'with axes {a} and {b} exchanged'
        swapped = np.swapaxes(start, a, b)
        yield 'transposed', text, swapped.reshape(shape)
        other = [shape[{a: b, b: a}.get(axis, axis)] for axis in range(start.ndim)]
        yield 'transposed', text, np.swapaxes(start.reshape(other), a, b)


def _permuted(start: Any) -> Iterator[tuple[str, str, Any]]:
    """Three and more axes in another order."""
    if 2 < start.ndim <= _MOST_AXES:
        for axes in itertools.permutations(range(start.ndim)):
            if tuple(start.shape[a] for a in axes) == start.shape:
                yield 'permuted', f'with its axes in the order {axes}', start.transpose(axes)


def _reversed(start: Any) -> Iterator[tuple[str, str, Any]]:
    for count in range(1, min(start.ndim, _MOST_AXES) + 1):
        for axes in itertools.combinations(range(start.ndim), count):
            yield 'shifted', f'reversed along {_axes(axes)}', np.flip(start, axes)


def _shifted(start: Any, simple: bool) -> Iterator[tuple[str, str, Any]]:
    """By one along one axis, or along two."""
    for count in (1,) if simple else (1, 2):
        for axes in itertools.combinations(range(start.ndim), count):
            for steps in itertools.product((1, -1), repeat=count):
                by = ' and '.join(map(str, steps))
                text = f'shifted by {by} along {_axes(axes)}'
                yield 'shifted', text, np.roll(start, steps, axes)
                if not simple:
                    yield 'shifted', f'{text}, with zeros at the end', _with_zeros(start, steps, axes)


def _with_zeros(start: Any, steps: tuple[int, ...], axes: tuple[int, ...]) -> Any:
    """Shifted, with -1 where nothing moves in."""
    result = np.roll(start, steps, axes)
    for step, axis in zip(steps, axes, strict=True):
        result[(slice(None),) * axis + (0 if step > 0 else -1,)] = -1
    return result


def _axes(axes: tuple[int, ...]) -> str:
    """As in "axis 1" or "axes 0 and 1"."""
    return ('axis ' if len(axes) == 1 else 'axes ') + ' and '.join(map(str, axes))


# --- hypotheses ----------------------------------------------------------------------------------------------------
def rearranged_gradient(e: Experiments) -> Cause | None:
    for r in rearrangements(e.x.shape):
        if _predicts(e, e.upstream, r.undo, e.derivatives.arrays):
            return Cause(r.name, f'backward gives the gradient {r.text}')
    return None


def rearranged_upstream(e: Experiments) -> Cause | None:
    for r in rearrangements(e.y.shape):
        if _agree(e, [r(gy) for gy in e.upstream], e.tangents):
            summed = ', or sums it along another axis' if r.name == 'transposed' and e.x.ndim < e.y.ndim else ''
            return Cause(r.name, f'backward uses the upstream gradient {r.text}{summed}')
    return None


def rearranged_input(e: Experiments) -> Cause | None:
    """Backward is right for other data: an input transposed, reversed or shifted."""
    for j in e.derivatives.order_check.function.moving:
        label = e.derivatives.order_check.function.leaves[j].label
        for r in rearrangements(e.derivatives.arrays[j].shape, simple=True):
            arrays = list(e.derivatives.arrays)
            arrays[j] = _as(arrays[j], r(host(arrays[j])))
            if _predicts(e, e.upstream, _unchanged, arrays):
                return Cause(r.name, f'backward uses {label} {r.text}')
    return None


def other_axis(e: Experiments) -> Cause | None:
    """Backward gives the gradient of the same function along another axis: with two axes exchanged everywhere."""
    for a, b in itertools.combinations(range(e.x.ndim), 2):

        def exchanged(array: Any, a: int = a, b: int = b) -> Any:
            return np.ascontiguousarray(np.swapaxes(array, a, b))

        alike = e.x.ndim == e.y.ndim and e.x.shape == e.y.shape
        if _is_gradient_of(e, exchanged, exchanged if alike else _unchanged) and mixes(e, a, b):
            text = f'backward gives the gradient of the function with axes {a} and {b} exchanged'
            return Cause('wrong axis', f'{text}: computed along the wrong one?')
    return None


def other_function(e: Experiments) -> Cause | None:
    """Backward gives the gradient of the function of a rearranged input."""
    label = e.derivatives.order_check.function.leaves[e.i].label
    for r in rearrangements(e.x.shape, simple=True):
        if _is_gradient_of(e, r, _unchanged):
            return Cause(r.name, f'backward gives the gradient of the function of {label} {r.text}')
    return None


def _is_gradient_of(e: Experiments, rearrange: Callable[[Any], Any], of_output: Callable[[Any], Any]) -> bool:
    """Whether backward gives the gradient of the function of a rearranged input, with the output rearranged."""
    arrays = list(e.derivatives.arrays)
    arrays[e.i] = _as(arrays[e.i], rearrange(e.x))
    y = e.accepts(arrays)
    if y is None or y.size != e.y.size:
        return False
    return _predicts(e, [of_output(gy).reshape(y.shape) for gy in e.upstream], rearrange, arrays)


def _predicts(e: Experiments, upstream: Sequence[Any], turned: Callable[[Any], Any], arrays: Sequence[Any]) -> bool:
    """Whether a hypothesis predicts what backward gives.

    Args:
        e: The measurements.
        upstream: The random upstream gradients as backward uses them.
        turned: Maps a direction to the one in which the function is to be differentiated.
        arrays: The leaves where it is to be differentiated.
    """
    try:
        if not _agree(e, upstream, [e.difference(turned(e.directions[0]), arrays)], _ROUGHLY):
            return False
        return _agree(e, upstream, [e.derivative(turned(d), arrays) for d in e.directions])
    except Unmeasurable:
        return False


def _agree(e: Experiments, upstream: Sequence[Any], tangents: Sequence[Any], within: float = CLOSE) -> bool:
    """Whether backward gives what upstream gradients and derivatives predict for the random directions."""
    given = np.array([[dot(g, d) for d in e.directions[: len(tangents)]] for g in e.given])
    return close(given, np.array([[dot(gy, jd) for jd in tangents] for gy in upstream]), within)


def _unchanged(array: Any) -> Any:
    return array


def _as(like: Any, array: Any) -> Any:
    """The array on the device of another one."""
    return get_array_module(like).asarray(array)
