"""The generic checks of a row; the tests call them with good rows, and with deliberately wrong ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import minichainer as chainer
import minichainer.functions as F
from tests.functions.numeric import directional, signed
from tests.functions.row import Case, Row

#: Relative tolerance of results and gradients that were computed in a dtype.
PRECISION = {'e': 4e-3, 'f': 3e-6, 'd': 1e-12}
Function = Callable[..., Sequence[chainer.Variable]]


def outputs_of(result: Any) -> tuple[Any, ...]:
    """What a function returned, as a tuple."""
    return tuple(result) if isinstance(result, (tuple, list)) else (result,)


def on_cpu(array: Any) -> np.ndarray:
    """The array as a NumPy array."""
    return array if isinstance(array, np.ndarray) else array.get()


def close(actual: Any, desired: Any, dtype: str, what: str) -> None:
    """Asserts equality up to the precision of a dtype, relative to the largest element."""
    desired = np.asarray(desired)
    finite = np.abs(desired[np.isfinite(desired)]).astype('d')
    scale = max(finite.max(initial=0.0), 1.0)
    rtol = PRECISION[dtype]
    np.testing.assert_allclose(on_cpu(actual), desired, rtol=rtol, atol=rtol * scale, err_msg=what)


def bound(row: Row, case: Case, arrays: Sequence[np.ndarray]) -> tuple[Function, list[np.ndarray]]:
    """The row's function of its float inputs alone, and these inputs."""
    places = [i for i, d in enumerate(row.domains) if d.is_variable]

    def function(*variables: Any) -> tuple[chainer.Variable, ...]:
        values: list[Any] = list(arrays)
        for place, variable in zip(places, variables, strict=True):
            values[place] = variable
        return outputs_of(row.call(*values, **case.params))

    return function, [arrays[place] for place in places]


def derivative_of(function: Function, count: int, differentiable: bool = True) -> Function:
    """The function of inputs and upstream gradients that gives the gradients of the inputs.

    If nothing is wanted but values, ``differentiable=False`` gives them in half the time: no graph is recorded.
    """

    def derivative(*arguments: Any) -> list[chainer.Variable]:
        variables, upstream = arguments[:count], arguments[count:]
        ys = function(*variables)
        found = chainer.grad(ys, variables, upstream, enable_double_backprop=differentiable)
        # A gradient may be the upstream Variable itself, several times: each needs a place of its own in a graph.
        own = F.identity if differentiable else chainer.as_variable
        return [
            chainer.Variable(np.zeros_like(x.array)) if g is None else own(g)
            for g, x in zip(found, variables, strict=True)
        ]

    return derivative


def gradients(function: Function, xs: Sequence[Any], gys: Sequence[Any]) -> list[Any]:
    """Gradients by ordinary backward: raw arrays."""
    variables = [chainer.Variable(x) for x in xs]
    ys = function(*variables)
    for y, gy in zip(ys, gys, strict=True):
        y.grad = y.device.send(gy)
    chainer.backward([y for y in ys if y.requires_grad])
    return [x.grad for x in variables]


def differentiable_gradients(function: Function, xs: Sequence[Any], gys: Sequence[Any]) -> list[Any]:
    """Gradients by the differentiable backward."""
    variables = [chainer.Variable(x) for x in xs]
    ys = function(*variables)
    upstream = [chainer.Variable(gy) for gy in gys]
    found = chainer.grad(ys, variables, upstream, enable_double_backprop=True)
    return [None if g is None else g.array for g in found]


def upstream_of(function: Function, xs: Sequence[Any], seed: int = 7) -> list[np.ndarray]:
    """Random signed gradients for what a function returns."""
    rng = np.random.RandomState(seed)
    with chainer.no_backprop_mode():
        return [signed(y.shape, rng, y.dtype.char) for y in function(*[chainer.Variable(x) for x in xs])]


def check_gradient(row: Row, case: Case, order: int = 1) -> None:
    """Compares the gradient of a given order with central differences of the one below it, in float64."""
    function, xs = bound(row, case, row.draw(case))
    arguments, below = list(xs), function
    for level in range(1, order):
        gys = upstream_of(function, arguments, seed=level)
        below = derivative_of(function, len(arguments), differentiable=False)
        function, arguments = derivative_of(function, len(arguments)), [*arguments, *gys]
    gys = upstream_of(function, arguments, seed=order)

    def values(*arrays: Any) -> list[np.ndarray]:
        return [y.array for y in below(*[chainer.Variable(a) for a in arrays])]

    expected = directional(values, arguments, gys, linear_from=len(xs))  # upstream gradients
    actual = gradients(function, arguments, gys)
    for i, (a, e) in enumerate(zip(actual, expected, strict=True)):
        a = np.zeros_like(e) if a is None else a
        scale = max(np.abs(e).max(initial=0.0), 1.0)
        what = f'{row} {case}: order {order}, argument {i} (upstream gradients are the last arguments)'
        assert a.shape == e.shape, what
        np.testing.assert_allclose(a, e, rtol=2e-7, atol=2e-8 * scale, err_msg=what)
