"""Samples: their distribution, shapes, dtypes, and the random numbers that they use."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

import minichainer.distributions as D
from tests.distributions.rows import OF_NUMBERS, ROWS, TRIL, P, Row, at

DRAWS = 20000
every_row = pytest.mark.parametrize('row', ROWS, ids=str)


@pytest.mark.parametrize('row', OF_NUMBERS, ids=str)
def test_numbers_have_the_distribution(row: Row) -> None:
    samples = row.dist().sample(DRAWS).array
    for i in range(3):
        assert row.scipy is not None
        frozen = row.scipy(**{name: value[i] for name, value in row.params.items()})
        if row.discrete:
            values, counts = np.unique(samples[:, i], return_counts=True)
            error = counts / DRAWS - frozen.pmf(values)
            assert (abs(error) < 5 * np.sqrt(frozen.pmf(values) / DRAWS) + 1e-3).all()
        else:
            assert stats.kstest(samples[:, i], frozen.cdf).pvalue > 1e-4


@every_row
def test_moments_of_samples(row: Row) -> None:
    d = row.dist()
    if not row.has('mean') or row.id in ('Cauchy', 'Pareto', 'LogNormal'):
        return
    samples = d.sample_n(DRAWS).array
    error = 6 * d.stddev.array / np.sqrt(DRAWS) + 1e-12
    assert (abs(samples.mean(axis=0) - d.mean.array) < error).all()
    np.testing.assert_allclose(samples.var(axis=0), d.variance.array, rtol=0.2)


def test_covariance_of_samples() -> None:
    for d in (
        D.MultivariateNormal(np.zeros((3, 2)), scale_tril=TRIL),
        D.Dirichlet(at(1, 2, 3)),
        D.OneHotCategorical(P),
    ):
        samples = d.sample(DRAWS).array
        centred = samples - samples.mean(axis=0)
        found = np.einsum('n...i,n...j->...ij', centred, centred) / DRAWS
        np.testing.assert_allclose(found, d.covariance.array, atol=0.05 * abs(found).max())


def test_labels_have_the_probabilities() -> None:
    for d in (D.Categorical(P), D.Categorical(logit=np.log(P) - 3)):
        labels = d.sample(DRAWS).array
        for i in range(2):
            np.testing.assert_allclose(np.bincount(labels[:, i]) / DRAWS, P[i], atol=0.02)


@every_row
@pytest.mark.parametrize('dtype', ['e', 'f', 'd'])
def test_shapes_and_dtypes(row: Row, dtype: str) -> None:
    d = row.dist(dtype)
    whole = (*d.batch_shape, *d.event_shape)
    is_int = row.id.startswith(('Bernoulli', 'Categorical'))
    for shape, expected in (((), ()), (4, (4,)), (np.int64(4), (4,)), ((2, 3), (2, 3)), ([2], (2,)), ((0,), (0,))):
        sample = d.sample(shape)
        assert sample.shape == (*expected, *whole)
        assert (sample.dtype.kind == 'i') if is_int else (sample.dtype == dtype)
        assert d.log_prob(sample).shape == (*expected, *d.batch_shape)
    assert d.sample_n(3).shape == (3, *whole)


@every_row
def test_samples_are_possible(row: Row) -> None:
    d = row.dist()
    assert np.isfinite(d.log_prob(d.sample(100)).array).all()


def test_labels_use_the_draws_of_choice() -> None:
    np.random.seed(3)
    expected = [np.random.choice(3, 50, p=p) for p in P]
    np.random.seed(3)
    np.testing.assert_array_equal(D.Categorical(P).sample(50).array.T, expected)


def test_dirichlet_uses_the_draws_of_numpy() -> None:
    alpha = np.array([[0.5, 1, 4], [3, 2, 1]])
    np.random.seed(3)
    expected = [np.random.dirichlet(a, 5) for a in alpha]
    np.random.seed(3)
    np.testing.assert_allclose(D.Dirichlet(alpha).sample(5).array.swapaxes(0, 1), expected)


BAD = [
    (lambda: D.Bernoulli(at(1.5)), 'Bernoulli: cannot draw samples: p < 0, p > 1'),
    (lambda: D.Gamma(at(-1), at(1)), 'Gamma: cannot draw samples: shape < 0'),
    (lambda: D.Beta(at(-1), at(1)), 'Beta: cannot draw samples: a <= 0'),
    (lambda: D.Geometric(at(0)), 'Geometric: cannot draw samples: p <= 0'),
    (lambda: D.Poisson(at(-1)), 'Poisson: cannot draw samples: lam < 0'),
    (lambda: D.Chisquare(at(-1)), 'Chisquare: cannot draw samples: df <= 0'),
    (lambda: D.Pareto(at(1), at(-1)), 'Pareto: cannot draw samples: a <= 0'),
    (lambda: D.Categorical(at(0.2, 0.2)), 'Categorical: cannot draw samples: .* sums along the last axis must be 1'),
    (lambda: D.OneHotCategorical(at(1.2, -0.2)), 'OneHotCategorical: .* must not be negative'),
    (lambda: D.Categorical(at(np.nan, 1)), 'Categorical: cannot draw'),
]


@pytest.mark.parametrize(('make', 'message'), BAD, ids=[m[:9] for _, m in BAD])
def test_parameters_out_of_the_domain(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make().sample()


def test_wrong_sample_shapes() -> None:
    d = D.Normal(at(0), at(1))
    for shape in ('a', 1.5, (2, 1.5), None):
        with pytest.raises(TypeError, match='Normal: sample_shape must be an int or a tuple of ints, got'):
            d.sample(shape)
    with pytest.raises(ValueError, match='Normal: sample_shape must not be negative, got -2'):
        d.sample(-2)
    with pytest.raises(TypeError, match='Normal: int expected as n'):
        d.sample_n((2,))
