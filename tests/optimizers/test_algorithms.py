"""Every optimizer against its formula written plainly, and the ways of evaluating it against each other."""

from __future__ import annotations

import copy
import math
import multiprocessing.shared_memory
import pickle
from typing import Any

import numpy as np
import pytest

from minichainer import functions as F
from minichainer import optimizer_hooks, optimizers
from minichainer.configuration import using_config
from minichainer.link import Link
from minichainer.optimizer import formula as formulas
from minichainer.optimizer.grouped import SMALL
from minichainer.serializers import DictionarySerializer, NpzDeserializer, load_hdf5, load_npz, save_hdf5, save_npz
from minichainer.variable import Parameter
from tests.optimizers.models import link_of
from tests.optimizers.rows import ROWS, adam, radam

IDS = [f'{name}-{number}' for number, (name, *_) in enumerate(ROWS)]
every_optimizer = pytest.mark.parametrize(('name', 'values', 'formula'), ROWS, ids=IDS)
every_dtype = pytest.mark.parametrize('dtype', [np.float16, np.float32, np.float64])
# RAdam's first steps are of another kind.
STEPS = 7
BLOCK = formulas.BLOCK_BYTES // 4
# Zero-dimensional, empty, gathered, just not gathered, one block and a bit more.
SHAPES = [(), (0, 3), (1,), (7, 5), (SMALL,), (SMALL + 1,), (3, 11), (BLOCK + 3,), (4,)]


def make_model(dtype: Any, shapes: list[tuple[int, ...]], seed: int = 0) -> Link:
    rng = np.random.default_rng(seed)
    return link_of(**{f'p{i}': Parameter(rng.normal(size=s).astype(dtype)) for i, s in enumerate(shapes)})


def set_gradients(model: Link, step: int) -> None:
    rng = np.random.default_rng(100 + step)
    for param in model.params():
        param.grad = np.asarray(rng.normal(size=param.shape)).astype(param.dtype)


def train(optimizer: Any, model: Link, steps: int = 3, one_by_one: bool = False, first: int = 0) -> None:
    for step in range(first, first + steps):
        set_gradients(model, step)
        if one_by_one:
            for param in model.params():
                param.update()
            optimizer.t += 1
        else:
            optimizer.update()


def everything(model: Link) -> dict[str, np.ndarray]:
    found = {}
    for name, param in model.namedparams():
        found[name] = param.array
        for key, value in (param.update_rule.state or {}).items():
            found[f'{name}/{key}'] = value
    return found


def assert_identical(one: Link, other: Link) -> None:
    left, right = everything(one), everything(other)
    assert left.keys() == right.keys()
    for name in left:
        assert left[name].dtype == right[name].dtype
        assert left[name].tobytes() == right[name].tobytes(), name


def rounded(array: Any, dtype: Any) -> Any:
    """What is left of float64 values that are stored in an array of the dtype."""
    return np.asarray(array).astype(dtype).astype(np.float64)


def test_the_table_is_complete() -> None:
    classes = {name for name, value in vars(optimizers).items() if isinstance(value, type)}
    assert classes == {name for name, *_ in ROWS}


@every_optimizer
@pytest.mark.parametrize(
    ('dtype', 'rtol', 'atol'),
    [(np.float16, 2e-2, 2e-2), (np.float32, 1e-4, 1e-5), (np.float64, 1e-10, 1e-12)],
)
def test_formula(name, values, formula, dtype, rtol, atol) -> None:
    model = make_model(dtype, SHAPES)
    optimizer = getattr(optimizers, name)(**values).setup(model)
    expected = {path: p.array.astype(np.float64) for path, p in model.namedparams()}
    states: dict[str, Any] = {path: {} for path in expected}
    for step in range(STEPS):
        set_gradients(model, step)
        for path, p in model.namedparams():
            g = p.grad.astype(np.float64)
            expected[path] = rounded(formula(expected[path], g, states[path], step + 1, **values), dtype)
            states[path] = {key: rounded(value, dtype) for key, value in states[path].items()}
        optimizer.update()
    for path, p in model.namedparams():
        assert p.dtype == dtype
        np.testing.assert_allclose(p.array, expected[path], rtol, atol, err_msg=path)
        assert (p.update_rule.state or {}).keys() == states[path].keys()
        for key, value in states[path].items():
            assert p.update_rule.state[key].dtype == dtype
            np.testing.assert_allclose(p.update_rule.state[key], value, rtol, atol, err_msg=f'{path}/{key}')


EXTREMES = {
    'one above the root of the largest': (0.1, 2e19, 0.1, 0.1),
    'all above it': (2e19, 3e19, -1e19, 2e19),
    'below the root of the smallest': (1e-20, 2e-20, 1e-20, -1e-20),
    'among ordinary ones': (0.1, 1e-30, 0.2, 1e-25),
}


@every_optimizer
@pytest.mark.parametrize('gradients', EXTREMES.values(), ids=EXTREMES)
def test_gradients_whose_squares_overflow_or_vanish(name, values, formula, gradients) -> None:
    """In float32 the steps are those of float64 while float32 can hold the states; and no parameter becomes NaN."""
    model = make_model(np.float32, [(2,)])
    (_, param), *_ = model.namedparams()
    param.array[...] = 0
    optimizer = getattr(optimizers, name)(**values).setup(model)
    state: dict[str, Any] = {}
    expected, fits = np.zeros(2), True
    for step, gradient in enumerate(gradients):
        param.grad = np.array([gradient, -gradient], np.float32)
        expected = formula(expected, param.grad.astype(np.float64), state, step + 1, **values)
        with np.errstate(over='ignore'):
            optimizer.update()
        assert np.isfinite(param.array).all()
        fits = fits and all(np.max(np.abs(value)) < np.finfo(np.float32).max for value in state.values())
        if fits:
            np.testing.assert_allclose(param.array, expected, 1e-3, 1e-37, err_msg=f'step {step}')


@every_optimizer
@every_dtype
def test_grouped_update_is_the_update_of_each_parameter_bit_for_bit(name, values, formula, dtype) -> None:
    models = [make_model(dtype, SHAPES) for _ in range(2)]
    for model, one_by_one in zip(models, (False, True), strict=True):
        train(getattr(optimizers, name)(**values).setup(model), model, one_by_one=one_by_one)
    assert_identical(*models)


@every_optimizer
@every_dtype
def test_whole_arrays_as_on_a_gpu_give_the_same_bits(name, values, formula, dtype) -> None:
    # Without the 0-d one: NumPy 1 computes those in float64 when a Python number is among the operands.
    models = [make_model(dtype, SHAPES[1:]) for _ in range(2)]
    for model, as_on_gpu in zip(models, (False, True), strict=True):
        optimizer = getattr(optimizers, name)(**values).setup(model)
        if as_on_gpu:
            for param in model.params():
                param.update_rule.update_core = param.update_rule.update_core_gpu
        train(optimizer, model)
    assert_identical(*models)


@pytest.mark.gpu
@every_optimizer
def test_on_a_gpu(name, values, formula) -> None:
    models = [make_model(np.float32, SHAPES) for _ in range(2)]
    models[1].to_device('@cupy:0')
    for model in models:
        optimizer = getattr(optimizers, name)(**values).setup(model)
        for step in range(3):
            rng = np.random.default_rng(step)
            for param in model.params():
                grad = np.asarray(rng.normal(size=param.shape)).astype(np.float32)
                param.grad = param.device.send(grad)
            optimizer.update()
    models[1].to_device('@numpy')
    for one, other in zip(models[0].params(), models[1].params(), strict=True):
        np.testing.assert_allclose(one.array, other.array, rtol=1e-4, atol=1e-5)


@every_optimizer
def test_nothing_is_replaced(name, values, formula) -> None:
    model = make_model(np.float32, SHAPES)
    before = {path: p.array for path, p in model.namedparams()}
    optimizer = getattr(optimizers, name)(**values).setup(model)
    train(optimizer, model, 1)
    first = everything(model)
    set_gradients(model, 5)
    grads = {path: (p.grad, p.grad.copy()) for path, p in model.namedparams()}
    optimizer.update()
    assert all(array is first[path] for path, array in everything(model).items())
    assert all(p.array is before[path] for path, p in model.namedparams())
    for path, p in model.namedparams():
        grad, values_before = grads[path]
        assert p.grad is grad
        np.testing.assert_array_equal(grad, values_before)


@every_optimizer
def test_arrays_that_are_not_contiguous(name, values, formula) -> None:
    models = [make_model(np.float32, [(6, 50), (60, 100)]) for _ in range(2)]
    wide = [np.zeros((2 * p.shape[0], p.shape[1]), np.float32) for p in models[0].params()]
    for param, memory in zip(models[0].params(), wide, strict=True):
        memory[::2] = param.array
        param.array = memory[::2]
    for model in models:
        train(getattr(optimizers, name)(**values).setup(model), model)
    for param, memory in zip(models[0].params(), wide, strict=True):
        assert np.shares_memory(param.array, memory)
        assert not memory[1::2].any()
    assert_identical(*models)


@every_optimizer
def test_gradients_that_are_not_contiguous(name, values, formula) -> None:
    models = [make_model(np.float32, [(6, 50), (60, 100), (3, 2)]) for _ in range(2)]
    transposed = [getattr(optimizers, name)(**values).setup(model) for model in models]
    for step in range(2):
        for model, optimizer in zip(models, transposed, strict=True):
            set_gradients(model, step)
            if optimizer is transposed[0]:
                for param in model.params():
                    param.grad = np.asfortranarray(param.grad)
            optimizer.update()
    assert_identical(*models)


@every_optimizer
def test_training_goes_on_from_a_snapshot(name, values, formula) -> None:
    model, resumed = (make_model(np.float32, SHAPES) for _ in range(2))
    optimizer = getattr(optimizers, name)(**values).setup(model)
    train(optimizer, model, 2)
    saved = DictionarySerializer()
    saved.save(optimizer)
    resumed.copyparams(model)
    other = getattr(optimizers, name)(**values).setup(resumed)
    NpzDeserializer(saved.target).load(other)
    assert other.t == 2
    for opt, link in ((optimizer, model), (other, resumed)):
        train(opt, link, 2, first=2)
    assert_identical(model, resumed)


@every_optimizer
@pytest.mark.parametrize(('save', 'load'), [(save_npz, load_npz), (save_hdf5, load_hdf5)], ids=['npz', 'hdf5'])
def test_state_in_a_file(name, values, formula, save, load, tmp_path) -> None:
    model, resumed = (make_model(np.float32, [(), (3, 5), (4,)]) for _ in range(2))
    optimizer = getattr(optimizers, name)(**values).setup(model)
    train(optimizer, model, 2)
    save(tmp_path / 'file', optimizer)
    resumed.copyparams(model)
    other = getattr(optimizers, name)(**values).setup(resumed)
    load(tmp_path / 'file', other)
    assert_identical(model, resumed)
    for opt, link in ((optimizer, model), (other, resumed)):
        train(opt, link, 1, first=2)
    assert_identical(model, resumed)


@every_optimizer
@pytest.mark.parametrize('fp32_update', [False, True])
def test_loss_scaling_does_not_change_the_update(name, values, formula, fp32_update) -> None:
    """By powers of two nothing is rounded."""

    def trained(scale: float | None) -> Link:
        model = make_model(np.float16 if fp32_update else np.float32, [(4,), (2, 3)])
        optimizer = getattr(optimizers, name)(**values).setup(model)
        optimizer.use_fp32_update(fp32_update)
        if scale is not None:
            optimizer.set_loss_scale(scale)
        for _ in range(3):
            optimizer.update(lambda: F.sum(model.p0 * model.p0) + F.sum(model.p1 * model.p1))
        return model

    assert_identical(trained(4.0), trained(None))


@every_optimizer
def test_float32_update_of_float16_parameters(name, values, formula) -> None:
    model = make_model(np.float16, [(4,), (2, 3)])
    optimizer = getattr(optimizers, name)(**values).setup(model)
    optimizer.use_fp32_update()
    expected = {path: p.array.astype(np.float32) for path, p in model.namedparams()}
    states: dict[str, Any] = {path: {} for path in expected}
    for step in range(3):
        set_gradients(model, step)
        for path, p in model.namedparams():
            expected[path] = formula(expected[path], p.grad.astype(np.float32), states[path], step + 1, **values)
        optimizer.update()
    for path, p in model.namedparams():
        assert p.dtype == np.float16
        np.testing.assert_allclose(p.array, expected[path], rtol=1e-3, atol=1e-5, err_msg=path)
        assert all(value.dtype == np.float32 for value in (p.update_rule.state or {}).values())


@every_optimizer
@pytest.mark.parametrize('owner', ['optimizer', 'rule'])
def test_a_hook_changes_the_gradient_of_the_update(name, values, formula, owner) -> None:
    models = [make_model(np.float32, [(4,), (2, 3)]) for _ in range(2)]
    for model, hooked in zip(models, (True, False), strict=True):
        optimizer = getattr(optimizers, name)(**values).setup(model)
        hosts = [optimizer] if owner == 'optimizer' else [p.update_rule for p in model.params()]
        for host in hosts if hooked else ():
            host.add_hook(optimizer_hooks.WeightDecay(0.5))
        for step in range(2):
            set_gradients(model, step)
            for param in () if hooked else model.params():
                param.grad += 0.5 * param.array
            optimizer.update()
    assert_identical(*models)


@every_optimizer
@pytest.mark.parametrize('clone', [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies_are_independent(name, values, formula, clone) -> None:
    model = make_model(np.float32, [(3,), (4, 5), (SMALL + 5,)])
    optimizer = getattr(optimizers, name)(**values).setup(model)
    train(optimizer, model, 2)
    other = clone(optimizer)
    held = {path: array.copy() for path, array in everything(model).items()}
    train(other, other.target, 1, first=2)
    for path, array in everything(model).items():
        np.testing.assert_array_equal(array, held[path])
    train(optimizer, model, 1, first=2)
    assert_identical(model, other.target)


@every_optimizer
@pytest.mark.filterwarnings('ignore:invalid value:RuntimeWarning', 'ignore:overflow:RuntimeWarning')
def test_nan_stays_where_it_is(name, values, formula) -> None:
    model, healthy = (make_model(np.float32, [(4,), (5,)]) for _ in range(2))
    for link in (model, healthy):
        optimizer = getattr(optimizers, name)(**values).setup(link)
        set_gradients(link, 0)
        if link is model:
            link.p0.grad[1] = np.nan
        optimizer.update()
    assert np.isnan(model.p0.array[1])
    rest = [0, 2, 3] if model.p0.update_rule.elementwise else []
    np.testing.assert_array_equal(model.p0.array[rest], healthy.p0.array[rest])
    np.testing.assert_array_equal(model.p1.array, healthy.p1.array)


@every_optimizer
def test_zero_gradient_in_float16_is_no_nan(name, values, formula) -> None:
    model = make_model(np.float16, [(4,)])
    optimizer = getattr(optimizers, name)().setup(model)
    for _ in range(2):
        model.p0.grad = np.zeros(4, np.float16)
        optimizer.update()
    assert np.isfinite(model.p0.array).all()


# --- what users do between updates ---


@pytest.mark.parametrize('name', ['SGD', 'MomentumSGD', 'Adam'])
def test_array_replaced_or_overwritten(name) -> None:
    models = [make_model(np.float32, [(4,), (5, 3), (SMALL + 1,), (6,)]) for _ in range(2)]
    for model, one_by_one in zip(models, (False, True), strict=True):
        optimizer = getattr(optimizers, name)().setup(model)
        train(optimizer, model, 2, one_by_one)
        model.p0.array = np.full(4, 7, np.float32)
        model.p1.data[...] = 3
        model.p2.array = np.full(SMALL + 1, 2, np.float32)
        train(optimizer, model, 2, one_by_one, first=2)
    assert_identical(*models)
    assert models[0].p0.array.mean() > 5


@pytest.mark.parametrize('key', ['m', 'v'])
def test_state_replaced_or_overwritten(key) -> None:
    models = [make_model(np.float32, [(4,), (5, 3), (SMALL + 1,)]) for _ in range(2)]
    for model, one_by_one in zip(models, (False, True), strict=True):
        optimizer = optimizers.Adam().setup(model)
        train(optimizer, model, 2, one_by_one)
        mine = np.full(4, 0.5, np.float32)
        model.p0.update_rule.state[key] = mine
        model.p1.update_rule.state[key][...] = 0.25
        model.p2.update_rule.state[key] = np.full(SMALL + 1, 0.5, np.float32)
        train(optimizer, model, 2, one_by_one, first=2)
        assert model.p0.update_rule.state[key] is mine
        assert (mine != 0.5).all()
    assert_identical(*models)


def test_state_of_another_dtype() -> None:
    models = [make_model(np.float32, [(4,), (5, 3)]) for _ in range(2)]
    for model, one_by_one in zip(models, (False, True), strict=True):
        optimizer = optimizers.Adam().setup(model)
        train(optimizer, model, 1, one_by_one)
        for param in model.params():
            param.array = param.array.astype(np.float64)
        train(optimizer, model, 2, one_by_one, first=1)
        assert model.p0.dtype == np.float64
        assert model.p0.update_rule.state['m'].dtype == np.float32
    assert_identical(*models)


@pytest.mark.parametrize('size', [4, SMALL + 1])
def test_parameter_shared_by_two_links_is_updated_twice_if_asked_to(size) -> None:
    shared, other = Parameter(np.ones(size, np.float32)), Parameter(np.ones(3, np.float32))

    class Twice(Link):
        def params(self, include_uninit: bool = True):
            yield from (shared, other, shared)

    model = Twice()
    optimizer = optimizers.Adam(0.1).setup(model)
    for param in (shared, other):
        param.grad = np.ones_like(param.array)
    with using_config('tied_parameters', 'each'):
        optimizer.update()
    assert (shared.update_rule.t, other.update_rule.t) == (2, 1)
    np.testing.assert_allclose(shared.array, 0.8, rtol=1e-5)
    np.testing.assert_allclose(other.array, 0.9, rtol=1e-5)


@pytest.mark.parametrize('size', [4, SMALL + 1])
def test_parameters_that_share_memory(size) -> None:
    memory = np.ones(size, np.float32)
    model = link_of(a=Parameter(memory), b=Parameter(memory), c=Parameter(np.ones(2, np.float32)))
    optimizer = optimizers.SGD(0.25).setup(model)
    for param in model.params():
        param.grad = np.ones_like(param.array)
    optimizer.update()
    np.testing.assert_array_equal(memory, 0.5)
    np.testing.assert_array_equal(model.c.array, 0.75)


def test_two_optimizers_on_one_model() -> None:
    model = make_model(np.float32, [(4,), (5, 3)])
    first = optimizers.Adam().setup(model)
    train(first, model, 1)
    second = optimizers.SGD(1).setup(model)
    before = model.p0.array.copy()
    set_gradients(model, 9)
    first.update()  # the rules in place are those of the last setup
    np.testing.assert_array_equal(model.p0.array, before - model.p0.grad)
    assert (first.t, second.t, model.p0.update_rule.t) == (2, 0, 1)


def test_optimizers_taking_turns() -> None:
    models = [make_model(np.float32, [(4,), (5, 3)]) for _ in range(2)]
    for model, one_by_one in zip(models, (False, True), strict=True):
        one = optimizers.Adam().setup(model)
        two = optimizers.Adam().setup(model)
        for step in range(4):
            train(one if step % 2 else two, model, 1, one_by_one, first=step)
    assert_identical(*models)


def _trained_in(buffer: memoryview, size: int) -> tuple[bool, np.ndarray]:
    """Train parameters that live in the buffer; whether they still do, and what the buffer holds then."""
    arrays = np.ndarray((2, size), np.float32, buffer)
    arrays[...] = 1
    model = link_of(a=Parameter(arrays[0]), b=Parameter(arrays[1]))
    optimizer = optimizers.Adam(0.1).setup(model)
    for param in model.params():
        param.grad = np.ones(size, np.float32)
    optimizer.update()
    return all(np.shares_memory(p.array, arrays) for p in model.params()), arrays.copy()


@pytest.mark.parametrize('size', [10, SMALL + 10])
def test_arrays_in_shared_memory(size) -> None:
    memory = multiprocessing.shared_memory.SharedMemory(create=True, size=8 * size)
    try:
        shared, values = _trained_in(memory.buf, size)
    finally:
        memory.close()
        memory.unlink()
    assert shared
    np.testing.assert_allclose(values, 0.9, rtol=1e-5)


def test_hyperparameters_changed_on_the_way() -> None:
    models = [make_model(np.float64, SHAPES) for _ in range(2)]
    for model, one_by_one in zip(models, (False, True), strict=True):
        optimizer = optimizers.Adam().setup(model)
        train(optimizer, model, 2, one_by_one)
        optimizer.beta1 = 0.5
        model.p1.update_rule.hyperparam.alpha = 0.5
        model.p3.update_rule.hyperparam.alpha = 0.5
        train(optimizer, model, 1, one_by_one, first=2)
        optimizer.amsgrad = True
        train(optimizer, model, 2, one_by_one, first=3)
        assert set(model.p3.update_rule.state) == {'m', 'v', 'vhat'}
    assert_identical(*models)
    assert models[0].p0.update_rule.hyperparam.beta1 == 0.5
    assert models[0].p0.update_rule.hyperparam.alpha == 0.001


def test_beta1_changed_on_the_way_gives_the_formula_of_its_time() -> None:
    model = make_model(np.float64, [(3,), (4,)])
    optimizer = optimizers.Adam(0.1).setup(model)
    p, state = model.p0.array.copy(), {}
    for t, beta1 in enumerate((0.9, 0.9, 0.5, 0.5), 1):
        optimizer.beta1 = beta1
        set_gradients(model, t)
        p = adam(p, model.p0.grad, state, t, 0.1, beta1)
        optimizer.update()
    np.testing.assert_allclose(model.p0.array, p, rtol=1e-12)


def test_bounds_of_adabound_follow_alpha_from_where_it_began() -> None:
    model = make_model(np.float64, [(3,), (4,)])
    optimizer = optimizers.AdaBound(alpha=0.1, final_lr=0.5).setup(model)
    train(optimizer, model, 1)
    lower, upper = model.p0.update_rule.bounds
    optimizer.alpha = 0.05
    assert model.p0.update_rule.bounds == pytest.approx((lower / 2, upper / 2))


def test_bounds_of_adabound_begin_anew_with_a_new_rule() -> None:
    models = [make_model(np.float64, [(3,), (4,), (5,)]) for _ in range(2)]
    for model, one_by_one in zip(models, (False, True), strict=True):
        optimizer = optimizers.AdaBound(alpha=0.1, gamma=10).setup(model)
        optimizer.alpha = 0.5
        model.p1.update_rule = optimizer.create_update_rule()
        train(optimizer, model, one_by_one=one_by_one)
    assert_identical(*models)


def test_many_more_elements_than_a_block_holds() -> None:
    models = [make_model(np.float32, [(SMALL,)] * 20) for _ in range(2)]
    for model, one_by_one in zip(models, (False, True), strict=True):
        train(optimizers.MomentumSGD().setup(model), model, one_by_one=one_by_one)
    assert_identical(*models)


def test_members_of_the_group_change() -> None:
    models = [make_model(np.float32, [(3,)] * 6) for _ in range(2)]
    for model, one_by_one in zip(models, (False, True), strict=True):
        optimizer = optimizers.Adam().setup(model)
        for step in range(6):
            for index, param in enumerate(model.params()):
                param.update_rule.enabled = index != step
            train(optimizer, model, 1, one_by_one, first=step)
        assert [p.update_rule.t for p in model.params()] == [5] * 6
    assert_identical(*models)


@pytest.mark.parametrize('values', [values for name, values, _ in ROWS if name == 'RAdam'])
def test_radam_is_torchs(values) -> None:
    torch = pytest.importorskip('torch')
    values = {name: value for name, value in values.items() if name not in ('eta', 'weight_decay_rate')}
    start = np.random.default_rng(0).normal(size=5)
    param = torch.nn.Parameter(torch.tensor(start))
    betas = values.pop('beta1', 0.9), values.pop('beta2', 0.999)
    theirs = torch.optim.RAdam([param], lr=values.pop('alpha'), betas=betas, **values)
    model = link_of(p=Parameter(start.copy()))
    values = {'beta1': betas[0], 'beta2': betas[1], 'alpha': 0.1, **values}
    ours = optimizers.RAdam(**values).setup(model)
    state, p = {}, start
    for step in range(30):
        grad = np.cos(start + step)
        p = radam(p, grad, state, step + 1, **values)
        param.grad, model.p.grad = torch.tensor(grad), grad
        theirs.step()
        ours.update()
    np.testing.assert_allclose(model.p.array, param.detach().numpy(), rtol=1e-10)
    np.testing.assert_allclose(model.p.array, p, rtol=1e-10)


@pytest.mark.parametrize('size', [6, SMALL + 1])
def test_lamb_scales_each_parameter_by_its_own_norm(size) -> None:
    model = link_of(a=Parameter(np.full(size, 2.0)), b=Parameter(np.full(size, 6.0)), c=Parameter(np.zeros(size)))
    optimizer = optimizers.LAMB(alpha=0.5, weight_decay_rate=0, eps=0).setup(model)
    for param in model.params():
        param.grad = np.ones(size)
    optimizer.update()
    for param, expected in zip(model.params(), (1, 3, -0.5), strict=True):
        np.testing.assert_allclose(param.array, expected)


def test_lamb_of_values_whose_squares_overflow() -> None:
    model = link_of(a=Parameter(np.full(4, 1e30, np.float32)))
    optimizer = optimizers.LAMB(alpha=0.5, weight_decay_rate=0).setup(model)
    model.a.grad = np.ones(4, np.float32)
    optimizer.update()
    np.testing.assert_allclose(model.a.array, 0.5e30, rtol=1e-5)


# --- errors ---


@pytest.mark.parametrize('name', ['Adam', 'RMSprop'])
def test_eps_that_vanishes_in_the_dtype(name) -> None:
    model = make_model(np.float32, [(3,)])
    optimizer = getattr(optimizers, name)(eps=1e-50).setup(model)
    set_gradients(model, 0)
    with pytest.raises(ValueError, match=rf'eps of {name} optimizer is too small for float32 \(1e-50\)'):
        optimizer.update()


def test_eps_of_zero_is_allowed() -> None:
    model = make_model(np.float32, [(3,)])
    train(optimizers.Adam(eps=0).setup(model), model, 1)
    assert np.isfinite(model.p0.array).all()


def test_state_of_another_shape() -> None:
    model = link_of(w=Parameter(np.ones(3, np.float32), name='w'))
    optimizer = optimizers.Adam().setup(model)
    train(optimizer, model, 1)
    model.w.array = np.ones(4, np.float32)
    model.w.grad = np.ones(4, np.float32)
    message = r"AdamRule: parameter 'w' has shape \(4,\), state 'm' has shape \(3,\).*setup\(model\) again"
    with pytest.raises(ValueError, match=message):
        optimizer.update()


def test_read_only_array() -> None:
    array = np.ones(3, np.float32)
    array.flags.writeable = False
    model = link_of(w=Parameter(array, name='w'))
    optimizer = optimizers.SGD().setup(model)
    set_gradients(model, 0)
    with pytest.raises(ValueError, match=r"SGDRule: parameter 'w' has a read-only array.*array\.copy\(\)"):
        optimizer.update()
    np.testing.assert_array_equal(array, 1)


def test_integer_parameter() -> None:
    model = link_of(w=Parameter(np.ones(3, np.int32)))
    optimizer = optimizers.SGD().setup(model)
    model.w.grad = np.ones(3, np.int32)
    with pytest.raises(TypeError, match='SGDRule: only floating point parameters can be updated, got int32'):
        optimizer.update()


def test_hyperparameter_that_is_an_array() -> None:
    model = make_model(np.float32, [(3,)])
    optimizer = optimizers.SGD(np.ones(3)).setup(model)
    set_gradients(model, 0)
    with pytest.raises(TypeError, match=r'SGDRule: hyperparameters must be numbers, got an array of shape \(3,\)'):
        optimizer.update()


@pytest.mark.parametrize('lr', [np.array(0.5), np.float64(0.5), np.float32(0.5)])
def test_hyperparameter_that_is_a_numpy_scalar(lr) -> None:
    model = make_model(np.float32, [(3,)])
    optimizer = optimizers.SGD(lr).setup(model)
    set_gradients(model, 0)
    expected = model.p0.array - np.float32(0.5) * model.p0.grad
    optimizer.update()
    np.testing.assert_array_equal(model.p0.array, expected)


def test_learning_rate_of_adam() -> None:
    model = make_model(np.float32, [(3,)])
    optimizer = optimizers.Adam(0.1).setup(model)
    with pytest.raises(RuntimeError, match=r"Can't determine the learning rate of Adam.*not been started"):
        _ = optimizer.alpha_t
    train(optimizer, model, 2)
    expected = 0.1 * math.sqrt(1 - 0.999**2) / (1 - 0.9**2)
    assert optimizer.alpha_t == pytest.approx(expected)
    assert model.p0.update_rule.alpha_t == pytest.approx(expected)
    for owner in (optimizer, model.p0.update_rule):
        with pytest.warns(DeprecationWarning, match=r'lr has been renamed to AdamRule\.alpha_t'):
            assert owner.lr == pytest.approx(expected)
