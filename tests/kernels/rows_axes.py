"""Rows of kernels along axes: sums and extrema, running results, picking and scattering."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special

from tests.kernels.comparing import IMAGES
from tests.kernels.drawing import Arguments, Row, drawn, each, same, wanted, without_wanted
from tests.kernels.kernels import threshold

INF, NAN = np.inf, np.nan


def with_special(x: Any, *values: float) -> Any:
    """The array with values in place of its first elements."""
    x.reshape(-1)[: len(values)] = values[: x.size]
    return x


# --- softmax ---
_MANY, _LONG = threshold('softmax', '_MANY'), threshold('softmax', '_LONG')
_SCORES = [((3, 4), 1), ((3, 4), 0), ((0, 3), 1), ((3, 0), 0), ((1, _MANY - 1), 1), ((2, _MANY // 2), 1),
           ((2, 3, 900), -1), ((1400, 3), 0), ((30, 20, 10), 1), ((2, 3, 300), 1), ((3, 4, 2, 2), 1), ((700, 10), 1),
           ((1, _LONG), 1), ((1, _LONG + 1), 1)]  # fmt: skip
#: NumPy adds up along a strided axis one by one.
_LONG_SUMS = 256


def _scores(plain: Callable[..., Any]) -> Row:
    return Row(
        each(lambda t, s, axis: (8 * drawn(t, s)[0], axis), *_SCORES), plain=plain, tolerance=_LONG_SUMS,
        layouts=IMAGES,
    )  # fmt: skip


def _far_scores(plain: Callable[..., Any]) -> Row:
    """Exponentials of the scores are infinite."""
    return Row(
        each(lambda t, s: (np.asarray(8 * drawn(t, s)[0] + 1000, t), 1), ((3, 4),), ((2, _MANY // 2),)), plain=plain
    )


def _infinite_scores(plain: Callable[..., Any]) -> Row:
    return Row(
        each(
            lambda t, s: (with_special(drawn(t, s)[0], -INF, 1, NAN), 1),
            ((1, 4),),
            ((5, 4),),
            ((2, _MANY),),
            ((3, 4, 3),),
        ),
        plain=plain,
        tolerance=_LONG_SUMS,
    )


def _softmax_gradients(forward: Callable[..., Any], plain: Callable[..., Any]) -> Row:
    def arguments(t: str, s: tuple[int, ...], axis: int) -> tuple[Any, ...]:
        gy, x = drawn(t, s, s)
        return gy, forward(x.astype('d'), axis).astype(t), axis

    # Only sums of less than thousands: the gradient's terms cancel.
    return Row(each(arguments, *_SCORES[:-2]), plain=plain, tolerance=_LONG_SUMS, layouts=IMAGES)


_SOFTMAX = {
    'softmax.softmax': _scores(scipy.special.softmax),
    'softmax.softmax, not finite': _infinite_scores(scipy.special.softmax),
    'softmax.softmax, far': _far_scores(scipy.special.softmax),
    'softmax.log_softmax, far': _far_scores(scipy.special.log_softmax),
    'softmax.log_softmax': _scores(scipy.special.log_softmax),
    'softmax.log_softmax, not finite': _infinite_scores(
        lambda x, axis: x - np.log(np.exp(x).sum(axis, keepdims=True))
    ),
    'softmax.softmax_gradient': _softmax_gradients(
        scipy.special.softmax, lambda gy, y, axis: y * (gy - (gy * y).sum(axis, keepdims=True))
    ),
    'softmax.log_softmax_gradient': _softmax_gradients(
        scipy.special.log_softmax, lambda gy, y, axis: gy - np.exp(y) * gy.sum(axis, keepdims=True)
    ),
    'softmax.total': Row(
        each(lambda t, s, axis: (drawn(t, s)[0], axis), *_SCORES),
        plain=lambda x, axis: x.sum(axis, keepdims=True),
        dtypes='fd',
        tolerance=4 * _LONG_SUMS,
    ),
}


# --- sums and extrema over axes ---
_GROUPS, _SHORT = threshold('reductions', '_MANY') // 4, threshold('reductions', '_SHORT')
_REDUCED = [((3, 4), (1,)), ((0, 4), (1,)), ((_GROUPS - 1, 4), (1,)), ((_GROUPS, 4), (1,)), ((64, 8, _SHORT), (2,)),
            ((64, 8, _SHORT + 1), (2,)), ((_GROUPS, 4), (0,)), ((_GROUPS, 4), None), ((_GROUPS, 4), (0, 1)),
            ((9000, 1), (1,)), ((9000, 2), (1,)), ((4097, 3, 1), (1,))]  # fmt: skip
_FEW_REDUCED = [((3, 4), (1,)), ((2, 40), (1,)), ((0, 4), (1,)), ((5, 6), None), ((2, 3, 4), (0, 2)),
                ((3, 4, 2500), (2,)), ((500, 10), (1,))]  # fmt: skip

_LONG_ROWS = [((3, 17), (1,)), ((3, 32), (1,)), ((3, 33), (1,)), ((2, 100), (1,)), ((3, 4, 5), (0, 1, 2))]


def _reduced(plain: Callable[..., Any], cases: Any = _REDUCED, **options: Any) -> Row:
    shapes = [(s, axis, keepdims) for s, axis in cases for keepdims in (False, True)]
    return Row(
        each(lambda t, s, axis, keepdims: (drawn(t, s)[0], axis, keepdims), *shapes),
        plain=plain, tolerance=options.pop('tolerance', _LONG_SUMS), **options,
    )  # fmt: skip


def _infinite(plain: Callable[..., Any], *values: float) -> Row:
    return Row(
        each(
            lambda t, s, axis: (with_special(drawn(t, s)[0], *values), axis, False),
            ((3, 4), (1,)), ((_GROUPS, 4), (1,)), ((5, 6), None),
        ),
        plain=plain,
        tolerance=_LONG_SUMS,
    )  # fmt: skip


def _maximum(x: Any, axis: Any, keepdims: bool) -> Any:
    return np.maximum.reduce(x, axis, keepdims=keepdims)


def _minimum(x: Any, axis: Any, keepdims: bool) -> Any:
    return np.minimum.reduce(x, axis, keepdims=keepdims)


def _norm(x: Any, order: float, axis: Any, keepdims: bool) -> Any:
    return (np.abs(x) ** order).sum(axis, keepdims=keepdims) ** (1 / order)


def _log_sum_exp(x: Any, axis: Any, keepdims: bool) -> Any:
    return np.log(np.exp(x).sum(axis, keepdims=keepdims))


_SPECIAL = (INF, 1, NAN, 0, -INF, -INF, -INF, -INF, INF, -INF, 1, 2)
_REDUCTIONS = {
    'reductions.maximum': _reduced(_maximum, tolerance=0),
    'reductions.maximum, not finite': _infinite(_maximum, *_SPECIAL),
    'reductions.maximum, rows': _reduced(_maximum, _LONG_ROWS, tolerance=0),
    'reductions.minimum': _reduced(_minimum, tolerance=0),
    'reductions.minimum, not finite': _infinite(_minimum, *_SPECIAL),
    'reductions.minimum, rows': _reduced(_minimum, _LONG_ROWS, tolerance=0),
    'reductions.total': _reduced(lambda x, axis, keepdims: x.sum(axis, keepdims=keepdims)),
    'reductions.total, not finite': _infinite(lambda x, axis, keepdims: x.sum(axis), *_SPECIAL),
    'reductions.sums': _reduced(lambda x, axis, keepdims: x.sum(axis, keepdims=keepdims), [*_REDUCED, *_FEW_REDUCED]),
    'reductions.sums, not finite': _infinite(lambda x, axis, keepdims: x.sum(axis), *_SPECIAL),
    'reductions.mean': Row(
        each(
            lambda t, s, axis: (drawn(t, s)[0], axis, False, 0.3),
            ((3, 4), (1,)),
            ((5, 40), (1,)),
            ((5, 6), None),
            ((0, 4), (1,)),
            ((2, 3, 4), (0, 2)),
        ),
        plain=lambda x, axis, keepdims, share: x.sum(axis) * share,
        tolerance=_LONG_SUMS,
    ),
    'reductions.log_sum_exp': _reduced(_log_sum_exp, _FEW_REDUCED),
    'reductions.log_sum_exp, not finite': _infinite(_log_sum_exp, *_SPECIAL),
    'reductions.log_sum_exp, far': Row(
        each(lambda t, far: (np.asarray(drawn(t, (3, 4))[0] + far, t), (1,), False), -20000, 20000, -500),
        plain=lambda x, axis, keepdims: scipy.special.logsumexp(x, axis),
    ),
    'reductions.norm': Row(
        each(
            lambda t, s, axis, keepdims, order: (drawn(t, s)[0], order, axis, keepdims),
            *[(s, axis, keepdims, p) for s, axis in _FEW_REDUCED for keepdims in (False, True) for p in (1, 2, 3.5)],
        ),
        plain=_norm,
    ),
    # Squares are infinite in float16.
    'reductions.norm, far': Row(
        each(lambda t, order: (np.asarray(500 * drawn(t, (3, 4))[0], t), order, (1,), False), 2, 3.5), plain=_norm
    ),
    'reductions.sum_of_squares': Row(
        each(lambda t, s, axis: (drawn(t, s)[0], axis), *_FEW_REDUCED), plain=lambda x, axis: (x**2).sum(axis)
    ),
    'reductions.square_of_length': Row(
        each(lambda t, n: (drawn(t, (n,))[0],), 0, 1, 5, (1 << 16) + 3), plain=lambda x: (x**2).sum()
    ),
    'reductions.product': _reduced(
        lambda x, axis, keepdims: np.multiply.reduce(x, axis, keepdims=keepdims), _FEW_REDUCED
    ),
    # A device multiplies in an order of its own.
    'reductions.product, far from 1': Row(
        each(lambda t, far: (np.tile(np.array([far, 1 / far], t), (3, 32)), (1,), False), 1e30, 1e-30),
        plain=lambda x, axis, keepdims: np.multiply.reduce(x, axis),
        dtypes='fd',
        numpy_only=True,
    ),
    'reductions.product, not finite': _infinite(lambda x, axis, keepdims: x.prod(axis), *_SPECIAL),
}


# --- halves, and weights of channels ---
def _glu(x: Any, axis: int) -> Any:
    a, b = np.split(x, 2, axis)
    return a * scipy.special.expit(b)


def _glu_gradient(gy: Any, x: Any, axis: int) -> Any:
    a, b = np.split(x, 2, axis)
    s, rest = scipy.special.expit(b), scipy.special.expit(-b)
    return np.concatenate([gy * s, gy * a * s * rest], axis)


_HALVED = [((3, 4), 1), ((4, 3), 0), ((2, 6, 5), 1), ((0, 4), 1), ((3, 0), 1), ((30, 200), 1)]
_WEIGHTED = [((4, 5), (5,)), ((4, 5, 6), (5, 6)), ((4, 5, 6, 7), (5, 1, 1)), ((4, 5, 6), (1, 1)), ((4, 5), ()),
             ((4, 5, 6), (5, 1)), ((0, 5), (5,)), ((4, 5, 6), (1, 6))]  # fmt: skip
_CHANNELS = {
    'gates.glu': Row(each(lambda t, s, axis: (9 * drawn(t, s)[0], axis), *_HALVED), plain=_glu),
    'gates.glu_gradient': Row(
        each(
            lambda t, s, axis: (drawn(t, np.split(np.empty(s), 2, axis)[0].shape)[0], 9 * drawn(t, s)[0], axis),
            *_HALVED,
        ),
        plain=_glu_gradient,
    ),
    'rectifier.prelu, channels': Row(
        each(lambda t, s, weights: tuple(drawn(t, s, weights)), *_WEIGHTED),
        plain=lambda x, W: np.where(x >= 0, x, x * W),
        tolerance=0,
    ),
    'rectifier.prelu_gradient, channels': Row(
        each(lambda t, s, weights: tuple(drawn(t, s, s, weights)), *_WEIGHTED),
        plain=lambda gy, x, W: np.where(x >= 0, gy, gy * W),
        tolerance=0,
    ),
}


# --- along a line ---
_LINES = [((3, 4), 1), ((0, 3), 0), ((64, 255), 0), ((64, 256), 0), ((63, 260), 0), ((256, 64), 1), ((20, 30, 40), 1),
          ((2, 9000), 1), ((2, 9000), 0), ((1, 5), 0), ((17, 6), 1), ((8, 5, 1), 1), ((0, 3), 1),
          ((3, 0), 1)]  # fmt: skip
_WAYS = [(s, axis, flip) for s, axis in _LINES for flip in (False, True)]


def _running(operator: Any, x: Any, axis: int, flip: bool) -> Any:
    """One after the other, as the array is added up in the kernel: in float32 for float16."""
    rows = np.moveaxis(np.flip(x, axis) if flip else x, axis, 0).copy()
    for i in range(1, len(rows)):
        rows[i] = operator(rows[i - 1], rows[i])
    rows = np.moveaxis(rows, 0, axis)
    return np.flip(rows, axis) if flip else rows


def _recurrence(g: Any, a: Any, axis: int, flip: bool) -> Any:
    g, a = (np.moveaxis(np.flip(v, axis) if flip else v, axis, 0) for v in (g, a))
    found = g.copy()
    for i in range(1, len(g)):
        found[i] += a[i] * found[i - 1]
    found = np.moveaxis(found, 0, axis)
    return np.flip(found, axis) if flip else found


def _tiny(dtype: str, x: float, y: float) -> Arguments:
    return np.array([1.0, x], dtype), np.array([y, 1.0], dtype)


_RUNNING = {
    'running.running_sum': Row(
        each(lambda t, s, axis, flip: (drawn(t, s)[0], axis, flip), *_WAYS),
        plain=lambda *args: _running(np.add, *args),
        tolerance=_LONG_SUMS,
    ),
    'running.running_product': Row(
        each(lambda t, s, axis, flip: (drawn(t, s)[0] + np.asarray(0.7, t), axis, flip), *_WAYS),
        plain=lambda *args: _running(np.multiply, *args),
        tolerance=_LONG_SUMS,
    ),
    **{
        f'running.{name}, not finite': Row(
            each(
                lambda t, s, *way: (with_special(drawn(t, s)[0], *[1.0] * s[-1], NAN, INF, -INF, 0), *way),
                ((4, 5), 0, False),
                ((64, 256), 0, True),
            ),
            plain=lambda *args, operator=operator: _running(operator, *args),
            tolerance=_LONG_SUMS,
        )
        for name, operator in (('running_sum', np.add), ('running_product', np.multiply))
    },
    **{
        f'running.{name}, of columns': Row(
            each(lambda t, s, flip: (drawn(t, s)[0].T, 1, flip), ((64, 256), False), ((3, 2), True)),
            plain=lambda *args, operator=operator: _running(operator, *args),
            tolerance=_LONG_SUMS,
        )
        for name, operator in (('running_sum', np.add), ('running_product', np.multiply))
    },
    'running.recurrence, of columns': Row(
        each(lambda t, s, flip: (*[x.T for x in drawn(t, s, s)], 1, flip), ((64, 256), False), ((3, 2), True)),
        plain=_recurrence,
    ),
    'running.recurrence': Row(
        each(lambda t, s, axis, flip: (*drawn(t, s, s), axis, flip), *_WAYS), plain=_recurrence
    ),
    'running.all_finite': Row(
        lambda t: iter([
            (np.ones((2, 3), t), True),
            (np.array([1, INF], t), False),
            (np.array([NAN, 1], t), False),
            (np.ones(0, t), True),
        ]),
        call=without_wanted,
        plain=wanted,
        dtypes='efd',
        numpy_only=True,
    ),
    'running.quotient_is_precise': Row(
        lambda t: iter([
            (*_tiny(t, 1.0, 1.0), True),
            (*_tiny(t, 0.0, 1.0), False),
            (*_tiny(t, NAN, 1.0), True),
            (*_tiny(t, 1.0, 0.0), False),
            (*_tiny(t, 1.0, INF), False),
            (*_tiny(t, 1.0, NAN), False),
            (*_tiny(t, 1.0, float(np.finfo(t).tiny / np.finfo(t).eps)), True),
            (*_tiny(t, 1.0, float(np.finfo(t).tiny)), False),
            (*_tiny(t, 1.0, -float(np.finfo(t).max)), True),
            (*_tiny('e', 1.0, 1.0), False),
            (np.ones(0, t), np.ones(0, t), False),
        ]),
        call=without_wanted,
        plain=wanted,
        dtypes='fd',
        numpy_only=True,
    ),
    'running.along': Row(
        same((0, slice(1, 3), (slice(1, 3),)), (2, slice(0, 9, -1), (slice(None), slice(None), slice(0, 9, -1)))),
        call=without_wanted,
        plain=wanted,
        dtypes='d',
    ),
    'running.has_long_rows': Row(
        same(*[
            (np.broadcast_to(np.zeros(()), s), axis, wanted)
            for s, axis, wanted in (
                ((64, 256), 0, True), ((65, 256), 0, True), ((64, 255), 0, False), ((63, 260), 0, False),
                ((65, 255), 0, False), ((256, 64), 1, True), ((256, 64), 0, False), ((3, 100000), 1, False),
            )
        ]),
        call=without_wanted,
        plain=wanted,
        dtypes='d',
        layouts=('C',),
    ),
}  # fmt: skip


# --- picking and scattering ---
_SCATTERED = [((30, 7), ([3, 3, -1],)), ((30, 700), ([3, 3, -1] * 10,)), ((700, 30), (slice(None), [3, 3, -1] * 10)),
              ((20, 30, 40), (slice(None), [[0, 29], [3, 3]])), ((30, 700), ([2, 2], [3, 3])),
              ((300, 70), (None, [2, 2] * 30)), ((300, 70), (slice(0, 20), [2, 2] * 35)), ((60, 1023), ([1],)),
              ((60, 1024), ([-60],)), ((1025, 3), (np.arange(1025) % 2 == 0,)), ((4, 0), ([1, 1],)),
              ((5, 300), (slice(None, None, -1), [1, 0, 1] * 100)), ((3, 4), ())]  # fmt: skip


def _indices(slices: Any) -> tuple[Any, ...]:
    return tuple(np.asarray(s) if isinstance(s, list) else s for s in slices)


def _scatter(dtype: str, shape: Any, slices: Any) -> Arguments:
    slices = _indices(slices)
    return drawn(dtype, np.zeros(shape)[slices].shape)[0], slices, shape


def _added(total: Any, slices: Any, x: Any) -> Any:
    np.add.at(total, slices, x)
    return total


def _scattered_on_top(dtype: str, shape: Any, slices: Any) -> Arguments:
    x, slices, shape = _scatter(dtype, shape, slices)
    return drawn(dtype, shape, seed=1)[0], x, slices


def _places(shape: Any, strides: Any, offset: int) -> Any:
    return sum((i * s for i, s in zip(np.indices(shape), strides, strict=True)), np.full(shape, offset))


#: Shape of the view, its steps, its beginning, and the size of the array: apart, overlapping, repeated, backwards.
_STEPS = [((3, 2), (4, 1), 1, (3, 4)), ((3, 2), (1, 1), 0, (3, 4)), ((3, 4), (0, 2), 3, (10,)),
          ((4,), (-2,), 7, (2, 5)), ((), (), 5, (6,)), ((2, 3), (1, 2), 0, (7,)),
          ((2, 3), (2, 2), 0, (8,)), ((0, 2), (1, 1), 0, (4,)),
          ((1, 3), (0, 3), 0, (9,)), ((3, 2), (2, 3), 0, (9,))]  # fmt: skip
_NUMBERS = [(7, 3, 5), (31, 33, 5), (32, 32, 5), (170, 200, 50), (0, 3, 5), (3, 0, 2), (1030, 1, 1)]


def _sums_of_rows(rows: Any, numbers: Any, count: int) -> Any:
    found = np.zeros((count, rows.shape[1]))
    for row, number in zip(rows, numbers, strict=True):
        found[int(number)] += row
    return found


_PLACES = {
    'scattering.scattered': Row(
        each(_scatter, *_SCATTERED),
        plain=lambda x, slices, shape: _added(np.zeros(shape), slices, x),
        tolerance=64,
        roundings=32,
    ),
    'scattering.added_at': Row(
        each(_scattered_on_top, *_SCATTERED[:-1]),
        plain=lambda a, b, slices: _added(a.copy(), slices, b),
        tolerance=64,
        roundings=32,
    ),
    'scattering.sums_of_rows': Row(
        each(
            lambda t, n, d, count: (drawn(t, (n, d))[0], np.arange(n) % (2 * count) - count, count), *_NUMBERS
        ),
        plain=_sums_of_rows,
        tolerance=64,
    ),
    'scattering.sums_of_rows, of 32 bits': Row(
        each(
            lambda t, n, d, count: (drawn(t, (n, d))[0], (np.arange(n) % (2 * count) - count).astype('i'), count),
            *_NUMBERS,
        ),
        plain=_sums_of_rows,
        tolerance=64,
    ),
    'scattering.sums_of_rows, unsigned': Row(
        each(lambda t, n, d, count: (drawn(t, (n, d))[0], (np.arange(n) % count).astype('B'), count), *_NUMBERS),
        plain=_sums_of_rows,
        tolerance=64,
    ),
    'scattering.sums_of_rows, not finite': Row(
        each(
            lambda t, n: (with_special(drawn(t, (n, 9))[0], INF, NAN, -INF), np.arange(n) % 5, 5), 4, 200
        ),
        plain=_sums_of_rows,
        tolerance=64,
    ),
    'gathering.sums_at': Row(
        each(
            lambda t, s: (drawn(t, s)[0], np.arange(int(np.prod(s))).reshape(s) % 4, (3, 4)),
            ((5,),), ((2, 7),), ((0,),),
        ),
        plain=lambda y, index, shape: _added(np.zeros(12), index, y).reshape(shape),
    ),
    'gathering.expanded': Row(
        each(
            lambda t, s, wide: (drawn(t, s)[0], wide), ((3, 1), (3, 4)), ((3,), (2, 3)), ((), (2,)), ((1, 0), (2, 0)),
            ((2, 3), (2, 3)), ((), ()),
        ),
        plain=np.broadcast_to,
        tolerance=0,
        shares=True,
    ),
    'gathering.common_shape': Row(
        same(((2, 3),), ((2, 3), (3,)), ((), (2,)), ((1, 3), (2, 1)), ((2, 1), (3,), (2, 3)), ((0, 1), (1, 4))),
        plain=np.broadcast_shapes, tolerance=0, dtypes='d',
    ),
    'gathering.strided': Row(
        each(lambda t, s, steps, offset, size: (drawn(t, size)[0], s, steps, offset), *_STEPS),
        plain=lambda x, s, steps, offset: x.reshape(-1)[_places(s, steps, offset)],
        tolerance=0,
        shares=True,
    ),
    'gathering.strided_sum': Row(
        each(lambda t, s, steps, offset, size: (drawn(t, s)[0], steps, offset, size), *_STEPS),
        plain=lambda y, steps, offset, size: _added(
            np.zeros(int(np.prod(size))), _places(y.shape, steps, offset), y
        ).reshape(size),
    ),
    'rows.range_of': Row(
        same(
            (np.array([[3, -2], [7, 0]]), (-2, 7)), (np.array([5], 'B'), (5, 5)), (np.zeros((0, 3), 'i'), (0, 0))
        ),
        call=without_wanted,
        plain=wanted,
        dtypes='d',
        numpy_only=True,
    ),
}  # fmt: skip


# --- masks of another shape, and of numbers ---
_MASKED = [
    ((40, 20), (20,)),
    ((20,), (40, 20)),
    ((40, 1), (40, 20)),
    ((), (400,)),
    ((3,), (2, 1)),
    ((20, 20), (20, 20)),
]


def _masked(dtype: str, shape: Any, of_mask: Any, kind: str) -> Arguments:
    x = with_special(np.asarray(drawn(dtype, shape)[0]), INF, NAN)
    return x, (np.arange(int(np.prod(of_mask))).reshape(of_mask) % 3 - 1).astype(kind)


_MASKS = {
    'selection.masked, shapes': Row(
        each(_masked, *[(*shapes, kind) for shapes in _MASKED for kind in '?i']),
        plain=lambda x, mask: np.where(mask, x, x.dtype.type(0)), tolerance=0,
    ),
    'selection.chosen, shapes': Row(
        each(lambda *case: (*_masked(*case, '?')[::-1], drawn(case[0], case[1][-1:])[0]), *_MASKED),
        plain=np.where, tolerance=0,
    ),
}  # fmt: skip

# --- sequences ---
_LENGTHS = [
    ((3, 2, 2), (4,)),
    ((1, 3, 0), (2, 3)),
    ((2,), ()),
    ((0, 0), (3,)),
    ((2, 1), (0,)),
    ((2,) + 200 * (1,), (2,)),
]


def _sequences(dtype: str, lengths: Any, rest: Any) -> list[Any]:
    return [drawn(dtype, (n, *rest), seed=n)[0] for n in lengths]


def _padded(xs: Any, length: int, padding: Any) -> Any:
    return np.stack([np.concatenate([x, np.full((length - len(x), *x.shape[1:]), padding, x.dtype)]) for x in xs])


_SEQUENCES = {
    'sequences.rows_of_sequences': Row(
        each(lambda t, lengths, rest: (_sequences(t, lengths, rest), 3, -1.5), *_LENGTHS),
        plain=_padded, tolerance=0,
    ),
    'sequences.rows_of_sequences, other kinds': Row(
        each(lambda t, *s: ([(3 * x).astype(t) for x in _sequences('d', *s)], 4, t == '?' or 7), *_LENGTHS[:2]),
        plain=_padded, tolerance=0, dtypes='?bqF',
    ),
    'sequences.steps_of_sequences': Row(
        each(lambda t, lengths, rest: (_sequences(t, lengths, rest), max(lengths)), *_LENGTHS),
        plain=lambda xs, length: np.moveaxis(_padded(xs, length, 0), 0, 1), tolerance=0,
    ),
    'sequences.steps_of_sequences, other kinds': Row(
        each(lambda t, *s: ([(3 * x).astype(t) for x in _sequences('d', *s)], 3), *_LENGTHS[:2]),
        plain=lambda xs, length: np.moveaxis(_padded(xs, length, 0), 0, 1), tolerance=0, dtypes='?bqF',
    ),
    'sequences.divided': Row(
        each(lambda t, s, n: (drawn(t, s)[0], n), ((6, 2), 3), ((4,), 4), ((5, 2), 1), ((0, 2), 2), ((4, 0), 2)),
        plain=lambda x, count: list(np.split(x, count)), tolerance=0, shares=True,
    ),
}  # fmt: skip
ROWS = {**_SOFTMAX, **_CHANNELS, **_REDUCTIONS, **_RUNNING, **_PLACES, **_MASKS, **_SEQUENCES}
