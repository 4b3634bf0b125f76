"""Gradients that depend on how arrays lie in memory: right for C order, wrong for some other layout."""

from __future__ import annotations

import numpy as np

from tests.verification.catalogue import layouts
from tests.verification.catalogue.conditional import conditional, of_second_order, second_order_of_sine, turns
from tests.verification.catalogue.entry import StridedPlan, strided
from tests.verification.catalogue.situations import Situation


def as_it_lies(x):
    """The elements in the order of the memory, in the shape of the array: what a kernel without strides reads."""
    return x.ravel(order='K').reshape(x.shape)


def ignoring_strides(x):
    """What lies behind one another from the first element on."""
    base = x.base if isinstance(x.base, np.ndarray) else x
    flat = base.ravel(order='K')
    return flat[: x.size].reshape(x.shape) if flat.size >= x.size and flat.dtype == x.dtype else 2 * x


def whole_if(condition, factor=2.0):
    return lambda a: a * a.dtype.type(factor) if condition(a) else a


def of_upstream(what, change, layout, functions):
    situation = Situation(upstream=lambda gys: [layout(gy) for gy in gys])
    return [
        conditional(
            f'{what}: {name}',
            'layout',
            base,
            lambda g, xs, gys, base=base: base.vjp(xs, [change(gy) for gy in gys]),
            situation,
            cases,
            strided,
        )
        for name, base, cases in functions
    ]


def of_inputs(what, change, layout, functions):
    situation = Situation(inputs=layout)
    return [
        conditional(
            f'{what}: {name}',
            'layout',
            base,
            lambda g, xs, gys, base=base: base.vjp([change(xs[0]), *xs[1:]], gys),
            situation,
            cases,
            strided,
        )
        for name, base, cases in functions
    ]


def is_fortran(a):
    return a.ndim > 1 and min(a.shape) > 1 and a.flags.f_contiguous and not a.flags.c_contiguous


def is_strided(a):
    return not (a.flags.c_contiguous or a.flags.f_contiguous)


def is_backwards(a):
    return any(step < 0 for step in a.strides)


def is_stretched(a):
    return any(step == 0 and n > 1 for step, n in zip(a.strides, a.shape, strict=True))


def is_read_only(a):
    return not a.flags.writeable


UPSTREAM = [
    *of_upstream('gy in Fortran order read as it lies', as_it_lies, layouts.fortran, turns(3)),
    *of_upstream('gy in Fortran order halved', whole_if(is_fortran, 0.5), layouts.fortran, turns(2, 3)),
    *of_upstream('gy with gaps read without strides', ignoring_strides, layouts.with_gaps, turns(3, 1)),
    *of_upstream('gy with gaps taken for zero', whole_if(is_strided, 0.0), layouts.with_gaps, turns(2, 4)),
    *of_upstream('gy with negative strides doubled', whole_if(is_backwards), layouts.backwards, turns(2, 2)),
    *of_upstream('stretched gy doubled', whole_if(is_stretched), layouts.stretched, turns(3)),
    *of_upstream('read-only gy doubled', whole_if(is_read_only), layouts.read_only, turns(3, 3)),
]
INPUTS = [
    *of_inputs('x in Fortran order read as it lies', as_it_lies, layouts.fortran, turns(3, 1)),
    *of_inputs('x in Fortran order halved', whole_if(is_fortran, 0.5), layouts.fortran, turns(2, 4)),
    *of_inputs('x with gaps read without strides', ignoring_strides, layouts.with_gaps, turns(3, 2)),
    *of_inputs('x with gaps doubled', whole_if(is_strided), layouts.with_gaps, turns(2)),
    *of_inputs('x with negative strides doubled', whole_if(is_backwards), layouts.backwards, turns(2, 1)),
    *of_inputs('read-only x doubled', whole_if(is_read_only), layouts.read_only, turns(2, 3)),
]
SECOND = [
    of_second_order(
        'second order: ggx in Fortran order read as it lies',
        'layout',
        lambda g, x, gy, ggx: second_order_of_sine([x], [gy], [as_it_lies(ggx)]),
        Situation(upstream=lambda gys: [layouts.fortran(gy) for gy in gys]),
        StridedPlan,
    ),
    of_second_order(
        'second order: ggx with gaps doubled',
        'layout',
        lambda g, x, gy, ggx: second_order_of_sine([x], [gy], [whole_if(is_strided)(ggx)]),
        Situation(upstream=lambda gys: [layouts.with_gaps(gy) for gy in gys]),
        StridedPlan,
    ),
    of_second_order(
        'second order: x in Fortran order read as it lies',
        'layout',
        lambda g, x, gy, ggx: second_order_of_sine([as_it_lies(x)], [gy], [ggx]),
        Situation(inputs=layouts.fortran),
        StridedPlan,
    ),
]

ENTRIES = UPSTREAM + INPUTS + SECOND
