"""In which order hooks see the functions of a backward pass: recorded from Chainer 7.8.1.

Functions are numbered in the order in which they were computed. Levels go from high to low; within a level they come
in the order in which gradients arrive. The graphs run in whichever package they are given:

    python -c "import chainer; from tests.core import test_backward_order as t; t.record(chainer)"
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minichainer


def diamond(F: Any, x: Any, y: Any) -> list[Any]:
    a, b = F.exp(x), F.tanh(x)
    return [F.sum(F.sigmoid(a) * b + F.sin(F.cos(b)))]


def branches_of_different_lengths(F: Any, x: Any, y: Any) -> list[Any]:
    h = F.tanh(x)
    long = F.sin(F.cos(F.exp(h)))
    return [F.sum(F.sigmoid(h) * x + long)]


def several_outputs(F: Any, x: Any, y: Any) -> list[Any]:
    a, b, c = F.split_axis(F.tanh(x), 3, 0)
    return [F.sum(F.concat([F.exp(c), a, F.sin(F.cos(a))], 0)) + F.sum(b * c)]


def several_roots(F: Any, x: Any, y: Any) -> list[Any]:
    h = F.tanh(x)
    return [F.sum(F.exp(h)), F.sum(F.sin(F.cos(h) * x)), F.sum(h * h), F.sum(y * h)]


def recurrence(F: Any, x: Any, y: Any) -> list[Any]:
    h, total = y, F.exp(y)
    for _ in range(3):
        h = F.tanh(h * x)
        total = F.exp(h) + total
    return [F.sum(F.sin(total) + F.cos(h))]


def reused(F: Any, x: Any, y: Any) -> list[Any]:
    p = x * y
    q = p * p
    r = F.exp(p) + q
    s = F.tanh(q) * r * y
    return [F.sum(F.maximum(s, r)), F.sum(F.sin(s))]


def wide(F: Any, x: Any, y: Any) -> list[Any]:
    parts = [F.exp(x), F.sin(y), F.cos(x), F.tanh(y)]
    products = [parts[i] * parts[j] for i, j in ((3, 0), (1, 2), (0, 1), (2, 3))]
    return [F.sum(F.concat([products[k] for k in (2, 0, 3, 1)], 0))]


GRAPHS = [diamond, branches_of_different_lengths, several_outputs, several_roots, recurrence, reused, wide]


def orders(chainer: Any, graph: Any) -> tuple[list[int], list[int]]:
    """The order of a backward pass from all roots, and that of `grad`."""
    computed: list[Any] = []
    seen: list[int] = []

    class Watch(chainer.FunctionHook):  # type: ignore[misc]
        name = 'watch'

        def forward_postprocess(self, function: Any, in_data: Any) -> None:
            computed.append(function)

        def backward_preprocess(self, function: Any, in_data: Any, out_grad: Any) -> None:
            seen.append(next(i for i, f in enumerate(computed) if f is function))

    x, y = (chainer.Variable(np.linspace(0.1, 0.9, 6, dtype='f') + i) for i in range(2))
    with Watch():
        roots = graph(chainer.functions, x, y)
        chainer.grad(roots, [x, y])
        by_grad = seen[:]
        del seen[:]
        for root in roots:
            root.grad = np.ones((), 'f')
        chainer.variable.backward(roots) if hasattr(chainer.variable, 'backward') else chainer.backward(roots)
    return seen, by_grad


def record(chainer: Any) -> None:
    """Prints the figures of a package."""
    for graph in GRAPHS:
        print(f'    {graph.__name__!r}: {orders(chainer, graph)},')


#: Of a backward pass, and of `grad`.
CHAINERS = {
    'diamond': ([7, 6, 3, 5, 2, 4, 1, 0], [7, 6, 3, 5, 2, 4, 1, 0]),
    'branches_of_different_lengths': ([7, 6, 3, 5, 2, 4, 1, 0], [7, 6, 3, 5, 2, 4, 1, 0]),
    'several_outputs': ([9, 6, 5, 8, 4, 2, 7, 3, 1, 0], [9, 6, 5, 8, 4, 2, 7, 3, 1, 0]),
    'several_roots': ([6, 5, 2, 8, 10, 4, 1, 7, 9, 3, 0], [6, 5, 2, 8, 10, 4, 1, 7, 9, 3, 0]),
    'recurrence': (
        [16, 15, 13, 12, 14, 11, 8, 10, 7, 9, 4, 6, 3, 5, 2, 0, 1],
        [16, 15, 13, 12, 14, 11, 8, 10, 7, 9, 4, 6, 3, 5, 2, 0, 1],
    ),
    'reused': ([8, 10, 7, 9, 6, 5, 3, 4, 2, 1, 0], [8, 10, 7, 9, 6, 5, 3, 4, 2, 1, 0]),
    'wide': ([9, 8, 6, 4, 7, 5, 0, 1, 3, 2], [9, 8, 6, 4, 7, 5, 0, 1, 3, 2]),
}


@pytest.mark.parametrize('graph', GRAPHS)
def test_hooks_see_functions_in_chainers_order(graph: Any) -> None:
    assert orders(minichainer, graph) == CHAINERS[graph.__name__]


@pytest.mark.parametrize('graph', GRAPHS)
def test_the_order_is_the_same_where_the_pass_is_differentiable(graph: Any) -> None:
    seen: list[str] = []

    class Labels(minichainer.FunctionHook):
        def backward_preprocess(self, function: Any, in_data: Any, out_grad: Any) -> None:
            seen.append(function.label)

    labels = []
    for double in (False, True):
        x, y = (minichainer.Variable(np.linspace(0.1, 0.9, 6) + i) for i in range(2))
        roots = graph(minichainer.functions, x, y)
        with Labels():
            minichainer.grad(roots, [x, y], enable_double_backprop=double)
        labels.append(seen[:])
        del seen[:]
    assert labels[0] == labels[1] != []


def test_the_graphs_tell_orders_apart() -> None:
    """None of them has the order that is easiest to have: the reverse of the computation."""
    for by_backward, by_grad in CHAINERS.values():
        assert by_backward != sorted(by_backward, reverse=True)
        assert by_grad != sorted(by_grad, reverse=True)
