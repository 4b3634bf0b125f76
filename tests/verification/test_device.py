"""The gradient check on a GPU: right and wrong rules, causes, and the catalogue of wrong gradients, as on the CPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minichainer.functions as F
from minichainer import FunctionNode, Variable, gradient_check
from minichainer.backends import cuda
from minichainer.gradient_check import (
    check_backward,
    check_double_backward,
    check_gradients,
    numerical_grad,
)

pytestmark = pytest.mark.gpu


def arrays(dtype: str, *shape: int, count: int = 2) -> list[Any]:
    found = [np.random.RandomState(s).uniform(-1, 1, shape).astype(dtype) for s in range(1, count + 1)]
    return [cuda.to_gpu(x) for x in found]


def square(rule: Any) -> Callable[[Any], Variable]:
    """A square with a rule of its own for its gradient."""

    class Square(FunctionNode):
        def forward(self, inputs: Any) -> Any:
            self.retain_inputs((0,))
            return (inputs[0] * inputs[0],)

        def backward(self, indexes: Any, grad_outputs: Any) -> Any:
            (x,) = self.get_retained_inputs()
            return (Variable(rule(x.array, grad_outputs[0].array)),)

    return lambda x: Square().apply((x,))[0]


def one_element(x: Any, gy: Any) -> Any:
    gx = 2 * x * gy
    gx[1, 2] *= 1.1
    return gx


def right(x: Any, gy: Any) -> Any:
    return 2 * x * gy


#: For each rule the beginning of the cause; None for a right one.
RULES: dict[str, tuple[Callable[[Any, Any], Any], str | None]] = {
    'right': (right, None),
    'one element': (one_element, 'one element: '),
    'sign': (lambda x, gy: -2 * x * gy, 'sign: '),
    'absolute': (lambda x, gy: 2 * x * abs(gy), 'not linear '),
    'equal': (lambda x, gy: 2 * x * gy * (1 + bool((gy == gy[0, 0]).all())), 'not linear '),
    'shifted': (lambda x, gy: cuda.cupy.roll(2 * x * gy, 1, axis=1), 'shifted: '),
}


@pytest.mark.parametrize('dtype', 'fd')
@pytest.mark.parametrize('name', RULES)
def test_causes(name: str, dtype: str) -> None:
    rule, cause = RULES[name]
    report = check_gradients(square(rule), arrays(dtype, 3, 4)[0], seed=0)
    if cause is None:
        assert report, str(report)
    else:
        assert report.failures[0].cause.startswith(cause), str(report)


@pytest.mark.parametrize('dtype', 'efd')
def test_right_gradients(dtype: str) -> None:
    x, gy = arrays(dtype, 3, 4)
    assert check_gradients(F.tanh, x, order=2, seed=0)
    assert check_gradients(square(right), x, seed=0, full_jacobian=True)
    assert check_gradients(lambda a, b: (a * b, a + b), (x, gy), seed=0, order=2)
    assert check_gradients(lambda a: abs(a), x * 0, seed=0).verdict == 'nondifferentiable'


def test_chainers_checks() -> None:
    x, gy, ggx = arrays('d', 3, 4, count=3)
    check_backward(F.tanh, x, gy)
    check_backward(lambda a, b: (a * b, a + b), (x, gy), (gy, ggx))
    check_double_backward(F.tanh, x, gy, ggx)
    with pytest.raises(AssertionError):
        check_backward(square(lambda x, gy: -2 * x * gy), x, gy)


def test_numerical_gradients() -> None:
    x, gy = arrays('d', 3, 4)
    (found,) = numerical_grad(lambda: (x**3,), (x,), (gy,))
    assert isinstance(found, cuda.ndarray)
    np.testing.assert_allclose(found.get(), (3 * x**2 * gy).get(), rtol=1e-5, atol=2e-6)
    gradient_check.assert_allclose(found, 3 * x**2 * gy, rtol=1e-5, atol=2e-6)


def test_another_than_the_current_device() -> None:
    if cuda.cupy.cuda.runtime.getDeviceCount() < 2:
        pytest.skip('one GPU only')
    x, gy = (cuda.to_gpu(array, 1) for array in arrays('d', 3, 4))
    assert check_gradients(F.tanh, x, order=2, seed=0)
    check_backward(F.tanh, x, gy)
    (found,) = numerical_grad(lambda: (F.tanh(x).array,), (x,), (gy,))
    assert found.device.id == 1
    assert check_gradients(square(one_element), x, seed=0).failures[0].cause.startswith('one element: ')
