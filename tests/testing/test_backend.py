"""Devices and settings injected into tests."""

from __future__ import annotations

import pickle
import unittest
from typing import Any

import numpy as np
import pytest

import minichainer
from minichainer import testing
from minichainer.testing._cases import cases_of
from tests.testing.running import run, verdicts

NO_GPU = not minichainer.backends.cuda.available


def test_defaults() -> None:
    config = testing.BackendConfig({})
    assert repr(config) == (
        '<BackendConfig use_chainerx=False chainerx_device=None use_cuda=False cuda_device=None '
        "use_cudnn='never' cudnn_deterministic=False autotune=False cudnn_fast_batch_normalization=False "
        "use_ideep='never'>"
    )
    assert config.get_func_str() == (
        'use_chainerx_false__chainerx_device_None__use_cuda_false__cuda_device_None__use_cudnn_never__'
        'cudnn_deterministic_false__autotune_false__cudnn_fast_batch_normalization_false__use_ideep_never'
    )
    assert config.xp is np and config.device == minichainer.get_device('@numpy')
    assert config.get_pytest_marks() == []


def test_settings_hold_inside() -> None:
    before = minichainer.config.use_cudnn
    config = testing.BackendConfig({'use_cudnn': 'never', 'cudnn_deterministic': True, 'autotune': True})
    with config as entered, config:
        assert entered is config
        assert (minichainer.config.use_cudnn, minichainer.config.autotune) == ('never', True)
        assert minichainer.config.cudnn_deterministic is True
    assert minichainer.config.use_cudnn == before and not minichainer.config.autotune


def test_arrays_are_sent() -> None:
    config, x = testing.BackendConfig({}), np.arange(3)
    assert config.get_array(x) is x and config.get_array(None) is None
    assert config.get_array([x, None])[0] is x
    with pytest.raises(TypeError, match='Variable'):
        config.get_array(minichainer.Variable(np.zeros(3, np.float32)))


def test_the_first_gpu_is_the_default() -> None:
    assert testing.BackendConfig({'use_cuda': True}).cuda_device == 0
    assert len(testing.BackendConfig({'use_cuda': True}).get_pytest_marks()) == 1
    assert len(testing.BackendConfig({'use_cuda': True, 'use_cudnn': 'always'}).get_pytest_marks()) == 2


def test_unknown_settings() -> None:
    with pytest.raises(ValueError, match="unknown setting 'use_tpu'; there are use_chainerx"):
        testing.BackendConfig({'use_tpu': True})
    with pytest.raises(ValueError, match='mutually exclusive'):
        testing.BackendConfig({'use_cuda': True, 'use_chainerx': True})
    with pytest.raises(TypeError, match='expected a dict of settings'):
        testing.BackendConfig([])


@pytest.mark.parametrize(
    ('params', 'what'),
    [({'use_chainerx': True, 'chainerx_device': 'native:0'}, 'ChainerX'), ({'use_ideep': 'always'}, 'iDeep')],
)
def test_what_does_not_exist_is_accepted_and_refused_when_used(params: dict, what: str) -> None:
    config = testing.BackendConfig(params)
    with pytest.raises(RuntimeError, match=f'{what} is not supported by minichainer'), config:
        pass
    with pytest.raises(RuntimeError, match=f'{what} is not supported by minichainer'):
        assert config.device


def test_config_is_pickled() -> None:
    config = pickle.loads(pickle.dumps(testing.BackendConfig({'use_cudnn': 'auto'})))
    assert config.use_cudnn == 'auto'


class Seen:
    seen: list[Any] = []

    def test_named(self, backend_config: Any) -> None:
        self.seen.append(backend_config)

    def test_other(self) -> None:
        self.seen.append('other')


def _fresh(name: str = 'Injected') -> type:
    return type(name, (Seen, unittest.TestCase), {'__module__': __name__, 'seen': []})


PARAMS = [{}, {'use_cudnn': 'always'}, {'use_chainerx': True, 'chainerx_device': 'native:0'}, {'use_ideep': 'always'}]


def test_injected() -> None:
    cls = testing.inject_backend_tests(['test_named'], PARAMS)(_fresh())
    result = run(cls)
    assert result.wasSuccessful() and result.testsRun == 5
    assert sorted(getattr(c, 'use_cudnn', c) for c in cls.seen) == ['always', 'never', 'other']
    assert sorted(reason for _, reason in result.skipped) == [
        'ChainerX is not supported by minichainer',
        'iDeep is not supported by minichainer',
    ]
    assert cases_of(cls)[0].__name__.startswith('Injected_use_chainerx_false__')


@pytest.mark.skipif(not NO_GPU, reason='there is a GPU')
def test_a_test_of_a_gpu_is_skipped_without_one() -> None:
    cls = testing.inject_backend_tests(['test_named'], [{'use_cuda': True, 'cuda_device': 1}])(_fresh())
    result = run(cls)
    assert verdicts(result) == {'test_named': 'needs 2 GPUs with CuPy, 0 found'}
    assert cls.seen == ['other']


def test_each_test_gets_a_config_of_its_own() -> None:
    class Changing(unittest.TestCase):
        def test_a(self, backend_config: Any) -> None:
            backend_config.use_cudnn = 'auto'

        def test_b(self, backend_config: Any) -> None:
            self.assertEqual(backend_config.use_cudnn, 'never')

    result = run(testing.inject_backend_tests(None, [{}, {'autotune': True}])(Changing))
    assert result.wasSuccessful() and result.testsRun == 4


@pytest.mark.parametrize('order', ['parameterize first', 'inject first'])
def test_with_parameterize(order: str) -> None:
    inject = testing.inject_backend_tests(['test_named'], [{}, {'use_cudnn': 'auto'}])
    params = testing.parameterize({'a': 1}, {'a': 2})
    first, second = (params, inject) if order == 'parameterize first' else (inject, params)
    cls = second(first(_fresh()))
    assert run(cls).wasSuccessful()
    assert len(cls.seen) == 6  # test_other runs once for each parameter.


@pytest.mark.parametrize('bad', [{}, [1], [testing.BackendConfig({})], {'use_cuda': [True]}])
def test_params_must_be_dicts(bad: Any) -> None:
    with pytest.raises(TypeError, match='params must be a list of dicts'):
        testing.inject_backend_tests(None, bad)


def test_a_name_of_no_test() -> None:
    with pytest.raises(ValueError, match='Injected has no test test_typo'):
        testing.inject_backend_tests(['test_typo'], [{}])(_fresh())
