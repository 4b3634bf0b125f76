"""Tests of an elementwise function of one argument, made from its NumPy equivalent."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minichainer.backends.cuda import to_cpu, to_gpu
from minichainer.function import Function
from minichainer.function_node import FunctionNode
from minichainer.gradient_check import assert_allclose, check_backward, check_double_backward
from minichainer.testing import attr
from minichainer.testing.parameterized import parameterize, product
from minichainer.variable import Variable

__all__ = ['unary_math_function_unittest']

_ORDERS = ('forward', 'backward', 'double_backward')
_FLOAT16_EPS = float(np.finfo(np.float16).eps)


def unary_math_function_unittest(
    func: Any,
    func_expected: Callable[..., Any] | None = None,
    label_expected: str | None = None,
    make_data: Callable[[tuple[int, ...], Any], tuple[Any, Any, Any]] | None = None,
    is_linear: bool | None = None,
    forward_options: dict[str, Any] | None = None,
    backward_options: dict[str, Any] | None = None,
    double_backward_options: dict[str, Any] | None = None,
) -> Callable[[type], type]:
    """Class decorator: fills an empty ``unittest.TestCase`` with tests of a function.

    They are ``test_forward``, ``test_backward`` and ``test_double_backward``, each ``_cpu`` and ``_gpu``, for
    float16, float32 and float64 and the shapes ``(3, 2)`` and ``()``; and ``test_label`` if the function is a class
    or an instance. An old-style ``Function`` has no ``test_double_backward``. A ``setUp`` of the class runs after the
    data ``x``, ``gy``, ``ggx`` and the options have been set as attributes.

    ======================== ========================================== =============================
    options                  float16                                    float32, float64
    ======================== ========================================== =============================
    forward                  atol, rtol: 2**-10                         atol, rtol: 1e-4
    backward, double         eps, atol, rtol: 2**-4; dtype: float64     atol, rtol: 1e-4; dtype: float64
    ======================== ========================================== =============================

    Options that are given are added to these; they do not replace the others.

    Args:
        func: A function of one Variable, or a ``FunctionNode`` (or ``Function``), the class or an instance.
        func_expected: Takes an array and ``dtype``, returns the values; the NumPy function of the same name
            by default.
        label_expected: ``label`` of the function; the name of the class in small letters by default.
        make_data: Takes a shape and a dtype, returns ``x, gy, ggx``, or ``x, gy`` for an old-style ``Function``; by
            default uniform in [-1, 1).
        is_linear: Accepted for old tests; a linear function needs no care here.
        forward_options: Arguments of :func:`assert_allclose`.
        backward_options: Arguments of :func:`~minichainer.gradient_check.check_backward`.
        double_backward_options: The same for
            :func:`~minichainer.gradient_check.check_double_backward`.

    Raises:
        ValueError: NumPy has no function of this name and ``func_expected`` is not given; or
            ``label_expected`` is given for a plain function, which has no label.

    Source: documentation of ``chainer.testing.unary_math_function_unittest``.

    >>> import unittest
    >>> import minichainer.functions as F
    >>> from minichainer import testing
    >>> @testing.unary_math_function_unittest(F.sin)
    ... class TestSin(unittest.TestCase):
    ...     pass
    """
    del is_linear
    kind = func if isinstance(func, type) else type(func)
    has_label = issubclass(kind, (Function, FunctionNode))
    if label_expected is not None and not has_label:
        raise ValueError(f'label_expected is given, but {func!r} is a plain function, which has no label')
    expected = func_expected or _numpy_twin(func)

    def decorator(klass: type) -> type:
        members: dict[str, Any] = {
            '_func': staticmethod(_callable(func)),
            '_expected': staticmethod(expected),
            '_make_data': staticmethod(make_data or _uniform_data),
            '_given_options': (forward_options, backward_options, double_backward_options),
            'check_forward': _check_forward,
            'check_backward': _check_backward,
            'check_double_backward': _check_double_backward,
            'setUp': _with_data(klass.setUp),  # type: ignore[attr-defined]
            **_tests(_ORDERS[:2] if issubclass(kind, Function) else _ORDERS),
        }
        if has_label:
            members['test_label'] = _label_test(func, label_expected)
        for name, member in members.items():
            setattr(klass, name, member)
        return _PARAMETERIZED(klass)

    return decorator


_PARAMETERIZED = parameterize(*product({'dtype': [np.float16, np.float32, np.float64], 'shape': [(3, 2), ()]}))


def _name_of(func: Any) -> str:
    if isinstance(func, type):
        return func.__name__.lower()
    return getattr(func, '__name__', type(func).__name__.lower())


def _numpy_twin(func: Any) -> Callable[..., Any]:
    twin = getattr(np, _name_of(func), None)
    if twin is None:
        raise ValueError(f'NumPy has no function {_name_of(func)!r}; pass func_expected')
    # By default, ufuncs do not cast float64 results to a float16 or float32 array.
    return lambda x, dtype: np.asarray(twin(x)).astype(dtype)


def _callable(func: Any) -> Callable[[Variable], Variable]:
    """``func`` as a function of one Variable; a node can be applied only once, so each call makes its own."""
    node = func if isinstance(func, type) else type(func)
    if issubclass(node, FunctionNode):
        return lambda x: node().apply((x,))[0]
    return (lambda x: node()(x)) if issubclass(node, Function) else func


def _uniform_data(shape: tuple[int, ...], dtype: Any) -> tuple[Any, Any, Any]:
    return tuple(np.asarray(np.random.uniform(-1, 1, shape)).astype(dtype) for _ in range(3))  # type: ignore


def _default_options(dtype: Any) -> dict[str, dict[str, Any]]:
    """The tolerances of a dtype: float16 results are as exact as float16 is."""
    is_half = np.dtype(dtype) == np.float16
    forward: dict[str, Any] = dict.fromkeys(('atol', 'rtol'), _FLOAT16_EPS if is_half else 1e-4)
    names = ('eps', 'atol', 'rtol') if is_half else ('atol', 'rtol')
    gradient: dict[str, Any] = dict.fromkeys(names, 2**-4 if is_half else 1e-4)
    return {'forward': forward, **{order: {'dtype': np.float64, **gradient} for order in _ORDERS[1:]}}


def _with_data(set_up: Any) -> Any:
    """A ``setUp`` that sets data and options, then calls that of the class."""

    @functools.wraps(set_up)
    def with_data(self: Any) -> None:
        for name, array in zip(('x', 'gy', 'ggx'), self._make_data(self.shape, self.dtype), strict=False):
            setattr(self, name, array)
        defaults = _default_options(self.dtype)
        for order, given in zip(_ORDERS, self._given_options, strict=True):
            setattr(self, f'{order}_options', {**defaults[order], **(given or {})})
        set_up(self)

    return with_data


def _check_forward(self: Any, x_data: Any) -> None:
    y = self._func(Variable(x_data))
    assert y.dtype == x_data.dtype, f'an input of {x_data.dtype} gave an output of {y.dtype}'
    y_expected = self._expected(to_cpu(x_data), dtype=x_data.dtype)
    assert_allclose(y_expected, y.array, **self.forward_options)


def _check_backward(self: Any, x_data: Any, y_grad: Any) -> None:
    check_backward(self._func, x_data, y_grad, **self.backward_options)


def _check_double_backward(self: Any, x_data: Any, y_grad: Any, x_grad_grad: Any) -> None:
    check_double_backward(self._func, x_data, y_grad, x_grad_grad, **self.double_backward_options)


def _test(check: str, names: tuple[str, ...], device: str) -> Any:
    def test(self: Any) -> None:
        arrays = (getattr(self, name) for name in names)
        getattr(self, check)(*(to_gpu(a) if device == 'gpu' else a for a in arrays))

    return attr.gpu(test) if device == 'gpu' else test


def _label_test(func: Any, label_expected: str | None) -> Any:
    def test_label(self: Any) -> None:
        label = (func() if isinstance(func, type) else func).label
        self.assertEqual(label, label_expected or _name_of(func))

    return test_label


def _tests(orders: Sequence[str]) -> dict[str, Any]:
    """The test methods by name."""
    arguments = {'forward': ('x',), 'backward': ('x', 'gy'), 'double_backward': ('x', 'gy', 'ggx')}
    return {
        f'test_{order}_{device}': _test(f'check_{order}', names, device)
        for order, names in arguments.items()
        if order in orders
        for device in ('cpu', 'gpu')
    }
