"""Slices of a gradient, or of an upstream gradient, that are missing or in other places: off by one, left out.

Slices are compared by a few numbers each: for the gradient, products with random upstream gradients and one random
slice; for the upstream gradient, products with random directions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from minichainer.verification.diagnosis.evidence import Cause, indices_in_words
from minichainer.verification.diagnosis.experiments import CLOSE, FLAT, MOST_SLICES, Experiments, close, dot, placed


def slices_of_upstream(e: Experiments) -> Cause | None:
    """What backward makes of each slice of the upstream gradient is right for another slice, or zero."""
    return _upstream_along(e, e.axes(of_output=True))


def elements_of_upstream(e: Experiments) -> Cause | None:
    """The same for single elements."""
    return _upstream_along(e, _flat(e.y))


def _upstream_along(e: Experiments, axes: Sequence[int]) -> Cause | None:
    for axis in axes:
        gys, found = e.across(axis)
        given = np.array([[dot(g, d) for d in e.directions] for g in found])
        right = np.array([[dot(gy, jd) for jd in e.tangents] for gy in gys])
        cause = _moved_slices(sources_of(given, right), 'the upstream gradient', axis, e.y.shape)
        if cause is not None:
            return cause
    return None


def slices_of_gradient(e: Experiments) -> Cause | None:
    """Each slice of what backward gives is right for another slice, or zero."""
    return _gradient_along(e, e.axes(of_output=False))


def elements_of_gradient(e: Experiments) -> Cause | None:
    """The same for single elements."""
    return _gradient_along(e, _flat(e.x))


def _gradient_along(e: Experiments, axes: Sequence[int]) -> Cause | None:
    for axis in axes:
        directions, tangents = e.along(axis)
        given = np.array([[dot(g, d) for g in e.given] for d in directions])
        right = np.array([[dot(gy, jd) for gy in e.upstream] for jd in tangents])
        sources = sources_of(given, right)
        if sources is None and axis != FLAT:
            sources = sources_of(given, right, _borders(e, axis))
        cause = _moved_slices(sources, 'the gradient', axis, e.x.shape)
        if cause is not None:
            return cause
    return None


def zeros_of_gradient(e: Experiments) -> Cause | None:
    """Backward gives zeros in some slices, however many there are, and the rest is right."""
    zero = np.all([g == 0 for g in e.given], axis=0)
    for axis, n in enumerate(e.x.shape):
        empty = np.moveaxis(zero, axis, 0).reshape(n, -1).all(axis=1)
        if 0 < empty.sum() < n and _is_right_without(e, axis, empty):
            lost = np.array(
                [index for index in np.flatnonzero(empty).tolist() if _matters(e, axis, index, int(empty.sum()))]
            )
            return _left_out(lost, axis, e.x.shape, upstream=False) if lost.size else None
    return None


def _is_right_without(e: Experiments, axis: int, empty: Any) -> bool:
    """Whether backward agrees with slopes along directions that do not move some slices."""
    for direction in e.directions:
        rest = direction.copy()
        np.moveaxis(rest, axis, 0)[empty] = 0
        derivative = e.derivative(rest)
        given, right = [dot(g, rest) for g in e.given], [dot(gy, derivative) for gy in e.upstream]
        if not close(np.array(given), np.array(right)):
            return False
    return True


def _matters(e: Experiments, axis: int, index: int, count: int) -> bool:
    """Whether the output depends on a slice; of many slices that is not asked."""
    if count > MOST_SLICES // 4:
        return True
    moved = placed(e.directions[0], e.x.shape, axis, index)
    return bool(abs(e.derivative(moved)).any())


def _borders(e: Experiments, axis: int) -> Any:
    """The right gradients of the first and last slices of other leaves, which may be neighbours in an output."""
    rows = []
    for j in e.derivatives.order_check.function.moving:
        other = e.of(j)
        if j != e.i and other.x.ndim == e.x.ndim and _without(other.x.shape, axis) == _without(e.x.shape, axis):
            for index in (0, other.x.shape[axis] - 1):
                derivative = other.derivative(placed(e.directions[0], other.x.shape, axis, index))
                rows.append([dot(gy, derivative) for gy in e.upstream])
    return np.array(rows).reshape(len(rows), len(e.upstream))


def _without(shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
    return shape[:axis] + shape[axis + 1 :]


def _flat(array: Any) -> list[int]:
    return [FLAT] if array.ndim > 1 and array.size <= MOST_SLICES // 2 else []


#: A slice without a gradient, and one whose gradient is that of another leaf.
_NOTHING, _ELSEWHERE = -1, -2


def sources_of(given: Any, right: Any, borders: Any = ()) -> Any:
    """For each row of ``given`` the index of the equal row of ``right``; None if there is none, or if all is right.

    -1 stands for a row of zeros, -2 for one that is equal to a row of ``borders``. Where several rows of ``right``
    are equal, the same distance for all rows is preferred, best of all 0.

    >>> right = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    >>> sources_of(np.array([[3.0, 4.0], [0.0, 0.0], [5.0, 6.0]]), right)
    array([ 1, -1,  2])
    """
    n = len(given)
    scale = max(float(abs(given).max()), float(abs(right).max()))
    equal = (abs(given[:, None] - right[None]) <= CLOSE * scale).all(axis=2)
    outside = np.where((abs(given) <= CLOSE * scale).all(axis=1), _NOTHING, n)
    for border in borders:
        outside[(outside == n) & (abs(given - border) <= CLOSE * scale).all(axis=1)] = _ELSEWHERE
    if equal.diagonal().all() or not (equal.any(axis=1) | (outside < 0)).all():
        return None
    for step in sorted(range(1 - n, n), key=abs):
        sources = _all_moved(equal, outside, step)
        if sources is not None:
            return sources
    return np.where(equal.diagonal(), np.arange(n), np.where(outside < 0, outside, equal.argmax(axis=1)))


def _all_moved(equal: Any, outside: Any, step: int) -> Any:
    """The sources if all rows are equal to the ones ``step`` further on, or come from outside."""
    n = len(equal)
    further = (np.arange(n) + step) % n
    same = equal[np.arange(n), further]
    sources = np.where(same, further, outside)
    return sources if (same | (outside < 0)).all() and same[outside == n].any() else None


def _moved_slices(sources: Any, what: str, axis: int, shape: tuple[int, ...]) -> Cause | None:
    """The cause for slices, or elements, that are zero or in other places."""
    if sources is None:
        return None
    n, upstream = len(sources), what != 'the gradient'
    where = 'the elements' if axis == FLAT else f'axis {axis}'
    used = np.flatnonzero(sources >= 0)
    steps = {int(s) for s in (sources[used] - used) % n}
    if len(steps) == 1 and steps != {0}:
        step = next(iter(steps))
        return _shift(step - n if step > n // 2 else step, where, upstream)
    if (sources == np.arange(n)[::-1]).all():
        return Cause('shifted', f'backward {"uses" if upstream else "gives"} {what} reversed along {where}')
    if steps == {0} and (sources != _ELSEWHERE).all():
        return _left_out(np.flatnonzero(sources == _NOTHING), axis, shape, upstream)
    if len(used) < n or len(set(sources.tolist())) < n:
        return None
    order = ', '.join(map(str, sources[:12])) + (', ...' if n > 12 else '')
    verb = 'uses' if upstream else 'gives'
    return Cause('permuted', f'backward {verb} {what} with {where} in another order: {order} for 0, 1, ...')


def _shift(step: int, where: str, upstream: bool) -> Cause:
    """The cause for slices that are all off by the same distance."""
    if upstream:
        early = 'before' if step > 0 else 'after'
        text = f'for each index of {where}, backward uses the upstream gradient {abs(step)} {early} the right one'
        return Cause('shifted', f'{text}: off by {abs(step)}?')
    return Cause('shifted', f'backward gives the gradient shifted by {-step} along {where}: off by {abs(step)}?')


def _left_out(zero: Any, axis: int, shape: tuple[int, ...], upstream: bool) -> Cause:
    """The cause for slices that are missing."""
    if axis == FLAT:
        places = [str(tuple(map(int, np.unravel_index(z, shape)))) for z in zero[:4]]
        indices = ', '.join(places) + (', ...' if len(zero) > 4 else '')
    else:
        indices = f'{indices_in_words(zero)} of axis {axis}'
    if upstream:
        return Cause('left out', f'backward ignores {indices} of the upstream gradient; the rest is right')
    name = 'left out' if len(zero) > 1 else 'one element' if axis == FLAT else 'one slice'
    return Cause(name, f'backward gives zeros at {indices}; the rest is right')
