"""Shared code of the test cases of functions and links: errors, inputs, comparison of outputs."""

from __future__ import annotations

import contextlib
import unittest
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from minichainer.backend import on_device_of_arguments
from minichainer.backends.cuda import to_cpu
from minichainer.gradient_check import GradcheckError, GradientReport, NondifferentiableError, assert_allclose
from minichainer.testing.backend import BackendConfig
from minichainer.variable import Variable

_MOST_ATTEMPTS = 100


class TestError(AssertionError):
    """A test case has found an error in a function or a link."""

    __test__ = False

    #: The report of the gradient check that has failed, if there is one.
    report: GradientReport | None = None

    @classmethod
    def check(cls, expr: Any, message: str) -> None:
        """Raises this error with the message unless ``expr`` is true."""
        __tracebackhide__ = True
        if not expr:
            raise cls(message)

    @classmethod
    def fail(cls, message: str, exc: BaseException | None = None) -> None:
        """Raises this error with the message and its cause."""
        __tracebackhide__ = True
        if exc is None:
            raise cls(message)
        if isinstance(exc, GradcheckError) and exc.report is not None:
            raise cls._of_report(message, exc.report, exc) from None
        raise cls(f'{message}\n\n(caused by)\n{type(exc).__name__}: {exc}\n') from exc

    @classmethod
    def _of_report(cls, message: str, report: GradientReport, exc: BaseException) -> TestError:
        """This error with a short form of the report."""
        text = report.explanation.brief()
        error = cls(f'{message}\n\n(caused by)\n{type(exc).__name__}: {text}')
        error.report = report
        return error

    @classmethod
    @contextlib.contextmanager
    def raise_if_fail(cls, message: str, error_types: Any = AssertionError) -> Iterator[None]:
        """Context manager that turns exceptions of ``error_types`` into this error."""
        __tracebackhide__ = True
        try:
            yield
        except error_types as error:
            cls.fail(message, error)


class GradientCase(unittest.TestCase):
    """Base of the test cases; see :class:`FunctionTestCase` and :class:`LinkTestCase`."""

    _error: type[TestError] = TestError
    _options: tuple[str, ...] = ()

    backend_config: BackendConfig | None = None
    contiguous: str | None = None
    numerical_grad_dtype: Any = np.float64

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in self._options:
            # A separate dict, because tests update it in setUp.
            setattr(self, name, dict(getattr(type(self), name) or {}))

    def before_test(self, test_name: str) -> None:
        """Called at the start of each test with its name, after ``backend_config`` is set; to be overridden."""

    def generate_inputs(self) -> tuple[Any, ...]:
        """The NumPy arrays for the test, usually random; to be overridden."""
        raise missing(self, 'generate_inputs()')

    def check_forward_outputs(self, outputs: Sequence[Any], expected_outputs: Sequence[Any]) -> None:
        """Asserts that outputs have the expected number, shapes, dtypes and values.

        Args:
            outputs: NumPy arrays.
            expected_outputs: NumPy arrays; None for an output that is not looked at.
        """
        __tracebackhide__ = True
        self._compare(outputs, expected_outputs, getattr(self, 'check_forward_options', {}))

    def _compare(self, outputs: Sequence[Any], expected: Sequence[Any], options: dict[str, Any]) -> None:
        """Raises the error of the test case unless outputs match."""
        __tracebackhide__ = True
        kinds = (
            f'Expected shapes and dtypes: {shapes_and_dtypes(expected)}\n'
            f'Actual shapes and dtypes:   {shapes_and_dtypes(outputs)}\n'
        )
        self._error.check(
            len(outputs) == len(expected),
            f'Number of outputs ({len(outputs)}, {len(expected)}) does not match\n{kinds}',
        )
        pairs = [(i, y, e) for i, (y, e) in enumerate(zip(outputs, expected, strict=True)) if e is not None]
        same = all(y is not None and (y.shape, y.dtype) == (e.shape, e.dtype) for _, y, e in pairs)
        self._error.check(same, f'Shapes and/or dtypes do not match\n{kinds}')
        wrong = {i: text for i, y, e in pairs if (text := _difference(y, e, options))}
        details = ''.join(f'\n\nError details of output [{i}]:\n{text}\n' for i, text in wrong.items())
        self._error.check(
            not wrong,
            'Outputs do not match the expected values.\n'
            f'Indices of outputs that do not match: {", ".join(map(str, wrong))}\n{kinds}{details}',
        )

    # --- steps of a test ---

    def _begin(self, name: str, backend_config: BackendConfig | None, is_skipped: bool) -> BackendConfig:
        """Sets the config and calls ``before_test``; without a config the test runs on the CPU."""
        self.backend_config = config = backend_config or self.backend_config or BackendConfig({})
        self.test_name = name
        if is_skipped:
            raise unittest.SkipTest(f'skip_{name[5:]}_test is set')
        self.before_test(name)
        return config

    def _inputs(self) -> tuple[Any, ...]:
        return self._arrays('generate_inputs', self.generate_inputs())

    def _arrays(self, method: str, arrays: Any) -> tuple[Any, ...]:
        """The result of a method of the test, which must be a tuple of NumPy arrays or None."""
        if not isinstance(arrays, tuple):
            raise TypeError(f'`{method}()` must return a tuple, not {type(arrays)}.')
        for array in arrays:
            if not (array is None or isinstance(array, (np.ndarray, np.generic))):
                raise TypeError(f'`{method}()` must return a tuple of NumPy arrays or None, not {type(array)}.')
        return tuple(None if array is None else np.asarray(array) for array in arrays)

    def _send(self, arrays: Sequence[Any], config: BackendConfig, contiguous: str | None = None) -> tuple[Any, ...]:
        """Fresh copies on the device of the test, in the requested memory layout."""
        if self.contiguous not in (None, 'C'):
            raise ValueError(f"contiguous: expected None or 'C', got {self.contiguous!r}")
        contiguous = contiguous or self.contiguous
        copied = np.array if contiguous else strided
        sent = [None if array is None else np.array(array, order='C') for array in arrays]
        if not config.use_cuda:
            return tuple(None if array is None else copied(array) for array in sent)
        arrays_there = config.get_array(sent)
        return tuple(a if a is None or contiguous else strided(a, config.xp) for a in arrays_there)

    def _checked_outputs(self, outputs: Any) -> tuple[Any, ...]:
        """The outputs, after checking that they are a tuple of Variables."""
        self._error.check(isinstance(outputs, tuple), f'`forward()` must return a tuple, not {type(outputs)}.')
        kinds = ', '.join(str(type(y)) for y in outputs)
        self._error.check(
            all(isinstance(y, Variable) for y in outputs),
            f'forward() must return a tuple of Variables.\nActual: {kinds}',
        )
        checked: tuple[Any, ...] = outputs
        return checked

    def _check_unmodified(self, before: Sequence[Any], after: Sequence[Any]) -> None:
        """Raises the error of the test case if forward has modified its inputs."""
        pairs = list(enumerate(zip(before, map(on_cpu, after), strict=True)))
        changed = [(i, a, b) for i, (a, b) in pairs if a is not None and not _is_same(a, b)]
        details = ''.join(f'\nInput[{i}]:\nOriginal:\n{a}\nAfter forward:\n{b}\n' for i, a, b in changed)
        self._error.check(
            not changed,
            'Input arrays have been modified during forward.\n'
            f'Indices of modified inputs: {", ".join(str(i) for i, _, _ in changed)}\n'
            f'Input array shapes and dtypes: {shapes_and_dtypes(before)}\n{details}',
        )

    def _check_unmodified_contiguous(
        self, inputs: Sequence[Any], sent: Sequence[Any], config: BackendConfig, forward: Callable[[Any], Any]
    ) -> None:
        """Calls forward with C-contiguous arrays, too: a node may get copies of others, and modify these unseen."""
        if all(a is None or a.flags.c_contiguous for a in sent):
            return
        again = self._send(inputs, config, 'C')
        with config:
            forward(as_variables(again))
        self._check_unmodified(inputs, again)

    def _until_differentiable(self, draw: Callable[[], Callable[..., None] | None], message: str) -> None:
        """Runs a gradient check; with ``dodge_nondifferentiable``, repeats it with new inputs after a kink.

        Args:
            draw: Generates the inputs; returns the check, or None if there is nothing to check.
            message: What it means if the check fails.
        """
        __tracebackhide__ = True
        dodge = getattr(self, 'dodge_nondifferentiable', False)
        last: BaseException | None = None
        for _ in range(_MOST_ATTEMPTS if dodge else 1):
            check = draw()
            if check is None:
                return
            try:
                check({'dtype': self.numerical_grad_dtype, 'detect_nondifferentiable': dodge})
                return
            except self._error:  # it says what is wrong
                raise
            except AssertionError as error:
                if not (dodge and isinstance(error, NondifferentiableError)):
                    self._error.fail(message, error)
                last = error
        self._error.fail(
            f'{_MOST_ATTEMPTS} random inputs were all at points where the function is not differentiable; make '
            'generate_inputs() avoid them',
            last,
        )


def missing(case: Any, signature: str) -> NotImplementedError:
    """The error for a method that a test case must define."""
    name = signature.partition('(')[0]
    return NotImplementedError(f'{name}() is not implemented: {type(case).__name__} must define {signature}')


@on_device_of_arguments
def strided(array: Any, xp: Any = np) -> Any:
    """A copy that is not contiguous: every second element of a larger array, in reverse order.

    >>> import numpy as np
    >>> strided(np.arange(3)).strides
    (-16,)
    """
    if not array.ndim:
        return array.copy()
    buffer = xp.zeros([2 * length for length in array.shape], array.dtype)
    view = buffer[tuple(slice(None, None, -2) for _ in array.shape)]
    view[...] = array
    return view


def shapes_and_dtypes(arrays: Sequence[Any]) -> str:
    """Shapes and dtypes as in the messages.

    >>> import numpy as np
    >>> shapes_and_dtypes([np.zeros((2, 3), np.float32), None])
    '(2, 3):float32, None'
    """
    return ', '.join('None' if array is None else f'{array.shape}:{array.dtype}' for array in arrays)


def is_differentiable(array: Any) -> bool:
    """Whether an array has a floating-point dtype."""
    return array is not None and array.dtype.kind == 'f'


def as_variables(arrays: Sequence[Any]) -> tuple[Any, ...]:
    """A Variable per array, without gradient unless the dtype is floating-point; None for None."""
    return tuple(None if a is None else Variable(a, requires_grad=is_differentiable(a)) for a in arrays)


def uniform_like(template: Any) -> Any:
    """Random numbers in [-1, 1) with a template's shape and dtype; None for None."""
    if template is None:
        return None
    return np.asarray(np.random.uniform(-1, 1, template.shape)).astype(template.dtype)


def on_cpu(array: Any) -> Any:
    """An array or a Variable as a NumPy array; None for None."""
    if isinstance(array, Variable):
        array = array.array
    return None if array is None else to_cpu(array)


def _is_same(a: Any, b: Any) -> bool:
    return a.shape == b.shape and a.dtype == b.dtype and np.array_equal(a, b, equal_nan=a.dtype.kind in 'fc')


def _difference(y: Any, expected: Any, options: dict[str, Any]) -> str:
    try:
        assert_allclose(y, expected, **options)
    except AssertionError as error:
        return str(error)
    return ''
