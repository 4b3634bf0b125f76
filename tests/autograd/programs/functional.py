"""functional: jacobian, hessian, vjp, jvp, vhp, hvp."""

from __future__ import annotations

from typing import Any

from tests.autograd.programs.world import World


def _flags(result: Any) -> Any:
    return [_flags(r) for r in result] if isinstance(result, (tuple, list)) else result.requires_grad


def jacobian(w: World) -> Any:
    x = w.tensor([0.5, 1.5])
    result = w.autograd.functional.jacobian(lambda t: w.exp(t) * t[0], x)
    return w.values(result), result.requires_grad, x.requires_grad


def jacobian_of_a_scalar(w: World) -> Any:
    return w.values(w.autograd.functional.jacobian(lambda t: w.sum(t * t), w.tensor([[1.0, 2.0], [3.0, 4.0]])))


def jacobian_of_a_matrix(w: World) -> Any:
    a = w.tensor([[1.0, 2.0], [3.0, 4.0]])
    result = w.autograd.functional.jacobian(lambda t: w.matmul(t, t), a)
    return list(result.shape), w.values(result)


def jacobian_of_several_inputs(w: World) -> Any:
    xs = (w.tensor([1.0, 2.0]), w.tensor([3.0, 4.0]))
    result = w.autograd.functional.jacobian(lambda a, b: a * b + b, xs)
    return type(result).__name__, w.values(result)


def jacobian_of_several_outputs(w: World) -> Any:
    result = w.autograd.functional.jacobian(lambda a: (a * a, w.sum(a)), w.tensor([1.0, 2.0]))
    return type(result).__name__, w.values(result)


def jacobian_of_several_inputs_and_outputs(w: World) -> Any:
    xs = (w.tensor([1.0, 2.0]), w.tensor(3.0))
    return w.values(w.autograd.functional.jacobian(lambda a, b: (a * b, b * b, w.sum(a)), xs))


def jacobian_with_create_graph(w: World) -> Any:
    x = w.leaf([1.0, 2.0])
    result = w.autograd.functional.jacobian(lambda t: t * t * t, x, create_graph=True)
    return result.requires_grad, w.values(w.autograd.grad(w.sum(result), x))


def jacobian_of_independent_outputs(w: World) -> Any:
    x = w.tensor([1.0, 2.0])

    def constant(t: Any) -> Any:
        return w.tensor([3.0])

    def other(t: Any) -> Any:
        return w.leaf([3.0]) * 2.0

    kinds = [w.kind(lambda f=f: w.autograd.functional.jacobian(f, x, strict=True)) for f in (constant, other)]
    return w.values(w.autograd.functional.jacobian(constant, x)), kinds


def jacobian_of_an_unused_input(w: World) -> Any:
    xs = (w.tensor([1.0, 2.0]), w.tensor([3.0]))
    return [
        w.values(w.autograd.functional.jacobian(lambda a, b: a * a, xs)),
        w.kind(lambda: w.autograd.functional.jacobian(lambda a, b: a * a, xs, strict=True)),
    ]


def jacobian_strict_of_a_linear_function(w: World) -> Any:
    x = w.leaf([1.0, 2.0])
    return [
        w.kind(lambda: w.autograd.functional.jacobian(lambda t: t * 2.0, x, strict=True)),
        w.kind(lambda: w.autograd.functional.jacobian(lambda t: t * 2.0, x, create_graph=True, strict=True)),
    ]


def jacobian_vectorized(w: World) -> Any:
    x = w.tensor([0.5, 1.5])
    return [
        w.values(w.autograd.functional.jacobian(lambda t: w.exp(t) * t[0], x, vectorize=True)),
        w.values(w.autograd.functional.jacobian(w.exp, x, vectorize=True, strategy='forward-mode')),
        w.kind(lambda: w.autograd.functional.jacobian(w.exp, x, strategy='forward-mode')),
        w.kind(lambda: w.autograd.functional.jacobian(w.exp, x, vectorize=True, strict=True)),
    ]


def jacobian_of_what_is_no_tensor(w: World) -> Any:
    x = w.tensor([1.0])
    return [
        w.kind(lambda: w.autograd.functional.jacobian(w.exp, 'text')),
        w.kind(lambda: w.autograd.functional.jacobian(lambda t: 'text', x)),
    ]


def jacobian_leaves_gradients_alone(w: World) -> Any:
    x, c = w.leaf([1.0, 2.0]), w.leaf(3.0)
    w.autograd.functional.jacobian(lambda t: t * c, x)
    return w.grad_of(x), w.grad_of(c)


def jacobian_under_no_grad(w: World) -> Any:
    with w.autograd.no_grad():
        return w.values(w.autograd.functional.jacobian(lambda t: t * t, w.tensor([1.0, 2.0])))


def hessian(w: World) -> Any:
    result = w.autograd.functional.hessian(lambda t: w.sum(t * t * t) + t[0] * t[1], w.tensor([1.0, 2.0]))
    return w.values(result), result.requires_grad


def hessian_of_several_inputs(w: World) -> Any:
    xs = (w.tensor([1.0, 2.0]), w.tensor([3.0, 4.0]))
    result = w.autograd.functional.hessian(lambda a, b: w.sum(a * a * b), xs)
    return type(result).__name__, type(result[0]).__name__, w.values(result)


def hessian_of_a_linear_function(w: World) -> Any:
    x = w.tensor([1.0, 2.0])
    return [
        w.values(w.autograd.functional.hessian(w.sum, x)),
        w.kind(lambda: w.autograd.functional.hessian(w.sum, x, strict=True)),
    ]


def hessian_of_no_scalar(w: World) -> Any:
    x = w.tensor([1.0, 2.0])
    return [
        w.kind(lambda: w.autograd.functional.hessian(lambda t: t * t, x)),
        w.kind(lambda: w.autograd.functional.hessian(lambda t: (w.sum(t), w.sum(t)), x)),
    ]


def hessian_with_create_graph(w: World) -> Any:
    x = w.leaf([1.0, 2.0])
    result = w.autograd.functional.hessian(lambda t: w.sum(t * t * t * t), x, create_graph=True)
    return w.values(w.autograd.grad(w.sum(result), x))


def hessian_vectorized(w: World) -> Any:
    x = w.tensor([1.0, 2.0])
    return w.values(w.autograd.functional.hessian(lambda t: w.sum(t * t * t), x, vectorize=True))


def vjp(w: World) -> Any:
    output, result = w.autograd.functional.vjp(w.exp, w.tensor([0.0, 1.0]), w.tensor([1.0, 2.0]))
    return w.values(output), w.values(result), _flags([output, result])


def vjp_of_a_scalar(w: World) -> Any:
    x = w.tensor([1.0, 2.0])
    return w.values(w.autograd.functional.vjp(lambda t: w.sum(t * t), x))


def vjp_needs_v(w: World) -> Any:
    x = w.tensor([1.0, 2.0])
    return [
        w.kind(lambda: w.autograd.functional.vjp(w.exp, x)),
        w.kind(lambda: w.autograd.functional.vjp(w.exp, x, w.tensor([1.0]))),
        w.kind(lambda: w.autograd.functional.vjp(w.exp, x, (x, x))),
    ]


def vjp_of_tuples(w: World) -> Any:
    xs, vs = (w.tensor([1.0, 2.0]), w.tensor(3.0)), (w.tensor([1.0, -1.0]), w.tensor(2.0))
    output, result = w.autograd.functional.vjp(lambda a, b: (a * b, w.sum(a)), xs, vs)
    return [type(output).__name__, type(result).__name__], w.values(output), w.values(result)


def vjp_with_create_graph(w: World) -> Any:
    x = w.leaf([1.0, 2.0])
    output, result = w.autograd.functional.vjp(lambda t: t * t, x, w.tensor([1.0, 1.0]), create_graph=True)
    return _flags([output, result]), w.values(w.autograd.grad(w.sum(result * result), x))


def vjp_strict(w: World) -> Any:
    xs, v = (w.tensor([1.0]), w.tensor([2.0])), w.tensor([1.0])
    return [
        w.values(w.autograd.functional.vjp(lambda a, b: a * a, xs, v)),
        w.kind(lambda: w.autograd.functional.vjp(lambda a, b: a * a, xs, v, strict=True)),
    ]


def jvp(w: World) -> Any:
    output, result = w.autograd.functional.jvp(w.exp, w.tensor([0.0, 1.0]), w.tensor([1.0, 2.0]))
    return w.values(output), w.values(result), _flags([output, result])


def jvp_of_one_number(w: World) -> Any:
    return w.values(w.autograd.functional.jvp(lambda t: t * t, w.tensor(3.0)))


def jvp_needs_v(w: World) -> Any:
    x = w.tensor([1.0, 2.0])
    return [
        w.kind(lambda: w.autograd.functional.jvp(w.exp, x)),
        w.kind(lambda: w.autograd.functional.jvp(w.exp, x, w.tensor([[1.0, 2.0]]))),
    ]


def jvp_of_tuples(w: World) -> Any:
    xs, vs = (w.tensor([1.0, 2.0]), w.tensor(3.0)), (w.tensor([1.0, -1.0]), w.tensor(2.0))
    output, result = w.autograd.functional.jvp(lambda a, b: (a * b, w.sum(a)), xs, vs)
    return [type(output).__name__, type(result).__name__], w.values(output), w.values(result)


def jvp_strict(w: World) -> Any:
    x = w.tensor([1.0])
    return [
        w.values(w.autograd.functional.jvp(lambda t: w.tensor([2.0]), x, x)),
        w.kind(lambda: w.autograd.functional.jvp(lambda t: w.tensor([2.0]), x, x, strict=True)),
    ]


def jvp_with_create_graph(w: World) -> Any:
    x = w.leaf([1.0, 2.0])
    _, result = w.autograd.functional.jvp(lambda t: t * t * t, x, w.tensor([1.0, 2.0]), create_graph=True)
    return w.values(w.autograd.grad(w.sum(result), x))


def vhp(w: World) -> Any:
    x, v = w.tensor([1.0, 2.0]), w.tensor([1.0, -1.0])
    output, result = w.autograd.functional.vhp(lambda t: w.sum(t * t * t) * t[0], x, v)
    return w.values(output), w.values(result), _flags([output, result])


def hvp(w: World) -> Any:
    x, v = w.tensor([1.0, 2.0]), w.tensor([1.0, -1.0])
    output, result = w.autograd.functional.hvp(lambda t: w.sum(t * t * t) * t[0], x, v)
    return w.values(output), w.values(result), _flags([output, result])


def vhp_and_hvp_of_tuples(w: World) -> Any:
    xs, vs = (w.tensor([1.0, 2.0]), w.tensor(3.0)), (w.tensor([1.0, -1.0]), w.tensor(2.0))
    both = (w.autograd.functional.vhp, w.autograd.functional.hvp)
    return [w.values(product(lambda a, b: w.sum(a * a) * b * b, xs, vs)) for product in both]


def vhp_and_hvp_of_errors(w: World) -> Any:
    x, found = w.tensor([1.0, 2.0]), []
    for product in (w.autograd.functional.vhp, w.autograd.functional.hvp):
        found += [
            w.kind(lambda p=product: p(lambda t: w.sum(t * t), x)),
            w.kind(lambda p=product: p(lambda t: t * t, x, x)),
            w.kind(lambda p=product: p(w.sum, x, x, strict=True)),
            w.values(product(w.sum, x, x)),
        ]
    return found


def vhp_and_hvp_with_create_graph(w: World) -> Any:
    x, v, found = w.leaf([1.0, 2.0]), w.tensor([1.0, -1.0]), []
    for product in (w.autograd.functional.vhp, w.autograd.functional.hvp):
        _, result = product(lambda t: w.sum(t * t * t), x, v, create_graph=True)
        found.append(w.values(w.autograd.grad(w.sum(result), x)))
    return found
