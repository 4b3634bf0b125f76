"""What is known of CUDA: CuPy, the driver, the devices; and if it cannot be used, why, and what to do.

Versions of CUDA are numbers as the driver reports them: 12040 for 12.4.
"""

from __future__ import annotations

import ctypes
import os
import re
import sys
from typing import Any, NamedTuple

#: CuPy's packages: the version of CUDA that the driver must support, the first driver that does, what to install.
#: The extra ctk brings CUDA's libraries, which from CuPy 14 on are not in the package itself.
WHEELS = (
    (13000, '580', '"cupy-cuda13x[ctk]"'),
    (12000, '525', '"cupy-cuda12x[ctk]"'),
    (11020, '460', '"cupy-cuda11x<14"'),
)


class Failure(NamedTuple):
    """Why CUDA cannot be used, and what to do."""

    reason: str
    remedy: str

    def __str__(self) -> str:
        return f'CUDA is not available: {self.reason}. {self.remedy}, or stay on the CPU'


class CudaState(NamedTuple):
    """What :func:`state` finds. Empty texts and 0 stand for what is not there, or cannot be asked."""

    cupy: str
    packages: tuple[str, ...]
    runtime: str
    driver: str
    nvrtc: str
    devices: tuple[str, ...]
    failure: Failure | None


#: CuPy if it can be imported, and why not; :mod:`minichainer.backends.cuda` is where it is imported.
_cupy: Any = None
_import_error: Exception | None = None
_sees_a_gpu = False


def require_gpu(module: Any) -> None:
    """Stores CuPy, which can be imported; raises an error if it sees no GPU."""
    global _cupy, _sees_a_gpu
    _cupy = module
    if not module.is_available():  # CuPy 13 raises here if there is no driver, or an old one
        raise RuntimeError('CuPy sees no GPU')
    _sees_a_gpu = True


def not_usable(error: Exception) -> None:
    """Stores why CuPy cannot be imported, if that is what the error says."""
    global _import_error
    if _cupy is None:
        _import_error = error


def failure() -> Failure | None:
    """Why CUDA cannot be used; None if it can."""
    if _sees_a_gpu:
        return None
    if isinstance(_import_error, ModuleNotFoundError) and _import_error.name == 'cupy':
        return _not_installed(_driver_of_the_system())
    if _import_error is not None:
        return _not_imported(_import_error)
    return _no_device(f'CuPy {_version_of_cupy()}'.rstrip(), _asked('driverGetVersion'), _asked('runtimeGetVersion'))


def why_unavailable() -> str:
    """What is missing, and what to do, as text of an error."""
    return str(failure())


def _not_installed(driver: int) -> Failure:
    """CuPy is not there; ``driver`` chooses the package."""
    if sys.platform == 'darwin':
        return Failure('CuPy is not installed', 'There is no CuPy for macOS: use Linux or Windows')
    if driver:
        return Failure('CuPy is not installed', f'The driver supports CUDA {text(driver)}: {_package_for(driver)}')
    choice = ', '.join(f'{wheel} for drivers from {first} on' for _, first, wheel in reversed(WHEELS[:2]))
    return Failure(
        'CuPy is not installed', f'There is no NVIDIA driver either: install one, and its CuPy package ({choice})'
    )


def _package_for(driver: int) -> str:
    """What to install for a driver."""
    for needed, _, wheel in WHEELS:
        if driver >= needed:
            return f'pip install {wheel}'
    return f'update it to {WHEELS[1][1]} or later, then pip install {WHEELS[1][2]}'


def _not_imported(error: Exception) -> Failure:
    """CuPy is there, but broken."""
    cause = error.__cause__ or error  # CuPy wraps the error in a page of advice
    lines = str(cause).strip().splitlines() or ['']
    remedy = 'Remove every package of CuPy (pip list shows them) and install one, the one for the driver'
    return Failure(f'CuPy is installed, but importing it fails ({type(cause).__name__}: {lines[0]})', remedy)


def _no_device(cupy: str, driver: int, runtime: int) -> Failure:
    """CuPy is there, but sees no GPU."""
    error = _error_of_devices()
    if not driver:
        return Failure(
            f'{cupy} is installed, but there is no NVIDIA driver',
            'Install the driver (nvidia-smi lists the GPUs then), or give the container its GPUs',
        )
    if 'InsufficientDriver' in error:
        return _old_driver(cupy, driver, runtime)
    if error and 'NoDevice' not in error:
        return Failure(f'{cupy} is installed, but the driver reports {error}', 'See what nvidia-smi says')
    visible = os.environ.get('CUDA_VISIBLE_DEVICES')
    return Failure(
        f'{cupy} and a driver for CUDA {text(driver)} are installed, but there is no GPU',
        'See whether nvidia-smi lists one'
        if visible is None
        else f'CUDA_VISIBLE_DEVICES is {visible!r}: unset it, or name a GPU that nvidia-smi lists',
    )


def _old_driver(cupy: str, driver: int, runtime: int) -> Failure:
    """The driver is older than CuPy's CUDA."""
    needed = next((first for version, first, _ in WHEELS if version // 1000 == runtime // 1000), '')
    update = f'Update the driver to {needed} or later' if needed else 'Update the driver'
    other = f', or remove the package and {_package_for(driver)}' if driver >= WHEELS[-1][0] else ''
    reason = f'the driver is too old: it supports CUDA {text(driver)}, and {cupy} is built for {text(runtime)}'
    return Failure(reason, update + other)


def text(version: int) -> str:
    """A version of CUDA as it is written.

    >>> text(12040)
    '12.4'
    """
    return f'{version // 1000}.{version % 1000 // 10}' if version else ''


def state() -> CudaState:
    """All that is known, for reports."""
    driver = _asked('driverGetVersion') if _cupy is not None else _driver_of_the_system()
    release = _release_of_the_driver()
    return CudaState(
        cupy=_version_of_cupy(),
        packages=_packages(),
        runtime=text(_asked('runtimeGetVersion')),
        driver=f'{text(driver)} ({release})' if driver and release else text(driver),
        nvrtc=_version_of_nvrtc(),
        devices=_device_names() if _sees_a_gpu else (),
        failure=failure(),
    )


def device_count() -> int:
    """How many GPUs CuPy sees."""
    return int(_cupy.cuda.runtime.getDeviceCount())


def _device_names() -> tuple[str, ...]:
    properties = _cupy.cuda.runtime.getDeviceProperties
    names = [properties(number)['name'] for number in range(device_count())]
    return tuple(name.decode() if isinstance(name, bytes) else str(name) for name in names)


def _version_of_cupy() -> str:
    return str(getattr(_cupy, '__version__', ''))


def _asked(name: str) -> int:
    """What a function of CUDA's runtime returns; 0 if it fails."""
    try:
        return int(getattr(_cupy.cuda.runtime, name)())
    except Exception:
        return 0


def _version_of_nvrtc() -> str:
    """The version of CUDA's compiler, without which CuPy computes next to nothing."""
    try:
        return '.'.join(map(str, _cupy.cuda.nvrtc.getVersion()))
    except Exception:
        return ''


def _error_of_devices() -> str:
    """The error of counting devices; '' if that works."""
    try:
        device_count()
    except Exception as error:
        return str(error)
    return ''


def _driver_of_the_system() -> int:
    """The version of CUDA that the driver supports, asked without CuPy; 0 without a driver."""
    version = ctypes.c_int(0)
    try:
        library = ctypes.CDLL('nvcuda.dll' if sys.platform == 'win32' else 'libcuda.so.1')
        library.cuDriverGetVersion(ctypes.byref(version))
    except (OSError, AttributeError):
        return 0
    return version.value


def _release_of_the_driver() -> str:
    """The driver's own version, such as 550.54.15; '' where the system has no file about it."""
    try:
        with open('/proc/driver/nvidia/version', encoding='utf-8') as file:
            found = re.search(r'  (\d+\.[\d.]+)  ', file.read())
    except OSError:
        return ''
    return found.group(1) if found else ''


def _packages() -> tuple[str, ...]:
    """The installed packages of CuPy, of which there must be one at most."""
    import importlib.metadata  # imported here, because it takes a tenth of the package's import time

    names = {str(found.metadata['Name']) for found in importlib.metadata.distributions()}
    return tuple(sorted(name for name in names if name == 'cupy' or name.startswith('cupy-')))
