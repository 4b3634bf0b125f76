"""check_backward: right gradients pass, planted wrong ones fail with a message that says where."""

from __future__ import annotations

import re

import numpy as np
import pytest

from minichainer.configuration import using_config
from minichainer.function_node import FunctionNode
from minichainer.gradient_check import NondifferentiableError, check_backward, check_double_backward
from minichainer.variable import Parameter, Variable


def uniform(*shape, dtype=np.float64, seed=1):
    return np.random.RandomState(seed).uniform(-1, 1, shape).astype(dtype)


def node(forward, backward, label='Node'):
    """A function of Variables, from what forward and backward do with arrays."""

    class Node(FunctionNode):
        def forward(self, inputs):
            self.retain_inputs(tuple(range(len(inputs))))
            outputs = forward(*inputs)
            return outputs if isinstance(outputs, tuple) else (outputs,)

        def backward(self, indexes, grad_outputs):
            xs = [x.array for x in self.get_retained_inputs()]
            gxs = backward(xs, *(None if gy is None else gy.array for gy in grad_outputs))
            gxs = gxs if isinstance(gxs, tuple) else (gxs,)
            return tuple(None if gxs[i] is None else Variable(np.asarray(gxs[i])) for i in indexes)

    def function(*xs):
        outputs = Node().apply(xs)
        return outputs if len(outputs) > 1 else outputs[0]

    function.__name__ = label
    return function


def zero(gy):
    return 0.0 if gy is None else gy


def outer_sum(x, w):
    return (x * x) @ w


def outer_sum_gradient(xs, gy):
    x, w = xs
    return 2 * x * (gy @ w.T), (x * x).T @ gy


RIGHT = {
    'square': (node(np.square, lambda xs, gy: 2 * xs[0] * gy), [uniform(3, 4)], [uniform(3, 4, seed=2)]),
    'operators': (lambda x, y: x * x * y - x / (y + 3), [uniform(3, 4), uniform(3, 4)], [uniform(3, 4)]),
    'two inputs': (node(outer_sum, outer_sum_gradient), [uniform(3, 4), uniform(4, 2)], [uniform(3, 2)]),
    'two outputs': (
        node(lambda x: (x * x, np.exp(x)), lambda xs, a, b: 2 * xs[0] * zero(a) + np.exp(xs[0]) * zero(b)),
        [uniform(5)],
        [uniform(5, seed=3), uniform(5, seed=4)],
    ),
    'second output ignored': (
        node(lambda x: (x * x, abs(x)), lambda xs, a, b: 2 * xs[0] * zero(a)),
        [uniform(5)],
        [uniform(5, seed=3), None],
    ),
    'tuple of one': (lambda x: (x * x,), [uniform(3)], [uniform(3)]),
    'list of one': (lambda x: [x * x], [uniform(3)], [uniform(3)]),
    'identity': (lambda x: x, [uniform(3)], [uniform(3)]),
    'same output twice': (lambda x: (x, x), [uniform(3)], [uniform(3), uniform(3, seed=3)]),
    'unused input': (lambda x, y: x * x, [uniform(3), uniform(2)], [uniform(3)]),
    'constant': (lambda x: Variable(np.ones(3)), [uniform(3)], [uniform(3)]),
    'linear': (lambda x: x * 3 + 1, [uniform(3)], [uniform(3)]),
    '0-d': (lambda x: x * x, [np.array(0.7)], [np.array(-1.3)]),
    'empty': (lambda x: x * x, [uniform(0, 3)], [uniform(0, 3)]),
    'large': (lambda x: x * x, [uniform(100, 100)], [uniform(100, 100, seed=4)]),
}


@pytest.mark.parametrize('name', RIGHT)
@pytest.mark.parametrize('detect', [False, True])
def test_right_gradient_passes(name, detect):
    func, xs, gys = RIGHT[name]
    assert check_backward(func, tuple(xs), tuple(gys), detect_nondifferentiable=detect) is None


@pytest.mark.parametrize('dtype', [np.float16, np.float32])
@pytest.mark.parametrize('detect', [False, True])
def test_low_precision_passes_with_a_double_numeric_side(dtype, detect):
    x, gy = uniform(3, 4, dtype=dtype), uniform(3, 4, dtype=dtype, seed=2)
    tolerance = 5 * float(np.finfo(dtype).eps)
    check_backward(
        lambda x: x * x * x,
        x,
        gy,
        atol=tolerance,
        rtol=1e-3,
        dtype=np.float64,
        detect_nondifferentiable=detect,
    )


def test_kink_detection_does_not_mistake_rounding_in_single_precision_for_a_kink():
    for seed in range(20):
        x, gy = uniform(200, dtype=np.float32, seed=seed), uniform(200, dtype=np.float32, seed=seed + 99)
        check_backward(lambda x: x * x, x, gy, atol=1e-2, rtol=1e-4, detect_nondifferentiable=True)
        check_backward(lambda x: x - 100, x / 100 + 100, gy, atol=1, rtol=1e-4, detect_nondifferentiable=True)


SQUARE = np.square
WRONG = {
    'factor': (SQUARE, lambda xs, gy: 3 * xs[0] * gy, 'factor: backward gives 1.5 times the gradient'),
    'sign': (SQUARE, lambda xs, gy: -2 * xs[0] * gy, 'sign: backward gives the gradient with the opposite sign'),
    'zero': (SQUARE, lambda xs, gy: 0 * gy, 'detached: backward gives zeros'),
    'None': (SQUARE, lambda xs, gy: None, 'missing: backward gives None, but the function depends on this input'),
    'NaN': (SQUARE, lambda xs, gy: np.nan * gy, 'not finite: backward gives NaN or infinity'),
    'infinity': (SQUARE, lambda xs, gy: np.inf * abs(gy), 'not finite: backward gives NaN or infinity'),
    'absolute gy': (SQUARE, lambda xs, gy: 2 * xs[0] * abs(gy), 'not linear in the upstream gradient: these are'),
    'positive gy': (SQUARE, lambda xs, gy: 2 * xs[0] * np.maximum(gy, 0), 'not linear in the upstream gradient'),
    'squared gy': (SQUARE, lambda xs, gy: 2 * xs[0] * gy * gy, 'not linear in the upstream gradient'),
    'gy ignored': (SQUARE, lambda xs, gy: 2 * xs[0], 'not linear in the upstream gradient'),
    'shifted': (SQUARE, lambda xs, gy: np.roll(2 * xs[0] * gy, 1), 'shifted: .* shifted by 1 in C order'),
    'missing term': (
        lambda x: x * x + 0.1 * x,
        lambda xs, gy: 2 * xs[0] * gy,
        'missing term: 0.1 times the upstream gradient is missing',
    ),
}


@pytest.mark.parametrize('name', WRONG)
def test_wrong_gradient_fails(name):
    forward, backward, message = WRONG[name]
    with pytest.raises(AssertionError, match=message) as error:
        check_backward(node(forward, backward, 'planted'), uniform(3, 4), uniform(3, 4, seed=5))
    assert str(error.value).startswith('check_backward failed for planted: a gradient is wrong.\n')
    assert 'output 0, inputs[0] (3, 4) float64: ' in str(error.value)
    replay = f'check_gradients(planted, inputs, subgradient=True, seed={error.value.report.seed})'
    assert f'Replay: minichainer.gradient_check.{replay}' in str(error.value)


@pytest.mark.parametrize('value', [np.nan, np.inf])
def test_the_same_nan_on_both_sides_fails(value):
    with pytest.raises(AssertionError, match=r'not finite: output 0 is .* check the inputs against the domain'):
        check_backward(node(lambda x: x * value, lambda xs, gy: gy * value), uniform(3, 4), uniform(3, 4, seed=5))


def test_one_wrong_element_is_named():
    def backward(xs, gy):
        gx = 2 * xs[0] * gy
        gx[1, 2] *= 1.1
        return gx

    x, gy = uniform(3, 4) + 2, uniform(3, 4, seed=5)
    with pytest.raises(AssertionError) as error:
        check_backward(node(SQUARE, backward), x, gy)
    expected = 2 * x[1, 2] * gy[1, 2]
    assert '1 of 12 elements is wrong' in str(error.value)
    row = re.search(r'  \(1, 2\)  (\S+) +(\S+) ', str(error.value))
    np.testing.assert_allclose([float(n) for n in row.groups()], [expected, 1.1 * expected], rtol=1e-6)


@pytest.mark.parametrize('n', [10, 1000])
def test_one_zeroed_element_is_seen(n):
    def backward(xs, gy):
        gx = 2 * xs[0] * gy
        gx[n // 2] = 0
        return gx

    x, gy = uniform(n) + 2, np.sign(uniform(n, seed=5))
    with pytest.raises(AssertionError, match='check_backward failed'):
        check_backward(node(SQUARE, backward), x, gy)


def test_the_wrong_input_among_several_is_named():
    def backward(xs, gy):
        gx, gw = outer_sum_gradient(xs, gy)
        return gx, 2 * gw

    with pytest.raises(AssertionError) as error:
        check_backward(node(outer_sum, backward), (uniform(3, 4), uniform(4, 2)), uniform(3, 2))
    assert 'inputs[1] (4, 2) float64: 8 of 8 elements are wrong' in str(error.value)
    assert 'inputs[0]' not in str(error.value)


@pytest.mark.parametrize('size', [100, pytest.param(1000, marks=pytest.mark.slow)])
def test_the_message_for_large_arrays_stays_short(size):
    wrong = node(SQUARE, lambda xs, gy: xs[0] * gy)
    with pytest.raises(AssertionError, match=f'{size**2} of {size**2} elements are wrong') as error:
        check_backward(wrong, uniform(size, size), uniform(size, size, seed=5))
    assert len(str(error.value).splitlines()) < 20


def test_an_exception_of_the_function_propagates():
    calls = []

    def limited(x):
        calls.append(x)
        if len(calls) > 5:
            raise OverflowError('no more')
        return x * x

    with pytest.raises(OverflowError, match='no more'):
        check_backward(limited, uniform(3), uniform(3))


# The contract of y_grad


def test_y_grad_of_a_loss_may_be_left_out():
    total = node(lambda x: np.asarray((x * x).sum()), lambda xs, gy: 2 * xs[0] * gy)
    check_backward(total, uniform(3), None)
    with pytest.raises(AssertionError, match=r'factor: backward gives 0\.5 times the gradient'):
        check_backward(node(lambda x: np.asarray((x * x).sum()), lambda xs, gy: xs[0] * gy), uniform(3), None)


ONE = np.ones(1)
BAD_Y_GRAD = {
    'one element is no loss': (lambda x: x * x, None, r'may be left out only.*\nActual outputs: \(1,\):float64'),
    'two outputs': (lambda x: (x, x), None, r'may be left out only.*\n.*\(1,\):float64, \(1,\):float64'),
    'shape': (lambda x: x * x, np.ones((1, 1)), r'differ in shape or dtype.\n.*\(1,\):float64\n.*\(1, 1\):float64'),
    'dtype': (lambda x: x * x, np.ones(1, 'f'), r'differ in shape or dtype.\n.*\(1,\):float64\n.*\(1,\):float32'),
    'count': (lambda x: x * x, (ONE, ONE), r'as many as the outputs(.|\n)*\(1,\):float64, \(1,\):float64'),
}


@pytest.mark.parametrize('name', BAD_Y_GRAD)
def test_bad_y_grad(name):
    func, y_grad, message = BAD_Y_GRAD[name]
    with pytest.raises(ValueError, match=message):
        check_backward(func, ONE, y_grad)


# The contract of no_grads, integers and None


def test_integer_boolean_and_none_inputs_are_passed_on():
    seen = []

    def func(x, i, mask, nothing):
        seen.append((i.dtype, i.requires_grad, mask.dtype, nothing))
        return x * Variable(np.where(mask.array, i.array, 1).astype(x.dtype))

    i, mask = np.array([2, 3]), np.array([True, False])
    check_backward(func, (uniform(2, dtype='f'), i, mask, None), uniform(2, dtype='f'), dtype=np.float64)
    assert set(seen) == {(i.dtype, False, np.dtype(bool), None)}


def test_nothing_to_compare_passes_with_a_warning():
    with pytest.warns(UserWarning, match='nothing to check, no input and no parameter is differentiable'):
        check_backward(lambda i: Variable(i.array * 1.0), np.array([1, 2]), uniform(2))


def test_no_grads_true_means_neither_moved_nor_compared():
    detached = node(lambda x, w: x * w, lambda xs, gy: (xs[1] * gy, None))
    arguments = (detached, (uniform(3), uniform(3, seed=4)), uniform(3))
    with pytest.raises(AssertionError, match=r'inputs\[1\](.|\n)*missing: backward gives None'):
        check_backward(*arguments)
    check_backward(*arguments, no_grads=[False, True])


def test_no_grads_true_refuses_a_gradient():
    product = node(lambda x, w: x * w, lambda xs, gy: (xs[1] * gy, xs[0] * gy), 'product')
    with pytest.raises(RuntimeError, match=r'gradient of inputs\[1\] must be None.*no_grads'):
        check_backward(product, (uniform(3), uniform(3)), uniform(3), no_grads=[False, True])


@pytest.mark.parametrize('no_grads', [[], [True], [False] * 3])
def test_no_grads_of_the_wrong_length(no_grads):
    with pytest.raises(ValueError, match=rf'no_grads: one flag.*\n.*{len(no_grads)} != 2'):
        check_backward(lambda x, y: x * y, (uniform(3), uniform(3)), uniform(3), no_grads=no_grads)


# The contract of dtype and params


def test_dtype_is_that_of_the_numeric_side_only():
    seen = []

    def func(x, w, i):
        seen.append((x.dtype, w.dtype, i.dtype, p.dtype))
        return x * w * p

    p = Parameter(uniform(3, dtype='f'))
    x, w, i = uniform(3, dtype='f'), uniform(3, dtype='f'), np.arange(3)
    check_backward(lambda x, w, i: func(x, w.array, i), (x, w, i), x, p, dtype='d', no_grads=[False, True, True])
    assert seen[0] == tuple(map(np.dtype, 'fflf' if i.dtype == 'l' else 'ffqf'))
    assert {dtypes[:2] + dtypes[3:] for dtypes in seen} == {(np.dtype('f'),) * 3, (np.dtype('d'),) * 3}


@pytest.mark.parametrize('dtype', [np.int32, bool, np.complex64])
def test_dtype_must_be_of_a_float_kind(dtype):
    with pytest.raises(ValueError, match=f'`dtype` is allowed only float type, not {np.dtype(dtype)}'):
        check_backward(lambda x: x * x, uniform(3), uniform(3), dtype=dtype)


def failing(x):
    raise ZeroDivisionError('in func')


PARAM_FUNCTIONS = {
    'passes': (lambda p: lambda x: x * p * p, None),
    'fails': (lambda p: lambda x: node(np.multiply, lambda xs, gy: (gy, gy))(x, p), AssertionError),
    'raises': (lambda p: failing, ZeroDivisionError),
    'raises in the numeric pass': (
        lambda p: lambda x: failing(x) if x.dtype == 'd' else x * p,
        ZeroDivisionError,
    ),
}


@pytest.mark.parametrize('name', PARAM_FUNCTIONS)
@pytest.mark.parametrize('with_grad', [False, True])
def test_params_are_left_as_they_were(name, with_grad):
    make, expected = PARAM_FUNCTIONS[name]
    p = Parameter(uniform(3, dtype='f', seed=7))
    p.grad = uniform(3, dtype='f') if with_grad else None
    array, values, gradient = p.array, p.array.copy(), p.grad
    arguments = (make(p), uniform(3, dtype='f'), uniform(3, dtype='f'), [p])
    if expected is None:
        check_backward(*arguments, dtype=np.float64)
    else:
        with pytest.raises(expected):
            check_backward(*arguments, dtype=np.float64)
    assert p.array is array and p.grad is gradient
    assert p.dtype == np.float32
    np.testing.assert_array_equal(p.array, values)
    if with_grad:
        np.testing.assert_array_equal(gradient, uniform(3, dtype='f'))


def test_params_are_compared_and_named():
    p = Parameter(uniform(3, seed=7), name='W')
    wrong = node(np.multiply, lambda xs, gy: (xs[1] * gy, 2 * xs[0] * gy))
    with pytest.raises(AssertionError, match=r'params\[0\] \(W\) \(3,\) float64(.|\n)*backward gives 2 times'):
        check_backward(lambda x: wrong(x, p), uniform(3), uniform(3), params=p)


# Arrays of the caller


def test_the_callers_arrays_and_random_state_are_left_alone():
    x, gy = uniform(3, 4), uniform(3, 4, seed=2)
    x.flags.writeable = gy.flags.writeable = False
    state = np.random.get_state()[1].copy()
    check_backward(lambda x: x * x, x, gy)
    np.testing.assert_array_equal(np.random.get_state()[1], state)


def in_place(x):
    x[0] = 5
    return x * x


def spoil_gy(xs, gy):
    gx = 2 * xs[0] * gy
    gy[...] = 0
    return gx


IN_PLACE = {
    'forward': (
        node(in_place, lambda xs, gy: 2 * xs[0] * gy),
        r'modified in place: the forward pass changes inputs\[0\]',
    ),
    'backward': (
        node(SQUARE, lambda xs, gy: (in_place(xs[0]), 2 * xs[0] * gy)[1]),
        r'modified in place: the backward pass changes inputs\[0\]',
    ),
    'upstream gradient': (
        node(SQUARE, spoil_gy),
        'modified in place: backward changes the upstream gradient of output 0',
    ),
}


@pytest.mark.parametrize('name', IN_PLACE)
def test_in_place_changes_fail_and_do_not_reach_the_caller(name):
    func, message = IN_PLACE[name]
    x, gy = uniform(3), uniform(3, seed=2)
    with pytest.raises(AssertionError, match=message):
        check_backward(func, x, gy)
    np.testing.assert_array_equal(x, uniform(3))
    np.testing.assert_array_equal(gy, uniform(3, seed=2))


LAYOUTS = {
    'transposed': uniform(4, 3).T,
    'every second': uniform(6, 8)[::2, ::2],
    'reversed': uniform(3, 4)[::-1, ::-1],
    'overlapping': np.broadcast_to(uniform(4), (3, 4)),
}


@pytest.mark.parametrize('name', LAYOUTS)
def test_memory_layouts(name):
    x, contiguous = LAYOUTS[name], []

    def func(x):
        contiguous.append(x.array.flags.c_contiguous)
        return x * x

    check_backward(func, x, uniform(3, 4, seed=2))
    assert contiguous[0] is False


# Other bad arguments


@pytest.mark.parametrize('eps', [0, -1e-3, np.nan])
def test_eps_must_be_positive(eps):
    with pytest.raises(ValueError, match=r'eps, the step.*must be positive'):
        check_backward(lambda x: x * x, uniform(3), uniform(3), eps=eps)


WRONG_TYPES = {
    'x_data': (lambda x: x, ([1.0, 2.0],), ONE, (), r'x_data\[0\] must be a numpy.ndarray.*not list'),
    'y_grad': (lambda x: x, ONE, 1.0, (), r'y_grad\[0\] must be a numpy.ndarray.*not float'),
    'params': (lambda x: x, ONE, ONE, ONE, r'params\[0\] must be a Variable.*not ndarray'),
    'output': (lambda x: x.array, ONE, ONE, (), r'must return Variables, got ndarray'),
}


@pytest.mark.parametrize('name', WRONG_TYPES)
def test_wrong_types(name):
    func, x, gy, params, message = WRONG_TYPES[name]
    with pytest.raises(TypeError, match=message):
        check_backward(func, x, gy, params)


def test_complex_numbers_need_complex_upstream_gradients():
    check_backward(lambda x: x * 1, ONE * 1j, ONE * 1j)
    with pytest.raises(ValueError, match=r'(?s)differ in shape or dtype.*complex128.*float64'):
        check_backward(lambda x: x * 1, ONE * 1j, ONE)


def test_an_uninitialized_parameter_is_refused():
    with pytest.raises(ValueError, match=r'params\[0\] \(W\) is not initialized: call the link once'):
        check_backward(lambda x: x, ONE, ONE, Parameter(name='W'))


KINKS = {
    'absolute value': (node(abs, lambda xs, gy: np.sign(xs[0]) * gy), np.zeros(1)),
    'one element of many': (node(abs, lambda xs, gy: np.sign(xs[0]) * gy), np.array([1.0, 0.0, -1.0])),
    'step': (node(np.sign, lambda xs, gy: 0 * gy), np.zeros(2)),
    'edge of the domain': (node(lambda x: np.where(x < 0, np.nan, x), lambda xs, gy: gy), np.zeros(2)),
}


@pytest.mark.parametrize('name', KINKS)
def test_kinks_are_found(name):
    func, x = KINKS[name]
    with pytest.raises(NondifferentiableError, match=r'nondifferentiable for Node(.|\n)*kink: '):
        check_backward(func, x, np.full(x.shape, 1.5), detect_nondifferentiable=True)


class Returning(FunctionNode):
    """A sum whose backward returns anything."""

    def __init__(self, result):
        self.result = result

    def forward(self, inputs):
        return (inputs[0] + inputs[1],)

    def backward(self, indexes, grad_outputs):
        return self.result(grad_outputs[0])


REFUSED = {
    'too few': lambda gy: (gy,),
    'none at all': lambda gy: (),
    'too many': lambda gy: (gy, gy, gy),
    'another shape': lambda gy: (Variable(np.ones(3)), gy),
    'another dtype': lambda gy: (Variable(np.ones(2, 'f')), gy),
    'an array': lambda gy: (np.ones(2), gy),
    'a text': lambda gy: ('a', gy),
}


@pytest.mark.parametrize('debug', [False, True])
@pytest.mark.parametrize('kind', [ValueError, TypeError, AssertionError])
@pytest.mark.parametrize('name', REFUSED)
def test_what_the_graph_refuses_is_an_error_of_all_kinds_that_chainer_raises(name, kind, debug):
    x, gy = uniform(2), uniform(2, seed=2)
    with using_config('debug', debug):
        with pytest.raises(kind, match='backward of Returning returned'):
            check_backward(lambda *xs: Returning(REFUSED[name]).apply(xs), (x, x.copy()), gy)
        with pytest.raises(kind, match='backward of Returning returned'):
            check_double_backward(lambda *xs: Returning(REFUSED[name]).apply(xs), (x, x.copy()), gy, (x, x))


def test_a_wrong_number_in_a_gradient_is_no_value_error():
    with pytest.raises(AssertionError) as caught:
        check_backward(lambda *xs: Returning(lambda gy: (gy, gy * 2)).apply(xs), (uniform(2), uniform(2)), uniform(2))
    assert not isinstance(caught.value, (ValueError, TypeError))
