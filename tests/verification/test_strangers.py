"""Right gradients that strangers saw refused: each line as printed, through the entry points that refused it."""

from __future__ import annotations

import functools
import re
import warnings
from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy as np
import pytest

import minichainer.functions as F
import minichainer.links as L
from minichainer.gradient_check import GradcheckError, check_backward, check_gradients, gradcheck
from minichainer.verification import arguments
from tests.verification.planting import node, split_seeds


def rows(table: dict[str, Any]) -> list[Any]:
    """The rows of a table for ``parametrize``."""
    return [pytest.param(row, id=name) for name, row in table.items()]


def said(check: Callable[[], Any]) -> str:
    """The verdict of a check, whichever way it says so."""
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        try:
            report = check()
        except GradcheckError as error:
            return getattr(getattr(error, 'report', None), 'verdict', 'fail')
    return getattr(report, 'verdict', 'pass')


def general(func: Any, x: Any, **options: Any) -> Callable[[int], str]:
    """``check_gradients``."""
    inputs = x if callable(x) else lambda seed: x
    return lambda seed: said(lambda: check_gradients(func, inputs(seed), seed=seed, **options))


def floats(func: Any, x: Any) -> Callable[[int], str]:
    """``check_gradients`` without 50 digits."""
    return general(func, x, precise=False)


def as_torch(func: Any, x: Any, **options: Any) -> Callable[[int], str]:
    """``gradcheck``."""
    inputs = x if callable(x) else lambda seed: x
    return lambda seed: said(lambda: gradcheck(func, inputs(seed), seed=seed, **options))


def as_chainer(func: Any, x: Any, gy: Any, **options: Any) -> Callable[[int], str]:
    """``check_backward``."""

    def run(seed: int) -> str:
        with seeded(seed):
            return said(lambda: check_backward(func, x, gy, **options))

    return run


def seeded(seed: int) -> Any:
    """Context manager in which checks draw from a seed that cannot be given to them."""
    return mock.patch.object(arguments, '_seed', lambda given: seed if given is None else int(given))


def entropy(p: Any) -> Any:
    return -F.sum(p * F.log(p))


def softmax_of_normal(seed: int) -> Any:
    x = 10 * np.random.RandomState(seed).normal(size=(1, 3))
    p = np.exp(x - x.max())
    return p / p.sum()


# --- small beside large ---

SMALL = np.array([1e-19, 0.3, 0.7])
BESIDE_LARGE = {
    'log': (F.log, SMALL),
    'sqrt': (F.sqrt, np.array([0.3, 1.2e-19, 0.7])),
    'log(x + 1e-19)': (lambda x: F.log(x + 1e-19), np.array([0.0, 1.0, 2.0])),
    'entropy': (entropy, np.array([[2.1e-20, 0.731, 0.269]])),
    '1 / x': (lambda x: 1 / x, SMALL),
    'lgamma': (F.lgamma, SMALL),
    'digamma': (F.digamma, SMALL),
    'x log x': (lambda x: x * F.log(x), SMALL),
    'x ** .5': (lambda x: x**0.5, SMALL),
    'log, large': (F.log, np.array([1.0, 1e18, 3e17])),
    'm / sqrt(v)': (lambda m, v: m / F.sqrt(v), (np.array([0.3, -1.0, 0.5]), np.array([0.3, 1e-20, 0.7]))),
    'sqrt(x + 1e-20)': (lambda x: F.sqrt(x + 1e-20), np.array([0.0, 1.0, 2.0])),
    'log(1 + x * x)': (lambda x: F.log(1 + x * x), np.array([-2.3e-15, 3e-9])),
}
WAYS = {'50 digits': general, 'floats': floats, 'gradcheck': as_torch}


@pytest.mark.parametrize('seeds', split_seeds(4, 10))
@pytest.mark.parametrize(
    'run', rows({f'{name}, {way}': WAYS[way](*row) for name, row in BESIDE_LARGE.items() for way in WAYS})
)
def test_an_element_may_be_small_beside_others(run, seeds):
    assert [run(seed) for seed in seeds] == ['pass'] * len(seeds)


@pytest.mark.parametrize('seeds', split_seeds(10, 40))
@pytest.mark.parametrize('way', WAYS)
def test_entropy_of_any_probabilities(way, seeds):
    run = WAYS[way](entropy, softmax_of_normal)
    assert [run(seed) for seed in seeds] == ['pass'] * len(seeds)


def scaled_tanh(decades: int) -> Any:
    scales = 10.0 ** np.linspace(-decades, decades, 13)
    func = node(lambda x: scales * np.tanh(x / scales), lambda xs, gy: gy * (1 - np.tanh(xs[0] / scales) ** 2))
    return func, lambda seed: scales * np.random.RandomState(seed).normal(size=13)


@pytest.mark.parametrize(
    'run', rows({f'{way}, 1e{d}': WAYS[way](*scaled_tanh(d)) for d in (5, 7) for way in ('floats', 'gradcheck')})
)
def test_each_element_may_have_a_scale_of_its_own(run):
    assert [run(seed) for seed in range(8)] == ['pass'] * 8


# --- one engine for every entry point ---


def noisy_image(seed: int) -> Any:
    return 1 + 1e-9 * np.random.RandomState(seed).normal(size=(1, 1, 4, 4))


NEAR = {
    'hard_sigmoid': (F.hard_sigmoid, np.array([2.5, 0.0, 1.0])),
    'max': (lambda x: F.max(x, axis=1), np.array([[1.0, 1 + 1e-9, -3.0]])),
    'clip': (lambda x: F.clip(x, -1.0, 1.0), np.array([1 - 1e-10, 0.3, 2])),
    'x * x': (lambda x: x * x, np.array([1e-200, 2e-200])),
    'max_pooling_2d': (lambda x: F.max_pooling_2d(x, 2), noisy_image),
}


@pytest.mark.parametrize('fast', [False, True], ids=['slow', 'fast'])
@pytest.mark.parametrize('name', NEAR)
def test_gradcheck_does_not_refuse_what_check_gradients_passes(name, fast):
    func, x = NEAR[name]
    general_says = [general(func, x)(seed) for seed in range(3)]
    torch_says = [as_torch(func, x, fast_mode=fast)(seed) for seed in range(3)]
    assert not any('pass' in pair and 'fail' in pair for pair in zip(general_says, torch_says, strict=True))


def one_small(size: int, seed: int) -> Any:
    x = np.random.RandomState(seed).normal(size=size)
    x[seed % size] = 1e-9
    return x


@pytest.mark.parametrize(
    'run',
    rows(
        {
            f'relu {size}, {way}': WAYS[way](F.relu, functools.partial(one_small, size))
            for size in (400, 2000)
            for way in WAYS
        }
    ),
)
def test_one_element_may_be_near_a_kink(run):
    assert [run(seed) for seed in range(8)] == ['pass'] * 8


@pytest.mark.parametrize('seeds', split_seeds(4, 20))
@pytest.mark.parametrize(
    'run',
    rows(
        {
            'crelu at zero': as_chainer(F.crelu, np.zeros((2, 3)), np.ones((2, 6))),
            'relu at zero': as_chainer(F.relu, np.zeros((2, 3)), np.ones((2, 3))),
        }
    ),
)
def test_check_backward_accepts_a_value_between_the_slopes(run, seeds):
    assert [run(seed) for seed in seeds] == ['pass'] * len(seeds)


# --- saturated, subnormal ---


def saturating(shape: tuple[int, ...]) -> Callable[[int], Any]:
    return lambda seed: (300 * np.random.RandomState(seed).normal(size=shape)).astype('f')


SATURATED = {
    'tanh': (F.tanh, np.array([178.9, 9.65], 'f')),
    'tanh of normal': (F.tanh, saturating((6,))),
    'sigmoid': (F.sigmoid, saturating((6,))),
    'softmax': (F.softmax, saturating((3, 4))),
}
SUBNORMAL = {
    'softmax': (lambda x: F.softmax(x * 300.0), np.array([[0.0, -740.0]]) / 300),
    'softmax of linear': (
        lambda x: F.softmax(F.linear(x, 300 * np.eye(4))),
        lambda seed: np.random.RandomState(seed).normal(size=(2, 4)),
    ),
}


@pytest.mark.parametrize('seeds', split_seeds(10, 40))
@pytest.mark.parametrize('run', rows({f'saturated {n}': general(*row) for n, row in SATURATED.items()}))
def test_saturated_functions_pass_in_float32(run, seeds):
    assert [run(seed) for seed in seeds] == ['pass'] * len(seeds)


@pytest.mark.parametrize('seeds', split_seeds(5, 30))
@pytest.mark.parametrize(
    'run', rows({f'subnormal {n}, {way}': WAYS[way](*row) for n, row in SUBNORMAL.items() for way in WAYS})
)
def test_subnormal_gradients_pass(run, seeds):
    assert [run(seed) for seed in seeds] == ['pass'] * len(seeds)


# --- order of bytes, dtypes of links ---


def big(dtype: str, *shape: int) -> Any:
    return np.random.RandomState(0).normal(size=shape).astype(dtype)


BYTES = {
    'x * x': (lambda x: x * x, big('>f8', 3)),
    'sum': (F.sum, big('>f4', 3)),
    'Linear': (L.Linear(4, 3), big('>f4', 5, 4)),
}


@pytest.mark.parametrize(
    'run', rows({f'big-endian {n}, {way}': WAYS[way](*row) for n, row in BYTES.items() for way in WAYS})
)
def test_arrays_may_have_the_other_order_of_bytes(run):
    assert run(0) == 'pass'


LINKS = {
    'Linear': (lambda: L.Linear(4, 3), (5, 4)),
    'Convolution2D': (lambda: L.Convolution2D(2, 3, 3), (2, 2, 4, 5)),
    'LayerNormalization': (lambda: L.LayerNormalization(4), (5, 4)),
    'BatchNormalization': (lambda: L.BatchNormalization(4), (5, 4)),
}


@pytest.mark.parametrize('name', LINKS)
def test_float64_inputs_of_float32_links(name):
    make, shape = LINKS[name]
    link = make()
    report = check_gradients(link, np.random.RandomState(0).normal(size=shape), params='all', seed=0)
    assert report.verdict == 'pass'
    # BatchNormalization takes arrays of both dtypes.
    assert name == 'BatchNormalization' or re.search(r'float(32|64)', str(report))
    assert 'Error' not in str(report)
    assert all(p.dtype == np.float32 for p in link.params())
