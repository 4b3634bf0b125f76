"""Versions and devices of the current process, for bug reports."""

from __future__ import annotations

import platform
import sys
from typing import Any

from minichainer._version import __version__
from minichainer.backends import cuda


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
    """
    lines = {
        'Platform': platform.platform(),
        'Python': platform.python_version(),
        'minichainer': __version__,
        'NumPy': _installed('numpy'),
        'SciPy': _installed('scipy'),
        **_cuda_info(),
    }
    out = sys.stdout if out is None else out
    out.write(''.join(f'{name}: {value}\n' for name, value in lines.items()))


def _installed(distribution: str) -> str:
    """Version of a library, without importing it."""
    import importlib.metadata  # imported here, because it takes a tenth of the package's import time

    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return 'not installed'


def _cuda_info() -> dict[str, Any]:
    if not cuda.available:
        return {'CuPy': 'not available'}
    runtime = cuda.cupy.cuda.runtime
    names = [runtime.getDeviceProperties(i)['name'].decode() for i in range(runtime.getDeviceCount())]
    return {
        'CuPy': cuda.cupy.__version__,
        'CUDA': runtime.runtimeGetVersion(),
        'cuDNN': 'available' if cuda.cudnn_enabled else 'not available',
        'GPUs': ', '.join(names),
    }
