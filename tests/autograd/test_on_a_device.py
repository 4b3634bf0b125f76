"""Derivatives by autograd on a GPU, the current one and another: as on the CPU, and where the inputs are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F
from minichainer import autograd
from minichainer.autograd import forward_ad, functional
from minichainer.backends import cuda

pytestmark = pytest.mark.gpu
X = np.array([0.5, -1.0, 2.0])
V = np.array([1.0, 2.0, -0.5])


def scalar(x: Any) -> Any:
    return F.sum(F.tanh(x) * x * x)


def vector(x: Any) -> Any:
    return F.exp(x) * F.sum(x * x)


def leaf(device: Any, values: Any = X) -> Any:
    return chainer.Variable(device.send(values))


def with_hook(device: Any) -> Any:
    x, seen = leaf(device), []
    y = x * x
    y.register_hook(lambda g: seen.append(g) or g * 2)
    scalar(y).backward()
    return x.grad, seen[0]


def pushed(device: Any) -> Any:
    with forward_ad.dual_level():
        y = forward_ad.unpack_dual(vector(forward_ad.make_dual(leaf(device), device.send(V))))
        return y.primal, y.tangent


CALLS: dict[str, Callable[[Any], Any]] = {
    'grad': lambda d: autograd.grad(scalar(x := leaf(d)), x),
    'grad of grad': lambda d: chainer.grad(
        chainer.grad([scalar(x := leaf(d))], [x], enable_double_backprop=True), [x], [leaf(d, V)]
    ),
    'vjp': lambda d: functional.vjp(vector, leaf(d), leaf(d, V)),
    'jvp': lambda d: functional.jvp(vector, leaf(d), leaf(d, V)),
    'hvp': lambda d: functional.hvp(scalar, leaf(d), leaf(d, V)),
    'vhp': lambda d: functional.vhp(scalar, leaf(d), leaf(d, V)),
    'jacobian': lambda d: functional.jacobian(vector, leaf(d)),
    'jacobian by columns': lambda d: functional.jacobian(vector, leaf(d), strategy='forward-mode', vectorize=True),
    'hessian': lambda d: functional.hessian(scalar, leaf(d)),
    'a dual number': pushed,
    'a hook of a tensor': with_hook,
}


def flat(values: Any) -> Iterator[Any]:
    if isinstance(values, (tuple, list)):
        for value in values:
            yield from flat(value)
    else:
        yield values.array if isinstance(values, chainer.Variable) else values


@pytest.mark.parametrize('number', [0, 1])
@pytest.mark.parametrize('name', CALLS)
def test_derivatives(name: str, number: int) -> None:
    if number >= cuda.cupy.cuda.runtime.getDeviceCount():
        pytest.skip('one GPU only')
    device, host = chainer.get_device(f'@cupy:{number}'), chainer.get_device('@numpy')
    pairs = list(zip(flat(CALLS[name](device)), flat(CALLS[name](host)), strict=True))
    for found, expected in pairs:
        assert device.is_array_supported(found) and found.dtype == expected.dtype
        np.testing.assert_allclose(found.get(), expected, 1e-12)
    assert pairs


def test_anomalies_are_found() -> None:
    x = leaf(chainer.get_device('@cupy:0'), np.array([0.0, 1.0]))
    with autograd.detect_anomaly(), pytest.raises(RuntimeError, match=r'(?i)nan'):
        F.sum(F.sqrt(x) * 0).backward()
