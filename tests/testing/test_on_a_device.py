"""The test cases of ``minichainer.testing`` on GPUs: right functions and links pass, wrong ones fail."""

from __future__ import annotations

import unittest
from typing import Any

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F
import minichainer.links as L
from minichainer import testing
from minichainer.backends import cuda
from tests.testing.running import run

pytestmark = pytest.mark.gpu
SETTINGS = [{}, {'use_cuda': True}, {'use_cuda': True, 'cuda_device': 1}]


class Tanh(testing.FunctionTestCase):
    __test__ = False  # run by the tests below

    def generate_inputs(self) -> Any:
        return (np.random.uniform(-1, 1, (2, 3)).astype('f'),)

    def forward(self, inputs: Any, device: Any) -> Any:
        assert device.is_array_supported(inputs[0].array)
        return (F.tanh(inputs[0]),)

    def forward_expected(self, inputs: Any) -> Any:
        return (np.tanh(inputs[0]),)


class WrongValue(Tanh):
    def forward(self, inputs: Any, device: Any) -> Any:
        return (F.tanh(inputs[0]) * 1.01,)


class WrongOnDevice(Tanh):
    """Right on the CPU."""

    def forward(self, inputs: Any, device: Any) -> Any:
        return (F.tanh(inputs[0]) if device.xp is np else F.tanh(-inputs[0]),)


class LinearCase(testing.LinkTestCase):
    __test__ = False
    param_names = ('W', 'b')

    def generate_params(self) -> Any:
        return np.random.uniform(-1, 1, (2, 3)).astype('f'), np.random.uniform(-1, 1, 2).astype('f')

    def generate_inputs(self) -> Any:
        return (np.random.uniform(-1, 1, (4, 3)).astype('f'),)

    def create_link(self, initializers: Any) -> Any:
        return L.Linear(3, 2, initialW=initializers[0], initial_bias=initializers[1])

    def forward_expected(self, link: Any, inputs: Any) -> Any:
        return (inputs[0].dot(link.W.array.T) + link.b.array,)


class InitializersCase(testing.LinkInitializersTestCase):
    __test__ = False
    param_names = ('W',)

    def generate_params(self) -> Any:
        return (np.ones((2, 3), 'f'),)

    def generate_inputs(self) -> Any:
        return (np.ones((4, 3), 'f'),)

    def create_link(self, initializers: Any) -> Any:
        return L.Linear(3, 2, nobias=True, initialW=initializers[0])

    def get_initializers(self) -> Any:
        return [[chainer.initializers.Constant(2.0), 2.0]]

    def forward(self, link: Any, inputs: Any, device: Any) -> Any:
        return (link(*inputs),)


def result_of(cls: type) -> unittest.TestResult:
    if cuda.cupy.cuda.runtime.getDeviceCount() < 2:
        pytest.skip('one GPU only')
    injected = type(cls.__name__, (cls,), {'__module__': __name__})
    return run(testing.inject_backend_tests(None, SETTINGS)(injected))


@pytest.mark.parametrize('cls', [Tanh, LinearCase, InitializersCase])
def test_right_ones(cls: type) -> None:
    result = result_of(cls)
    assert result.testsRun and result.testsRun % 3 == 0 and not result.skipped
    assert result.wasSuccessful(), [text for _, text in (*result.errors, *result.failures)]


@pytest.mark.parametrize(('cls', 'count'), [(WrongValue, 3), (WrongOnDevice, 2)])
def test_wrong_ones(cls: type, count: int) -> None:
    """Only the forward test sees them: their gradients are those of what they compute."""
    result = result_of(cls)
    names = [test.id().rpartition('.')[2] for test, _ in (*result.errors, *result.failures)]
    assert len(names) == count and all('test_forward' in name for name in names)


@pytest.mark.parametrize('number', [0, 1])
def test_arrays_of_a_config(number: int) -> None:
    if number >= cuda.cupy.cuda.runtime.getDeviceCount():
        pytest.skip('one GPU only')
    config = testing.BackendConfig({'use_cuda': True, 'cuda_device': number})
    array = config.get_array(np.ones(2, 'f'))
    assert array.device.id == number and config.xp is cuda.cupy
    with config:
        assert cuda.Device().id == number


@testing.attr.gpu
def test_closeness_of_arrays_of_both_sides() -> None:
    testing.assert_allclose(cuda.to_gpu(np.ones(2)), np.ones(2))
    with pytest.raises(AssertionError):
        testing.assert_allclose(cuda.to_gpu(np.ones(2)), np.zeros(2))


def test_a_function_of_one_argument() -> None:
    @testing.unary_math_function_unittest(F.exp, make_data=None)
    class TestExp(unittest.TestCase):
        pass

    assert run(TestExp).wasSuccessful()
