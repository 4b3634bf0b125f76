"""A planted fault of device code, and a process of tests in which it is there."""

from __future__ import annotations

import importlib.machinery
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
STAND_IN = ROOT / 'tests' / 'cupy_stand_in'


@dataclass(frozen=True)
class Fault:
    """What is wrong, and who must see it.

    Args:
        kind: the kind of fault, unique.
        module: the module that has it.
        right: text that the source of the module contains exactly once.
        wrong: what stands there instead.
        tests: the tests of which one must fail, as pytest takes them.
    """

    kind: str
    module: str
    right: str
    wrong: str
    tests: tuple[str, ...]

    def __str__(self) -> str:
        return self.kind

    def planted_in(self, source: str) -> str:
        """The source with the fault."""
        assert source.count(self.right) == 1, f'{self.kind}: {self.module} has {self.right!r} not exactly once'
        return source.replace(self.right, self.wrong)


class _Loader(importlib.machinery.SourceFileLoader):
    """Loads a module with a fault; neither reads nor writes its bytecode."""

    fault: Fault

    def get_code(self, fullname: str) -> Any:
        source = self.fault.planted_in(Path(self.path).read_text(encoding='utf-8'))
        return compile(source, self.path, 'exec', dont_inherit=True)


class _Finder:
    """Finds the one module that has the fault."""

    def __init__(self, fault: Fault) -> None:
        self._fault = fault

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name != self._fault.module:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        assert spec is not None and spec.origin is not None
        spec.loader = _Loader(name, spec.origin)
        spec.loader.fault = self._fault
        return spec


def plant(fault: Fault) -> None:
    """Makes this process import the module with the fault."""
    assert fault.module not in sys.modules, f'{fault.module} is imported already'
    sys.meta_path.insert(0, _Finder(fault))  # type: ignore[arg-type]


def run(tests: Sequence[str], kind: str = '') -> subprocess.CompletedProcess[str]:
    """Runs device tests on the stand-in, with a fault if one is named."""
    path = os.pathsep.join([str(STAND_IN), str(ROOT)])
    return subprocess.run(
        [sys.executable, '-m', 'tests.device_faults.process', kind, *tests],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=600,
        env={
            'CUPY_STAND_IN': '14',
            **os.environ,
            'CUPY_STAND_IN_DEVICES': '2',
            'PYTHONPATH': path,
            'OPENBLAS_NUM_THREADS': '1',
            'COLUMNS': '200',
        },
    )


def verdict(fault: Fault) -> tuple[str, str]:
    """What became of a fault, 'caught', 'survived' or 'no verdict', and what pytest said of it."""
    done = run(fault.tests, fault.kind)
    failed = [line for line in done.stdout.splitlines() if line.startswith('FAILED ')]
    if done.returncode == 1 and failed:
        return 'caught', failed[0].partition(' - ')[2]
    return ('survived', '') if done.returncode == 0 else ('no verdict', done.stdout[-2000:] + done.stderr[-2000:])
