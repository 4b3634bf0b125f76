"""Gradients with respect to values and parameters, to second order, of everything that is differentiable."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minichainer as chainer
import minichainer.distributions as D
from minichainer.gradient_check import check_gradients
from minichainer.variable import Variable
from tests.distributions.rows import OF_NUMBERS, ROWS, P, Row, at

every_row = pytest.mark.parametrize('row', ROWS, ids=str)
every_number = pytest.mark.parametrize('row', OF_NUMBERS, ids=str)
OF_VALUES = ['log_prob', 'prob', 'cdf', 'log_cdf', 'survival_function', 'log_survival_function']
MOMENTS = ['mean', 'variance', 'stddev', 'covariance', 'entropy']


def function_of(row: Row, names: tuple[str, ...], use: Any) -> Any:
    """A function of some parameters and, after them, of other arrays: ``use(distribution, *others)``."""

    def function(*arrays: Any) -> Any:
        given, others = arrays[: len(names)], arrays[len(names) :]
        return use(row.make(**{**row.params, **dict(zip(names, given, strict=True))}), *others)

    function.__name__ = row.id
    return function


def check(row: Row, names: tuple[str, ...], use: Any, *others: Any) -> None:
    arrays = [row.params[name] for name in names]
    assert check_gradients(function_of(row, names, use), (*arrays, *others), order=2, seed=0)


@every_row
def test_log_prob(row: Row) -> None:
    others = [] if row.discrete else [row.values]
    use = (lambda d, x: d.log_prob(x)) if others else (lambda d: d.log_prob(row.values))
    check(row, tuple(row.params), use, *others)


@pytest.mark.parametrize(
    'row', [r for r in ROWS if r.id in ('Bernoulli', 'Geometric', 'Poisson', 'OneHotCategorical')], ids=str
)
def test_log_prob_with_respect_to_counts(row: Row) -> None:
    """As for counts of a relaxed model."""
    check(row, tuple(row.params), lambda d, x: d.log_prob(x), row.values + 0.25)


@every_row
@pytest.mark.parametrize('member', OF_VALUES[1:])
def test_distribution_functions(row: Row, member: str) -> None:
    if not row.has(member):
        return
    names = tuple(row.params) if row.by_cdf is None or member == 'prob' else row.by_cdf
    if row.discrete:
        # No value is larger than the largest, so the logarithm is infinite there.
        bounded = 'survival' in member and row.id.startswith(('Bernoulli', 'Categorical'))
        check(row, names, lambda d: getattr(d, member)(row.values * 0 if bounded else row.values))
    else:
        check(row, names, lambda d, x: getattr(d, member)(x), row.values)


@every_number
def test_quantiles(row: Row) -> None:
    if row.has('icdf') and not row.discrete:
        check(row, tuple(row.params), lambda d, p: d.icdf(p), at(0.2, 0.6, 0.9))


@every_row
@pytest.mark.parametrize('member', MOMENTS)
def test_moments(row: Row, member: str) -> None:
    if row.has(member) and not (row.id == 'Cauchy' and member != 'entropy'):
        finite = (lambda d: getattr(d, member)) if row.id != 'Pareto' else (lambda d: getattr(d, member)[2:])
        check(row, tuple(row.params), finite)


@pytest.mark.parametrize('row', [row for row in ROWS if row.by_sample], ids=str)
def test_samples(row: Row) -> None:

    def sample(d: Any) -> Variable:
        np.random.seed(1)  # the same draws at each evaluation
        return d.sample((2,))

    check(row, row.by_sample, sample)


@pytest.mark.parametrize('row', [row for row in ROWS if not row.by_sample], ids=str)
def test_samples_without_a_gradient(row: Row) -> None:
    d = row.make(**{name: Variable(value) for name, value in row.params.items()})
    assert not d.sample().requires_grad


@every_row
def test_divergences(row: Row) -> None:
    def divergence(*arrays: Any) -> Any:
        half = len(row.params)
        p, q = (row.make(**dict(zip(row.params, part, strict=True))) for part in (arrays[:half], arrays[half:]))
        return chainer.kl_divergence(p, q)[2:] if row.id == 'Pareto' else chainer.kl_divergence(p, q)

    others = {**row.others, 'scale': at(0.3, 0.9, 1.5)} if row.id == 'Pareto' else row.others
    assert check_gradients(divergence, (*row.params.values(), *others.values()), order=2, seed=0)


@pytest.mark.parametrize('k', [1e-3, 0.1, 1.0, 15.9, 16.5, 1e3])
def test_entropies_of_any_size(k: float) -> None:
    """Also where the series of the log-gamma function replaces its definition."""
    for make in (lambda k: D.Gamma(k, k), D.Chisquare, D.Poisson, lambda k: D.Beta(k, 2 * k)):
        assert check_gradients(lambda x, make=make: make(x).entropy, at(k), order=2, seed=0)


#: Of distributions in which something is impossible: the gradients of their entropies. The derivative is infinite
#: there; Chainer counts the term of what is impossible as a constant 0.
CERTAIN = {
    'Categorical': (D.Categorical, at((0, 1), (0.5, 0.5)), at((0, -1), (np.log(2) - 1, np.log(2) - 1))),
    'OneHotCategorical': (D.OneHotCategorical, at((0, 1), (0.5, 0.5)), at((0, -1), (np.log(2) - 1, np.log(2) - 1))),
    'Categorical by logit': (lambda x: D.Categorical(logit=x), at(-np.inf, 0), at(0, 0)),
    'Bernoulli': (D.Bernoulli, at(0, 1, 0.5), at(1, -1, 0)),
    'Bernoulli by logit': (lambda x: D.Bernoulli(logit=x), at(-np.inf, np.inf, 0), at(0, 0, 0)),
    'Geometric': (D.Geometric, at(1), at(-1)),
}


@pytest.mark.parametrize('name', CERTAIN)
@pytest.mark.parametrize('dtype', 'fd')
def test_entropies_of_the_certain_have_the_gradients_of_chainer(name: str, dtype: str) -> None:
    make, start, expected = CERTAIN[name]
    x = Variable(start.astype(dtype))
    (gx,) = chainer.grad([make(x).entropy], [x], enable_double_backprop=True)
    np.testing.assert_allclose(gx.array, expected, rtol=1e-6, atol=1e-7)
    (ggx,) = chainer.grad([gx], [x])
    assert np.isfinite(ggx.array).all()


@pytest.mark.parametrize('name', CERTAIN)
def test_a_divergence_from_the_certain_has_a_gradient(name: str) -> None:
    make, start, _ = CERTAIN[name]
    x, other = Variable(start), Variable(np.full(start.shape, 0.5))
    gx, gy = chainer.grad([chainer.kl_divergence(make(x), make(other))], [x, other])
    assert np.isfinite(gx.array).all() and np.isfinite(gy.array).all()


def test_impossible_values_have_no_gradient() -> None:
    cases = [
        D.Exponential, D.Poisson, lambda p: D.Geometric(p / 2), lambda p: D.Gamma(p, p), lambda p: D.LogNormal(p, p),
        lambda p: D.Pareto(p, p), lambda p: D.Beta(p, p), lambda p: D.Uniform(loc=p, scale=p),
    ]  # fmt: skip
    for make in cases:
        p = Variable(at(1.0, 1.0))
        y = make(p).log_prob(at(-3.0, -4.0))
        assert (y.array == -np.inf).all()
        y.grad = at(1.0, 2.0)
        y.backward()
        np.testing.assert_array_equal(p.grad, [0, 0])


@pytest.mark.parametrize(
    ('make', 'what'),
    [(lambda k: D.Gamma(k, at(1)), 'k'), (D.Chisquare, 'k'), (lambda k: D.Beta(k, at(1)), 'a and b')],
)
def test_gradients_that_are_not_known_raise(make: Any, what: str) -> None:
    k = Variable(at(2.0))
    for member in ('cdf', 'survival_function'):
        y = getattr(make(k), member)(at(0.5))
        y.grad = at(1.0)
        with pytest.raises(NotImplementedError, match=f'no gradient with respect to {what}; pass these as arrays'):
            y.backward()


def test_labels_pass_gradients_to_their_categories() -> None:
    p = Variable(P)
    y = D.Categorical(p).log_prob(np.array([2, 0]))
    y.grad = at(1.0, 2.0)
    y.backward()
    np.testing.assert_allclose(p.grad, [[0, 0, 1 / P[0, 2]], [2 / P[1, 0], 0, 0]])
