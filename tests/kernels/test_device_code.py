"""The C++ of kernels on NumPy arrays, where the table of kernels has no row: samples, updates, formulas."""

from __future__ import annotations

import contextlib
import itertools
from typing import Any, NamedTuple

import numpy as np
import pytest

from minichainer import optimizers
from minichainer.kernels import conditions, cross_entropy, dropout, normalization, rectifier, rnn_steps
from minichainer.kernels import sequences as of_sequences
from minichainer.kernels.cuda import gradients, layerwise, pooling, sequences, tracing, updates
from minichainer.optimizer import FormulaRule
from minichainer.optimizer.formula import computing_dtype
from minichainer.variable import Parameter
from tests.kernels import cpp, kernels
from tests.kernels.rules import SETTINGS

pytestmark = pytest.mark.skipif(cpp.host().compiler() is None, reason='no C++ compiler')
RNG = np.random.RandomState


# --- samples of cross entropy ---
@pytest.mark.parametrize('shape', [(7,), (2, 3), (0,)])
@pytest.mark.parametrize('ignored', [None, -1, 3])
@pytest.mark.parametrize('weighted', [False, True])
@pytest.mark.parametrize(('dtype', 'labels'), [('e', 'i'), ('f', 'q'), ('d', 'b')])
def test_valid_samples(
    shape: Any, ignored: Any, weighted: bool, dtype: str, labels: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    t = RNG(0).randint(0, 5, shape).astype(labels)
    if ignored == -1 and t.size:
        t.flat[0] = -1
    weights = RNG(1).rand(5).astype(dtype) if weighted else None
    args = t, weights, ignored, np.promote_types(dtype, 'f')
    expected = (
        cross_entropy.valid_samples.generic(np, *args),
        cross_entropy.scale_of_valid.generic(np, t, ignored, 'f'),
    )
    with kernels.on_device_code(monkeypatch):
        got = cross_entropy.valid_samples(np, *args), cross_entropy.scale_of_valid(np, t, ignored or 0, np.dtype('f'))
    for y, e in zip(got[0], expected[0], strict=True):
        np.testing.assert_array_equal(y, e)
        assert y is None or y.dtype == e.dtype
    if ignored is not None:
        np.testing.assert_allclose(got[1], expected[1], 1e-6)


def test_labels_out_of_range_make_nan(monkeypatch: pytest.MonkeyPatch) -> None:
    x, gy = RNG(0).randn(4, 3).astype('f'), np.ones(4, 'f')
    samples = cross_entropy.Samples(np.array([0, 3, -1, 2]), None, None)
    with kernels.on_device_code(monkeypatch):
        losses, residual = cross_entropy.cross_entropy(np, x, samples)
        gx = cross_entropy.cross_entropy_gradient(np, gy, x, samples, residual)
    np.testing.assert_array_equal(np.isnan(losses), [False, True, True, False])
    np.testing.assert_array_equal(np.isnan(gx).all(1), [False, True, True, False])
    assert np.isfinite(gx[[0, 3]]).all()


# --- updates ---
SHAPES = [(3, 4), (), (0,), (5,)]
TOLERANCE = {'e': 2e-3, 'f': 2e-6, 'd': 1e-14}


def _update(rule: Any, dtype: str, **how: Any) -> updates.Update:
    values = rule.coefficients(rule.hyperparam, computing_dtype('', np.dtype(dtype)))
    given, states = tuple(v is not None for v in values), len(rule._kept_states(rule.hyperparam))
    return updates.Update(type(rule).formula, 'update', given, rule.temporaries, states, np.dtype(dtype).name, **how)


def _coefficients(rule: Any, dtype: str) -> list[float]:
    return [
        float(v) for v in rule.coefficients(rule.hyperparam, computing_dtype('', np.dtype(dtype))) if v is not None
    ]


@pytest.mark.parametrize(('name', 'settings'), SETTINGS)
@pytest.mark.parametrize('dtype', 'efd')
def test_updates(name: str, settings: Any, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of several parameters by one kernel are those of each on the host, over several updates."""
    monkeypatch.setattr('minichainer.backends.cuda.elementwise', cpp.elementwise)
    if dtype == 'e' and 'eps' in getattr(optimizers, name)._declared_values:
        settings = {**settings, 'eps': 1e-3}
    optimizer = getattr(optimizers, name)(**settings)
    params = [Parameter(np.asarray(RNG(k).randn(*shape)).astype(dtype)) for k, shape in enumerate(SHAPES)]
    rules = [optimizer.create_update_rule() for _ in params]
    held: list[list[Any]] = []
    for param, rule in zip(params, rules, strict=True):
        rule._init_states(param)
        held.append([param.array.copy(), *[rule.state[key].copy() for key in rule._kept_states(rule.hyperparam)]])
    for step in range(1, 8):
        gradients = [np.asarray(RNG(step).randn(*shape)).astype(dtype) for shape in SHAPES]
        for param, rule, gradient in zip(params, rules, gradients, strict=True):
            param.grad = gradient
            rule.update(param)
        together = [[gradient, *arrays] for gradient, arrays in zip(gradients, held, strict=True)]
        updates.update(_update(rules[0], dtype), _coefficients(rules[0], dtype), together)
    for param, rule, arrays in zip(params, rules, held, strict=True):
        expected = [param.array, *[rule.state[key] for key in rule._kept_states(rule.hyperparam)]]
        for y, e in zip(arrays, expected, strict=True):
            np.testing.assert_allclose(y, e, TOLERANCE[dtype], TOLERANCE[dtype])


def test_an_update_with_loss_scale_divides_the_gradient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr('minichainer.backends.cuda.elementwise', cpp.elementwise)
    rule = optimizers.SGD(lr=0.5).create_update_rule()
    grad, array = np.array([8, -16], 'f'), np.zeros(2, 'f')
    updates.update(_update(rule, 'f', scaled=True), [0.5, 8.0], [[grad, array]])
    np.testing.assert_array_equal(grad, [1, -2])
    np.testing.assert_array_equal(array, [-0.5, 1])


def test_an_update_through_a_float32_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the float16 parameter was written to, it takes precedence; elsewhere the copy keeps its digits."""
    monkeypatch.setattr('minichainer.backends.cuda.elementwise', cpp.elementwise)
    rule = optimizers.SGD(lr=1).create_update_rule()
    copy, half = np.array([1 + 2**-20, 5, np.nan], 'f'), np.array([1, 7, 3], 'e')
    updates.update(_update(rule, 'f', half_copy=True), [1.0], [[np.array([2, 2, 2], 'e'), copy, half]])
    np.testing.assert_array_equal(copy, np.array([-1 + 2**-20, 5, 1], 'f'))
    np.testing.assert_array_equal(half, np.array([-1, 5, 1], 'e'))


@pytest.mark.parametrize('count', [1, 2, 60])
def test_arguments_of_a_launch_fit(count: int) -> None:
    rule = optimizers.AMSGrad().create_update_rule()
    rule.t = 1
    how = _update(rule, 'f')
    assert 20 < updates.limit(how) < updates.limit(how._replace(states=0))
    source = updates.source_of(how, count)
    assert source is not None and source.outputs.count('raw') == 4 * count


def test_parts_of_the_source_of_an_update() -> None:
    how = _update(optimizers.MomentumSGD().create_update_rule(), 'e', scaled=True)
    assert updates.computing(how) == 'float32'
    assert updates.pointers(how) == ['typedef float C;', 'float16 *at_p, *at_s0_;', 'float16 *at_g;']
    assert updates.pointing(how, 3) == 'at_g = &g3[j]; at_p = &p3[j]; at_s0_ = &s0_3[j];'
    inputs, outputs = updates.parameters(how, 2)
    assert inputs == 'float32 c0, float32 c1, float32 loss_scale'
    arrays = [np.zeros((), 'e')] * 3
    given = updates.arguments(how, [1.0, 2.0, 3.0], [arrays, arrays])
    assert len(given) == 3 + len(arrays) * 2 == len(inputs.split(', ')) + len(outputs.split(', '))
    steps = updates.steps_of(how)
    assert steps is not None and updates.element(how, steps)[-1] == '*at_g = (float16)grad;'


# --- updates with norms ---
def _layerwise(rule: Any, dtype: str, **how: Any) -> updates.Update:
    return _update(rule, dtype, **how)._replace(formula=type(rule).direction)


def test_arguments_of_a_layerwise_launch_fit() -> None:
    rule = optimizers.LAMB().create_update_rule()
    rule.t = 1
    how = _layerwise(rule, 'e')
    most = layerwise.limit(how)
    assert 20 < most < updates.limit(how)
    first, last = layerwise.directions_source(how, most), layerwise.steps_source(how, most)
    numbers = sum(how.given)
    bytes_of_first = 32 * (first.inputs + first.outputs).count('raw') + 8 * numbers + 64
    assert bytes_of_first <= 4096 and last.outputs.count('raw') == most


@pytest.mark.parametrize('dtype', 'efd')
@pytest.mark.parametrize('how', [{}, {'scaled': True}, {'half_copy': True}, {'scaled': True, 'half_copy': True}])
def test_layerwise_updates(dtype: str, how: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of several parameters by three launches are those of each on the host; one is 0, one has no elements."""
    if how.get('half_copy') and dtype != 'f':
        pytest.skip('copies are of float32')
    launches = _counted(monkeypatch)
    params = [Parameter(np.asarray(RNG(k).randn(*shape)).astype(dtype)) for k, shape in enumerate([*SHAPES, (2,)])]
    params[-1].array[...] = 0
    rules = [optimizers.LAMB(alpha=0.1, eps=1e-3).create_update_rule() for _ in params]
    scale, held = 8.0 if how.get('scaled') else 1.0, []
    for param, rule in zip(params, rules, strict=True):
        rule._init_states(param)
        half = [param.array.astype('e')] if how.get('half_copy') else []
        if half:
            param.array[...] = half[0]
        held.append([param.array.copy(), *[rule.state[key].copy() for key in 'mv'], *half])
    for step in range(1, 4):
        given = [
            np.asarray(RNG(step).randn(*param.shape)).astype('e' if 'half_copy' in how else dtype) for param in params
        ]
        for param, rule, gradient in zip(params, rules, given, strict=True):
            param.grad = np.asarray(gradient / scale).astype(dtype)
            rule.update(param)
        numbers = [*_coefficients(rules[0], dtype), *([scale] if how.get('scaled') else [])]
        together = [[gradient, *arrays] for gradient, arrays in zip(given, held, strict=True)]
        launches.clear()
        layerwise.update(np, _layerwise(rules[0], dtype, **how), numbers, together)
        assert len(launches) == 3
    for param, rule, arrays in zip(params, rules, held, strict=True):
        for y, e in zip(arrays, [param.array, *[rule.state[key] for key in 'mv']], strict=False):
            np.testing.assert_allclose(y, e, TOLERANCE[dtype], TOLERANCE[dtype])
        if how.get('half_copy'):
            np.testing.assert_array_equal(arrays[-1], arrays[0].astype('e'))


def test_a_layerwise_update_of_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    launches, rule = _counted(monkeypatch), optimizers.LAMB().create_update_rule()
    rule.t = 1
    layerwise.update(np, _layerwise(rule, 'f'), _coefficients(rule, 'f'), [[np.zeros(0, 'f')] * 4])
    assert not launches


def _counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the kernels that are launched from now on, which the host computes."""
    launches: list[str] = []

    def counted(make: Any, at: int) -> Any:
        def making(*source: Any, **options: Any) -> Any:
            launches.append(source[at])
            return make(*source, **options)

        return making

    monkeypatch.setattr('minichainer.backends.cuda.elementwise', counted(cpp.elementwise, 3))
    monkeypatch.setattr('minichainer.backends.cuda.reduce', counted(cpp.reduce, 6))
    return launches


# --- formulas ---
def _traced(formula: Any) -> list[str] | None:
    return tracing.statements(formula, ['c0', None], ['t0'], ['param', 'grad'])


def test_statements_of_a_formula() -> None:
    def formula(xp: Any, coefficients: Any, temporaries: Any, param: Any, grad: Any) -> None:
        rate, nothing = coefficients
        (step,) = temporaries
        xp.multiply(grad, rate, step)
        if nothing is None:
            step += 1 - grad
        xp.maximum(param, step, out=param)

    assert _traced(formula) == [
        't0 = grad * c0;',
        'C _v1 = (C)1.0 - grad;',
        't0 = t0 + _v1;',
        'param = (param >= t0 || param != param) ? param : t0;',
    ]


@pytest.mark.parametrize(
    'formula',
    [
        lambda xp, c, t, p, g: xp.linalg,
        lambda xp, c, t, p, g: p.sum(),
        lambda xp, c, t, p, g: 1 if p else 2,
        lambda xp, c, t, p, g: np.sqrt(p),
        lambda xp, c, t, p, g: xp.add(p, np.ones(3)),
        lambda xp, c, t, p, g: xp.add(p, float('inf')),
        lambda xp, c, t, p, g: xp.sqrt(p, where=p),
        lambda xp, c, t, p, g: float(p),
    ],
)
def test_formulas_that_have_no_form_in_cpp(formula: Any) -> None:
    assert _traced(formula) is None


VALUES = np.array([-np.inf, -2, -0.0, 0.0, 0.5, 3, np.inf, np.nan], 'd')


@pytest.mark.parametrize('name', tracing.FORMS)
def test_functions_are_those_of_numpy(name: str) -> None:
    form = tracing.FORMS[name]
    wanted = 1 + max(k for k in range(3) if f'{{{k}}}' in form)
    args = list(map(np.array, zip(*itertools.product(VALUES, repeat=min(wanted, 2)), strict=True)))
    args += [np.full(len(args[0]), 2.0)] * (wanted - len(args))
    if name == 'clip':  # the bounds of NumPy's clip are numbers in their order
        args[1:] = [np.full(len(args[0]), -1.0), np.full(len(args[0]), 2.0)]
    letters = 'xyz'[:wanted]
    body = f'typedef double C; r = {form.format(*letters)};'
    run = cpp.elementwise(', '.join(f'float64 {letter}' for letter in letters), 'float64 r', body, 'form')
    with np.errstate(all='ignore'):
        np.testing.assert_allclose(run(*args), getattr(np, name)(*args), 1e-15)


class Signed(FormulaRule):
    """A user's rule."""

    @staticmethod
    def formula(xp: Any, coefficients: Any, temporaries: Any, param: Any, grad: Any) -> None:
        param -= xp.sign(grad)


def test_a_rule_of_a_user_has_a_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr('minichainer.backends.cuda.elementwise', cpp.elementwise)
    array = np.zeros(3, 'f')
    updates.update(_update(Signed(), 'f'), [], [[np.array([3, -4, 0], 'f'), array]])
    np.testing.assert_array_equal(array, [-1, 1, 0])


# --- recurrent cells ---
STEPS = {
    'lstm_step': rnn_steps.lstm_step,
    'lstm_step_backward': rnn_steps.lstm_step_backward,
    'gru_step': rnn_steps.gru_step,
    'gru_step_backward': rnn_steps.gru_step_backward,
}


def test_sigmoids() -> None:
    z = np.array([-3.0, 0, 800])
    with np.errstate(over='ignore'):
        rnn_steps.sigmoids_of_negated(np, z)
    np.testing.assert_allclose(z, [1 / (1 + np.exp(-3)), 0.5, 0])


@pytest.mark.parametrize('name', STEPS)
@pytest.mark.parametrize('dtype', 'fd')
@pytest.mark.parametrize('rows', [1, 4])
def test_steps_of_recurrent_cells(name: str, dtype: str, rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything that a step fills, but not its scratch arrays; a part of a wider array is filled in its place."""
    units, gates = 3, 4 if 'lstm' in name else 3
    row, by_row, by_gate, bias = (rows, units), (rows, gates * units), (gates, rows, units), (gates, 1, units)
    shapes: dict[str, list[tuple[int, ...]]] = {
        'lstm_step': [by_row, by_row, bias, row, row, row, row, row, row, row, by_gate],
        'lstm_step_backward': [row, row, row, by_gate, row, by_gate, row, row, by_row],
        'gru_step': [by_row, by_row, bias, bias, by_gate, row, row, row, row, by_gate],
        'gru_step_backward': [row, row, row, by_gate, by_gate, row, row, by_row, by_row],
    }
    filled = {'lstm_step': range(4, 11), 'lstm_step_backward': [7, 8], 'gru_step': range(5, 10)}
    args = [np.asarray(RNG(k).rand(*shape), dtype) for k, shape in enumerate(shapes[name])]
    if 'backward' not in name:
        args[-2] = np.zeros((rows, 2 * units), dtype)[:, units:]
    expected = [a.copy() for a in args]
    step = STEPS[name]
    step.generic(np, *expected)
    with kernels.on_device_code(monkeypatch):
        step(np, *args)
    for k in filled.get(name, [6, 7, 8]):
        np.testing.assert_allclose(args[k], expected[k], 16 * np.finfo(dtype).eps, 4 * np.finfo(dtype).eps)


# --- channels ---
def _numbers(count: int, dtype: str = 'd') -> list[Any]:
    return [RNG(k).rand(5).astype(dtype) + 0.5 for k in range(count)]


@pytest.mark.parametrize('dtype', 'efd')
def test_numbers_of_channels(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[Any, tuple[Any, ...]]] = [
        (normalization.affine_of_channels, (*_numbers(2, dtype), *_numbers(2), 1e-5)),
        (normalization.gradient_coefficients, (*_numbers(4), *_numbers(1, dtype), 12)),
    ]
    for function, args in calls:
        expected = function.generic(np, *args)
        with kernels.on_device_code(monkeypatch):
            got = function(np, *args)
        for y, e in zip(got, expected, strict=True):
            np.testing.assert_allclose(y, e, 1e-12)
    for value in [_numbers(1)]:
        running = _numbers(1, dtype)[0]
        expected = running.copy()
        normalization.move.generic(np, expected, 0.9, value[0])
        with kernels.on_device_code(monkeypatch):
            normalization.move(np, running, 0.9, value[0])
        np.testing.assert_allclose(running, expected, 4 * np.finfo(dtype).eps)


def test_windows_over_more_than_three_axes_have_no_kernel() -> None:
    assert pooling.numbers(((1,) * 4,) * 6) is None
    assert pooling.numbers(((5, 6), (2, 3), (1, 2), (0, 1), (1, 1), (4, 3))) == [
        1, 5, 6, 1, 2, 3, 1, 1, 2, 0, 0, 1, 1, 1, 1, 1, 4, 3,
    ]  # fmt: skip


# --- conditions ---
def test_conditions_are_not_read_from_a_device() -> None:
    assert conditions.somewhere(np, np.array([False, True])) and not conditions.somewhere(np, np.zeros(2, '?'))
    assert conditions.somewhere.bodies['cupy'](None, None)


# --- grouping ---
def test_gradients_by_device() -> None:
    class Here(NamedTuple):
        id: int

    class Gradient(NamedTuple):
        device: Here

    first, second, third = Gradient(Here(1)), Gradient(Here(0)), Gradient(Here(1))
    found = gradients.by_device([(first, 'a'), (second, 'b'), (third, 'c')])
    assert found == [(Here(1), [(first, 'a'), (third, 'c')]), (Here(0), [(second, 'b')])]
    assert gradients.by_device([]) == []


# --- clipping ---
@pytest.mark.parametrize('threshold', [1e-3, 2.5, 1e6])
@pytest.mark.parametrize('count', [1, 3, 61])
def test_clip(threshold: float, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr('minichainer.backends.cuda.elementwise', cpp.elementwise)
    monkeypatch.setattr('minichainer.backends.cuda.reduce', cpp.reduce)
    arrays = [
        np.asarray(RNG(k).randn(*SHAPES[k % 4])).astype('efd'[k % 3 if count == 3 else 1]) for k in range(count)
    ]
    arrays[0] = arrays[0].T  # not contiguous
    scales = [4.0 if k == 1 else 1.0 for k in range(count)]
    norm = np.sqrt(sum((a.astype('d') ** 2).sum() / s**2 for a, s in zip(arrays, scales, strict=True)))
    expected = [(a.astype('d') * min(1, threshold / norm)).astype(a.dtype) for a in arrays]
    gradients.clip(np, list(zip(arrays, scales, strict=True)), threshold)
    for y, e in zip(arrays, expected, strict=True):
        np.testing.assert_allclose(y, e, 2 * np.finfo(y.dtype).eps)


@pytest.mark.parametrize('value', [np.nan, np.inf])
def test_clipping_gradients_that_are_not_finite(value: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on the host: NaN makes all NaN, infinity makes zeros, and NaN of itself."""
    monkeypatch.setattr('minichainer.backends.cuda.elementwise', cpp.elementwise)
    monkeypatch.setattr('minichainer.backends.cuda.reduce', cpp.reduce)
    array = np.array([1, value], 'f')
    gradients.clip(np, [(array, 1.0)], 1.0)
    np.testing.assert_array_equal(array, [np.nan, np.nan] if np.isnan(value) else [0, np.nan])


# --- dropout ---
@pytest.mark.parametrize('shape', [(2, 3), (), (0,)])
@pytest.mark.parametrize('dtype', 'efd')
def test_factors_of_dropout(shape: Any, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = np.asarray(RNG(0).rand(*shape))
    expected = np.where(drawn >= 0.4, 1 / 0.6, 0).astype(dtype)
    np.testing.assert_array_equal(dropout.dropout_factors(np, drawn, 0.4, np.dtype(dtype)), expected)
    with kernels.on_device_code(monkeypatch):
        found = dropout.dropout_factors(np, drawn, 0.4, np.dtype(dtype))
    assert found.dtype == dtype and found.shape == shape
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize('shape', [(2, 3), (), (0,)])
@pytest.mark.parametrize('dtype', 'efd')
@pytest.mark.parametrize('on_device', [False, True])
def test_dropout_with_its_mask(shape: Any, dtype: str, on_device: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn, x = np.asarray(RNG(0).rand(*shape)), np.asarray(RNG(1).randn(*shape)).astype(dtype)
    factors = np.where(drawn >= 0.4, 1 / 0.6, 0).astype(dtype)
    mask = np.full(shape, 7, dtype)
    with kernels.on_device_code(monkeypatch) if on_device else contextlib.nullcontext():
        y = dropout.dropout(np, x, drawn, 0.4, mask)
    np.testing.assert_array_equal(mask, factors)
    np.testing.assert_array_equal(y, x * factors)
    assert y.dtype == dtype


# --- slopes ---
@pytest.mark.parametrize('dtype', 'efd')
def test_slopes_are_broadcast(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    x, gy = RNG(0).randn(2, 2, 3, 4).astype(dtype)
    slopes = np.array([[0.5], [-1], [2]], dtype)
    with kernels.on_device_code(monkeypatch):
        y, gx = rectifier.prelu(np, x, slopes), rectifier.prelu_gradient(np, gy, x, slopes)
        declined = rectifier.prelu_gradient(np, gy.astype('g'), x, slopes)
    np.testing.assert_array_equal(y, np.where(x >= 0, x, x * slopes))
    np.testing.assert_array_equal(gx, np.where(x >= 0, gy, gy * slopes))
    assert declined.dtype == 'g'


# --- other hooks ---
CHANGES: dict[str, Any] = {
    'decay': lambda g, p, s: g + s * 0.5 * p,
    'lasso': lambda g, p, s: g + s * 0.5 * np.sign(p),
    'hard_clip': lambda g, p, s: np.clip(g, s * -0.25, s * 0.5),
}
NUMBERS = {'decay': (0.5,), 'lasso': (0.5,), 'hard_clip': (-0.25, 0.5)}


def _params(count: int) -> list[tuple[Any, Any, float]]:
    """Gradients, parameters and loss scales; of three dtypes, and the first not contiguous."""
    arrays = [RNG(k).randn(2, *SHAPES[k % 4]).astype('efd'[k % 3 if count == 3 else 1]) for k in range(count)]
    found = [(np.asarray(g), np.asarray(p), 4.0 if k == 1 else 1.0) for k, (g, p) in enumerate(arrays)]
    return [(found[0][0].T, found[0][1].T, 1.0), *found[1:]]


@pytest.mark.parametrize('name', gradients.CHANGES)
@pytest.mark.parametrize('count', [1, 3, 31])
def test_change(name: str, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr('minichainer.backends.cuda.elementwise', cpp.elementwise)
    params = _params(count)
    params[0][1][0] = 0  # of which the sign is 0
    expected = [CHANGES[name](g.astype('d'), p.astype('d'), scale).astype(g.dtype) for g, p, scale in params]
    gradients.change(name, params, *NUMBERS[name])
    for (y, _, _), e in zip(params, expected, strict=True):
        np.testing.assert_allclose(y, e, 4 * np.finfo(y.dtype).eps, 4 * np.finfo(y.dtype).eps)


def test_changes_keep_nan(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr('minichainer.backends.cuda.elementwise', cpp.elementwise)
    for name in gradients.CHANGES:
        grad = np.array([np.nan, np.inf], 'f')
        gradients.change(name, [(grad, np.ones(2, 'f'), 1.0)], -1.0, 1.0)
        np.testing.assert_array_equal(grad, [np.nan, 1 if name == 'hard_clip' else np.inf])
    grad = np.zeros(1, 'f')
    gradients.change('lasso', [(grad, np.array([np.nan], 'f'), 1.0)], 1.0)
    assert np.isnan(grad).all()


@pytest.mark.parametrize('count', [1, 3, 31])
def test_add_noise(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr('minichainer.backends.cuda.elementwise', cpp.elementwise)
    given = [(grad, 0.5 * (1 + k % 2)) for k, (grad, _, _) in enumerate(_params(count))]
    before = [grad.copy() for grad, _ in given]
    np.random.seed(0)
    gradients.add_noise(np, given)
    drawn, begin = RNG(0).normal(0, 1, sum(grad.size for grad in before)), 0
    for (grad, deviation), old in zip(given, before, strict=True):
        noise = drawn[begin : begin + old.size].astype(old.dtype).reshape(old.shape)
        expected = (old.astype('d') + deviation * noise.astype('d')).astype(old.dtype)
        np.testing.assert_allclose(grad, expected, 4 * np.finfo(old.dtype).eps, 4 * np.finfo(old.dtype).eps)
        begin += old.size


@pytest.mark.parametrize('count', [1, 3, 31])
@pytest.mark.parametrize('threshold', [1e-3, 1e6])
def test_layer_wise_rates(count: int, threshold: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr('minichainer.backends.cuda.elementwise', cpp.elementwise)
    monkeypatch.setattr('minichainer.backends.cuda.reduce', cpp.reduce)
    params, decay, eps = _params(count), 0.1, 1e-9
    expected = []
    for g, p, scale in params:
        norm, divisor = np.linalg.norm(p.astype('d')), np.linalg.norm(g.astype('d')) / scale
        factor = norm / (eps + divisor + decay * norm) if norm > threshold else 1.0
        expected.append(((g.astype('d') + decay * scale * p) * factor).astype(g.dtype))
    gradients.scale_layers(np, params, threshold, decay, eps)
    for (y, _, _), e in zip(params, expected, strict=True):
        np.testing.assert_allclose(y, e, 8 * np.finfo(y.dtype).eps, 8 * np.finfo(y.dtype).eps)


@pytest.mark.parametrize('count', [0, 1, 61])
@pytest.mark.parametrize('value', [1.0, np.nan, np.inf, -np.inf])
def test_are_finite(count: int, value: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr('minichainer.backends.cuda.elementwise', cpp.elementwise)
    arrays = [np.zeros(3 + k, 'efd'[k % 3]) for k in range(count)]
    for array in arrays[-1:]:
        array[-1] = value
    assert gradients.are_finite(np, [*arrays, np.zeros(0, 'f')]) == (not count or np.isfinite(value))


# --- sequences ---
@pytest.mark.parametrize(('count', 'launches'), [(1, 1), (100, 1), (101, 2)])
def test_place_and_divide_in_a_launch(count: int, launches: int, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []

    def elementwise(*source: Any) -> Any:
        made.append(source[3])
        return cpp.elementwise(*source)

    monkeypatch.setattr('minichainer.backends.cuda.elementwise', elementwise)
    y = np.full((count, 2), 7.0)
    sequences.place([np.array([float(k)]) for k in range(count)], y, 2, (1, 1, 2), -1)
    np.testing.assert_array_equal(y, np.stack([np.arange(count), np.full(count, -1)], 1))
    assert len(made) == launches
    parts = sequences.divide(np, np.arange(8.0).reshape(4, 2), 2)
    np.testing.assert_array_equal(parts, np.arange(8.0).reshape(2, 2, 2))
    assert all(part.base is None for part in parts) and len(made) == launches + 1


def test_zeros(monkeypatch: pytest.MonkeyPatch) -> None:
    kinds = [((2, 3), np.dtype('f')), ((), np.dtype('d')), ((0, 4), np.dtype('f')), ((5,), np.dtype('f'))]
    with kernels.on_device_code(monkeypatch):
        on_device = of_sequences.zeros_of(np, kinds)
    for found in (on_device, of_sequences.zeros_of(np, kinds)):
        assert [(y.shape, y.dtype) for y in found] == kinds and not any(y.any() for y in found)
        for k, y in enumerate(found):
            y[...] = k + 1
        assert [float(y.sum()) for y in found] == [6, 2, 0, 20]
