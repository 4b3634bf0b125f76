"""Parameters that a link uses without registering them: in lists, dicts, closures, globals, other objects."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F
import minichainer.links as L
from minichainer import autograd
from minichainer.gradient_check import check_backward, check_gradients, gradcheck, gradgradcheck
from tests.verification.planting import uniform

X = uniform(3, 4)


class Product(autograd.Function):
    @staticmethod
    def forward(ctx, x, w, factor):
        ctx.factor = factor
        ctx.save_for_backward(x, w)
        return x.array * w.array

    @staticmethod
    def backward(ctx, gy):
        x, w = ctx.saved_tensors
        return gy * w, ctx.factor * gy * x, None


class Holder:
    def __init__(self, value):
        self.value = value


class Base(chainer.Chain):
    def __init__(self, factor):
        super().__init__()
        self.factor = factor
        w = chainer.Parameter(uniform(3, 4, seed=1).astype('f'))
        with self.init_scope():
            self.l = L.Linear(4, 4)
        self.keep(w)

    def forward(self, x):
        return Product.apply(F.tanh(self.l(x)), self.kept(), self.factor)


def link(keep, kept):
    return type('Kept', (Base,), {'keep': keep, 'kept': kept})


def in_a_closure():
    cell = []

    def keep(self, w):
        cell[:] = [w]

    return link(keep, lambda self: cell[0])


KEPT = None


def keep_globally(self, w):
    global KEPT
    KEPT = w


PLACES = {
    'list': link(lambda self, w: setattr(self, 'ws', [0, w]), lambda self: self.ws[1]),
    'tuple in a dict': link(lambda self, w: setattr(self, 'ws', {'a': (w,)}), lambda self: self.ws['a'][0]),
    'attribute': link(lambda self, w: setattr(self, 'w', w), lambda self: self.w),
    'private attribute': link(lambda self, w: setattr(self, '_w', w), lambda self: self._w),
    'object': link(lambda self, w: setattr(self, 'h', Holder(w)), lambda self: self.h.value),
    'child link': link(lambda self, w: setattr(self.l, 'ws', [w]), lambda self: self.l.ws[0]),
    'link in a list': link(lambda self, w: setattr(self, 'ls', [of(w)]), lambda self: self.ls[0].w),
    'closure': in_a_closure(),
    'global': link(keep_globally, lambda self: KEPT),
    'partial': link(lambda self, w: setattr(self, 'f', functools.partial(lambda w: w, w)), lambda self: self.f()),
    'slots': link(lambda self, w: setattr(self, 'it', iter([w] * 1000)), lambda self: next(self.it)),
}


def of(w):
    one = chainer.Link()
    with one.init_scope():
        one.w = w
    return one


def places():
    """Each place with one dtype, and in the long run with the other, too."""
    for number, place in enumerate(PLACES):
        for dtype in 'fd':
            yield pytest.param(place, dtype, marks=[pytest.mark.slow] * (dtype != 'fd'[number % 2]))


@pytest.mark.parametrize(('place', 'dtype'), list(places()))
def test_the_gradient_is_checked(place, dtype):
    report = check_gradients(PLACES[place](1.5), X.astype(dtype), params='all', seed=0)
    assert report.verdict == 'fail', report
    assert {f.input for f in report.failures}.isdisjoint({0, '/l/W', '/l/b'})
    assert report.failures[0].cause.startswith('factor: backward gives 1.5')
    assert 'is used but not registered in the link' in report.message
    report = check_gradients(PLACES[place](1), X.astype(dtype), params='all', order=2, seed=0)
    assert report and 'is used but not registered in the link' in report.message


@pytest.mark.parametrize(
    'entry', [gradcheck, functools.partial(gradcheck, fast_mode=True), gradgradcheck], ids=['slow', 'fast', 'second']
)
def test_entry_points(entry):
    assert not entry(PLACES['list'](1.5), X, params='all', raise_exception=False)
    assert entry(PLACES['list'](1), X, params='all')


def test_check_backward():
    x = X.astype('f')
    with pytest.raises(AssertionError, match=r'ws\[1\]'):
        check_backward(PLACES['list'](1.5), x, x[::-1].copy(), params='all')
    check_backward(PLACES['list'](1), x, x[::-1].copy(), params='all')


def test_names_and_values():
    chain = PLACES['tuple in a dict'](1)
    w = chain.ws['a'][0]
    before, array = w.array.copy(), w.array
    report = check_gradients(chain, X, params='all', seed=0)
    assert "params[2] (ws['a'][0]) is used but not registered in the link" in report.message
    assert w.array is array and (w.array == before).all() and w.grad is None
    w.name = 'scale'
    assert 'ws' in check_gradients(chain, X, params='all', seed=0).message
    chain = PLACES['slots'](1)
    assert check_gradients(chain, X, params='all', seed=0).notes


def test_without_all_it_is_said_that_they_are_not_checked():
    report = check_gradients(PLACES['list'](1.5), X, seed=0)
    assert report and 'The gradients of /l/W, /l/b, ws[1] were not checked' in report.message
    w = chainer.Parameter(X)
    report = check_gradients(lambda x: x * w, X, seed=0)
    assert 'The gradients of w were not checked' in report.message
    assert not check_gradients(lambda x: x * w, X, params=w, seed=0).notes
    constant = chainer.Variable(X, requires_grad=False)
    assert not check_gradients(lambda x: x * constant, X, seed=0).notes
    assert not check_gradients(lambda x: x * w.array, X, seed=0).notes


class Constants(chainer.Link):
    """A link that makes Variables in each call, some of which its graph or the link keeps until the next one."""

    def forward(self, x):
        self._last = chainer.Variable(np.full(x.shape, 2, x.dtype))
        self.latest = chainer.Variable(np.full(x.shape, 2, x.dtype))
        return Product.apply(x * self._last * self.latest, chainer.Variable(np.full(x.shape, 3, x.dtype)), 1.5)


def test_constants_are_not_parameters():
    report = check_gradients(Constants(), X, params='all', seed=0)
    assert report and not report.notes


def test_registered_parameters_are_not_noted():
    link = L.Linear(4, 3)
    assert not check_gradients(link, X.astype('f'), params='all', seed=0).notes
    shared = chainer.Sequential(link, F.tanh)
    assert not check_gradients(shared, X.astype('f'), params='all', seed=0).notes


def test_a_parameter_that_is_not_used_is_not_noted():
    class Unused(chainer.Link):
        def __init__(self):
            super().__init__()
            self.spare = [chainer.Parameter(X)]

        def forward(self, x):
            return x * 2

    assert not check_gradients(Unused(), X, params='all', seed=0).notes
