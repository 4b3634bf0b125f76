"""Function: what ctx offers, setup_context, vjp, jvp and once_differentiable."""

from __future__ import annotations

from typing import Any

from tests.autograd.programs.world import World


def attributes(w: World) -> Any:
    class Remember(w.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.shape, ctx.note = tuple(x.shape), 'kept'
            return w.sum(x)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return w.tensor([float(ctx.shape[0]), float(len(ctx.note))]) * g

    x = w.leaf([1.0, 2.0])
    w.autograd.backward(Remember.apply(x))
    return w.grad_of(x)


def saved_inputs_outputs_constants_and_none(w: World) -> Any:
    seen = []

    class Save(w.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            y = x * x
            ctx.save_for_backward(x, None, y, x * 10.0)
            return y

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            saved = ctx.saved_tensors
            seen.append([type(saved).__name__, w.values(saved)])
            seen.append([None if s is None else s.requires_grad for s in saved])
            return g * saved[0] * 2.0

    x = w.leaf(3.0)
    w.autograd.backward(Save.apply(x))
    return seen, w.grad_of(x)


def saved_intermediate_is_a_constant_in_double_backward(w: World) -> Any:
    class Cube(w.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x, x * x)
            return x * x * x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            x, square = ctx.saved_tensors
            return g * (square * 2.0 + x * x)

    x = w.leaf(2.0)
    (g,) = w.autograd.grad(Cube.apply(x), x, create_graph=True)
    return w.values(g), w.values(w.autograd.grad(g, x))


def nothing_saved(w: World) -> Any:
    seen = []

    class Identity(w.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 1.0

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            seen.append(list(ctx.saved_tensors))
            return g

    x = w.leaf(2.0)
    w.autograd.backward(Identity.apply(x))
    return seen


def saved_text(w: World) -> Any:
    class Text(w.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward('text')
            return x * 1.0

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g

    return w.kind(lambda: Text.apply(w.leaf(1.0)))


def _two_outputs(w: World, *, materialize: bool | None, seen: list[Any]) -> Any:
    class Two(w.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            if materialize is not None:
                ctx.set_materialize_grads(materialize)
            return x * 2.0, x * 3.0

        @staticmethod
        def backward(ctx: Any, ga: Any, gb: Any) -> Any:
            seen.append(w.values([ga, gb]))
            return ga * 2.0 if gb is None else ga * 2.0 + gb * 3.0

    return Two


def missing_gradients_are_zeros(w: World) -> Any:
    seen: list[Any] = []
    x = w.leaf([1.0, 2.0])
    a, _ = _two_outputs(w, materialize=None, seen=seen).apply(x)
    w.autograd.backward(w.sum(a * a))
    return seen, w.grad_of(x)


def missing_gradients_are_none(w: World) -> Any:
    seen: list[Any] = []
    x = w.leaf([1.0, 2.0])
    a, _ = _two_outputs(w, materialize=False, seen=seen).apply(x)
    w.autograd.backward(w.sum(a * a))
    return seen, w.grad_of(x)


def missing_gradients_set_to_zeros(w: World) -> Any:
    seen: list[Any] = []
    x = w.leaf([1.0, 2.0])
    a, _ = _two_outputs(w, materialize=True, seen=seen).apply(x)
    w.autograd.backward(w.sum(a * a))
    return seen


def mark_non_differentiable(w: World) -> Any:
    seen = []

    class WithIndex(w.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            rounded = w.floor(x)
            ctx.mark_non_differentiable(rounded)
            return x * 2.0, rounded

        @staticmethod
        def backward(ctx: Any, g: Any, unused: Any) -> Any:
            seen.append(w.values(unused))
            return g * 2.0

    x = w.leaf([1.5, 2.5])
    y, rounded = WithIndex.apply(x)
    w.autograd.backward(w.sum(y * rounded))
    return y.requires_grad, rounded.requires_grad, rounded.grad_fn is None, seen, w.grad_of(x)


def all_outputs_non_differentiable(w: World) -> Any:
    class Floor(w.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            y = w.floor(x)
            ctx.mark_non_differentiable(y)
            return y

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g

    y = Floor.apply(w.leaf([1.5]))
    return y.requires_grad, w.kind(lambda: w.autograd.backward(y))


def integer_outputs(w: World) -> Any:
    class Parts(w.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2.0, w.tensor([1, 2], dtype='i8')

        @staticmethod
        def backward(ctx: Any, g: Any, unused: Any) -> Any:
            return g * 2.0

    x = w.leaf([1.0, 2.0])
    y, indices = Parts.apply(x)
    w.autograd.backward(w.sum(y))
    return indices.requires_grad, w.values(indices), w.grad_of(x)


def integer_argument(w: World) -> Any:
    seen = []

    class Take(w.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, index: Any) -> Any:
            seen.append(list(ctx.needs_input_grad))
            return x * w.cast(index, 'float64')

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g, None

    x = w.leaf([1.0, 2.0])
    w.autograd.backward(w.sum(Take.apply(x, w.tensor([3, 4], dtype='i8'))))
    return seen, w.grad_of(x)


def _in_place(w: World) -> Any:
    class Double(w.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            w.write(x, x * 2.0)
            ctx.mark_dirty(x)
            return x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2.0

    return Double


def mark_dirty(w: World) -> Any:
    x = w.leaf([1.0, 2.0])
    y = x + 1.0
    z = _in_place(w).apply(y)
    same = z is y
    w.autograd.backward(w.sum(z * z))
    return same, w.values(y), w.grad_of(x)


def mark_dirty_on_a_leaf(w: World) -> Any:
    x = w.leaf([1.0, 2.0])
    return w.kind(lambda: _in_place(w).apply(x))


def mark_dirty_on_a_constant(w: World) -> Any:
    c = w.tensor([1.0, 2.0])
    z = _in_place(w).apply(c)
    return z is c, w.values(c), z.requires_grad


def mark_dirty_of_a_saved_tensor(w: World) -> Any:
    x = w.leaf([1.0, 2.0])
    y = w.exp(x)
    z = _in_place(w).apply(y)
    return w.kind(lambda: w.autograd.backward(w.sum(z)))


def setup_context(w: World) -> Any:
    class Power(w.Function):
        @staticmethod
        def forward(x: Any, n: int) -> Any:
            return x**n

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            x, ctx.n = inputs
            ctx.save_for_backward(x, output)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            x, _ = ctx.saved_tensors
            return g * ctx.n * x ** (ctx.n - 1), None

    x = w.leaf([2.0, 3.0])
    (g,) = w.autograd.grad(w.sum(Power.apply(x, 3)), x, create_graph=True)
    return w.values(g), w.values(w.autograd.grad(w.sum(g), x))


def setup_context_with_several_outputs(w: World) -> Any:
    seen = []

    class Both(w.Function):
        @staticmethod
        def forward(x: Any) -> Any:
            return w.sin(x), w.cos(x)

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            seen.append([len(inputs), type(output).__name__, len(output)])
            ctx.save_for_backward(*output)

        @staticmethod
        def backward(ctx: Any, gs: Any, gc: Any) -> Any:
            s, c = ctx.saved_tensors
            return gs * c - gc * s

    x = w.leaf(0.7)
    s, c = Both.apply(x)
    w.autograd.backward(s * c)
    return seen, w.grad_of(x)


def vjp_is_another_name_of_backward(w: World) -> Any:
    class Double(w.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2.0

        @staticmethod
        def vjp(ctx: Any, g: Any) -> Any:
            return g * 2.0

    x = w.leaf(1.0)
    w.autograd.backward(Double.apply(x))
    return w.grad_of(x)


def both_backward_and_vjp(w: World) -> Any:
    class Double(w.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2.0

        @staticmethod
        def vjp(ctx: Any, g: Any) -> Any:
            return g * 2.0

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2.0

    y = Double.apply(w.leaf(1.0))
    return w.kind(lambda: w.autograd.backward(y))


def _once(w: World) -> Any:
    class Square(w.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        @w.autograd.function.once_differentiable
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return g * x * 2.0

    return Square


def once_differentiable(w: World) -> Any:
    x = w.leaf([1.0, 2.0])
    w.autograd.backward(w.sum(_once(w).apply(x)))
    return w.grad_of(x)


def once_differentiable_twice(w: World) -> Any:
    x = w.leaf([1.0, 2.0])
    (g,) = w.autograd.grad(w.sum(_once(w).apply(x)), x, create_graph=True)
    return w.values(g), g.requires_grad, w.kind(lambda: w.autograd.grad(w.sum(g), x))


def once_differentiable_with_a_gradient_that_needs_one(w: World) -> Any:
    x, v = w.leaf([1.0, 2.0]), w.leaf([3.0, 4.0])
    (g,) = w.autograd.grad(_once(w).apply(x), x, v, create_graph=True)
    return w.values(g), g.requires_grad, w.kind(lambda: w.autograd.grad(w.sum(g), x))


def once_differentiable_off_the_path(w: World) -> Any:
    x, y = w.leaf(2.0), w.leaf(3.0)
    (g,) = w.autograd.grad(_once(w).apply(x) + y * y * y, y, create_graph=True)
    return w.values(w.autograd.grad(g, y))


def jvp(w: World) -> Any:
    seen = []

    class Cube(w.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, factor: float) -> Any:
            ctx.save_for_forward(x)
            ctx.x, ctx.factor = x, factor
            return x * x * x * factor

        @staticmethod
        def jvp(ctx: Any, t: Any, no_tangent: Any) -> Any:
            seen.append(no_tangent)
            return t * ctx.x * ctx.x * (3.0 * ctx.factor)

    ad = w.autograd.forward_ad
    with ad.dual_level():
        y = Cube.apply(ad.make_dual(w.tensor([1.0, 2.0]), w.tensor([1.0, 10.0])), 2.0)
        primal, tangent = ad.unpack_dual(y)
        return seen, w.values(primal), w.values(tangent)


def no_jvp(w: World) -> Any:
    class Double(w.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2.0

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2.0

    ad = w.autograd.forward_ad
    with ad.dual_level():
        dual = ad.make_dual(w.tensor(1.0), w.tensor(1.0))
        return w.kind(lambda: Double.apply(dual))
