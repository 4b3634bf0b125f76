"""Test files with a LinkTestCase or LinkInitializersTestCase."""

from __future__ import annotations

from tests.testing.files_of_users import LINEAR, NORMAL, File, initialized, link

LINKS: dict[str, File] = {
    'link': File(link(LINEAR, 'x @ link.W.array.T + link.b.array,', "('W', 'b')", NORMAL)),
    'link, one parameter': File(link(LINEAR, 'x @ link.W.array.T + link.b.array,', "('W',)", NORMAL)),
    'link, arrays as parameters': File(
        link(
            LINEAR,
            'x @ link.W.array.T + link.b.array,',
            "('W', 'b')",
            'np.random.randn(3, 2).astype(np.float32), np.random.randn(3).astype(np.float32)',
        )
    ),
    'link made by its first call': File(
        link(LINEAR.replace('2, 3', 'None, 3'), 'x @ link.W.array.T + link.b.array,', "('W', 'b')", NORMAL)
    ),
    'link, contiguous': File(
        link(LINEAR, 'x @ link.W.array.T + link.b.array,', "('W', 'b')", NORMAL, members="contiguous = 'C'")
    ),
    'link of labels': File(
        link(
            'L.EmbedID(5, 3, initialW=initializers[0])',
            'link.W.array[x],',
            "('W',)",
            'chainer.initializers.Normal(1),',
            'np.random.randint(5, size=(2, 4)).astype(np.int32),',
        )
    ),
    'link with options by dtype': File(
        link(
            f'half(lambda: {LINEAR})',
            'x @ link.W.array.T + link.b.array,',
            "('W', 'b')",
            NORMAL,
            'np.random.uniform(-1, 1, (4, 2)).astype(np.float16),',
            before="""
            def half(make):
                with chainer.using_config('dtype', np.float16):
                    return make()
            """,
            members="""
            def setUp(self):
                self.check_forward_options = {'atol': 1e-2, 'rtol': 1e-2}
                self.check_backward_options = {'atol': 5e-2, 'rtol': 5e-2}
            """,
        )
    ),
    'link with a forward of its own': File(
        link(
            LINEAR,
            'np.tanh(x @ link.W.array.T + link.b.array),',
            "('W', 'b')",
            NORMAL,
            members='def forward(self, link, inputs, device):\n    return F.tanh(link(inputs[0])),',
        )
    ),
    'link in float32 only': File(
        link(
            'Single(initializers[0])',
            'x * link.W.array,',
            "('W',)",
            'np.random.uniform(0.5, 1, (2,)).astype(np.float32),',
            members="""
            numerical_grad_dtype = np.float32
            def setUp(self):
                self.check_backward_options = {'atol': 1e-2, 'rtol': 1e-2}
            """,
            before="""
            class Single(chainer.Link):
                def __init__(self, W):
                    super().__init__()
                    with self.init_scope():
                        self.W = chainer.Parameter(W)
                def forward(self, x):
                    assert x.dtype == self.W.dtype == np.float32
                    return x * F.broadcast_to(self.W, x.shape)
            """,
        )
    ),
    'link, wrong values': File(link(LINEAR, 'x @ link.W.array.T,', "('W', 'b')", NORMAL), {'test_forward': 5}),
    'link, wrong gradient of a parameter': File(
        link(
            'Wrong(initializers[0])',
            'link.W.array ** 3 * x,',
            "('W',)",
            'np.random.uniform(0.5, 1, (4, 2)).astype(np.float32),',
            before="""
            class Wrong(chainer.Link):
                def __init__(self, W):
                    super().__init__()
                    with self.init_scope():
                        self.W = chainer.Parameter(W)
                def forward(self, x):
                    return variant(Cube, first=3.3).apply((self.W,))[0] * x
            """,
        ),
        {'test_backward': 5},
    ),
    'link, a wrong name of a parameter': File(
        link(LINEAR, 'x @ link.W.array.T + link.b.array,', "('W', 'bias')", NORMAL), {'test_backward': 5}
    ),
    'link, no initializer': File(
        link(LINEAR, 'x @ link.W.array.T + link.b.array,', "('W', 'b')", 'None, None'),
        {'test_forward': 5, 'test_backward': 5},
    ),
    'not a link': File(
        link('3', 'x,', '()', '()'),
        {'test_forward': 5, 'test_backward': 5},
    ),
    'initializers': File(
        initialized(
            LINEAR,
            '1, 1',
            '[2, np.ones((3, 2), np.float32), chainer.initializers.Constant(3)], '
            '[3, testing.InitializerArgument(None, 0)]',
        )
    ),
    'initializers, wrong': File(
        initialized(LINEAR, '1, 1', '[testing.InitializerArgument(1, 2)], [3]'), {'test_initializers': 5}
    ),
    'initializers, wrong within a tolerance': File(
        initialized(
            LINEAR,
            '1, 1',
            '[testing.InitializerArgument(1, 2)], [3]',
            members="def setUp(self):\n    self.check_initializers_options = {'atol': 2}",
        )
    ),
    'initializers, None alone': File(initialized(LINEAR, '1, 1', '[1], [None]'), {'test_initializers': 5}),
    'initializers, None for None': File(
        initialized(LINEAR, '1, 1', '[1], [testing.InitializerArgument(None, None)]'), {'test_initializers': 5}
    ),
    'initializers, text': File(initialized(LINEAR, '1, 1', '[1], [{}]'), {'test_initializers': 5}),
    'link with batch normalization': File(
        link(
            'L.BatchNormalization(2, initial_gamma=initializers[0], initial_beta=initializers[1])',
            '((x - x.mean(0)) / np.sqrt(x.var(0) + 2e-5) * link.gamma.array + link.beta.array),',
            "('gamma', 'beta')",
            NORMAL,
            'np.random.uniform(-1, 1, (8, 2)).astype(np.float32),',
            """
            def setUp(self):
                self.check_forward_options = {'atol': 1e-4, 'rtol': 1e-3}
                self.check_backward_options = {'atol': 1e-3, 'rtol': 1e-3}
            """,
        )
    ),
    'link with a convolution': File(
        link(
            'L.Convolution2D(2, 3, 3, pad=1, initialW=initializers[0], initial_bias=initializers[1])',
            'F.convolution_2d(x, link.W.array, link.b.array, pad=1).array,',
            "('W', 'b')",
            NORMAL,
            'np.random.uniform(-1, 1, (2, 2, 4, 3)).astype(np.float32),',
            """
            def setUp(self):
                self.check_backward_options = {'atol': 1e-3, 'rtol': 1e-3}
            """,
        )
    ),
    'link with relu, dodging': File(
        link(
            LINEAR,
            'np.maximum(x @ link.W.array.T + link.b.array, 0),',
            "('W', 'b')",
            NORMAL,
            members="""
            dodge_nondifferentiable = True
            def forward(self, link, inputs, device):
                return F.relu(link(inputs[0])),
            """,
        )
    ),
    'link with a state': File(
        link(
            'L.LSTM(2, 3)',
            'self.expected(link, x),',
            '()',
            '()',
            members="""
            def forward(self, link, inputs, device):
                link.reset_state()
                return link(inputs[0]),
            def expected(self, link, x):
                link.reset_state()
                return link(x).array
            """,
        )
    ),
    'link with a list of initializers': File(
        link(LINEAR, 'x @ link.W.array.T + link.b.array,', "['W', 'b']", '[0.5, np.zeros(3, np.float32)]')
    ),
    'initializers of a name that is not there': File(
        initialized(LINEAR, '1, 1', '[1], [2]', "('W', 'c')"), {'test_initializers': 5}
    ),
}
