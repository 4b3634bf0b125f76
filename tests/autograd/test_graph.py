"""The contract of Variables in the graph, of ``grad_fn``, of hooks on saved arrays and of ``checkpoint``."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F
import minichainer.links as L
from minichainer import autograd
from minichainer.autograd import Function
from minichainer.function_node import FunctionNode


def leaf(value=2.0):
    return autograd.Variable(np.array(value), requires_grad=True)


def constant(value=2.0):
    return autograd.Variable(np.array(value))


# --- Variables -----------------------------------------------------------------------------------------------------
def without_graph(mode):
    with mode():
        return leaf() * 2


def unchained():
    y = leaf() * 2
    y.unchain()
    return y


@pytest.mark.parametrize(
    ('made', 'is_leaf', 'requires_grad', 'name'),
    [
        (leaf, True, True, None),
        (constant, True, False, None),
        (lambda: chainer.Variable(np.ones(2)), True, True, None),
        (lambda: chainer.Parameter(0.0, (2,)), True, True, None),
        (lambda: constant().requires_grad_(), True, True, None),
        (lambda: leaf().requires_grad_(False), True, False, None),
        (lambda: leaf() * 2, False, True, 'MulConstantBackward'),
        (lambda: constant() * 2, True, False, None),
        (lambda: (leaf() * 2).detach(), True, False, None),
        (lambda: (leaf() * 2).detach_(), True, False, None),
        (lambda: leaf().detach_(), True, False, None),
        (lambda: (leaf() * 2).detach().requires_grad_(), True, True, None),
        (lambda: autograd.Variable(leaf() * 2), True, False, None),
        (lambda: without_graph(autograd.no_grad), True, False, None),
        (lambda: without_graph(chainer.no_backprop_mode), True, True, None),
        (unchained, True, True, None),
        (lambda: F.separate(leaf([1.0, 2.0]))[1], False, True, 'Backward'),
        (lambda: leaf().requires_grad_() * constant(), False, True, 'MulBackward'),
    ],
)
def test_leaves_and_results(made, is_leaf, requires_grad, name):
    x = made()
    assert (x.is_leaf, x.requires_grad) == (is_leaf, requires_grad)
    assert x.grad_fn is None if name is None else name in x.grad_fn.name()


def test_detach_shares_memory_and_leaves_the_original_alone():
    x = leaf([1.0, 2.0])
    for made in (x, x * 1):
        y = made.detach()
        assert y.array is made.array and y is not made and y.grad is None
        assert made.requires_grad
    F.sum(x * x.detach()).backward()
    assert x.grad.tolist() == [1, 2]


def test_detach_in_place_cuts_what_is_computed_from_now_on():
    x = leaf()
    y = x * x
    z = y * 3
    y.retain_grad()
    z.backward()
    array = y.array
    assert y.detach_() is y and y.array is array
    assert y.grad == 3
    (y * x).backward()
    assert x.grad == 12 + 4
    autograd.backward(z)
    assert x.grad == 12 + 4 + 12 and y.creator is None


def test_requires_grad_can_be_changed_for_leaves_only():
    x, y = constant(), leaf() * 2
    assert x.requires_grad_() is x and x.requires_grad
    x.requires_grad = False
    assert not x.requires_grad
    assert y.requires_grad_() is y
    for change in (lambda: y.requires_grad_(False), lambda: setattr(y, 'requires_grad', False)):
        with pytest.raises(RuntimeError, match='leaves only'):
            change()
    for integers in (np.ones(2, int), np.ones(2, bool)):
        with pytest.raises(RuntimeError, match='float and complex'):
            autograd.Variable(integers, requires_grad=True)
        with pytest.raises(RuntimeError, match='float and complex'):
            autograd.Variable(integers).requires_grad_()
    assert autograd.Variable(np.ones(2, complex), requires_grad=True).requires_grad


def test_variable_takes_arrays_and_variables():
    array = np.ones(2)
    x = autograd.Variable(array)
    assert autograd.Variable(x, True).array is array and not x.requires_grad
    assert isinstance(chainer.Parameter(0.0, ()), autograd.Variable) and issubclass(
        chainer.Parameter, autograd.Variable
    )
    assert not isinstance(array, autograd.Variable)
    with pytest.raises(TypeError):
        autograd.Variable([1.0])


# --- grad_fn -------------------------------------------------------------------------------------------------------
def edges(node, depth=0):
    """The graph below a node: names and numbers of outputs."""
    return node.name(), [None if f is None else (edges(f), i) for f, i in node.next_functions]


def test_the_graph_of_a_small_network():
    model = L.Linear(3, 2)
    h = F.tanh(model(constant([[1.0, 2.0, 3.0]]).array.astype('f4')))
    y = F.sum(h)
    leaf_ = ('AccumulateGrad', [])
    assert edges(y.grad_fn) == (
        'SumBackward', [(('TanhBackward', [(('LinearFunctionBackward', [None, (leaf_, 0), (leaf_, 0)]), 0)]), 0)],
    )  # fmt: skip
    tanh = y.grad_fn.next_functions[0][0]
    assert tanh is h.grad_fn and tanh.node is h.creator_node
    weight = tanh.next_functions[0][0].next_functions[1][0]
    assert weight.node is model.W.edge and repr(weight).startswith('<AccumulateGrad at 0x')


def test_numbers_of_outputs_and_several_uses():
    x = leaf([1.0, 2.0])
    first, second = F.separate(x)
    y = second * first
    (f, i), (g, j) = y.grad_fn.next_functions
    assert f is g is first.grad_fn is second.grad_fn and (i, j) == (1, 0)
    z = x * x
    assert z.grad_fn.next_functions[0][0] is z.grad_fn.next_functions[1][0]


class Old(chainer.Function):
    def forward(self, inputs):
        self.retain_inputs((0,))
        return (inputs[0] ** 2,)

    def backward(self, inputs, gradients):
        return (2 * inputs[0] * gradients[0],)


class New(FunctionNode):
    def forward(self, inputs):
        self.retain_inputs((0,))
        self.retain_outputs((0,))
        return (np.exp(inputs[0]),)

    def backward(self, indexes, gradients):
        (x,), (y,) = self.get_retained_inputs(), self.get_retained_outputs()
        return (gradients[0] * y * (x / x),)


class Static(Function):
    @staticmethod
    def forward(ctx, x):
        y = F.exp(x)
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return g * y * (x / x)


@pytest.mark.parametrize(
    ('function', 'name'),
    [
        (F.exp, 'ExpBackward'),
        (lambda x: x / 2, 'Backward'),
        (lambda x: Old()(x), 'OldBackward'),
        (lambda x: New().apply((x,))[0], 'NewBackward'),
        (Static.apply, 'StaticBackward'),
    ],
)
def test_names_contain_those_of_functions(function, name):
    assert function(leaf()).grad_fn.name().endswith(name)


def test_metadata_belongs_to_the_node():
    y = leaf() * 2
    y.grad_fn.metadata['key'] = 1
    assert y.grad_fn.metadata == {'key': 1}
    assert (y * 2).grad_fn.metadata == {}
    assert (y * 2).grad_fn.next_functions[0][0].metadata == {'key': 1}
    y.register_hook(print).remove()
    assert y.grad_fn.metadata == {'key': 1}


# --- hooks on saved arrays -----------------------------------------------------------------------------------------
KINDS = {
    'elementwise': lambda x: x * x * x,
    'result': F.tanh,
    'constants': lambda x: x * np.array([3.0, 4.0]),
    'reduction': lambda x: F.max(x * x),
    'several outputs': lambda x: F.stack([y * y for y in F.split_axis(x * x, 2, 0)]),
    'variadic': lambda x: F.concat([x * x, x, x], 0) ** 2,
    'product': lambda x: F.matmul(x, F.exp(x)),
    'old-style': lambda x: Old()(x) * x,
    'FunctionNode': lambda x: New().apply((x,))[0],
    'Function': Static.apply,
    'checkpoint': lambda x: autograd.checkpoint(lambda v: v * v * x, x),
}


def derivatives(function, x, context=None, double=True):
    """The first and second derivative of the sum of a function; it is applied inside a context."""
    if context is None:
        y = F.sum(function(x))
    else:
        with context:
            y = F.sum(function(x))
    (gx,) = autograd.grad(y, x, create_graph=double)
    return [g.array.tolist() for g in (gx, *(autograd.grad(F.sum(gx * gx), x) if double else ()))]


@pytest.mark.parametrize('kind', KINDS)
@pytest.mark.parametrize('double', [False, True])
def test_saved_arrays_of_every_kind_are_packed_and_unpacked(kind, double):
    double = double and kind not in ('old-style', 'constants')
    expected = derivatives(KINDS[kind], leaf([0.5, 2.0]), None, double)
    packed, unpacked = {}, []

    def pack(x):
        assert type(x) is chainer.Variable and not x.requires_grad
        packed[len(packed)] = x.array.copy()
        return len(packed) - 1

    def unpack(number):
        unpacked.append(number)
        return packed[number]

    context = autograd.graph.saved_tensors_hooks(pack, unpack)
    assert derivatives(KINDS[kind], leaf([0.5, 2.0]), context, double) == expected
    assert packed and unpacked


@pytest.mark.parametrize('kind', KINDS)
def test_save_on_cpu(kind):
    double = kind not in ('old-style', 'constants')
    expected = derivatives(KINDS[kind], leaf([0.5, 2.0]), None, double)
    assert derivatives(KINDS[kind], leaf([0.5, 2.0]), autograd.graph.save_on_cpu(), double) == expected
    assert derivatives(KINDS[kind], leaf([0.5, 2.0]), autograd.graph.save_on_cpu(pin_memory=True), double) == expected


def test_what_is_unpacked_counts():
    x = leaf()
    with autograd.graph.saved_tensors_hooks(lambda v: v, lambda v: v.array * 10):
        y = F.exp(x)
    y.backward()
    assert x.grad == 10 * np.exp(2.0)


def test_retained_values_are_unpacked_once_each():
    x, unpacked = leaf(), []
    read = (x * 2).array  # while it is in use, saved arrays are compared with it; not what hooks have packed
    with autograd.graph.saved_tensors_hooks(lambda v: v.array, lambda a: (unpacked.append(a), a)[1]):
        y = New().apply((x,))[0]
    y.backward()
    assert len(unpacked) == 2 and read == 4


def test_the_innermost_hooks_count_and_only_in_their_thread_and_block():
    log, x = [], leaf()

    def hooks(name):
        return autograd.graph.saved_tensors_hooks(lambda v: (log.append(name), v)[1], lambda v: v)

    with hooks('outer'):
        with hooks('inner'):
            F.exp(x)
        thread = threading.Thread(target=lambda: F.exp(x))
        thread.start()
        thread.join()
        F.exp(x)
        with autograd.no_grad():
            F.exp(x)
    F.exp(x)
    assert log == ['inner', 'outer']
    hooks('decorator')(F.exp)(x)
    assert log[2:] == ['decorator']


def test_hooks_that_are_wrong():
    x = leaf()
    with autograd.graph.saved_tensors_hooks(lambda v: v, lambda v: 3):
        y = x * x
    with pytest.raises(TypeError, match='unpack_hook'):
        y.backward()
    with pytest.raises(KeyError), autograd.graph.saved_tensors_hooks(lambda v: {}[1], lambda v: v):
        F.exp(x)
    assert x.grad is None and F.exp(x).requires_grad


def test_packed_values_are_freed_too():
    x = leaf()
    with autograd.graph.saved_tensors_hooks(lambda v: v, lambda v: v):
        y = x * x
    autograd.backward(y)
    with pytest.raises(RuntimeError, match='retain_graph=True'):
        autograd.backward(y)


# --- checkpoint ----------------------------------------------------------------------------------------------------
def test_arguments_of_any_kind():
    x, w, calls = leaf(), leaf(3.0), []

    def function(a, array, power, *, other, name):
        calls.append((type(a), type(array), power, name))
        return F.sum(a**power * array) * other

    y = autograd.checkpoint(function, x, np.ones(2), 3, other=w, name='n')
    expected = autograd.grad(function(x, np.ones(2), 3, other=w, name='n'), [x, w])
    del calls[1:]
    found = autograd.grad(y, [x, w])
    assert [g.array for g in found] == [g.array for g in expected] == [72, 16]
    assert calls == [(chainer.Variable, np.ndarray, 3, 'n')] * 2


@pytest.mark.parametrize('returned', [lambda v: v * v, lambda v: (v * v,), lambda v: (v * v, v * 3)])
def test_it_returns_what_the_function_returns(returned):
    x = leaf()
    direct, found = returned(x), autograd.checkpoint(returned, x)
    assert type(found) is type(direct)
    direct, found = [y if isinstance(y, tuple) else (y,) for y in (direct, found)]
    assert [y.array for y in found] == [y.array for y in direct]
    assert autograd.grad(found, x)[0].array == autograd.grad(direct, x)[0].array


def test_second_order_random_numbers_and_no_grad():
    x = leaf(np.linspace(0.5, 1, 50))
    y = autograd.checkpoint(lambda v: F.dropout(v**3, 0.5), x)
    (gx,) = autograd.grad(F.sum(y), x, create_graph=True)
    (ggx,) = autograd.grad(F.sum(gx), x)
    kept = y.array != 0
    assert 0 < kept.sum() < 50
    assert np.allclose(gx.array, 6 * x.array**2 * kept) and np.allclose(ggx.array, 12 * x.array * kept)
    with autograd.no_grad():
        assert not autograd.checkpoint(lambda v: v * v, x).requires_grad
