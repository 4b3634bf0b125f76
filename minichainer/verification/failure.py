"""What a failed directional check says: the two slopes, which argument is wrong, which of its elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from minichainer.backend import get_array_module
from minichainer.verification.differences import describe_arrays
from minichainer.verification.directional import SEED, Argument, DirectionalCheck, name_of

#: Arrays up to this size are shown in full and compared element by element.
SMALL = 64
_ROWS = 10


def failure_message(check: DirectionalCheck, numeric: float) -> str:
    """The text of the AssertionError; calls the function again to find out where the error lies."""
    s, analytic = check.settings, check.analytic
    lines = [
        f'{s.title} failed (eps={s.eps} atol={s.atol} rtol={s.rtol}) for {name_of(check.func)}',
        f'Slopes along one random direction over all compared arguments (unit length, seed {SEED}):',
        f'  gradients (numeric):  {numeric!r}',
        f'  gradients (backward): {analytic!r}',
        f'  error: {abs(numeric - analytic):.6g}, allowed: {s.tolerance(analytic):.6g}',
    ]
    try:
        lines += _location(check)
    except Exception as error:  # what has to be reported is the mismatch
        lines.append(f'Where the error lies is unknown: another call of the function gave {error!r}')
    return '\n'.join([*lines, *_hints(check, numeric, analytic), *_arrays(check)])


def _location(check: DirectionalCheck) -> list[str]:
    shares = [(a, check.numeric({a: a.direction}), a.analytic) for a in check.compared]
    lines = ['Argument by argument:']
    for a, numeric, analytic in shares:
        verdict = 'ok' if check.settings.close(numeric, analytic) else 'WRONG'
        missing = ' (no gradient)' if a.gradient is None else ''
        lines.append(f'  {a.name}: numeric {numeric:.8g}, backward {analytic:.8g}{missing}  {verdict}')
    worst = max(shares, key=lambda share: _badness(share[1], share[2]))[0]
    if worst.array.size <= SMALL:
        return lines + _elements(check, worst)
    return [
        *lines,
        f'{worst.name} has {worst.array.size} elements; check a smaller one to see which are wrong.',
    ]


def _badness(numeric: float, analytic: float) -> float:
    error = abs(numeric - analytic)
    return error if np.isfinite(error) else np.inf


def _elements(check: DirectionalCheck, argument: Argument) -> list[str]:
    shape = argument.array.shape
    numeric, analytic = np.empty(shape), np.zeros(shape)
    for index in np.ndindex(shape):
        numeric[index] = check.numeric({argument: _unit(argument.array, index)})
    if argument.gradient is not None:
        analytic[...] = _on_host(argument.gradient)
    wrong = ~check.settings.close(numeric, analytic)
    if not wrong.any():
        return [f'Yet no single element of {argument.name} is wrong: is the function noisy, or eps too large?']
    lines = [f'{wrong.sum()} of {wrong.size} elements of {argument.name} are wrong, the worst first:']
    return lines + _table(numeric, analytic, wrong) + _ratio(numeric[wrong], analytic[wrong])


def _table(numeric: Any, analytic: Any, wrong: Any) -> list[str]:
    with np.errstate(invalid='ignore'):
        error = abs(numeric - analytic)
    badness = np.where(wrong, np.where(np.isnan(error), np.inf, error), -1.0)
    worst = np.argsort(-badness, axis=None, kind='stable')[: min(_ROWS, int(wrong.sum()))]
    rows = ['  index | numeric | backward | error']
    for flat in worst:
        i = tuple(map(int, np.unravel_index(flat, numeric.shape)))
        rows.append(f'  {i} | {numeric[i]:.8g} | {analytic[i]:.8g} | {error[i]:.3g}')
    return rows


def _ratio(numeric: Any, analytic: Any) -> list[str]:
    """A sentence, where all wrong elements are wrong by the same factor."""
    if not np.all(np.isfinite(analytic)):
        return ['Backward gives NaN or infinity there.']
    if not np.any(analytic):
        return ['Backward gives zero, or no gradient at all, where the function does depend on the argument.']
    with np.errstate(divide='ignore', invalid='ignore'):
        ratios = analytic / numeric
    if np.all(np.isfinite(ratios)) and np.ptp(ratios) <= 1e-3 * abs(ratios).max():
        return [f'Backward is {ratios.mean():.4g} times the numeric gradient in all of them.']
    return []


def _hints(check: DirectionalCheck, numeric: float, analytic: float) -> list[str]:
    if not np.isfinite(numeric):
        return ['The function itself gives NaN or infinity near these inputs: check its domain first.']
    compared = check.compared
    coarse = [a for a in compared if check.settings.cast(a.array).dtype.itemsize < 8]
    if coarse and abs(numeric - analytic) <= 0.05 * abs(analytic) + 1e-2:
        return [
            f'{coarse[0].name} is {coarse[0].array.dtype}: dtype=numpy.float64 frees the numeric side from '
            'rounding errors.'
        ]
    return []


def _arrays(check: DirectionalCheck) -> list[str]:
    named = [(a.name, a.array) for a in check.arguments]
    named += [(f'{check.settings.upstream}[{i}]', gy) for i, gy in enumerate(check.grad_outputs)]
    return [f'{name}: {_shown(array)}' for name, array in named if array is not None]


def _shown(array: Any) -> str:
    if array.size > SMALL:
        return f'{describe_arrays([array])}, from {array.min():.6g} to {array.max():.6g}'
    return f'{describe_arrays([array])}\n{_on_host(array)}'


def _on_host(array: Any) -> Any:
    return array if get_array_module(array) is np else array.get()


def _unit(array: Any, index: Any) -> Any:
    direction = np.zeros(array.shape)
    direction[index] = 1
    return get_array_module(array).asarray(direction)
