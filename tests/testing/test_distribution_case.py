"""distribution_unittest passes a right distribution and names what is wrong with others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from minichainer import testing
from minichainer.variable import Variable, as_array
from tests.testing.running import run, verdicts

TARGETS = (
    'batch_shape cdf entropy event_shape icdf log_cdf log_prob log_survival mean prob sample stddev support '
    'survival variance'
).split()


class Normal:
    """The normal distribution, with SciPy's values, as Chainer's distributions present themselves."""

    support = 'real'
    event_shape = ()
    shift = 0.0

    def __init__(self, loc: Any, scale: Any) -> None:
        self.loc, self.scale = as_array(loc), as_array(scale)
        self.frozen = stats.norm(self.loc + self.shift, self.scale)

    @property
    def batch_shape(self) -> Any:
        return self.loc.shape

    def _variable(self, value: Any) -> Variable:
        return Variable(np.asarray(value, np.float32))

    mean = property(lambda self: self._variable(self.frozen.mean()))
    variance = property(lambda self: self._variable(self.frozen.var()))
    stddev = property(lambda self: self._variable(self.frozen.std()))
    entropy = property(lambda self: self._variable(self.frozen.entropy()))

    def sample(self, sample_shape: Any = ()) -> Variable:
        return self._variable(self.frozen.rvs((*sample_shape, *self.loc.shape)))

    def prob(self, x: Any) -> Variable:
        return self._variable(self.frozen.pdf(x))

    def log_prob(self, x: Any) -> Variable:
        return self._variable(self.frozen.logpdf(x))

    def cdf(self, x: Any) -> Variable:
        return self._variable(self.frozen.cdf(x))

    def icdf(self, x: Any) -> Variable:
        return self._variable(self.frozen.ppf(x))

    def log_cdf(self, x: Any) -> Variable:
        return self._variable(self.frozen.logcdf(x))

    def survival_function(self, x: Any) -> Variable:
        return self._variable(self.frozen.sf(x))

    def log_survival_function(self, x: Any) -> Variable:
        return self._variable(self.frozen.logsf(x))


class NormalCase(testing.distribution_unittest):
    __test__ = False
    shape = (2, 3)
    sample_shape = (3, 2)
    is_variable = False
    dist_class: Any = Normal

    def setUp_configure(self) -> None:
        self.dist, self.scipy_dist, self.test_targets = self.dist_class, stats.norm, set(TARGETS)
        loc = np.random.uniform(-1, 1, self.shape).astype(np.float32)
        self.params = self.scipy_params = {'loc': loc, 'scale': np.exp(loc)}

    def sample_for_test(self) -> Any:
        return np.random.normal(size=(*self.sample_shape, *self.shape)).astype(np.float32)


def failed(**members: Any) -> dict[str, str]:
    found = verdicts(run(type('Case', (NormalCase,), members)))
    return {name: text for name, text in found.items() if not name.endswith('_gpu')}


@pytest.mark.parametrize('is_variable', [False, True])
@pytest.mark.parametrize('scipy_onebyone', [False, True])
def test_a_right_distribution_passes(is_variable: bool, scipy_onebyone: bool) -> None:
    assert failed(is_variable=is_variable, scipy_onebyone=scipy_onebyone) == {}
    assert failed(is_variable=is_variable, scipy_onebyone=scipy_onebyone, shape=(), sample_shape=()) == {}


def test_wrong_values_are_found() -> None:
    found = failed(dist_class=type('Shifted', (Normal,), {'shift': 0.05}))
    wrong = 'cdf icdf log_cdf log_prob log_survival mean prob sample survival'
    assert sorted(found) == [f'test_{target}_cpu' for target in wrong.split()]
    assert 'of 10000 draws differ by' in found['test_sample_cpu']
    assert 'worst element' in found['test_mean_cpu']


@pytest.mark.parametrize(
    ('member', 'value'), [('support', 'positive'), ('event_shape', (1,)), ('batch_shape', (3, 2))]
)
def test_wrong_shapes_are_found(member: str, value: Any) -> None:
    found = failed(dist_class=type('Other', (Normal,), {member: value}))
    assert set(found) - {'test_sample_cpu'} == {f'test_{member}_cpu'}


def test_targets_that_are_not_asked_for_are_skipped() -> None:
    def configure(self: Any) -> None:
        NormalCase.setUp_configure(self)
        self.test_targets = {'mean'}

    found = failed(setUp_configure=configure)
    assert len(found) == len(TARGETS) - 1
    assert found['test_cdf_cpu'] == "'cdf' is not in test_targets."


def test_discrete_distributions_have_masses() -> None:
    def configure(self: Any) -> None:
        NormalCase.setUp_configure(self)
        self.continuous, self.test_targets = False, {'prob', 'log_prob'}

    found = failed(setUp_configure=configure)
    assert "has no attribute 'pmf'" in found['test_prob_cpu']
    assert "has no attribute 'logpmf'" in found['test_log_prob_cpu']


@pytest.mark.parametrize(
    ('member', 'message'),
    [('setUp_configure', 'must define setUp_configure()'), ('sample_for_test', 'must define sample_for_test()')],
)
def test_what_is_missing_is_named(member: str, message: str) -> None:
    found = failed(**{member: getattr(testing.distribution_unittest, member)})
    assert message in found['test_prob_cpu']


def test_unknown_targets() -> None:
    def configure(self: Any) -> None:
        self.test_targets = {'median'}

    assert 'invalid target(s): median; there are batch_shape' in failed(setUp_configure=configure)['test_cdf_cpu']


def test_the_base_is_no_test() -> None:
    found = set(verdicts(run(testing.distribution_unittest)).values())
    assert found == {'the base of test cases is not a test'}


def test_tests_of_the_gpu_are_marked() -> None:
    assert 'gpu' in {mark.name for mark in NormalCase.test_mean_gpu.pytestmark}
    assert not hasattr(NormalCase.test_mean_cpu, 'pytestmark')


def test_attributes_of_the_class_and_variables() -> None:
    seen = []

    class Case(NormalCase):
        event_shape = (7,)
        is_variable = True

        def test_attributes(self) -> None:
            seen.append((self.event_shape, {type(value) for value in self.params.values()}))

    cls = type('Case', (Case,), {'__test__': True})
    run(cls)
    assert seen == [((7,), {Variable})]
