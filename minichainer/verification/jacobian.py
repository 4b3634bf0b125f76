"""Compares the Jacobian of small problems row by row: backward for each element of an output alone.

The weighted sum of the rows must be the gradient for the weights, which slopes have confirmed. So an error in any
entry shows, for one backward pass per row and without a step; only columns with a difference are measured.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from minichainer.backend import get_array_module
from minichainer.verification.arrays import full, host, largest, norm, root_mean_square
from minichainer.verification.comparison import differ
from minichainer.verification.directional_derivatives import Derivatives
from minichainer.verification.exact_checks import at
from minichainer.verification.forward_rounding import measure_noise

#: Larger Jacobians are screened only.
MOST_ENTRIES = 10_000


def full_jacobian(derivatives: Derivatives) -> None:
    """Compares every entry of the Jacobian of each output with regard to each leaf."""
    order_check = derivatives.order_check
    calls = order_check.function.calls
    before = calls.forward, calls.backward
    for k, o in enumerate(derivatives.outputs):
        leaves = [i for i in order_check.function.moving if _is_small(derivatives, i, k)]
        if leaves:
            _compare(derivatives, k, [i for i in leaves if (o, i) not in order_check.broken])
    order_check.report.jacobian_calls += calls.forward - before[0] + calls.backward - before[1]
    calls.forward, calls.backward = before


def _is_small(derivatives: Derivatives, i: int, k: int) -> bool:
    """Whether the Jacobian has few entries, and any; a note says so where it has many."""
    entries, o = derivatives.arrays[i].size * derivatives.values[k].size, derivatives.outputs[k]
    if entries > MOST_ENTRIES:
        label = derivatives.order_check.function.leaves[i].label
        derivatives.order_check.report.notes.append(
            f'The Jacobian of output {o} with regard to {label} has {entries} entries, more than '
            f'{MOST_ENTRIES}: screened along random directions, not compared entry by entry.'
        )
    return bool(0 < entries <= MOST_ENTRIES)


def _compare(derivatives: Derivatives, k: int, leaves: list[int]) -> None:
    """Compares the rows of an output, and measures the columns where they do not add up."""
    rows = _rows(derivatives, k, leaves)
    gys, v = derivatives.only(k, derivatives.upstream[0][k]), host(derivatives.upstream[0][k]).ravel()
    for i in leaves:
        x = derivatives.arrays[i]
        expected = full(derivatives.gradients[0][k][i], x)
        terms = v[:, None] * rows[i]
        found = get_array_module(x).asarray(terms.sum(axis=0).reshape(x.shape))
        off = differ(derivatives, gys, i, found, expected, largest(terms) * len(v) ** 0.5)
        if off is not None:
            _measure(derivatives, i, k, rows[i], np.flatnonzero(host(off)))


#: Steps to try for an entry, relative to the first one.
_SHRINK = (1.0, 1 / 16, 1 / 256)


def _measure(derivatives: Derivatives, i: int, k: int, analytic: Any, suspects: Any) -> None:
    """Measures columns of the Jacobian, and reports wrong entries."""
    wrong, numeric = np.zeros(analytic.shape, bool), np.zeros(analytic.shape)
    wrong[:, suspects] = True
    left, used = np.zeros(0), np.zeros(0)  # by how much the last attempt found backward to be off, and its steps
    for steps in _attempts(derivatives, i, k, analytic):
        columns = np.flatnonzero(wrong.any(axis=0))
        if not columns.size:
            return
        numeric[:, columns], excess = _excess(derivatives, i, k, analytic, columns, steps)
        wrong[:, columns] &= excess > 0
        left, used = np.where(wrong[:, columns], excess, 0.0), steps[columns]
    if wrong.any() and not _is_noise(derivatives, i, k, left, used):
        _report(derivatives, i, k, wrong, numeric, analytic)


def _excess(derivatives: Derivatives, i: int, k: int, analytic: Any, columns: Any, steps: Any) -> tuple[Any, Any]:
    """The measured columns, and by how much the error of each entry exceeds what is allowed."""
    numeric, error = _columns(derivatives, i, k, columns, steps)
    atol, rtol = derivatives.order_check.options.extra
    with np.errstate(all='ignore'):
        allowed = 100 * error + 1e-6 * abs(analytic).max(initial=0.0) + atol + rtol * abs(numeric)
        excess = abs(numeric - analytic[:, columns]) - allowed
    return numeric, np.where(np.isfinite(error), np.where(np.isnan(excess), np.inf, excess), 0.0)


def _report(derivatives: Derivatives, i: int, k: int, wrong: Any, numeric: Any, analytic: Any) -> None:
    off = np.where(wrong, abs(numeric - analytic), 0.0)
    row, column = (int(n) for n in np.unravel_index(np.nanargmax(off), off.shape))
    index = tuple(map(int, np.unravel_index(column, derivatives.arrays[i].shape)))
    element = derivatives.order_check.place(
        derivatives.outputs[k], tuple(map(int, np.unravel_index(row, derivatives.values[k].shape)))
    )
    cause = (
        f'unknown: entries of the Jacobian differ ({int(wrong.sum())} of {wrong.size}), the worst in element '
        f'{element} of the output'
    )
    values = {'index': index, 'numeric': at(numeric, (row, column)), 'analytic': at(analytic, (row, column))}
    derivatives.order_check.fail(derivatives.outputs[k], i, cause, **values)


def _is_noise(derivatives: Derivatives, i: int, k: int, excess: Any, steps: Any) -> bool:
    """Whether measured rounding errors inside the function explain the remaining differences."""
    measure_noise(derivatives, i, [derivatives.along(i, direction) for direction in derivatives.directions(i)])
    noise = float(derivatives.noise[i][k])
    backward = largest(derivatives.backward_noise(i)[k])
    return bool((excess <= 16 * noise / steps[None] + 16 * backward).all())


def _attempts(derivatives: Derivatives, i: int, k: int, analytic: Any) -> Iterator[Any]:
    """Steps for all elements, one attempt after another.

    First the usual steps, last those at which values change by a small part of their size, according to backward.
    """
    usual = _steps(derivatives, i)
    for shrink in _SHRINK:
        yield shrink * usual
    with np.errstate(all='ignore'):
        near = (
            max(2e-3, derivatives.precision**0.25) * norm(derivatives.values[k]) / np.sqrt((analytic**2).sum(axis=0))
        )
    if bool((near < _SHRINK[-1] * usual).any()):
        yield np.where((near > 0) & (near < usual), near, _SHRINK[-1] * usual)


def _steps(derivatives: Derivatives, i: int) -> Any:
    """The step of each element of a leaf."""
    x = abs(host(derivatives.arrays[i]).astype(np.float64)).ravel()
    return max(2e-3, derivatives.precision**0.25) * np.where(x > 0, x, root_mean_square(x) or 1.0)


def _rows(derivatives: Derivatives, k: int, leaves: list[int]) -> dict[int, Any]:
    """The Jacobians of an output from backward: one pass per element of the output, for all leaves."""
    y = derivatives.values[k]
    jacobians = {i: np.zeros((y.size, derivatives.arrays[i].size)) for i in leaves}
    for row in range(y.size):
        unit = get_array_module(y).zeros(y.size, y.dtype)
        unit[row] = 1
        gys: list[Any] = [None] * len(derivatives.evaluation.outputs)
        gys[derivatives.outputs[k]] = unit.reshape(y.shape)
        found = derivatives.evaluation.vjp(gys)
        for i in leaves:
            if found[i] is not None:
                jacobians[i][row] = host(found[i]).ravel()
    return jacobians


def _columns(derivatives: Derivatives, i: int, k: int, columns: Any, steps: Any) -> tuple[Any, Any]:
    """Columns from differences with four calls per element, and how far the two steps disagree."""
    o = derivatives.outputs[k]
    shape = (derivatives.values[k].size, len(columns))
    numeric, error = np.empty(shape), np.empty(shape)
    noise = 8 * derivatives.precision * abs(host(derivatives.values[k]).astype(np.float64)).ravel()
    for at_column, column in enumerate(columns):
        step = float(steps[column])
        coarse, fine = (_difference(derivatives, i, o, int(column), h) for h in (step, step / 2))
        with np.errstate(all='ignore'):
            numeric[:, at_column] = (4 * fine - coarse) / 3
            error[:, at_column] = abs(fine - coarse) + 4 * noise / step
    return numeric, error


def _difference(derivatives: Derivatives, i: int, o: int, column: int, step: float) -> Any:
    """One column of the Jacobian of an output by a central difference."""
    sides = []
    for sign in (1, -1):
        arrays = list(derivatives.arrays)
        moved = get_array_module(arrays[i]).array(arrays[i], order='C')
        moved.ravel()[column] += sign * step
        arrays[i] = moved
        with np.errstate(all='ignore'):
            y = derivatives.order_check.function.outputs(arrays)[o]
        sides.append(host(y).astype(np.float64).ravel())
    with np.errstate(all='ignore'):
        return (sides[0] - sides[1]) / (2 * step)
