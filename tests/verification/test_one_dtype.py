"""Inputs and links of different dtypes are checked in one, on copies."""

from __future__ import annotations

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F
import minichainer.links as L
from minichainer.errors import UninitializedParameterError
from minichainer.gradient_check import (
    check_backward,
    check_double_backward,
    check_gradients,
    gradcheck,
    gradgradcheck,
)
from tests.verification.planting import uniform

X, IMAGES = uniform(5, 4), uniform(2, 3, 5, 5)


class Model(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.l1, self.bn, self.l2 = L.Linear(None, 3), L.BatchNormalization(3), L.Linear(None, 2)

    def forward(self, x):
        return self.l2(F.tanh(self.bn(self.l1(x))))


class InAList:
    """A function that is no link and keeps its links in a list."""

    def __init__(self):
        self.links = [L.Linear(4, 3), L.Linear(3, 2)]

    def __call__(self, x):
        return self.links[1](F.tanh(self.links[0](x)))

    def method(self, x):
        return self(x) * 2


LINKS = {
    'Linear': (lambda: L.Linear(4, 3), X),
    'lazy Linear': (lambda: L.Linear(None, 3), X),
    'Convolution2D': (lambda: L.Convolution2D(3, 2, 3), IMAGES),
    'LayerNormalization': (lambda: L.LayerNormalization(4), X),
    'BatchNormalization': (lambda: L.BatchNormalization(4), X),
    'BatchNormalization without parameters': (lambda: L.BatchNormalization(4, use_gamma=False, use_beta=False), X),
    'BatchRenormalization': (lambda: L.BatchRenormalization(4), X),
    'Sequential': (lambda: chainer.Sequential(L.Linear(4, 3), F.tanh, L.Linear(None, 2)), X),
    'Chain': (Model, X),
    'PReLU': (lambda: L.PReLU((4,)), X),
}
ENTRIES = {
    'check_gradients': lambda f, x, gy, **p: bool(check_gradients(f, x, seed=0, **p)),
    'gradcheck': lambda f, x, gy, **p: gradcheck(f, x, seed=0, **p),
    'gradcheck, fast': lambda f, x, gy, **p: gradcheck(f, x, fast_mode=True, seed=0, **p),
    'gradgradcheck': lambda f, x, gy, **p: gradgradcheck(f, x, gy, fast_mode=True, seed=0, **p),
    'check_backward': lambda f, x, gy, **p: check_backward(f, x, gy, **p) is None,
    'check_double_backward': lambda f, x, gy, **p: check_double_backward(f, x, gy, x, **p) is None,
}


def state(link):
    values = dict(link.namedparams())
    values |= {f'{path}{name}': vars(one)[name] for path, one in link.namedlinks() for name in one._persistent}
    arrays = {name: getattr(v, 'array', v) for name, v in values.items()}
    return {name: (a, np.copy(a), getattr(a, 'dtype', None)) for name, a in arrays.items()}


def same_state(before, after):
    for name, (array, values, dtype) in before.items():
        assert after[name][0] is array or not isinstance(array, np.ndarray), name
        assert after[name][2] == dtype, name
        np.testing.assert_array_equal(after[name][1], values)


@pytest.mark.parametrize('params', ['all', ()], ids=['all', 'none'])
@pytest.mark.parametrize('train', [True, False])
@pytest.mark.parametrize('name', LINKS)
def test_links_of_float32_take_inputs_of_float64(name, params, train):
    make, x = LINKS[name]
    link = make()
    with chainer.using_config('train', train):
        link(x.astype('f'))
        before = state(link)
        report = check_gradients(link, x, params=params, seed=0)
    assert report, report
    same_state(before, state(link))
    assert not report.not_precise or name == 'Chain', report.not_precise


@pytest.mark.parametrize('name', ENTRIES)
def test_every_entry_point(name):
    link = L.Linear(4, 3)
    assert ENTRIES[name](link, X, uniform(5, 3))
    assert ENTRIES[name](link, X, uniform(5, 3).astype('f')) or name != 'check_backward'
    more = {'params': (link.W, link.b)}
    if name == 'check_double_backward':
        more['params_grad_grad'] = (uniform(3, 4).astype('f'), uniform(3).astype('f'))
    assert ENTRIES[name](lambda x: F.tanh(link(x)), X, uniform(5, 3), **more)
    assert link.W.dtype == link.b.dtype == np.float32


def test_the_report_says_in_which_dtype():
    report = check_gradients(L.Linear(4, 3), X, params='all', seed=0)
    assert 'Checked in float64, on copies: the inputs are float64 and the parameters float32' in report.notes[0]
    report = check_gradients(L.Linear(4, 3), X.astype('e'), params='all', seed=0)
    assert 'Checked in float32, on copies: the inputs are float16' in report.notes[0]
    with chainer.using_config('dtype', np.float64):
        wide = L.Linear(4, 3)
    assert 'the inputs are float32 and the parameters float64' in check_gradients(wide, X.astype('f')).message
    assert not check_gradients(L.Linear(4, 3), X.astype('f'), params='all', seed=0).notes


def test_what_takes_both_dtypes_is_checked_as_given():
    report = check_gradients(L.BatchNormalization(4), X, params='all', seed=0)
    assert report and not report.notes
    embed = L.EmbedID(4, 3)
    assert not check_gradients(lambda x, i: F.sum(x) + F.sum(F.cast(embed(i), 'd')), (X, np.array([1, 2]))).notes[1:]


@pytest.mark.parametrize('make', [lambda f: f, lambda f: f.method], ids=['called', 'bound'])
def test_links_in_a_list(make):
    function = InAList()
    assert check_gradients(make(function), X, seed=0)
    assert function.links[0].W.dtype == np.float32


def test_a_lazy_link_without_params():
    link = L.Linear(None, 3)
    assert check_gradients(link, X, seed=0)
    assert link.W.shape == (3, 4) and link.W.dtype == np.float32
    link = L.Linear(None, 3)
    report = check_gradients(lambda x: link(x), X.astype('f'), seed=0)
    assert report and 'does not take float64' not in report.message


def test_another_mistake_is_reported_as_it_is():
    with pytest.raises(chainer.utils.type_check.InvalidType):
        check_gradients(L.Linear(7, 3), X)
    with pytest.raises(chainer.utils.type_check.InvalidType):
        check_gradients(L.Linear(7, 3), X.astype('f'))
    with pytest.raises(UninitializedParameterError):
        check_gradients(lambda x: x + chainer.Parameter().shape[0], X)


@pytest.mark.parametrize('when', range(1, 9))
@pytest.mark.parametrize('make', [lambda: L.Linear(4, 3), lambda: L.Linear(None, 3)], ids=['', 'lazy'])
def test_an_exception_in_an_early_call_reaches_the_user(when, make):
    link, calls = make(), []

    def failing(x):
        calls.append(0)
        if len(calls) == when:
            raise KeyError('by itself')
        return link(x)

    with pytest.raises(KeyError, match='by itself'):
        check_gradients(failing, X, seed=0)


def test_a_wrong_gradient_is_found():
    class Wrong(chainer.FunctionNode):
        def forward(self, inputs):
            self.retain_inputs((0, 1))
            return (inputs[0] @ inputs[1].T,)

        def backward(self, indexes, gys):
            x, w = self.get_retained_inputs()
            return gys[0] @ w, 1.5 * (gys[0].T @ x)

        def check_type_forward(self, types):
            chainer.utils.type_check.expect(types[0].dtype == types[1].dtype)

    w = chainer.Parameter(uniform(3, 4).astype('f'))
    report = check_gradients(lambda x: Wrong().apply((x, w))[0], X, params=w, seed=0)
    assert report.verdict == 'fail' and report.failures[0].cause.startswith('factor: backward gives 1.5')


def test_complex_inputs():
    w = chainer.Parameter(uniform(5, 4, seed=1).astype('F'))
    assert check_gradients(lambda x: F.exp(x) * w, X + 1j * X, params=w, seed=0)
