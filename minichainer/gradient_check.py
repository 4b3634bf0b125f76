"""Gradient checks: backward is compared with finite differences of forward, and a report says what is wrong.

:func:`check_gradients` does the work; :func:`gradcheck`, :func:`gradgradcheck` (torch's names and arguments),
:func:`check_backward` and :func:`check_double_backward` (Chainer's) are thin layers over it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from minichainer.backend import get_array_module, get_array_types
from minichainer.variable import Variable
from minichainer.verification.arguments import check
from minichainer.verification.command import main
from minichainer.verification.differences import (
    KinkDetector,
    as_tuple,
    check_eps,
    check_grad_grads,
    is_float,
    slope,
    step_error,
)
from minichainer.verification.options import Options, default, refuse_later_options
from minichainer.verification.point import LOSS
from minichainer.verification.report import (
    Failure,
    GradcheckError,
    GradientReport,
    NondifferentiableError,
    UnresolvedError,
    error_of,
)
from minichainer.verification.self_test import self_test

__all__ = [
    'Failure',
    'GradcheckError',
    'GradientReport',
    'NondifferentiableError',
    'UnresolvedError',
    'assert_allclose',
    'check_backward',
    'check_double_backward',
    'check_gradients',
    'gradcheck',
    'gradgradcheck',
    'numerical_grad',
    'self_test',
]

_EPS, _ATOL, _RTOL = default(1e-6), default(1e-5), default(1e-3)


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
    r"""Computes the gradient of ``f`` element by element with finite differences.

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
    # One of them may be the very array that is perturbed.
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
    """The derivative of the weighted outputs with respect to one element."""
    original = x[index].copy()

    def sample(offset: float) -> list[Any]:
        x[index] = original + offset
        return [y.array if isinstance(y, Variable) else y for y in as_tuple(f())]

    try:
        return slope(sample, grad_outputs, eps, detector)
    finally:
        x[index] = original


def _check_perturbable(inputs: Sequence[Any], grad_outputs: Sequence[Any]) -> None:
    """Raises an error unless all inputs can be changed in place."""
    arrays = [*inputs, *(gy for gy in grad_outputs if gy is not None)]
    modules = {get_array_module(a).__name__ for a in arrays}
    if len(modules) > 1:
        raise RuntimeError(f'numerical_grad: arrays must be of one kind, got {" and ".join(sorted(modules))}')
    for i, x in enumerate(inputs):
        if not is_float(x):
            raise RuntimeError(f'inputs[{i}] must be of a floating-point dtype, not {x.dtype}')
        if not getattr(x.flags, 'writeable', True):
            raise RuntimeError(f'inputs[{i}] is read-only; numerical_grad changes its inputs in place: pass a copy')


def assert_allclose(x: Any, y: Any, atol: float = 1e-5, rtol: float = 1e-4, verbose: bool = True) -> None:
    """Asserts that two arrays agree, element by element: ``abs(x - y) <= atol + rtol * abs(y)``.

    It compares arrays of any kind, so NaN equals NaN, as in ``numpy.testing``; the gradient checks reject NaN.

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
    """The error message of :func:`assert_allclose`."""
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


def check_gradients(
    func: Callable[..., Any],
    inputs: Any,
    grad_outputs: Any = None,
    *,
    kwargs: Mapping[str, Any] | None = None,
    params: Any = (),
    no_grads: Sequence[bool] | None = None,
    order: int = 1,
    dtype: Any = None,
    eps: float | None = None,
    atol: float | None = None,
    rtol: float | None = None,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = True,
    full_jacobian: bool = False,
    subgradient: bool = False,
    tangent: Any = None,
    max_failures: int = 64,
    seed: int | None = None,
    raise_exception: bool = False,
) -> GradientReport:
    r"""Checks the gradients of a function, of any order, and reports what is wrong with which element.

    First come checks without tolerance: shapes and dtypes of the gradients, two passes that must agree, arrays that
    must not change, and :math:`J^T(a v) = a J^T v` bit by bit for powers of two. Then the slope of :math:`v \cdot f(x
    + t d)` at :math:`t = 0` is compared with :math:`(J^T v) \cdot d`, for random directions :math:`d` and random
    signed upstream gradients :math:`v`. The slope is measured with differences at several steps, whose agreement
    gives an error estimate. Only after a mismatch are single elements measured, and causes searched. The number of
    calls does not depend on the sizes of the arrays.

    Args:
        func: Takes the inputs, returns a Variable or nested containers of Variables. None and integers among
            its outputs are skipped, and so are Variables with ``requires_grad=False`` beside others.
        inputs: One argument, or a tuple of them: arrays, Variables, nested tuples, lists and dicts of these. The
            function gets Variables of copies; integers and booleans without gradient; all else as it is.
        grad_outputs: Upstream gradients, one array per output of its shape and dtype, or None for an output that
            does not count. Random ones by default, and besides those given.
        kwargs: Keyword arguments of ``func``, passed on.
        params: Variables that ``func`` also depends on, or "all" for those of a link.
        no_grads: One flag per argument: True for one that is not perturbed and whose gradient must be None.
        order: 1 for gradients, 2 for gradients of gradients as well, and so on.
        dtype: Dtype of the numeric side; by default float64, or the inputs' own where ``func`` refuses it.
        eps: Makes it one central difference with this step along unit vectors, with tolerances of
            ``atol=1e-5`` and ``rtol=1e-3`` where none are given. By default the steps are chosen.
        atol: Widens the tolerance: allowed absolute error of an element.
        rtol: Widens the tolerance: allowed error relative to the element.
        nondet_tol: Allowed absolute difference between repeated computations.
        check_undefined_grad: Whether ``None`` in place of an upstream gradient must work and mean zero.
        check_grad_dtypes: Whether a gradient needs the dtype of its input.
        full_jacobian: Compare every entry, too, where the Jacobian has at most 10000.
        subgradient: At a kink accept any value between the slopes from the left and from the right.
        tangent: A function that projects a direction, an array, onto those in which the input may move, such
            as symmetric matrices; or one per input.
        max_failures: How many failures are listed for each pair of output and input.
        seed: A seed of all random numbers, to repeat a check; a fresh one by default.
        raise_exception: Raise an error instead of returning a report that is not "pass".

    Returns:
        A report, true if all is right; ``print`` shows it.

    Raises:
        GradcheckError: With ``raise_exception``: the gradient is wrong, not finite or not deterministic, or an
            array was modified in place; its subclass :class:`NondifferentiableError` at a kink,
            :class:`UnresolvedError` where right and wrong cannot be told apart.
        ValueError, TypeError: An argument, named in the text.
        NotImplementedError: Complex inputs, not supported yet.

    >>> import numpy as np
    >>> import minichainer.functions as F
    >>> from minichainer.gradient_check import check_gradients
    >>> x = np.array([[0.5, -1.0], [2.0, 0.25]])
    >>> report = check_gradients(F.softmax, x, order=2, seed=0)
    >>> bool(report), report.verdict, report.failures
    (True, 'pass', [])
    """
    options = Options(
        order=order,
        dtype=dtype,
        eps=eps,
        atol=atol,
        rtol=rtol,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        full_jacobian=full_jacobian,
        subgradient=subgradient,
        tangent=tangent,
        max_failures=max_failures,
        seed=seed,
    )
    given = {1: grad_outputs}
    report = check(func, inputs, given, options, kwargs=kwargs, params=params, no_grads=no_grads)
    return _settled(report, raise_exception)


def _settled(report: GradientReport, raise_exception: bool) -> GradientReport:
    if raise_exception and not report:
        raise error_of(report)
    return report


def gradcheck(
    func: Callable[..., Any],
    inputs: Any,
    eps: float = _EPS,
    atol: float = _ATOL,
    rtol: float = _RTOL,
    raise_exception: bool = True,
    check_sparse_nnz: bool | None = None,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
    *,
    params: Any = (),
    no_grads: Sequence[bool] | None = None,
    seed: int | None = None,
) -> bool:
    """Whether the gradients of ``func`` are right; the arguments have torch's names, order and meaning.

    Args:
        func: As in :func:`check_gradients`.
        inputs: As in :func:`check_gradients`.
        eps: If given, the step of one central difference; by default steps are chosen.
        atol: If given, the allowed absolute error of an element; by default the error estimate decides.
        rtol: If given, the allowed relative error of an element.
        raise_exception: Raise with an explanation instead of returning False.
        check_sparse_nnz: Deprecated name of ``masked``.
        nondet_tol: As in :func:`check_gradients`.
        check_undefined_grad: As in :func:`check_gradients`.
        check_grad_dtypes: As in :func:`check_gradients`.
        check_batched_grad: Not supported yet.
        check_batched_forward_grad: Not supported yet.
        check_forward_ad: Not supported yet.
        check_backward_ad: Must be True as long as there is no forward mode.
        fast_mode: Leave out the full Jacobian, and the conditions that backward must not depend on: special upstream
            gradients, layouts, threads, settings. The screen is made in any case.
        masked: Not supported yet.
        params: As in :func:`check_gradients`.
        no_grads: As in :func:`check_gradients`.
        seed: As in :func:`check_gradients`.

    Raises:
        GradcheckError: The gradients are not right, and ``raise_exception`` is True.
        NotImplementedError: An option that is not supported yet is set.
        ValueError, TypeError: An argument, named in the text.

    Source: documentation of ``torch.autograd.gradcheck``.

    >>> import numpy as np
    >>> import minichainer
    >>> import minichainer.functions as F
    >>> minichainer.gradcheck(F.tanh, (np.array([0.5, -1.0]),))
    True
    """
    _refuse(check_sparse_nnz, masked, check_forward_ad or check_backward_ad, 'check_forward_ad', 'check_backward_ad')
    refuse_later_options(
        check_batched_grad=check_batched_grad,
        check_batched_forward_grad=check_batched_forward_grad,
        check_forward_ad=check_forward_ad,
        masked=masked,
    )
    options = Options(
        eps=eps,
        atol=atol,
        rtol=rtol,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        full_jacobian=not fast_mode,
        conditions=not fast_mode,
        seed=seed,
        explains_success=False,
    )
    report = check(func, inputs, {}, options, params=params, no_grads=no_grads)
    return bool(_settled(report, raise_exception))


def _refuse(check_sparse_nnz: Any, masked: Any, any_mode: bool, *modes: str) -> None:
    """Raises an error for contradictory or unsupported arguments."""
    if check_sparse_nnz is not None:
        warnings.warn('check_sparse_nnz is deprecated, use masked', DeprecationWarning, stacklevel=3)
        if masked is not None and bool(masked) != bool(check_sparse_nnz):
            raise ValueError(f'check_sparse_nnz={check_sparse_nnz} and masked={masked} are contradictory')
        refuse_later_options(check_sparse_nnz=check_sparse_nnz)
    if not any_mode:
        raise ValueError(f'nothing to check: {" and ".join(modes)} are both False')


def gradgradcheck(
    func: Callable[..., Any],
    inputs: Any,
    grad_outputs: Any = None,
    eps: float = _EPS,
    atol: float = _ATOL,
    rtol: float = _RTOL,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
    *,
    params: Any = (),
    seed: int | None = None,
) -> bool:
    """Whether the gradients of ``func``, and their gradients, are right; torch's names, order and meaning.

    Args:
        func: As in :func:`check_gradients`.
        inputs: As in :func:`check_gradients`.
        grad_outputs: Where the gradients are differentiated: one upstream gradient per output, or None for an
            output that does not count; random ones by default.
        eps: As in :func:`gradcheck`.
        atol: As in :func:`gradcheck`.
        rtol: As in :func:`gradcheck`.
        gen_non_contig_grad_outputs: Make upstream gradients that are not contiguous.
        raise_exception: As in :func:`gradcheck`.
        nondet_tol: As in :func:`gradcheck`.
        check_undefined_grad: As in :func:`gradcheck`.
        check_grad_dtypes: As in :func:`gradcheck`.
        check_batched_grad: Not supported yet.
        check_fwd_over_rev: Not supported yet.
        check_rev_over_rev: Must be True as long as there is no forward mode.
        fast_mode: As in :func:`gradcheck`.
        masked: Not supported yet.
        params: As in :func:`gradcheck`.
        seed: As in :func:`gradcheck`.

    Raises:
        GradcheckError: The gradients of either order are not right, and ``raise_exception`` is True.
        NotImplementedError: An option that is not supported yet is set.
        ValueError, TypeError: An argument, named in the text.

    Source: documentation of ``torch.autograd.gradgradcheck``.

    >>> import numpy as np
    >>> import minichainer
    >>> import minichainer.functions as F
    >>> minichainer.gradgradcheck(F.tanh, (np.array([0.5, -1.0]),))
    True
    """
    _refuse(None, masked, check_fwd_over_rev or check_rev_over_rev, 'check_fwd_over_rev', 'check_rev_over_rev')
    refuse_later_options(check_batched_grad=check_batched_grad, check_fwd_over_rev=check_fwd_over_rev, masked=masked)
    options = Options(
        order=2,
        eps=eps,
        atol=atol,
        rtol=rtol,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        full_jacobian=not fast_mode,
        conditions=not fast_mode,
        non_contiguous=gen_non_contig_grad_outputs,
        seed=seed,
        explains_success=False,
    )
    report = check(func, inputs, {1: grad_outputs}, options, params=params)
    return bool(_settled(report, raise_exception))


def check_backward(
    func: Callable[..., Any],
    x_data: Any,
    y_grad: Any,
    params: Any = (),
    eps: float = default(1e-3),
    atol: float = _ATOL,
    rtol: float = default(1e-4),
    no_grads: Sequence[bool] | None = None,
    dtype: Any = None,
    detect_nondifferentiable: bool = False,
) -> None:
    """Asserts that the backward pass of ``func`` is the derivative of its forward pass.

    A thin layer over :func:`check_gradients`, where the method is described.

    Args:
        func: Takes one Variable per entry of ``x_data``, returns a Variable or a tuple of them: a function,
            a Link.
        x_data: An array or a tuple of arrays, of which some may be None. Those of other than floating-point
            dtypes are passed on and not differentiated.
        y_grad: Upstream gradients: one array per output, of its shape and dtype, or None for an output that does
            not count. None alone is for a loss, a single output of shape ``()``. Random ones are used as well.
        params: A Variable or a tuple of Variables that ``func`` also depends on. They stay unchanged.
        eps: If given, the step of one central difference along a unit vector; else steps are chosen.
        atol: If given, the allowed absolute error of an element; else the error estimate decides.
        rtol: If given, the allowed relative error of an element.
        no_grads: One flag per input: True for an input that is not perturbed and whose gradient must be None.
        dtype: Floating-point dtype of the numeric side; float64 by default, if ``func`` takes it. The gradient
            is checked in the dtypes of ``x_data``, too.
        detect_nondifferentiable: Whether a kink is an error. By default a gradient may have any value between the
            slopes from the left and from the right.

    Raises:
        GradcheckError: The gradient is not right; derives from ``AssertionError`` and ``RuntimeError``.
        NondifferentiableError: The function has a kink or a jump, and ``detect_nondifferentiable`` is True.
        TypeError: An argument, or what ``func`` returns, is of the wrong type.
        ValueError: ``y_grad`` does not match the outputs, ``no_grads`` not the inputs; ``eps`` is not positive;
            ``dtype`` is not of a floating-point kind.

    Source: documentation of ``chainer.gradient_check.check_backward``.

    >>> import numpy as np
    >>> from minichainer import gradient_check
    >>> x = np.array([0.5, -1.0, 2.0], np.float32)
    >>> gy = np.array([1.0, -0.5, 0.25], np.float32)
    >>> gradient_check.check_backward(lambda x: x * x, x, gy)
    """
    options = _chainer_options('check_backward', 1, eps, atol, rtol, dtype, detect_nondifferentiable)
    xs = _as_arrays(x_data, 'x_data')
    given = LOSS if y_grad is None else _as_arrays(y_grad, 'y_grad')
    _settled(check(func, xs, {1: given}, options, params=params, no_grads=no_grads), True)


def _chainer_options(title: str, order: int, eps: Any, atol: Any, rtol: Any, dtype: Any, detect: bool) -> Options:
    return Options(title=title, order=order, eps=eps, atol=atol, rtol=rtol, dtype=dtype, subgradient=not detect)


def _as_arrays(value: Any, what: str) -> tuple[Any, ...]:
    """A tuple of arrays; TypeError for anything else."""
    arrays = as_tuple(value)
    for i, array in enumerate(arrays):
        if array is not None and not isinstance(array, get_array_types()):
            raise TypeError(
                f'{what}[{i}] must be a numpy.ndarray or cupy.ndarray, not {type(array).__name__}; '
                'convert it, for example by numpy.asarray, or pass variable.array'
            )
    return arrays


def check_double_backward(
    func: Callable[..., Any],
    x_data: Any,
    y_grad: Any,
    x_grad_grad: Any,
    params: Any = (),
    params_grad_grad: Any = (),
    eps: float = default(1e-3),
    atol: float = default(1e-4),
    rtol: float = default(1e-3),
    no_grads: Sequence[bool] | None = None,
    dtype: Any = None,
    detect_nondifferentiable: bool = False,
) -> None:
    """Asserts that the gradients of ``func``, and the gradients of these, are right.

    A thin layer over :func:`check_gradients` with ``order=2``: after the first order, the function that maps inputs
    and upstream gradients to the gradients of inputs and parameters is checked in the same way. An input that
    ``func`` does not use has the gradient zero.

    Args:
        func: As in :func:`check_backward`.
        x_data: As in :func:`check_backward`.
        y_grad: As in :func:`check_backward`; the check differentiates with regard to it, too.
        x_grad_grad: Upstream gradients of the gradients: one array per input, of its shape and dtype, or None for
            a gradient that does not count, such as that of an integer input.
        params: As in :func:`check_backward`.
        params_grad_grad: The same as ``x_grad_grad`` for the parameters.
        eps: As in :func:`check_backward`.
        atol: As in :func:`check_backward`.
        rtol: As in :func:`check_backward`.
        no_grads: One flag per input, or one per input and then one per entry of ``y_grad``.
        dtype: As in :func:`check_backward`.
        detect_nondifferentiable: As in :func:`check_backward`.

    Raises:
        GradcheckError: A gradient of first or second order is not right.
        RuntimeError: ``func`` contains an old-style Function, which cannot be differentiated twice.
        ValueError: As in :func:`check_backward`; also where ``x_grad_grad`` or ``params_grad_grad`` do not match.

    Source: documentation of ``chainer.gradient_check.check_double_backward``.

    >>> import numpy as np
    >>> from minichainer import gradient_check
    >>> x, gy, ggx = (np.array(a) for a in ([0.5, -1.0], [1.0, -0.5], [0.3, 2.0]))
    >>> gradient_check.check_double_backward(lambda x: x * x * x, x, gy, ggx)
    """
    options = _chainer_options('check_double_backward', 2, eps, atol, rtol, dtype, detect_nondifferentiable)
    xs, ggxs = _as_arrays(x_data, 'x_data'), _as_arrays(x_grad_grad, 'x_grad_grad')
    params, ggparams = as_tuple(params), _as_arrays(params_grad_grad, 'params_grad_grad')
    check_grad_grads('x_data', xs, 'x_grad_grad', ggxs)
    check_grad_grads('params', [p.array for p in params], 'params_grad_grad', ggparams)
    given = {
        1: LOSS if y_grad is None else _as_arrays(y_grad, 'y_grad'),
        2: [gg for x, gg in zip(xs, ggxs, strict=True) if x is not None] + [*ggparams],
    }
    if no_grads is not None and len(no_grads) > len(xs):  # Chainer's flags continue with the upstream gradients
        options.fixed_upstream = tuple(map(bool, no_grads[len(xs) :]))
        no_grads = no_grads[: len(xs)]
    _settled(check(func, xs, given, options, params=params, no_grads=no_grads), True)


if __name__ == '__main__':
    raise SystemExit(main())
