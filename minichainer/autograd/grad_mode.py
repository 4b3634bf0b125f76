"""Whether a graph is recorded: torch's modes. They set the same options as Chainer's ``no_backprop_mode``."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Generator
from typing import Any, TypeVar

from minichainer.configuration import config, set_grad_mode, using_settings

#: The value of ``config.constant_results`` inside of :class:`inference_mode`.
INFERENCE = 'inference'
F = TypeVar('F', bound=Callable[..., Any])


class _Mode(using_settings):
    """A mode as a context manager, which may be entered repeatedly, and as a decorator."""

    def __init__(self, records: bool) -> None:
        super().__init__({})
        self._records = records

    def _settings(self) -> dict[str, Any]:
        if self._records and config.constant_results == INFERENCE:
            return {}
        return {'enable_backprop': self._records, 'constant_results': not self._records}

    def _again(self) -> _Mode:
        return _Mode(self._records)

    def __call__(self, function: F) -> F:
        if inspect.isgeneratorfunction(function):
            return _resuming(self._again, function)  # type: ignore[return-value]

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            with self._again():
                return function(*args, **kwargs)

        return call  # type: ignore[return-value]


def _resuming(mode: Callable[[], _Mode], function: Callable[..., Generator[Any, Any, Any]]) -> Callable[..., Any]:
    """A generator function whose body runs in the mode, and whose caller does not."""

    @functools.wraps(function)
    def generate(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        generator = function(*args, **kwargs)
        step: Callable[[], Any] = functools.partial(next, generator)
        try:
            while True:
                try:
                    with mode():
                        value = step()
                except StopIteration as end:
                    return end.value
                try:
                    sent = yield value
                    step = functools.partial(generator.send, sent)
                except GeneratorExit:
                    raise
                except BaseException as error:
                    step = functools.partial(generator.throw, error)
        finally:
            with mode():
                generator.close()

    return generate


class _Undecorated(_Mode):
    """A mode whose class itself can be used as a decorator: ``@no_grad``."""

    def __new__(cls, mode: Any = None) -> Any:
        made = super().__new__(cls)
        if not callable(mode):
            return made
        made.__init__()  # type: ignore[misc]
        return made(mode)


class no_grad(_Undecorated):
    """Context manager and decorator: no graph is recorded, and results require no gradient.

    Chainer's ``no_backprop_mode`` records no graph either, but its results still require a gradient.

    >>> import numpy as np
    >>> from minichainer import autograd
    >>> x = autograd.Variable(np.array([1.]), requires_grad=True)
    >>> with autograd.no_grad():
    ...     y = x * 2
    >>> y.requires_grad
    False
    >>> @autograd.no_grad()
    ... def doubler(x):
    ...     return x * 2
    >>> doubler(x).requires_grad
    False
    """

    def __init__(self) -> None:
        super().__init__(False)


class enable_grad(_Undecorated):
    """Context manager and decorator: the graph is recorded even inside of :class:`no_grad`.

    >>> import numpy as np
    >>> from minichainer import autograd
    >>> x = autograd.Variable(np.array(1.), requires_grad=True)
    >>> with autograd.no_grad():
    ...     with autograd.enable_grad():
    ...         y = x * 2
    >>> y.requires_grad
    True
    >>> y.backward()
    >>> x.grad
    array(2.)
    """

    def __init__(self) -> None:
        super().__init__(True)


class set_grad_enabled(_Mode):
    """Sets whether the graph is recorded: as a call, as a context manager or as a decorator.

    Args:
        mode: whether to record.

    >>> import numpy as np
    >>> from minichainer import autograd
    >>> x = autograd.Variable(np.array([1.]), requires_grad=True)
    >>> is_train = False
    >>> with autograd.set_grad_enabled(is_train):
    ...     y = x * 2
    >>> y.requires_grad
    False
    >>> _ = autograd.set_grad_enabled(False)
    >>> (x * 2).requires_grad
    False
    >>> _ = autograd.set_grad_enabled(True)
    >>> (x * 2).requires_grad
    True
    """

    def __init__(self, mode: bool) -> None:
        super().__init__(bool(mode))
        self.mode = bool(mode)
        #: What was set before the call, until a block or a function takes over the mode.
        self._found: tuple[Any, Any] | None = self._present()
        try:
            self._set()
        except BaseException:  # that of a signal
            set_grad_mode(*self._found)
            raise

    @staticmethod
    def _present() -> tuple[Any, Any]:
        return config.enable_backprop, config.constant_results

    def _set(self) -> None:
        if config.constant_results != INFERENCE:  # which nothing inside of it changes
            set_grad_mode(self.mode, not self.mode)

    def __enter__(self) -> None:
        """Sets the mode until the end of the block: of the first one, the mode before the call is then set again."""
        self._before.append(self._found or self._present())
        self._found = None
        try:
            self._set()
        except BaseException:
            self.__exit__()
            raise

    def _restore(self) -> None:
        set_grad_mode(*self._before[-1])

    def __call__(self, function: F) -> F:
        """Decorates a function, which then runs in this mode; the mode in which it is decorated stays.

        Args:
            function: a function, coroutine function or generator function.
        """
        if self._found is not None:
            set_grad_mode(*self._found)  # a decorator changes nothing before the function is called
            self._found = None
        return super().__call__(function)

    def __repr__(self) -> str:
        return f'set_grad_enabled(mode={self.mode})'


class inference_mode(_Undecorated):
    """Context manager and decorator: :class:`no_grad`, which :class:`enable_grad` inside of it does not change.

    Results are ordinary constants, and may be used anywhere.

    Args:
        mode: False to record a graph.
    """

    def __init__(self, mode: bool = True) -> None:
        super().__init__(not mode)

    def _settings(self) -> dict[str, Any]:
        constants = False if self._records else INFERENCE
        return {'enable_backprop': self._records, 'constant_results': constants}

    def _again(self) -> _Mode:
        return inference_mode(not self._records)


def is_grad_enabled() -> bool:
    """Whether a graph is recorded in this thread.

    >>> from minichainer import autograd
    >>> with autograd.no_grad():
    ...     autograd.is_grad_enabled()
    False
    """
    return bool(config.enable_backprop)
