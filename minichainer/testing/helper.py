"""Expected warnings, patched objects, and requirements of tests."""

from __future__ import annotations

import contextlib
import importlib.metadata
import operator
import re
import unittest
import unittest.mock
import warnings
from collections.abc import Callable, Iterator
from typing import Any

__all__ = ['assert_warns', 'patch', 'with_requires', 'without_requires']


@contextlib.contextmanager
def assert_warns(expected: type[Warning] | tuple[type[Warning], ...]) -> Iterator[None]:
    """Context manager that asserts that a warning of a class is issued, and hides it.

    Warnings of other classes are issued again at the end.

    Args:
        expected: The class, or a tuple of classes of which one is enough.

    Raises:
        AssertionError: None was issued; the message lists those that were.

    Source: documentation of ``chainer.testing.assert_warns``.

    >>> import warnings
    >>> from minichainer import testing
    >>> with testing.assert_warns(UserWarning):
    ...     warnings.warn('be careful')
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter('always')
        yield
    others = [w for w in caught if not issubclass(w.category, expected)]
    if len(others) == len(caught):
        classes = expected if isinstance(expected, tuple) else (expected,)
        names = ' or '.join(cls.__name__ for cls in classes)
        found = ', '.join(f'{w.category.__name__}: {w.message}' for w in caught) or 'no warning'
        raise AssertionError(f'{names} not triggered; got {found}')
    for w in others:
        warnings.warn_explicit(w.message, w.category, w.filename, w.lineno, source=w.source)


class _Patch:
    """``unittest.mock.patch``: replaces an object during a test or a ``with`` block.

    ``patch.object``, ``patch.dict``, ``patch.multiple`` and ``patch.stopall`` are there too.

    Args:
        target: Where the object is, ``'package.module.name'``.
        args: As ``unittest.mock.patch`` takes them.
        kwargs: As ``unittest.mock.patch`` takes them.

    Source: documentation of ``chainer.testing.patch``.

    >>> import os
    >>> from minichainer import testing
    >>> with testing.patch('os.getcwd', return_value='nowhere'):
    ...     os.getcwd()
    'nowhere'
    """

    def __call__(self, target: str, *args: Any, **kwargs: Any) -> Any:
        """As ``unittest.mock.patch``."""
        return unittest.mock.patch(target, *args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith('__'):  # with those of a function, ``inspect`` would take it for that function
            raise AttributeError(name)
        return getattr(unittest.mock.patch, name)


patch = _Patch()


def with_requires(*requirements: str) -> Callable[[Any], Any]:
    """Decorator: skips the test unless all requirements are met.

    Args:
        requirements: Names of distributions, each with versions or without: ``'numpy>=1.26,<3'``.

    Raises:
        ValueError: A requirement of another form.

    Source: documentation of ``chainer.testing.with_requires``.

    >>> from minichainer import testing
    >>> @testing.with_requires('numpy>=1.26', 'scipy')
    ... def test_with_libraries():
    ...     pass
    """
    return unittest.skipUnless(_fulfilled(requirements), f'requires: {",".join(requirements)}')


def without_requires(*requirements: str) -> Callable[[Any], Any]:
    """Decorator: skips the test if all requirements are met.

    Args:
        requirements: As :func:`with_requires` takes them.

    Raises:
        ValueError: A requirement of another form.

    Source: documentation of ``chainer.testing.without_requires``.

    >>> from minichainer import testing
    >>> @testing.without_requires('numpy<1.26')
    ... def test_with_a_newer_numpy():
    ...     pass
    """
    return unittest.skipIf(_fulfilled(requirements), f'requires: {",".join(requirements)}')


_REQUIREMENT = re.compile(r'\s*([\w.-]+)\s*((?:(?:==|!=|<=|>=|<|>)\s*[\w.]+(?:\.\*)?\s*,?\s*)*)')
_COMPARISONS = {
    '==': operator.eq,
    '!=': operator.ne,
    '<=': operator.le,
    '>=': operator.ge,
    '<': operator.lt,
    '>': operator.gt,
}


def _fulfilled(requirements: tuple[str, ...]) -> bool:
    return all([_is_installed(requirement) for requirement in requirements])


def _is_installed(requirement: str) -> bool:
    """Whether an installed version meets a requirement."""
    found = _REQUIREMENT.fullmatch(requirement)
    if found is None:
        raise ValueError(f'requirement {requirement!r}: expected a form such as "numpy" or "numpy>=1.26,<3"')
    try:
        version = importlib.metadata.version(found[1])
    except importlib.metadata.PackageNotFoundError:
        return False
    bounds = re.findall(r'(==|!=|<=|>=|<|>)\s*([\w.]+?)(\.\*)?\s*(?:,|$)', found[2])
    return all(_meets(version, *bound) for bound in bounds)


def _meets(version: str, sign: str, bound: str, wildcard: str) -> bool:
    if not wildcard:
        return bool(_COMPARISONS[sign](_comparable(version), _comparable(bound)))
    if sign not in ('==', '!='):
        raise ValueError(f'requirement "{sign}{bound}.*": a wildcard needs == or !=')
    return (f'{version}.'.startswith(f'{bound}.')) is (sign == '==')


def _comparable(version: str) -> tuple[Any, ...]:
    """A version as numbers without trailing zeros; candidates (``2.0rc1``) come before the release."""
    release = re.match(r'\d+(?:\.\d+)*', version)
    if release is None:
        raise ValueError(f'version {version!r} does not begin with a number')
    numbers = [int(n) for n in release[0].split('.')]
    while len(numbers) > 1 and not numbers[-1]:
        numbers.pop()
    is_candidate = re.match(r'\.?(?:a|b|rc|dev)', version[release.end() :])
    return (tuple(numbers), 0 if is_candidate else 1)
