"""The examples of docs/testing.md run as they stand, and the output it shows is what comes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import minichainer

pytest_plugins = 'pytester'

TEXT = (Path(__file__).parents[2] / 'docs' / 'testing.md').read_text(encoding='utf-8')
BLOCKS = re.findall(r'^## ([^\n]+)\n(?:(?!^## ).)*?^```python\n(.*?)^```', TEXT, flags=re.MULTILINE | re.DOTALL)
# Passed on the CPU, and what runs on a GPU only.
EXPECTED = {
    'A function': (12, 12),
    'A link': (3, 0),
    'An elementwise function with a NumPy equivalent': (36, 36),
    'With pytest: the fixture `check_gradients`': (1, 0),
    'The same test several times': (5, 2),
}
PLUGIN = ('-p', 'pytest_minichainer', *(f'-pno:{name}' for name in ('cacheprovider', 'hypothesispytest', 'xdist')))


def test_all_examples_are_run() -> None:
    assert [title for title, _ in BLOCKS] == list(EXPECTED)
    assert TEXT.count('```python') == len(BLOCKS)


@pytest.mark.parametrize(('title', 'code'), BLOCKS, ids=[title for title, _ in BLOCKS])
def test_example(pytester: pytest.Pytester, title: str, code: str) -> None:
    pytester.makeini('[pytest]\nfilterwarnings = error\naddopts = --strict-markers')
    pytester.makepyfile(test_example=code)
    passed, on_gpu = EXPECTED[title]
    result = pytester.runpytest_inprocess(*PLUGIN)
    if minichainer.backends.cuda.available:
        result.assert_outcomes(passed=passed + on_gpu)
    else:
        result.assert_outcomes(passed=passed, skipped=on_gpu)


def test_the_section_that_is_shown(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        test_it="""
        import minichainer, numpy as np

        class Double(minichainer.FunctionNode):
            def forward(self, inputs):
                return 2 * inputs[0],

            def backward(self, indexes, grad_outputs):
                return 3 * grad_outputs[0],

        def test_wrong(check_gradients):
            check_gradients(lambda x: Double().apply((x,))[0], (np.ones(1),))
        """
    )
    (shown,) = re.findall(r'^```text\n(.*?)^```', TEXT, flags=re.MULTILINE | re.DOTALL)
    result = pytester.runpytest_inprocess(*PLUGIN)
    result.stdout.fnmatch_lines(shown.splitlines(), consecutive=True)


def test_every_tool_is_mentioned() -> None:
    missing = [name for name in minichainer.testing.__all__ if name not in TEXT]
    assert missing == ['FunctionTestError', 'LinkTestError']
