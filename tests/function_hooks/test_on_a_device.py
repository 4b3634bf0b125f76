"""Hooks of functions on a GPU, the current one and another: times and memory of the device, texts of its arrays."""

from __future__ import annotations

import io
import time
from typing import Any

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F
from minichainer import function_hooks
from minichainer.backends import cuda

pytestmark = pytest.mark.gpu


@pytest.fixture(params=[0, 1])
def x(request: pytest.FixtureRequest) -> Any:
    if request.param >= cuda.cupy.cuda.runtime.getDeviceCount():
        pytest.skip('one GPU only')
    return chainer.Variable(cuda.to_gpu(np.ones((64, 64), 'f'), request.param))


def run(x: Any, hook: Any) -> None:
    with hook:
        y = F.sum(F.exp(x))
        y.backward()


def test_times(x: Any) -> None:
    hook = function_hooks.TimerHook()
    begin = time.perf_counter()
    run(x, hook)
    passed = time.perf_counter() - begin
    assert [label for label, _ in hook.call_history] == ['Exp', 'Sum', 'Sum', 'Exp']
    assert all(seconds >= 0 for _, seconds in hook.call_history)
    assert 0 < hook.total_time() <= 2 * passed


def test_memory(x: Any) -> None:
    hook = function_hooks.CupyMemoryProfileHook()
    run(x, hook)
    size = 64 * 64 * 4
    used = {label: bytes_ for label, bytes_, _, _ in hook.call_history[:2]}
    assert used['Exp'] >= size and used['Sum'] < size
    assert hook.total_used_bytes() == sum(bytes_ for _, bytes_, _, _ in hook.call_history)
    hook.print_report(file=(text := io.StringIO()))
    assert 'Exp' in text.getvalue()
    before = len(hook.call_history)
    F.exp(x)  # outside of the hook nothing is noted
    assert len(hook.call_history) == before


def test_texts(x: Any) -> None:
    text = io.StringIO()
    run(x, function_hooks.PrintHook(file=text, flush=False))
    assert text.getvalue().count('- device: <CUDA Device') == 6 or '@cupy' in text.getvalue()


def test_ranges_of_the_profiler(x: Any) -> None:
    run(x, function_hooks.CUDAProfileHook())
    assert x.grad.device == x.array.device


def test_a_hook_of_one_function(x: Any) -> None:
    hook = function_hooks.TimerHook()
    y = F.exp(x)
    y.creator.add_hook(hook)
    F.sum(y).backward()
    assert [label for label, _ in hook.call_history] == ['Exp']
