"""What ``log_prob`` of a distribution costs, in proportion to the same formula written with functions.

    python benchmarks/distributions.py [--rounds 40] [--json FILE]

One thread, pinned to one core where the system can do that. The two take turns within each round, and the ratio is
that of the round; medians over the rounds, with the range of the middle half. Below 1 the distribution is faster.
`made` also makes the distribution, `backward` also differentiates by values and parameters.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import time
from collections.abc import Callable
from typing import Any

for _name in ('OPENBLAS_NUM_THREADS', 'OMP_NUM_THREADS', 'MKL_NUM_THREADS'):
    os.environ[_name] = '1'

import numpy as np  # noqa: E402

import minichainer as chainer  # noqa: E402
import minichainer.distributions as D  # noqa: E402
import minichainer.functions as F  # noqa: E402

HALF_LOG_2_PI = 0.5 * math.log(2 * math.pi)
SIZES = {'4': (4,), '64 x 100': (64, 100)}
#: At least this long per timing.
SECONDS = 0.002


def normal(x: Any, loc: Any, scale: Any) -> Any:
    return -0.5 * F.square((x - loc) / scale) - F.log(scale) - HALF_LOG_2_PI


def normal_by_log(x: Any, loc: Any, log_scale: Any) -> Any:
    return -0.5 * F.square((x - loc) * F.exp(-log_scale)) - log_scale - HALF_LOG_2_PI


def log_normal(x: Any, mu: Any, sigma: Any) -> Any:
    log_x = F.log(x)
    return -0.5 * F.square((log_x - mu) / sigma) - F.log(sigma) - log_x - HALF_LOG_2_PI


def laplace(x: Any, loc: Any, scale: Any) -> Any:
    return -F.absolute(x - loc) / scale - F.log(2 * scale)


def cauchy(x: Any, loc: Any, scale: Any) -> Any:
    return -F.log1p(F.square((x - loc) / scale)) - F.log(math.pi * scale)


def gumbel(x: Any, loc: Any, scale: Any) -> Any:
    z = (x - loc) / scale
    return -z - F.exp(-z) - F.log(scale)


def exponential(x: Any, lam: Any) -> Any:
    return F.log(lam) - lam * x


def pareto(x: Any, scale: Any, alpha: Any) -> Any:
    return F.log(alpha) + alpha * F.log(scale) - (alpha + 1) * F.log(x)


def uniform(x: Any, low: Any, high: Any) -> Any:
    inside = (x.array >= low.array) & (x.array <= high.array)
    return F.where(inside, -F.log(high - low), np.full_like(x.array, -math.inf))


def gamma(x: Any, k: Any, theta: Any) -> Any:
    return (k - 1) * F.log(x) - x / theta - F.lgamma(k) - k * F.log(theta)


def chisquare(x: Any, k: Any) -> Any:
    half = 0.5 * k
    return (half - 1) * F.log(x) - 0.5 * x - F.lgamma(half) - half * math.log(2)


def beta(x: Any, a: Any, b: Any) -> Any:
    return (a - 1) * F.log(x) + (b - 1) * F.log1p(-x) + F.lgamma(a + b) - F.lgamma(a) - F.lgamma(b)


def dirichlet(x: Any, alpha: Any) -> Any:
    return F.sum((alpha - 1) * F.log(x), -1) + F.lgamma(F.sum(alpha, -1)) - F.sum(F.lgamma(alpha), -1)


def bernoulli(x: Any, p: Any) -> Any:
    return x * F.log(p) + (1 - x) * F.log1p(-p)


def bernoulli_by_logit(x: Any, logit: Any) -> Any:
    return x * logit - F.softplus(logit)


def geometric(x: Any, p: Any) -> Any:
    return (x - 1) * F.log1p(-p) + F.log(p)


def poisson(x: Any, lam: Any) -> Any:
    return x * F.log(lam) - lam - F.lgamma(x + 1)


def categorical(x: Any, p: Any) -> Any:
    return F.select_item(F.log(p), x)


def one_hot(x: Any, p: Any) -> Any:
    return F.sum(x * F.log(p), -1)


def multivariate_normal(x: Any, loc: Any, tril: Any) -> Any:
    z = F.squeeze(F.matmul(F.inv(tril), F.expand_dims(x - loc, -1)), -1)
    log_determinant = F.sum(F.log(F.diagonal(tril)))
    return -0.5 * F.sum(F.square(z), -1) - log_determinant - z.shape[-1] * HALF_LOG_2_PI


def independent(x: Any, loc: Any, scale: Any) -> Any:
    return F.sum(normal(x, loc, scale), -1)


class Data:
    """Parameters and values of a shape."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape = shape
        self._rng = np.random.default_rng(0)

    def real(self) -> Any:
        return self._rng.normal(size=self.shape).astype('f')

    def positive(self) -> Any:
        return self._rng.uniform(0.5, 2, self.shape).astype('f')

    def unit(self) -> Any:
        return self._rng.uniform(0.1, 0.9, self.shape).astype('f')

    def low(self) -> Any:
        return self.unit() - 1

    def high(self) -> Any:
        return self.unit() + 1

    def bits(self) -> Any:
        return self._rng.integers(0, 2, self.shape).astype('f')

    def counts(self) -> Any:
        return self._rng.integers(1, 5, self.shape).astype('f')

    def simplex(self) -> Any:
        rows = self.positive() if len(self.shape) == 2 else self.positive().reshape(1, -1)
        return rows / rows.sum(axis=-1, keepdims=True)

    def labels(self) -> Any:
        return self._rng.integers(0, self.shape[-1], len(self.simplex()))

    def one_hot(self) -> Any:
        return np.eye(self.shape[-1], dtype='f')[self.labels()]

    def tril(self) -> Any:
        size = self.shape[-1]
        return (np.tril(self._rng.normal(size=(size, size))) * 0.1 + np.eye(size)).astype('f')


#: Name: the distribution of its parameters, the formula, the value, the parameters; whether values have a gradient.
CASES: dict[str, tuple[Callable[..., Any], Callable[..., Any], str, str, bool]] = {
    'Normal': (D.Normal, normal, 'real', 'real positive', True),
    'Normal, log_scale': (lambda m, s: D.Normal(m, log_scale=s), normal_by_log, 'real', 'real real', True),
    'LogNormal': (D.LogNormal, log_normal, 'positive', 'real positive', True),
    'Laplace': (D.Laplace, laplace, 'real', 'real positive', True),
    'Cauchy': (D.Cauchy, cauchy, 'real', 'real positive', True),
    'Gumbel': (D.Gumbel, gumbel, 'real', 'real positive', True),
    'Exponential': (D.Exponential, exponential, 'positive', 'positive', True),
    'Pareto': (lambda s, a: D.Pareto(s, a), pareto, 'counts', 'unit positive', True),
    'Uniform': (lambda a, b: D.Uniform(low=a, high=b), uniform, 'unit', 'low high', False),
    'Gamma': (D.Gamma, gamma, 'positive', 'positive positive', True),
    'Chisquare': (D.Chisquare, chisquare, 'positive', 'positive', True),
    'Beta': (D.Beta, beta, 'unit', 'positive positive', True),
    'Dirichlet': (D.Dirichlet, dirichlet, 'simplex', 'simplex', True),
    'Bernoulli': (D.Bernoulli, bernoulli, 'bits', 'unit', False),
    'Bernoulli, logit': (lambda y: D.Bernoulli(logit=y), bernoulli_by_logit, 'bits', 'real', False),
    'Geometric': (D.Geometric, geometric, 'counts', 'unit', False),
    'Poisson': (D.Poisson, poisson, 'counts', 'positive', False),
    'Categorical': (D.Categorical, categorical, 'labels', 'simplex', False),
    'OneHotCategorical': (D.OneHotCategorical, one_hot, 'one_hot', 'simplex', False),
    'MultivariateNormal': (
        lambda m, t: D.MultivariateNormal(m, scale_tril=t), multivariate_normal, 'real', 'real tril', True,
    ),
    'Independent': (lambda m, s: D.Independent(D.Normal(m, s)), independent, 'rows', 'rows rows_positive', True),
}  # fmt: skip


def array_of(data: Data, kind: str) -> Any:
    if kind.startswith('rows'):
        array = data.positive() if kind.endswith('positive') else data.real()
        return array if array.ndim == 2 else array[None]
    return getattr(data, kind)()


def sides(name: str, shape: tuple[int, ...], how: str) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """Functions that evaluate the distribution's method, and the formula."""
    make, formula, value, kinds, has_gradient = CASES[name]
    data = Data(shape)
    x = array_of(data, value)
    params = [chainer.Variable(array_of(data, kind)) for kind in kinds.split()]
    value = x if value == 'labels' else chainer.Variable(x, requires_grad=has_gradient)
    d = make(*params)
    gy = np.ones_like(d.log_prob(value).array)

    def differentiate(y: Any) -> None:
        y.grad = gy
        y.backward()

    if how == 'log_prob':
        return lambda: d.log_prob(value), lambda: formula(value, *params)
    if how == 'made':
        return lambda: make(*params).log_prob(value), lambda: formula(value, *params)
    return lambda: differentiate(make(*params).log_prob(value)), lambda: differentiate(formula(value, *params))


def seconds(function: Callable[[], Any], repeats: int) -> float:
    start = time.perf_counter()
    for _ in range(repeats):
        function()
    return (time.perf_counter() - start) / repeats


def measured(pair: tuple[Callable[[], Any], Callable[[], Any]], rounds: int) -> tuple[float, list[float]]:
    """Microseconds of the distribution, and quartiles of the ratios."""
    for function in pair:
        function()
    repeats = max(3, int(SECONDS / min(seconds(f, 3) for f in pair)))
    times = []
    for i in range(rounds):
        own = [0.0, 0.0]
        for which in (0, 1) if i % 2 else (1, 0):
            own[which] = seconds(pair[which], repeats)
        times.append(own)
    ratios = [a / b for a, b in times]
    return 1e6 * statistics.median(a for a, _ in times), statistics.quantiles(ratios, n=4)


def pin() -> None:
    if hasattr(os, 'sched_setaffinity'):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--rounds', type=int, default=40, help='rounds per row')
    parser.add_argument('--json', metavar='FILE', help='write the figures there')
    args = parser.parse_args()
    pin()
    found: dict[str, Any] = {}
    for size, shape in SIZES.items():
        for how in ('log_prob', 'made', 'backward'):
            for name in CASES:
                micro, quartiles = measured(sides(name, shape, how), args.rounds)
                found[f'{size} {how} {name}'] = [micro, *quartiles]
                low, middle, high = quartiles
                print(f'{size:9}{how:10}{name:20}{micro:9.2f} us {middle:6.2f} ({low:.2f} to {high:.2f})', flush=True)
    if args.json:
        with open(args.json, 'w', encoding='utf-8') as file:
            json.dump(found, file, indent=1)


if __name__ == '__main__':
    main()
