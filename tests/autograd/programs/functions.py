"""Function: what forward and backward get and give."""

from __future__ import annotations

from typing import Any

from tests.autograd.programs.world import World


def _exponential(w: World) -> Any:
    class Exponential(w.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            y = w.exp(x)
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (y,) = ctx.saved_tensors
            return g * y

    return Exponential


def _returning(w: World, result: Any) -> Any:
    """x times y with a backward that returns a given thing."""

    class Product(w.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any) -> Any:
            return x * y

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return result(g)

    return Product


def saved_result(w: World) -> Any:
    x = w.leaf([0.0, 1.0])
    y = _exponential(w).apply(x)
    w.autograd.backward(w.sum(y * y))
    return y.requires_grad, y.is_leaf, w.grad_of(x)


def higher_orders(w: World) -> Any:
    x = w.leaf(0.5)
    y, found = _exponential(w).apply(x * x), []
    for _ in range(3):
        (y,) = w.autograd.grad(y, x, create_graph=True)
        found.append(w.values(y))
    return found


def constant_argument(w: World) -> Any:
    y = _exponential(w).apply(w.tensor([0.0, 1.0]))
    return y.requires_grad, w.values(y)


def under_no_grad(w: World) -> Any:
    with w.autograd.no_grad():
        y = _exponential(w).apply(w.leaf([0.0, 1.0]))
    return y.requires_grad, y.grad_fn is None


def forward_does_not_record(w: World) -> Any:
    seen = []

    class Look(w.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            y = x * 2.0
            seen.append([w.autograd.is_grad_enabled(), y.requires_grad])
            return y

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            seen.append([w.autograd.is_grad_enabled(), g.requires_grad])
            return g * 2.0

    x = w.leaf(1.0)
    w.autograd.backward(Look.apply(x * x), retain_graph=True)
    w.autograd.backward(Look.apply(x * x), create_graph=True)
    return seen


def several_arguments_and_outputs(w: World) -> Any:
    class SumAndProduct(w.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any) -> Any:
            ctx.save_for_backward(x, y)
            return x + y, x * y

        @staticmethod
        def backward(ctx: Any, gs: Any, gp: Any) -> Any:
            x, y = ctx.saved_tensors
            return gs + gp * y, gs + gp * x

    x, y = w.leaf([1.0, 2.0]), w.leaf([3.0, 4.0])
    result = SumAndProduct.apply(x, y)
    s, p = result
    first = w.autograd.grad(w.sum(s * p), [x, y], create_graph=True)
    second = w.autograd.grad(w.sum(first[0] * first[1]), [x, y])
    return type(result).__name__, w.values(first), w.values(second)


def other_arguments(w: World) -> Any:
    seen = []

    class Scale(w.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, factor: Any, name: Any, options: Any, nothing: Any) -> Any:
            seen.append([factor, name, options, nothing])
            ctx.factor = factor
            return x * factor

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            seen.append([ctx.factor, list(ctx.needs_input_grad)])
            return g * ctx.factor, None, None, None, None

    x = w.leaf([1.0, 2.0])
    w.autograd.backward(w.sum(Scale.apply(x, 3.0, 'scale', [1, 2], None)))
    return seen, w.grad_of(x)


def needs_input_grad(w: World) -> Any:
    seen = []

    class Look(w.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any, z: Any) -> Any:
            seen.append(list(ctx.needs_input_grad))
            return x * y * z

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            seen.append(list(ctx.needs_input_grad))
            return g, g, g

    x, y, z = w.leaf(1.0), w.tensor(2.0), w.leaf(3.0)
    w.autograd.backward(Look.apply(x, y, z), retain_graph=True)
    w.autograd.grad(Look.apply(x, y, z), [x])
    return seen, w.grad_of(x), w.grad_of(y), w.grad_of(z)


def none_is_zero(w: World) -> Any:
    x, y = w.leaf(2.0), w.leaf(3.0)
    product = _returning(w, lambda g: (g * 5.0, None)).apply(x, y)
    w.autograd.backward(product)
    return w.grad_of(x), w.grad_of(y)


def none_under_grad(w: World) -> Any:
    x, y = w.leaf(2.0), w.leaf(3.0)
    product = _returning(w, lambda g: (g * 5.0, None)).apply(x, y)
    values = w.values(w.autograd.grad(product, [x, y], allow_unused=True, retain_graph=True))
    return values, w.kind(lambda: w.autograd.grad(product, [x, y]))


def none_before_an_intermediate(w: World) -> Any:
    x, y = w.leaf(2.0), w.leaf(3.0)
    w.autograd.backward(_returning(w, lambda g: (g * 5.0, None)).apply(x * x, y * y))
    return w.grad_of(x), w.grad_of(y)


def too_few_gradients(w: World) -> Any:
    x, y = w.leaf(2.0), w.leaf(3.0)
    kinds = [
        w.kind(lambda r=r: w.autograd.backward(_returning(w, r).apply(x, y))) for r in (lambda g: g, lambda g: (g,))
    ]
    return kinds, w.grad_of(x)


def too_many_gradients(w: World) -> Any:
    x, y = w.leaf(2.0), w.leaf(3.0)
    return w.kind(lambda: w.autograd.backward(_returning(w, lambda g: (g, g, g)).apply(x, y)))


def too_many_nones(w: World) -> Any:
    x, y = w.leaf(2.0), w.leaf(3.0)
    w.autograd.backward(_returning(w, lambda g: (g, g * 2.0, None, None)).apply(x, y))
    return w.grad_of(x), w.grad_of(y)


def gradient_of_wrong_shape(w: World) -> Any:
    x, y = w.leaf([1.0, 2.0]), w.leaf([3.0, 4.0])
    wrong = w.tensor([1.0, 2.0, 3.0])
    return w.kind(lambda: w.autograd.backward(w.sum(_returning(w, lambda g: (wrong, g)).apply(x, y))))


def gradient_that_can_be_reduced(w: World) -> Any:
    x, y = w.leaf([1.0, 2.0]), w.leaf(3.0)
    w.autograd.backward(w.sum(_returning(w, lambda g: (g, g)).apply(x, y)))
    return w.grad_of(x), w.grad_of(y)


def gradient_that_is_not_a_tensor(w: World) -> Any:
    x, y = w.leaf(1.0), w.leaf(3.0)
    return w.kind(lambda: w.autograd.backward(_returning(w, lambda g: (g, 'one')).apply(x, y)))


def gradient_of_a_constant_is_ignored(w: World) -> Any:
    x, c = w.leaf(2.0), w.tensor(3.0)
    w.autograd.backward(_returning(w, lambda g: (g, g * 7.0)).apply(x, c))
    return w.grad_of(x), w.grad_of(c)


def gradient_for_a_number(w: World) -> Any:
    x = w.leaf(2.0)
    return w.kind(lambda: w.autograd.backward(_returning(w, lambda g: (g, g)).apply(x, 3.0)))


def used_twice(w: World) -> Any:
    exponential = _exponential(w)
    x = w.leaf(0.5)
    w.autograd.backward(exponential.apply(exponential.apply(x)) + exponential.apply(x))
    return w.grad_of(x)


def same_argument_twice(w: World) -> Any:
    x = w.leaf(2.0)
    w.autograd.backward(_returning(w, lambda g: (g * 10.0, g * 100.0)).apply(x, x))
    return w.grad_of(x)


def inside_another(w: World) -> Any:
    exponential = _exponential(w)

    class Outer(w.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            y = exponential.apply(x)
            ctx.save_for_backward(x)
            return y * 2.0

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return g * exponential.apply(x) * 2.0

    x = w.leaf(0.5)
    (g,) = w.autograd.grad(Outer.apply(x), x, create_graph=True)
    return w.values(g), w.values(w.autograd.grad(g, x))


def backward_by_an_inner_graph(w: World) -> Any:
    class Inner(w.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            with w.autograd.enable_grad():
                ctx.x = x.detach().requires_grad_()
                ctx.y = w.sin(ctx.x) * ctx.x
            return ctx.y.detach()

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return w.autograd.grad(ctx.y, ctx.x, g)[0]

    x = w.leaf([0.5, 1.5])
    w.autograd.backward(w.sum(Inner.apply(x)))
    return w.grad_of(x)


def exceptions_pass_through(w: World) -> Any:
    class Fails(w.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, where: str) -> Any:
            if where == 'forward':
                raise KeyError('forward')
            return x * 1.0

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            raise LookupError('backward')

    x = w.leaf(1.0)
    return [
        w.kind(lambda: Fails.apply(x, 'forward')),
        w.kind(lambda: w.autograd.backward(Fails.apply(x, 'backward'))),
        w.grad_of(x),
    ]


def missing_methods(w: World) -> Any:
    class Nothing(w.Function):
        pass

    class Forward(w.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2.0

    x = w.leaf(1.0)
    y = Forward.apply(x)
    return w.kind(lambda: Nothing.apply(x)), w.values(y), w.kind(lambda: w.autograd.backward(y))


def called_in_the_old_way(w: World) -> Any:
    exponential, x = _exponential(w), w.leaf(1.0)

    def call() -> Any:
        with w.quiet():
            return exponential()(x)

    return w.kind(call)


def forward_that_returns_no_tensor(w: World) -> Any:
    class Text(w.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, result: Any) -> Any:
            return result

        @staticmethod
        def backward(ctx: Any, *gs: Any) -> Any:
            return (None, None)

    x = w.leaf(1.0)
    return (
        w.kind(lambda: Text.apply(x, 'text')),
        w.kind(lambda: Text.apply(x, 3.0)),
        w.kind(lambda: Text.apply(x, None)),
    )


def output_that_is_the_input(w: World) -> Any:
    class Same(w.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 10.0

    x = w.leaf([1.0, 2.0])
    y = Same.apply(x)
    w.autograd.backward(w.sum(y * y))
    return y is x, x.is_leaf, y.is_leaf, w.grad_of(x)


def constant_made_in_forward(w: World) -> Any:
    class Ones(w.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return w.tensor([1.0, 1.0])

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 3.0

    x = w.leaf([1.0, 2.0])
    y = Ones.apply(x)
    w.autograd.backward(w.sum(y))
    return y.requires_grad, w.grad_of(x)


def straight_through(w: World) -> Any:
    class Round(w.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return w.floor(x + 0.5)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g

    x = w.leaf([0.4, 1.6])
    y = Round.apply(x)
    w.autograd.backward(w.sum(y * y))
    return w.values(y), w.grad_of(x)
