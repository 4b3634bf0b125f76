"""What is true of a case, found without the checker: its gradients, how they differ, and the proof of each entry."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from minichainer.differentiate import grad
from minichainer.variable import Variable
from tests.verification.catalogue.entry import Case, Correct, Planted

CERTAIN = {'d': 1e-6, 'f': 1e-4, 'e': 1e-2}  # of the greatest gradient: a wrong element that must be found
POSSIBLE = 1e-13  # of the same: below that an element is right
CERTAIN_PRECISE = 1e-11  # the same at 50 digits, where right elements are the same to the last bit
NATIVE = 1e-5  # the same where float64 is refused
CERTAIN_NATIVE = 2e-2
PROVED = 1e-11  # of the same: far above the rounding of float64, so that a fault is a fault
#: Upstream gradients of a proof: ordinary ones, none at all, huge and tiny ones.
SIZES = (1.0, 1.0, 1.0, 0.0, 1e3, 1e-4, 1e6, 1e-6)


class Contradiction(Exception):
    """An entry does not do what it says."""


def leaves(value: Any, path: str = '') -> Iterator[tuple[str, Any]]:
    """Float arrays in nested containers, with their paths: ``0.b[1]``."""
    if isinstance(value, np.ndarray):
        if value.dtype.kind == 'f':
            yield path, value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from leaves(item, f'{path}.{key}')
    elif isinstance(value, (tuple, list)):
        for i, item in enumerate(value):
            yield from leaves(item, f'{path}[{i}]' if path else str(i))


def as_variables(value: Any, made: list[Any], dtype: Any = None) -> Any:
    """The same containers with Variables for arrays; those of floats are added to ``made``."""
    if isinstance(value, np.ndarray):
        is_float = value.dtype.kind == 'f'
        variable = Variable(value.astype(dtype or value.dtype) if is_float else value.copy(), requires_grad=is_float)
        if is_float:
            made.append(variable)
        return variable
    if isinstance(value, dict):
        return {key: as_variables(item, made, dtype) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return type(value)([as_variables(item, made, dtype) for item in value])
    return value


def names(case: Case, order: int = 1) -> list[Any]:
    """How a report names the inputs: positions, paths, parameters; at higher orders upstream gradients too."""
    found = [int(path) if path.isdigit() else path for path, _ in leaves(case.inputs)]
    return found + [name for name, _ in parameters(case.func, case)]


def parameters(func: Any, case: Case) -> list[Any]:
    """Names and parameters of a Link, where they are to be checked too."""
    return sorted(func.namedparams()) if case.options.get('params') == 'all' else []


def apply(func: Any, case: Case, dtype: Any = None) -> tuple[list[Variable], list[Variable]]:
    """Its differentiable inputs (and parameters), and its differentiable outputs."""
    made: list[Any] = []
    arguments = [as_variables(value, made, dtype) for value in case.inputs]
    made += [p for _, p in parameters(func, case)]
    ys = func(*arguments)
    ys = list(ys) if isinstance(ys, (tuple, list)) else [ys]
    return made, [y for y in ys if y.dtype.kind == 'f' and y.requires_grad]


def gradients(func: Any, case: Case, order: int, draw: int, dtype: Any = None) -> list[Any]:
    """Arrays (or None): gradients of the order, for the upstream gradients number ``draw``."""
    rng = np.random.RandomState(draw)
    sources, results = apply(func, case, dtype)
    for remaining in range(order - 1, -1, -1):
        upstream = [_upstream(y, rng, 1.0 if remaining else SIZES[draw]) for y in results]
        found = grad(results, sources, upstream, enable_double_backprop=remaining > 0)
        if remaining:
            sources, results = sources + upstream, [g for g in found if g is not None and g.requires_grad]
            if not results:
                return [None] * len(sources)
    return [None if g is None else g.array for g in found]


def _upstream(y: Variable, rng: np.random.RandomState, size: float) -> Variable:
    """Of either sign, and well away from zero."""
    values = rng.uniform(0.5, 1.5, y.shape) * np.where(rng.random_sample(y.shape) < 0.5, -size, size)
    return Variable(np.asarray(values, y.dtype))


def difference(entry: Planted, case: Case, draws: int = 3) -> list[Any]:
    """For each input, at the order at which it is wrong: the error, relative to the greatest gradient."""
    order = entry.wrong_at or entry.order
    dtype = None if case.options or entry.native else 'd'
    worst: list[Any] = []
    for draw in range(draws):
        found = gradients(case.func, case, order, draw, dtype)
        wanted = gradients(case.right, case, order, draw, dtype)
        found += [None] * (len(wanted) - len(found))
        errors = [_error(g, w) for g, w in zip(found, wanted, strict=True)]
        worst = errors if not worst else [np.maximum(a, e) for a, e in zip(worst, errors, strict=True)]
    return worst


def _error(found: Any, wanted: Any) -> Any:
    """Infinite where the gradient is NaN or does not fit; all of it where one of the two is None."""
    if found is None and wanted is None:
        return np.zeros(())
    if found is None or wanted is None:
        return np.asarray(abs(wanted if found is None else found), 'd') / (_size(wanted) or 1)
    if found.shape != wanted.shape or found.dtype.kind != 'f':
        return np.full(wanted.shape, np.inf)
    error = abs(found.astype('d') - wanted) / (_size(wanted) or 1)
    return np.where(np.isnan(error), np.inf, error)


def _size(wanted: Any) -> float:
    return 0.0 if wanted is None else float(abs(wanted).max(initial=0))


# --- proofs -----------------------------------------------------------------------------------------------------


def prove_planted(entry: Planted, case: Case) -> None:
    """Raises Contradiction unless the case is wrong, by more than rounding, where the entry says so."""
    if entry.proof is not None:
        _expect(entry.proof(case), entry, 'does not misbehave')
        return
    _same_values(entry, case)
    try:
        errors = difference(entry, case, len(SIZES))
    except (TypeError, ValueError) as error:  # the node itself refuses what it would not sum up
        _expect(entry.family in ('shape', 'dtype') and 'returned a wrong gradient' in str(error), entry, str(error))
        return
    if entry.family == 'dtype':
        return _prove_dtype(entry, case)
    proved = NATIVE if entry.native else PROVED
    wrong = [i for i, error in enumerate(errors) if (error > proved).any()]
    _expect(bool(wrong), entry, 'has the right gradient')
    if entry.at is not None and (entry.wrong_at or entry.order) == entry.order:
        place = names(case).index(entry.at) if entry.order == 1 else entry.at
        _expect(wrong == [place], entry, f'is wrong in inputs {wrong}, not in {entry.at}')
    if callable(entry.where):
        expected = entry.where(*case.inputs)
        _expect(np.array_equal(errors[wrong[0]] > proved, expected), entry, 'is wrong in other elements')


def _prove_dtype(entry: Planted, case: Case) -> None:
    found = gradients(case.func, case, 1, 0)
    wanted = gradients(case.right, case, 1, 0)
    differ = [g.dtype != w.dtype for g, w in zip(found, wanted, strict=True)]
    _expect(differ == [i == entry.at for i in range(len(differ))], entry, 'has the right dtypes')


def _same_values(entry: Any, case: Case) -> None:
    """The planted function and the right one must agree in all but their gradients."""
    _, ys = apply(case.func, case)
    _, rights = apply(case.right, case)
    same = all(np.allclose(y.array, z.array, rtol=1e-5) for y, z in zip(ys, rights, strict=True))
    _expect(same, entry, 'gives other values than the right function')


def prove_correct(entry: Correct, case: Case) -> None:
    """Raises Contradiction unless the gradient of the case, in float64, is right to the entry's tolerance."""
    dtype = None if entry.native or case.options else 'd'
    for order in range(1, entry.order + 1):
        _prove_order(entry, case, order, dtype)


def _prove_order(entry: Correct, case: Case, order: int, dtype: Any) -> None:
    sources, results = _sources_at(case, order, dtype)
    rng = np.random.RandomState(9)
    upstream = [_upstream(y, rng, 1.0).array for y in results]
    found = grad(results, sources, [Variable(gy) for gy in upstream])
    for i, (x, g) in enumerate(zip(sources, found, strict=True)):
        _compare(entry, case, (order, dtype, upstream), i, x.array, None if g is None else g.array)


def _sources_at(case: Case, order: int, dtype: Any, moved: Any = None) -> tuple[Any, Any]:
    """The variables and the results at an order; ``moved = (i, array)`` puts another value in place of one."""
    sources, results = _moved(case, dtype, moved)
    for _ in range(order - 1):
        rng = np.random.RandomState(5)
        upstream = [_upstream(y, rng, 1.0) for y in results]
        if moved is not None and moved[0] >= len(sources):
            upstream[moved[0] - len(sources)] = Variable(moved[1])
        found = grad(results, sources, upstream, enable_double_backprop=True)
        sources, results = sources + upstream, [g for g in found if g is not None and g.requires_grad]
    return sources, results


def _moved(case: Case, dtype: Any, moved: Any) -> tuple[Any, Any]:
    if moved is None:
        return apply(case.func, case, dtype)
    made: list[Any] = []
    arguments = [as_variables(value, made, dtype) for value in case.inputs]
    made += [p for _, p in parameters(case.func, case)]
    kept = None
    if moved[0] < len(made):
        kept, made[moved[0]].array = made[moved[0]].array, moved[1]
    ys = case.func(*arguments)
    if kept is not None and moved[0] >= len(list(leaves(case.inputs))):
        made[moved[0]].array = kept
    ys = list(ys) if isinstance(ys, (tuple, list)) else [ys]
    return made, [y for y in ys if y.dtype.kind == 'f' and y.requires_grad]


def _compare(entry: Correct, case: Case, how: Any, i: int, x: Any, g: Any) -> None:
    """Along eight elements and one random direction; by finer steps too, if a kink lies within the first."""
    g = np.zeros(x.shape) if g is None else g.astype('d')
    for direction in _directions(x):
        found = float((g * direction).sum())
        size = float((abs(g) * abs(direction)).sum())
        size += 1e-6 * float(abs(g).max(initial=0) * abs(direction).max(initial=0))  # terms that cancel
        rounding = entry.rounding * float(abs(direction).max(initial=0))
        errors = []
        for wanted, noise in _references(case, how, i, x, direction):
            errors.append((abs(found - wanted) - noise - rounding) / (size + abs(wanted) or 1))
            if errors[-1] <= entry.tolerance:
                break
        _expect(min(errors) <= entry.tolerance, entry, f'gradient of input {i}: {found} for {wanted}')


def _references(case: Case, how: Any, i: int, x: Any, direction: Any) -> Iterator[tuple[float, float]]:
    if case.forward is not None and how[0] == 1:
        yield _complex_step(case, how[2], i, direction)
        return
    for step in STEPS:
        yield _differences(case, how, (i, x, direction), step)


def _directions(x: Any) -> Iterator[Any]:
    rng = np.random.RandomState(7)
    unit = np.where(x == 0, 1.0, abs(x.astype('d'))) if x.size else np.ones(x.shape)
    for index in rng.permutation(x.size)[:8]:
        direction = np.zeros(x.shape)
        direction.flat[index] = unit.flat[index]
        yield direction
    yield unit * rng.uniform(-1, 1, x.shape)


def _complex_step(case: Case, upstream: Any, i: int, direction: Any) -> tuple[float, float]:
    """The derivative from the imaginary part of ``f(x + ih)``, right to the last digits; h squared is its noise."""
    xs = [a.astype('d') + 0j for _, a in leaves(case.inputs)]
    xs[i] = xs[i] + 1e-30j * direction
    with np.errstate(all='ignore'):
        ys = case.forward(*xs)  # type: ignore[misc]
    ys = ys if isinstance(ys, tuple) else (ys,)
    total = sum(float((gy * np.asarray(y).imag).sum()) for gy, y in zip(upstream, ys, strict=True)) / 1e-30
    return total, 1e-40 * float(abs(direction).max(initial=0)) * sum(float(abs(gy).sum()) for gy in upstream)


STEPS = (1e-3, 1e-4, 1e-5)


def _differences(case: Case, how: Any, line: Any, step: float) -> tuple[float, float]:
    """Central differences of the sixth order of the package's own functions, and their rounding."""
    order, dtype, upstream = how
    i, x, direction = line
    values = {t: _values_at(case, order, dtype, (i, x, t * step * direction)) for t in (-3, -2, -1, 1, 2, 3)}
    total = noise = 0.0
    for t, weight in ((1, 0.75), (2, -0.15), (3, 1 / 60)):
        for gy, above, below in zip(upstream, values[t], values[-t], strict=True):
            change = above.astype('d') - below
            total += weight * float((gy * change).sum()) / step
            noise += float((abs(gy * above) * (change != 0)).sum()) * np.finfo(above.dtype).eps * 100 / step
    return total, noise


def _values_at(case: Case, order: int, dtype: Any, moved: Any) -> list[Any]:
    i, x, shift = moved
    _, ys = _sources_at(case, order, dtype, (i, np.asarray(x + shift, x.dtype)))
    return [y.array for y in ys]


def _expect(fits: bool, entry: Any, what: str) -> None:
    if not fits:
        raise Contradiction(f'{entry.name}: {what}')
