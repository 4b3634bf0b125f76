"""Wrong arguments: what is raised, and what the message says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minichainer as chainer
import minichainer.distributions as D
from minichainer.utils.type_check import InvalidType
from minichainer.variable import Variable
from tests.distributions.rows import ROWS, P, Row, at

ONE = at(1)
WRONG = [
    (lambda: D.Normal(ONE), ValueError, 'Normal: either scale or log_scale must be given, and not both'),
    (lambda: D.Normal(ONE, ONE, log_scale=ONE), ValueError, 'Normal: either scale or log_scale'),
    (lambda: D.Normal(ONE, log_scales=ONE), TypeError, "got unexpected keyword argument.* 'log_scales'"),
    (
        lambda: D.Normal(0, 1),
        TypeError,
        'Normal: loc must be a Variable or a float array, got int; write numpy',
    ),
    (lambda: D.Normal(ONE, 'a'), TypeError, 'Normal: scale must be .* got str'),
    (lambda: D.Chisquare(None), TypeError, 'Chisquare: k must be .* got NoneType'),
    (lambda: D.Normal(np.array([1]), ONE), InvalidType, 'Normal .*loc.dtype of kind float.*int64'),
    (lambda: D.Normal(ONE, np.ones(1, 'f')), InvalidType, 'parameters of one dtype.*float64, float32'),
    (lambda: D.Normal(np.ones(2), np.ones(3)), InvalidType, r'can be broadcast together.*\(2,\), \(3,\)'),
    (lambda: D.Bernoulli(), ValueError, 'Bernoulli: either p or logit must be given, and not both'),
    (lambda: D.Bernoulli(ONE, ONE), ValueError, 'Bernoulli: either p or logit'),
    (lambda: D.Categorical(), ValueError, 'Categorical: either p or logit must be given, and not both'),
    (lambda: D.Categorical(P, logit=P), ValueError, 'Categorical: either p or logit'),
    (lambda: D.Categorical(np.array(1.0)), InvalidType, r'Categorical .*1 axes or more.*shape \(\)'),
    (lambda: D.Dirichlet(np.array(1.0)), InvalidType, r'Dirichlet .*shape \(\)'),
    (lambda: D.Uniform(), ValueError, 'Uniform: either low and high or loc and scale must be given, got nothing'),
    (lambda: D.Uniform(low=ONE), ValueError, 'Uniform: .* got low$'),
    (lambda: D.Uniform(low=ONE, scale=ONE), ValueError, 'Uniform: .* got low, scale'),
    (lambda: D.Uniform(low=ONE, high=ONE, loc=ONE, scale=ONE), ValueError, 'Uniform: .* got low, high, loc, scale'),
    (lambda: D.MultivariateNormal(ONE), ValueError, 'MultivariateNormal: scale_tril must be given'),
    (lambda: D.MultivariateNormal(np.array(1.0), scale_tril=np.eye(1)), InvalidType, 'MultivariateNormal .*1 axes'),
    (
        lambda: D.MultivariateNormal(ONE, scale_tril=np.eye(2)),
        InvalidType,
        r'\(..., 1, 1\) and dtype float64.*\(2, 2\)',
    ),
    (lambda: D.MultivariateNormal(ONE, scale_tril=np.eye(1, dtype='f')), InvalidType, 'dtype float64.*float32'),
    (lambda: D.MultivariateNormal(np.ones((2, 1)), scale_tril=np.ones((3, 1, 1))), InvalidType, 'broadcast together'),
    (lambda: D.Independent(3), TypeError, 'Independent: a distribution expected, got int'),
    (lambda: D.Independent(D.Normal), TypeError, 'Independent: a distribution expected, got property|got type'),
    (lambda: D.Independent(D.Normal(ONE, ONE), 2), ValueError, r'must be from 0 to 1, .* batch shape \(1,\); got 2'),
    (lambda: D.Independent(D.Normal(ONE, ONE), -1), ValueError, 'must be from 0 to 1.*got -1'),
    (lambda: D.Independent(D.Normal(ONE, ONE), 'a'), TypeError, "reinterpreted_batch_ndims must be an int, got 'a'"),
]


@pytest.mark.parametrize(('make', 'error', 'message'), WRONG)
def test_constructors(make: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match='(?s)' + message):
        make()


LABELS = [
    (np.array([3, 0]), IndexError, 'Categorical: labels from 0 to 2 expected, got 0 to 3'),
    (np.array([-1, 0]), IndexError, 'Categorical: labels from 0 to 2 expected, got -1 to 0'),
    (at(0.5, 1), InvalidType, 'labels of kind int.*float64 with fractions'),
    (np.array(['a', 'b']), InvalidType, 'labels of kind int.*<U1'),
    (np.array([1j, 1]), InvalidType, 'labels of kind int.*complex128'),
    ('cat', InvalidType, 'labels of kind int.*<U3'),
]


@pytest.mark.parametrize(('labels', 'error', 'message'), LABELS)
def test_labels_of_a_wrong_kind(labels: Any, error: Any, message: str) -> None:
    for d in (D.Categorical(P), D.Categorical(logit=P)):
        for member in ('log_prob', 'prob'):
            with pytest.raises(error, match='(?s)' + message):
                getattr(d, member)(labels)


def test_values_of_a_wrong_kind() -> None:
    d = D.Normal(ONE, ONE)
    with pytest.raises(InvalidType, match=r'(?s)x of numbers.*<U1'):
        d.log_prob(np.array(['a']))
    with pytest.raises(TypeError, match='Normal: number expected as x, got None'):
        d.log_prob(None)
    with pytest.raises(InvalidType, match='float32'):
        d.log_prob(Variable(np.ones(1, 'f')))


def test_values_may_be_numbers_ints_and_arrays_of_another_dtype() -> None:
    d = D.Normal(np.zeros(2, 'f'), np.ones(2, 'f'))
    reference = d.log_prob(np.ones(2, 'f')).array
    for x in (1, 1.0, np.float64(1), np.ones(2), np.ones(2, int), Variable(np.ones(2, int)), np.ones(2, bool)):
        y = d.log_prob(x)
        assert y.dtype == 'f'
        np.testing.assert_array_equal(y.array, reference)


@pytest.mark.parametrize(
    'make',
    [lambda s: D.Normal(ONE, s), lambda s: D.LogNormal(ONE, s), lambda s: D.Laplace(ONE, s),
     lambda s: D.Cauchy(ONE, s), lambda s: D.Gumbel(ONE, s), D.Exponential, lambda s: D.Pareto(ONE, s)],
)  # fmt: skip
def test_negative_scales_give_nan(make: Any) -> None:
    """As in Chainer: values of parameters are not looked at, because that would wait for a GPU."""
    with np.errstate(invalid='ignore'):
        assert np.isnan(make(at(-1)).log_prob(at(2)).array).all()


@pytest.mark.parametrize('row', ROWS, ids=str)
def test_what_is_missing_is_named(row: Row) -> None:
    d = row.dist()
    for member in row.lacks:
        with pytest.raises(RuntimeError, match=f'{type(d).__name__}(: the distribution| does not implement)'):
            _used(d, member)


def _used(d: Any, member: str) -> None:
    value = getattr(d, member)
    if callable(value):
        value(at(0.5))


def test_members_of_the_base_class() -> None:
    d = chainer.Distribution()
    for member in ('batch_shape', 'event_shape', 'params', 'support', 'mean', 'mode', 'variance', 'entropy', 'xp'):
        with pytest.raises(NotImplementedError, match='Distribution does not implement (params|' + member + ')'):
            getattr(d, member)
    for member in (
        'log_prob',
        'prob',
        'cdf',
        'log_cdf',
        'survival_function',
        'icdf',
        'perplexity',
        'sample',
        'sample_n',
    ):
        with pytest.raises(NotImplementedError, match='Distribution does not implement'):
            getattr(d, member)(1)


def test_a_user_defines_little() -> None:
    class Logistic(chainer.Distribution):
        batch_shape = event_shape = ()
        variance = property(lambda self: Variable(np.array(np.pi**2 / 3)))  # type: ignore[assignment]

        def cdf(self, x: Any) -> Variable:
            return chainer.functions.sigmoid(x)

        def log_prob(self, x: Any) -> Variable:
            return chainer.functions.log(self.cdf(x) * self.cdf(-x))

        def sample_n(self, n: int) -> Variable:
            u = np.random.uniform(size=n)
            return Variable(np.log(u / (1 - u)))

    d, x = Logistic(), at(0, 1)
    s = 1 / (1 + np.exp(-x))
    for member, expected in (
        ('prob', s * (1 - s)), ('perplexity', 1 / (s * (1 - s))), ('survival_function', 1 - s),
        ('log_cdf', np.log(s)), ('log_survival_function', np.log(1 - s)),
    ):  # fmt: skip
        np.testing.assert_allclose(getattr(d, member)(x).array, expected)
    assert d.sample((2, 3)).shape == (2, 3)
    assert d.sample().shape == ()
    assert d.stddev.array == pytest.approx(np.pi / np.sqrt(3))
    assert d.covariance.array == d.variance.array


def test_covariances_of_vectors_are_not_variances() -> None:
    class Vectors(chainer.Distribution):
        event_shape = (2,)

    with pytest.raises(NotImplementedError, match='Vectors does not implement covariance'):
        _ = Vectors().covariance


def test_arrays_are_not_changed(xp: Any) -> None:
    p = xp.asarray(P)
    d = D.Categorical(p)
    x = xp.asarray(np.array([0, 1]))
    d.log_prob(x)
    d.sample(3)
    loc = xp.asarray(at(0, 1))
    normal = D.Normal(loc, loc + 1)
    normal.sample(2)
    normal.log_cdf(loc)
    normal.log_prob(loc)
    np.testing.assert_array_equal(chainer.backends.cuda.to_cpu(loc), [0, 1])
