"""Every distribution of the table on a GPU: values, gradients, moments, divergences and samples, as on the CPU."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
import pytest

import minichainer as chainer
from minichainer.backends import cuda
from tests.distributions.rows import ROWS, Row

pytestmark = [pytest.mark.gpu, pytest.mark.filterwarnings('ignore:.*undefined:RuntimeWarning')]
every_row = pytest.mark.parametrize('row', ROWS, ids=str)
OF_VALUES = ('log_prob', 'prob', 'cdf', 'log_cdf', 'survival_function', 'log_survival_function')
MOMENTS = ('mean', 'mode', 'variance', 'stddev', 'covariance', 'entropy')


def parameters(row: Row, device: Any, dtype: str, which: str = 'params') -> dict[str, chainer.Variable]:
    return {n: chainer.Variable(device.send(v.astype(dtype))) for n, v in getattr(row, which).items()}


def run(row: Row, device: Any, dtype: str) -> dict[str, Any]:
    """Members that the row has, and gradients of those that are differentiable."""
    values = row.values.astype(row.values.dtype if row.values.dtype.kind == 'i' else dtype)
    found: dict[str, Any] = {}
    for member in (*OF_VALUES, *MOMENTS):
        given = parameters(row, device, dtype)
        distribution = row.make(**given)
        # A member that the row lacks, and a derivative that there is not, are absent on both devices.
        with contextlib.suppress(NotImplementedError), np.errstate(divide='ignore'):
            y = getattr(distribution, member)
            y = y(device.send(values)) if member in OF_VALUES else y
            found[member] = y.array
            if y.requires_grad:
                y.grad = device.send(np.linspace(0.5, 1.5, y.size).reshape(y.shape).astype(y.dtype))
                y.backward()
                found |= {f'{member} by {name}': p.grad for name, p in given.items()}
    return found


def divergence(row: Row, device: Any, dtype: str) -> Any:
    one, other = (row.make(**parameters(row, device, dtype, which)) for which in ('params', 'others'))
    try:
        return chainer.kl_divergence(one, other).array
    except NotImplementedError:
        return None


@pytest.mark.parametrize('dtype', 'fd')
@every_row
def test_values_and_gradients(row: Row, dtype: str) -> None:
    device, host = chainer.get_device('@cupy:0'), chainer.get_device('@numpy')
    tolerance = {'f': 2e-5, 'd': 1e-9}[dtype]
    found, expected = run(row, device, dtype), run(row, host, dtype)
    found['divergence'], expected['divergence'] = divergence(row, device, dtype), divergence(row, host, dtype)
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        if value is None:
            assert found[name] is None, name
            continue
        assert isinstance(found[name], cuda.ndarray) and found[name].dtype == value.dtype, name
        np.testing.assert_allclose(found[name].get(), value, tolerance, tolerance, err_msg=name)


@pytest.mark.parametrize('dtype', 'efd')
@every_row
def test_samples(row: Row, dtype: str) -> None:
    distribution = row.make(**parameters(row, chainer.get_device('@cupy:0'), dtype))
    for shape in ((), (4,), (2, 3), (0,)):
        sample = distribution.sample(shape)
        assert isinstance(sample.array, cuda.ndarray)
        assert sample.shape == (*shape, *distribution.batch_shape, *distribution.event_shape)
        assert sample.dtype.kind == 'i' or sample.dtype == dtype
        assert isinstance(distribution.log_prob(sample).array, cuda.ndarray)


@every_row
def test_moments_of_samples(row: Row) -> None:
    if not row.has('mean') or row.id in ('Cauchy', 'Pareto', 'LogNormal'):
        return
    distribution = row.make(**parameters(row, chainer.get_device('@cupy:0'), 'd'))
    samples, mean, stddev = (
        y.array.get() for y in (distribution.sample(5000), distribution.mean, distribution.stddev)
    )
    assert (abs(samples.mean(axis=0) - mean) < 6 * stddev / np.sqrt(5000) + 1e-12).all()
