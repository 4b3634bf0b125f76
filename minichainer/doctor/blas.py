"""The libraries that multiply matrices for NumPy and SciPy: which kernels they chose, with how many threads."""

from __future__ import annotations

import ctypes
import importlib
import os
import re
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from minichainer.doctor.processor import AVX512, Processor

#: Variables of the environment that limit threads, or choose kernels. They are read when NumPy is first imported.
VARIABLES = (
    'OMP_NUM_THREADS',
    'OPENBLAS_NUM_THREADS',
    'MKL_NUM_THREADS',
    'VECLIB_MAXIMUM_THREADS',
    'OPENBLAS_CORETYPE',
)
_AVX512_CORES = {'skylakex', 'cooperlake', 'sapphirerapids'}
_AVX2_CORES = {'haswell', 'zen', 'excavator'} | _AVX512_CORES
_SIZE = 512


class OpenBlas(NamedTuple):
    """An OpenBLAS library that is loaded: its file, its version, the processor whose kernels it runs, its threads."""

    file: str
    config: str
    core: str
    threads: int

    def __str__(self) -> str:
        version = re.match(r'OpenBLAS [\d.]*\d', self.config)
        name = version.group() if version else 'OpenBLAS'
        return f'{name}, {self.core} kernels, threads: {self.threads}, {self.file}'


def name_of_blas() -> str:
    """The BLAS that NumPy was built with, and its version."""
    found: Any = np.show_config(mode='dicts')
    blas = found.get('Build Dependencies', {}).get('blas', {})
    return f'{blas.get("name", "unknown")} {blas.get("version", "")}'.strip()


def open_blas() -> list[OpenBlas]:
    """The OpenBLAS libraries of NumPy and SciPy."""
    importlib.import_module('scipy.linalg')  # has a library of its own
    return [found for path in _paths() if (found := _read(path)) is not None]


def _paths() -> list[Path]:
    """Files of libraries: those that are loaded, or, where the system does not say, those of the wheels."""
    try:
        maps = Path('/proc/self/maps').read_text(encoding='utf-8', errors='replace')
    except OSError:
        return sorted(set(_paths_of_wheels()))
    return sorted({Path(path) for path in re.findall(r'(/\S*openblas\S*)$', maps, re.MULTILINE)})


def _paths_of_wheels() -> Iterator[Path]:
    for name in ('numpy', 'scipy'):
        folder = Path(str(importlib.import_module(name).__file__)).parent
        for libraries in (folder.parent / f'{name}.libs', folder / '.dylibs'):
            yield from libraries.glob('*openblas*')


def _read(path: Path) -> OpenBlas | None:
    """What a library says about itself; None if it cannot be asked."""
    try:
        library = ctypes.CDLL(str(path))
    except OSError:
        return None
    # Names in wheels have a prefix, and a suffix where integers have 64 bits.
    for prefix in ('', 'scipy_'):
        for suffix in ('', '64_'):
            if hasattr(library, f'{prefix}openblas_get_corename{suffix}'):
                return OpenBlas(
                    path.name,
                    _text(library, f'{prefix}openblas_get_config{suffix}'),
                    _text(library, f'{prefix}openblas_get_corename{suffix}'),
                    int(library[f'{prefix}openblas_get_num_threads{suffix}']()),
                )
    return None


def _text(library: Any, name: str) -> str:
    function = library[name]
    function.restype = ctypes.c_char_p
    return str(function().decode(errors='replace'))


def advice(blas: list[OpenBlas], processor: Processor, environment: Mapping[str, str] = os.environ) -> list[str]:
    """What makes products of matrices faster here."""
    found = []
    for core in dict.fromkeys(library.core for library in blas):
        better = _better_core(core, processor.flags)
        if better:
            found.append(_advice_of_kernels(core, better, environment.get('OPENBLAS_CORETYPE')))
    threads = max((library.threads for library in blas), default=1)
    if threads > processor.usable_cores:
        found.append(
            f'OpenBLAS uses {threads} threads where {processor.usable_cores} cores may be used: set '
            f'OMP_NUM_THREADS={processor.usable_cores} before Python starts'
        )
    return found


def _better_core(core: str, flags: frozenset[str]) -> str | None:
    """The kernels that the processor could run, if they are wider than those of ``core``."""
    if flags >= AVX512:
        return None if core.lower() in _AVX512_CORES else 'SkylakeX'
    if flags >= {'avx2', 'fma'}:
        return None if core.lower() in _AVX2_CORES else 'Haswell'
    return None


def _advice_of_kernels(core: str, better: str, chosen: str | None) -> str:
    width = 'AVX-512' if better == 'SkylakeX' else 'AVX2'
    what = f'OpenBLAS runs {core} kernels on a processor with {width}, which may halve the speed of products'
    if chosen:
        return f'{what}: OPENBLAS_CORETYPE is {chosen}; unset it, or set it to {better}, before Python starts'
    return f'{what}: set OPENBLAS_CORETYPE={better} before Python starts, or install a newer NumPy'


def speed_of_products() -> float:
    """Billions of operations per second in products of 512 x 512 float32 matrices; the best of some."""
    a, product = np.ones((2, _SIZE, _SIZE), np.float32)
    best = float('inf')
    for _ in range(8):
        start = time.perf_counter()
        np.matmul(a, a, out=product)
        best = min(best, time.perf_counter() - start)
    return 2 * _SIZE**3 / best / 1e9
