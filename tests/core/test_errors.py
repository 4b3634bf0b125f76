"""minichainer.errors: every exception that users catch, under one name."""

from __future__ import annotations

import builtins
import re
from pathlib import Path
from typing import Any

import pytest

import minichainer
from minichainer import errors
from minichainer.compat.chainermn import datasets as chainermn_datasets
from minichainer.training import _folder

#: Exceptions of the package that are not in ``errors``, and why.
ELSEWHERE = {
    **dict.fromkeys(['Stop', 'Unsuitable', 'Unmeasurable', 'Escaped', 'Untraceable', 'NotConvertible', 'SourceError',
                     'MissingLibrary'], 'caught inside the package'),
    'WorkerError': 'only the cause of an error, with the traceback of another process',
    'TimeoutWarning': 'a class of MultiprocessIterator, as in Chainer',
    **dict.fromkeys(['TestError', 'FunctionTestError', 'LinkTestError'], 'failures of tests, where Chainer has them'),
    **dict.fromkeys(['AxesError', 'AddedGradientError', 'AddedGradientTypeError', 'InitialShapeError',
                     'RepeatedShapeError', 'RowLengthError', 'UnknownSortKey'], 'caught as one of its base classes'),
}  # fmt: skip


def _exceptions() -> set[str]:
    """The names of all public exceptions that modules of the package define outside of ``errors``."""
    package = Path(minichainer.__file__).parent
    sources = [path.read_text(encoding='utf-8') for path in package.rglob('*.py') if path.name != 'errors.py']
    classes = [line for text in sources for line in re.findall(r'^ *class (\w+)\(([^)]*)\):', text, re.MULTILINE)]
    known = {name for module in (builtins, errors) for name, kind in vars(module).items() if _is_exception(kind)}
    found: set[str] = set()
    while more := {name for name, bases in classes if known & set(re.findall(r'\w+', bases))} - found:
        found |= more
        known |= more
    return {name for name in found if not name.startswith('_')}


def _is_exception(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseException)


def test_errors_has_every_exception_that_users_catch() -> None:
    found = _exceptions()
    missing = {name for name in found if not hasattr(errors, name)}
    assert missing - ELSEWHERE.keys() == set(), 'define it in minichainer/errors.py, or add a row above'
    assert ELSEWHERE.keys() - missing == set(), 'rows that are not needed'


@pytest.mark.parametrize(
    ('name', 'home'),
    [
        ('InvalidType', minichainer.utils.type_check),
        ('SnapshotError', minichainer.serializer),
        ('MissingEntryError', minichainer.serializer),
        ('DamagedSnapshotError', minichainer.serializer),
        ('EntryTypeError', minichainer.serializer),
        ('GradcheckError', minichainer.gradient_check),
        ('NondifferentiableError', minichainer.gradient_check),
        ('UnresolvedError', minichainer.gradient_check),
        ('FolderInUseError', _folder),
        ('PerformanceWarning', minichainer.warnings),
        ('DataSizeError', chainermn_datasets),
    ],
)
def test_an_exception_is_one_class_wherever_it_is_found(name: str, home: Any) -> None:
    assert getattr(errors, name) is getattr(home, name)
