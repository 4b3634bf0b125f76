"""LinkTestCase and LinkInitializersTestCase pass right links and name what is wrong with others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minichainer
import minichainer.functions as F
import minichainer.links as L
from minichainer import initializers, testing
from tests.testing.running import run, verdicts


class Linear(testing.LinkTestCase):
    __test__ = False
    param_names: Any = ('W', 'b')

    def generate_params(self) -> Any:
        return initializers.Normal(), np.random.randn(3).astype(np.float32)

    def create_link(self, initializers: Any) -> Any:
        return L.Linear(2, 3, initialW=initializers[0], initial_bias=initializers[1])

    def generate_inputs(self) -> Any:
        return (np.random.randn(4, 2).astype(np.float32),)

    def forward_expected(self, link: Any, inputs: Any) -> Any:
        return (inputs[0] @ link.W.array.T + link.b.array,)


class Initialized(testing.LinkInitializersTestCase):
    __test__ = False
    param_names: Any = ('W', 'b')
    generate_inputs = Linear.generate_inputs
    create_link = Linear.create_link

    def generate_params(self) -> Any:
        return 1, 1

    def get_initializers(self) -> Any:
        ones = np.ones((3, 2), np.float32)
        return [2, ones, initializers.Constant(3)], [3, testing.InitializerArgument(None, 0)]


def broken(base: type = Linear, **members: Any) -> dict[str, str]:
    return verdicts(run(type('Broken', (base,), members)))


class WrongGradient(minichainer.FunctionNode):
    """x W + b whose gradient of b is doubled."""

    def forward(self, inputs: Any) -> Any:
        self.retain_inputs((0, 1))
        x, w, b = inputs
        return (x @ w.T + b,)

    def backward(self, indexes: Any, grad_outputs: Any) -> Any:
        x, w = self.get_retained_inputs()
        (gy,) = grad_outputs
        return F.matmul(gy, w), F.matmul(gy, x, transa=True), 2 * F.sum(gy, axis=0)


def test_a_right_link_passes() -> None:
    result = run(Linear)
    assert result.wasSuccessful() and result.testsRun == 2


def test_a_link_whose_parameters_are_made_by_its_first_call_passes() -> None:
    def create_link(self: Any, initializers: Any) -> Any:
        return L.Linear(None, 3, initialW=initializers[0], initial_bias=initializers[1])

    assert broken(create_link=create_link) == {}


class Chain(minichainer.Chain):
    def __init__(self, w: Any, b: Any) -> None:
        super().__init__()
        with self.init_scope():
            self.inner = L.Linear(2, 3, initialW=w, initial_bias=b)

    def forward(self, x: Any) -> Any:
        return F.tanh(self.inner(x))


def test_a_chain() -> None:
    found = broken(
        param_names=('/inner/W', 'inner/b'),
        create_link=lambda self, initializers: Chain(*initializers),
        forward_expected=lambda self, link, inputs: (np.tanh(inputs[0] @ link.inner.W.array.T + link.inner.b.array),),
    )
    assert found == {}


class Counting(minichainer.Link):
    """Its output depends on how often it was called; its gradient does not."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0
        self.register_persistent('calls')

    def forward(self, x: Any) -> Any:
        self.calls += 1
        return x * 2


def test_a_link_with_a_state_is_asked_before_it_is_called() -> None:
    found = broken(
        param_names=(),
        generate_params=lambda self: (),
        create_link=lambda self, initializers: Counting(),
        forward_expected=lambda self, link, inputs: (inputs[0] * (2 + link.calls),),
    )
    assert found == {}


class Remembering(minichainer.Link):
    """Adds its last output to its input."""

    def __init__(self) -> None:
        super().__init__()
        with self.init_scope():
            self.W = minichainer.Parameter(1.5, ())
        self.reset_state()

    def reset_state(self) -> None:
        self.last = 0

    def forward(self, x: Any) -> Any:
        self.last = F.tanh(x * F.broadcast_to(self.W, x.shape)) + self.last
        return self.last


def test_a_link_that_remembers_its_last_call() -> None:
    def forward(self: Any, link: Any, inputs: Any, device: Any) -> Any:
        link.reset_state()
        return (link(*inputs),)

    members = {
        'param_names': ('W',),
        'generate_params': lambda self: (),
        'create_link': lambda self, initializers: Remembering(),
        'forward_expected': lambda self, link, inputs: (np.tanh(inputs[0] * link.W.array),),
    }
    assert broken(**members, forward=forward) == {}
    assert 'nondeterministic' in broken(**members)['test_backward']


def test_wrong_forward() -> None:
    found = broken(forward_expected=lambda self, link, inputs: (inputs[0] @ link.W.array.T,))
    assert list(found) == ['test_forward']
    assert 'LinkTestError: Outputs do not match the expected values.\nIndices' in found['test_forward']


def test_wrong_gradient_of_a_parameter() -> None:
    def forward(self: Any, link: Any, inputs: Any, device: Any) -> Any:
        return WrongGradient().apply((inputs[0], link.W, link.b))

    found = broken(forward=forward)
    assert list(found) == ['test_backward']
    assert 'LinkTestError: backward is not implemented correctly\n\n(caused by)\n' in found['test_backward']
    assert broken(forward=forward, param_names=('W',)) == {}, 'only the parameters named are looked at'


MESSAGES = [
    (
        {'param_names': ('W', 'q')},
        'test_backward',
        "LinkTestError: Link does not have a parameter named 'q' (param_names): it has /W, /b.",
    ),
    ({'create_link': lambda self, i: 3}, 'test_forward', "`create_link()` must return a Link, not <class 'int'>."),
    (
        {'generate_params': testing.LinkTestCase.generate_params},
        'test_forward',
        'Error: generate_params() is not implemented: ',
    ),
    (
        {'create_link': testing.LinkTestCase.create_link},
        'test_forward',
        'Error: create_link() is not implemented: ',
    ),
    (
        {'forward_expected': testing.LinkTestCase.forward_expected},
        'test_forward',
        'Error: forward_expected() is not implemented: ',
    ),
    ({'skip_forward_test': True}, 'test_forward', 'skip_forward_test is set'),
    ({'skip_backward_test': True}, 'test_backward', 'skip_backward_test is set'),
    (
        {'forward': lambda self, link, inputs, device: link(*inputs)},
        'test_forward',
        '`forward()` must return a tuple, not',
    ),
]


@pytest.mark.parametrize(('members', 'test', 'message'), MESSAGES, ids=[m[2][:40] for m in MESSAGES])
def test_messages(members: dict, test: str, message: str) -> None:
    text = broken(**members)[test]
    assert message in text and '(caused by)' not in text


def test_options() -> None:
    def forward_expected(self: Any, link: Any, inputs: Any) -> Any:
        return (inputs[0] @ link.W.array.T + link.b.array + np.float32(0.1),)

    assert broken(check_forward_options={'atol': 0.2}, forward_expected=forward_expected) == {}


def test_initializers() -> None:
    result = run(Initialized)
    assert result.wasSuccessful() and result.testsRun == 1


def test_wrong_initializer() -> None:
    found = broken(Initialized, get_initializers=lambda self: ([testing.InitializerArgument(1.0, 2.0)], [0]))
    text = found['test_initializers']
    assert "LinkTestError: Parameter 'W' does not match its initializer 2.0." in text
    assert 'Outputs do not match the expected values.' in text
    assert broken(
        Initialized,
        get_initializers=lambda self: ([testing.InitializerArgument(1.0, 2.0)], [0]),
        check_initializers_options={'atol': 1.5},
    ) == {}  # fmt: skip


@pytest.mark.parametrize(('value', 'error'), [(None, ValueError), ([1], TypeError), ({}, TypeError)])
def test_what_is_no_initializer(value: Any, error: type) -> None:
    with pytest.raises(error, match='must be an initializer, a number or an array, got'):
        testing.InitializerArgument(1, value)
    for base, members in (
        (Linear, {'generate_params': lambda self: (value, 0)}),
        (Initialized, {'generate_params': lambda self: (value, 0)}),
        (Initialized, {'get_initializers': lambda self: ([1, value], [0])}),
    ):
        found = broken(base, **members)
        assert found and all(
            f'{error.__name__}: ' in text and 'must be an initializer' in text for text in found.values()
        )


def test_arguments_that_stand_for_initializers() -> None:
    params = (testing.InitializerArgument(None, 0), testing.InitializerArgument(None, 0))
    assert broken(generate_params=lambda self: params) == {}
    found = broken(generate_params=lambda self: {1: 2})
    assert all('generate_params() must be a tuple or a list, got dict' in text for text in found.values()) and found


def test_a_link_that_writes_to_its_inputs() -> None:
    class Writing(minichainer.FunctionNode):
        def forward(self, inputs: Any) -> Any:
            y = inputs[0] * 2
            inputs[0][...] = 0
            return (y,)

        def backward(self, indexes: Any, grad_outputs: Any) -> Any:
            return (grad_outputs[0] * 2,)

    class Link(minichainer.Link):
        def forward(self, x: Any) -> Any:
            return Writing().apply((x,))[0]

    for contiguous in (None, 'C'):
        found = broken(
            param_names=(),
            contiguous=contiguous,
            generate_params=lambda self: (),
            create_link=lambda self, initializers: Link(),
            forward_expected=lambda self, link, inputs: (inputs[0] * 2,),
        )
        assert set(found) == {'test_forward', 'test_backward'}
        assert 'Input arrays have been modified during forward.' in found['test_forward']


@pytest.mark.parametrize(('contiguous', 'expected'), [(None, {False, True}), ('C', {True})])
def test_memory_layout_of_parameters(contiguous: Any, expected: Any) -> None:
    seen = set()

    def forward(self: Any, link: Any, inputs: Any, device: Any) -> Any:
        if self.test_name == 'test_backward':
            seen.add(link.W.array.flags.c_contiguous)
        return (link(*inputs),)

    assert broken(contiguous=contiguous, forward=forward) == {}
    assert seen == expected


def test_dtype_of_the_numeric_side() -> None:
    class Single(minichainer.Link):
        def __init__(self) -> None:
            super().__init__()
            with self.init_scope():
                self.W = minichainer.Parameter(np.float32([1.5, -0.5]))

        def forward(self, x: Any) -> Any:
            if x.dtype != np.float32 or self.W.dtype != np.float32:
                raise TypeError(f'float32 only, got {x.dtype}')
            return x * F.broadcast_to(self.W, x.shape)

    members = {
        'param_names': ('W',),
        'generate_params': lambda self: (),
        'create_link': lambda self, initializers: Single(),
        'forward_expected': lambda self, link, inputs: (inputs[0] * link.W.array,),
        'check_backward_options': {'atol': 1e-3, 'rtol': 1e-3},
    }
    assert broken(**members, numerical_grad_dtype=np.float32) == {}
    assert 'float32 only, got float64' in broken(**members)['test_backward']


def test_a_list_of_initializers_is_missing() -> None:
    found = broken(Initialized, get_initializers=lambda self: ([1],))
    expected = '`get_initializers()` must return one list per name in param_names (2), got 1'
    assert expected in found['test_initializers']


def test_injected_backends() -> None:
    for base, tests in ((Linear, 2), (Initialized, 1)):
        cls = type('Injected', (base,), {'__module__': __name__})
        result = run(testing.inject_backend_tests(None, [{}, {'use_ideep': 'always'}])(cls))
        assert result.wasSuccessful() and result.testsRun == 2 * tests
        assert {reason for _, reason in result.skipped} == {'iDeep is not supported by minichainer'}
