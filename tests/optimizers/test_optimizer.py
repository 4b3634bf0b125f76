"""Optimizer, GradientMethod, UpdateRule, Hyperparameter: what all algorithms have in common."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

from minichainer import optimizer as optimizer_module
from minichainer import optimizer_hooks, optimizers
from minichainer.functions.math.reductions import sum as sum_of
from minichainer.link import Chain, Link
from minichainer.optimizer import GradientMethod, Hyperparameter, HyperparameterProxy, Optimizer, UpdateRule
from minichainer.serializer import SnapshotError
from minichainer.serializers import DictionarySerializer, NpzDeserializer
from minichainer.variable import Parameter
from tests.optimizers.models import link_of


def model_with_gradients(dtype: Any = np.float32) -> Link:
    model = link_of(w=Parameter(np.full((2, 3), 2, dtype)), b=Parameter(np.full(3, 2, dtype)))
    for param in model.params():
        param.grad = np.ones_like(param.array)
    return model


class PlainRule(UpdateRule):
    """A user's rule, with a state of its own."""

    def init_state(self, param: Parameter) -> None:
        self.state['count'] = np.zeros(1, np.int64)

    def update_core_cpu(self, param: Parameter) -> None:
        if param.grad is not None:
            param.array -= self.hyperparam.lr * param.grad
            self.state['count'] += 1


class Plain(GradientMethod):
    lr = HyperparameterProxy('lr')

    def __init__(self, lr: float = 1.0) -> None:
        super().__init__()
        self.hyperparam.lr = lr

    def create_update_rule(self) -> UpdateRule:
        return PlainRule(self.hyperparam)


# --- setup and use ---


@pytest.mark.parametrize(
    'use',
    [
        lambda o: o.update(),
        lambda o: o.update(lambda: None),
        lambda o: o.add_hook(optimizer_hooks.WeightDecay(1)),
        lambda o: o.remove_hook('WeightDecay'),
        lambda o: o.call_hooks(),
        lambda o: DictionarySerializer().save(o),
    ],
    ids=['update', 'update-lossfun', 'add_hook', 'remove_hook', 'call_hooks', 'serialize'],
)
def test_before_setup(use) -> None:
    optimizer = optimizers.SGD()
    with pytest.raises(RuntimeError, match=r'SGD is used before setup: call its setup\(model\)'):
        use(optimizer)
    assert optimizer.t == 0


def test_target_must_be_a_link() -> None:
    with pytest.raises(TypeError, match='optimization target must be a link, got int'):
        optimizers.SGD().setup(3)


def test_setup_returns_the_optimizer_and_begins_anew() -> None:
    model = model_with_gradients()
    optimizer = optimizers.MomentumSGD()
    assert optimizer.setup(model) is optimizer
    assert optimizer.target is model
    optimizer.add_hook(optimizer_hooks.WeightDecay(0.1))
    optimizer.update()
    optimizer.new_epoch()
    rule = model.w.update_rule
    optimizer.setup(model)
    assert (optimizer.t, optimizer.epoch, model.w.update_rule.state) == (0, 0, None)
    assert model.w.update_rule is not rule
    optimizer.add_hook(optimizer_hooks.WeightDecay(0.1))


@pytest.mark.parametrize(
    ('make', 'message'),
    [
        (lambda m: GradientMethod().setup(m), 'GradientMethod does not define create_update_rule'),
        (lambda m: Optimizer().setup(m).update(), 'Optimizer does not define update'),
        (lambda m: UpdateRule().update(m.w), 'UpdateRule defines neither update_core nor update_core_cpu'),
    ],
)
def test_what_a_subclass_must_define(make, message) -> None:
    with pytest.raises(NotImplementedError, match=message):
        make(model_with_gradients())


def test_loss_function_gets_its_arguments() -> None:
    model = model_with_gradients()
    optimizer = optimizers.SGD(0.25).setup(model)
    optimizer.update(lambda factor, power: sum_of(model.w * factor**power), 2, power=3)
    np.testing.assert_array_equal(model.w.array, 0)
    np.testing.assert_array_equal(model.b.grad, 0)  # cleared, then zeros because the loss does not reach it
    np.testing.assert_array_equal(model.b.array, 2)


def test_use_cleargrads_is_deprecated() -> None:
    model = model_with_gradients()
    optimizer = optimizers.SGD(1).setup(model)
    with pytest.warns(DeprecationWarning, match='use_cleargrads is deprecated'):
        optimizer.use_cleargrads(False)
    with pytest.warns(DeprecationWarning, match='zerograd'):
        optimizer.update(lambda: sum_of(model.w))
    np.testing.assert_array_equal(model.w.array, 1)


def test_a_gradient_that_is_none_counts_as_zero() -> None:
    model = model_with_gradients()
    optimizer = optimizers.MomentumSGD(1, momentum=0.5).setup(model)
    optimizer.update()
    model.cleargrads()
    optimizer.update()
    np.testing.assert_array_equal(model.w.grad, 0)
    np.testing.assert_array_equal(model.w.array, 2 - 1 - 0.5)
    assert model.w.update_rule.t == 2


def test_a_method_that_needs_no_zeros() -> None:
    class Lazy(optimizers.MomentumSGD):
        def reallocate_cleared_grads(self) -> None:
            pass

    model = model_with_gradients()
    optimizer = Lazy(1).setup(model)
    model.w.cleargrad()
    optimizer.update()
    assert model.w.grad is None
    np.testing.assert_array_equal(model.w.array, 2)
    np.testing.assert_array_equal(model.b.array, 1)


def test_parameters_without_a_shape_wait() -> None:
    model = model_with_gradients()
    with model.init_scope():
        model.late = Parameter(0)
    optimizer = optimizers.Adam().setup(model)
    model.late.cleargrad()
    optimizer.update()
    assert model.late.array is None
    assert model.late.update_rule.state is None
    model.late.initialize((4,))
    model.late.grad = np.ones(4, np.float32)
    optimizer.update()
    assert (model.late.array < 0).all()
    assert model.late.update_rule.state['m'].shape == (4,)


def test_disabled_and_missing_rules() -> None:
    model = model_with_gradients()
    with model.init_scope():
        model.other = Parameter(np.ones(2, np.float32))
    model.other.grad = np.ones(2, np.float32)
    optimizer = optimizers.SGD(1).setup(model)
    model.w.update_rule.enabled = False
    model.b.update_rule = None
    optimizer.update()
    np.testing.assert_array_equal(model.w.array, 2)
    np.testing.assert_array_equal(model.b.array, 2)
    np.testing.assert_array_equal(model.other.array, 0)
    assert (model.w.update_rule.t, model.other.update_rule.t, optimizer.t) == (0, 1, 1)


def test_parameters_added_after_setup_are_not_updated() -> None:
    model = Chain(a=model_with_gradients())
    optimizer = optimizers.SGD(1).setup(model)
    optimizer.update()
    model.add_link('b', model_with_gradients())
    optimizer.update()
    np.testing.assert_array_equal(model.a.w.array, 0)
    np.testing.assert_array_equal(model.b.w.array, 2)


# --- users' own rules ---


def test_a_users_rule_beside_ours() -> None:
    model = model_with_gradients()
    with model.init_scope():
        model.c = Parameter(np.ones(3, np.float32))
    model.c.grad = np.ones(3, np.float32)
    optimizer = optimizers.SGD(0.5).setup(model)
    model.b.update_rule = PlainRule(optimizer.hyperparam)
    optimizer.update()
    for param, expected in ((model.w, 1.5), (model.b, 1.5), (model.c, 0.5)):
        np.testing.assert_array_equal(param.array, expected)
    assert model.b.update_rule.state['count'] == 1


def test_a_users_gradient_method() -> None:
    model = model_with_gradients()
    optimizer = Plain(0.5).setup(model)
    optimizer.update()
    optimizer.lr = 1
    optimizer.update()
    np.testing.assert_array_equal(model.w.array, 0.5)
    assert model.w.update_rule.state['count'] == 2


def test_gradients_that_a_rule_clears_are_zeros_for_the_hooks_after_it() -> None:
    class Clearing(PlainRule):
        def update_core(self, param: Parameter) -> None:
            param.cleargrad()

    model = model_with_gradients()
    optimizer = optimizers.SGD(1).setup(model)
    model.w.update_rule = Clearing()
    seen = []
    optimizer.add_hook(lambda opt: seen.append(opt.target.w.grad.copy()), 'look', timing='post')
    optimizer.update()
    np.testing.assert_array_equal(seen, np.zeros((1, 2, 3)))


def test_rules_are_applied_in_the_order_of_the_parameters() -> None:
    """A rule may read other parameters, which were updated before or will be updated after."""
    seen = []

    class Watching(PlainRule):
        def update_core(self, param: Parameter) -> None:
            seen.append([float(p.array.flat[0]) for p in model.params()])
            super().update_core(param)

    model = link_of(**{name: Parameter(np.ones(2, np.float32)) for name in 'abc'})
    for param in model.params():
        param.grad = np.ones(2, np.float32)
    optimizer = optimizers.SGD(1).setup(model)
    model.b.update_rule = Watching(optimizer.hyperparam)
    optimizer.update()
    assert seen == [[0, 1, 1]]


@pytest.mark.parametrize('base', [optimizers.sgd.SGDRule, optimizers.adam.AdamRule])
def test_a_rule_derived_from_ours_has_its_way(base) -> None:
    class Doubling(base):
        def update_core_cpu(self, param: Parameter) -> None:
            calls.append(param)
            super().update_core_cpu(param)

    calls: list[Parameter] = []
    model = model_with_gradients()
    optimizer = optimizers.SGD(1).setup(model)
    for param in model.params():
        param.update_rule = Doubling()
    optimizer.update()
    assert [id(p) for p in calls] == [id(p) for p in model.params()]
    assert (model.w.array < 2).all()


def test_a_method_replaced_on_one_rule_or_parameter() -> None:
    model = model_with_gradients()
    optimizer = optimizers.SGD(1).setup(model)
    calls: list[Any] = []
    model.w.update_rule.update_core = lambda param: calls.append(param.name)
    model.b.update = lambda: calls.append('update')
    optimizer.update()
    assert calls == ['update', model.w.name]
    np.testing.assert_array_equal(model.w.array, 2)


def test_a_rule_is_called_directly() -> None:
    param = Parameter(np.zeros(2, np.float32))
    param.update_rule = optimizers.sgd.SGDRule(lr=0.5)
    param.grad = np.ones(2, np.float32)
    param.update()
    np.testing.assert_array_equal(param.array, -0.5)
    param.cleargrad()
    param.update()
    np.testing.assert_array_equal(param.array, -0.5)
    assert param.update_rule.t == 2


# --- hyperparameters ---


def test_hyperparameter_falls_back_on_its_parent() -> None:
    top = Hyperparameter()
    top.lr, top.momentum = 0.1, 0.9
    own = Hyperparameter(top)
    assert own.lr == 0.1
    own.lr = 0.5
    assert (own.lr, top.lr, own.momentum) == (0.5, 0.1, 0.9)
    assert own.parent is top
    assert own.get_dict() == {'lr': 0.5, 'momentum': 0.9}
    assert repr(own) == 'Hyperparameter(lr=0.5, momentum=0.9)'


def test_unknown_hyperparameter() -> None:
    own = Hyperparameter(optimizers.MomentumSGD().hyperparam)
    with pytest.raises(AttributeError, match=r"no hyperparameter 'rate' is set.*lr, momentum"):
        _ = own.rate


@pytest.mark.parametrize('clone', [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_hyperparameter_can_be_copied(clone) -> None:
    own = Hyperparameter(optimizers.SGD(0.3).hyperparam)
    own.extra = 1
    assert clone(own).get_dict() == {'lr': 0.3, 'extra': 1}


def test_proxy() -> None:
    optimizer = optimizers.SGD(0.3)
    assert optimizer.lr == 0.3
    optimizer.lr = 0.5
    assert optimizer.hyperparam.lr == 0.5
    assert isinstance(optimizers.SGD.lr, HyperparameterProxy)
    assert optimizers.SGD.lr.__doc__ == r'Alias to ``self.hyperparam.lr``: learning rate :math:`\eta`.'
    assert HyperparameterProxy('lr').__doc__ == 'Alias to ``self.hyperparam.lr``'


def test_hyperparameter_set_replaced_for_one_parameter() -> None:
    model = model_with_gradients()
    optimizer = optimizers.SGD(1).setup(model)
    mine = Hyperparameter()
    mine.lr = 0.25
    model.w.update_rule.hyperparam = mine
    optimizer.update()
    np.testing.assert_array_equal(model.w.array, 1.75)
    np.testing.assert_array_equal(model.b.array, 1)


# --- epochs ---


def test_new_epoch() -> None:
    optimizer = optimizers.SGD().setup(model_with_gradients())
    optimizer.new_epoch()
    assert optimizer.epoch == 1
    with pytest.raises(
        RuntimeError,
        match=r'new_epoch\(auto=True\) from an unregistered updater.*use_auto_new_epoch = True',
    ):
        optimizer.new_epoch(auto=True)
    optimizer.use_auto_new_epoch = True
    optimizer.new_epoch(auto=True)
    assert optimizer.epoch == 2
    with pytest.raises(RuntimeError, match=r'the updater already counts epochs.*auto_new_epoch=False'):
        optimizer.new_epoch()


# --- mixed precision ---


def test_float32_update_keeps_what_float16_would_lose() -> None:
    model = model_with_gradients(np.float16)
    array = model.w.array
    optimizer = optimizers.SGD(1e-4)
    optimizer.use_fp32_update()
    optimizer.setup(model)
    for _ in range(100):
        optimizer.update()
    assert model.w.array is array
    assert model.w.grad.dtype == np.float16
    np.testing.assert_allclose(array, 2 - 100e-4, rtol=1e-3)
    plain = model_with_gradients(np.float16)
    other = optimizers.SGD(1e-4).setup(plain)
    for _ in range(100):
        other.update()
    np.testing.assert_array_equal(plain.w.array, 2)


def test_float32_update_sees_an_array_written_by_others() -> None:
    model = model_with_gradients(np.float16)
    optimizer = optimizers.SGD(1).setup(model)
    optimizer.use_fp32_update()
    optimizer.update()
    model.w.array[...] = 5
    model.b.array = np.full(3, 7, np.float16)
    optimizer.update()
    np.testing.assert_array_equal(model.w.array, 4)
    np.testing.assert_array_equal(model.b.array, 6)


def test_float32_update_has_float32_states_and_can_be_ended() -> None:
    model = model_with_gradients(np.float16)
    optimizer = optimizers.MomentumSGD(1).setup(model)
    optimizer.use_fp32_update()
    optimizer.update()
    assert model.w.update_rule.state['v'].dtype == np.float32
    optimizer.use_fp32_update(False)
    assert not model.w.update_rule._use_fp32_update
    optimizer.update()
    np.testing.assert_allclose(model.w.array, 2 - 1 - 1.9, rtol=1e-3)


def test_constant_loss_scale() -> None:
    models = [model_with_gradients() for _ in range(2)]
    for model, scale in zip(models, (None, 8.0), strict=True):
        optimizer = optimizers.Adam(0.1).setup(model)
        if scale:
            optimizer.set_loss_scale(scale)
        for _ in range(2):
            optimizer.update(lambda model=model: sum_of(model.w * model.w))
    np.testing.assert_allclose(models[1].w.array, models[0].w.array, rtol=1e-6)
    np.testing.assert_allclose(models[1].w.grad, models[0].w.grad, rtol=1e-6)


def test_adaptive_loss_scale() -> None:
    model = model_with_gradients()
    optimizer = optimizers.SGD(1.0).setup(model)
    optimizer.loss_scaling(interval=2)
    scales, counts = [], []
    for step in range(5):
        model.w.grad = np.full((2, 3), np.nan if step == 3 else 1, np.float32)
        if step == 3:
            with pytest.warns(UserWarning, match=r'Non finite number found in param.grad of /w \(iteration: 3'):
                optimizer.update()
        else:
            optimizer.update()
        scales.append(optimizer._loss_scale)
        counts.append((optimizer.t, model.w.update_rule.t, optimizer.is_safe_to_update()))
    assert scales == [2, 4, 8, 4, pytest.approx(4 * 2**0.5)]
    assert counts == [(1, 1, True), (2, 2, True), (3, 3, True), (4, 3, False), (5, 4, True)]
    assert np.isfinite(model.w.array).all()


@pytest.mark.parametrize(
    ('arguments', 'message'),
    [
        ({'interval': 0}, 'interval must be greater than or equal to 1. Actual: 0'),
        ({'scale': 0}, 'loss_scale must be a positive number. Actual: 0'),
    ],
)
def test_bad_loss_scaling(arguments, message) -> None:
    with pytest.raises(ValueError, match=message):
        optimizers.SGD().setup(model_with_gradients()).loss_scaling(**arguments)


# --- saving and loading ---


def saved(optimizer: Optimizer) -> dict[str, Any]:
    serializer = DictionarySerializer()
    serializer.save(optimizer)
    return {name: np.array(value) for name, value in serializer.target.items()}


def trained(cls: Any = optimizers.Adam) -> Any:
    optimizer = cls().setup(Chain(l1=model_with_gradients(), l2=model_with_gradients()))
    optimizer.update()
    optimizer.new_epoch()
    return optimizer


def test_keys_are_chainers() -> None:
    expected = {'t', 'epoch'} | {f'{k}/{p}/{s}' for k in ('l1', 'l2') for p in 'wb' for s in ('t', 'm', 'v')}
    assert saved(trained()).keys() == expected
    fresh = optimizers.Adam().setup(model_with_gradients())
    assert saved(fresh).keys() == {'t', 'epoch', 'w/t', 'b/t'}


def test_loading_into_a_fresh_optimizer() -> None:
    entries = saved(trained())
    other = optimizers.Adam().setup(Chain(l1=model_with_gradients(), l2=model_with_gradients()))
    NpzDeserializer(entries).load(other)
    assert (other.t, other.epoch) == (1, 1)
    assert type(other.t) is int
    assert other.target.l1.w.update_rule.t == 1
    assert saved(other).keys() == entries.keys()
    np.testing.assert_array_equal(other.target.l1.w.update_rule.state['m'], entries['l1/w/m'])
    assert not np.shares_memory(other.target.l1.w.update_rule.state['m'], entries['l1/w/m'])


def test_loading_fills_the_arrays_that_are_there() -> None:
    optimizer = trained()
    state = optimizer.target.l1.w.update_rule.state['m']
    entries = saved(optimizer)
    entries['l1/w/m'] = np.full_like(state, 9)
    NpzDeserializer(entries).load(optimizer)
    assert optimizer.target.l1.w.update_rule.state['m'] is state
    assert (state == 9).all()


def test_loading_for_a_parameter_without_a_shape() -> None:
    model = link_of(w=Parameter(0))
    entries = {'t': 3, 'epoch': 0, 'w/t': 3, 'w/m': np.ones(2, np.float32), 'w/v': np.ones(2, np.float32)}
    optimizer = optimizers.Adam().setup(model)
    NpzDeserializer({name: np.asarray(value) for name, value in entries.items()}).load(optimizer)
    assert model.w.update_rule.t == 3
    np.testing.assert_array_equal(model.w.update_rule.state['m'], 1)


def test_everything_missing_is_named_and_nothing_is_loaded() -> None:
    optimizer = trained()
    before = saved(optimizer)
    entries = {name: value + 1 for name, value in before.items()}
    del entries['l1/w/m'], entries['l2/b/t']
    entries['l2/w/v'] = np.zeros(5, np.float32)
    with pytest.raises(SnapshotError) as caught:
        NpzDeserializer(entries).load(optimizer)
    for name in ('l1/w/m', 'l2/b/t', 'l2/w/v'):
        assert name in str(caught.value)
    assert 'l1/b' not in str(caught.value)
    after = saved(optimizer)
    assert after.keys() == before.keys()
    for name in before:
        np.testing.assert_array_equal(after[name], before[name])


def test_lenient_loading_keeps_what_is_missing() -> None:
    optimizer = trained()
    entries = saved(optimizer)
    expected = entries.pop('l1/w/m')
    entries['l1/w/v'] = np.full((2, 3), 9, np.float32)
    NpzDeserializer(entries, strict=False).load(optimizer)
    state = optimizer.target.l1.w.update_rule.state
    np.testing.assert_array_equal(state['m'], expected)
    np.testing.assert_array_equal(state['v'], 9)
    fresh = optimizers.Adam().setup(Chain(l1=model_with_gradients(), l2=model_with_gradients()))
    NpzDeserializer(entries, strict=False).load(fresh)
    assert fresh.target.l1.w.update_rule.state is None
    fresh.update()
    assert set(fresh.target.l1.w.update_rule.state) == {'m', 'v'}


def test_a_users_state_is_saved_and_loaded() -> None:
    optimizer = trained(Plain)
    entries = saved(optimizer)
    assert entries['l1/w/count'] == 1
    other = Plain().setup(Chain(l1=model_with_gradients(), l2=model_with_gradients()))
    NpzDeserializer(entries).load(other)
    assert other.target.l1.w.update_rule.state['count'] == 1


# --- names of Chainer v3 ---


@pytest.mark.parametrize(
    ('name', 'arguments'),
    [
        ('WeightDecay', (0.1,)),
        ('Lasso', (0.1,)),
        ('GradientClipping', (1,)),
        ('GradientNoise', (0.1,)),
        ('GradientHardClipping', (-1, 1)),
    ],
)
def test_hooks_under_their_old_names(name, arguments) -> None:
    with pytest.warns(DeprecationWarning, match=rf'optimizer\.{name} is deprecated from v4.*optimizer_hooks\.{name}'):
        hook = getattr(optimizer_module, name)(*arguments)
    assert isinstance(hook, getattr(optimizer_hooks, name))
    assert hook.name == name


class CountingRule(optimizers.adam.AdamRule):
    """A rule of a program, with a state of its own."""

    def init_state(self, param: Any) -> None:
        super().init_state(param)
        self.state['steps'] = np.zeros((), param.dtype)

    def update_core_cpu(self, param: Any) -> None:
        self.state['steps'] += 1
        super().update_core_cpu(param)


class Counting(optimizers.Adam):
    def create_update_rule(self) -> Any:
        return CountingRule(self.hyperparam)


def test_states_of_programs_may_have_any_shape() -> None:
    first, second = (Counting().setup(Chain()) for _ in range(2))
    for one in (first, second):
        with one.target.init_scope():
            one.target.w = Parameter(np.ones(3, np.float32))
        one.setup(one.target)
    first.target.w.grad = np.ones(3, np.float32)
    first.update()
    serializer = DictionarySerializer()
    serializer.save(first)
    NpzDeserializer({name: np.asarray(value) for name, value in serializer.target.items()}).load(second)
    state = second.target.w.update_rule.state
    assert state['steps'] == 1 and state['steps'].shape == ()
    np.testing.assert_array_equal(state['m'], first.target.w.update_rule.state['m'])
