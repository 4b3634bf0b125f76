"""Datasets of columns: what Chainer 7.8.1 gives, where we differ from it, and errors."""

from __future__ import annotations

import json
import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minichainer as chainer
import minichainer.iterators
from minichainer.dataset import TabularDataset, concat_examples
from minichainer.dataset.tabular import DelegateDataset, from_data
from tests.dataset.tabular_cases import environment, outcome, text

RECORDED = json.loads(
    (Path(__file__).parents[1] / 'reference' / 'tabular.json').read_text(encoding='utf-8'),
)
NAMES = environment(chainer)
make = NAMES['make']
f3 = NAMES['f3']

#: Where we give another result than Chainer, on purpose.
DIFFERENT = {
    # Chainer raises TypeError.
    'make()[np.array(1)]': '(scalar(11), scalar(21), scalar(31))',
    # An empty dataset has no first example that tells the mode; Chainer raises IndexError.
    'make(n=0).transform(("s", "p"), lambda *x: x).fetch()': '([], [])',
    'make(n=0).transform("s", f3).mode': 'None',
    'make().convert(([], []))': '(array([]), array([]))',
    # Chainer calls the function with -1 and 3.
    'from_data(("x", lambda i: 10 * i), size=3)[-1]': '20',
    'from_data(("x", lambda i: 10 * i), size=3)[3]': 'IndexError',
    # Chainer drops the second index.
    'make().concat(make(n=2)).get_examples([0, -1], None)': 'IndexError',
}

ERRORS: list[tuple[str, type[Exception], str]] = [
    ('T().keys', NotImplementedError, 'TabularDataset must define the property keys'),
    ('T().mode', NotImplementedError, 'the property mode'),
    ('len(T())', NotImplementedError, 'define __len__'),
    ('T().get_examples(None, None)', NotImplementedError, 'define get_examples(indices, key_indices)'),
    ('make(list).fetch()', ValueError, "Table: mode must be tuple, dict or None, got <class 'list'>"),
    ('make().slice[0]', TypeError, 'dataset[i] is one example'),
    ('make().slice["a"]', TypeError, "got 'a'"),
    ('make().slice[[1.5]]', TypeError, 'must be integers or booleans, got 1.5'),
    ('make().slice[[6]]', IndexError, 'index 6 is out of bounds for dataset with size 6'),
    ('make().slice[[True, False]]', ValueError, '2 booleans, 6 examples'),
    ('make().slice[1, 2, 3]', ValueError, 'got 3 values'),
    ('make().slice[:, "z"]', KeyError, "key 'z' does not exist, keys are ('a', 'b', 'c')"),
    ('make().slice[:, ["a", "b"]]', KeyError, 'several keys are given as a tuple'),
    ('make().slice[:, np.array([0, 1])]', KeyError, 'several keys are given as a tuple'),
    ('make().slice[:, 3]', IndexError, 'index 3 is out of bounds for keys with size 3'),
    ('make().concat([1])', TypeError, "concat: expected a TabularDataset, got <class 'list'>"),
    ('make().concat(make(keys=("a",)))', ValueError, "same keys, got ('a', 'b', 'c') and ('a',)"),
    ('make().concat(make())[12]', IndexError, 'index 12 is out of range for 12 examples'),
    ('make().join([1])', TypeError, "join: expected a TabularDataset, got <class 'list'>"),
    ('make().join(make(n=2, keys=("d",)))', ValueError, 'same length, got 6 and 2'),
    ('make().join(make())', ValueError, "must be unique among all datasets, got ('a', 'b', 'c', 'a', 'b', 'c')"),
    ('make().transform("s", None)', TypeError, 'transform: expected a function, got None'),
    ('make().transform(("s", "p"), f3).fetch()', IndexError, 'returned int64, expected a tuple for keys'),
    ('make().transform(("s", "p"), lambda *x: x[:1]).fetch()', IndexError, 'returned a tuple of 1'),
    ('make().transform("s", lambda *x: {}).fetch()', KeyError, "returned no 's'; keys are ('s',)"),
    ('make().transform(("s", "p"), alt).fetch()', ValueError, 'must not change its return type: expected mode'),
    ('make().transform_batch("s", 5)', TypeError, 'transform_batch: expected a function, got 5'),
    ('make().transform_batch("s", lambda *x: x[0][:2]).fetch()', ValueError, 'length of data: expected 6, got 2'),
    ('make().with_converter(None)', TypeError, 'with_converter: expected a function, got None'),
    ('make().convert(5)', TypeError, "expected a column (an array or a list), got 5 of <class 'int'>"),
    ('make().convert("ab")', TypeError, "got 'ab'"),
    ('make().convert([[1], [2, 3]])', ValueError, 'with_converter(f) takes a function that pads them'),
    ('Delegate([1])', TypeError, 'DelegateDataset: expected a TabularDataset'),
    ('from_data(5)', TypeError, 'expected an array, a list, a function, or (key, one of these), got 5'),
    ('from_data({})', ValueError, 'expected at least one column'),
    ('from_data(())', ValueError, 'expected at least one column'),
    ('from_data(lambda i: i, size=2)', ValueError, 'key(s) must be specified for callable'),
    ('from_data({"x": lambda i: i})', ValueError, 'size must be specified for callable'),
    ('from_data([1, 2], size=3)', ValueError, 'must have the same length, got [2, 3]'),
    ('from_data({("x", "y"): [1, 2]})', ValueError, "a column has one key, got ('x', 'y')"),
]  # fmt: skip


def disagreeing(recorded: dict[str, str], names: dict[str, Any]) -> dict[str, str]:
    found = {expression: outcome(expression, names) for expression in recorded}
    return {expression: value for expression, value in found.items() if value != recorded[expression]}


@pytest.mark.parametrize('part', ['T(', 'make(', 'M(', 'from_data(', 'Delegate', 'iterators', 'chainer', 'D2', 'D3'])
def test_gives_what_chainer_gives(part: str) -> None:
    recorded = {expression: value for expression, value in RECORDED.items() if expression.startswith(part)}
    assert recorded
    assert disagreeing(recorded, NAMES) == {}


@pytest.mark.parametrize('expression', DIFFERENT)
def test_differs_from_chainer_on_purpose(expression: str) -> None:
    assert outcome(expression, NAMES) == DIFFERENT[expression]


@pytest.mark.parametrize(('expression', 'error', 'message'), ERRORS)
def test_errors_say_what_is_wrong(expression: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=re.escape(message)):
        eval(expression, dict(NAMES))


class Recording(TabularDataset):
    """Notes what is asked of it."""

    keys = ('a', 'b')
    mode = tuple

    def __init__(self) -> None:
        self.asked: list[Any] = []

    def __len__(self) -> int:
        return 6

    def get_examples(self, indices: Any, key_indices: Any) -> Any:
        self.asked.append((indices, key_indices))
        data = np.arange(6)[slice(None) if indices is None else indices]
        return tuple(data for _ in (self.keys if key_indices is None else key_indices))


@pytest.mark.parametrize(
    ('view', 'asked'),
    [
        (lambda d: d, (None, None)),
        (lambda d: d.slice[1:3], (slice(1, 3), None)),
        (lambda d: d.slice[::-2].slice[::-1], (slice(1, 7, 2), None)),
        (lambda d: d.slice[::-1].slice[3:], (slice(2, None, -1), None)),
        (lambda d: d.slice[2:2].slice[::-1], (slice(0, 0), None)),
        (lambda d: d.slice[[5, -5]].slice[[True, False]], ([5], None)),
        (lambda d: d.slice[::2, 'b'], (slice(None, None, 2), (1,))),
        (lambda d: d.slice[:, ('b', 'a')].slice[:, 0], (slice(0, 6, 1), (1,))),
        (lambda d: d.concat().slice[::-1], (slice(5, None, -1), None)),
    ],
)
def test_only_what_is_needed_is_asked_for(view: Any, asked: Any) -> None:
    dataset = Recording()
    made = view(dataset)
    assert dataset.asked == []
    made.fetch()
    assert dataset.asked == [asked]


def test_columns_that_are_not_chosen_are_not_read() -> None:
    other = Recording()
    joined = make().join(other.transform(('p', 'q'), lambda a, b: (a, b)))
    joined.slice[:, ('c', 'a')].fetch()
    assert other.asked == []


def test_all_examples_as_arrays() -> None:
    x, y = from_data(([1, 2], [[3.0], [4.0]])).asarray()
    np.testing.assert_array_equal(x, [1, 2])
    np.testing.assert_array_equal(y, [[3], [4]])
    assert make(arrays=False).as_dict().asarray()['b'].dtype == int
    assert make(dict).as_tuple().mode is tuple


def test_columns_without_key_get_keys_that_can_be_joined() -> None:
    column = [1, 2]
    first, second = from_data((column, column)), from_data(column)
    assert len({*first.keys, *second.keys}) == 3
    assert first.join(second)[1] == (2, 2, 2)


def test_mode_is_found_once() -> None:
    calls = []
    made = make().transform('s', lambda a, b, c: calls.append(a))
    assert (made.mode, made.mode) == (None, None)
    assert calls == [10]


def test_views_can_be_pickled() -> None:
    data = from_data({'x': [3, 4, 5], 'y': np.arange(3)}).slice[1:].join(from_data({'z': [6, 7]}))
    assert (
        text(pickle.loads(pickle.dumps(data)).fetch(), TabularDataset) == '{x: [4, 5], y: array([1, 2]), z: [6, 7]}'
    )


def test_an_iterator_and_a_converter_read_examples_of_each_mode() -> None:
    for mode, expected in [(tuple, ([10, 11], [20, 21], [30, 31])), (dict, {'a': [10, 11]}), (None, [10, 11])]:
        batch = minichainer.iterators.SerialIterator(make(mode), 2, shuffle=False).next()
        arrays = concat_examples(batch)
        if mode is dict:
            arrays = {'a': arrays['a']}
        for found, wanted in zip(_columns(arrays), _columns(expected), strict=True):
            np.testing.assert_array_equal(found, wanted)


def _columns(arrays: Any) -> Any:
    if isinstance(arrays, dict):
        return arrays.values()
    return arrays if isinstance(arrays, tuple) else (arrays,)


def test_a_delegate_is_its_dataset() -> None:
    class Sums(DelegateDataset):
        def __init__(self) -> None:
            super().__init__(make().transform('sum', f3))

    assert Sums().dataset.keys == ('sum',)
    assert [int(s) for s in Sums()] == [60, 63, 66, 69, 72, 75]
    assert text(Sums().slice[:2].asdict().fetch(), TabularDataset) == '{sum: [scalar(60), scalar(63)]}'


# --- The tests fail where they should. ---


def test_a_wrong_dataset_is_noticed() -> None:
    def shifted(**options: Any) -> Any:
        return make(**options).slice[::-1]

    assert disagreeing(
        {'make().slice[1:3].fetch()': RECORDED['make(tuple).slice[1:3].fetch()']}, {**NAMES, 'make': shifted}
    )
