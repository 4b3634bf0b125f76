"""Tensors that were written to between forward and backward."""

from __future__ import annotations

from typing import Any

from tests.autograd.programs.world import World


def saved_result(w: World) -> Any:
    x = w.leaf([1.0, 2.0])
    y = w.exp(x)
    z = w.sum(y)
    w.write(y, [5.0, 6.0])
    return w.kind(lambda: w.autograd.backward(z)), w.grad_of(x)


def saved_argument(w: World) -> Any:
    x, y = w.leaf([1.0, 2.0]), w.leaf([3.0, 4.0])
    z = w.sum(x * y)
    w.write(x, [5.0, 6.0])
    return w.kind(lambda: w.autograd.backward(z)), w.grad_of(y)


def saved_constant(w: World) -> Any:
    x, c = w.leaf([1.0, 2.0]), w.tensor([3.0, 4.0])
    z = w.sum(x * c)
    w.write(c, [5.0, 6.0])
    return w.kind(lambda: w.autograd.backward(z))


def under_grad(w: World) -> Any:
    x = w.leaf([1.0, 2.0])
    y = w.tanh(x)
    w.write(y, [0.0, 0.0])
    return w.kind(lambda: w.autograd.grad(w.sum(y), x))


def through_a_detached_tensor(w: World) -> Any:
    x = w.leaf([1.0, 2.0])
    y = w.exp(x)
    w.write(y.detach(), [5.0, 6.0])
    return w.kind(lambda: w.autograd.backward(w.sum(y)))


def not_saved(w: World) -> Any:
    x = w.leaf([1.0, 2.0])
    y = x + x
    w.write(y, [5.0, 6.0])
    w.autograd.backward(w.sum(y))
    return w.values(y), w.grad_of(x)


def input_of_an_op_that_saves_its_result(w: World) -> Any:
    x = w.leaf([1.0, 2.0])
    y = x + x
    z = w.exp(y)
    w.write(y, [0.0, 0.0])
    w.autograd.backward(w.sum(z))
    return w.grad_of(x)


def before_it_is_saved(w: World) -> Any:
    x = w.leaf([1.0, 2.0])
    w.write(x, [3.0, 4.0])
    w.autograd.backward(w.sum(x * x))
    return w.grad_of(x)


def after_backward(w: World) -> Any:
    x = w.leaf([1.0, 2.0])
    w.autograd.backward(w.sum(x * x))
    w.write(x, [3.0, 4.0])
    w.autograd.backward(w.sum(x * x))
    return w.grad_of(x)


def between_two_passes(w: World) -> Any:
    x = w.leaf([1.0, 2.0])
    z = w.sum(x * x)
    w.autograd.backward(z, retain_graph=True)
    w.write(x, [3.0, 4.0])
    return w.kind(lambda: w.autograd.backward(z)), w.grad_of(x)


def saved_by_a_function(w: World) -> Any:
    class Square(w.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return g * x * 2.0

    x = w.leaf([1.0, 2.0])
    y = Square.apply(x)
    w.write(x, [3.0, 4.0])
    return w.kind(lambda: w.autograd.backward(w.sum(y)))


def off_the_path(w: World) -> Any:
    x, y = w.leaf([1.0, 2.0]), w.leaf([3.0, 4.0])
    a, b = w.exp(x), w.exp(y)
    z = w.sum(a) + w.sum(b)
    w.write(b, [0.0, 0.0])
    return w.values(w.autograd.grad(z, x))


def under_create_graph(w: World) -> Any:
    x = w.leaf([1.0, 2.0])
    y = w.exp(x)
    w.write(y, [0.0, 0.0])
    return w.kind(lambda: w.autograd.grad(w.sum(y), x, create_graph=True))


def saved_copy(w: World) -> Any:
    x = w.leaf([1.0, 2.0])
    y = x * 1.0
    z = w.sum(w.square(y))
    w.write(x, [3.0, 4.0])
    w.autograd.backward(z)
    return w.grad_of(x)


def steps_of_gradient_descent(w: World) -> Any:
    x = w.leaf([1.0, 2.0])
    for _ in range(3):
        (g,) = w.autograd.grad(w.sum(x * x), x)
        w.write(x, x.detach() - g * 0.1)
    return w.values(x), x.requires_grad, x.is_leaf


def saved_by_a_view_of_a_constant(w: World) -> Any:
    x, c = w.leaf([1.0, 2.0]), w.tensor([[3.0, 4.0], [5.0, 6.0]])
    z = w.sum(x * c[0])
    w.write(c, [[0.0, 0.0], [0.0, 0.0]])
    return w.kind(lambda: w.autograd.backward(z))
