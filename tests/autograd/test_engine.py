"""The contract of ``autograd.backward`` and ``autograd.grad``: arguments, errors, and what they free."""

from __future__ import annotations

import gc
import tracemalloc

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F
from minichainer import autograd
from minichainer.autograd import Function
from minichainer.function_node import FunctionNode

ARRAY = 1 << 20


def leaf(*values):
    return autograd.Variable(np.array(values if len(values) != 1 else values[0], float), requires_grad=True)


def constant(*values):
    return autograd.Variable(np.array(values if len(values) != 1 else values[0], float))


def numbers(found):
    return [None if g is None else g.array.tolist() for g in found]


# --- what is computed ----------------------------------------------------------------------------------------------
def test_backward_adds_up_outputs_and_passes():
    x = leaf(1, 2)
    for expected in ([5, 9], [10, 18]):
        autograd.backward([x * 3, x * x], [np.ones(2), constant(1, 1.5)])
        assert x.grad.tolist() == expected


@pytest.mark.parametrize('create_graph', [False, True])
def test_grad_adds_up_outputs_and_changes_no_grad(create_graph):
    x, w = leaf(2.0), leaf(5.0)
    y = x * w
    found = autograd.grad([y, y * x, x * x], [x, w, y], create_graph=create_graph)
    assert numbers(found) == [5 + 20 + 4, 2 + 4, 1 + 2]
    assert type(found) is tuple and all(isinstance(g, chainer.Variable) for g in found)
    assert [g.requires_grad for g in found] == [create_graph] * 3
    assert x.grad is None and w.grad is None and y.grad is None


def test_each_order_is_a_gradient_of_the_one_before():
    x = leaf(2.0)
    y, found = x**5, []
    for _ in range(4):
        (y,) = autograd.grad(y, x, create_graph=True)
        found.append(float(y.array))
    assert found == [80, 160, 240, 240]


@pytest.mark.parametrize(
    ('outputs', 'gradients', 'expected'),
    [
        (lambda x: x * x, None, 4),
        (lambda x: F.reshape(x * x, (1, 1)), None, 4),
        (lambda x: [x * x, x], None, 5),
        (lambda x: (x * x, x), (None, np.array(3.0)), 7),
        (lambda x: x * x, np.array(3.0), 12),
        (lambda x: x * x, constant(3.0), 12),
        (lambda x: x, None, 1),
        (lambda x: [x, x], None, 2),
    ],
    ids=['scalar', 'one element', 'list', 'None for a scalar', 'array', 'variable', 'leaf', 'output twice'],
)
def test_outputs_and_upstream_gradients(outputs, gradients, expected):
    x = leaf(2.0)
    assert numbers(autograd.grad(outputs(x), x, gradients)) == [expected]
    autograd.backward(outputs(x), gradients)
    assert x.grad == expected


def test_the_gradient_of_the_gradient_flows_to_upstream_gradients():
    x, v = leaf(2.0), leaf(3.0)
    (gx,) = autograd.grad(x * x, x, v, create_graph=True)
    assert numbers(autograd.grad(gx, [x, v])) == [6, 4]


@pytest.mark.parametrize(
    ('options', 'expected'),
    [
        ({'allow_unused': True}, [4, None]),
        ({'materialize_grads': True}, [4, 0]),
        ({'materialize_grads': True, 'allow_unused': True}, [4, 0]),
    ],
)
def test_unused_inputs(options, expected):
    x, unused = leaf(2.0), leaf(1.0)
    assert numbers(autograd.grad(x * x, [x, unused], **options)) == expected


def test_inputs_of_backward_are_the_only_ones_that_get_gradients():
    x, w, unused = leaf(2.0), leaf(5.0), leaf(1.0)
    y = x * w
    autograd.backward(y * y, inputs=[x, y, unused])
    assert (x.grad, w.grad, y.grad, unused.grad) == (100, None, 20, None)
    z = x * w
    z.backward(inputs=w)
    assert (x.grad, w.grad) == (100, 2)


def test_only_inputs_false_accumulates_into_the_other_leaves():
    x, w, b = leaf(2.0), leaf(5.0), leaf(1.0)
    b.grad = np.array(10.0)
    with pytest.warns(FutureWarning, match='only_inputs'):
        found = autograd.grad(x * w + b, x, only_inputs=False)
    assert numbers(found) == [5]
    assert (x.grad, w.grad, b.grad) == (None, 2, 11)


def test_grad_variables_is_the_deprecated_name():
    x = leaf(2.0)
    with pytest.warns(FutureWarning, match='grad_tensors'):
        autograd.backward(x * x, grad_variables=np.array(2.0))
    assert x.grad == 8
    with pytest.warns(FutureWarning), pytest.raises(RuntimeError, match='same argument'):
        autograd.backward(x * x, np.array(1.0), grad_variables=np.array(2.0))


@pytest.mark.parametrize('create_graph', [False, True])
@pytest.mark.parametrize('upstream', [np.eye(2), constant([1.0, 0.0], [0.0, 1.0])], ids=['array', 'variable'])
def test_batched_upstream_gradients_are_one_pass_each(create_graph, upstream):
    x = leaf(2, 3)
    (jacobian,) = autograd.grad(x * x, x, upstream, is_grads_batched=True, create_graph=create_graph)
    assert jacobian.array.tolist() == [[4, 0], [0, 6]]
    assert jacobian.requires_grad is create_graph


def test_batched_gradients_of_unused_inputs_and_of_the_other_leaves():
    x, w, unused = leaf(2.0), leaf(5.0), leaf(1.0)
    found = autograd.grad(x * w, [x, unused], np.ones(3), is_grads_batched=True, allow_unused=True)
    assert numbers(found) == [[5, 5, 5], None]
    with pytest.warns(FutureWarning):
        autograd.grad(x * w, x, np.ones(3), is_grads_batched=True, only_inputs=False)
    assert w.grad == 6


# --- errors --------------------------------------------------------------------------------------------------------
def under_no_grad(x):
    with autograd.no_grad():
        return x * 2


ERRORS = {
    'constant output': (lambda x: autograd.grad(constant(1.0), x), RuntimeError, 'requires no gradient'),
    'constant root': (lambda x: autograd.backward(constant(1.0)), RuntimeError, 'requires no gradient'),
    'root under no_grad': (lambda x: autograd.backward(under_no_grad(x)), RuntimeError, 'under no_grad'),
    'one constant': (lambda x: autograd.backward([x * 1, constant(1.0)]), RuntimeError, 'output 1'),
    'constant input': (lambda x: autograd.grad(x * 2, constant(1.0)), RuntimeError, 'input 0 requires no'),
    'constant in inputs': (lambda x: autograd.backward(x * 2, inputs=[constant(1.0)]), RuntimeError, 'input 0'),
    'no inputs': (lambda x: autograd.grad(x * 2, []), RuntimeError, 'at least one'),
    'empty inputs': (lambda x: autograd.backward(x * 2, inputs=[]), RuntimeError, 'empty'),
    'empty inputs of the method': (lambda x: (x * 2).backward(inputs=[]), RuntimeError, 'empty'),
    'unused': (lambda x: autograd.grad(x * 2, leaf(1.0)), RuntimeError, 'allow_unused=True'),
    'unused, made after': (lambda x: autograd.grad(x * 2, x * 3), RuntimeError, 'allow_unused=True'),
    'no upstream': (lambda x: autograd.backward(x * np.ones(2)), RuntimeError, 'not a scalar'),
    'None upstream': (lambda x: autograd.grad(x * np.ones(2), x, [None]), RuntimeError, 'not a scalar'),
    'shape': (lambda x: autograd.backward(x * 2, np.ones(2)), RuntimeError, 'shape'),
    'shape, as Chainer': (lambda x: autograd.backward(x * 2, np.ones(2)), ValueError, 'shape'),
    'shape of gradient=': (lambda x: (x * 2).backward(gradient=np.ones(2)), RuntimeError, 'shape'),
    'dtype': (lambda x: autograd.backward(x * 2, np.array(1, 'f4')), RuntimeError, 'dtype'),
    'dtype, as Chainer': (lambda x: autograd.backward(x * 2, np.array(1, 'f4')), TypeError, 'dtype'),
    'count': (lambda x: autograd.backward([x * 2], [None, None]), RuntimeError, 'one upstream gradient per output'),
    'number as upstream': (lambda x: autograd.backward([x * 2], [1.0]), TypeError, 'float'),
    'array as output': (lambda x: autograd.backward([np.ones(1)]), TypeError, 'ndarray'),
    'array as input': (lambda x: autograd.grad(x * 2, [np.ones(1)]), TypeError, 'ndarray'),
    'constant with gradient=': (lambda x: constant(1.0).backward(gradient=np.array(1.0)), RuntimeError, 'require'),
    'positional array': (lambda x: (x * 2).backward(np.array(1.0)), TypeError, 'gradient='),
    'positional variable': (lambda x: (x * 2).backward(constant(1.0)), TypeError, 'gradient='),
    'zeros that may not be': (
        lambda x: autograd.grad(x * 2, x, materialize_grads=True, allow_unused=False), ValueError, 'allow_unused'),
    'batched without upstream': (
        lambda x: autograd.grad(x * 2, x, is_grads_batched=True), RuntimeError, 'needs grad_outputs'),
    'batches that differ': (
        lambda x: autograd.grad([x, x], x, [np.ones(2), np.ones(3)], is_grads_batched=True), RuntimeError, 'length'),
    'empty batch': (lambda x: autograd.grad(x * 2, x, np.ones(0), is_grads_batched=True), RuntimeError, 'empty'),
}  # fmt: skip


@pytest.mark.parametrize('case', ERRORS)
def test_errors_say_what_is_wrong_and_change_nothing(case):
    fails, kind, text = ERRORS[case]
    x = leaf(2.0)
    with pytest.raises(kind, match=text):
        fails(x)
    assert x.grad is None


# --- freeing -------------------------------------------------------------------------------------------------------
def square_node():
    class Square(FunctionNode):
        def forward(self, inputs):
            self.retain_inputs((0,))
            return (inputs[0] ** 2,)

        def backward(self, indexes, gradients):
            return (2 * self.get_retained_inputs()[0] * gradients[0],)

    return lambda x: Square().apply((x,))[0]


def square_function():
    class Square(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            return 2 * ctx.saved_tensors[0] * g

    return Square.apply


class OldSquare(chainer.Function):
    def forward(self, inputs):
        self.retain_inputs((0,))
        return (inputs[0] ** 2,)

    def backward(self, inputs, gradients):
        return (2 * inputs[0] * gradients[0],)


KINDS = {
    'primitive': lambda: lambda x: x * x,
    'several outputs': lambda: lambda x: F.sum(F.stack(F.separate(x * x * x, 0))),
    'variadic': lambda: lambda x: F.sum(F.concat([x * x, x], 0)),
    'FunctionNode': square_node,
    'old-style': lambda: lambda x: OldSquare()(x),
    'Function': square_function,
    'checkpoint': lambda: lambda x: autograd.checkpoint(lambda v: v * v, x),
}

FREEING = {
    'backward': lambda y, x: autograd.backward(y),
    'grad': lambda y, x: autograd.grad(y, x),
    'inputs': lambda y, x: autograd.backward(y, inputs=[x]),
    'retain_graph=False': lambda y, x: y.backward(retain_graph=False),
    'despite create_graph': lambda y, x: autograd.grad(y, x, create_graph=True, retain_graph=False),
}
KEEPING = {
    'y.backward()': lambda y, x: y.backward(),
    'double': lambda y, x: y.backward(enable_double_backprop=True),
    'chainer.grad': lambda y, x: chainer.grad([y], [x]),
    'chainer.backward': lambda y, x: chainer.backward([y], [chainer.Variable(np.ones_like(y.array))]),
    'retain_graph': lambda y, x: autograd.backward(y, retain_graph=True),
    'create_graph': lambda y, x: autograd.grad(y, x, create_graph=True),
    'gradient=': lambda y, x: y.backward(gradient=np.ones_like(y.array)),
    'no_grad': lambda y, x: autograd.no_grad()(autograd.grad)(y, x, retain_graph=True),
}


@pytest.mark.parametrize('kind', KINDS)
@pytest.mark.parametrize('free', FREEING)
def test_a_freed_graph_says_what_to_do(kind, free):
    x = leaf([2.0])
    y = F.sum(KINDS[kind]()(x))
    FREEING[free](y, x)
    before = x.grad
    for again in (*FREEING.values(), *KEEPING.values()):
        with pytest.raises(RuntimeError, match='retain_graph=True'):
            again(y, x)
    assert x.grad is before


@pytest.mark.parametrize('kind', KINDS)
@pytest.mark.parametrize('keep', KEEPING)
def test_everything_else_can_be_repeated(kind, keep):
    x = leaf([2.0])
    y = F.sum(KINDS[kind]()(x))
    expected = numbers(chainer.grad([y], [x]))
    for _ in range(3):
        KEEPING[keep](y, x)
    assert numbers(autograd.grad(y, x)) == expected


def test_graphs_that_saved_nothing_can_be_used_again():
    x = leaf(2.0)
    y = x + x
    autograd.backward(y)
    autograd.backward(y)
    assert x.grad == 4


def test_a_pass_along_a_path_frees_only_that_path():
    x, w = leaf(2.0), leaf(3.0)
    h, k = x * x, w * w
    y = h + k
    autograd.grad(y, x)
    assert numbers(autograd.grad(y, w)) == [6]


def test_a_freed_graph_can_still_be_drawn():
    x = leaf(2.0)
    h = x * x
    y = F.tanh(h)
    nodes = [h.creator_node, y.creator_node]
    before = [(f.label, f.rank, [v.label for v in f.inputs]) for f in nodes]
    autograd.backward(y)
    assert [h.creator_node, y.creator_node] == nodes
    assert [(f.label, f.rank, [v.label for v in f.inputs]) for f in nodes] == before
    assert y.grad_fn.next_functions[0][0] is h.grad_fn


@pytest.fixture
def memory():
    gc.collect()
    gc.disable()
    tracemalloc.start()
    yield lambda: [size / ARRAY for size in tracemalloc.get_traced_memory()]
    tracemalloc.stop()
    gc.enable()


@pytest.mark.parametrize(
    ('run', 'frees'),
    [
        (lambda y: autograd.backward(y), True),
        (lambda y: y.backward(retain_graph=False), True),
        (lambda y: autograd.backward(y, retain_graph=True), False),
        (lambda y: y.backward(), False),
    ],
    ids=['backward', 'retain_graph=False', 'retain_graph=True', 'Chainer'],
)
def test_arrays_are_freed_as_the_pass_goes_on(memory, run, frees):
    x, halfway = leaf(np.full(ARRAY // 8, 0.5)), []
    h = x
    for i in range(20):
        h = F.tanh(h)
        if i == 10:
            h.register_hook(lambda g: halfway.append(memory()[0]))
    y = F.sum(h)
    del h
    before = memory()[0]
    tracemalloc.reset_peak()
    assert 20.9 < before < 21.1  # x, and the results that tanh saves
    run(y)
    now, highest = memory()
    assert highest < before + 4
    assert abs(now - (2 if frees else 22)) < 0.1  # x and its gradient, and what is saved
    assert before - 10 < halfway[0] < before - 5 if frees else halfway[0] > before
    assert y.creator_node is not None
