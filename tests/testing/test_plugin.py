"""The pytest plugin, on projects of its own made by pytester."""

from __future__ import annotations

import platform
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
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
            'E *GradcheckError: check_gradients failed for cube: a gradient is wrong.',
            'E * output 0, inputs[[]0] (40,) float64: 40 of 40 elements are wrong',
            '*- Gradient check -*',
            "replay with the same inputs: pytest 'test_wrong.py::test_cube' --gradcheck-seed=17",
        ]
    )
    elements = table(result.stdout.str())
    assert len(elements) == 8
    assert elements == table(pytester.runpytest_inprocess(*PLUGIN, '--gradcheck-seed=17').stdout.str())


def table(text: str) -> list[str]:
    """The lines about elements in the output of pytest."""
    return [line.lstrip('E ') for line in text.splitlines() if re.match(r'E? +\(\d+,\) ', line)]


FAILING_CHECKS = {
    'check_backward(cube, X, np.linspace(1, 2, 40))': 8,
    'assert minichainer.gradcheck(cube, (X,))': 8,
    'minichainer.gradgradcheck(cube, (X,))': 8,
    'check_double_backward(cube, X, np.linspace(1, 2, 40), np.linspace(1, 2, 40))': 8,
    'check_gradients(cube, X, raise_exception=True)': 8,
    'Case::test_backward': 3,
    'Case::test_double_backward': 3,
    'Several::test_backward': 4,
    'Parameterized_param_0_{m=2, n=1}::test_backward': 3,
}


@pytest.mark.parametrize('ci', ['', '1'])
@pytest.mark.parametrize('line', FAILING_CHECKS)
def test_a_failure_fits_25_lines_and_shows_its_table_once(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, line: str, ci: str
) -> None:
    monkeypatch.setenv('CI', ci)  # pytest prints whole messages in its summary there
    name, body = (line, 'pass') if '::' in line else ('test_it', line)
    pytester.makepyfile(test_it=f'{WRONG}{CASES}\n    def test_it():\n        {body}\n')
    output = pytester.runpytest_inprocess(*PLUGIN, f'test_it.py::{name}').stdout.str()
    failure = re.search(r'= FAILURES =+\n(.*)\n=+ short test', output, flags=re.DOTALL)
    assert failure and len(failure[1].splitlines()) <= 25, output
    assert len(table(output)) == FAILING_CHECKS[line]
    assert output.count(' elements are wrong') == len(re.findall(r'\(40,\) float64', output)) <= 2
    assert 'minichainer/' not in failure[1] and '_settled' not in output, 'internal frames'


CASES = """
    from minichainer import testing
    from minichainer.gradient_check import check_backward, check_double_backward, check_gradients

    class Case(testing.FunctionTestCase):
        def generate_inputs(self):
            return X,

        def forward(self, inputs, device):
            return cube(*inputs),

        def forward_expected(self, inputs):
            return inputs[0] ** 3,

    class Several(Case):
        def generate_inputs(self):
            return X, X + 1, X + 2, X + 3

        def forward(self, inputs, device):
            return tuple(cube(x) for x in inputs)

        def forward_expected(self, inputs):
            return tuple(x ** 3 for x in inputs)

    @testing.parameterize({'n': 1, 'm': 2})
    class Parameterized(Case):
        pass
"""


def test_a_link_test_case_fits_as_well(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        test_it=WRONG
        + """
    from minichainer import testing

    class Scale(minichainer.Link):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.w = minichainer.Parameter(np.linspace(0.5, 1, 40))

        def forward(self, x):
            return cube(x) * cube(self.w)

    @testing.parameterize({'dtype': np.float64})
    class TestScale(testing.LinkTestCase):
        param_names = ('w',)

        def generate_params(self):
            return ()

        def create_link(self, initializers):
            return Scale()

        def generate_inputs(self):
            return X.astype(self.dtype),

        def forward_expected(self, link, inputs):
            return inputs[0] ** 3 * link.w.array ** 3,
    """
    )
    result = pytester.runpytest_inprocess(*PLUGIN)
    result.assert_outcomes(failed=1, passed=1)
    failure = re.search(r'= FAILURES =+\n(.*)\n=+ short test', result.stdout.str(), flags=re.DOTALL)
    assert failure and len(failure[1].splitlines()) <= 32, 'two gradients, and the parameters of the test'
    assert len(table(failure[1])) == 4 and 'minichainer/' not in failure[1]


@pytest.mark.parametrize('arguments', [(), ('-n', '1')])
def test_pages_of_failed_checks(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    monkeypatch.setenv('PYTHONPATH', str(ROOT))
    pytester.makepyfile(
        test_wrong=WRONG
        + """
    import pytest

    @pytest.mark.parametrize('name', ['<script>', 'a&b', 'x' * 200])
    def test_cube(check_gradients, name):
        check_gradients(cube, (X,))

    def test_right(check_gradients):
        check_gradients(F.tanh, (X,))

    def test_other():
        assert False

    from minichainer import testing

    @testing.parameterize({'n': 1})
    @testing.inject_backend_tests(None, [{}])
    class TestCase(testing.FunctionTestCase):
        skip_double_backward_test = True

        def generate_inputs(self):
            return X,

        def forward(self, inputs, device):
            return cube(*inputs),

        def forward_expected(self, inputs):
            return inputs[0] ** 3,
    """
    )
    pytest.importorskip('xdist')
    plugins = [name for name in PLUGIN if name != '-pno:xdist']
    result = pytester.runpytest_subprocess(*plugins, *arguments, '--gradcheck-html=out/pages', '--gradcheck-seed=3')
    result.assert_outcomes(failed=5, passed=2, skipped=1)
    result.stdout.fnmatch_lines(['Failed gradient checks: out/pages/index.html'])
    pages = pytester.path / 'out' / 'pages'
    index = (pages / 'index.html').read_text(encoding='utf-8')
    files = re.findall(r'href="([^"]+)"', index)
    assert len(files) == 4 == len(list(pages.iterdir())) - 1
    source = (pytester.path / 'test_wrong.py').read_text(encoding='utf-8').splitlines()
    places = re.findall(r'<td>test_wrong.py:(\d+)</td><td>([^<]*)</td><td>([^<]*)</td>', index)
    assert [source[int(line) - 1].strip() for line, _, _ in places] == [
        "@testing.parameterize({'n': 1})",
        *['check_gradients(cube, (X,))'] * 3,
    ]
    for _, cause, ratio in places:
        assert cause.startswith('factor: backward gives 0.66') and float(ratio) > 1e6
    versions = (
        f'minichainer {minichainer.__version__}, NumPy {np.__version__}, Python {platform.python_version()}, mpmath '
    )
    assert versions in index
    for file in files:
        page = (pages / file).read_text(encoding='utf-8')
        assert versions in page
        if 'TestCase' in file:
            continue
        assert page.startswith('<!DOCTYPE html>') and '<script' not in page and '&lt;script' in index
        assert '--gradcheck-seed=3' in page and 'factor: ' in page and 'check_gradients failed for cube' in page


def test_an_index_without_failures_says_so(pytester: pytest.Pytester) -> None:
    pytester.makepyfile('def test_it():\n    pass')
    pytester.runpytest_inprocess(*PLUGIN, '--gradcheck-html=pages').assert_outcomes(passed=1)
    assert 'No gradient check has failed.' in (pytester.path / 'pages' / 'index.html').read_text(encoding='utf-8')


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
    assert re.search(r'-+ Gradient check -+\nfor the same random inputs in each run: @minichainer.testing', text)
    assert 'replay with' not in text


def test_the_report_of_an_exception_that_replaced_another(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        WRONG
        + """
    def test_cube(check_gradients):
        try:
            check_gradients(cube, (X,))
        except AssertionError:
            raise KeyError('mine')
    """
    )
    text = pytester.runpytest_inprocess(*PLUGIN, '--tb=line').stdout.str()
    section = text.partition('Gradient check -')[2]
    assert not section or len(table(section)) == 8


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
    result = pytester.runpytest_inprocess('-p', 'no:pytest_minichainer', '-p', 'no:hypothesispytest')
    result.assert_outcomes(passed=1, skipped=1)
