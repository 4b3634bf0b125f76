"""Gradients that are right for ordinary upstream gradients, and wrong for some others: no linear maps."""

from __future__ import annotations

import numpy as np

from tests.verification.catalogue.conditional import conditional, of_second_order, second_order_of_sine, turns
from tests.verification.catalogue.situations import Situation

# --- thresholds ----------------------------------------------------------------------------------------------------


def scaled(factor):
    return Situation(upstream=lambda gys: [gy * factor for gy in gys])


def through(change):
    """A fault by another upstream gradient."""
    return lambda base: lambda g, xs, gys: base.vjp(xs, [change(gy) for gy in gys])


def of_upstream(what, change, situation, functions, **more):
    return [
        conditional(f'{what}: {name}', 'condition', base, through(change)(base), situation, cases, **more)
        for name, base, cases in functions
    ]


def clipped(limit):
    return lambda gy: np.clip(gy, -limit, limit)


def without_small(limit):
    return lambda gy: np.where(abs(gy) < limit, 0, gy)


def norm_clipped(limit):
    return lambda gy: gy * min(1.0, limit / max(float(np.sqrt((gy.astype('d') ** 2).sum())), 1e-300))


def nan_above(limit):
    return lambda gy: np.where(abs(gy) > limit, np.nan, gy)


LIMITS = (3e3, 1e4, 1e5, 1e6, 1e8, 1e10, 1e12)
SMALL = (1e-5, 1e-6, 1e-8, 1e-10, 1e-12)
THRESHOLDS = [
    *[
        e
        for i, t in enumerate(LIMITS)
        for e in of_upstream(f'gy clipped at {t:g}', clipped(t), scaled(100 * t), turns(2, i))
    ],
    *[
        e
        for i, t in enumerate(SMALL)
        for e in of_upstream(f'gy below {t:g} dropped', without_small(t), scaled(t / 100), turns(2, i + 1))
    ],
    *[
        e
        for i, t in enumerate((1e5, 1e9))
        for e in of_upstream(f'norm of gy at most {t:g}', norm_clipped(t), scaled(100 * t), turns(2, i))
    ],
    *of_upstream('gy above 65504 is NaN', nan_above(65504), scaled(1e6), turns(2, 2)),
    *of_upstream(
        'largest gy above 1e6 is halved',
        lambda gy: np.where((abs(gy) > 1e6) & (gy == gy.max()), gy / 2, gy),
        scaled(1e9),
        turns(2, 3),
    ),
    *of_upstream('negative gy below -1e6 clipped', lambda gy: np.maximum(gy, -1e6), scaled(1e8), turns(2, 4)),
    *of_upstream('positive gy above 1e6 clipped', lambda gy: np.minimum(gy, 1e6), scaled(1e8), turns(2)),
    of_second_order(
        'ggx clipped at 1e5',
        'condition',
        lambda g, x, gy, ggx: second_order_of_sine([x], [gy], [clipped(1e5)(ggx)]),
        scaled(1e7),
    ),
    of_second_order(
        'ggx clipped at 1e10',
        'condition',
        lambda g, x, gy, ggx: second_order_of_sine([x], [gy], [clipped(1e10)(ggx)]),
        scaled(1e12),
    ),
    of_second_order(
        'ggx below 1e-6 dropped',
        'condition',
        lambda g, x, gy, ggx: second_order_of_sine([x], [gy], [without_small(1e-6)(ggx)]),
        scaled(1e-8),
    ),
]


# --- patterns -------------------------------------------------------------------------------------------------------


def whole_if(condition, factor=2.0):
    """All upstream gradients times a factor if they are of a certain kind."""
    return lambda gy: gy * factor if condition(gy) else gy


def has_equal(gy):
    return np.unique(gy).size < gy.size


def first_of_equals(gy):
    """Equal numbers counted once, as where they are looked up in a set."""
    kept = np.zeros(gy.size, bool)
    kept[np.unique(gy, return_index=True)[1]] = True
    return np.where(kept.reshape(gy.shape), gy, 0)


def set_to(change):
    return Situation(upstream=lambda gys: [np.asarray(change(gy.copy()), gy.dtype) for gy in gys])


def one_hot(gy):
    kept = np.zeros_like(gy)
    kept.flat[gy.size // 2] = 1
    return kept


def half_zero(gy):
    gy.flat[::2] = 0
    return gy


def row_of_zeros(gy):
    gy[0] = 0
    return gy


def without_zero_rows(gy):
    """Rows in which some gradient is zero are taken for padding."""
    return np.where((gy == 0).any(-1, keepdims=True), 0, gy)


PATTERNS = [
    *of_upstream(
        'doubled where all gy are equal',
        whole_if(lambda gy: gy.size > 1 and bool((gy == gy.flat[0]).all())),
        set_to(np.ones_like),
        turns(3),
    ),
    *of_upstream(
        'doubled where all gy are positive', whole_if(lambda gy: bool((gy > 0).all())), set_to(abs), turns(3, 1)
    ),
    *of_upstream(
        'doubled where all gy are negative',
        whole_if(lambda gy: bool((gy < 0).all())),
        set_to(lambda gy: -abs(gy)),
        turns(3, 2),
    ),
    *of_upstream(
        'zero where a single gy is not',
        whole_if(lambda gy: np.count_nonzero(gy) == 1, 0.0),
        set_to(one_hot),
        turns(3, 3),
    ),
    *of_upstream(
        'doubled where some gy are zero',
        whole_if(lambda gy: bool((gy == 0).any() and gy.any())),
        set_to(half_zero),
        turns(3, 4),
    ),
    *of_upstream('rows with a zero in gy dropped', without_zero_rows, set_to(half_zero), turns(3)),
    *of_upstream(
        'doubled where a row of gy is zero',
        whole_if(lambda gy: bool(gy.any() and not gy.any(-1).all())),
        set_to(row_of_zeros),
        turns(2, 1),
    ),
    *of_upstream('equal gy counted once', first_of_equals, set_to(np.ones_like), turns(3, 2)),
    *of_upstream('doubled where two gy are equal', whole_if(has_equal), set_to(np.ones_like), turns(2, 3)),
    *of_upstream(
        'gy of integers halved',
        whole_if(lambda gy: bool((gy == np.round(gy)).all() and gy.any()), 0.5),
        set_to(np.ones_like),
        turns(2),
    ),
    of_second_order(
        'second order doubled where all ggx are equal',
        'condition',
        lambda g, x, gy, ggx: [2 * g[0], g[1]] if (ggx == ggx.flat[0]).all() else g,
        set_to(np.ones_like),
    ),
    of_second_order(
        'second order: rows with a zero in ggx dropped',
        'condition',
        lambda g, x, gy, ggx: second_order_of_sine([x], [gy], [without_zero_rows(ggx)]),
        set_to(half_zero),
    ),
]

ENTRIES = THRESHOLDS + PATTERNS
#: Limits that lie beyond what a check feeds: measured apart.
BEYOND = [
    *of_upstream('gy clipped at 1e100', clipped(1e100), scaled(1e120), turns(1)),
    *of_upstream('gy below 1e-100 dropped', without_small(1e-100), scaled(1e-120), turns(1, 4)),
]
