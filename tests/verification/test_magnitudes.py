"""A short campaign at all magnitudes, and what it is made of; the long one is slow."""

from __future__ import annotations

import collections
import dataclasses

import numpy as np
import pytest

import minichainer.functions as F
from minichainer.variable import Variable
from tests.verification import magnitudes
from tests.verification.catalogue import exact_slopes, extreme_values, twins
from tests.verification.catalogue.extreme_points import point
from tests.verification.planting import node

SEED, POINTS = 11, 150
WAYS = list(magnitudes.WAYS)
RUNS = 20_000
#: Points that take from a second to a minute, and how many there are in the short run.
LONG, SHORT = {9, 12, 14, 22, 36, 37, 50, 58, 61, 63, 67, 71, 91, 96, 118}, 70
#: Goals of the long campaign, as shares of runs.
UNDECIDED, FOUND = 0.01, 0.99


def is_slow(number):
    return number in LONG or number >= SHORT


@pytest.mark.parametrize('number', [pytest.param(n, marks=[pytest.mark.slow] * is_slow(n)) for n in range(POINTS)])
def test_right_functions_pass_and_their_twins_fail(number):
    p = point(SEED, number)
    ways = [WAYS[number % len(WAYS)], 'check_gradients']
    outcomes = list(magnitudes.run_point(p, ways))
    bad = [o for o in outcomes if o.what in magnitudes.BAD]
    assert bad == [], '\n'.join(f'{o.what}: {o.verdict}\n{o.said}\n{o.again}' for o in bad)


#: Points of the campaign (its seed, and number) at which right functions were once refused.
ONCE_REFUSED = [(809, 100, 'check_backward'), (810, 39, 'check_gradients'), (903, 69, 'check_gradients')]


@pytest.mark.parametrize(('seed', 'number', 'way'), ONCE_REFUSED)
def test_points_at_which_right_functions_were_refused(seed, number, way):
    p = point(seed, number)
    verdict, said = magnitudes.ask(p, way, p.subject.func)
    assert verdict != 'fail', said


def test_a_right_gradient_of_which_nothing_is_left_has_no_number_of_digits():
    p = point(810, 39)
    _, said = magnitudes.ask(p, 'check_gradients', p.subject.func)
    assert 'are right, but some lose all their digits to rounding.' in said


@pytest.mark.slow
@pytest.mark.parametrize('seed', range(1, 11))
def test_long_campaign(seed):
    """A tenth of it for each seed."""
    outcomes = magnitudes.campaign(RUNS // 10, seed)
    counts = collections.Counter(o.what for o in outcomes)
    undecided = counts[magnitudes.KINK] + counts[magnitudes.UNRESOLVED]
    wrong = sum(counts[f'twin {what}'] for what in ('found', 'missed', 'undecided'))
    text = magnitudes.table(outcomes)
    assert not any(counts[what] for what in magnitudes.REFUSED), text
    assert undecided <= UNDECIDED * RUNS / 10, text
    assert counts['twin found'] >= FOUND * wrong, text


# --- the instrument itself ---


def test_points_are_the_same_for_the_same_numbers():
    first, second = point(3, 4), point(3, 4)
    assert str(first) == str(second)
    assert all(np.array_equal(a, b) for a, b in zip(first.arrays, second.arrays, strict=True))


def test_all_kinds_of_values_dtypes_and_orders_of_bytes_occur():
    points = [point(5, number) for number in range(300)]
    assert {p.kind for p in points} == set(extreme_values.KINDS)
    assert {p.dtype for p in points} == set('efd') and {p.order for p in points} == set('=>')
    assert {0, 1, 13, 400} <= {a.size for p in points for a in p.arrays}
    sizes = np.concatenate([abs(a[a != 0]).astype('d').ravel() for p in points for a in p.arrays])
    assert sizes.min() < 1e-300 and sizes.max() > 1e150


RIGHT = {
    'log beside 1': (F.log, [1e-19, 0.3, 0.7]),
    'square of 1e-200': (lambda x: x * x, [1e-200, 2e-200]),
    'saturated': (F.tanh, [178.9, 9.65]),
    'log of nearly 0': (lambda x: F.log(x + 1e-19), [0.0, 1.0, 2.0]),
    'nearly tied': (lambda x: F.max(x), [1.0, 1 + 1e-9, -3.0]),
    'nearly at a kink': (lambda x: F.clip(x, -1.0, 1.0), [1 - 1e-10, 0.3, 2.0]),
    'far beyond 50 digits': (lambda x: F.log(1 + x * x), [1e-100, 1e100]),
}


@pytest.mark.parametrize('name', RIGHT)
def test_right_gradients_are_proved(name):
    func, x = RIGHT[name]
    proof = exact_slopes.prove(func, [np.array(x)], [np.ones(func(np.array(x)).shape)])
    assert proof.right and not proof.kink


@pytest.mark.parametrize('factor', [1.0001, 0.0, -1.0])
@pytest.mark.parametrize('element', [0, 1, 2])
def test_wrong_elements_are_disproved(element, factor):
    def backward(xs, gy):
        gx = gy / xs[0]
        gx[element] *= factor
        return gx

    x = np.array([1e-19, 0.3, 1e10])
    found = exact_slopes.slopes_of(node(np.log, backward), [x], [np.array([1.0, 1e19, 1e30])])
    assert found is not None and np.allclose(found[0].slopes, [1e19, 1e19 / 0.3, 1e20], rtol=1e-12)
    assert not exact_slopes.prove(node(np.log, backward), [x], [np.array([1.0, 1e19, 1e30])]).right


def test_a_kink_is_proved():
    proof = exact_slopes.prove(F.relu, [np.array([0.0, 1.0])], [np.ones(2)])
    assert proof.kink


def test_numbers_have_50_digits_again_afterwards():
    third = exact_slopes.numbers(np.array([1.0])) / 3
    with exact_slopes.many_digits():
        assert ((exact_slopes.numbers(np.array([1.0])) / 3) != third).all()
    assert ((exact_slopes.numbers(np.array([1.0])) / 3) == third).all()


@pytest.mark.parametrize('fault', twins.FAULTS)
def test_twins_have_the_values_of_the_right_function_and_wrong_gradients(fault):
    x, rng = np.array([0.3, -0.7, 1.1]), np.random.RandomState(0)
    right = 1 - np.tanh(x) ** 2
    twin = twins.plant(fault, F.tanh, [x], [right], 1.0, rng)
    variable = Variable(x)
    y = twin.func(variable)
    y.grad = np.ones(3)
    y.backward()
    assert np.array_equal(y.array, np.tanh(x)) and not twin.faint
    found = variable.grad
    if twin.order == 2:
        assert np.allclose(found, right, rtol=1e-12)
    else:
        assert found is None or not np.allclose(found, right, rtol=1e-4)


def test_a_fault_in_a_faint_element_is_faint():
    x = np.array([1e-14, 1.0])
    found = [
        twins.plant('element lost', lambda x: x * x, [x], [2 * x], 1.0, np.random.RandomState(s)) for s in range(9)
    ]
    assert all(t.faint == t.name.endswith('[0]') for t in found)


def test_contradictions_are_pass_against_fail():
    seen = {'check_gradients': 'pass', 'gradcheck': 'fail', 'check_gradients, order 2': 'pass'}
    assert magnitudes.contradictions(seen) == [('gradcheck', 'fail')]
    assert magnitudes.contradictions({'check_gradients': 'pass', 'gradcheck': 'unresolved'}) == []
    assert magnitudes.contradictions({'check_gradients': 'pass', 'gradgradcheck': 'fail'}) == []
    assert magnitudes.contradictions({'check_gradients': 'fail', 'gradgradcheck': 'pass'}) != []


def test_the_table_names_each_class_with_a_command():
    outcomes = magnitudes.campaign(20, 3)
    refused = dataclasses.replace(outcomes[0], what='refused', verdict='fail', said='a\nb\nc')
    text = magnitudes.table([*outcomes, refused])
    assert 'refused' in text and f'--show {refused.seed}:{refused.number}' in text
