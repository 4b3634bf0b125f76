"""The contract of hooks after accumulation and on nodes, and of retained gradients."""

from __future__ import annotations

import numpy as np
import pytest

import minichainer.functions as F
from minichainer import autograd


def leaf(value=2.0):
    return autograd.Variable(np.array(value), requires_grad=True)


# --- after accumulation --------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    'run',
    [
        lambda y, x: y.backward(),
        lambda y, x: y.backward(inputs=[x]),
        lambda y, x: y.backward(create_graph=True),
        lambda y, x: autograd.backward(y),
        lambda y, x: autograd.backward(y, inputs=[x], create_graph=True),
    ],
)
def test_a_post_accumulate_hook_sees_the_accumulated_gradient(run):
    x, seen = leaf(), []
    x.grad = np.array(1.0)
    with x.register_post_accumulate_grad_hook(lambda v: seen.append((v is x, v.grad.item()))):
        run(x * x, x)
    run(x * x, x)
    assert seen == [(True, 5.0)]


def test_no_post_accumulate_hook_without_accumulation():
    x, unused, seen = leaf(), leaf(), []
    for v in (x, unused):
        v.register_post_accumulate_grad_hook(seen.append)
    autograd.grad(x * x, x)
    leaf().backward(inputs=[unused])
    assert seen == []


def test_a_post_accumulate_hook_may_update_and_clear():
    x = leaf()

    def step(v):
        v.array -= 0.1 * v.grad
        v.cleargrad()

    x.register_post_accumulate_grad_hook(step)
    (x * x).backward()
    assert x.array == 1.6 and x.grad is None


# --- retained gradients --------------------------------------------------------------------------------------------
def test_retained_gradients_accumulate_over_passes_of_any_kind():
    x = leaf()
    y = x * 3
    y.retain_grad()
    y.retain_grad()
    z = y * y
    assert y.retains_grad and not x.retains_grad and not z.retains_grad
    totals = []
    for run in (
        lambda: z.backward(), lambda: autograd.grad(z, x, retain_graph=True), lambda: z.backward(inputs=[y]),
        lambda: z.backward(inputs=[x, y]), lambda: autograd.grad(z, y, retain_graph=True),
        lambda: z.backward(retain_grad=True), lambda: autograd.backward(z),
    ):  # fmt: skip
        run()
        totals.append(y.grad / 12)
    assert totals == [1, 2, 3, 4, 5, 6, 7]


def test_a_retained_gradient_is_what_hooks_have_made_of_it_and_its_own_array():
    x, g = leaf([1.0, 2.0]), np.ones(2)
    y = x * 1
    y.retain_grad()
    y.backward(gradient=g)
    g += 5
    assert y.grad.tolist() == [1, 1]
    y.grad += 5
    assert x.grad.tolist() == [1, 1]
    y.register_hook(lambda g: g * 3)
    y.cleargrad()
    F.sum(y).backward()
    assert y.grad.tolist() == [3, 3]


def test_a_retained_gradient_is_no_upstream_gradient_as_chainers_is():
    x = leaf()
    y = x * x
    y.grad = np.array(10.0)
    y.backward()  # Chainer: begins with y.grad, and clears it
    assert (x.grad, y.grad) == (40, None)
    y.retain_grad()
    for total in (1, 2):
        y.backward()
        assert (x.grad, y.grad) == (40 + 4 * total, total)
    y.grad = np.array(10.0)
    autograd.backward(y)
    assert (x.grad, y.grad) == (52, 11)


def test_retaining_on_a_leaf_does_nothing():
    x = leaf()
    x.retain_grad()
    (x * x).backward()
    assert x.grad == 4 and not x.retains_grad


# --- hooks of nodes ------------------------------------------------------------------------------------------------
def test_the_order_of_all_hooks():
    x, seen = leaf(), []

    def note(what):
        return lambda *_: seen.append(what)

    y = x * 3
    y.grad_fn.register_hook(note('after'))
    y.grad_fn.register_prehook(note('before'))
    y.register_hook(note('gradient'))
    accumulate = y.grad_fn.next_functions[0][0]
    accumulate.register_hook(note('after leaf'))
    x.register_post_accumulate_grad_hook(note('accumulated'))
    accumulate.register_prehook(note('before leaf'))
    x.register_hook(note('gradient of leaf'))
    y.backward()
    assert seen == [
        'gradient', 'before', 'after', 'gradient of leaf', 'before leaf', 'accumulated', 'after leaf',
    ]  # fmt: skip


@pytest.mark.parametrize('create_graph', [False, True])
@pytest.mark.parametrize('several', [False, True])
def test_node_hooks_replace_gradients(create_graph, several):
    x = leaf([2.0, 5.0])
    y = F.sum(F.separate(x, 0)[0]) if several else x[0] * 1
    node = y.grad_fn.next_functions[0][0] if several else y.grad_fn
    node.register_prehook(lambda gys: tuple(None if g is None else g * 2 for g in gys))
    node.register_prehook(lambda gys: tuple(None if g is None else g.array * 5 for g in gys))
    node.register_hook(lambda gxs, gys: [None if g is None else g * 3 for g in gxs])
    node.register_hook(lambda gxs, gys: None)
    assert autograd.grad(y, x, create_graph=create_graph)[0].array.tolist() == [30, 0]


def test_node_hooks_get_tuples_and_are_removed_by_their_handles():
    x, w, seen = leaf(), leaf(3.0), []
    y = x * w
    note = lambda *given: seen.append(given)  # noqa: E731
    with y.grad_fn.register_hook(note), y.grad_fn.register_prehook(note):
        y.backward()
    y.backward()
    assert [[[g.array.item() for g in group] for group in call] for call in seen] == [[[1]], [[3, 2], [1]]]
    assert all(type(group) is tuple for call in seen for group in call)


def test_node_hooks_with_a_wrong_number_of_gradients():
    x = leaf()
    for register, text in (('register_prehook', 'expected None or 1'), ('register_hook', 'expected None or 2')):
        y = x * x
        getattr(y.grad_fn, register)(lambda *_: (None, None, None))
        with pytest.raises(RuntimeError, match=text):
            y.backward()


def test_node_hooks_of_a_target_belong_to_what_is_beyond_it():
    x, seen = leaf(), []
    y = x * 3
    y.grad_fn.register_prehook(lambda g: (seen.append('y'), g[0] * 10)[1:])
    y.grad_fn.next_functions[0][0].register_prehook(lambda g: seen.append('x'))
    z = y * y
    assert autograd.grad(z, y, retain_graph=True)[0].array == 12
    assert seen == []
    assert [g.array for g in autograd.grad(z, [x, y])] == [360, 12]
    assert seen == ['y']  # no gradient was accumulated in x


def test_accumulating_in_an_intermediate_variable_calls_no_hooks_of_its_function():
    x, seen = leaf(), []
    y = x * 3
    y.grad_fn.register_prehook(lambda g: seen.append('before'))
    y.grad_fn.register_hook(lambda *_: seen.append('after'))
    (y * y).backward(inputs=[y])
    assert y.grad == 12 and seen == []
