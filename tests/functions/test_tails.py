"""Smooth functions from tiny to huge arguments: values and derivatives against exact ones, in float32 and float64.

A result may be off by some units in the last place, and by what rounding the argument alone would do. Where the
derivative is taken from the result, as that of tanh, it may be off by what rounding the result would do.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F
from tests.functions import derivatives

EXACT = json.loads(derivatives.PATH.read_text())
UNITS = 16
#: Functions whose derivative is taken from the result.
BY_RESULT = {'tanh', 'sigmoid', 'erfinv', 'erfcinv', 'ndtri'}
#: What float32 is promised to be precise to besides, where that is no relative error.
ABSOLUTE = {'gelu': 2e-7, 'gelu_tanh': 2e-7}

#: Elementwise functions of one array that are piecewise linear.
PIECEWISE = {'absolute', 'hard_sigmoid', 'leaky_relu', 'relu'}


def function(name: str) -> Callable[..., chainer.Variable]:
    return (lambda x: F.gelu(x, 'tanh')) if name == 'gelu_tanh' else getattr(F, name)


def found(name: str, points: np.ndarray) -> dict[str, Any]:
    """Value, first derivative by either backward, second derivative."""
    x = chainer.Variable(points)
    y = function(name)(x)
    (gx,) = chainer.grad([y], [x], enable_double_backprop=True)
    (ggx,) = chainer.grad([gx], [x]) if gx.requires_grad else (chainer.Variable(np.zeros_like(points)),)
    again = chainer.Variable(points)
    (plain,) = chainer.grad([function(name)(again)], [again])
    return {'value': y.array, 'gradient': plain.array, 'differentiable gradient': gx.array, 'second': ggx.array}


def allowed(name: str, dtype: str, exact: np.ndarray, order: int) -> np.ndarray:
    info = np.finfo(dtype)
    x, y, slope, *_ = exact.T
    errors = np.abs(exact[:, order + 1]) + np.abs(x * exact[:, order + 2])
    if order and name in BY_RESULT:
        errors += np.abs(y * exact[:, order + 2] / np.where(slope, slope, 1))
    absolute = ABSOLUTE.get(name, 0.0) if dtype == 'f' else 0.0
    return UNITS * float(info.eps) * errors + float(info.tiny) + absolute * np.maximum(1, np.abs(y))


@pytest.mark.parametrize('dtype', 'fd')
@pytest.mark.parametrize('size', [1, 8192])
@pytest.mark.parametrize('name', EXACT)
@pytest.mark.filterwarnings('ignore::RuntimeWarning')
def test_derivatives_are_precise_from_tiny_to_huge_arguments(name: str, size: int, dtype: str) -> None:
    exact = np.array(EXACT[name])
    exact = exact[(np.abs(exact) < float(np.finfo(dtype).max) / 100).all(axis=1)]
    points = np.resize(exact[:, 0], max(size, len(exact))).astype(dtype)
    orders = {'value': 0, 'gradient': 1, 'differentiable gradient': 1, 'second': 2}
    for what, values in found(name, points).items():
        order = orders[what]
        assert values.dtype == points.dtype
        errors = np.abs(values[: len(exact)].astype('d') - exact[:, order + 1])
        bad = ~(errors <= allowed(name, dtype, exact, order))
        rows = [f'{what} at {exact[i, 0]}: {values[i]}, exactly {exact[i, order + 1]}' for i in np.flatnonzero(bad)]
        assert not rows, '\n'.join(rows)


def test_the_table_has_every_smooth_function_of_one_array() -> None:
    defined = {name: getattr(getattr(F, name), 'node_class', None) for name in dir(F)}
    specs = {name: node.spec for name, node in defined.items() if hasattr(node, 'spec')}
    unary = {name for name, spec in specs.items() if spec.elementwise and spec.rules[0] and len(spec.rules) == 1}
    assert unary - set(EXACT) == PIECEWISE


@pytest.mark.parametrize('dtype', 'efd')
@pytest.mark.parametrize('size', [3, 8192])
@pytest.mark.parametrize('name', 'sigmoid tanh softplus silu mish gelu gelu_tanh elu log_ndtr'.split())
def test_huge_arguments_pass_without_a_warning(name: str, size: int, dtype: str) -> None:
    huge = 200 if dtype == 'e' else 30000
    found(name, np.resize(np.array([-huge, 0.5, huge]), size).astype(dtype))
