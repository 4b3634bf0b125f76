"""Batches of gradients and tangents against those computed one at a time."""

from __future__ import annotations

import numpy as np
import pytest

import minichainer.functions as F
from minichainer import autograd
from minichainer.function_node import FunctionNode
from minichainer.gradient_check import check_gradients, gradcheck, gradgradcheck
from minichainer.variable import Variable
from tests.verification.planting import uniform

X, W = uniform(3, 4), uniform(3, 4, seed=2)
Z = uniform(3, 4) + 1j * uniform(3, 4, seed=3)
BATCHED = {'check_batched_grad': True, 'check_batched_forward_grad': True, 'check_forward_ad': True}

RIGHT = {
    'elementwise': (lambda x, w: F.tanh(x) * w, (X, W)),
    'several outputs': (lambda x: (x * x, F.sum(x)), (X,)),
    'integers among the outputs': (lambda x: (F.argmax(x), x * x), (X,)),
    'float32': (F.softmax, (X.astype('f'),)),
    'complex': (lambda z: F.exp(z) * z, (Z,)),
    'a number': (lambda x: x * x, (np.array(2.0),)),
    'unused': (lambda x, w: x * x, (X, W)),
}


@pytest.mark.parametrize('name', RIGHT)
def test_right_functions_pass(name):
    func, inputs = RIGHT[name]
    report = check_gradients(func, inputs, seed=1, **BATCHED)
    assert report, report.message
    assert gradcheck(func, inputs, **BATCHED)
    report = check_gradients(func, inputs, order=2, seed=1, check_batched_grad=True, check_fwd_over_rev=True)
    assert report, report.message
    assert gradgradcheck(func, inputs, check_batched_grad=True)


class Cached(FunctionNode):
    """The square, whose backward caches by the memory of the upstream gradient, which slices share."""

    def forward(self, inputs):
        self.retain_inputs((0,))
        self.known = {}
        return (inputs[0] ** 2,)

    def backward(self, indexes, grad_outputs):
        (x,) = self.get_retained_inputs()
        gy = grad_outputs[0].array
        memory = gy if gy.base is None else gy.base
        if id(memory) not in self.known:
            self.known[id(memory)] = memory, 2 * x.array * gy
        return (Variable(self.known[id(memory)][1].copy()),)


class Tangent(autograd.Function):
    """The square, whose jvp depends on how often it was called."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_forward(x)
        ctx.save_for_backward(x)
        ctx.calls = []
        return x.array**2

    @staticmethod
    def backward(ctx, gy):
        (x,) = ctx.saved_tensors
        return 2 * x * gy

    @staticmethod
    def jvp(ctx, dx):
        (x,) = ctx.saved_tensors
        ctx.calls.append(dx)
        return 2 * x * ctx.calls[0]


def test_a_cache_that_mixes_up_the_entries_of_a_batch_is_found():
    func = lambda x: Cached().apply((x,))[0]  # noqa: E731
    assert check_gradients(func, X, seed=1)
    report = check_gradients(func, X, seed=1, check_batched_grad=True)
    assert report.verdict == 'fail'
    assert report.failures[0].cause == 'batched gradients: entry 1 of the batch is not what it is alone'
    assert report.failures[0].index is not None


def test_a_tangent_of_an_earlier_direction_is_found():
    assert check_gradients(Tangent.apply, X, seed=1, check_forward_ad=True)
    report = check_gradients(Tangent.apply, X, seed=1, check_forward_ad=True, check_batched_forward_grad=True)
    assert report.failures[0].cause == 'batched tangents: entry 1 of the batch is not what it is alone'
