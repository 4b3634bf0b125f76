"""Causes that show in single entries of the Jacobian, where sums do not hide them."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from minichainer.verification.arrays import host
from minichainer.verification.diagnosis.evidence import Cause
from minichainer.verification.diagnosis.experiments import CLOSE, Entries, Experiments

#: Powers of known arrays that may be missing.
_POWERS = (1.0, -1.0, 2.0, -2.0, 0.5, -0.5, 3.0, -3.0)


# --- factors -----------------------------------------------------------------------------------------------------
def factor_of_entries(e: Experiments) -> Cause | None:
    """Each entry lacks the same product of powers of known arrays; a sum may hide that in the gradient."""
    entries = e.entries
    clear = entries.clear
    if clear is None:
        return None
    ratio = entries.ratio
    atoms = {name: values[clear] for name, values in _atoms(e, entries).items()}
    power = functools.cache(lambda name, exponent: _power(atoms[name], exponent))
    for names, powers in _products(list(atoms)):
        product = math.prod(map(power, names, powers), start=np.ones_like(ratio))
        constant = _constant(ratio, product)
        if constant is not None:
            return Cause('factor', _words(names, powers, constant))
    return None


def _atoms(e: Experiments, entries: Entries) -> dict[str, Any]:
    """The values at each entry of what may be a factor: inputs, the output, their logarithms and exponentials."""
    known = {
        leaf.label: host(array).astype(np.float64)
        for leaf, array in zip(e.derivatives.order_check.function.leaves, e.derivatives.arrays, strict=True)
        if array.dtype.kind == 'f'
    }
    known['the output'] = e.y
    atoms = {}
    for name, array in known.items():
        values = _at_entries(array, e, entries)
        if values is not None:
            atoms[name] = values
    for name, values in list(atoms.items()):
        with np.errstate(all='ignore'):
            if (values > 0).all():
                atoms[f'log({name})'] = np.log(values)
            atoms[f'exp({name})'] = np.exp(values)
    if 'the output' in atoms:
        atoms |= {'(1 - the output)': 1 - atoms['the output'], '(1 + the output)': 1 + atoms['the output']}
    return atoms


def _at_entries(array: Any, e: Experiments, entries: Entries) -> Any:
    """An array that has, or broadcasts to, the shape of the output or of the leaf, at each entry."""
    shape = len(entries.rows), len(entries.columns)
    for target, indices, side in ((e.y.shape, entries.rows, 0), (e.x.shape, entries.columns, 1)):
        try:
            whole = np.broadcast_to(array, target).ravel()[indices]
        except ValueError:
            continue
        return np.broadcast_to(whole[:, None] if side == 0 else whole, shape)
    return None


def _products(names: list[str]) -> Iterator[tuple[tuple[str, ...], tuple[float, ...]]]:
    """A constant, one array to a power, then two; low powers first."""
    yield (), ()
    for power in _POWERS:
        for name in names:
            yield (name,), (power,)
    for powers in sorted(itertools.product(_POWERS[:4], repeat=2), key=lambda p: sum(map(abs, p))):
        for pair in itertools.combinations(names, 2):
            yield pair, powers


def _power(values: Any, power: float) -> Any:
    with np.errstate(all='ignore'):
        return values**power if power == int(power) else abs(values) ** power


def _constant(ratio: Any, product: Any) -> float | None:
    """The number by which the product must be multiplied, if it is the same for all entries."""
    with np.errstate(all='ignore'):
        constants = ratio / product
    if not np.isfinite(constants).all() or not np.isfinite(product).all():
        return None
    if np.ptp(constants) > 2e-5 * abs(constants).max():  # far from equal, as most are: a median takes longer
        return None
    constant = float(np.median(constants))
    if not constant:
        return None
    return constant if bool((abs(constants - constant) <= 1e-5 * abs(constant)).all()) else None


def _words(names: tuple[str, ...], powers: tuple[float, ...], constant: float) -> str:
    factors = [n if p == 1 else f'{n}**{p:g}' for n, p in zip(names, powers, strict=True)]
    if not factors or abs(constant - 1) > 1e-5:
        factors = [f'{constant:.6g}', *factors]
    return f'the factor {" * ".join(factors)} is missing in what backward gives, in each term'


def factor_by_axes(e: Experiments) -> Cause | None:
    """Each entry lacks a factor for its index along one axis, or along each of two: a wrong sum to divide by."""
    entries = e.entries
    if entries.clear is None or (abs(entries.ratio - 1) < CLOSE).mean() > 0.5:
        return None
    sides = [(whose, entries.coordinates(whose == 'the output')) for whose in ('the input', 'the output')]
    for whose, indices in sides:
        for a in range(len(indices) if len(indices) > 1 else 0):
            if _is_product(entries.ratio, [indices[a]]):
                return Cause('factor', f'a factor for each index of axis {a} of {whose} is missing or wrong')
    for whose, indices in sides:
        for a, b in itertools.combinations(range(len(indices)), 2):
            if _is_product(entries.ratio, [indices[a], indices[b]]):
                text = f'backward lacks a factor for each index of axis {a} of {whose} and one for each of axis {b}'
                return Cause('wrong axis', f'{text}: divided by a sum along the wrong axis?')
    return None


def _is_product(values: Any, indices: list[Any]) -> bool:
    """Whether values are products of one number for each index, by several more equations than unknowns."""
    if len(indices) > 1 and not (np.sign(values) == np.sign(values[0])).all():
        return False
    logs = np.log(abs(values)) + 9.0 * (values < 0)
    table = np.concatenate([np.equal.outer(i, np.unique(i)) for i in indices], axis=1).astype(np.float64)
    fitted, _, rank, _ = np.linalg.lstsq(table, logs, rcond=None)
    return len(logs) >= rank + 3 and bool((abs(table @ fitted - logs) <= 1e-5).all())


# --- axes --------------------------------------------------------------------------------------------------------
def wrong_axis(e: Experiments) -> Cause | None:
    """Outputs and inputs are related along one axis, and in backward along another one."""
    entries = e.entries
    right = _related(abs(entries.right.T), entries.columns, e.x.shape, e.y.shape)
    given = {(p, q) for q, p in _related(abs(entries.given), entries.rows, e.y.shape, e.x.shape)}
    if not right or len(right) != len(given) or right == given or len(right) >= max(e.x.ndim, e.y.ndim):
        return None
    (p, q), (p2, q2) = sorted(right - given)[0], sorted(given - right)[0]
    text = (
        f'an output depends only on inputs with the same index of axis {q} (axis {p} of the output), but backward '
        f'relates axis {q2} to axis {p2}'
    )
    return Cause('wrong axis', text)


def mixes(e: Experiments, *axes: int) -> bool:
    """Whether outputs depend on inputs with different indices along one of these axes of the leaf."""
    right = _related(abs(e.entries.right.T), e.entries.columns, e.x.shape, e.y.shape)
    return not set(axes) <= {q for _, q in right}


def _related(table: Any, ones: Any, one_shape: tuple[int, ...], all_shape: tuple[int, ...]) -> set[tuple[int, int]]:
    """Pairs (axis of the other side, axis of this side) whose indices are equal wherever an entry is not zero.

    Args:
        table: Absolute values, one row for each chosen element of this side, one column for each of the other side.
        ones: Flat indices of the chosen elements.
        one_shape: The shape of this side.
        all_shape: The shape of the other side.
    """
    used = np.argwhere(table > CLOSE * table.max(initial=0))
    here = np.unravel_index(ones[used[:, 0]], one_shape) if one_shape else ()
    there = np.unravel_index(used[:, 1], all_shape) if all_shape else ()
    return {
        (p, q)
        for p, q in itertools.product(range(len(all_shape)), range(len(one_shape)))
        if all_shape[p] == one_shape[q] > 1 and bool((there[p] == here[q]).all())
    }
