"""Writes the names, kinds and signatures of an installed CuPy to a file; it needs no driver.

    python tests/cupy_stand_in/surface.py tests/cupy_stand_in/surface-14.json

The module ``cupy.random`` needs cuRAND's library (``nvidia-curand-cu12``) to be imported.
"""

from __future__ import annotations

import importlib
import inspect
import json
import sys
import types
import warnings
from pathlib import Path
from typing import Any

MODULES = [
    'cupy', 'cupy.linalg', 'cupy.random', 'cupy.fft', 'cupy.lib', 'cupy.lib.stride_tricks', 'cupy.exceptions',
    'cupy.cuda', 'cupy.cuda.runtime', 'cupy.testing', 'cupy.cudnn', 'cupyx', 'cupyx.cudnn', 'cupyx.profiler',
    'cupyx.scipy.special', 'cupyx.scipy.linalg', 'cupyx.scipy.ndimage', 'cupyx.scipy.signal', 'cupyx.scipy.sparse',
]  # fmt: skip


def described(value: Any) -> dict[str, Any]:
    """What a name stands for."""
    if isinstance(value, types.ModuleType):
        return {'kind': 'module'}
    if isinstance(value, type):
        return {'kind': 'class'}
    if type(value).__name__ in ('ufunc', '_GUFunc'):
        kind = 'gufunc' if type(value).__name__ == '_GUFunc' else 'ufunc'
        numbers = {name: getattr(value, name) for name in ('nin', 'nout') if hasattr(value, name)}
        return {'kind': kind, **numbers, 'types': list(getattr(value, 'types', []))}
    if not callable(value):
        return {'kind': 'constant'}
    try:
        parameters = inspect.signature(value).parameters.values()
    except (ValueError, TypeError):
        return {'kind': 'function', 'params': None}
    return {'kind': 'function', 'params': [[p.name, p.kind.value, p.default is not p.empty] for p in parameters]}


def of_module(name: str) -> dict[str, Any]:
    """The public names of a module; why it cannot be imported, if it cannot."""
    try:
        module = importlib.import_module(name)
    except Exception as error:
        return {'__error__': f'{type(error).__name__}: {error}'[:100]}
    public = {n for n in dir(module) if not n.startswith('_')} | {'__version__'}
    return {n: described(getattr(module, n)) for n in sorted(public) if hasattr(module, n)}


def of_arrays(array_type: type) -> dict[str, Any]:
    """The members of ``cupy.ndarray``; those of compiled methods have their signature in the docstring."""
    members: dict[str, Any] = {}
    for name in dir(array_type):
        value = getattr(array_type, name)
        found = described(value)
        if found['kind'] == 'constant' or inspect.isgetsetdescriptor(value) or isinstance(value, property):
            found = {'kind': 'attribute'}
        elif found['kind'] == 'function' and found['params'] is None:
            found['doc'] = (value.__doc__ or '').split('\n')[0]
        members[name] = found
    return members


def surface() -> dict[str, Any]:
    """Everything."""
    cupy = importlib.import_module('cupy')
    methods = [name for name in dir(cupy.ufunc) if not name.startswith('__')]
    return {
        'version': cupy.__version__,
        'modules': {name: of_module(name) for name in MODULES},
        'ndarray': of_arrays(cupy.ndarray),
        'ufunc_methods': methods,
    }


if __name__ == '__main__':
    warnings.simplefilter('ignore')
    del sys.path[0]  # the folder of this script, whose cupy is not the one to describe
    Path(sys.argv[1]).write_text(json.dumps(surface(), indent=0, sort_keys=True) + '\n', encoding='utf-8')
