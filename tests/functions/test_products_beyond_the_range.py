"""Derivatives of products whose parts overflow: a factor of 0 still makes 0, and what overflows is infinite.

Compared with exact numbers, to the second order.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F

#: Large numbers of each dtype, whose squares or fourth powers overflow.
LARGE = {'e': 300.0, 'f': 1e13, 'd': 1e100}
L = 'L'
LINES = [
    [L, L, L, L, 0, 0], [0, 0, L, L, L, L], [L, L, L, L, 0], [0, L, L, L, L], [L, L, 0, 0, L, L],
    [0, L, L, L, L, 0], [0, 0, 0, L, L, L, L], [2, 0, 3, 0], [L, L, L, L, 2],
]  # fmt: skip


def _line(line: list[Any], dtype: str) -> np.ndarray:
    return np.array([LARGE[dtype] if number == L else number for number in line], dtype)


def _weights(count: int) -> list[int]:
    return list(range(1, count + 1))


def _exact(line: np.ndarray, running: bool) -> tuple[list[Fraction], list[Fraction]]:
    """First and second derivatives of weighted results, and of the weighted first ones."""
    x = [Fraction(float(number)) for number in line]
    size = len(x)
    ends = list(zip(_weights(size), range(1, size + 1), strict=True)) if running else [(1, size)]

    def others(end: int, *left_out: int) -> Fraction:
        return math.prod((x[k] for k in range(end) if k not in left_out), start=Fraction(1))

    first = [sum((c * others(end, i) for c, end in ends if i < end), Fraction()) for i in range(size)]
    second = [
        sum(
            (w * c * others(end, i, j) for (i, w), (c, end) in itertools.product(enumerate(_weights(size)), ends)
             if i != j and max(i, j) < end), Fraction()
        )
        for j in range(size)
    ]  # fmt: skip
    return first, second


def _rounded(numbers: list[Fraction], dtype: str) -> np.ndarray:
    highest = float(np.finfo(dtype).max)
    return np.array([float(n) if n <= highest else np.inf for n in numbers]).astype(dtype)


def _found(function: Any, x: chainer.Variable, running: bool, double: bool) -> tuple[Any, Any]:
    weights = np.array(_weights(x.size)).reshape(x.shape).astype(x.dtype)
    y = function(x)
    gy = weights if running else np.ones(y.shape, x.dtype)
    if not double:
        y.grad = gy
        y.backward()
        return x.grad, None
    (gx,) = chainer.grad([y], [x], [chainer.Variable(gy)], enable_double_backprop=True)
    return gx.array, chainer.grad([gx], [x], [chainer.Variable(weights)])[0].array


FORMS = [
    ('prod', lambda x: F.prod(x), lambda x: x, False),
    ('prod of an axis', lambda x: F.prod(x, axis=1), lambda x: x[None], False),
    ('prod of two axes', lambda x: F.prod(x, axis=(0, 2)), lambda x: x[None, None], False),
    ('cumprod', lambda x: F.cumprod(x), lambda x: x, True),
    ('cumprod of an axis', lambda x: F.cumprod(x, axis=0), lambda x: x[:, None], True),
]


@pytest.mark.parametrize(('function', 'shaped', 'running'), [f[1:] for f in FORMS], ids=[f[0] for f in FORMS])
@pytest.mark.parametrize('line', LINES, ids=str)
@pytest.mark.parametrize('dtype', 'efd')
@pytest.mark.parametrize('double', [False, True])
@pytest.mark.filterwarnings('ignore::RuntimeWarning')
def test_derivatives(function: Any, shaped: Any, running: bool, line: list[Any], dtype: str, double: bool) -> None:
    x = _line(line, dtype)
    first, second = _exact(x, running)
    gx, ggx = _found(function, chainer.Variable(shaped(x)), running, double)
    np.testing.assert_allclose(gx.ravel(), _rounded(first, dtype), 1e-2 if dtype == 'e' else 1e-5)
    if double:
        np.testing.assert_allclose(ggx.ravel(), _rounded(second, dtype), 1e-2 if dtype == 'e' else 1e-5)


@pytest.mark.parametrize('function', [F.prod, F.cumprod])
@pytest.mark.parametrize('line', [[np.inf, 0, 0], [np.nan, 0, 1], [0, np.inf, 0]], ids=str)
@pytest.mark.filterwarnings('ignore::RuntimeWarning')
def test_an_infinite_factor_is_no_overflow(function: Any, line: list[float]) -> None:
    x = chainer.Variable(np.array(line))
    gx, _ = _found(function, x, function is F.cumprod, False)
    assert np.isnan(gx).any()
