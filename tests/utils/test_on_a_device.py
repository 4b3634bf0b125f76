"""Helpers of ``chainer.utils`` on a GPU, the current one and another: as on the CPU."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import minichainer as chainer
from minichainer import utils
from minichainer.backends import cuda
from minichainer.utils import array, conv, conv_nd

pytestmark = pytest.mark.gpu
IMAGE = np.arange(2 * 3 * 5 * 6, dtype='f').reshape(2, 3, 5, 6)
COLUMNS = np.arange(2 * 3 * 2 * 2 * 4 * 5, dtype='f').reshape(2, 3, 2, 2, 4, 5)
DENSE = np.array([[0.0, 2, 0], [1, 0, 3]], 'f')
ONES = np.ones(2, 'i')


def coo(x: Any) -> Any:
    return x.data, x.row, x.col, x.to_dense()


def silently(function: Any, x: Any) -> Any:
    """The result of a deprecated function."""
    with pytest.warns(DeprecationWarning, match='deprecated'):
        return function(x)


CALLS: dict[str, Callable[[Any], Any]] = {
    'force_array': lambda send: utils.force_array(send(IMAGE)[0, 0, 0, 0]),
    'force_type': lambda send: utils.force_type(np.dtype('d'), send(DENSE)),
    'sum_to': lambda send: utils.sum_to(send(IMAGE), (3, 1, 6)),
    'to_coo': lambda send: coo(utils.to_coo(send(DENSE))),
    'to_coo of a batch': lambda send: coo(utils.to_coo(send(np.stack([DENSE, DENSE * 0])), ldnz=4)),
    'CooMatrix': lambda send: coo(
        utils.CooMatrix(send(np.ones(2, 'f')), send(np.array([0, 1], 'i')), send(ONES), (2, 3))
    ),
    'as_vec': lambda send: silently(array.as_vec, send(IMAGE)),
    'as_mat': lambda send: silently(array.as_mat, send(IMAGE)),
    'empty_like': lambda send: np.full_like(silently(array.empty_like, send(IMAGE)), 2),
    'im2col': lambda send: conv.im2col(send(IMAGE), 2, 2, 1, 1, 0, 0),
    'col2im': lambda send: conv.col2im(send(COLUMNS), 1, 1, 0, 0, 5, 6),
    'im2col_nd': lambda send: conv_nd.im2col_nd(send(IMAGE), (2, 2), (1, 1), (0, 0)),
    'col2im_nd': lambda send: conv_nd.col2im_nd(send(COLUMNS), (1, 1), (0, 0), (5, 6)),
}


@pytest.fixture(params=[0, 1])
def device(request: pytest.FixtureRequest) -> Any:
    if request.param >= cuda.cupy.cuda.runtime.getDeviceCount():
        pytest.skip('one GPU only')
    return chainer.get_device(f'@cupy:{request.param}')


def flat(values: Any) -> Iterator[Any]:
    for value in values if isinstance(values, (tuple, list)) else [values]:
        yield value.array if isinstance(value, chainer.Variable) else value


@pytest.mark.parametrize('name', CALLS)
def test_results(name: str, device: Any) -> None:
    with device.create_context():  # these compute where the caller is
        found = list(flat(CALLS[name](device.send)))
    for f, e in zip(found, flat(CALLS[name](lambda x: x)), strict=True):
        assert device.is_array_supported(f) and f.dtype == e.dtype
        np.testing.assert_array_equal(f.get(), e)


def test_orders_of_coordinates(device: Any) -> None:
    with device.create_context():
        assert utils.get_order(device.send(np.array([0, 0, 1], 'i')), device.send(np.array([0, 2, 1], 'i'))) == 'C'


def test_walker_alias(device: Any) -> None:
    sampler = utils.WalkerAlias([0.5, 0.25, 0.25]).to_device(device)
    assert sampler.use_gpu
    found = sampler.sample((4000,))
    assert device.is_array_supported(found) and found.dtype == 'i'
    np.testing.assert_allclose(np.bincount(found.get()) / 4000, [0.5, 0.25, 0.25], atol=0.05)
