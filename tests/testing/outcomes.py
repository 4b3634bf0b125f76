"""Runs test files given as text, under the library of this interpreter, and prints what passed: JSON in, JSON out.

It needs neither pytest nor this project, so that an interpreter with Chainer can run it.
"""

from __future__ import annotations

import json
import random
import sys
import types
import unittest
import warnings

PREAMBLE = """
import functools
import unittest
import numpy as np
import chainer
from chainer import Parameter, Variable, gradient_check, initializers, testing
from chainer import functions as F
from chainer import links as L
from chainer.testing import attr, condition
on_devices = testing.inject_backend_tests(None, [{}, {'use_cuda': True}])
"""


def outcomes(source: str, library: str, seed: int) -> dict[str, str]:
    """The outcome of each test method: "pass", "skip", or the type of the exception; the worst over all classes.

    Args:
        source: The text of the file, without the imports of :data:`PREAMBLE`.
        library: The package that is imported as chainer.
        seed: Of NumPy's and Python's random numbers.
    """
    import numpy as np

    text = PREAMBLE.replace('import chainer', f'import {library} as chainer').replace(
        'from chainer', f'from {library}'
    )
    module = types.ModuleType('test_file_of_a_user')
    sys.modules[module.__name__] = module
    np.random.seed(seed)
    random.seed(seed)
    found: dict[str, str] = {}
    try:
        exec(compile(text + source, module.__name__, 'exec'), vars(module))
    except Exception as error:
        return {'import': type(error).__name__}
    finally:
        del sys.modules[module.__name__]
    for cls in [c for c in vars(module).values() if isinstance(c, type)]:
        for name, outcome in _of_class(cls):
            if found.get(name, 'pass') in ('pass', 'skip'):
                found[name] = outcome
    return found


def _of_class(cls: type) -> list[tuple[str, str]]:
    """The outcomes of the tests of a class, a TestCase or as pytest takes it; those of a GPU are left out."""
    if 'use_cuda_true' in cls.__name__ or not getattr(cls, '__test__', True):
        return []
    if not issubclass(cls, unittest.TestCase) and not cls.__name__.startswith('Test'):
        return []
    names = [name for name in dir(cls) if name.startswith('test') and callable(getattr(cls, name))]
    return [(name, _outcome(cls, name)) for name in names if not name.endswith('_gpu')]


def _outcome(cls: type, name: str) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        if not issubclass(cls, unittest.TestCase):
            return _of_plain(cls, name)
        ends: list[str] = []
        case = cls(name)
        case.run(_Result(ends))
        return ends[0] if ends else 'pass'


def _of_plain(cls: type, name: str) -> str:
    instance = cls()
    try:
        getattr(instance, 'setup_method', lambda: None)()
        getattr(instance, name)()
    except unittest.SkipTest:
        return 'skip'
    except Exception as error:
        return type(error).__name__
    return 'pass'


class _Result(unittest.TestResult):
    """Keeps the types of exceptions."""

    def __init__(self, ends: list[str]) -> None:
        super().__init__()
        self.ends = ends

    def addFailure(self, test, err) -> None:
        self.ends.append(err[0].__name__)

    addError = addFailure

    def addSkip(self, test, reason) -> None:
        self.ends.append('skip')


def failures(source: str, library: str, seeds: int) -> dict[str, object]:
    """For each test how often it failed, of so many runs; "skip" if it was skipped."""
    runs = [outcomes(source, library, seed) for seed in range(seeds)]
    names = sorted({name for run in runs for name in run})
    found: dict[str, object] = {}
    for name in names:
        ends = [run.get(name, 'pass') for run in runs]
        found[name] = 'skip' if set(ends) == {'skip'} else sum(end not in ('pass', 'skip') for end in ends)
    return found


if __name__ == '__main__':
    files = json.load(sys.stdin)
    json.dump({name: failures(text, sys.argv[1], int(sys.argv[2])) for name, text in files.items()}, sys.stdout)
