"""Runs test classes inside a test, as unittest would."""

from __future__ import annotations

import unittest

from minichainer.testing._cases import cases_of


def run(cls: type) -> unittest.TestResult:
    """The result of all tests of a class, or of the classes that decorators made of it."""
    suite = unittest.TestSuite()
    for case in cases_of(cls):
        suite.addTests(unittest.defaultTestLoader.loadTestsFromTestCase(case))
    count = suite.countTestCases()
    result = unittest.TestResult()
    suite.run(result)
    # Python 3.12.1 does not count those that a decorator skips; all other versions do.
    result.testsRun = count
    return result


def verdicts(result: unittest.TestResult) -> dict[str, str]:
    """Name of each test that did not pass, to the last part of its traceback."""
    return {test._testMethodName: text for test, text in [*result.failures, *result.errors, *result.skipped]}
