"""The test case of a probability distribution, compared with SciPy."""

from __future__ import annotations

import unittest
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from minichainer.backends.cuda import to_cpu, to_gpu
from minichainer.gradient_check import assert_allclose
from minichainer.testing import attr
from minichainer.variable import Variable, as_array

__all__ = ['distribution_unittest']

_TARGETS = (
    'batch_shape', 'cdf', 'entropy', 'event_shape', 'icdf', 'log_cdf', 'log_prob', 'log_survival', 'mean', 'prob',
    'sample', 'stddev', 'support', 'survival', 'variance',
)  # fmt: skip
# Draws per element for comparing samples, and the largest difference of their means in standard errors.
_DRAWS = 10000
_STANDARD_ERRORS = 6


def _test(target: str, is_gpu: bool) -> Callable[[Any], None]:
    """The test method for a target."""

    def test(self: Any) -> None:
        if target not in self.test_targets:
            self.skipTest(f'{target!r} is not in test_targets.')
        getattr(self, f'check_{target}')(is_gpu)

    return test


_TESTS = {
    f'test_{target}_{device}': _test(target, device == 'gpu') for target in _TARGETS for device in ('cpu', 'gpu')
}


class distribution_unittest(type('_Tests', (unittest.TestCase,), _TESTS)):  # type: ignore[misc]
    """Base class for tests of a distribution: one test per method, on the CPU and the GPU.

    A subclass defines ``setUp_configure()``, which sets the attributes below, and ``sample_for_test()``, which
    returns an array of values of shape ``sample_shape + shape + event_shape``.

    Attributes:
        dist: Class of the distribution.
        scipy_dist: The one of ``scipy.stats``.
        params: Dict of its arguments, NumPy arrays.
        scipy_params: Dict of the arguments of ``scipy_dist``.
        shape: Batch shape.
        sample_shape: Shape of the samples.
        is_variable: Whether the arguments are passed as Variables.
        test_targets: Set of what is tested; the tests of the others are skipped. Of: batch_shape, cdf, entropy,
            event_shape, icdf, log_cdf, log_prob, log_survival, mean, prob, sample, stddev, support, survival,
            variance.
        options: Further arguments of ``dist``.
        event_shape: ``()`` by default.
        support: ``'real'`` by default.
        continuous: True by default; False to compare with ``pmf`` instead of ``pdf``.
        scipy_onebyone: Whether ``scipy_dist`` takes the arguments of one element at a time.

    Raises:
        AssertionError: A method is wrong.
        ValueError: ``test_targets`` has an unknown name.

    Source: documentation of ``chainer.testing``, and runs of it.

    >>> import unittest
    >>> from minichainer import testing
    >>> class TestOfNothing(testing.distribution_unittest):
    ...     def setUp_configure(self):
    ...         self.test_targets = set()
    >>> suite = unittest.defaultTestLoader.loadTestsFromTestCase(TestOfNothing)
    >>> len(testing.condition.QuietTestRunner().run(suite).skipped)
    30
    """

    scipy_onebyone = False
    shape: tuple[int, ...]
    sample_shape: tuple[int, ...]
    is_variable: bool
    dist: Any
    scipy_dist: Any
    params: dict[str, Any]
    scipy_params: dict[str, Any]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if distribution_unittest in cls.__bases__:
            # Marked here, because making a mark loads pytest.
            for name in _TESTS:
                if name.endswith('_gpu') and name not in vars(cls):
                    setattr(cls, name, attr.gpu(_test(name[5:-4], True)))

    def setUp(self) -> None:
        """Sets the defaults, then calls ``setUp_configure``."""
        if type(self) is distribution_unittest:
            self.skipTest('the base of test cases is not a test')
        self.support = 'real'
        if not hasattr(self, 'event_shape'):
            self.event_shape: tuple[int, ...] = ()
        self.continuous = True
        self.test_targets: set[str] = set()
        self.options: dict[str, Any] = {}
        self.setUp_configure()
        unknown = sorted(set(self.test_targets) - set(_TARGETS))
        if unknown:
            raise ValueError(f'invalid target(s): {", ".join(unknown)}; there are {", ".join(_TARGETS)}')
        if getattr(self, 'is_variable', False):
            self.params = {key: Variable(np.asarray(as_array(value))) for key, value in self.params.items()}

    def setUp_configure(self) -> None:
        """Sets the attributes; to be overridden."""
        raise NotImplementedError(f'{type(self).__name__} must define setUp_configure()')

    def sample_for_test(self) -> Any:
        """Values for comparing probabilities; to be overridden."""
        raise NotImplementedError(f'{type(self).__name__} must define sample_for_test()')

    @property
    def cpu_dist(self) -> Any:
        """The distribution with its parameters on the CPU."""
        return self._made(lambda array: array)

    @property
    def gpu_dist(self) -> Any:
        """The distribution with its parameters on the GPU."""
        return self._made(to_gpu)

    def _made(self, send: Callable[[Any], Any]) -> Any:
        wrap = Variable if self.is_variable else (lambda array: array)
        arrays = {key: send(np.asarray(as_array(value))) for key, value in self.params.items()}
        return self.dist(**{key: wrap(array) for key, array in arrays.items()}, **self.options)

    def _dist(self, is_gpu: bool) -> Any:
        return self.gpu_dist if is_gpu else self.cpu_dist

    def scipy_onebyone_params_iter(self) -> Iterator[dict[str, Any]]:
        """The arguments of ``scipy_dist`` for each element of the batch."""
        for index in np.ndindex(self.shape):
            yield {key: value[index] for key, value in self.scipy_params.items()}

    # --- SciPy's results ---

    def _scipy(self, name: str, values: Any = None) -> Any:
        """A method of ``scipy_dist``, for values or for the whole distribution."""
        method = getattr(self.scipy_dist, name)
        if not self.scipy_onebyone:
            return method(**self.scipy_params) if values is None else method(values, **self.scipy_params)
        if values is None:
            found = [method(**params) for params in self.scipy_onebyone_params_iter()]
            return np.asarray(found).reshape((*self.shape, *np.shape(found[0])))
        start, end = len(self.sample_shape), len(self.sample_shape) + len(self.shape)
        flat = values.reshape((*values.shape[:start], -1, *values.shape[end:]))
        columns = [
            method(np.take(flat, i, axis=start), **params)
            for i, params in enumerate(self.scipy_onebyone_params_iter())
        ]
        return np.stack(columns, axis=start).reshape(values.shape[:end])

    def _check_whole(self, value: Any, name: str) -> None:
        assert_allclose(as_array(value), np.broadcast_to(self._scipy(name), as_array(value).shape))

    def _check_values(self, name: str, scipy_name: str, is_gpu: bool, values: Any = None) -> None:
        values = self.sample_for_test() if values is None else values
        found = getattr(self._dist(is_gpu), name)(to_gpu(values) if is_gpu else values)
        assert_allclose(as_array(found), self._scipy(scipy_name, values))

    # --- checks by target ---

    def check_batch_shape(self, is_gpu: bool) -> None:
        """Asserts that ``batch_shape`` is right."""
        self.assertEqual(self._dist(is_gpu).batch_shape, self.shape)

    def check_event_shape(self, is_gpu: bool) -> None:
        """Asserts that ``event_shape`` is right."""
        self.assertEqual(self._dist(is_gpu).event_shape, self.event_shape)

    def check_support(self, is_gpu: bool) -> None:
        """Asserts that ``support`` is right."""
        self.assertEqual(self._dist(is_gpu).support, self.support)

    def check_mean(self, is_gpu: bool) -> None:
        """Asserts that ``mean`` is right."""
        self._check_whole(self._dist(is_gpu).mean, 'mean')

    def check_variance(self, is_gpu: bool) -> None:
        """Asserts that ``variance`` is right."""
        self._check_whole(self._dist(is_gpu).variance, 'var')

    def check_stddev(self, is_gpu: bool) -> None:
        """Asserts that ``stddev`` is right."""
        self._check_whole(self._dist(is_gpu).stddev, 'std')

    def check_entropy(self, is_gpu: bool) -> None:
        """Asserts that ``entropy`` is right."""
        self._check_whole(self._dist(is_gpu).entropy, 'entropy')

    def check_prob(self, is_gpu: bool) -> None:
        """Asserts that ``prob`` is right."""
        self._check_values('prob', 'pdf' if self.continuous else 'pmf', is_gpu)

    def check_log_prob(self, is_gpu: bool) -> None:
        """Asserts that ``log_prob`` is right."""
        self._check_values('log_prob', 'logpdf' if self.continuous else 'logpmf', is_gpu)

    def check_cdf(self, is_gpu: bool) -> None:
        """Asserts that ``cdf`` is right."""
        self._check_values('cdf', 'cdf', is_gpu)

    def check_log_cdf(self, is_gpu: bool) -> None:
        """Asserts that ``log_cdf`` is right."""
        self._check_values('log_cdf', 'logcdf', is_gpu)

    def check_survival(self, is_gpu: bool) -> None:
        """Asserts that ``survival`` is right."""
        self._check_values('survival_function', 'sf', is_gpu)

    def check_log_survival(self, is_gpu: bool) -> None:
        """Asserts that ``log_survival`` is right."""
        self._check_values('log_survival_function', 'logsf', is_gpu)

    def check_icdf(self, is_gpu: bool) -> None:
        """Asserts that ``icdf`` is right."""
        values = np.random.uniform(1e-3, 1 - 1e-3, (*self.sample_shape, *self.shape)).astype(np.float32)
        self._check_values('icdf', 'ppf', is_gpu, values)

    def check_sample(self, is_gpu: bool) -> None:
        """Asserts that ``sample`` is right."""
        dist = self._dist(is_gpu)
        shape = as_array(dist.sample(self.sample_shape)).shape
        self.assertEqual(shape, (*self.sample_shape, *self.shape, *self.event_shape))
        found = to_cpu(as_array(dist.sample((_DRAWS,)))).astype(float)
        expected = self._scipy_draws()
        for power in (1, 2):
            a, b = found**power, expected**power
            error = np.sqrt((a.var(axis=0) + b.var(axis=0)) / _DRAWS)
            distance = abs(a.mean(axis=0) - b.mean(axis=0))
            # Constant samples have no standard error; float32 parameters are exact to 1e-5.
            allowed = _STANDARD_ERRORS * error + 1e-5 * (1 + abs(b).max(axis=0))
            worst = float((distance / allowed).max()) if distance.size else 0.0
            self.assertLessEqual(
                worst,
                1,
                f'means of power {power} of {_DRAWS} draws differ by {worst * _STANDARD_ERRORS:.3g} standard errors',
            )

    def _scipy_draws(self) -> Any:
        """Samples from SciPy's distribution."""
        if not self.scipy_onebyone:
            size = (_DRAWS, *self.shape, *self.event_shape)
            draws = self.scipy_dist.rvs(size=size[: 1 + len(self.shape)], **self.scipy_params)
            return np.asarray(draws, float).reshape(size)
        columns = [self.scipy_dist.rvs(size=_DRAWS, **params) for params in self.scipy_onebyone_params_iter()]
        return np.stack([np.asarray(c, float) for c in columns], axis=1).reshape(
            (_DRAWS, *self.shape, *self.event_shape)
        )
