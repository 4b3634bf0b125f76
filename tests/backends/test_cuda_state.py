"""Device, driver and CuPy are told apart: a small package ``cupy`` for each state of a computer."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import minichainer
from minichainer.backends import _cuda_state

#: The names of CuPy that are used when minichainer is imported; ``STATE`` says what its runtime answers.
CUPY = """
import types
from cupy.cuda import STATE, runtime
class ndarray: pass
__version__ = STATE.get('version', '13.6.0')
def is_available():
    try:
        return runtime.getDeviceCount() > 0
    except RuntimeError:
        if __version__.startswith('13'):
            raise
        return False
def get_array_module(*args):
    import numpy
    return numpy
def memoize(for_each_device=False):
    return lambda function: function
"""
CUDA = """
import json, os, types
STATE = json.loads(os.environ['STATE'])
exec(STATE.get('raises', ''))
class Device:
    def __init__(self, device=None):
        self.id = runtime.getDeviceCount() and (device or 0)
Event = Stream = object
def count():
    if 'error' in STATE:
        raise RuntimeError(STATE['error'])
    return len(STATE.get('devices', []))
runtime = types.SimpleNamespace(
    getDeviceCount=count,
    driverGetVersion=lambda: STATE.get('driver', 0),
    runtimeGetVersion=lambda: STATE.get('runtime', 12090),
    getDeviceProperties=lambda number: {'name': STATE['devices'][number].encode()},
)
nvrtc = types.SimpleNamespace(getVersion=lambda: STATE['nvrtc'])
"""
PROGRAM = """
import json, sys, warnings
if {absent}:
    sys.modules['cupy'] = None
import numpy as np
import minichainer as chainer
from minichainer import _runtime_info
from minichainer.backends import cuda

def error_of(call):
    try:
        call()
    except Exception as error:
        return str(error)

warnings.simplefilter('ignore', DeprecationWarning)
model = chainer.links.Linear(2, 2)
calls = [
    cuda.check_cuda_available, lambda: chainer.get_device('@cupy:0'), lambda: chainer.get_device(0),
    lambda: cuda.to_gpu(np.zeros(2)), model.to_gpu, lambda: model.to_device('@cupy:0'),
    lambda: chainer.Variable(np.zeros(2)).to_gpu(), lambda: chainer.using_device('@cupy:0'),
    lambda: cuda.get_device_from_id(0), lambda: cuda.Device(0).__enter__(), lambda: cuda.GpuDevice(cuda.Device()),
]
print(json.dumps([cuda.available, [error_of(call) for call in calls], error_of(lambda: cuda.cupy.zeros),
                  _runtime_info.runtime_info(), error_of(lambda: chainer.get_device('@cupy:2'))]))
"""

OLD = 'cudaErrorInsufficientDriver: CUDA driver version is insufficient for CUDA runtime version'
NONE = 'cudaErrorNoDevice: no CUDA-capable device is detected'
#: Per state: what CuPy answers, the reason, the beginning of what to do.
STATES: dict[str, tuple[dict[str, Any] | None, str, str]] = {
    'import fails': (
        {'raises': 'raise ImportError("a page") from OSError("libcudart.so.12: not found\\nsecond line")'},
        'CuPy is installed, but importing it fails (OSError: libcudart.so.12: not found)',
        'Remove every package of CuPy (pip list shows them) and install one',
    ),
    'import fails without a cause': (
        {'raises': 'raise AttributeError'},
        'CuPy is installed, but importing it fails (AttributeError: )',
        'Remove every package',
    ),
    'no driver, CuPy 13': (
        {'error': OLD},
        'CuPy 13.6.0 is installed, but there is no NVIDIA driver',
        'Install the driver (nvidia-smi',
    ),
    'no driver, CuPy 14': (
        {'error': OLD, 'version': '14.2.0'},
        'CuPy 14.2.0 is installed, but there is no NVIDIA driver',
        'Install the driver (nvidia-smi',
    ),
    'old driver': (
        {'error': OLD, 'driver': 11040},
        'the driver is too old: it supports CUDA 11.4, and CuPy 13.6.0 is built for 12.9',
        'Update the driver to 525 or later, or remove the package and pip install "cupy-cuda11x<14", or',
    ),
    'driver of CUDA 12, CuPy for 13': (
        {'error': OLD, 'driver': 12040, 'runtime': 13000, 'version': '14.2.0'},
        'the driver is too old: it supports CUDA 12.4, and CuPy 14.2.0 is built for 13.0',
        'Update the driver to 580 or later, or remove the package and pip install "cupy-cuda12x[ctk]", or',
    ),
    'very old driver': (
        {'error': OLD, 'driver': 9010},
        'the driver is too old: it supports CUDA 9.1, and CuPy 13.6.0 is built for 12.9',
        'Update the driver to 525 or later, or stay on the CPU',
    ),
    'driver older than a future CuPy': (
        {'error': OLD, 'driver': 13000, 'runtime': 15000},
        'the driver is too old: it supports CUDA 13.0, and CuPy 13.6.0 is built for 15.0',
        'Update the driver, or remove the package and pip install "cupy-cuda13x[ctk]", or stay on the CPU',
    ),
    'no device': (
        {'error': NONE, 'driver': 12040},
        'CuPy 13.6.0 and a driver for CUDA 12.4 are installed, but there is no GPU',
        'See whether nvidia-smi lists one, or stay on the CPU',
    ),
    'no device, CuPy 14': (
        {'driver': 13000, 'version': '14.2.0'},
        'CuPy 14.2.0 and a driver for CUDA 13.0 are installed, but there is no GPU',
        'See whether nvidia-smi lists one, or stay on the CPU',
    ),
    'device hidden': (
        {'error': NONE, 'driver': 12040, 'visible': ''},
        'CuPy 13.6.0 and a driver for CUDA 12.4 are installed, but there is no GPU',
        "CUDA_VISIBLE_DEVICES is '': unset it, or name a GPU that nvidia-smi lists, or stay on the CPU",
    ),
    'device out of order': (
        {'error': 'cudaErrorSystemNotReady: system not yet initialized', 'driver': 12040},
        'CuPy 13.6.0 is installed, but the driver reports cudaErrorSystemNotReady: system not yet initialized',
        'See what nvidia-smi says, or stay on the CPU',
    ),
}


def _found(tmp_path: Path, state: dict[str, Any] | None) -> Any:
    """What the program prints, with a package ``cupy`` in that state, or without one."""
    for name, source in {'__init__': CUPY, 'cuda': CUDA}.items():
        path = tmp_path / 'cupy' / f'{name}.py'
        path.parent.mkdir(exist_ok=True)
        path.write_text(source, encoding='utf-8')
    metadata = tmp_path / 'cupy_cuda12x-13.6.0.dist-info' / 'METADATA'
    metadata.parent.mkdir()
    metadata.write_text('Metadata-Version: 2.1\nName: cupy-cuda12x\nVersion: 13.6.0\n', encoding='utf-8')
    root = str(Path(minichainer.__file__).parent.parent)
    environment = {**os.environ, 'PYTHONPATH': os.pathsep.join([str(tmp_path), root]), 'STATE': json.dumps(state)}
    environment.pop('CUDA_VISIBLE_DEVICES', None)
    if state and 'visible' in state:
        environment['CUDA_VISIBLE_DEVICES'] = state['visible']
    command = [sys.executable, '-W', 'error', '-c', PROGRAM.replace('{absent}', str(state is None))]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=tmp_path, timeout=120)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize('name', STATES)
def test_reason_and_remedy(tmp_path: Path, name: str) -> None:
    state, reason, remedy = STATES[name]
    available, errors, of_cupy, info, _ = _found(tmp_path, state)
    assert not available and errors[0].startswith(f'CUDA is not available: {reason}. {remedy}')
    assert errors[0].endswith(', or stay on the CPU') and set(errors) == {errors[0]}
    assert of_cupy == f'cupy.zeros: {errors[0]}'
    assert f'CUDA is {info["CUDA"]}' == errors[0] and info['Devices'] == 'none'
    assert 'cupy-cuda12x' in info['CuPy'], 'the package is named'


def test_versions_without_a_device(tmp_path: Path) -> None:
    info = _found(tmp_path, {'error': NONE, 'driver': 12040, 'version': '14.2.0'})[3]
    assert info['CuPy'].startswith('14.2.0 (') and info['CUDA runtime'] == '12.9'
    assert info['CUDA driver'].startswith('CUDA 12.4')
    assert info['NVRTC'].startswith('not found: install the CUDA Toolkit, or the extra ctk')


def test_without_cupy(tmp_path: Path) -> None:
    available, errors, of_cupy, _, _ = _found(tmp_path, None)
    assert not available and errors[0].startswith('CUDA is not available: CuPy is not installed. ')
    assert set(errors) == {errors[0]} and of_cupy == f'cupy.zeros: {errors[0]}'


def test_with_devices(tmp_path: Path) -> None:
    state = {'devices': ['NVIDIA A', 'NVIDIA B'], 'driver': 12040, 'nvrtc': [12, 9]}
    available, _, _, info, of_third = _found(tmp_path, state)
    assert available and info['CUDA'] == 'available' and info['NVRTC'] == '12.9'
    assert info['Devices'] == '@cupy:0 NVIDIA A, @cupy:1 NVIDIA B'
    assert of_third == 'there is no CUDA device 2: CuPy sees 2, numbered from 0'


DRIVERS = {
    0: 'There is no NVIDIA driver either: install one, and its CuPy package '
    '("cupy-cuda12x[ctk]" for drivers from 525 on, "cupy-cuda13x[ctk]" for drivers from 580 on)',
    10020: 'The driver supports CUDA 10.2: update it to 525 or later, then pip install "cupy-cuda12x[ctk]"',
    11020: 'The driver supports CUDA 11.2: pip install "cupy-cuda11x<14"',
    12000: 'The driver supports CUDA 12.0: pip install "cupy-cuda12x[ctk]"',
    12090: 'The driver supports CUDA 12.9: pip install "cupy-cuda12x[ctk]"',
    13000: 'The driver supports CUDA 13.0: pip install "cupy-cuda13x[ctk]"',
}


@pytest.mark.parametrize('driver', DRIVERS)
def test_the_package_for_a_driver(monkeypatch: pytest.MonkeyPatch, driver: int) -> None:
    monkeypatch.setattr(sys, 'platform', 'linux')
    assert _cuda_state._not_installed(driver) == ('CuPy is not installed', DRIVERS[driver])
    monkeypatch.setattr(sys, 'platform', 'darwin')
    assert _cuda_state._not_installed(driver).remedy.startswith('There is no CuPy for macOS')
