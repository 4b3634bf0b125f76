"""Hooks of optimizers and update rules, and the order things happen in."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from minichainer import functions as F
from minichainer import optimizer_hooks as hooks
from minichainer import optimizers
from minichainer.variable import Parameter
from tests.completeness import assert_complete
from tests.optimizers.models import link_of


def optimizer_of(w: Any, b: Any = (0.0, 0.0), dtype: Any = np.float64, lr: float = 1) -> Any:
    model = link_of(w=Parameter(np.array(w, dtype)), b=Parameter(np.array(b, dtype)))
    return optimizers.SGD(lr).setup(model)


def set_gradients(optimizer: Any, w: Any, b: Any = (0.0, 0.0)) -> None:
    model = optimizer.target
    model.w.grad, model.b.grad = np.array(w, model.w.dtype), np.array(b, model.b.dtype)


W, G = np.array([1.0, -2.0, 0.5]), np.array([0.3, -4.0, 2.0])
NORM_W, NORM_G = np.sqrt((W**2).sum()), np.sqrt((G**2).sum())
EFFECTS = [
    (hooks.WeightDecay(0.1), G + 0.1 * W),
    (hooks.Lasso(0.1), G + 0.1 * np.sign(W)),
    (hooks.GradientClipping(1), G / NORM_G),
    (hooks.GradientClipping(NORM_G), G),
    (hooks.GradientHardClipping(-1, 0.5), [0.3, -1, 0.5]),
    (
        hooks.GradientNoise(0.5, lambda xp, shape, dtype, hook, opt: xp.full(shape, hook.eta + opt.t, dtype)),
        G + 0.5,
    ),
    (hooks.GradientLARS(), G * NORM_W / NORM_G),
    (hooks.GradientLARS(weight_decay=0.1), (G + 0.1 * W) * NORM_W / (NORM_G + 0.1 * NORM_W)),
    (hooks.GradientLARS(threshold=100), G),
    (hooks.GradientLARS(threshold=100, weight_decay=0.1), G + 0.1 * W),
]


def test_the_table_is_complete() -> None:
    names = [type(hook).__name__ for hook, _ in EFFECTS]
    assert_complete(names, hooks.__all__, 'tests/optimizers/test_hooks.py: EFFECTS', 'the hook and what it does')


@pytest.mark.parametrize(('hook', 'expected'), EFFECTS, ids=[type(h).__name__ for h, _ in EFFECTS])
@pytest.mark.parametrize(('dtype', 'rtol'), [(np.float16, 4e-3), (np.float32, 1e-6), (np.float64, 1e-8)])
def test_effect_on_the_gradient(hook, expected, dtype, rtol) -> None:
    optimizer = optimizer_of(W, dtype=dtype)
    optimizer.add_hook(hook)
    set_gradients(optimizer, G)
    grad = optimizer.target.w.grad
    optimizer.update()
    assert optimizer.target.w.grad is grad
    assert grad.dtype == dtype
    np.testing.assert_allclose(grad, expected, rtol=rtol)
    np.testing.assert_allclose(optimizer.target.w.array, W - np.asarray(expected), rtol=10 * rtol, atol=10 * rtol)


OWNED = [
    pytest.param(hook, owner, id=f'{type(hook).__name__}-{owner}')
    for hook, _ in EFFECTS
    for owner in ('optimizer', 'rule')
    if owner == 'optimizer' or getattr(hook, 'call_for_each_param', False)
]


@pytest.mark.parametrize(('hook', 'owner'), OWNED)
@pytest.mark.parametrize(('dtype', 'fp32_update'), [(np.float16, True), (np.float16, False), (np.float32, False)])
@pytest.mark.parametrize('optimizer_class', [optimizers.SGD, optimizers.MomentumSGD, optimizers.Adam])
def test_loss_scaling_does_not_change_what_a_hook_does(optimizer_class, dtype, fp32_update, owner, hook) -> None:
    """By powers of two nothing is rounded: the scale must not show in a single bit of the parameters."""

    def trained(scale: Any) -> Any:
        optimizer = optimizer_class().setup(link_of(w=Parameter(W.astype(dtype)), b=Parameter(G.astype(dtype))))
        optimizer.use_fp32_update(fp32_update)
        if scale is not None:
            optimizer.loss_scaling(**({'interval': 1} if scale == 'dynamic' else {'scale': scale}))
        for host in [optimizer] if owner == 'optimizer' else [p.update_rule for p in optimizer.target.params()]:
            host.add_hook(hook)
            host.add_hook(hook, 'after', timing='post')
        for _ in range(3):
            optimizer.update(lambda: F.sum(optimizer.target.w * G.astype(dtype)))
        optimizer.update()  # by the gradients that are there, once more
        return optimizer.target.w.array

    for scale in (4.0, 0.5, 'dynamic'):
        np.testing.assert_array_equal(trained(scale), trained(None), err_msg=f'loss scale {scale}')


def test_weight_decay_under_a_loss_scale() -> None:
    optimizer = optimizer_of([1.0, 2.0], dtype=np.float32)
    optimizer.add_hook(hooks.WeightDecay(0.5))
    optimizer.loss_scaling(scale=4.0)
    optimizer.update(lambda: 0.25 * F.sum(optimizer.target.w))
    np.testing.assert_array_equal(optimizer.target.w.array, [0.25, 0.75])


def test_bounds_that_the_scaled_gradient_cannot_reach() -> None:
    optimizer = optimizer_of([1.0, 2.0], dtype=np.float16)
    optimizer.add_hook(hooks.GradientHardClipping(-5, 5))
    optimizer.loss_scaling(scale=2.0**15)
    optimizer.update(lambda: 0.25 * F.sum(optimizer.target.w))
    np.testing.assert_array_equal(optimizer.target.w.array, [0.75, 1.75])


def test_clipping_takes_the_norm_of_all_gradients_together() -> None:
    optimizer = optimizer_of([0.0, 0.0])
    optimizer.add_hook(hooks.GradientClipping(1))
    set_gradients(optimizer, [3, 0], [0, 4])
    optimizer.update()
    np.testing.assert_allclose(optimizer.target.w.grad, [0.6, 0])
    np.testing.assert_allclose(optimizer.target.b.grad, [0, 0.8])


def test_clipping_leaves_zeros() -> None:
    optimizer = optimizer_of([1.0, 1.0], dtype=np.float32)
    optimizer.add_hook(hooks.GradientClipping(1))
    set_gradients(optimizer, [0, 0])
    optimizer.call_hooks()
    np.testing.assert_array_equal(optimizer.target.w.grad, 0)


#: What one NaN in the gradient of w makes NaN: of w = (NaN, 1), and of b. A norm concerns all that it is taken of.
NAN_SPREADS = [
    (hooks.GradientClipping(1), [True, True], True),
    (hooks.GradientHardClipping(-1, 1), [True, False], False),
    (hooks.GradientNoise(0.01), [True, False], False),
    (hooks.GradientLARS(), [True, True], False),
    (hooks.WeightDecay(0.1), [True, False], False),
    (hooks.Lasso(0.1), [True, False], False),
]


@pytest.mark.parametrize(('hook', 'w', 'b'), NAN_SPREADS, ids=[type(h).__name__ for h, *_ in NAN_SPREADS])
@pytest.mark.parametrize('dtype', [np.float16, np.float32, np.float64])
def test_a_nan_is_seen_wherever_a_norm_has_it(hook, w, b, dtype) -> None:
    optimizer = optimizer_of([1.0, 1.0], dtype=dtype)
    optimizer.add_hook(hook)
    set_gradients(optimizer, [np.nan, 1], [1e4, 0])
    optimizer.call_hooks()
    np.testing.assert_array_equal(np.isnan(optimizer.target.w.grad), w)
    np.testing.assert_array_equal(np.isnan(optimizer.target.b.grad), b)


def test_every_hook_says_what_a_nan_does() -> None:
    names = [type(hook).__name__ for hook, *_ in NAN_SPREADS]
    assert_complete(names, hooks.__all__, 'tests/optimizers/test_hooks.py: NAN_SPREADS')


def test_a_nan_in_a_parameter_is_seen_in_its_layer() -> None:
    optimizer = optimizer_of([np.nan, 1.0])
    set_gradients(optimizer, [1, 1])
    hooks.GradientLARS()(None, optimizer.target.w)
    assert np.isnan(optimizer.target.w.grad).all()


@pytest.mark.parametrize('threshold', [0, 1, np.inf])
@pytest.mark.parametrize('value', [0, 1e150, np.inf])
def test_clipping_at_the_ends_of_the_range(value, threshold) -> None:
    optimizer = optimizer_of([1.0, 1.0])
    set_gradients(optimizer, [value, 0])
    with np.errstate(invalid='ignore'):
        hooks.GradientClipping(threshold)(optimizer)
        factor = 1 if value <= threshold else threshold / value
        expected = np.array([value, 0]) * factor
    np.testing.assert_array_equal(optimizer.target.w.grad, expected)


@pytest.mark.parametrize(('dtype', 'large'), [(np.float16, 6e4), (np.float32, 1e30)])
def test_clipping_of_gradients_whose_squares_overflow(dtype, large) -> None:
    optimizer = optimizer_of([0.0, 0.0], dtype=dtype)
    optimizer.add_hook(hooks.GradientClipping(5))
    set_gradients(optimizer, [large, 0])
    optimizer.call_hooks()
    np.testing.assert_allclose(optimizer.target.w.grad, [5, 0], rtol=1e-3)


@pytest.mark.parametrize('dtype', [np.float16, np.float32, np.float64])
def test_factors_that_the_dtype_cannot_hold(dtype) -> None:
    """1e-9 below the norm of a parameter makes a factor beyond float16; 1e-4 over 6e4 one that it rounds to 0."""
    optimizer = optimizer_of([3.0, 4.0], dtype=dtype)
    set_gradients(optimizer, [0, 0])
    hooks.GradientLARS()(None, optimizer.target.w)
    np.testing.assert_array_equal(optimizer.target.w.grad, 0)
    set_gradients(optimizer, [6e4, 0])
    hooks.GradientClipping(1e-4)(optimizer)
    np.testing.assert_allclose(optimizer.target.w.grad, [1e-4, 0], rtol=1e-3)


def test_default_noise_fades_and_follows_the_seed() -> None:
    hook = hooks.GradientNoise(0.3)
    rule = optimizers.sgd.SGDRule()
    deviations = []
    for rule.t in (0, 1000):
        param = Parameter(np.zeros(20000, np.float32))
        param.grad = np.zeros(20000, np.float32)
        np.random.seed(0)
        hook(rule, param)
        deviations.append(param.grad.std())
        np.random.seed(0)
        expected = np.random.normal(0, np.sqrt(0.3 / (1 + rule.t) ** 0.55), 20000)
        np.testing.assert_allclose(param.grad, expected.astype(np.float32))
    np.testing.assert_allclose(deviations, [np.sqrt(0.3), np.sqrt(0.3 / 1001**0.55)], rtol=0.02)


@pytest.mark.parametrize(
    'hook',
    [hooks.WeightDecay(1), hooks.Lasso(1), hooks.GradientHardClipping(0, 1), hooks.GradientLARS()],
    ids=lambda h: type(h).__name__,
)
def test_parameters_without_array_or_gradient_are_passed_over(hook) -> None:
    late, bare = Parameter(0), Parameter(np.ones(2, np.float32))
    late.cleargrad()
    bare.cleargrad()
    for param in (late, bare):
        hook(None, param)
        assert param.grad is None


@pytest.mark.parametrize('owner', ['optimizer', 'rule'])
def test_order_and_timing(owner) -> None:
    optimizer = optimizer_of([1.0, 1.0])
    host = optimizer if owner == 'optimizer' else optimizer.target.w.update_rule
    seen = []

    class Late:
        name, timing = 'late', 'post'

        def __call__(self, *args: Any) -> None:
            note('late')

    def note(name: str) -> None:
        seen.append((name, float(optimizer.target.w.array[0])))

    host.add_hook(Late())
    host.add_hook(lambda *args: note('first'), 'first')
    host.add_hook(lambda *args: note('second'), 'second', timing='pre')
    host.add_hook(lambda *args: note('last'), 'last', timing='post')
    set_gradients(optimizer, [1, 1])
    optimizer.update()
    assert seen == [('first', 1), ('second', 1), ('late', 0), ('last', 0)]
    host.remove_hook('late')
    host.remove_hook('first')
    seen.clear()
    optimizer.update()
    assert [name for name, _ in seen] == ['second', 'last']


def test_hooks_for_each_parameter_get_rule_and_parameter() -> None:
    optimizer = optimizer_of([1.0, 1.0])
    seen = []

    def hook(rule: Any, param: Any) -> None:
        seen.append((rule, param))

    hook.call_for_each_param = True
    optimizer.add_hook(hook)
    set_gradients(optimizer, [1, 1])
    optimizer.update()
    model = optimizer.target
    assert seen == [(model.b.update_rule, model.b), (model.w.update_rule, model.w)]


def test_a_hook_of_one_rule_acts_on_its_parameter_alone() -> None:
    optimizer = optimizer_of([1.0, 1.0], [1.0, 1.0])
    optimizer.target.w.update_rule.add_hook(hooks.WeightDecay(0.5))
    set_gradients(optimizer, [1, 1], [1, 1])
    optimizer.update()
    np.testing.assert_array_equal(optimizer.target.w.array, -0.5)
    np.testing.assert_array_equal(optimizer.target.b.array, 0)


def test_gradients_cleared_by_a_hook_are_zeros_for_the_next() -> None:
    optimizer = optimizer_of([1.0, 1.0])
    optimizer.add_hook(lambda opt: opt.target.cleargrads(), 'clear')
    optimizer.add_hook(hooks.WeightDecay(0.5))
    set_gradients(optimizer, [1, 1])
    optimizer.update()
    np.testing.assert_array_equal(optimizer.target.w.array, 0.5)


def test_a_hook_may_remove_itself() -> None:
    optimizer = optimizer_of([1.0, 1.0])
    optimizer.add_hook(lambda opt: opt.remove_hook('once'), 'once')
    set_gradients(optimizer, [1, 1])
    optimizer.update()
    optimizer.update()
    np.testing.assert_array_equal(optimizer.target.w.array, -1)


class Nameless:
    def __call__(self, *args: Any) -> None: ...


@pytest.mark.parametrize('owner', ['optimizer', 'rule'])
@pytest.mark.parametrize(
    ('arguments', 'error', 'message'),
    [
        ((3,), TypeError, 'hook function must be callable, got int'),
        ((Nameless(),), ValueError, 'the name of the hook function is not specified: pass name='),
        (
            (Nameless(), 'x', 'during'),
            ValueError,
            r"timing must be one of \('pre', 'post', 'auto'\), got 'during'",
        ),
        ((hooks.Lasso(1),), KeyError, 'hook \\\\?"Lasso\\\\?" already exists'),
    ],
)
def test_bad_hooks(owner, arguments, error, message) -> None:
    optimizer = optimizer_of([1.0])
    host = optimizer if owner == 'optimizer' else optimizer.target.w.update_rule
    host.add_hook(hooks.Lasso(1))
    with pytest.raises(error, match=message):
        host.add_hook(*arguments)


@pytest.mark.parametrize('owner', ['optimizer', 'rule'])
def test_removing_an_unknown_hook(owner) -> None:
    optimizer = optimizer_of([1.0])
    host = optimizer if owner == 'optimizer' else optimizer.target.w.update_rule
    with pytest.raises(KeyError, match=r'no hook \\?"x\\?" to remove \(registered: none\)'):
        host.remove_hook('x')
    host.add_hook(hooks.Lasso(1))
    with pytest.raises(KeyError, match=r'registered: Lasso'):
        host.remove_hook('x')


def test_unknown_timings() -> None:
    class Odd(Nameless):
        name, timing = 'odd', 'sometimes'

    optimizer = optimizer_of([1.0])
    with pytest.warns(UserWarning, match="Hook timing attribute not in .*defaulting timing to 'pre'"):
        optimizer.add_hook(Odd())
    with pytest.raises(ValueError, match="timing must be either 'pre' or 'post', got 'auto'"):
        optimizer.call_hooks('auto')
