"""retain_graph, create_graph, and graphs that have been freed."""

from __future__ import annotations

from typing import Any

from tests.autograd.programs.world import World


def second_backward(w: World) -> Any:
    x = w.leaf(2.0)
    y = w.exp(x) * x
    w.autograd.backward(y)
    first = w.grad_of(x)
    return w.kind(lambda: w.autograd.backward(y)), first, w.grad_of(x)


def second_grad(w: World) -> Any:
    x = w.leaf(2.0)
    y = x * x
    w.autograd.grad(y, x)
    return w.kind(lambda: w.autograd.grad(y, x)), w.kind(lambda: w.autograd.backward(y)), w.grad_of(x)


def retained(w: World) -> Any:
    x = w.leaf(2.0)
    y = x * x
    w.autograd.backward(y, retain_graph=True)
    w.autograd.backward(y, retain_graph=True)
    w.autograd.backward(y)
    return w.kind(lambda: w.autograd.backward(y)), w.grad_of(x)


def retained_by_grad(w: World) -> Any:
    x = w.leaf(2.0)
    y = x * x
    seen = [w.values(w.autograd.grad(y, x, retain_graph=True)) for _ in range(3)]
    return seen, w.values(w.autograd.grad(y, x)), w.kind(lambda: w.autograd.grad(y, x))


def create_graph_retains(w: World) -> Any:
    x = w.leaf(2.0)
    y = x * x * x
    first = w.autograd.grad(y, x, create_graph=True)
    return w.values(first), w.values(w.autograd.grad(y, x))


def create_graph_without_retaining(w: World) -> Any:
    x = w.leaf(2.0)
    y = x * x * x
    (g,) = w.autograd.grad(y, x, create_graph=True, retain_graph=False)
    return w.values(g), g.requires_grad, w.kind(lambda: w.autograd.grad(y, x))


def nothing_saved_nothing_lost(w: World) -> Any:
    x = w.leaf([1.0, 2.0])
    y = w.sum(x + x)
    w.autograd.backward(y)
    return w.kind(lambda: w.autograd.backward(y)), w.grad_of(x)


def shared_part_is_freed(w: World) -> Any:
    x = w.leaf(2.0)
    shared = w.exp(x)
    y, z = shared * 2.0, shared * 3.0
    w.autograd.backward(y)
    return w.kind(lambda: w.autograd.backward(z)), w.grad_of(x)


def shared_part_is_retained(w: World) -> Any:
    x = w.leaf(0.0)
    shared = w.exp(x)
    y, z = shared * 2.0, shared * 3.0
    w.autograd.backward(y, retain_graph=True)
    w.autograd.backward(z)
    return w.grad_of(x)


def parts_not_visited_are_kept(w: World) -> Any:
    x, y = w.leaf(1.0), w.leaf(2.0)
    a, b = w.exp(x), w.exp(y)
    z = a * b
    w.autograd.grad(z, [a], retain_graph=False)
    return w.values(w.autograd.grad(a, x)), w.values(w.autograd.grad(b, y))


def values_stay_after_freeing(w: World) -> Any:
    x = w.leaf([1.0, 2.0])
    y = w.square(x)
    z = w.sum(y)
    w.autograd.backward(z)
    return w.values(y), w.values(z), y.requires_grad, y.is_leaf, y.grad_fn is None


def edges_stay_after_freeing(w: World) -> Any:
    x = w.leaf(2.0)
    y = w.exp(x)
    w.autograd.backward(y)
    return 'AccumulateGrad' in y.grad_fn.next_functions[0][0].name()


def gradient_of_freed_gradient(w: World) -> Any:
    x = w.leaf(2.0)
    y = x * x * x
    (g,) = w.autograd.grad(y, x, create_graph=True)
    w.autograd.backward(g)
    return w.kind(lambda: w.autograd.backward(g)), w.grad_of(x)


def new_graph_from_a_freed_value(w: World) -> Any:
    x = w.leaf(2.0)
    y = x * x
    w.autograd.backward(y)
    z = y * 2.0
    return w.kind(lambda: w.autograd.backward(z)), w.grad_of(x)


def freed_value_detached_is_usable(w: World) -> Any:
    x = w.leaf(2.0)
    y = x * x
    w.autograd.backward(y)
    z = y.detach().requires_grad_()
    w.autograd.backward(z * z)
    return w.grad_of(z), w.grad_of(x)


def method_frees_on_request(w: World) -> Any:
    x = w.leaf(2.0)
    y = x * x
    y.backward(retain_graph=True)
    y.backward(retain_graph=False)
    return w.kind(lambda: y.backward(retain_graph=False)), w.grad_of(x)


def failed_pass_can_be_repeated(w: World) -> Any:
    x = w.leaf([1.0, 2.0])
    y = x * x
    kind = w.kind(lambda: w.autograd.backward(y))
    w.autograd.backward(y, w.tensor([1.0, 1.0]))
    return kind, w.grad_of(x)


def backward_with_inputs_frees(w: World) -> Any:
    x, y = w.leaf(2.0), w.leaf(3.0)
    z = w.exp(x) * y
    w.autograd.backward(z, inputs=[x])
    return w.kind(lambda: w.autograd.backward(z, inputs=[y])), w.grad_of(x), w.grad_of(y)


def saved_tensors_of_a_function_are_freed(w: World) -> Any:
    class Cube(w.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x * x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return g * 3.0 * x * x

    x = w.leaf(2.0)
    y = Cube.apply(x)
    w.autograd.backward(y)
    return w.kind(lambda: w.autograd.backward(y)), w.grad_of(x)


def function_without_saved_tensors_runs_again(w: World) -> Any:
    class Double(w.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2.0

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2.0

    x = w.leaf(2.0)
    y = Double.apply(x)
    w.autograd.backward(y)
    return w.kind(lambda: w.autograd.backward(y)), w.grad_of(x)
