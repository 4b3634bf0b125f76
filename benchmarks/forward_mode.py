"""What forward mode costs: a function of Variables with tangents, over the same function of plain constants.

    python benchmarks/forward_mode.py [--rounds 5] [--only NAME ...]

For the elementwise and linear functions of ``functions_table.py``, on float32 arrays (32, 100) and (1000, 100);
nothing is recorded. The ratio is shown with a tangent of the first input, for which the limit is 2.5, and of all: a
product of n arrays then needs n + 1 products. One thread; the two take turns; best of all repeats.

Above the limit are functions whose value takes one pass over memory and whose rule takes two or more (square,
absolute, maximum, relu and others with masks, tanh, arcsin), and those whose derivative is a dearer special function
than the value (polygamma, erfcx, log_ndtr) or computes it again (mish, silu, elu).
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterator
from typing import Any

for _name in ('OPENBLAS_NUM_THREADS', 'OMP_NUM_THREADS', 'MKL_NUM_THREADS'):
    os.environ[_name] = '1'

import numpy as np  # noqa: E402
from functions_table import ENTRIES, Entry, Shape  # noqa: E402
from overhead import pin  # noqa: E402

import minichainer as chainer  # noqa: E402
import minichainer.functions as F  # noqa: E402
from minichainer.autograd import forward_ad  # noqa: E402

LIMIT = 2.5
ROWS = (32, 1000)
#: Functions of square matrices.
SQUARE_ONLY = {'matmul', 'inv', 'det', 'logdet', 'slogdet', 'cholesky', 'eigh', 'solve', 'tensordot', 'einsum'}


def products(rows: int) -> list[Entry]:
    """Linear functions of arrays that are not all of one shape."""
    x, matrix = (rows, 100), (100, 100)
    return [
        Entry('linear', (x, matrix), (), F.linear),
        Entry('linear, bias', (x, matrix, (100,)), (), F.linear),
        Entry('matmul', (x, matrix), (), F.matmul),
        Entry('einsum', (x, matrix), (), lambda a, b: F.einsum('ij,jk->ik', a, b)),
        Entry('tensordot', (x, matrix), (), lambda a, b: F.tensordot(a, b, 1)),
        Entry('bias', (x, (100,)), (), lambda a, b: F.bias(a, b)),
    ]


def entries(rows: int) -> Iterator[tuple[Entry, tuple[Shape, ...]]]:
    """The functions, and the shapes of their arrays."""
    for entry in ENTRIES:
        if entry.differentiable and set(entry.small) == {(8, 8)} and entry.name not in SQUARE_ONLY:
            yield entry, ((rows, 100),) * len(entry.small)
    for entry in products(rows):
        yield entry, entry.small


def is_direct(y: Any) -> bool:
    """Whether a result was made by one elementwise or linear op."""
    node = y.creator_node
    spec = getattr(node, 'spec', None)
    return bool(spec and (spec.elementwise or spec.linear_groups)) and all(edge.level == 0 for edge in node.edges)


def timed(step: Callable[[], Any], seconds: float = 0.01) -> float:
    """The best time of one step; short steps are timed in groups."""
    begin = time.perf_counter()
    step()
    count = max(1, int(2e-5 / (time.perf_counter() - begin)))
    best, end = float('inf'), begin + seconds
    while best == float('inf') or time.perf_counter() < end:
        begin = time.perf_counter()
        for _ in range(count):
            step()
        best = min(best, (time.perf_counter() - begin) / count)
    return best


def measured(entry: Entry, shapes: tuple[Shape, ...], rounds: int) -> tuple[float, float, float] | None:
    """Seconds of a plain call, and the ratios with one tangent and with all; None for other functions."""
    arrays = entry.arrays(shapes)
    extra = () if entry.extra is None else (entry.extra(shapes, np.random.RandomState(1)),)
    result = entry.call(*[chainer.Variable(x) for x in arrays], *extra)
    if not isinstance(result, chainer.Variable) or not is_direct(result):
        return None
    plain = [chainer.Variable(x, requires_grad=False) for x in arrays]
    best = [float('inf')] * 3
    for _ in range(rounds):
        best[0] = min(best[0], timed(lambda: entry.call(*plain, *extra)))
        for i, count in enumerate((1, len(arrays)), 1):
            with forward_ad.dual_level():
                moving = [forward_ad.make_dual(x, np.ones_like(x)) for x in arrays[:count]]
                xs = [*moving, *plain[count:]]
                best[i] = min(best[i], timed(lambda: entry.call(*xs, *extra)))  # noqa: B023
    return best[0], best[1] / best[0], best[2] / best[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--rounds', type=int, default=5)
    parser.add_argument('--only', nargs='*')
    arguments = parser.parse_args()
    pin()
    chainer.tune_allocator()
    for rows in ROWS:
        found = []
        for entry, shapes in entries(rows):
            if arguments.only is None or entry.name in arguments.only:
                figures = measured(entry, shapes, arguments.rounds)
                if figures is not None:
                    found.append((*figures[1:], figures[0], entry.name))
        print(f'\n({rows}, 100): {len(found)} functions, {sum(row[0] > LIMIT for row in found)} above {LIMIT}')
        for one, every, seconds, name in sorted(found, reverse=True):
            print(f'{name:30} {seconds * 1e6:9.2f} us {one:6.2f} {every:6.2f}{"  *" if one > LIMIT else ""}')


if __name__ == '__main__':
    main()
