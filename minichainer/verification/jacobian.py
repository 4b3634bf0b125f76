"""Compares the full Jacobian of small problems entry by entry with finite differences."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from minichainer.backend import get_array_module
from minichainer.verification.arrays import host, largest, norm, root_mean_square
from minichainer.verification.directional_derivatives import Derivatives
from minichainer.verification.exact_checks import at

#: Larger Jacobians are screened only.
MOST_ENTRIES = 10_000


def full_jacobian(screen: Derivatives) -> None:
    """Compares every entry, one column per element of a leaf and one row per element of an output."""
    point = screen.point
    calls = point.subject.calls
    before = calls.forward, calls.backward
    for i in point.subject.moving:
        for k, o in enumerate(screen.outputs):
            entries = screen.arrays[i].size * screen.values[k].size
            if entries > MOST_ENTRIES:
                label = point.subject.leaves[i].label
                point.report.notes.append(
                    f'The Jacobian of output {o} with regard to {label} has {entries} entries, more than '
                    f'{MOST_ENTRIES}: screened along random directions, not compared entry by entry.'
                )
            elif (o, i) not in point.broken and entries:
                _compare(screen, i, k)
    point.report.jacobian_calls += calls.forward - before[0] + calls.backward - before[1]
    calls.forward, calls.backward = before


#: Steps to try for an entry, relative to the first one.
_SHRINK = (1.0, 1 / 16, 1 / 256)


def _compare(screen: Derivatives, i: int, k: int) -> None:
    """Compares the Jacobian of one output and one leaf, and reports wrong entries."""
    analytic = _rows(screen, i, k)
    wrong, numeric = np.ones(analytic.shape, bool), np.zeros(analytic.shape)
    left, used = np.zeros(0), np.zeros(0)  # by how much the last attempt found backward to be off, and its steps
    for steps in _attempts(screen, i, k, analytic):
        columns = np.flatnonzero(wrong.any(axis=0))
        if not columns.size:
            return
        numeric[:, columns], excess = _excess(screen, i, k, analytic, columns, steps)
        wrong[:, columns] &= excess > 0
        left, used = np.where(wrong[:, columns], excess, 0.0), steps[columns]
    if wrong.any() and not _is_noise(screen, i, k, left, used):
        _report(screen, i, k, wrong, numeric, analytic)


def _excess(screen: Derivatives, i: int, k: int, analytic: Any, columns: Any, steps: Any) -> tuple[Any, Any]:
    """The measured columns, and by how much the error of each entry exceeds what is allowed."""
    numeric, error = _columns(screen, i, k, columns, steps)
    atol, rtol = screen.point.options.extra
    with np.errstate(all='ignore'):
        allowed = 100 * error + 1e-6 * abs(analytic).max(initial=0.0) + atol + rtol * abs(numeric)
        excess = abs(numeric - analytic[:, columns]) - allowed
    return numeric, np.where(np.isfinite(error), np.where(np.isnan(excess), np.inf, excess), 0.0)


def _report(screen: Derivatives, i: int, k: int, wrong: Any, numeric: Any, analytic: Any) -> None:
    off = np.where(wrong, abs(numeric - analytic), 0.0)
    row, column = (int(n) for n in np.unravel_index(np.nanargmax(off), off.shape))
    index = tuple(map(int, np.unravel_index(column, screen.arrays[i].shape)))
    element = screen.point.place(screen.outputs[k], tuple(map(int, np.unravel_index(row, screen.values[k].shape))))
    cause = (
        f'unknown: entries of the Jacobian differ ({int(wrong.sum())} of {wrong.size}), the worst in element '
        f'{element} of the output'
    )
    values = {'index': index, 'numeric': at(numeric, (row, column)), 'analytic': at(analytic, (row, column))}
    screen.point.fail(screen.outputs[k], i, cause, **values)


def _is_noise(screen: Derivatives, i: int, k: int, excess: Any, steps: Any) -> bool:
    """Whether measured rounding errors inside the function explain the remaining differences."""
    screen.measure_noise(i, [screen.along(i, direction) for direction in screen.directions(i)])
    noise = float(screen.noise[i][k])
    backward = largest(screen.backward_noise(i)[k])
    return bool((excess <= 16 * noise / steps[None] + 16 * backward).all())


def _attempts(screen: Derivatives, i: int, k: int, analytic: Any) -> Iterator[Any]:
    """Steps for all elements, one attempt after another.

    First the usual steps, last those at which values change by a small part of their size, according to backward.
    """
    usual = _steps(screen, i)
    if screen.point.options.eps is not None:
        yield usual
        return
    for shrink in _SHRINK:
        yield shrink * usual
    with np.errstate(all='ignore'):
        near = max(2e-3, screen.precision**0.25) * norm(screen.values[k]) / np.sqrt((analytic**2).sum(axis=0))
    if bool((near < _SHRINK[-1] * usual).any()):
        yield np.where((near > 0) & (near < usual), near, _SHRINK[-1] * usual)


def _steps(screen: Derivatives, i: int) -> Any:
    """The step of each element of a leaf."""
    if screen.point.options.eps is not None:
        return np.full(screen.arrays[i].size, screen.point.options.eps)
    x = abs(host(screen.arrays[i]).astype(np.float64)).ravel()
    return max(2e-3, screen.precision**0.25) * np.where(x > 0, x, root_mean_square(x) or 1.0)


def _rows(screen: Derivatives, i: int, k: int) -> Any:
    """The Jacobian from backward: one pass per output element."""
    y = screen.values[k]
    jacobian = np.zeros((y.size, screen.arrays[i].size))
    for row in range(y.size):
        unit = get_array_module(y).zeros(y.size, y.dtype)
        unit[row] = 1
        gys: list[Any] = [None] * len(screen.evaluation.outputs)
        gys[screen.outputs[k]] = unit.reshape(y.shape)
        found = screen.evaluation.vjp(gys)[i]
        if found is not None:
            jacobian[row] = host(found).ravel()
    return jacobian


def _columns(screen: Derivatives, i: int, k: int, columns: Any, steps: Any) -> tuple[Any, Any]:
    """Columns from differences with four calls per element, and how far the two steps disagree."""
    o, fixed = screen.outputs[k], screen.point.options.eps
    shape = (screen.values[k].size, len(columns))
    numeric, error = np.empty(shape), np.empty(shape)
    noise = 8 * screen.precision * abs(host(screen.values[k]).astype(np.float64)).ravel()
    for at_column, column in enumerate(columns):
        step = float(steps[column])
        coarse, fine = (_difference(screen, i, o, int(column), h) for h in (step, step / 2))
        with np.errstate(all='ignore'):
            numeric[:, at_column] = coarse if fixed else (4 * fine - coarse) / 3
            error[:, at_column] = noise / step if fixed else abs(fine - coarse) + 4 * noise / step
    return numeric, error


def _difference(screen: Derivatives, i: int, o: int, column: int, step: float) -> Any:
    """One column of the Jacobian of an output by a central difference."""
    sides = []
    for sign in (1, -1):
        arrays = list(screen.arrays)
        moved = get_array_module(arrays[i]).array(arrays[i], order='C')
        moved.ravel()[column] += sign * step
        arrays[i] = moved
        with np.errstate(all='ignore'):
            y = screen.point.subject.outputs(arrays)[o]
        sides.append(host(y).astype(np.float64).ravel())
    with np.errstate(all='ignore'):
        return (sides[0] - sides[1]) / (2 * step)
