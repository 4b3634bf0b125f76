"""What all tests share: one BLAS thread, seeded random numbers, the array modules, the gpu marker."""

from __future__ import annotations

import gc
import os
from collections.abc import Generator, Iterator
from types import ModuleType
from typing import Any

# Read when NumPy is first imported, so set before. Small matrices gain nothing from threads, several test
# processes on one machine lose by them, and the order of summation stays the same on every machine.
for _name in ('OPENBLAS_NUM_THREADS', 'OMP_NUM_THREADS', 'MKL_NUM_THREADS', 'VECLIB_MAXIMUM_THREADS'):
    os.environ.setdefault(_name, '1')
os.environ.setdefault('MPLBACKEND', 'Agg')

import numpy as np  # noqa: E402
import pytest  # noqa: E402

#: A package named cupy, for the path of programs and of `make test-device`.
collect_ignore = ['cupy_stand_in']


class ReadOnlyNumPy:
    """NumPy whose functions return arrays that refuse to be written to.

    An op that changes its input, an upstream gradient or a Parameter in place fails on these arrays.
    """

    def __init__(self, module: ModuleType = np) -> None:
        self._module = module
        self.__name__ = f'read-only {module.__name__}'

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._module, name)
        if isinstance(value, ModuleType):
            return ReadOnlyNumPy(value)
        if isinstance(value, type) or not callable(value):
            return value
        return lambda *args, **kwargs: _frozen(value(*args, **kwargs))


def _frozen(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return type(value)(map(_frozen, value))
    if not isinstance(value, np.ndarray):
        return value
    view = value.view()  # The array itself may be the caller's own, as with asarray().
    view.flags.writeable = False
    return view


# What computes for arrays that cannot be written to does so for others, which the long run takes.
@pytest.fixture(
    params=[
        pytest.param('numpy', marks=pytest.mark.slow),
        'numpy-readonly',
        pytest.param('cupy', marks=pytest.mark.gpu),
    ]
)
def xp(request: pytest.FixtureRequest) -> Any:
    """The array module a test makes its arrays with: NumPy, read-only NumPy, CuPy where there is a GPU."""
    if request.param == 'numpy':
        return np
    if request.param == 'numpy-readonly':
        return ReadOnlyNumPy()
    from minichainer.backends import cuda

    return cuda.cupy


@pytest.fixture
def devices_of_parameters(request: pytest.FixtureRequest) -> None:
    """Skips a case whose parameters name the second GPU where there is one only."""
    from minichainer.backends import cuda

    if '@cupy:1' in request.node.callspec.params.values() and cuda.cupy.cuda.runtime.getDeviceCount() < 2:
        pytest.skip('one GPU only')


@pytest.fixture(autouse=True)
def _seeded() -> None:
    """Gives each test the same random numbers, whatever ran before it."""
    np.random.seed(0)


@pytest.fixture(autouse=True, scope='session')
def _checks_draw_the_same() -> None:
    """Gives checks without a seed the same one in each run; it decides what a check draws, and so what it costs."""
    from minichainer.verification import arguments

    arguments.process_seed = lambda: 0


@pytest.fixture(autouse=True)
def _settings_as_before() -> Iterator[None]:
    """Finds tests that leave a setting changed: compiled ops would decline in all later tests of the process."""
    from minichainer import configuration

    before, errors = configuration.nondefault, np.geterr()
    yield
    assert configuration.nondefault == before, 'the test leaves a setting changed, or a hook'
    assert np.geterr() == errors, 'the test leaves numpy.errstate changed'


def _gpu_missing() -> str | None:
    """The reason why tests marked `gpu` cannot run here, or None."""
    from minichainer.backends import cuda

    if not cuda.available:
        return 'no CuPy, or no CUDA device that it can use'
    return None


def _leaves_out_gpu(config: pytest.Config) -> bool:
    """Whether tests that need a GPU are not wanted: there is none, and nobody has asked for them."""
    return 'gpu' not in config.getoption('markexpr') and _gpu_missing() is not None


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    if _leaves_out_gpu(config):
        terminalreporter.write_line(f'Tests marked gpu were left out: {_gpu_missing()}')


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Hides the tests themselves from the garbage collector: it would look at a million objects each time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.collect()
        gc.freeze()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Takes out what would only be skipped, ten thousand times."""
    if _leaves_out_gpu(config):
        left_out = [item for item in items if item.get_closest_marker('gpu') is not None]
        items[:] = [item for item in items if item.get_closest_marker('gpu') is None]
        config.hook.pytest_deselected(items=left_out)


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker('gpu') is not None:
        reason = _gpu_missing()
        if reason is not None:
            pytest.skip(reason)
