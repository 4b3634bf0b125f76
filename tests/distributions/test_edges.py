"""Values and slopes at the edge of the range of floats, against 120 digits: a table of functions and points.

A result may be off by some units of its last place, or by what a unit of the last place of each argument changes in
it; where that is more than the result has digits, the test says nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import mpmath
import numpy as np
import pytest

import minichainer as chainer
import minichainer.distributions as D
import minichainer.functions as F
from minichainer.variable import Variable

m = mpmath.mp
kl = chainer.kl_divergence
UNITS, DIGITS = 64, 120
Point = tuple[float, ...]


@dataclass(frozen=True)
class Case:
    """A function of numbers.

    Args:
        id: its name.
        ours: the function of Variables of one element.
        exact: the function of numbers of mpmath.
        points: arguments; those that a dtype does not have are left out for it.
        by: which arguments have slopes; all by default.
        vector: whether slopes are judged beside the largest of them.
    """

    id: str
    ours: Callable[..., Any]
    exact: Callable[..., Any]
    points: Sequence[Point]
    by: Sequence[int] | None = None
    vector: bool = False

    def __str__(self) -> str:
        return self.id


def grid(*axes: Sequence[float]) -> list[Point]:
    return list(product(*axes))


def scaled(scales: Sequence[float], *points: Point, over: Sequence[int] = (0, 1, 2)) -> list[Point]:
    """Points whose arguments of some numbers are multiplied by scales."""
    return [tuple(v * s if i in over else v for i, v in enumerate(p)) for s in scales for p in points]


def near(*points: Point) -> list[Point]:
    """Pairs of parameters that are nearly equal, or far apart."""
    ratios = (1.0, 1 + 2**-23, 1.001, 0.75, 30.0)
    return [(*p, *(v * r if i == len(p) - 1 else v for i, v in enumerate(p))) for p in points for r in ratios]


# --- what mpmath computes -----------------------------------------------------------------------------------------
def log_normal_of(x: Any, loc: Any, scale: Any) -> Any:
    return -(((x - loc) / scale) ** 2) / 2 - m.log(scale) - m.log(2 * m.pi) / 2


def log_gamma_of(x: Any, k: Any, theta: Any) -> Any:
    return (k - 1) * m.log(x) - x / theta - m.loggamma(k) - k * m.log(theta)


def log_beta(*alpha: Any) -> Any:
    return sum(map(m.loggamma, alpha)) - m.loggamma(sum(alpha))


def log_dirichlet_of(x: Sequence[Any], alpha: Sequence[Any]) -> Any:
    return sum((a - 1) * m.log(v) for a, v in zip(alpha, x, strict=True)) - log_beta(*alpha)


def dirichlet_kl(*parameters: Any) -> Any:
    half = len(parameters) // 2
    a, b = parameters[:half], parameters[half:]
    terms = sum((u - v) * (m.psi(0, u) - m.psi(0, sum(a))) for u, v in zip(a, b, strict=True))
    return log_beta(*b) - log_beta(*a) + terms


def gamma_kl(k1: Any, t1: Any, k2: Any, t2: Any) -> Any:
    shapes = (k1 - k2) * m.psi(0, k1) - m.loggamma(k1) + m.loggamma(k2)
    return shapes + k2 * m.log(t2 / t1) + k1 * (t1 / t2 - 1)


def log_poisson_of(x: Any, lam: Any) -> Any:
    return x * m.log(lam) - lam - m.loggamma(x + 1)


def entropy_to(p: Any, q: Any) -> Any:
    return p * m.log(p / q)


def softplus(x: Any) -> Any:
    return m.log1p(m.exp(x))


def logistic_kl(u: Any, v: Any) -> Any:
    p = 1 / (1 + m.exp(-u))
    return p * (softplus(-v) - softplus(-u)) + (1 - p) * (softplus(v) - softplus(u))


def softmax_kl(*logits: Any) -> Any:
    p, q = ([x - m.log(sum(map(m.exp, part))) for x in part] for part in (logits[:3], logits[3:]))
    return sum(m.exp(u) * (u - v) for u, v in zip(p, q, strict=True))


def cauchy_cdf(x: Any, loc: Any, scale: Any) -> Any:
    return m.atan2(scale, loc - x) / m.pi


def log_regularized(k: Any, x: Any, upper: bool) -> Any:
    below, above = (m.gammainc(k, *ends, regularized=True) for ends in ((0, x), (x, m.inf)))
    own, rest = (above, below) if upper else (below, above)
    return m.log(own) if own < rest else m.log1p(-rest)


def log_beta_cdf(x: Any, a: Any, b: Any) -> Any:
    own, rest = m.betainc(a, b, 0, x, regularized=True), m.betainc(b, a, 0, 1 - x, regularized=True)
    return m.log(own) if own < rest else m.log1p(-rest)


def log_normal_kl(loc1: Any, s1: Any, loc2: Any, s2: Any) -> Any:
    return m.log(s2 / s1) + (s1 * s1 + (loc1 - loc2) ** 2) / (2 * s2 * s2) - m.mpf(1) / 2


def gumbel_kl(loc1: Any, s1: Any, loc2: Any, s2: Any) -> Any:
    ratio, distance = s1 / s2, (loc1 - loc2) / s2
    return m.exp(m.loggamma(1 + ratio) - distance) - 1 + distance + m.euler * (ratio - 1) - m.log(ratio)


def laplace_kl(loc1: Any, s1: Any, loc2: Any, s2: Any) -> Any:
    d = abs(loc1 - loc2)
    return m.log(s2 / s1) + d / s2 + s1 * m.exp(-d / s1) / s2 - 1


def vector(*elements: Variable) -> Variable:
    return F.stack(elements, axis=-1)


def dirichlet_divergence(*a: Variable) -> Any:
    return kl(D.Dirichlet(vector(*a[:3])), D.Dirichlet(vector(*a[3:])))


# --- the table ----------------------------------------------------------------------------------------------------
HUGE = (1e-300, 1e-30, 1e-3, 1.0, 1e30, 1e300)
WIDE = (1e-30, 1e-3, 1.0, 1e3, 1e30)
SHAPES = (1e-30, 1e-3, 0.5, 1.0, 15.0, 17.0, 1e5, 1e8)
Z = ((0.0, 1.0, 0.7), (0.0, 1.0, -9.0), (2.0, 1.0, 2.25))
TAIL = grid((1.0,), (0.3, 2.0, 100.0), (1e-3, 1.0, 120.0, 800.0))
LOC_SCALES = scaled(WIDE, (0.0, 1.0, 0.0), (0.0, 1.0, 1e-3), (2.0, 1.0, -1.0))
LOC_SCALE_PAIRS = [
    (*p[:2], p[2], p[1] * r) for p in LOC_SCALES[::2] for r in (1.0, 1 + 2**-20, 1.25, 40.0) if p[0] or p[2] or r > 1
]

CASES = [
    Case('Normal.log_prob', lambda u, s, x: D.Normal(u, s).log_prob(x), lambda u, s, x: log_normal_of(x, u, s),
         scaled(HUGE, *Z)),
    Case('Normal.log_prob by log_scale', lambda u, s, x: D.Normal(u, log_scale=s).log_prob(x),
         lambda u, s, x: log_normal_of(x, u, m.exp(s)), [(0.0, -50.0, 1e-22), (0.0, 50.0, 1e21), (0.0, 3.0, 5.0)]),
    Case('Normal KL', lambda a, b, c, d: kl(D.Normal(a, b), D.Normal(c, d)), log_normal_kl, LOC_SCALE_PAIRS),
    Case('Normal KL by log_scale', lambda a, b: kl(D.Normal(a * 0, log_scale=a), D.Normal(a * 0, log_scale=b)),
         lambda a, b: log_normal_kl(0, m.exp(a), 0, m.exp(b)), [(1.0, 1.0 + 2**-20), (-40.0, -40.25), (0.5, 3.0)]),
    Case('LogNormal.log_prob', lambda u, s, x: D.LogNormal(u, s).log_prob(x),
         lambda u, s, x: log_normal_of(m.log(x), u, s) - m.log(x), grid((0.0, -3.0), (0.01, 1.0), (1e-30, 1.0, 1e3))),
    Case('LogNormal KL', lambda a, b, c, d: kl(D.LogNormal(a, b), D.LogNormal(c, d)), log_normal_kl,
         [(0.0, 1.0, 1e-3, 1.0), (3.0, 1.0, 3.0, 1.001)]),
    Case('Laplace.log_prob', lambda u, s, x: D.Laplace(u, s).log_prob(x),
         lambda u, s, x: -abs(x - u) / s - m.log(2 * s), scaled(HUGE, *Z)),
    Case('Laplace.cdf', lambda u, s, x: D.Laplace(u, s).cdf(x),
         lambda u, s, x: m.exp((x - u) / s) / 2 if x < u else 1 - m.exp((u - x) / s) / 2, scaled(WIDE, *Z)),
    Case('Laplace KL', lambda a, b, c, d: kl(D.Laplace(a, b), D.Laplace(c, d)), laplace_kl,
         [p for p in LOC_SCALE_PAIRS if p[0] != p[2]]),
    Case('Cauchy.log_prob', lambda u, s, x: D.Cauchy(u, s).log_prob(x),
         lambda u, s, x: -m.log(m.pi * s) - m.log1p(((x - u) / s) ** 2),
         scaled(HUGE, *Z) + grid((0.0,), (1.0,), (300.0, -300.0, 1e20, -1e20, 1e160, -1e160))),
    Case('Cauchy.cdf', lambda u, s, x: D.Cauchy(u, s).cdf(x), lambda u, s, x: cauchy_cdf(x, u, s),
         grid((0.0,), (1.0,), (300.0, -300.0, 1e17, -1e17))),
    Case('Cauchy.log_cdf', lambda u, s, x: D.Cauchy(u, s).log_cdf(x), lambda u, s, x: m.log(cauchy_cdf(x, u, s)),
         scaled(WIDE, *Z) + grid((0.0,), (1.0,), (300.0, -300.0, -1e20, -1e160))),
    Case('Cauchy.log_survival_function', lambda u, s, x: D.Cauchy(u, s).log_survival_function(x),
         lambda u, s, x: m.log(cauchy_cdf(-x, -u, s)), grid((0.0,), (1.0,), (300.0, -300.0, 1e20, 1e160))),
    Case('Cauchy KL', lambda a, b, c, d: kl(D.Cauchy(a, b), D.Cauchy(c, d)),
         lambda a, b, c, d: m.log1p(((b - d) ** 2 + (a - c) ** 2) / (4 * b * d)), LOC_SCALE_PAIRS),
    Case('Gumbel.prob', lambda u, s, x: D.Gumbel(u, s).prob(x),
         lambda u, s, x: m.exp((u - x) / s - m.exp((u - x) / s)) / s, grid((0.0,), (1.0,), (-4.0, 0.5, 30.0))),
    Case('Gumbel.log_survival_function', lambda u, s, x: D.Gumbel(u, s).log_survival_function(x),
         lambda u, s, x: m.log(-m.expm1(-m.exp((u - x) / s))), grid((0.0,), (1.0,), (-2.0, 0.5, 15.0, 90.0))),
    Case('Gumbel KL', lambda a, b, c, d: kl(D.Gumbel(a, b), D.Gumbel(c, d)), gumbel_kl,
         [(u * s, s, v * s, s * r) for s in (1e-3, 1.0, 1e3) for u, v in ((0, 0), (1, 0.75))
          for r in (1 + 2**-20, 1.001, 1.5)]),
    Case('Exponential.log_cdf', lambda a, x: D.Exponential(a).log_cdf(x), lambda a, x: m.log(-m.expm1(-a * x)),
         grid((1e-3, 1.0), (1e-30, 1e-3, 1.0, 60.0))),
    Case('Exponential KL', lambda a, b: kl(D.Exponential(a), D.Exponential(b)),
         lambda a, b: m.log(a / b) + b / a - 1, near(*[(s,) for s in HUGE[1:]])),
    Case('Pareto.log_prob', lambda s, a, x: D.Pareto(s, a).log_prob(x),
         lambda s, a, x: m.log(a) + a * m.log(s) - (a + 1) * m.log(x),
         [(s, a, s * r) for s in WIDE for a in (0.5, 1e3) for r in (1.001, 17.0)]),
    Case('Pareto.log_survival_function', lambda s, a, x: D.Pareto(s, a).log_survival_function(x),
         lambda s, a, x: a * m.log(s / x), [(s, 2.5, s * r) for s in WIDE for r in (1.001, 17.0)]),
    Case('Pareto KL', lambda s, a, t, b: kl(D.Pareto(s, a), D.Pareto(t, b)),
         lambda s, a, t, b: m.log(a / b) + b * m.log(s / t) + b / a - 1,
         [(s, a, s * q, a * r) for s in WIDE for a, q, r in ((2.0, 0.999, 1.0), (1e-3, 0.5, 1 + 2**-20))]),
    Case('Gamma.log_prob', lambda k, t, x: D.Gamma(k, t).log_prob(x), lambda k, t, x: log_gamma_of(x, k, t),
         [(k, t, k * t * r) for k in SHAPES for t in (1e-3, 1.0) for r in (0.98, 1.0, 5.0)]),
    Case('Gamma.log_cdf', lambda t, k, x: D.Gamma(k, t).log_cdf(x),
         lambda t, k, x: log_regularized(k, x / t, False), TAIL, (0, 2)),
    Case('Gamma.log_survival_function', lambda t, k, x: D.Gamma(k, t).log_survival_function(x),
         lambda t, k, x: log_regularized(k, x / t, True), TAIL, (0, 2)),
    Case('Gamma.entropy', lambda k, t: D.Gamma(k, t).entropy,
         lambda k, t: k + m.log(t) + m.loggamma(k) + (1 - k) * m.psi(0, k), grid(SHAPES, (3.7,))),
    Case('Gamma KL', lambda a, b, c, d: kl(D.Gamma(a, b), D.Gamma(c, d)), gamma_kl,
         [(k, 1.0, k * r, q) for k in SHAPES for r, q in ((1, 1 + 2**-20), (1.001, 1.0), (1.001, 0.999), (2, 0.5))]),
    Case('Chisquare.log_survival_function', lambda k, x: D.Chisquare(k).log_survival_function(x),
         lambda k, x: log_regularized(k / 2, x / 2, True), grid((1.0, 40.0), (1.0, 300.0, 1e3)), (1,)),
    Case('Chisquare KL', lambda a, b: kl(D.Chisquare(a), D.Chisquare(b)), lambda a, b: gamma_kl(a / 2, 2, b / 2, 2),
         near(*[(k,) for k in SHAPES])),
    Case('Beta.log_prob', lambda a, b, x: D.Beta(a, b).log_prob(x),
         lambda a, b, x: log_dirichlet_of((x, 1 - x), (a, b)),
         [(*p, x) for p in ((1e-3, 2.0), (1.0, 2.0), (20.0, 30.0), (1e5, 1e5), (0.5, 1e5)) for x in (1e-3, 0.5)]),
    Case('Beta.log_cdf', lambda a, b, x: D.Beta(a, b).log_cdf(x),
         lambda a, b, x: log_beta_cdf(x, a, b),
         grid((2.0, 50.0), (0.5, 50.0), (1e-3, 0.5, 0.99)), (2,)),
    Case('Beta.log_survival_function', lambda a, b, x: D.Beta(a, b).log_survival_function(x),
         lambda a, b, x: log_beta_cdf(1 - x, b, a),
         grid((0.5, 50.0), (2.0, 400.0), (1e-3, 0.75)), (2,)),
    Case('Beta.entropy', lambda a, b: D.Beta(a, b).entropy,
         lambda a, b: log_beta(a, b) - (a - 1) * m.psi(0, a) - (b - 1) * m.psi(0, b) + (a + b - 2) * m.psi(0, a + b),
         [(2.0, 2.0), (1e-3, 1.0), (1e8, 1e5)]),
    Case('Beta.variance', lambda a, b: D.Beta(a, b).variance, lambda a, b: a * b / (a + b) ** 2 / (a + b + 1),
         grid((1e-8, 1e-3, 1.0, 1e8), (1e-8, 1.0))),
    Case('Beta KL', lambda a, b, c, d: kl(D.Beta(a, b), D.Beta(c, d)), dirichlet_kl,
         near((2.0, 17.0), (1e-3, 1e-3), (1e5, 1e5)), vector=True),
    Case('Dirichlet.log_prob', lambda *a: D.Dirichlet(vector(*a)).log_prob(vector(*[x * 0 + v for x, v in zip(
        a, (0.25, 0.5, 0.25), strict=True)])), lambda *a: log_dirichlet_of((0.25, 0.5, 0.25), a),
         [(0.5, 2.0, 3.0), (1e-3, 2e-3, 1.0), (1e5, 2e5, 1e5)]),
    Case('Dirichlet.variance', lambda *a: D.Dirichlet(vector(*a)).variance[:, 2],
         lambda a, b, c: c * (a + b) / (a + b + c) ** 2 / (a + b + c + 1),
         [(1e-8, 1e-8, 1.0), (1e-8, 1e-8, 1e-8), (1.0, 2.0, 1e8)]),
    Case('Dirichlet KL', dirichlet_divergence, dirichlet_kl,
         [(*a, a[0] * r, a[1] * q, a[2]) for a in ((0.5, 2.0, 3.0), (1e-3, 1.0, 1e5), (1e5, 2e5, 3e5))
          for r, q in ((1.0, 1.001), (1 + 2**-20, 1.0), (5.0, 1.0))], vector=True),
    Case('Bernoulli.entropy', lambda p: D.Bernoulli(p).entropy,
         lambda p: -p * m.log(p) - (1 - p) * m.log1p(-p), [(1e-30,), (1e-3,), (0.5,), (0.999,)]),
    Case('Bernoulli KL', lambda p, q: kl(D.Bernoulli(p), D.Bernoulli(q)),
         lambda p, q: entropy_to(p, q) + entropy_to(1 - p, 1 - q),
         [(p, p * r) for p in (1e-30, 1e-3, 0.3, 0.5) for r in (1.0, 1 + 2**-20, 1.001, 0.5)] + [(0.999, 0.99)]),
    Case('Bernoulli KL by logit', lambda u, v: kl(D.Bernoulli(logit=u), D.Bernoulli(logit=v)), logistic_kl,
         [(3e-5, -3e-5), (1e-3, -1e-3), (5.0, 5.001), (-40.0, -40.5), (80.0, 60.0), (-80.0, 80.0), (3.0, -60.0)]),
    Case('Geometric KL', lambda p, q: kl(D.Geometric(p), D.Geometric(q)),
         lambda p, q: (entropy_to(p, q) + entropy_to(1 - p, 1 - q)) / p,
         [(p, p * r) for p in (1e-30, 1e-3, 0.5) for r in (1 + 2**-20, 1.001, 0.5)]),
    Case('Geometric.prob', lambda p, x: D.Geometric(p).prob(x), lambda p, x: p * (1 - p) ** (x - 1),
         grid((1e-3, 0.5, 0.999), (1.0, 2.0, 100.0)), (0,)),
    Case('Geometric.log_cdf', lambda p, x: D.Geometric(p).log_cdf(x), lambda p, x: m.log(1 - (1 - p) ** x),
         grid((1e-30, 1e-3, 0.5), (1.0, 17.0)), (0,)),
    Case('Poisson.prob', lambda a, x: D.Poisson(a).prob(x), lambda a, x: m.exp(log_poisson_of(x, a)),
         [(x * r, x) for x in (1.0, 10.0, 17.0, 1e3, 1e6) for r in (0.999, 1.0, 1.03)], (0,)),
    Case('Poisson.log_cdf', lambda a, x: D.Poisson(a).log_cdf(x), lambda a, x: log_regularized(x + 1, a, True),
         [(1e-3, 0.0), (1.0, 3.0), (300.0, 5.0), (900.0, 0.0)], (0,)),
    Case('Poisson.log_survival_function', lambda a, x: D.Poisson(a).log_survival_function(x),
         lambda a, x: log_regularized(x + 1, a, False), [(1e-3, 0.0), (1.0, 60.0), (1e-3, 200.0), (50.0, 3.0)], (0,)),
    Case('Poisson KL', lambda a, b: kl(D.Poisson(a), D.Poisson(b)), lambda a, b: entropy_to(a, b) - a + b,
         near(*[(s,) for s in HUGE[1:]])),
    Case('Categorical KL', lambda *a: kl(D.Categorical(vector(*a[:3])), D.Categorical(vector(*a[3:]))),
         lambda *a: sum(map(entropy_to, a[:3], a[3:])),
         [(0.2, 0.3, 0.5, 0.2001, 0.2999, 0.5), (1e-3, 0.3, 0.699, 1.001e-3, 0.3, 0.699),
          (1e-30, 0.5, 0.5, 1e-9, 0.25, 0.75)]),
    Case('Categorical KL by logit',
         lambda *a: kl(D.Categorical(logit=vector(*a[:3])), D.Categorical(logit=vector(*a[3:]))), softmax_kl,
         [(0.0, 1.0, 2.0, 0.0, 1.0, 2.001), (0.0, 1.0, 2.0, 5.0, 1.0, -20.0)]),
    Case('Uniform.mean', lambda a, b: D.Uniform(low=a, high=b).mean, lambda a, b: (a + b) / 2,
         [(-2e38, 2.5e38), (-1e308, 1.5e308), (-5e4, 6e4), (1.0, 1.0 + 2**-20)]),
    Case('gaussian_kl_divergence', lambda u, v: F.gaussian_kl_divergence(u, v, reduce='no'),
         lambda u, v: (u * u + m.exp(v) - v - 1) / 2,
         grid((0.0, 1e-3), (1e-7, 1e-4, -1e-4, 0.25, -0.75, 3.0, -80.0))),
]  # fmt: skip


# --- the comparison -----------------------------------------------------------------------------------------------
def values_and_slopes(case: Case, x: Sequence[Any]) -> list[Any]:
    """The exact value, and its derivatives by the arguments in ``case.by``."""
    results = [case.exact(*x)]
    for i in range(len(x)) if case.by is None else case.by:
        step = (abs(x[i]) or max(map(abs, x))) * m.mpf(10) ** -25
        ends = [case.exact(*x[:i], x[i] + sign * step, *x[i + 1 :]) for sign in (1, -1)]
        results.append((ends[0] - ends[1]) / (2 * step))
    return results


def expected(case: Case, arrays: Sequence[Any], eps: float) -> Iterator[tuple[Any, Any]]:
    """Each result, and what a unit of the last place of each argument changes in it."""
    x = [m.mpf(a.item()) for a in arrays]
    results = values_and_slopes(case, x)
    changes: list[Any] = [m.mpf(0)] * len(results)
    for i, v in enumerate(x):
        moved = values_and_slopes(case, [*x[:i], v * (1 + m.mpf(eps)), *x[i + 1 :]])
        changes = [c + abs(a - b) for c, a, b in zip(changes, moved, results, strict=True)]
    return zip(results, changes, strict=True)


def ours(case: Case, arrays: Sequence[Any]) -> list[Any]:
    variables = [Variable(a) for a in arrays]
    y = case.ours(*variables)
    by = [variables[i] for i in (range(len(variables)) if case.by is None else case.by)]
    slopes = chainer.grad([y], by)
    return [m.mpf(g.array.item()) if np.isfinite(g.array).all() else g.array.item() for g in (y, *slopes)]


def misses(case: Case, dtype: str) -> Iterator[str]:
    info = np.finfo(dtype)
    eps, largest, least = float(info.eps), float(info.max), float(info.tiny)
    for point in case.points:
        with np.errstate(over='ignore'):
            arrays = [np.array([v], dtype) for v in point]
        if not all(
            np.isfinite(a).all() and (abs(v) >= 2 * least or not v) for a, v in zip(arrays, point, strict=True)
        ):
            continue
        wanted = [*expected(case, arrays, eps)]
        beside = max(abs(right) for right, _ in wanted[1:]) if case.vector else 0
        for i, (got, (right, change)) in enumerate(zip(ours(case, arrays), wanted, strict=True)):
            allowed = UNITS * (eps * max(abs(right), least, beside if i else 0) + change)
            if abs(right) < largest / 2 and not (abs(got - right) <= allowed):  # NaN too
                name = f'slope {i - 1}' if i else 'value'
                yield f'{name} at {point}: {m.nstr(m.mpf(got), 8)}, right {m.nstr(right, 8)}'


every_dtype = pytest.mark.parametrize('dtype', ['e', 'f', 'd'])


@every_dtype
@pytest.mark.parametrize('case', CASES, ids=str)
def test_values_and_slopes(case: Case, dtype: str) -> None:
    """A few points of each function."""
    few = replace(case, points=case.points[:: max(len(case.points) // 2, 1)])
    with mpmath.workdps(DIGITS), np.errstate(all='ignore'):
        assert [*misses(few, dtype)] == []


@pytest.mark.slow
@every_dtype
@pytest.mark.parametrize('case', CASES, ids=str)
def test_values_and_slopes_at_all_points(case: Case, dtype: str) -> None:
    with mpmath.workdps(DIGITS), np.errstate(all='ignore'):
        assert [*misses(case, dtype)] == []


#: Where something is certain or underflows: a function of one number, its value and its slope.
LIMITS: dict[str, Any] = {
    'Geometric.prob, certain': (lambda p: D.Geometric(p).prob(np.array([1, 2, 3])), [1] * 3, [1, 0, 0], [1, -1, 0]),
    'Geometric.cdf, certain': (lambda p: D.Geometric(p).cdf(np.array([1, 2, 3])), [1] * 3, [1, 1, 1], [1, 0, 0]),
    'Poisson.prob of mean 0': (lambda a: D.Poisson(a).prob(np.array([0, 1, 2])), [0] * 3, [1, 0, 0], [-1, 1, 0]),
    'Poisson.log_prob of mean 0': (lambda a: D.Poisson(a).log_prob(np.array([0])), [0], [0], [-1]),
    'Poisson KL from mean 0': (lambda b: kl(D.Poisson(np.zeros_like(b.array)), D.Poisson(b)), [1], [1], [1]),
    'Bernoulli.log_prob, certain': (lambda p: D.Bernoulli(p).log_prob(np.array([0, 1])), [0, 1], [0, 0], [-1, 1]),
    'Uniform.stddev, reversed': (lambda a: D.Uniform(low=a, high=a - 3).stddev, [2], [3 / 12**0.5], [0]),
    **{
        f'Gumbel.{member}': (
            lambda x, member=member: getattr(D.Gumbel(np.zeros_like(x.array), np.ones_like(x.array)), member)(x),
            [-12, -90, -720, -1e4], [value] * 4, [0] * 4,
        )
        for member, value in (('prob', 0), ('cdf', 0), ('survival_function', 1), ('log_survival_function', 0))
    },
}  # fmt: skip


@every_dtype
@pytest.mark.parametrize('name', LIMITS)
def test_limits(name: str, dtype: str) -> None:
    function, start, value, slope = LIMITS[name]
    x = Variable(np.array(start, dtype))
    with np.errstate(all='ignore'):
        y = function(x)
        (gx,) = chainer.grad([y], [x], enable_double_backprop=True)
        (ggx,) = chainer.grad([gx], [x]) if gx.requires_grad else [gx]
    np.testing.assert_allclose(y.array, value, rtol=1e-3 if dtype == 'e' else 1e-6)
    np.testing.assert_allclose(gx.array, slope, atol=1e-3 if dtype == 'e' else 1e-6)
    if name.startswith('Gumbel'):
        np.testing.assert_array_equal(ggx.array, 0 if ggx is not gx else gx.array)


# --- float16, draws, mistakes --------------------------------------------------------------------------------------
def test_float16_is_rounded_once() -> None:
    """Intermediate results beyond the range of float16."""
    half = [np.array([v], 'e') for v in (1.0, 2.0, 0.5, -3.0, 0.01, 1e-3, 1e3)]
    one, two, middle, below, narrow, least, steep = half
    assert D.Beta(one, two).log_prob(middle).array == 0
    assert D.Beta(two, two).entropy.array == np.float16(-0.12509)
    assert D.LogNormal(below, narrow).log_prob(one).array == pytest.approx(-44977, rel=2e-3)
    assert D.Pareto(least, steep).log_prob(np.array([1.002e-3], 'e')).array == pytest.approx(11.9, rel=2e-3)
    p = Variable(np.array([0.25], 'e'))
    d = D.Bernoulli(p)
    assert d.p is p and d.mean is p and d.entropy.dtype == 'e'
    with chainer.no_backprop_mode():
        assert d.log_prob(one).creator is None
    (gp,) = chainer.grad([d.log_prob(one)], [p])
    assert gp.array == 4 and gp.dtype == 'e'


@pytest.mark.parametrize('dtype', ['e', 'f', 'd'])
@pytest.mark.parametrize('k', [1e-3, 1e-7])
def test_draws_of_small_shapes_are_possible(k: float, dtype: str) -> None:
    shape, one = np.full(3, k, dtype), np.ones(3, dtype)
    for d in (D.Gamma(shape, one), D.Gamma(shape, one / 100), D.Chisquare(shape), D.Beta(shape, shape)):
        x = d.sample(500)
        assert (x.array > 0).all() and np.isfinite(d.log_prob(x).array).all()
        assert not isinstance(d, D.Beta) or (x.array < 1).all()
    x = D.Dirichlet(shape).sample(500).array
    assert (x > 0).all() and not np.isnan(x).any()
    np.testing.assert_allclose(x.sum(axis=-1), 1, rtol=1e-2)
    np.testing.assert_allclose(x.mean(axis=0), 1 / 3, atol=0.1)


def test_draws_of_small_concentrations_have_the_distribution() -> None:
    alpha = np.array([0.05, 0.02, 2.0])
    samples, d = D.Dirichlet(alpha).sample(20000).array, D.Dirichlet(alpha)
    error = 6 * d.stddev.array / np.sqrt(20000)
    assert (abs(samples.mean(axis=0) - d.mean.array) < error).all()
    np.testing.assert_allclose(samples.var(axis=0), d.variance.array, rtol=0.1)
    # The logarithm of the smallest element has a mean of its own.
    expected = [float(mpmath.psi(0, a) - mpmath.psi(0, alpha.sum())) for a in alpha]
    np.testing.assert_allclose(np.log(samples).mean(axis=0), expected, rtol=0.05)


def test_divergence_of_different_numbers_of_categories() -> None:
    with pytest.raises(ValueError, match='as many categories expected, got 3 and 1'):
        kl(D.Dirichlet(np.ones(3)), D.Dirichlet(np.ones(1)))
