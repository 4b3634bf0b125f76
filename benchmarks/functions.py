"""What each function costs, small and large, forward and with backward, beside torch eager.

    python benchmarks/functions.py [--rounds 5] [--only NAME ...] [--write benchmarks/functions.md]

One thread, pinned to one core where the system can do that; the libraries take turns within each round; medians.
Of each turn the best of some repeats counts.
Both live in one process, in which freed memory is kept (``minichainer.tune_allocator``): otherwise page faults of
large results are what is measured. Behind functions whose gradient is (part of) the one that came (``view`` in the
table: other shapes, joining) "both" has a product with 2: else the gradient of x would be the caller's own array,
which torch hands on and minichainer copies, as x.grad is memory of its own.
The heavy families (convolution, normalization, recurrent networks) are in ``kernels.py``.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

for _name in ('OPENBLAS_NUM_THREADS', 'OMP_NUM_THREADS', 'MKL_NUM_THREADS'):
    os.environ[_name] = '1'
for _name in ('OPENBLAS_CORETYPE', 'OPENBLAS_L2_SIZE'):  # OpenBLAS chooses its kernels itself
    os.environ.pop(_name, None)

import numpy as np  # noqa: E402
from functions_table import ENTRIES, Entry, Shape  # noqa: E402
from overhead import pin  # noqa: E402

import minichainer as chainer  # noqa: E402

try:
    import torch
except ImportError:
    torch = None
Step = Callable[[], Any]


def ours(entry: Entry, shapes: tuple[Shape, ...]) -> tuple[Step, Step | None]:
    """Forward, and forward with backward; None where there is no gradient."""
    variables = [chainer.Variable(array) for array in entry.arrays(shapes)]
    constants = () if entry.extra is None else (entry.extra(shapes, np.random.RandomState(1)),)

    def forward() -> Any:
        return entry.call(*variables, *constants)

    if not entry.differentiable:
        return forward, None
    y = forward()._data  # an array that somebody has read would be compared before each backward pass, views with it
    upstream = np.ones_like(y) if 0 not in y.strides else np.ones(y.shape, y.dtype)

    def both() -> None:
        for x in variables:
            x.cleargrad()
        y = forward() * 2.0 if entry.view else forward()
        y.grad = upstream
        y.backward()

    return forward, both


def theirs(entry: Entry, shapes: tuple[Shape, ...]) -> tuple[Step, Step | None]:
    """The same of torch."""
    call: Any = entry.torch
    tensors = [torch.tensor(array, requires_grad=True) for array in entry.arrays(shapes)]
    constants = () if entry.extra is None else (torch.tensor(entry.extra(shapes, np.random.RandomState(1))),)

    def forward() -> Any:
        return call(*tensors, *constants, torch)

    y = forward()
    if not entry.differentiable or not y.requires_grad:
        return forward, None
    upstream = torch.ones_like(y)

    def both() -> None:
        for x in tensors:
            x.grad = None
        (forward() * 2.0 if entry.view else forward()).backward(upstream)

    return forward, both


def timed(step: Step, seconds: float = 0.02) -> float:
    """Seconds of one step: the best of as many as fit into some time, three at least.

    Long steps are timed by the processor time that the process has had, as other processes interrupt them; reading
    that clock would take too long for short ones.
    """
    begin = time.perf_counter()
    step()
    clock = time.perf_counter if time.perf_counter() - begin < 1e-4 else time.process_time
    best, end, count = float('inf'), begin + seconds, 0
    while count < 3 or time.perf_counter() < end:
        begin = clock()
        step()
        best = min(best, clock() - begin)
        count += 1
    return best


def measure(entry: Entry, rounds: int) -> list[tuple[float | None, float | None]]:
    """Milliseconds (ours, torch's): small forward, small both, large forward, large both."""
    result = []
    for shapes in (entry.small, entry.large):
        steps = [ours(entry, shapes), theirs(entry, shapes) if torch is not None and entry.torch else (None, None)]
        samples: list[list[list[float]]] = [[[], []], [[], []]]
        for _ in range(rounds):
            for library, pair in enumerate(steps):
                for way, step in enumerate(pair):
                    if step is not None:
                        samples[library][way].append(timed(step) * 1e3)
        for way in range(2):
            result.append(tuple(statistics.median(s[way]) if s[way] else None for s in samples))
    return result  # type: ignore[return-value]


def row_of(entry: Entry, figures: list[tuple[float | None, float | None]]) -> str:
    cells = []
    for own, other in figures:
        time_ = '' if own is None else f'{own:.4f}' if own < 0.1 else f'{own:.2f}'
        ratio = '' if own is None or other is None else f'{own / other:.2f}'
        cells += [time_, ratio]
    return f'| {entry.name} | ' + ' | '.join(cells) + ' |'


HEAD = (
    '| function | small forward, ms | / torch | small both, ms | / torch | large forward, ms | / torch '
    '| large both, ms | / torch |\n|' + '---|' * 9
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--rounds', type=int, default=5)
    parser.add_argument('--only', nargs='*', default=[])
    parser.add_argument('--write', help='also write the table to this file')
    options = parser.parse_args()
    if torch is not None:
        torch.set_num_threads(1)
    chainer.tune_allocator()
    about = f'Python {platform.python_version()}, NumPy {np.__version__}, ' + (
        f'torch {torch.__version__}' if torch is not None else 'without torch'
    )
    lines, slow = [], []
    print(f'{about}, {pin()}\n{HEAD}')
    for entry in ENTRIES:
        if options.only and entry.name not in options.only:
            continue
        figures = measure(entry, options.rounds)
        lines.append(row_of(entry, figures))
        print(lines[-1], flush=True)
        own, other = figures[3] if entry.differentiable else figures[2]
        if own is not None and other is not None and own > 2 * other:
            slow.append(f'{entry.name} ({own / other:.1f})')
    print(f'\nslower than twice torch on the large input: {len(slow)}: {", ".join(slow)}')
    if options.write:
        with open(options.write, 'w', encoding='utf-8') as file:
            file.write(f'# Functions beside torch\n\n`python benchmarks/functions.py`, {about}, one thread.\n')
            file.write('How it is measured, and why some are slow: README.md.\n\n')
            file.write('\n'.join([HEAD, *lines]) + '\n')
    return 0


if __name__ == '__main__':
    sys.exit(main())
