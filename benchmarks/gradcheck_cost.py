"""What a gradient check of a small function costs beside torch's: ``gradcheck``, slow and fast, ``gradgradcheck``.

    python benchmarks/gradcheck_cost.py [--rounds 9] [--json FILE]

Inputs have 12 elements, as in a unit test. Both checkers take turns in one process and one thread; a round takes the
best of several calls of each, and the ratio is the median over the rounds. Times are those of the processor, so that
other work on the machine counts less. Without torch only our times are printed.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

for _name in ('OPENBLAS_NUM_THREADS', 'OMP_NUM_THREADS', 'MKL_NUM_THREADS'):
    os.environ[_name] = '1'
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np  # noqa: E402

import minichainer as chainer  # noqa: E402
import minichainer.functions as F  # noqa: E402

try:
    import torch
except ImportError:
    torch = None

#: Goals: the ratio of our time to torch's.
GOALS = {'gradcheck': 1.0, 'gradcheck, fast': 1.0, 'gradgradcheck': 1.5, 'gradgradcheck, fast': 1.5}
CALLS = 3  # in a round, of which the best counts


def arrays(*shapes: tuple[int, ...]) -> list[Any]:
    """Normal numbers, away from the kink of relu."""
    drawn = [np.random.RandomState(0).normal(size=shape) for shape in shapes]
    return [np.where(abs(x) < 0.1, x + np.where(x < 0, -0.2, 0.2), x) for x in drawn]


def functions() -> dict[str, tuple[Callable[..., Any], Any, list[Any]]]:
    """Ours, torch's and the inputs."""
    layer_norm = lambda x, g, b: torch.nn.functional.layer_norm(x, (4,), g, b, 1e-5)  # noqa: E731
    return {
        'tanh': (F.tanh, getattr(torch, 'tanh', None), arrays((3, 4))),
        'relu': (F.relu, getattr(torch, 'relu', None), arrays((3, 4))),
        'layer norm': (F.layer_normalization, layer_norm, arrays((3, 4), (4,), (4,))),
        'matmul': (F.matmul, getattr(torch, 'matmul', None), arrays((3, 2), (2, 3))),
    }


def checks() -> dict[str, tuple[Callable[..., Any], str, dict[str, Any]]]:
    """Ours, the name of torch's, and the options of both."""
    return {
        'gradcheck': (chainer.gradcheck, 'gradcheck', {}),
        'gradcheck, fast': (chainer.gradcheck, 'gradcheck', {'fast_mode': True}),
        'gradgradcheck': (chainer.gradgradcheck, 'gradgradcheck', {}),
        'gradgradcheck, fast': (chainer.gradgradcheck, 'gradgradcheck', {'fast_mode': True}),
    }


def seconds(call: Callable[[], Any]) -> float:
    """The best of several calls."""
    best = float('inf')
    for _ in range(CALLS):
        start = time.process_time()
        call()
        best = min(best, time.process_time() - start)
    return best


def compared(name: str, check: str, rounds: int) -> dict[str, Any]:
    """Medians of our time, of torch's and of their ratio."""
    ours, theirs, inputs = functions()[name]
    our_check, their_check, options = checks()[check]
    xs = [chainer.Variable(x) for x in inputs]
    pairs = []
    tensors = [torch.from_numpy(x.copy()).requires_grad_() for x in inputs] if torch else []
    for number in range(rounds + 1):
        mine = seconds(lambda: our_check(ours, xs, **options))
        other = seconds(lambda: getattr(torch.autograd, their_check)(theirs, tensors, **options)) if torch else np.nan
        if number:  # the first round fills caches
            pairs.append((mine, other))
    medians = [statistics.median(column) for column in zip(*pairs, strict=True)]
    ratio = statistics.median(a / b for a, b in pairs)
    return {'function': name, 'check': check, 'ms': 1e3 * medians[0], 'torch': 1e3 * medians[1], 'ratio': ratio}


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or '').partition('\n')[0])
    parser.add_argument('--rounds', type=int, default=9)
    parser.add_argument('--json', help='write the medians to this file')
    given = parser.parse_args()
    if torch is not None:
        torch.set_num_threads(1)
    rows = []
    print('| check | function | minichainer, ms | torch, ms | ratio | goal |\n|---|---|---|---|---|---|')
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        for check in checks():
            for name in functions():
                row = compared(name, check, given.rounds)
                rows.append(row)
                print(
                    f'| {check} | {name} | {row["ms"]:.2f} | {row["torch"]:.2f} | {row["ratio"]:.2f} '
                    f'| {GOALS[check]} |'
                )
    if given.json:
        Path(given.json).write_text(json.dumps(rows, indent=1))


if __name__ == '__main__':
    main()
