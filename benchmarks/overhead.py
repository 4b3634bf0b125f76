"""What an op costs beside its arithmetic: microseconds per op on tiny arrays, beside torch eager and autograd.

    python benchmarks/overhead.py [--rounds 15] [--json FILE]

One thread, pinned to one core where the system can do that; the libraries take turns within each round, so that a
noisy machine disturbs all of them alike; medians over the rounds. Ratios count, absolute figures do not.
"""

from __future__ import annotations

import argparse
import json
import os
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

import minichainer as chainer  # noqa: E402
import minichainer.functions as F  # noqa: E402
import minichainer.links as L  # noqa: E402

OPS = 100
PAIRS = 50
Steps = dict[str, Callable[[], Any]]
LAYERS = 'linear+relu (4,8) as layers, forward+backward'


def pin() -> str:
    """Keeps the process on one core."""
    if not hasattr(os, 'sched_setaffinity'):
        return 'not pinned'
    core = max(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {core})
    return f'pinned to core {core}'


def elementwise_graph(h: Any, a: Any, tanh: Any, relu: Any, exp: Any) -> Any:
    """A hundred elementwise ops: the usual mix of arithmetic with Variables and numbers, and activations."""
    for _ in range(OPS // 10):
        h = h * a
        h = h + a
        h = tanh(h)
        h = h * 0.5
        h = h - a
        h = relu(h)
        h = h + 1.0
        h = exp(-h)
        h = h * h
    return h


def minichainer_steps() -> Steps:
    def elementwise(shape: tuple[int, ...], other: tuple[int, ...], backward: bool) -> Callable[[], Any]:
        x = chainer.Variable(np.full(shape, 0.5, 'f'))
        a = chainer.Variable(np.full(other, 0.3, 'f'))

        def step() -> None:
            y = elementwise_graph(x, a, F.tanh, F.relu, F.exp)
            if backward:
                y.grad = np.ones(y.shape, 'f')
                x.cleargrad()
                a.cleargrad()
                y.backward()

        return step

    rng = np.random.RandomState(0)
    w = chainer.Parameter((rng.randn(8, 8) * 0.3).astype('f'))
    b = chainer.Parameter(np.zeros(8, 'f'))
    x8 = chainer.Variable(rng.randn(4, 8).astype('f'))

    def linear(backward: bool) -> Callable[[], Any]:
        def step() -> None:
            h = x8
            for _ in range(PAIRS):
                h = F.relu(F.linear(h, w, b))
            if backward:
                for v in (x8, w, b):
                    v.cleargrad()
                h.grad = np.ones(h.shape, 'f')
                h.backward()

        return step

    model = chainer.Sequential(*[layer for _ in range(PAIRS) for layer in (L.Linear(8, 8), F.relu)])

    def layers() -> None:
        model.cleargrads()
        h = model(x8.array)
        h.grad = np.ones(h.shape, 'f')
        h.backward()

    return {**_steps(elementwise, linear), LAYERS: layers}


def torch_steps() -> Steps:
    import torch

    torch.set_num_threads(1)

    def elementwise(shape: tuple[int, ...], other: tuple[int, ...], backward: bool) -> Callable[[], Any]:
        x = torch.full(shape, 0.5, requires_grad=True)
        a = torch.full(other, 0.3, requires_grad=True)

        def step() -> None:
            y = elementwise_graph(x, a, torch.tanh, torch.relu, torch.exp)
            if backward:
                x.grad = a.grad = None
                y.backward(torch.ones(y.shape))

        return step

    rng = np.random.RandomState(0)
    w = torch.tensor((rng.randn(8, 8) * 0.3).astype('f'), requires_grad=True)
    b = torch.zeros(8, requires_grad=True)
    x8 = torch.tensor(rng.randn(4, 8).astype('f'), requires_grad=True)

    def linear(backward: bool) -> Callable[[], Any]:
        def step() -> None:
            h = x8
            for _ in range(PAIRS):
                h = torch.relu(torch.nn.functional.linear(h, w, b))
            if backward:
                x8.grad = w.grad = b.grad = None
                h.backward(torch.ones(h.shape))

        return step

    pairs = [layer for _ in range(PAIRS) for layer in (torch.nn.Linear(8, 8), torch.nn.ReLU())]
    model = torch.nn.Sequential(*pairs)
    batch = x8.detach()

    def layers() -> None:
        model.zero_grad()
        h = model(batch)
        h.backward(torch.ones(h.shape))

    return {**_steps(elementwise, linear), LAYERS: layers}


def autograd_steps() -> Steps:
    import autograd
    import autograd.numpy as anp

    def relu(v: Any) -> Any:
        return anp.maximum(v, 0.0)

    def elementwise(shape: tuple[int, ...], other: tuple[int, ...], backward: bool) -> Callable[[], Any]:
        x, a = np.full(shape, 0.5, 'f'), np.full(other, 0.3, 'f')

        def loss(x: Any, a: Any) -> Any:
            return anp.sum(elementwise_graph(x, a, anp.tanh, relu, anp.exp))

        gradient = autograd.grad(loss, (0, 1))
        return (lambda: gradient(x, a)) if backward else (lambda: loss(x, a))

    rng = np.random.RandomState(0)
    w, b, x8 = (rng.randn(8, 8) * 0.3).astype('f'), np.zeros(8, 'f'), rng.randn(4, 8).astype('f')

    def linear(backward: bool) -> Callable[[], Any]:
        def loss(x: Any, w: Any, b: Any) -> Any:
            for _ in range(PAIRS):
                x = relu(anp.dot(x, w.T) + b)
            return anp.sum(x)

        gradient = autograd.grad(loss, (0, 1, 2))
        return (lambda: gradient(x8, w, b)) if backward else (lambda: loss(x8, w, b))

    return _steps(elementwise, linear)


def _steps(elementwise: Any, linear: Any) -> Steps:
    return {
        'elementwise (4,) forward': elementwise((4,), (4,), False),
        'elementwise (4,) forward+backward': elementwise((4,), (4,), True),
        'elementwise (3,1)(1,4) forward+backward': elementwise((3, 1), (1, 4), True),
        'elementwise 0-d forward+backward': elementwise((), (), True),
        'linear+relu (4,8) forward': linear(False),
        'linear+relu (4,8) forward+backward': linear(True),
    }


def timed(step: Callable[[], Any], repeats: int = 10) -> float:
    """Seconds of one step: the best of several in a row, which is what the machine can do at this moment."""
    best = float('inf')
    for _ in range(repeats):
        begin = time.perf_counter()
        step()
        best = min(best, time.perf_counter() - begin)
    return best


def measure(libraries: dict[str, Steps], rounds: int) -> dict[str, dict[str, float]]:
    """Median microseconds per op (per pair for linear+relu) of each workload and library."""
    result: dict[str, dict[str, float]] = {}
    for workload in next(iter(libraries.values())):
        count = PAIRS if workload.startswith('linear') else OPS
        samples: dict[str, list[float]] = {name: [] for name in libraries}
        for _ in range(rounds):
            for name, steps in libraries.items():
                if workload not in steps:
                    continue
                samples[name].append(timed(steps[workload]) / count * 1e6)
        result[workload] = {name: statistics.median(values) for name, values in samples.items() if values}
    return result


def after_a_hook() -> Steps:
    """The same steps once a hook has come and gone: nothing may be left behind."""
    with chainer.FunctionHook():
        F.exp(chainer.Variable(np.ones(2, 'f')))
    return minichainer_steps()


def _cell(microseconds: float | None) -> str:
    return ' ' * 26 if microseconds is None else f'{microseconds:26.2f}'


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--rounds', type=int, default=15)
    parser.add_argument('--json')
    options = parser.parse_args()
    print(f'Python {sys.version.split()[0]}, NumPy {np.__version__}, {pin()}, {options.rounds} rounds')
    libraries = {'minichainer': minichainer_steps(), 'minichainer after a hook': after_a_hook()}
    for name, make in (('torch', torch_steps), ('autograd', autograd_steps)):
        try:
            libraries[name] = make()
        except ImportError:
            print(f'{name} is not installed: left out')
    result = measure(libraries, options.rounds)
    print(f'{"us per op":<48}' + ''.join(f'{name:>26}' for name in libraries) + '   ratio to torch')
    for workload, row in result.items():
        ratio = f'{row["minichainer"] / row["torch"]:10.2f}' if 'torch' in row else ''
        print(f'{workload:<48}' + ''.join(_cell(row.get(name)) for name in libraries) + ratio)
    if options.json:
        with open(options.json, 'w') as file:
            json.dump(result, file, indent=1)
    return 0


if __name__ == '__main__':
    sys.exit(main())
