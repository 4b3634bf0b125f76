"""How good are the tests of the table? Each row's rule is made wrong in five ways, and the row's own tests must fail.

    python -m tests.functions.mutation [ROW ...]

A mutant changes what the last function of a row's graph passes on, in the ordinary and in the differentiable
backward alike, so that it is a consistent, wrong rule: the parity of the two evaluators cannot see it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import minichainer as chainer
import minichainer.functions as F
from minichainer.backprop import OutputNode
from tests.functions import checks
from tests.functions.row import Case, Row
from tests.functions.table import ROWS

Gradients = list[Any]


def _reordered(gradient: Any, order: Callable[[np.ndarray], np.ndarray]) -> Any:
    places = order(np.arange(gradient.size))
    if isinstance(gradient, chainer.Variable):
        return F.reshape(F.reshape(gradient, (-1,))[places], gradient.shape)
    return gradient.reshape(-1)[places].reshape(gradient.shape)


def _without_largest_element(gradient: Any) -> Any:
    array = gradient.array if isinstance(gradient, chainer.Variable) else gradient
    mask = np.ones(array.shape, array.dtype)
    if array.size:
        mask.reshape(-1)[np.abs(array).argmax()] = 0
    return gradient * mask


def _negate(gradients: Gradients) -> Gradients:
    return [-gx for gx in gradients]


def _scale(gradients: Gradients) -> Gradients:
    return [gx * np.asarray(1.01, gx.dtype) for gx in gradients]


def _drop(gradients: Gradients) -> Gradients:
    if len(gradients) == 1:
        return [_without_largest_element(gradients[0])]
    return [*gradients[:-1], gradients[-1] * np.asarray(0, gradients[-1].dtype)]


def _detach(gradients: Gradients) -> Gradients:
    return [None, *gradients[1:]]


def _roll(gradients: Gradients) -> Gradients:
    return [_reordered(gx, lambda places: np.roll(places, 1)) for gx in gradients]


def _double_largest(gradients: Gradients) -> Gradients:
    return [gx + (gx - _without_largest_element(gx)) for gx in gradients]


#: Name of the mutant -> what it makes of the gradients of a function's inputs, arrays or Variables.
MUTANTS: dict[str, Callable[[Gradients], Gradients]] = {
    'negate': _negate,
    'times 1.01': _scale,
    'drop a term or an input': _drop,
    'detach': _detach,
    'roll': _roll,
}
#: Instead of a roll where that changes nothing, as all elements of the gradient are equal.
INSTEAD_OF_ROLL = _double_largest

_NOTHING_DONE = 'with nothing to do it returns the Variable itself: there is no function, and no rule'
#: Mutants that change no gradient, and why.
EQUAL = {
    **{(row, mutant): _NOTHING_DONE for row in ('reshape[same shape]', 'sum_to[same shape]') for mutant in MUTANTS},
    (
        'decorrelated_batch_normalization',
        'negate',
    ): 'its last function, a reshape, is its first too: the signs cancel',
}


def in_python() -> Any:
    """Compiled ops, which compute their gradients themselves, leave these to Python."""
    return chainer.using_config('use_native_kernels', False)


@contextmanager
def mutated(cls: type, change: Callable[[Gradients], Gradients]) -> Iterator[None]:
    """Makes the gradients wrong that functions of a class pass on; those of :func:`in_python`."""
    pullback, pullback_variables = cls.pullback, cls.pullback_variables  # type: ignore[attr-defined]

    def wrong(found: Any) -> list[Any]:
        found = list(found)
        places = [i for i, gx in enumerate(found) if gx is not None]
        changed = change([found[i] for i in places]) if places else []
        for i, gx in zip(places, changed, strict=True):
            found[i] = gx
        return found

    def on_arrays(self: Any, gradient: Any, wanted: Any, table: Any) -> list[Any]:
        found = wrong(pullback(self, gradient, wanted, table))
        return [None if gx is None else np.asarray(gx) for gx in found]

    def on_variables(self: Any, gradient: Any, wanted: Any, table: Any) -> list[Any]:
        with chainer.using_config('enable_backprop', True):
            return wrong(pullback_variables(self, gradient, wanted, table))

    names = ('pullback', 'pullback_variables')
    saved = {name: cls.__dict__[name] for name in names if name in cls.__dict__}
    cls.pullback, cls.pullback_variables = on_arrays, on_variables  # type: ignore[attr-defined]
    try:
        yield
    finally:
        for name in names:
            delattr(cls, name)
        for name, method in saved.items():
            setattr(cls, name, method)


def last_function(row: Row, case: Case) -> type | None:
    """The class of the function that made the row's first result that has a gradient."""
    function, xs = checks.bound(row, case, row.draw(case))
    for y in function(*[chainer.Variable(x) for x in xs]):
        node = y.edge
        if isinstance(node, OutputNode):
            node = node.edges[0]
        if node.edges is not None:
            return type(node)
    return None


def gradients(row: Row, case: Case) -> list[Any]:
    function, xs = checks.bound(row, case, row.draw(case))
    return checks.gradients(function, xs, checks.upstream_of(function, xs))


def _differ(before: list[Any], after: list[Any]) -> bool:
    def same(a: Any, b: Any) -> bool:
        if a is None or b is None:
            return a is b or not np.any(a if b is None else b)  # nothing instead of zeros is as good
        return np.array_equal(a, b, equal_nan=True)

    return not all(same(a, b) for a, b in zip(before, after, strict=True))


def is_caught(row: Row, mutant: str) -> str:
    """What became of a mutant: 'caught', 'survived', or 'equal' where it changes no gradient of any case."""
    with in_python():
        return _verdict(row, mutant)


def _verdict(row: Row, mutant: str) -> str:
    verdict = 'equal'
    for case in row.cases:
        cls = last_function(row, case)
        if cls is None:
            continue
        before = gradients(row, case)
        changes = [MUTANTS[mutant], INSTEAD_OF_ROLL] if mutant == 'roll' else [MUTANTS[mutant]]
        for change in changes:
            with mutated(cls, change):
                if not _differ(before, gradients(row, case)):
                    continue
                verdict = 'survived'
                if not _passes(row, case):
                    return 'caught'
                break
    return verdict


def _passes(row: Row, case: Case) -> bool:
    try:
        for order in range(1, row.order + 1):
            checks.check_gradient(row, case, order)
    except AssertionError:
        return False
    return True


def main(names: list[str]) -> int:
    rows = [row for row in ROWS if row.order > 0 and (not names or row.name in names)]
    counts = dict.fromkeys(('caught', 'survived', 'equal'), 0)
    for number, row in enumerate(rows):
        for mutant in MUTANTS:
            verdict = is_caught(row, mutant)
            counts[verdict] += 1
            if verdict != 'caught':
                print(f'{verdict}: {mutant} in {row}: {EQUAL.get((str(row), mutant), "no reason is known")}')
        if sys.stderr.isatty():
            print(f'{number + 1}/{len(rows)} rows', end='\r', file=sys.stderr)
    tried = counts['caught'] + counts['survived']
    print(f'{counts["caught"]} of {tried} mutants of {len(rows)} rows caught; {counts["equal"]} change no gradient')
    return int(counts['survived'] > 0 or counts['equal'] > len(EQUAL))


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
