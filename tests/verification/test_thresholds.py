"""Gradients that are wrong for the values in an interval: where, and what backward gives there."""

from __future__ import annotations

import re

import numpy as np
import pytest

import minichainer.functions as F
from minichainer.gradient_check import check_gradients
from minichainer.verification.diagnosis.thresholds import Sample, _separated
from tests.verification.planting import node, split_seeds, square


def rule(forward, mask):
    """An elementwise function, and what backward multiplies the upstream gradient with."""
    return node(forward, lambda xs, gy: gy * mask(xs[0]))


def clipped(low, high):
    return lambda x: np.clip(x, low, high)


def kept(condition, x, other=0.0):
    return np.where(condition, x, other)


def elu(x):
    return np.where(x > 0, x, np.expm1(np.minimum(x, 0)))


def huber(x):
    return np.where(abs(x) < 1, x * x / 2, abs(x) - 0.5)


def shrunk(x):
    return np.sign(x) * np.maximum(abs(x) - 0.5, 0)


#: A function with a threshold in the wrong place, the offset of its inputs, their scale, and the name.
PLANTED = {
    'relu': (rule(clipped(0, np.inf), lambda x: x > 0.3), 0, 1, '0 <= x <= 0.3'),
    'relu, too early': (rule(clipped(0, np.inf), lambda x: x > -0.3), 0, 1, '-0.3 <= x <= 0'),
    'clip': (rule(clipped(-1, 1), lambda x: (x > -1) & (x < 0.7)), 0, 1, '0.7 <= x <= 1'),
    'clip, lower bound only': (rule(clipped(-1, 1), lambda x: x > -1), 0, 1, 'x >= 1'),
    'clip, no mask': (rule(clipped(-1, 1.5), lambda x: 1.0), 0, 1, 'x <= -1 or x >= 1.5'),
    'hard sigmoid': (
        rule(lambda x: np.clip(x / 5 + 0.5, 0, 1), lambda x: 0.2 * (abs(x) < 2)), 0, 2, '2 <= |x| <= 2.5',
    ),
    'leaky relu': (
        rule(lambda x: kept(x > 0, x, x / 5), lambda x: kept(x > 0.4, 1.0, 0.2)), 0, 1, '0 <= x <= 0.4',
    ),
    'hard tanh': (rule(clipped(-1, 1), lambda x: abs(x) < 1.4), 0, 1, '1 <= |x| <= 1.4'),
    'huber': (rule(huber, lambda x: np.where(abs(x) < 0.6, x, np.sign(x))), 0, 1, '0.6 <= |x| <= 1'),
    'softshrink': (rule(shrunk, lambda x: abs(x) > 0.9), 0, 1, '0.5 <= |x| <= 0.9'),
    'dead zone': (
        rule(lambda x: kept(abs(x) > 0.5, x), lambda x: (x > 0.5) | (x < -0.9)), 0, 1, '-0.9 <= x <= -0.5',
    ),
    'elu': (rule(elu, lambda x: np.where(x > -0.5, 1, np.exp(x))), 0, 1, '-0.5 <= x <= 0'),
    'relu6': (rule(clipped(0, 6), lambda x: (x > 0) & (x < 5)), 3, 3, '5 <= x <= 6'),
    'relu6, upper bound': (rule(clipped(0, 6), lambda x: x > 0), 3, 3, 'x >= 6'),
    'saturated': (rule(np.tanh, lambda x: np.where(x > 1, 0, 1 - np.tanh(x) ** 2)), 0, 1, 'x >= 1'),
}  # fmt: skip
SHAPES = [(3, 4), (6, 7), (60, 50)]


def causes(name, shape, seeds, around=lambda f: f):
    func, offset, scale, _ = PLANTED[name]
    for seed in seeds:
        x = offset + scale * np.random.RandomState(seed).normal(size=shape)
        report = check_gradients(around(func), x, seed=seed)
        if not report:  # with few elements none may be wrong
            yield report.failures[0].cause


@pytest.mark.parametrize('shape', [*SHAPES[:-1], pytest.param(SHAPES[-1], marks=pytest.mark.slow)], ids=str)
@pytest.mark.parametrize('name', PLANTED)
@pytest.mark.parametrize('seeds', split_seeds(1, 2))
def test_thresholds_are_named(seeds, name, shape):
    for cause in causes(name, shape, seeds):
        where, _, text = cause.partition(': ')
        assert same(where, f'wrong where {PLANTED[name][3]}'), cause
        assert re.match('there (backward gives|the gradient is 0, and backward gives)', text)


def same(text, expected):
    """Whether intervals are the same, up to a few thousandths."""
    number = r'-?\d[\d.e-]*'
    numbers = zip(re.findall(number, text), re.findall(number, expected), strict=False)
    alike = re.sub(number, '#', text) == re.sub(number, '#', expected)
    return alike and all(abs(float(a) - float(b)) < 0.01 for a, b in numbers)


COMPOSED = {
    'summed': lambda f: lambda x: F.sum(f(x)),
    'weighted': lambda f: lambda x: F.matmul(f(x), np.random.RandomState(5).normal(size=(7, 3))),
    'softmax': lambda f: lambda x: F.softmax(f(x)),
}


@pytest.mark.parametrize('around', COMPOSED)
@pytest.mark.parametrize('name', ['relu', 'clip, lower bound only', 'hard tanh'])
def test_thresholds_inside_of_other_functions(name, around):
    for cause in causes(name, (6, 7), range(1), COMPOSED[around]):
        assert same(cause.partition(':')[0], f'wrong where {PLANTED[name][3]}'), cause


@pytest.mark.parametrize('x', [1.7, -1.3])
def test_single_numbers_are_compared_at_other_values(x):
    cause = check_gradients(PLANTED['clip, no mask'][0], np.array(x), seed=0).failures[0].cause
    assert cause.startswith(
        'wrong where x <= -1 or x >= 1.5: there the gradient is 0, and backward gives another one'
    )


def test_a_gradient_of_zeros_that_is_one_elsewhere_is_not_detached():
    cause = check_gradients(PLANTED['relu'][0], np.array([0.1]), seed=0).failures[0].cause
    assert cause.startswith('wrong where 0 <= x <= 0.3: there backward gives zeros'), cause


def maximum(mask):
    return node(np.maximum, lambda xs, gy: (gy * mask(xs[0] - xs[1]), gy * (xs[0] <= xs[1])))


OTHER_NUMBERS = {
    'another input': (
        node(lambda x, w: np.where(w > 0.2, x, 2 * x) + w, lambda xs, gy: (gy * np.where(xs[1] > 0.6, 1, 2), gy)),
        r'wrong where 0.2 <= inputs\[1\] <= 0.6: ',
    ),
    'a difference': (maximum(lambda d: d > -0.4), r'wrong where -0.4\d* <= x - inputs\[1\] <= -?0[.\d]*: '),
    'the output': (
        node(
            lambda x, w: np.clip(x * w, -1, 1),
            lambda xs, gy: (gy * xs[1] * (xs[0] * xs[1] > -1), gy * xs[0] * (abs(xs[0] * xs[1]) < 1)),
        ),
        'wrong where the output >= 1: there the gradient is 0',
    ),
    'a mask of the other input': (
        node(lambda x, w: np.where(w > 0, x, 0) + w, lambda xs, gy: (gy * (xs[0] > 0), gy)),
        r'wrong mask: the gradient is 0 where inputs\[1\] < 0, that from backward where x < 0',
    ),
}


@pytest.mark.parametrize('name', OTHER_NUMBERS)
def test_other_numbers_may_decide(name):
    func, cause = OTHER_NUMBERS[name]
    rng = np.random.RandomState(1)
    report = check_gradients(func, (rng.normal(size=(8, 9)), rng.normal(size=(8, 9))), seed=0)
    assert re.match(cause, report.failures[0].cause), report.failures[0].cause


def ends(x, gy):
    return 2 * x * gy * (np.arange(len(x)) < len(x) - 3).reshape(-1, *[1] * (x.ndim - 1))


def elements(x, gy):
    return 2 * x * gy * (np.random.RandomState(1).uniform(size=x.shape) > 0.2)


def steep(x):
    return 1 / (1 + np.exp(-20 * x))


#: Errors with a place, not with values, though the inputs are in ascending order; and formulas that are nearly right.
NO_THRESHOLDS = {
    'rows': (square(ends), 'left out: backward gives zeros at indices'),
    'elements': (square(elements), 'left out|unknown|one element'),
    'a random factor': (square(lambda x, gy: 2 * x * gy * np.random.RandomState(1).uniform(0.9, 1.1, x.shape)), ''),
    'crossing at 0': (rule(np.sin, lambda x: np.cos(1.05 * x)), ''),
    'crossing twice': (rule(lambda x: x**3, lambda x: 3 * x**2 + (x - 1) * (x + 1)), ''),
    'converging': (rule(lambda x: np.log1p(np.exp(x)), lambda x: (np.tanh(x) + 1) / 2), ''),
    'steep': (rule(steep, lambda x: 20 * steep(x) ** 2 * (1 - steep(x))), ''),
}  # fmt: skip


@pytest.mark.parametrize('scale', [1, pytest.param(3, marks=pytest.mark.slow)])
@pytest.mark.parametrize('name', NO_THRESHOLDS)
@pytest.mark.parametrize('seeds', split_seeds(1, 2))
def test_other_errors_are_not_called_thresholds(seeds, name, scale):
    func, cause = NO_THRESHOLDS[name]
    for seed in seeds:
        x = scale * np.sort(np.random.RandomState(seed).normal(size=42)).reshape(6, 7)
        found = check_gradients(func, x, seed=seed).failures[0].cause
        assert not found.startswith(('wrong where', 'wrong mask')) and re.match(cause, found), found


WIDE = pytest.param((131, 60), marks=pytest.mark.slow)


@pytest.mark.parametrize('shape', [(131, 4), (131,), WIDE, (4, 131)], ids=str)
@pytest.mark.parametrize('count', [1, 3])
def test_rows_of_zeros_at_the_end_of_many(shape, count):
    axis = shape.index(131)

    def lost(x, gy):
        gx = np.moveaxis(2 * x * gy, axis, 0).copy()
        gx[-count:] = 0
        return np.moveaxis(gx, 0, axis)

    cause = check_gradients(square(lost), np.random.RandomState(0).normal(size=shape), seed=0).failures[0].cause
    where = 'index 130' if count == 1 else 'indices 128 to 130'
    single = count == 1 and len(shape) == 1
    assert (
        cause in ('one element: only (130,) is wrong',)
        if single
        else f'gives zeros at {where} of axis {axis}' in cause
    )


# --- what counts as an interval ---


def sampled(right, given, key=None):
    key = np.linspace(-2, 2, len(right)) if key is None else key
    return Sample({'x': key}, np.asarray(right, float), np.asarray(given, float), np.ones(len(right), bool))


LINE = np.linspace(-2, 2, 201)
#: The right gradient and the one from backward along a line, and how many intervals of wrong values that makes.
LINES = {
    'one interval': (np.ones(201), np.where((LINE > 0) & (LINE < 0.5), 0, 1), 1),
    'two intervals': (np.ones(201), np.where(abs(abs(LINE) - 1) < 0.2, 0, 1), 2),
    'three intervals': (np.ones(201), np.where(abs(LINE * 2 % 1 - 0.5) < 0.2, 0, 1), 0),
    'everywhere': (np.ones(201), np.zeros(201), 0),
    'nowhere': (np.ones(201), np.ones(201), 0),
    'three values': (np.ones(201), np.where((LINE > 0) & (LINE < 0.065), 0, 1), 0),
    'right at a point only': (np.ones(201), np.where(abs(LINE) < 0.045, 1, 0), 0),
    'fading': (np.ones(201), 1 + np.exp(-4 * (LINE + 2)), 0),
    'fading with the gradient': (np.exp(-8 * (LINE + 2)), 2 * np.exp(-8 * (LINE + 2)) * (LINE < 1.9), 0),
    'zeros that are right': (np.where(LINE > 0, 1, 0), np.where(LINE > 0.5, 1, 0), 1),
}


@pytest.mark.parametrize('name', LINES)
def test_intervals_need_enough_values_and_sharp_edges(name):
    right, given, count = LINES[name]
    assert len(_separated(sampled(right, given), 'x')) == count


@pytest.mark.parametrize('name', LINES)
def test_intervals_do_not_depend_on_the_order_of_values(name):
    right, given, count = LINES[name]
    order = np.random.RandomState(0).permutation(201)
    assert len(_separated(sampled(right[order], given[order], LINE[order]), 'x')) == count


def test_equal_values_that_are_right_and_wrong_make_no_interval():
    key = np.repeat(LINE[::3], 3)
    given = np.where(np.arange(201) % 3 == 0, 0, 1)
    assert _separated(sampled(np.ones(201), given, key), 'x') == []


def test_jumps_do_not_hide_what_is_right():
    """Differences across a jump are as large as one over the step, and say nothing about other values."""
    right, given, _ = LINES['one interval']
    sample = sampled(np.where(abs(LINE + 1) < 0.015, 1e9, right), given)
    sample.known[abs(LINE + 1) < 0.015] = False
    assert len(_separated(sample, 'x')) == 1
