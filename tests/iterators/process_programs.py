"""Programs with MultiprocessIterator, which tests run: ``python process_programs.py NAME START_METHOD``."""

from __future__ import annotations

import gc
import multiprocessing
import os
import sys
import time
from typing import Any

import numpy as np

from minichainer.iterators import MultiprocessIterator, SerialIterator


class Squares:
    """Large enough for shared memory."""

    def __len__(self) -> int:
        return 10

    def __getitem__(self, i: int) -> tuple[Any, int]:
        return np.full((40, 50), i * i, np.float32), int(i)


class Stuck(Squares):
    """Reads the first examples and then no more."""

    def __getitem__(self, i: int) -> tuple[Any, int]:
        if i > 3:
            time.sleep(600)
        return super().__getitem__(i)


def draws() -> None:
    """Prints whether both iterators draw the same."""
    drawn = []
    for kind, kwargs in ((SerialIterator, {}), (MultiprocessIterator, {'n_processes': 2})):
        np.random.seed(3)
        with kind(Squares(), 4, **kwargs) as iterator:  # type: ignore[arg-type]
            drawn.append([[(x.sum(), t) for x, t in iterator.next()] for _ in range(6)])
    print(drawn[0] == drawn[1])


def local_class() -> None:
    class Local(Squares):
        pass

    try:
        MultiprocessIterator(Local(), 2, n_processes=2).next()
    except Exception as error:
        print(type(error).__name__, error, multiprocessing.active_children())


def stuck() -> None:
    """Prints the ids of its processes, of which the first ones are workers, and waits to be killed."""
    iterator = MultiprocessIterator(Stuck(), 4, shuffle=False, n_processes=2)
    iterator.next()
    workers = [process.pid for process in multiprocessing.active_children()]
    child = os.fork()  # it has copies of all ends of pipes
    if child == 0:
        time.sleep(600)
    print(*workers, child, flush=True)
    time.sleep(600)


kept: list[Any] = []


def leaves_open() -> None:
    """Ends while iterators are in use: a global one, one in a cycle, and one that waits for an example."""
    for dataset in (Squares(), Stuck()):
        iterator = MultiprocessIterator(dataset, 4, shuffle=False, n_processes=2)
        iterator.next()
        kept.append(iterator)
    cycle: list[Any] = [MultiprocessIterator(Squares(), 2, n_processes=1)]
    cycle.append(cycle)
    cycle[0].next()
    print('done')


def is_collected() -> None:
    iterator = MultiprocessIterator(Squares(), 4, n_processes=2)
    iterator.next()
    before = len(multiprocessing.active_children())
    del iterator
    gc.collect()
    print(before, len(multiprocessing.active_children()))


if __name__ == '__main__':
    multiprocessing.set_start_method(sys.argv[2])
    globals()[sys.argv[1]]()
