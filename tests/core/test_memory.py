"""How much memory graphs and passes keep, counted by tracemalloc with the garbage collector off."""

import gc
import tracemalloc

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F

SIZE = 1 << 20  # float32: 4 MB
ARRAY = 4 * SIZE


@pytest.fixture(autouse=True)
def without_collector():
    gc.collect()
    gc.disable()
    tracemalloc.start()
    yield
    tracemalloc.stop()
    gc.enable()


def arrays_in_use():
    return tracemalloc.get_traced_memory()[0] / ARRAY


def peak_arrays():
    return tracemalloc.get_traced_memory()[1] / ARRAY


def make():
    return chainer.Variable(np.ones(SIZE, np.float32))


def test_adding_a_constant_keeps_nothing():
    h = make()
    for _ in range(50):
        h = h + 1
    assert arrays_in_use() <= 2.1  # the leaf's array is gone with its Variable, but for allocator slack
    assert peak_arrays() <= 3.1


def test_relu_keeps_its_result_and_no_more():
    x = make()
    h = x
    for _ in range(50):
        h = F.relu(h)
    assert 49.9 <= arrays_in_use() - 1 <= 50.1


def test_backward_adds_three_arrays_at_most():
    x = make()
    h = x
    for _ in range(50):
        h = F.relu(h)
    h.grad = np.ones(SIZE, np.float32)
    before = arrays_in_use()
    tracemalloc.reset_peak()
    h.backward()
    assert peak_arrays() - before <= 3.1
    assert arrays_in_use() - before <= 1.1


def test_a_graph_goes_without_the_collector():
    x = make()
    before = arrays_in_use()
    y = F.sum(F.tanh(x * x + x[::2].reshape(2, -1).T.reshape(-1)[0]))
    y.backward(retain_grad=True)
    parts = F.split_axis(x, 2, 0)
    F.sum(F.concat(parts[::-1], 0) * x).backward()
    del y, parts
    x.cleargrad()
    assert arrays_in_use() - before < 0.1


def test_a_graph_with_double_backprop_goes_without_the_collector():
    x = make()
    before = arrays_in_use()
    (g,) = chainer.grad([F.sum(F.tanh(x))], [x], enable_double_backprop=True)
    chainer.grad([F.sum(g * g)], [x])
    del g
    assert arrays_in_use() - before < 0.1


def test_old_and_new_functions_of_users_go_without_the_collector():
    class Old(chainer.Function):
        def forward(self, inputs):
            return (inputs[0] * 2,)

        def backward(self, inputs, grad_outputs):
            return (grad_outputs[0] * 2,)

    class New(chainer.FunctionNode):
        def forward(self, inputs):
            self.retain_outputs((0,))
            return (np.exp(inputs[0]),)

        def backward(self, indexes, grad_outputs):
            return (self.get_retained_outputs()[0] * grad_outputs[0],)

    x = make()
    before = arrays_in_use()
    y = F.sum(Old()(New().apply((x,))[0]))
    y.backward()
    del y
    x.cleargrad()
    assert arrays_in_use() - before < 0.1


def test_no_backprop_mode_keeps_nothing():
    h = make()
    with chainer.no_backprop_mode():
        for _ in range(20):
            h = F.tanh(F.relu(h) + 1)
    assert arrays_in_use() <= 1.1 and h.creator is None
