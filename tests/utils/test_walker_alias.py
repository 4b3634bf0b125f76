"""WalkerAlias: the table it makes, and the numbers it draws."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from minichainer.utils import WalkerAlias

# weights, threshold and values in Chainer 7.8.1; the last ones have equal weights, where rounding decides
TABLES = [
    ([1, 2, 3, 4], [0.4, 0.8, 0.6, 1], [0, 2, 1, 3, 2, 3, 3, 0]),
    ([1], [1], [0, 0]),
    ([2, 3, 1, 1, 2, 0], [0, 2 / 3, 2 / 3, 1 / 3, 2 / 3, 1], [5, 0, 2, 4, 3, 4, 0, 1, 4, 1, 1, 0]),
    ([2, 1, 2, 1], [2 / 3, 2 / 3, 2 / 3, 1], [1, 0, 3, 0, 0, 2, 2, 0]),
    ([1, 1, 1, 1], [1, 1, 1, 1], [0, 0, 1, 0, 2, 0, 3, 0]),
    ([1, 1, 1], [1, 1, 1], [0, 1, 1, 2, 2, 0]),
]


@pytest.mark.parametrize(('weights', 'threshold', 'values'), TABLES, ids=lambda v: str(v)[:20])
def test_table(weights: Any, threshold: Any, values: Any) -> None:
    sampler = WalkerAlias(weights)
    np.testing.assert_allclose(sampler.threshold, threshold, atol=1e-6)
    np.testing.assert_array_equal(sampler.values, values)
    assert (sampler.threshold.dtype, sampler.values.dtype) == (np.float32, np.int32)


def test_table_gives_back_the_probabilities() -> None:
    probs = np.random.dirichlet(np.full(50, 0.3))
    sampler = WalkerAlias(probs)
    share = np.minimum(sampler.threshold.astype('d'), 1)
    given = np.bincount(sampler.values[::2], share, 50) + np.bincount(sampler.values[1::2], 1 - share, 50)
    np.testing.assert_allclose(given / 50, probs, atol=1e-6)


def test_draws_in_chainers_order() -> None:
    sampler = WalkerAlias([1, 2, 3, 4])
    for draw in (sampler.sample, lambda shape: sampler.sample_xp(np, shape)):
        np.random.seed(0)
        actual = draw((2, 3))
        np.testing.assert_array_equal(actual, [[2, 3, 2], [2, 1, 2]])
        assert actual.dtype == np.int32
    np.random.seed(0)
    np.testing.assert_array_equal(sampler.sample(5), [2, 3, 2, 2, 1])


def test_draws_follow_the_probabilities() -> None:
    probs = np.array([0.5, 0, 0.3, 0.2])
    counts = np.bincount(WalkerAlias(probs).sample((100000,)), minlength=4)
    np.testing.assert_allclose(counts / 100000, probs, atol=0.01)
    assert counts[1] == 0


def test_stays_on_the_cpu() -> None:
    sampler = WalkerAlias(np.array([0.1, 0.9], 'f'))
    assert sampler.to_device('@numpy') is sampler
    assert (sampler.use_gpu, sampler.xp, sampler.device.name) == (False, np, '@numpy')


@pytest.mark.parametrize(
    ('weights', 'message'),
    [
        ([], r'vector of probabilities, got an array of shape \(0,\)'),
        ([[1, 2]], r'shape \(1, 2\)'),
        ([0, 0], 'not all zero'),
        ([3, -1, 2], 'not negative'),
        ([1, np.nan], 'finite'),
    ],
    ids=str,
)
def test_refuses(weights: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        WalkerAlias(weights)


@pytest.mark.gpu
def test_draws_on_a_gpu() -> None:
    sampler = WalkerAlias([1, 2, 3, 4]).to_device('@cupy:0')
    assert sampler.use_gpu
    drawn = sampler.sample((1000,)).get()
    assert set(drawn.tolist()) == {0, 1, 2, 3}
    assert sampler.sample_gpu((2,)).shape == (2,)
