"""Tangents of a function from forward mode, and its slopes from differences, for every element of the outputs."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from minichainer import _tangents
from minichainer._checks import as_raw
from minichainer.backend import get_array_module
from minichainer.configuration import using_config
from minichainer.verification.arrays import full, host, largest, norm, root_mean_square
from minichainer.verification.complex_numbers import joined, parts
from minichainer.verification.directions import generator
from minichainer.verification.extrapolation import Curve, Slopes, measured_noise, slopes
from minichainer.verification.order_check import OrderCheck
from minichainer.verification.rounding import ROUNDINGS, TRIALS, shaken
from minichainer.verification.verdict import NONDIFFERENTIABLE, PASS, between_slopes, judge

#: How errors begin that mean that there are no tangents; any other error is the function's own.
REFUSED = re.compile(r'^(forward mode: )|^jvp of .* returned a wrong|define a static method jvp|' + (
    r'cannot twice-differentiate|is marked by once_differentiable'
))  # fmt: skip

#: One tangent per checked output, flat and in double precision.
Tangents = list[Any]


class ForwardMode:
    """The function in forward mode, at a point.

    Args:
        order_check: Where and how it is checked.
        arrays: The leaves.
    """

    def __init__(self, order_check: OrderCheck, arrays: Sequence[Any]) -> None:
        self.order_check, self.arrays = order_check, arrays
        self.values: list[Any] = []

    def __call__(self, directions: Mapping[int, Any], recorded: bool = True) -> list[Any]:
        """The tangents of all outputs, None for an output without; keeps the outputs as ``values``.

        Args:
            directions: Directions by position of the leaf; the others have no tangent.
            recorded: Whether the graph for backward is recorded at the same time.
        """
        function = self.order_check.function
        with _level() as level, using_config('enable_backprop', recorded):
            variables = [leaf.variable(x) for leaf, x in zip(function.leaves, self.arrays, strict=True)]
            for i, direction in directions.items():
                tangent = get_array_module(self.arrays[i]).asarray(direction, self.arrays[i].dtype)
                level.put(variables[i].edge, joined(tangent) if function.leaves[i].is_complex else tangent)
            outputs = function.called(variables)
            found = [None if y is None or y.edge._tangent is None else as_raw(y.edge._tangent) for y in outputs]
            self._note(level.by_double_backward)
        self.values = [None if y is None else parts(y._data) for y in outputs]
        return [None if t is None else parts(t) for t in found]

    def _note(self, labels: set[str]) -> None:
        """Notes which functions have no rule of their own, so that their backward is what is checked."""
        if labels:
            text = f'Forward mode of {", ".join(sorted(labels))} differentiates backward: there is no direct rule.'
            self.order_check.report.notes.append(text)

    def flat(self, directions: Mapping[int, Any], recorded: bool = True) -> Tangents:
        """The same for the checked outputs, flat and in double precision; zeros for an output without a tangent."""
        found = self(directions, recorded)
        pairs = [(found[o], self.values[o]) for o in self.order_check.outputs]
        return [host(full(t, y)).astype(np.float64, copy=False).ravel() for t, y in pairs]

    def noise(self, directions: Mapping[int, Any], precision: float) -> Tangents:
        """The changes of tangents when inputs and directions change by a few roundings."""
        rng, centre = generator(0), self.flat(directions)
        total = [np.zeros(t.shape) for t in centre]
        for _ in range(TRIALS):
            moved = ForwardMode(self.order_check, shaken_leaves(rng, self.order_check, self.arrays, precision))
            found = moved.flat({i: shaken(rng, np.asarray(d), precision) for i, d in directions.items()})
            with np.errstate(all='ignore'):
                total = [n + 4 * abs(t - c) for n, t, c in zip(total, found, centre, strict=True)]
        return total


@contextlib.contextmanager
def _level() -> Iterator[_tangents.Level]:
    level = _tangents.enter(_tangents.Level())
    try:
        yield level
    finally:
        _tangents.leave(level)


def shaken_leaves(
    rng: np.random.Generator, order_check: OrderCheck, arrays: Sequence[Any], epsilon: float
) -> list[Any]:
    """The leaves, those that are differentiated changed by a few roundings."""
    return [shaken(rng, x, epsilon if i in order_check.function.moving else 0.0) for i, x in enumerate(arrays)]


class OutputSlopes:
    """Slopes of every element of the outputs, measured by differences, and compared with tangents.

    Args:
        order_check: Where and how the function is checked.
        arrays: The leaves.
        values: The checked outputs there.
        precision: Machine epsilon of the arithmetic inside the function.
    """

    def __init__(
        self, order_check: OrderCheck, arrays: Sequence[Any], values: Sequence[Any], precision: float
    ) -> None:
        self.order_check, self.arrays, self.values, self.precision = order_check, arrays, values, precision

    def measured(self, i: int, direction: Any, tangents: Tangents) -> tuple[Slopes, Any, Any]:
        """The slopes along a direction, the tangents, and verdicts; one entry per element of all outputs.

        Args:
            i: Position of the leaf that moves.
            direction: Where it moves.
            tangents: Those from forward mode.
        """
        curve = self._curve(i, direction)
        analytic = np.concatenate(tangents)
        with np.errstate(all='ignore'):
            scale = np.concatenate([np.full(t.size, root_mean_square(t) if t.size else 0.0) for t in tangents])
            found = self._slopes(curve)
            verdicts = self._verdicts(found, analytic, scale, direction)
            if (verdicts != PASS).any():
                steps = found.best[np.isfinite(found.best)]
                at = (float(steps.min()), 4 * float(steps.max())) if steps.size else ()
                measured = [measured_noise(curve, step) for step in at]
                noise = np.max([found.noise, self._noise_of_values(), *measured], axis=0)
                found = self._slopes(curve, noise)
                own = np.concatenate(ForwardMode(self.order_check, self.arrays).noise({i: direction}, self.precision))
                verdicts = self._verdicts(found, analytic, scale, direction, own)
        return found, analytic, verdicts

    def _slopes(self, curve: Curve, noise: Any = None) -> Slopes:
        return slopes(curve, self.precision, noise=noise)

    def _curve(self, i: int, direction: Any) -> Curve:
        """The changes of all output elements along a direction, and the sizes of rounded numbers."""
        x, xp = self.arrays[i], get_array_module(self.arrays[i])
        flat = [host(y).astype(np.float64).ravel() for y in self.values]
        centre = np.concatenate(flat)
        sizes = np.concatenate([np.full(y.size, largest(y)) for y in flat])
        known: dict[float, tuple[Any, Any]] = {}

        def curve(t: float) -> tuple[Any, Any]:
            if t not in known:
                arrays = list(self.arrays)
                arrays[i] = xp.asarray(x + t * xp.asarray(direction), dtype=x.dtype)
                change = self._concatenated(self.order_check.function.outputs(arrays)) - centre
                known[t] = change, sizes + abs(change)
            return known[t]

        return curve

    def _verdicts(self, found: Slopes, analytic: Any, scale: Any, direction: Any, noise: Any = 0.0) -> Any:
        atol, rtol = self.order_check.options.extra
        with np.errstate(all='ignore'):
            widened = (atol + self.order_check.options.nondet_tol) * 4 * norm(direction) + rtol * abs(found.value)
        rounding = ROUNDINGS * self.precision * (abs(analytic) + scale) + noise
        tiny = found.flat & (scale <= 64 * found.noise)
        resolution = max(1e-4, 10 * self.precision**0.5)
        verdicts: Any = judge(found, analytic, rounding, scale, widened, resolution, tiny)
        if self.order_check.options.subgradient:
            inside = between_slopes(found, analytic, rounding)
            verdicts[(verdicts == NONDIFFERENTIABLE) & inside] = PASS
        return verdicts

    def _noise_of_values(self) -> Any:
        """The changes of all output elements when inputs change by a few roundings."""
        rng, total = generator(0), 0.0
        centre = np.concatenate([host(y).astype(np.float64).ravel() for y in self.values])
        for _ in range(TRIALS):
            moved = shaken_leaves(rng, self.order_check, self.arrays, self.precision)
            with np.errstate(all='ignore'):
                total = total + abs(self._concatenated(self.order_check.function.outputs(moved)) - centre)
        return np.nan_to_num(total)

    def _concatenated(self, outputs: Sequence[Any]) -> Any:
        return np.concatenate([host(outputs[o]).astype(np.float64).ravel() for o in self.order_check.outputs])
