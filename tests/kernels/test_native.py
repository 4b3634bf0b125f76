"""Compiled kernels: how they are called, what they leave to NumPy, when they are switched off.

What they compute is compared in the tables of kernels and functions, where they are bodies like others.
"""

from __future__ import annotations

import importlib
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minichainer as chainer
from minichainer._native import library
from minichainer.kernels import rectifier
from minichainer.kernels._dispatch import DECLINED, kernel

needs_kernels = pytest.mark.skipif(library.kernels is None, reason=f'compiled parts: {library.state}')
X = np.array([[-1, 2, 0], [np.nan, -np.inf, np.inf]], 'f')


def relu(x: Any, y: Any = None) -> Any:
    return library.kernels.relu(x, np.empty_like(x) if y is None else y)


def unaligned(x: np.ndarray) -> np.ndarray:
    memory = np.zeros(x.nbytes + 1, np.uint8)
    found = np.frombuffer(memory.data, x.dtype, x.size, 1).reshape(x.shape)
    found[...] = x
    return found


def read_only(x: np.ndarray) -> np.ndarray:
    x.flags.writeable = False
    return x


LAYOUTS: dict[str, Callable[[], np.ndarray]] = {
    'C': lambda: X,
    'Fortran': lambda: np.asfortranarray(X),
    'other order of axes': lambda: np.random.RandomState(0).randn(2, 3, 4, 5).transpose(0, 2, 3, 1),
    'axes of one element': lambda: np.ones((3, 1, 4, 1), 'f')[:, ::-1],
    'empty': lambda: np.ones((0, 3), 'f'),
    'empty, transposed': lambda: np.ones((3, 0, 2), 'f').T,
    'no axes': lambda: np.float64(-3) * np.ones(()),
    'read-only': lambda: read_only(X.copy()),
    'large': lambda: np.random.RandomState(0).randn(123_457),
}
REFUSED: dict[str, Callable[[], tuple[np.ndarray, np.ndarray]]] = {
    'gaps': lambda: (X[:, ::2], np.empty((2, 2), 'f')),
    'backwards': lambda: (X[::-1], np.empty((2, 3), 'f')),
    'one row repeated': lambda: (np.broadcast_to(X[:1], (2, 3)), np.empty((2, 3), 'f')),
    'another layout': lambda: (X, np.empty((3, 2), 'f').T),
    'another shape': lambda: (X, np.empty((3, 2), 'f')),
    'fewer axes': lambda: (X, np.empty(6, 'f')),
    'another dtype of the result': lambda: (X, np.empty((2, 3), 'd')),
    'float16': lambda: (X.astype('e'), np.empty((2, 3), 'e')),
    'integers': lambda: (np.ones((2, 3), 'i'), np.empty((2, 3), 'i')),
    'complex': lambda: (X.astype('F'), np.empty((2, 3), 'F')),
    'longdouble': lambda: (X.astype('g'), np.empty((2, 3), 'g')),
    'objects': lambda: (np.ones((2, 3)).astype('O'), np.empty((2, 3), 'O')),
    'byte order': lambda: (X.astype(X.dtype.newbyteorder()), np.empty((2, 3), X.dtype.newbyteorder())),
    'unaligned': lambda: (unaligned(X), np.empty((2, 3), 'f')),
    'unaligned result': lambda: (X, unaligned(X)),
    'read-only result': lambda: (X, read_only(X.copy())),
}


@needs_kernels
@pytest.mark.parametrize('layout', LAYOUTS)
def test_layouts_that_are_taken(layout: str) -> None:
    x = LAYOUTS[layout]()
    y = np.empty_like(x)
    assert relu(x, y) is True
    np.testing.assert_array_equal(y, np.maximum(x, 0))


@needs_kernels
@pytest.mark.parametrize('case', REFUSED)
def test_arrays_that_are_left_alone(case: str) -> None:
    x, y = REFUSED[case]()
    before = y.tobytes()
    assert relu(x, y) is False
    assert y.tobytes() == before
    np.testing.assert_array_equal(rectifier.relu(np, x), np.maximum(x, x.dtype.type(0)))


@needs_kernels
@pytest.mark.parametrize(
    ('call', 'error', 'message'),
    [
        (lambda k: k(X), TypeError, r'relu: expected 2 arguments by position \(=T>T\), got 1'),
        (lambda k: k(X, y=X), TypeError, 'relu: expected 2 arguments by position'),
        (lambda k: k(X, None), TypeError, 'buffer|bytes-like'),
        (lambda k: k([1.0], X), TypeError, 'bytes-like'),
    ],
)
def test_wrong_calls(call: Callable[[Any], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call(library.kernels.relu)


@needs_kernels
def test_an_array_is_not_held_after_the_call() -> None:
    x, y = np.ones(3), np.empty(3)
    before = sys.getrefcount(x), sys.getrefcount(y)
    for array in (y, np.empty(4), read_only(np.ones(3))):
        relu(x, array)
    assert (sys.getrefcount(x), sys.getrefcount(y)) == before
    x.resize(5, refcheck=True)


@needs_kernels
def test_signatures_and_names() -> None:
    found = vars(library.kernels)
    assert found['relu'].signature == '=T>T'
    assert found['relu'].types == 'fd'
    assert repr(found['relu']) == '<compiled kernel relu =T>T>'
    assert all(k.types in ('f', 'fd') and '>' in k.signature for k in found.values())


def _compiled() -> Any:
    return importlib.import_module('minichainer._native._compiled')


@needs_kernels
def test_every_level_of_this_processor_has_all_kernels() -> None:
    compiled = _compiled()
    tables = [compiled.kernels(level) for level in compiled.levels()]
    assert [set(table) for table in tables] == [set(vars(library.kernels))] * len(tables)
    assert compiled.levels()[-1] == 'baseline'
    with pytest.raises(ValueError, match="level of this processor, got 'mmx'"):
        compiled.kernels('mmx')


COMPILER = (os.environ.get('CC') or sysconfig.get_config_var('CC') or 'cc').split()[0]


@pytest.mark.skipif(library.is_pure() or shutil.which(COMPILER) is None, reason='MINICHAINER_PURE, or no compiler')
def test_kernels_were_built_of_these_sources() -> None:
    """A build that fails is no error of an installation, and leaves what was built before."""
    assert library.kernels is not None, library.state
    folder = Path(library.__file__).parent
    newest = max(
        [path.stat().st_mtime for path in folder.glob('*.[ch]') if not path.name.startswith('tape')], default=0
    )
    assert Path(_compiled().__file__).stat().st_mtime >= newest, 'build again: python setup.py build_ext --inplace'


@pytest.mark.skipif(
    library.is_pure() or shutil.which(COMPILER) is None or os.environ.get('MINICHAINER_TAPE') == '0'
    or sysconfig.get_config_var('Py_GIL_DISABLED'),
    reason='MINICHAINER_PURE, MINICHAINER_TAPE=0, no compiler, or a Python without its lock',
)  # fmt: skip
def test_tape_was_built_of_these_sources() -> None:
    assert library.tape is not None, library.state
    newest = max([path.stat().st_mtime for path in Path(library.__file__).parent.glob('tape*.[ch]')], default=0)
    assert Path(library.tape.__file__).stat().st_mtime >= newest, 'build again: python setup.py build_ext --inplace'


# --- switched off ---


def test_the_setting_switches_kernels_off() -> None:
    op = kernel(lambda xp, x: 'generic')
    op.on('native', declines=True)(lambda xp, x: DECLINED if x < 0 else 'native')
    assert (op(np, 1), op(np, -1)) == ('native', 'generic')
    with chainer.using_config('use_native_kernels', False):
        assert op(np, 1) == 'generic'
        with chainer.using_config('use_native_kernels', True):
            assert op(np, 1) == 'native'
    assert op(np, 1) == 'native'


def state_in(**environment: str) -> str:
    code = 'from minichainer._native import library; print(library.kernels is None, library.state)'
    kept = {k: v for k, v in os.environ.items() if not k.startswith('MINICHAINER_')}
    command = [sys.executable, '-c', code]
    return subprocess.check_output(command, env={**kept, **environment}, text=True).strip()


def test_the_environment_switches_all_compiled_parts_off() -> None:
    assert state_in(MINICHAINER_PURE='1') == 'True none: MINICHAINER_PURE is set'


@needs_kernels
def test_the_environment_chooses_a_level() -> None:
    assert state_in(MINICHAINER_NATIVE_LEVEL='baseline').startswith('False kernels for baseline (compiler ')
    assert state_in(MINICHAINER_PURE='0').startswith('False kernels for ')
