"""Tests with reproducible random numbers."""

from __future__ import annotations

import contextlib
import functools
import inspect
import os
import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from minichainer.backends import cuda

__all__ = ['fix_random', 'generate_seed']

_SEED = 100
# Seeds of the running tests with fixed random numbers; tests may nest.
_seeds: list[int] = []
# What the teardown of the running test must undo.
_opened: list[contextlib.ExitStack] = []


def fix_random(*, setup_method: str = 'setUp', teardown_method: str = 'tearDown') -> Callable[[Any], Any]:
    """Decorator of a test class or a test: fixes the seeds of NumPy's, CuPy's and Python's generators.

    They are seeded before ``setUp``, and restored after ``tearDown``. With the environment variable
    ``CHAINER_TEST_RANDOM_NONDETERMINISTIC=1`` the seed is random.

    Args:
        setup_method: What the class calls its ``setUp``.
        teardown_method: What the class calls its ``tearDown``.

    Source: documentation of ``chainer.testing.fix_random``.

    >>> import numpy as np
    >>> from minichainer import testing
    >>> @testing.fix_random()
    ... def test_draw():
    ...     return round(np.random.rand(), 4)
    >>> test_draw(), test_draw()
    (0.5434, 0.5434)
    """

    def decorator(test: Any) -> Any:
        if isinstance(test, type):
            setattr(test, setup_method, _with_start(test, setup_method))
            setattr(test, teardown_method, _with_end(test, teardown_method))
            return test

        @functools.wraps(test)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            with _fixed():
                return test(*args, **kwargs)

        return wrapper

    return decorator


def generate_seed() -> int:
    """A seed for the test's own generator; inside :func:`fix_random` it is the same in each run.

    Raises:
        RuntimeError: No test with fixed random numbers is running.

    Source: documentation of ``chainer.testing.generate_seed``.

    >>> from minichainer import testing
    >>> @testing.fix_random()
    ... def test_seed():
    ...     return testing.generate_seed()
    >>> test_seed()
    2333906440
    """
    if not _seeds:
        raise RuntimeError('generate_seed: the test, or its class, must be decorated with testing.fix_random()')
    return int(np.random.randint(0xFFFFFFFF, dtype=np.uint32))


@contextlib.contextmanager
def _fixed() -> Iterator[None]:
    """Context manager in which all generators are seeded; restores their states."""
    states = random.getstate(), np.random.get_state(legacy=False)
    seed = int.from_bytes(os.urandom(4), 'big') if _is_random() else _SEED
    random.seed(seed)
    np.random.seed(seed)
    _seeds.append(seed)
    try:
        with _fixed_gpu(seed):
            yield
    finally:
        _seeds.pop()
        random.setstate(states[0])
        np.random.set_state(states[1])


def _is_random() -> bool:
    return os.environ.get('CHAINER_TEST_RANDOM_NONDETERMINISTIC', '0') not in ('', '0')


@contextlib.contextmanager
def _fixed_gpu(seed: int) -> Iterator[None]:
    """The same for CuPy's generator of the current device."""
    if not cuda.available:
        yield
        return
    generator = cuda.cupy.random
    former = generator.get_random_state()
    generator.set_random_state(generator.RandomState(seed))
    try:
        yield
    finally:
        generator.set_random_state(former)


def _start() -> None:
    with contextlib.ExitStack() as stack:
        stack.enter_context(_fixed())
        _opened.append(stack.pop_all())


def _with_start(cls: type, name: str) -> Any:
    """The setup method of a class, with seeding before it."""
    former = getattr(cls, name, None)

    def setup(self: Any, *args: Any) -> None:
        _start()
        if former is not None:
            try:
                former(self, *args)
            except BaseException:  # Then teardown is not called.
                _opened.pop().close()
                raise

    return _like(former, setup)


def _with_end(cls: type, name: str) -> Any:
    """The teardown method of a class, with restoring after it."""
    former = getattr(cls, name, None)

    def teardown(self: Any, *args: Any) -> None:
        try:
            if former is not None:
                former(self, *args)
        finally:
            _opened.pop().close()

    return _like(former, teardown)


def _like(former: Any, function: Callable[..., None]) -> Callable[..., None]:
    """The function with the number of arguments of ``former``, which pytest counts before the call."""
    if former is not None and len(inspect.signature(former).parameters) > 1:
        return lambda self, argument=None: function(self, argument)
    return lambda self: function(self)
