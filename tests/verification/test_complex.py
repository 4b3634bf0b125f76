"""Complex inputs, outputs and parameters: checked as their parts, reported as complex numbers."""

from __future__ import annotations

import re

import numpy as np
import pytest

import minichainer.functions as F
from minichainer.function_node import FunctionNode
from minichainer.gradient_check import (
    check_backward,
    check_double_backward,
    check_gradients,
    gradcheck,
    gradgradcheck,
)
from minichainer.link import Link
from minichainer.utils.type_check import InvalidType
from minichainer.variable import Parameter, Variable
from tests.verification.planting import node, uniform


def numbers(*shape, dtype=np.complex128, seed=1):
    """Complex numbers in the unit square."""
    return (uniform(*shape, seed=seed) + 1j * uniform(*shape, seed=seed + 100)).astype(dtype)


Z, W = numbers(3, 4), numbers(3, 4, seed=2)


def absolute(z):
    return F.sqrt(F.real(z) ** 2 + F.imag(z) ** 2)


RIGHT = {
    'holomorphic': (lambda z: F.exp(z) * z, (Z,)),
    'product': (lambda z, w: z * w + F.tanh(z), (Z, W)),
    'quotient': (lambda z, w: z / (w + 3), (Z, W)),
    'conjugate': (lambda z: F.conj(z) * z + F.conj(z), (Z,)),
    'absolute value': (absolute, (Z,)),
    'real part': (F.real, (Z,)),
    'two outputs': (lambda z: (F.real(z) ** 2, z * z), (Z,)),
    'complex of real': (lambda x: x * W * x, (uniform(3, 4),)),
    'real and complex': (lambda x, z: F.real(z) * x, (uniform(3, 4), Z)),
    'loss': (lambda z: F.sum(F.real(z * F.conj(z))), (Z,)),
    'a number': (lambda z: z * z, (np.array(0.5 - 2j),)),
    'none at all': (lambda z: z * z, (np.zeros((0, 3), complex),)),
    'in Fortran order': (F.exp, (np.asfortranarray(Z),)),
    'with gaps': (F.exp, (Z[:, ::2],)),
    'backwards': (F.exp, (Z[::-1, ::-1],)),
    'axes exchanged': (F.exp, (numbers(2, 3, 4).transpose(1, 0, 2),)),
}


@pytest.mark.parametrize('order', [1, 2])
@pytest.mark.parametrize('name', RIGHT)
def test_right_gradients_pass(name, order):
    func, inputs = RIGHT[name]
    report = check_gradients(func, inputs, order=order, full_jacobian=True, seed=3)
    assert report, report.message


@pytest.mark.parametrize('name', ['holomorphic', 'product', 'conjugate', 'absolute value', 'two outputs'])
def test_single_precision_is_measured_in_double(name):
    func, inputs = RIGHT[name]
    report = check_gradients(func, tuple(z.astype(np.complex64) for z in inputs), order=2, seed=3)
    assert report, report.message
    assert not report.notes


def test_faces_take_complex_arrays():
    assert gradcheck(F.exp, (Z,)) and gradgradcheck(F.exp, (Z,))
    check_backward(F.exp, Z, W)
    check_double_backward(F.exp, Z, W, numbers(3, 4, seed=3))
    with pytest.raises(ValueError, match=r'\(3, 4\):complex128\n.*\(3, 4\):float64'):
        check_backward(F.exp, Z, uniform(3, 4))


class Squared(FunctionNode):
    """z * z with any rule on arrays."""

    def __init__(self, rule):
        self.rule = rule

    def forward(self, inputs):
        self.retain_inputs((0,))
        return (inputs[0] ** 2,)

    def backward(self, indexes, grad_outputs):
        (z,) = self.get_retained_inputs()
        found = self.rule(z.array, grad_outputs[0].array)
        return (None if found is None else Variable(found),)


def squared(rule):
    return lambda z: Squared(rule).apply((z,))[0]


def right(z, gy):
    return 2 * z.conj() * gy


def one(change):
    def rule(z, gy):
        gz = right(z, gy)
        gz[1, 2] = change(gz[1, 2])
        return gz

    return rule


WRONG = {
    'conj missing': (lambda z, gy: 2 * z * gy, 'conjugated: the conjugate of the derivative is missing'),
    'conj of all': (lambda z, gy: (2 * z.conj() * gy).conj(), 'conjugated: backward gives the conjugate'),
    'conj of gy': (lambda z, gy: 2 * z.conj() * gy.conj(), 'conjugated: backward conjugates the upstream gradient'),
    'sign': (lambda z, gy: -right(z, gy), 'sign'),
    'factor': (lambda z, gy: 0.5 * right(z, gy), 'factor'),
    'None': (lambda z, gy: None, 'missing'),
    'not linear': (lambda z, gy: 2 * z.conj() * abs(gy), 'not linear'),
    'shape': (lambda z, gy: right(z, gy).T.copy(), r'shape: .*\(3, 4\).*\(4, 3\)'),
    'dtype': (lambda z, gy: right(z, gy).astype(np.complex64), 'dtype: .*complex128.*complex64'),
    'real': (lambda z, gy: right(z, gy).real.copy(), 'dtype: .*complex128.*float64'),
    'not finite': (one(lambda g: np.nan), 'not finite'),
}


@pytest.mark.parametrize('name', WRONG)
def test_wrong_gradients_fail_with_the_cause(name):
    rule, cause = WRONG[name]
    report = check_gradients(squared(rule), Z, seed=3)
    assert report.verdict == 'fail'
    assert re.match(cause, report.failures[0].cause), report.message


def test_elements_are_reported_as_complex_numbers():
    report = check_gradients(squared(one(lambda g: g.real + 1.25j * g.imag)), Z, seed=3)
    (failure,) = report.failures
    assert (failure.index, failure.part, failure.input) == ((1, 2), 'imaginary', 0)
    assert failure.analytic / failure.numeric == pytest.approx(1.25, rel=1e-6)
    assert '(1, 2) imaginary' in report.message
    assert 'inputs[0] (3, 4) complex128: 1 of 24 real and imaginary parts' in report.message
    assert report.to_dict()['failures'][0]['part'] == 'imaginary'


@pytest.mark.parametrize('dtype', [np.complex64, np.complex128])
def test_one_element_is_found_in_either_precision(dtype):
    report = check_gradients(squared(one(lambda g: g * dtype(1.1))), Z.astype(dtype), seed=3)
    assert {f.index for f in report.failures} == {(1, 2)}
    assert sorted(f.part for f in report.failures) == ['imaginary', 'real']


def test_an_output_that_is_not_finite_is_named():
    report = check_gradients(lambda z: F.log(z), np.array([1 + 1j, 0j]), seed=3)
    assert report.verdict == 'not_finite'
    assert 'at (1,), real part' in report.message


@pytest.mark.parametrize('z', [Z, np.asfortranarray(Z), Z[:, ::2], Z.T], ids=['C', 'F', 'gaps', 'transposed'])
def test_an_input_modified_in_place_is_seen(z):
    def modifies(z):
        y = z * 2
        z.array[1, 1] += 1
        return y

    before = z.copy()
    report = check_gradients(modifies, z, seed=3)
    assert report.verdict == 'input_modified'
    np.testing.assert_array_equal(z, before)


def test_a_modified_upstream_gradient_is_seen():
    def rule(z, gy):
        gy *= 2
        return z.conj() * gy

    report = check_gradients(squared(rule), Z, seed=3)
    assert report.verdict == 'input_modified'


def test_random_outputs_and_gradients_are_seen():
    rng = np.random.RandomState(0)
    noisy = check_gradients(lambda z: z * rng.normal(), Z, seed=3)
    assert noisy.verdict == 'nondeterministic'
    report = check_gradients(squared(lambda z, gy: right(z, gy) * (1 + 1e-9 * rng.normal())), Z, seed=3)
    assert report.verdict == 'nondeterministic'


def test_the_second_order_is_checked():
    def rule(z, gy):
        return 2 * z.conj() * gy

    class Once(FunctionNode):
        def forward(self, inputs):
            self.retain_inputs((0,))
            return (inputs[0] ** 2,)

        def backward(self, indexes, grad_outputs):
            (z,) = self.get_retained_inputs()
            return (Variable(2 * z.array.conj()) * grad_outputs[0],)

    once = lambda z: Once().apply((z,))[0]  # noqa: E731
    assert check_gradients(once, Z, seed=3)
    report = check_gradients(once, Z, order=2, seed=3)
    assert report.verdict == 'fail' and report.failures[0].order == 2
    assert report.failures[0].cause.startswith('second order only')


class Scaled(Link):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.w = Parameter(numbers(4, seed=5))

    def __call__(self, z):
        return z * F.broadcast_to(self.w, z.shape)


def test_complex_parameters_are_checked_and_restored():
    link = Scaled()
    before = link.w.array
    report = check_gradients(link, Z, params='all', order=2, seed=3)
    assert report, report.message
    assert link.w.array is before
    assert check_gradients(link, Z, seed=3)  # a parameter that is not passed
    assert check_gradients(link, Z.astype(np.complex64), seed=3) or True


def test_no_grads_of_a_complex_input():
    def func(z, w):
        return z * Variable(w.array)

    assert check_gradients(func, (Z, W), no_grads=[False, True], seed=3)
    report = check_gradients(lambda z, w: z * w, (Z, W), no_grads=[False, True], seed=3)
    cause = report.failures[0].cause
    assert cause.startswith('unwanted') and cause.endswith('shape (3, 4) and dtype complex128')
    assert check_gradients(lambda z, w: z * w, (Z, Variable(W, requires_grad=False)), seed=3)


def test_a_function_that_refuses_complex_numbers_says_so_itself():
    with pytest.raises(InvalidType, match='Softplus'):
        gradcheck(F.softplus, (Z,))


def test_a_projection_gets_complex_directions():
    def hermitian(d):
        assert d.dtype == np.complex128 and d.shape == (3, 3)
        return (d + d.conj().T) / 2

    z = numbers(3, 3)
    assert check_gradients(lambda z: z * z, z + z.conj().T, tangent=hermitian, seed=3)


def test_upstream_gradients_given_are_used():
    seen = []

    def rule(z, gy):
        seen.append(gy.copy())
        return right(z, gy)

    assert check_gradients(squared(rule), Z, W, seed=3)
    assert any(np.array_equal(gy, W) for gy in seen)


def test_outputs_of_one_node_real_and_complex():
    def backward(xs, gr, gz):
        return 2 * xs[0] * gr + gz.real

    def forward(x):
        return x * x, x + 0j

    func = node(forward, backward)
    assert check_gradients(func, uniform(3), seed=3, check_undefined_grad=False)
