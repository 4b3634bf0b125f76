"""Test files with a FunctionTestCase of a right function."""

from __future__ import annotations

from tests.testing.files_of_users import ANY, BY_DTYPE, CUBE, DTYPES, File, function

RIGHT: dict[str, File] = {
    'node': File(function(*CUBE)),
    'node, contiguous': File(function(*CUBE, members="contiguous = 'C'")),
    'node, dtypes and shapes': File(
        function('Cube().apply((x,))', 'np.asarray(x ** 3),', ANY, BY_DTYPE, DTYPES),
    ),
    'tanh, dtypes and shapes': File(
        function('F.tanh(x),', 'np.asarray(np.tanh(x)).astype(self.dtype),', ANY, BY_DTYPE, DTYPES)
    ),
    'relu, dodging': File(
        function(
            'F.relu(x),',
            'np.maximum(x, 0),',
            'np.random.uniform(-1, 1, (4, 3)).astype(np.float32),',
            'dodge_nondifferentiable = True',
        )
    ),
    'max pooling, dodging': File(
        function(
            'F.max_pooling_2d(x, 2),',
            'x.reshape(2, 3, 2, 2, 2, 2).max(axis=(3, 5)),',
            'np.random.permutation(96).reshape(2, 3, 4, 4).astype(np.float32) / 96,',
            'dodge_nondifferentiable = True',
        )
    ),
    'softmax cross entropy with labels': File(
        function(
            'F.softmax_cross_entropy(x, inputs[1], enable_double_backprop=True),',
            'self.losses(x)[np.arange(3), inputs[1]].mean(keepdims=True).reshape(()),',
            'np.random.uniform(-1, 1, (3, 4)).astype(np.float32), np.random.randint(4, size=3).astype(np.int32)',
            """
            def losses(self, x):
                return -np.log(np.exp(x) / np.exp(x).sum(1, keepdims=True))
            """,
        )
    ),
    'two inputs, two outputs, all upstream gradients needed': File(
        function(
            'Pair().apply(inputs)',
            '(x * inputs[1], x + inputs[1])',
            'tuple(np.random.uniform(0.5, 1, (2, 2, 3)).astype(np.float32))',
        )
    ),
    'two outputs of a function of the package': File(
        function('F.split_axis(x, 2, axis=0)', '(x[:1], x[1:])'),
    ),
    'one upstream gradient missing': File(
        function(
            'F.split_axis(x, 2, axis=0)',
            '(x[:1], x[1:])',
            members="""
            def generate_grad_outputs(self, outputs_template):
                return np.ones_like(outputs_template[0]) / 3, None
            """,
        )
    ),
    'upstream gradients of its own': File(
        function(
            *CUBE,
            members="""
            def generate_grad_outputs(self, outputs_template):
                return tuple(np.random.randn(*y.shape).astype(y.dtype) for y in outputs_template)
            def generate_grad_grad_inputs(self, inputs_template):
                return tuple(np.random.randn(*x.shape).astype(x.dtype) for x in inputs_template)
            """,
        )
    ),
    'linear function of three inputs': File(
        function(
            'F.linear(*inputs),',
            'x @ inputs[1].T + inputs[2],',
            'tuple(np.random.uniform(-1, 1, s).astype(np.float32) for s in ((4, 2), (3, 2), (3,)))',
        )
    ),
    'convolution, dtypes': File(
        function(
            'F.convolution_2d(*inputs, pad=1),',
            'F.convolution_2d(*inputs, pad=1).array,',
            'tuple(np.random.uniform(-1, 1, s).astype(self.dtype) for s in ((2, 3, 4, 3), (2, 3, 3, 3), (2,)))',
            BY_DTYPE,
            "@testing.parameterize({'dtype': np.float16}, {'dtype': np.float32}, {'dtype': np.float64})",
        )
    ),
    'batch normalization': File(
        function(
            'F.batch_normalization(*inputs),',
            '((x - x.mean(0)) / np.sqrt(x.var(0) + 2e-5) * inputs[1] + inputs[2]).astype(x.dtype),',
            'tuple(np.random.uniform(-1, 1, s).astype(np.float32) for s in ((5, 3), (3,), (3,)))',
            """
            check_forward_options = {'atol': 1e-4, 'rtol': 1e-3}
            def setUp(self):
                self.check_forward_options = {'atol': 1e-4, 'rtol': 1e-3}
                self.check_backward_options = {'atol': 1e-3, 'rtol': 1e-3}
                self.check_double_backward_options = {'atol': 1e-2, 'rtol': 1e-2}
            """,
        )
    ),
    'dropout with a mask': File(
        function(
            'F.dropout(x, 0.5, mask=self.mask),',
            'x * self.mask,',
            members="""
            def setUp(self):
                self.mask = (np.random.uniform(size=(2, 3)) > 0.5).astype(np.float32) * 2
            """,
        )
    ),
    'no elements': File(function('F.sqrt(x),', 'np.sqrt(x),', 'np.zeros((0, 2), np.float32),')),
    'old function without a second order': File(
        function('OldSquare()(x),', 'x * x,', members='skip_double_backward_test = True'),
        {'test_double_backward': 'skip'},
    ),
    'a sum of broadcast arrays': File(
        function(
            'F.broadcast_to(x, (4, 2, 3)) * inputs[1],',
            'np.broadcast_to(x, (4, 2, 3)) * inputs[1],',
            'tuple(np.random.uniform(0.5, 1, s).astype(np.float32) for s in ((2, 3), (4, 2, 3)))',
        )
    ),
    'a function of float32 only, measured in float32': File(
        function(
            'Single().apply((x,))',
            'x ** 3,',
            before="""
            class Single(Cube):
                def forward(self, inputs):
                    assert inputs[0].dtype == np.float32
                    return super().forward(inputs)
            """,
            members="""
            numerical_grad_dtype = np.float32
            def setUp(self):
                self.check_backward_options = {'atol': 1e-2, 'rtol': 1e-2}
                self.check_double_backward_options = {'atol': 5e-2, 'rtol': 5e-2}
            """,
        )
    ),
    'skipped for a reason': File(
        function(
            *CUBE,
            members="""
            skip_forward_test = True
            def before_test(self, test_name):
                if test_name == 'test_double_backward':
                    raise unittest.SkipTest('why')
            """,
        ),
        {'test_forward': 'skip', 'test_double_backward': 'skip'},
    ),
    'further checks of the outputs': File(
        function(
            *CUBE,
            members="""
            def check_forward_outputs(self, outputs, expected_outputs):
                super().check_forward_outputs(outputs, expected_outputs)
                y, = outputs
                assert y.dtype == np.float32 and (y > 0).all()
            """,
        )
    ),
    'fixed random numbers': File(function(*CUBE, decorators='@testing.fix_random()')),
    'a constant in float32': File(
        function(
            'F.tanh(x) * chainer.Variable(self.w) + F.dropout(x, 0.5, mask=self.w),',
            'np.tanh(x) * self.w + x * self.w,',
            members="""
            def setUp(self):
                self.w = np.random.uniform(0.5, 1, (2, 3)).astype(np.float32)
            """,
        ),
        {'test_double_backward': 5},
        {'test_double_backward': 0},
        'a function that mixes float64 with a constant is measured in float32',
    ),
    'class weights': File(
        function(
            'F.softmax_cross_entropy(x, self.t, class_weight=self.w, enable_double_backprop=True),',
            'F.softmax_cross_entropy(x, self.t, class_weight=self.w).array,',
            members="""
            def setUp(self):
                self.t = np.array([0, 2], np.int32)
                self.w = np.array([0.5, 1, 2], np.float32)
            """,
        )
    ),
    'float16 without tolerances': File(
        function(*CUBE, 'np.random.uniform(0.5, 1, (2, 3)).astype(np.float16),'),
        {'test_backward': 5},
        {'test_backward': 0},
        'no tolerance needs to be given',
    ),
    'a step and tolerances': File(
        function(
            *CUBE,
            members="""
            def setUp(self):
                self.check_backward_options = {'eps': 1e-2, 'atol': 1e-3, 'rtol': 1e-3}
                self.check_double_backward_options = {'eps': 1e-2, 'atol': 1e-2, 'rtol': 1e-2}
            """,
        )
    ),
    'upstream gradients of ones': File(
        function(
            *CUBE,
            members="""
            def generate_grad_outputs(self, outputs_template):
                return tuple(np.ones_like(y) for y in outputs_template)
            """,
        )
    ),
    'an output used twice': File(function('(Cube().apply((x,)) * 2)', 'x ** 3, x ** 3')),
    'a function of numbers': File(function('F.sum(x * x),', 'np.asarray((x * x).sum()),', "np.array(0.5, 'f'),")),
    'without training': File(
        function(
            'self.call(x),',
            'x * 1,',
            members="""
            def call(self, x):
                with chainer.using_config('train', False):
                    return F.dropout(x)
            """,
        )
    ),
    'tests of its own': File(
        function(
            *CUBE,
            members="""
            def test_forward(self, backend_config):
                super().test_forward(backend_config)
            def test_label(self, backend_config):
                with backend_config:
                    y, = Cube().apply((Variable(backend_config.get_array(np.ones(2))),))
                assert y.creator.label == 'Cube' and backend_config.xp is np
            """,
        )
    ),
}
