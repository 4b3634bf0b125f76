"""Sequential: a list of layers and a model in one."""

from __future__ import annotations

import copy
import importlib.util
import json
import operator
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minichainer
from minichainer.functions.activation.rectifiers import relu
from minichainer.link import ChainList, Link
from minichainer.links.connection.linear import Linear
from minichainer.sequential import Sequential
from minichainer.serializers.npz import NpzDeserializer


def double(x: Any) -> Any:
    return x * 2


def pair(x: Any) -> Any:
    return x, x + 1


@pytest.fixture
def model() -> Sequential:
    return Sequential(Linear(2, 3), relu, Linear(3, 2))


def test_forward_is_one_after_the_other(model: Sequential) -> None:
    x = np.array([[1.0, -1.0]], np.float32)
    h = np.maximum(x @ model[0].W.array.T, 0)
    np.testing.assert_allclose(model(x).array, h @ model[2].W.array.T, rtol=1e-6)


@pytest.mark.parametrize(
    ('layers', 'args', 'expected'),
    [
        ([pair, lambda a, b: a * b], (3,), 12),
        ([lambda a, b: (b, a), lambda b, a: b - a], (3, 5), 2),
        ([lambda x: [x, x], len], (3,), 2),
        ([int], ('3',), 3),
    ],
)
def test_only_tuples_become_several_arguments(layers: Any, args: Any, expected: int) -> None:
    assert Sequential(*layers)(*args) == expected


def test_empty_sequential_cannot_be_called() -> None:
    with pytest.raises(RuntimeError, match='Sequential does not have any layer'):
        Sequential()(1)


def test_children_are_the_links_alone(model: Sequential) -> None:
    assert [path for path, _ in model.namedparams()] == ['/0/W', '/0/b', '/1/W', '/1/b']
    model.insert(0, double)
    del model[1]
    assert [path for path, _ in model.namedparams()] == ['/0/W', '/0/b']
    assert model[-1].name == '0'


def test_list_methods(model: Sequential) -> None:
    first, last = model[0], model[2]
    assert (len(model), model[1], model[:2], list(model)) == (3, relu, [first, relu], [first, relu, last])
    assert list(reversed(model)) == [last, relu, first]
    assert relu in model and double not in model
    assert (model.count(relu), model.index(last), model.index(relu, 1), model.index(relu, 0, 2)) == (1, 2, 0, 1)
    model.append(double)
    model.extend([relu])
    assert model.pop() is relu
    model.remove(relu)
    model[0] = double
    assert list(model) == [double, last, double]
    model[1:] = [relu]
    assert list(model) == [double, relu]
    model.clear()
    assert (len(model), list(model.links())) == (0, [model])


def test_slices_of_layers_can_be_deleted(model: Sequential) -> None:
    del model[1:]
    assert len(model) == 1
    assert len(list(model.children())) == 1


def test_sum_of_sequentials(model: Sequential) -> None:
    both = model + Sequential(double)
    assert (type(both), len(both), len(model)) == (Sequential, 4, 3)
    model += model
    assert len(model) == 6


@pytest.mark.parametrize(
    ('change', 'error', 'message'),
    [
        (lambda model: model.append(1), ValueError, 'must be callable, got 1'),
        (lambda model: model.insert(0, 'x'), ValueError, "must be callable, got 'x'"),
        (lambda model: model.__setitem__(0, None), ValueError, 'must be callable, got None'),
        (lambda model: model.extend([relu, 5]), ValueError, 'must be callable, got 5'),
        (lambda model: model.insert(4, relu), IndexError, 'Index out of range: 4 in a Sequential of 3 layers'),
        (lambda model: model.remove(double), ValueError, '<function double.* is not among the layers'),
        (lambda model: model.index(relu, 2), ValueError, 'is not in the layers 2 to 3'),
        (
            lambda model: operator.add(model, [relu]),
            ValueError,
            "supports only objects of Sequential class, but <class 'list'>",
        ),
        (lambda model: model.__iadd__([relu]), ValueError, 'supports only objects of Sequential class'),
        (lambda model: model.pop(7), IndexError, 'out of range'),
    ],
)
def test_a_refused_change_changes_nothing(
    model: Sequential, change: Any, error: type[Exception], message: str
) -> None:
    before = list(model)
    with pytest.raises(error, match=message):
        change(model)
    assert list(model) == before
    assert len(list(model.children())) == 2


def test_constructor_refuses_what_cannot_be_called() -> None:
    with pytest.raises(ValueError, match='must be callable'):
        Sequential(relu, 1)


def test_layers_by_type() -> None:
    model = Sequential(Linear(2, 2), relu, Linear(2, 2), double, Sequential(Linear(2, 2)))
    assert model.count_by_layer_type('Linear') == 2
    assert model.count_by_layer_type('double') == 1
    assert model.count_by_layer_type('Sequential') == 1
    model.remove_by_layer_type('Linear')
    assert [type(layer).__name__ for layer in model] == ['function', 'function', 'Sequential']
    assert [path for path, _ in model.namedparams()] == ['/0/0/W', '/0/0/b']


def test_flatten_goes_into_sequentials_only() -> None:
    inner = Sequential(double, Sequential(relu))
    others = ChainList(Linear(1, 1))
    model = Sequential(inner, others)
    assert list(model.flatten()) == [double, relu, others]
    assert list(model) == [inner, others]


def test_str() -> None:
    model = Sequential(Linear(2, 3), double, Sequential(Linear(3, 1)), lambda x: x + 1)
    lines = str(model).splitlines()
    assert lines[:2] == ['Sequential(', '  (0): Linear(in_size=2, out_size=3, nobias=False),']
    assert lines[2].startswith('  (1): <function double at 0x')
    assert lines[3:6] == ['  (2): Sequential(', '    (0): Linear(in_size=3, out_size=1, nobias=False),', '  ),']
    assert 'lambda x: x + 1' in lines[6]
    assert str(Sequential()) == 'Sequential()'


def test_shared_copy(model: Sequential) -> None:
    clone = model.copy()
    assert clone[0] is not model[0]
    assert clone[0].W.array is model[0].W.array
    assert clone[1] is relu
    clone.append(double)
    assert (len(model), len(clone)) == (3, 4)
    assert [path for path, _ in clone.namedparams()] == ['/0/W', '/0/b', '/1/W', '/1/b']


@pytest.mark.parametrize(
    'duplicate',
    [lambda m: m.copy('copy'), copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))],
    ids=['copy', 'deepcopy', 'pickle'],
)
def test_full_copies(model: Sequential, duplicate: Any) -> None:
    clone = duplicate(model)
    assert not np.shares_memory(clone[0].W.array, model[0].W.array)
    assert next(iter(clone.children())) is clone[0]
    x = np.ones((1, 2), np.float32)
    np.testing.assert_array_equal(clone(x).array, model(x).array)


def test_shallow_copy_has_its_own_list(model: Sequential) -> None:
    clone = copy.copy(model)
    clone.append(double)
    assert len(model) == 3
    assert clone[0] is model[0]


def test_lambda_copies_but_does_not_pickle() -> None:
    model = Sequential(Linear(2, 2), lambda x: x)
    assert copy.deepcopy(model)[1] is model[1]
    assert len(model.repeat(2)) == 2
    with pytest.raises(ValueError, match='Sequential has a lambda function as a layer, which cannot be pickled'):
        pickle.dumps(model)


def test_copyparams(model: Sequential) -> None:
    other = model.copy('init')
    array = model[0].W.array
    model.copyparams(other)
    assert model[0].W.array is array
    np.testing.assert_array_equal(array, other[0].W.array)


@pytest.mark.parametrize(
    ('other', 'message'),
    [
        (ChainList(Linear(2, 3), Linear(3, 2)), "Objects other than Sequential object cannot.*ChainList'"),
        (Sequential(Linear(2, 3)), r'/1/W: missing'),
        (Sequential(relu), r'/0/W: missing'),
        (Sequential(Linear(2, 3), Linear(2, 2)), r'/1/W: its shape is \(2, 2\), expected \(2, 3\)'),
    ],
)
def test_copyparams_that_do_not_fit(model: Sequential, other: Any, message: str) -> None:
    before = model[0].W.array.copy()
    with pytest.raises(ValueError, match=message):
        model.copyparams(other)
    np.testing.assert_array_equal(model[0].W.array, before)


def test_repeat_nests(model: Sequential) -> None:
    repeated = model.repeat(2)
    assert [type(layer) for layer in repeated] == [Sequential, Sequential]
    assert not np.array_equal(repeated[0][0].W.array, repeated[1][0].W.array)


# --- the order in which Chainer numbers the links: its snapshots must reach the right layers ---
RECORDED = Path(__file__).resolve().parent.parent / 'reference' / 'snapshots'


def recording() -> Any:
    spec = importlib.util.spec_from_file_location('recorded_sequentials', RECORDED / 'sequential.py')
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


RECORDING = recording()


@pytest.mark.parametrize('name', RECORDING.models(minichainer))
def test_chainers_snapshots_reach_the_right_layers(name: str) -> None:
    model = RECORDING.models(minichainer)[name]
    with np.load(RECORDED / 'sequential.npz') as recorded:
        entries = {key: recorded[key] for key in recorded.files}
    NpzDeserializer(entries, name + '/').load(model)
    np.testing.assert_allclose(model(entries['x']).array, entries['y ' + name], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(('kinds', 'changes', 'expected'), json.loads((RECORDED / 'sequential.json').read_text()))
def test_links_are_numbered_as_in_chainer(kinds: list[str], changes: Any, expected: list[int | None]) -> None:
    model = RECORDING.changed(Sequential, Link, double, kinds, changes)
    assert RECORDING.numbers(Link, model) == expected
    assert [child.name for child in model.children()] == [str(i) for i in range(len(list(model.children())))]


@pytest.mark.parametrize('mode', ['init', 'copy', 'share'])
@pytest.mark.parametrize(
    ('n', 'expected'), [(0, []), (1, [0]), (2, [0, 1]), (3, [0, 2, 1]), (4, [0, 3, 2, 1]), (5, [0, 4, 3, 2, 1])]
)
@pytest.mark.parametrize('make', [lambda: Linear(2, 2), lambda: Sequential(Linear(2, 2)), lambda: ChainList()])
def test_repeated_links_are_numbered_as_in_chainer(make: Any, n: int, expected: list[int], mode: str) -> None:
    assert RECORDING.numbers(Link, make().repeat(n, mode)) == expected


def test_a_link_that_is_two_layers() -> None:
    twice = Linear(2, 2)
    model = Sequential(twice, Linear(2, 2), twice)
    model[2] = twice
    assert [child is twice for child in model.children()] == [True, True, False]
    del model[2]
    assert list(model) == list(model.children()) == [twice, model[1]]
    assert len(list(Sequential(twice, twice).copy('share').children())) == 2


def test_layers_are_set_by_negative_numbers_and_slices() -> None:
    first, second, third, new = Linear(1, 1), Linear(2, 2), Linear(3, 3), Linear(4, 4)
    model = Sequential(first, second, third)
    model[-3] = new
    assert list(model) == [new, second, third]
    model[1:] = [relu, first]
    assert list(model) == [new, relu, first]
    assert list(model.children()) == [new, first]
    model.reverse()
    assert list(model) == [first, relu, new]
    assert set(model.children()) == {first, new}
