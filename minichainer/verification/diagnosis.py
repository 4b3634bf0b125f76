"""Why a gradient is wrong, guessed from how the wrong values relate to the right ones."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np


@dataclasses.dataclass(frozen=True)
class Evidence:
    """What the rules look at.

    Args:
        numeric: The right gradient, measured; any shape.
        analytic: The gradient that backward gives, of the same shape; None if it gives none.
        tolerance: Error of ``numeric``, a number or an array.
        x: The input, of the same shape, if there is one.
        others: Measured gradients of other inputs, by name.
    """

    numeric: Any
    analytic: Any
    tolerance: Any
    x: Any = None
    others: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def equal(self, a: Any, b: Any) -> Any:
        """Element by element, within the tolerance."""
        with np.errstate(invalid='ignore'):
            return abs(a - b) <= self.tolerance

    def explains(self, candidate: Any) -> bool:
        """Whether ``candidate`` is what backward gives."""
        same_shape = np.shape(candidate) == np.shape(self.analytic)
        return same_shape and bool(self.equal(candidate, self.analytic).all())

    @property
    def wrong(self) -> Any:
        """Which elements are wrong."""
        return ~self.equal(self.numeric, self.analytic)


@dataclasses.dataclass(frozen=True)
class Cause:
    """A probable cause: its name, for programs, and a sentence."""

    name: str
    text: str


def diagnose(evidence: Evidence) -> Cause:
    """The first rule that explains every wrong element; "unknown" if there is none.

    >>> import numpy as np
    >>> right = np.array([1.0, -2.0, 3.0])
    >>> diagnose(Evidence(right, -right, 1e-9)).text
    'the sign is wrong: backward gives -1 times the gradient'
    """
    if evidence.analytic is None:
        return Cause('missing', 'backward gives None, but the function depends on this input')
    if evidence.analytic.shape != evidence.numeric.shape:
        text = f'backward gives shape {evidence.analytic.shape}, the input has {evidence.numeric.shape}'
        return Cause('shape', text)
    for rule in _RULES:
        cause = rule(evidence)
        if cause is not None:
            return cause
    return Cause('unknown', 'no simple relation to the right gradient was found')


def _not_finite(e: Evidence) -> Cause | None:
    bad = e.wrong & ~np.isfinite(e.analytic)
    if not bad.any():
        return None
    return Cause('not_finite', f'backward gives NaN or infinity in {bad.sum()} of {bad.size} elements')


def _detached(e: Evidence) -> Cause | None:
    if np.any(e.analytic):
        return None
    return Cause('detached', 'backward gives zero: the gradient does not get through to this input')


def _swapped(e: Evidence) -> Cause | None:
    for name, other in e.others.items():
        if e.explains(other):
            return Cause('swapped', f'backward gives the gradient of {name} here: the two are swapped')
    return None


def _factor(e: Evidence) -> Cause | None:
    wrong = e.wrong
    if not wrong.all() and not (wrong | e.equal(e.numeric, 0)).all():
        return None
    weight = float((e.numeric[wrong] ** 2).sum())
    factor = float((e.numeric[wrong] * e.analytic[wrong]).sum()) / weight if weight else 0.0
    if not factor or not bool((abs(factor * e.numeric - e.analytic) <= (1 + abs(factor)) * e.tolerance).all()):
        return None
    if abs(factor + 1) < 1e-3:
        return Cause('sign', 'the sign is wrong: backward gives -1 times the gradient')
    return Cause('factor', f'a factor is wrong: backward gives {factor:.4g}{_hint(factor, e)} times the gradient')


def _hint(factor: float, e: Evidence) -> str:
    """What the factor may stem from."""
    sizes = {f'the size of axis {i}': n for i, n in enumerate(e.numeric.shape) if n > 2}
    sizes['the number of elements'] = max(e.numeric.size, 3)
    for name, n in sizes.items():
        if abs(abs(factor) - n) < 1e-3 * n:
            return f' ({name}: a mean that is treated as a sum?)'
        if abs(abs(factor) * n - 1) < 1e-3:
            return f' (one over {name}: a sum that is treated as a mean?)'
    return ''


def _transposed(e: Evidence) -> Cause | None:
    if e.numeric.ndim < 2 or min(e.numeric.shape) < 2:
        return None
    last_two = np.swapaxes(e.numeric, -1, -2)
    mixed = last_two.reshape(e.numeric.shape)
    if e.explains(last_two) or e.explains(mixed):
        return Cause('transposed', 'backward gives the transposed gradient')
    return None


def _shifted(e: Evidence) -> Cause | None:
    for axis, n in enumerate(e.numeric.shape):
        for shift in range(1, min(n, 9)):
            for signed in (shift, -shift):
                if e.explains(np.roll(e.numeric, signed, axis)):
                    return Cause('shifted', f'backward gives the gradient shifted by {signed} along axis {axis}')
        if n > 1 and e.explains(np.flip(e.numeric, axis)):
            return Cause('reversed', f'backward gives the gradient reversed along axis {axis}')
    return None


def _half_line(e: Evidence) -> Cause | None:
    if e.x is None or np.shape(e.x) != e.numeric.shape:
        return None
    wrong, matters = e.wrong, ~(e.equal(e.numeric, 0) & e.equal(e.analytic, 0))
    for name, side in (('x < 0', e.x < 0), ('x > 0', e.x > 0)):
        others = ~side & matters
        if others.any() and wrong.sum() > 1 and not wrong[~side].any() and wrong[side & matters].all():
            return Cause('half_line', f'the gradient is wrong exactly where {name}')
    return None


def _slice(e: Evidence) -> Cause | None:
    wrong = e.wrong
    for axis, n in enumerate(wrong.shape):
        if n < 2:
            continue
        per_index = np.moveaxis(wrong, axis, 0).reshape(n, -1)
        hit = np.flatnonzero(per_index.any(axis=1))
        if len(hit) == 1 and per_index.shape[1] > 1 and per_index[hit[0]].all():
            return Cause('slice', f'the gradient is wrong at index {hit[0]} of axis {axis}, everywhere')
    return None


def _single(e: Evidence) -> Cause | None:
    wrong = np.argwhere(e.wrong)
    if len(wrong) != 1 or e.wrong.size == 1:
        return None
    return Cause('single', f'one element is wrong, {tuple(map(int, wrong[0]))}; the rest is right')


def _added_constant(e: Evidence) -> Cause | None:
    difference = e.analytic - e.numeric
    constant = float(difference.mean())
    if e.wrong.size < 2 or not bool((abs(difference - constant) <= 2 * e.tolerance).all()):
        return None
    return Cause('constant', f'backward adds {constant:.4g} to every element')


def _missing_term(e: Evidence) -> Cause | None:
    if e.x is None or np.shape(e.x) != e.numeric.shape or e.wrong.size < 3:
        return None
    missing, size = e.numeric - e.analytic, float((np.asarray(e.x, float) ** 2).sum())
    factor = float((missing * e.x).sum()) / size if size else 0.0
    if not factor or not bool(e.equal(missing, factor * e.x).all()):
        return None
    return Cause('missing_term', f'a term is missing: {factor:.4g} times the input')


_RULES: tuple[Callable[[Evidence], Cause | None], ...] = (
    _not_finite,
    _detached,
    _swapped,
    _factor,
    _transposed,
    _shifted,
    _half_line,
    _single,
    _slice,
    _added_constant,
    _missing_term,
)
