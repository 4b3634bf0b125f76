"""What initializers of Maxout see: Chainer's give functions the whole array, and its own classes the merged one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minichainer.links as L
from minichainer import initializers

SEEN: list[tuple[int, ...]] = []


def ramp(array: Any) -> None:
    SEEN.append(array.shape)
    array[...] = np.arange(array.size).reshape(array.shape)


class Ramp(initializers.Uniform):
    def __call__(self, array: Any) -> None:
        ramp(array)


@pytest.mark.parametrize('in_size', [3, None])
@pytest.mark.parametrize(
    ('initial', 'seen'), [(ramp, [(2, 4), (2, 4, 3)]), (Ramp(), [(8,), (8, 3)])], ids=['function', 'Initializer']
)
def test_what_an_initializer_sees(initial: Any, seen: list[tuple[int, ...]], in_size: int | None) -> None:
    SEEN.clear()
    link = L.Maxout(in_size, 2, 4, initialW=initial, initial_bias=initial)
    link(np.ones((1, 3), 'f'))
    assert sorted(SEEN) == sorted(seen)
    np.testing.assert_array_equal(link.linear.W.array, np.arange(24).reshape(8, 3))
    np.testing.assert_array_equal(link.linear.b.array, np.arange(8))
