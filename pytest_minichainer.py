"""minichainer's pytest plugin: fixture, options, marks, and reports and pages about wrong gradients.

It is loaded by every run of pytest where minichainer is installed, so it lives outside the package and
imports nothing of it before a test does: start-up stays fast, coverage sees the package being imported, and
tests that have nothing to do with minichainer are left alone.
"""

from __future__ import annotations

import contextlib
import hashlib
import inspect
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

_MARKS = {
    'gpu': 'needs a CUDA device and CuPy; skipped where there is none',
    'cudnn': 'needs cuDNN',
    'slow': 'takes long',
    'chainerx': 'a test of ChainerX, always skipped',
    'ideep': 'a test of iDeep, always skipped',
}
#: The longest name of a page, without its ending.
_LONGEST_NAME = 120


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds ``--gradcheck-seed`` and ``--gradcheck-html``."""
    group = parser.getgroup('minichainer')
    group.addoption(
        '--gradcheck-seed',
        type=int,
        default=None,
        metavar='N',
        help='seed of the random directions of the fixture check_gradients, as a failure tells it',
    )
    group.addoption(
        '--gradcheck-html',
        default=None,
        metavar='DIR',
        help='write a page with a picture for each test that fails because of a gradient, and DIR/index.html',
    )


def pytest_configure(config: pytest.Config) -> None:
    """Registers the marks of ``minichainer.testing.attr``, those of the project's own excepted, and the index."""
    registered = {line.split(':')[0].split('(')[0].strip() for line in config.getini('markers')}
    for name, meaning in _MARKS.items():
        if name not in registered:
            config.addinivalue_line('markers', f'{name}: {meaning}')
    directory = config.getoption('gradcheck_html')
    if directory is not None and not hasattr(config, 'workerinput'):  # a worker of pytest-xdist writes no index
        config.pluginmanager.register(_Index(Path(directory)), 'minichainer_index')


@pytest.fixture
def check_gradients(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """``minichainer.gradient_check.check_gradients``, which here raises, with the seed of ``--gradcheck-seed``."""
    from minichainer.gradient_check import check_gradients as check

    seed = request.config.getoption('gradcheck_seed')

    def check_or_raise(func: Any, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
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
    """Adds a section to the report of a test that failed because of a gradient, and writes its page."""
    outcome: Any = yield
    found = _gradient_report(call.excinfo.value) if call.excinfo is not None else None
    if found is None or call.excinfo is None:
        return
    result, lines = outcome.get_result(), [_replay(found, item)]
    if found.explanation.headline not in str(call.excinfo.value):
        lines.insert(0, found.message)
    directory = item.config.getoption('gradcheck_html')
    if directory is not None:
        file = _write_page(Path(directory), item.nodeid, found, lines[-1])
        # Attributes of a report travel from the workers of pytest-xdist to the process that writes the index.
        result.gradcheck_page = _row(item, call.excinfo, found, file)
        lines.append(f'page: {file}')
    result.sections.append(('Gradient check', '\n'.join(lines)))
    _shorten_summary(result)


def _shorten_summary(result: pytest.TestReport) -> None:
    """Leaves the first line of the message to the summary at the end, which prints it whole where ``CI`` is set."""
    crash = getattr(result.longrepr, 'reprcrash', None)
    if crash is not None:
        crash.message = crash.message.partition('\n')[0]


class _Index:
    """Collects the pages of a run, and lists them in a file."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / 'index.html'
        self.pages: list[list[str]] = []
        directory.mkdir(parents=True, exist_ok=True)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        page = getattr(report, 'gradcheck_page', None)
        if page is not None:
            self.pages.append(list(page))

    def pytest_sessionfinish(self) -> None:
        from minichainer.verification.reporting.page import write_index

        write_index(self.path, sorted(self.pages))

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if self.pages:
            terminalreporter.write_line(f'Failed gradient checks: {self.path}')


def _write_page(directory: Path, name: str, report: Any, replay: str) -> Path:
    """Writes the page of one test, named after it."""
    from minichainer.verification.reporting.page import write_page

    file = directory / f'{_file_name(name)}.html'
    directory.mkdir(parents=True, exist_ok=True)
    write_page(file, name, report, replay)
    return file


def _row(item: pytest.Item, excinfo: pytest.ExceptionInfo[BaseException], report: Any, file: Path) -> list[str]:
    """What the index tells about a failed test; see ``write_index``."""
    worst = report.failures[0] if report.failures else None
    ratio = '' if worst is None or worst.index is None else f'{worst.ratio:.2g}'
    cause = '' if worst is None else worst.cause
    return [item.nodeid, file.name, _place(item, excinfo), report.explanation.headline, cause, ratio]


def _place(item: pytest.Item, excinfo: pytest.ExceptionInfo[BaseException]) -> str:
    """File and line of a failure in the file of the test; of its class if it failed in a test that is inherited."""
    file = item.nodeid.partition('::')[0]
    lines = [entry.lineno + 1 for entry in excinfo.traceback if Path(str(entry.path)) == item.path]
    if lines:
        return f'{file}:{lines[-1]}'
    module = getattr(item, 'module', None)
    for cls in getattr(getattr(item, 'cls', None), '__mro__', ()):
        if cls.__module__ == getattr(module, '__name__', None):
            with contextlib.suppress(OSError, TypeError):  # a class that a decorator has made has no source
                return f'{file}:{inspect.getsourcelines(cls)[1]}'
    return f'{file}:{(item.location[1] or 0) + 1}' if item.location[0] == file else file


def _file_name(name: str) -> str:
    """The name of a test as a file name, with a few digits of a hash where it would not be unique."""
    plain = name.replace('::', '.').replace('/', '.')
    safe = re.sub(r'[^A-Za-z0-9_.-]+', '_', plain)[:_LONGEST_NAME]
    return safe if safe == plain else f'{safe}-{hashlib.sha256(name.encode()).hexdigest()[:8]}'


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


def _replay(report: Any, item: pytest.Item) -> str:
    """How to run the test again with the same random numbers."""
    if 'check_gradients' in getattr(item, 'fixturenames', ()):
        return f"replay with the same inputs: pytest '{item.nodeid}' --gradcheck-seed={report.seed}"
    return 'for the same random inputs in each run: @minichainer.testing.fix_random()'
