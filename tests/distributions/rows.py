"""The table of distributions: parameters, values, SciPy's distribution, and what is differentiable."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import stats

import minichainer.distributions as D

TRIL = np.array([[[1.5, 0.0], [0.4, 0.7]], [[0.6, 0.0], [-1.1, 2.0]], [[1.0, 0.0], [0.3, 0.9]]])
P = np.array([[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]])


def at(*values: float) -> np.ndarray:
    return np.array(values, np.float64)


@dataclass(frozen=True)
class Row:
    """A distribution with parameters, and what is expected of it.

    Args:
        id: name of the row.
        make: makes the distribution of keyword arguments.
        params: its parameters, by name.
        others: parameters of a second distribution, for divergences.
        values: possible values, one per element of the batch; those of continuous distributions are no kinks.
        scipy: SciPy's distribution of the same parameters, one per element or vectorized; None if there is none.
        far: further values, for one element of the batch, where probabilities are extreme; and impossible values.
        by_sample: parameters with respect to which samples are differentiable.
        by_cdf: parameters with respect to which distribution functions are differentiable.
        lacks: members that raise NotImplementedError.
        discrete: whether the values are whole numbers.
    """

    id: str
    make: Callable[..., Any]
    params: dict[str, np.ndarray]
    others: dict[str, np.ndarray]
    values: np.ndarray
    scipy: Callable[..., Any] | None = None
    far: np.ndarray = field(default_factory=lambda: at())
    by_sample: tuple[str, ...] = ()
    by_cdf: tuple[str, ...] | None = None
    lacks: tuple[str, ...] = ()
    discrete: bool = False

    def __str__(self) -> str:
        return self.id

    def dist(self, dtype: Any = np.float64) -> Any:
        return self.make(**{name: value.astype(dtype) for name, value in self.params.items()})

    def has(self, member: str) -> bool:
        return member not in self.lacks


LOC, SCALE = at(0.3, -1.2, 4.0), at(0.7, 1.5, 3.0)
REAL = dict(
    params=dict(loc=LOC, scale=SCALE), others=dict(loc=at(0.1, 0.8, 3.0), scale=at(1.1, 0.6, 3.1)),
    values=at(0.9, -3.0, 5.5), by_sample=('loc', 'scale'),
)  # fmt: skip
FAR = at(-1e4, -300.0, -40.0, -9.0, -1.0, 0.0, 1.0, 9.0, 40.0, 300.0, 1e4)
NO_CDF = ('cdf', 'log_cdf', 'survival_function', 'log_survival_function', 'icdf')
LABELS = ('icdf', 'mean', 'variance', 'stddev', 'covariance')

ROWS = [
    Row('Normal', D.Normal, scipy=lambda loc, scale: stats.norm(loc, scale), far=FAR, **REAL),
    Row(
        'Normal.log_scale', D.Normal, dict(loc=LOC, log_scale=np.log(SCALE)),
        dict(loc=at(0.1, 0.8, 3.0), log_scale=at(0.1, -0.5, 1.2)), at(0.9, -3.0, 5.5),
        lambda loc, log_scale: stats.norm(loc, np.exp(log_scale)), FAR, ('loc', 'log_scale'),
    ),
    Row(
        'LogNormal', D.LogNormal, dict(mu=LOC / 3, sigma=SCALE), dict(mu=at(0.1, 0.8, 1.0), sigma=at(1.1, 0.6, 2.0)),
        at(0.9, 2.0, 5.5), lambda mu, sigma: stats.lognorm(sigma, scale=np.exp(mu)),
        at(-1.0, 0.0, 1e-300, 1e-20, 1e-3, 1.0, 1e3, 1e20, 1e300), ('mu', 'sigma'),
    ),
    Row('Laplace', D.Laplace, scipy=lambda loc, scale: stats.laplace(loc, scale), far=FAR, **REAL),
    Row('Cauchy', D.Cauchy, scipy=lambda loc, scale: stats.cauchy(loc, scale), far=FAR * 1e150, **REAL),
    Row('Gumbel', D.Gumbel, scipy=lambda loc, scale: stats.gumbel_r(loc, scale), far=at(-9.0, *FAR[4:]), **REAL),
    Row(
        'Exponential', D.Exponential, dict(lam=at(0.3, 1.0, 5.0)), dict(lam=at(1.3, 0.9, 2.0)), at(0.9, 2.0, 0.1),
        lambda lam: stats.expon(scale=1 / lam), at(-1.0, 1e-300, 1e-20, 1e-3, 1.0, 30.0, 1e4), ('lam',),
    ),
    Row(
        'Pareto', D.Pareto, dict(scale=at(0.5, 1.0, 2.0), alpha=at(0.8, 1.9, 4.5)),
        dict(scale=at(0.3, 0.9, 2.0), alpha=at(1.1, 1.5, 3.0)), at(0.9, 2.0, 2.1),
        lambda scale, alpha: stats.pareto(alpha, scale=scale), at(-1.0, 0.0, 0.4, 0.5, 0.500001, 1.0, 30.0, 1e100),
        ('scale',),
    ),
    Row(
        'Gamma', D.Gamma, dict(k=at(0.6, 1.5, 20.0), theta=SCALE),
        dict(k=at(1.1, 1.4, 30.0), theta=at(1.1, 0.6, 2.0)), at(0.9, 2.0, 50.0),
        lambda k, theta: stats.gamma(k, scale=theta), at(-1.0, 1e-300, 1e-20, 1e-3, 1.0, 30.0, 400.0),
        ('theta',), ('theta',), ('icdf',),
    ),
    Row(
        'Chisquare', D.Chisquare, dict(k=at(0.6, 3.0, 40.0)), dict(k=at(1.1, 1.4, 30.0)), at(0.9, 2.0, 50.0),
        lambda k: stats.chi2(k), at(-1.0, 1e-300, 1e-20, 1e-3, 1.0, 30.0, 400.0), (), (), ('icdf',),
    ),
    Row(
        'Beta', D.Beta, dict(a=at(0.6, 1.5, 20.0), b=at(0.7, 3.0, 30.0)),
        dict(a=at(1.1, 1.4, 30.0), b=at(1.1, 0.6, 2.0)),
        at(0.9, 0.2, 0.4), lambda a, b: stats.beta(a, b), at(-1.0, 1e-300, 1e-20, 1e-3, 0.5, 0.999999, 2.0), (), (),
        ('icdf',),
    ),
    Row(
        'Uniform', D.Uniform, dict(low=LOC, high=LOC + SCALE), dict(low=LOC - 1, high=LOC + SCALE + 0.5),
        LOC + 0.3 * SCALE, lambda low, high: stats.uniform(low, high - low), at(-1.0, 0.31, 0.5, 0.99, 2.0),
        ('low', 'high'),
    ),
    Row(
        'Uniform.loc_scale', D.Uniform, dict(loc=LOC, scale=SCALE), dict(loc=LOC - 1, scale=SCALE + 1.5),
        LOC + 0.3 * SCALE, lambda loc, scale: stats.uniform(loc, scale), at(-1.0, 0.31, 0.5, 0.99, 2.0),
        ('loc', 'scale'),
    ),
    Row(
        'Bernoulli', D.Bernoulli, dict(p=at(0.2, 0.5, 0.9)), dict(p=at(0.3, 0.1, 0.8)), at(0, 1, 1),
        lambda p: stats.bernoulli(p), at(0.0, 1.0), discrete=True,
    ),
    Row(
        'Bernoulli.logit', D.Bernoulli, dict(logit=at(-2.0, 0.3, 3.0)), dict(logit=at(-1.0, 0.1, 5.0)), at(0, 1, 1),
        lambda logit: stats.bernoulli(1 / (1 + np.exp(-logit))), at(0.0, 1.0), discrete=True,
    ),
    Row(
        'Geometric', D.Geometric, dict(p=at(0.01, 0.5, 0.9)), dict(p=at(0.3, 0.1, 0.8)), at(3, 1, 2),
        lambda p: stats.geom(p), at(-1, 0, 1, 2, 100, 5000), discrete=True,
    ),
    Row(
        'Poisson', D.Poisson, dict(lam=at(0.3, 4.0, 90.0)), dict(lam=at(0.5, 3.0, 100.0)), at(0, 3, 95),
        lambda lam: stats.poisson(lam), at(-1, 0, 1, 2, 20, 100), discrete=True, lacks=('icdf',),
    ),
    Row(
        'Categorical', D.Categorical, dict(p=P), dict(p=P[:, ::-1].copy()), np.array([2, 0]),
        discrete=True, lacks=LABELS,
    ),
    Row(
        'Categorical.logit', D.Categorical, dict(logit=np.log(P) + 1.5), dict(logit=P), np.array([2, 0]),
        discrete=True, lacks=LABELS,
    ),
    Row(
        'OneHotCategorical', D.OneHotCategorical, dict(p=P), dict(p=P[:, ::-1].copy()), np.eye(3)[[2, 0]],
        discrete=True, lacks=NO_CDF,
    ),
    Row(
        'Dirichlet', D.Dirichlet, dict(alpha=at(0.6, 1.5, 3.0, 40.0, 50.0, 60.0).reshape(2, 3)),
        dict(alpha=at(1.6, 0.5, 4.0, 44.0, 52.0, 60.0).reshape(2, 3)), P, lacks=NO_CDF,
    ),
    Row(
        'MultivariateNormal', D.MultivariateNormal, dict(loc=at(0, 1, 2, 3, 4, 5).reshape(3, 2), scale_tril=TRIL),
        dict(loc=at(1, 1, 2, 1, 3, 5).reshape(3, 2), scale_tril=TRIL[::-1].copy()),
        at(1, 2, 3, 4, 5, 6).reshape(3, 2), by_sample=('loc', 'scale_tril'), lacks=NO_CDF,
    ),
    Row(
        'Independent', lambda loc, scale: D.Independent(D.Normal(loc, scale)),
        dict(loc=LOC.reshape(1, 3) + at(0, 1).reshape(2, 1), scale=SCALE.reshape(1, 3) * at(1, 2).reshape(2, 1)),
        dict(loc=np.zeros((2, 3)), scale=np.ones((2, 3))), at(1, 2, 3, 4, 5, 6).reshape(2, 3),
        by_sample=('loc', 'scale'), lacks=('icdf',),
    ),
]  # fmt: skip
OF_NUMBERS = [row for row in ROWS if row.scipy]
