"""Calls that Chainer 7.8.1 refuses, which here must not compute something else in silence."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F
from minichainer import Parameter, Variable
from minichainer.compat.nodes import node_class


def ones(*shape: int) -> Any:
    return np.ones(shape, np.float32)


class Twice(chainer.FunctionNode):
    def forward(self, inputs: Any) -> Any:
        return tuple([2 * x for x in inputs])


# --- a forgotten tuple -------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    'node',
    [Twice, lambda: type(F.relu(Variable(ones(2))).creator)(), lambda: node_class('activation.relu', 'ReLU')()],
    ids=['of a user', 'of the package', 'of Chainer'],
)
@pytest.mark.parametrize(
    'one',
    [ones(2, 3), Variable(ones(1, 3)), Parameter(ones(1)), Variable(None)],
    ids=['array', 'Variable', 'Parameter', 'empty'],
)
def test_one_input_without_a_tuple_is_refused(node: Any, one: Any) -> None:
    """Its rows would be taken for inputs."""
    with pytest.raises(TypeError, match=re.escape('Write apply((x,))')):
        node().apply(one)


@pytest.mark.parametrize('several', [tuple, list, iter])
def test_any_sequence_of_inputs_is_taken(several: Any) -> None:
    assert [y.shape for y in Twice().apply(several([ones(2, 3), ones(4)]))] == [(2, 3), (4,)]
