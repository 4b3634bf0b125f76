"""Eight threads over shared Parameters give what one thread gives, bit for bit."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F

THREADS, GRAPHS = 8, 1000


@pytest.fixture(autouse=True)
def switching_often():
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


def in_threads(work):
    results, errors = [None] * THREADS, []

    def run(k):
        try:
            results[k] = work(k)
        except BaseException as e:
            errors.append(e)

    threads = [threading.Thread(target=run, args=(k,)) for k in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return results


def parameters():
    rng = np.random.RandomState(0)
    return [chainer.Parameter(rng.randn(3, 3).astype('f')) for _ in range(2)]


def test_grad_with_another_config_in_each_thread():
    w, v = parameters()

    def work(k):
        total = np.zeros((3, 3), 'f')
        with chainer.using_config('enable_backprop', k % 4 != 3), chainer.using_config('train', k % 2 == 0):
            for i in range(GRAPHS):
                x = np.full((2, 3), 0.01 * (k + i), 'f')
                y = F.tanh(F.linear(F.linear(x, w), v))
                assert (y.creator is None) == (k % 4 == 3)
                assert chainer.config.train == (k % 2 == 0)
                if k % 4 != 3:
                    gw, gv = chainer.grad([F.sum(y)], [w, v])
                    total += gw.array - gv.array
        return total

    serial = [work(k) for k in range(THREADS)]
    for one, other in zip(serial, in_threads(work), strict=True):
        np.testing.assert_array_equal(one, other)
    assert w.grad is v.grad is None or np.isnan(w.grad).all()


def test_backward_into_shared_parameters_loses_no_gradient():
    w = chainer.Parameter(np.ones((4,), 'd'))

    def work(k):
        for _ in range(GRAPHS):
            F.sum(w * float(k + 1)).backward()  # whole numbers: the order of the sums does not matter

    in_threads(work)
    np.testing.assert_array_equal(w.grad, np.full(4, GRAPHS * sum(range(1, THREADS + 1)), 'd'))


def test_hooks_of_one_thread_see_no_other():
    class Count(chainer.FunctionHook):
        name = 'count'
        calls = 0

        def forward_preprocess(self, function, in_data):
            self.calls += 1

    x = chainer.Variable(np.ones(2, 'f'))

    def work(k):
        if k % 2:
            for _ in range(200):
                F.exp(x)
            return None
        with Count() as hook:
            for _ in range(200):
                F.exp(x)
        return hook.calls

    assert in_threads(work) == [200, None] * (THREADS // 2)


def test_a_thread_that_ends_with_settings_leaves_no_trace():
    before = chainer.configuration.nondefault

    def work(k):
        chainer.config.debug = True
        chainer.config.enable_backprop = False
        chainer.function_hook.get_function_hooks()['left'] = chainer.FunctionHook()
        chainer.configuration.count_nondefault(1)

    in_threads(work)
    assert chainer.configuration.nondefault == before


def test_settings_that_outlive_their_module_end_silently() -> None:
    """When the interpreter exits it sets the globals of modules to None, those with an underscore first."""
    code = """
        import minichainer.configuration as configuration
        for name in ('count_nondefault', '_weight'):
            values = configuration._CountedValues()
            values.entries['debug'] = True
            setattr(configuration, name, None)
            del values
    """
    ended = subprocess.run(
        [sys.executable, '-c', textwrap.dedent(code)], capture_output=True, text=True, check=False, timeout=60
    )
    assert (ended.returncode, ended.stderr) == (0, '')


REPLACED = """
    import sys, threading, numpy as np, minichainer as chainer, minichainer.functions as F
    w, b = chainer.Parameter(np.ones((50, 40), 'f')), chainer.Parameter(np.zeros(50, 'f'))
    x, one = np.ones((20, 40), 'f'), np.ones((50, 40), 'f')

    def replace():
        for i in range(1000):
            w.array, b.array = one + np.float32(i % 2), np.zeros(50, 'f')

    def compute():
        for _ in range(1000):
            y = F.tanh(F.linear(F.linear(x, w, b)[:, :40] * 0.5, w, b))
            assert y.shape == (20, 50)

    sys.setswitchinterval(1e-6)
    threads = [threading.Thread(target=work) for work in [replace, compute] * 4]
    for thread in threads:
        thread.start()
"""


def test_arrays_that_another_thread_replaces_meanwhile() -> None:
    # A write also moves the clock that tells when arrays were saved. The allocator overwrites what is freed.
    environment = {**os.environ, 'PYTHONMALLOC': 'debug'}
    command = [sys.executable, '-c', textwrap.dedent(REPLACED)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, env=environment)
    assert (ended.returncode, ended.stderr) == (0, '')
