"""Which nodes a pass goes through, in which order, and at what cost: levels may be high and far apart."""

import tracemalloc

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F
from minichainer import backprop

STEPS = 10_000


def variable(value):
    return chainer.Variable(np.array(value))


def peak_of_reachable(node):
    tracemalloc.start()
    try:
        backprop.reachable([node])
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize('regularized', [False, True], ids=['', 'with a term of level 1'])
def test_truncated_backpropagation_costs_the_same_at_every_step(regularized):
    w, h, peaks = variable(0.9), variable(0.1), {}
    for step in range(1, STEPS + 1):
        h = F.tanh(h * w)
        if step % 10 == 0:
            loss = h * h + w * w if regularized else h * h
            if step in (20, STEPS):
                peaks[step] = peak_of_reachable(loss.edge)
            loss.backward()
            loss.unchain_backward()
    assert h.rank == 2 * STEPS  # as in Chainer, levels stay: what is older keeps coming later in backward
    assert peaks[STEPS] <= peaks[20] + 500, peaks


def test_levels_far_apart_are_not_gone_through_one_by_one():
    h = F.tanh(variable(1.0))
    h.creator.level = 10**15
    y = h * variable(2.0) + F.exp(variable(1.0))
    seen = []

    class Seen(chainer.FunctionHook):
        def backward_preprocess(self, function, in_data, out_grad):
            seen.append(function.label)

    with Seen():
        y.backward()
    assert seen == ['_ + _', '_ * _', 'Tanh', 'exp']


def order_by_buckets(root):
    """From high to low, and within a level in the order in which gradients arrive."""
    levels, seen = {root.level: [root]}, {root}
    order = []
    for number in range(root.level, 0, -1):
        for node in levels.get(number, ()):
            order.append(node)
            for edge in node.edges:
                if edge.edges is not None and edge not in seen:
                    seen.add(edge)
                    levels.setdefault(edge.level, []).append(edge)
    return order


@pytest.mark.parametrize('seed', range(20))
def test_the_order_is_that_of_levels_also_in_cut_graphs(seed):
    random = np.random.RandomState(seed)
    pool = [variable(1.0), variable(2.0)]
    for _ in range(60):
        a, b = random.randint(max(0, len(pool) - 12), len(pool), 2)
        pool.append(pool[a] + pool[b])
        if random.rand() < 0.15:
            pool[random.randint(len(pool))].unchain()
    total = sum(pool[2:])
    seen = []

    class Order(chainer.FunctionHook):
        def backward_preprocess(self, function, in_data, out_grad):
            seen.append(function)

    expected = order_by_buckets(total.creator)
    with Order():
        total.backward()
    assert seen == expected
