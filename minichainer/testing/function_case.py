"""The test case of a function: forward, backward, double backward."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from minichainer.gradient_check import check_backward, check_double_backward
from minichainer.testing._gradient_case import (
    GradientCase,
    TestError,
    as_variables,
    is_differentiable,
    missing,
    on_cpu,
    uniform_like,
)
from minichainer.testing.backend import BackendConfig
from minichainer.variable import Variable

__all__ = ['FunctionTestCase', 'FunctionTestError']


class FunctionTestError(TestError):
    """A :class:`FunctionTestCase` has found an error in a function; the message describes it."""


class FunctionTestCase(GradientCase):
    """Base class for tests of a function: its values, its gradient, and the gradient of its gradient.

    A subclass defines :meth:`generate_inputs`, :meth:`forward` and :meth:`forward_expected`. Three tests run, each
    with its own inputs: ``test_forward``, ``test_backward``, ``test_double_backward``; on the CPU, or on all devices
    of :func:`inject_backend_tests`.

    Attributes:
        backend_config: The :class:`BackendConfig` of the running test.
        check_forward_options: Arguments of :func:`assert_allclose`, such as ``atol`` and ``rtol``.
        check_backward_options: Arguments of :func:`~minichainer.gradient_check.check_backward`.
        check_double_backward_options: The same for
            :func:`~minichainer.gradient_check.check_double_backward`. These three are dicts, set in the class or in
            ``setUp``; Chainer empties those of the class.
        skip_forward_test: True to skip ``test_forward``.
        skip_backward_test: True to skip ``test_backward``.
        skip_double_backward_test: True to skip ``test_double_backward``.
        dodge_nondifferentiable: True to draw other inputs where the function turns out to have a kink.
        numerical_grad_dtype: Dtype of the numeric side of the gradient checks, float64 by default; None for float64
            if the function takes it, else the dtypes of the inputs.
        contiguous: None for inputs and gradients with gaps in memory, ``'C'`` for contiguous ones.

    Raises:
        FunctionTestError: The function is wrong.
        TypeError: A method of the test returns something of the wrong type.

    Source: documentation of ``chainer.testing.FunctionTestCase``.

    >>> import unittest
    >>> import numpy as np
    >>> import minichainer.functions as F
    >>> from minichainer import testing
    >>> class TestTanh(testing.FunctionTestCase):
    ...     def generate_inputs(self):
    ...         return np.random.uniform(-1, 1, (2, 3)).astype(np.float32),
    ...     def forward(self, inputs, device):
    ...         return F.tanh(inputs[0]),
    ...     def forward_expected(self, inputs):
    ...         return np.tanh(inputs[0]),
    >>> result = unittest.TestResult()
    >>> unittest.defaultTestLoader.loadTestsFromTestCase(TestTanh).run(result)
    <unittest.result.TestResult run=3 errors=0 failures=0>
    """

    _error = FunctionTestError
    _options = ('check_forward_options', 'check_backward_options', 'check_double_backward_options')

    check_forward_options: dict[str, Any] = {}
    check_backward_options: dict[str, Any] = {}
    check_double_backward_options: dict[str, Any] = {}
    skip_forward_test = False
    skip_backward_test = False
    skip_double_backward_test = False
    dodge_nondifferentiable = False

    def forward(self, inputs: tuple[Variable, ...], device: Any) -> tuple[Variable, ...]:
        """Calls the function; to be overridden.

        Args:
            inputs: A Variable per array of :meth:`generate_inputs`, None where that is None.
            device: The device of the arrays.

        Returns:
            A tuple of Variables.
        """
        raise missing(self, 'forward(inputs, device)')

    def forward_expected(self, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        """The expected outputs, computed by other means; to be overridden.

        Args:
            inputs: The NumPy arrays of :meth:`generate_inputs`.

        Returns:
            A tuple of NumPy arrays, None for an output that is not looked at.
        """
        raise missing(self, 'forward_expected(inputs)')

    def generate_grad_outputs(self, outputs_template: Sequence[Any]) -> tuple[Any, ...]:
        """Upstream gradients: NumPy arrays of the shapes and dtypes of the outputs, uniform in [-1, 1)."""
        return tuple(map(uniform_like, outputs_template))

    def generate_grad_grad_inputs(self, inputs_template: Sequence[Any]) -> tuple[Any, ...]:
        """Upstream gradients of the gradients: arrays like the inputs, uniform in [-1, 1)."""
        return tuple(map(uniform_like, inputs_template))

    def test_forward(self, backend_config: BackendConfig | None = None) -> None:
        """Compares the outputs with :meth:`forward_expected`."""
        __tracebackhide__ = True
        self._skip_base()
        self.run_test_forward(backend_config)

    def test_backward(self, backend_config: BackendConfig | None = None) -> None:
        """Checks the gradient with finite differences."""
        __tracebackhide__ = True
        self._skip_base()
        self.run_test_backward(backend_config)

    def test_double_backward(self, backend_config: BackendConfig | None = None) -> None:
        """Checks the gradient of the gradient with finite differences."""
        __tracebackhide__ = True
        self._skip_base()
        self.run_test_double_backward(backend_config)

    def _skip_base(self) -> None:
        # A module that imports this class by name would collect it.
        if type(self) is FunctionTestCase:
            self.skipTest('the base of test cases is not a test')

    def run_test_forward(self, backend_config: BackendConfig | None) -> None:
        """The body of :meth:`test_forward`."""
        __tracebackhide__ = True
        config = self._begin('test_forward', backend_config, self.skip_forward_test)
        inputs = self._inputs()
        expected = self._expected(inputs)
        sent = self._send(inputs, config)
        with config:
            outputs = self._forward(as_variables(sent), config)
        self._check_unmodified(inputs, sent)
        self.check_forward_outputs(tuple(map(on_cpu, outputs)), expected)
        self._check_unmodified_contiguous(inputs, sent, config, lambda xs: self._forward(xs, config))

    def run_test_backward(self, backend_config: BackendConfig | None) -> None:
        """The body of :meth:`test_backward`."""
        __tracebackhide__ = True
        config = self._begin('test_backward', backend_config, self.skip_backward_test)

        def draw() -> Callable[..., None] | None:
            inputs = self._inputs()
            grads = self._grad_outputs(inputs, config)
            if not any(map(is_differentiable, inputs)):
                return None
            xs = self._send(inputs, config)

            def check(options: dict[str, Any]) -> None:
                __tracebackhide__ = True
                with config:
                    check_backward(self._function(config), xs, grads, **{**options, **self.check_backward_options})

            return check

        self._until_differentiable(draw, 'backward is not implemented correctly')

    def run_test_double_backward(self, backend_config: BackendConfig | None) -> None:
        """The body of :meth:`test_double_backward`."""
        __tracebackhide__ = True
        config = self._begin('test_double_backward', backend_config, self.skip_double_backward_test)

        def draw() -> Callable[..., None] | None:
            inputs = self._inputs()
            grads = self._grad_outputs(inputs, config)
            if not any(map(is_differentiable, inputs)):
                return None
            grad_grads = self._arrays('generate_grad_grad_inputs', self.generate_grad_grad_inputs(inputs))
            # The gradient of an integer input is None, so it has no upstream gradient.
            grad_grads = tuple(g if is_differentiable(g) else None for g in grad_grads)
            xs, ggxs = self._send(inputs, config), self._send(grad_grads, config)

            def check(options: dict[str, Any]) -> None:
                __tracebackhide__ = True
                options = {**options, **self.check_double_backward_options}
                with config:
                    check_double_backward(self._function(config), xs, grads, ggxs, **options)

            return check

        self._until_differentiable(draw, 'double backward is not implemented correctly')

    # --- steps ---

    def _expected(self, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        copies = tuple(None if x is None else x.copy() for x in inputs)
        return self._arrays('forward_expected', self.forward_expected(copies))

    def _forward(self, variables: Any, config: BackendConfig) -> tuple[Any, ...]:
        return self._checked_outputs(self.forward(variables, config.device))

    def _function(self, config: BackendConfig) -> Any:
        def function(*variables: Any) -> tuple[Any, ...]:
            return self._forward(variables, config)

        function.__name__ = f'{type(self).__name__}.forward'
        return function

    def _grad_outputs(self, inputs: tuple[Any, ...], config: BackendConfig) -> tuple[Any, ...]:
        """Upstream gradients on the device; None for outputs without a floating-point dtype."""
        template = self._expected(inputs)
        if any(y is None for y in template):
            with config:
                found = self._forward(as_variables(self._send(inputs, config)), config)
            template = tuple(map(on_cpu, found))
        grads = self._arrays('generate_grad_outputs', self.generate_grad_outputs(template))
        return self._send([g if is_differentiable(g) else None for g in grads], config)
