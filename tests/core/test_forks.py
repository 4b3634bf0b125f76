"""Processes that are forked while other threads train: each lock of the package can be taken there."""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minichainer
import minichainer.functions as F
import minichainer.links as L
from minichainer import optimizers
from minichainer._locks import lock_of
from minichainer.function_hook import FunctionHook
from minichainer.variable import Variable

pytestmark = pytest.mark.skipif(not hasattr(os, 'fork'), reason='needs os.fork')
PACKAGE = Path(minichainer.__file__).parent
#: Locks that live for a moment, or belong to one process, and why.
OTHERS = {
    '_locks.py': 'makes them',
    '_once.py': 'a turn; the table of turns is emptied after a fork',
    'training/extensions/_parent_watch.py': 'made in each process that writes snapshots',
    'training/extensions/_terminal.py': "tqdm's, which its own code renews",
}


def exit_status(child: Callable[[], Any], seconds: float = 30.0) -> int | None:
    """The exit status of a forked process that runs a function; None, and it is killed, if it hangs."""
    pid = os.fork()
    if pid == 0:
        try:
            child()
            os._exit(0)
        except BaseException:
            os._exit(1)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.005)
    os.kill(pid, 9)
    os.waitpid(pid, 0)
    return None


def train() -> None:
    """Steps with all that takes a lock: accumulated gradients, recorded ones, hooks on nodes, a function hook."""
    model = L.Linear(4, 4, initialW=np.eye(4))  # NumPy's own generator keeps its lock in a child
    optimizer = optimizers.Adam().setup(model)
    x = Variable(np.ones((2, 4), 'f'))
    for _ in range(2):
        h = model(x)
        h.register_hook(lambda gradient: None)
        with FunctionHook():
            y = F.sum(h * h)
        y.backward(retain_grad=True)
        F.sum(model(x)).backward(enable_double_backprop=True)
        optimizer.update()


@pytest.fixture
def training_threads() -> Iterator[None]:
    stop = threading.Event()

    def run() -> None:
        while not stop.is_set():
            train()

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    yield
    stop.set()
    for thread in threads:
        thread.join()


@pytest.mark.filterwarnings('ignore:.*multi-threaded.*fork:DeprecationWarning')
def test_children_of_a_training_process_can_train(training_threads: None) -> None:
    train()
    assert [exit_status(train) for _ in range(40)] == [0] * 40


class Owner:
    """An object with a lock."""

    def __init__(self) -> None:
        self.lock = lock_of(self, 'lock')


@pytest.mark.parametrize('make', [threading.Lock, threading.RLock])
def test_a_lock_that_another_thread_holds_is_free_in_the_child(make: Any) -> None:
    owner, namespace = Owner(), {}
    namespace['lock'] = lock_of(namespace, 'lock', make)
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with owner.lock, namespace['lock']:
            held.set()
            done.wait()

    def take() -> None:
        with owner.lock, namespace['lock']:
            pass

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    try:
        assert exit_status(take) == 0
    finally:
        done.set()
        thread.join()


def test_every_lock_of_the_package_is_renewed() -> None:
    made = re.compile(r'\b(?:threading\.)?R?Lock\(\)')
    found = {str(path.relative_to(PACKAGE)) for path in PACKAGE.rglob('*.py') if made.search(path.read_text())}
    assert found - OTHERS.keys() == set()


def test_a_hook_may_differentiate_while_gradients_are_added_up() -> None:
    class Differentiates(FunctionHook):
        name = 'differentiates'

        def forward_postprocess(self, function: Any, inputs: Any) -> None:
            v = Variable(np.ones(2))
            v.grad = np.ones(2)
            minichainer.grad([v], [v])
            v.backward(enable_double_backprop=True)

    x = Variable(np.array([1.0, 2.0]))
    x.grad = np.ones(2)
    y = x * x
    y.grad = np.ones(2)
    finished = threading.Event()

    def run() -> None:
        with Differentiates():
            y.backward(enable_double_backprop=True)
        finished.set()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    assert finished.wait(20), 'the pass hangs'
    assert (x.grad == [3.0, 5.0]).all()
