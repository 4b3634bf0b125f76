"""Recordings of threads: rows, options, nesting."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import minichainer as chainer
from minichainer import _trace, configuration
from minichainer._trace import Row, Trace


class Tanh(chainer.FunctionNode):
    pass


@pytest.fixture(autouse=True)
def _nothing_left_running() -> Iterator[None]:
    before = configuration.nondefault
    yield
    assert _trace.current() is None
    assert configuration.nondefault == before


def test_a_forward_op_and_the_backward_step_of_its_node_have_one_number() -> None:
    trace, node, other = Trace(), Tanh(), Tanh()
    assert trace.forward(node, (), lambda: 'outputs') == 'outputs'
    assert trace.backward(node, None, lambda: 'gradients') == 'gradients'
    trace.forward(other, (), lambda: None)
    first, second, third = [Row(*row) for row in trace.rows]
    assert (first.phase, first.name) == ('forward', 'Tanh')
    assert (second.phase, second.name) == ('backward', 'TanhBackward')
    assert first.seq == second.seq == node._seq
    assert third.seq == other._seq is not None and third.seq > first.seq
    assert first.begin <= first.end <= second.begin <= second.end


def test_a_node_from_before_the_recording_has_no_number() -> None:
    trace = Trace()
    trace.backward(Tanh(), None, lambda: None)
    assert Row(*trace.rows[0]).seq is None


@pytest.mark.parametrize('options', [{}, {'record_shapes': True, 'profile_memory': True, 'with_stack': True}])
def test_what_raises_has_a_row_too(options: Any) -> None:
    def fail() -> None:
        raise KeyError('mine')

    trace = Trace(**options)
    with pytest.raises(KeyError, match='mine'):
        trace.forward(Tanh(), (np.ones(2),), fail)
    with pytest.raises(KeyError, match='mine'):
        trace.backward(Tanh(), np.ones(2), fail)
    assert [row[0] for row in trace.rows] == ['forward', 'backward']


X = np.ones((2, 3))
MADE = {
    'a new array': (X, lambda: (np.ones(5, np.float32),), 20),
    'a view of the input': (X, lambda: (X.T,), 0),
    'a view of a new array': (X, lambda: (np.ones((4, 5)).T,), 160),
    'a view of what the input is a view of': (X[1:], lambda: (X[:1],), 0),
    'the same array twice': (X, lambda: [np.ones(1)] * 2, 8),
    'no tuple': (X, lambda: None, 0),
    'a scalar of NumPy': (X, lambda: (np.float32(1),), 4),
    'nothing': (X, lambda: [None], 0),
    'a Variable': (X, lambda: [chainer.Variable(np.ones(3))], 24),
}


@pytest.mark.parametrize(('x', 'compute', 'expected'), MADE.values(), ids=MADE)
def test_memory_is_that_of_arrays_that_are_made(x: Any, compute: Any, expected: int) -> None:
    trace = Trace(profile_memory=True)
    trace.forward(Tanh(), (x,), compute)
    trace.backward(Tanh(), x, compute)
    assert [Row(*row).nbytes for row in trace.rows] == [expected] * 2


def test_shapes_are_those_of_the_inputs_and_upstream_gradients() -> None:
    trace = Trace(record_shapes=True)
    trace.forward(Tanh(), (np.ones((2, 3)), np.ones(())), lambda: ())
    trace.backward(Tanh(), [np.ones(4), None, chainer.Variable(np.ones(1))], lambda: ())
    assert [Row(*row).shapes for row in trace.rows] == [((2, 3), ()), ((4,), (1,))]


def test_stacks_have_the_users_frames_only() -> None:
    trace = Trace(with_stack=True)

    def mine() -> None:
        trace.forward(Tanh(), (), lambda: None)

    mine()
    stack = Row(*trace.rows[0]).stack
    assert stack is not None
    assert stack[0].startswith(__file__) and stack[0].endswith('): mine')
    assert stack[1].endswith(f'): {test_stacks_have_the_users_frames_only.__name__}')
    assert not any('minichainer/_trace.py' in frame for frame in stack)


def test_the_innermost_recording_notes_rows_and_hands_them_to_the_one_around_it() -> None:
    outer, inner = Trace(record_shapes=True), Trace()
    _trace.start(outer)
    _trace.start(inner)
    assert _trace.current() is inner and inner.record_shapes
    inner.forward(Tanh(), (X,), lambda: ())
    assert outer.rows == []
    _trace.stop(inner)
    assert _trace.current() is outer
    assert outer.rows == inner.rows != []
    assert Row(*outer.rows[0]).shapes == ((2, 3),)
    _trace.stop(outer)


def test_recordings_may_end_in_any_order() -> None:
    outer, inner = Trace(), Trace()
    _trace.start(outer)
    _trace.start(inner)
    _trace.stop(outer)
    assert _trace.current() is inner
    _trace.stop(inner)


def test_a_recording_that_does_not_run_here_cannot_be_stopped() -> None:
    with pytest.raises(RuntimeError, match='thread in which it started'):
        _trace.stop(Trace())


def test_a_recording_belongs_to_its_thread() -> None:
    seen = []
    trace = Trace()
    _trace.start(trace)
    thread = threading.Thread(target=lambda: seen.append(_trace.current()))
    thread.start()
    thread.join()
    _trace.stop(trace)
    assert seen == [None]


def test_a_thread_that_ends_within_a_recording_leaves_no_count() -> None:
    before = configuration.nondefault
    thread = threading.Thread(target=lambda: _trace.start(Trace()))
    thread.start()
    thread.join()
    assert configuration.nondefault == before
