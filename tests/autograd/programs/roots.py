"""backward: its roots, their gradients, accumulation and inputs."""

from __future__ import annotations

from typing import Any

from tests.autograd.programs.world import World


def scalar(w: World) -> Any:
    x = w.leaf([1.0, 2.0, 3.0])
    result = w.autograd.backward(w.sum(x * x))
    return result, w.grad_of(x)


def list_and_tuple_of_roots(w: World) -> Any:
    x = w.leaf([1.0, 2.0])
    w.autograd.backward([w.sum(x * x)])
    first = w.grad_of(x)
    w.autograd.backward((w.sum(w.exp(x)),))
    return first, w.grad_of(x)


def several_roots_are_summed(w: World) -> Any:
    x, y = w.leaf([1.0, 2.0]), w.leaf([3.0, -1.0])
    w.autograd.backward([w.sum(x * y), w.sum(x * x), w.sum(y)])
    return w.grad_of(x), w.grad_of(y)


def roots_that_share_a_graph(w: World) -> Any:
    x = w.leaf([0.5, -0.5])
    shared = w.tanh(x)
    w.autograd.backward([w.sum(shared), w.sum(shared * shared)])
    return w.grad_of(x)


def root_of_another_root(w: World) -> Any:
    x = w.leaf(0.3)
    y = w.sin(x)
    z = y * y
    w.autograd.backward([y, z])
    return w.grad_of(x)


def same_root_twice(w: World) -> Any:
    x = w.leaf(2.0)
    y = x * x
    w.autograd.backward([y, y])
    return w.grad_of(x)


def gradient_of_a_vector(w: World) -> Any:
    x = w.leaf([1.0, 2.0])
    w.autograd.backward(x * x, w.tensor([1.0, 10.0]))
    return w.grad_of(x)


def gradients_in_a_list(w: World) -> Any:
    x = w.leaf([1.0, 2.0])
    w.autograd.backward([x * x, x * 3.0], [w.tensor([1.0, 10.0]), w.tensor([100.0, 1000.0])])
    return w.grad_of(x)


def gradient_none_for_a_scalar(w: World) -> Any:
    x = w.leaf([1.0, 2.0])
    w.autograd.backward([w.sum(x * x), x * 3.0], [None, w.tensor([1.0, 2.0])])
    return w.grad_of(x)


def gradient_of_a_scalar(w: World) -> Any:
    x = w.leaf([1.0, 2.0])
    w.autograd.backward(w.sum(x * x), w.tensor(-0.5))
    return w.grad_of(x)


def one_element_is_a_scalar(w: World) -> Any:
    x = w.leaf([[3.0]])
    w.autograd.backward(x * x)
    return w.grad_of(x)


def gradient_by_name(w: World) -> Any:
    x = w.leaf([1.0, 2.0])
    w.autograd.backward(tensors=[x * x], grad_tensors=[w.tensor([2.0, 0.5])])
    return w.grad_of(x)


def grad_variables_warns(w: World) -> Any:
    x = w.leaf([1.0, 2.0])
    y = x * x
    warned = w.warned(lambda: w.autograd.backward([y], grad_variables=[w.tensor([1.0, 2.0])]))
    return warned, w.grad_of(x)


def grad_variables_and_grad_tensors(w: World) -> Any:
    x = w.leaf([1.0, 2.0])
    g = [w.tensor([1.0, 2.0])]
    with w.quiet():
        return w.kind(lambda: w.autograd.backward([x * x], grad_tensors=g, grad_variables=g)), w.grad_of(x)


def missing_gradient(w: World) -> Any:
    x = w.leaf([1.0, 2.0])
    y = x * x
    return w.kind(lambda: w.autograd.backward(y)), w.kind(lambda: w.autograd.backward([y], [None])), w.grad_of(x)


def gradient_of_wrong_shape(w: World) -> Any:
    x = w.leaf([1.0, 2.0])
    y = x * x
    wrong = [w.tensor([1.0]), w.tensor(1.0), w.tensor([[1.0, 2.0]]), w.tensor([1.0, 2.0, 3.0])]
    return [w.kind(lambda g=g: w.autograd.backward([y], [g])) for g in wrong], w.grad_of(x)


def too_few_gradients(w: World) -> Any:
    x = w.leaf([1.0, 2.0])
    g = w.tensor([1.0, 1.0])
    return w.kind(lambda: w.autograd.backward([x * x, x * 2.0], [g])), w.grad_of(x)


def too_many_gradients(w: World) -> Any:
    x = w.leaf([1.0, 2.0])
    g = w.tensor([1.0, 1.0])
    return w.kind(lambda: w.autograd.backward([x * x], [g, g])), w.grad_of(x)


def gradient_that_is_not_a_tensor(w: World) -> Any:
    x = w.leaf([1.0, 2.0])
    return w.kind(lambda: w.autograd.backward([x * x], ['one'])), w.grad_of(x)


def constant_root(w: World) -> Any:
    x = w.tensor([1.0, 2.0])
    return w.kind(lambda: w.autograd.backward(w.sum(x))), w.grad_of(x)


def constant_among_roots(w: World) -> Any:
    x = w.leaf([1.0, 2.0])
    return w.kind(lambda: w.autograd.backward([w.sum(x), w.sum(w.tensor([3.0]))])), w.grad_of(x)


def constant_with_a_gradient(w: World) -> Any:
    x = w.tensor([1.0, 2.0])
    return w.kind(lambda: w.autograd.backward([x], [w.tensor([1.0, 1.0])]))


def leaf_as_root(w: World) -> Any:
    x = w.leaf(2.0)
    w.autograd.backward(x)
    w.autograd.backward(x, w.tensor(5.0))
    return w.grad_of(x)


def no_roots(w: World) -> Any:
    return w.kind(lambda: w.autograd.backward([]))


def accumulation(w: World) -> Any:
    x = w.leaf([1.0, -1.0])
    seen = []
    for factor in (1.0, 2.0, 3.0):
        w.autograd.backward(w.sum(x * factor))
        seen.append(w.grad_of(x))
    return seen


def accumulation_after_clearing(w: World) -> Any:
    x = w.leaf([1.0, -1.0])
    w.autograd.backward(w.sum(x * 2.0))
    w.set_grad(x, None)
    cleared = w.grad_of(x)
    w.autograd.backward(w.sum(x * 3.0))
    return cleared, w.grad_of(x)


def accumulation_onto_a_given_gradient(w: World) -> Any:
    x = w.leaf([1.0, -1.0])
    w.set_grad(x, [10.0, 20.0])
    w.autograd.backward(w.sum(x * 2.0))
    return w.grad_of(x)


def leaf_used_many_times(w: World) -> Any:
    x = w.leaf([1.0, 2.0])
    w.autograd.backward(w.sum(x * x + x * w.exp(x) + w.sin(x)))
    return w.grad_of(x)


def leaves_not_reached(w: World) -> Any:
    x, y = w.leaf(1.0), w.leaf(2.0)
    w.autograd.backward(x * 3.0)
    return w.grad_of(x), w.grad_of(y)


def constants_get_no_gradient(w: World) -> Any:
    x, c = w.leaf([1.0, 2.0]), w.tensor([3.0, 4.0])
    w.autograd.backward(w.sum(x * c))
    return w.grad_of(x), w.grad_of(c)


def intermediates_get_no_gradient(w: World) -> Any:
    x = w.leaf([1.0, 2.0])
    y = x * x
    w.autograd.backward(w.sum(y))
    with w.quiet():
        return w.grad_of(y)


def selected_inputs(w: World) -> Any:
    x, y = w.leaf(2.0), w.leaf(3.0)
    w.autograd.backward(x * y, inputs=[x])
    return w.grad_of(x), w.grad_of(y)


def selected_inputs_as_one_tensor(w: World) -> Any:
    x, y = w.leaf(2.0), w.leaf(3.0)
    w.autograd.backward(x * y, inputs=y)
    return w.grad_of(x), w.grad_of(y)


def selected_inputs_accumulate(w: World) -> Any:
    x, y = w.leaf(2.0), w.leaf(3.0)
    z = x * y
    w.autograd.backward(z, inputs=[x], retain_graph=True)
    w.autograd.backward(z, inputs=[x, y])
    return w.grad_of(x), w.grad_of(y)


def selected_intermediate(w: World) -> Any:
    x = w.leaf([1.0, 2.0])
    y = x * x
    w.autograd.backward(w.sum(w.exp(y)), inputs=[y])
    with w.quiet():
        return w.grad_of(x), w.grad_of(y)


def selected_inputs_empty(w: World) -> Any:
    x = w.leaf(2.0)
    return w.kind(lambda: w.autograd.backward(x * x, inputs=[])), w.grad_of(x)


def selected_constant(w: World) -> Any:
    x, c = w.leaf(2.0), w.tensor(3.0)
    return w.kind(lambda: w.autograd.backward(x * c, inputs=[c])), w.grad_of(x)


def selected_input_not_reached(w: World) -> Any:
    x, y = w.leaf(2.0), w.leaf(3.0)
    return w.kind(lambda: w.autograd.backward(x * x, inputs=[x, y])), w.grad_of(x), w.grad_of(y)


def method_with_gradient(w: World) -> Any:
    x = w.leaf([1.0, 2.0])
    (x * x).backward(gradient=w.tensor([1.0, 10.0]))
    return w.grad_of(x)


def method_with_inputs(w: World) -> Any:
    x, y = w.leaf(2.0), w.leaf(3.0)
    (x * y).backward(inputs=[y])
    return w.grad_of(x), w.grad_of(y)


def method_creates_a_graph(w: World) -> Any:
    x = w.leaf(2.0)
    (x * x * x).backward(create_graph=True)
    (g,) = w.autograd.grad(w.grad_var(x), [x])
    return w.values(g)


def error_leaves_gradients_as_they_were(w: World) -> Any:
    x = w.leaf([1.0, 2.0])
    w.set_grad(x, [7.0, 8.0])

    def fail(grad: Any) -> None:
        raise KeyError('no')

    y = x * x
    y.register_hook(fail)
    return w.kind(lambda: w.autograd.backward(w.sum(y))), w.grad_of(x)


def deep_graph(w: World) -> Any:
    x = w.leaf(1.0)
    y = x
    for _ in range(3000):
        y = y * 1.0001
    w.autograd.backward(y)
    return w.grad_of(x)


def gradient_dtypes(w: World) -> Any:
    x = w.leaf([1.0, 2.0], 'f4')
    w.autograd.backward(w.sum(x * x))
    return str(x.grad.dtype).split('.')[-1], w.grad_of(x)


def mixed_precision(w: World) -> Any:
    x = w.leaf([1.0, 2.0], 'f4')
    y = w.cast(x, 'float64')
    w.autograd.backward(w.sum(y * w.tensor([0.5, 0.25])))
    return str(x.grad.dtype).split('.')[-1], w.grad_of(x)
