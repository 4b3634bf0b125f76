"""Each cause is recognised from the wrong values, and right values elsewhere do not mislead."""

from __future__ import annotations

import re

import numpy as np
import pytest

from minichainer.verification.diagnosis.evidence import Evidence, diagnose

RNG = np.random.RandomState(0)
G = RNG.normal(size=(4, 4))
X = RNG.normal(size=(4, 4))
OTHER = RNG.normal(size=(4, 4))


def changed(index, value):
    result = G.copy()
    result[index] = value
    return result


CAUSES = {
    'missing': (None, 'missing', 'gives None'),
    'shape': (G[0], 'shape', r'shape \(4,\), the input has \(4, 4\)'),
    'NaN': (changed((1, 2), np.nan), 'not finite', 'in 1 of 16 elements'),
    'infinity': (changed((1, 2), np.inf), 'not finite', 'in 1 of 16 elements'),
    'detached': (np.zeros((4, 4)), 'detached', 'does not get through'),
    'sign': (-G, 'sign', 'with the opposite sign'),
    'factor': (1.5 * G, 'factor', r'gives 1.5 times the gradient$'),
    'factor of an axis': (4 * G, 'factor', r'4 \(the size of axis 0: a mean that is treated as a sum'),
    'one over the size': (G / 16, 'factor', r'0.0625 \(one over the number of elements: a sum'),
    'negative factor': (-2 * G, 'factor', 'gives -2 times'),
    'transposed': (G.T.copy(), 'transposed', 'transposed'),
    'shifted': (np.roll(G, 1, axis=1), 'shifted', 'by 1 along axis 1'),
    'shifted back': (np.roll(G, -1, axis=0), 'shifted', 'by -1 along axis 0'),
    'reversed': (G[::-1].copy(), 'shifted', 'reversed along axis 0'),
    'without a factor': (G / X, 'factor', 'the factor the input is missing'),
    'without a divisor': (G * OTHER, 'factor', r'the factor 1 / inputs\[1\] is missing'),
    'negative half': (np.where(X < 0, 2.5 * G, G), 'wrong where x < 0', 'nowhere else'),
    'positive half': (np.where(X > 0, 0, G), 'wrong where x > 0', 'nowhere else'),
    'one element': (changed((2, 3), 9.0), 'one element', r'\(2, 3\)'),
    'one row': (changed((2,), 9.0), 'one slice', 'index 2 of axis 0'),
    'one column': (changed((slice(None), 1), 0.0), 'one slice', 'index 1 of axis 1'),
    'constant': (G + 0.125, 'added constant', 'adds 0.125 to every'),
    'missing term': (G - 0.5 * X, 'missing term', '0.5 times the input'),
    'missing product': (G - 3 * X * OTHER, 'missing term', r'3 times the input times inputs\[1\]'),
    'related': (G + 0.5 * RNG.normal(size=(4, 4)), 'missing term', 'seems to be missing'),
    'nonsense': (RNG.normal(size=(4, 4)), 'unknown', 'no simple relation'),
}


@pytest.mark.parametrize('name', CAUSES)
@pytest.mark.parametrize('tolerance', [1e-9, 1e-5])
def test_causes(name, tolerance):
    analytic, cause, text = CAUSES[name]
    noisy = G + np.random.RandomState(1).uniform(-0.5, 0.5, G.shape) * tolerance
    found = diagnose(Evidence(noisy, analytic, tolerance, X, {'inputs[1]': OTHER}))
    assert found.name == cause
    assert re.search(text, found.text), found.text


def test_a_factor_in_a_sparse_gradient():
    sparse = np.where(X > 0, G, 0)
    assert diagnose(Evidence(sparse, 2 * sparse, 1e-9, X)).name == 'factor'


def test_a_transposed_gradient_that_is_not_square():
    numeric = RNG.normal(size=(2, 3))
    assert diagnose(Evidence(numeric, numeric.T.reshape(2, 3), 1e-9)).name == 'transposed'


def test_a_scalar():
    assert diagnose(Evidence(np.array(2.0), np.array(-2.0), 1e-9)).name == 'sign'
    assert diagnose(Evidence(np.array(2.0), np.array(3.0), 1e-9)).text.endswith('gives 1.5 times the gradient')


def test_errors_that_are_not_smaller_for_a_factor_are_no_factor():
    """Where errors are hardly larger than the tolerance, a factor close to 1 agrees with everything."""
    off = 1.5e-9 * np.sign(np.random.RandomState(2).normal(size=G.shape))
    found = diagnose(Evidence(G, G + off, 1e-9, X))
    assert found.name == 'inaccurate', found


SMALL = np.random.RandomState(3).uniform(-1, 1, G.shape)
#: What is wrong in small gradients, or by little, and its name.
INACCURATE = {
    'all digits but seven': (G * (1 + 1e-7 * SMALL), 'inaccurate'),
    'absolute errors': (G + 1e-7 * SMALL, 'inaccurate'),
    'half of the elements': (np.where(X > 0.3, G, G * (1 + 1e-6 * SMALL)), 'inaccurate'),
    'one per mille': (G * (1 + 1e-3 * SMALL), 'missing term'),
    'a row': (G * (1 + 1e-6 * (np.arange(4) == 2)[:, None]), 'one slice'),
    'an element': (G * (1 + 1e-6 * (np.arange(16) == 5).reshape(4, 4)), 'one element'),
    'some by the same factor': (
        G * (1 + 1e-6 * np.isin(np.arange(16), (1, 6, 11, 12)).reshape(4, 4)), 'missing term',
    ),
    'single': (G.astype(np.float32).astype(float), 'inaccurate'),
    'half': (G.astype(np.float16).astype(float), 'inaccurate'),
}  # fmt: skip


@pytest.mark.parametrize('name', INACCURATE)
def test_small_errors(name):
    analytic, cause = INACCURATE[name]
    found = diagnose(Evidence(G, analytic, 1e-12, X))
    assert found.name == cause or (cause == 'missing term' and found.name == 'unknown'), found


def test_small_elements_that_are_quite_wrong_are_not_inaccurate():
    tiny = np.where(X > 0.3, G, 1e-6 * G)
    for wrong in (X <= 0.3, X <= -0.5):
        found = diagnose(Evidence(tiny, np.where(wrong, 1.5 * tiny, tiny * (1 + 1e-9 * SMALL)), 1e-12))
        assert found.name != 'inaccurate'


def test_wrong_elements_alone_say_nothing_about_the_whole_gradient():
    zeros, half = Evidence(G, 0 * G, 1e-9, partial=True), Evidence(G, 0.5 * G, 1e-9, partial=True)
    assert diagnose(zeros).name != 'detached' and diagnose(half).text.endswith('times the gradient where it is wrong')
