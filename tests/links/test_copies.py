"""Copies of links draw as many random numbers as in Chainer 7.8.1: seeded programs go on with the same ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minichainer.functions as F
import minichainer.links as L
from minichainer import Chain, ChainList, Parameter, Sequential, initializers


class Own(Chain):
    def __init__(self) -> None:
        super().__init__()
        with self.init_scope():
            self.W = Parameter(initializers.Normal(), (2,))
            self.a = L.Linear(3, 2)


LINKS: dict[str, Callable[[], Any]] = {
    'link': lambda: L.Linear(3, 2),
    'chain': lambda: Chain(a=L.Linear(3, 2)),
    'chain of chain': lambda: Chain(a=Chain(b=L.Linear(3, 2))),
    'three deep': lambda: Chain(a=Chain(b=Chain(c=L.Linear(3, 2)))),
    'own parameter': Own,
    'list': lambda: ChainList(L.Linear(3, 2), L.Linear(2, 2)),
    'list of chain': lambda: ChainList(Chain(a=L.Linear(3, 2)), L.Linear(2, 2)),
    'chain of list': lambda: Chain(a=ChainList(L.Linear(3, 2), L.Linear(2, 3))),
    'sequential': lambda: Sequential(L.Linear(3, 2), F.relu, L.Linear(2, 2)),
    'chain of sequential': lambda: Chain(a=Sequential(L.Linear(3, 2), F.relu, Chain(b=L.Linear(2, 2)))),
    'sequential of chain': lambda: Sequential(Chain(a=L.Linear(3, 2)), F.relu),
    'MLPConvolution2D': lambda: L.MLPConvolution2D(3, (4, 4), 1),
    'Maxout': lambda: L.Maxout(3, 2, 2),
    'Highway': lambda: L.Highway(3),
    'NStepLSTM': lambda: L.NStepLSTM(1, 3, 2, 0.0),
}
#: For each, what Chainer gives: the sum of the parameters and the next random number, of copy('init'); and the next
#: random number of repeat(2). Chains with several children draw for them in an arbitrary order there.
FOUND: dict[str, tuple[float | None, float, float]] = {
    'link': (1.5614, 0.56804456, 0.11827443), 'chain': (1.7027, 0.11827443, 0.94374808),
    'chain of chain': (-1.3384, 0.45615033, 0.57019677), 'three deep': (2.1224, 0.94374808, 0.82099323),
    'own parameter': (-0.6494, 0.26455561, 0.66676672), 'list': (2.4102, 0.14335329, 0.94374808),
    'list of chain': (-0.0018, 0.0187898, 0.57019677), 'chain of list': (0.3355, 0.66676672, 0.2961402),
    'sequential': (2.4102, 0.14335329, 0.94374808), 'chain of sequential': (-2.2067, 0.6976312, 0.73926358),
    'sequential of chain': (1.7027, 0.11827443, 0.94374808), 'MLPConvolution2D': (-2.3561, 0.97676109, 0.59204193),
    'Maxout': (0.6634, 0.66676672, 0.2961402), 'Highway': (None, 0.82099323, 0.8137978),
    'NStepLSTM': (-9.0791, 0.82894003, 0.10022689),
}  # fmt: skip


@pytest.mark.parametrize('name', LINKS)
def test_initialized_copies_draw_as_chainer(name: str) -> None:
    total, after_copy, after_repeat = FOUND[name]
    np.random.seed(0)
    clone = LINKS[name]().copy('init')
    np.testing.assert_allclose(np.random.rand(), after_copy, rtol=1e-6)
    if total is not None:
        np.testing.assert_allclose(sum(float(p.array.sum()) for p in clone.params()), total, atol=1e-4)
    np.random.seed(0)
    LINKS[name]().repeat(2)
    np.testing.assert_allclose(np.random.rand(), after_repeat, rtol=1e-6)


@pytest.mark.parametrize('name', LINKS)
@pytest.mark.parametrize('mode', ['copy', 'share'])
def test_other_copies_draw_nothing(name: str, mode: str) -> None:
    link = LINKS[name]()
    np.random.seed(1)
    link.copy(mode)
    link.repeat(3, mode)
    after = np.random.rand()
    np.random.seed(1)
    assert np.random.rand() == after


@pytest.mark.parametrize('name', LINKS)
def test_the_link_itself_stays(name: str) -> None:
    link = LINKS[name]()
    values = [p.array.copy() for p in link.params()]
    clone = link.copy('init')
    for value, own, other in zip(values, link.params(), clone.params(), strict=True):
        np.testing.assert_array_equal(own.array, value)
        assert not np.shares_memory(own.array, other.array)
