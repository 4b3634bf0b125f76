"""numerical_grad: values, the places where there is no derivative, and what is left behind."""

from __future__ import annotations

import numpy as np
import pytest

from minichainer.gradient_check import NondifferentiableError, numerical_grad
from minichainer.variable import Variable


def grid(*shape, dtype=np.float64):
    return np.random.RandomState(1).uniform(0.5, 2, shape).astype(dtype)


VALUES = {
    'square': (np.square, lambda x: 2 * x),
    'logarithm': (np.log, lambda x: 1 / x),
    'sine': (np.sin, np.cos),
    'constant': (np.ones_like, np.zeros_like),
    'identity, which returns the perturbed array itself': (lambda x: x, np.ones_like),
}


@pytest.mark.parametrize('name', VALUES)
@pytest.mark.parametrize('shape', [(), (0,), (3,), (2, 3)])
@pytest.mark.parametrize(('detect', 'error'), [(False, 1e-5), (True, 1e-10)])
def test_values(name, shape, detect, error):
    f, derivative = VALUES[name]
    x, gy = grid(*shape), np.random.RandomState(2).normal(size=shape)
    gy = np.asarray(gy)
    (gx,) = numerical_grad(lambda: (f(x),), (x,), (gy,), detect_nondifferentiable=detect)
    assert gx.shape == shape and gx.dtype == np.float64
    np.testing.assert_allclose(gx, derivative(x) * gy, atol=error, rtol=error)


@pytest.mark.parametrize('detect', [False, True])
@pytest.mark.parametrize('gy', [1, 1.0, np.ones(()), np.float64(1)], ids=['int', 'float', 'array', 'float of NumPy'])
@pytest.mark.parametrize(
    'kind', [float, np.float64, lambda y: Variable(np.asarray(y))], ids=['float', 'float64', 'Variable']
)
def test_functions_that_return_numbers(kind, gy, detect):
    x = np.array(2.0)
    for outputs, gys in (((kind,), (gy,)), ((kind, None), (gy, None))):
        (gx,) = numerical_grad(
            lambda outputs=outputs: tuple([f and f(x.item() ** 2) for f in outputs]), (x,), gys,
            detect_nondifferentiable=detect,
        )  # fmt: skip
        np.testing.assert_allclose(gx, 4, rtol=1e-5)


@pytest.mark.parametrize('kind', [int, np.int32, bool, np.bool_, lambda y: np.array([y]).astype('u1')])
def test_functions_that_return_whole_numbers(kind):
    x = np.array(2.5)
    gy = np.ones(np.shape(kind(x.item())))
    (gx,) = numerical_grad(lambda: (kind(x.item()),), (x,), (gy,))
    assert gx == 0


@pytest.mark.parametrize(('dtype', 'eps'), [(np.float16, 2**-4), (np.float32, 1e-2)])
def test_the_result_has_the_dtype_of_the_input(dtype, eps):
    x, gy = grid(3, dtype=dtype), np.ones(3, dtype)
    (gx,) = numerical_grad(lambda: (x * x,), (x,), (gy,), eps)
    assert gx.dtype == dtype
    np.testing.assert_allclose(gx, 2 * x, rtol=1e-2)


def test_several_inputs_and_outputs_of_which_some_do_not_count():
    x, w = grid(2, 3), grid(3)

    def f():
        return x * w, None, (x @ w), np.arange(2)

    gys = (grid(2, 3), None, grid(2), None)
    gx, gw = numerical_grad(f, [x, w], gys)
    np.testing.assert_allclose(gx, gys[0] * w + gys[2][:, None] * w, rtol=1e-8)
    np.testing.assert_allclose(gw, (gys[0] * x).sum(0) + x.T @ gys[2], rtol=1e-8)


def test_an_array_or_a_variable_will_do():
    x = grid(3)
    (gx,) = numerical_grad(lambda: Variable(x * x), x, np.ones(3), center_outputs=(x * x,))
    np.testing.assert_allclose(gx, 2 * x, rtol=1e-8)


@pytest.mark.parametrize('detect', [False, True])
def test_how_often_the_function_is_called(detect):
    x, calls = grid(2, 3), []
    numerical_grad(lambda: (calls.append(1), x)[1:], (x,), (x.copy(),), detect_nondifferentiable=detect)
    assert len(calls) == 6 * (5 if detect else 2)


def test_inputs_are_restored_exactly_also_when_the_function_raises():
    x, calls = grid(2, 3, dtype=np.float32), []

    def f():
        calls.append(1)
        if len(calls) == 6:
            raise ZeroDivisionError
        return (x * x,)

    numerical_grad(lambda: (x * x,), (x,), (x.copy(),))
    np.testing.assert_array_equal(x, grid(2, 3, dtype=np.float32))
    with pytest.raises(ZeroDivisionError):
        numerical_grad(f, (x,), (x.copy(),))
    np.testing.assert_array_equal(x, grid(2, 3, dtype=np.float32))


def test_the_input_itself_may_be_the_upstream_gradient():
    x = grid(3)
    (gx,) = numerical_grad(lambda: (x * x,), (x,), (x,))
    np.testing.assert_allclose(gx, 2 * x * x, rtol=1e-8)


def test_nan_stays_nan():
    x = grid(2)
    (gx,) = numerical_grad(lambda: (x * np.nan,), (x,), (np.ones(2),), detect_nondifferentiable=True)
    assert np.isnan(gx).all()


KINKS = {
    'absolute value': (np.abs, 0.0, 1e-3, 'a parabola through the values misses them by 0.0001069'),
    'near a kink': (np.abs, 3e-4, 1e-3, 'a parabola'),
    'ramp': (lambda x: np.maximum(x, 0), 0.0, 1e-3, 'a parabola'),
    'jump': (np.floor, 1.0, 1e-3, 'a parabola'),
    'cube, far too large a step': (lambda x: x**3, 0.0, 0.1, 'a parabola'),
    'edge of the domain': (lambda x: np.log(np.where(x > 0, x, np.nan)), 1e-4, 1e-3, 'finite at some'),
    'pole': (lambda x: np.where(x == 0, np.inf, x), 0.0, 1e-3, 'finite at some of the points only'),
}


@pytest.mark.parametrize('name', KINKS)
@pytest.mark.parametrize('dtype', [np.float32, np.float64])
def test_kinks(name, dtype):
    f, place, eps, message = KINKS[name]
    x = np.array([[2.5, 3.5, place]], dtype)
    with pytest.raises(NondifferentiableError) as error:
        numerical_grad(lambda: (x, f(x)), (x,), (x.copy(), x.copy()), eps, detect_nondifferentiable=True)
    text = str(error.value)
    assert text.startswith(f'The function is not differentiable at inputs[0][0, 2] = {float(x[0, 2])!r}: ')
    assert message in text
    assert 'Values of element 2 (in C order) of outputs[1]:\n    -eps: ' in text
    assert x[0, 2] == dtype(place)


SMOOTH = {
    'square': (np.square, 0.3),
    'steep': (lambda x: 1e6 * x, 0.3),
    'large offset': (lambda x: 1e4 + x, 1.0),
    'far from a kink': (np.abs, 2e-3),
    'large argument': (np.square, 100.0),
    'minimum': (np.square, 0.0),
}


@pytest.mark.parametrize('name', SMOOTH)
@pytest.mark.parametrize('dtype', [np.float32, np.float64])
def test_smooth_functions_are_not_taken_for_kinks(name, dtype):
    f, place = SMOOTH[name]
    x = np.array([place], dtype)
    (gx,) = numerical_grad(
        lambda: (f(x).astype(dtype),),
        (x,),
        (np.ones(1, dtype),),
        detect_nondifferentiable=True,
        diff_rtol=1e-4,
    )
    assert np.isfinite(gx).all()


def test_tolerances_of_the_kink_detection():
    x, gy = np.array([0.0]), np.ones(1)
    arguments = (lambda: (x + 0.1 * abs(x),), (x,), (gy,))
    with pytest.raises(NondifferentiableError, match=r'diff_atol=0 diff_rtol=0\.001'):
        numerical_grad(*arguments, detect_nondifferentiable=True, diff_rtol=1e-3)
    numerical_grad(*arguments, detect_nondifferentiable=True, diff_rtol=1e-1)
    numerical_grad(*arguments, detect_nondifferentiable=True, diff_rtol=1e-3, diff_atol=1e-3)


X, READ_ONLY = np.ones(2), np.ones(2)
READ_ONLY.flags.writeable = False
BAD = {
    'integers': (RuntimeError, (X.astype(int),), X, 1e-3, r'inputs\[0\] must be of a floating-point dtype'),
    'read-only': (RuntimeError, (X, READ_ONLY), X, 1e-3, r'inputs\[1\] is read-only.*pass a copy'),
    'shape': (ValueError, (X,), np.ones(3), 1e-3, r'differ in shape or dtype.\n.*\(2,\):float64\n.*\(3,\):float64'),
    'count': (ValueError, (X,), (X, X), 1e-3, 'as many as the outputs'),
    'eps': (ValueError, (X,), X, 0, 'eps, the step of the finite difference, must be positive, not 0'),
}


@pytest.mark.parametrize('name', BAD)
def test_bad_arguments(name):
    error, inputs, gy, eps, message = BAD[name]
    with pytest.raises(error, match=message):
        numerical_grad(lambda: (inputs[0] * 1.0,), inputs, gy, eps)
