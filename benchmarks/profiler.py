"""What a profile costs: microseconds per row, beside the computation itself.

    python benchmarks/profiler.py [--rounds 15] [--json FILE]

One thread, pinned to one core where the system can do that. The op computes nothing, and its plain
call is subtracted.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from overhead import pin

import minichainer as chainer
import minichainer.functions as F
from minichainer._trace import Trace
from minichainer.autograd.profiler import profile

CALLS = 2000
BAR = 0.6
OPTIONS: dict[str, dict[str, bool]] = {
    'no options': {},
    'record_shapes': {'record_shapes': True},
    'profile_memory': {'profile_memory': True},
    'with_stack': {'with_stack': True},
}
X = np.ones(4, np.float32)


class Nothing(chainer.FunctionNode):
    """An op without a computation."""


def compute() -> list[Any]:
    return [X]


def microseconds(call: Callable[[], Any], clear: Callable[[], None]) -> float:
    """The time of a call, the best of five repeats."""
    best = float('inf')
    for _ in range(5):
        clear()
        begin = time.perf_counter()
        for _ in range(CALLS):
            call()
        best = min(best, time.perf_counter() - begin)
    return best / CALLS * 1e6


def cost(phase: str, options: dict[str, bool]) -> float:
    """The time of one row, beside the computation."""
    trace, node = Trace(**options), Nothing()

    def plain() -> None:
        node._seq = None
        compute()

    def forward() -> None:
        node._seq = None
        trace.forward(node, (X,), compute)

    def backward() -> None:
        node._seq = None
        trace.backward(node, X, compute)

    call = forward if phase == 'forward' else backward
    return microseconds(call, trace.rows.clear) - microseconds(plain, trace.rows.clear)


def op_times() -> tuple[float, float]:
    """Microseconds per op of a chain of tanh on (4,), forward and backward; the best of thirty."""
    x = chainer.Variable(X)
    forward, backward = [], []
    for _ in range(30):
        begin = time.perf_counter()
        y: Any = x
        for _ in range(100):
            y = F.tanh(y)
        forward.append(time.perf_counter() - begin)
        y.grad = X
        begin = time.perf_counter()
        y.backward()
        backward.append(time.perf_counter() - begin)
    return min(forward) * 1e4, min(backward) * 1e4


def op_cost() -> tuple[float, float]:
    """What a profile without options adds to an op, forward and backward."""
    plain = op_times()
    with profile():
        profiled = op_times()
    return profiled[0] - plain[0], profiled[1] - plain[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--rounds', type=int, default=15)
    parser.add_argument('--json', help='also write the figures here')
    arguments = parser.parse_args()
    print(pin())
    cases = [(phase, name) for phase in ('forward', 'backward') for name in OPTIONS]
    rounds = [{case: cost(case[0], OPTIONS[case[1]]) for case in cases} for _ in range(arguments.rounds)]
    found = {case: statistics.median([figures[case] for figures in rounds]) for case in cases}
    for (phase, name), value in found.items():
        bar = f'  bar {BAR}' if name == 'no options' else ''
        print(f'{phase:9} {name:15} {value:6.2f} us{bar}')
    for phase, values in zip(('forward', 'backward'), zip(*[op_cost() for _ in range(5)], strict=True), strict=True):
        print(f'{phase:9} whole op        {statistics.median(values):6.2f} us  bar 1.0')
    if arguments.json:
        with open(arguments.json, 'w', encoding='utf-8') as file:
            json.dump({f'{phase}, {name}': value for (phase, name), value in found.items()}, file, indent=1)


if __name__ == '__main__':
    main()
