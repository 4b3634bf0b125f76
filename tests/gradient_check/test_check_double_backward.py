"""check_double_backward: the derivative of the gradients, on functions right and wrong at second order."""

from __future__ import annotations

import numpy as np
import pytest

from minichainer.function import Function
from minichainer.function_node import FunctionNode
from minichainer.functions.array.conversion import as_dtype
from minichainer.gradient_check import NondifferentiableError, check_double_backward
from minichainer.links.connection.linear import Linear
from minichainer.variable import Parameter, Variable


def uniform(*shape, dtype=np.float64, seed=1):
    return np.random.RandomState(seed).uniform(-1, 1, shape).astype(dtype)


class Cube(FunctionNode):
    """Right at first order; its rule is what the tests change."""

    def __init__(self, rule=lambda x, gy: 3 * x * x * gy):
        self.rule = rule

    def forward(self, inputs):
        self.retain_inputs((0,))
        return (inputs[0] ** 3,)

    def backward(self, indexes, grad_outputs):
        (x,) = self.get_retained_inputs()
        return (self.rule(x, grad_outputs[0]),)


def cube(rule=lambda x, gy: 3 * x * x * gy):
    return lambda x: Cube(rule).apply((x,))[0]


X, GY, GGX = uniform(3, 4), uniform(3, 4, seed=2), uniform(3, 4, seed=3)
SINGLE = uniform(3, dtype='f')

RIGHT = {
    'cube': (cube(), X, GY, GGX),
    'operators': (lambda x, w: x * x / (w * w + 1), (X, GY), GY, (GGX, X)),
    'linear': (lambda x: x * 3, X, GY, GGX),
    'two outputs': (lambda x: (x * x, x * x * x), X, (GY, X), GGX),
    'second output ignored': (lambda x: (x * x, x * x * x), X, (GY, None), GGX),
    'no output counts': (lambda x: x * x, X, (None,), GGX),
    'unused input': (lambda x, w: x * x, (X, X), GY, (GGX, GGX)),
    'unused input, zero': (lambda x, w: x * x, (X, X), GY, (GGX, 0 * GGX)),
    'unused input, None': (lambda x, w: x * x, (X, X), GY, (GGX, None)),
    'one gradient does not count': (lambda x, w: x * w * w, (X, X), GY, (None, GGX)),
    'integers': (lambda x, i: x * Variable(i.array * 1.0) * x, (X, np.full((3, 4), 2)), GY, (GGX, None)),
    'None as input': (lambda x, nothing: x * x, (X, None), GY, (GGX, None)),
    'identity': (lambda x: x, X, GY, GGX),
    'loss without y_grad': (lambda x: x * x * x, np.array(0.7), None, np.array(1.5)),
    'empty': (cube(), uniform(0, 2), uniform(0, 2), uniform(0, 2)),
}


@pytest.mark.parametrize('name', RIGHT)
@pytest.mark.parametrize('detect', [False, True])
def test_right_second_order_passes(name, detect):
    assert check_double_backward(*RIGHT[name], detect_nondifferentiable=detect) is None


@pytest.mark.parametrize('dtype', [np.float16, np.float32])
def test_low_precision_passes_with_a_double_numeric_side(dtype):
    x, gy, ggx = (a.astype(dtype) for a in (X, GY, GGX))
    tolerance = 10 * float(np.finfo(dtype).eps)
    check_double_backward(lambda x: x * x * x, x, gy, ggx, atol=tolerance, rtol=tolerance, dtype=np.float64)


def test_an_output_of_another_dtype_than_the_numeric_side():
    ggx = SINGLE.astype('d')
    check_double_backward(lambda x: as_dtype(x * x * x, 'f'), ggx, SINGLE, ggx, eps=1e-2, dtype=np.float64)


WRONG = {
    'x detached': (
        lambda x, gy: 3 * x.array * x.array * gy,
        r'gradient 0, inputs\[0\](.|\n)*second order only, detached: backward gives None',
    ),
    'gy detached': (
        lambda x, gy: 3 * x * x * gy.array,
        r'gradient 0, grad_outputs\[0\](.|\n)*second order only, detached: backward gives None',
    ),
    'half detached': (
        lambda x, gy: 3 * x * x.array * gy,
        'second order only, factor: backward gives 0.5 times the gradient',
    ),
    'everything detached': (lambda x, gy: Variable(3 * x.array**2 * gy.array), '12 of 12 elements are wrong'),
}


@pytest.mark.parametrize('name', WRONG)
def test_wrong_second_order_fails(name):
    rule, message = WRONG[name]
    with pytest.raises(AssertionError, match=message) as error:
        check_double_backward(cube(rule), X, GY, GGX)
    text = str(error.value)
    assert text.startswith('check_double_backward failed for <lambda>: a gradient is wrong.\norder 2, gradient 0, ')


def test_the_first_order_is_checked_too():
    with pytest.raises(AssertionError, match=r'output 0, inputs(.|\n)*backward gives 2 times the gradient'):
        check_double_backward(cube(lambda x, gy: 6 * x * x * gy), X, GY, GGX)


def test_params_take_part_and_are_left_as_they_were():
    p = Parameter(uniform(3, dtype='f', seed=7), name='W')
    array, p.grad = p.array, uniform(3, dtype='f')
    gradient = p.grad
    arguments = (SINGLE, SINGLE, SINGLE, p, SINGLE)
    check_double_backward(lambda x: x * p * p, *arguments, dtype=np.float64)
    assert p.array is array and p.grad is gradient and p.dtype == np.float32
    with pytest.raises(AssertionError, match=r'params\[0\] \(W\) (.|\n)*factor: backward gives 0.5 times'):
        check_double_backward(lambda x: x * p * p.array, *arguments, dtype=np.float64)
    assert p.array is array and p.grad is gradient and p.dtype == np.float32
    np.testing.assert_array_equal(gradient, uniform(3, dtype='f'))


def test_the_callers_arrays_are_left_alone():
    arrays = [uniform(3), uniform(3, seed=2), uniform(3, seed=3)]
    for a in arrays:
        a.flags.writeable = False
    check_double_backward(lambda x: x * x * x, *arrays)


def test_an_old_style_function_cannot_be_differentiated_twice():
    class Old(Function):
        def forward(self, inputs):
            return (inputs[0] ** 2,)

        def backward(self, inputs, grad_outputs):
            return (2 * inputs[0] * grad_outputs[0],)

    with pytest.raises(RuntimeError, match='cannot twice-differentiate an old-style Function: "Old"'):
        check_double_backward(lambda x: Old()(x), X, GY, GGX)


def test_a_kink_of_the_first_gradient_is_found():
    with pytest.raises(NondifferentiableError, match=r'check_double_backward nondifferentiable(.|\n)*kink: '):
        check_double_backward(
            cube(lambda x, gy: Variable(abs(x.array)) * gy),
            np.zeros(2),
            np.array([1.0, 0.5]),
            np.ones(2),
            detect_nondifferentiable=True,
        )


def test_no_grads():
    def func(x, w):
        return x * x * w.array

    check_double_backward(func, (X, X), GY, (GGX, None), no_grads=[False, True])
    check_double_backward(func, (X, X), GY, (GGX, None), no_grads=[False, True, False])
    with pytest.raises(RuntimeError, match=r'gradient of inputs\[1\] must be None'):
        check_double_backward(lambda x, w: x * w, (X, X), GY, (GGX, None), no_grads=[False, True])
    with pytest.raises(ValueError, match=r'no_grads: one flag expected for each of the 2 inputs.\n.*1 != 2'):
        check_double_backward(func, (X, X), GY, (GGX, None), no_grads=[False])


BAD = {
    'ggx shape': (
        X,
        GY,
        GGX[0],
        {},
        r'x_grad_grad must have an array(.|\n)*\(3, 4\):float64\n.*\(4,\):float64',
    ),
    'ggx dtype': (X, GY, GGX.astype('f'), {}, 'x_grad_grad must have'),
    'ggx count': (X, GY, (GGX, GGX), {}, 'x_grad_grad must have an array .or None. for each entry of x_data'),
    'gy shape': (X, GY[0], GGX, {}, r'differ in shape or dtype(.|\n)*\(3, 4\):float64\n.*\(4,\):float64'),
    'gy count': (X, (GY, GY), GGX, {}, 'Output gradients must be as many as the outputs'),
    'params count': (X, GY, GGX, {'params': Parameter(X)}, 'params_grad_grad must have an array'),
    'no loss': (X, None, GGX, {}, 'y_grad may be left out only for a loss'),
    'eps': (X, GY, GGX, {'eps': -1}, 'eps, the step'),
    'dtype': (X, GY, GGX, {'dtype': int}, '`dtype` is allowed only float type, not int64'),
}


@pytest.mark.parametrize('name', BAD)
def test_bad_arguments(name):
    x, gy, ggx, options, message = BAD[name]
    with pytest.raises(ValueError, match=message):
        check_double_backward(lambda x: x * x, x, gy, ggx, **options)


def test_a_gradient_of_integers_cannot_be_asked_for():
    i = np.array([1, 2])
    with pytest.raises(ValueError, match=r'x_grad_grad\[1\] must be None, because x_data\[1\] \(int64\) has no'):
        check_double_backward(lambda x, i: x * x, (uniform(2), i), uniform(2), (uniform(2), i))


@pytest.mark.parametrize('count', [1, 2])
def test_a_link_that_gets_its_shapes_from_the_data(count):
    link, x = Linear(None, 3), np.random.RandomState(0).uniform(-1, 1, (2, 4)).astype('f')
    shapes = [(3, 4), (3,)][:count]
    ggs = tuple([np.full(shape, 0.5, 'f') for shape in shapes])
    check_double_backward(
        link, x, x[:, :3] + 1, x, params=(link.W, link.b)[:count], params_grad_grad=ggs,
        eps=1e-2, atol=1e-2, rtol=1e-2,
    )  # fmt: skip
    other = Linear(None, 3)
    with pytest.raises(ValueError, match='differ in shape or dtype'):
        check_double_backward(other, x, x[:, :3] + 1, x, params=(other.W,), params_grad_grad=(np.ones((4, 3), 'f'),))
