"""What gradient checkers find and what they blame: planted faults and right functions, on many seeds.

    python benchmarks/gradcheck_power.py [--seeds 20] [--rival-seeds 2] [--shape 3,4] [--dtype d] [--quick]
                                         [--tools minichainer,torch,autograd,JAX] [--first-seed 0] [--json FILE]
                                         [--parts catalogue,elements,linear,campaign,float32] [--runs 20000]
                                         [--entries plain,conditional,modes,precision,right]

Run it from a checkout: the catalogue lies in ``tests/verification/catalogue``. All tools get the same NumPy
functions with the same planted gradients, wrapped as custom functions of each tool, and their default settings.
The columns:

- caught: planted faults with an alarm (for minichainer: an accepted verdict; "unresolved" and errors are misses).
- false alarms: right functions with an alarm; unresolved: right functions that minichainer could not decide.
- exact: runs in which exactly the wrong elements are named; cause: runs whose worst failure has the right cause.
- calls: median forward / backward calls of a right function; seconds: all runs together.

The part ``campaign`` asks about right functions in all layouts of inputs, parameters and upstream gradients, in all
dtypes and through all functions of the checker, ``--runs`` times, and prints what was refused or not decided. The
part ``float32`` asks about functions that take nothing but float32, as kernels do: there is no float64 to measure in.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import statistics
import sys
import time
from pathlib import Path
from typing import Any

for _name in ('OPENBLAS_NUM_THREADS', 'OMP_NUM_THREADS', 'MKL_NUM_THREADS'):
    os.environ[_name] = '1'
ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / 'benchmarks')]

import _gradcheck_rivals as rivals  # noqa: E402
import numpy as np  # noqa: E402

import minichainer.functions as F  # noqa: E402
from minichainer.gradient_check import gradcheck  # noqa: E402
from minichainer.variable import Variable  # noqa: E402
from tests.verification.catalogue import planting, scoring  # noqa: E402
from tests.verification.catalogue.bases import SQUARE_TIMES  # noqa: E402
from tests.verification.catalogue.campaign import trial  # noqa: E402
from tests.verification.catalogue.entry import Planted  # noqa: E402
from tests.verification.catalogue.everything import (  # noqa: E402
    BEYOND,
    CONDITIONAL,
    CORRECT,
    MODES,
    PLAIN,
    PLANTED,
    PRECISION,
)

GOALS = {'caught': 1.0, 'false alarms': 0, 'unresolved': 0.01, 'exact': 0.99, 'cause': 0.90}
TOO_LARGE = 4e6  # entries of a Jacobian that a slow check would have to hold


class Score:
    """Counts of one tool at one shape and dtype."""

    def __init__(self, tool: str) -> None:
        self.tool = tool
        self.bugs = self.caught = self.rights = self.alarms = self.unresolved = 0
        self.exact: list[bool] = []
        self.causes: list[bool] = []
        self.unseen: list[bool] = []
        self.calls: list[tuple[int, int]] = []
        self.seconds = 0.0
        self.missed: dict[str, int] = {}
        self.blamed: dict[str, int] = {}

    def add_outcome(self, entry: Any, outcome: Any) -> None:
        """A run of minichainer."""
        self.seconds += outcome.seconds
        if getattr(entry, 'unseen', ''):
            self.unseen.append(outcome.right)
            return
        if isinstance(entry, Planted):
            self._bug(entry, outcome.right)
            self.exact += [] if outcome.exact is None else [outcome.exact]
            self.causes += [] if outcome.cause is None else [outcome.cause]
            return
        self.rights += 1
        self.calls.append(outcome.calls)
        self.unresolved += outcome.verdict == 'unresolved' and not outcome.right
        if not outcome.right and outcome.verdict != 'unresolved':
            self._alarm(entry)

    def add_alarm(self, entry: Any, alarm: bool, counted: Any, seconds: float) -> None:
        """A run of a rival."""
        self.seconds += seconds
        if isinstance(entry, Planted):
            self._bug(entry, alarm)
            return
        self.rights += 1
        self.calls.append((counted.forwards, counted.backwards))
        if alarm:
            self._alarm(entry)

    def _bug(self, entry: Any, caught: bool) -> None:
        self.bugs += 1
        self.caught += caught
        if not caught:
            self.missed[entry.name] = self.missed.get(entry.name, 0) + 1

    def _alarm(self, entry: Any) -> None:
        self.alarms += 1
        self.blamed[entry.name] = self.blamed.get(entry.name, 0) + 1

    def row(self) -> list[str]:
        """Cells of the table."""
        calls = [statistics.median(c) for c in zip(*self.calls, strict=True)] if self.calls else [0, 0]
        return [
            self.tool,
            f'{self.caught} / {self.bugs} ({_percent(self.caught, self.bugs)})',
            f'{self.alarms} / {self.rights} ({_percent(self.alarms, self.rights)})',
            str(self.unresolved) if self.exact else '',
            _percent(sum(self.exact), len(self.exact)) if self.exact else '',
            _percent(sum(self.causes), len(self.causes)) if self.causes else '',
            f'{calls[0]:.0f} / {calls[1]:.0f}',
            f'{self.seconds:.1f}',
        ]


def _percent(part: int, whole: int) -> str:
    return f'{100 * part / whole:.1f} %' if whole else '-'


HEADINGS = ['tool', 'caught', 'false alarms', 'unresolved', 'exact', 'cause', 'calls', 'seconds']


def print_table(rows: list[list[str]], headings: list[str]) -> None:
    """A table that can be pasted into Markdown."""
    for row in [headings, ['---'] * len(headings), *rows]:
        print('| ' + ' | '.join(row) + ' |', flush=True)


def score_own(shape: Any, dtype: str, seeds: Any, entries: Any, tool: str) -> Score:
    """minichainer on the entries."""
    score = Score(tool)
    for entry in scoring.entries_for(entries, shape, dtype):
        for seed in seeds:
            score.add_outcome(entry, scoring.run(entry, shape, dtype, seed))
    return score


def score_rival(tool: str, check: Any, shape: Any, dtype: str, seeds: Any, entries: Any) -> Score:
    """Another tool on those entries that it can be asked."""
    score = Score(tool)
    for entry in scoring.entries_for(entries, shape, dtype):
        if (
            entry.alone
            or getattr(entry, 'unseen', '')
            or (tool == 'JAX' and getattr(entry, 'family', '') == 'in place')
        ):
            continue
        for seed in seeds:
            case = entry.build(shape, dtype, seed)
            if tool == 'torch slow' and sum(x.size for x in case.inputs) ** 2 > TOO_LARGE:
                continue
            counted = rivals.Counted(case)
            start = time.perf_counter()
            alarm = check(counted, entry.order)
            score.add_alarm(entry, alarm, counted, time.perf_counter() - start)
    return score


def _in_place(entry: Any) -> bool:
    return getattr(entry, 'family', '') == 'in place'


def one_element(place: int, factor: float) -> Planted:
    """``x*x*w`` with one element of the gradient of x multiplied by ``factor``."""

    def wrong(g: Any, xs: Any, gys: Any) -> Any:
        g = g[0].copy()
        g.flat[place] *= factor
        return g

    return planting.bug(f'element {place} times {factor}', SQUARE_TIMES, wrong, family='element')


def elements(tools: dict[str, Any], seeds: Any, own: bool, quick: bool) -> None:
    """One wrong element among many: the share of seeds on which it is found."""
    rows = []
    for n, shape in ((10, (10, 1)), (1000, (10, 100)), (10_000, (100, 100)), (100_000, (250, 400)))[
        : 2 if quick else 4
    ]:
        for factor in (0.0, 1.1, 1.001):
            faults = [(seed, one_element(seed * 7919 % n, factor)) for seed in seeds]
            outcomes = [scoring.run(entry, shape, 'd', seed) for seed, entry in faults] if own else []
            named = sum(bool(o.exact) for o in outcomes)
            calls = max((o.calls[0] for o in outcomes), default=0)
            row = [
                f'{n}',
                f'x {factor:g}',
                f'{sum(o.right for o in outcomes)} / {len(outcomes)}',
                f'{named}',
                f'{calls}',
            ]
            for tool, check in tools.items():
                slow = tool == 'torch slow' and n > 1000
                found = [] if slow else [check(rivals.Counted(e.build(shape, 'd', s)), 1) for s, e in faults]
                row.append('-' if slow else f'{sum(found)} / {len(found)}')
            rows.append(row)
    print_table(rows, ['n', 'element', 'minichainer', 'named', 'most calls', *tools])


def campaign(first: int, runs: int) -> None:
    """Right functions in all layouts and dtypes: how many were refused or not decided, of each kind."""
    counts: dict[str, list[int]] = {}
    for seed in range(first, first + runs):
        made = trial(seed)
        for kind in (
            'all',
            f'dtype {made.dtype}',
            f'inputs {made.layouts[0]}',
            f'upstream {made.layouts[1]}',
            made.way,
        ):
            row = counts.setdefault(kind, [0, 0, 0])
            row[0] += 1
            row[1] += made.refused
            row[2] += made.unresolved
        if made.refused or made.unresolved:
            print(f'{"refused" if made.refused else "unresolved"}: {made}', flush=True)
    print(f'\nright functions in all layouts and dtypes, seeds {first} to {first + runs - 1}')
    print_table([[k, *map(str, row)] for k, row in sorted(counts.items())], ['what', 'runs', 'refused', 'unresolved'])


def float32_only(entry: Any) -> Any:
    """The same entry, of a function that refuses all other dtypes."""

    def build(shape: Any, dtype: str, seed: int) -> Any:
        case = entry.build(shape, dtype, seed)

        def func(*xs: Any) -> Any:
            for x in xs:
                if getattr(x, 'dtype', np.dtype('f')).kind == 'f' and x.dtype != np.float32:
                    raise TypeError(f'this function takes float32, got {x.dtype}')
            return case.func(*xs)

        return dataclasses.replace(case, func=func)

    return dataclasses.replace(entry, build=build, native=True)


def _is_plain(case: Any) -> bool:
    """Whether all inputs are float32 arrays, and nothing else counts."""
    return not case.options and all(getattr(x, 'dtype', None) == np.float32 for x in case.inputs)


def native_power(options: Any, shape: Any) -> None:
    """Planted faults and right functions that take float32 alone; links whose parameters count are left out."""
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    entries = [e for e in PLAIN + CORRECT if e.fits(shape, 'f') and _is_plain(e.build(shape, 'f', 0))]
    score = score_own(shape, 'f', seeds, [*map(float32_only, entries)], 'minichainer')
    print(f'\nfloat32 only, shape {shape}, seeds {seeds.start} to {seeds.stop - 1}')
    print_table([score.row()], HEADINGS)
    print(f'missed {score.missed}\n    blamed {score.blamed}')


def linear_ratio(rounds: int) -> None:
    """Linear(100 to 50), batch 8: time of the fast mode beside torch's, in turns."""
    rng = np.random.RandomState(0)
    arrays = [rng.normal(size=s) for s in ((8, 100), (50, 100), (50,))]
    ours, theirs = [], []
    torch_check = _torch_linear(arrays)
    variables = [Variable(a) for a in arrays]
    for _ in range(rounds):
        ours.append(_time(lambda: gradcheck(F.linear, variables, fast_mode=True)))
        if torch_check is not None:
            theirs.append(_time(torch_check))
    print(f'Linear(100 to 50), batch 8, fast mode: minichainer {1e3 * statistics.median(ours):.2f} ms', end='')
    if theirs:
        ratio = statistics.median(a / b for a, b in zip(ours, theirs, strict=True))
        print(f', torch {1e3 * statistics.median(theirs):.2f} ms, ratio {ratio:.2f} (at most 1.0, goal 0.5)', end='')
    print()


def _torch_linear(arrays: Any) -> Any:
    try:
        import torch
    except ImportError:
        return None
    tensors = [torch.from_numpy(a).requires_grad_() for a in arrays]
    return lambda: torch.autograd.gradcheck(torch.nn.functional.linear, tensors, fast_mode=True)


def _time(call: Any) -> float:
    best = []
    for _ in range(3):
        start = time.perf_counter()
        call()
        best.append(time.perf_counter() - start)
    return min(best)


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or '').partition('\n')[0])
    parser.add_argument('--seeds', type=int, default=20)
    parser.add_argument('--rival-seeds', type=int, default=2)
    parser.add_argument(
        '--first-seed', type=int, default=0, help='the seeds that a goal was tuned on may be left out'
    )
    parser.add_argument('--shape', action='append', help='rows,columns; may be given several times')
    parser.add_argument('--dtype', default='d', help='d, f or e, or several of them')
    parser.add_argument('--quick', action='store_true', help='two seeds at (4,4), small sizes only')
    parser.add_argument('--tools', default='minichainer,torch,autograd,JAX')
    parser.add_argument('--parts', default='catalogue,elements,linear')
    parser.add_argument(
        '--entries', default='plain,conditional,modes,precision,right', help='which parts of the catalogue'
    )
    parser.add_argument('--runs', type=int, default=20_000, help='of the campaign, from seed --first-seed on')
    parser.add_argument('--json', help='write the counts to this file')
    return parser.parse_args()


def chosen_rivals(names: str) -> dict[str, Any]:
    """The installed ones among those asked for."""
    found = {**rivals.torch_checks(), **rivals.autograd_checks(), **rivals.jax_checks()}
    return {tool: check for tool, check in found.items() if tool.split()[0] in names.split(',')}


def catalogue(options: Any, shape: Any, dtype: str, tools: dict[str, Any]) -> list[Score]:
    """The table of one shape and dtype."""
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    few = seeds[: options.rival_seeds]
    scores = []
    wanted = options.entries.split(',')
    parts = {'plain': PLAIN, 'conditional': CONDITIONAL, 'modes': MODES, 'precision': PRECISION, 'right': CORRECT}
    entries = [entry for part in wanted for entry in parts[part]]
    if 'minichainer' in options.tools:
        scores.append(score_own(shape, dtype, seeds, entries, 'minichainer'))
        blind = score_own(shape, dtype, seeds, BEYOND, 'minichainer, blind spots')
        print(f'blind spots: {blind.caught} of {blind.bugs} caught; missed {blind.missed}')
    scores += [score_rival(t, check, shape, dtype, few, entries) for t, check in tools.items()]
    print(f'\nshape {shape}, dtype {dtype}, seeds {seeds.start} to {seeds.stop - 1}, rivals on {len(few)} of them')
    print_table([score.row() for score in scores], HEADINGS)
    for score in scores:
        unseen = f', beyond the arithmetic {sum(score.unseen)} of {len(score.unseen)} seen' if score.unseen else ''
        print(f'{score.tool}: missed {score.missed}{unseen}\n    blamed {score.blamed}')
    return scores


def main() -> None:
    options = arguments()
    if options.quick:
        options.seeds, options.rival_seeds, options.shape = 2, 1, options.shape or ['4,4']
    shapes = [tuple(map(int, text.split(','))) for text in options.shape or ['3,4', '4,4', '30,40']]
    tools = chosen_rivals(options.tools)
    print(f'{len(PLANTED)} planted faults, {len(CORRECT)} right functions; goals {GOALS}')
    results = []
    if 'catalogue' in options.parts:
        for dtype in options.dtype:
            for shape in shapes:
                for score in catalogue(options, shape, dtype, tools):
                    results.append({'shape': shape, 'dtype': dtype, **vars(score)})
    if 'elements' in options.parts:
        elements(tools, range(min(options.seeds, 20)), 'minichainer' in options.tools, options.quick)
    if 'campaign' in options.parts:
        campaign(options.first_seed, 200 if options.quick else options.runs)
    if 'float32' in options.parts:
        for shape in shapes:
            native_power(options, shape)
    if 'linear' in options.parts:
        linear_ratio(3 if options.quick else 15)
    if options.json:
        Path(options.json).write_text(json.dumps(results, indent=1), encoding='utf-8')


if __name__ == '__main__':
    main()
