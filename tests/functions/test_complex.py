"""Complex numbers: gradients are dL/da + i dL/db, as in torch, at every order; other ops refuse them."""

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F
from minichainer import autograd
from minichainer.utils.type_check import InvalidType

OPS = {
    'x + y': lambda x, y: x + y,
    'x - y': lambda x, y: x - y,
    'x * y': lambda x, y: x * y,
    'x / y': lambda x, y: x / y,
    '-x': lambda x, y: -x * y,
    'numbers': lambda x, y: (2 * x + 1 - (3 - y)) / 2 + 2 / x,
    'complex numbers': lambda x, y: x * y * 2j,
    'exp': lambda x, y: F.exp(x) * y,
    'log': lambda x, y: F.log(x) * y,
    'sqrt': lambda x, y: F.sqrt(x) * y,
    'sin': lambda x, y: F.sin(x) * y,
    'cos': lambda x, y: F.cos(x) * y,
    'sinh': lambda x, y: F.sinh(x) * y,
    'cosh': lambda x, y: F.cosh(x) * y,
    'tanh': lambda x, y: F.tanh(x) * y,
    'conj': lambda x, y: F.conj(x) * y,
    'real': lambda x, y: F.real(x * x) * y,
    'imag': lambda x, y: F.imag(x * x) * y,
    'sum': lambda x, y: F.sum(x * y, axis=0),
    'reshape, transpose': lambda x, y: F.reshape(F.transpose(x), (1, -1)) * F.reshape(y, (1, -1)),
    'broadcast': lambda x, y: x * y[0] + y[1, 0],
}
SHAPE = (2, 3)


def drawn(dtype, seed):
    rng = np.random.RandomState(seed)
    values = rng.uniform(0.5, 1.5, SHAPE)
    return (values + 1j * rng.uniform(-1, 1, SHAPE) if np.dtype(dtype).kind == 'c' else values).astype(dtype)


def real_loss(op, x, y):
    z = op(x, y)
    weights = np.random.RandomState(9).uniform(-1, 1, z.shape)
    weights = (weights * (1 + 0.5j) if z.dtype.kind == 'c' else weights).astype(z.dtype)
    return F.sum(F.real(z * chainer.Variable(weights, requires_grad=False)))


def numerical(f, x):
    """dL/da + i dL/db by central differences."""
    found = np.zeros_like(x)
    for index in np.ndindex(x.shape):
        for part in (1, 1j) if x.dtype.kind == 'c' else (1,):
            step = np.zeros_like(x)
            step[index] = part * 1e-6
            found[index] += part * (f(x + step) - f(x - step)) / 2e-6
    return found


DTYPES = [('D', 'D'), ('D', 'd'), ('d', 'D')]


@pytest.mark.parametrize('dtypes', DTYPES, ids=''.join)
@pytest.mark.parametrize('name', OPS)
def test_gradients(name, dtypes):
    op = OPS[name]
    if name in ('complex numbers', 'imag') and dtypes == ('d', 'D'):  # which the first operand must be
        dtypes = ('D', 'D')
    xs = [drawn(dtype, seed) for seed, dtype in enumerate(dtypes)]
    variables = [chainer.Variable(x) for x in xs]
    for double in (False, True):
        found = chainer.grad([real_loss(op, *variables)], variables, enable_double_backprop=double)
        for i, gx in enumerate(found):
            expected = numerical(
                lambda x, i=i: float(real_loss(op, *[x if j == i else v for j, v in enumerate(xs)]).array), xs[i]
            )
            assert gx.dtype == xs[i].dtype
            np.testing.assert_allclose(gx.array, expected, atol=1e-8)


@pytest.mark.parametrize('name', OPS)
def test_second_order(name):
    op = OPS[name]
    xs = [drawn('D', 0), drawn('D', 1)]
    direction = drawn('D', 2)

    def slope(x):
        """The real inner product of the gradient and a direction."""
        x = chainer.Variable(x)
        (gx,) = chainer.grad([real_loss(op, x, xs[1])], [x], enable_double_backprop=True)
        return x, F.sum(F.real(gx * F.conj(chainer.Variable(direction, requires_grad=False))))

    x, z = slope(xs[0])
    (found,) = chainer.grad([z], [x]) if z.creator is not None else (None,)
    expected = numerical(lambda v: float(slope(v)[1].array), xs[0])
    np.testing.assert_allclose(0 if found is None else found.array, expected, atol=1e-7)


@pytest.mark.parametrize('shape', [(), (2,)])
def test_a_step_against_the_gradient_descends_and_precision_is_kept(shape):
    z = chainer.Variable(np.full(shape, 1 + 2j, 'F'))
    loss = F.sum(F.real(z * F.conj(z)))
    loss.backward()
    assert z.grad.dtype == 'F' and z.grad.shape == shape
    np.testing.assert_allclose(z.grad, 2 * z.array)


def test_no_graph_modes_profiles_and_forward_mode():
    x, y = chainer.Variable(drawn('D', 0)), chainer.Variable(drawn('D', 1))
    expected = chainer.grad([real_loss(OPS['x * y'], x, y)], [x])[0].array
    with chainer.no_backprop_mode():
        assert (x * y).creator is None
    with autograd.profiler.profile() as profile:
        found = chainer.grad([real_loss(OPS['x * y'], x, y)], [x])[0].array
    np.testing.assert_array_equal(found, expected)
    assert 'Mul' in {event.name for event in profile.function_events}
    with chainer.using_config('debug', True):
        found = chainer.grad([real_loss(OPS['x * y'], x, y)], [x])[0].array
    np.testing.assert_array_equal(found, expected)
    with autograd.forward_ad.dual_level():
        z = F.exp(autograd.forward_ad.make_dual(x, drawn('D', 3) + 0j))
        tangent = autograd.forward_ad.unpack_dual(z).tangent
    np.testing.assert_allclose(tangent.array, np.exp(x.array) * drawn('D', 3))


@pytest.mark.parametrize('op', [F.relu, F.sigmoid, F.absolute, F.arctan, F.erf, lambda z: F.max(z), lambda z: z**0.5])
def test_other_ops_refuse(op):
    with pytest.raises((InvalidType, TypeError), match=r'complex128|float'):
        op(chainer.Variable(drawn('D', 0)))


def test_real_numbers_have_no_imaginary_part():
    with pytest.raises(InvalidType, match='complex'):
        F.imag(np.ones(2))


def test_a_complex_root_needs_a_gradient():
    z = chainer.Variable(np.array(1 + 2j))
    with pytest.raises(RuntimeError, match='complex'):
        autograd.backward(z * z)
