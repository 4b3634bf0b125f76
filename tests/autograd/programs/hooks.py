"""register_hook: when hooks run, what they see, what they change."""

from __future__ import annotations

from typing import Any

from tests.autograd.programs.world import World


def leaf(w: World) -> Any:
    x = w.leaf([1.0, 2.0])
    seen = []
    x.register_hook(lambda g: seen.append(w.values(g)))
    w.autograd.backward(w.sum(x * x))
    return seen, w.grad_of(x)


def doubled(w: World) -> Any:
    x = w.leaf([0.0, 0.0, 0.0])
    handle = x.register_hook(lambda g: g * 2.0)
    w.autograd.backward(x, w.tensor([1.0, 2.0, 3.0]))
    first = w.grad_of(x)
    handle.remove()
    w.autograd.backward(x, w.tensor([1.0, 2.0, 3.0]))
    return first, w.grad_of(x)


def intermediate(w: World) -> Any:
    x = w.leaf([1.0, 2.0])
    y = x * x
    seen = []
    y.register_hook(lambda g: seen.append(w.values(g)))
    w.autograd.backward(w.sum(y * 3.0))
    return seen, w.grad_of(x)


def intermediate_replaced(w: World) -> Any:
    x = w.leaf([1.0, 2.0])
    y = x * x
    y.register_hook(lambda g: g * 10.0)
    w.autograd.backward(w.sum(y))
    return w.grad_of(x)


def order(w: World) -> Any:
    x = w.leaf(1.0)
    seen = []
    for name in 'abc':
        x.register_hook(lambda g, name=name: seen.append(name))
    w.autograd.backward(x * 2.0)
    return seen


def chain_of_replacements(w: World) -> Any:
    x = w.leaf(1.0)
    seen = []

    def look(g: Any) -> None:
        seen.append(w.values(g))

    x.register_hook(look)
    x.register_hook(lambda g: g + 1.0)
    x.register_hook(look)
    x.register_hook(lambda g: g * 10.0)
    x.register_hook(look)
    w.autograd.backward(x * 2.0)
    return seen, w.grad_of(x)


def order_over_a_graph(w: World) -> Any:
    x = w.leaf(1.0)
    seen = []
    a = w.exp(x)
    b = w.sin(a)
    c = b * b
    for name, t in (('x', x), ('a', a), ('b', b), ('c', c)):
        t.register_hook(lambda g, name=name: seen.append(name))
    w.autograd.backward(c)
    return seen


def root(w: World) -> Any:
    x = w.leaf([1.0, 2.0])
    y = x * x
    seen = []
    y.register_hook(lambda g: seen.append(w.values(g)))
    w.autograd.backward(y, w.tensor([5.0, 6.0]))
    return seen


def once_for_several_uses(w: World) -> Any:
    x = w.leaf(2.0)
    y = x * x
    seen = []
    y.register_hook(lambda g: seen.append(w.values(g)))
    x.register_hook(lambda g: seen.append(w.values(g)))
    w.autograd.backward(y * 3.0 + w.exp(y) + y * x)
    return seen


def once_for_each_pass(w: World) -> Any:
    x = w.leaf(2.0)
    seen = []
    x.register_hook(lambda g: seen.append(w.values(g)))
    y = x * x
    w.autograd.backward(y, retain_graph=True)
    w.autograd.backward(y)
    return seen, w.grad_of(x)


def not_off_the_path(w: World) -> Any:
    x, y = w.leaf(2.0), w.leaf(3.0)
    seen = []
    x.register_hook(lambda g: seen.append('x'))
    y.register_hook(lambda g: seen.append('y'))
    w.autograd.backward(x * x)
    return seen


def under_grad(w: World) -> Any:
    x = w.leaf([1.0, 2.0])
    seen = []
    x.register_hook(lambda g: seen.append(w.values(g)))
    result = w.autograd.grad(w.sum(x * x), x)
    return seen, w.values(result)


def under_grad_replaced(w: World) -> Any:
    x = w.leaf([1.0, 2.0])
    y = x * x
    x.register_hook(lambda g: g * 2.0)
    y.register_hook(lambda g: g + 1.0)
    z = w.sum(y * 3.0)
    # One input at a time: asked for both, torch returns the gradient of y from before its hook.
    return [w.values(w.autograd.grad(z, [each], retain_graph=True)) for each in (x, y)]


def under_grad_of_others(w: World) -> Any:
    x, y = w.leaf(2.0), w.leaf(3.0)
    seen = []
    x.register_hook(lambda g: seen.append('x'))
    y.register_hook(lambda g: seen.append('y'))
    w.autograd.grad(x * y, [y])
    return seen


def under_backward_with_inputs(w: World) -> Any:
    x, y = w.leaf(2.0), w.leaf(3.0)
    seen = []
    x.register_hook(lambda g: seen.append('x'))
    y.register_hook(lambda g: seen.append('y'))
    w.autograd.backward(x * y, inputs=[x])
    return seen


def gradient_needs_none_itself(w: World) -> Any:
    x = w.leaf(2.0)
    seen = []
    x.register_hook(lambda g: seen.append(g.requires_grad))
    y = x * x * x
    w.autograd.backward(y, retain_graph=True)
    w.autograd.backward(y, create_graph=True)
    return seen


def second_order(w: World) -> Any:
    x = w.leaf(2.0)
    seen = []
    x.register_hook(lambda g: seen.append(w.values(g)))
    (g,) = w.autograd.grad(x * x * x, x, create_graph=True)
    (gg,) = w.autograd.grad(g, x)
    return seen, w.values(gg)


def second_order_of_a_replacement(w: World) -> Any:
    x = w.leaf(2.0)
    y = x * x
    y.register_hook(lambda g: g * y)
    (g,) = w.autograd.grad(y * 3.0, x, create_graph=True)
    return w.values(g), w.values(w.autograd.grad(g, x))


def hook_on_a_gradient(w: World) -> Any:
    x = w.leaf(2.0)
    (g,) = w.autograd.grad(x * x * x, x, create_graph=True)
    seen = []
    g.register_hook(lambda gg: seen.append(w.values(gg)))
    w.autograd.backward(g * 5.0)
    return seen, w.grad_of(x)


def constant(w: World) -> Any:
    c = w.tensor(2.0)
    return w.kind(lambda: c.register_hook(lambda g: None)), w.kind(lambda: (c * c).register_hook(lambda g: None))


def removed_twice(w: World) -> Any:
    x = w.leaf(2.0)
    handle = x.register_hook(lambda g: g * 100.0)
    handle.remove()
    handle.remove()
    w.autograd.backward(x * x)
    return w.grad_of(x)


def removes_itself(w: World) -> Any:
    x = w.leaf(2.0)
    seen = []

    def once(g: Any) -> None:
        seen.append(w.values(g))
        handle.remove()

    handle = x.register_hook(once)
    for _ in range(3):
        w.autograd.backward(x * x)
    return seen


def removed_by_a_later_node(w: World) -> Any:
    x = w.leaf(2.0)
    y = x * x
    seen = []
    handle = x.register_hook(lambda g: seen.append('x'))
    y.register_hook(lambda g: handle.remove())
    w.autograd.backward(y)
    return seen


def registered_during_backward(w: World) -> Any:
    x = w.leaf(2.0)
    y = x * x
    seen = []

    def register(g: Any) -> None:
        x.register_hook(lambda gx: seen.append(w.values(gx)))

    y.register_hook(register)
    w.autograd.backward(y)
    w.autograd.backward(x * 3.0)
    return seen[-1:]


def handle_in_with(w: World) -> Any:
    x = w.leaf(2.0)
    with x.register_hook(lambda g: g * 100.0):
        w.autograd.backward(x * x)
    inside = w.grad_of(x)
    w.autograd.backward(x * x)
    return inside, w.grad_of(x)


def middle_one_removed(w: World) -> Any:
    x = w.leaf(2.0)
    seen = []
    handles = [x.register_hook(lambda g, n=n: seen.append(n)) for n in range(3)]
    handles[1].remove()
    w.autograd.backward(x * x)
    return seen


def registered_after_use(w: World) -> Any:
    x = w.leaf(2.0)
    y = x * x
    z = y * 3.0
    y.register_hook(lambda g: g * 10.0)
    x.register_hook(lambda g: g + 1.0)
    w.autograd.backward(z)
    return w.grad_of(x)


def exception_passes_through(w: World) -> Any:
    x = w.leaf(2.0)

    def fail(g: Any) -> None:
        raise ZeroDivisionError('in a hook')

    x.register_hook(fail)
    return w.kind(lambda: w.autograd.backward(x * x)), w.grad_of(x)


def result_that_is_not_a_tensor(w: World) -> Any:
    x = w.leaf(2.0)
    x.register_hook(lambda g: 'gradient')
    return w.kind(lambda: w.autograd.backward(x * x))


def result_of_wrong_shape(w: World) -> Any:
    x = w.leaf([1.0, 2.0])
    x.register_hook(lambda g: w.tensor([[1.0], [2.0], [3.0]]))
    return w.kind(lambda: w.autograd.backward(w.sum(x * x)))


def with_retained_gradient(w: World) -> Any:
    x = w.leaf(2.0)
    y = x * x
    y.register_hook(lambda g: g * 10.0)
    y.retain_grad()
    y.register_hook(lambda g: g + 1.0)
    w.autograd.backward(y * 3.0)
    return w.grad_of(y), w.grad_of(x)


def one_of_several_outputs(w: World) -> Any:
    x = w.leaf([1.0, 2.0, 3.0, 4.0])
    a, b = w.split(x, 2)
    a.register_hook(lambda g: g * 10.0)
    w.autograd.backward(w.sum(a * a) + w.sum(b))
    return w.grad_of(x)


def hook_runs_another_pass(w: World) -> Any:
    x, y = w.leaf(2.0), w.leaf(3.0)

    def inner(g: Any) -> None:
        with w.autograd.enable_grad():
            w.autograd.backward(y * y)

    z = x * x
    z.register_hook(inner)
    w.autograd.backward(z)
    return w.grad_of(x), w.grad_of(y)


def detached_has_no_hooks(w: World) -> Any:
    x = w.leaf(2.0)
    seen = []
    x.register_hook(lambda g: seen.append('x'))
    d = x.detach().requires_grad_()
    w.autograd.backward(d * d)
    return seen


def clipping(w: World) -> Any:
    x = w.leaf([1.0, -20.0, 3.0])
    x.register_hook(lambda g: w.clip(g, -5.0, 5.0))
    w.autograd.backward(w.sum(x * x))
    return w.grad_of(x)
