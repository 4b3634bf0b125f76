"""Gradient checks: backward is compared with finite differences of forward, and a report says what is wrong.

:func:`check_gradients` does the work; :func:`gradcheck`, :func:`gradgradcheck` (torch's names and arguments),
:func:`check_backward` and :func:`check_double_backward` (Chainer's) are thin layers over it.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from minichainer._checks import native
from minichainer._names import namespace as _namespace
from minichainer.backend import get_array_types
from minichainer.errors import GradcheckError, NondifferentiableError, UnresolvedError
from minichainer.utils.type_check import InvalidType
from minichainer.verification.arguments import (
    CHAINER_STYLE,
    TORCH_STYLE,
    Options,
    as_tuple,
    check_grad_grads,
    default,
    each_once,
    has_gradient,
)
from minichainer.verification.check import check
from minichainer.verification.closeness import assert_allclose
from minichainer.verification.command import main
from minichainer.verification.finite_differences import numerical_grad
from minichainer.verification.order_check import LOSS
from minichainer.verification.positions import from_lucid, read_by_position, without_check_sparse_nnz
from minichainer.verification.reporting.report import Failure, GradientReport, error_of
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
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    masked: bool | None = None,
    full_jacobian: bool = False,
    subgradient: bool = False,
    tangent: Any = None,
    precise: bool | None = None,
    max_failures: int = 64,
    strictness: str | None = None,
    strict: bool | None = None,
    random: str | None = None,
    seed: int | None = None,
    raise_exception: bool = False,
) -> GradientReport:
    r"""Checks the gradients of a function, of any order, and reports what is wrong with which element.

    First come checks without tolerance: shapes and dtypes of the gradients, two passes that must agree, arrays that
    must not change, and :math:`J^T(a v) = a J^T v` bit by bit for powers of two. Then the slope of :math:`v \cdot f(x
    + t d)` at :math:`t = 0` is compared with :math:`(J^T v) \cdot d`, for random directions :math:`d` and random
    signed upstream gradients :math:`v`. The slope is measured with differences at several steps, whose agreement
    gives an error estimate. Only after a mismatch are single elements measured, and causes searched. So the number of
    calls hardly grows with the sizes of the arrays.

    Args:
        func: Takes the inputs, returns a Variable, real or complex, or nested containers of Variables. None and
            integers among its outputs are skipped, and so are Variables with ``requires_grad=False`` beside others.
        inputs: One argument, or a tuple of them: real or complex arrays, Variables, sparse matrices
            (:class:`~minichainer.utils.CooMatrix`), nested tuples, lists and dicts of these. The function gets
            Variables of copies; integers and booleans without gradient; all else as it is.
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
        check_batched_grad: Compare gradients for a batch of upstream gradients with those for each alone.
        check_batched_forward_grad: Compare tangents for a batch of directions with those for each alone.
        check_forward_ad: Check forward mode: tangents of random directions.
        check_backward_ad: Check backward. If False, no backward pass is run, and ``order`` must be 1.
        check_fwd_over_rev: From the second order on, check the tangents of gradients.
        check_rev_over_rev: From the second order on, check the gradients of gradients.
        masked: Gradients of a sparse matrix exist at its stored entries only, and are checked there in any case.
        full_jacobian: Compare every entry, too, where the Jacobian has at most 10000.
        subgradient: At a kink accept any value between the slopes from the left and from the right.
        tangent: A function that projects a direction, an array, onto those in which the input may move, such
            as symmetric matrices; or one per input.
        precise: Whether to compute the slopes at 50 digits: True for arrays of any size, False only to confirm what
            differences of float64 do not pass. By default it is tried where it takes little time; functions that it
            does not reach are measured by differences of float64.
        max_failures: How many failures are listed for each pair of output and input.
        strictness: 'chainer' accepts, with a warning, what Chainer's own check accepts and 'strict' refuses, such as
            stale caches; wrong gradients fail with both. By default ``config.gradcheck_strictness``, 'strict'.
        strict: True for "unresolved" where the check does not vouch for some elements (``report.unvouched``): an
            error of the size of the others would have been seen there, a smaller one not. By default they are
            listed. False also passes what is "unresolved" as a whole, with a warning.
        random: 'fixed' lets each call of ``func`` draw the same random numbers, as for dropout: before each call the
            global random states of NumPy and Python, and CuPy's, are set to what they are now; afterwards, too.
        seed: A seed of all random numbers, to repeat a check. By default one that each process draws once, so that
            the same check says the same again; the report shows it.
        raise_exception: Raise an error instead of returning a report that is not "pass".

    Returns:
        A report, true if all is right; ``print`` shows it.

    Raises:
        GradcheckError: With ``raise_exception``: the gradient is wrong, not finite or not deterministic, or an
            array was modified in place; its subclass :class:`NondifferentiableError` at a kink,
            :class:`UnresolvedError` where right and wrong cannot be told apart.
        ValueError, TypeError: An argument, named in the text.

    >>> import numpy as np
    >>> import minichainer.functions as F
    >>> from minichainer.gradient_check import check_gradients
    >>> x = np.array([[0.5, -1.0], [2.0, 0.25]])
    >>> report = check_gradients(F.softmax, x, order=2, seed=0)
    >>> bool(report), report.verdict, report.failures
    (True, 'pass', [])
    """
    __tracebackhide__ = True
    tolerances: dict[str, Any] = {'eps': eps, 'atol': atol, 'rtol': rtol, 'nondet_tol': nondet_tol}
    options = Options(
        order=order,
        dtype=dtype,
        **tolerances,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad,
        check_batched_forward_grad=check_batched_forward_grad,
        check_forward_ad=check_forward_ad,
        check_backward_ad=check_backward_ad,
        check_fwd_over_rev=check_fwd_over_rev,
        check_rev_over_rev=check_rev_over_rev,
        full_jacobian=full_jacobian,
        subgradient=subgradient,
        tangent=tangent,
        precise=precise,
        max_failures=max_failures,
        strictness=strictness,
        strict=strict,
        random=random,
        seed=seed,
    )
    report = check(func, inputs, {1: grad_outputs}, options, kwargs=kwargs, params=params, no_grads=no_grads)
    return _settled(report, raise_exception)


def _settled(report: GradientReport, raise_exception: bool) -> GradientReport:
    __tracebackhide__ = True
    if raise_exception and not report:
        raise error_of(report)
    return report


@read_by_position(without_check_sparse_nnz)
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
    strictness: str | None = None,
    random: str | None = None,
    seed: int | None = None,
) -> bool:
    """Whether the gradients of ``func`` are right; the arguments have torch's names, order and meaning.

    By position they have the order of torch's documents. Torch 2 has no ``check_sparse_nnz``: a number in its place,
    the seventh, is ``nondet_tol``, and the arguments behind it follow.

    Differences of floats come first: 50 digits decide where these do not confirm ten, or where the given tolerances
    are smaller. A kink, and slopes that cannot be told from rounding errors, are left to torch's own comparison, a
    central difference of each element, and give a warning if that agrees.

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
        check_batched_grad: As in :func:`check_gradients`.
        check_batched_forward_grad: As in :func:`check_gradients`.
        check_forward_ad: As in :func:`check_gradients`.
        check_backward_ad: As in :func:`check_gradients`.
        fast_mode: Leave out the full Jacobian, and the conditions that backward must not depend on: special upstream
            gradients, layouts, threads, settings, what requires a gradient. Slopes along random directions are
            compared in any case.
        masked: As in :func:`check_gradients`.
        params: As in :func:`check_gradients`.
        no_grads: As in :func:`check_gradients`.
        strictness: As in :func:`check_gradients`.
        random: As in :func:`check_gradients`.
        seed: As in :func:`check_gradients`.

    Raises:
        GradcheckError: The gradients are not right, and ``raise_exception`` is True.
        ValueError, TypeError: An argument, named in the text; options that contradict each other. Also if no input
            and no parameter requires a gradient.

    Source: documentation of ``torch.autograd.gradcheck``.

    >>> import numpy as np
    >>> import minichainer
    >>> import minichainer.functions as F
    >>> minichainer.gradcheck(F.tanh, (np.array([0.5, -1.0]),))
    True
    """
    __tracebackhide__ = True
    _check_masked(check_sparse_nnz, masked)
    options = Options(
        eps=eps,
        atol=atol,
        rtol=rtol,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad,
        check_batched_forward_grad=check_batched_forward_grad,
        check_forward_ad=check_forward_ad,
        check_backward_ad=check_backward_ad,
        full_jacobian=not fast_mode,
        conditions=not fast_mode,
        strictness=strictness,
        style=TORCH_STYLE,
        needs_input=True,
        random=random,
        seed=seed,
        explains_success=False,
    )
    report = check(func, inputs, {}, options, params=params, no_grads=no_grads)
    return bool(_settled(report, raise_exception))


def _check_masked(check_sparse_nnz: Any, masked: Any) -> None:
    """Warns of the deprecated name of ``masked``, and raises ValueError if the two are contradictory."""
    if check_sparse_nnz is not None:
        warnings.warn('check_sparse_nnz is deprecated, use masked', DeprecationWarning, stacklevel=3)
        if masked is not None and bool(masked) != bool(check_sparse_nnz):
            raise ValueError(f'check_sparse_nnz={check_sparse_nnz} and masked={masked} are contradictory')


@read_by_position(from_lucid)
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
    strictness: str | None = None,
    random: str | None = None,
    seed: int | None = None,
) -> bool:
    """Whether the gradients of ``func``, and their gradients, are right; torch's names and meaning.

    By position the arguments have the order of torch's documents. A call with seven arguments is one of lucid's
    function of this name, whose seventh and last is ``raise_exception``; with True in that place upstream gradients
    are not contiguous, as torch's order says, and a wrong gradient raises, as lucid's says.

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
        check_batched_grad: As in :func:`check_gradients`, for both orders.
        check_fwd_over_rev: As in :func:`check_gradients`.
        check_rev_over_rev: As in :func:`check_gradients`.
        fast_mode: As in :func:`gradcheck`.
        masked: As in :func:`check_gradients`.
        params: As in :func:`gradcheck`.
        strictness: As in :func:`check_gradients`.
        random: As in :func:`check_gradients`.
        seed: As in :func:`gradcheck`.

    Raises:
        GradcheckError: The gradients of either order are not right, and ``raise_exception`` is True.
        ValueError, TypeError: As in :func:`gradcheck`.

    Source: documentation of ``torch.autograd.gradgradcheck``.

    >>> import numpy as np
    >>> import minichainer
    >>> import minichainer.functions as F
    >>> minichainer.gradgradcheck(F.tanh, (np.array([0.5, -1.0]),))
    True
    """
    __tracebackhide__ = True
    options = Options(
        order=2,
        eps=eps,
        atol=atol,
        rtol=rtol,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad,
        check_fwd_over_rev=check_fwd_over_rev,
        check_rev_over_rev=check_rev_over_rev,
        full_jacobian=not fast_mode,
        conditions=not fast_mode,
        non_contiguous=gen_non_contig_grad_outputs,
        strictness=strictness,
        style=TORCH_STYLE,
        needs_input=True,
        random=random,
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
    *,
    strictness: str | None = None,
    random: str | None = None,
) -> None:
    """Asserts that the backward pass of ``func`` is the derivative of its forward pass.

    A thin layer over :func:`check_gradients`, where the method is described. A backward that raises an error where
    one of several outputs has no upstream gradient is a GradientCheckLeniencyWarning, since Chainer never tries it.

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
        strictness: As in :func:`check_gradients`.
        random: As in :func:`check_gradients`.

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
    __tracebackhide__ = True
    options = _chainer_options(
        'check_backward', 1, eps, atol, rtol, dtype, detect_nondifferentiable, strictness, random
    )
    xs = _as_arrays(x_data, 'x_data')
    given = LOSS if y_grad is None else _as_arrays(y_grad, 'y_grad')
    _settled(_check_as_chainer(func, xs, {1: given}, options, params, no_grads), True)


def _chainer_options(
    title: str,
    order: int,
    eps: Any,
    atol: Any,
    rtol: Any,
    dtype: Any,
    detect: bool,
    strictness: str | None,
    random: str | None,
) -> Options:
    return Options(
        title=title,
        order=order,
        eps=eps,
        atol=atol,
        rtol=rtol,
        dtype=dtype,
        subgradient=not detect,
        strictness=strictness,
        style=CHAINER_STYLE,
        random=random,
    )


def _check_as_chainer(
    func: Any, xs: Any, given: Mapping[int, Any], options: Options, params: Any, no_grads: Any
) -> GradientReport:
    """The check in the dtype that was asked for; in that of the inputs if the function mixes it with constants.

    Chainer checks no dtypes on the numeric side, so that ``x`` in float64 may meet a mask in float32 there.
    """
    try:
        return check(func, xs, given, options, params=params, no_grads=no_grads)
    except InvalidType:
        if options.dtype is None:
            raise
        options = dataclasses.replace(options, dtype=None)
        return check(func, xs, given, options, params=params, no_grads=no_grads)


def _as_arrays(value: Any, what: str) -> tuple[Any, ...]:
    """A tuple of arrays; TypeError for anything else."""
    arrays = as_tuple(value)
    for i, array in enumerate(arrays):
        if array is not None and not isinstance(array, get_array_types()):
            raise TypeError(
                f'{what}[{i}] must be a numpy.ndarray or cupy.ndarray, not {type(array).__name__}; '
                'convert it, for example by numpy.asarray, or pass variable.array'
            )
    return tuple(map(native, arrays))


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
    *,
    strictness: str | None = None,
    random: str | None = None,
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
        strictness: As in :func:`check_gradients`.
        random: As in :func:`check_gradients`.

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
    __tracebackhide__ = True
    options = _chainer_options(
        'check_double_backward', 2, eps, atol, rtol, dtype, detect_nondifferentiable, strictness, random
    )
    xs, ggxs = _as_arrays(x_data, 'x_data'), _as_arrays(x_grad_grad, 'x_grad_grad')
    params, ggparams = as_tuple(params), _as_arrays(params_grad_grad, 'params_grad_grad')
    ggxs = _for_all(xs, ggxs)
    check_grad_grads('x_data', xs, 'x_grad_grad', ggxs)
    known = [p.array for p in params]
    if len(known) == len(ggparams):  # a link that is not initialized gets the shapes when it is called
        known = [gg if array is None else array for array, gg in zip(known, ggparams, strict=True)]
    check_grad_grads('params', known, 'params_grad_grad', ggparams)
    params, ggparams = _weighed_once(params, ggparams)
    given = {
        1: LOSS if y_grad is None else _as_arrays(y_grad, 'y_grad'),
        2: [gg for x, gg in zip(xs, ggxs, strict=True) if x is not None] + [*ggparams],
    }
    if no_grads is not None and len(no_grads) > len(xs):  # Chainer's flags continue with the upstream gradients
        options.fixed_upstream = tuple(map(bool, no_grads[len(xs) :]))
        no_grads = no_grads[: len(xs)]
    _settled(_check_as_chainer(func, xs, given, options, params, no_grads), True)


def _weighed_once(params: Sequence[Any], ggparams: Sequence[Any]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Parameters without repetitions; what weighs the gradient of a repeated one adds up."""
    weights: dict[int, Any] = {}
    for p, gg in zip(params, ggparams, strict=True):
        weights[id(p)] = gg if id(p) not in weights else weights[id(p)] + gg
    return tuple(each_once(params)), tuple(weights.values())


def _for_all(xs: Any, ggxs: Any) -> Any:
    """Second upstream gradients with None for integer arrays, if they were given for the others only."""
    floats = [x for x in xs if has_gradient(x)]
    if len(ggxs) == len(xs) or len(ggxs) != len(floats):
        return ggxs
    given = iter(ggxs)
    return [next(given) if has_gradient(x) else None for x in xs]


if not TYPE_CHECKING:
    __getattr__ = _namespace(__name__)[0]


if __name__ == '__main__':
    raise SystemExit(main())
