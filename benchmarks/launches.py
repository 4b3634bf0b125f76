"""Kernel launches and synchronizations of a training step on a device, by the place in the package that causes them.

Counted on the stand-in for CuPy of the tests, without a device: calls are counted, and no time is measured. Run it as

    PYTHONPATH=tests/cupy_stand_in python benchmarks/launches.py [--top 15] [WORKLOAD ...]
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

ROOT = str(Path(__file__).resolve().parents[1])
sys.path.insert(0, ROOT)

import minichainer as chainer  # noqa: E402
import minichainer.functions as F  # noqa: E402
import minichainer.links as L  # noqa: E402
from minichainer.backends import cuda  # noqa: E402

#: The most launches of a step.
BUDGETS = {'mlp': 40, 'convnet': 150, 'lstm': 300, 'activations': 45, 'lamb': 40, 'unsorted': 70}


def _digits(*shape: int) -> tuple[Any, Any]:
    x = np.random.rand(64, *shape).astype('f')
    return x, np.random.randint(0, 10, 64).astype('i')


def mlp() -> tuple[chainer.Chain, Callable[[Any], Any]]:
    """784-100-100-10 with ReLU and softmax cross entropy."""
    model = chainer.Chain()
    with model.init_scope():
        model.a, model.b, model.c = L.Linear(784, 100), L.Linear(100, 100), L.Linear(100, 10)
    x, t = _digits(784)
    return model, lambda xp: F.softmax_cross_entropy(
        model.c(F.relu(model.b(F.relu(model.a(xp.asarray(x)))))), xp.asarray(t)
    )


def convnet() -> tuple[chainer.Chain, Callable[[Any], Any]]:
    """Two convolutions with batch normalization, ReLU and max pooling, then dropout and a linear layer."""
    model = chainer.Chain()
    with model.init_scope():
        model.a, model.b = L.Convolution2D(1, 16, 3), L.Convolution2D(16, 32, 3)
        model.na, model.nb, model.c = L.BatchNormalization(16), L.BatchNormalization(32), L.Linear(1152, 10)
    x, t = _digits(1, 28, 28)

    def loss(xp: Any) -> Any:
        h = F.max_pooling_2d(F.relu(model.na(model.a(xp.asarray(x)))), 2)
        h = F.max_pooling_2d(F.relu(model.nb(model.b(h))), 2)
        return F.softmax_cross_entropy(model.c(F.dropout(h)), xp.asarray(t))

    return model, loss


def lstm() -> tuple[chainer.Chain, Callable[[Any], Any]]:
    """An NStepLSTM of one layer over sequences of 20 steps, and a linear layer on its last state."""
    model = chainer.Chain()
    with model.init_scope():
        model.rnn, model.out = L.NStepLSTM(1, 32, 64, 0.0), L.Linear(64, 10)
    xs = [np.random.rand(20, 32).astype('f') for _ in range(16)]
    t = np.random.randint(0, 10, 16).astype('i')

    def loss(xp: Any) -> Any:
        hy, _, _ = model.rnn(None, None, [xp.asarray(x) for x in xs])
        return F.softmax_cross_entropy(model.out(hy[-1]), xp.asarray(t))

    return model, loss


def activations() -> tuple[chainer.Chain, Callable[[Any], Any]]:
    """784-100-100-100-10 with ELU, clipped ReLU, PReLU and dropout."""
    model = chainer.Chain()
    with model.init_scope():
        model.a, model.b, model.c = L.Linear(784, 100), L.Linear(100, 100), L.Linear(100, 100)
        model.slopes, model.d = L.PReLU((100,)), L.Linear(100, 10)
    x, t = _digits(784)

    def loss(xp: Any) -> Any:
        h = F.clipped_relu(model.b(F.elu(model.a(xp.asarray(x)))))
        return F.softmax_cross_entropy(model.d(F.dropout(model.slopes(model.c(h)))), xp.asarray(t))

    return model, loss


def unsorted() -> tuple[chainer.Chain, Callable[[Any], Any]]:
    """An NStepLSTM of one layer over sequences of 2 to 5 steps, not sorted by length, with first states."""
    model = chainer.Chain()
    with model.init_scope():
        model.rnn, model.out = L.NStepLSTM(1, 32, 64, 0.0), L.Linear(64, 10)
    xs = [np.random.rand(length, 32).astype('f') for length in (2, 5, 3, 4)]
    states, t = np.random.rand(2, 1, 4, 64).astype('f'), np.random.randint(0, 10, 4).astype('i')

    def loss(xp: Any) -> Any:
        hy, _, _ = model.rnn(*xp.asarray(states), [xp.asarray(x) for x in xs])
        return F.softmax_cross_entropy(model.out(hy[-1]), xp.asarray(t))

    return model, loss


def _lamb(model: chainer.Chain) -> Any:
    """LAMB, with noise on the gradients."""
    optimizer = chainer.optimizers.LAMB().setup(model)
    optimizer.add_hook(chainer.optimizer_hooks.GradientNoise(0.1))
    return optimizer


#: ``lamb`` is ``mlp`` with another optimizer.
WORKLOADS = {
    'mlp': mlp, 'convnet': convnet, 'lstm': lstm, 'activations': activations, 'lamb': mlp, 'unsorted': unsorted,
}  # fmt: skip


def counts(name: str) -> Any:
    """Launches, synchronizations and places of the third step of a workload, as the stand-in has them."""
    try:
        meter: Any = importlib.import_module('cupy._meter')
    except ImportError:
        raise SystemExit('launches.py counts on the stand-in for CuPy: set PYTHONPATH=tests/cupy_stand_in') from None
    model, loss = WORKLOADS[name]()
    model.to_device('@cupy:0')
    optimizer = _lamb(model) if name == 'lamb' else chainer.optimizers.Adam().setup(model)
    for _ in range(2):
        optimizer.update(loss, cuda.cupy)
    with meter.record(places=True) as found:
        optimizer.update(loss, cuda.cupy)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('workloads', nargs='*', default=list(WORKLOADS))
    parser.add_argument('--top', type=int, default=12, help='rows of the table of places')
    args = parser.parse_args()
    for name in args.workloads:
        found = counts(name)
        launches, waits = (sum(c.values()) for c in (found.launches, found.synchronisations))
        print(f'{name}: {launches} launches (budget {BUDGETS[name]}), {waits} synchronizations')
        for (what, at), n in found.places.most_common(args.top):
            kind = 'waits' if what in found.synchronisations else 'copies' if what in found.uploads else ''
            print(f'  {n:5}  {what:34} {at.replace(ROOT + "/", "")} {kind}')


if __name__ == '__main__':
    main()
