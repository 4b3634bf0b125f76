"""Tests that are run several times."""

from __future__ import annotations

import unittest
from typing import Any

import pytest

from minichainer.testing import condition
from tests.testing.running import run, verdicts


def make(decorator: Any, outcomes: list[bool]) -> tuple[type, list[str]]:
    """A test that succeeds or fails in turn, and the diary of what ran."""
    diary: list[str] = []

    class Case(unittest.TestCase):
        def setUp(self) -> None:
            diary.append('setUp')
            self.addCleanup(diary.append, 'cleanup')

        def tearDown(self) -> None:
            diary.append('tearDown')

        @decorator
        def test_it(self) -> None:
            succeeds = outcomes[diary.count('run') % len(outcomes)]
            diary.append('run')
            self.assertTrue(succeeds, 'no luck')

    return Case, diary


TABLE = [
    (condition.retry(3), [False, False, True], True, 3),
    (condition.retry(3), [True], True, 1),
    (condition.retry(2), [False], False, 2),
    (condition.repeat(3), [True], True, 3),
    (condition.repeat(3), [True, False], False, 2),
    (condition.repeat_with_success_at_least(5, 2), [False, True], True, 4),
    (condition.repeat_with_success_at_least(5, 2), [False, False, True], False, 5),
    (condition.repeat_with_success_at_least(4, 2), [False], False, 3),
    (condition.repeat_with_success_at_least(4, 0), [False], True, 0),
]


@pytest.mark.parametrize(('decorator', 'outcomes', 'succeeds', 'runs'), TABLE)
def test_runs_until_the_verdict_is_certain(decorator: Any, outcomes: Any, succeeds: bool, runs: int) -> None:
    case, diary = make(decorator, outcomes)
    result = run(case)
    assert result.wasSuccessful() == succeeds
    assert diary.count('run') == runs
    assert diary == ['setUp', *['setUp', 'run', 'tearDown', 'cleanup'] * runs, 'tearDown', 'cleanup']


def test_message() -> None:
    case, _ = make(condition.repeat_with_success_at_least(4, 3), [True, False])
    text = verdicts(run(case))['test_it']
    assert 'AssertionError: \nFail: 2, Success: 2\n\nThe first error message:\nTraceback' in text
    assert 'AssertionError: False is not true : no luck' in text


def test_errors_count_as_failures() -> None:
    class Case(unittest.TestCase):
        @condition.retry(2)
        def test_it(self) -> None:
            raise LookupError('lost')

    assert 'Fail: 2, Success: 0' in verdicts(run(Case))['test_it']


def test_a_skip_is_a_skip() -> None:
    class Case(unittest.TestCase):
        @condition.retry(3)
        def test_it(self) -> None:
            self.skipTest('why')

    assert verdicts(run(Case)) == {'test_it': 'why'}

    @condition.repeat(2)
    def test() -> None:
        raise unittest.SkipTest('why')

    with pytest.raises(unittest.SkipTest, match='why'):
        test()


def test_plain_functions_and_methods_of_plain_classes() -> None:
    class Case:
        runs = 0

        @condition.retry(3)
        def test_it(self, argument: int) -> None:
            self.runs += argument
            assert self.runs == 2

    case = Case()
    case.test_it(argument=1)
    assert case.runs == 2


@pytest.mark.parametrize(
    ('times', 'least', 'error'), [(0, 0, ValueError), (2, 3, AssertionError), (2, -1, ValueError)]
)
def test_bad_numbers(times: int, least: int, error: type[Exception]) -> None:
    with pytest.raises(error, match=r'expected .*min_success'):
        condition.repeat_with_success_at_least(times, least)


def test_quiet_runner(capsys: pytest.CaptureFixture[str]) -> None:
    case, _ = make(condition.retry(1), [False])
    result = condition.QuietTestRunner().run(unittest.TestSuite([case('test_it')]))
    assert len(result.failures) == 1 and capsys.readouterr() == ('', '')
