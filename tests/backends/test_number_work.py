"""The work of operations on arrays of numbers: counted, the same on every machine, and limited."""

import itertools
import threading

import numpy as np
import pytest

import minichainer.functions as F
from minichainer.backends.number_work import within
from minichainer.verification.extended_precision import costs
from minichainer.verification.extended_precision.arrays import numbers, using
from minichainer.verification.extended_precision.functions import OF_MPF, OF_RAW

X, M = np.linspace(0.5, 1.0, 12), np.linspace(0.5, 1.0, 12).reshape(3, 4)


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    """Stands still."""
    monkeypatch.setattr('time.thread_time', lambda: 0.0)


def work_of(function, *arrays, digits=50):
    with using(digits):
        operands = [numbers(x) for x in arrays]
        with within(float('inf')) as counted:
            function(*operands)
    return counted.done


@pytest.mark.parametrize(
    ('function', 'arrays', 'additions'),
    [
        (lambda x: x + x, [X], 12),
        (lambda x: x + 1.0, [X], 12),
        (lambda x: x.sum(), [X], 12),
        (lambda x: x * x, [X], 12),
        (np.exp, [X], 12 * 3.5),
        (lambda x: x**3, [X], 12),
        (lambda x: x**2.5, [X], 120),
        (lambda a: a @ a.T, [M], 36),
        (lambda a: a.dot(a.T), [M], 36),
        (lambda a: np.einsum('ij,kj->ik', a, a), [M], 36),
        (lambda a: np.tensordot(a, a, axes=([1], [1])), [M], 36),
        (lambda x: np.add.outer(x, x), [X], 144),
        (lambda a: np.add.at(a, (slice(None), [1, 1, 0]), a[:, :3]), [M], 12),
        (lambda x: np.add.reduceat(x, [0, 4, 8]), [X], 12),
        (lambda x: np.maximum.reduce(x), [X], 12),
        (lambda x: np.add.accumulate(x), [X], 12),
        (lambda x: np.linalg.inv(x[:9].reshape(3, 3) + np.eye(3)), [X], 9 + 5 * 27),
        (lambda x: F.digamma(x), [X], 12 * 100),
        (lambda x: -x, [X], 12 * 0.3),
        (lambda x: x.copy(), [X], 0),
    ],
)
def test_counts(function, arrays, additions):
    assert work_of(function, *arrays) == pytest.approx(additions)


def test_many_digits_cost_more():
    for function, times in [(lambda x: x + x, 1.4), (lambda x: x * x, 5.5), (np.exp, 31)]:
        assert work_of(function, X, digits=720) / work_of(function, X) == pytest.approx(times, rel=0.05)


def double(x, times, made):
    for _ in range(times):
        x = x + x
        made.append(x)


def test_a_limit_stops_before_the_operation_that_exceeds_it():
    made = []
    with using(), within(30) as counted, pytest.raises(TimeoutError, match='takes long'):
        double(numbers(X), 5, made)
    assert len(made) == 2 and counted.done == 36


def test_blocks_add_up_and_give_back_the_limit_around_them():
    with using():
        x = numbers(X)
        with within(50) as outer:
            with within(1e9) as inner:
                for _ in range(10):
                    x + x
            assert inner.done == 120
            with pytest.raises(TimeoutError):
                x + x
        assert outer.done == 132
        x + x


def test_the_clock_counts_where_operations_take_far_longer(monkeypatch):
    times = itertools.count(0.0, 1e-3)
    monkeypatch.setattr('time.thread_time', lambda: next(times))
    made = []
    with using(), within(250) as counted, pytest.raises(TimeoutError):
        double(numbers(X), 100, made)
    assert len(made) == 2 and counted.done == 36 and counted.work == pytest.approx(400)


def test_other_threads_have_no_limit():
    found = []
    with using(), within(0):
        thread = threading.Thread(target=lambda: found.append(numbers(X) + numbers(X)))
        thread.start()
        thread.join()
    assert len(found) == 1


def test_every_function_of_a_number_has_a_cost():
    special = {'digamma', 'psi', 'i0', 'i1', 'i0e', 'i1e'}
    assert special == (set(OF_RAW) | set(OF_MPF)) - set(costs._COSTS)
