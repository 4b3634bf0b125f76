"""A strict stand-in for CuPy on NumPy, for tests without a GPU; ``README.md`` beside it says what it models."""

from __future__ import annotations

import importlib
import types as _types

import numpy as _np

from . import _build, _creation, _linalg, _meter, _operators, _random, cuda
from ._kernels import ElementwiseKernel, RawKernel, RawModule, ReductionKernel
from ._ndarray import ndarray
from ._surface import SURFACE as _SURFACE
from ._surface import names as _names
from ._ufuncs import ufunc

__version__ = _SURFACE['version']
newaxis = None
globals().update({name: getattr(_creation, name) for name in _names('cupy') if hasattr(_creation, name)})
bool_ = _np.bool_
_build.fill(globals(), 'cupy', _np)
_build.methods(ndarray)
_operators.define({**globals(), 'matmul': globals()['matmul']})


def get_default_memory_pool() -> object:
    return cuda._default_memory_pool()


def get_default_pinned_memory_pool() -> object:
    return cuda._default_pinned_memory_pool()


def _submodules() -> None:
    """``cupy.linalg``, ``cupy.random`` and the other modules that are no files here."""
    for name, source in (('linalg', _np.linalg), ('fft', _np.fft), ('random', None), ('exceptions', None)):
        globals()[name] = _build.module(f'cupy.{name}', source)
    own = [
        name
        for name in _names('cupy.linalg')
        if name in vars(_np.linalg) and name not in ('annotations', 'LinAlgError')
    ]
    linalg = globals()['linalg']
    vars(linalg).update(
        {name: _linalg.function(name) for name in own if _names('cupy.linalg')[name]['kind'] == 'function'}
    )
    linalg.LinAlgError = _linalg.LinAlgError
    _random.fill(vars(globals()['random']))
    exceptions = getattr(_np, 'exceptions', _np)
    vars(globals()['exceptions']).update(
        {name: getattr(exceptions, name) for name in _names('cupy.exceptions') if hasattr(exceptions, name)}
    )
    globals()['lib'] = _build.module('cupy.lib', None)
    globals()['lib'].stride_tricks = _build.module('cupy.lib.stride_tricks', _np.lib.stride_tricks)
    globals()['testing'] = _build.module('cupy.testing', importlib.import_module('cupy._testing'))


_submodules()
_build.prune(globals(), 'cupy')
