"""Hyperparameters and states that are declared once: what follows from the declarations."""

from __future__ import annotations

import copy
import inspect
import pickle
from typing import Any

import numpy as np
import pytest

from minichainer import optimizers
from minichainer.link import Link
from minichainer.optimizer import FormulaRule, GradientMethod, Hyperparameter, UpdateRule, hyperparameter, state
from minichainer.serializers import DictionarySerializer, NpzDeserializer
from minichainer.variable import Parameter
from tests.completeness import assert_complete

# As inspect.signature of Chainer 7.8.1 shows them; then those that Chainer does not have.
SIGNATURES = {
    'AMSBound': '(alpha=0.001, beta1=0.9, beta2=0.999, final_lr=0.1, gamma=0.001, eps=1e-08, eta=1.0)',
    'AMSGrad': '(alpha=0.001, beta1=0.9, beta2=0.999, eps=1e-08, eta=1.0)',
    'AdaBound': '(alpha=0.001, beta1=0.9, beta2=0.999, final_lr=0.1, gamma=0.001, eps=1e-08, eta=1.0)',
    'AdaDelta': '(rho=0.95, eps=1e-06)',
    'AdaGrad': '(lr=0.001, eps=1e-08)',
    'Adam': (
        '(alpha=0.001, beta1=0.9, beta2=0.999, eps=1e-08, eta=1.0, weight_decay_rate=0, amsgrad=False, '
        'adabound=False, final_lr=0.1, gamma=0.001)'
    ),
    'AdamW': '(alpha=0.001, beta1=0.9, beta2=0.999, eps=1e-08, eta=1.0, weight_decay_rate=0)',
    'CorrectedMomentumSGD': '(lr=0.01, momentum=0.9)',
    'MSVAG': '(lr=0.1, beta=0.9, eta=1.0, weight_decay_rate=0)',
    'MomentumSGD': '(lr=0.01, momentum=0.9)',
    'NesterovAG': '(lr=0.01, momentum=0.9)',
    'RMSprop': '(lr=0.01, alpha=0.99, eps=1e-08, eps_inside_sqrt=False)',
    'RMSpropGraves': '(lr=0.0001, alpha=0.95, momentum=0.9, eps=0.0001)',
    'SGD': '(lr=0.01)',
    'SMORMS3': '(lr=0.001, eps=1e-16)',
    'LAMB': '(alpha=0.001, beta1=0.9, beta2=0.999, eps=1e-06, weight_decay_rate=0.01)',
    'Lion': '(lr=0.0001, beta1=0.9, beta2=0.99, weight_decay_rate=0)',
    'RAdam': '(alpha=0.001, beta1=0.9, beta2=0.999, eps=1e-08, eta=1.0, weight_decay_rate=0)',
}
every_optimizer = pytest.mark.parametrize('name', SIGNATURES)


@every_optimizer
def test_type_checkers_know_the_hyperparameters(name: str) -> None:
    cls = getattr(optimizers, name)
    bases = cls.__mro__[: cls.__mro__.index(GradientMethod)]
    annotated = {key: kind for base in reversed(bases) for key, kind in inspect.get_annotations(base).items()}
    values = vars(cls().hyperparam)
    assert annotated == {key: 'bool' if isinstance(value, bool) else 'float' for key, value in values.items()}


class WalkRule(FormulaRule):
    """Update rule of Walk."""

    size = hyperparameter(0.5, 'size of a step')
    lag = hyperparameter(False, 'whether to go where the last gradient pointed')
    last = state(1, when='lag')
    count = state()

    def coefficients(self, hyperparam: Any, dtype: Any) -> tuple[float]:
        return (hyperparam.size,)

    @staticmethod
    def formula(xp: Any, coefficients: Any, temporaries: Any, param: Any, grad: Any, *states: Any) -> None:
        *last, count = states
        (step,) = temporaries
        xp.sign(last[0] if last else grad, step)
        step *= coefficients[0]
        param -= step
        for array in last:
            array[...] = grad
        count += 1


class Walk(GradientMethod, rule=WalkRule):
    """Steps of one size."""


class Lagging(Walk, arguments='size', lag=True):
    """Steps of one size, by the last gradient."""


def model_of(*values: float) -> Link:
    model = Link()
    with model.init_scope():
        for number, value in enumerate(values):
            setattr(model, f'p{number}', Parameter(np.full(2, value, np.float32)))
    for param in model.params():
        param.grad = np.array([2, -2], np.float32)
    return model


# --- the optimizers of the package ---


def test_every_optimizer_has_a_signature() -> None:
    public = {name for name, value in vars(optimizers).items() if isinstance(value, type)}
    assert_complete(
        SIGNATURES, public, 'tests/optimizers/test_declarations.py: SIGNATURES', 'its signature as a text'
    )


@every_optimizer
def test_signature_and_values(name: str) -> None:
    cls = getattr(optimizers, name)
    signature = inspect.signature(cls)
    assert str(signature) == SIGNATURES[name]
    defaults = {key: parameter.default for key, parameter in signature.parameters.items()}
    assert defaults.items() <= cls().hyperparam.get_dict().items()
    given = {key: number + 2.5 for number, key in enumerate(defaults)}
    for optimizer in (cls(**given), cls(*given.values())):
        assert {key: getattr(optimizer, key) for key in given} == given


@every_optimizer
def test_rule_takes_the_values_of_its_optimizer(name: str) -> None:
    rule = getattr(optimizers, name)().setup(model_of(1)).target.p0.update_rule
    cls = type(rule)
    declared = list(rule.hyperparam.get_dict())
    assert ['parent_hyperparam', *declared] == list(inspect.signature(cls).parameters)
    first = declared[0]
    assert cls(**{first: 7.0}).hyperparam.get_dict()[first] == cls(None, 7.0).hyperparam.get_dict()[first] == 7.0
    parent = Hyperparameter(rule.hyperparam)
    setattr(parent, first, 3.0)
    assert getattr(cls(parent).hyperparam, first) == 3.0


@every_optimizer
def test_docstring_has_formula_source_arguments_and_example(name: str) -> None:
    cls = getattr(optimizers, name)
    doc = inspect.getdoc(cls) or ''
    assert ':math:' in doc or '.. math::' in doc
    assert name == 'SGD' or 'From ' in doc
    assert doc.index('Args:') < doc.index('>>> ')
    for key, parameter in inspect.signature(cls).parameters.items():
        assert f'\n    {key}: ' in doc
        assert f'default {parameter.default!r}).' in ' '.join(doc.split())


def test_too_many_and_unknown_arguments() -> None:
    with pytest.raises(TypeError, match=r'SGD: too many positional arguments; expected \(lr=0.01\)'):
        optimizers.SGD(1, 2)
    with pytest.raises(TypeError, match=r"SGDRule: got an unexpected keyword argument 'rate'; expected .*lr=None"):
        optimizers.sgd.SGDRule(rate=1)
    with pytest.raises(TypeError, match=r'AMSGrad: got an unexpected .*amsgrad'):
        optimizers.AMSGrad(amsgrad=False)


# --- optimizers of users ---


def test_a_declared_optimizer() -> None:
    model = model_of(1, 2)
    optimizer = Walk(0.25).setup(model)
    optimizer.update()
    np.testing.assert_array_equal(model.p0.array, [0.75, 1.25])
    optimizer.size = 1
    assert (optimizer.hyperparam.size, model.p0.update_rule.size, optimizer.lag) == (1, 1, False)
    model.p1.update_rule.size = 0
    optimizer.update()
    np.testing.assert_array_equal(model.p0.array, [-0.25, 2.25])
    np.testing.assert_array_equal(model.p1.array, [1.75, 2.25])
    np.testing.assert_array_equal(model.p1.update_rule.count, 2)
    assert Walk.size.__doc__ == 'Alias to ``self.hyperparam.size``: size of a step.'


def test_a_state_that_depends_on_a_hyperparameter() -> None:
    model = model_of(1)
    optimizer = Lagging().setup(model)
    assert str(inspect.signature(Lagging)) == '(size=0.5)'
    optimizer.update()
    np.testing.assert_array_equal(model.p0.array, 0.5)
    assert list(model.p0.update_rule.state) == ['last', 'count']
    saved = DictionarySerializer()
    saved.save(optimizer)
    other = Lagging().setup(model_of(0.5))
    NpzDeserializer(saved.target).load(other)
    for each in (optimizer, other):
        each.update()
        np.testing.assert_array_equal(each.target.p0.array, [0, 1])
    optimizer.lag = False
    optimizer.update()
    np.testing.assert_array_equal(model.p0.array, [-0.5, 1.5])


def test_states_begin_with_the_first_update() -> None:
    rule = WalkRule()
    with pytest.raises(AttributeError, match="WalkRule: state 'count' is made at the first update"):
        _ = rule.count


def test_a_rule_without_formula_may_declare_too() -> None:
    class Rule(UpdateRule):
        lr = hyperparameter(0.5, 'learning rate')
        total = state()

        def update_core(self, param: Parameter) -> None:
            self.total += param.grad
            param.array -= self.lr * self.total

    class Summing(GradientMethod, rule=Rule):
        pass

    model = model_of(1)
    optimizer = Summing(lr=0.25).setup(model)
    optimizer.update()
    optimizer.update()
    np.testing.assert_array_equal(model.p0.array, [-0.5, 2.5])
    assert str(inspect.signature(Rule)).endswith('= None, lr=None)')


def test_a_rule_that_declares_more_than_its_base() -> None:
    class Rule(optimizers.sgd.SGDRule):
        """SGD with a factor."""

        factor = hyperparameter(2.0, 'factor of the learning rate')

        def coefficients(self, hyperparam: Any, dtype: Any) -> tuple[float]:
            return (hyperparam.lr * hyperparam.factor,)

    class Scaled(optimizers.SGD, rule=Rule):
        """SGD with a factor."""

    assert str(inspect.signature(Scaled)) == '(lr=0.01, factor=2.0)'
    assert 'factor: factor of the learning rate (default 2.0).' in Scaled.__doc__
    model = model_of(1)
    Scaled(0.25).setup(model).update()
    np.testing.assert_array_equal(model.p0.array, [0, 2])


def test_init_in_chainers_style_keeps_its_signature() -> None:
    class Mine(optimizers.SGD):
        """Mine."""

        def __init__(self, half: float = 1.0) -> None:
            super().__init__(half / 2)

    class Passing(optimizers.SGD):
        def __init__(self, extra: int, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)

    assert list(inspect.signature(Mine).parameters) == ['half']
    assert Mine().lr == 0.5
    assert Mine.__doc__ == 'Mine.'
    assert list(inspect.signature(Passing).parameters) == ['extra', 'lr']
    assert Passing(1, lr=3).lr == 3


@pytest.mark.parametrize('name', ['t', 'update', 'hyperparam', 'formula'])
@pytest.mark.parametrize('declaration', [hyperparameter(1, 'one'), state()], ids=['hyperparameter', 'state'])
def test_a_declaration_must_not_hide_another_attribute(name: str, declaration: Any) -> None:
    with pytest.raises(TypeError, match=f"Bad: '{name}' is an attribute of .*; declare another name"):
        type('Bad', (FormulaRule,), {name: declaration})


def test_a_hyperparameter_must_not_hide_an_attribute_of_the_optimizer() -> None:
    rule = type('Rule', (FormulaRule,), {'epoch': hyperparameter(1, 'one')})
    with pytest.raises(TypeError, match="Bad: 'epoch' is an attribute of Optimizer; declare another name"):
        type('Bad', (GradientMethod,), {}, rule=rule)


def test_fixed_values_must_be_declared() -> None:
    with pytest.raises(TypeError, match='Bad: its rule declares no hyperparameter rate'):
        type('Bad', (optimizers.SGD,), {}, rate=1)


@pytest.mark.parametrize('clone', [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies_of_a_hyperparameter_set_keep_parent_and_values_apart(clone: Any) -> None:
    parent = Hyperparameter()
    parent.lr = 1
    own = Hyperparameter(parent)
    other = clone(own)
    other.rate = 2
    assert vars(own) == {}
    assert vars(other) == {'rate': 2}
    assert other.parent.lr == 1
