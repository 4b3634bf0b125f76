"""Test files as people write them for Chainer: right and wrong functions and links, with options as they are given.

Each is the text of a file without imports (``outcomes.PREAMBLE``), and how many of 5 runs fail, by test, in Chainer
7.8.1; tests that are not named pass. ``here`` is what differs in minichainer, with the reason beside it.
"""

from __future__ import annotations

import dataclasses
import textwrap


@dataclasses.dataclass
class File:
    """A test file and its outcome.

    Attributes:
        text: The file.
        fails: In Chainer 7.8.1, failed runs of 5 by test, "skip" for tests that are skipped.
        here: The same for tests that end otherwise in minichainer.
        why: The reason for that.
    """

    text: str
    fails: dict[str, int | str] = dataclasses.field(default_factory=dict)
    here: dict[str, int | str] = dataclasses.field(default_factory=dict)
    why: str = ''


NODES = """
class Cube(chainer.FunctionNode):
    first = 3.0
    second = 6.0

    def forward(self, inputs):
        self.retain_inputs((0,))
        return np.asarray(inputs[0] ** 3, inputs[0].dtype),

    def backward(self, indexes, grad_outputs):
        x, = self.get_retained_inputs()
        return CubeGrad(self.first, self.second).apply((x, grad_outputs[0]))


class CubeGrad(chainer.FunctionNode):
    def __init__(self, first, second):
        self.first, self.second = first, second

    def forward(self, inputs):
        self.retain_inputs((0, 1))
        x, gy = inputs
        return np.asarray(self.first * x * x * gy, x.dtype),

    def backward(self, indexes, grad_outputs):
        x, gy = self.get_retained_inputs()
        ggx, = grad_outputs
        return self.second * x * gy * ggx, self.first * x * x * ggx


class Pair(chainer.FunctionNode):
    factor = 1.0

    def forward(self, inputs):
        self.retain_inputs((0, 1))
        x, w = inputs
        return x * w, x + w

    def backward(self, indexes, grad_outputs):
        x, w = self.get_retained_inputs()
        g0, g1 = grad_outputs
        return self.factor * w * g0 + g1, x * g0 + g1


class OldSquare(chainer.Function):
    factor = 2

    def forward(self, inputs):
        return np.asarray(inputs[0] * inputs[0]),

    def backward(self, inputs, grad_outputs):
        return np.asarray(self.factor * inputs[0] * grad_outputs[0], inputs[0].dtype),


def variant(node, **members):
    return type('Variant', (node,), members)()
"""


def function(
    call: str, expected: str, inputs: str = '', members: str = '', decorators: str = '', before: str = ''
) -> str:
    """A test file with a FunctionTestCase.

    Args:
        call: What ``forward`` returns, in terms of ``inputs`` and ``x``, the first.
        expected: What ``forward_expected`` returns.
        inputs: What ``generate_inputs`` returns; by default one float32 array.
        members: Further lines of the class.
        decorators: Lines above the class.
        before: Lines above the decorators.
    """
    inputs = inputs or 'np.random.uniform(0.5, 1, (2, 3)).astype(np.float32),'
    top = ''.join(textwrap.dedent(text) + '\n' for text in (before, decorators))
    return f"""{NODES}
{top}
@on_devices
class TestIt(testing.FunctionTestCase):
{textwrap.indent(textwrap.dedent(members), '    ')}
    def generate_inputs(self):
        return {inputs}

    def forward(self, inputs, device):
        x = inputs[0]
        return {call}

    def forward_expected(self, inputs):
        x = inputs[0]
        return {expected}
"""


def link(
    create: str,
    expected: str,
    names: str,
    params: str,
    inputs: str = '',
    members: str = '',
    before: str = '',
) -> str:
    """A test file with a LinkTestCase; the arguments are like those of :func:`function`."""
    inputs = inputs or 'np.random.uniform(-1, 1, (4, 2)).astype(np.float32),'
    return f"""{NODES}
{textwrap.dedent(before)}

@on_devices
class TestIt(testing.LinkTestCase):
    param_names = {names}
{textwrap.indent(textwrap.dedent(members), '    ')}
    def generate_params(self):
        return {params}

    def generate_inputs(self):
        return {inputs}

    def create_link(self, initializers):
        return {create}

    def forward_expected(self, link, inputs):
        x = inputs[0]
        return {expected}
"""


def initialized(create: str, params: str, choices: str, names: str = "('W', 'b')", members: str = '') -> str:
    """A test file with a LinkInitializersTestCase."""
    return f"""
@on_devices
class TestIt(testing.LinkInitializersTestCase):
    param_names = {names}
{textwrap.indent(textwrap.dedent(members), '    ')}
    def generate_params(self):
        return {params}

    def generate_inputs(self):
        return np.random.uniform(-1, 1, (4, 2)).astype(np.float32),

    def create_link(self, initializers):
        return {create}

    def get_initializers(self):
        return {choices}
"""


def unary(arguments: str, body: str = 'pass', before: str = '') -> str:
    """A test file with unary_math_function_unittest."""
    return f"""{NODES}
{textwrap.dedent(before)}

@testing.unary_math_function_unittest({arguments})
class TestIt(unittest.TestCase):
{textwrap.indent(textwrap.dedent(body), '    ')}
"""


def plain(body: str, base: str = 'unittest.TestCase', decorators: str = '') -> str:
    """A test file with a class of tests; those of ``object`` are for pytest."""
    return f"""{NODES}
{textwrap.dedent(decorators)}
class TestIt({base}):
{textwrap.indent(textwrap.dedent(body), '    ')}
"""


CUBE = ('Cube().apply((x,))', 'x ** 3,')
WRONG = ('variant(Cube, first=3.3).apply((x,))', 'x ** 3,')
DTYPES = """
@testing.parameterize(*testing.product({
    'dtype': [np.float16, np.float32, np.float64],
    'shape': [(2, 3), (4,), (0, 2)],
}))
"""
BY_DTYPE = """
def setUp(self):
    if self.dtype == np.float16:
        self.check_forward_options.update({'atol': 5e-3, 'rtol': 5e-3})
        self.check_backward_options.update({'atol': 5e-2, 'rtol': 5e-2})
        self.check_double_backward_options.update({'atol': 5e-2, 'rtol': 5e-2})
"""
ANY = 'np.asarray(np.random.uniform(0.5, 1, self.shape)).astype(self.dtype),'
BOTH: dict[str, int | str] = {'test_backward': 5, 'test_double_backward': 5}
#: Outcomes where only the first order is wrong.
FIRST: tuple[dict[str, int | str], dict[str, int | str], str] = (
    {'test_backward': 5},
    {'test_double_backward': 5},
    'test_double_backward checks the first order, too',
)
LINEAR = 'L.Linear(2, 3, initialW=initializers[0], initial_bias=initializers[1])'
NORMAL = 'chainer.initializers.Normal(1), chainer.initializers.Normal(1)'
