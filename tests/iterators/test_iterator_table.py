"""Every public iterator draws what Chainer's draws, goes on from any snapshot, and ends its threads and processes."""

from __future__ import annotations

import io
import multiprocessing
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from minichainer import iterators
from minichainer.iterators import (
    DaliIterator,
    MultiprocessIterator,
    MultithreadIterator,
    OrderSampler,
    SerialIterator,
    ShuffleOrderSampler,
)
from minichainer.serializers.npz import load_npz, save_npz
from tests.iterators.rows_iterators import ROWS, Row, own_random_state
from tests.training.documented import check_documentation, check_methods

# Of forks of a process that has threads, such as those of NumPy's BLAS.
pytestmark = pytest.mark.filterwarnings('ignore:.*multi-threaded, use of fork:DeprecationWarning')

KINDS: dict[str, Callable[..., Any]] = {
    'SerialIterator': SerialIterator,
    'MultithreadIterator': MultithreadIterator,
    'MultithreadIterator, 3 threads': lambda *args, **kwargs: MultithreadIterator(*args, n_threads=3, **kwargs),
    'MultiprocessIterator': lambda *args, **kwargs: MultiprocessIterator(*args, n_processes=1, **kwargs),
    'MultiprocessIterator, far ahead': lambda *args, **kwargs: MultiprocessIterator(
        *args, n_processes=2, n_prefetch=4, **kwargs
    ),
}
SAMPLERS = {OrderSampler, ShuffleOrderSampler}
N = 9


def make(kind: Callable[..., Any], row: Row, seed: int = 0) -> Any:
    np.random.seed(seed)
    kwargs = dict(row.kwargs)
    if kwargs.get('order_sampler') is own_random_state:
        kwargs['order_sampler'] = own_random_state(seed + 3)
    return kind(range(row.examples), row.batch_size, **kwargs)


def draw(iterator: Any, n: int = N) -> tuple[list[list[int]], list[tuple[int, bool, float, float | None]]]:
    """The mini-batches, and after each of them where the iterator says that it stands."""
    batches, places = [], []
    while len(batches) < n:
        try:
            batch = iterator.next()
        except StopIteration:
            break
        batches.append([int(i) for i in batch])
        places.append((iterator.epoch, iterator.is_new_epoch, iterator.epoch_detail, iterator.previous_epoch_detail))
    return batches, places


def check_draws(kind: Callable[..., Any], row: Row) -> None:
    with make(kind, row) as iterator:
        assert (iterator.epoch, iterator.epoch_detail, iterator.is_new_epoch) == (0, 0, False)
        assert (iterator.previous_epoch_detail, iterator.batch_size) == (None, row.batch_size)
        batches, places = draw(iterator)
        ended = len(batches) < N
        assert iterator.repeat is not ended
    assert batches == row.batches
    before = 0
    for (epoch, is_new, detail, previous), hundredths in zip(places, row.details, strict=True):
        assert (round(100 * detail), round(100 * previous)) == (hundredths, before)
        assert (epoch, is_new) == (hundredths // 100, hundredths // 100 > before // 100)
        before = hundredths


def check_resumes(kind: Callable[..., Any], row: Row, at: int) -> None:
    """What is drawn by another iterator, of another random state, that loads what was saved after some batches."""
    file = io.BytesIO()
    with make(kind, row) as iterator:
        batches, places = draw(iterator, at)
        save_npz(file, iterator)
    random = np.random.get_state()
    with make(kind, row, seed=1) as other:
        draw(other, 2)
        file.seek(0)
        load_npz(file, other)
        np.random.set_state(random)  # the global random state is no part of an iterator
        more = draw(other, N - at)
    assert batches + more[0] == row.batches
    with make(kind, row) as whole:
        assert places + more[1] == draw(whole)[1]


def check_starts_again(kind: Callable[..., Any], row: Row) -> None:
    with make(kind, row) as iterator:
        draw(iterator, 2)
        np.random.seed(0)
        iterator.reset()
        assert draw(iterator)[0] == row.batches


def test_the_table_has_everything_public() -> None:
    public = {value for value in vars(iterators).values() if isinstance(value, type)}
    assert {SerialIterator, MultithreadIterator, MultiprocessIterator, DaliIterator} | SAMPLERS == public


@pytest.mark.parametrize('row', ROWS)
@pytest.mark.parametrize('kind', KINDS)
def test_draws_what_chainers_draws(kind: str, row: str) -> None:
    check_draws(KINDS[kind], ROWS[row])


@pytest.mark.parametrize('at', [1, 3, *[pytest.param(at, marks=pytest.mark.slow) for at in (0, 2, 5)]])
@pytest.mark.parametrize('row', ROWS)
@pytest.mark.parametrize('kind', KINDS)
def test_goes_on_from_a_snapshot(kind: str, row: str, at: int) -> None:
    check_resumes(KINDS[kind], ROWS[row], at)


@pytest.mark.parametrize('row', [name for name in ROWS if 'own random' not in name])
@pytest.mark.parametrize('kind', KINDS)
def test_starts_again_after_reset(kind: str, row: str) -> None:
    check_starts_again(KINDS[kind], ROWS[row])


@pytest.mark.parametrize('row', ROWS)
@pytest.mark.parametrize('kind', KINDS)
def test_threads_and_processes_end(kind: str, row: str) -> None:
    before = set(threading.enumerate()), set(multiprocessing.active_children())
    iterator = make(KINDS[kind], ROWS[row])
    draw(iterator, 1)
    iterator.finalize()
    assert (set(threading.enumerate()), set(multiprocessing.active_children())) == before
    iterator.finalize()


@pytest.mark.parametrize('name', [name for name in vars(iterators) if isinstance(getattr(iterators, name), type)])
def test_documentation(name: str) -> None:
    check_documentation(getattr(iterators, name))
    check_methods(getattr(iterators, name))


@pytest.mark.parametrize('kind', KINDS)
@pytest.mark.parametrize(
    ('args', 'kwargs', 'error', 'message'),
    [
        ((range(3), 0), {}, ValueError, 'batch_size must be at least 1, got 0'),
        ((range(3), 2), {'shuffle': False, 'order_sampler': max}, ValueError, '`order_sampler` is set; leave'),
        ((range(3), 2), {'unheard_of': 1}, TypeError, 'unexpected'),
    ],
)
def test_bad_arguments_are_refused(kind: str, args: Any, kwargs: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        KINDS[kind](*args, **kwargs)


# --- The tests fail where they should. ---


class Lazy(SerialIterator):
    """Says where it will be."""

    @property
    def epoch_detail(self) -> float:
        return super().epoch_detail + self.batch_size / self._epoch_size


class NeverReshuffles(SerialIterator):
    def __next__(self) -> list[Any]:
        order, batch = self._state.order, super().__next__()
        self._state = type(self._state)(self.current_position, self.epoch, self.is_new_epoch, order)
        return batch

    next = __next__


class Forgetful(SerialIterator):
    def serialize(self, serializer: Any) -> None:
        pass


class ForgetsItsOrder(SerialIterator):
    def _load_orders(self, serializer: Any) -> Any:
        return self._state.order, ()


class DoesNotRewind(SerialIterator):
    def reset(self) -> None:
        pass


@pytest.mark.parametrize(
    ('mutant', 'row', 'check'),
    [
        (Lazy, 'in order', check_draws),
        (NeverReshuffles, 'shuffled, whole epochs', check_draws),
        (Forgetful, 'in order', lambda kind, row: check_resumes(kind, row, 3)),
        (ForgetsItsOrder, 'own random state', lambda kind, row: check_resumes(kind, row, 1)),
        (DoesNotRewind, 'in order', check_starts_again),
    ],
)
def test_a_wrong_iterator_is_noticed(mutant: Any, row: str, check: Any) -> None:
    with pytest.raises(AssertionError):
        check(mutant, ROWS[row])
