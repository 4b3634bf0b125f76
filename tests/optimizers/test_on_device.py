"""Updates of many parameters on a device: one launch, the results of the host, and what cannot be put together."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minichainer as chainer
from minichainer import optimizers
from minichainer.kernels.cuda import updates
from minichainer.link import Link
from minichainer.optimizer import GradientMethod
from minichainer.optimizer_hooks import GradientClipping, GradientLARS, GradientNoise, WeightDecay
from minichainer.optimizers.lamb import LAMBRule
from minichainer.variable import Parameter

pytestmark = pytest.mark.gpu
SHAPES = [(3, 4), (), (0, 2), (5,), (2, 3, 2)]


def pair(dtype: str) -> list[Link]:
    """Two equal models, on the host and on a device."""
    models = [Link(), Link()]
    for model in models:
        rng = np.random.RandomState(0)
        with model.init_scope():
            for k, shape in enumerate(SHAPES):
                setattr(model, f'p{k}', Parameter(np.asarray(rng.randn(*shape)).astype(dtype)))
    models[1].to_device('@cupy:0')
    return models


def step(models: list[Link], number: int, scale: float | None = None) -> None:
    for model in models:
        rng = np.random.RandomState(number)
        for param in model.params():
            param.grad = param.device.send(np.asarray(rng.randn(*param.shape)).astype(param.dtype))
            param._loss_scale = scale
        model.optimizer.update()


def assert_equal(models: list[Link], tolerance: float) -> None:
    for one, other in zip(models[0].params(), models[1].params(), strict=True):
        np.testing.assert_allclose(chainer.backends.cuda.to_cpu(other.array), one.array, tolerance, tolerance)


def set_up(models: list[Link], make: Any, fp32: bool = False, hooks: tuple[Any, ...] = ()) -> None:
    for model in models:
        model.optimizer = make()
        model.optimizer.use_fp32_update(fp32)
        model.optimizer.setup(model)
        for hook in hooks:
            model.optimizer.add_hook(hook)


@pytest.mark.parametrize('dtype', 'efd')
@pytest.mark.parametrize('fp32', [False, True])
@pytest.mark.parametrize('scale', [None, 64.0])
def test_updates_are_those_of_the_host(dtype: str, fp32: bool, scale: float | None) -> None:
    models = pair(dtype)
    set_up(models, lambda: optimizers.AMSGrad(eps=1e-3), fp32)
    for number in range(3):
        step(models, number, scale)
    assert_equal(models, {'e': 2e-3, 'f': 1e-5, 'd': 1e-12}[dtype])
    for one, other in zip(models[0].params(), models[1].params(), strict=True):
        np.testing.assert_allclose(chainer.backends.cuda.to_cpu(other.grad), one.grad, 1e-6)
        assert one._loss_scale == other._loss_scale


@pytest.mark.parametrize('dtype', 'efd')
@pytest.mark.parametrize('fp32', [False, True])
@pytest.mark.parametrize('scale', [None, 64.0])
def test_steps_as_long_as_norms_say(dtype: str, fp32: bool, scale: float | None) -> None:
    models = pair(dtype)
    set_up(models, lambda: optimizers.LAMB(alpha=0.1, eps=1e-3), fp32)
    for number in range(3):
        step(models, number, scale)
    assert_equal(models, {'e': 2e-3, 'f': 1e-5, 'd': 1e-12}[dtype])
    for one, other in zip(models[0].params(), models[1].params(), strict=True):
        assert one._loss_scale == other._loss_scale


def test_another_formula_with_norms_is_not_replaced() -> None:
    class Rule(LAMBRule):
        @staticmethod
        def formula(xp: Any, coefficients: Any, temporaries: Any, param: Any, grad: Any, *states: Any) -> None:
            param -= grad

    class Optimizer(GradientMethod, rule=Rule):
        pass

    assert Rule.direction is None and LAMBRule.groupable_on_device and not Rule.groupable_on_device
    models = pair('f')
    set_up(models, Optimizer)
    before = [param.array.get() for param in models[1].params()]
    step(models, 0)
    for param, old in zip(models[1].params(), before, strict=True):
        np.testing.assert_allclose(param.array.get(), old - param.grad.get(), 1e-6, 1e-6)


def test_noise_has_its_deviation_and_the_loss_scale() -> None:
    model = Link()
    with model.init_scope():
        model.a, model.b = Parameter(np.zeros(20000, 'f')), Parameter(np.zeros((100, 100), 'd'))
    model.to_device('@cupy:0')
    optimizer = optimizers.SGD(0).setup(model)
    optimizer.add_hook(GradientNoise(0.3))
    for param, scale in ((model.a, None), (model.b, 8.0)):
        param.grad = param.xp.zeros_like(param.array)
        param._loss_scale = scale
    optimizer.call_hooks()
    found = [param.grad.get() for param in (model.a, model.b)]
    np.testing.assert_allclose([noise.std() for noise in found], [0.3**0.5, 8 * 0.3**0.5], 0.03)
    assert abs(np.corrcoef(found[0][:10000], found[1].ravel())[0, 1]) < 0.05


def test_other_noise_is_drawn_for_each_parameter() -> None:
    model = pair('f')[1]
    optimizer = optimizers.SGD(0).setup(model)
    optimizer.add_hook(GradientNoise(0.5, lambda xp, shape, dtype, hook, rule: xp.full(shape, hook.eta, dtype)))
    for param in model.params():
        param.grad = param.xp.ones_like(param.array)
    optimizer.update()
    assert all(bool((param.grad == 1.5).all()) for param in model.params())


def test_float16_is_computed_in_float32() -> None:
    """The square of the gradient is beyond float16, its share in the mean of squares is not; eps is 0 in float16."""
    for gradient in (300, 0):
        models = pair('e')
        set_up(models, optimizers.Adam)
        for model in models:
            for param in model.params():
                param.grad = param.device.send(np.full(param.shape, gradient, 'e'))
            model.optimizer.update()
        assert_equal(models, 2e-3)
        squares = models[1].p0.update_rule.state['v'].get().astype('d')
        np.testing.assert_allclose(squares, 0.001 * gradient**2, 2e-3)


def test_values_and_rules_of_single_parameters() -> None:
    models = pair('f')
    set_up(models, optimizers.Adam)
    for model in models:
        model.p1.update_rule.hyperparam.alpha = 0.5
        model.p2.update_rule.enabled = False
        model.p3.update_rule.t = 7
        model.p4.update_rule.add_hook(WeightDecay(0.1))
    step(models, 1)
    assert_equal(models, 1e-6)
    assert [p.update_rule.t for p in models[1].params()] == [p.update_rule.t for p in models[0].params()]


@pytest.mark.parametrize('threshold', [0.5, 1e3])
def test_hooks_before_the_update(threshold: float) -> None:
    models = pair('f')
    set_up(models, lambda: optimizers.Adam(), hooks=(WeightDecay(0.01), GradientClipping(threshold)))
    for number in range(3):
        step(models, number)
    assert_equal(models, 1e-5)


@pytest.mark.parametrize('threshold', [0.0, 0.5, np.inf])
@pytest.mark.parametrize('value', [0.0, 1.0, np.inf, np.nan])
@pytest.mark.parametrize('hook', [GradientClipping, GradientLARS])
@pytest.mark.filterwarnings('ignore:invalid value')
def test_hooks_with_norms_see_zeros_infinities_and_nan(hook: Any, value: float, threshold: float) -> None:
    models = pair('f')
    set_up(models, lambda: optimizers.SGD(), hooks=(hook(threshold),))
    for model in models:
        for param in model.params():
            param.grad = param.device.send(np.zeros(param.shape, 'f'))
        model.p0.grad[0, 0] = value
        model.optimizer.call_hooks()
    for one, other in zip(models[0].params(), models[1].params(), strict=True):
        np.testing.assert_allclose(chainer.backends.cuda.to_cpu(other.grad), one.grad, 1e-6)


def test_one_array_in_two_parameters_is_updated_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not in one launch, whose threads would race."""
    launches: list[int] = []
    update = updates.update
    monkeypatch.setattr(updates, 'update', lambda *args: (launches.append(len(args[2])), update(*args)))
    models = pair('f')
    for model in models:
        with model.init_scope():
            model.p5 = Parameter(model.p0.array)
            model.p5.array = model.p0.array
    set_up(models, lambda: optimizers.SGD(lr=0.1))
    step(models, 1)
    assert launches == [len(SHAPES)]
    assert_equal(models, 1e-6)


class NotStraight(optimizers.sgd.SGDRule):
    """A formula that has no form in C++."""

    @staticmethod
    def formula(xp: Any, coefficients: Any, temporaries: Any, param: Any, grad: Any) -> None:
        param -= xp.cumsum(grad).reshape(grad.shape)


def test_a_formula_without_a_kernel_is_evaluated_on_arrays() -> None:
    models = pair('f')
    set_up(models, optimizers.SGD)
    for model in models:
        model.p0.update_rule = NotStraight(model.optimizer.hyperparam)
    step(models, 1)
    assert_equal(models, 1e-6)


def test_snapshots_have_the_states_of_the_host() -> None:
    models = pair('f')
    set_up(models, optimizers.Adam)
    step(models, 1)
    found = [chainer.serializers.DictionarySerializer() for _ in models]
    for model, serializer in zip(models, found, strict=True):
        serializer.save(model.optimizer)
    assert found[0].target.keys() == found[1].target.keys()
    for key, value in found[0].target.items():
        np.testing.assert_allclose(found[1].target[key], value, 1e-5, 1e-6)
