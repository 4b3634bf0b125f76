"""Compares a backward pass with measured slopes, at a cost that does not depend on the number of elements."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from minichainer.backend import get_array_module
from minichainer.verification.arguments import TEN_DIGITS
from minichainer.verification.arrays import (
    all_finite,
    coarsest,
    fresh_copy,
    full,
    host,
    largest,
    relaid,
    root_mean_square,
    total,
)
from minichainer.verification.arrays import silent_norm as norm
from minichainer.verification.directions import Line, Move, Path, isotropic, moved, project, relative
from minichainer.verification.double_precision import widened
from minichainer.verification.extrapolation import (
    Curve,
    Slopes,
    SlopeSource,
    agrees,
    first_step,
    slopes,
)
from minichainer.verification.function_under_test import Evaluation, laid_out
from minichainer.verification.order_check import DRAWS, SMALL, OrderCheck, times
from minichainer.verification.rounding import HALF, SINGLE, jitter
from minichainer.verification.verdict import FAIL, NONDIFFERENTIABLE, PASS, UNRESOLVED, judge

#: The largest relative error of a slope that still tells right from wrong; the second applies to measured rounding,
#: the third to that of half precision.
_SHARP, _BLURRED, _COARSE, _COARSE_FROM = 1e-4, 1e-1, 0.3, 1e-5

#: Constants of a rule that was made for float32 may be off by so many roundings of that dtype.
_CONSTANTS = 4
#: The least rounding error of values, relative to their size, that is taken for that of a dtype.
_INSIDE = {'float16': 1e-5, 'float32': 1e-9}
#: Relative errors of slopes above this are told.
WORTH_A_NOTE = 1e-3
#: How such notes begin.
UNCERTAINTY, INSIDE = 'rounding errors inside the function leave', 'the function computes in about'
#: Below the first, numbers lose digits; gradients below the second, or the third in float32, are not made smaller.
_TINIEST, _LEAST, _LEAST_SINGLE = 16 * float(np.finfo(np.float64).tiny), 1e-250, 1e-25
#: The largest change of a gradient, relative to intermediate results, that rounding of the inputs explains. A larger
#: change means that the gradient depends on, for example, which inputs are equal.
_NO_MORE_THAN_ROUNDING = 1e-9
#: Above this rounding error, each element is measured with its own noise instead of that of the whole output.
_LOCAL_FROM = 1e-12


@dataclasses.dataclass(frozen=True)
class Along:
    """Slopes along one direction of one leaf, and backward's; one entry per (draw, output).

    Attributes:
        leaf: Position of the leaf.
        direction: The direction in which the leaf was moved.
        found: The measured slopes.
        analytic: The slopes from backward.
        spread: Root of the sum of squares of the terms that add up to ``analytic``.
        size: Sum of their absolute values.
        length: The factor for tolerances of single elements.
        noise: Rounding errors of ``analytic``, once they are measured.
    """

    leaf: int
    direction: Any
    found: Slopes
    analytic: Any
    spread: Any
    size: Any
    length: Any
    noise: Any = 0.0


class Derivatives:
    """The numeric side of a point: in double precision if the function supports it, else in its own dtype.

    Attributes:
        arrays: The leaves, in the dtype of the numeric side.
        gradients: ``gradients[d][o]`` are the gradients of the leaves for draw d and output o.
        precision: Machine epsilon of the arithmetic inside the function.
        is_local: Whether elements are measured in single or half precision, where noise of others would hide them.
        native: Whether the numeric side uses the dtypes that the user gave.
        source: What measures slopes, and gradients, in place of differences; None for differences.
        blur: For leaves that pass with doubts, the largest part of a slope that may be wrong.
    """

    def __init__(self, order_check: OrderCheck, native: Evaluation) -> None:
        self.order_check = order_check
        self.outputs = list(order_check.outputs)
        self.pairs = [*itertools.product(range(DRAWS), range(len(self.outputs)))]
        self.arrays, self.evaluation = widened(order_check, native)
        self.native = self.evaluation is native
        self.upstream: list[list[Any]] = [[], []]
        self.values: list[Any] = []
        self._flat: list[Any] = []
        self._weights: list[Any] = []
        self.precision = 0.0 if self.outputs else 2.0**-52
        for o in self.outputs:
            self._add_output(o, self.evaluation.arrays[o])
        self.is_local = self.precision > _LOCAL_FROM
        self.start = first_step(self.precision)
        self._scales = np.array([float(abs(v).max()) if v.size else 1.0 for vs in self.upstream for v in vs])
        self._sizes = self._scales * np.array([*map(norm, self.values)] * DRAWS)
        conditions = self.order_check.options.conditions
        self.elsewhere = laid_out(self.evaluation, self.arrays, relaid) if conditions else self.evaluation
        self.gradients: list[list[list[Any]]] = [[], []]
        self._find_gradients()
        self.source: SlopeSource | None = None
        self.noise: dict[int, Any] = {}
        self._bases: dict[int, Any] = {}
        self._backward_noise: dict[int, list[Any]] = {}
        self._known_vectors: dict[int, list[Any]] = {}
        self._known_dependent: dict[tuple[int, int], list[Any]] = {}
        self._gradient_lengths: dict[int, list[float]] = {}
        self.experiments: dict[tuple[int, int, int], Any] = {}
        self.blur: dict[int, float] = {}

    def _add_output(self, o: int, y: Any) -> None:
        """Takes the values of an output, and its upstream gradients as arrays and as rows, one per draw."""
        xp = np if type(y) is np.ndarray else get_array_module(y)
        rows = xp.empty((DRAWS, y.size))
        for d, row in enumerate(rows):
            v = self.order_check.upstream[o][d].astype(y.dtype, copy=False)
            self.upstream[d].append(v)
            row[...] = v.ravel()
        self.values.append(y)
        self._flat.append(y.astype(np.float64, copy=False).ravel())
        self._weights.append(rows)
        self.precision = max(self.precision, float(np.finfo(y.dtype).eps))

    def _find_gradients(self) -> None:
        """Runs the backward passes for both draws."""
        first, second = self.gradients
        for k, o in enumerate(self.outputs):
            if self.native:
                first.append(self.order_check.gradients[o])
            else:
                first.append(self.evaluation.vjp(self.only(k, self.upstream[0][k])))
        for k, found in enumerate(first):
            second.append(self._second(k, found))

    def _second(self, k: int, first: list[Any]) -> list[Any]:
        """The gradients for the second draw: by rules on Variables, in another layout, made small."""
        try:
            return self._made_small(k, first)
        except Exception:
            if self.elsewhere is self.evaluation:
                raise
        self.elsewhere = self.evaluation  # backward may reject a layout
        return self._made_small(k, first)

    def _made_small(self, k: int, first: list[Any]) -> list[Any]:
        """The gradients for the second draw, computed from a small multiple of it where underflow is not a risk."""
        v = self.upstream[1][k]
        factor = SMALL.get(v.dtype.itemsize, 1.0)
        if self._leaves_room(first, v):
            try:
                with np.errstate(over='raise', under='raise'):
                    found = self.elsewhere.vjp_of_variables(self.only(k, times(v, factor)))
                for i, g in enumerate(found):
                    found[i] = None if g is None else times(g, 1 / factor)
                return found
            except FloatingPointError:
                pass  # intermediate results are too small already
        return self.elsewhere.vjp_of_variables(self.only(k, v))

    def _leaves_room(self, gradients: Sequence[Any], v: Any) -> bool:
        """Whether gradients may be made small: in one dtype, not half precision, without an absolute tolerance."""
        if self.order_check.options.nondet_tol or v.dtype.itemsize < 4:
            return False
        least = _LEAST if v.dtype.itemsize == 8 else _LEAST_SINGLE
        for g in gradients:
            if g is not None and (g.dtype != v.dtype or not (largest(g) > least or not g.any())):
                return False
        return True

    def only(self, k: int, v: Any, zeros: bool = False) -> list[Any]:
        """Upstream gradients: ``v`` for one output; for the others None where that is allowed, else zeros."""
        gys: list[Any] = [None] * len(self.evaluation.outputs)
        if zeros or not self.order_check.options.check_undefined_grad:
            for other, u in zip(self.outputs, self.upstream[0], strict=True):
                gys[other] = times(u, 0)
        gys[self.outputs[k]] = fresh_copy(v)
        return gys

    def measure_by(self, source: SlopeSource | None) -> None:
        """Takes slopes, and gradients if it has them, from a source from now on; from differences for None."""
        self.source = source
        if source is not None and source.gradients is not None:
            self.gradients = source.gradients
        self.noise.clear()  # measured for the source before
        self._known_vectors.clear()

    @functools.cached_property
    def typical_precision(self) -> Any:
        """Machine epsilon for sums of rounding errors, whose typical weight is less than the largest, per output."""
        typical = [root_mean_square(host(v)) or 1.0 for vs in self.upstream for v in vs]
        return self.precision * np.array(typical) / np.where(self._scales, self._scales, 1.0)

    # --- slopes ------------------------------------------------------------------------------------------------
    def gradient(self, d: int, k: int, i: int) -> Any:
        """The gradient of leaf ``i`` in double precision; zeros in place of None."""
        gradient = self.gradients[d][k][i]
        return (full(None, self.arrays[i]) if gradient is None else gradient).astype(np.float64, copy=False)

    def vectors(self, i: int) -> list[Any]:
        """The gradients of leaf ``i`` as vectors in double precision, one per (draw, output)."""
        if i not in self._known_vectors:
            self._known_vectors[i] = [self.gradient(d, k, i).ravel() for d, k in self.pairs]
        return self._known_vectors[i]

    def path(self, i: int, direction: Any) -> Path:
        """The path of a leaf along a direction; where only some elements move, only what these move is rounded."""
        line = {i: self.line(i, direction)}
        some = direction != 0
        if bool(some.all()):
            return Path(self, line, self.base(i), direction)
        moving = np.where(some, host(self.arrays[i]).astype(np.float64), 0.0)
        base = np.array([norm(host(self.gradient(d, k, i)) * moving) for d, k in self.pairs])
        return Path(self, line, np.nan_to_num(base), direction, self.dependent(i, some))

    def dependent(self, i: int, some: Any) -> list[Any]:
        """Which elements of the outputs depend on some elements of a leaf: those that NaN in their place changes.

        The change of an output may be lost in its rounding, so that it counts as rounded also if it does not move.
        """
        arrays, function = list(self.arrays), self.order_check.function
        arrays[i] = arrays[i].copy()
        arrays[i][get_array_module(arrays[i]).asarray(some)] = np.nan
        shapes = dict(function.other_shapes)
        try:
            outputs = function.outputs(arrays)
        except Exception:  # the function refuses NaN
            outputs = None
        if outputs is None or function.other_shapes != shapes:
            function.other_shapes = shapes
            return [y == y for y in self._flat]
        flat = [outputs[o].astype(np.float64, copy=False).ravel() for o in self.outputs]
        return [found != y for found, y in zip(flat, self._flat, strict=True)]

    def line(self, i: int, direction: Any) -> Move | Line:
        """The values of leaf ``i`` along a direction."""
        x = self.arrays[i]
        xp = np if type(x) is np.ndarray else get_array_module(x)
        on_device = xp.asarray(direction)
        if x.dtype == on_device.dtype and x.ndim:
            return x, on_device
        return lambda t: xp.asarray(x + t * on_device, dtype=x.dtype)

    def agrees(self, i: int, path: Path) -> bool:
        """Whether backward agrees with the first few differences, to ten digits; see :mod:`.extrapolation`."""
        if i in self.noise or self.source is not None:
            return False
        analytic, sizes = self.expected(i, path.direction)
        noise = (4 * self.precision * path.base).tolist()
        slack = [*map(self.slack.__mul__, sizes)]
        return agrees(path.values, analytic, noise, slack, sizes, self.precision, self.start)

    @property
    def slack(self) -> float:
        """The difference of slopes that counts as agreement, relative to the size of slopes."""
        return TEN_DIGITS + 16 * self.precision

    def expected(self, i: int, direction: Any) -> tuple[list[float], list[float]]:
        """The slopes along a direction from backward, and the typical size of slopes in random directions."""
        x = self.arrays[i]
        flat = (np if type(x) is np.ndarray else get_array_module(x)).asarray(direction).ravel()
        vectors = self._known_vectors[i] if i in self._known_vectors else self.vectors(i)
        analytic = [*map(float, map(flat.dot, vectors))]
        if not flat.all():
            return analytic, [norm(vector * flat) for vector in vectors]
        length = norm(flat) / max(flat.size, 1) ** 0.5
        if i not in self._gradient_lengths:
            self._gradient_lengths[i] = [*map(norm, vectors)]
        return analytic, [size * length for size in self._gradient_lengths[i]]

    def local_start(self, i: int, k: int, direction: Any) -> float:
        """The largest step at which values change by a small part of their size, if backward is right."""
        on_device = get_array_module(self.arrays[i]).asarray(direction)
        steepest = max(norm(self.gradient(d, k, i) * on_device) for d in range(DRAWS))
        usual = self._first_step(i) or self.start
        size = norm(self.values[k]) * max(self._scales)
        return min(usual, usual * size / steepest) if steepest and size else usual

    def along(
        self,
        i: int,
        direction: Any,
        max_calls: int | None = None,
        path: Path | None = None,
        start: float | None = None,
    ) -> Along:
        """Measures the slopes along a direction, and pairs them with those from backward."""
        on_device = get_array_module(self.arrays[i]).asarray(direction)
        terms = [self.gradient(d, k, i) * on_device for d, k in self.pairs]
        with np.errstate(all='ignore'):
            analytic = np.array([*map(total, terms)])
            size = np.array([total(abs(t)) for t in terms])
            spread = np.array([norm(t) for t in terms])
        if self.source is None:
            found = self._slopes(i, path or self.path(i, direction), max_calls, start)
        else:
            found = self.source.slopes({i: direction})
        several = 1 if np.count_nonzero(direction) == 1 else 4
        along = Along(i, direction, found, analytic, spread, size, several * norm(np.asarray(direction)))
        return self.with_backward_noise(along) if i in self.noise else along

    def with_backward_noise(self, along: Along) -> Along:
        """The same slopes, with the measured rounding errors of backward."""
        on_device = get_array_module(self.arrays[along.leaf]).asarray(along.direction)
        noise = np.array([norm(n * on_device) for n in self.backward_noise(along.leaf)])
        return dataclasses.replace(along, noise=noise)

    def elementwise(self, i: int, elements: Any, scales: Any, levels: int = 6, start: float | None = None) -> Along:
        """Like :meth:`along` for single elements, each moved alone: one entry per (element, draw, output)."""
        scales = np.asarray(scales, np.float64)
        chosen = [host(self.gradient(d, k, i)).ravel()[elements] for d, k in self.pairs]
        if self.source is None:
            found = self._slopes_of_elements(i, elements, scales, levels, start)
        else:
            found = self.source.slopes_of_elements(i, elements, scales)
        repeated = np.repeat(scales, len(chosen))
        analytic = np.stack(chosen, axis=1).ravel() * repeated
        known = self.backward_noise(i) if i in self.noise else []
        noise = np.stack([host(n).ravel()[elements] for n in known], axis=1).ravel() * repeated if known else 0.0
        return Along(i, repeated, found, analytic, abs(analytic), abs(analytic), repeated, noise)

    def _moves(self, i: int, elements: Any, scales: Any) -> list[Move]:
        """For each element, a function that moves only this element."""
        x, xp = self.arrays[i], get_array_module(self.arrays[i])

        def moved(t: float, j: int, scale: float) -> Any:
            copy = xp.array(x, order='C')
            copy.ravel()[j] += t * scale
            return copy

        pairs = zip(elements, scales, strict=True)
        return [functools.partial(moved, j=int(j), scale=float(scale)) for j, scale in pairs]

    def differences(self, i: int, elements: Any, scales: Any, step: float) -> tuple[Any, Any, Any]:
        """For each (element, draw, output) a central difference, backward's value, and the rounding error."""
        curves = self._element_curves(i, elements, scales)
        slopes = np.stack([(c(step)[0] - c(-step)[0]) / (2 * step) for c in curves]) / scales[:, None]
        chosen = [host(self.gradient(d, k, i)).ravel()[elements] for d, k in self.pairs]
        precision = self._precision_of(i)
        noise = [4 * precision * c(step)[1] for c in curves]
        return slopes, np.stack(chosen, axis=1), 4 * np.asarray(noise) / (step * scales[:, None])

    def _element_curves(self, i: int, elements: Any, scales: Any) -> list[Path]:
        """For each element, the path of the leaf when only this element moves."""
        moves = self._moves(i, elements, scales)
        x = host(self.arrays[i]).ravel()[elements].astype(np.float64)
        chosen = [host(self.gradient(d, k, i)).ravel()[elements] for d, k in self.pairs]
        bases = np.nan_to_num(abs(np.stack(chosen, axis=1) * x[:, None]))
        return [
            Path(self, {i: move}, base, touched=self._dependent_on(i, int(j)))
            for move, base, j in zip(moves, bases, elements, strict=True)
        ]

    def _dependent_on(self, i: int, element: int) -> list[Any]:
        """Which elements of the outputs depend on one of a leaf; kept for the next question."""
        if (i, element) not in self._known_dependent:
            some = np.zeros(self.arrays[i].size, bool)
            some[element] = True
            self._known_dependent[i, element] = self.dependent(i, some.reshape(self.arrays[i].shape))
        return self._known_dependent[i, element]

    def _precision_of(self, i: int) -> float:
        """The relative precision of values that move with a leaf: that of the dtype, or the measured one."""
        return max(self.precision, self.relative_noise(i) / 4)

    def _slopes(self, i: int, curve: Curve, max_calls: int | None, start: float | None = None) -> Slopes:
        """The slopes of a curve."""
        noise = self.noise.get(i)
        start = self._first_step(i) if start is None else start
        return slopes(curve, self.precision, max_calls=max_calls, start=start, noise=noise)

    def element_curve(self, i: int, elements: Any, scales: Any) -> Curve:
        """The paths of single elements, each moved alone, as one curve."""
        curves = self._element_curves(i, elements, scales)

        def curve(t: float) -> tuple[Any, Any]:
            values, sizes = zip(*(c(t) for c in curves), strict=True)
            return np.concatenate(values), np.concatenate(sizes)

        return curve

    def _slopes_of_elements(self, i: int, elements: Any, scales: Any, levels: int, start: float | None) -> Slopes:
        """The slopes of single elements, with the same steps for all."""
        curve = self.element_curve(i, elements, scales)
        start = self._first_step(i) if start is None else start
        return slopes(curve, self._precision_of(i), levels=levels, start=start)

    def _first_step(self, i: int) -> float | None:
        """The largest step, from the measured noise."""
        if i not in self.noise:
            return None
        return first_step(max(self.precision, self.relative_noise(i) / 4))

    def relative_noise(self, i: int) -> float:
        """The largest measured rounding error of an output, relative to its size."""
        known = self._sizes > 0
        if i not in self.noise or not known.any():
            return 0.0
        return float((self.noise[i][known] / self._sizes[known]).max())

    def base(self, i: int) -> Any:
        """The size of the numbers rounded at the point itself: the outputs, and the steps of the leaf."""
        if i not in self._bases:
            x = self.arrays[i].ravel()
            self._bases[i] = self._sizes + np.array([norm(g * x) for g in self.vectors(i)])
        return self._bases[i]

    def changes(self, arrays: Sequence[Any], touched: list[Any] | None = None) -> tuple[Any, list[float]]:
        """The change of every weighted output, and a size for every output; subtracts before it sums, to keep digits.

        With ``touched``, that size is the norm of the values that can change, and so may have been rounded.
        """
        outputs = self.order_check.function.outputs(arrays)
        values, norms = [], []
        for k, (o, y, w) in enumerate(zip(self.outputs, self._flat, self._weights, strict=True)):
            change = outputs[o].astype(np.float64, copy=False).ravel() - y
            weighted, square = w.dot(change), float(change.dot(change))
            values.append(weighted if type(weighted) is np.ndarray else host(weighted))
            size = math.sqrt(square) if 1e-280 < square < 1e300 else norm(change)
            if touched is not None:
                touched[k] = touched[k] | (change != 0)
                size += norm(y[touched[k]])
            norms.append(size)
        return np.stack(values, axis=1).ravel() if len(values) > 1 else values[0], norms

    def secant(self, i: int, o: int, direction: Any, step: float) -> Any:
        """The central difference of each element of an output, along a direction of leaf ``i``."""
        line, arrays, sides = self.line(i, direction), list(self.arrays), []
        for t in (step, -step):
            arrays[i] = moved(line, t)
            sides.append(host(self.order_check.function.outputs(arrays)[o]).astype(np.float64, copy=False))
        return (sides[0] - sides[1]) / (2 * step)

    def hull(self, i: int, k: int, draw: int, element: int, step: float) -> tuple[float, float]:
        """The least and largest sum of weighted slopes of the elements of an output, from either side each."""
        arrays, sides = list(self.arrays), []
        (move,) = self._moves(i, [element], [1.0])
        for t in (step, -step):
            arrays[i] = move(t)
            y = host(self.order_check.function.outputs(arrays)[self.outputs[k]]).astype(np.float64, copy=False)
            sides.append((y.ravel() - host(self._flat[k])) / t)
        weighted = host(self._weights[k][draw]) * np.stack(sides)
        return float(weighted.min(axis=0).sum()), float(weighted.max(axis=0).sum())

    def sizes(self, base: Any, norms: list[float]) -> Any:
        """The size of the rounded numbers after the outputs have changed by this much."""
        return base + self._scales * np.array(norms * DRAWS)

    # --- verdicts ----------------------------------------------------------------------------------------------
    def allow_backward_noise(self, i: int) -> None:
        """Adds the measured rounding errors of backward to tolerances for leaf ``i``."""
        self.noise.setdefault(i, np.zeros(len(self.pairs)))

    def note_doubt(self, i: int, uncertainty: float) -> None:
        """Adds notes about slopes of leaf ``i`` that are not accurate, and about the precision that was seen."""
        self.blur[i] = max(self.blur.get(i, 0.0), uncertainty)
        label, seen = self.order_check.function.leaves[i].label, self.relative_noise(i)
        inside = next((name for name, least in _INSIDE.items() if seen > least), '')
        if inside:
            self.order_check.report.notes.append(f'{label}: {INSIDE} {inside} inside.')
        if uncertainty > WORTH_A_NOTE:
            text = f'{UNCERTAINTY} {100 * uncertainty:.1g} % uncertainty.'
            self.order_check.report.notes.append(f'{label}: {text}')

    def does_not_vouch(self, i: int, which: Any, reason: str) -> None:
        """Notes the elements of leaf ``i`` in which even a wrong gradient would not be seen."""
        order_check = self.order_check
        indices = np.argwhere(which)
        name = order_check.function.leaves[i].name
        order_check.report.does_not_vouch(
            order_check.order, order_check.outputs[0], name, indices.tolist(), len(indices), reason
        )

    def tolerance(self, along: Along) -> Any:
        """The largest allowed error of each entry."""
        return along.found.error + self._rounding(along) + self._widened(along)

    def verdicts(self, along: Along) -> Any:
        """The verdict for each entry."""
        blurred = _COARSE if self.relative_noise(along.leaf) > _COARSE_FROM else _BLURRED
        resolution = max(blurred if along.leaf in self.noise else _SHARP, 10 * self.precision**0.5)
        # Moving the input by its own size would change the values by only a few roundings.
        tiny = along.found.flat & (along.spread <= 64 * along.found.noise)
        rounding = self._rounding(along)
        widened = self._widened(along)
        verdicts = judge(along.found, along.analytic, rounding, along.size, widened, resolution, tiny)
        blurred_out = along.found.error + rounding > _BLURRED * along.spread
        unseen = ((tiny | blurred_out) & (along.spread > 0)) | (along.found.flat & ~along.found.motionless)
        if (unseen & (verdicts == PASS)).any():
            self.blur[along.leaf] = 1.0
        if all([0 < largest(y) < _LEAST for y in self.values]):  # numbers below the normal ones are steps, not kinks
            verdicts[verdicts == NONDIFFERENTIABLE] = UNRESOLVED
        if self.source is None and along.found.steps[0] < 0.5 * self.start:  # only larger steps may move values
            verdicts[along.found.motionless & (verdicts == FAIL)] = UNRESOLVED
        if not np.isfinite(along.analytic).all():
            verdicts[self._overflows(along)] = UNRESOLVED
        return verdicts

    def _overflows(self, along: Along) -> Any:
        """Where a slope is not finite although the gradient is."""
        finite = [all_finite(vector) for vector in self.vectors(along.leaf)]
        return ~np.isfinite(along.analytic) & np.tile(finite, len(along.analytic) // len(finite))

    def _rounding(self, along: Along) -> Any:
        rounding = np.maximum(16 * self._effective_precision(along.leaf) * along.spread, along.noise)
        if self._given_precision:
            rounding += _CONSTANTS * self._given_precision * np.maximum(along.spread, abs(along.analytic))
        return rounding + _TINIEST * along.length + along.found.motionless * self._unseen(along)

    @functools.cached_property
    def _given_precision(self) -> float:
        """Machine epsilon of the given dtypes, for whose digits rules may have been made; at most that of float32."""
        return 0.0 if self.native else min(coarsest([*self.order_check.arrays, *self.order_check.values]), SINGLE)

    def _unseen(self, along: Along) -> Any:
        """Slopes that are lost in the rounding of the upstream gradients, or of output size over input size."""
        pairs = [self.on_the_way(self.only(k, self.upstream[d][k]), along.leaf) for d, k in self.pairs]
        return 16 * self.precision * np.tile(pairs, len(along.analytic) // len(pairs)) * along.length

    def backward_noise(self, i: int) -> list[Any]:
        """The rounding errors of the backward pass itself, which dominate where its terms cancel."""
        if i not in self._backward_noise:
            gys = [self.only(k, self.upstream[d][k]) for d, k in self.pairs]
            self._backward_noise[i] = [self.noise_of(g, i, d == 1) for g, (d, _) in zip(gys, self.pairs, strict=True)]
        return self._backward_noise[i]

    def noise_of(self, gys: Sequence[Any], i: int, on_variables: bool = False) -> Any:
        """The rounding errors of one backward pass, element by element."""
        noise = jitter(self.order_check, self.arrays, gys, i, 0.0, self.precision, on_variables)
        all_of_it = jitter(self.order_check, self.arrays, gys, i, self.precision, self.precision, on_variables)
        if largest(all_of_it) <= _NO_MORE_THAN_ROUNDING * self.on_the_way(gys, i):
            noise = noise + all_of_it
        return noise.astype(np.float64, copy=False)

    def on_the_way(self, gys: Sequence[Any], i: int) -> float:
        """The size of terms that may cancel in a gradient: upstream gradients, and output size over input size."""
        x = root_mean_square(self.arrays[i]) or 1.0
        pairs = [(gys[o], y) for o, y in zip(self.outputs, self.values, strict=True) if gys[o] is not None]
        return sum(largest(v) * max(largest(y) / x, 1.0) for v, y in pairs)

    def _effective_precision(self, i: int) -> float:
        """The precision that was seen, at least half: functions and their backward may round what is in between."""
        return max(self.precision, min(self.relative_noise(i) / 4, HALF))

    def _widened(self, along: Along) -> Any:
        """What may change from call to call, as the caller says, in sums of errors with random signs."""
        return self.order_check.options.nondet_tol * along.length

    def directions(self, i: int) -> list[Any]:
        """One isotropic direction, and one relative to the size of each element."""
        x = host(self.arrays[i])
        drawn = [draw(self.order_check.rng, x) for draw in (isotropic, relative)]
        if not all_finite(x):
            drawn = [np.where(np.isfinite(x), d, 0.0) for d in drawn]
        if self.order_check.options.tangent is not None:
            drawn = [project(self.order_check, i, d) for d in drawn]
        return drawn
