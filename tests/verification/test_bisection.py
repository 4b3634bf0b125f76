"""Halving finds exactly the wrong elements, and at what cost."""

from __future__ import annotations

import numpy as np
import pytest

from minichainer.verification.bisection import wrong_elements


def asker(error, seed=0):
    """A question about a part: the signed sum of its errors, as a directional derivative sees them."""
    rng = np.random.RandomState(seed)

    def badness(part):
        v = np.copysign(rng.uniform(0.5, 1, len(part)), rng.uniform(-1, 1, len(part)))
        return abs((error[part] * v).sum()) * 1e3

    return badness


@pytest.mark.parametrize('n', [1, 2, 7, 1200, 100_000])
@pytest.mark.parametrize('count', [0, 1, 2, 5])
def test_exactly_the_wrong_ones_are_found(n, count):
    for seed in range(5):
        rng = np.random.RandomState(seed)
        wrong = rng.choice(n, min(n, count), replace=False)
        error = np.zeros(n)
        error[wrong] = rng.uniform(0.1, 1, len(wrong))
        found = wrong_elements(asker(error, seed), n)
        assert sorted(found.indices) == sorted(wrong)
        assert found.complete
        assert found.questions <= 1 + 2 * max(count, 1) * (np.log2(n) + 2)


def test_the_worst_comes_first():
    error = np.zeros(1000)
    error[[5, 500, 900]] = 0.1, 10, 1
    assert wrong_elements(asker(error), 1000).indices == (500, 900, 5)


def test_equal_and_opposite_errors_are_found():
    error = np.zeros(64)
    error[[10, 11]] = 0.5, -0.5
    assert all(sorted(wrong_elements(asker(error, s), 64).indices) == [10, 11] for s in range(50))


def test_errors_that_cancelled_are_asked_for_again():
    answers = iter([5.0, 0.0, 0.0, 5.0, 0.0])
    found = wrong_elements(lambda part: next(answers), 2)
    assert found.indices == (0,) and found.complete


def test_an_error_that_cannot_be_found_again_is_not_called_complete():
    answers = iter([5.0] + [0.0] * 10)
    found = wrong_elements(lambda part: next(answers), 8)
    assert found.indices == () and not found.complete and found.questions == 5


def test_many_wrong_elements_stop_the_search():
    found = wrong_elements(asker(np.ones(10_000)), 10_000, max_found=10)
    assert len(found.indices) == 10 and not found.complete
    assert found.questions < 300


def test_the_number_of_questions_is_limited():
    found = wrong_elements(asker(np.ones(10_000)), 10_000, max_questions=50)
    assert found.questions <= 54 and not found.complete


def test_nan_is_wrong():
    error = np.zeros(100)
    error[42] = np.nan
    found = wrong_elements(asker(error), 100)
    assert found.indices == (42,) and found.badness == (np.inf,)


def test_nothing_to_ask():
    found = wrong_elements(asker(np.zeros(0)), 0)
    assert found.indices == () and found.complete and found.questions == 0
