"""Which parameters are updated together, what an update costs, and what errors leave behind."""

from __future__ import annotations

import os
import sys
from typing import Any

import numpy as np
import pytest

import minichainer
from minichainer import optimizers
from minichainer.link import Link
from minichainer.optimizer import FormulaRule, grouped
from minichainer.optimizers.momentum_sgd import MomentumSGDRule
from minichainer.optimizers.sgd import SGDRule
from minichainer.variable import Parameter

PACKAGE = os.path.dirname(minichainer.__file__)


def model_of(count: int, size: int = 3) -> Link:
    model = Link()
    with model.init_scope():
        for number in range(count):
            setattr(model, f'p{number}', Parameter(np.ones(size, np.float32)))
    for param in model.params():
        param.grad = np.ones(size, np.float32)
    return model


def evaluations(optimizer: Any, monkeypatch: pytest.MonkeyPatch) -> int:
    """How often the formulas of the rules are evaluated by an update."""
    found: list[int] = []
    for cls in {type(param.update_rule) for param in optimizer.target.params()}:
        formula = cls.formula

        def counted(*args: Any, formula: Any = formula) -> None:
            found.append(1)
            formula(*args)

        monkeypatch.setattr(cls, 'formula', staticmethod(counted))
    optimizer.update()
    return len(found)


@pytest.mark.parametrize(('name', 'most'), [('SGD', 14), ('Adam', 16)])
def test_calls_of_an_update_of_one_parameter(name: str, most: int) -> None:
    optimizer = getattr(optimizers, name)().setup(model_of(1))
    optimizer.update()
    calls: list[str] = []

    def profile(frame: Any, event: str, arg: Any) -> None:
        if event == 'call' and frame.f_code.co_filename.startswith(PACKAGE):
            calls.append(frame.f_code.co_name)

    sys.setprofile(profile)
    try:
        optimizer.update()
    finally:
        sys.setprofile(None)
    assert len(calls) <= most, calls


# --- who is updated together ---


class Faster(SGDRule):
    """Another formula, and nothing else."""

    def coefficients(self, hyperparam: Any, dtype: Any) -> tuple[float]:
        return (2 * hyperparam.lr,)


class Watched(SGDRule):
    def update_core_cpu(self, param: Parameter) -> None:
        super().update_core_cpu(param)


@pytest.mark.parametrize(
    ('rule', 'together'), [(SGDRule, True), (Faster, True), (Watched, False), (optimizers.lamb.LAMBRule, False)]
)
def test_classes_that_are_grouped(rule: type[FormulaRule], together: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    optimizer = optimizers.SGD().setup(model_of(4))
    for param in optimizer.target.params():
        param.update_rule = rule()
    assert evaluations(optimizer, monkeypatch) == (1 if together else 4)


class Scaled(SGDRule):
    """A rule with data of its own, on which its coefficients depend."""

    scale = 1.0

    def coefficients(self, hyperparam: Any, dtype: Any) -> tuple[float]:
        return (self.scale * hyperparam.lr,)


def test_a_rule_with_data_of_its_own_is_updated_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    optimizer = optimizers.SGD(1).setup(model_of(4))
    for param in optimizer.target.params():
        param.update_rule = Scaled(optimizer.hyperparam)
    optimizer.target.p1.update_rule.scale = 0.5
    assert evaluations(optimizer, monkeypatch) == 3  # p0; p1; p2 and p3
    np.testing.assert_array_equal([p.array[0] for p in optimizer.target.params()], [0, 0.5, 0, 0])


def test_values_of_a_parameter_and_equal_values(monkeypatch: pytest.MonkeyPatch) -> None:
    optimizer = optimizers.SGD(1).setup(model_of(5))
    optimizer.target.p1.update_rule.hyperparam.lr = 0.5
    assert evaluations(optimizer, monkeypatch) == 2


# --- steps around the update ---


@pytest.mark.parametrize(
    'step', ['reallocate_cleared_grads', 'check_nan_in_grads', 'call_hooks', 'is_safe_to_update', 'update_loss_scale']
)
@pytest.mark.parametrize('on', ['class', 'optimizer'])
def test_a_replaced_step_is_called(step: str, on: str) -> None:
    calls = []

    def replaced(*args: Any) -> bool:
        calls.append(step)
        return True

    cls = type('Mine', (optimizers.SGD,), {step: replaced} if on == 'class' else {})
    optimizer = cls(1).setup(model_of(2))
    if on == 'optimizer':
        setattr(optimizer, step, replaced)
    optimizer.update()
    assert calls
    np.testing.assert_array_equal(optimizer.target.p0.array, 0)


def test_a_loss_function_may_set_the_optimizer_up_again() -> None:
    model = model_of(2)
    optimizer = optimizers.SGD(1).setup(model)
    seen = []

    def loss() -> Any:
        optimizer.setup(model)
        optimizer.add_hook(lambda opt: seen.append(opt.t), 'look')
        return minichainer.functions.sum(model.p0)

    optimizer.update(loss)
    assert seen == [0]


# --- errors ---


class Failing(SGDRule):
    def update_core_cpu(self, param: Parameter) -> None:
        raise RuntimeError('failed')


def read_only(param: Parameter) -> None:
    array = np.ones(3, np.float32)
    array.flags.writeable = False
    param.array = array


def of_integers(param: Parameter) -> None:
    param.array = np.ones(3, np.int32)
    param.grad = np.ones(3, np.int32)


def with_bad_value(param: Parameter) -> None:
    param.update_rule.hyperparam.lr = np.ones(3)


def with_a_failing_rule(param: Parameter) -> None:
    param.update_rule = Failing()


FAULTS = [read_only, of_integers, with_bad_value, with_a_failing_rule]


@pytest.mark.parametrize('size', [3, grouped.SMALL + 1])
@pytest.mark.parametrize('position', range(4))
@pytest.mark.parametrize('fault', FAULTS)
def test_after_an_error_the_counts_say_which_parameters_were_updated(fault: Any, position: int, size: int) -> None:
    model = model_of(4, size)
    optimizer = optimizers.SGD(0.25).setup(model)
    model.p2.update_rule = MomentumSGDRule(lr=0.25)
    params = list(model.params())
    bad = params.pop(position)
    fault(bad)
    for _ in range(2):
        before = [(param.update_rule.t, param.array[0]) for param in params]
        with pytest.raises((ValueError, TypeError, RuntimeError)):
            optimizer.update()
        for number, (param, (t, value)) in enumerate(zip(params, before, strict=True)):
            assert (param.array[0] < value) == (param.update_rule.t == t + 1)
            assert number >= position or param.update_rule.t == t + 1
    bad.update_rule = None
    before = [(param.update_rule.t, param.array[0]) for param in params]
    optimizer.update()
    assert all(p.array[0] < v and p.update_rule.t == t + 1 for p, (t, v) in zip(params, before, strict=True))
