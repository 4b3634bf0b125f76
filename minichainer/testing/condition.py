"""Repeating tests of random behaviour, judged by how often they succeed."""

from __future__ import annotations

import copy
import functools
import traceback
import unittest
from collections.abc import Callable
from typing import Any

__all__ = ['QuietTestRunner', 'repeat', 'repeat_with_success_at_least', 'retry']


class QuietTestRunner:
    """Runs a test suite without printing.

    >>> import unittest
    >>> from minichainer.testing import condition
    >>> condition.QuietTestRunner().run(unittest.TestSuite()).testsRun
    0
    """

    def run(self, suite: Any) -> unittest.TestResult:
        """Runs the suite and returns its result."""
        result = unittest.TestResult()
        suite(result)
        return result


def repeat_with_success_at_least(times: int, min_success: int) -> Callable[[Any], Any]:
    """Decorator: runs a test several times, of which some must succeed.

    In a ``unittest.TestCase``, each run has its own ``setUp`` and ``tearDown``. The runs stop as soon as the result
    is certain. A test that skips itself is skipped.

    Args:
        times: How often to run it at most.
        min_success: How many of these have to succeed.

    Raises:
        AssertionError: ``min_success`` exceeds ``times``.
        ValueError: ``min_success`` is negative, or ``times`` is not positive.

    Source: documentation of ``chainer.testing.condition.repeat_with_success_at_least``.

    >>> import numpy as np
    >>> from minichainer.testing import condition
    >>> @condition.repeat_with_success_at_least(5, 1)
    ... def test_that_is_often_true():
    ...     assert np.random.RandomState().rand() < 0.999
    >>> test_that_is_often_true()
    """
    if times < 1 or min_success < 0:
        raise ValueError(f'expected times >= 1 and min_success >= 0, got {times} and {min_success}')
    if min_success > times:
        raise AssertionError(f'expected min_success <= times, got {min_success} and {times}')

    def decorator(test: Any) -> Any:
        @functools.wraps(test)
        def wrapper(*args: Any, **kwargs: Any) -> None:
            __tracebackhide__ = True
            successes = 0
            failures: list[str] = []
            while successes < min_success and len(failures) <= times - min_success:
                message = _failure(test, args, kwargs)
                if message is None:
                    successes += 1
                else:
                    failures.append(message)
            if successes < min_success:
                raise AssertionError(
                    f'\nFail: {len(failures)}, Success: {successes}\n\nThe first error message:\n{failures[0]}'
                )

        return wrapper

    return decorator


def _failure(test: Any, args: Any, kwargs: Any) -> str | None:
    """Runs a test once; returns the text of its failure, or None if it succeeds."""
    if args and isinstance(args[0], unittest.TestCase):
        return _failure_of_case(test, args, kwargs)
    try:
        test(*args, **kwargs)
    except unittest.SkipTest:
        raise
    except Exception:
        return traceback.format_exc()
    return None


def _failure_of_case(test: Any, args: Any, kwargs: Any) -> str | None:
    """The same for a TestCase: runs a copy of it, so that each run has its own ``setUp`` and ``tearDown``."""
    instance = copy.copy(args[0])
    instance._cleanups = []  # The cleanups belong to the outer run.
    ends: list[BaseException] = []  # such as pytest.skip, which unittest would count as an error

    def run() -> None:
        try:
            test(instance, *args[1:], **kwargs)
        except BaseException as error:
            if not isinstance(error, Exception):
                ends.append(error)
            raise

    setattr(instance, instance._testMethodName, run)
    result = QuietTestRunner().run(unittest.TestSuite([instance]))
    if ends:
        raise ends[0]
    if result.skipped:
        raise unittest.SkipTest(result.skipped[0][1])
    return next((message for _, message in (*result.failures, *result.errors)), None)


def repeat(times: int) -> Callable[[Any], Any]:
    """Decorator: runs a test several times; it must succeed each time.

    Args:
        times: How often to run it.

    Source: documentation of ``chainer.testing.condition.repeat``.

    >>> from minichainer.testing import condition
    >>> @condition.repeat(2)
    ... def test_twice():
    ...     print('ran')
    >>> test_twice()
    ran
    ran
    """
    return repeat_with_success_at_least(times, times)


def retry(times: int) -> Callable[[Any], Any]:
    """Decorator: runs a test until it succeeds, at most several times.

    Args:
        times: How often to run it at most.

    Source: documentation of ``chainer.testing.condition.retry``.

    >>> from minichainer.testing import condition
    >>> @condition.retry(3)
    ... def test_once_is_enough():
    ...     print('ran')
    >>> test_once_is_enough()
    ran
    """
    return repeat_with_success_at_least(times, 1)
