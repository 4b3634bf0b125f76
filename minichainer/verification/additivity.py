"""A backward pass is additive: what it gives for a sum is the sum of what it gives for the parts.

The upstream gradients of a screen are random: no two elements are equal, none is zero, both signs occur, and only one
output has one. So they are put together here from parts that are all that they are not, in layouts that theirs is
not, and the sum of the gradients must be the gradient that differences have shown to be right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from minichainer.backend import get_array_module
from minichainer.verification.comparison import differ
from minichainer.verification.directions import signed
from minichainer.verification.leaves import full, largest, relaid
from minichainer.verification.linearity import NAME, add_elements
from minichainer.verification.point import times
from minichainer.verification.screen import Screen

_TOGETHER = NAME + 'right for each output alone, wrong for several outputs together'
_LAYOUT = 'depends on layout: wrong where the upstream gradient is '
_ADD = NAME + 'the gradients for two upstream gradients do not add up to the gradient for their sum'

Gradients = list[Any]
#: Upstream gradients, one per checked output.
Upstream = Sequence[Any]


class AdditivityChecks:
    """All outputs of a screen together; its gradients for each of them alone are known to be right."""

    def __init__(self, screen: Screen) -> None:
        self.screen, self.point = screen, screen.point
        self.drawn = screen.upstream[0]
        self.moving = [i for i in self.point.subject.moving if screen.arrays[i].size]

    def run(self) -> None:
        """Adds what is wrong to the report."""
        screen = self.screen
        alone = [[full(g, x) for g, x in zip(gs, screen.arrays, strict=True)] for gs in screen.gradients[0]]
        together = alone[0]
        if len(alone) > 1:
            together = self._vjp(self.drawn)
            if self._add(self._off(together, alone), together, alone, _TOGETHER):
                return
        parts = self._parts()
        found = [self._tried(part) for part in parts]
        known = [g for g in found if g is not None]
        if len(known) == len(parts) and self._off(together, known):
            self._explain(parts, known)

    def _parts(self) -> list[Upstream]:
        """Elements that are all equal, a single element, and what is left, which is all negative.

        The first part is repeated without a copy, as the gradient of ``sum`` is; the last one in another layout.
        """
        equal = [_equal(v) for v in self.drawn]
        single = [_single(v) for v in self.drawn]
        rest = [relaid(v - e - s) for v, e, s in zip(self.drawn, equal, single, strict=True)]
        return [equal, single, rest]

    def _gys(self, upstream: Upstream) -> list[Any]:
        gys: list[Any] = [None] * len(self.screen.evaluation.outputs)
        for o, v in zip(self.screen.outputs, upstream, strict=True):
            gys[o] = v
        return gys

    def _vjp(self, upstream: Upstream) -> Gradients:
        found = self.screen.evaluation.vjp(self._gys(upstream))
        return [full(g, x) for g, x in zip(found, self.screen.arrays, strict=True)]

    def _tried(self, upstream: Upstream) -> Gradients | None:
        """The gradients; None where backward refuses such a layout, which it may."""
        try:
            return self._vjp(upstream)
        except Exception:
            return None

    def _off(self, found: Gradients, parts: Sequence[Gradients]) -> dict[int, Any]:
        """For each leaf whose gradient is not the sum of the parts, where."""
        gys, off = self._gys(self.drawn), {}
        for i in self.moving:
            scale = largest(found[i]) + sum(largest(part[i]) for part in parts)
            where = differ(self.screen, gys, i, found[i], sum(part[i] for part in parts), scale)
            if where is not None:
                off[i] = where
        return off

    def _add(self, off: dict[int, Any], found: Gradients, parts: Sequence[Gradients], cause: str) -> bool:
        for i, where in off.items():
            add_elements(self.screen, 0, i, where, sum(part[i] for part in parts), found[i], cause)
        return bool(off)

    # --- after a difference ------------------------------------------------------------------------------------
    def _explain(self, parts: Sequence[Upstream], known: Sequence[Gradients]) -> None:
        """Which part is wrong, and whether for its layout or for its values."""
        for part, found, words in zip(parts, known, ('a broadcast array', '', 'not contiguous'), strict=True):
            plain = [self._vjp([v.copy() for v in part])]
            if words and self._add(self._off(found, plain), found, plain, _LAYOUT + words):
                return
        for words, make in _CONDITIONS:
            special = [_array(make(v, w)) for v, w in zip(self.drawn, self._random(), strict=True)]
            found, halves = self._vjp(special), self._halves(special)
            if self._add(self._off(found, halves), found, halves, f'{NAME}wrong where {words}'):
                return
        expected = self._vjp(self.drawn)
        self._add(self._off(expected, known), expected, known, _ADD)

    def _random(self) -> Iterator[Any]:
        for v in self.drawn:
            drawn = get_array_module(v).asarray(signed(self.point.rng, v.shape).astype(v.dtype))
            yield times(drawn, 4 * largest(v))

    def _halves(self, upstream: Upstream) -> list[Gradients]:
        """The gradients for two parts that have nothing special."""
        some = list(self._random())
        return [self._vjp(some), self._vjp([_array(v - s) for v, s in zip(upstream, some, strict=True)])]


def _array(value: Any) -> Any:
    """An array also where NumPy makes a scalar."""
    return get_array_module(value).asarray(value)


def _equal(v: Any) -> Any:
    """A power of two everywhere, no smaller than any element of ``v``, repeated without a copy."""
    xp, size = get_array_module(v), largest(v)
    power = 2.0 ** np.ceil(np.log2(size)) if size else 1.0
    return xp.broadcast_to(xp.asarray(power, dtype=v.dtype), v.shape)


def _single(v: Any) -> Any:
    """Zeros but for one element, in the middle."""
    single = times(v, 0)
    if v.size:
        single[np.unravel_index(v.size // 2, v.shape)] = largest(v)
    return single


def _with_zeros(v: Any, random: Any) -> Any:
    size = abs(random)
    return random * (size < size.mean())


#: What may be special about an upstream gradient, and how it is made from the one drawn and a random one.
_CONDITIONS: tuple[tuple[str, Callable[[Any, Any], Any]], ...] = (
    ('all elements of the upstream gradient are positive', lambda v, w: abs(w)),
    ('all elements of the upstream gradient are negative', lambda v, w: -abs(w)),
    ('all elements of the upstream gradient are equal', lambda v, w: _equal(v).copy()),
    ('some elements of the upstream gradient are zero', _with_zeros),
    ('only one element of the upstream gradient is not zero', lambda v, w: _single(v)),
)
