"""Test files with a FunctionTestCase of a wrong function, or that are wrong themselves."""

from __future__ import annotations

from tests.testing.files_of_users import BOTH, CUBE, FIRST, NODES, WRONG, File, function

WRONG_ONES: dict[str, File] = {
    'wrong values': File(function('Cube().apply((x,))', 'x ** 2,'), {'test_forward': 5}),
    'wrong values, within a tolerance': File(
        function(
            'Cube().apply((x,))',
            'x ** 3 + np.float32(1e-3),',
            members="""
            def setUp(self):
                self.check_forward_options = {'atol': 1e-2}
            """,
        )
    ),
    'wrong dtype': File(
        function('Cube().apply((x,))', 'x.astype(np.float64) ** 3,'),
        {'test_forward': 5, 'test_backward': 5},
        {'test_double_backward': 5},
        'upstream gradients of another dtype are refused at the second order, too',
    ),
    'wrong shape': File(function('F.sum(x ** 3, axis=0),', '(x ** 3).sum(),'), {'test_forward': 5, **BOTH}),
    'wrong number of outputs': File(function('F.split_axis(x, 2, 0)', 'x[:1],'), {'test_forward': 5, **BOTH}),
    'not a tuple': File(function('Cube().apply((x,))[0]', 'x ** 3,'), {'test_forward': 5, **BOTH}),
    'expected values not a tuple': File(function('Cube().apply((x,))', 'x ** 3'), {'test_forward': 5, **BOTH}),
    'inputs not a tuple': File(
        function(*CUBE, 'np.random.uniform(0.5, 1, (2, 3)).astype(np.float32)'), {'test_forward': 5, **BOTH}
    ),
    'a factor of the gradient': File(function(*WRONG), BOTH),
    'a factor of the gradient, within a tolerance': File(
        function(
            'variant(Cube, first=3.003, second=6.006).apply((x,))',
            'x ** 3,',
            members="""
            def setUp(self):
                self.check_backward_options = {'atol': 1e-1, 'rtol': 1e-1}
                self.check_double_backward_options = {'atol': 1e-1, 'rtol': 1e-1}
            """,
        )
    ),
    'a factor of the second gradient': File(
        function('variant(Cube, second=4.0).apply((x,))', 'x ** 3,'), {'test_double_backward': 5}
    ),
    'the sign of the gradient': File(
        function('variant(Cube, first=-3.0, second=-6.0).apply((x,))', 'x ** 3,'), *FIRST
    ),
    'gradients of zeros': File(function('variant(Cube, first=0.0, second=0.0).apply((x,))', 'x ** 3,'), *FIRST),
    'a second order outside of the graph': File(
        function(
            'Outside().apply((x,))',
            'x ** 3,',
            before="""
            class Outside(Cube):
                def backward(self, indexes, grad_outputs):
                    x, = self.get_retained_inputs()
                    return chainer.Variable(3 * x.array ** 2 * grad_outputs[0].array),
            """,
        ),
        {'test_double_backward': 5},
    ),
    'old function with a second order': File(function('OldSquare()(x),', 'x * x,'), {'test_double_backward': 5}),
    'old function, wrong': File(
        function('variant(OldSquare, factor=3)(x),', 'x * x,', members='skip_double_backward_test = True'),
        {'test_backward': 5, 'test_double_backward': 'skip'},
    ),
    'two outputs, wrong': File(
        function(
            'variant(Pair, factor=1.2).apply(inputs)',
            '(x * inputs[1], x + inputs[1])',
            'tuple(np.random.uniform(0.5, 1, (2, 2, 3)).astype(np.float32))',
        ),
        *FIRST,
    ),
    'inputs changed in place': File(
        function(
            'Adding().apply((x,))',
            'x + 1,',
            before="""
            class Adding(chainer.FunctionNode):
                def forward(self, xs):
                    return np.add(xs[0], 1, out=xs[0]),
                def backward(self, indexes, gys):
                    return gys[0] * 1,
            """,
        ),
        {'test_forward': 5},
        BOTH,
        'every gradient check looks for changes in place',
    ),
    'a gradient not summed': File(
        function(
            'Unsummed().apply(inputs)',
            'x + inputs[1],',
            'tuple(np.random.uniform(0.5, 1, s).astype(np.float32) for s in ((2, 3), (3,)))',
            before="""
            class Unsummed(chainer.FunctionNode):
                def forward(self, xs):
                    return xs[0] + xs[1],
                def backward(self, indexes, gys):
                    return gys[0], gys[0]
            """,
        ),
        BOTH,
    ),
    'a function of float32 only, measured in float64': File(
        function(
            'Single().apply((x,))',
            'x ** 3,',
            before="""
            class Single(Cube):
                def forward(self, inputs):
                    if inputs[0].dtype != np.float32:
                        raise TypeError('float32 only')
                    return super().forward(inputs)
            """,
        ),
        BOTH,
    ),
    'options of the class': File(
        function(*WRONG, members="check_backward_options = {'atol': 1}\ncheck_double_backward_options = {'atol': 9}"),
        BOTH,
        {'test_backward': 0, 'test_double_backward': 0},
        'options of the class are used',
    ),
    'options that do not exist': File(
        function(*CUBE, members="def setUp(self):\n    self.check_backward_options = {'tolerance': 1}"),
        {'test_backward': 5},
    ),
    'no expected values': File(
        f"""{NODES}
@on_devices
class TestIt(testing.FunctionTestCase):
    def generate_inputs(self):
        return np.random.uniform(0.5, 1, (2, 3)).astype(np.float32),
    def forward(self, inputs, device):
        return Cube().apply(inputs)
""",
        {'test_forward': 5, **BOTH},
    ),
    'a constant in float32, wrong': File(
        function(
            'variant(Cube, first=3.3, second=6.6).apply((x,))[0] * chainer.Variable(self.w),',
            'x ** 3 * self.w,',
            members="""
            def setUp(self):
                self.w = np.random.uniform(0.5, 1, (2, 3)).astype(np.float32)
            """,
        ),
        BOTH,
    ),
    'a step and tolerances, wrong': File(
        function(
            'variant(Cube, first=4.5, second=9.0).apply((x,))',
            'x ** 3,',
            members="""
            def setUp(self):
                self.check_backward_options = {'eps': 1e-2, 'atol': 1e-3, 'rtol': 1e-3}
                self.check_double_backward_options = {'eps': 1e-2, 'atol': 1e-2, 'rtol': 1e-2}
            """,
        ),
        *FIRST,
    ),
    'the dtype twice': File(
        function(*CUBE, members="def setUp(self):\n    self.check_backward_options = {'dtype': np.float64}"),
        {'test_backward': 5},
        {'test_backward': 0},
        'the option takes precedence',
    ),
    'random': File(
        function('F.dropout(x),', 'x * 2,', 'np.random.uniform(0.5, 1, (20, 30)).astype(np.float32),'),
        {'test_forward': 5, 'test_backward': 5, 'test_double_backward': 5},
    ),
    'not a number': File(
        function('F.sqrt(x),', 'np.sqrt(x),', 'np.array([1, -1], np.float32),'),
        here=BOTH,
        why='NaN on both sides is an error, not equality',
    ),
    'gradients of the wrong dtype': File(
        function(
            'Wide().apply((x,))',
            'x ** 3,',
            before="""
            class Wide(Cube):
                def backward(self, indexes, grad_outputs):
                    gx, = super().backward(indexes, grad_outputs)
                    return F.cast(gx, np.float64) if gx.dtype == np.float32 else gx,
            """,
        ),
        BOTH,
    ),
}
