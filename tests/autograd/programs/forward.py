"""forward_ad: dual levels, dual tensors, and tangents of results."""

from __future__ import annotations

from typing import Any

from tests.autograd.programs.world import World


def _tangent(w: World, function: Any, *pairs: Any) -> Any:
    ad = w.autograd.forward_ad
    with ad.dual_level():
        duals = [ad.make_dual(w.tensor(x), w.tensor(t)) for x, t in pairs]
        primal, tangent = ad.unpack_dual(function(*duals))
        return w.values(primal), w.values(tangent)


def elementwise(w: World) -> Any:
    functions = (w.exp, w.sin, w.cos, w.tanh, w.sigmoid, w.relu, w.square)
    return [_tangent(w, f, ([0.5, -1.5], [1.0, 2.0])) for f in functions]


def of_positive_numbers(w: World) -> Any:
    return [_tangent(w, f, ([0.5, 1.5], [1.0, 2.0])) for f in (w.log, w.sqrt)]


def arithmetic(w: World) -> Any:
    pairs = ([0.5, -1.5], [1.0, 2.0]), ([2.0, 4.0], [-1.0, 0.5])
    return _tangent(w, lambda a, b: a * b + a / b - b - (-a) * 3.0, *pairs)


def power(w: World) -> Any:
    return _tangent(w, lambda a: a**3, ([0.5, -1.5], [1.0, 2.0]))


def products(w: World) -> Any:
    pairs = ([[1.0, 2.0], [3.0, 4.0]], [[1.0, 0.0], [0.0, 1.0]]), ([[0.5], [1.0]], [[2.0], [-1.0]])
    return _tangent(w, w.matmul, *pairs)


def reductions(w: World) -> Any:
    pair = ([[1.0, 2.0], [3.0, 4.0]], [[1.0, 0.5], [0.25, 2.0]])
    return (
        _tangent(w, w.sum, pair),
        _tangent(w, lambda x: w.sum(x, 1), pair),
        _tangent(w, lambda x: w.max(x, 1), pair),
    )


def rearranging(w: World) -> Any:
    pair = ([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], [[1.0, 0.5, 0.0], [0.25, 2.0, -1.0]])
    return [
        _tangent(w, lambda x: w.reshape(x, (3, 2)), pair),
        _tangent(w, w.transpose, pair),
        _tangent(w, lambda x: x[1], pair),
        _tangent(w, lambda x: w.cat([x, x * x]), pair),
        _tangent(w, lambda x: w.split(x, 3, 1)[1], pair),
        _tangent(w, lambda x: w.cumsum(x, 1), pair),
    ]


def with_a_constant(w: World) -> Any:
    c = w.tensor([3.0, 4.0])
    return _tangent(w, lambda x: x * c + c, ([1.0, 2.0], [1.0, 10.0]))


def constants_have_no_tangent(w: World) -> Any:
    ad = w.autograd.forward_ad
    with ad.dual_level():
        primal, tangent = ad.unpack_dual(w.tensor([1.0]))
        return w.values(primal), w.values(tangent)


def names_of_an_unpacked_dual(w: World) -> Any:
    ad = w.autograd.forward_ad
    with ad.dual_level():
        dual = ad.make_dual(w.tensor([1.0]), w.tensor([2.0]))
        unpacked = ad.unpack_dual(dual)
        return w.values(unpacked.primal), w.values(unpacked.tangent), w.values(dual), len(unpacked)


def gone_after_the_level(w: World) -> Any:
    ad = w.autograd.forward_ad
    with ad.dual_level():
        dual = ad.make_dual(w.tensor([1.0]), w.tensor([2.0]))
    with ad.dual_level():
        return w.values(ad.unpack_dual(dual))


def outside_of_a_level(w: World) -> Any:
    ad = w.autograd.forward_ad
    x = w.tensor([1.0])
    return w.kind(lambda: ad.make_dual(x, x)), w.values(ad.unpack_dual(x))


def nested_levels(w: World) -> Any:
    ad = w.autograd.forward_ad

    def nest() -> None:
        with ad.dual_level(), ad.dual_level():
            pass

    kind = w.kind(nest)
    with ad.dual_level():
        return kind, w.values(ad.unpack_dual(ad.make_dual(w.tensor(1.0), w.tensor(2.0))))


def exit_without_a_level(w: World) -> Any:
    return w.kind(w.autograd.forward_ad.exit_dual_level)


def levels_by_functions(w: World) -> Any:
    ad = w.autograd.forward_ad
    ad.enter_dual_level()
    try:
        y = w.exp(ad.make_dual(w.tensor(0.0), w.tensor(2.0)))
        return w.values(ad.unpack_dual(y))
    finally:
        ad.exit_dual_level()


def exception_ends_the_level(w: World) -> Any:
    ad = w.autograd.forward_ad

    def fail() -> None:
        with ad.dual_level():
            raise KeyError('inside')

    x = w.tensor(1.0)
    return w.kind(fail), w.kind(lambda: ad.make_dual(x, x))


def tangent_of_wrong_shape_or_of_integers(w: World) -> Any:
    ad = w.autograd.forward_ad
    with ad.dual_level():
        x = w.tensor([1.0, 2.0])
        return [
            w.kind(lambda: ad.make_dual(x, w.tensor([1.0]))),
            w.kind(lambda: ad.make_dual(w.tensor([1], dtype='i8'), w.tensor([1], dtype='i8'))),
        ]


def detached_dual(w: World) -> Any:
    ad = w.autograd.forward_ad
    with ad.dual_level():
        dual = ad.make_dual(w.tensor(1.0), w.tensor(2.0))
        primal, _ = ad.unpack_dual(dual)
        return w.values(ad.unpack_dual(primal))


def recording_is_not_needed(w: World) -> Any:
    ad = w.autograd.forward_ad
    with w.autograd.no_grad(), ad.dual_level():
        y = w.exp(ad.make_dual(w.leaf(0.0), w.tensor(2.0)))
        return w.values(ad.unpack_dual(y)), y.requires_grad


def backward_of_a_tangent(w: World) -> Any:
    ad = w.autograd.forward_ad
    x = w.leaf([0.5, 1.5])
    with ad.dual_level():
        _, tangent = ad.unpack_dual(w.sum(w.exp(ad.make_dual(x, w.tensor([1.0, 2.0])))))
        return w.values(tangent), w.values(w.autograd.grad(tangent, x))


def gradient_of_a_dual_result(w: World) -> Any:
    ad = w.autograd.forward_ad
    x = w.leaf([0.5, 1.5])
    with ad.dual_level():
        y = w.sum(w.sin(ad.make_dual(x, w.tensor([1.0, 2.0]))))
        w.autograd.backward(y)
    return w.grad_of(x)


def tangent_of_a_gradient(w: World) -> Any:
    ad = w.autograd.forward_ad
    x = w.leaf([0.5, 1.5])
    with ad.dual_level():
        dual = ad.make_dual(x, w.tensor([1.0, 2.0]))
        (g,) = w.autograd.grad(w.sum(dual * dual * dual), x, create_graph=True)
        return w.values(ad.unpack_dual(g))


def a_small_network(w: World) -> Any:
    a, b = w.tensor([[1.0, 0.5], [0.25, -1.0]]), w.tensor([[2.0], [-1.0]])
    pair = ([[1.0, 2.0]], [[0.5, -0.5]])
    return _tangent(w, lambda x: w.sum(w.matmul(w.tanh(w.matmul(x, a)), b)), pair)
