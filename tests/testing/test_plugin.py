"""The pytest plugin, on projects of its own made by pytester."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import minichainer

pytest_plugins = 'pytester'

ROOT = Path(__file__).parents[2]
NO_GPU = not minichainer.backends.cuda.available
# The plugin of this working tree, whether minichainer is installed or not.
PLUGIN = ('-p', 'pytest_minichainer', *(f'-pno:{name}' for name in ('cacheprovider', 'hypothesispytest', 'xdist')))

WRONG = """
    import numpy as np
    import minichainer
    import minichainer.functions as F

    class Cube(minichainer.FunctionNode):
        def forward(self, inputs):
            self.retain_inputs((0,))
            return inputs[0] ** 3,

        def backward(self, indexes, grad_outputs):
            x, = self.get_retained_inputs()
            return 2 * x * x * grad_outputs[0],

    def cube(x):
        return Cube().apply((x,))[0]

    X = np.linspace(0.5, 1, 40)
"""


def test_nothing_heavy_is_imported_at_start() -> None:
    code = (
        'import sys, pytest_minichainer; '
        'assert not {"numpy", "scipy", "minichainer"} & set(sys.modules), "imported too early"'
    )
    done = subprocess.run([sys.executable, '-c', code], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def test_it_is_an_entry_point() -> None:
    text = (ROOT / 'pyproject.toml').read_text(encoding='utf-8')
    # Named like its module, so that "-p pytest_minichainer" and the entry point are one plugin.
    assert '[project.entry-points.pytest11]\npytest_minichainer = "pytest_minichainer"\n' in text
    assert 'py-modules = ["pytest_minichainer"]' in text


def test_a_project_without_minichainer_is_left_alone(pytester: pytest.Pytester) -> None:
    pytester.makeini('[pytest]\naddopts = --strict-markers\nmarkers =\n    gpu: mine')
    pytester.makepyfile(
        """
        import sys
        import pytest

        @pytest.mark.gpu
        def test_mine():
            assert 'minichainer' not in sys.modules and 'numpy' not in sys.modules
        """
    )
    result = pytester.runpytest_subprocess(*PLUGIN)
    result.assert_outcomes(passed=1)
    markers = pytester.runpytest_subprocess(*PLUGIN, '--markers').stdout.str()
    assert markers.count('@pytest.mark.gpu:') == 1 and '@pytest.mark.ideep:' in markers


def test_fixture(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        WRONG
        + """
    def test_right(check_gradients):
        report = check_gradients(F.tanh, (X,))
        assert report.verdict == 'pass'

    def test_options(check_gradients):
        report = check_gradients(cube, (X,), raise_exception=False, seed=5)
        assert report.verdict == 'fail' and report.seed == 5

    def test_seed(check_gradients):
        assert check_gradients(F.tanh, X).seed == 17
    """
    )
    result = pytester.runpytest_inprocess(*PLUGIN, '--gradcheck-seed=17')
    result.assert_outcomes(passed=3)


def test_section_of_a_failure(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        test_wrong=WRONG
        + """
    def test_cube(check_gradients):
        check_gradients(cube, (X,))
    """
    )
    result = pytester.runpytest_inprocess(*PLUGIN, '--gradcheck-seed=17')
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            '*- Gradient check -*',
            'verdict: fail',
            'order 1, output 0, input 0, element (*,): numeric *, analytic *; factor: *',
            'and 30 more wrong elements',
            "replay with the same inputs: pytest 'test_wrong.py::test_cube' --gradcheck-seed=17",
        ]
    )
    text = result.stdout.str()
    assert text.count('order 1, output 0, input 0, element') == 10
    again = pytester.runpytest_inprocess(*PLUGIN, '--gradcheck-seed=17').stdout.str()
    lines = [line for line in text.splitlines() if line.startswith('order 1, ')]
    assert lines and lines == [line for line in again.splitlines() if line.startswith('order 1, ')]


def test_section_of_a_test_case(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        WRONG
        + """
    from minichainer import testing

    @testing.parameterize({'dtype': np.float64})
    class TestCube(testing.FunctionTestCase):
        skip_double_backward_test = True

        def generate_inputs(self):
            return X.astype(self.dtype),

        def forward(self, inputs, device):
            return cube(*inputs),

        def forward_expected(self, inputs):
            return inputs[0] ** 3,
    """
    )
    result = pytester.runpytest_inprocess(*PLUGIN)
    result.assert_outcomes(failed=1, passed=1, skipped=1)
    text = result.stdout.str()
    assert 'Parameterized test failed.' in text and 'backward is not implemented correctly' in text
    assert re.search(r'-+ Gradient check -+\nverdict: fail\norder 1, output 0, input 0, element', text)
    assert (
        'random inputs are drawn again after @minichainer.testing.fix_random()' in text and 'replay with' not in text
    )


def test_no_section_for_other_failures(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import minichainer

        class Error(Exception):
            report = 'something else'

        def test_it():
            raise Error

        def test_loop():
            first, second = ValueError(), ValueError()
            first.__context__, second.__context__ = second, first
            raise first
        """
    )
    result = pytester.runpytest_inprocess(*PLUGIN)
    result.assert_outcomes(failed=2)
    assert 'Gradient check' not in result.stdout.str()


@pytest.mark.skipif(not NO_GPU, reason='there is a GPU')
def test_tests_of_a_gpu_are_skipped_without_one(pytester: pytest.Pytester) -> None:
    pytester.makeini('[pytest]\naddopts = --strict-markers\nfilterwarnings = error')
    pytester.makepyfile(
        test_ours="""
        import pytest
        import minichainer.functions as F
        from minichainer.testing import attr

        @pytest.mark.gpu
        def test_marked():
            raise AssertionError('ran')

        @attr.gpu
        def test_decorated():
            raise AssertionError('ran')

        @attr.multi_gpu(2)
        class TestDecorated:
            def test_it(self):
                raise AssertionError('ran')

        @attr.slow
        @attr.cudnn
        @attr.ideep
        def test_several():
            raise AssertionError('ran')

        def test_on_the_cpu():
            pass
        """,
        test_of_another_library="""
        import pytest

        @pytest.mark.gpu
        def test_marked():
            pass
        """,
    )
    result = pytester.runpytest_inprocess(*PLUGIN, '-rs')
    result.assert_outcomes(passed=2, skipped=4)
    result.stdout.fnmatch_lines(['*no CuPy, or no CUDA device that it can use', '*needs 2 GPUs with CuPy, 0 found'])
    chosen = pytester.runpytest_inprocess(*PLUGIN, '-m', 'gpu')
    chosen.assert_outcomes(passed=1, skipped=3, deselected=2)


def test_without_the_plugin_marks_are_no_obstacle(pytester: pytest.Pytester) -> None:
    pytester.makeini('[pytest]\naddopts = --strict-markers\nfilterwarnings = error')
    pytester.makepyfile(
        """
        from minichainer.testing import attr

        @attr.slow
        def test_slow():
            pass

        @attr.chainerx
        def test_chainerx():
            raise AssertionError('ran')
        """
    )
    result = pytester.runpytest_inprocess('-p', 'no:pytest_minichainer')
    result.assert_outcomes(passed=1, skipped=1)
