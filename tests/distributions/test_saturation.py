"""Probabilities that underflow or round to 1, and what depends on them: a finite value has no slope of NaN."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

import minichainer as chainer
import minichainer.distributions as D
import minichainer.functions as F
from minichainer.variable import Variable

kl = chainer.kl_divergence
#: Logits whose sigmoid or softmax is 0 or 1 in a dtype, for float16 also in float32.
FAR = {'e': 120.0, 'f': 200.0, 'd': 800.0}

#: Distributions of logits: how they are made, the logits over the far one, and values.
SATURATED: dict[str, tuple[Callable[[Any], Any], Any, Any]] = {
    'Bernoulli': (lambda a: D.Bernoulli(F.sigmoid(a)), [1, -1], ([0, 0], [1, 1])),
    'Bernoulli.logit': (lambda a: D.Bernoulli(logit=a), [1, -1], ([0, 0], [1, 1])),
    'Bernoulli, checked': (
        lambda a: D.Bernoulli(F.sigmoid(a), binary_check=True), [1, -1], ([0, 0], [1, 1])
    ),
    'Geometric': (lambda a: D.Geometric(F.sigmoid(a)), [1], ([1], [2])),
    'Categorical': (lambda a: D.Categorical(F.softmax(a)), [[0, 1]], ([0], [1])),
    'Categorical.logit': (lambda a: D.Categorical(logit=a), [[0, 1]], ([0], [1])),
    'OneHotCategorical': (lambda a: D.OneHotCategorical(F.softmax(a)), [[0, 1]], ([[0, 1]], [[1, 0]])),
    'Poisson': (lambda a: D.Poisson(F.exp(a)), [-1], ([0], [1])),
}  # fmt: skip
OF_VALUES = ('log_prob', 'prob', 'cdf', 'log_cdf', 'survival_function', 'log_survival_function')
#: The slope of a standard deviation is infinite where that is 0, and so is that of a Poisson distribution's entropy.
SMOOTH = [
    (name, member)
    for name, member in product(SATURATED, (*OF_VALUES, 'entropy', 'mean', 'variance'))
    if not (name.startswith('OneHot') and ('cdf' in member or 'survival' in member))
    and not (name.startswith('Cat') and member in ('mean', 'variance'))
    and (name, member) != ('Poisson', 'entropy')
]
every_dtype = pytest.mark.parametrize('dtype', ['e', 'f', 'd'])


def slopes(y: Any, *by: Variable) -> list[Any]:
    """Slopes of the sum of the finite elements."""
    finite = np.isfinite(y.array)
    total = F.sum(F.where(finite, y, np.zeros_like(y.array)))
    return [g.array for g in chainer.grad([total], by) if g is not None]


@every_dtype
@pytest.mark.parametrize(('name', 'member'), SMOOTH)
def test_slopes_of_finite_values_are_numbers(name: str, member: str, dtype: str) -> None:
    make, signs, values = SATURATED[name]
    logits = Variable(np.array(signs, dtype) * FAR[dtype])
    with np.errstate(all='ignore'):
        for x in values if member in OF_VALUES else [None]:
            y = getattr(make(logits), member)
            y = y if x is None else y(np.array(x))
            assert not np.isnan(y.array).any()
            for g in slopes(y, logits) if y.requires_grad else []:
                np.testing.assert_allclose(g[np.isfinite(y.array)], 0, atol=1.0)


PAIRS = [
    pair for pair in product(SATURATED, SATURATED) if pair[0].split('.')[0].split(',')[0] == pair[1].split('.')[0]
]


@every_dtype
@pytest.mark.parametrize(('first', 'second'), PAIRS)
def test_divergence_of_equals_that_underflow(first: str, second: str, dtype: str) -> None:
    p, q = (Variable(np.array(SATURATED[first][1], dtype) * FAR[dtype]) for _ in range(2))
    with np.errstate(all='ignore'):
        y = kl(SATURATED[first][0](p), SATURATED[second][0](q))
        np.testing.assert_allclose(y.array, 0, atol=1e-6)
        for g in slopes(y, p, q):
            np.testing.assert_allclose(g, 0, atol=1e-6)


@every_dtype
@pytest.mark.parametrize(
    ('first', 'second'), [('Bernoulli', 'Bernoulli.logit'), ('Categorical', 'Categorical.logit')]
)
def test_slopes_beside_impossible_values_are_right(first: str, second: str, dtype: str) -> None:
    """The term p log p of a p of 0 counts as constant."""
    p = Variable(np.array([0.0] if first == 'Bernoulli' else [0.0, 1.0], dtype))
    logits = Variable(np.array([-2.0] if first == 'Bernoulli' else [-1.0, 0.0], dtype))
    kind = getattr(D, first)
    y = kl(kind(p), kind(logit=logits))
    (gp,) = chainer.grad([y], [p])
    expected = [2.0 - 1.0] if first == 'Bernoulli' else [1 + np.log1p(np.exp(-1.0)), 1 + np.log1p(np.exp(-1.0))]
    np.testing.assert_allclose(gp.array, expected, rtol=1e-2 if dtype == 'e' else 1e-5, atol=1e-3)


CERTAIN: dict[str, tuple[Callable[[Any], Any], list[float], list[float]]] = {
    'Bernoulli.log_cdf': (lambda p: D.Bernoulli(p).log_cdf(np.array(0)), [0.0], [-1.0]),
    'Bernoulli.log_survival_function': (lambda p: D.Bernoulli(p).log_survival_function(np.array(0)), [1.0], [1.0]),
    'Bernoulli.log_prob, checked': (
        lambda p: D.Bernoulli(p, binary_check=True).log_prob(np.array([0, 1])), [0.0, 1.0], [-1.0, 1.0]
    ),
    'Geometric.log_cdf': (lambda p: D.Geometric(p).log_cdf(np.array([1, 2])), [1.0, 1.0], [1.0, 0.0]),
    'OneHotCategorical.prob': (lambda p: D.OneHotCategorical(p).prob(np.array([1, 0])), [0.0, 1.0], [1.0, 0.0]),
    'Categorical.log_prob': (lambda p: D.Categorical(p).log_prob(np.array(1)), [0.0, 1.0], [0.0, 1.0]),
}  # fmt: skip


@every_dtype
@pytest.mark.parametrize('name', CERTAIN)
def test_slopes_by_probabilities_at_the_edge(name: str, dtype: str) -> None:
    function, p, expected = CERTAIN[name]
    variable = Variable(np.array(p, dtype))
    (g,) = slopes(function(variable), variable)
    np.testing.assert_array_equal(g, expected)


CURVED: dict[str, tuple[Callable[[Any], Any], list[float], list[float]]] = {
    'Bernoulli': (lambda p: D.Bernoulli(p).log_prob(np.array([0, 1])), [0.0, 1.0], [-1.0, -1.0]),
    'Bernoulli, checked': (
        lambda p: D.Bernoulli(p, binary_check=True).log_prob(np.array([0, 1])), [0.0, 1.0], [-1.0, -1.0]
    ),
    'Geometric': (lambda p: D.Geometric(p).log_prob(np.array([1])), [1.0], [-1.0]),
    'Poisson': (lambda a: D.Poisson(a).log_prob(np.array([0])), [0.0], [0.0]),
    'OneHotCategorical': (lambda p: D.OneHotCategorical(p).log_prob(np.array([0, 1])), [0.0, 1.0], [0.0, -1.0]),
    'Categorical': (lambda p: D.Categorical(p).log_prob(np.array(1)), [0.0, 1.0], [0.0, -1.0]),
}  # fmt: skip


@every_dtype
@pytest.mark.parametrize('name', CURVED)
def test_second_derivatives_at_the_edge(name: str, dtype: str) -> None:
    function, p, expected = CURVED[name]
    variable = Variable(np.array(p, dtype))
    (g,) = chainer.grad([F.sum(function(variable))], [variable], enable_double_backprop=True)
    (gg,) = chainer.grad([F.sum(g)], [variable])
    np.testing.assert_array_equal(gg.array, expected)


def test_elements_that_are_not_chosen_get_no_slope_from_a_nan() -> None:
    """But a slope of NaN stays NaN."""
    p = Variable(np.array([0.0, np.nan, 1.0], 'f'))
    (g,) = chainer.grad([F.sum(D.Categorical(p).log_p[:2])], [p])
    assert np.isposinf(g.array[0]) and np.isnan(g.array[1]) and g.array[2] == 0


ENTROPIES: dict[str, tuple[Callable[[Any, Any], Any], float]] = {  # and the slope by k times k^2
    'Gamma': (lambda k, one: D.Gamma(k, one), 1.0),
    'Chisquare': (lambda k, one: D.Chisquare(k), 2.0),
    'Beta(k, 1)': (lambda k, one: D.Beta(k, one), 1.0),
    'Beta(1, k)': (lambda k, one: D.Beta(one, k), 1.0),
    'Beta(k, k)': (lambda k, one: D.Beta(k, k), 1.0),
    'Beta(k, constant)': (lambda k, one: D.Beta(k, 3 * k.array), 1 - 2 / 16),
    'Beta(constant, k)': (lambda k, one: D.Beta(k.array / 3, k), 1 - 2 * 9 / 16),
    'Dirichlet(k, 2 k, 1)': (lambda k, one: D.Dirichlet(F.stack([k, 2 * k, one], -1)), 1.5),
    'Dirichlet(k, 2 k, k)': (lambda k, one: D.Dirichlet(F.stack([k, 2 * k, k], -1)), 2.5 - 3 / 4),
}


@pytest.mark.parametrize('name', ENTROPIES)
@pytest.mark.parametrize(
    ('dtype', 'k'),
    [
        ('f', 1e-37),
        ('f', 1e-20),
        ('f', 9e-19),
        ('f', 2e-18),
        ('f', 1e-12),
        ('d', 1e-200),
        ('d', 9e-151),
        ('d', 2e-150),
    ],
)
def test_entropies_of_tiny_shapes(name: str, dtype: str, k: float) -> None:
    """About -c / k; the slope is c / k^2, or infinite where that overflows."""
    make, slope = ENTROPIES[name]
    shape = Variable(np.array([k, 1.0, k], dtype))
    with np.errstate(all='ignore'):
        y = make(shape, np.ones(3, dtype)).entropy
        (g,) = chainer.grad([F.sum(y)], [shape])
        expected = np.array(slope, dtype) / np.array(k, dtype) / np.array(k, dtype)
    assert np.isfinite(y.array).all() and np.isfinite(g.array[1])
    np.testing.assert_allclose(g.array[[0, 2]], expected, rtol=1e-5)
    if 'constant' not in name:
        np.testing.assert_allclose(y.array[[0, 2]], -slope / k, rtol=1e-5)


def test_entropy_of_impossible_shapes_is_nan() -> None:
    bad = np.array([-1e-30, np.nan, -2.0])
    with np.errstate(all='ignore'):
        for d in (D.Gamma(bad, bad * 0 + 1), D.Chisquare(bad), D.Beta(bad, bad * 0 + 1)):
            assert np.isnan(d.entropy.array).all()


@pytest.mark.parametrize('dtype', ['f', 'd'])
def test_draws_of_rare_successes_are_positive(dtype: str) -> None:
    """Integers that overflow are the largest one."""
    draws = D.Geometric(np.array([1e-30, 1.0, 0.5], dtype)).sample(20).array
    assert draws.dtype == dtype and (draws >= 1).all() and (draws[:, 1] == 1).all() and (draws[:, 2] < 1e3).all()
    assert (draws[:, 0] == np.array(np.iinfo('int64').max, dtype)).all()


@pytest.mark.parametrize('label', [0, 2])
def test_a_probability_whose_square_is_out_of_range_hides_no_second_derivative_of_others(label: int) -> None:
    p = chainer.Variable(np.array([5e-324, 1e-300, 0.3, 0.7]))
    (first,) = chainer.grad([D.Categorical(p).log_prob(np.array(label))], [p], enable_double_backprop=True)
    second = [chainer.grad([first[i]], [p])[0].array for i in range(4)]
    right = np.zeros((4, 4))
    right[label, label] = [-np.inf, 0, -1 / 0.09][label]
    np.testing.assert_allclose(second, right, rtol=1e-12)


@pytest.mark.parametrize('sigma', [0.01, 1.0])
def test_a_density_of_zero_has_the_slope_0_where_a_reciprocal_is_out_of_range(sigma: float) -> None:
    x = chainer.Variable(np.array(1.5e-323))
    y = D.LogNormal(np.array(0.0), np.array(sigma)).prob(x)
    (gx,) = chainer.grad([y], [x])
    assert y.array == 0 and gx.array == 0


#: Functions of parameters and a value, at which a density is 0 and a factor of its slopes out of range.
VANISHING: dict[str, tuple[Callable[..., Any], list[float]]] = {
    'LogNormal.prob': (lambda mu, sigma, x: D.LogNormal(mu, sigma).prob(x), [0.0, 0.01, 1.5e-323]),
    'Gumbel.prob': (lambda loc, scale, x: D.Gumbel(loc, scale).prob(x), [0.0, 1.0, -690.0]),
    'Gumbel.prob of a tiny scale': (lambda loc, scale, x: D.Gumbel(loc, scale).prob(x), [0.0, 1e-100, -1e-98]),
    'Gumbel.cdf': (lambda loc, scale, x: D.Gumbel(loc, scale).cdf(x), [0.0, 1.0, -690.0]),
}


@pytest.mark.parametrize('name', VANISHING)
def test_where_a_density_is_zero_all_its_derivatives_are(name: str) -> None:
    function, point = VANISHING[name]
    xs = [chainer.Variable(np.array(v)) for v in point]
    first = chainer.grad([function(*xs)], xs, enable_double_backprop=True)
    second = [g.array for f in first for g in chainer.grad([f], xs) if g is not None]
    assert not np.any([g.array for g in first]) and second and not np.any(second)


@pytest.mark.parametrize('method', ['cdf', 'survival_function'])
def test_the_second_derivative_of_a_probability_is_that_of_a_density_of_zero(method: str) -> None:
    x = chainer.Variable(np.array(1.78e-307))
    distribution = D.Gamma(k=np.array(100.0), theta=np.array(1.0))
    with np.errstate(over='ignore'):
        (gx,) = chainer.grad([getattr(distribution, method)(x)], [x], enable_double_backprop=True)
        (ggx,) = chainer.grad([gx], [x])
    assert gx.array == 0 and ggx.array == 0
