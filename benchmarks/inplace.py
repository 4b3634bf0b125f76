"""What the detection of modified arrays costs: training steps with and without it, in turns.

    python benchmarks/inplace.py [--rounds 21] [--workload mlp_tiny ...]

One thread, pinned to one core where the system can do that. In each round both do as many steps as take about 0.1 s,
of which the best counts; the figure is the median of the rounds' ratios, with their quartiles. Processor time.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable
from typing import Any

for _name in ('OPENBLAS_NUM_THREADS', 'OMP_NUM_THREADS', 'MKL_NUM_THREADS'):
    os.environ[_name] = '1'

from overhead import PAIRS, minichainer_steps, pin  # noqa: E402
from workloads import BATCH, chainer_step  # noqa: E402

import minichainer as chainer  # noqa: E402
from minichainer import recorder  # noqa: E402

SECONDS = 0.1


def best(step: Callable[[], Any], count: int) -> float:
    """The shortest processor time of some steps."""
    times = []
    for _ in range(count):
        begin = time.process_time()
        step()
        times.append(time.process_time() - begin)
    return min(times)


def ratios(step: Callable[[], Any], rounds: int) -> list[float]:
    """Times with the detection over times without."""
    prints_of = recorder.prints_of
    step()
    count = max(3, int(SECONDS / best(step, 3)))
    found = []
    for i in range(rounds):
        times = {}
        for detects in (True, False) if i % 2 else (False, True):
            recorder.prints_of = prints_of if detects else (lambda *saved: None)
            times[detects] = best(step, count)
        found.append(times[True] / times[False])
    recorder.prints_of = prints_of
    return found


def main() -> None:
    """Prints the ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--rounds', type=int, default=21)
    parser.add_argument('--workload', nargs='+', choices=sorted(BATCH), default=sorted(BATCH))
    options = parser.parse_args()
    print(pin())
    chainer.tune_allocator()
    steps = {name: chainer_step('minichainer', name) for name in options.workload}
    overhead = minichainer_steps()
    steps.update({name: step for name, step in overhead.items() if 'backward' in name})
    for name, step in steps.items():
        low, middle, high = statistics.quantiles(ratios(step, options.rounds), n=4)
        print(f'{name:60} {middle:.3f} ({low:.3f}-{high:.3f})')
    print(f'(the layers are {PAIRS} pairs)')


if __name__ == '__main__':
    main()
