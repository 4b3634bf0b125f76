"""Random directions: signed, no element close to zero, reproducible."""

from __future__ import annotations

import numpy as np
import pytest

from minichainer.verification.directions import generator, isotropic, relative, signed


def test_signed_numbers_hide_nothing():
    v = signed(generator(3), (10000,))
    assert abs(v).min() >= 0.5 and abs(v).max() <= 1
    assert 0.45 < (v > 0).mean() < 0.55
    assert len(np.unique(abs(v))) == v.size


def test_one_seed_gives_one_direction_and_leaves_the_global_state_alone():
    state = np.random.get_state()[1].copy()
    np.testing.assert_array_equal(signed(generator(1), (2, 3)), signed(generator(1), (2, 3)))
    assert not np.array_equal(signed(generator(1), (2, 3)), signed(generator(2), (2, 3)))
    np.testing.assert_array_equal(np.random.get_state()[1], state)


SIZES = {
    'ones': (np.ones(5), 1.0),
    'large': (np.full((2, 3), -1e8), 1e8),
    'huge': (np.full(3, 1e200), 1e200),
    'zeros': (np.zeros(4), 1.0),
    'half precision': (np.full(4, 3e4, np.float16), 3e4),
    'not finite': (np.array([1.0, np.inf]), 1.0),
    '0-d': (np.array(-3.0), 3.0),
}


@pytest.mark.parametrize('name', SIZES)
def test_isotropic_directions_have_the_size_of_the_input(name):
    x, size = SIZES[name]
    v = isotropic(generator(0), x)
    assert v.shape == x.shape and v.dtype == np.float64
    assert (abs(v) >= 0.499 * size).all() and (abs(v) <= 1.001 * size).all()


def test_relative_directions_are_in_proportion_to_each_element():
    x = np.array([1e-5, -1e5, 0.0, 1.0], np.float32)
    ratio = relative(generator(0), x)[[0, 1, 3]] / x[[0, 1, 3]]
    assert (abs(ratio) >= 0.5).all() and (abs(ratio) <= 1).all()


@pytest.mark.parametrize('make', [isotropic, relative])
def test_empty(make):
    assert make(generator(0), np.zeros((0, 3))).shape == (0, 3)
