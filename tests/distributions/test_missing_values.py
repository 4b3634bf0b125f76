"""NaN and infinity as values of all distributions: no number is the answer to NaN, and NaN none to infinity."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minichainer.distributions as D
from minichainer.variable import Variable
from tests.distributions.rows import OF_NUMBERS, ROWS, Row, at

DENSITIES, PROBABILITIES = ('log_prob', 'prob'), ('cdf', 'survival_function', 'log_cdf', 'log_survival_function')


def row(id: str, make: Any, **params: Any) -> Row:
    return Row(id, make, params, {}, np.zeros(np.broadcast_shapes(*[p.shape for p in params.values()])))


#: Parameters at which formulas have a term that vanishes, or another branch.
MORE = [
    row('Gamma of several shapes', D.Gamma, k=at(0.3, 1.0, 2.0), theta=at(1.0, 2.0, 0.1)),
    row('Gamma of large shapes', D.Gamma, k=at(1.0, 17.0, 1e4), theta=at(1.0, 2.0, 0.1)),
    row('Chisquare of large shapes', D.Chisquare, k=at(1.0, 2.0, 4e4)),
    row('Exponential of one row', D.Gamma, k=at(1.0), theta=at(1.0)),
    row('Beta, uniform', D.Beta, a=at(1.0, 1.0, 2.0), b=at(1.0, 0.5, 1.0)),
    row('Beta of large exponents', D.Beta, a=at(1.0, 20.0, 1e4), b=at(1e3, 1.0, 1e4)),
    row('Pareto(1, 2)', D.Pareto, scale=at(1.0), alpha=at(2.0)),
    row('Geometric, certain', D.Geometric, p=at(1.0, 0.5)),
    row('Poisson of small means', D.Poisson, lam=at(0.0, 1e-20, 0.5, 1.0)),
    row('Bernoulli, checked', lambda p: D.Bernoulli(p, binary_check=True), p=at(0.2, 0.9)),
    row('Bernoulli, checked and certain', lambda p: D.Bernoulli(p, binary_check=True), p=at(0.0, 1.0)),
    row('Bernoulli.logit, checked', lambda p: D.Bernoulli(logit=p, binary_check=True), p=at(-1.0, np.inf)),
    row('Bernoulli, certain', D.Bernoulli, p=at(0.0, 1.0)),
    row('Dirichlet of ones', D.Dirichlet, alpha=at(1.0, 1.0, 1.0)),
    row('OneHotCategorical with an impossible one', D.OneHotCategorical, p=at(0.0, 0.3, 0.7)),
]
every_dtype = pytest.mark.parametrize('dtype', ['e', 'f', 'd'])


def answers(row: Row, member: str, value: float, dtype: str, mixed: bool = False) -> Any:
    x = np.full(row.values.shape, value, dtype)
    if mixed:  # beside a possible value
        x = np.stack([x, row.values.astype(dtype)])
    with np.errstate(all='ignore'):
        y = getattr(row.dist(dtype), member)(Variable(x)).array
    assert y.dtype == dtype
    return y[0] if mixed else y


def is_defined(row: Row, member: str) -> bool:
    """Labels that are not whole numbers raise an error; vectors have no distribution functions."""
    if row.id.startswith('Categorical') and member in DENSITIES:
        return False
    return row.has(member) and not (row.id.startswith(('Dirichlet', 'OneHot')) and member in PROBABILITIES)


CASES = [
    pytest.param(row, member, id=f'{row.id}-{member}')
    for row in ROWS + MORE
    for member in DENSITIES + PROBABILITIES
    if is_defined(row, member)
]


@every_dtype
@pytest.mark.parametrize(('row', 'member'), CASES)
def test_nan_stays_nan(row: Row, member: str, dtype: str) -> None:
    assert np.isnan(answers(row, member, np.nan, dtype)).all()
    assert np.isnan(answers(row, member, np.nan, dtype, mixed=True)).all()


AT_INFINITY = {
    'log_prob': (-np.inf, -np.inf), 'prob': (0, 0), 'cdf': (0, 1), 'survival_function': (1, 0),
    'log_cdf': (-np.inf, 0), 'log_survival_function': (0, -np.inf),
}  # fmt: skip


def is_bounded(row: Row, member: str) -> bool:
    """A Bernoulli density is linear unless values are checked; vectors beside the simplex are not looked for."""
    if row.id.startswith(('Dirichlet', 'OneHot')):
        return False
    is_linear = row.id.startswith('Bernoulli') and 'checked' not in row.id
    is_joint = row.id == 'Independent'
    return not (is_linear and member in DENSITIES) and not (is_joint and member == 'survival_function')


@every_dtype
@pytest.mark.parametrize('sign', [-1, 1])
@pytest.mark.parametrize(('row', 'member'), [case for case in CASES if is_bounded(*case.values)])
def test_infinity_is_the_limit(row: Row, member: str, sign: int, dtype: str) -> None:
    expected = AT_INFINITY[member][sign > 0]
    for mixed in (False, True):  # the sum of all probabilities is rounded
        np.testing.assert_allclose(answers(row, member, sign * np.inf, dtype, mixed), expected, rtol=1e-6)


@pytest.mark.parametrize('row', [row for row in OF_NUMBERS if row.has('icdf')], ids=str)
def test_quantiles_of_nan(row: Row) -> None:
    assert np.isnan(answers(row, 'icdf', np.nan, 'd')).all()


@pytest.mark.parametrize('id', ['MultivariateNormal', 'Independent'])
def test_nan_beside_infinity_stays_nan(id: str) -> None:
    (row,) = [row for row in ROWS if row.id == id]
    x = row.values.copy()
    x[0, :2] = np.nan, np.inf
    with np.errstate(all='ignore'):
        y = row.dist().log_prob(x).array
    assert np.isnan(y[0]) and np.isfinite(y[1:]).all()
