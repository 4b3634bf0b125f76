"""The contract of hooks on gradients: when they are called, what they may return, and what an error changes."""

from __future__ import annotations

import gc
import threading
import weakref

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F
from minichainer import autograd


def leaf(value=2.0):
    return autograd.Variable(np.array(value), requires_grad=True)


# --- called once, whatever is hooked and however the pass is run ---------------------------------------------------
def on_leaf(x):
    return x, x * x * x


def on_intermediate(x):
    h = x * x
    return h, h * x


def on_used_often(x):
    h = x * 1
    return h, h * h * h


def on_one_of_several_outputs(x):
    parts = F.separate(F.stack([x, x]), 0)
    return parts[1], parts[0] * parts[1] * x


def on_the_root(x):
    y = x * x * x
    return y, y


def on_leaf_of_checkpoint(x):
    return x, autograd.checkpoint(lambda v: v * v * v, x)


def on_closed_over(x):
    return x, F.forget(lambda v: v * x * x, x * 1)


def on_result_of_forget(x):
    h = F.forget(lambda v: v * v, x)
    return h, h * x


def on_input_of_forget(x):
    h = x * 1
    return h, F.forget(lambda v: v * v * v, h)


PLACES = [
    on_leaf, on_intermediate, on_used_often, on_one_of_several_outputs, on_the_root, on_leaf_of_checkpoint,
    on_closed_over, on_result_of_forget, on_input_of_forget,
]  # fmt: skip


def grad_of_all(y, x, h):
    with pytest.warns(FutureWarning):
        autograd.grad(y, h, only_inputs=False)


PASSES = {
    'Variable.backward': lambda y, x, h: y.backward(),
    'double backprop': lambda y, x, h: y.backward(enable_double_backprop=True),
    'retain_grad': lambda y, x, h: y.backward(retain_grad=True),
    'freeing': lambda y, x, h: y.backward(retain_graph=False),
    'inputs=': lambda y, x, h: y.backward(inputs=[x]),
    'chainer.grad': lambda y, x, h: chainer.grad([y], [x]),
    'chainer.grad, double': lambda y, x, h: chainer.grad([y], [x], enable_double_backprop=True),
    'chainer.backward': lambda y, x, h: chainer.backward([y], [chainer.Variable(np.array(1.0))]),
    'backward': lambda y, x, h: autograd.backward(y),
    'backward, inputs=': lambda y, x, h: autograd.backward(y, inputs=[x, h]),
    'create_graph': lambda y, x, h: autograd.backward(y, create_graph=True),
    'grad': lambda y, x, h: autograd.grad(y, x),
    'grad of both': lambda y, x, h: autograd.grad(y, [x, h]),
    'grad of the intermediate': lambda y, x, h: autograd.grad(y, h),
    'grad, create_graph': lambda y, x, h: autograd.grad(y, [x, h], create_graph=True),
    'all leaves': grad_of_all,
}


@pytest.mark.parametrize('place', PLACES)
@pytest.mark.parametrize('run', PASSES)
def test_a_hook_is_called_once_with_the_whole_gradient(place, run):
    x, seen = leaf(), []
    h, y = place(x)
    (expected,) = chainer.grad([y], [h])
    with h.register_hook(lambda g: seen.append((g.array.item(), type(g)))):
        PASSES[run](y, x, h)
    assert seen == [(expected.array.item(), chainer.Variable)]
    PASSES['chainer.grad'](place(x)[1], x, h)
    assert len(seen) == 1


@pytest.mark.parametrize('place', PLACES)
def test_a_hook_is_called_at_the_second_order(place):
    x, seen = leaf(), []
    h, y = place(x)
    h.register_hook(lambda g: seen.append(g.array.item()))
    (gx,) = autograd.grad(y, x, create_graph=True)
    del seen[:]
    found = autograd.grad(gx, [h, x], allow_unused=True)
    assert seen == ([] if found[0] is None else [found[0].array.item()])
    assert abs(found[1].array - 12) < 1e-12


# --- what hooks return ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize('made', [lambda g: g * 2, lambda g: g.array * 2], ids=['variable', 'array'])
@pytest.mark.parametrize('create_graph', [False, True])
@pytest.mark.parametrize('place', [on_leaf, on_intermediate, on_one_of_several_outputs])
def test_the_returned_gradient_takes_the_place_of_the_former(made, create_graph, place):
    x = leaf()
    h, y = place(x)
    (before,) = chainer.grad([y], [h])
    h.register_hook(lambda g: None)
    h.register_hook(made)
    h.register_hook(made)
    (after,) = autograd.grad(y, h, create_graph=create_graph, retain_graph=True)
    assert after.array == 4 * before.array
    y.backward(retain_grad=True)
    assert h.grad == 4 * before.array


def test_a_hook_is_differentiated_under_create_graph():
    x = leaf()
    x.register_hook(lambda g: g * g)
    (gx,) = autograd.grad(x * x, x, create_graph=True)  # (2 x)²
    assert gx.array == 16
    x = leaf()
    h = x * 1
    with h.register_hook(lambda g: g * g):
        (gx,) = autograd.grad(h * h, x, create_graph=True)
    assert autograd.grad(gx, x)[0].array == 8 * 2


def test_order_and_removal():
    x, seen = leaf(), []
    y = x * x
    handles = [x.register_hook(lambda g, i=i: seen.append(i)) for i in range(4)]
    handles[1].remove()
    handles[1].remove()
    y.backward()
    with handles[0]:
        y.backward()
    y.backward()
    assert seen == [0, 2, 3, 0, 2, 3, 2, 3]


@pytest.mark.parametrize('place', PLACES)
def test_hooks_may_remove_themselves_or_add_others(place):
    x, seen = leaf(), []
    h, y = place(x)

    def hook(g):
        seen.append('hook')
        handle.remove()
        h.register_hook(lambda g: seen.append('added'))

    handle = h.register_hook(hook)
    y.backward()
    assert seen == ['hook']
    y.backward()
    assert seen == ['hook', 'added']


@pytest.mark.parametrize(
    ('returned', 'kind'),
    [(3.0, TypeError), ('g', TypeError), (np.ones(2), RuntimeError), (np.array(1, 'f4'), RuntimeError)],
)
def test_hooks_that_return_something_else_are_named(returned, kind):
    x = leaf()

    def wrong(grad):
        return returned

    x.register_hook(wrong)
    with pytest.raises(kind, match='wrong'):
        (x * x).backward()
    assert x.grad is None


def test_registering_errors():
    constant, y = autograd.Variable(np.array(1.0)), leaf() * 2
    for register in (constant.register_hook, constant.register_post_accumulate_grad_hook):
        with pytest.raises(RuntimeError, match='require a gradient'):
            register(print)
    with pytest.raises(RuntimeError, match='retain_grad'):
        constant.retain_grad()
    with pytest.raises(RuntimeError, match='leaf'):
        y.register_post_accumulate_grad_hook(print)
    with pytest.raises(TypeError, match='callable'):
        y.register_hook(3)


def test_the_gradient_that_a_hook_keeps_is_not_changed_by_later_passes():
    x, kept = leaf([1.0, 2.0]), []
    x.register_hook(kept.append)
    y = F.sum(x * x)
    for _ in range(2):
        y.backward()
        x.grad += 1
    assert [g.array.tolist() for g in kept] == [[2, 4], [2, 4]]


# --- hooks that raise ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize('place', PLACES)
@pytest.mark.parametrize('run', [n for n in PASSES if n not in ('all leaves', 'grad of the intermediate')])
def test_a_hook_that_raises_changes_no_grad(place, run):
    x, w = leaf(), leaf(3.0)
    h, y = place(x)
    k = y * w
    y.retain_grad()
    x.grad, w.grad = np.array(7.0), np.array(8.0)

    def fail(g):
        raise KeyError('from the hook')

    h.register_hook(fail)
    with pytest.raises(KeyError, match='from the hook'):
        PASSES[run](k, x, h)
    assert (x.grad, w.grad, y.grad, k.grad) == (7, 8, None, None)


def test_an_upstream_gradient_that_was_set_stays_if_a_hook_raises():
    x = leaf()
    y = x * x
    y.grad = np.array(5.0)
    handle = x.register_hook(lambda g: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        y.backward()
    assert y.grad == 5 and x.grad is None
    handle.remove()
    y.backward()
    assert y.grad is None and x.grad == 20


# --- threads and memory --------------------------------------------------------------------------------------------
def test_hooks_in_several_threads_see_the_gradients_of_their_pass():
    x, seen = leaf(), []
    x.register_hook(lambda g: seen.append((threading.get_ident(), g.array.item())))
    start = threading.Barrier(4)

    def run(i):
        start.wait()
        for _ in range(50):
            autograd.grad(x * x * np.array(float(i)), x)
        expected[threading.get_ident()] = 4.0 * i

    expected = {}
    threads = [threading.Thread(target=run, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 200 and all(expected[thread] == g for thread, g in seen)


def test_hooks_registered_in_several_threads_are_all_kept():
    for _ in range(20):
        x, count, start = leaf(), [], threading.Barrier(4)
        threads = [
            threading.Thread(target=lambda x=x, count=count, start=start: (
                start.wait(), x.register_hook(lambda g: count.append(1)))) for _ in range(4)
        ]  # fmt: skip
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        x.backward()
        assert len(count) == 4


@pytest.fixture
def without_collector():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def test_hooks_make_no_cycle(without_collector):
    x = leaf()
    y = x * x
    gone = weakref.ref(y), weakref.ref(y.creator_node), weakref.ref(x), weakref.ref(x.edge)
    y.retain_grad()
    handles = [y.register_hook(lambda g: g * 2), x.register_post_accumulate_grad_hook(lambda v: None)]
    y.grad_fn.register_prehook(lambda g: None)
    y.grad_fn.metadata['key'] = 'value'
    y.backward()
    del y, x
    assert [r() for r in gone] == [None] * 4
    handles[0].remove()


def test_a_hook_that_refers_to_its_variable_is_a_cycle_that_ends_with_the_hook(without_collector):
    x = leaf()
    y = x * x
    gone = weakref.ref(y)
    handle = y.register_hook(lambda g, y=y: None)
    del y
    assert gone() is not None
    handle.remove()
    assert gone() is None


def test_cycles_through_hooks_and_metadata_are_collected():
    y = leaf() * 2
    gone = weakref.ref(y)
    y.register_hook(lambda g, y=y: None)
    y.grad_fn.metadata['y'] = y
    del y
    gc.collect()
    assert gone() is None
