"""minichainer's pytest plugin: fixture, option, marks, and what is wrong with a gradient in a failure's report.

It is loaded by every run of pytest where minichainer is installed, so it lives outside the package and
imports nothing of it before a test does: start-up stays fast, coverage sees the package being imported, and
tests that have nothing to do with minichainer are left alone.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

_MARKS = {
    'gpu': 'needs a CUDA device and CuPy; skipped where there is none',
    'cudnn': 'needs cuDNN',
    'slow': 'takes long',
    'chainerx': 'a test of ChainerX, always skipped',
    'ideep': 'a test of iDeep, always skipped',
}
_MOST_FAILURES = 10


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds ``--gradcheck-seed``."""
    parser.getgroup('minichainer').addoption(
        '--gradcheck-seed',
        type=int,
        default=None,
        metavar='N',
        help='seed of the random directions of the fixture check_gradients, as a failure tells it',
    )


def pytest_configure(config: pytest.Config) -> None:
    """Registers the marks of ``minichainer.testing.attr``, those of the project's own excepted."""
    registered = {line.split(':')[0].split('(')[0].strip() for line in config.getini('markers')}
    for name, meaning in _MARKS.items():
        if name not in registered:
            config.addinivalue_line('markers', f'{name}: {meaning}')


@pytest.fixture
def check_gradients(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """``minichainer.gradient_check.check_gradients``, which here raises, with the seed of ``--gradcheck-seed``."""
    from minichainer.gradient_check import check_gradients as check

    seed = request.config.getoption('gradcheck_seed')

    def check_or_raise(func: Any, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        return check(func, inputs, *args, **{'seed': seed, 'raise_exception': True, **kwargs})

    return check_or_raise


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skips tests marked ``gpu`` where there is none, in modules that use minichainer."""
    if item.get_closest_marker('gpu') is None or not _uses_minichainer(getattr(item, 'module', None)):
        return
    if not sys.modules['minichainer.backends.cuda'].available:
        pytest.skip('no CuPy, or no CUDA device that it can use')


def _uses_minichainer(module: Any) -> bool:
    """Whether one of the names of a module means something of the package."""
    if module is None or 'minichainer' not in sys.modules:
        return False
    homes = (getattr(value, '__module__', None) or getattr(value, '__name__', '') for value in vars(module).values())
    return any(isinstance(home, str) and home.split('.')[0] == 'minichainer' for home in homes)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[Any]) -> Iterator[None]:
    """Adds a section to the report of a test that failed because of a gradient."""
    outcome: Any = yield
    found = _gradient_report(call.excinfo.value) if call.excinfo is not None else None
    if found is not None:
        outcome.get_result().sections.append(('Gradient check', _diagnosis(found, item)))


def _gradient_report(error: BaseException | None) -> Any:
    """The report that an exception carries, or one of those that caused it."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        report = getattr(error, 'report', None)
        if hasattr(report, 'verdict') and type(report).__module__.split('.')[0] == 'minichainer':
            return report
        error = error.__cause__ or error.__context__
    return None


def _diagnosis(report: Any, item: pytest.Item) -> str:
    lines = [f'verdict: {report.verdict}', *map(_in_words, report.failures[:_MOST_FAILURES]), *report.notes]
    left = report.failure_count - min(len(report.failures), _MOST_FAILURES)
    if left > 0:
        lines.append(f'and {left} more wrong elements')
    if 'check_gradients' in getattr(item, 'fixturenames', ()):
        lines.append(f"replay with the same inputs: pytest '{item.nodeid}' --gradcheck-seed={report.seed}")
    else:
        lines.append('random inputs are drawn again after @minichainer.testing.fix_random()')
    return '\n'.join(lines)


def _in_words(failure: Any) -> str:
    where = f'order {failure.order}, output {failure.output}, input {failure.input}'
    element = '' if failure.index is None else f', element {failure.index}'
    slopes = '' if failure.left_slope is None else f', slopes {failure.left_slope:.6g} and {failure.right_slope:.6g}'
    values = f'numeric {_number(failure.numeric)}, analytic {_number(failure.analytic)}{slopes}'
    return f'{where}{element}: {values}; {failure.cause}'


def _number(value: float | None) -> str:
    return 'none' if value is None else f'{value:.9g}'
