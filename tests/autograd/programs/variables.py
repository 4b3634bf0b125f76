"""Variable: flags, leaves, detaching, retained gradients."""

from __future__ import annotations

from typing import Any

from tests.autograd.programs.world import World


def constructor(w: World) -> Any:
    plain = w.autograd.Variable(w.raw([1.0, 2.0]))
    given = w.autograd.Variable(w.raw([1.0, 2.0]), requires_grad=True)
    positional = w.autograd.Variable(w.raw([1.0, 2.0]), True)
    return [[v.requires_grad, v.is_leaf, v.grad_fn is None, w.values(v)] for v in (plain, given, positional)]


def constructor_of_integers(w: World) -> Any:
    plain = w.autograd.Variable(w.raw([1, 2], 'i8'))
    return plain.requires_grad, w.kind(lambda: w.autograd.Variable(w.raw([1, 2], 'i8'), requires_grad=True))


def constructor_shares_memory(w: World) -> Any:
    raw = w.raw([1.0, 2.0])
    v = w.autograd.Variable(raw)
    raw[0] = 5.0
    return w.values(v)


def data_is_shared_and_constant(w: World) -> Any:
    x = w.leaf([1.0, 2.0])
    x.data[0] = 7.0
    return w.values(x)


def flags_of_results(w: World) -> Any:
    x, c = w.leaf(1.0), w.tensor(2.0)
    tensors = [x, c, x * c, c * c, (x * c).detach()]
    return [[t.requires_grad, t.is_leaf, t.grad_fn is None] for t in tensors]


def flag_of_one_among_many(w: World) -> Any:
    x, c = w.leaf([1.0]), w.tensor([2.0])
    return [
        w.cat([c, c]).requires_grad,
        w.cat([c, x]).requires_grad,
        [p.requires_grad for p in w.split(w.cat([c, x]), 2)],
    ]


def requires_grad_on_a_leaf(w: World) -> Any:
    x = w.tensor([1.0, 2.0])
    same = x.requires_grad_() is x
    w.autograd.backward(w.sum(x * x))
    return same, x.requires_grad, w.grad_of(x)


def requires_grad_off(w: World) -> Any:
    x = w.leaf([1.0, 2.0])
    x.requires_grad_(False)
    return x.requires_grad, (x * 2.0).requires_grad


def requires_grad_off_after_use(w: World) -> Any:
    x = w.leaf([1.0, 2.0])
    y = w.sum(x * x)
    x.requires_grad_(False)
    return y.requires_grad, w.sum(x).requires_grad


def requires_grad_of_an_intermediate(w: World) -> Any:
    y = w.leaf(1.0) * 2.0
    return w.kind(lambda: y.requires_grad_(False)), w.kind(lambda: y.requires_grad_()), y.requires_grad


def requires_grad_of_integers(w: World) -> Any:
    x = w.tensor([1, 2], dtype='i8')
    return w.kind(lambda: x.requires_grad_()), w.kind(lambda: x.requires_grad_(False)), x.requires_grad


def requires_grad_attribute(w: World) -> Any:
    x = w.tensor([1.0])
    x.requires_grad = True
    y = x * 2.0

    def switch_off() -> None:
        y.requires_grad = False

    return x.requires_grad, y.requires_grad, w.kind(switch_off)


def detach(w: World) -> Any:
    x = w.leaf([1.0, 2.0])
    y = x * x
    d = y.detach()
    return d is y, d.requires_grad, d.is_leaf, d.grad_fn is None, w.values(d), y.requires_grad


def detach_of_a_leaf(w: World) -> Any:
    x = w.leaf([1.0, 2.0])
    w.set_grad(x, [3.0, 4.0])
    d = x.detach()
    return d.requires_grad, w.grad_of(d), x.requires_grad


def detach_shares_memory(w: World) -> Any:
    x = w.leaf([1.0, 2.0])
    d = x.detach()
    w.write(d, [5.0, 6.0])
    return w.values(x)


def detach_cuts_the_gradient(w: World) -> Any:
    x = w.leaf(2.0)
    y = x * x
    w.autograd.backward(y * y.detach())
    return w.grad_of(x)


def detach_then_require(w: World) -> Any:
    x = w.leaf(2.0)
    y = (x * x).detach().requires_grad_()
    w.autograd.backward(y * y)
    return w.grad_of(x), w.grad_of(y)


def detach_in_place(w: World) -> Any:
    x = w.leaf(2.0)
    y = x * x
    same = y.detach_() is y
    return same, y.requires_grad, y.is_leaf, y.grad_fn is None, w.kind(lambda: w.autograd.backward(y))


def detach_in_place_before_use(w: World) -> Any:
    x = w.leaf(2.0)
    y = x * x
    y.detach_()
    w.autograd.backward(x * y)
    return w.grad_of(x)


def detach_in_place_after_use(w: World) -> Any:
    x = w.leaf(2.0)
    y = x * x
    z = y * 3.0
    y.detach_()
    w.autograd.backward(z)
    return w.grad_of(x)


def detach_in_place_of_a_leaf(w: World) -> Any:
    x = w.leaf(2.0)
    x.detach_()
    return x.requires_grad


def retain_grad(w: World) -> Any:
    x = w.leaf([1.0, 2.0])
    y = x * x
    before = y.retains_grad
    result = y.retain_grad()
    w.autograd.backward(w.sum(y * y))
    return result, before, y.retains_grad, w.grad_of(y), w.grad_of(x)


def retain_grad_twice(w: World) -> Any:
    x = w.leaf(2.0)
    y = x * x
    y.retain_grad()
    y.retain_grad()
    w.autograd.backward(y * 3.0)
    return w.grad_of(y)


def retained_gradients_accumulate(w: World) -> Any:
    x = w.leaf(2.0)
    y = x * x
    y.retain_grad()
    z = y * 3.0
    w.autograd.backward(z, retain_graph=True)
    w.autograd.backward(z)
    return w.grad_of(y), w.grad_of(x)


def retain_grad_of_a_leaf(w: World) -> Any:
    x = w.leaf(2.0)
    x.retain_grad()
    w.autograd.backward(x * x)
    return x.retains_grad, w.grad_of(x)


def retain_grad_of_a_constant(w: World) -> Any:
    c = w.tensor(2.0)
    return w.kind(lambda: c.retain_grad()), c.retains_grad


def retain_grad_of_the_root(w: World) -> Any:
    x = w.leaf(2.0)
    y = x * x
    y.retain_grad()
    w.autograd.backward(y, w.tensor(4.0))
    return w.grad_of(y), w.grad_of(x)


def retain_grad_under_grad(w: World) -> Any:
    x = w.leaf(2.0)
    y = x * x
    y.retain_grad()
    g = w.autograd.grad(y * 3.0, x)
    return w.values(g), w.grad_of(y), w.grad_of(x)


def retained_gradient_is_summed_over_uses(w: World) -> Any:
    x = w.leaf(2.0)
    y = x * x
    y.retain_grad()
    w.autograd.backward(y * y + y * 3.0)
    return w.grad_of(y)


def retained_gradient_with_a_graph(w: World) -> Any:
    x = w.leaf(2.0)
    y = x * x
    y.retain_grad()
    w.autograd.backward(y * y, create_graph=True)
    g = w.grad_var(y)
    return w.values(w.autograd.grad(g, x))


def gradient_of_a_leaf_with_a_graph(w: World) -> Any:
    x = w.leaf(2.0)
    w.autograd.backward(x * x * x, create_graph=True)
    g = w.grad_var(x)
    connected = g.requires_grad
    w.set_grad(x, None)
    w.autograd.backward(g)
    return connected, w.grad_of(x)


def gradient_without_a_graph(w: World) -> Any:
    x = w.leaf(2.0)
    w.autograd.backward(x * x * x)
    return w.grad_var(x).requires_grad


def conversion_of_a_leaf_is_no_leaf(w: World) -> Any:
    x = w.leaf([1.0, 2.0])
    y = w.cast(x, 'float32')
    c = w.cast(w.tensor([1.0]), 'float32')
    return y.is_leaf, y.requires_grad, c.is_leaf, c.requires_grad


def gradient_set_with_wrong_shape(w: World) -> Any:
    x = w.leaf([1.0, 2.0])
    return w.kind(lambda: w.set_grad(x, [1.0, 2.0, 3.0])) != 'nothing', w.grad_of(x)
