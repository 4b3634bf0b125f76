"""First and second derivatives of ops that both worlds have, with a weighted sum as the loss."""

from __future__ import annotations

from typing import Any

from tests.autograd.programs.world import World


def _both_orders(w: World, function: Any, *values: Any) -> Any:
    xs = [w.leaf(v) for v in values]
    y = function(*xs)
    flat = w.reshape(y, (-1,))
    weights = w.tensor([0.5 + 0.25 * i for i in range(flat.shape[0])])
    gs = w.autograd.grad(w.sum(flat * weights), xs, create_graph=True)
    second = w.sum(w.sin(flat))
    for g in gs:
        second = second + w.sum(w.sin(g))
    return w.values(y), w.values(gs), w.values(w.autograd.grad(second, xs))


MATRIX = [[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]]


def activations(w: World) -> Any:
    return [_both_orders(w, f, MATRIX) for f in (w.relu, w.tanh, w.sigmoid)]


def elementary(w: World) -> Any:
    return [_both_orders(w, f, [0.5, 1.5, 2.5]) for f in (w.exp, w.log, w.sqrt, w.sin, w.cos, w.square)]


def arithmetic(w: World) -> Any:
    return _both_orders(w, lambda a, b: (a + b) * a - b / (2.0 + a * a) - (-b), [0.5, -1.0], [2.0, 3.0])


def powers(w: World) -> Any:
    return _both_orders(w, lambda a, b: a**b + a**3 + 2.0**b, [0.5, 1.5], [2.0, -1.0])


def reductions(w: World) -> Any:
    return [_both_orders(w, lambda x, axis=axis: w.sum(x * x, axis), MATRIX) for axis in (0, 1, None)]


def maxima(w: World) -> Any:
    return _both_orders(w, lambda x: w.max(x, 1), MATRIX), _both_orders(w, lambda x: w.max(x) * x, MATRIX)


def joining(w: World) -> Any:
    return _both_orders(w, lambda a, b: w.cat([a, b * b, a]), MATRIX, [[1.0, 2.0, 3.0]])


def splitting(w: World) -> Any:
    def function(x: Any) -> Any:
        a, b, c = w.split(x, 3, 1)
        return a * b + w.exp(c)

    return _both_orders(w, function, MATRIX)


def products(w: World) -> Any:
    return _both_orders(w, w.matmul, MATRIX, [[1.0], [2.0], [-3.0]])


def shapes(w: World) -> Any:
    return _both_orders(w, lambda x: w.matmul(w.transpose(x), w.reshape(x * x, (2, 3))), MATRIX)


def indexing(w: World) -> Any:
    return _both_orders(w, lambda x: x[0] * x[:, 1:][1, 0] + x[1], MATRIX)


def cumulated(w: World) -> Any:
    return _both_orders(w, lambda x: w.cumsum(x * x, 0), MATRIX)


def a_small_network(w: World) -> Any:
    def function(x: Any, a: Any, b: Any) -> Any:
        return w.matmul(w.tanh(w.matmul(x, a)), b)

    return _both_orders(w, function, MATRIX, [[1.0, 0.5], [0.25, -1.0], [0.5, 0.75]], [[2.0], [-1.0]])
