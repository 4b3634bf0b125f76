"""Functions with static methods have the gradients of the same maths by differentiable functions, at every order."""

from __future__ import annotations

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F
from minichainer.gradient_check import check_gradients
from tests.autograd.making import CubeOnArrays, Exp, ExpInPlace, ExpOnArrays, Fourth, ScaledProduct, SinCos, as_list

SAME = {
    'exp': (Exp.apply, F.exp, [(2, 3)]),
    'exp on arrays': (ExpOnArrays.apply, F.exp, [(2, 3)]),
    'exp without axes': (ExpOnArrays.apply, F.exp, [()]),
    'cube on arrays': (CubeOnArrays.apply, lambda x: x**3, [(3,)]),
    'number between': (lambda x, w: ScaledProduct.apply(x, 2.0, w), lambda x, w: 2.0 * x * w, [(2, 3), (2, 3)]),
    'broadcast': (lambda x, w: ScaledProduct.apply(x, 2.0, w), lambda x, w: 2.0 * x * F.broadcast_to(w, (2, 3)),
                  [(2, 3), (3,)]),
    'one input twice': (lambda x: ScaledProduct.apply(x, 0.5, x), lambda x: 0.5 * x * x, [(3,)]),
    'two outputs': (SinCos.apply, lambda x: (F.sin(x), F.cos(x)), [(4,)]),
    'one of two outputs': (lambda x: SinCos.apply(x)[1], F.cos, [(4,)]),
    'outputs combined': (lambda x: F.prod(F.stack(SinCos.apply(x)), 0), lambda x: F.sin(x) * F.cos(x), [(4,)]),
    'in place': (lambda x: ExpInPlace.apply(x + 0), F.exp, [(2, 2)]),
    'nested': (Fourth.apply, lambda x: x**4, [(3,)]),
    'chain': (lambda x: Exp.apply(Fourth.apply(x)), lambda x: F.exp(x**4), [(3,)]),
}  # fmt: skip


def derivatives(func, arrays, order):
    """Outputs, and the gradients of their weighted sum, up to an order, with respect to every input."""
    xs = [chainer.Variable(a.copy()) for a in arrays]
    level, found = as_list(func(*xs)), []
    for n in range(order + 1):
        found += [y.array for y in level]
        total = sum(F.sum(F.sin(y + n)) for y in level)
        if n < order:
            level = [g for g in chainer.grad([total], xs, enable_double_backprop=True) if g is not None]
    return found


@pytest.mark.parametrize('name', SAME)
def test_equals_the_same_maths(name):
    ours, theirs, shapes = SAME[name]
    arrays = [np.random.uniform(0.2, 1.0, shape) for shape in shapes]
    for a, b in zip(derivatives(ours, arrays, 3), derivatives(theirs, arrays, 3), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9)


@pytest.mark.parametrize('name', SAME)
def test_gradients_of_two_orders(name):
    func, _, shapes = SAME[name]
    arrays = tuple(np.random.uniform(0.2, 1.0, shape) for shape in shapes)
    check_gradients(func, arrays, order=2, seed=0, raise_exception=True)


@pytest.mark.parametrize('dtype', [np.float16, np.float32, np.float64])
@pytest.mark.parametrize('function', [Exp, ExpOnArrays, CubeOnArrays])
def test_gradients_have_the_dtype_of_inputs(function, dtype):
    x = chainer.Variable(np.array([0.5, 1], dtype))
    (gx,) = chainer.grad([F.sum(function.apply(x))], [x], enable_double_backprop=True)
    (ggx,) = chainer.grad([F.sum(gx)], [x])
    assert gx.dtype == ggx.dtype == dtype
