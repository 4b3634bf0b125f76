"""Compiled updates: the formulas bit for bit, and when the formula computes instead."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minichainer as chainer
from minichainer import optimizer_hooks, optimizers
from minichainer._native import library
from minichainer.kernels import updates
from minichainer.optimizer import grouped, hyperparameter, state
from minichainer.optimizers.adam import AdamRule
from minichainer.optimizers.sgd import SGDRule
from minichainer.variable import Parameter
from tests.completeness import assert_complete
from tests.optimizers.rows import ROWS
from tests.optimizers.test_algorithms import IDS, everything, make_model, set_gradients, train

if library.kernels is None:
    pytest.skip(f'compiled parts: {library.state}', allow_module_level=True)

from minichainer._native import _compiled  # type: ignore[attr-defined]

SPECIAL = [0.0, -0.0, 1e-30, -1e-30, 1e30, -1e30, np.inf, -np.inf, np.nan]
#: Optimizers without a compiled update, and why.
WITHOUT_KERNEL = {
    'LAMB': 'its formula takes whole parameters',
}
OF_FORMULAS = [row for row in ROWS if row[0] not in WITHOUT_KERNEL]
every_formula = pytest.mark.parametrize(
    ('name', 'values'),
    [(name, values) for name, values, _ in OF_FORMULAS],
    ids=[i for i, row in zip(IDS, ROWS, strict=True) if row in OF_FORMULAS],
)


def arrays_of(count: int, dtype: str, size: int, special: bool) -> list[np.ndarray]:
    """Gradient, parameter and states; means of squares are not negative."""
    random = np.random.RandomState(size)
    found = [random.randn(size) for _ in range(count)]
    if special:
        found = [np.where(random.rand(size) < 0.3, random.choice(SPECIAL, size), x) for x in found]
    with np.errstate(over='ignore'):
        found = [x.astype(dtype) for x in found]
    return [x if k < 3 else abs(x) for k, x in enumerate(found)]


@every_formula
@pytest.mark.parametrize('special', [False, True])
@pytest.mark.parametrize('dtype', ['f', 'd'])
@pytest.mark.parametrize('level', _compiled.levels())
def test_equal_bits(name: str, values: dict[str, Any], special: bool, dtype: str, level: str) -> None:
    rule: Any = getattr(optimizers, name)(**values).create_update_rule()
    states = len(rule._kept_states(rule.hyperparam))
    for rule.t in (1, 2, 9):
        coefficients = rule.coefficients(rule.hyperparam, np.dtype(dtype))
        update = updates.compiled_update(rule.formula, np.dtype(dtype), coefficients, states)
        assert update is not None, f'{name} has no kernel: say so in WITHOUT_KERNEL'
        kernel = next(n for n, k in vars(library.kernels).items() if k is update[0])
        for size in (0, 1, 7, 33, 1000):
            expected = arrays_of(2 + states, dtype, size, special)
            found = [x.copy() for x in expected]
            assert _compiled.kernels(level)[kernel](*found, *update[1])
            scratch = list(np.empty((rule.temporaries, size), dtype))
            with np.errstate(all='ignore'):
                rule.formula(np, rule.operands(coefficients, np.dtype(dtype)), scratch, *swapped(expected))
            for one, other in zip(found, expected, strict=True):
                np.testing.assert_array_equal(one, other)
                there = ~np.isnan(other)
                np.testing.assert_array_equal(np.signbit(one[there]), np.signbit(other[there]))


def swapped(arrays: list[Any]) -> list[Any]:
    """Formulas take the parameter first."""
    return [arrays[1], arrays[0], *arrays[2:]]


# --- what is computed by which ---


@pytest.fixture
def evaluated(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What computed: 'kernel' for each parameter that a kernel updated, 'formula' for each other attempt."""
    found: list[str] = []

    def watched(*args: Any) -> Any:
        update = updates_of(*args)
        if update is None:
            found.append('formula')
            return None

        def kernel(*arrays: Any) -> bool:
            done = update[0](*arrays)
            found.append('kernel' if done else 'formula')
            return done

        return kernel, update[1]

    updates_of = updates.compiled_update
    for module in (grouped, chainer.optimizer.formula):
        monkeypatch.setattr(module, 'compiled_update', watched)
    return found


class Doubled(SGDRule):
    @staticmethod
    def formula(xp: Any, coefficients: Any, temporaries: Any, param: Any, grad: Any) -> None:
        SGDRule.formula(xp, coefficients, temporaries, param, grad)
        SGDRule.formula(xp, coefficients, temporaries, param, grad)


class Mixed:
    formula = staticmethod(Doubled.formula)


class ByMixin(Mixed, SGDRule):  # type: ignore[misc]
    pass


class Wrapped(SGDRule):
    @staticmethod
    @functools.wraps(SGDRule.formula)
    def formula(*args: Any) -> None:
        SGDRule.formula(*args)
        SGDRule.formula(*args)


class Faster(SGDRule):
    def coefficients(self, hyperparam: Any, dtype: Any) -> tuple[float]:
        return (2 * hyperparam.lr,)


class WithState(AdamRule):
    extra = state()
    another = hyperparameter(1.0, 'another value')


@pytest.mark.parametrize(
    ('rule', 'how'),
    [(SGDRule, 'kernel'), (Doubled, 'formula'), (ByMixin, 'formula'), (Wrapped, 'formula'), (Faster, 'kernel')],
)
def test_a_formula_of_a_subclass_computes(rule: type[SGDRule], how: str, evaluated: list[str]) -> None:
    model = make_model('f', [(3,), (4,)])
    before = [param.array.copy() for param in model.params()]
    optimizer = optimizers.SGD(0.5).setup(model)
    for param in model.params():
        param.update_rule = rule(optimizer.hyperparam)
    set_gradients(model, 0)
    optimizer.update()
    assert set(evaluated) == {how}
    for param, array in zip(model.params(), before, strict=True):
        np.testing.assert_allclose(param.array, array - param.grad * (0.5 if rule is SGDRule else 1), rtol=1e-6)


def fortran(model: Any) -> None:
    for param in model.params():
        param.array, param.grad = np.asfortranarray(param.array), np.asfortranarray(param.grad)


def fortran_gradient(model: Any) -> None:
    for param in model.params():
        param.grad = np.asfortranarray(param.grad)


def with_gaps(model: Any) -> None:
    for param in model.params():
        memory = np.zeros((param.shape[0], 2 * param.shape[1]), param.dtype)
        memory[:, ::2] = param.array
        param.array = memory[:, ::2]


def other_byte_order(model: Any) -> None:
    for param in model.params():
        dtype = param.dtype.newbyteorder()
        param.array, param.grad = param.array.astype(dtype), param.grad.astype(dtype)


def of(name: str, value: Any) -> Callable[[Any], None]:
    def change(model: Any) -> None:
        for param in model.params():
            setattr(param.update_rule.hyperparam, name, value)

    return change


def single(model: Any) -> None:
    for param in model.params():
        param.update_rule.use_fp32_update()


CASES: dict[str, tuple[str, Callable[[Any], None], str]] = {
    'float32': ('f', lambda model: None, 'kernel'),
    'float64': ('d', lambda model: None, 'kernel'),
    'float16': ('e', lambda model: None, 'formula'),
    'float16 through float32': ('e', single, 'kernel'),
    'complex': ('F', lambda model: None, 'formula'),
    'byte order': ('f', other_byte_order, 'kernel'),  # Parameters convert such arrays
    'gradient in another order': ('f', fortran_gradient, 'formula'),
    'array with gaps': ('f', with_gaps, 'formula'),
    '0-d array': ('f', of('eps', np.array(0.25)), 'formula'),
    'int': ('f', of('alpha', 1), 'kernel'),
    'float32 scalar': ('f', of('alpha', np.float32(0.25)), 'kernel'),
    'float16 scalar': ('f', of('eps', np.float16(0.25)), 'formula'),
    'largest': ('f', of('amsgrad', True), 'kernel'),
    'decay': ('f', of('weight_decay_rate', 0.25), 'kernel'),
}


@pytest.mark.parametrize('one_by_one', [False, True])
@pytest.mark.parametrize('case', CASES)
def test_with_and_without_kernels(case: str, one_by_one: bool, evaluated: list[str]) -> None:
    dtype, change, how = CASES[case]
    found = []
    for used in (True, False):
        model = make_model(dtype, [(3, 4), (5, 2), (60, 200)])
        optimizer = optimizers.Adam(0.5).setup(model)
        train(optimizer, model, 0 if change is single else 1)
        evaluated.clear()
        set_gradients(model, 1)
        change(model)
        with chainer.using_config('use_native_kernels', used):
            if one_by_one:
                for param in model.params():
                    param.update()
            else:
                optimizer.update()
        assert how in evaluated if used else set(evaluated) == {'formula'}, evaluated
        assert how == 'formula' or not used or set(evaluated) == {'kernel'}
        found.append(everything(model))
    assert found[0].keys() == found[1].keys()
    assert all(found[0][key].tobytes() == value.tobytes() for key, value in found[1].items())


def test_a_state_that_the_kernel_does_not_know() -> None:
    rule = WithState()
    values = rule.coefficients(rule.hyperparam, np.dtype('f')) if rule.t else (0.5,) * 9
    assert updates.compiled_update(WithState.formula, np.dtype('f'), values, 4) is None
    assert updates.compiled_update(WithState.formula, np.dtype('f'), values, 1) is None
    assert updates.compiled_update(WithState.formula, np.dtype('f'), values[1:], 2) is None
    assert updates.compiled_update(WithState.formula, np.dtype('f'), values, 2) is not None


def test_a_coefficient_that_must_be_there() -> None:
    param = Parameter(np.ones(2, 'f'))
    param.grad = np.ones(2, 'f')
    rule = SGDRule()
    with pytest.raises(TypeError, match=r'number expected as lr, got None; leave it out for 0\.01'):
        rule.hyperparam.lr = None
    vars(rule.hyperparam)['lr'] = None
    with pytest.raises(TypeError):
        rule.update(param)


def test_parameters_that_share_memory_are_updated_in_order() -> None:
    memory = np.ones(6, 'f')
    model = make_model('f', [(4,), (4,)])
    model.p0.array, model.p1.array = memory[:4], memory[2:]
    optimizer = optimizers.SGD(1).setup(model)
    for param in model.params():
        param.grad = np.ones(4, 'f')
    optimizer.update()
    np.testing.assert_array_equal(memory, [0, 0, -1, -1, 0, 0])


def test_a_gradient_that_is_the_parameter() -> None:
    for size in (5, 1000):
        model = make_model('f', [(size,)])
        model.p0.grad = model.p0.array
        expected = model.p0.array * np.float32(0.75)
        optimizers.SGD(0.25).setup(model).update()
        np.testing.assert_allclose(model.p0.array, expected, rtol=1e-6)


# --- hooks ---


@pytest.mark.parametrize('dtype', ['e', 'f', 'd'])
@pytest.mark.parametrize('special', [False, True])
@pytest.mark.parametrize('hook', [optimizer_hooks.WeightDecay, optimizer_hooks.Lasso])
def test_hooks(hook: Any, special: bool, dtype: str) -> None:
    found = []
    for used in (True, False):
        array, grad = arrays_of(2, dtype, 1000, special)
        param = Parameter(array)
        param.grad = grad
        with chainer.using_config('use_native_kernels', used), np.errstate(all='ignore'):
            hook(0.3)(None, param)
        found.append(param.grad)
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize('added', [updates.add_scaled, updates.add_scaled_sign])
def test_products_that_are_added(added: Any) -> None:
    x, y = np.array([[2, -4]], 'f'), np.ones((1, 2), 'f')
    assert added(x, 0.5, y)
    np.testing.assert_array_equal(y, [[2, -1]] if added is updates.add_scaled else [[1.5, 0.5]])
    for wrong in ((x, np.ones(2), y), (x, 0.5, y.astype('d')), (x, 0.5, y[0]), (x[:, :1], 0.5, y), (1.0, 0.5, y)):
        assert not added(*wrong)
    np.testing.assert_array_equal(y, [[2, -1]] if added is updates.add_scaled else [[1.5, 0.5]])


def test_formulas_that_have_a_kernel() -> None:
    rules = {name: type(getattr(optimizers, name)().create_update_rule()) for name, *_ in ROWS}
    without = [name for name, rule in rules.items() if not hasattr(rule.formula, '_compiled')]
    assert_complete(
        WITHOUT_KERNEL, without, 'tests/kernels/test_updates.py: WITHOUT_KERNEL', 'the name and the reason'
    )

    def formula(*args: Any) -> None:
        raise NotImplementedError

    assert updates.compiled('sgd')(formula) is formula
    assert updates.compiled_update(formula, np.dtype('f'), (0.5,), 0) == (library.kernels.sgd, (1, 0.5))
