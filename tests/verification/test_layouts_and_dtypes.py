"""No right function is refused, whatever its layouts and dtypes, at ill-conditioned points, by any of the checks."""

from __future__ import annotations

import collections

import numpy as np
import pytest

import minichainer.functions as F
from minichainer.gradient_check import check_backward, check_double_backward, check_gradients
from tests.functions.checks import outputs_of
from tests.verification.catalogue import correct_conditions, scoring
from tests.verification.catalogue.campaign import WAYS, plan, trial
from tests.verification.catalogue.correct_links import LINKS
from tests.verification.catalogue.everything import CORRECT
from tests.verification.catalogue.layouts import LAYOUTS
from tests.verification.planting import node, split_seeds, uniform

UNRESOLVED = 0.01  # a share of the runs


def refused(seeds):
    """The runs in which a right function is blamed; fails if too many are not decided."""
    trials = [trial(seed) for seed in seeds]
    unresolved = [t for t in trials if t.unresolved]
    assert len(unresolved) <= max(1, UNRESOLVED * len(trials)), unresolved
    return [t for t in trials if t.refused]


# --- the layouts --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize('name', LAYOUTS)
@pytest.mark.parametrize('shape', [(), (1,), (5,), (3, 4), (2, 3, 4), (0, 3)], ids=str)
@pytest.mark.parametrize('dtype', 'efd')
def test_a_layout_changes_neither_shape_nor_dtype(name, shape, dtype):
    x = np.asarray(np.random.RandomState(0).normal(size=shape)).astype(dtype)
    y = LAYOUTS[name](x)
    assert isinstance(y, np.ndarray) and (y.shape, y.dtype) == (x.shape, x.dtype)
    assert (y == (x[:1] if name == 'stride 0' and x.ndim > 1 else x)).all()


def test_the_layouts_are_what_they_say():
    x = np.arange(12.0).reshape(3, 4)
    found = {name: layout(x) for name, layout in LAYOUTS.items()}
    assert {name: y.strides for name, y in found.items()} == {
        'C': (32, 8), 'Fortran': (8, 24), 'transposed': (8, 24), 'gaps': (128, 16), 'backwards': (-32, -8),
        'backwards with gaps': (64, -16), 'read-only': (32, 8), 'stride 0': (0, 8), 'unaligned': (32, 8),
    }  # fmt: skip
    assert [name for name, y in found.items() if not y.flags.writeable] == ['read-only', 'stride 0']
    assert [name for name, y in found.items() if not y.flags.aligned] == ['unaligned']


# --- one at a time --------------------------------------------------------------------------------------------------
FUNCTIONS = {
    'linear': (F.linear, (30, 17), (9, 17), (9,)),
    'matrix product': (F.matmul, (6, 7), (7, 5)),
    'stack of matrix products': (lambda x, y: F.batch_matmul(x, y, transa=True), (3, 4, 2), (3, 4, 2)),
    'convolution': (lambda x, w, b: F.convolution_2d(x, w, b, pad=1), (2, 3, 5, 4), (2, 3, 3, 3), (2,)),
    'layer normalization': (F.layer_normalization, (30, 17), (17,), (17,)),
    'batch normalization': (lambda x, g, b: F.batch_normalization(x, g, b, axis=(0, 2)), (5, 3, 4), (3,), (3,)),
    'sum': (lambda x: F.sum(x * x, axis=0), (30, 4, 5)),
    'softmax': (F.softmax, (30, 7)),
}


def normal(*shapes, dtype, seed=0):
    rng = np.random.RandomState(seed)
    return tuple(rng.normal(size=shape).astype(dtype) for shape in shapes)


@pytest.mark.parametrize('dtype', 'fd')
@pytest.mark.parametrize('layout', LAYOUTS)
@pytest.mark.parametrize('name', FUNCTIONS)
def test_upstream_gradients_of_any_layout(name, layout, dtype):
    func, *shapes = FUNCTIONS[name]
    xs = normal(*shapes, dtype=dtype)
    (gy,) = normal(func(*xs).shape, dtype=dtype, seed=1)
    check_backward(func, xs, LAYOUTS[layout](gy))


@pytest.mark.parametrize('layout', LAYOUTS)
@pytest.mark.parametrize('name', FUNCTIONS)
def test_second_order_in_any_layout(name, layout):
    func, *shapes = FUNCTIONS[name]
    xs = normal(*shapes, dtype='d')
    gys = normal(func(*xs).shape, dtype='d', seed=1)
    ggxs = normal(*shapes, dtype='d', seed=2)
    xs, gys, ggxs = (tuple(map(LAYOUTS[layout], arrays)) for arrays in (xs, gys, ggxs))
    check_double_backward(func, xs, gys, ggxs)


@pytest.mark.parametrize('dtype', [None, 'd'])
@pytest.mark.parametrize('link', LINKS, ids=lambda link: link.name)
def test_a_link_in_float32_without_its_parameters(link, dtype):
    func, xs = link.build(0), link.draw(np.random.RandomState(1))
    ys = outputs_of(func(*xs))
    check_backward(func, xs, normal(*[y.shape for y in ys], dtype='f', seed=2), dtype=dtype)
    assert {p.dtype.char for p in func.params()} == {'f'}


@pytest.mark.parametrize('dtype', 'efd')
@pytest.mark.parametrize('seeds', split_seeds(1, 3))
def test_no_axis_at_all_at_second_order(dtype, seeds):
    for seed in seeds:
        x, w = normal((), (), dtype=dtype, seed=seed)
        assert check_gradients(lambda x, w: F.sin(x) * w + x, (x, w), order=2, seed=seed)
        assert check_gradients(lambda x, w: F.average(x, weights=w + 10), (x, w), order=2, seed=seed)


# --- a sample of all ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize('seeds', split_seeds(75, 150))
def test_no_right_function_is_refused(seeds):
    assert refused(seeds) == []


def test_runs_are_of_all_kinds():
    plans = [plan(seed)[0] for seed in range(300)]
    kinds = collections.Counter(kind for p in plans for kind in (p.dtype, *p.layouts, p.way))
    assert set(kinds) >= {*'efd', *LAYOUTS, *WAYS}
    names = {p.name for p in plans}
    assert names & {e.name for e in CORRECT} and any('parameters' in n for n in names)


# --- the same, long -------------------------------------------------------------------------------------------------
@pytest.mark.slow
@pytest.mark.parametrize('start', range(1000, 5000, 500))
def test_no_right_function_is_refused_in_many_runs(start):
    assert refused(range(start, start + 500)) == []


@pytest.mark.slow
@pytest.mark.parametrize('entry', correct_conditions.ENTRIES, ids=lambda entry: entry.name)
def test_ill_conditioned_points_on_20_seeds(entry):
    outcomes = [
        scoring.run(entry, shape, d, seed) for shape in [(3, 4), (4, 4)] for d in entry.dtypes for seed in range(20)
    ]
    assert [o for o in outcomes if not o.right and o.verdict != 'unresolved'] == []


@pytest.mark.parametrize('seeds', split_seeds(1, 4))
@pytest.mark.parametrize('near', [6, 2])
def test_kinks_near_elements_of_float32_are_no_fault(near, seeds):
    """A function that takes only float32, so close to its kinks that rounding hides the slopes."""

    def clipped(x):
        if x.dtype != np.float32:
            raise TypeError('float32 only')
        return np.clip(x, -0.5, 0.5)

    x = uniform(12, dtype=np.float32, seed=3)
    x[:near] = [0.499, -0.4991, 0.4988, 0.4993, 0.4992, -0.499][:near]
    rule, opposite = (node(clipped, lambda xs, gy, sign=sign: sign * gy * (abs(xs[0]) < 0.5)) for sign in (1, -1))
    for seed in seeds:
        assert check_gradients(rule, x, seed=seed).verdict in ('pass', 'unresolved', 'nondifferentiable')
        assert check_gradients(opposite, x, seed=seed).verdict == 'fail'
