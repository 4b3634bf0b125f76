"""register_post_accumulate_grad_hook: after the gradient of a leaf has been stored."""

from __future__ import annotations

from typing import Any

from tests.autograd.programs.world import World


def sees_the_stored_gradient(w: World) -> Any:
    x = w.leaf([1.0, 2.0])
    seen = []

    def look(p: Any) -> None:
        seen.append([p is x, w.grad_of(p)])

    x.register_post_accumulate_grad_hook(look)
    w.autograd.backward(w.sum(x * x))
    w.autograd.backward(w.sum(x * x))
    return seen


def may_clear_the_gradient(w: World) -> Any:
    x = w.leaf([1.0, 2.0])
    x.register_post_accumulate_grad_hook(lambda p: w.set_grad(p, None))
    w.autograd.backward(w.sum(x * x))
    return w.grad_of(x)


def after_ordinary_hooks(w: World) -> Any:
    x = w.leaf(2.0)
    seen = []
    x.register_post_accumulate_grad_hook(lambda p: seen.append(['stored', w.grad_of(p)]))
    x.register_hook(lambda g: seen.append(['computed', w.grad_of(x)]))
    w.autograd.backward(x * x)
    return seen


def order(w: World) -> Any:
    x = w.leaf(2.0)
    seen = []
    for name in 'abc':
        x.register_post_accumulate_grad_hook(lambda p, name=name: seen.append(name))
    w.autograd.backward(x * x)
    return seen


def removed(w: World) -> Any:
    x = w.leaf(2.0)
    seen = []
    handle = x.register_post_accumulate_grad_hook(lambda p: seen.append('called'))
    w.autograd.backward(x * x)
    handle.remove()
    w.autograd.backward(x * x)
    return seen


def once_for_several_uses(w: World) -> Any:
    x = w.leaf(2.0)
    seen = []
    x.register_post_accumulate_grad_hook(lambda p: seen.append(w.grad_of(p)))
    w.autograd.backward(x * x + w.exp(x) + x)
    return seen


def not_under_grad(w: World) -> Any:
    x = w.leaf(2.0)
    seen = []
    x.register_post_accumulate_grad_hook(lambda p: seen.append('called'))
    w.autograd.grad(x * x, x)
    return seen


def only_selected_inputs(w: World) -> Any:
    x, y = w.leaf(2.0), w.leaf(3.0)
    seen = []
    x.register_post_accumulate_grad_hook(lambda p: seen.append('x'))
    y.register_post_accumulate_grad_hook(lambda p: seen.append('y'))
    w.autograd.backward(x * y, inputs=[y])
    return seen


def intermediate_or_constant(w: World) -> Any:
    y, c = w.leaf(2.0) * 2.0, w.tensor(1.0)
    return [
        w.kind(lambda: y.register_post_accumulate_grad_hook(lambda p: None)),
        w.kind(lambda: c.register_post_accumulate_grad_hook(lambda p: None)),
    ]


def step_of_an_optimizer(w: World) -> Any:
    x = w.leaf([1.0, 2.0])

    def step(p: Any) -> None:
        w.write(p, [v - 0.1 * g for v, g in zip(w.values(p), w.grad_of(p), strict=True)])
        w.set_grad(p, None)

    x.register_post_accumulate_grad_hook(step)
    for _ in range(3):
        w.autograd.backward(w.sum(x * 2.0))
    return w.values(x), w.grad_of(x)


def exception_passes_through(w: World) -> Any:
    x = w.leaf(2.0)

    def fail(p: Any) -> None:
        raise OSError('in a hook')

    x.register_post_accumulate_grad_hook(fail)
    return w.kind(lambda: w.autograd.backward(x * x))
