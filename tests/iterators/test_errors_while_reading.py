"""An error or Ctrl-C while a mini-batch is read loses none: the next call, or a resumed run, reads the same one."""

from __future__ import annotations

import collections
import copy
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minichainer.iterators import DaliIterator, MultiprocessIterator, SerialIterator, _workers, multiprocess_iterator
from minichainer.serializers.npz import load_npz, save_npz
from tests.iterators.rows_iterators import ROWS, Row, own_random_state
from tests.iterators.test_dali_iterator import Pipeline, dali
from tests.iterators.test_iterator_table import KINDS, N, draw, make

__all__ = ['dali']
pytestmark = pytest.mark.filterwarnings('ignore:.*multi-threaded, use of fork:DeprecationWarning')


class Broken:
    """Numbers; reading one of them for the n-th time raises, in whichever process it is read."""

    def __init__(self, length: int, index: int, time: int, path: Path, error: type[BaseException] = OSError) -> None:
        self.length, self.index, self.time, self.path, self.error = length, index, time, path, error

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> int:
        if index == self.index:
            with self.path.open('ab', buffering=0) as file:
                file.write(b'x')
                if file.tell() == self.time:
                    raise self.error('the drive is gone')
        return index


def place(iterator: Any) -> tuple[Any, ...]:
    return iterator.current_position, iterator.epoch, iterator.is_new_epoch, iterator.previous_epoch_detail


def seeded(kind: Callable[..., Any], row: Row, dataset: Any, seed: int = 0) -> Any:
    np.random.seed(seed)
    kwargs = dict(row.kwargs)
    if kwargs.get('order_sampler') is own_random_state:
        kwargs['order_sampler'] = own_random_state(seed + 3)
    return kind(dataset, row.batch_size, **kwargs)


def loaded(kind: Callable[..., Any], row: Row, dataset: Any, iterator: Any) -> Any:
    """Another iterator, in the state of one."""
    file = io.BytesIO()
    save_npz(file, iterator)
    iterator.finalize()
    random = np.random.get_state()
    other = seeded(kind, row, dataset, seed=1)
    np.random.set_state(random)  # a trainer restores it
    file.seek(0)
    load_npz(file, other)
    return other


def check_reads_again(
    kind: Callable[..., Any], row: Row, dataset: Any, error: type[BaseException], resumes: bool, least: int = 1
) -> None:
    """The same mini-batches, places and random draws as those of a SerialIterator without errors."""
    with make(SerialIterator, row) as whole:
        batches, places = draw(whole)
        random = np.random.get_state()[1].tolist()
    iterator = seeded(kind, row, dataset)
    found, errors = ([], []), 0
    while True:
        before = place(iterator)
        try:
            more = draw(iterator, 1)
        except error:
            errors += 1
            assert place(iterator) == before
            if resumes:
                iterator = loaded(kind, row, dataset, iterator)
            continue
        found[0].extend(more[0])
        found[1].extend(more[1])
        if not more[0] or len(found[0]) == N:
            break
    iterator.finalize()
    assert found == (batches, places) and batches == row.batches
    assert np.random.get_state()[1].tolist() == random
    assert errors >= least


def places_of(row: Row) -> list[tuple[int, int]]:
    """The first, a middle and the last example of the first mini-batches, and how often each was read by then."""
    found, reads = [], collections.Counter[int]()
    for batch in row.batches[:5]:
        chosen = {0, len(batch) // 2, len(batch) - 1}
        for i, index in enumerate(batch):
            reads[index] += 1
            if i in chosen:
                found.append((index, reads[index]))
    return found


@pytest.mark.parametrize('resumes', [False, True])
@pytest.mark.parametrize('row', ROWS)
@pytest.mark.parametrize('kind', KINDS)
def test_an_error_loses_no_batch(kind: str, row: str, resumes: bool, tmp_path: Path) -> None:
    chosen = places_of(ROWS[row])
    for number, (index, time) in enumerate(chosen if 'process' not in kind else chosen[2::5]):
        dataset = Broken(ROWS[row].examples, index, time, tmp_path / str(number))
        check_reads_again(KINDS[kind], ROWS[row], dataset, OSError, resumes)


@pytest.mark.parametrize('row', ROWS)
@pytest.mark.parametrize('kind', [kind for kind in KINDS if 'process' not in kind])
def test_an_interrupt_loses_no_batch(kind: str, row: str, tmp_path: Path) -> None:
    for number, (index, time) in enumerate(places_of(ROWS[row])):
        dataset = Broken(ROWS[row].examples, index, time, tmp_path / str(number), KeyboardInterrupt)
        check_reads_again(KINDS[kind], ROWS[row], dataset, KeyboardInterrupt, resumes=False)


class Once:
    """Calls a function; raises KeyboardInterrupt before or after the n-th time."""

    def __init__(self, function: Any, number: int, when: str) -> None:
        self.function, self.number, self.when = function, number, when

    def __get__(self, owner: Any, kind: Any) -> Any:
        return lambda *args, **kwargs: self(owner, *args, **kwargs)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.number -= 1
        if self.number == 0 and self.when == 'before':
            raise KeyboardInterrupt
        result = self.function(*args, **kwargs)
        if self.number == 0:
            raise KeyboardInterrupt
        return result


POINTS = [
    (_workers.WorkerPool, 'wait'),
    (_workers.WorkerPool, 'split'),
    (_workers.WorkerPool, '_start'),
    (_workers.Worker, 'send'),
    (_workers.Worker, 'receive'),
    (_workers.Part, 'take'),
    (MultiprocessIterator, '_read_ahead'),
    (MultiprocessIterator, '_running_pool'),
    (multiprocess_iterator, '_take'),
]


@pytest.mark.parametrize('when', ['before', 'after'])
@pytest.mark.parametrize(('owner', 'name'), POINTS)
@pytest.mark.parametrize('row', ['shuffled', pytest.param('own random state', marks=pytest.mark.slow)])
def test_an_interrupt_among_processes_loses_no_batch(
    row: str, owner: Any, name: str, when: str, monkeypatch: Any
) -> None:
    for number in (1, 2, 4):
        with monkeypatch.context() as patch:
            once = Once(getattr(owner, name), number, when)
            patch.setattr(owner, name, once)
            kind, data = KINDS['MultiprocessIterator, far ahead'], range(ROWS[row].examples)
            check_reads_again(kind, ROWS[row], data, KeyboardInterrupt, resumes=False, least=once.number < 0)


@pytest.mark.parametrize('kind', KINDS)
def test_an_order_that_was_drawn_before_the_sampler_failed_is_kept(kind: str) -> None:
    calls: list[int] = []

    def sampler(order: Any, position: int) -> Any:
        calls.append(len(calls))
        if len(calls) == 3:
            raise OSError('no numbers')
        return np.roll(order, 1)

    with KINDS[kind](range(3), 7, order_sampler=sampler) as iterator:  # draws at once, then twice for a mini-batch
        with pytest.raises(OSError, match='no numbers'):
            iterator.next()
        assert [int(i) for i in iterator.next()] == [2, 0, 1, 1, 2, 0, 0]
    assert len(calls) == 4


def test_a_copy_draws_its_own_orders() -> None:
    np.random.seed(0)
    iterator = SerialIterator(range(4), 3)
    other = copy.copy(iterator)
    draw(iterator, 2)
    draw(other, 2)
    assert iterator._state.order.tolist() != other._state.order.tolist()


@pytest.mark.usefixtures('dali')
def test_an_error_of_the_pipeline_moves_nothing() -> None:
    pipeline = Pipeline()
    iterator = DaliIterator(pipeline)
    draws = [iterator.next() for _ in range(2)]
    before = place(iterator)
    run, pipeline.run = pipeline.run, lambda: [].pop()  # type: ignore[method-assign]
    with pytest.raises(IndexError):
        iterator.next()
    assert place(iterator) == before == (8, 0, False, 0.4)
    pipeline.run = run  # type: ignore[method-assign]
    assert [*draws, iterator.next()] == [('images', 1), ('images', 2), ('images', 3)]


# --- The tests fail where they should. ---


class MovesFirst(SerialIterator):
    def __next__(self) -> list[Any]:
        after, indices = self._advance(self._state)
        self._move(after)
        if indices is None:
            raise StopIteration
        return [self.dataset[i] for i in indices]

    next = __next__


class DrawsTwice(SerialIterator):
    def _draw(self, order: Any, start: int, number: int) -> Any:
        return None if order is None else self._plan.next_order(order, start)


class SavesNoDraws(SerialIterator):
    def _save(self, serializer: Any) -> None:
        self._drawn = ()
        super()._save(serializer)


@pytest.mark.parametrize('mutant', [MovesFirst, DrawsTwice, SavesNoDraws])
def test_a_wrong_iterator_is_noticed(mutant: Any, tmp_path: Path) -> None:
    row = ROWS['shuffled']
    index, time = next((index, time) for index, time in places_of(row) if index == row.batches[2][-1])
    dataset = Broken(row.examples, index, time + 1, tmp_path / 'reads')
    with pytest.raises(AssertionError):
        check_reads_again(mutant, row, dataset, OSError, resumes=True)
