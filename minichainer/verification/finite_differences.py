"""Central differences with a fixed step, and the detection of kinks between their points."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minichainer.backend import get_array_module, on_device_of_arguments
from minichainer.errors import NondifferentiableError
from minichainer.variable import Variable
from minichainer.verification.arguments import as_tuple, check_pairs, is_float

#: Where the function is evaluated, in steps, and the weight (per step) of each value.
TWO_POINTS = ((-1.0, -1 / 2), (1.0, 1 / 2))

FIVE_POINTS = ((-1.0, 1 / 6), (-0.5, -8 / 6), (0.0, 0.0), (0.5, 8 / 6), (1.0, -1 / 6))


def check_eps(eps: float) -> None:
    """Raises ValueError unless ``eps`` can be a step."""
    if not eps > 0:
        raise ValueError(f'eps, the step of the finite difference, must be positive, not {eps!r}')


def step_error(x: Any, step: Any) -> float:
    """The relative error of a step of this size away from ``x``, in the dtype of ``x``."""
    error = np.finfo(x.dtype).eps * abs(x) / abs(step)
    return float(error.max()) if error.size else 0.0


@dataclasses.dataclass
class KinkDetector:
    """Fits a parabola to five equally spaced values: smooth functions follow it, functions with a kink do not.

    An element counts as not differentiable if the root mean square distance of its values from the parabola exceeds
    both ``atol + rtol * (max - min)`` and the rounding error.

    Args:
        atol: In the unit of the function's values.
        rtol: Relative, without unit.
        step_error: Relative error of the step, for inputs that cannot represent the points exactly.
        where: A description of the point, for the message.
    """

    atol: float
    rtol: float
    step_error: float = 0.0
    where: str = 'at this point'

    def check(self, samples: Sequence[Sequence[Any]], eps: float, precisions: Sequence[float]) -> None:
        """Raises NondifferentiableError for the first output that is not smooth.

        Args:
            samples: The outputs at each of the five points, in double precision.
            eps: The step.
            precisions: The relative error of each output.
        """
        for i_out, (values, precision) in enumerate(zip(zip(*samples, strict=True), precisions, strict=True)):
            xp = get_array_module(values[0])
            y = xp.stack(values).reshape(5, -1)
            self._check_finite(xp, y, f'outputs[{i_out}]', eps)
            self._check_fit(xp, y, f'outputs[{i_out}]', eps, precision)

    def _check_finite(self, xp: Any, y: Any, output: str, eps: float) -> None:
        finite = xp.isfinite(y)
        mixed = finite.any(axis=0) & ~finite.all(axis=0)
        if mixed.any():
            self._fail(y, output, eps, int(mixed.argmax()), 'the values are finite at some of the points only')

    def _check_fit(self, xp: Any, y: Any, output: str, eps: float, precision: float) -> None:
        """Raises if some element is too far from the best parabola."""
        y = xp.where(xp.isfinite(y).all(axis=0), y, 0.0)
        distance = xp.sqrt(((residual_matrix(xp) @ (y - y[2])) ** 2).mean(axis=0))
        spread = y.max(axis=0) - y.min(axis=0)
        rounding = precision * abs(y).max(axis=0) + self.step_error * spread
        excess = distance - (self.atol + self.rtol * spread + rounding)
        if excess.size and float(excess.max()) > 0:
            worst = int(excess.argmax())
            reason = f'a parabola through the values misses them by {float(distance[worst]):.4g}'
            self._fail(y, output, eps, worst, reason)

    def _fail(self, y: Any, output: str, eps: float, element: int, reason: str) -> None:
        offsets = ('-eps', '-eps/2', '0', '+eps/2', '+eps')
        table = '\n'.join(f'  {o:>6}: {float(v)!r}' for o, v in zip(offsets, y[:, element], strict=True))
        raise NondifferentiableError(
            f'The function is not differentiable {self.where}: {reason} (eps={eps!r} diff_atol={self.atol!r} '
            f'diff_rtol={self.rtol!r}).\nValues of element {element} (in C order) of {output}:\n{table}\n'
            'Move the input away from the kink or jump, by more than eps, or choose a smaller eps.'
        )


def residual_matrix(xp: Any) -> Any:
    """The 5x5 matrix that maps five values to their residuals from the best parabola."""
    t = np.array([order_check for order_check, _ in FIVE_POINTS])
    basis = np.stack([np.ones(5), t, t * t], axis=1)
    return xp.asarray(np.eye(5) - basis @ np.linalg.pinv(basis))


def slope(
    sample: Callable[[float], Sequence[Any]],
    grad_outputs: Sequence[Any],
    eps: float,
    detector: KinkDetector | None = None,
) -> float:
    r"""The derivative of :math:`\sum g_y \cdot y(t)` at ``t = 0`` by a central difference.

    Two points, error of order ``eps**2``; with a detector five points, error of order ``eps**4``.

    Args:
        sample: Maps ``t`` to a list of output arrays (it may return the same array objects each time).
        grad_outputs: One array per output, or None for an output that does not count.
        eps: The step.
        detector: Detects kinks; None to skip this.

    Raises:
        NondifferentiableError: There is a kink or a jump.
        ValueError: The outputs do not match ``grad_outputs``.
    """
    points = FIVE_POINTS if detector else TWO_POINTS
    samples: list[list[Any]] = []
    precisions: list[float] = []
    for order_check, _ in points:
        outputs = sample(order_check * eps)
        check_pairs(outputs, grad_outputs, check_dtype=False)
        used = [y for y, gy in zip(outputs, grad_outputs, strict=True) if gy is not None]
        precisions = [8 * float(np.finfo(y.dtype).eps) for y in used]
        samples.append([y.astype(np.result_type(y.dtype, np.float64)) for y in used])
    if detector:
        detector.check(samples, eps, precisions)
    weights = [weight for _, weight in points]
    return _weighted_sum(samples, weights, [gy for gy in grad_outputs if gy is not None]) / eps


def _weighted_sum(samples: Sequence[Sequence[Any]], weights: Sequence[float], grad_outputs: Sequence[Any]) -> float:
    """The sum over samples, outputs and elements of weight times value times upstream gradient."""
    total = 0.0
    with np.errstate(invalid='ignore', over='ignore'):
        for values, gy in zip(zip(*samples, strict=True), grad_outputs, strict=True):
            difference = sum(w * y for w, y in zip(weights, values, strict=True) if w)
            total += float((difference * gy).sum())
    return total


@on_device_of_arguments
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
        grad_outputs: One array or number per output of ``f``, of its shape, or None for an output that does not
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
    if any(isinstance(gy, (int, float)) for gy in grad_outputs):
        grad_outputs = [_like_output(gy, y) for gy, y in zip(grad_outputs, as_tuple(f()), strict=True)]
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


def _like_output(gy: Any, y: Any) -> Any:
    """An upstream gradient; a Python number as an array of the output's shape."""
    return np.full(np.shape(y), float(gy)) if isinstance(gy, (int, float)) else gy


def _element_slope(
    f: Callable[[], Any], x: Any, index: Any, grad_outputs: Any, eps: float, detector: KinkDetector | None
) -> float:
    """The derivative of the weighted outputs with respect to one element."""
    original = x[index].copy()

    def sample(offset: float) -> list[Any]:
        x[index] = original + offset
        return [_as_floats(y) for y in as_tuple(f())]

    try:
        return slope(sample, grad_outputs, eps, detector)
    finally:
        x[index] = original


def _as_floats(y: Any) -> Any:
    """An output as an array of floats, also if it is a number or an array of ints; None stays."""
    y = y._data if isinstance(y, Variable) else y
    if isinstance(y, (int, float)) or getattr(y, 'dtype', np.dtype('f')).kind in 'iub':
        return get_array_module(y).asarray(y, np.float64)
    return y


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
