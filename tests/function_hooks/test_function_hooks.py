"""The hooks that come with the package: what they record, and what they print."""

from __future__ import annotations

import io
import re
import types
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F
from minichainer import function_hooks
from minichainer.backends import cuda

X = np.arange(6, dtype='f').reshape(2, 3)


class Outer(chainer.FunctionNode):
    """A function that calls another one."""

    def forward(self, inputs: Any) -> Any:
        return (F.relu(inputs[0]).array,)

    def backward(self, indexes: Any, grads: Any) -> Any:
        return (grads[0] * 3,)


class Two(chainer.FunctionNode):
    """A function of two outputs that retains nothing."""

    def forward(self, inputs: Any) -> Any:
        return inputs[0] * 2, inputs[0] + 1

    def backward(self, indexes: Any, grads: Any) -> Any:
        return (grads[0],)


class Broken(chainer.FunctionNode):
    def forward(self, inputs: Any) -> Any:
        raise ZeroDivisionError


def _train() -> None:
    x = chainer.Variable(X)
    y = F.sum(F.relu(x * 2))
    y.backward()


# --- TimerHook -----------------------------------------------------------------------------------------------------
def test_a_timer_records_calls_forward_and_backward() -> None:
    with function_hooks.TimerHook() as hook:
        _train()
    labels = [label for label, _ in hook.call_history]
    assert labels == ['MulConstant', 'ReLU', 'Sum', 'Sum', 'ReLU', 'MulConstant']
    seconds = [second for _, second in hook.call_history]
    assert all(0 < second < 10 for second in seconds)
    assert hook.total_time() == pytest.approx(sum(seconds))
    assert hook.summary()['ReLU'] == {'elapsed_time': pytest.approx(seconds[1] + seconds[4]), 'occurrence': 2}
    assert chainer.get_function_hooks() == {}


def test_calls_inside_of_others_do_not_count_twice() -> None:
    hook = function_hooks.TimerHook()
    with hook:
        Outer().apply((X,))
    (inner, inner_time), (outer, outer_time) = hook.call_history
    assert (inner, outer) == ('ReLU', 'Outer')
    assert inner_time < outer_time == hook.total_time()


def test_a_timer_goes_on_after_an_error() -> None:
    hook = function_hooks.TimerHook()
    with pytest.raises(ZeroDivisionError), hook:
        Broken().apply((X,))
    with hook:
        F.relu(X)
    assert [label for label, _ in hook.call_history] == ['ReLU']
    assert hook.total_time() == hook.call_history[0][1]


def test_a_timer_of_one_function() -> None:
    hook, function = function_hooks.TimerHook(), Outer()
    function.add_hook(hook)
    (y,) = function.apply((chainer.Variable(X),))
    y.grad = X
    y.backward()
    assert [label for label, _ in hook.call_history] == ['Outer', 'Outer']


def test_two_timers_need_two_names() -> None:
    with function_hooks.TimerHook(), pytest.raises(KeyError, match='TimerHook already exists'):
        function_hooks.TimerHook().__enter__()


TIMES = [('A', 0.5), ('B', 1e-5), ('A', 2.0), ('Cccccccccccccccc', 3e-9), ('D', 0.0), ('E', 2000.0)]
# the table that Chainer prints of these times
REPORTS = {
    'sec': """
    FunctionName  ElapsedTime  Occurrence
               A      2.50sec           2
               B      0.00sec           1
Cccccccccccccccc      0.00sec           1
               D      0.00sec           1
               E   2000.00sec           1
""",
    'ns': """
    FunctionName         ElapsedTime  Occurrence
               A      2500000000.00ns           2
               B          10000.00ns           1
Cccccccccccccccc              3.00ns           1
               D              0.00ns           1
               E   2000000000000.00ns           1
""",
    'auto_foreach': """
    FunctionName  ElapsedTime  Occurrence
               A      2.50sec           2
               B      10.00us           1
Cccccccccccccccc       3.00ns           1
               D       0.00ns           1
               E   2000.00sec           1
""",
}
REPORTS['auto'] = REPORTS['sec']


@pytest.mark.parametrize('unit', REPORTS)
def test_the_report_of_a_timer(unit: str) -> None:
    hook, out = function_hooks.TimerHook(), io.StringIO()
    hook.call_history.extend(TIMES)
    hook.print_report(unit, file=out)
    printed = out.getvalue()
    assert len({len(line) for line in printed.splitlines()}) == 1  # aligned
    assert [line.split() for line in printed.splitlines()] == [
        line.split() for line in REPORTS[unit].strip().splitlines()
    ]
    if unit != 'ns':
        assert printed == REPORTS[unit].lstrip('\n')


@pytest.mark.parametrize(
    ('seconds', 'text'),
    [(1e-10, '0.10ns'), (1e-9, '1.00ns'), (9.99e-7, '999.00ns'), (1e-6, '1.00us'), (1e-3, '1.00ms'),
     (0.99, '990.00ms'), (1, '1.00sec'), (1e4, '10000.00sec'), (0, '0.00ns')],
)  # fmt: skip
def test_units_of_times(seconds: float, text: str) -> None:
    for unit in ('auto', 'auto_foreach'):
        hook, out = function_hooks.TimerHook(), io.StringIO()
        hook.call_history.append(('A', seconds))
        hook.print_report(unit, out)
        assert out.getvalue().splitlines()[1].split() == ['A', text, '1']


def test_the_report_goes_to_standard_output_and_may_be_empty(capsys: pytest.CaptureFixture[str]) -> None:
    function_hooks.TimerHook().print_report()
    assert capsys.readouterr().out == 'FunctionName  ElapsedTime  Occurrence\n'


def test_other_units_are_refused() -> None:
    with pytest.raises(ValueError, match="unit must be 'auto', 'auto_foreach' or one of sec, ms, us, ns, got 'min'"):
        function_hooks.TimerHook().print_report('min')


# --- PrintHook -----------------------------------------------------------------------------------------------------
def _described(shape: tuple[int, ...], data: Any, grad: Any = None) -> list[str]:
    def statistics(values: Any) -> str:
        return f'mean={np.mean(values):.8f}, std={np.std(values):.8f}'

    lines = ['<variable>', '- device', "- backend: <class 'numpy.ndarray'>", f'- shape: {shape}', '- dtype: float32']
    gradient = 'None' if grad is None else statistics(grad)
    return [*lines, f'- statistics: {statistics(data)}', f'- grad: {gradient}']


def test_a_print_hook_prints_what_chainers_prints() -> None:
    out = io.StringIO()
    x = chainer.Variable(X)
    with function_hooks.PrintHook(file=out):
        first, _ = Two().apply((x,))
        y = F.sum(first)
    with function_hooks.PrintHook(file=out):
        y.backward()
    text = re.sub(r'<variable at 0x[0-9a-f]+>', '<variable>', out.getvalue())
    text = re.sub(r'- device: .*', '- device', text)
    one = np.ones(())
    assert text.splitlines() == [
        'function\tTwo', 'input data', *_described((2, 3), X),
        'function\tSum', 'input data', *_described((2, 3), X * 2),
        'function\tSum', 'input data', '(removed)',
        'output gradient', *_described((), 0 * one, one),
        'function\tTwo', 'input data', '(removed)',
        'output gradient', *_described((2, 3), 0 * X, np.ones((2, 3))), '(none)',
    ]  # fmt: skip


def test_what_print_gets(capsys: pytest.CaptureFixture[str]) -> None:
    class Out(io.StringIO):
        flushed = 0

        def flush(self) -> None:
            self.flushed += 1

    out = Out()
    with function_hooks.PrintHook(sep='|', end='#\n', file=out, flush=True):
        F.relu(X)
    assert out.getvalue().startswith('function\tReLU#\ninput data#\n')
    assert out.flushed == 3
    with function_hooks.PrintHook():
        F.relu(X)
    assert capsys.readouterr().out.startswith('function\tReLU\ninput data\n')


# --- without CUDA --------------------------------------------------------------------------------------------------
@pytest.mark.skipif(cuda.available, reason='there is CUDA')
@pytest.mark.parametrize('name', ['CUDAProfileHook', 'CupyMemoryProfileHook'])
def test_hooks_for_cuda_say_what_is_missing(name: str) -> None:
    with pytest.raises(RuntimeError, match=r'CUDA is not available: .*CuPy.*, or stay on the CPU'):
        getattr(function_hooks, name)()


# --- with a CuPy that only counts ----------------------------------------------------------------------------------
class FakeArray:
    """Stands for an array on a GPU."""


class Memory:
    """Stands for CuPy's memory hooks: those that are entered are told of allocations."""

    hooks: list[Any] = []  # noqa: RUF012

    def __enter__(self) -> Memory:
        assert self not in self.hooks, 'CuPy refuses a hook that is there'
        self.hooks.append(self)
        return self

    def __exit__(self, *args: Any) -> None:
        self.hooks.remove(self)

    @classmethod
    def allocate(cls, used: int, acquired: int) -> None:
        for hook in cls.hooks:
            hook.malloc_preprocess(device_id=0, size=used - 1, mem_size=used)
            if acquired:
                hook.alloc_preprocess(device_id=0, mem_size=acquired)


class Event:
    """Stands for CuPy's events, which take the time of the GPU."""

    clock = 0.0

    def record(self) -> None:
        type(self).clock += 4.0
        self.time: float | None = None
        self._recorded = self.clock

    def synchronize(self) -> None:
        self.time = self._recorded


def _elapsed(begin: Event, end: Event) -> float:
    assert end.time is not None, 'an event must be waited for'
    return end._recorded - begin._recorded


@pytest.fixture
def fake_cupy(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    ranges: list[str] = []
    nvtx = types.SimpleNamespace(available=True, RangePush=ranges.append, RangePop=lambda: ranges.append('end'))
    module = types.SimpleNamespace(nvtx=nvtx, MemoryHook=Memory, get_elapsed_time=_elapsed)
    monkeypatch.setattr(cuda, 'cupy', types.SimpleNamespace(cuda=module))
    monkeypatch.setattr(cuda, 'check_cuda_available', lambda: None)
    monkeypatch.setattr(cuda, 'ndarray', FakeArray)
    monkeypatch.setattr(cuda, 'Event', Event)
    yield types.SimpleNamespace(ranges=ranges, nvtx=nvtx)
    assert Memory.hooks == []


def test_a_gpu_is_waited_for(fake_cupy: Any) -> None:
    hook = function_hooks.TimerHook()
    function = types.SimpleNamespace(_as_creator=lambda: types.SimpleNamespace(_impl_name='f'))
    hook.forward_preprocess(function, (None, FakeArray()))
    hook.forward_postprocess(function, (None, FakeArray()))
    hook.backward_preprocess(function, (None,), (FakeArray(),))  # the input is not retained
    hook.backward_postprocess(function, (None,), (FakeArray(),))
    assert hook.call_history == [('f', 0.004), ('f', 0.004)]


def test_ranges_of_cudas_profilers(fake_cupy: Any) -> None:
    with function_hooks.CUDAProfileHook():
        y = F.relu(chainer.Variable(X))
        y.backward(gradient=X)
    assert fake_cupy.ranges == ['ReLU.forward', 'end', 'ReLU.backward', 'end']


def test_without_nvtx(fake_cupy: Any) -> None:
    fake_cupy.nvtx.available = False
    with pytest.raises(RuntimeError, match='CuPy has no NVTX; install'):
        function_hooks.CUDAProfileHook()


class Allocating(chainer.FunctionNode):
    def __init__(self, used: int, acquired: int, inner: Any = None) -> None:
        self.sizes, self.inner = (used, acquired), inner

    @property
    def _impl_name(self) -> str:
        return f'used {self.sizes[0]}'

    def forward(self, inputs: Any) -> Any:
        Memory.allocate(*self.sizes)
        if self.inner is not None:
            self.inner.apply(inputs)
        return inputs[0] * 2, inputs[0] * 3

    def backward(self, indexes: Any, grads: Any) -> Any:
        Memory.allocate(7, 1)
        return (grads[0],)


def test_memory_of_a_gpu(fake_cupy: Any) -> None:
    hook = function_hooks.CupyMemoryProfileHook()
    Memory.allocate(1000, 1000)
    with hook:
        y, _ = Allocating(512, 0, Allocating(1024, 4096)).apply((chainer.Variable(X),))
    with hook:
        y.backward(gradient=X)
    assert hook.call_history == [('used 1024', 1024, 4096, 1), ('used 512', 1536, 4096, 0), ('used 512', 7, 1, 0)]
    assert (hook.total_used_bytes(), hook.total_acquired_bytes()) == (1543, 4097)
    assert hook.summary() == {
        'used 1024': {'used_bytes': 1024, 'acquired_bytes': 4096, 'occurrence': 1},
        'used 512': {'used_bytes': 1543, 'acquired_bytes': 4097, 'occurrence': 2},
    }


def test_memory_of_two_functions_and_after_an_error(fake_cupy: Any) -> None:
    hook = function_hooks.CupyMemoryProfileHook()
    functions = [Allocating(5, 0), Broken()]
    for function in functions:
        function.add_hook(hook)
    with pytest.raises(ZeroDivisionError):
        functions[1].apply((X,))
    for function in functions:
        function.delete_hook(hook.name)
    with hook:
        Allocating(5, 0).apply((X,))
    assert hook.call_history == [('used 5', 5, 0, 0)]


SIZES = [('A', 100, 2000, 0), ('B', 5 * 2**20, 0, 1), ('A', 3, 4, 0), ('Z', 0, 0, 1)]
# what Chainer prints of these sizes
MEMORY_REPORTS = {
    'auto': [('A', '0.00MB', '1.96KB', '2'), ('B', '5.00MB', '0.00KB', '1'), ('Z', '0.00MB', '0.00KB', '1')],
    'auto_foreach': [('A', '103.00B', '1.96KB', '2'), ('B', '5.00MB', '0.00B', '1'), ('Z', '0.00B', '0.00B', '1')],
    'KB': [('A', '0.10KB', '1.96KB', '2'), ('B', '5120.00KB', '0.00KB', '1'), ('Z', '0.00KB', '0.00KB', '1')],
}


@pytest.mark.parametrize('unit', MEMORY_REPORTS)
def test_the_report_of_memory(fake_cupy: Any, unit: str) -> None:
    hook, out = function_hooks.CupyMemoryProfileHook(), io.StringIO()
    hook.call_history.extend(SIZES)
    hook.print_report(unit, out)
    head, *rows = out.getvalue().splitlines()
    assert head.split() == ['FunctionName', 'UsedBytes', 'AcquiredBytes', 'Occurrence']
    assert [tuple(row.split()) for row in rows] == MEMORY_REPORTS[unit]
    assert all(len(row) == len(head) for row in rows)


@pytest.mark.parametrize(
    ('size', 'text'),
    [(0, '0.00B'), (1023, '1023.00B'), (1024, '1.00KB'), (2**30 * 2000, '1.95TB'), (2**50, '1.00PB')],
)
def test_units_of_memory(fake_cupy: Any, size: int, text: str) -> None:
    hook, out = function_hooks.CupyMemoryProfileHook(), io.StringIO()
    hook.call_history.append(('A', size, size, 0))
    hook.print_report(file=out)
    assert out.getvalue().splitlines()[1].split() == ['A', text, text, '1']
    with pytest.raises(ValueError, match="one of B, KB, MB, GB, TB, PB, EB, ZB, got 'sec'"):
        hook.print_report('sec')
