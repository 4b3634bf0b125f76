"""Test files with other tools: elementwise functions, distributions, plain classes, decorators."""

from __future__ import annotations

from tests.testing.files_of_users import File, plain, unary

#: Targets of a distribution that the wrong one leaves out.
OTHERS = 'batch_shape event_shape icdf log_cdf log_survival mean prob stddev support survival'

OTHER_FILES: dict[str, File] = {
    'unary': File(unary('F.sin')),
    'unary, data of its own': File(
        unary(
            'F.log, make_data=make_data',
            before="""
            def make_data(shape, dtype):
                x = np.random.uniform(0.5, 1, shape).astype(dtype)
                gy, ggx = (np.random.uniform(-1, 1, shape).astype(dtype) for _ in range(2))
                return np.asarray(x), np.asarray(gy), np.asarray(ggx)
            """,
        )
    ),
    'unary, values of its own': File(
        unary('lambda x: F.exp(x) / 2, func_expected=lambda x, dtype: np.asarray(np.exp(x) / 2, dtype)')
    ),
    'unary, one tolerance given': File(
        unary(
            'F.exp, forward_options={"atol": 1e-5}, backward_options={"atol": 1e-3}, '
            'double_backward_options={"rtol": 1e-2}'
        )
    ),
    'unary, values right to 5e-5': File(
        unary('F.sin, func_expected=lambda x, dtype: np.asarray(np.sin(x) * (1 + 5e-5), dtype)')
    ),
    'unary, values right to 5e-4': File(
        unary('F.sin, func_expected=lambda x, dtype: np.asarray(np.sin(x + 1e-3), dtype)'), {'test_forward_cpu': 5}
    ),
    'unary, a setUp of its own': File(unary('F.sin', 'def setUp(self):\n    np.random.seed(0)')),
    'unary, linear': File(unary('lambda x: -x, func_expected=lambda x, dtype: -x')),
    'unary, wrong values': File(
        unary('F.sin, func_expected=lambda x, dtype: np.asarray(np.cos(x), dtype)'), {'test_forward_cpu': 5}
    ),
    'unary, wrong gradient': File(
        unary(
            'lambda x: variant(Cube, first=4.5, second=9.0).apply((x,))[0], '
            'func_expected=lambda x, dtype: np.asarray(x ** 3, dtype)'
        ),
        {'test_backward_cpu': 5},
        {'test_double_backward_cpu': 5},
        'test_double_backward checks the first order, too',
    ),
    'unary, another dtype': File(
        unary('lambda x: F.cast(F.sin(x), "d"), func_expected=lambda x, dtype: np.asarray(np.sin(x), dtype)'),
        {'test_forward_cpu': 5, 'test_backward_cpu': 5},
        {'test_double_backward_cpu': 5},
        'upstream gradients of another dtype are refused at the second order, too',
    ),
    'unary, an old function': File(
        unary('OldSquare(), func_expected=lambda x, dtype: np.asarray(x * x, dtype), label_expected="OldSquare"')
    ),
    'unary, a function that NumPy lacks': File(unary('F.erfcx'), {'import': 5}),
    'unittest with options by dtype': File(
        plain(
            """
            def setUp(self):
                self.x, self.gy, self.ggx = (
                    np.random.uniform(0.5, 1, (3, 2)).astype(self.dtype) for _ in range(3))
                self.options = {'dtype': np.float64, 'atol': 1e-3, 'rtol': 1e-2} if self.dtype == np.float16 else {}
            def test_forward(self):
                y = Cube().apply((self.x,))[0]
                testing.assert_allclose(y.array, self.x ** 3, atol=1e-3)
            def test_backward(self):
                gradient_check.check_backward(
                    lambda x: Cube().apply((x,))[0], self.x, self.gy, dtype=np.float64, atol=1e-2, rtol=1e-2)
            def test_double_backward(self):
                gradient_check.check_double_backward(
                    lambda x: Cube().apply((x,))[0], self.x, self.gy, self.ggx, dtype='d', atol=1e-2, rtol=1e-2)
            """,
            decorators="@testing.parameterize(*testing.product({'dtype': [np.float16, np.float32, np.float64]}))",
        )
    ),
    'unittest, wrong': File(
        plain(
            """
            def test_backward(self):
                x, gy = np.random.uniform(0.5, 1, (2, 3, 2)).astype(np.float32)
                gradient_check.check_backward(variant(Cube, first=3.3).apply, x, gy)
            def test_in_a_function(self):
                x, gy = np.random.uniform(0.5, 1, (2, 3, 2))
                gradient_check.check_backward(
                    lambda x: variant(Cube, first=3.3).apply((x,))[0], x, gy, atol=1e-4, rtol=1e-4)
            def test_double_backward(self):
                x, gy, ggx = np.random.uniform(0.5, 1, (3, 3, 2))
                gradient_check.check_double_backward(
                    lambda x: variant(Cube, second=5.0).apply((x,))[0], x, gy, ggx)
            """
        ),
        {'test_backward': 5, 'test_in_a_function': 5, 'test_double_backward': 5},
    ),
    'unittest, two outputs': File(
        plain(
            """
            def setUp(self):
                self.arrays = np.random.uniform(0.5, 1, (6, 3, 2)).astype(np.float32)
            def test_backward(self):
                x, w, a, b, c, d = self.arrays
                gradient_check.check_backward(
                    lambda *xs: Pair().apply(xs), (x, w), (a, b), dtype=np.float64, atol=1e-4, rtol=1e-4)
            def test_double_backward(self):
                x, w, a, b, c, d = self.arrays
                gradient_check.check_double_backward(
                    lambda *xs: Pair().apply(xs), (x, w), (a, b), (c, d), dtype=np.float64, atol=1e-3, rtol=1e-3)
            """
        )
    ),
    'a loss and parameters': File(
        plain(
            """
            def test_loss(self):
                link = L.Linear(2, 3)
                x = np.random.uniform(-1, 1, (4, 2)).astype(np.float32)
                gradient_check.check_backward(
                    lambda x: F.sum(F.tanh(link(x)) ** 2), x, None, (link.W, link.b), dtype=np.float64)
            def test_flags(self):
                x, w, gy = np.random.uniform(0.5, 1, (3, 4, 2)).astype(np.float32)
                gradient_check.check_backward(
                    lambda x, w: x * F.cast(w.array, x.dtype), (x, w), gy, no_grads=[False, True], dtype=np.float64)
            def test_kink(self):
                x = np.array([1.0, 0.0, -2.0])
                with self.assertRaises(gradient_check.NondifferentiableError):
                    gradient_check.check_backward(F.relu, x, np.ones(3) / 3, detect_nondifferentiable=True)
            """
        )
    ),
    'for pytest': File(
        plain(
            """
            def test_sum(self):
                assert (self.function(np.zeros(2)) == self.expected).all()
            def test_gradient(self):
                x, gy = np.random.uniform(0.5, 1, (2, 3, 2))
                gradient_check.check_backward(lambda x: Cube().apply((x,))[0], x, gy)
            """,
            'object',
            """
            @testing.parameterize(
                {'function': np.cos, 'expected': 1, 'module': np, 'f': lambda x: x},
                {'function': lambda x: x + 1, 'expected': 1, 'module': None, 'f': functools.partial(max, 2)})
            """,
        )
    ),
    'for pytest, wrong': File(
        plain(
            """
            def test_value(self):
                assert self.a == 1
            """,
            'object',
            "@testing.parameterize_pytest('a,b', [(1, 2), (2, 3)])",
        ),
        {'test_value': 5},
    ),
    'repeated tests': File(
        plain(
            """
            count = 0
            @condition.retry(3)
            def test_sometimes(self):
                TestIt.count += 1
                assert TestIt.count % 2 == 0
            @condition.repeat(2)
            def test_always(self):
                assert True
            @condition.repeat(2)
            def test_never_twice(self):
                TestIt.count += 1
                assert TestIt.count % 2
            @condition.repeat_with_success_at_least(3, 2)
            def test_two_of_three(self):
                TestIt.count += 1
                assert TestIt.count % 3
            @condition.retry(2)
            def test_skips(self):
                raise unittest.SkipTest('why')
            """
        ),
        {'test_never_twice': 5, 'test_skips': 'skip'},
    ),
    'old pattern of devices': File(
        plain(
            """
            def setUp(self):
                self.x = np.random.uniform(0.5, 1, (2, 3)).astype(self.dtype)
                self.gy = np.random.uniform(-1, 1, (2, 3)).astype(self.dtype)
                self.check_backward_options = {'atol': 5e-3, 'rtol': 5e-2} if self.dtype == np.float16 else {}
            def check_forward(self, inputs, backend_config):
                with backend_config:
                    y, = Cube().apply(backend_config.get_array(inputs))
                assert y.dtype == self.dtype
                testing.assert_allclose(y.array, self.x.astype('d') ** 3, atol=5e-3, rtol=5e-3)
            def test_forward(self, backend_config):
                self.check_forward((self.x,), backend_config)
            def test_backward(self, backend_config):
                with backend_config:
                    gradient_check.check_backward(
                        lambda x: Cube().apply((x,)), self.x, self.gy, dtype='d', **self.check_backward_options)
            def test_once(self):
                pass
            """,
            decorators="""
            @testing.parameterize(*testing.product_dict(
                [{'dtype': np.float16}, {'dtype': np.float32}], [{'a': 1}, {'a': 2}]))
            @testing.inject_backend_tests(['test_forward', 'test_backward'], [{}, {'use_cuda': True}])
            """,
        )
    ),
    'a mixin': File(
        plain(
            """
            def test_it(self):
                assert self.a in (1, 2) and self.ready
            """,
            'Mixin, unittest.TestCase',
            """
            class Mixin(object):
                def setUp(self):
                    self.ready = True
                def test_mixed(self):
                    assert self.ready
            @testing.parameterize({'a': 1}, {'a': 2})
            """,
        )
    ),
    'a distribution': File(
        """
from scipy import stats

class TestNormal(testing.distribution_unittest):
    scipy_onebyone = False
    def setUp_configure(self):
        self.dist = chainer.distributions.Normal
        self.scipy_dist = stats.norm
        self.shape, self.sample_shape, self.is_variable = (2, 3), (4,), True
        self.test_targets = {'batch_shape', 'cdf', 'entropy', 'event_shape', 'icdf', 'log_cdf', 'log_prob',
            'log_survival', 'prob', 'sample', 'stddev', 'support', 'survival', 'variance'}
        loc = np.random.uniform(-1, 1, self.shape).astype(np.float32)
        scale = np.exp(np.random.uniform(-1, 1, self.shape)).astype(np.float32)
        self.params = {'loc': loc, 'scale': scale}
        self.scipy_params = {'loc': loc, 'scale': scale}
    def sample_for_test(self):
        return np.random.normal(size=self.sample_shape + self.shape).astype(np.float32)
    def test_params(self):
        assert isinstance(self.params['loc'], chainer.Variable)
""",
        {'test_mean_cpu': 'skip'},
    ),
    'a distribution, wrong': File(
        """
from scipy import stats

class TestNormal(testing.distribution_unittest):
    scipy_onebyone = True
    def setUp_configure(self):
        self.dist = chainer.distributions.Normal
        self.scipy_dist = stats.norm
        self.shape, self.sample_shape, self.is_variable = (2,), (4,), False
        self.test_targets = {'log_prob', 'variance', 'entropy', 'sample', 'cdf'}
        scale = np.exp(np.random.uniform(-1, 1, self.shape)).astype(np.float32)
        self.params = {'loc': np.zeros(2, 'f'), 'scale': scale}
        self.scipy_params = {'loc': np.zeros(2, 'f'), 'scale': scale * 1.2}
    def sample_for_test(self):
        return np.random.normal(size=self.sample_shape + self.shape).astype(np.float32)
""",
        {
            **{f'test_{name}_cpu': 'skip' for name in OTHERS.split()},
            **{f'test_{name}_cpu': 5 for name in ('log_prob', 'variance', 'entropy', 'sample', 'cdf')},
        },
    ),
    'unary, tolerances for float16': File(
        unary(
            'F.expm1, make_data=make_data, forward_options={"atol": 1e-3, "rtol": 1e-2}, '
            'backward_options={"eps": 1e-3, "atol": 1e-2, "rtol": 1e-2}',
            before="""
            def make_data(shape, dtype):
                return tuple(np.asarray(np.random.uniform(0.5, 1, shape)).astype(dtype) for _ in range(3))
            """,
        )
    ),
    'unary, is_linear': File(
        unary('lambda x: x * 2, func_expected=lambda x, dtype: np.asarray(x * 2, dtype), is_linear=True')
    ),
}
