"""``benchmarks/gpu.py`` runs, on the CPU where there is no GPU, and says what is missing."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minichainer.backends import cuda

ROOT = Path(__file__).parents[2]
QUICK = ['--workload', 'mlp_tiny', '--rounds', '2', '--seconds', '0.01']


def _run(*arguments: str) -> Any:
    path = [str(ROOT), *filter(None, [os.environ.get('PYTHONPATH')])]
    return subprocess.run(
        [sys.executable, 'benchmarks/gpu.py', *arguments],
        cwd=ROOT, capture_output=True, text=True, timeout=300,
        env={**os.environ, 'PYTHONPATH': os.pathsep.join(path)},
    )  # fmt: skip


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The script as a module."""
    monkeypatch.syspath_prepend(str(ROOT / 'benchmarks'))
    spec = importlib.util.spec_from_file_location('gpu_benchmark', ROOT / 'benchmarks' / 'gpu.py')
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for name in ('training', 'workloads'):
        monkeypatch.delitem(sys.modules, name)
    return module


def _check(device: str, folder: Path) -> None:
    done = _run('--device', device, *QUICK, '--json', str(folder / 'figures.json'))
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith('minichainer: ') and f'NumPy: {np.__version__}' in lines[0]
    assert all(f'{name}: ' in lines[0] for name in ('CuPy', 'CUDA runtime', 'CUDA driver', 'Devices'))
    assert lines[0].endswith(f'measured on {device}')
    assert [line.split(' | ')[:2] for line in lines[4:]] == [
        ['| mlp_tiny', name] for name in ('minichainer', 'torch', 'torch best')
    ]
    figures = json.loads((folder / 'figures.json').read_text(encoding='utf-8'))['mlp_tiny']['minichainer']
    assert len(figures['ms']) == 2 and min(figures['ms']) > 0 and figures['first'] > 0
    if importlib.util.find_spec('torch') is None:
        assert "No module named 'torch'" in lines[5]


@pytest.mark.slow
def test_on_the_cpu(tmp_path: Path) -> None:
    _check('@numpy', tmp_path)


@pytest.mark.gpu
def test_on_a_gpu(tmp_path: Path) -> None:
    _check('@cupy:0', tmp_path)


@pytest.mark.skipif(cuda.available, reason='there is a GPU')
def test_without_a_gpu() -> None:
    done = _run(*QUICK)
    assert done.returncode == 2 and done.stdout == ''
    assert done.stderr.startswith('benchmarks/gpu.py: --device @cupy:0: CUDA is not available: ')


def test_a_training_that_fails_is_exit_status_1(
    gpu: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    failed = {name: {'error': 'ValueError: planted'} for name in gpu.LIBRARIES}
    monkeypatch.setattr(gpu, 'measure', lambda *args: failed)
    monkeypatch.setattr(sys, 'argv', ['gpu.py', '--device', '@numpy', *QUICK])
    assert gpu.main() == 1
    assert '| mlp_tiny | minichainer | ValueError: planted |' in capsys.readouterr().out


def test_ratios(gpu: Any) -> None:
    found = {
        'minichainer': {'ms': [1.0, 3.0, 2.0], 'first': 0.5},
        'torch': {'ms': [2.0, 4.0, 2.0], 'first': 1.25},
        'torch best': {'error': 'RuntimeError: no'},
    }
    assert list(gpu.rows('lenet', found)) == [
        '| lenet | minichainer | 2.000 | 1.000 - 3.000 | 0.50 | 0.75 |',
        '| lenet | torch | 2.000 | 2.000 - 4.000 | 1.25 | 1.00 |',
        '| lenet | torch best | RuntimeError: no | | | |',
    ]


def test_it_waits_before_and_after_the_steps(gpu: Any) -> None:
    calls: list[str] = []
    assert gpu.seconds_per_step(lambda: calls.append('step'), lambda: calls.append('wait'), 3) >= 0
    assert calls == ['wait', 'step', 'step', 'step', 'wait']


def test_an_error_of_a_library_is_reported(gpu: Any, capsys: pytest.CaptureFixture[str]) -> None:
    gpu.work('minichainer', 'mlp_tiny', 'x')
    printed = capsys.readouterr()
    assert json.loads(printed.out)['error'].startswith("RuntimeError: unknown device specifier 'x'")
    assert 'Traceback' in printed.err
