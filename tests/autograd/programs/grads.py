"""grad: outputs, inputs, unused inputs, materialized and batched gradients."""

from __future__ import annotations

from typing import Any

from tests.autograd.programs.world import World


def one_input(w: World) -> Any:
    x = w.leaf([1.0, 2.0])
    result = w.autograd.grad(w.sum(x * x), x)
    return type(result).__name__, len(result), w.values(result), w.grad_of(x)


def several_inputs_in_order(w: World) -> Any:
    x, y, z = w.leaf(1.0), w.leaf(2.0), w.leaf(3.0)
    return w.values(w.autograd.grad(x * y * z, [z, x, y]))


def several_outputs_are_summed(w: World) -> Any:
    x, y = w.leaf([1.0, 2.0]), w.leaf([3.0, 4.0])
    return w.values(w.autograd.grad([w.sum(x * y), w.sum(x * x)], (x, y)))


def gradients_of_outputs(w: World) -> Any:
    x = w.leaf([1.0, 2.0])
    g = [w.tensor([1.0, 0.0]), None]
    return w.values(w.autograd.grad([x * x, w.sum(x)], [x], g))


def gradients_of_outputs_as_one_tensor(w: World) -> Any:
    x = w.leaf([1.0, 2.0])
    return w.values(w.autograd.grad(x * x, x, w.tensor([0.5, 2.0])))


def results_are_not_accumulated(w: World) -> Any:
    x, y = w.leaf(2.0), w.leaf(5.0)
    w.set_grad(x, 100.0)
    w.autograd.grad(x * y, [x])
    return w.grad_of(x), w.grad_of(y)


def results_need_no_gradient(w: World) -> Any:
    x = w.leaf(2.0)
    (plain,) = w.autograd.grad(x * x, x)
    (connected,) = w.autograd.grad(x * x, x, create_graph=True)
    return plain.requires_grad, plain.grad_fn is None, connected.requires_grad, connected.is_leaf


def result_of_a_linear_function_needs_no_gradient(w: World) -> Any:
    x = w.leaf([1.0, 2.0])
    (g,) = w.autograd.grad(w.sum(x * w.tensor([3.0, 4.0])), x, create_graph=True)
    return w.values(g), g.requires_grad


def same_input_twice(w: World) -> Any:
    x = w.leaf(3.0)
    return w.values(w.autograd.grad(x * x, [x, x]))


def intermediate_input(w: World) -> Any:
    x = w.leaf([1.0, 2.0])
    y = w.exp(x)
    return w.values(w.autograd.grad(w.sum(y * y), [y, x]))


def input_between_two_uses(w: World) -> Any:
    x = w.leaf(0.5)
    y = w.sin(x)
    z = y * x
    return w.values(w.autograd.grad(z * y, [x, y, z]))


def output_as_input(w: World) -> Any:
    x = w.leaf(2.0)
    y = x * x
    return w.values(w.autograd.grad(y, [y])), w.values(w.autograd.grad(x, x))


def output_among_outputs_and_inputs(w: World) -> Any:
    x = w.leaf(2.0)
    y = x * x
    z = y * 3.0
    return w.values(w.autograd.grad([y, z], [y, x]))


def detached_path(w: World) -> Any:
    x = w.leaf([1.0, 2.0])
    return w.values(w.autograd.grad(w.sum(x * w.exp(x).detach()), x))


def unused_input(w: World) -> Any:
    x, y = w.leaf(1.0), w.leaf(2.0)
    return w.kind(lambda: w.autograd.grad(x * x, [x, y]))


def unused_input_allowed(w: World) -> Any:
    x, y = w.leaf(1.0), w.leaf(2.0)
    return w.values(w.autograd.grad(x * x, [x, y], allow_unused=True))


def all_inputs_unused(w: World) -> Any:
    x, y = w.leaf(1.0), w.leaf(2.0)
    return w.values(w.autograd.grad(x * x, [y], allow_unused=True)), w.kind(lambda: w.autograd.grad(x * x, [y]))


def detached_input_is_unused(w: World) -> Any:
    x = w.leaf(1.0)
    y = x * x
    z = y.detach() * x
    return w.values(w.autograd.grad(z, [x, y], allow_unused=True))


def unused_inputs_materialized(w: World) -> Any:
    x, y = w.leaf(1.0), w.leaf([2.0, 3.0])
    return w.values(w.autograd.grad(x * x, [x, y], materialize_grads=True))


def materialized_and_allowed(w: World) -> Any:
    x, y = w.leaf(1.0), w.leaf([2.0, 3.0])
    result = w.autograd.grad(x * x, [x, y], allow_unused=True, materialize_grads=True)
    return w.values(result), [g.requires_grad for g in result]


def materialized_but_not_allowed(w: World) -> Any:
    x, y = w.leaf(1.0), w.leaf([2.0, 3.0])
    return w.kind(lambda: w.autograd.grad(x * x, [x, y], allow_unused=False, materialize_grads=True))


def zeros_have_the_dtype_of_inputs(w: World) -> Any:
    x, y = w.leaf(1.0), w.leaf([2.0, 3.0], 'f4')
    _, g = w.autograd.grad(x * x, [x, y], materialize_grads=True)
    return str(g.dtype).split('.')[-1], list(g.shape)


def constant_input(w: World) -> Any:
    x, c = w.leaf(1.0), w.tensor(2.0)
    return [
        w.kind(lambda: w.autograd.grad(x * c, [c])),
        w.kind(lambda: w.autograd.grad(x * c, [x, c], allow_unused=True)),
    ]


def constant_output(w: World) -> Any:
    x, c = w.leaf(1.0), w.tensor(2.0)
    return w.kind(lambda: w.autograd.grad(c * c, [x])), w.kind(lambda: w.autograd.grad(c * c, [x], allow_unused=True))


def constant_among_outputs(w: World) -> Any:
    x, c = w.leaf(2.0), w.tensor(2.0)
    return w.kind(lambda: w.autograd.grad([x * x, c * c], [x]))


def missing_gradient(w: World) -> Any:
    x = w.leaf([1.0, 2.0])
    return w.kind(lambda: w.autograd.grad(x * x, x)), w.kind(lambda: w.autograd.grad([x * x], [x], [None]))


def gradient_of_wrong_shape(w: World) -> Any:
    x = w.leaf([1.0, 2.0])
    return w.kind(lambda: w.autograd.grad(x * x, x, w.tensor([[1.0, 2.0]])))


def wrong_number_of_gradients(w: World) -> Any:
    x = w.leaf([1.0, 2.0])
    g = w.tensor([1.0, 2.0])
    return [
        w.kind(lambda: w.autograd.grad([x * x], [x], [g, g])),
        w.kind(lambda: w.autograd.grad([x * x, x * 2.0], [x], [g])),
    ]


def only_inputs_warns(w: World) -> Any:
    x, y = w.leaf(2.0), w.leaf(3.0)
    z = x * y
    seen = []
    warned = w.warned(lambda: seen.append(w.values(w.autograd.grad(z, [x], only_inputs=False))))
    return warned, seen


def only_inputs_does_not_warn(w: World) -> Any:
    x = w.leaf(2.0)
    z = x * x
    return w.warned(lambda: w.autograd.grad(z, [x], only_inputs=True))


def batched(w: World) -> Any:
    x = w.leaf([1.0, 2.0])
    g = w.tensor([[1.0, 0.0], [0.0, 1.0], [2.0, 3.0]])
    return w.values(w.autograd.grad(w.exp(x), x, g, is_grads_batched=True))


def batched_several(w: World) -> Any:
    x, y = w.leaf([1.0, 2.0]), w.leaf(3.0)
    g = [w.tensor([[1.0, 0.0], [0.0, 1.0]]), w.tensor([1.0, -1.0])]
    result = w.autograd.grad([x * y, w.sum(x)], [x, y], g, is_grads_batched=True)
    return w.values(result), [list(r.shape) for r in result]


def batched_unused(w: World) -> Any:
    x, y = w.leaf([1.0, 2.0]), w.leaf(3.0)
    g = w.tensor([[1.0, 0.0], [0.0, 1.0]])
    return w.values(w.autograd.grad(x * x, [x, y], g, is_grads_batched=True, allow_unused=True))


def batched_with_wrong_shape(w: World) -> Any:
    x = w.leaf([1.0, 2.0])
    return w.kind(lambda: w.autograd.grad(x * x, x, w.tensor([1.0, 2.0]), is_grads_batched=True))


def gradient_is_connected_to_grad_outputs(w: World) -> Any:
    x, v = w.leaf([1.0, 2.0]), w.leaf([3.0, 4.0])
    (g,) = w.autograd.grad(x * x, x, v, create_graph=True)
    return w.values(w.autograd.grad(w.sum(g), [v, x]))


def gradient_is_not_connected_without_create_graph(w: World) -> Any:
    x, v = w.leaf([1.0, 2.0]), w.leaf([3.0, 4.0])
    (g,) = w.autograd.grad(x * x, x, v)
    return g.requires_grad, w.values(g)


def inside_no_grad(w: World) -> Any:
    x = w.leaf(3.0)
    y = x * x
    with w.autograd.no_grad():
        (g,) = w.autograd.grad(y, x)
    return w.values(g), g.requires_grad


def create_graph_inside_no_grad(w: World) -> Any:
    x = w.leaf(3.0)
    y = x * x
    with w.autograd.no_grad():
        (g,) = w.autograd.grad(y, x, create_graph=True)
    return w.values(g), g.requires_grad


def broadcast_inputs(w: World) -> Any:
    x, y = w.leaf([[1.0], [2.0]]), w.leaf([3.0, 4.0, 5.0])
    return w.values(w.autograd.grad(w.sum(x * y), [x, y]))


def size_zero(w: World) -> Any:
    x = w.leaf([])
    return w.values(w.autograd.grad(w.sum(x * x), x))
