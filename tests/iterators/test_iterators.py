"""Which examples come when, and that a saved iterator goes on with the same ones."""

from __future__ import annotations

import io
import re
import threading
import time
from collections import Counter
from functools import partial
from typing import Any

import numpy as np
import pytest

from minichainer.iterators import (
    MultiprocessIterator,
    MultithreadIterator,
    OrderSampler,
    SerialIterator,
    ShuffleOrderSampler,
)
from minichainer.serializers.npz import DictionarySerializer, NpzDeserializer, load_npz, save_npz

# Of forks of a process that has threads, such as those of NumPy's BLAS.
pytestmark = pytest.mark.filterwarnings('ignore:.*multi-threaded, use of fork:DeprecationWarning')

ITERATORS = [SerialIterator, MultithreadIterator, partial(MultiprocessIterator, n_processes=1, n_prefetch=2)]


@pytest.fixture(params=ITERATORS)
def make(request: pytest.FixtureRequest) -> Any:
    made = []

    def make(*args: Any, **kwargs: Any) -> Any:
        made.append(request.param(*args, **kwargs))
        return made[-1]

    make.kind = request.param  # type: ignore[attr-defined]
    yield make
    for iterator in made:
        iterator.finalize()


def walk(iterator: Any, n: int) -> list[Any]:
    steps = []
    for _ in range(n):
        batch = [int(i) for i in next(iterator)]
        steps.append((batch, iterator.epoch, iterator.is_new_epoch, iterator.current_position))
    return steps


def saved(iterator: Any) -> dict[str, Any]:
    serializer = DictionarySerializer()
    iterator.serialize(serializer)
    return serializer.target


@pytest.mark.parametrize(
    ('kwargs', 'want'),
    [
        ({'batch_size': 2}, [([0, 1], 0, False, 2), ([2, 0], 1, True, 1), ([1, 2], 2, True, 0)]),
        ({'batch_size': 3}, [([0, 1, 2], 1, True, 0), ([0, 1, 2], 2, True, 0)]),
        ({'batch_size': 7}, [([0, 1, 2, 0, 1, 2, 0], 2, True, 1), ([1, 2, 0, 1, 2, 0, 1], 4, True, 2)]),
        ({'batch_size': 6}, [([0, 1, 2, 0, 1, 2], 2, True, 0), ([0, 1, 2, 0, 1, 2], 4, True, 0)]),
        ({'batch_size': 2, 'repeat': False}, [([0, 1], 0, False, 2), ([2], 1, True, 0)]),
        ({'batch_size': 7, 'repeat': False}, [([0, 1, 2], 1, True, 0)]),
    ],
)
def test_order_without_shuffling(make: Any, kwargs: dict[str, Any], want: Any) -> None:
    iterator = make(range(3), shuffle=False, **kwargs)
    assert walk(iterator, len(want)) == want
    if not kwargs.get('repeat', True):
        for _ in range(2):
            with pytest.raises(StopIteration):
                iterator.next()


def test_epoch_details(make: Any) -> None:
    iterator = make(range(4), 3, shuffle=False)
    assert (iterator.epoch_detail, iterator.previous_epoch_detail, iterator.repeat) == (0, None, True)
    iterator.next()
    assert (iterator.epoch_detail, iterator.previous_epoch_detail) == (0.75, 0)
    iterator.next()
    assert (iterator.epoch_detail, iterator.previous_epoch_detail) == (1.5, 0.75)


def test_every_epoch_is_a_new_permutation(make: Any) -> None:
    np.random.seed(0)
    iterator = make(range(50), 10)
    first, second = ([int(i) for _ in range(5) for i in iterator.next()] for _ in range(2))
    assert sorted(first) == sorted(second) == list(range(50))
    assert first != second


def test_all_iterators_use_random_numbers_alike() -> None:
    walks = []
    for kind in ITERATORS:
        np.random.seed(0)
        with kind(range(7), 3) as iterator:
            steps = [(walk(iterator, 1), np.random.randint(1000)) for _ in range(12)]
        walks.append(steps)
    assert walks[0] == walks[1] == walks[2]


def test_reset_starts_again(make: Any) -> None:
    iterator = make(range(5), 2, repeat=False, shuffle=False)
    first = list(iterator)
    iterator.reset()
    assert iterator.previous_epoch_detail is None
    assert list(iterator) == first == [[0, 1], [2, 3], [4]]


@pytest.mark.parametrize(
    ('args', 'kwargs', 'message'),
    [
        (([1], 1), {'shuffle': True, 'order_sampler': lambda o, p: o}, '`order_sampler` is set'),
        (([1], 0), {}, 'batch_size must be at least 1, got 0'),
    ],
)
def test_bad_arguments(make: Any, args: Any, kwargs: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        make(*args, **kwargs)


def test_empty_dataset(make: Any) -> None:
    iterator = make([], 1)
    with pytest.raises(ValueError, match='the epoch is empty: list of length 0'):
        iterator.next()


def test_order_sampler_decides(make: Any) -> None:
    calls = []

    def backwards(order: np.ndarray, position: int) -> np.ndarray:
        calls.append((list(order), position))
        return order[::-1]

    iterator = make(range(3), 2, order_sampler=backwards)
    assert [batch for batch, *_ in walk(iterator, 3)] == [[2, 1], [0, 0], [1, 2]]
    assert calls == [([0, 1, 2], 0), ([2, 1, 0], 2), ([0, 1, 2], 1)]


def test_order_may_repeat_and_leave_out_but_not_change_its_length(make: Any) -> None:
    iterator = make(range(9), 2, repeat=False, order_sampler=lambda order, position: np.array([5, 5, 1]))
    assert walk(iterator, 2) == [([5, 5], 0, False, 2), ([1], 1, True, 0)]
    lengths = iter([3, 2])
    iterator = make(range(9), 3, order_sampler=lambda order, position: np.zeros(next(lengths), int))
    with pytest.raises(ValueError, match='size of the previous order: 2 after 3'):
        iterator.next()


def test_sampler_base_says_what_to_define() -> None:
    with pytest.raises(NotImplementedError, match='OrderSampler must define __call__'):
        OrderSampler()(np.arange(2), 0)


def test_saved_entries_are_those_of_chainer(make: Any) -> None:
    always = {'current_position', 'epoch', 'is_new_epoch', 'previous_epoch_detail'}
    threads = make.kind is MultithreadIterator
    order = '_order' if threads else 'order'
    assert saved(make(range(5), 2, shuffle=False)).keys() == always | ({order} if threads else set())
    shuffled = saved(make(range(5), 2))
    assert shuffled.keys() == always | {order}
    assert sorted(shuffled[order]) == list(range(5))


@pytest.mark.parametrize('strict', [True, False])
@pytest.mark.parametrize('name', ['order', '_order'])
def test_an_order_of_either_name_is_restored(make: Any, name: str, strict: bool) -> None:
    entries = saved(make(range(5), 2))
    entries[name] = entries.pop('_order' if make.kind is MultithreadIterator else 'order')
    iterator = make(range(5), 2)
    np.savez(file := io.BytesIO(), **entries)
    file.seek(0)
    load_npz(file, iterator, strict=strict)
    assert [i for batch, *_ in walk(iterator, 3) for i in batch][:5] == list(entries[name])


def test_the_order_of_an_epoch_is_drawn_at_the_end_of_the_last_one_too(make: Any) -> None:
    """What draws next gets Chainer's numbers; the figures are those of Chainer 7.8.1."""
    np.random.seed(0)
    iterator = make(range(4), 2, repeat=False)
    assert [int(i) for batch in iterator for i in batch] == [2, 3, 1, 0]
    assert np.random.rand() == 0.6458941130666561
    iterator.reset()
    assert [int(i) for batch in iterator for i in batch] == [1, 3, 2, 0]


def test_a_sampler_may_return_none_for_the_order_of_the_dataset(make: Any) -> None:
    iterator = make(range(3), 2, order_sampler=lambda order, position: None)
    assert [batch for batch, *_ in walk(iterator, 3)] == [[0, 1], [2, 0], [1, 2]]
    orders = iter([np.array([2, 0, 1]), None])
    iterator = make(range(3), 2, order_sampler=lambda order, position: next(orders))
    assert [batch for batch, *_ in walk(iterator, 3)] == [[2, 0], [1, 0], [1, 2]]


@pytest.mark.parametrize('at', range(6))
@pytest.mark.parametrize(
    'random_state',
    [lambda: np.random.RandomState(1), lambda: np.random.default_rng(1)],
    ids=['legacy', 'generator'],
)
def test_loaded_iterator_goes_on_with_the_same_orders(make: Any, random_state: Any, at: int) -> None:
    iterator = make(range(7), 3, order_sampler=ShuffleOrderSampler(random_state()))
    walk(iterator, at)
    file = io.BytesIO()
    save_npz(file, iterator)
    want = walk(iterator, 10), iterator.epoch_detail
    other = make(range(7), 3, order_sampler=ShuffleOrderSampler(np.random.default_rng(5)))
    if isinstance(random_state(), np.random.RandomState):
        other = make(range(7), 3, order_sampler=ShuffleOrderSampler(np.random.RandomState(5)))
    walk(other, 4)
    load_npz(file, other)
    assert (walk(other, 10), other.epoch_detail) == want


def test_snapshot_of_chainer_without_random_state_is_warned_about(make: Any) -> None:
    entries = saved(make(range(7), 3))
    iterator = make(range(7), 3, order_sampler=ShuffleOrderSampler(np.random.RandomState(5)))
    with pytest.warns(UserWarning, match='contains no random state'):
        iterator.serialize(NpzDeserializer(entries))
    np.testing.assert_array_equal([int(i) for i in iterator.next()], entries[iterator._order_entry][:3])


def test_first_version_of_chainer_saved_less(make: Any) -> None:
    iterator = make(range(4), 1, shuffle=False)
    iterator.serialize(
        NpzDeserializer({'current_position': np.array(2), 'epoch': np.array(1), 'is_new_epoch': False})
    )
    assert (iterator.epoch_detail, iterator.previous_epoch_detail) == (1.5, 1.25)
    shuffled = make(range(3), 1)
    old = {'current_position': 0, 'epoch': 0, 'is_new_epoch': False, '_order': np.array([2, 0, 1])}
    shuffled.serialize(NpzDeserializer(old))
    assert shuffled.previous_epoch_detail is None
    assert [batch for batch, *_ in walk(shuffled, 3)] == [[2], [0], [1]]


def test_snapshot_of_another_dataset_is_refused(make: Any) -> None:
    entries = saved(make(range(7), 3))
    iterator = make(range(5), 3)
    with pytest.raises(ValueError, match='made with 7 examples in an epoch, the dataset here has 5'):
        iterator.serialize(NpzDeserializer(entries))
    assert iterator.current_position == 0


class Slow:
    """Reading an example takes a while, and says in which thread it happens."""

    def __init__(self, n: int) -> None:
        self.n = n
        self.threads: Counter[str] = Counter()

    def __len__(self) -> int:
        return self.n

    def __getitem__(self, i: int) -> int:
        self.threads[threading.current_thread().name] += 1
        time.sleep(0.002)
        return i


def test_threads_read_ahead_and_end() -> None:
    dataset = Slow(12)
    before = threading.active_count()
    with MultithreadIterator(dataset, 4, shuffle=False, n_threads=3) as iterator:
        assert iterator.next() == [0, 1, 2, 3]
        time.sleep(0.05)
        assert sum(dataset.threads.values()) == 8
        assert threading.main_thread().name not in dataset.threads
        assert len(dataset.threads) > 1
    assert threading.active_count() == before


def test_error_in_a_thread_reaches_the_caller() -> None:
    class Broken(Slow):
        def __getitem__(self, i: int) -> int:
            raise OSError('no such file')

    with MultithreadIterator(Broken(3), 2) as iterator, pytest.raises(OSError, match='no such file'):
        iterator.next()
