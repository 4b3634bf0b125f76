"""``tune_allocator``: it reports whether it took effect, and page faults go where it did."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import minichainer as chainer
import minichainer.links as L
from minichainer import allocator, training

linux_with_glibc = pytest.mark.skipif(
    not sys.platform.startswith('linux') or not hasattr(ctypes.CDLL(None), 'gnu_get_libc_version'),
    reason='acts on glibc only',
)
MMAP, TRIM = -3, -1


class Mallopt:
    """Stands for glibc's function: takes values up to a limit, and notes them."""

    def __init__(self, limits: dict[int, int]) -> None:
        self.limits = limits
        self.calls: list[tuple[int, int]] = []

    def __call__(self, parameter: int, value: int) -> int:
        self.calls.append((parameter, value))
        return int(value <= self.limits[parameter])


class Library:
    """Stands for a C library with the given functions."""

    def __init__(self, **functions: Any) -> None:
        self.__dict__.update(functions)


def tuned_with(monkeypatch: pytest.MonkeyPatch, library: Any, platform: str = 'linux') -> bool:
    monkeypatch.setattr(sys, 'platform', platform)
    monkeypatch.setattr(ctypes, 'CDLL', library)
    return chainer.tune_allocator()


def test_glibc_is_told_both_thresholds(monkeypatch: pytest.MonkeyPatch) -> None:
    mallopt = Mallopt({MMAP: 1 << 30, TRIM: 2**31 - 1})
    assert tuned_with(monkeypatch, lambda name: Library(gnu_get_libc_version=1, mallopt=mallopt)) is True
    assert mallopt.calls == [(MMAP, 1 << 30), (TRIM, 2**31 - 1)]
    assert mallopt.argtypes == [ctypes.c_int] * 2 and mallopt.restype is ctypes.c_int


def test_old_glibc_gets_the_largest_threshold_that_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    mallopt = Mallopt({MMAP: 1 << 25, TRIM: 2**31 - 1})
    assert tuned_with(monkeypatch, lambda name: Library(gnu_get_libc_version=1, mallopt=mallopt)) is True
    assert mallopt.calls == [(MMAP, 1 << 30), (MMAP, 1 << 25), (TRIM, 2**31 - 1)]


@pytest.mark.parametrize('limits', [{MMAP: 0, TRIM: 2**31 - 1}, {MMAP: 1 << 30, TRIM: 0}], ids=['mmap', 'trim'])
def test_a_refusal_is_reported(monkeypatch: pytest.MonkeyPatch, limits: dict[int, int]) -> None:
    library = Library(gnu_get_libc_version=1, mallopt=Mallopt(limits))
    assert tuned_with(monkeypatch, lambda name: library) is False


@pytest.mark.parametrize('platform', ['darwin', 'win32', 'cygwin', 'freebsd14'])
def test_other_systems_are_left_alone(monkeypatch: pytest.MonkeyPatch, platform: str) -> None:
    def library(name: Any) -> Any:
        raise AssertionError('no library may be opened')

    assert tuned_with(monkeypatch, library, platform) is False


def test_other_c_libraries_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of musl and uClibc have no such function, or other numbers for its parameters."""
    mallopt = Mallopt({})
    assert tuned_with(monkeypatch, lambda name: Library(mallopt=mallopt)) is False
    assert tuned_with(monkeypatch, lambda name: Library(gnu_get_libc_version=1)) is False
    assert mallopt.calls == []


def test_a_library_that_cannot_be_opened_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def library(name: Any) -> Any:
        raise OSError('not found')

    assert tuned_with(monkeypatch, library) is False


COUNT_FAULTS = """
import resource, sys
import numpy as np
import minichainer as chainer
if sys.argv[1] == 'tuned':
    assert chainer.tune_allocator() is True and chainer.tune_allocator() is True
a = np.ones(1 << 23, 'f')
def step():
    return (a * 2 + 1) * a
step()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(3):
    step()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@linux_with_glibc
def test_large_temporaries_cost_no_page_faults() -> None:
    """Arrays of 32 MiB, above the highest threshold that glibc chooses by itself."""

    def faults(how: str) -> int:
        run = subprocess.run([sys.executable, '-c', COUNT_FAULTS, how], capture_output=True, text=True, check=True)
        return int(run.stdout)

    assert faults('tuned') * 10 < faults('plain')


def trainer(**arguments: Any) -> training.Trainer:
    model = L.Classifier(L.Linear(2, 3))
    data = chainer.datasets.TupleDataset(np.ones((8, 2), np.float32), np.zeros(8, np.int32))
    iterator = chainer.iterators.SerialIterator(data, 4)
    updater = training.updaters.StandardUpdater(iterator, chainer.optimizers.SGD().setup(model))
    return training.Trainer(updater, (1, 'iteration'), **arguments)


@pytest.mark.parametrize(('arguments', 'calls'), [({}, 1), ({'tune_allocator': False}, 0)])
def test_trainer_calls_it_unless_told_not_to(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any, arguments: dict[str, Any], calls: int
) -> None:
    called: list[None] = []
    monkeypatch.setattr('minichainer.training.trainer._tune_allocator', lambda: called.append(None))
    made = trainer(out=str(tmp_path), **arguments)
    assert not called
    made.run()
    assert len(called) == calls


def test_import_does_not_call_it() -> None:
    code = (
        'import ctypes\n'
        'def refuse(*a): raise AssertionError\n'
        'ctypes.CDLL = refuse\n'
        'import minichainer, minichainer.training'
    )
    subprocess.run([sys.executable, '-c', code], check=True, capture_output=True)


def test_it_is_public() -> None:
    assert chainer.tune_allocator is allocator.tune_allocator
