"""Central differences with a fixed step, and the detection of kinks between their points."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minichainer.backend import get_array_module
from minichainer.verification.report import NondifferentiableError

#: Where the function is evaluated, in steps, and the weight (per step) of each value.
TWO_POINTS = ((-1.0, -1 / 2), (1.0, 1 / 2))
FIVE_POINTS = ((-1.0, 1 / 6), (-0.5, -8 / 6), (0.0, 0.0), (0.5, 8 / 6), (1.0, -1 / 6))


def describe_arrays(arrays: Sequence[Any]) -> str:
    """Shapes and dtypes in one line, such as ``(2, 3):float32, None``."""
    texts = ('None' if a is None else f'{tuple(a.shape)}:{a.dtype}' for a in arrays)
    return ', '.join(texts) or '(nothing)'


def as_tuple(value: Any) -> tuple[Any, ...]:
    """A list or tuple as a tuple, anything else as a tuple of one."""
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def is_float(array: Any) -> bool:
    """Whether this is a real floating-point array."""
    return array is not None and array.dtype.kind == 'f'


def check_eps(eps: float) -> None:
    """Raises ValueError unless ``eps`` can be a step."""
    if not eps > 0:
        raise ValueError(f'eps, the step of the finite difference, must be positive, not {eps!r}')


def step_error(x: Any, step: Any) -> float:
    """The relative error of a step of this size away from ``x``, in the dtype of ``x``."""
    error = np.finfo(x.dtype).eps * abs(x) / abs(step)
    return float(error.max()) if error.size else 0.0


def check_pairs(outputs: Sequence[Any], grad_outputs: Sequence[Any], check_dtype: bool = True) -> None:
    """Raises ValueError unless each output has an upstream gradient of its shape (and dtype), or None."""
    lists = (
        f'Output shapes and dtypes         : {describe_arrays(outputs)}\n'
        f'Output gradient shapes and dtypes: {describe_arrays(grad_outputs)}'
    )
    if len(outputs) != len(grad_outputs):
        raise ValueError(f'Output gradients must be as many as the outputs, or None in their place.\n{lists}')
    for y, gy in zip(outputs, grad_outputs, strict=True):
        if gy is None:
            continue
        if y is None or y.shape != gy.shape or (check_dtype and y.dtype != gy.dtype):
            raise ValueError(f'Outputs and their gradients differ in shape or dtype.\n{lists}')


def check_grad_grads(what: str, arrays: Sequence[Any], grads_what: str, grad_grads: Sequence[Any]) -> None:
    """Raises ValueError unless each array has a second upstream gradient of its shape and dtype, or None."""
    try:
        check_pairs(arrays, grad_grads)
    except ValueError as error:
        raise ValueError(f'{grads_what} must have an array (or None) for each entry of {what}.\n{error}') from None
    for i, (x, gg) in enumerate(zip(arrays, grad_grads, strict=True)):
        if gg is not None and not is_float(x):
            raise ValueError(f'{grads_what}[{i}] must be None, because {what}[{i}] ({x.dtype}) has no gradient')


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
    t = np.array([point for point, _ in FIVE_POINTS])
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
    for point, _ in points:
        outputs = sample(point * eps)
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
