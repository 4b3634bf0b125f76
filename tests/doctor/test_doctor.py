"""``python -m minichainer doctor``: what it reports, and its exit status."""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F
from benchmarks import workloads as benchmarked
from minichainer import __main__ as command_line
from minichainer._native import library
from minichainer.backends import cuda
from minichainer.compat import __main__ as compat_command_line
from minichainer.doctor import blas, command, gradients, speed
from minichainer.doctor.processor import AVX512, Processor, processor
from minichainer.doctor.workloads import WORKLOADS

CPU = chainer.get_device('@numpy')
ROOT = Path(__file__).parents[2]


def _run(*arguments: str, **environment: str) -> Any:
    return subprocess.run(
        [sys.executable, '-W', 'error', '-m', 'minichainer', *arguments],
        capture_output=True, text=True, timeout=300, env={**os.environ, 'PYTHONPATH': str(ROOT), **environment},
    )  # fmt: skip


@pytest.fixture(scope='module')
def report() -> Any:
    done = _run('doctor', '--json', OMP_NUM_THREADS='1')
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


# --- the report ---------------------------------------------------------------------------------------------------
def test_versions_are_those_of_print_runtime_info(report: Any) -> None:
    from minichainer._runtime_info import runtime_info

    assert runtime_info().items() <= report['versions'].items()
    assert report['versions']['Compiled parts'] == library.state


def test_extras_are_those_of_the_package(report: Any) -> None:
    text = (ROOT / 'pyproject.toml').read_text(encoding='utf-8')
    section = text.partition('[project.optional-dependencies]')[2].partition('\ntest = ')[0]
    extras = {
        name: tuple(re.findall(r'"([\w-]+)', packages))
        for name, packages in re.findall(r'^(\w+) = \[(.*)\]$', section, re.MULTILINE)
        if not name.startswith('cuda')  # reported with the devices
    }
    for part_of_compat in ('port', 'py2'):
        extras.pop(part_of_compat)
    assert extras.pop('precise') == (), 'mpmath is a dependency'
    assert extras == command.EXTRAS
    assert {f'extra {name}' for name in extras} <= report['versions'].keys()


def test_an_extra_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(command.EXTRAS, 'plot', ('no-such-library',))
    assert command._extra('plot') == 'no-such-library not installed (pip install no-such-library)'


def test_blas_of_the_wheels(report: Any) -> None:
    found = blas.open_blas()
    if 'openblas' not in blas.name_of_blas():
        pytest.skip('NumPy uses another BLAS')
    assert found and all(library.core and library.threads >= 1 for library in found)
    assert report['BLAS']['OMP_NUM_THREADS'] == '1'
    assert all(', threads: 1, ' in text for text in report['BLAS']['loaded'])
    assert float(report['BLAS']['products of 512 x 512 float32'].split()[0]) > 0


def test_every_workload_has_a_figure(report: Any) -> None:
    figures = report['milliseconds per training step']
    assert figures.keys() == benchmarked.BATCH.keys() == WORKLOADS.keys()
    assert all(figure > 0 for figure in figures.values())
    assert figures['mlp_tiny'] < figures['resblk']


def test_sound(report: Any) -> None:
    assert report['sound'] and set(report['gradients'].values()) == {'pass'}
    assert len(report['gradients']) == len(gradients.CASES) + 1


# --- the command --------------------------------------------------------------------------------------------------
def _quick(monkeypatch: pytest.MonkeyPatch, **cases: Any) -> None:
    """Two functions, and no measuring."""
    monkeypatch.setattr(gradients, 'CASES', {'exp': (F.exp, [(2, 3)]), **cases})
    monkeypatch.setattr(speed, 'milliseconds', lambda name, device: 1.5)


def test_text(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    _quick(monkeypatch)
    monkeypatch.setattr(blas, 'advice', lambda *args: [])
    monkeypatch.setattr(library, 'kernels', object())
    assert command_line.main(['doctor']) == 0
    text = capsys.readouterr().out
    for line in ('versions', f'  NumPy: {np.__version__}', 'gradients', '  exp: pass', '  lenet: 1.5', '  none'):
        assert line in text.splitlines()
    assert text.endswith('All gradients are right (@numpy).\n')


@pytest.mark.parametrize('options', [[], ['--json']])
def test_a_wrong_gradient_is_exit_status_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], options: list[str]
) -> None:
    _quick(monkeypatch, square=(lambda x: gradients._Wrong().apply((x,))[0], [(2, 3)]))
    assert command_line.main(['doctor', *options]) == 1
    text = capsys.readouterr().out
    assert 'square: fail' in text.replace('"', '')
    assert not json.loads(text)['sound'] if options else 'The self-test FAILED' in text


def test_an_error_is_a_finding(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    _quick(monkeypatch, broken=(lambda x: 1 / 0, [(2, 3)]))
    assert command_line.main(['doctor']) == 1
    assert '  broken: ZeroDivisionError: division by zero\n' in capsys.readouterr().out


def test_a_checker_that_finds_nothing_is_not_sound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gradients, 'CASES', {})
    monkeypatch.setattr(gradients._Wrong, 'backward', lambda self, i, g: (2 * self.get_retained_inputs()[0] * g[0],))
    found = gradients.self_test(CPU)
    assert found == {gradients.WRONG: 'not found: pass'} and not gradients.is_sound(found)


NO_GPU = pytest.mark.skipif(cuda.available, reason='there is a GPU')


@pytest.mark.parametrize('device', [pytest.param('@cupy:0', marks=NO_GPU), 'x'])
def test_a_device_that_does_not_exist(capsys: pytest.CaptureFixture[str], device: str) -> None:
    assert command.main(argparse.Namespace(device=device, json=False)) == 2
    error = capsys.readouterr().err
    assert error.startswith(f'doctor: --device {device}: ')
    assert ('CUDA is not available' in error) == (device == '@cupy:0')


def test_without_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert command_line.main([]) == 2
    assert 'doctor' in capsys.readouterr().out


@pytest.mark.parametrize('main', [command_line.main, compat_command_line.main])
def test_version(main: Any, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(['--version'])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f'minichainer {chainer.__version__}\n'


# --- what the BLAS does not do ------------------------------------------------------------------------------------
FAST, MIDDLE = AVX512 | {'avx2', 'fma'}, frozenset({'avx2', 'fma'})
#: Kernels, flags, threads, OPENBLAS_CORETYPE: the beginning and the end of the advice, or none.
ADVICE = {
    'Haswell on AVX-512': (
        'Haswell', FAST, 1, None, 'OpenBLAS runs Haswell kernels on a processor with AVX-512',
        'set OPENBLAS_CORETYPE=SkylakeX before Python starts, or install a newer NumPy',
    ),
    'Zen on AVX-512': ('Zen', FAST, 1, None, 'OpenBLAS runs Zen kernels on', 'or install a newer NumPy'),
    'Haswell by choice': (
        'Haswell', FAST, 1, 'Haswell', 'OpenBLAS runs Haswell kernels on a processor with AVX-512',
        'OPENBLAS_CORETYPE is Haswell; unset it, or set it to SkylakeX, before Python starts',
    ),
    'Prescott on AVX2': ('Prescott', MIDDLE, 1, None, 'OpenBLAS runs Prescott kernels on a', 'a newer NumPy'),
    'SkylakeX on AVX-512': ('SkylakeX', FAST, 1, None, None, None),
    'Sapphire Rapids': ('Sapphirerapids', FAST, 1, None, None, None),
    'Haswell on AVX2': ('Haswell', MIDDLE, 1, None, None, None),
    'unknown flags': ('Haswell', frozenset(), 1, None, None, None),
    'more threads than cores': (
        'SkylakeX', FAST, 9, None, 'OpenBLAS uses 9 threads where 4 cores may be used',
        'set OMP_NUM_THREADS=4 before Python starts',
    ),
}  # fmt: skip


@pytest.mark.parametrize('name', ADVICE)
def test_advice(name: str) -> None:
    core, flags, threads, chosen, start, end = ADVICE[name]
    environment = {'OPENBLAS_CORETYPE': chosen} if chosen else {}
    libraries = [blas.OpenBlas(file, 'OpenBLAS 0.3.30', core, threads) for file in ('a.so', 'b.so')]
    found = blas.advice(libraries, Processor('name', frozenset(flags), 8, 4), environment)
    assert len(found) == (start is not None)
    assert all(line.startswith(start) and line.endswith(end) for line in found)


@pytest.mark.parametrize(('pure', 'start'), [('1', 'MINICHAINER_PURE switches'), ('', 'There are no compiled')])
def test_advice_on_compiled_parts(monkeypatch: pytest.MonkeyPatch, pure: str, start: str) -> None:
    monkeypatch.setenv('MINICHAINER_PURE', pure)
    monkeypatch.setattr(library, 'kernels', None)
    (line,) = command._advice_on_compiled_parts()
    assert line.startswith(start)
    monkeypatch.setattr(library, 'kernels', object())
    assert command._advice_on_compiled_parts() == []


@pytest.mark.skipif(not processor().flags >= AVX512, reason='needs a processor with AVX-512')
def test_kernels_that_were_chosen_are_seen() -> None:
    code = 'from minichainer.doctor import blas; print(*[library.core for library in blas.open_blas()])'
    done = subprocess.run(
        [sys.executable, '-c', code], capture_output=True, text=True,
        env={**os.environ, 'PYTHONPATH': str(ROOT), 'OPENBLAS_CORETYPE': 'Haswell'},
    )  # fmt: skip
    assert set(done.stdout.split()) <= {'Haswell'}, done.stderr


def test_other_systems(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without files below /proc the processor has a name, and the libraries are those of the wheels."""
    wheels = {path.name for path in blas._paths_of_wheels()}

    def refuse(*args: Any, **kwargs: Any) -> str:
        raise FileNotFoundError

    monkeypatch.setattr(Path, 'read_text', refuse)
    found = processor()
    assert found.name and not found.flags and found.cores >= found.usable_cores >= 1
    assert {library.file for library in blas.open_blas()} <= wheels


# --- the workloads ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize('name', WORKLOADS)
def test_models_are_those_of_the_benchmarks(name: str) -> None:
    theirs = benchmarked.chainer_models(chainer, F, modern=True)[name]()
    ours = WORKLOADS[name].model()
    x, t = WORKLOADS[name].batch(np.random.RandomState(0))
    their_x, their_t = benchmarked.data(name)
    assert (x.shape, x.dtype, t.size) == (their_x.shape, their_x.dtype, their_t.size)
    if name == 'transformer':  # fused there: one product for queries, keys and values
        assert ours.count_params() == theirs.count_params()
    else:
        assert sorted(p.shape for p in ours.params()) == sorted(p.shape for p in theirs.params())


def test_a_step_trains() -> None:
    step = speed.training_step(WORKLOADS['mlp_tiny'], CPU)
    losses = [float(step()) for _ in range(30)]
    assert losses[-1] < 0.7 * losses[0]
