"""The context managers: profile, record_function, emit_nvtx."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import minichainer as chainer
from minichainer import _trace, configuration
from minichainer.autograd.profiler import EventList, emit_nvtx, profile, record_function
from minichainer.backends import cuda


class Tanh(chainer.FunctionNode):
    def forward(self, inputs: Any) -> Any:
        return (np.tanh(inputs[0]),)


def step() -> None:
    """An op forward and backward, recorded as the recorder and the backward pass do it."""
    trace, node, x = _trace.current(), Tanh(), np.ones((2, 3))
    if trace is not None:
        trace.forward(node, (x,), lambda: node.forward((x,)))
        trace.backward(node, x, lambda: [x * 2])


def names(prof: Any) -> list[str]:
    return [event.name for event in prof.function_events]


def test_profile_records_ops_of_its_block() -> None:
    step()
    with profile() as prof:
        with record_function('outer', 'a remark'):
            step()
        step()
    step()
    assert names(prof) == ['outer', 'Tanh', 'TanhBackward', 'Tanh', 'TanhBackward']
    assert prof.function_events[0].note == 'a remark'
    assert prof.function_events[1].cpu_parent is prof.function_events[0]
    assert prof.self_cpu_time_total == pytest.approx(prof.total_average().self_cpu_time_total)
    assert str(prof) == repr(prof) == prof.table() == str(prof.function_events)
    assert [a.count for a in prof.key_averages()] == [1, 2, 2]
    assert configuration.nondefault == 0


def test_times_are_right() -> None:
    with profile() as prof, record_function('sleep'):
        time.sleep(0.02)
    (event,) = prof.function_events
    assert 19e3 < event.cpu_time_total < 10e6
    assert 0 <= event.time_range.start < 10e6


def test_options() -> None:
    with profile(record_shapes=True, profile_memory=True, with_stack=True) as prof:
        step()
    forward, backward = prof.function_events
    assert forward.input_shapes == backward.input_shapes == [[2, 3]]
    assert forward.cpu_memory_usage == backward.cpu_memory_usage == 48
    assert '): step' in forward.stack[0] and backward.stack == forward.stack
    assert 'Input Shapes' in prof.table() and 'CPU Mem' in prof.table() and 'Source Location' in prof.table()


def test_a_profile_cannot_be_entered_twice() -> None:
    prof = profile()
    with prof:
        with pytest.raises(RuntimeError, match='entered twice'):
            prof.__enter__()
        step()
    with pytest.raises(RuntimeError, match='entered twice'):
        prof.__enter__()
    assert names(prof) == ['Tanh', 'TanhBackward']


def test_before_the_end_a_profile_is_empty() -> None:
    prof = profile()
    assert (str(prof), prof.table(), prof.key_averages()) == ('<unfinished profile>', '', [])
    with prof:
        step()
        assert isinstance(prof.function_events, EventList) and prof.function_events == []


def test_a_disabled_profile_records_nothing() -> None:
    with profile(enabled=False) as prof:
        assert _trace.current() is None
        step()
    assert (str(prof), prof.self_cpu_time_total) == ('<disabled profile>', 0)


def test_nested_profiles_both_get_the_events() -> None:
    with profile() as outer:
        step()
        with profile() as inner:
            step()
        step()
    assert names(inner) == ['Tanh', 'TanhBackward']
    assert names(outer) == ['Tanh', 'TanhBackward'] * 3
    starts = [event.time_range.start for event in outer.function_events]
    assert starts == sorted(starts)


def test_an_exception_ends_the_profile() -> None:
    def fail() -> None:
        with prof, record_function('label'):
            step()
            raise KeyError('mine')

    prof = profile()
    with pytest.raises(KeyError, match='mine'):
        fail()
    assert names(prof) == ['label', 'Tanh', 'TanhBackward']
    assert _trace.current() is None


def test_threads_have_profiles_of_their_own() -> None:
    found: dict[str, list[str]] = {}

    def work(label: str) -> None:
        with profile() as prof, record_function(label):
            step()
        found[label] = names(prof)

    threads = [threading.Thread(target=work, args=(label,)) for label in ('a', 'b')]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {label: [label, 'Tanh', 'TanhBackward'] for label in ('a', 'b')}


def test_stacks_need_with_stack(tmp_path: Path) -> None:
    with profile() as prof:
        step()
    with pytest.raises(AssertionError, match='with_stack=True'):
        prof.export_stacks(tmp_path / 'stacks.txt')
    with profile(with_stack=True) as prof:
        step()
        with record_function('sleep'):
            time.sleep(0.001)
    prof.export_stacks(tmp_path / 'stacks.txt')
    assert 'test_stacks_need_with_stack' in (tmp_path / 'stacks.txt').read_text(encoding='utf-8')


def test_exports_write_files(tmp_path: Path) -> None:
    with profile() as prof:
        step()
    prof.export_chrome_trace(tmp_path / 'trace.json')
    prof.flamegraph(tmp_path / 'flame.html')
    assert sorted(path.name for path in tmp_path.iterdir()) == ['flame.html', 'trace.json']


# --- record_function -----------------------------------------------------------------------------------------------
def test_labels_of_functions_that_call_themselves() -> None:
    @record_function('count')
    def count(n: int) -> int:
        return 0 if n == 0 else 1 + count(n - 1)

    with profile() as prof:
        assert count(2) == 2
    assert names(prof) == ['count'] * 3
    assert prof.function_events[2].cpu_parent is prof.function_events[1]


def test_one_label_may_be_entered_again_inside() -> None:
    label = record_function('again')
    with profile() as prof, label, label:
        pass
    assert names(prof) == ['again'] * 2


def test_labels_outside_a_profile_do_nothing() -> None:
    with record_function('outside'), profile() as prof:
        assert record_function('inside')(lambda: 3)() == 3
    assert names(prof) == ['inside']


# --- CUDA, with stand-ins for what CuPy provides -------------------------------------------------------------------
class Event:
    """A CUDA event of a device that takes 3 ms from one event to the next."""

    clock = 0

    def record(self) -> None:
        Event.clock += 3
        self.time = Event.clock

    def synchronize(self) -> None:
        assert self.time


@pytest.fixture
def pushed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Stands in for CuPy; the ranges that are pushed and popped."""
    log: list[str] = []
    ranges = SimpleNamespace(RangePush=log.append, RangePop=lambda: log.append('pop'))
    device = SimpleNamespace(synchronize=lambda: log.append('synchronize'))
    elapsed = SimpleNamespace(
        nvtx=ranges, get_elapsed_time=lambda start, end: end.time - start.time, Device=lambda: device
    )
    monkeypatch.setattr(cuda, 'available', True)
    monkeypatch.setattr(cuda, 'Event', Event)
    monkeypatch.setattr(cuda, 'cupy', SimpleNamespace(cuda=elapsed, get_array_module=lambda *args: np))
    return log


@pytest.mark.usefixtures('pushed')
def test_cuda_time_is_measured_by_events() -> None:
    with profile(use_cuda=True) as prof, record_function('block'):
        step()
    block, forward, backward = prof.function_events
    assert (forward.cuda_time_total, backward.cuda_time_total) == (3000, 3000)
    assert block.cuda_time_total == 15000 and block.self_cuda_time_total == 9000
    assert 'Self CUDA time total: 15.000ms' in prof.table(sort_by='cuda_time_total')


@pytest.mark.skipif(cuda.available, reason='CUDA is available')
def test_without_cuda_only_cpu_times_are_measured() -> None:
    with pytest.warns(UserWarning, match='CUDA is not available'):
        prof = profile(use_cuda=True)
    assert not prof.use_cuda


@pytest.mark.gpu
def test_cuda_times_of_a_gpu() -> None:
    x = cuda.cupy.ones((512, 512), 'f')
    with profile(use_cuda=True) as prof, record_function('product'):
        x @ x
    assert prof.function_events[0].cuda_time_total > 0


def test_nvtx_ranges_have_numbers(pushed: list[str]) -> None:
    with emit_nvtx(), record_function('block'):
        step()
    number = pushed[2].rpartition(' ')[2]
    assert pushed == [
        'synchronize', 'block', f'Tanh, seq = {number}', 'pop', f'TanhBackward, stashed seq = {number}', 'pop', 'pop',
        'synchronize',
    ]  # fmt: skip


def test_nvtx_ranges_of_functions_in_short_form(pushed: list[str]) -> None:
    x = chainer.Variable(np.ones((2, 3), 'f'))
    with emit_nvtx():
        chainer.functions.sum(chainer.functions.exp(x)).backward()
    kinds = [text.partition(',')[0] for text in pushed if 'seq' in text]
    assert kinds == ['Exp', 'Sum', 'SumBackward', 'ExpBackward']


def test_nvtx_ranges_with_shapes(pushed: list[str]) -> None:
    with emit_nvtx(record_shapes=True):
        step()
    assert [text.partition(', sizes')[2] for text in pushed if 'Tanh' in text] == [' = [[2, 3]]'] * 2


def test_nvtx_within_a_profile_emits_and_records(pushed: list[str]) -> None:
    with profile() as prof, emit_nvtx(), record_function('block'):
        step()
    assert names(prof) == ['block', 'Tanh', 'TanhBackward']
    assert prof.function_events[1].sequence_nr == int(pushed[2].rpartition(' ')[2])


def test_nvtx_disabled_is_a_no_op(pushed: list[str]) -> None:
    with emit_nvtx(enabled=False):
        assert _trace.current() is None
    assert pushed == []


@pytest.mark.skipif(cuda.available, reason='CUDA is available')
def test_nvtx_without_cupy_is_an_error() -> None:
    with pytest.raises(RuntimeError, match='CUDA is not available'), emit_nvtx():
        pass
    assert _trace.current() is None


@pytest.mark.usefixtures('pushed')
def test_nvtx_cannot_be_entered_twice() -> None:
    ranges = emit_nvtx()
    with ranges, pytest.raises(RuntimeError, match='entered twice'):
        ranges.__enter__()
