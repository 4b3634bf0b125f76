"""The shared fixtures do what the tests that use them rely on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.conftest import ReadOnlyNumPy


@pytest.mark.parametrize(
    'make',
    [
        lambda xp: xp.ones((2, 3), dtype='f'),
        lambda xp: xp.asarray(np.zeros(3)),
        lambda xp: xp.random.uniform(size=3),
        lambda xp: xp.split(np.arange(4), 2)[1],
        lambda xp: xp.linalg.inv(np.eye(2)),
    ],
    ids=['ones', 'asarray', 'random', 'split', 'linalg'],
)
def test_read_only_numpy_refuses_writes(make: Any) -> None:
    array = make(ReadOnlyNumPy())
    with pytest.raises(ValueError, match='read-only'):
        array[...] = 1


def test_read_only_numpy_leaves_the_callers_array_writeable() -> None:
    mine = np.zeros(3)
    assert not ReadOnlyNumPy().asarray(mine).flags.writeable
    assert mine.flags.writeable


def test_read_only_numpy_passes_types_and_constants_on() -> None:
    xp = ReadOnlyNumPy()
    assert xp.float32 is np.float32 and xp.pi == np.pi


def test_xp_makes_arrays_of_its_kind(xp: Any) -> None:
    assert xp.arange(3).shape == (3,)
