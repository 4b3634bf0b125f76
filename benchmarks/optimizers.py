"""What an optimizer's step costs: microseconds per update, beside torch's default and fused optimizers.

    python benchmarks/optimizers.py [--rounds 60] [--json FILE]

One thread, pinned to one core where the system can do that. The libraries take turns within each round, so that a
noisy machine disturbs all of them alike; medians over the rounds, with the range of the middle half. `one by one`
calls `param.update()` for each parameter: what gathering small parameters saves shows there.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any

for _name in ('OPENBLAS_NUM_THREADS', 'OMP_NUM_THREADS', 'MKL_NUM_THREADS'):
    os.environ[_name] = '1'
for _name in ('OPENBLAS_CORETYPE', 'OPENBLAS_L2_SIZE'):  # OpenBLAS chooses its kernels itself
    os.environ.pop(_name, None)

import numpy as np  # noqa: E402

import minichainer as chainer  # noqa: E402

try:
    import torch
except ImportError:
    torch = None
else:
    torch.set_num_threads(1)

# Sizes of the layers of a multilayer perceptron: the update sees a matrix and a vector for each pair.
MODELS = {
    'mlp_tiny 64-100-10': [64, 100, 10],
    'mlp 784-1000-1000-10': [784, 1000, 1000, 10],
    'deep 12 x (64 -> 64)': [64] * 13,
}
ALGORITHMS = {
    'SGD': (lambda o: o.SGD(0.01), lambda t, p, **k: t.SGD(p, 0.01, **k)),
    'MomentumSGD': (lambda o: o.MomentumSGD(0.01), lambda t, p, **k: t.SGD(p, 0.01, momentum=0.9, **k)),
    'Adam': (lambda o: o.Adam(), lambda t, p, **k: t.Adam(p, **k)),
    'AdamW': (
        lambda o: o.AdamW(weight_decay_rate=0.01),
        lambda t, p, **k: t.AdamW(p, weight_decay=0.01, **k),
    ),
}


def pin() -> str:
    """Keeps the process on one core."""
    if not hasattr(os, 'sched_setaffinity'):
        return 'not pinned'
    core = max(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {core})
    return f'pinned to core {core}'


def shapes(sizes: list[int]) -> list[tuple[int, ...]]:
    return [shape for n, m in pairwise(sizes) for shape in ((m, n), (m,))]


def minichainer_model(sizes: list[int]) -> chainer.Chain:
    model = chainer.Chain()
    arrays = iter(shapes(sizes))
    for number, (weight, bias) in enumerate(zip(arrays, arrays, strict=True)):
        layer = chainer.Link()
        with layer.init_scope():
            layer.W = chainer.Parameter(np.full(weight, 0.1, np.float32))
            layer.b = chainer.Parameter(np.full(bias, 0.1, np.float32))
        model.add_link(f'l{number}', layer)
    for param in model.params():
        param.grad = np.full(param.shape, 0.01, np.float32)
    return model


def minichainer_steps(sizes: list[int], algorithm: str) -> dict[str, Callable[[], Any]]:
    make, _ = ALGORITHMS[algorithm]
    together = make(chainer.optimizers).setup(minichainer_model(sizes))
    alone = minichainer_model(sizes)
    make(chainer.optimizers).setup(alone)

    def one_by_one() -> None:
        for param in alone.params():
            param.update()

    return {'minichainer': together.update, 'one by one': one_by_one}


def torch_steps(sizes: list[int], algorithm: str) -> dict[str, Callable[[], Any]]:
    if torch is None:
        return {}
    _, make = ALGORITHMS[algorithm]
    steps = {}
    for name, options in (('torch', {}), ('torch fused', {'fused': True})):
        params = [torch.nn.Parameter(torch.full(shape, 0.1)) for shape in shapes(sizes)]
        for param in params:
            param.grad = torch.full_like(param, 0.01)
        steps[name] = make(torch.optim, params, **options).step
    return steps


def measure(steps: dict[str, Callable[[], Any]], rounds: int, repeat: int) -> dict[str, list[float]]:
    times: dict[str, list[float]] = {name: [] for name in steps}
    for step in steps.values():
        for _ in range(3):
            step()
    for _ in range(rounds):
        for name, step in steps.items():
            start = time.perf_counter()
            for _ in range(repeat):
                step()
            times[name].append((time.perf_counter() - start) / repeat * 1e6)
    return times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--rounds', type=int, default=60)
    parser.add_argument('--json', help='file to write the medians to')
    options = parser.parse_args()
    peer = f'torch {torch.__version__}' if torch else 'torch not installed'
    print(f'Python {sys.version.split()[0]}, NumPy {np.__version__}, {peer}, {pin()}')
    results: dict[str, dict[str, float]] = {}
    for model, sizes in MODELS.items():
        count = sum(int(np.prod(shape)) for shape in shapes(sizes))
        print(f'\n{model}: {count} parameters; us per update (middle half), share of torch')
        for algorithm in ALGORITHMS:
            steps = minichainer_steps(sizes, algorithm) | torch_steps(sizes, algorithm)
            times = measure(steps, options.rounds, 1 if count > 10**6 else 20)
            medians = {name: statistics.median(values) for name, values in times.items()}
            results[f'{model}, {algorithm}'] = medians
            for name, values in times.items():
                low, _, high = statistics.quantiles(values, n=4)
                share = f'{medians[name] / medians["torch"]:6.2f}' if 'torch' in medians else ''
                print(f'  {algorithm:12} {name:12} {medians[name]:9.1f} ({low:.1f} - {high:.1f}) {share}')
    if options.json:
        with open(options.json, 'w', encoding='utf-8') as file:
            json.dump(results, file, indent=1)


if __name__ == '__main__':
    main()
