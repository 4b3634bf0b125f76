"""How many kernels a training step launches on a device, and that it waits for none: counted on the stand-in."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F
from minichainer import optimizer_hooks, optimizers
from minichainer.backends import cuda

PATH = Path(__file__).resolve().parents[2] / 'benchmarks' / 'launches.py'


def _launches() -> Any:
    spec = importlib.util.spec_from_file_location('launches', PATH)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.gpu
@pytest.mark.parametrize('name', ['mlp', 'convnet', 'lstm', 'activations', 'lamb', 'unsorted'])
def test_budgets(name: str) -> None:
    if importlib.util.find_spec('cupy._meter') is None:
        pytest.skip('a real CuPy does not count launches')
    launches = _launches()
    found = launches.counts(name)
    assert sum(found.launches.values()) <= launches.BUDGETS[name], found.places.most_common(20)
    assert not found.synchronisations


@pytest.mark.gpu
def test_hooks_of_a_step_wait_for_nothing() -> None:
    meter: Any = pytest.importorskip('cupy._meter', reason='a real CuPy does not count launches')
    launches = _launches()
    model, loss = launches.mlp()
    model.to_device('@cupy:0')
    optimizer = optimizers.MomentumSGD().setup(model)
    for hook in (optimizer_hooks.WeightDecay(0.1), optimizer_hooks.Lasso(0.1), optimizer_hooks.GradientClipping(1)):
        optimizer.add_hook(hook)
    optimizer.update(loss, cuda.cupy)
    with meter.record(places=True) as found:
        optimizer.update(loss, cuda.cupy)
    assert not found.synchronisations, found.places.most_common(5)


#: Functions, shapes of their arguments, and the most launches of a pass forward and backward; views that are
#: gradients of leaves are copied, one launch each.
FUNCTIONS: list[tuple[str, Callable[..., Any], list[tuple[int, ...]], int]] = [
    ('layer normalization', F.layer_normalization, [(8, 16), (16,), (16,)], 8),
    ('root mean square', F.rms_norm, [(8, 16), (16,)], 6),
    ('group normalization', lambda x, *rest: F.group_normalization(x, 2, *rest), [(3, 4, 5, 6), (4,), (4,)], 11),
    ('dropout', F.dropout, [(3, 4)], 3),  # one of them draws
    ('ELU', F.elu, [(3, 4)], 2),
    ('SELU', F.selu, [(3, 4)], 4),
    ('clipped ReLU', F.clipped_relu, [(3, 4)], 2),
    ('PReLU', F.prelu, [(3, 4, 2), (4,)], 5),  # a sum, and a copy of a view
    ('GELU', F.gelu, [(3, 4)], 2),
    ('sequences', lambda *xs: F.concat(F.transpose_sequence(xs), 0), [(3, 2), (2, 2), (2, 2)], 6),
]


@pytest.mark.gpu
@pytest.mark.parametrize(('name', 'function', 'shapes', 'most'), FUNCTIONS)
def test_launches_of_functions(name: str, function: Any, shapes: Any, most: int) -> None:
    meter: Any = pytest.importorskip('cupy._meter', reason='a real CuPy does not count launches')
    xs = [chainer.Variable(cuda.to_gpu(np.random.RandomState(0).rand(*shape).astype('f'))) for shape in shapes]
    grad = cuda.cupy.ones(function(*xs).shape, 'f')
    with meter.record(places=True) as found:
        y = function(*xs)
        y.grad = grad
        y.backward()
    assert sum(found.launches.values()) <= most, found.places.most_common(12)
    assert not found.synchronisations
