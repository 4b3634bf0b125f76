"""Functions with hand-written rules on arrays, for tests of the checker."""

from __future__ import annotations

import numpy as np
import pytest

from minichainer.function_node import FunctionNode
from minichainer.variable import Variable


def node(forward, backward):
    """A function of Variables, from what forward and backward do with arrays."""

    class Node(FunctionNode):
        def forward(self, inputs):
            self.retain_inputs(tuple(range(len(inputs))))
            outputs = forward(*inputs)
            return outputs if isinstance(outputs, tuple) else (np.asarray(outputs),)

        def backward(self, indexes, grad_outputs):
            xs = [x.array for x in self.get_retained_inputs()]
            gxs = backward(xs, *(None if gy is None else gy.array for gy in grad_outputs))
            gxs = gxs if isinstance(gxs, tuple) else (gxs,)
            if len(gxs) < len(xs):
                return tuple(Variable(gx) for gx in gxs)
            return tuple(None if gxs[i] is None else Variable(np.asarray(gxs[i])) for i in indexes)

    def planted(*xs):
        outputs = Node().apply(xs)
        return outputs if len(outputs) > 1 else outputs[0]

    return planted


def split_seeds(first, count):
    """Rows for ``parametrize``: the first few seeds, and as a slow test the others, ``count`` in all."""
    others = pytest.param(range(first, count), id='other seeds', marks=pytest.mark.slow)
    return [pytest.param(range(first), id='first seeds'), others]


def uniform(*shape, dtype=np.float64, seed=1):
    """Numbers between -1 and 1."""
    return np.random.RandomState(seed).uniform(-1, 1, shape).astype(dtype)


def square(rule=lambda x, gy: 2 * x * gy):
    """The square, with any rule."""
    return node(np.square, lambda xs, gy: rule(xs[0], gy))
