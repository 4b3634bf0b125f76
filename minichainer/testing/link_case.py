"""The test cases of a link: forward, backward, and initializers of its parameters."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minichainer.backend import get_array_types
from minichainer.gradient_check import check_backward
from minichainer.initializers._generate import _get_initializer
from minichainer.link.link import Link
from minichainer.testing._gradient_case import (
    GradientCase,
    TestError,
    as_variables,
    is_differentiable,
    missing,
    on_cpu,
    strided,
    uniform_like,
)
from minichainer.testing.backend import BackendConfig
from minichainer.variable import Parameter, Variable

__all__ = ['InitializerArgument', 'LinkInitializersTestCase', 'LinkTestCase', 'LinkTestError']


class LinkTestError(TestError):
    """A :class:`LinkTestCase` has found an error in a link; the message describes it."""


class InitializerArgument:
    """An initializer argument of a link, and the initializer that it stands for.

    Args:
        argument_value: What :meth:`LinkInitializersTestCase.create_link` gets, such as None for a default.
        expected_initializer: An initializer, a number or an array of what the parameter then holds.

    Raises:
        TypeError: ``expected_initializer`` is something else.
        ValueError: It is None.

    Source: documentation of ``chainer.testing.InitializerArgument``.

    >>> from minichainer import testing
    >>> testing.InitializerArgument(None, 0).expected_initializer
    0
    """

    def __init__(self, argument_value: Any, expected_initializer: Any) -> None:
        _check_initializer('InitializerArgument: expected_initializer', expected_initializer)
        self.argument_value = argument_value
        self.expected_initializer = expected_initializer


def _check_initializer(what: str, value: Any) -> None:
    """Raises an error unless a value says what a parameter holds; ``InitializerArgument`` has been checked before."""
    if value is None:
        raise ValueError(
            f'{what} must be an initializer, a number or an array, got None: write what None stands for, such as '
            'InitializerArgument(None, 0)'
        )
    if not (isinstance(value, (InitializerArgument, *get_array_types())) or callable(value) or np.isscalar(value)):
        raise TypeError(f'{what} must be an initializer, a number or an array, got {type(value).__name__}')


def _check_list(what: str, value: Any) -> None:
    if not isinstance(value, (tuple, list)):
        raise TypeError(f'{what} must be a tuple or a list, got {type(value).__name__}')


class _LinkCase(GradientCase):
    """Shared code of the two test cases of links."""

    _error = LinkTestError

    #: Names of the tested parameters, in the order of their initializers; ``/l1/W`` inside a chain.
    param_names: Sequence[str] = ()

    def generate_params(self) -> Sequence[Any]:
        """Initializers, one per parameter, for :meth:`create_link`; to be overridden."""
        raise missing(self, 'generate_params()')

    def create_link(self, initializers: Sequence[Any]) -> Link:
        """Makes the link from the initializers; to be overridden."""
        raise missing(self, 'create_link(initializers)')

    def forward(self, link: Link, inputs: tuple[Variable, ...], device: Any) -> tuple[Variable, ...]:
        """Calls the link; returns a tuple of Variables."""
        outputs = link(*inputs)
        return outputs if isinstance(outputs, tuple) else (outputs,)

    def _params(self) -> list[Any]:
        """The initializers of :meth:`generate_params`, as :meth:`create_link` gets them."""
        params = self.generate_params()
        _check_list('generate_params()', params)
        for value in params:
            _check_initializer('generate_params(): each item', value)
        return [value.argument_value if isinstance(value, InitializerArgument) else value for value in params]

    def _link(self, initializers: Sequence[Any], config: BackendConfig) -> Link:
        link = self.create_link(initializers)
        if not isinstance(link, Link):
            raise TypeError(f'`create_link()` must return a Link, not {type(link)}.')
        link.to_device(config.device)
        return link

    def _forward(self, link: Link, variables: Any, config: BackendConfig) -> tuple[Any, ...]:
        return self._checked_outputs(self.forward(link, variables, config.device))

    def _run(self, link: Link, inputs: tuple[Any, ...], config: BackendConfig) -> tuple[Any, ...]:
        """Outputs for NumPy arrays, which must not be modified."""
        sent = self._send(inputs, config)
        with config:
            outputs = self._forward(link, as_variables(sent), config)
        self._check_unmodified(inputs, sent)
        return tuple(map(on_cpu, outputs))

    def _parameter(self, link: Link, name: str) -> Parameter:
        named = dict(link.namedparams())
        found = named.get(name if name.startswith('/') else f'/{name}')
        if found is None:
            names = ', '.join(named) or 'none'
            raise LinkTestError(f'Link does not have a parameter named {name!r} (param_names): it has {names}.')
        return found


class LinkTestCase(_LinkCase):
    """Base class for tests of a link: its values, and the gradients of inputs and parameters.

    A subclass defines ``param_names``, :meth:`generate_params`, :meth:`create_link`, :meth:`generate_inputs` and
    :meth:`forward_expected`. Two tests run: ``test_forward`` and ``test_backward``; on the CPU, or on all devices of
    :func:`inject_backend_tests`.

    Attributes:
        param_names: Names of the parameters whose gradients are checked; ``/l1/W`` inside a chain.
        backend_config: The :class:`BackendConfig` of the running test.
        check_forward_options: Arguments of :func:`assert_allclose`, such as ``atol`` and ``rtol``.
        check_backward_options: Arguments of :func:`~minichainer.gradient_check.check_backward`. Both are dicts, set
            in the class or in ``setUp``; Chainer empties those of the class.
        skip_forward_test: True to skip ``test_forward``.
        skip_backward_test: True to skip ``test_backward``.
        dodge_nondifferentiable: True to draw other inputs where the link turns out to have a kink.
        numerical_grad_dtype: Dtype of the numeric side of the gradient checks, float64 by default; None for float64
            if the link takes it, else the dtypes of the inputs.
        contiguous: None for inputs, parameters and gradients with gaps in memory, ``'C'`` for contiguous ones.

    Raises:
        LinkTestError: The link is wrong, or lacks a parameter.
        TypeError: A method of the test returns something of the wrong type.

    Source: documentation of ``chainer.testing.LinkTestCase``.

    >>> import unittest
    >>> import numpy as np
    >>> import minichainer.links as L
    >>> from minichainer import initializers, testing
    >>> class TestLinear(testing.LinkTestCase):
    ...     param_names = ('W', 'b')
    ...     def generate_params(self):
    ...         return initializers.Normal(), initializers.Normal()
    ...     def create_link(self, initializers):
    ...         return L.Linear(2, 3, initialW=initializers[0], initial_bias=initializers[1])
    ...     def generate_inputs(self):
    ...         return np.random.uniform(-1, 1, (4, 2)).astype(np.float32),
    ...     def forward_expected(self, link, inputs):
    ...         return inputs[0] @ link.W.array.T + link.b.array,
    >>> result = unittest.TestResult()
    >>> unittest.defaultTestLoader.loadTestsFromTestCase(TestLinear).run(result)
    <unittest.result.TestResult run=2 errors=0 failures=0>
    """

    _options = ('check_forward_options', 'check_backward_options')

    check_forward_options: dict[str, Any] = {}
    check_backward_options: dict[str, Any] = {}
    skip_forward_test = False
    skip_backward_test = False
    dodge_nondifferentiable = False

    def forward_expected(self, link: Link, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        """The expected outputs, computed by other means; to be overridden.

        Args:
            link: The link, on the CPU.
            inputs: The NumPy arrays of :meth:`generate_inputs`.

        Returns:
            A tuple of NumPy arrays, None for an output that is not looked at.
        """
        raise missing(self, 'forward_expected(link, inputs)')

    def generate_grad_outputs(self, outputs_template: Sequence[Any]) -> tuple[Any, ...]:
        """Upstream gradients: NumPy arrays of the shapes and dtypes of the outputs, uniform in [-1, 1)."""
        return tuple(map(uniform_like, outputs_template))

    def test_forward(self, backend_config: BackendConfig | None = None) -> None:
        """Compares the outputs with :meth:`forward_expected`."""
        __tracebackhide__ = True
        if type(self) is LinkTestCase:
            self.skipTest('the base of test cases is not a test')
        config = self._begin('test_forward', backend_config, self.skip_forward_test)
        inputs = self._inputs()
        link = self._link(self._params(), config)
        # For a link with a state, the expected outputs are computed before the call, if possible.
        ready = copy.deepcopy(link) if _is_initialized(link) else link
        outputs = self._run(link, inputs, config)
        ready.to_device('@numpy')
        copies = tuple(None if x is None else x.copy() for x in inputs)
        expected = self._arrays('forward_expected', self.forward_expected(ready, copies))
        self.check_forward_outputs(outputs, expected)
        link.to_device(config.device)
        sent = self._send(inputs, config)
        self._check_unmodified_contiguous(inputs, sent, config, lambda xs: self._forward(link, xs, config))

    def test_backward(self, backend_config: BackendConfig | None = None) -> None:
        """Checks the gradients of inputs and parameters with finite differences."""
        __tracebackhide__ = True
        if type(self) is LinkTestCase:
            self.skipTest('the base of test cases is not a test')
        config = self._begin('test_backward', backend_config, self.skip_backward_test)
        self._until_differentiable(lambda: self._backward_check(config), 'backward is not implemented correctly')

    def _backward_check(self, config: BackendConfig) -> Callable[..., None] | None:
        """Makes a link and inputs; returns a check of the gradients of inputs and parameters."""
        inputs = self._inputs()
        link = self._link(self._params(), config)
        if not _is_initialized(link):
            self._run(link, inputs, config)
        template = self._run(copy.deepcopy(link), inputs, config)
        grads = self._arrays('generate_grad_outputs', self.generate_grad_outputs(template))
        grads = self._send([g if is_differentiable(g) else None for g in grads], config)
        params = tuple(self._parameter(link, name) for name in self.param_names)
        if not (params or any(map(is_differentiable, inputs))):
            return None
        if self.contiguous is None:
            for param in params:
                param.array = strided(param.array, config.xp)
        xs = self._send(inputs, config)

        def function(*variables: Any) -> tuple[Any, ...]:
            return self._forward(link, variables, config)

        def check(options: dict[str, Any]) -> None:
            __tracebackhide__ = True
            with config:
                check_backward(function, xs, grads, params, **{**options, **self.check_backward_options})

        function.__name__ = type(link).__name__
        return check


class LinkInitializersTestCase(_LinkCase):
    """Base class for tests of the initializers of a link.

    A subclass defines ``param_names``, :meth:`generate_params`, :meth:`create_link`, :meth:`generate_inputs` and
    :meth:`get_initializers`. One test runs, ``test_initializers``: for each parameter and each of its initializers,
    it makes a link, calls it, and compares the parameter. Random initializers cannot be compared.

    Attributes:
        param_names: Names of the parameters.
        backend_config: The :class:`BackendConfig` of the running test.
        check_initializers_options: Arguments of :func:`assert_allclose`, such as ``atol`` and ``rtol``.
        contiguous: None for inputs with gaps in memory, ``'C'`` for contiguous ones.

    Raises:
        LinkTestError: A parameter is not as expected, or does not exist.
        TypeError: A method of the test returns something of the wrong type.

    Source: documentation of ``chainer.testing.LinkInitializersTestCase``.

    >>> import unittest
    >>> import numpy as np
    >>> import minichainer.links as L
    >>> from minichainer import testing
    >>> class TestLinear(testing.LinkInitializersTestCase):
    ...     param_names = ('W', 'b')
    ...     def generate_params(self):
    ...         return 1, 1
    ...     def create_link(self, initializers):
    ...         return L.Linear(2, 3, initialW=initializers[0], initial_bias=initializers[1])
    ...     def generate_inputs(self):
    ...         return np.zeros((4, 2), np.float32),
    ...     def get_initializers(self):
    ...         return [2, np.ones((3, 2), np.float32)], [3, testing.InitializerArgument(None, 0)]
    >>> result = unittest.TestResult()
    >>> unittest.defaultTestLoader.loadTestsFromTestCase(TestLinear).run(result)
    <unittest.result.TestResult run=1 errors=0 failures=0>
    """

    _options = ('check_initializers_options',)

    check_initializers_options: dict[str, Any] = {}

    def get_initializers(self) -> Sequence[Sequence[Any]]:
        """For each parameter a list of initializers, or :class:`InitializerArgument`; to be overridden."""
        raise missing(self, 'get_initializers()')

    def check_forward_outputs(self, outputs: Sequence[Any], expected_outputs: Sequence[Any]) -> None:
        """Asserts that parameters have the expected shapes, dtypes and values."""
        self._compare(outputs, expected_outputs, self.check_initializers_options)

    def test_initializers(self, backend_config: BackendConfig | None = None) -> None:
        """Compares parameters with the values from their initializers."""
        __tracebackhide__ = True
        if type(self) is LinkInitializersTestCase:
            self.skipTest('the base of test cases is not a test')
        config = self._begin('test_initializers', backend_config, False)
        inputs, others, lists = self._inputs(), self._params(), self._initializers()
        if len(lists) != len(self.param_names):
            raise TypeError(
                f'`get_initializers()` must return one list per name in param_names ({len(self.param_names)}), '
                f'got {len(lists)}'
            )
        for i, (name, choices) in enumerate(zip(self.param_names, lists, strict=True)):
            for choice in choices:
                initializers = [*others[:i], choice.argument_value, *others[i + 1 :]]
                self._compare_initialized(inputs, initializers, name, choice.expected_initializer, config)

    def _initializers(self) -> list[list[InitializerArgument]]:
        """The result of :meth:`get_initializers`, all as :class:`InitializerArgument`."""
        lists = self.get_initializers()
        _check_list('get_initializers()', lists)
        for choices in lists:
            _check_list('get_initializers(): each item', choices)
            for choice in choices:
                _check_initializer('get_initializers(): each initializer', choice)
        return [[c if isinstance(c, InitializerArgument) else InitializerArgument(c, c) for c in cs] for cs in lists]

    def _compare_initialized(
        self, inputs: tuple[Any, ...], initializers: list[Any], name: str, expected: Any, config: BackendConfig
    ) -> None:
        """Makes a link, and compares one parameter with its initializer."""
        __tracebackhide__ = True
        link = self._link(initializers, config)
        self._run(link, inputs, config)
        value = on_cpu(self._parameter(link, name))
        wanted = np.empty_like(value)
        _get_initializer(expected)(wanted)
        with LinkTestError.raise_if_fail(f'Parameter {name!r} does not match its initializer {expected!r}.'):
            self.check_forward_outputs((value,), (wanted,))


def _is_initialized(link: Link) -> bool:
    return all(param.is_initialized for param in link.params())
