"""A call that fails changes nothing: neither parameters and running statistics nor states and counts."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import minichainer as chainer
import minichainer.links as L
from minichainer.links.rnn import lstm, lstm_variants
from minichainer.utils.type_check import InvalidType
from tests.links.row import Row
from tests.links.table import ROWS

#: What a call that begins resets, as in Chainer.
RESET_FIRST = {(L.Classifier, name) for name in ('y', 'loss', 'accuracy')}
#: What makes another input of a right one.
WRONG = {
    'integers': lambda x: x.astype('i'),
    'complex numbers': lambda x: x.astype('F'),
    'one axis more': lambda x: x[..., None],
    'no axes': lambda x: x.ravel()[0],
    'another width': lambda x: np.concatenate([x, x], axis=1) if x.ndim > 1 else x,
    'no object at all': lambda x: None,
}


def state_of(link: Any) -> dict[str, Any]:
    """Values of parameters and of all attributes that are not links, by path."""
    found: dict[str, Any] = {}
    for path, part in link.namedlinks():
        for name, value in part.__dict__.items():
            if not isinstance(value, (chainer.Link, list)) and (type(part), name) not in RESET_FIRST:
                value = getattr(value, 'array', value)
                found[f'{path} {name}'] = value.tobytes() if isinstance(value, np.ndarray) else value
    return found


def failed(row: Row, change: Any, **kwargs: Any) -> Iterator[tuple[Any, dict[str, Any]]]:
    """The link after calls that fail, each with another of the inputs changed, and its state before."""
    for k, x in enumerate(row.inputs):
        link = row.make()
        good = [np.asarray(x, 'f') if np.asarray(x).dtype.kind == 'f' else x for x in row.inputs]
        row.call(link, *good)
        before = state_of(link)
        if isinstance(x, np.ndarray) and x.dtype.kind == 'f':
            try:
                link(*good[:k], change(good[k]), *good[k + 1 :], **kwargs)
            except Exception:
                yield link, before


def is_finetuned(row: Row) -> bool:
    return hasattr(row.link, 'start_finetuning')


@pytest.mark.parametrize('row', ROWS, ids=str)
def test_a_failed_call_changes_nothing(row: Row) -> None:
    for wrong, change in WRONG.items():
        for kwargs in [{}, {'finetune': True}][: 1 + is_finetuned(row)]:
            for link, before in failed(row, change, **kwargs):
                found = state_of(link)
                assert {name for name in before if before[name] != found.get(name)} == set(), wrong


FINETUNED = {
    'BatchNormalization': lambda: L.BatchNormalization(2),
    'BatchRenormalization': lambda: L.BatchRenormalization(2),
    'DecorrelatedBatchNormalization': lambda: L.DecorrelatedBatchNormalization(2, groups=1),
}


@pytest.mark.parametrize('name', FINETUNED)
def test_finetuning_counts_batches_that_have_become_part_of_the_statistics(name: str) -> None:
    link, batches = FINETUNED[name](), np.random.RandomState(0).normal(3, 1, (2, 4, 2)).astype('f')
    with pytest.raises((InvalidType, ValueError)):
        link(np.ones((4, 3), 'f'), finetune=True)
    link(np.ones((0, 2), 'f'), finetune=True)
    for k, batch in enumerate(batches):
        assert k == link.N
        link(batch, finetune=True)
    assert link.N == 2
    np.testing.assert_allclose(np.ravel(link.avg_mean), batches.mean(axis=(0, 1)), rtol=1e-5)


def out_of_memory_at(call: int, function: Any) -> Any:
    """A function that raises MemoryError at one of its calls."""
    calls = itertools.count(1)

    def called(*args: Any, **kwargs: Any) -> Any:
        if next(calls) == call:
            raise MemoryError
        return function(*args, **kwargs)

    return called


@pytest.mark.parametrize(
    ('cls', 'module', 'function', 'call'),
    [
        (L.LSTM, lstm, 'concat', 1),
        (L.StatefulPeepholeLSTM, lstm_variants, 'tanh', 2),
        (L.StatefulZoneoutLSTM, lstm_variants, 'zoneout', 2),
    ],
)
def test_cells_and_state_change_together(
    cls: Any, module: Any, function: str, call: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    link, x = cls(2, 2), np.ones((3, 2), 'f')
    link(x)
    c, h = link.c, link.h
    monkeypatch.setattr(module, function, out_of_memory_at(call, getattr(module, function)))
    with pytest.raises(MemoryError):
        link(x[:2] if cls is L.LSTM else x)
    assert link.c is c and link.h is h
