"""FunctionTestCase passes right functions and names what is wrong with others."""

from __future__ import annotations

import unittest
import warnings
from typing import Any

import numpy as np
import pytest

import minichainer
import minichainer.functions as F
from minichainer import testing
from minichainer.errors import GradientCheckLeniencyWarning
from minichainer.testing import _gradient_case
from tests.testing.running import run, verdicts


class Tanh(testing.FunctionTestCase):
    """A right one; the tests below break a copy of it in one place each."""

    __test__ = False

    def generate_inputs(self) -> Any:
        return (np.random.uniform(-1, 1, (2, 3)).astype(np.float32),)

    def forward(self, inputs: Any, device: Any) -> Any:
        return (F.tanh(inputs[0]),)

    def forward_expected(self, inputs: Any) -> Any:
        return (np.tanh(inputs[0]),)


class Cube(minichainer.FunctionNode):
    """x ** 3 with factors of its first and second derivative, right ones by default."""

    def __init__(self, first: float = 3, second: float = 6) -> None:
        self.factors = first, second

    def forward(self, inputs: Any) -> Any:
        self.retain_inputs((0,))
        return (inputs[0] ** 3,)

    def backward(self, indexes: Any, grad_outputs: Any) -> Any:
        (x,) = self.get_retained_inputs()
        return CubeGrad(*self.factors).apply((x, grad_outputs[0]))


class CubeGrad(minichainer.FunctionNode):
    def __init__(self, first: float, second: float) -> None:
        self.first, self.second = first, second

    def forward(self, inputs: Any) -> Any:
        self.retain_inputs((0, 1))
        x, gy = inputs
        return (np.asarray(self.first, x.dtype) * x * x * gy,)

    def backward(self, indexes: Any, grad_outputs: Any) -> Any:
        x, gy = self.get_retained_inputs()
        (ggx,) = grad_outputs
        return self.second * x * gy * ggx, self.first * x * x * ggx


class CubeCase(Tanh):
    node: Any = None

    def generate_inputs(self) -> Any:
        return (np.random.uniform(0.5, 1, (2, 3)).astype(np.float32),)

    def forward(self, inputs: Any, device: Any) -> Any:
        return self.node.apply(inputs)

    def forward_expected(self, inputs: Any) -> Any:
        return (inputs[0] ** 3,)


def broken(base: type = Tanh, **members: Any) -> dict[str, str]:
    """What fails, by test, in a copy of a case with other members."""
    return verdicts(run(type('Broken', (base,), members)))


def make(first: float, second: float) -> Any:
    return property(lambda self: Cube(first, second))


def test_a_right_function_passes() -> None:
    result = run(Tanh)
    assert result.wasSuccessful() and result.testsRun == 3 and not result.skipped


def test_a_right_function_of_the_users_passes() -> None:
    assert broken(CubeCase, node=make(3, 6)) == {}


@pytest.mark.parametrize('dtype', [np.float16, np.float32, np.float64])
@pytest.mark.parametrize('shape', [(), (0, 2), (3,), (2, 3, 4)])
def test_dtypes_and_shapes(dtype: Any, shape: Any) -> None:
    wide = {'atol': 5e-2, 'rtol': 5e-2} if dtype == np.float16 else {}

    def generate_inputs(self: Any) -> Any:
        return (np.asarray(np.random.uniform(0.2, 0.9, shape)).astype(dtype),)

    found = broken(
        generate_inputs=generate_inputs,
        check_forward_options=wide,
        check_backward_options=wide,
        check_double_backward_options=wide,
    )
    assert found == {}


def test_wrong_forward() -> None:
    found = broken(forward_expected=lambda self, inputs: (np.tanh(inputs[0]) + 0.1,))
    assert list(found) == ['test_forward']
    for part in [
        'FunctionTestError: Outputs do not match the expected values.\nIndices of outputs that do not match: 0\n'
        'Expected shapes and dtypes: (2, 3):float32\nActual shapes and dtypes:   (2, 3):float32\n',
        'Error details of output [0]:',
        'worst element: ',
    ]:
        assert part in found['test_forward']


def test_wrong_backward() -> None:
    found = broken(CubeCase, node=make(2, 4))
    # The second order is checked with the first: it may say so, too.
    assert set(found) - {'test_double_backward'} == {'test_backward'}
    assert 'FunctionTestError: backward is not implemented correctly\n\n(caused by)\n' in found['test_backward']


def test_wrong_double_backward() -> None:
    found = broken(CubeCase, node=make(3, 5))
    assert list(found) == ['test_double_backward']
    expected = 'FunctionTestError: double backward is not implemented correctly\n\n(caused by)\n'
    assert expected in found['test_double_backward']


def test_only_the_sign_of_the_upstream_gradient_is_wrong() -> None:
    class Blind(Cube):
        def backward(self, indexes: Any, grad_outputs: Any) -> Any:
            (x,) = self.get_retained_inputs()
            return (3 * x * x * F.absolute(grad_outputs[0]),)

    assert 'test_backward' in broken(CubeCase, node=property(lambda self: Blind()))


FORWARD = [
    (
        {'forward_expected': lambda self, i: (np.tanh(i[0]), np.tanh(i[0]))},
        'Number of outputs (1, 2) does not match\nExpected shapes and dtypes: (2, 3):float32, (2, 3):float32\n'
        'Actual shapes and dtypes:   (2, 3):float32\n',
    ),
    (
        {'forward_expected': lambda self, i: (np.tanh(i[0]).astype(float),)},
        'Shapes and/or dtypes do not match\nExpected shapes and dtypes: (2, 3):float64\n'
        'Actual shapes and dtypes:   (2, 3):float32\n',
    ),
    (
        {'forward_expected': lambda self, i: (np.tanh(i[0])[:1],)},
        'Shapes and/or dtypes do not match\nExpected shapes and dtypes: (1, 3):float32\n',
    ),
    (
        {'forward': lambda self, i, device: F.tanh(i[0])},
        "FunctionTestError: `forward()` must return a tuple, not <class 'minichainer.variable.Variable'>.",
    ),
    (
        {'forward': lambda self, i, device: (F.tanh(i[0]).array,)},
        "FunctionTestError: forward() must return a tuple of Variables.\nActual: <class 'numpy.ndarray'>",
    ),
    (
        {'forward_expected': lambda self, i: np.tanh(i[0])},
        "TypeError: `forward_expected()` must return a tuple, not <class 'numpy.ndarray'>.",
    ),
    (
        {'generate_inputs': lambda self: [np.zeros(2, np.float32)]},
        "TypeError: `generate_inputs()` must return a tuple, not <class 'list'>.",
    ),
    (
        {'generate_inputs': lambda self: (F.tanh(np.zeros(2, np.float32)),)},
        'TypeError: `generate_inputs()` must return a tuple of NumPy arrays or None, not <class',
    ),
    ({'contiguous': 'F'}, "ValueError: contiguous: expected None or 'C', got 'F'"),
    (
        {'forward_expected': testing.FunctionTestCase.forward_expected},
        'Error: forward_expected() is not implemented: Broken must define forward_expected(inputs)',
    ),
    (
        {'forward': testing.FunctionTestCase.forward},
        'Error: forward() is not implemented: Broken must define forward(inputs, device)',
    ),
    (
        {'generate_inputs': testing.FunctionTestCase.generate_inputs},
        'Error: generate_inputs() is not implemented: Broken must define generate_inputs()',
    ),
]


@pytest.mark.parametrize(('members', 'message'), FORWARD, ids=[message[:50] for _, message in FORWARD])
def test_messages_of_forward(members: dict, message: str) -> None:
    assert message in broken(**members)['test_forward']


def test_modified_input() -> None:
    def forward(self: Any, inputs: Any, device: Any) -> Any:
        y = F.tanh(inputs[0])
        inputs[0].array[...] = 0
        return (y,)

    found = broken(forward=forward)
    assert set(found) == {'test_forward', 'test_backward', 'test_double_backward'}
    expected = 'Input arrays have been modified during forward.\nIndices of modified inputs: 0\n'
    assert expected in found['test_forward']


def adding(inputs: Any, gy: Any) -> Any:
    np.add(inputs[0], 1, out=inputs[0])


def doubling(inputs: Any, gy: Any) -> Any:
    np.multiply(gy, 2, out=gy)


class Writing(Cube):
    """x ** 3, right, but it writes to arrays that it is given; as an old node it gets copies unless contiguous."""

    def __init__(self, forward: Any = None, backward: Any = None) -> None:
        super().__init__()
        self.spoil, self.spoil_back = forward, backward

    def forward(self, inputs: Any) -> Any:
        y = inputs[0] ** 3
        self.kept = inputs[0].copy()
        if self.spoil is not None:
            self.spoil(inputs, None)
        return (y,)

    def backward(self, indexes: Any, grad_outputs: Any) -> Any:
        gx = minichainer.Variable(3 * self.kept**2 * grad_outputs[0].array)
        if self.spoil_back is not None:
            self.spoil_back(None, grad_outputs[0].array)
        return (gx,)


@pytest.mark.parametrize('contiguous', [None, 'C'])
@pytest.mark.parametrize(
    ('spoil', 'fails'),
    [
        ({'forward': adding}, {'test_forward', 'test_backward'}),
        ({'backward': doubling}, {'test_backward'}),
        ({}, set()),
    ],
    ids=['forward changes inputs', 'backward changes the upstream gradient', 'nothing changes'],
)
def test_functions_that_write_to_their_arrays(contiguous: Any, spoil: dict, fails: set[str]) -> None:
    node = property(lambda self: Writing(**spoil))
    found = broken(CubeCase, node=node, contiguous=contiguous, skip_double_backward_test=True)
    assert set(found) - {'test_double_backward'} == fails
    if 'test_forward' in fails:
        assert 'Input arrays have been modified during forward.' in found['test_forward']
    if fails:
        assert (
            'modified in place: the ' in found['test_backward']
            or 'modified in place: backward' in found['test_backward']
        )


class OnlySingle(Cube):
    def forward(self, inputs: Any) -> Any:
        if inputs[0].dtype != np.float32:
            raise TypeError(f'float32 only, got {inputs[0].dtype}')
        return super().forward(inputs)


def test_dtype_of_the_numeric_side() -> None:
    node = property(lambda self: OnlySingle())
    wide = {'atol': 1e-3, 'rtol': 1e-3}
    options = {'check_backward_options': wide, 'check_double_backward_options': {'atol': 1e-2, 'rtol': 1e-2}}
    for dtype in (np.float32, None):
        assert broken(CubeCase, node=node, numerical_grad_dtype=dtype, **options) == {}
    found = broken(CubeCase, node=node, **options)
    assert set(found) == {'test_backward', 'test_double_backward'} and 'float32 only, got float64' in str(found)
    assert testing.FunctionTestCase.numerical_grad_dtype is testing.LinkTestCase.numerical_grad_dtype is np.float64


class Pair(minichainer.FunctionNode):
    """sin and cos of one input, as such nodes are usually written: None as an upstream gradient is not handled."""

    factor = 1.0

    def forward(self, inputs: Any) -> Any:
        self.retain_inputs((0,))
        return np.sin(inputs[0]), np.cos(inputs[0])

    def backward(self, indexes: Any, grad_outputs: Any) -> Any:
        (x,) = self.get_retained_inputs()
        return (self.factor * F.cos(x) * grad_outputs[0] - F.sin(x) * grad_outputs[1],)


class PairCase(Tanh):
    node: type = Pair

    def forward(self, inputs: Any, device: Any) -> Any:
        return self.node().apply(inputs)

    def forward_expected(self, inputs: Any) -> Any:
        return np.sin(inputs[0]), np.cos(inputs[0])


def test_a_node_that_needs_all_upstream_gradients_is_a_warning() -> None:
    for test in ('test_backward', 'test_double_backward'):
        with pytest.warns(GradientCheckLeniencyWarning, match='with only the upstream gradient of output 0 backward'):
            PairCase(test).debug()
        wrong = type('Wrong', (PairCase,), {'node': type('Wrong', (Pair,), {'factor': 1.5})})
        with warnings.catch_warnings():
            warnings.simplefilter('ignore')
            with pytest.raises(testing.FunctionTestError, match='not implemented correctly'):
                wrong(test).debug()


def test_exceptions_of_the_function_stay_as_they_are() -> None:
    def forward(self: Any, inputs: Any, device: Any) -> Any:
        raise LookupError('not here')

    found = broken(forward=forward)
    assert all(text.rstrip().endswith('LookupError: not here') for text in found.values()) and len(found) == 3


def test_inputs_without_gradient() -> None:
    seen = []

    class Mixed(Tanh):
        def generate_inputs(self) -> Any:
            return (*super().generate_inputs(), np.arange(3), None)

        def forward(self, inputs: Any, device: Any) -> Any:
            assert inputs[2] is None and not inputs[1].requires_grad
            return (F.tanh(inputs[0]), minichainer.Variable(inputs[1].array + 1))

        def forward_expected(self, inputs: Any) -> Any:
            return np.tanh(inputs[0]), inputs[1] + 1

        def generate_grad_grad_inputs(self, inputs_template: Any) -> Any:
            seen.append(super().generate_grad_grad_inputs(inputs_template))
            return seen[-1]

    assert run(Mixed).wasSuccessful()
    ((ggx, integers, nothing),) = seen
    assert ggx.dtype == np.float32 and (integers == 0).all() and nothing is None


def test_an_output_that_is_not_looked_at() -> None:
    assert broken(forward_expected=lambda self, inputs: (None,)) == {}


def test_no_inputs_to_differentiate() -> None:
    found = broken(
        generate_inputs=lambda self: (),
        forward=lambda self, inputs, device: (minichainer.Variable(np.ones(2, np.float32)),),
        forward_expected=lambda self, inputs: (np.ones(2, np.float32),),
    )
    assert found == {}


def test_skipped_tests() -> None:
    found = broken(skip_backward_test=True, setUp=lambda self: setattr(self, 'skip_forward_test', True))
    assert found == {'test_backward': 'skip_backward_test is set', 'test_forward': 'skip_forward_test is set'}


def test_options_of_a_class_and_of_setup() -> None:
    class Tolerant(Tanh):
        check_forward_options = {'atol': 0.2}

        def setUp(self) -> None:
            self.check_forward_options.update(rtol=0)

        def forward_expected(self, inputs: Any) -> Any:
            assert self.check_forward_options == {'atol': 0.2, 'rtol': 0}
            return (np.tanh(inputs[0]) + np.float32(0.1),)

    assert run(Tolerant).wasSuccessful()
    assert Tolerant.check_forward_options == {'atol': 0.2}
    assert testing.FunctionTestCase.check_forward_options == {}


def test_options_reach_the_check() -> None:
    found = broken(check_backward_options={'no_such_option': 1}, check_double_backward_options={'eps': -1})
    assert "unexpected keyword argument 'no_such_option'" in found['test_backward']
    assert 'eps' in found['test_double_backward']


@pytest.mark.parametrize(('contiguous', 'expected'), [(None, (-48, -8)), ('C', (12, 4))])
def test_memory_layout(contiguous: Any, expected: Any) -> None:
    seen = []

    def forward(self: Any, inputs: Any, device: Any) -> Any:
        seen.append(inputs[0].array.strides)
        return (F.tanh(inputs[0]),)

    case = type('Layout', (Tanh,), {'contiguous': contiguous, 'forward': forward})
    case('test_forward').debug()
    assert seen == [expected] + [(12, 4)] * (contiguous is None), 'the second call finds changes that copies hide'


class Hooks(Tanh):
    names: list[str] = []

    def before_test(self, test_name: str) -> None:
        assert isinstance(self.backend_config, testing.BackendConfig)
        self.names.append(test_name)

    def check_forward_outputs(self, outputs: Any, expected_outputs: Any) -> None:
        self.names.append(f'{type(outputs[0]).__name__} {type(expected_outputs[0]).__name__}')
        super().check_forward_outputs(outputs, expected_outputs)


def test_hooks() -> None:
    assert run(type('Mine', (Hooks,), {'names': (names := [])})).wasSuccessful()
    assert sorted(names) == ['ndarray ndarray', 'test_backward', 'test_double_backward', 'test_forward']


def test_injected_backends() -> None:
    cls = type('Injected', (Tanh,), {'__module__': __name__})
    params = [{}, {'use_cuda': True}, {'use_chainerx': True, 'chainerx_device': 'native:0'}]
    result = run(testing.inject_backend_tests(None, params)(cls))
    assert result.wasSuccessful() and result.testsRun == 9
    assert len(result.skipped) == (3 if minichainer.backends.cuda.available else 6)


def relu_case(starts_at_kinks: int) -> type:
    """The first inputs drawn are at the kink of relu."""

    class Relu(Tanh):
        dodge_nondifferentiable = True
        drawn = 0

        def generate_inputs(self) -> Any:
            self.drawn += 1
            return (np.full((2, 3), 0.0 if self.drawn <= starts_at_kinks else 1.0, np.float32),)

        def forward(self, inputs: Any, device: Any) -> Any:
            return (F.relu(inputs[0]),)

        def forward_expected(self, inputs: Any) -> Any:
            return (np.maximum(inputs[0], 0),)

        def tearDown(self) -> None:
            type(self).last = self.drawn

    return Relu


def test_kinks_are_dodged() -> None:
    case = relu_case(2)
    case('test_backward').debug()
    assert case.last == 3


def test_dodging_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_gradient_case, '_MOST_ATTEMPTS', 3)
    with pytest.raises(testing.FunctionTestError, match='3 random inputs were all at points where'):
        relu_case(10**6)('test_backward').debug()


def test_the_base_is_no_test() -> None:
    for base in (testing.FunctionTestCase, testing.LinkTestCase, testing.LinkInitializersTestCase):
        result = run(base)
        assert set(verdicts(result).values()) == {'the base of test cases is not a test'}


def test_errors() -> None:
    error = testing.FunctionTestError
    error.check(True, 'fine')
    with pytest.raises(error, match=r'^not fine$'):
        error.check(False, 'not fine')
    with pytest.raises(error, match=r'^text$'):
        error.fail('text')
    with pytest.raises(error) as info, error.raise_if_fail('text'):
        raise AssertionError('inner')
    assert str(info.value) == 'text\n\n(caused by)\nAssertionError: inner\n'
    with pytest.raises(KeyError), error.raise_if_fail('text'):
        raise KeyError('k')
    with pytest.raises(error, match="KeyError: 'k'"), error.raise_if_fail('text', (KeyError,)):
        raise KeyError('k')
    assert issubclass(error, AssertionError) and issubclass(testing.LinkTestError, AssertionError)


def test_cases_without_pytest_are_plain_unittest() -> None:
    assert issubclass(testing.FunctionTestCase, unittest.TestCase)
