"""The compiled tape updates parameters as its twin in Python, bit for bit, and leaves to it what it does not fit."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minichainer as chainer
from minichainer import _inplace, optimizers
from minichainer.link import Link
from minichainer.optimizer import grouped
from minichainer.optimizer_hooks import WeightDecay
from minichainer.optimizers.momentum_sgd import MomentumSGDRule
from minichainer.variable import Parameter

needs_tape = pytest.mark.skipif(grouped.native is None, reason='the compiled tape was not built')
COUNT = 4


def model_of(count: int = COUNT, dtype: str = 'f') -> Link:
    rng, model = np.random.RandomState(0), Link()
    with model.init_scope():
        for number in range(count):
            setattr(model, f'p{number}', Parameter(rng.randn(3, 2).astype(dtype)))
    return model


def set_gradients(model: Link, seed: int) -> None:
    rng = np.random.RandomState(seed)
    for param in model.params():
        param.grad = rng.randn(3, 2).astype(param.dtype)


def with_a_hook(model: Link, param: Any) -> None:
    param.update_rule.add_hook(WeightDecay(0.1))


def disabled(model: Link, param: Any) -> None:
    param.update_rule.enabled = False


def with_its_own_update(model: Link, param: Any) -> None:
    param.update = lambda: param.array.fill(7)


def with_its_own_value(model: Link, param: Any) -> None:
    values = param.update_rule.hyperparam
    for name in {'lr', 'eta'} & values.get_dict().keys():
        setattr(values, name, 0.25)


def with_data_of_its_own(model: Link, param: Any) -> None:
    param.update_rule.mine = 1


def of_another_class(model: Link, param: Any) -> None:
    param.update_rule = MomentumSGDRule(lr=0.5)


def without_a_rule(model: Link, param: Any) -> None:
    param.update_rule = None


def with_the_rule_of_another(model: Link, param: Any) -> None:
    param.update_rule = model.p3.update_rule


def with_the_memory_of_another(model: Link, param: Any) -> None:
    param.array = model.p3.array


def of_double_precision(model: Link, param: Any) -> None:
    param.array = param.array.astype('d')
    param.update_rule._state = None


def without_a_gradient(model: Link, param: Any) -> None:
    param.cleargrad()


def with_a_transposed_gradient(model: Link, param: Any) -> None:
    param.grad = np.asfortranarray(param.grad)


def transposed(model: Link, param: Any) -> None:
    param.array = np.asfortranarray(param.array)


def read_only(model: Link, param: Any) -> None:
    param.array.flags.writeable = False


def with_a_state_of_another_shape(model: Link, param: Any) -> None:
    param.update_rule._state = {name: np.zeros(5, 'f') for name in param.update_rule.state}


def without_a_state(model: Link, param: Any) -> None:
    param.update_rule.state.clear()


def counted_differently(model: Link, param: Any) -> None:
    param.update_rule.t = 5


def with_a_loss_scale(model: Link, param: Any) -> None:
    param._loss_scale = 8.0


CHANGES = [
    with_a_hook, disabled, with_its_own_update, with_its_own_value, with_data_of_its_own, of_another_class,
    without_a_rule, with_the_rule_of_another, with_the_memory_of_another, of_double_precision, without_a_gradient,
    with_a_transposed_gradient, transposed, read_only, with_a_state_of_another_shape, without_a_state,
    counted_differently, with_a_loss_scale,
]  # fmt: skip


def outcome(make: Callable[[], Any], change: Any, position: int) -> list[Any]:
    """What four updates lead to; the last two come after a change."""
    model = model_of()
    optimizer, results = make().setup(model), []
    for seed in range(4):
        set_gradients(model, seed)
        if seed == 2 and change is not None:
            change(model, getattr(model, f'p{position}'))
        try:
            optimizer.update()
        except (TypeError, ValueError) as error:
            results.append((type(error), str(error)))
    for param in model.params():
        rule = param.update_rule
        states = {name: np.asarray(value).tobytes() for name, value in ((rule and rule.state) or {}).items()}
        results.append((param.array.tobytes(), rule and rule.t, states, param.update.__class__))
    return [*results, optimizer.t]


RULES = {
    'SGD': lambda: optimizers.SGD(0.5),
    'MomentumSGD': lambda: optimizers.MomentumSGD(0.5),
    'Adam': optimizers.Adam,
    'AdamW': lambda: optimizers.AdamW(weight_decay_rate=0.1),
    'AMSGrad': optimizers.AMSGrad,
    'AdaBound': optimizers.AdaBound,
    'RMSprop': optimizers.RMSprop,
    'LAMB': optimizers.LAMB,
}


@pytest.mark.parametrize('name', RULES)
def test_updates_are_equal_to_their_twins(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = outcome(RULES[name], None, 0)
    monkeypatch.setattr(grouped, 'native', None)
    assert found == outcome(RULES[name], None, 0)


@pytest.mark.parametrize('position', range(COUNT))
@pytest.mark.parametrize('change', CHANGES)
@pytest.mark.parametrize('name', ['Adam', 'SGD'])
def test_other_parameters_are_left_to_the_twin(
    name: str, change: Any, position: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = outcome(RULES[name], change, position)
    monkeypatch.setattr(grouped, 'native', None)
    assert found == outcome(RULES[name], change, position)


class _Counting:
    """The compiled tape, with the number of parameters that it has updated."""

    def __init__(self, native: Any) -> None:
        self._native, self.updated = native, 0

    def update(self, params: Any, group: Any) -> int:
        done: int = self._native.update(params, group)
        self.updated += done
        return done


@needs_tape
@pytest.mark.parametrize(
    ('change', 'updated'), [(None, 4), (with_a_hook, 2), (with_its_own_value, 2), (read_only, 2)]
)
def test_the_first_parameters_are_updated_here(change: Any, updated: int, monkeypatch: pytest.MonkeyPatch) -> None:
    model = model_of()
    optimizer = optimizers.Adam().setup(model)
    set_gradients(model, 0)
    optimizer.update()
    counting = _Counting(grouped.native)
    monkeypatch.setattr(grouped, 'native', counting)
    if change is not None:
        change(model, model.p2)
    if change is read_only:
        with pytest.raises(ValueError, match='read-only'):
            optimizer.update()
    else:
        optimizer.update()
    assert counting.updated == updated


def test_the_write_is_noticed() -> None:
    model = model_of()
    optimizer = optimizers.SGD(0.5).setup(model)
    for seed in range(2):
        set_gradients(model, seed)
        before = _inplace.clock[0]
        optimizer.update()
    guards = [
        param.node.target.guard if hasattr(param.node, 'target') else param._node.guard for param in model.params()
    ]
    assert guards == [before + k for k in range(1, COUNT + 1)]
    y = model.p3 * model.p3
    set_gradients(model, 3)
    optimizer.update()
    with pytest.warns(chainer.errors.InplaceWarning):
        chainer.functions.sum(y).backward()


def test_an_error_of_the_coefficients_leaves_the_model_as_it_was() -> None:
    model = model_of()
    optimizer = optimizers.Adam().setup(model)
    for seed in range(2):
        set_gradients(model, seed)
        optimizer.update()
    optimizer.eps = 1e-60
    before = [param.array.copy() for param in model.params()]
    with pytest.raises(ValueError, match='eps of Adam optimizer is too small'):
        optimizer.update()
    assert [param.update_rule.t for param in model.params()] == [3, 2, 2, 2]
    assert all(np.array_equal(*both) for both in zip(before, [p.array for p in model.params()], strict=True))


@needs_tape
def test_updates_leave_nothing_behind() -> None:
    model = model_of()
    optimizer = optimizers.Adam().setup(model)
    set_gradients(model, 0)
    gradients = [param.grad for param in model.params()]
    optimizer.update()
    held = [model.p1.array, model.p1.update_rule, model.p1.update_rule.state['m'], gradients[1], model.p1, 1000]

    def counts() -> list[int]:
        return [*map(sys.getrefcount, held), len(gc.get_objects())]

    optimizer.update()
    gc.collect()
    before = counts()
    for _ in range(500):
        optimizer.update()
    gc.collect()
    assert np.abs(np.subtract(counts(), before)).max() < 250
