"""What CuPy refuses, and what it does otherwise than NumPy: the stand-in must do the same.

Everything here is said of CuPy, so these tests also run on a device (`pytest -m gpu`).
"""

from __future__ import annotations

import contextlib
import copy
import operator
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

HOST = np.ones((2, 3), 'f')


def device_array(cupy: Any, dtype: str = 'f') -> Any:
    return cupy.asarray(np.arange(6, dtype=dtype).reshape(2, 3))


#: Uses of a device array ``x`` together with one of the host, or as one.
MIXTURES: dict[str, Callable[[Any, Any], Any]] = {
    'x + host': lambda cupy, x: x + HOST,
    'host + x': lambda cupy, x: HOST + x,
    'host += x': lambda cupy, x: operator.iadd(HOST.copy(), x),
    'x += host': lambda cupy, x: operator.iadd(x, HOST),
    'x == host': lambda cupy, x: x == HOST,
    'x @ host': lambda cupy, x: x @ HOST.T,
    'host @ x': lambda cupy, x: HOST.T @ x,
    'ufunc': lambda cupy, x: cupy.maximum(x, HOST),
    'ufunc of the host': lambda cupy, x: cupy.exp(HOST),
    'ufunc out': lambda cupy, x: cupy.exp(x, out=HOST.copy()),
    'NumPy ufunc': lambda cupy, x: np.maximum(x, HOST),
    'where': lambda cupy, x: cupy.where(x > 1, x, HOST),
    'NumPy where': lambda cupy, x: np.where(x > 1, x, HOST),
    'condition': lambda cupy, x: cupy.where(HOST > 1, x, x),
    'concatenate': lambda cupy, x: cupy.concatenate([x, HOST]),
    'NumPy concatenate': lambda cupy, x: np.concatenate([HOST, x]),
    'einsum': lambda cupy, x: cupy.einsum('ij,ij->i', x, HOST),
    'reduction': lambda cupy, x: cupy.sum(HOST),
    'reduction of a list': lambda cupy, x: cupy.sum([1, 2]),
    'linalg': lambda cupy, x: cupy.linalg.inv(np.eye(2)),
    'copyto': lambda cupy, x: cupy.copyto(x, HOST),
    'setitem': lambda cupy, x: x.__setitem__(0, HOST[0]),
    'setitem of a list': lambda cupy, x: x.__setitem__(0, [1, 2, 3]),
    'slice': lambda cupy, x: x[: cupy.asarray(1)],
    'range': lambda cupy, x: range(x[0, 1]),
    'asarray': lambda cupy, x: np.asarray(x),
    'array': lambda cupy, x: np.array([x, x]),
    'host copyto': lambda cupy, x: np.copyto(HOST.copy(), x),
    'host setitem': lambda cupy, x: HOST.copy().__setitem__(0, x[0]),
    'host indexed': lambda cupy, x: HOST[x.astype('i')],
    'normal': lambda cupy, x: cupy.random.normal(HOST, 1),
    'scatter out': lambda cupy, x: cupy.take(HOST, cupy.asarray([0])),
}  # fmt: skip


#: What CuPy 14.2 permits.
MOVED_IN_SILENCE = {'einsum', 'reduction', 'slice'}


@pytest.mark.parametrize('use', MIXTURES)
def test_arrays_of_host_and_device_do_not_mix(use: str, cupy: Any) -> None:
    if use in MOVED_IN_SILENCE and not hasattr(cupy, '_meter'):
        pytest.skip('CuPy copies between host and device in silence; the stand-in does not')
    x = device_array(cupy)
    with pytest.raises((TypeError, ValueError, AttributeError, np.linalg.LinAlgError)):
        MIXTURES[use](cupy, x)


#: What is no mixture.
FITTING: dict[str, Callable[[Any, Any], Any]] = {
    'number': lambda cupy, x: x + 1,
    'NumPy number': lambda cupy, x: np.float32(2) * x,
    'reflected': lambda cupy, x: 2 - x,
    'NumPy ufunc of it': lambda cupy, x: np.exp(x),
    'NumPy function of it': lambda cupy, x: np.sum(x, axis=0),
    'fill by a number': lambda cupy, x: operator.setitem(x, 0, 3) or x,
    'fill by a 0-d array': lambda cupy, x: operator.setitem(x, 0, np.array(3.0)) or x,
    'list as index': lambda cupy, x: x[[0, 1]],
    'array of the host as index': lambda cupy, x: x[np.array([0, 1])],
    'host array to the device': lambda cupy, x: cupy.asarray(HOST),
}


@pytest.mark.parametrize('use', FITTING)
def test_what_fits(use: str, cupy: Any) -> None:
    assert isinstance(FITTING[use](cupy, device_array(cupy)), cupy.ndarray)


def test_only_names_of_cupy_exist(cupy: Any) -> None:
    x = device_array(cupy)
    for owner, name in ((cupy, 'float128'), (cupy, 'object_'), (x, 'itemset'), (x, 'newbyteorder'), (x, '__index__')):
        assert not hasattr(owner, name), name


def test_parameters_are_those_of_cupy(cupy: Any) -> None:
    x = device_array(cupy)
    for call in (
        lambda: cupy.sum(x, where=x > 0),
        lambda: x.sum(initial=1),
        lambda: cupy.exp(x, subok=True),
        lambda: x.astype('d', subok=False),
    ):
        with pytest.raises(TypeError):
            call()


@pytest.mark.parametrize('dtype', ['O', 'U3', 'g', 'M8[s]'])
def test_dtypes_that_cupy_has_not(dtype: str, cupy: Any) -> None:
    with pytest.raises((ValueError, TypeError)):
        cupy.zeros(3, dtype)


#: Operations, and the dtypes of their results by version.
PROMOTIONS: list[tuple[str, Callable[[Any], Any], str, str]] = [
    ('float32 and a number', lambda c: c.zeros(2, 'f') + 1.5, 'f', 'f'),
    ('float16 and an int', lambda c: c.zeros(2, 'e') * 3, 'e', 'e'),
    ('float32 and float64 of NumPy', lambda c: c.zeros(2, 'f') * np.float64(2), 'f', 'd'),
    ('float32 and 0-d float64', lambda c: c.zeros(2, 'f') * c.asarray(2.0), 'd', 'd'),
    ('int32 and a float', lambda c: c.zeros(2, 'i') + 0.5, 'd', 'd'),
    ('int64 and float32', lambda c: c.zeros(2, 'l') + c.zeros(2, 'f'), 'd', 'd'),
    ('where', lambda c: c.where(c.zeros(2, '?'), c.zeros(2, 'f'), 0.0), 'f', 'f'),
    ('erf of float16', lambda c: __import__('cupyx.scipy.special').scipy.special.erf(c.zeros(2, 'e')), 'f', 'd'),
]


@pytest.mark.parametrize(('what', 'call', 'before', 'since'), PROMOTIONS, ids=[p[0] for p in PROMOTIONS])
def test_dtypes_of_results(what: str, call: Any, before: str, since: str, cupy: Any) -> None:
    expected = since if int(cupy.__version__.split('.')[0]) >= 14 else before
    assert call(cupy).dtype == expected


def test_an_int_that_does_not_fit(cupy: Any) -> None:
    if int(cupy.__version__.split('.')[0]) < 14:
        assert (cupy.zeros(2, 'B') + 300).dtype == 'H'
        return
    with pytest.raises(OverflowError):
        cupy.zeros(2, 'B') + 300


def test_in_place_keeps_the_dtype(cupy: Any) -> None:
    x = device_array(cupy)
    x += cupy.ones(3, 'd')
    assert x.dtype == 'f'
    with pytest.raises(TypeError):
        operator.iadd(device_array(cupy, 'i'), 0.5)


def test_half_has_no_linear_algebra(cupy: Any) -> None:
    with pytest.raises(TypeError, match='float16'):
        cupy.linalg.inv(cupy.eye(2, dtype='e'))


def test_results_are_arrays(cupy: Any) -> None:
    x = device_array(cupy)
    for found in (
        x.sum(),
        x[0, 0],
        x.max(),
        cupy.argmax(x),
        cupy.dot(x[0], x[0]),
        (x > 0).all(),
        cupy.array_equal(x, x),
    ):
        assert isinstance(found, cupy.ndarray) and found.shape == ()


def test_indices_out_of_bounds_wrap_around(cupy: Any) -> None:
    x = cupy.arange(4)
    far = cupy.asarray([5, -6, 3])
    assert x[far].get().tolist() == [1, 2, 3] == cupy.take(x, far).get().tolist()
    x[far] = 0
    assert x.get().tolist() == [0, 0, 0, 0]
    with pytest.raises(IndexError):
        x[5]


def test_repeated_indices(cupy: Any) -> None:
    x, i = cupy.zeros(3, 'f'), cupy.asarray([1, 1, 2])
    x[i] += 1
    assert x.get().tolist() == [0, 1, 1]
    cupy.add.at(x, i, 1)
    assert x.get().tolist() == [0, 3, 2]
    with pytest.raises((TypeError, NotImplementedError)):
        cupy.add.at(cupy.zeros(3, 'F'), i, 1)
    with pytest.raises((TypeError, NotImplementedError)):
        cupy.multiply.at(x, i, 2)


def test_silence_of_cusolver(cupy: Any) -> None:
    cupyx = pytest.importorskip('cupyx')
    singular, indefinite = cupy.zeros((2, 2)), cupy.asarray([[1.0, 2.0], [2.0, 1.0]])
    assert not cupy.isfinite(cupy.linalg.inv(singular)).all()
    assert not cupy.isfinite(cupy.linalg.solve(singular, cupy.ones(2))).all()
    assert cupy.linalg.cholesky(indefinite).shape == (2, 2)
    assert cupy.linalg.inv(cupy.stack([singular, cupy.eye(2)]))[1].get().tolist() == [[1, 0], [0, 1]]
    with cupyx.errstate(linalg='raise'), pytest.raises(np.linalg.LinAlgError):
        cupy.linalg.cholesky(indefinite)


def test_random_numbers(cupy: Any) -> None:
    cupy.random.seed(3)
    first = cupy.random.rand(3).get()
    cupy.random.seed(3)
    np.testing.assert_array_equal(cupy.random.rand(3).get(), first)
    assert not np.allclose(first, np.random.RandomState(3).rand(3))
    assert not hasattr(cupy.random.get_random_state(), 'get_state') and cupy.random.rand().shape == ()
    with pytest.raises(TypeError):
        cupy.random.normal(size=2, dtype='e')


def test_copies(cupy: Any) -> None:
    x = device_array(cupy)
    for other in (pickle.loads(pickle.dumps(x)), copy.copy(x), copy.deepcopy(x), cupy.array(x)):
        assert isinstance(other, cupy.ndarray) and other is not x
        other += 1
    assert x.get().tolist() == [[0, 1, 2], [3, 4, 5]] and cupy.asarray(x) is x
    view = x[:, 1]
    view += 10
    assert x.get()[:, 1].tolist() == [11, 14]


def test_fused_functions(cupy: Any) -> None:
    double = cupy.fuse(kernel_name='double_of')(lambda x: x + x)
    assert double(device_array(cupy)).sum() == 30 and double(HOST).sum() == 12
    with pytest.raises(Exception, match=r'expected an? '):
        cupy.fuse(lambda x: x + x)(device_array(cupy))


def test_solve_does_not_broadcast(cupy: Any) -> None:
    matrices = cupy.stack([cupy.eye(2)] * 3)
    assert cupy.linalg.solve(matrices, cupy.ones((3, 2, 1))).shape == (3, 2, 1)
    for a, b in ((matrices, cupy.ones((1, 2, 1))), (matrices[0], cupy.ones((3, 2, 1)))):
        with pytest.raises(ValueError, match='must have'):
            cupy.linalg.solve(a, b)


def test_polygamma_takes_an_array_as_its_order(cupy: Any) -> None:
    special = pytest.importorskip('cupyx.scipy.special')
    assert special.polygamma(cupy.asarray(1.0), cupy.ones(3)).shape == (3,)
    with pytest.raises(AttributeError):
        special.polygamma(1, cupy.ones(3))


@pytest.fixture
def second(cupy: Any) -> Any:
    """A context of the second device."""
    if cupy.cuda.runtime.getDeviceCount() < 2:
        pytest.skip('one device only')
    return cupy.cuda.Device(1)


class TestTwoDevices:
    def test_arrays_live_where_they_were_made(self, cupy: Any, second: Any) -> None:
        x = device_array(cupy)
        with second:
            y = device_array(cupy)
            assert cupy.cuda.Device() == second
        assert (x.device.id, y.device.id, cupy.cuda.Device().id) == (0, 1, 0)
        assert y[0].device == y.T.device == y.reshape(6).device == second

    def test_an_operation_takes_arrays_of_the_current_device(self, cupy: Any, second: Any) -> None:
        meter = pytest.importorskip('cupy._meter', reason='where the machine can, CuPy reaches over and warns')
        x = device_array(cupy)
        assert meter is not None
        with second:
            y = device_array(cupy)
            for call in (
                lambda: x + y,
                lambda: x + 1,
                lambda: x.sum(),
                lambda: x[cupy.asarray([0])],
                lambda: x.fill(0),
            ):
                with pytest.raises(ValueError, match='Array device must be same as the current device'):
                    call()

    def test_copies_go_to_the_current_device(self, cupy: Any, second: Any) -> None:
        x = device_array(cupy)
        with second:
            for copied in (x.copy(), cupy.asarray(x), cupy.array(x), pickle.loads(pickle.dumps(x))):
                assert copied.device == second and copied.get().tolist() == x.get().tolist()
            y = cupy.zeros((2, 3), 'f')
        cupy.copyto(y, x)
        assert y.device == second and y.get().tolist() == x.get().tolist()

    def test_a_third_device_does_not_exist(self, cupy: Any, second: Any) -> None:
        with contextlib.suppress(AttributeError), pytest.raises(RuntimeError, match='invalid device'):
            cupy.cuda.Device(99).use()
