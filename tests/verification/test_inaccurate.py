"""Right rules with few digits are called inaccurate, and the tolerances that a report names accept them."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import minichainer
from minichainer.errors import GradientToleranceWarning
from minichainer.gradient_check import check_gradients
from minichainer.verification.reporting.tolerances import in_words
from tests.verification.planting import node, split_seeds, square


def single(array):
    """Rounded to float32."""
    return np.asarray(array, np.float32).astype(np.float64)


def half(array):
    return np.asarray(array, np.float16).astype(np.float64)


MATRIX = np.random.RandomState(0).uniform(-0.2, 0.2, (5, 5)) + 3 * np.eye(5)


def solved(b, sweeps=6):
    """``MATRIX.T`` divided into ``b`` by an iteration that stops early; linear in ``b``."""
    x = b / 3
    for _ in range(sweeps):
        x = x + (b - MATRIX.T @ x) / 3
    return x


def until(b, tolerance=1e-8, most=200):
    """The same until the residual is small: linear in ``b`` up to that tolerance only.

    That of a huge ``b`` may never be: rounding alone may be larger.
    """
    x = b / 3
    for _ in range(most):
        if abs(b - MATRIX.T @ x).max() <= tolerance:
            break
        x = x + (b - MATRIX.T @ x) / 3
    return x


def softmax(x):
    y = np.exp(x - x.max(-1, keepdims=True))
    return y / y.sum(-1, keepdims=True)


def softmax_rule(y, gy):
    return y * (gy - (y * gy).sum(-1, keepdims=True))


def drawn(r, shape):
    return r.normal(size=shape)


def one_sided(x, gy, step=1e-7):
    return gy * (np.sin(x + step) - np.sin(x)) / step


#: A function with an inaccurate rule, a drawing of its inputs, and the digits that the cause may name.
INACCURATE = {
    'float32': (square(lambda x, gy: single(2 * x * gy)), drawn, '78'),
    'float16': (square(lambda x, gy: half(2 * x * gy)), drawn, '34'),
    'float32 inside': (node(np.tanh, lambda xs, gy: gy * (1 - single(np.tanh(single(xs[0]))) ** 2)), drawn, '567'),
    'softmax in float32': (node(softmax, lambda xs, gy: softmax_rule(single(softmax(xs[0])), gy)), drawn, '567'),
    'iteration': (
        node(lambda b: np.linalg.solve(MATRIX, b), lambda xs, gy: solved(gy)),
        lambda r, shape: r.normal(size=5),
        '6789',
    ),
    'difference quotient': (node(np.sin, lambda xs, gy: one_sided(xs[0], gy)), drawn, '567'),
    'rounded table': (node(np.tanh, lambda xs, gy: gy * (1 - np.round(np.tanh(xs[0]), 7) ** 2)), drawn, '567'),
    'ill-conditioned': (
        node(np.linalg.inv, lambda xs, gy: -(lambda y: y.T @ gy @ y.T)(np.linalg.inv(single(xs[0])))),
        lambda r, shape: np.vander(np.linspace(0.5, 2, 4)) + 1e-2 * r.normal(size=(4, 4)),
        '456',
    ),
}
SHAPES = [(), (3, 4), (20, 21), (60, 70)]
#: These need axes, or choose their own shape.
RANKED = ('softmax in float32', 'iteration', 'ill-conditioned')


def fits(name, shape):
    if shape == (20, 21):
        return name == 'float32'
    return name not in RANKED or shape == (3, 4) or (name[0] == 's' and shape != ())


def rows():
    """Names and shapes; those of thousands of elements are slow."""
    for name, shape in [(n, s) for n in INACCURATE for s in SHAPES if fits(n, s)]:
        slow = shape == SHAPES[-1]
        yield pytest.param(name, shape, id=f'{name}-{shape}', marks=[pytest.mark.slow] if slow else [])


@pytest.mark.parametrize('seeds', split_seeds(1, 2))
@pytest.mark.parametrize('precise', [None, False])
@pytest.mark.parametrize(('name', 'shape'), list(rows()))
def test_inaccurate_gradients_and_the_tolerances_that_accept_them(name, shape, precise, seeds):
    func, draw, digits = INACCURATE[name]
    for seed in seeds:
        x = np.asarray(draw(np.random.RandomState(seed), shape))
        report = check_gradients(func, x, seed=seed, precise=precise)
        cause = report.failures[0].cause
        assert report.verdict == 'fail' and (x.size == 1 or cause.startswith(named(digits))), cause
        assert set(report.enough) <= {'rtol', 'atol'} and in_words(report.enough) in report.message.replace(
            '\n    ', ' '
        )
        assert accepted(func, x, report.enough, seed=seed, precise=precise)
        assert accepted(func, x, report.enough, seed=seed + 50, precise=precise)


def accepted(func, x, enough, **options):
    """The report with these tolerances, which may warn that it passes because of them."""
    with warnings.catch_warnings():
        warnings.simplefilter('ignore', GradientToleranceWarning)
        return check_gradients(func, x, **options, **enough)


def named(digits):
    return tuple(f'inaccurate: right to {d} digits' for d in digits)


def test_a_solver_with_a_tolerance_is_linear_up_to_it():
    func = node(lambda b: np.linalg.solve(MATRIX, b), lambda xs, gy: until(gy))
    b = np.random.RandomState(0).normal(size=5)
    report = check_gradients(func, b, seed=0)
    assert report.failures[0].cause.startswith('not linear') and set(report.enough) == {'rtol', 'nondet_tol'}
    assert max(report.enough.values()) < 1e-6
    assert accepted(func, b, report.enough, seed=0)


#: Small errors that have a cause of their own.
OTHERS = {
    'factor': lambda x, gy: (2 + 2e-6) * x * gy,
    'one element': lambda x, gy: 2 * x * gy * (1 + 1e-5 * (np.arange(x.size) == 5).reshape(x.shape)),
    'one slice': lambda x, gy: 2 * x * gy * (1 + 1e-5 * (np.arange(len(x)) == 1)[:, None]),
    'added constant': lambda x, gy: 2 * x * gy + 1e-6,
}


@pytest.mark.parametrize('name', OTHERS)
def test_small_errors_with_a_pattern_are_not_called_inaccurate(name):
    x = np.random.RandomState(0).normal(size=(3, 4)) + 3
    report = check_gradients(square(OTHERS[name]), x, seed=0)
    cause = report.failures[0].cause
    assert cause.startswith((name, 'not linear')), cause
    if cause.startswith(name):
        assert accepted(square(OTHERS[name]), x, report.enough, seed=0), report.enough


#: Errors that are not small somewhere, and never "inaccurate"; no tolerance is named.
WRONG = {
    'tiny elements doubled': lambda x, gy: 2 * x * gy * np.where(abs(x) < 1e-3, 2, 1),
    'an element lost': lambda x, gy: 2 * x * gy * (abs(x) > 1e-3),
    'one per cent': lambda x, gy: 2 * x * gy * np.random.RandomState(3).uniform(0.99, 1.01, x.shape),
    'random': lambda x, gy: np.random.RandomState(3).normal(size=x.shape) * gy,
}


@pytest.mark.parametrize('name', WRONG)
@pytest.mark.parametrize('tiny', [2, 8])
def test_larger_errors_are_not_called_inaccurate(name, tiny):
    x = np.random.RandomState(0).normal(size=12)
    x[:tiny] *= 1e-5 / abs(x[:tiny])
    report = check_gradients(square(WRONG[name]), x, seed=0)
    assert report.verdict == 'fail' and 'inaccurate' not in report.failures[0].cause, report
    assert report.enough == {} or 'atol' in report.enough


def test_the_hint_is_in_the_dict_the_page_and_the_picture():
    func, draw, _ = INACCURATE['float32']
    report = check_gradients(func, draw(np.random.RandomState(0), (3, 4)), seed=0)
    text = in_words(report.enough)
    assert text in report.message and text in report._repr_html_()
    assert report.to_dict()['enough'] == report.enough and list(report.enough) == ['rtol']
    assert text in report.plot()._suptitle.get_text().replace('\n', ' ')
    func, draw, _ = INACCURATE['difference quotient']
    with pytest.raises(minichainer.gradient_check.GradcheckError, match='If that is accurate enough: rtol='):
        minichainer.gradcheck(func, draw(np.random.RandomState(0), (3, 4)), raise_exception=True)


def test_at_the_second_order():
    rounded = minichainer.FunctionNode

    class Cube(rounded):
        def forward(self, inputs):
            self.retain_inputs((0,))
            return (inputs[0] ** 3,)

        def backward(self, indexes, grad_outputs):
            return (Slope().apply((self.get_retained_inputs()[0], grad_outputs[0]))[0],)

    class Slope(rounded):
        def forward(self, inputs):
            self.retain_inputs((0, 1))
            return (3 * inputs[0] ** 2 * inputs[1],)

        def backward(self, indexes, grad_outputs):
            (x, gy), (g,) = self.get_retained_inputs(), grad_outputs
            return 6 * x * gy * g, minichainer.functions.cast(minichainer.functions.cast(3 * x**2 * g, 'f'), 'd')

    x = np.random.RandomState(0).normal(size=(3, 4))
    report = check_gradients(lambda x: Cube().apply((x,))[0], x, order=2, seed=0)
    assert report.failures[0].cause.startswith('second order only, inaccurate: right to 7 digits')
    assert accepted(lambda x: Cube().apply((x,))[0], x, report.enough, order=2, seed=0)


def test_no_tolerance_is_named_where_none_helps():
    last = {}

    def forget(x):
        last['x'] = x.array
        return square(lambda x, gy: 2 * last['x'] * gy)(x)

    assert check_gradients(forget, np.ones(3)).enough == {}
    assert check_gradients(square(lambda x, gy: x * gy), np.ones(3)).enough == {}
    assert check_gradients(minichainer.functions.tanh, np.ones(3)).enough == {}
