"""A short self-test of the checker: wrong gradients must be caught, and right ones must pass."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minichainer.function_node import FunctionNode
from minichainer.variable import Variable
from minichainer.verification.arguments import Options
from minichainer.verification.check import check

Rule = Callable[..., Sequence[Any]]


class _Planted(FunctionNode):
    """A function of arrays with its own backward rule."""

    def __init__(self, function: Callable[..., Any], rule: Rule) -> None:
        super().__init__()
        self.function, self.rule = function, rule

    def forward(self, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        self.retain_inputs(tuple(range(len(inputs))))
        return (np.asarray(self.function(*inputs)),)

    def backward(self, indexes: tuple[int, ...], grad_outputs: tuple[Any, ...]) -> tuple[Any, ...]:
        xs = [x.array for x in self.get_retained_inputs()]
        found = self.rule(*xs, grad_outputs[0].array)
        return tuple(None if found[i] is None else Variable(np.asarray(found[i])) for i in indexes)


def _product(x: Any, w: Any) -> Any:
    return x * x * w


def _right(x: Any, w: Any, gy: Any) -> tuple[Any, Any]:
    return 2 * x * w * gy, (x * x * gy).sum(axis=0)


def _with_gx(change: Callable[..., Any]) -> Rule:
    return lambda x, w, gy: (change(*_right(x, w, gy)[:1], x, w, gy), _right(x, w, gy)[1])


def _one(gx: Any, factor: float) -> Any:
    gx = gx.copy()
    gx.ravel()[gx.size // 2] *= factor
    return gx


WRONG: dict[str, Rule] = {
    'negated': _with_gx(lambda gx, x, w, gy: -gx),
    'doubled': _with_gx(lambda gx, x, w, gy: 2 * gx),
    'times 1.0005': _with_gx(lambda gx, x, w, gy: 1.0005 * gx),
    'zero': _with_gx(lambda gx, x, w, gy: 0 * gx),
    'None': _with_gx(lambda gx, x, w, gy: None),
    'plus 1e-6': _with_gx(lambda gx, x, w, gy: gx + 1e-6),
    'without w': _with_gx(lambda gx, x, w, gy: 2 * x * gy),
    'of |x|': _with_gx(lambda gx, x, w, gy: 2 * abs(x) * w * gy),
    'of |gy|': _with_gx(lambda gx, x, w, gy: 2 * x * w * abs(gy)),
    'of relu(gy)': _with_gx(lambda gx, x, w, gy: 2 * x * w * np.maximum(gy, 0)),
    'gy ignored': _with_gx(lambda gx, x, w, gy: 2 * x * w),
    'shifted': _with_gx(lambda gx, x, w, gy: np.roll(gx, 1, axis=1)),
    'one element zero': _with_gx(lambda gx, x, w, gy: _one(gx, 0)),
    'one element times 1.001': _with_gx(lambda gx, x, w, gy: _one(gx, 1.001)),
    'one element NaN': _with_gx(lambda gx, x, w, gy: _one(gx, np.nan)),
    'a mean for a sum': lambda x, w, gy: (_right(x, w, gy)[0], (x * x * gy).mean(axis=0)),
    'the first row for a sum': lambda x, w, gy: (_right(x, w, gy)[0], (x * x * gy)[0]),
}

RIGHT: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any], float]] = {
    'sine': (np.sin, np.cos, 1.0),
    'huge inputs': (np.square, lambda x: 2 * x, 1e8),
    'tiny inputs': (np.square, lambda x: 2 * x, 1e-8),
    'large offset': (lambda x: 1e6 + np.sin(x), np.cos, 1.0),
    'linear': (lambda x: 3 * x, lambda x: 0 * x + 3, 1.0),
    'constant': (lambda x: 0 * x + 7, lambda x: 0 * x, 1.0),
    'logarithm near 0': (lambda x: np.log(abs(x)), lambda x: 1 / x, 1e-5),
    'relu': (lambda x: np.maximum(x, 0), lambda x: (x > 0) + 0.0 * x, 1.0),
    'saturated tanh': (np.tanh, lambda x: 1 - np.tanh(x) ** 2, 10.0),
}


def self_test(seed: int = 0, file: Any = None) -> bool:
    """Runs the checker on wrong and right gradients on this machine, and prints the score.

    Args:
        seed: The seed of the inputs and checks.
        file: Where to print; standard output by default.

    Returns:
        Whether every wrong gradient was caught and every right one passed.

    >>> self_test()
    17 of 17 wrong gradients caught, 17 of 17 with 1200 elements; 18 of 18 right ones passed.
    True
    """
    small, large = ([n for n in WRONG if not _passes_wrong(n, shape, seed)] for shape in ((3, 4), (30, 40)))
    passed = [(n, d) for n in RIGHT for d in ('f', 'd') if _passes_right(n, d, seed)]
    total = len(WRONG), 2 * len(RIGHT)
    text = (
        f'{len(small)} of {total[0]} wrong gradients caught, {len(large)} of {total[0]} with 1200 elements; '
        f'{len(passed)} of {total[1]} right ones passed.'
    )
    print(text, file=sys.stdout if file is None else file)
    return len(small) == len(large) == total[0] and len(passed) == total[1]


def _passes_wrong(name: str, shape: tuple[int, int], seed: int) -> bool:
    rng = np.random.default_rng(seed)
    inputs = rng.normal(size=shape), rng.normal(size=shape[1])
    return _verdict(_product, WRONG[name], inputs, seed) != 'fail'


def _passes_right(name: str, dtype: str, seed: int) -> bool:
    function, slope, scale = RIGHT[name]
    x = np.random.default_rng(seed).uniform(0.5, 1.5, (3, 4))
    x *= scale * np.random.default_rng(seed + 1).choice([-1.0, 1.0], x.shape)
    return _verdict(function, lambda x, gy: (gy * slope(x),), (x.astype(dtype),), seed) == 'pass'


def _verdict(function: Callable[..., Any], rule: Rule, inputs: Sequence[Any], seed: int) -> str:
    """The verdict of a check of a function with a given rule."""

    def func(*xs: Any) -> Any:
        return _Planted(function, rule).apply(xs)[0]

    return check(func, inputs, {}, Options(strictness='strict', seed=seed)).verdict
