"""Right functions, and a wrong twin of each, at magnitudes from 1e-300 to 1e200, through all entry points.

    python -m tests.verification.magnitudes [--runs 20000] [--seed 1] [--json FILE] [--all-twins]
    python -m tests.verification.magnitudes --show 1:137 --way 'gradcheck, fast' [--twin]

A run asks one entry point about one function at one point. The table counts right functions that were refused, entry
points that contradict each other at one point, what was not decided, and wrong twins that were missed; then each bad
case in a line, with the command that repeats it. A refusal is proved at 700 digits, element by element
(``catalogue/exact_slopes.py``): where the gradient of the function is inaccurate itself, that is listed apart.
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import json
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any
from unittest import mock

import numpy as np

from minichainer.errors import GradientDoubtWarning
from minichainer.gradient_check import (
    GradcheckError,
    check_backward,
    check_double_backward,
    check_gradients,
    gradcheck,
    gradgradcheck,
)
from minichainer.verification import arguments
from tests.functions.checks import derivative_of, outputs_of
from tests.verification.catalogue import exact_slopes, twins
from tests.verification.catalogue.extreme_points import Point, point, upstream

PASS, UNRESOLVED, KINK = 'pass', 'unresolved', 'nondifferentiable'
#: Where a function is inaccurate at extreme points itself: name (or its beginning), kind of values, why.
OP_FAULTS: dict[tuple[str, str], str] = {
    ('average[weights]', 'scaled'): 'the product of values and weights underflows before it is divided by theirs',
}


# --- ways to ask ----------------------------------------------------------------------------------------------------

Way = Callable[[Point, Callable[..., Any], int], Any]


def _generally(**options: Any) -> Way:
    def ask(p: Point, func: Callable[..., Any], seed: int) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter('ignore')
            return check_gradients(func, p.inputs, seed=seed, params=p.subject.params, **options)

    return ask


def _torch(check: Any, fast: bool) -> Way:
    return lambda p, func, seed: check(func, p.inputs, fast_mode=fast, seed=seed, params=p.subject.params)


def _chainer(dtype: Any) -> Way:
    def ask(p: Point, func: Callable[..., Any], seed: int) -> Any:
        gys = tuple(gy.copy() for gy in p.gys)
        check_backward(func, p.inputs, gys, p.subject.params, dtype=dtype)

    return ask


def _chainer_twice(p: Point, func: Callable[..., Any], seed: int) -> Any:
    gys, ggxs = (tuple(g.copy() for g in gs) for gs in (p.gys, p.ggxs))
    rng = np.random.RandomState(seed)
    ggparams = tuple(upstream(q.array, rng) for q in p.subject.params)
    check_double_backward(func, p.inputs, gys, ggxs, p.subject.params, ggparams)


#: By name: the order, and the call.
WAYS: dict[str, tuple[int, Way]] = {
    'check_gradients': (1, _generally()),
    'check_gradients, float64': (1, _generally(precise=False)),
    'gradcheck': (1, _torch(gradcheck, False)),
    'gradcheck, fast': (1, _torch(gradcheck, True)),
    'check_backward': (1, _chainer(None)),
    'check_backward, float64': (1, _chainer(np.float64)),
    'check_gradients, order 2': (2, _generally(order=2)),
    'gradgradcheck': (2, _torch(gradgradcheck, False)),
    'gradgradcheck, fast': (2, _torch(gradgradcheck, True)),
    'check_double_backward': (2, _chainer_twice),
}
#: For tables.
SHORT = dict(zip(WAYS, ('cg', 'cg64', 'gc', 'gcf', 'cb', 'cb64', 'cg2', 'ggc', 'ggcf', 'cdb'), strict=True))


def ways_of(p: Point) -> list[str]:
    """The entry points that can be asked."""
    return [name for name, (order, _) in WAYS.items() if order == 1 or p.twice]


def ask(p: Point, way: str, func: Callable[..., Any]) -> tuple[str, str]:
    """The verdict of an entry point, and what it says."""
    seed = (p.seed * 1009 + p.number) % 2**31
    drawn = mock.patch.object(arguments, '_seed', lambda given: seed if given is None else int(given))
    with warnings.catch_warnings(record=True) as caught, np.errstate(all='ignore'), drawn:
        warnings.simplefilter('always')
        try:
            found = WAYS[way][1](p, func, seed)
        except GradcheckError as error:
            return getattr(getattr(error, 'report', None), 'verdict', 'fail'), str(error)
        except Exception as error:
            return f'error: {type(error).__name__}', str(error)
    if isinstance(getattr(found, 'verdict', None), str):
        return found.verdict, str(found)
    return _warned(caught)


def _warned(caught: Any) -> tuple[str, str]:
    """A pass, or what a warning says instead."""
    texts = [str(w.message) for w in caught]
    for warning in caught:
        text = str(warning.message)
        if not issubclass(warning.category, GradientDoubtWarning) or 'vouch' in text:
            continue
        return (UNRESOLVED if 'unresolved' in text else KINK), text
    return PASS, ' '.join(texts)


# --- outcomes -------------------------------------------------------------------------------------------------------


@dataclasses.dataclass
class Outcome:
    """What came of one run: ``what`` is the class under which it is counted."""

    point: str
    number: int
    seed: int
    way: str
    verdict: str
    what: str
    said: str = ''
    twin: str = ''

    @property
    def again(self) -> str:
        """The command that repeats it."""
        twin = f' --twin {self.twin.split(" in ")[0]!r}' if self.twin else ''
        return f'python -m tests.verification.magnitudes --show {self.seed}:{self.number} --way {self.way!r}{twin}'


class Proofs:
    """What is true of a point, by order; found when it is asked for."""

    def __init__(self, p: Point) -> None:
        self.p = p
        self.found: dict[tuple[int, str], exact_slopes.Proof] = {}

    def of(self, order: int, dtype: str = 'd') -> exact_slopes.Proof:
        """Of an order, for gradients that are computed in a dtype."""
        if (order, dtype) not in self.found:
            self.found[order, dtype] = self._prove(order, dtype)
        return self.found[order, dtype]

    def _prove(self, order: int, dtype: str) -> exact_slopes.Proof:
        p = self.p
        func, arrays, gys = _at_order(p, order, p.arrays)
        return exact_slopes.prove(func, [a.astype('d') for a in arrays], gys, dtype)


def _at_order(p: Point, order: int, arrays: list[Any]) -> tuple[Any, list[Any], list[Any]]:
    func = lambda *xs: outputs_of(p.subject.func(*xs))  # noqa: E731
    if order == 1:
        return func, arrays, p.gys
    return derivative_of(func, len(arrays)), [*arrays, *p.gys], p.ggxs


def judged(p: Point, way: str, verdict: str, said: str, proofs: Proofs) -> str:
    """The class of what an entry point said of a right function."""
    if verdict == PASS:
        return PASS
    if verdict.startswith('error'):
        return 'raised'
    order = WAYS[way][0]
    if verdict == KINK and p.at_kink:
        return 'kink'
    if verdict == UNRESOLVED:
        return 'kink' if p.at_kink else UNRESOLVED
    dtype = p.dtype if 'dtype: in' in said else 'd'
    lower = [proofs.of(n, dtype) for n in range(1, order + 1)]
    if any(proof.kink for proof in lower):
        return 'kink' if verdict == KINK else 'refused at a kink'
    if verdict == KINK:
        return KINK
    if any(proof.known and not proof.right for proof in lower):
        known = any(p.subject.name.startswith(name) and p.kind == kind for name, kind in OP_FAULTS)
        return 'inaccurate, known' if known else 'inaccurate function'
    return 'refused' if all(proof.right for proof in lower) else 'refused, not proved'


def run_point(p: Point, ways: Sequence[str] = tuple(WAYS), all_twins: bool = False) -> Iterator[Outcome]:
    """Entry points at a point, and a wrong twin."""
    proofs, seen = Proofs(p), {}
    ways = [way for way in ways_of(p) if way in ways]
    for way in ways:
        verdict, said = ask(p, way, p.subject.func)
        seen[way] = verdict
        what = judged(p, way, verdict, said, proofs)
        yield Outcome(str(p), p.number, p.seed, way, verdict, what, said)
    for way, verdict in contradictions(seen):
        yield Outcome(str(p), p.number, p.seed, way, verdict, 'contradiction', _in_short(seen))
    yield from _twins(p, ways, all_twins)


def _in_short(seen: dict[str, str]) -> str:
    return '; '.join(f'{way}: {verdict}' for way, verdict in seen.items())


def contradictions(seen: dict[str, str]) -> list[tuple[str, str]]:
    """A way that refuses what another one of the same order, or of a higher one, passes; none, or the first."""
    agreed = (UNRESOLVED, KINK, PASS)
    passing = [WAYS[way][0] for way, verdict in seen.items() if verdict == PASS]
    refusing = [(way, verdict) for way, verdict in seen.items() if verdict not in agreed]
    return [(way, verdict) for way, verdict in refusing if any(order >= WAYS[way][0] for order in passing)][:1]


def _twins(p: Point, ways: Sequence[str], all_ways: bool) -> Iterator[Outcome]:
    if p.at_kink or not any(np.any(g) for g in p.gradients):
        return
    rng = np.random.RandomState([p.seed, p.number, 7])
    most = max(WAYS[way][0] for way in ways)
    names = [n for n, (_, _, order) in twins.FAULTS.items() if order <= most]
    names = [n for n in names if p.dtype != 'e' or '1.001' not in n]  # four roundings of float16 are allowed
    fault = str(rng.choice(names))
    ways = [way for way in ways if WAYS[way][0] >= twins.FAULTS[fault][2]]
    for way in ways if all_ways else [str(rng.choice(ways))]:
        yield _asked_about_twin(p, way, fault)


def _asked_about_twin(p: Point, way: str, fault: str) -> Outcome:
    rng = np.random.RandomState([p.seed, p.number, 8])
    wide = [a.astype('d') for a in p.arrays]
    twin = twins.plant(fault, p.subject.func, wide, p.gradients, p.outputs, rng)
    assert twin is not None
    verdict, said = ask(p, way, twin.func)
    refused = verdict not in (PASS, UNRESOLVED, KINK)
    what = 'twin found' if refused else 'twin missed' if verdict == PASS else 'twin undecided'
    if verdict == PASS and 'vouch' in said:
        what = 'twin not vouched for'
    return Outcome(str(p), p.number, p.seed, way, verdict, what + ', faint' * twin.faint, said, twin.name)


# --- the table ------------------------------------------------------------------------------------------------------


#: What must not happen; what is bad, the worst first.
REFUSED = ('refused', 'raised', 'contradiction', 'refused, not proved', 'refused at a kink')
BAD = (*REFUSED, 'twin missed', 'twin undecided', 'inaccurate function', KINK, UNRESOLVED)


def campaign(runs: int, seed: int, all_twins: bool = False, native: bool = False) -> list[Outcome]:
    """Points until so many runs of right functions have been made."""
    outcomes: list[Outcome] = []
    done, number = 0, 0
    while done < runs:
        p = point(seed, number)
        p.order = '=' if native else p.order
        found = list(run_point(p, all_twins=all_twins))
        done += sum(not (o.twin or o.what == 'contradiction') for o in found)
        outcomes += found
        number += 1
    return outcomes


def table(outcomes: list[Outcome]) -> str:
    """Counts, then classes of bad cases, the most frequent first, with a command for each."""
    rights = [o for o in outcomes if not o.twin and o.what != 'contradiction']
    wrong = [o for o in outcomes if o.twin and 'faint' not in o.what]
    counts = collections.Counter(o.what for o in outcomes)
    lines = [f'{len(rights)} runs at {len({(o.seed, o.number) for o in outcomes})} points, {len(wrong)} twins']
    for what, count in sorted(counts.items(), key=lambda item: -item[1]):
        of = [o for o in outcomes if 'faint' in o.what] if 'faint' in what else wrong if 'twin' in what else rights
        lines.append(f'{what:24} {count:6}  {100 * count / max(len(of), 1):6.2f} %')
    for what in BAD:
        lines += _classes(what, [o for o in outcomes if o.what == what])
    return '\n'.join(lines)


def _classes(what: str, outcomes: list[Outcome]) -> list[str]:
    """One line for each function and kind of values, and one command."""
    if not outcomes:
        return []
    groups: dict[Any, list[Outcome]] = collections.defaultdict(list)
    for o in outcomes:
        groups[_class(o)].append(o)
    lines = ['', f'## {what}: {len(outcomes)}']
    for (name, kind), found in sorted(groups.items(), key=lambda item: -len(item[1])):
        said = ' '.join(_told(found[0]).split())[:160]
        ways = ', '.join(sorted({SHORT[o.way] for o in found}))
        lines.append(f'{len(found):4} {name} [{kind} ({ways}): {found[0].verdict}; {said}\n       {found[0].again}')
    return lines


def _class(outcome: Outcome) -> tuple[str, str]:
    """The function and the kind of values; one class for all whose bytes are in the other order."""
    name, _, kind = outcome.point.rpartition(' [')
    if 'big-endian' in kind:
        return 'any function', f'big-endian, {outcome.verdict}]'
    return name.split('-')[0], kind


def _told(outcome: Outcome) -> str:
    """The line of a message that says most."""
    if outcome.twin:
        return outcome.twin
    lines = outcome.said.splitlines()
    return ' | '.join(lines[1:3] if len(lines) > 1 else lines)


# --- the command line -----------------------------------------------------------------------------------------------


def show(where: str, way: str, fault: str | None) -> None:
    """Repeats one run, and prints everything about it."""
    seed, number = map(int, where.split(':'))
    p = point(seed, number)
    print(p, f'order {2 if p.twice else 1}', 'at a kink' if p.at_kink else '')
    for name, arrays in (('inputs', p.inputs), ('gradients', p.gradients)):
        for i, a in enumerate(arrays):
            print(f'{name}[{i}] {a.dtype} {a.shape}: {a!r}')
    if fault:
        outcome = _asked_about_twin(p, way, fault)
        print(f'{outcome.twin}: {outcome.what}\n{outcome.said}')
        return
    verdict, said = ask(p, way, p.subject.func)
    proofs = Proofs(p)
    print(f'{verdict}: {judged(p, way, verdict, said, proofs)}\n{said}\nproved: {proofs.found}')


def main(arguments: list[str] | None = None) -> int:
    """The command line; 1 if a right function was refused or two entry points contradict each other."""
    parser = argparse.ArgumentParser(description=(__doc__ or '').split('\n')[0])
    parser.add_argument('--runs', type=int, default=2000)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--json', help='file for the outcomes that are not as they should be')
    parser.add_argument('--all-twins', action='store_true', help='the twin of a point through all entry points')
    parser.add_argument('--native', action='store_true', help='no arrays in the other order of bytes')
    parser.add_argument('--show', metavar='SEED:NUMBER', help='repeats one run')
    parser.add_argument('--way', default='check_gradients', choices=list(WAYS))
    parser.add_argument('--twin', metavar='FAULT', choices=list(twins.FAULTS))
    given = parser.parse_args(arguments)
    if given.show:
        show(given.show, given.way, given.twin)
        return 0
    started = time.time()
    outcomes = campaign(given.runs, given.seed, given.all_twins, given.native)
    print(table(outcomes))
    print(f'{time.time() - started:.0f} seconds')
    if given.json:
        bad = [{**dataclasses.asdict(o), 'again': o.again} for o in outcomes if o.what in BAD]
        with open(given.json, 'w') as file:
            json.dump(bad, file, indent=1)
    return int(any(o.what in REFUSED for o in outcomes))


if __name__ == '__main__':
    sys.exit(main())
