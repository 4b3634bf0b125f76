"""Probabilities, moments and entropies against SciPy's, at moderate and at extreme points."""

from __future__ import annotations

import inspect
import math
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy import stats

import minichainer as chainer
import minichainer.distributions as D
from minichainer.variable import Variable
from tests.distributions.rows import OF_NUMBERS, ROWS, TRIL, P, Row, at

pytestmark = pytest.mark.filterwarnings('ignore:.*of a Cauchy distribution is undefined:RuntimeWarning')
SCIPY = {
    'cdf': 'cdf', 'log_cdf': 'logcdf', 'survival_function': 'sf', 'log_survival_function': 'logsf', 'icdf': 'ppf',
    'mean': 'mean', 'variance': 'var', 'stddev': 'std', 'entropy': 'entropy',
}  # fmt: skip
OF_VALUES = ['prob', 'log_prob', 'cdf', 'log_cdf', 'survival_function', 'log_survival_function']
MOMENTS = ['mean', 'variance', 'stddev', 'entropy']
every_row = pytest.mark.parametrize('row', ROWS, ids=str)
every_number = pytest.mark.parametrize('row', OF_NUMBERS, ids=str)


def expected(row: Row, member: str, x: Any = None, element: Any = slice(None)) -> Any:
    assert row.scipy is not None
    frozen = row.scipy(**{name: value[element] for name, value in row.params.items()})
    name = SCIPY.get(member) or {'prob': 'pdf', 'log_prob': 'logpdf'}[member].replace(
        'pdf', 'pmf' if row.discrete else 'pdf'
    )
    with np.errstate(all='ignore'):
        return getattr(frozen, name)() if x is None else getattr(frozen, name)(x)


def test_all_distributions_are_in_the_table() -> None:
    named = {name for name in dir(D) if inspect.isclass(getattr(D, name))}
    assert named == {row.id.partition('.')[0] for row in ROWS}


@every_number
@pytest.mark.parametrize('member', OF_VALUES)
def test_of_values(row: Row, member: str) -> None:
    y = getattr(row.dist(), member)(row.values)
    np.testing.assert_allclose(y.array, expected(row, member, row.values), rtol=1e-12, atol=1e-15)


@every_number
@pytest.mark.parametrize('member', OF_VALUES)
def test_far_values_and_impossible_ones(row: Row, member: str) -> None:
    first = row.make(**{name: value[:1] for name, value in row.params.items()})
    with np.errstate(divide='ignore', under='ignore', over='ignore'):
        y = getattr(first, member)(row.far)
    reference = expected(row, member, row.far, 0)
    # SciPy's logarithms are often -inf or 0 where they are finite or tiny.
    underflow = (np.isneginf(reference) & (y.array < -600)) | ((reference == 0) & (abs(y.array) < 1e-16))
    known = ~(underflow & member.startswith('log'))
    np.testing.assert_allclose(y.array[known], reference[known], rtol=1e-10, atol=1e-300)


#: What SciPy's functions do not resolve.
TAILS = [
    ('Gumbel log_cdf', lambda: D.Gumbel(at(0), at(1)).log_cdf(at(40)), lambda m: -m.exp(-40)),
    ('Gumbel sf', lambda: D.Gumbel(at(0), at(1)).survival_function(at(40)), lambda m: -m.expm1(-m.exp(-40))),
    ('Gumbel log_sf', lambda: D.Gumbel(at(0), at(1)).log_survival_function(at(2000)), lambda m: m.mpf(-2000)),
    ('Gumbel log_sf near', lambda: D.Gumbel(at(0), at(1)).log_survival_function(at(-4)),
     lambda m: m.log1p(-m.exp(-m.exp(4)))),
    ('Laplace log_cdf', lambda: D.Laplace(at(0), at(1)).log_cdf(at(50)), lambda m: m.log1p(-m.exp(-50) / 2)),
    ('Laplace log_sf', lambda: D.Laplace(at(0), at(1)).log_survival_function(at(900)), lambda m: -900 - m.log(2)),
    ('Laplace icdf', lambda: D.Laplace(at(0), at(1)).icdf(at(1e-200)), lambda m: m.log(m.mpf(1e-200) * 2)),
    ('Cauchy cdf', lambda: D.Cauchy(at(0), at(1)).cdf(at(-1e30)), lambda m: m.atan2(1, 1e30) / m.pi),
    ('Cauchy log_cdf', lambda: D.Cauchy(at(0), at(1)).log_cdf(at(1e30)), lambda m: -m.atan2(1, 1e30) / m.pi),
    ('Cauchy icdf', lambda: D.Cauchy(at(0), at(1)).icdf(at(1e-30)), lambda m: -m.cot(m.pi * m.mpf(1e-30))),
    ('Cauchy log_prob', lambda: D.Cauchy(at(0), at(1)).log_prob(at(1e200)),
     lambda m: -m.log(m.pi) - 2 * m.log(1e200)),
    ('Exponential log_cdf', lambda: D.Exponential(at(1)).log_cdf(at(60)), lambda m: m.log1p(-m.exp(-60))),
    ('Exponential log_cdf near', lambda: D.Exponential(at(1)).log_cdf(at(1e-30)), lambda m: m.log(m.mpf(1e-30))),
    ('Exponential icdf', lambda: D.Exponential(at(1)).icdf(at(1e-30)), lambda m: m.mpf(1e-30)),
    ('Pareto cdf', lambda: D.Pareto(at(1), at(2)).cdf(at(1 + 1e-12)), lambda m: 1 - (1 + m.mpf(1 + 1e-12) - 1) ** -2),
    ('Pareto log_sf', lambda: D.Pareto(at(1), at(9)).log_survival_function(at(1e100)), lambda m: -9 * m.log(1e100)),
    ('Normal log_cdf', lambda: D.Normal(at(0), at(1)).log_cdf(at(-1e5)),
     lambda m: -m.mpf(10) ** 10 / 2 - m.log(m.sqrt(2 * m.pi) * 1e5)),
    ('Normal log_sf', lambda: D.Normal(at(0), at(1)).log_survival_function(at(-20)), lambda m: m.log1p(-m.ncdf(-20))),
    ('LogNormal log_sf', lambda: D.LogNormal(at(0), at(1)).log_survival_function(at(1e9)),
     lambda m: m.log(m.ncdf(-m.log(1e9)))),
    ('Geometric cdf', lambda: D.Geometric(at(1e-20)).cdf(at(3)), lambda m: m.mpf(3e-20)),
    ('Geometric log_sf', lambda: D.Geometric(at(1e-20)).log_survival_function(at(1e22)), lambda m: m.mpf(-100)),
    ('Bernoulli log_prob', lambda: D.Bernoulli(logit=at(-800)).log_prob(at(1)), lambda m: m.mpf(-800)),
    ('Bernoulli entropy', lambda: D.Bernoulli(logit=at(60)).entropy, lambda m: 61 * m.exp(-60)),
    ('Bernoulli variance', lambda: D.Bernoulli(logit=at(60)).variance, lambda m: m.exp(-60)),
    ('Bernoulli log_cdf', lambda: D.Bernoulli(logit=at(-60)).log_cdf(at(0)), lambda m: -m.exp(-60)),
    ('Gamma entropy', lambda: D.Gamma(at(1e12), at(1)).entropy, lambda m: _gamma_entropy(m, m.mpf(10) ** 12)),
    ('Gamma entropy, small', lambda: D.Gamma(at(1e-9), at(1)).entropy, lambda m: _gamma_entropy(m, m.mpf(1e-9))),
    ('Beta entropy', lambda: D.Beta(at(1e10), at(1e9)).entropy, lambda m: _dirichlet_entropy(m, 10**10, 10**9)),
    ('Dirichlet entropy', lambda: D.Dirichlet(at(1e8, 30, 1e-4)).entropy,
     lambda m: _dirichlet_entropy(m, 10**8, 30, m.mpf(1e-4))),
    ('Poisson entropy', lambda: D.Poisson(at(63.9)).entropy, lambda m: _poisson_entropy(m, m.mpf(63.9))),
    ('Poisson entropy, large', lambda: D.Poisson(at(64)).entropy, lambda m: _poisson_entropy(m, m.mpf(64))),
    ('Poisson entropy, small', lambda: D.Poisson(at(1e-9)).entropy, lambda m: _poisson_entropy(m, m.mpf(1e-9))),
    ('LogNormal variance', lambda: D.LogNormal(at(0), at(1e-9)).variance,
     lambda m: m.exp(m.mpf(1e-9) ** 2) * m.expm1(m.mpf(1e-9) ** 2)),
]  # fmt: skip


def _gamma_entropy(m: Any, k: Any) -> Any:
    return k + m.loggamma(k) + (1 - k) * m.digamma(k)


def _dirichlet_entropy(m: Any, *alpha: Any) -> Any:
    total = sum(map(m.mpf, alpha))
    parts = sum(m.loggamma(a) - (a - 1) * m.digamma(a) for a in map(m.mpf, alpha))
    return parts - m.loggamma(total) + (total - len(alpha)) * m.digamma(total)


def _poisson_entropy(m: Any, lam: Any) -> Any:
    log_p = [k * m.log(lam) - lam - m.loggamma(k + 1) for k in range(400)]
    return -sum(m.exp(value) * value for value in log_p)


@pytest.mark.parametrize(('found', 'exact'), [t[1:] for t in TAILS], ids=[t[0] for t in TAILS])
def test_tails_and_extreme_parameters(found: Any, exact: Any) -> None:
    with mpmath.workdps(60):
        np.testing.assert_allclose(found().array.ravel(), [float(exact(mpmath))], rtol=1e-13)


@every_number
def test_quantiles(row: Row) -> None:
    if not row.has('icdf'):
        with pytest.raises(NotImplementedError, match=f'{type(row.dist()).__name__} does not implement icdf'):
            row.dist().icdf(at(0.5, 0.5, 0.5))
        return
    for p in (1e-12, 1e-3, 0.3, 0.5, 0.7, 0.999):
        x = row.dist().icdf(np.full(3, p))
        np.testing.assert_allclose(x.array, expected(row, 'icdf', np.full(3, p)), rtol=1e-9, atol=1e-12)


def test_quantiles_of_counts_are_the_smallest_sufficient() -> None:
    d = D.Geometric(at(0.5))
    np.testing.assert_array_equal(
        d.icdf(at(0, 0.5, 0.5000001, 0.75, 1, -0.1, 2)).array, at(1, 1, 2, 2, np.inf, np.nan, np.nan)
    )
    d = D.Bernoulli(at(0.25))
    np.testing.assert_array_equal(d.icdf(at(0, 0.75, 0.76, 1, -0.1, 2)).array, at(0, 0, 1, 1, np.nan, np.nan))


@every_number
@pytest.mark.parametrize('member', MOMENTS)
def test_moments(row: Row, member: str) -> None:
    y = getattr(row.dist(), member)
    np.testing.assert_allclose(y.array, np.broadcast_to(expected(row, member), (3,)), rtol=1e-10)


@pytest.mark.parametrize('member', ['mean', 'variance', 'stddev'])
def test_moments_that_there_are_not_warn_each_time(member: str) -> None:
    d = D.Cauchy(at(0, 1), at(1, 2))
    for _ in range(2):
        with pytest.warns(RuntimeWarning, match='of a Cauchy distribution is undefined') as caught:
            assert np.isnan(getattr(d, member).array).all()
        assert member == 'stddev' or caught[0].filename == __file__


@every_row
def test_variance_and_covariance_fit(row: Row) -> None:
    d = row.dist()
    if not row.has('variance'):
        with pytest.raises(NotImplementedError, match='does not implement mean'):
            _ = d.mean
        return
    np.testing.assert_allclose(d.stddev.array**2, d.variance.array, rtol=1e-12)
    covariance = d.covariance.array
    if d.event_shape:
        assert covariance.shape == (*d.batch_shape, d.event_size, d.event_size)
        covariance = np.diagonal(covariance, axis1=-2, axis2=-1).reshape(d.variance.shape)
    np.testing.assert_allclose(covariance, d.variance.array, rtol=1e-12)


@every_row
def test_the_mode_has_the_largest_probability(row: Row) -> None:
    d = row.dist()
    mode = d.mode
    known = ~np.isnan(np.asarray(mode.array, float)).reshape(*mode.shape[: len(d.batch_shape)], -1).any(axis=-1)
    with np.errstate(divide='ignore', invalid='ignore'):
        best = d.log_prob(mode.array).array
        others = d.log_prob(d.sample((200,))).array
    assert (best >= others - 1e-12)[:, known].all()
    assert mode.shape == (*d.batch_shape, *d.event_shape)


MODES = [
    (D.Beta(at(2, 0.5, 2, 0.5, 1), at(3, 2, 0.5, 0.5, 1)), at(1 / 3, 0, 1, np.nan, np.nan)),
    (D.Gamma(at(0.5, 1, 3), at(2, 2, 2)), at(0, 0, 4)),
    (D.Chisquare(at(1, 2, 5)), at(0, 0, 3)),
    (D.Uniform(low=at(0), high=at(1)), at(np.nan)),
    (D.Poisson(at(0.5, 2.5)), at(0, 2)),
    (D.Dirichlet(np.array([[2.0, 3.0], [1.0, 3.0]])), np.array([[1 / 3, 2 / 3], [np.nan, np.nan]])),
]


@pytest.mark.parametrize(('d', 'mode'), MODES, ids=lambda v: type(v).__name__)
def test_modes(d: Any, mode: Any) -> None:
    np.testing.assert_allclose(d.mode.array, mode)


# --- vectors and labels -------------------------------------------------------------------------------------------
def test_multivariate_normal() -> None:
    loc = at(0, 1, 2, 3, 4, 5).reshape(3, 2)
    d = D.MultivariateNormal(loc, scale_tril=TRIL)
    x = np.random.normal(size=(4, 3, 2))
    for i in range(3):
        s = stats.multivariate_normal(loc[i], TRIL[i] @ TRIL[i].T)
        np.testing.assert_allclose(d.log_prob(x).array[:, i], s.logpdf(x[:, i]), rtol=1e-12)
        np.testing.assert_allclose(d.entropy.array[i], s.entropy())
        np.testing.assert_allclose(d.covariance.array[i], s.cov)
    upper = TRIL + np.array([[0, 9], [0, 0]])
    np.testing.assert_array_equal(D.MultivariateNormal(loc, scale_tril=upper).covariance.array, d.covariance.array)


def test_one_factor_for_many_means() -> None:
    loc = np.random.normal(size=(30, 2))
    d = D.MultivariateNormal(loc, scale_tril=TRIL[0])
    assert (d.batch_shape, d.event_shape, d.d) == ((30,), (2,), 2)
    each = D.MultivariateNormal(loc, scale_tril=np.tile(TRIL[0], (30, 1, 1)))
    x = np.random.normal(size=(30, 2))
    for found, reference in (
        (d.log_prob(x), each.log_prob(x)),
        (d.entropy, each.entropy),
        (d.covariance, each.covariance),
    ):
        np.testing.assert_allclose(found.array, reference.array, rtol=1e-12)
    assert d.sample(5).shape == (5, 30, 2)


def test_dirichlet() -> None:
    alpha = at(0.6, 1.5, 3.0)
    d, s = D.Dirichlet(alpha), stats.dirichlet(alpha)
    np.testing.assert_allclose(d.log_prob(P[0]).array, s.logpdf(P[0]))
    for found, reference in (
        (d.mean, s.mean()),
        (d.variance, s.var()),
        (d.entropy, s.entropy()),
        (d.covariance, s.cov()),
    ):
        np.testing.assert_allclose(found.array, reference)
    assert D.Dirichlet(np.ones(3)).log_prob(at(1, 0, 0)).array == pytest.approx(math.log(2))


def test_labels() -> None:
    d = D.Categorical(P)
    labels = np.array([[0, 1], [2, 2], [1, 0]])
    np.testing.assert_array_equal(d.prob(labels).array, P[[0, 1], labels])
    np.testing.assert_allclose(d.log_prob(labels).array, np.log(P[[0, 1], labels]))
    np.testing.assert_allclose(d.log_prob(1).array, np.log(P[:, 1]))
    np.testing.assert_allclose(d.log_prob(labels.astype('f')).array, np.log(P[[0, 1], labels]))
    np.testing.assert_allclose(d.cdf(np.array([0, 1])).array, at(0.2, 0.9))
    np.testing.assert_allclose(d.survival_function(np.array([0, 1])).array, at(0.8, 0.1))
    np.testing.assert_allclose(d.entropy.array, [stats.entropy(p) for p in P])
    np.testing.assert_array_equal(d.mode.array, [2, 0])
    assert [D.Categorical(np.ones(n) / n).support for n in (1, 3, 9)] == ['{0}', '{0, 1, 2}', '{0, ..., 8}']


def test_impossible_categories_are_no_obstacle() -> None:
    p = Variable(at(1, 0))
    for d in (D.Categorical(p), D.OneHotCategorical(p), D.Categorical(logit=at(0, -np.inf))):
        assert d.entropy.array == 0
        assert np.isneginf(d.log_p.array[1])
    assert D.Categorical(p).log_prob(np.array(1)).array == -np.inf
    assert D.OneHotCategorical(p).log_prob(at(1, 0)).array == 0
    certain = D.Bernoulli(at(0, 1))
    np.testing.assert_array_equal(certain.log_prob(at(0, 1)).array, [0, 0])
    np.testing.assert_array_equal(certain.log_prob(at(1, 0)).array, [-np.inf, -np.inf])
    np.testing.assert_array_equal(certain.entropy.array, [0, 0])
    np.testing.assert_array_equal(D.Geometric(at(1)).log_prob(at(1, 2)).array, [0, -np.inf])


def test_binary_check() -> None:
    x = at(0, 1, 0.5)
    np.testing.assert_allclose(D.Bernoulli(at(0.2)).prob(x).array, [0.8, 0.2, 0.5])
    checked = D.Bernoulli(at(0.2), binary_check=True)
    np.testing.assert_allclose(checked.prob(x).array, [0.8, 0.2, 0])
    np.testing.assert_allclose(checked.log_prob(x).array, [np.log(0.8), np.log(0.2), -np.inf])
    np.testing.assert_array_equal(checked.log_prob(np.array([1])).array, [np.log(0.2)])


def test_values_that_are_all_possible() -> None:
    for d, count in ((D.Bernoulli(at(0.2, 0.7)), 2), (D.Categorical(P), 3), (D.OneHotCategorical(P), 3)):
        values = d.enumerate_support()
        assert values.shape == (count, 2, *d.event_shape)
        assert values.dtype == d.sample().dtype
        np.testing.assert_allclose(d.prob(values).array.sum(axis=0), [1, 1])
        assert d.enumerate_support(expand=False).shape == (count, 1, *d.event_shape)
    with pytest.raises(NotImplementedError, match='Normal does not implement enumerate_support'):
        D.Normal(at(0), at(1)).enumerate_support()
    assert D.Independent(D.Categorical(P), 0).enumerate_support().shape == (3, 2)
    with pytest.raises(NotImplementedError, match='too many combinations'):
        D.Independent(D.Categorical(P), 1).enumerate_support()


def test_independent() -> None:
    loc, scale = np.random.normal(size=(2, 3, 4)), np.random.uniform(1, 2, (2, 3, 4))
    base, x = D.Normal(loc, scale), np.random.normal(size=(5, 2, 3, 4))
    d = D.Independent(base)
    assert (d.batch_shape, d.event_shape, d.event_size, d.reinterpreted_batch_ndims) == ((2,), (3, 4), 12, 2)
    assert d.distribution is base
    np.testing.assert_allclose(d.log_prob(x).array, base.log_prob(x).array.sum(axis=(2, 3)))
    np.testing.assert_allclose(d.cdf(x).array, base.cdf(x).array.prod(axis=(2, 3)))
    np.testing.assert_allclose(d.survival_function(x).array, base.survival_function(x).array.prod(axis=(2, 3)))
    np.testing.assert_allclose(d.entropy.array, base.entropy.array.sum(axis=(1, 2)))
    assert (d.mean is base.mean, d.mode is base.mode, d.support) == (True, True, 'real')
    assert D.Independent(base, 0).log_prob(x).shape == x.shape
    assert D.Independent(D.Normal(np.array(0.0), np.array(1.0))).event_shape == ()


def test_covariance_of_independent_vectors() -> None:
    tril = np.tile(TRIL, (4, 1, 1, 1))
    d = D.Independent(D.MultivariateNormal(np.zeros((4, 3, 2)), scale_tril=tril))
    covariance = d.covariance.array
    assert covariance.shape == (4, 6, 6)
    for i in range(3):
        block = slice(2 * i, 2 * i + 2)
        np.testing.assert_allclose(covariance[0, block, block], TRIL[i] @ TRIL[i].T)
        covariance[0, block, block] = 0
    assert (covariance[0] == 0).all()


# --- for all ------------------------------------------------------------------------------------------------------
@every_row
@pytest.mark.parametrize('dtype', ['e', 'f', 'd'])
def test_dtypes(row: Row, dtype: str) -> None:
    d, wide = row.dist(dtype), row.make(**{n: v.astype(dtype).astype('d') for n, v in row.params.items()})
    x = row.values if row.discrete else row.values.astype(dtype)
    rtol = {'e': 2e-2, 'f': 2e-5, 'd': 0}[dtype]
    with np.errstate(over='ignore'):
        for member in [m for m in (*OF_VALUES, *MOMENTS) if row.has(m)]:
            y, reference = getattr(d, member), getattr(wide, member)
            if member in OF_VALUES:
                y, reference = y(x), reference(x.astype('d'))
            assert y.dtype == dtype
            np.testing.assert_allclose(y.array, reference.array.astype(dtype), rtol=rtol, atol=rtol, err_msg=member)


@every_row
def test_shapes_and_parameters(row: Row) -> None:
    d, empty = row.dist(), row.make(**{name: value[:0] for name, value in row.params.items()})
    batch, event = d.batch_shape, d.event_shape
    assert d.event_size == math.prod(event)
    assert all(isinstance(value, Variable) for value in d.params.values())
    assert isinstance(d.support, str)
    assert d.xp is np
    assert empty.batch_shape == (0, *batch[1:])
    assert empty.log_prob(row.values[:0]).shape == (0, *batch[1:])
    assert empty.sample(2).shape == (2, *empty.batch_shape, *event)
    assert empty.entropy.shape == empty.batch_shape
    more = np.stack([row.values] * 4)
    assert d.log_prob(more).shape == (4, *batch)
    np.testing.assert_allclose(d.perplexity(row.values).array, 1 / d.prob(row.values).array)


@every_row
def test_parameters_are_broadcast(row: Row) -> None:
    if len(row.params) == 1 or row.id in ('MultivariateNormal', 'Independent'):
        return
    first, second = row.params
    params = {first: row.params[first], second: row.params[second][:, None] + (6.0 if second == 'high' else 0.0)}
    d = row.make(**params)
    full = row.make(**{name: np.array(np.broadcast_to(value, (3, 3))) for name, value in params.items()})
    assert d.batch_shape == (3, 3)
    with np.errstate(divide='ignore'):
        np.testing.assert_allclose(d.log_prob(row.values).array, full.log_prob(row.values).array)
    assert d.sample(2).shape == (2, 3, 3)
    for member in ('mean', 'mode', *MOMENTS):
        assert getattr(d, member).shape == (3, 3)
        np.testing.assert_allclose(getattr(d, member).array, getattr(full, member).array)


@every_row
def test_variables_and_arrays_are_equivalent(row: Row) -> None:
    d = row.make(**{name: Variable(value) for name, value in row.params.items()})
    np.testing.assert_array_equal(d.log_prob(Variable(row.values)).array, row.dist().log_prob(row.values).array)


def test_properties_are_computed_once_for_each_mode() -> None:
    d = D.Normal(Variable(at(1)), Variable(at(2)))
    with chainer.no_backprop_mode():
        assert d.entropy.creator is None
    assert d.entropy.creator is not None
    assert d.entropy is d.entropy


def test_a_copy_is_independent_of_the_computed() -> None:
    import copy

    d = D.MultivariateNormal(Variable(at(0, 1)), scale_tril=TRIL[0])
    other = copy.copy(d)
    assert other is not d
    assert other.loc is d.loc
    np.testing.assert_array_equal(other.covariance.array, d.covariance.array)
