"""Derivatives of higher order."""

from __future__ import annotations

from typing import Any

from tests.autograd.programs.world import World


def _orders(w: World, function: Any, at: float, count: int) -> Any:
    x = w.leaf(at)
    y, found = function(x), []
    for _ in range(count):
        (y,) = w.autograd.grad(y, x, create_graph=True)
        found.append(w.values(y))
    return found


def power(w: World) -> Any:
    return _orders(w, lambda x: x * x * x * x, 1.5, 3)


def exponential(w: World) -> Any:
    return _orders(w, lambda x: w.exp(x * x), 0.3, 3)


def tanh(w: World) -> Any:
    return _orders(w, w.tanh, 0.4, 3)


def sine(w: World) -> Any:
    return _orders(w, w.sin, 0.4, 5)


def logarithm(w: World) -> Any:
    return _orders(w, w.log, 2.0, 4)


def root(w: World) -> Any:
    return _orders(w, w.sqrt, 2.0, 3)


def quotient(w: World) -> Any:
    return _orders(w, lambda x: x / (1.0 + x * x), 0.7, 3)


def sigmoid(w: World) -> Any:
    return _orders(w, w.sigmoid, 0.7, 3)


def mixed(w: World) -> Any:
    x, y = w.leaf(1.2), w.leaf(0.7)
    gx, gy = w.autograd.grad(x * x * w.sin(y), [x, y], create_graph=True)
    return [w.values(w.autograd.grad(g, [x, y], retain_graph=True, allow_unused=True)) for g in (gx, gy)]


def matrix_product(w: World) -> Any:
    a, b = w.leaf([[1.0, 2.0], [3.0, 4.0]]), w.leaf([[0.5, -1.0], [2.0, 1.0]])
    y = w.sum(w.tanh(w.matmul(a, b)))
    ga, gb = w.autograd.grad(y, [a, b], create_graph=True)
    return w.values(w.autograd.grad(w.sum(ga * ga) + w.sum(gb), [a, b]))


def gradient_penalty(w: World) -> Any:
    x, weight = w.leaf([[1.0, 2.0]]), w.leaf([[0.3], [-0.2]])
    y = w.sum(w.tanh(w.matmul(x, weight)))
    (g,) = w.autograd.grad(y, x, create_graph=True)
    w.autograd.backward(y + (w.sqrt(w.sum(g * g)) - 1.0) * (w.sqrt(w.sum(g * g)) - 1.0))
    return w.grad_of(weight), w.grad_of(x)


def product_with_the_hessian(w: World) -> Any:
    x, v = w.leaf([1.0, 2.0, 3.0]), w.tensor([1.0, 0.0, -1.0])
    (g,) = w.autograd.grad(w.sum(x * x * x) + x[0] * x[1], x, create_graph=True)
    return w.values(w.autograd.grad(w.sum(g * v), x))


def backward_twice_accumulates_both_orders(w: World) -> Any:
    x = w.leaf(2.0)
    w.autograd.backward(x * x * x, create_graph=True)
    first = w.grad_of(x)
    w.autograd.backward(w.grad_var(x))
    return first, w.grad_of(x)


def second_derivative_of_a_linear_function(w: World) -> Any:
    x, c = w.leaf(2.0), w.leaf(3.0)
    (g,) = w.autograd.grad(x * c, x, create_graph=True)
    return w.kind(lambda: w.autograd.grad(g, x)), w.values(w.autograd.grad(g, c))


def without_create_graph(w: World) -> Any:
    x = w.leaf(2.0)
    (g,) = w.autograd.grad(x * x * x, x)
    return w.kind(lambda: w.autograd.grad(g, x))


def relu_twice(w: World) -> Any:
    x = w.leaf([-1.0, 2.0])
    (g,) = w.autograd.grad(w.sum(w.relu(x) * x), x, create_graph=True)
    return w.values(g), w.values(w.autograd.grad(w.sum(g), x))


def inner_loop_of_a_meta_learner(w: World) -> Any:
    theta, rate = w.leaf([1.0, -2.0]), w.leaf(0.1)
    fast = theta
    for _ in range(2):
        (g,) = w.autograd.grad(w.sum(fast * fast * fast), fast, create_graph=True)
        fast = fast - rate * g
    w.autograd.backward(w.sum(fast * fast))
    return w.grad_of(theta), w.grad_of(rate)
