"""Tolerances that the caller gives: wrong gradients are found at least as often as Chainer 7.8.1 finds them."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from minichainer.function_node import FunctionNode
from minichainer.gradient_check import check_backward, check_gradients
from tests.verification.test_strangers import seeded

# What is inside of the tolerances passes with a warning.
pytestmark = pytest.mark.filterwarnings('ignore')
#: Of the seeds of Chainer's counts: the first ones, and all of them.
SEEDS = [pytest.param(5, id='5 seeds'), pytest.param(20, id='20 seeds', marks=pytest.mark.slow)]
SHAPES = [(3, 2), (4, 5), (20, 30)]
STRICTNESS = ['strict', 'chainer']
OPTIONS: dict[str, dict[str, Any]] = {
    'of 2**-4, float64': {'atol': 2**-4, 'rtol': 2**-4, 'dtype': np.float64},
    'of unary_math, float16': {'eps': 2**-4, 'atol': 2**-4, 'rtol': 2**-4, 'dtype': np.float64},
    'of 5e-2': {'atol': 5e-2, 'rtol': 5e-2},
    'of 1e-3': {'atol': 1e-3, 'rtol': 1e-3},
    'none': {},
}
#: In how many of 20 seeds Chainer 7.8.1 finds the fault, at each shape; the same in float16, float32 and float64.
#: The factor of forward and that of backward, the tolerances, the upstream gradient.
FOUND_BY_CHAINER: dict[tuple[float, float, str, str], tuple[int, int, int]] = {
    (2, 2.4, 'of 2**-4, float64', 'ones'): (14, 17, 15),
    (2, 2.4, 'of 2**-4, float64', 'random'): (15, 14, 17),
    (2, 2.4, 'of unary_math, float16', 'ones'): (14, 17, 15),
    (2, 2.4, 'of unary_math, float16', 'random'): (15, 14, 17),
    (2, 2.4, 'of 5e-2', 'ones'): (16, 18, 18),
    (2, 2.4, 'of 5e-2', 'random'): (18, 16, 19),
    (2, 2.4, 'of 1e-3', 'random'): (20, 20, 20),
    (2, 2.4, 'none', 'random'): (20, 20, 20),
    (1, 1.2, 'of 2**-4, float64', 'ones'): (11, 16, 11),
    (1, 1.2, 'of 2**-4, float64', 'random'): (12, 5, 9),
    (1, 1.2, 'of unary_math, float16', 'ones'): (11, 16, 11),
    (1, 1.2, 'of unary_math, float16', 'random'): (12, 5, 9),
    (1, 1.2, 'of 5e-2', 'ones'): (13, 16, 14),
    (1, 1.2, 'of 5e-2', 'random'): (14, 10, 13),
    (1, 1.2, 'of 1e-3', 'random'): (20, 20, 20),
    (1, 1.2, 'none', 'random'): (20, 20, 20),
}  # fmt: skip
#: Inside of the tolerances: Chainer accepts these on all seeds.
ACCEPTED_BY_CHAINER = [(1, 1.05, 'of 2**-4, float64'), (1, 1.05, 'of unary_math, float16'), (1, 1.0004, 'of 1e-3')]


class Scale(FunctionNode):
    """A product with one number, whose gradient is the product with another."""

    def __init__(self, forward: float, backward: float) -> None:
        self.factors = forward, backward

    def forward(self, inputs: Any) -> Any:
        return (inputs[0] * inputs[0].dtype.type(self.factors[0]),)

    def backward(self, indexes: Any, gys: Any) -> Any:
        return (gys[0] * self.factors[1],)


def fails(factors: Any, options: Any, upstream: str, shape: Any, dtype: str, seed: int, **more: Any) -> bool:
    """Whether ``check_backward`` refuses the product, with draws as they were made for Chainer."""
    np.random.seed(seed)
    x = np.random.uniform(-1, 1, shape).astype(dtype)
    gy = np.ones(shape, dtype) if upstream == 'ones' else np.random.uniform(-1, 1, shape).astype(dtype)
    try:
        with seeded(seed):
            check_backward(lambda x: Scale(*factors).apply((x,))[0], x, gy, **options, **more)
    except AssertionError:
        return True
    return False


def counted() -> list[Any]:
    """The rows: Chainer's counts for a fault at a shape, by dtype and strictness; of each fault one is quick."""
    rows = []
    for fault, ((forward, backward, name, upstream), counts) in enumerate(FOUND_BY_CHAINER.items()):
        dtypes = 'efd' if 'dtype' in OPTIONS[name] else 'fd'
        quick = SHAPES[fault % 2], 'f', STRICTNESS[(fault // 2 + fault // 8) % 2]
        for (shape, count), *others in itertools.product(zip(SHAPES, counts, strict=True), dtypes, STRICTNESS):
            text = ', '.join(map(str, (f'{forward} to {backward}', name, upstream, shape, *others)))
            row = (forward, backward), name, upstream, shape, count, *others
            rows.append(pytest.param(*row, id=text, marks=[] if (shape, *others) == quick else [pytest.mark.slow]))
    return rows


@pytest.mark.parametrize('seeds', SEEDS)
@pytest.mark.parametrize(('factors', 'name', 'upstream', 'shape', 'count', 'dtype', 'strictness'), counted())
def test_as_many_are_found_as_by_chainer(factors, name, upstream, shape, count, dtype, strictness, seeds):
    options = OPTIONS[name]
    found = [fails(factors, options, upstream, shape, dtype, s, strictness=strictness) for s in range(seeds)]
    assert sum(found) / seeds >= count / 20


@pytest.mark.parametrize('seeds', SEEDS)
@pytest.mark.parametrize('strictness', STRICTNESS)
@pytest.mark.parametrize(('forward', 'backward', 'name'), ACCEPTED_BY_CHAINER)
@pytest.mark.parametrize('shape', [SHAPES[0], pytest.param(SHAPES[1], marks=pytest.mark.slow)], ids=str)
def test_what_is_inside_of_the_tolerances_passes(forward, backward, name, shape, strictness, seeds):
    found = [
        fails((forward, backward), OPTIONS[name], 'random', shape, 'd', seed, strictness=strictness)
        for seed in range(seeds)
    ]
    assert not any(found)


@pytest.mark.parametrize('seeds', SEEDS)
@pytest.mark.parametrize('shape', [*SHAPES[:2], pytest.param(SHAPES[2], marks=pytest.mark.slow)], ids=str)
@pytest.mark.parametrize(('factor', 'verdict'), [(1.2, 'fail'), (1.11, 'fail')])
def test_tolerances_are_those_of_each_element(factor, verdict, shape, seeds):
    """All elements are off by more than ``atol + rtol * abs(gradient)``: that is found on every seed."""
    for seed in range(seeds):
        x = np.random.RandomState(seed).uniform(-1, 1, shape)
        gys = np.ones(shape)
        report = check_gradients(
            lambda x: Scale(1, factor).apply((x,))[0], x, gys, atol=0.05, rtol=0.05, seed=seed
        )  # fmt: skip
        assert report.verdict == verdict


@pytest.mark.parametrize('seeds', SEEDS)
@pytest.mark.parametrize('shape', [*SHAPES[:2], pytest.param(SHAPES[2], marks=pytest.mark.slow)], ids=str)
def test_one_element_beyond_its_tolerance_is_enough(shape, seeds):
    class One(Scale):
        def backward(self, indexes: Any, gys: Any) -> Any:
            factors = np.ones(shape)
            factors.flat[3] = 1.2
            return (gys[0] * factors,)

    for seed in range(seeds):
        x = np.random.RandomState(seed).uniform(-1, 1, shape)
        report = check_gradients(
            lambda x: One(1, 1).apply((x,))[0], x, np.ones(shape), atol=0.05, rtol=0.05, seed=seed
        )
        assert report.verdict == 'fail'
