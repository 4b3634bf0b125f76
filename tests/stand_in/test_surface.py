"""The stand-in has no name that CuPy has not."""

from __future__ import annotations

import importlib
import types
from typing import Any

import pytest

MODULES = [
    'cupy',
    'cupy.linalg',
    'cupy.random',
    'cupy.fft',
    'cupy.cuda',
    'cupy.cuda.runtime',
    'cupyx',
    'cupyx.scipy.special',
]


@pytest.mark.parametrize('name', MODULES)
def test_names(name: str, meter: Any) -> None:
    known = importlib.import_module('cupy._surface').names(name)
    module = importlib.import_module(name)
    own = {n for n, v in vars(module).items() if not n.startswith('_') and not isinstance(v, types.ModuleType)}
    assert own - {'annotations', 'Any'} <= set(known)


def test_members_of_arrays(cupy: Any, meter: Any) -> None:
    known = importlib.import_module('cupy._surface').SURFACE['ndarray']
    assert {n for n in dir(cupy.ndarray) if not n.startswith('_')} <= set(known)


def test_the_version_is_that_of_the_surface(cupy: Any, meter: Any) -> None:
    assert int(cupy.__version__.split('.')[0]) in (13, 14)


def test_what_is_not_computed_says_so(cupy: Any, meter: Any) -> None:
    with pytest.raises(NotImplementedError, match=r'the stand-in has no cupy\.fromDlpack; CuPy has'):
        cupy.fromDlpack(None)
