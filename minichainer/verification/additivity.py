"""A backward pass is additive: the gradient for a sum of upstream gradients is the sum of the gradients.

Directional derivatives are compared for random upstream gradients: all elements differ, none is zero, both signs
occur, and only one output has an upstream gradient. Here that gradient is split into parts that break each of these
properties, in other memory layouts. The gradients for the parts must add up to the gradient that finite differences
have confirmed.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from minichainer.backend import get_array_module
from minichainer.verification.arrays import backwards, full, largest, relaid
from minichainer.verification.comparison import differ
from minichainer.verification.directional_derivatives import Derivatives
from minichainer.verification.directions import signed
from minichainer.verification.function_under_test import Evaluation, laid_out
from minichainer.verification.high_precision import HighPrecision, last_resort
from minichainer.verification.linearity import NAME, add_elements
from minichainer.verification.order_check import times
from minichainer.verification.rounding import ROUNDINGS, SINGLE

_TOGETHER = NAME + 'right for each output alone, wrong for several outputs together'
_SIZES = NAME + 'right for each output alone, wrong where the upstream gradients of two differ much in size'
_SOME = NAME + 'right for each output alone, wrong for some of them together'
_ALONE = 'depends on what is asked for: wrong where the gradient of this input alone is'
_INPUTS = (
    'depends on layout: wrong where the inputs run backwards through memory with gaps, or must not be written to'
)
_LAYOUT = 'depends on layout: wrong where the upstream gradient '
_WORDS = (
    'is a broadcast array, as sum gives it',
    'is as it always was',
    'is in Fortran order, or has gaps',
    'runs backwards through memory, or must not be written to',
)
_ADD = NAME + 'the gradients for two upstream gradients do not add up to the gradient for their sum'

#: The ratio by which one upstream gradient exceeds another; the most outputs and leaves that are tried alone.
_FAR, _FEW = 2.0**24, 4
#: How many times as large as the drawn upstream gradient the four parts are together, at most.
_PARTS = 16.0
#: The parts whose rounding errors can be measured: near the others a wrong gradient would be taken for noise.
_RANDOM = slice(2, None)
_DOUBLE = 1e-15
#: What terms that cancel inside of a backward pass may lose of double precision: 1 300 roundings in the second order
#: of hypot. A part that is rounded to single precision, or left out, differs by far more.
_CANCELLED = 2.0**-40

Gradients = list[Any]
#: One upstream gradient per checked output.
Upstream = Sequence[Any]


class AdditivityChecks:
    """Checks sums of upstream gradients, given that the gradients for each output alone are right."""

    def __init__(self, derivatives: Derivatives) -> None:
        self.derivatives, self.order_check = derivatives, derivatives.order_check
        self.drawn = derivatives.upstream[0]
        self.moving = [i for i in self.order_check.function.moving if derivatives.arrays[i].size]

    def run(self) -> None:
        """Adds failures to the report."""
        derivatives = self.derivatives
        alone = [*map(self._filled, derivatives.gradients[0])]
        together = self._vjp(self.drawn) if len(alone) > 1 else alone[0]
        if len(alone) > 1 and self._outputs_together(together, alone):
            return
        if not self.order_check.options.conditions or self._leaves_alone(together):
            return
        parts, evaluation = self._parts(), laid_out(derivatives.evaluation, derivatives.arrays, backwards)
        found = [self._tried(part, evaluation) for part in parts]
        known = [g for g in found if g is not None]
        if len(known) == len(parts) and self._off(together, known, others=parts[_RANDOM]):
            self._explain(parts, known, evaluation)

    def _outputs_together(self, together: Gradients, alone: Sequence[Gradients]) -> bool:
        """Checks all outputs at once, with upstream gradients of very different sizes, and without one of them."""
        if self._add(self._off(together, alone), together, alone, _TOGETHER):
            return True
        count = len(alone)
        scales = []
        if self._is_exact(together, alone):
            scales += [[_FAR] + [1.0] * (count - 1), [1.0] + [_FAR] * (count - 1)]
        if 2 < count <= _FEW:
            scales += [[float(k != missing) for k in range(count)] for missing in range(count)]
        for row in scales:
            zeros = not self.order_check.options.check_undefined_grad
            upstream = [times(v, s) if s or zeros else None for v, s in zip(self.drawn, row, strict=True)]
            parts = [[s * g for g in gs] for s, gs in zip(row, alone, strict=True)]
            found = self._vjp(upstream)
            cause = _SIZES if all(row) else _SOME
            if self._add(self._off(found, parts, upstream=upstream if _FAR in row else None), found, parts, cause):
                return True
        return False

    def _is_exact(self, together: Gradients, alone: Sequence[Gradients]) -> bool:
        """Whether the sums agree to double precision, so that nothing was computed in single precision."""
        if self.derivatives.precision > _DOUBLE:
            return False
        for i in self.moving:
            scale = sum(largest(part[i]) for part in alone)
            off = abs(together[i] - sum(part[i] for part in alone))
            if not bool((off <= ROUNDINGS * self.derivatives.precision * scale).all()):
                return False
        return True

    def _leaves_alone(self, together: Gradients) -> bool:
        """Checks the gradient of each leaf when it is the only one requested."""
        if len(self.moving) < 2:
            return False
        for i in self.moving[:_FEW]:
            found = list(together)
            found[i] = full(
                self.derivatives.evaluation.vjp(self._gys(self.drawn), wanted=[i])[i], self.derivatives.arrays[i]
            )
            off = self._off(found, [together], [i])
            if self._add(off, found, [together], _ALONE):
                return True
        return False

    def _parts(self) -> Sequence[Upstream]:
        """Splits the upstream gradient into four parts: equal elements, one element, positive elements, and the rest.

        The rest is negative. The first part is a broadcast array, as from ``sum``; the last two have other layouts.
        """
        parts: list[list[Any]] = [[], [], [], []]
        for v, w in zip(self.drawn, self._random(), strict=True):
            equal, single, positive = _equal(v), _single(v), _array(abs(w))
            negative = _array(v - equal - single - positive)
            for part, value in zip(parts, (equal, single, relaid(positive), backwards(negative)), strict=True):
                part.append(value)
        return parts

    def _gys(self, upstream: Upstream) -> list[Any]:
        """One upstream gradient per output of the evaluation; None for outputs that are not checked."""
        gys: list[Any] = [None] * len(self.derivatives.evaluation.outputs)
        for o, v in zip(self.derivatives.outputs, upstream, strict=True):
            gys[o] = v
        return gys

    def _plain(self, upstream: Upstream) -> list[Any]:
        """Upstream gradients in the usual layout: what a wrong one reads in another is no rounding."""
        return self._gys([v.copy() for v in upstream])

    def _vjp(self, upstream: Upstream, evaluation: Evaluation | None = None) -> Gradients:
        return self._filled((evaluation or self.derivatives.evaluation).vjp(self._gys(upstream)))

    def _filled(self, gradients: Gradients) -> Gradients:
        """The gradients, with zeros in place of None."""
        filled = []
        for g, x in zip(gradients, self.derivatives.arrays, strict=True):
            filled.append(full(g, x) if g is None else g)
        return filled

    def _tried(self, upstream: Upstream, evaluation: Evaluation) -> Gradients | None:
        """The gradients, or None where backward rejects this layout, which is allowed."""
        try:
            return self._vjp(upstream, evaluation)
        except Exception:
            return None

    def _off(
        self,
        found: Gradients,
        parts: Sequence[Gradients],
        leaves: Sequence[int] | None = None,
        upstream: Upstream | None = None,
        others: Sequence[Upstream] = (),
    ) -> dict[int, Any]:
        """Maps each leaf whose gradient is not the sum of the parts to the elements that differ.

        The rounding errors of the gradients for ``others`` are allowed, too.
        """
        least = SINGLE if upstream is None else _CANCELLED
        gys, off = self._gys(self.drawn if upstream is None else upstream), {}
        for i in self.moving if leaves is None else leaves:
            mine = [part[i] for part in parts]
            scale = largest(found[i]) + sum(map(largest, mine))
            parts_of = functools.partial(map, self._plain, others)
            where = differ(self.derivatives, gys, i, found[i], sum(mine), scale, least, _PARTS, parts_of)
            if where is not None and not self._is_lost(i, where, found[i] - sum(mine), [gys, *parts_of()]):
                off[i] = where
        return off

    def _is_lost(self, i: int, where: Any, off: Any, upstreams: Sequence[Sequence[Any]]) -> bool:
        """Whether the bits of float64 explain a difference: inside an op, terms may cancel unseen."""
        if self._many_digits is None:
            return False
        try:
            allowed = sum([self._many_digits.rounding_of(gys, i) for gys in upstreams])
        except Exception:  # backward makes floats of these numbers, say
            return False
        return bool((abs(off) <= ROUNDINGS * allowed)[where].all())

    @functools.cached_property
    def _many_digits(self) -> HighPrecision | None:
        return last_resort(self.derivatives)

    def _add(self, off: dict[int, Any], found: Gradients, parts: Sequence[Gradients], cause: str) -> bool:
        for i, where in off.items():
            add_elements(self.derivatives, 0, i, where, sum(part[i] for part in parts), found[i], cause)
        return bool(off)

    # --- after a difference ------------------------------------------------------------------------------------
    def _explain(self, parts: Sequence[Upstream], known: Sequence[Gradients], evaluation: Evaluation) -> None:
        """Finds the part that is wrong, and whether its layout, the inputs' layout or its values are the reason."""
        for part, found, words in zip(parts, known, _WORDS, strict=True):
            plain = [v.copy() for v in part]
            at_home, away = self._vjp(plain), self._vjp(plain, evaluation)
            if self._add(self._off(away, [at_home]), away, [at_home], _INPUTS):
                return
            if self._add(self._off(found, [at_home]), found, [at_home], _LAYOUT + words):
                return
        for words, make in _CONDITIONS:
            special = [_array(make(v, w)) for v, w in zip(self.drawn, self._random(), strict=True)]
            split = self._split(special)
            found, halves = self._vjp(special), [*map(self._vjp, split)]
            off = self._off(found, halves, others=split)
            if self._add(off, found, halves, f'{NAME}wrong where {words}'):
                return
        expected = self._vjp(self.drawn)
        self._add(self._off(expected, known, others=parts[_RANDOM]), expected, known, _ADD)

    def _random(self) -> Iterator[Any]:
        for v in self.drawn:
            drawn = get_array_module(v).asarray(signed(self.order_check.rng, v.shape).astype(v.dtype))
            yield times(drawn, 4 * largest(v))

    def _split(self, upstream: Upstream) -> list[Upstream]:
        """The upstream gradient as the sum of two random ones."""
        some = list(self._random())
        return [some, [_array(v - s) for v, s in zip(upstream, some, strict=True)]]


def _array(value: Any) -> Any:
    """An array, also where NumPy returns a scalar."""
    return get_array_module(value).asarray(value)


def _equal(v: Any) -> Any:
    """A broadcast array of a power of two that is at least as large as every element of ``v``."""
    xp, size = get_array_module(v), largest(v)
    power = 2.0 ** np.ceil(np.log2(size)) if size else 1.0
    return xp.broadcast_to(xp.asarray(power, dtype=v.dtype), v.shape)


def _single(v: Any) -> Any:
    """Zeros except for one element in the middle."""
    single = times(v, 0)
    if v.size:
        single[np.unravel_index(v.size // 2, v.shape)] = largest(v)
    return single


def _with_zeros(v: Any, random: Any) -> Any:
    size = abs(random)
    return random * (size < size.mean())


#: Properties of an upstream gradient, each with a function that makes one from the drawn and a random gradient.
_CONDITIONS: tuple[tuple[str, Callable[[Any, Any], Any]], ...] = (
    ('all elements of the upstream gradient are positive', lambda v, w: abs(w)),
    ('all elements of the upstream gradient are negative', lambda v, w: -abs(w)),
    ('all elements of the upstream gradient are equal', lambda v, w: _equal(v).copy()),
    ('some elements of the upstream gradient are zero', _with_zeros),
    ('only one element of the upstream gradient is not zero', lambda v, w: _single(v)),
)
