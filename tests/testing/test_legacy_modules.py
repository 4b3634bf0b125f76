"""Whole test modules, as they were written for Chainer: run by pytest, by unittest and as scripts."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest_plugins = 'pytester'

ROOT = Path(__file__).parents[2]
PLUGIN = ('-p', 'pytest_minichainer', *(f'-pno:{name}' for name in ('cacheprovider', 'hypothesispytest', 'xdist')))

# Written in the style of its time; only the name of the package is new.
MODULE = """
import unittest

import numpy

import minichainer as chainer
from minichainer import functions, testing
from minichainer.testing import attr, condition


@testing.parameterize(*testing.product({
    'shape': [(4, 3), ()],
    'dtype': [numpy.float16, numpy.float32, numpy.float64],
}))
@testing.fix_random()
@testing.inject_backend_tests(
    None,
    # CPU tests
    [{}]
    # GPU tests
    + testing.product({'use_cuda': [True], 'use_cudnn': ['never', 'always'], 'cuda_device': [0, 1]})
    # ChainerX tests
    + testing.product({'use_chainerx': [True], 'chainerx_device': ['native:0', 'cuda:0']})
)
class TestSwish(testing.FunctionTestCase):

    dodge_nondifferentiable = True

    def setUp(self):
        super(TestSwish, self).setUp()
        if self.dtype == numpy.float16:
            self.check_forward_options.update({'atol': 5e-3, 'rtol': 5e-3})
            self.check_backward_options.update({'atol': 5e-2, 'rtol': 5e-2})
            self.check_double_backward_options.update({'atol': 5e-2, 'rtol': 5e-2})

    def generate_inputs(self):
        x = numpy.random.uniform(-1, 1, self.shape).astype(self.dtype)
        return x,

    def forward_expected(self, inputs):
        x, = inputs
        return (x / (1 + numpy.exp(-x.astype(float)))).astype(self.dtype),

    def forward(self, inputs, device):
        x, = inputs
        return x * functions.sigmoid(x),


class TestOld(unittest.TestCase):

    def setUp(self):
        self.x = numpy.random.uniform(0.5, 1, (2, 3)).astype(numpy.float32)
        self.gy = numpy.random.uniform(-1, 1, (2, 3)).astype(numpy.float32)

    def check_forward(self, x_data):
        y = functions.exp(chainer.Variable(x_data))
        testing.assert_allclose(numpy.exp(self.x), y.data)

    def test_forward_cpu(self):
        self.check_forward(self.x)

    @attr.gpu
    def test_forward_gpu(self):
        self.check_forward(chainer.backends.cuda.to_gpu(self.x))

    @attr.multi_gpu(2)
    @condition.retry(3)
    def test_forward_gpus(self):
        self.check_forward(chainer.backends.cuda.to_gpu(self.x, device=1))

    @condition.retry(3)
    def test_backward_cpu(self):
        chainer.gradient_check.check_backward(
            functions.exp, self.x, self.gy, dtype=numpy.float64, atol=1e-3, rtol=1e-3)

    @attr.slow
    @testing.with_requires('numpy>=1.0')
    def test_slow(self):
        with testing.assert_warns(UserWarning):
            import warnings
            warnings.warn('careful')


@testing.parameterize({'fails': FAILS})
class TestFault(unittest.TestCase):
    def test_fault(self):
        self.assertFalse(self.fails)


testing.run_module(__name__, __file__)
"""
CPU_TESTS = 3 * 6 + 3 + 1


def module(fails: bool = False) -> str:
    return MODULE.replace('FAILS', repr(fails))


@pytest.mark.parametrize('mode', ['prepend', 'importlib'])
def test_pytest(pytester: pytest.Pytester, mode: str) -> None:
    pytester.makepyfile(test_legacy=module())
    pytester.makeini('[pytest]\nfilterwarnings = error\naddopts = --strict-markers')
    result = pytester.runpytest_inprocess(*PLUGIN, '-m', 'not gpu and not cudnn', f'--import-mode={mode}')
    outcomes = result.parseoutcomes()
    assert outcomes['passed'] == CPU_TESTS and 'failed' not in outcomes
    assert outcomes['skipped'] == 2 * 3 * 6, 'those of ChainerX'


def test_pytest_tells_the_parameters(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_legacy=module(fails=True))
    result = pytester.runpytest_inprocess(*PLUGIN, '-k', 'TestFault')
    result.assert_outcomes(failed=1, deselected=result.parseoutcomes()['deselected'])
    result.stdout.fnmatch_lines(['*TestFault_param_0_{fails=True}.test_fault*', '*Test parameters:', '*fails: True'])


def _run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, 'PYTHONPATH': os.pathsep.join([str(ROOT), str(folder)]), 'PYTEST_ADDOPTS': ''}
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120)


def test_unittest(tmp_path: Path) -> None:
    (tmp_path / 'test_legacy.py').write_text(module(), encoding='utf-8')
    done = _run(tmp_path, '-m', 'unittest', 'test_legacy')
    assert done.returncode == 0 and '\nOK (skipped=' in done.stderr, done.stderr


@pytest.mark.parametrize('fails', [False, True])
def test_script(tmp_path: Path, fails: bool) -> None:
    script = tmp_path / 'legacy.py'  # Not called test_*.py: pytest collects it because it is named.
    script.write_text(module(fails), encoding='utf-8')
    done = _run(tmp_path, str(script), '-k', 'TestOld or TestFault')
    assert done.returncode == int(fails), done.stdout + done.stderr
    assert f'{CPU_TESTS - 18 - fails} passed' in done.stdout


def test_script_without_pytest(tmp_path: Path) -> None:
    script = tmp_path / 'legacy.py'
    code = 'import sys, importlib.util\nfound = importlib.util.find_spec\n'
    code += "importlib.util.find_spec = lambda name, *a: None if name == 'pytest' else found(name, *a)\n"
    script.write_text(code + module(), encoding='utf-8')
    done = _run(tmp_path, str(script), 'TestOld')
    # One mark for each of the 5 tests. The number that unittest tells leaves skipped ones out in Python 3.12.1.
    marks = done.stderr.splitlines()[0]
    assert done.returncode == 0 and sorted(marks) == sorted('...ss') and '\nOK' in done.stderr, done.stderr


PYTEST_STYLE = '''
import numpy as np
import pytest

from minichainer import testing


@testing.parameterize({'n': 1}, {'n': 2})
class TestPlain:
    """No unittest here: fixtures work."""

    def test_fixture(self, tmp_path):
        assert tmp_path.is_dir() and self.n in (1, 2)

    @pytest.mark.parametrize('m', [3, 4])
    def test_marks(self, m):
        assert m > self.n


@testing.inject_backend_tests(['test_backend'], [{}, {'use_cudnn': 'auto'}])
class TestBackend:
    def test_backend(self, backend_config, tmp_path):
        assert tmp_path.is_dir() and backend_config.xp is np

    def test_other(self, tmp_path):
        pass


@testing.fix_random(setup_method='setup_method', teardown_method='teardown_method')
class TestRandom:
    def setup_method(self, method):
        self.name, self.x = method.__name__, np.random.rand()

    def test_first(self):
        assert self.name == 'test_first' and round(self.x, 6) == 0.543405

    @testing.fix_random()
    def test_second(self, tmp_path):
        assert round(np.random.rand(), 6) == 0.543405
'''


def test_classes_of_pytest(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(PYTEST_STYLE)
    result = pytester.runpytest_inprocess(*PLUGIN)
    result.assert_outcomes(passed=2 + 4 + 3 + 2)
