"""Is a gradient right? Backward is compared with finite differences of forward.

``check_backward`` compares along one random direction over all inputs and parameters at once, so its cost
does not grow with their size. Only after a failure is more computed: which input is wrong and, where it is
small, which of its elements.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minichainer.backend import get_array_module
from minichainer.differentiate import grad
from minichainer.functions.array.conversion import cast
from minichainer.variable import Variable
from minichainer.verification.arguments import (
    as_arrays,
    as_variables,
    check_grad_grads,
    input_arguments,
    parameter_arguments,
)
from minichainer.verification.differences import (
    KinkDetector,
    NondifferentiableError,
    as_tuple,
    check_eps,
    check_pairs,
    is_float,
    slope,
    step_error,
)
from minichainer.verification.directional import (
    DirectionalCheck,
    Settings,
    call_checked,
    matching_grad_outputs,
    name_of,
)
from minichainer.verification.failure import failure_message

__all__ = [
    'NondifferentiableError',
    'assert_allclose',
    'check_backward',
    'check_double_backward',
    'numerical_grad',
]


def numerical_grad(
    f: Callable[[], Sequence[Any]],
    inputs: Sequence[Any],
    grad_outputs: Sequence[Any],
    eps: float = 1e-3,
    detect_nondifferentiable: bool = False,
    diff_atol: float = 0,
    diff_rtol: float = 1e-2,
    center_outputs: Sequence[Any] | None = None,
) -> list[Any]:
    r"""Computes the gradient of ``f`` element by element, by finite differences.

    For every element :math:`x_i` of ``inputs`` it is
    :math:`\sum g_y \cdot (f(x_i + \epsilon) - f(x_i - \epsilon)) / 2 \epsilon`; with
    ``detect_nondifferentiable`` it comes from five points, with an error of order :math:`\epsilon^4`.

    Args:
        f: A function without arguments that reads ``inputs`` and returns a tuple of arrays.
        inputs: Arrays of floating-point numbers. They are changed in place while this runs, and hold their
            values again afterwards, also when ``f`` raises.
        grad_outputs: One array per output of ``f``, of its shape, or None for an output that does not
            count.
        eps: Half of the distance between the two points, in the unit of the inputs.
        detect_nondifferentiable: Whether to look for kinks and jumps.
        diff_atol: A kink is where the root mean square distance of five values to a parabola is greater
            than ``diff_atol + diff_rtol * (max - min)``, by more than rounding explains.
        diff_rtol: See ``diff_atol``.
        center_outputs: Ignored; it is there for code written for Chainer.

    Returns:
        A list of arrays, of the shapes and dtypes of ``inputs``.

    Raises:
        NondifferentiableError: The function has a kink or a jump, and ``detect_nondifferentiable`` is True.
        RuntimeError: An input is not of a floating-point dtype or is read-only, or CPU and GPU arrays are
            mixed.
        ValueError: The outputs do not match ``grad_outputs``, or ``eps`` is not positive.

    Source: documentation of ``chainer.gradient_check.numerical_grad``.

    >>> import numpy as np
    >>> from minichainer import gradient_check
    >>> x = np.array([1.0, 2.0])
    >>> gradient_check.numerical_grad(lambda: (x ** 2,), (x,), (np.ones(2),))[0].round(6)
    array([2., 4.])
    """
    del center_outputs
    inputs, grad_outputs = as_tuple(inputs), as_tuple(grad_outputs)
    check_eps(eps)
    _check_perturbable(inputs, grad_outputs)
    # One of them may be the very array that is about to be moved.
    grad_outputs = [None if gy is None else gy.copy() for gy in grad_outputs]
    results = []
    for i, x in enumerate(inputs):
        result = np.empty(x.shape)
        for index in np.ndindex(x.shape):
            detector = None
            if detect_nondifferentiable:
                where = f'at inputs[{i}]{list(index)} = {float(x[index])!r}'
                detector = KinkDetector(diff_atol, diff_rtol, step_error(x[index], eps), where)
            result[index] = _element_slope(f, x, index, grad_outputs, eps, detector)
        results.append(get_array_module(x).asarray(result.astype(x.dtype)))
    return results


def _element_slope(
    f: Callable[[], Any], x: Any, index: Any, grad_outputs: Any, eps: float, detector: KinkDetector | None
) -> float:
    original = x[index].copy()

    def sample(offset: float) -> list[Any]:
        x[index] = original + offset
        return [y.array if isinstance(y, Variable) else y for y in as_tuple(f())]

    try:
        return slope(sample, grad_outputs, eps, detector)
    finally:
        x[index] = original


def _check_perturbable(inputs: Sequence[Any], grad_outputs: Sequence[Any]) -> None:
    arrays = [*inputs, *(gy for gy in grad_outputs if gy is not None)]
    modules = {get_array_module(a).__name__ for a in arrays}
    if len(modules) > 1:
        raise RuntimeError(f'numerical_grad takes arrays of one kind, not of {" and ".join(sorted(modules))}')
    for i, x in enumerate(inputs):
        if not is_float(x):
            raise RuntimeError(f'inputs[{i}] must be of a floating-point dtype, not {x.dtype}')
        if not getattr(x.flags, 'writeable', True):
            raise RuntimeError(f'inputs[{i}] is read-only; numerical_grad changes its inputs in place: pass a copy')


def assert_allclose(x: Any, y: Any, atol: float = 1e-5, rtol: float = 1e-4, verbose: bool = True) -> None:
    """Asserts that two arrays agree, element by element: ``abs(x - y) <= atol + rtol * abs(y)``.

    This compares any arrays, so NaN equals NaN here, as in ``numpy.testing``; the gradient checks do not
    accept NaN.

    Args:
        x: An array or number, on CPU or GPU.
        y: The expected one, of the same shape or a number.
        atol: Allowed absolute error, in the unit of the arrays.
        rtol: Allowed error relative to ``y``.
        verbose: Whether the message shows the arrays.

    Raises:
        AssertionError: They differ; the message names the worst element.
        TypeError: ``x`` or ``y`` is a Variable; compare ``variable.array``.

    Source: documentation of ``chainer.testing.assert_allclose``.

    >>> from minichainer import gradient_check
    >>> gradient_check.assert_allclose([1.0, 2.0], [1.0, 2.00001])
    """
    x, y = _host_array(x), _host_array(y)
    try:
        np.testing.assert_allclose(x, y, atol=atol, rtol=rtol, verbose=verbose)
    except AssertionError as error:
        raise AssertionError(f'{error}\n\n{_worst_difference(x, y, atol, rtol)}') from None


def _host_array(value: Any) -> Any:
    if isinstance(value, Variable):
        raise TypeError(f'assert_allclose compares arrays, not {type(value).__name__}; pass variable.array')
    return np.asarray(value.get() if get_array_module(value) is not np else value)


def _worst_difference(x: Any, y: Any, atol: float, rtol: float) -> str:
    text = f'assert_allclose failed:\n  shape: {x.shape} {y.shape}\n  dtype: {x.dtype} {y.dtype}'
    if not x.size or (x.shape != y.shape and x.ndim and y.ndim):
        return text
    x, y = np.broadcast_arrays(x, y)
    with np.errstate(invalid='ignore', over='ignore'):
        error = abs(np.subtract(x, y, dtype=np.result_type(x, y, np.float64)))
        tolerance = atol + rtol * abs(y)
        excess = np.where((x == y) | ((x != x) & (y != y)), -np.inf, error - tolerance)
    i = np.unravel_index(np.where(np.isnan(excess), np.inf, excess).argmax(), x.shape)
    return (
        f'{text}\n  worst element: {tuple(map(int, i))}\n  x: {x[i]!r}\n  y: {y[i]!r}\n'
        f'  error: {error[i]:.6g}, allowed: {tolerance[i]:.6g}'
    )


def check_backward(
    func: Callable[..., Any],
    x_data: Any,
    y_grad: Any,
    params: Any = (),
    eps: float = 1e-3,
    atol: float = 1e-5,
    rtol: float = 1e-4,
    no_grads: Sequence[bool] | None = None,
    dtype: Any = None,
    detect_nondifferentiable: bool = False,
) -> None:
    r"""Asserts that the backward pass of ``func`` is the derivative of its forward pass.

    Along one unit vector :math:`r` over all inputs and parameters at once, the slope
    :math:`\sum g_y \cdot (f(x + \epsilon r) - f(x - \epsilon r)) / 2 \epsilon` is compared with
    :math:`\sum g_x \cdot r`, at the cost of three forward passes and one backward pass. After a failure the
    function is called more often, to find out which input is wrong and, up to 64 elements, which of its
    elements.

    ``func`` gets copies of the arrays. A function that changes them in place fails the check.

    Args:
        func: Takes one Variable per entry of ``x_data``, returns a Variable or a tuple of them: a function,
            a Link.
        x_data: An array or a tuple of arrays, of which some may be None. Those of other than floating-point
            dtypes are passed on and not differentiated.
        y_grad: Upstream gradients: one array per output, of its shape and dtype, or None for an output that
            does not count. None alone is for a loss, a single output of shape ``()``, and stands for 1.
            Arrays of random numbers of either sign see the most; of zeros, nothing.
        params: A Variable or a tuple of Variables that ``func`` also depends on. They are left as they
            were.
        eps: Step along the unit vector; each element moves by about ``eps / sqrt(n)``.
        atol: Allowed absolute error of the slope.
        rtol: Allowed error of the slope, relative to that of the backward pass.
        no_grads: One flag per input: True for an input that is not moved, and whose gradient has to be
            None.
        dtype: Floating-point dtype of the numeric side; ``numpy.float64`` makes checks of float16 and
            float32 reliable. The backward pass runs in the dtypes of ``x_data``.
        detect_nondifferentiable: Whether to look for kinks and jumps, at the cost of three more forward
            passes.

    Raises:
        AssertionError: The gradient is wrong, or not finite, or an array was changed in place.
        NondifferentiableError: The function has a kink or a jump, and ``detect_nondifferentiable`` is True.
        RuntimeError: An input with ``no_grads`` True gets a gradient.
        TypeError: An argument, or what ``func`` returns, is of the wrong type.
        ValueError: ``y_grad`` does not match the outputs, ``no_grads`` not the inputs; ``eps`` is not
            positive; ``dtype`` is not of a floating-point kind.

    Source: documentation of ``chainer.gradient_check.check_backward``.

    >>> import numpy as np
    >>> from minichainer import gradient_check
    >>> x = np.array([0.5, -1.0, 2.0], np.float32)
    >>> gy = np.array([1.0, -0.5, 0.25], np.float32)
    >>> gradient_check.check_backward(lambda x: x * x, x, gy, dtype=np.float64)
    """
    settings = Settings('check_backward', eps, atol, rtol, dtype, detect_nondifferentiable)
    arguments = input_arguments(as_arrays(x_data, 'x_data'), no_grads) + parameter_arguments(params)
    y_grads = None if y_grad is None else as_arrays(y_grad, 'y_grad')
    DirectionalCheck(func, arguments, y_grads, settings).run(failure_message)


def check_double_backward(
    func: Callable[..., Any],
    x_data: Any,
    y_grad: Any,
    x_grad_grad: Any,
    params: Any = (),
    params_grad_grad: Any = (),
    eps: float = 1e-3,
    atol: float = 1e-4,
    rtol: float = 1e-3,
    no_grads: Sequence[bool] | None = None,
    dtype: Any = None,
    detect_nondifferentiable: bool = False,
) -> None:
    """Asserts that the gradients which ``func`` gives are themselves differentiated correctly.

    The function that takes inputs and upstream gradients to the gradients of inputs and parameters is given
    to :func:`check_backward`. Whether these gradients are right is not looked at: check the first order
    too. An input that ``func`` does not use has the gradient zero.

    Args:
        func: As in :func:`check_backward`.
        x_data: As in :func:`check_backward`.
        y_grad: As in :func:`check_backward`; the check differentiates with regard to it, too.
        x_grad_grad: Upstream gradients of the gradients: one array per input, of its shape and dtype, or
            None for a gradient that does not count, such as that of an integer input.
        params: As in :func:`check_backward`.
        params_grad_grad: The same as ``x_grad_grad`` for the parameters.
        eps: As in :func:`check_backward`.
        atol: As in :func:`check_backward`.
        rtol: As in :func:`check_backward`.
        no_grads: One flag per input, or one per input and then one per entry of ``y_grad``.
        dtype: As in :func:`check_backward`.
        detect_nondifferentiable: As in :func:`check_backward`.

    Raises:
        AssertionError: A second-order gradient is wrong, or not finite, or an array was changed in place.
        RuntimeError: ``func`` contains an old-style Function, which cannot be differentiated twice.
        ValueError: As in :func:`check_backward`; also where ``x_grad_grad`` or ``params_grad_grad`` do not
            match.

    Source: documentation of ``chainer.gradient_check.check_double_backward``.

    >>> import numpy as np
    >>> from minichainer import gradient_check
    >>> x, gy, ggx = (np.array(a) for a in ([0.5, -1.0], [1.0, -0.5], [0.3, 2.0]))
    >>> gradient_check.check_double_backward(lambda x: x * x * x, x, gy, ggx)
    """
    settings = Settings('check_double_backward', eps, atol, rtol, dtype, detect_nondifferentiable, 'grad_grads')
    xs, ggxs = as_arrays(x_data, 'x_data'), as_arrays(x_grad_grad, 'x_grad_grad')
    params, ggparams = as_tuple(params), as_arrays(params_grad_grad, 'params_grad_grad')
    parameters = parameter_arguments(params)
    check_grad_grads('x_data', xs, 'x_grad_grad', ggxs)
    check_grad_grads('params', [a.array for a in parameters], 'params_grad_grad', ggparams)
    gys = None if y_grad is None else as_arrays(y_grad, 'y_grad')
    if gys is None:
        outputs = call_checked(func, as_variables(xs))
        gys = matching_grad_outputs(outputs, None)
    if no_grads is not None and len(no_grads) == len(xs):
        no_grads = [*no_grads, *([False] * len(gys))]
    arguments = input_arguments(xs + gys, no_grads, count=len(xs))
    wanted = [gg if is_float(x) else None for x, gg in zip(xs, ggxs, strict=True)]
    first_order = _first_order(func, len(xs), params)
    DirectionalCheck(first_order, arguments + parameters, (*wanted, *ggparams), settings).run(failure_message)


def _first_order(func: Callable[..., Any], count: int, params: Sequence[Variable]) -> Callable[..., Any]:
    """The function that takes ``count`` inputs, and upstream gradients, to the gradients of ``func``."""

    def gradients(*inputs_and_grads: Any) -> tuple[Any, ...]:
        inputs, gys = inputs_and_grads[:count], inputs_and_grads[count:]
        outputs = call_checked(func, inputs)
        arrays = [None if y is None else y.array for y in outputs]
        check_pairs(arrays, [None if gy is None else gy.array for gy in gys], check_dtype=False)
        pairs = [(y, _in_dtype(gy, y.dtype)) for y, gy in zip(outputs, gys, strict=True) if gy is not None]
        variables = [x for x in inputs if x is not None and is_float(x.array)] + list(params)
        found = iter(_gradients(pairs, variables))
        return tuple(
            next(found) if argument is not None and is_float(argument.array) else None
            for argument in (*inputs, *params)
        )

    gradients.__name__ = f'the gradients of {name_of(func)}'
    return gradients


def _in_dtype(x: Variable, dtype: Any) -> Variable:
    return x if x.dtype == dtype else cast(x, dtype)


def _gradients(pairs: Sequence[tuple[Variable, Variable]], variables: Sequence[Variable]) -> list[Variable]:
    """Differentiable gradients; zero where nothing depends on a variable."""
    if not pairs:
        return [Variable(x.xp.zeros_like(x.array)) for x in variables]
    outputs, gys = zip(*pairs, strict=True)
    found = grad(outputs, variables, gys, enable_double_backprop=True)
    return [Variable(x.xp.zeros_like(x.array)) if gx is None else gx for x, gx in zip(variables, found, strict=True)]
