"""Probability distributions: densities, samples, moments and divergences, differentiable by parameters."""

import typing

from minichainer._names import namespace as _namespace
from minichainer.distributions.beta import Beta as Beta
from minichainer.distributions.beta import Dirichlet as Dirichlet
from minichainer.distributions.categorical import Categorical as Categorical
from minichainer.distributions.categorical import OneHotCategorical as OneHotCategorical
from minichainer.distributions.counts import Bernoulli as Bernoulli
from minichainer.distributions.counts import Geometric as Geometric
from minichainer.distributions.counts import Poisson as Poisson
from minichainer.distributions.gamma import Chisquare as Chisquare
from minichainer.distributions.gamma import Gamma as Gamma
from minichainer.distributions.independent import Independent as Independent
from minichainer.distributions.location_scale import Cauchy as Cauchy
from minichainer.distributions.location_scale import Gumbel as Gumbel
from minichainer.distributions.location_scale import Laplace as Laplace
from minichainer.distributions.multivariate_normal import MultivariateNormal as MultivariateNormal
from minichainer.distributions.normal import LogNormal as LogNormal
from minichainer.distributions.normal import Normal as Normal
from minichainer.distributions.positive import Exponential as Exponential
from minichainer.distributions.positive import Pareto as Pareto
from minichainer.distributions.uniform import Uniform as Uniform

if not typing.TYPE_CHECKING:
    __getattr__, __dir__ = _namespace(__name__)
