"""Guesses why a gradient is wrong from how the wrong values relate to the right ones."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from minichainer.verification.arrays import root_mean_square

#: A factor closer to 1 is a rounding error.
NO_FACTOR = 1e-13
#: The share of the squared errors that a factor may leave: the rest of errors without one is as large as before.
_LEFT_OVER = 0.25
#: Errors up to this, relative to the gradient, may be those of a right rule that is inaccurate; the second is for
#: numbers that are all of a lower precision.
_SMALL, _SMALL_IF_ROUNDED = 1e-4, 1e-3
#: A small error is no larger than this many times the typical one: otherwise it has a place, and so a cause.
_EVEN = 100.0
#: Errors up to this many tolerances may be as large where they were not seen.
_BARELY = 10.0


@dataclasses.dataclass(frozen=True)
class Evidence:
    """What the rules use.

    Args:
        numeric: The right gradient, measured; any shape.
        analytic: The gradient from backward, of the same shape; None if there is none.
        tolerance: Error of ``numeric``, a number or an array.
        x: The input, of the same shape, if there is one.
        data: Other arrays that may be involved, such as other inputs and the upstream gradient, by name.
        partial: Whether these are only some elements of a gradient, perhaps only wrong ones.
    """

    numeric: Any
    analytic: Any
    tolerance: Any
    x: Any = None
    data: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    partial: bool = False

    def equal(self, a: Any, b: Any) -> Any:
        """Elementwise equality within the tolerance."""
        with np.errstate(invalid='ignore'):
            return abs(a - b) <= self.tolerance

    def explains(self, candidate: Any) -> bool:
        """Whether ``candidate`` equals the gradient from backward."""
        same_shape = np.shape(candidate) == np.shape(self.analytic)
        return same_shape and bool(self.equal(candidate, self.analytic).all())

    @property
    def wrong(self) -> Any:
        """Which elements are wrong."""
        return ~self.equal(self.numeric, self.analytic)


@dataclasses.dataclass(frozen=True)
class Cause:
    """A probable cause: a name for programs and a sentence for people."""

    name: str
    text: str


def diagnose(evidence: Evidence, further: Callable[[], Cause | None] = lambda: None) -> Cause:
    """The first rule that explains every wrong element; "unknown" if there is none.

    Args:
        evidence: The right and the wrong gradient.
        further: Finds a cause by further measurements; called before anything is guessed.

    >>> import numpy as np
    >>> right = np.array([1.0, -2.0, 3.0])
    >>> diagnose(Evidence(right, -right, 1e-9)).text
    'the sign is wrong: backward gives the gradient with the opposite sign'
    """
    if evidence.analytic is None:
        return Cause('missing', 'backward gives None, but the function depends on this input')
    if evidence.analytic.shape != evidence.numeric.shape:
        text = f'backward gives shape {evidence.analytic.shape}, the input has {evidence.numeric.shape}'
        return Cause('shape', text)
    unknown = Cause('unknown', 'no simple relation to the right gradient was found')
    if not evidence.wrong.any():
        return further() or unknown
    for rule in _RULES:
        cause = rule(evidence)
        if cause is not None:
            return cause
    return further() or _slices(evidence) or _inaccurate(evidence) or _dense(evidence) or unknown


def _not_finite(e: Evidence) -> Cause | None:
    bad = e.wrong & ~np.isfinite(e.analytic)
    if not bad.any():
        return None
    return Cause('not finite', f'backward gives NaN or infinity in {bad.sum()} of {bad.size} elements')


def _detached(e: Evidence) -> Cause | None:
    if np.any(e.analytic) or e.partial:
        return None
    return Cause('detached', 'backward gives zero: the gradient does not get through to this input')


def _factor(e: Evidence) -> Cause | None:
    """The gradient is wrong by a constant factor."""
    wrong = e.wrong
    if not wrong.all() and not (wrong | e.equal(e.numeric, 0)).all():
        return None
    weight = float((e.numeric[wrong] ** 2).sum())
    factor = float((e.numeric[wrong] * e.analytic[wrong]).sum()) / weight if weight else 0.0
    if not factor or not bool((abs(factor * e.numeric - e.analytic) <= (1 + abs(factor)) * e.tolerance).all()):
        return None
    no_factor = NO_FACTOR if e.wrong.size > 1 else _SMALL_IF_ROUNDED if _lower_precision(e.analytic) else _SMALL
    explains = _is_less((factor * e.numeric - e.analytic)[wrong], (e.numeric - e.analytic)[wrong])
    if not explains or abs(factor - 1) < no_factor:
        return None
    if abs(factor + 1) < 1e-3:
        return Cause('sign', f'the sign is wrong: backward gives {multiple(-1.0)}')
    where = ' where it is wrong' if e.partial else ''
    return Cause('factor', f'a factor is wrong: backward gives {multiple(factor, hint=_hint(factor, e))}{where}')


def multiple(factor: float, digits: int = 4, hint: str = '') -> str:
    """A multiple of the gradient in words; more digits are shown of a factor close to 1 or -1.

    >>> multiple(0.5), multiple(1 + 1e-9), multiple(-1.0)
    ('0.5 times the gradient', '1.000000001 times the gradient', 'the gradient with the opposite sign')
    """
    if factor == -1:
        return 'the gradient with the opposite sign'
    texts = (f'{factor:.{d}g}' for d in range(digits, 17))
    text = next((t for t in texts if abs(float(t)) != 1), f'{factor!r}')
    return f'{text}{hint} times the gradient'


def _hint(factor: float, e: Evidence) -> str:
    """Where the factor may come from."""
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
            return Cause('shifted', f'backward gives the gradient reversed along axis {axis}')
    return None


def _one_sign(e: Evidence) -> Cause | None:
    """The gradient is wrong only where x is negative, or only where it is positive."""
    if e.x is None or np.shape(e.x) != e.numeric.shape:
        return None
    wrong, matters = e.wrong, ~(e.equal(e.numeric, 0) & e.equal(e.analytic, 0))
    for name, side in (('x < 0', e.x < 0), ('x > 0', e.x > 0)):
        others = ~side & matters
        if others.any() and wrong.sum() > 1 and not wrong[~side].any() and wrong[side & matters].all():
            return Cause(f'wrong where {name}', 'and nowhere else')
    return None


def _slices(e: Evidence) -> Cause | None:
    """All wrong elements are whole slices."""
    wrong = e.wrong
    for axis, n in enumerate(wrong.shape):
        per_index = np.moveaxis(wrong, axis, 0).reshape(n, -1)
        hit = per_index.any(axis=1)
        if hit.all() or per_index.shape[1] < 2 or not per_index[hit].all() or 2 * hit.sum() > n:
            continue
        where = f'{indices_in_words(np.flatnonzero(hit))} of axis {axis}'
        if not np.moveaxis(e.analytic, axis, 0)[hit].any():
            return Cause(
                'one slice' if hit.sum() == 1 else 'left out', f'backward gives zeros at {where}; the rest is right'
            )
        return Cause('one slice' if hit.sum() == 1 else 'slices', f'the gradient is wrong at {where}, everywhere')
    return None


def indices_in_words(indices: Any) -> str:
    """As in "index 3" or "indices 0 to 2"."""
    first, last = int(indices[0]), int(indices[-1])
    if first == last:
        return f'index {first}'
    if last - first + 1 == len(indices):
        return f'indices {first} to {last}'
    return 'indices ' + ', '.join(map(str, indices[:8])) + (', ...' if len(indices) > 8 else '')


def _single(e: Evidence) -> Cause | None:
    wrong = np.argwhere(e.wrong)
    if len(wrong) != 1 or e.wrong.size == 1:
        return None
    return Cause('one element', f'only {tuple(map(int, wrong[0]))} is wrong')


def _added_constant(e: Evidence) -> Cause | None:
    difference = e.analytic - e.numeric
    constant = float(difference.mean())
    if e.wrong.size < 2 or not bool((abs(difference - constant) <= 2 * e.tolerance).all()):
        return None
    if not _is_less(difference - constant, difference):
        return None
    return Cause('added constant', f'backward adds {constant:.4g} to every element')


def _missing_term(e: Evidence) -> Cause | None:
    """Whether the difference is a multiple of a known array or of a product of two known arrays."""
    missing = e.numeric - e.analytic
    for name, factor in _multiples(e, missing):
        return Cause('missing term', f'{factor:.4g} times {name} is missing in what backward gives')
    return None


def _factor_of_data(e: Evidence) -> Cause | None:
    """Whether the right gradient is the one from backward multiplied or divided by a known array."""
    for name, array in _shaped(e).items():
        for words, given in ((f'the factor {name}', e.analytic * array), (f'the factor 1 / {name}', _over(e, array))):
            factor = _multiple(e, e.numeric, given)
            if factor is not None:
                much = '' if abs(factor - 1) < 1e-6 else f' (and {factor:.4g})'
                return Cause('factor', f'{words}{much} is missing in what backward gives')
    return None


def _over(e: Evidence, array: Any) -> Any:
    with np.errstate(all='ignore'):
        return np.where(array == 0, 0.0, e.analytic / array)


def _shaped(e: Evidence) -> dict[str, Any]:
    """The known arrays that have the shape of the gradient or broadcast to it; the input first."""
    found = {}
    for name, array in {'the input': e.x, **e.data}.items():
        try:
            if array is not None and np.broadcast_shapes(np.shape(array), e.numeric.shape) == e.numeric.shape:
                found[name] = np.broadcast_to(np.asarray(array, float), e.numeric.shape)
        except ValueError:
            continue
    return found


def _multiples(e: Evidence, target: Any) -> Iterator[tuple[str, float]]:
    """Known arrays and products of two that are proportional to the target, with the factors."""
    known = _shaped(e)
    single = list(known.items())
    double = [(f'{n} times {m}', a * b) for i, (n, a) in enumerate(single) for m, b in single[i:]]
    for name, array in single + double:
        factor = _multiple(e, target, array)
        if factor is not None:
            yield name, factor


def _multiple(e: Evidence, target: Any, array: Any) -> float | None:
    """The factor with which ``array`` becomes ``target``, if there is one."""
    with np.errstate(all='ignore'):
        square = float((array**2).sum())
        factor = float((target * array).sum()) / square if square else 0.0
        off = abs(target - factor * array)
        close = off <= e.tolerance * (1 + abs(factor)) + 1e-9 * abs(target)
    explains = target.size > 2 and bool(close.all()) and _is_less(target - factor * array, target)
    return factor if factor and explains else None


def _is_less(rest: Any, errors: Any) -> bool:
    """Whether an explanation leaves much less than there was."""
    return float((rest**2).sum()) <= _LEFT_OVER * float((errors**2).sum())


def _inaccurate(e: Evidence) -> Cause | None:
    """Errors that are small everywhere, without a pattern: a right rule, computed with too few digits."""
    off, own = abs(e.analytic - e.numeric), abs(e.numeric)
    natural = np.maximum(own, root_mean_square(own))
    if not natural.all() or _has_place(e, off / np.maximum(own, 1e-300)):
        return None
    dtype = _lower_precision(e.analytic)
    small, worst = _SMALL_IF_ROUNDED if dtype else _SMALL, float((off / natural)[e.wrong].max())
    typical = float(np.median((off / np.maximum(own, 1e-300))[e.wrong]))
    quite_wrong = (off > small * own) & (off > _EVEN * np.median(off[e.wrong]))
    if not (worst <= small and typical <= small) or bool(quite_wrong.any()):  # also if one of them is NaN
        return None
    digits = max(int(-np.log10(worst)), 1)
    return Cause('inaccurate', f'right to {digits} digits{_reason(digits, dtype)}')


def _has_place(e: Evidence, relative: Any) -> bool:
    """Whether some elements are right and the wrong ones are all wrong by the same factor, or only one is."""
    wrong = e.wrong
    if 2 * wrong.sum() >= wrong.size:
        return False
    barely = bool((abs(e.analytic - e.numeric) <= _BARELY * e.tolerance)[wrong].all())
    even = float(relative[wrong].max()) < _BARELY * float(relative[wrong].min())
    return not barely and (even or int(wrong.sum()) == 1)


def _reason(digits: int, dtype: str) -> str:
    """Why a gradient may have so few digits, as a part of a sentence."""
    if dtype:
        return f'; all its numbers are those of {dtype}'
    reasons = [
        'float32 inside' if digits < 9 else 'an ill-conditioned problem',
        'an iteration that stops at a tolerance',
    ]
    reasons += [] if digits > 5 else ['a small term that is missing, such as an eps']
    return f': {", ".join(reasons[:-1])} or {reasons[-1]}?'


def _lower_precision(array: Any) -> str:
    """The dtype of which all the numbers are, up to a rounding, if it has fewer digits than float64; else empty."""
    values = array[np.isfinite(array) & (array != 0)]
    with np.errstate(all='ignore'):
        off = ((name, abs(values.astype(name).astype(float) - values)) for name in ('float16', 'float32'))
        found = (name for name, error in off if values.size and bool((error <= 1e-15 * abs(values)).all()))
        return next(found, '')


def _dense(e: Evidence) -> Cause | None:
    """A guess: most elements are wrong, but they correlate with the right gradient."""
    if e.wrong.sum() < 3 or e.wrong.mean() < 0.5:
        return None
    a, b = e.numeric - e.numeric.mean(), e.analytic - e.analytic.mean()
    scale = float(np.sqrt((a**2).sum() * (b**2).sum()))
    if not scale or float((a * b).sum()) < _related(a.size) * scale:
        return None
    return Cause('missing term', 'a term that depends on the data seems to be missing or wrong')


def _related(n: int) -> float:
    """The correlation above which n pairs of numbers are related; unrelated ones have 1 / sqrt(n) by chance."""
    return max(0.3, 2.0 / float(np.sqrt(n)))


_RULES: tuple[Callable[[Evidence], Cause | None], ...] = (
    _not_finite,
    _detached,
    _factor,
    _transposed,
    _shifted,
    _one_sign,
    _single,
    _added_constant,
    _factor_of_data,
    _missing_term,
)
