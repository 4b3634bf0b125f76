"""``random='fixed'``: each call of the function draws the same random numbers."""

from __future__ import annotations

import random

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F
import minichainer.links as L
from minichainer.backends import cuda
from minichainer.gradient_check import (
    check_backward,
    check_double_backward,
    check_gradients,
    gradcheck,
    gradgradcheck,
)
from tests.verification.planting import node, uniform

X = uniform(3, 4)


class Model(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.l, self.bn = L.Linear(4, 5), L.BatchNormalization(5)

    def forward(self, x):
        return F.dropout(F.tanh(self.bn(self.l(x)))) * random.random()


MODEL = Model()
ENTRIES = {
    'check_gradients': lambda **o: bool(check_gradients(MODEL, X, params='all', seed=0, **o)),
    'gradcheck': lambda **o: gradcheck(MODEL, X, raise_exception=False, **o),
    'gradcheck, fast': lambda **o: gradcheck(MODEL, X, raise_exception=False, fast_mode=True, **o),
    'gradgradcheck': lambda **o: gradgradcheck(MODEL, X, fast_mode=True, raise_exception=False, **o),
    'check_backward': lambda **o: check_backward(MODEL, X.astype('f'), uniform(3, 5).astype('f'), **o) is None,
    'check_double_backward': lambda **o: check_double_backward(MODEL, X, uniform(3, 5), X, **o) is None,
}


def states():
    return np.random.get_state()[1].tolist(), np.random.get_state()[2], random.getstate()


@pytest.mark.parametrize('name', ENTRIES)
def test_a_model_with_dropout(name):
    before = states()
    assert ENTRIES[name](random='fixed')
    with pytest.raises(AssertionError):
        assert ENTRIES[name]()
    assert states() == before


def test_each_call_draws_what_the_next_one_would_have_drawn():
    drawn = []

    def function(x):
        drawn.append((np.random.uniform(), random.random()))
        return x * drawn[-1][0]

    assert check_gradients(function, X, random='fixed', order=2, seed=0)
    assert set(drawn) == {(np.random.uniform(), random.random())}


def test_wrong_gradients_are_found():
    def dropped(x):
        mask = np.random.uniform(size=x.shape) < 0.5
        return node(lambda x: x * mask, lambda xs, gy: gy * (1 - mask))(x)

    assert check_gradients(dropped, X, random='fixed', seed=0).verdict == 'fail'


def test_numbers_that_backward_draws():
    """Only calls of the function are replayed: a backward that draws numbers has to keep them."""
    drawing = node(lambda x: x, lambda xs, gy: gy * np.random.uniform())
    assert check_gradients(drawing, X, random='fixed', seed=0).verdict != 'pass'


def test_other_generators_go_on():
    rng = np.random.default_rng(0)
    report = check_gradients(lambda x: x * rng.uniform(), X, random='fixed', seed=0)
    assert report.verdict == 'nondeterministic'


def test_the_states_are_restored_after_an_exception():
    def failing(x):
        np.random.uniform()
        raise KeyError('at once')

    before = states()
    with pytest.raises(KeyError):
        check_gradients(failing, X, random='fixed')
    assert states() == before


def test_the_message_names_the_option():
    report = check_gradients(F.dropout, X, seed=0)
    assert report.verdict == 'nondeterministic' and "pass random='fixed'" in report.message
    assert "random='fixed', seed=0" in check_gradients(F.dropout, X, random='fixed', seed=0).message


def test_another_value_is_an_error():
    with pytest.raises(ValueError, match="random must be 'fixed' or None, got True"):
        check_gradients(F.dropout, X, random=True)


@pytest.mark.gpu
def test_cupys_generator():
    x = cuda.to_gpu(X)
    cuda.cupy.random.seed(1)
    expected = cuda.cupy.random.uniform(size=3).get()
    cuda.cupy.random.seed(1)
    assert check_gradients(lambda x: x * cuda.cupy.random.uniform(), x, random='fixed', seed=0)
    np.testing.assert_array_equal(cuda.cupy.random.uniform(size=3).get(), expected)
