"""Divergences against integrals, cross entropies, and the registry."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest
from scipy import integrate

import minichainer as chainer
import minichainer.distributions as D
import minichainer.functions as F
from minichainer import distribution
from tests.distributions.rows import OF_NUMBERS, ROWS, Row, at

every_row = pytest.mark.parametrize('row', ROWS, ids=str)


def pair(row: Row, element: Any = slice(None)) -> tuple[Any, Any]:
    return tuple(
        row.make(**{n: np.array(v[element]) for n, v in given.items()}) for given in (row.params, row.others)
    )  # type: ignore[return-value]


def integral(row: Row, p: Any, q: Any, element: int) -> float:
    """The mean of log p - log q: a sum over values, or an integral over probabilities."""
    assert row.scipy is not None
    frozen = row.scipy(**{n: v[element] for n, v in row.params.items()})
    if row.discrete:
        values = np.arange(frozen.support()[0], min(frozen.support()[1], 3000) + 1.0)
        values = values[frozen.pmf(values) > 0]
        return float((frozen.pmf(values) * (p.log_prob(values).array - q.log_prob(values).array)).sum())

    def ratio(u: float) -> float:
        x = np.asarray(frozen.ppf(u))
        return float(p.log_prob(x).array - q.log_prob(x).array)

    halves = [integrate.quad(ratio, a, b, epsabs=1e-8, epsrel=1e-8, limit=500)[0] for a, b in ((0, 0.5), (0.5, 1))]
    return sum(halves)


@pytest.mark.parametrize('row', OF_NUMBERS, ids=str)
def test_it_is_the_integral(row: Row) -> None:
    whole = chainer.kl_divergence(*pair(row)).array
    for i in range(3):
        p, q = pair(row, i)
        assert whole[i] == pytest.approx(integral(row, p, q, i), rel=1e-6)


@every_row
def test_divergence_from_itself_is_zero(row: Row) -> None:
    p = row.dist()
    y = chainer.kl_divergence(p, p)
    assert y.shape == p.batch_shape
    np.testing.assert_allclose(y.array, 0, atol=1e-14)


@every_row
@pytest.mark.parametrize('dtype', ['e', 'f', 'd'])
@pytest.mark.parametrize('of', [chainer.kl_divergence, chainer.cross_entropy])
def test_dtypes(row: Row, dtype: str, of: Any) -> None:
    leaves = [{n: chainer.Variable(v.astype(dtype)) for n, v in given.items()} for given in (row.params, row.others)]
    p, q = (row.make(**given) for given in leaves)
    y = of(p, q)
    assert y.dtype == dtype
    F.sum(y).backward()
    slopes = [x.grad for given in leaves for x in given.values() if x.grad is not None]
    assert slopes and all(slope.dtype == dtype for slope in slopes)


@every_row
def test_cross_entropy(row: Row) -> None:
    p, q = pair(row)
    samples = p.sample(40000).array
    log_q = q.log_prob(samples).array
    error = 6 * log_q.std(axis=0) / np.sqrt(len(samples)) + 1e-9
    expected = chainer.cross_entropy(p, q).array
    assert (abs(expected + log_q.mean(axis=0)) < error)[np.isfinite(expected)].all()


def test_dirichlet_and_normal_vectors_by_samples() -> None:
    for row in ROWS:
        if row.id in ('Dirichlet', 'MultivariateNormal', 'Independent'):
            p, q = pair(row)
            x = p.sample(200000).array
            ratio = p.log_prob(x).array - q.log_prob(x).array
            error = 6 * ratio.std(axis=0) / np.sqrt(len(ratio))
            assert (abs(chainer.kl_divergence(p, q).array - ratio.mean(axis=0)) < error).all()


def _bregman(m: Any, k1: Any, k2: Any) -> Any:
    return m.loggamma(k2) - m.loggamma(k1) - (k2 - k1) * m.digamma(k1)


EXTREME = [
    ('Normal, close', D.Normal(at(0), at(1)), D.Normal(at(1e-9), at(1)), lambda m: m.mpf(1e-9) ** 2 / 2),
    ('Normal, far', D.Normal(at(0), at(1e-9)), D.Normal(at(1e6), at(1e9)),
     lambda m: 18 * m.log(10) + (m.mpf(10) ** -36 + m.mpf(10) ** -6 - 1) / 2),
    ('Exponential', D.Exponential(at(1e-9)), D.Exponential(at(1e9)), lambda m: m.mpf(10) ** 18 - 1 - 18 * m.log(10)),
    ('Poisson', D.Poisson(at(1e9)), D.Poisson(at(2e9)), lambda m: m.mpf(1e9) * (1 - m.log(2))),
    ('Cauchy, close', D.Cauchy(at(0), at(1)), D.Cauchy(at(1e-9), at(1)), lambda m: m.log1p(m.mpf(1e-9) ** 2 / 4)),
    ('Gamma', D.Gamma(at(1e8), at(1)), D.Gamma(at(1.001e8), at(1)),
     lambda m: _bregman(m, m.mpf(1e8), m.mpf(1.001e8))),
    ('Gamma, small', D.Gamma(at(1e-6), at(1)), D.Gamma(at(1e-3), at(1)),
     lambda m: _bregman(m, m.mpf(1e-6), m.mpf(1e-3))),
    ('Beta', D.Beta(at(1e8), at(2e8)), D.Beta(at(1.01e8), at(2e8)), lambda m: _bregman(m, m.mpf(1e8), m.mpf(1.01e8))
     - _bregman(m, m.mpf(3e8), m.mpf(3.01e8))),
    ('Bernoulli', D.Bernoulli(logit=at(-50)), D.Bernoulli(logit=at(-60)),
     lambda m: m.exp(-50) / (1 + m.exp(-50)) * 10 + m.log1p(m.exp(-60)) - m.log1p(m.exp(-50))),
]  # fmt: skip


@pytest.mark.parametrize(('p', 'q', 'exact'), [e[1:] for e in EXTREME], ids=[e[0] for e in EXTREME])
def test_extreme_parameters(p: Any, q: Any, exact: Any) -> None:
    with mpmath.workdps(60):
        np.testing.assert_allclose(chainer.kl_divergence(p, q).array, [float(exact(mpmath))], rtol=1e-9)


def test_excluded_values_give_infinity() -> None:
    kl = chainer.kl_divergence
    assert kl(D.Uniform(low=at(0), high=at(2)), D.Uniform(low=at(0), high=at(1))).array == np.inf
    assert kl(D.Pareto(at(1), at(2)), D.Pareto(at(2), at(2))).array == np.inf
    certain, even = at(0, 1), at(0.5, 0.5)
    for make in (D.Categorical, D.OneHotCategorical):
        assert kl(make(certain), make(even)).array == pytest.approx(np.log(2))
        assert kl(make(even), make(certain)).array == np.inf
        assert kl(make(certain), make(certain)).array == 0
    np.testing.assert_allclose(kl(D.Bernoulli(certain), D.Bernoulli(even)).array, np.log(2))
    assert (kl(D.Bernoulli(even), D.Bernoulli(certain)).array == np.inf).all()


@pytest.mark.parametrize('row', [row for row in ROWS if row.id != 'Independent'], ids=str)
@pytest.mark.parametrize('first', [True, False])
def test_batches_are_broadcast(row: Row, first: bool) -> None:
    p, q = pair(row)
    of_column, other = (row.params, q) if first else (row.others, p)
    column = row.make(**{n: v[:, None] for n, v in of_column.items()})
    y = chainer.kl_divergence(column, other) if first else chainer.kl_divergence(other, column)
    assert y.shape == p.batch_shape * 2
    np.testing.assert_allclose(y.array.diagonal(), chainer.kl_divergence(p, q).array, rtol=1e-12)


# --- the registry -------------------------------------------------------------------------------------------------
@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distribution, '_divergences', dict(distribution._divergences))


def test_users_functions_and_subclasses(registry: None) -> None:
    class Mine(D.Normal):
        pass

    p, q = Mine(at(0), at(1)), D.Normal(at(1), at(1))
    assert chainer.kl_divergence(p, q).array == pytest.approx(0.5)

    @chainer.register_kl(Mine, D.Normal)
    def own(p: Any, q: Any) -> int:
        return 42

    assert chainer.kl_divergence(p, q) == 42
    assert chainer.kl_divergence(q, q).array == 0
    assert own(p, q) == 42


def test_unknown_pairs() -> None:
    with pytest.raises(
        KeyError, match='no function is registered for Normal and Laplace; define one with the decorator'
    ):
        chainer.kl_divergence(D.Normal(at(0), at(1)), D.Laplace(at(0), at(1)))
    with pytest.raises(KeyError, match='int and int'):
        chainer.kl_divergence(1, 2)
    with pytest.raises(ValueError, match='same reinterpreted_batch_ndims expected, got 1 and 0'):
        chainer.kl_divergence(*[D.Independent(D.Normal(at(0, 1), at(1, 1)), n) for n in (1, 0)])
    with pytest.raises(ValueError, match='as many categories expected, got 2 and 3'):
        chainer.kl_divergence(D.Categorical(at(0.5, 0.5)), D.Categorical(at(0.5, 0.2, 0.3)))
