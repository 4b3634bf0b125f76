"""Drawing graphs of many ops: the time of each step, which is to be linear in the number of ops.

    python benchmarks/graphs.py [--rounds 3]

A chain of elementwise ops, and a recurrent net of one layer whose weights are used in each step.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from overhead import pin

import minichainer as chainer
import minichainer.functions as F
from minichainer.computational_graph import ComputationalGraph, build_computational_graph

SIZES = (10_000, 30_000, 100_000)


def chain(count: int) -> Any:
    y: Any = chainer.Variable(np.ones(1, np.float32))
    for _ in range(count):
        y = y * 1
    return y


def recurrent(count: int) -> Any:
    weight = chainer.Parameter(np.eye(2, dtype=np.float32))
    h: Any = chainer.Variable(np.ones((1, 2), np.float32))
    for _ in range(count // 3):
        h = F.tanh(F.linear(h, weight) + chainer.Variable(np.ones((1, 2), np.float32)))
    return h


def microseconds(call: Callable[[], Any], count: int, rounds: int) -> float:
    """The median time of a call per op."""
    times = []
    for _ in range(rounds):
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return statistics.median(times) / count * 1e6


def row(make: Callable[[int], Any], count: int, rounds: int) -> str:
    y = make(count)
    graph: ComputationalGraph = build_computational_graph(y)
    steps: list[Callable[[], Any]] = [
        lambda: build_computational_graph(y),
        graph.dump,
        lambda: graph.dump('svg'),
    ]
    figures = (f'{microseconds(step, count, rounds):.1f}' for step in steps)
    return f'| {make.__name__}, {count} ops | {" | ".join(figures)} |'


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--rounds', type=int, default=3)
    rounds = parser.parse_args().rounds
    pin()
    print('| graph, µs per op | build_computational_graph | dump() | our own SVG |\n|---|---|---|---|')
    for make in (chain, recurrent):
        for count in SIZES:
            print(row(make, count, rounds), flush=True)


if __name__ == '__main__':
    main()
