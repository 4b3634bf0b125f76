"""Versions and devices of the current process, for bug reports."""

from __future__ import annotations

import platform
import sys
from typing import Any

from minichainer._native import library
from minichainer._version import __version__
from minichainer.backends import _cuda_state, cuda

#: CuPy compiles nearly all that it computes with.
_NO_NVRTC = 'not found: install the CUDA Toolkit, or the extra ctk of the package of CuPy'


def print_runtime_info(out: Any = None) -> None:
    """Prints the versions of Python, the libraries and the devices in use.

    Args:
        out: where to print; standard output by default.

    >>> import minichainer as chainer
    >>> chainer.print_runtime_info()
    Platform: ...
    minichainer: ...
    NumPy: ...
    SciPy: ...
    CuPy: ...
    CUDA runtime: ...
    CUDA driver: ...
    NVRTC: ...
    cuDNN: ...
    Devices: ...
    CUDA: ...
    Compiled parts: ...
    """
    out = sys.stdout if out is None else out
    out.write(''.join(f'{name}: {value}\n' for name, value in runtime_info().items()))


def runtime_info() -> dict[str, str]:
    """What :func:`print_runtime_info` prints, by name."""
    return {
        'Platform': platform.platform(),
        'Python': platform.python_version(),
        'minichainer': __version__,
        'NumPy': installed('numpy'),
        'SciPy': installed('scipy'),
        'mpmath': installed('mpmath'),
        **_cuda_info(_cuda_state.state()),
        'Compiled parts': library.state,
    }


def installed(distribution: str) -> str:
    """Version of a library, without importing it."""
    import importlib.metadata  # imported here, because it takes a tenth of the package's import time

    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return 'not installed'


def _cuda_info(state: _cuda_state.CudaState) -> dict[str, str]:
    """CuPy, CUDA, the driver and the devices; the reason if they cannot be used."""
    packages = f' ({", ".join(state.packages)})' if state.packages else ''
    found = 'cannot be imported' if state.packages else 'not installed'
    return {
        'CuPy': (state.cupy or found) + packages,
        'CUDA runtime': state.runtime or 'none',
        'CUDA driver': f'CUDA {state.driver}' if state.driver else 'none',
        'NVRTC': state.nvrtc or (_NO_NVRTC if state.cupy else 'none'),
        'cuDNN': 'available' if cuda.cudnn_enabled else 'not available',
        'Devices': ', '.join(f'@cupy:{i} {name}' for i, name in enumerate(state.devices)) or 'none',
        'CUDA': str(state.failure or 'available').removeprefix('CUDA is '),
    }
