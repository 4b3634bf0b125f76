"""assert_allclose: what agrees, what does not, and what the message says."""

from __future__ import annotations

import numpy as np
import pytest

from minichainer.gradient_check import assert_allclose
from minichainer.variable import Variable

EQUAL = {
    'the same': ([1.0, 2.0], [1.0, 2.0]),
    'within atol': ([0.0], [0.9e-5]),
    'within rtol': ([1000.0], [1000.09]),
    'a number': (np.ones((2, 3)), 1.0),
    'NaN and infinity in the same places': ([np.nan, np.inf, -np.inf], [np.nan, np.inf, -np.inf]),
    'different dtypes': (np.ones(3, np.float16), np.ones(3, int)),
    'empty': (np.ones(0), np.ones(0)),
}


@pytest.mark.parametrize('name', EQUAL)
def test_equal(name):
    x, y = EQUAL[name]
    assert assert_allclose(x, y) is None


UNEQUAL = {
    'beyond both': (
        [[1.0, 5.0]],
        [[1.0, 5.001]],
        r'worst element: \(0, 1\)\n.*5.0\S*\n.*5.001\S*\n  error: 0.001,',
    ),
    'the worst': (
        [1.1, 3.0, 2.0],
        [1.0, 2.0, 2.0],
        r'worst element: \(1,\)\n(.|\n)*error: 1, allowed: 0.00021',
    ),
    'NaN': ([1.0, np.nan], [1.1, 1.0], r'worst element: \(1,\)'),
    'infinity': ([np.inf], [-np.inf], r'worst element: \(0,\)'),
    'shape': (np.ones(3), np.ones(2), r'shape: \(3,\) \(2,\)\n  dtype: float64 float64$'),
    'number': (np.ones(3), 2.0, r'shape: \(3,\) \(\)\n.*\n  worst element: \(0,\)'),
    'unsigned': (np.array([1], np.uint8), np.array([3], np.uint8), 'error: 2, allowed: 0.00031'),
    'booleans': (np.array([True]), np.array([False]), 'error: 1, allowed: 1e-05'),
}


@pytest.mark.parametrize('name', UNEQUAL)
def test_unequal(name):
    x, y, message = UNEQUAL[name]
    with pytest.raises(AssertionError, match=message):
        assert_allclose(x, y)


def test_tolerances_are_those_given():
    assert_allclose([1.0], [1.5], atol=0.5, rtol=0)
    assert_allclose([1.0], [2.0], atol=0, rtol=0.5)
    with pytest.raises(AssertionError, match=r'rtol=0\.4, atol=0'):
        assert_allclose([1.0], [2.0], atol=0, rtol=0.4)


def test_the_arrays_are_shown_unless_told_otherwise():
    with pytest.raises(AssertionError, match=r'array\(\[1\.5\]\)'):
        assert_allclose(np.array([1.5]), np.array([2.5]))
    with pytest.raises(AssertionError) as error:
        assert_allclose(np.array([1.5]), np.array([2.5]), verbose=False)
    assert 'array([1.5])' not in str(error.value)


def test_variables_are_refused():
    with pytest.raises(TypeError, match=r'compares arrays, not Variable; pass variable\.array'):
        assert_allclose(Variable(np.ones(2)), np.ones(2))
