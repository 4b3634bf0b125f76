"""How many Python calls inside the package a common operation takes.

    python benchmarks/calls.py [--list WORKLOAD]

Counts ``call`` events of the interpreter's profiler during the second call of each workload (comprehensions are calls
before Python 3.12). A hop is a function that is entered. No test holds the counts to their targets yet.
"""

from __future__ import annotations

import argparse
import collections
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import minichainer as chainer
import minichainer.functions as F
import minichainer.links as L
from minichainer.gradient_check import check_gradients

PACKAGE = Path(chainer.__file__).resolve().parent
#: Calls that a workload may take; None where there is no target.
TARGETS = {
    'x * W': None,
    'relu': None,
    'softmax cross entropy': 30,
    'L.Linear': None,
    'backward': None,
    'double backward': None,
    'SGD update of one parameter': 15,
    'Adam update of one parameter': 15,
    'check_gradients(F.tanh, x)': None,
}


def workloads() -> dict[str, Callable[[], Any]]:
    """What is counted; everything is built beforehand."""
    x, W = (chainer.Variable(np.full((3, 4), value, 'f')) for value in (0.5, 2.0))
    labels = np.array([0, 1, 2], 'i')
    layer = L.Linear(4, 2)
    loss = F.sum(F.relu(x * W))

    def double_backward() -> None:
        (gx,) = chainer.grad([F.tanh(x)], [x], [W], enable_double_backprop=True)
        chainer.grad([gx], [x], [W])

    return {
        'x * W': lambda: x * W,
        'relu': lambda: F.relu(x),
        'softmax cross entropy': lambda: F.softmax_cross_entropy(x, labels),
        'L.Linear': lambda: layer(x),
        'backward': loss.backward,
        'double backward': double_backward,
        'SGD update of one parameter': _update(chainer.optimizers.SGD()),
        'Adam update of one parameter': _update(chainer.optimizers.Adam()),
        'check_gradients(F.tanh, x)': lambda: check_gradients(F.tanh, np.full((2, 2), 0.3)),
    }


def _update(optimizer: Any) -> Callable[[], None]:
    model = chainer.Link()
    with model.init_scope():
        model.w = chainer.Parameter(np.ones(3, 'f'))
    optimizer.setup(model)
    model.w.grad = np.ones(3, 'f')
    return optimizer.update  # type: ignore[no-any-return]


def hops(workload: Callable[[], Any]) -> list[str]:
    """The functions of the package that the second call enters, in order."""
    workload()
    entered: list[str] = []

    def profile(frame: FrameType, event: str, argument: Any) -> None:
        path = Path(frame.f_code.co_filename)
        if event == 'call' and PACKAGE in path.parents:
            module = '.'.join(path.relative_to(PACKAGE).with_suffix('').parts)
            entered.append(f'{module}.{_name(frame)}')

    sys.setprofile(profile)
    try:
        workload()
    finally:
        sys.setprofile(None)
    return entered


def _name(frame: FrameType) -> str:
    name = getattr(frame.f_code, 'co_qualname', frame.f_code.co_name)
    return name.replace('.<locals>', '')


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--list', metavar='WORKLOAD', help='show the hops of a workload')
    chosen = parser.parse_args().list
    print(f'Python {sys.version.split()[0]}\n{"workload":<32}{"calls":>7}{"files":>7}{"target":>8}')
    for name, workload in workloads().items():
        found = hops(workload)
        files = {hop.split('.')[0:2] and hop.rsplit('.', 1)[0] for hop in found}
        print(f'{name:<32}{len(found):>7}{len(files):>7}{TARGETS[name] or "":>8}')
        if name == chosen:
            for hop, count in collections.Counter(found).items():
                print(f'    {count:>3} {hop}')
    return 0


if __name__ == '__main__':
    sys.exit(main())
