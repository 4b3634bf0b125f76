"""saved_tensors_hooks and checkpoint."""

from __future__ import annotations

from typing import Any

from tests.autograd.programs.world import World


def pack_and_unpack_are_called(w: World) -> Any:
    x, seen = w.leaf([0.0, 1.0]), []

    def pack(t: Any) -> Any:
        seen.append(['pack', w.values(t)])
        return t

    def unpack(t: Any) -> Any:
        seen.append(['unpack', w.values(t)])
        return t

    with w.autograd.graph.saved_tensors_hooks(pack, unpack):
        y = w.exp(x)
    w.autograd.backward(w.sum(y))
    return seen, w.grad_of(x)


def only_inside(w: World) -> Any:
    x, seen = w.leaf([0.0, 1.0]), []
    with w.autograd.graph.saved_tensors_hooks(lambda t: (seen.append('pack'), t)[1], lambda t: t):
        y = w.exp(x)
    z = w.exp(y)
    w.autograd.backward(w.sum(z))
    return seen, w.grad_of(x)


def what_is_unpacked_is_used(w: World) -> Any:
    x = w.leaf([0.0, 1.0])
    with w.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t * 10.0):
        y = w.exp(x)
    w.autograd.backward(w.sum(y))
    return w.grad_of(x)


def packed_as_plain_data(w: World) -> Any:
    x, y = w.leaf([1.0, 2.0]), w.leaf([3.0, 4.0])
    with w.autograd.graph.saved_tensors_hooks(w.values, w.tensor):
        z = w.sum(x * y)
    w.autograd.backward(z)
    return w.grad_of(x), w.grad_of(y)


def innermost_pair_is_used(w: World) -> Any:
    x, seen = w.leaf([0.0, 1.0]), []

    def pair(name: str) -> Any:
        return w.autograd.graph.saved_tensors_hooks(lambda t: (seen.append(name), t)[1], lambda t: t)

    with pair('outer'):
        y = w.exp(x)
        with pair('inner'):
            y = w.exp(y)
        y = w.exp(y)
    w.autograd.backward(w.sum(y))
    return seen


def not_packed_without_recording(w: World) -> Any:
    x, seen = w.leaf([0.0, 1.0]), []
    with w.autograd.graph.saved_tensors_hooks(lambda t: (seen.append('pack'), t)[1], lambda t: t):
        w.exp(w.tensor([1.0]))
        with w.autograd.no_grad():
            w.exp(x)
    return seen


def packed_by_a_function(w: World) -> Any:
    class Square(w.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return g * x * 2.0

    x, seen = w.leaf([3.0, 4.0]), []

    def pack(t: Any) -> Any:
        seen.append(w.values(t))
        return w.values(t)

    with w.autograd.graph.saved_tensors_hooks(pack, lambda values: w.tensor(values) + 1.0):
        y = Square.apply(x)
    w.autograd.backward(w.sum(y))
    return seen, w.grad_of(x)


def exception_in_pack(w: World) -> Any:
    x = w.leaf([0.0, 1.0])

    def fail(t: Any) -> Any:
        raise KeyError('pack')

    def program() -> Any:
        with w.autograd.graph.saved_tensors_hooks(fail, lambda t: t):
            return w.exp(x)

    return w.kind(program)


def exception_in_unpack(w: World) -> Any:
    x = w.leaf([0.0, 1.0])

    def fail(t: Any) -> Any:
        raise KeyError('unpack')

    with w.autograd.graph.saved_tensors_hooks(lambda t: t, fail):
        y = w.exp(x)
    return w.kind(lambda: w.autograd.backward(w.sum(y))), w.grad_of(x)


def unpacked_that_is_no_tensor(w: World) -> Any:
    x = w.leaf([0.0, 1.0])
    with w.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: 'text'):
        y = w.exp(x)
    return w.kind(lambda: w.autograd.backward(w.sum(y)))


def unpacked_each_time(w: World) -> Any:
    x, seen = w.leaf([0.0, 1.0]), []
    with w.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: (seen.append('unpack'), t)[1]):
        y = w.sum(w.exp(x))
    w.autograd.backward(y, retain_graph=True)
    w.autograd.backward(y)
    return seen


def second_order_through_packed_tensors(w: World) -> Any:
    x = w.leaf([0.5, 1.0])
    with w.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        y = w.sum(w.exp(x) * x)
        (g,) = w.autograd.grad(y, x, create_graph=True)
    return w.values(g), w.values(w.autograd.grad(w.sum(g), x))


def save_on_cpu(w: World) -> Any:
    x = w.leaf([0.5, 1.0])
    with w.autograd.graph.save_on_cpu():
        y = w.sum(w.exp(x) * x)
    w.autograd.backward(y)
    return w.grad_of(x)


def checkpoint(w: World) -> Any:
    x, calls = w.leaf([0.5, 1.0]), []

    def block(t: Any) -> Any:
        calls.append(w.autograd.is_grad_enabled())
        return w.sin(w.exp(t))

    y = w.checkpoint(block, x)
    before = len(calls)
    w.autograd.backward(w.sum(y))
    return before, len(calls), y.requires_grad, w.values(y), w.grad_of(x)


def checkpoint_closes_over_parameters(w: World) -> Any:
    x, weight = w.leaf([0.5, 1.0]), w.leaf([2.0, 3.0])
    y = w.checkpoint(lambda t: w.tanh(t * weight), x)
    w.autograd.backward(w.sum(y))
    return w.grad_of(x), w.grad_of(weight)


def checkpoint_of_a_constant(w: World) -> Any:
    c, weight = w.tensor([0.5, 1.0]), w.leaf([2.0, 3.0])
    y = w.checkpoint(lambda t: w.tanh(t * weight), c)
    w.autograd.backward(w.sum(y))
    return y.requires_grad, w.grad_of(weight)


def checkpoint_with_several_arguments_and_outputs(w: World) -> Any:
    x, y = w.leaf([0.5, 1.0]), w.leaf([2.0, 3.0])
    a, b = w.checkpoint(lambda s, t: (s * t, w.exp(s)), x, y)
    w.autograd.backward(w.sum(a * b))
    return w.grad_of(x), w.grad_of(y)


def checkpoint_in_checkpoint(w: World) -> Any:
    x = w.leaf([0.5, 1.0])
    y = w.checkpoint(lambda s: w.sin(w.checkpoint(lambda t: w.exp(w.sin(t)), s)), x)
    w.autograd.backward(w.sum(y))
    return w.grad_of(x)


def checkpoint_under_grad_and_create_graph(w: World) -> Any:
    x = w.leaf([0.5, 1.0])
    (g,) = w.autograd.grad(w.sum(w.checkpoint(lambda t: w.exp(t * t), x)), x, create_graph=True)
    return w.values(g), w.values(w.autograd.grad(w.sum(g), x))


def checkpoint_under_no_grad(w: World) -> Any:
    x = w.leaf([0.5, 1.0])
    with w.autograd.no_grad():
        return w.checkpoint(w.exp, x).requires_grad


def checkpoint_exception(w: World) -> Any:
    def fail(t: Any) -> Any:
        raise KeyError('inside')

    return w.kind(lambda: w.checkpoint(fail, w.leaf(1.0)))
