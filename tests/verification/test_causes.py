"""The names of causes, scored over wrong rules of many ops: those used for developing the diagnosis, and others."""

from __future__ import annotations

import collections
import dataclasses
import time

import numpy as np
import pytest

import minichainer.functions as F
from minichainer.gradient_check import check_gradients
from minichainer.verification.diagnosis.rearrangements import rearrangements
from tests.verification.catalogue.wrong_rules import Node, WrongRule, is_named, is_wrong, named, normal
from tests.verification.catalogue.wrong_rules_seen import SEEN, one, rnn, rnn_draw, rnn_limited
from tests.verification.catalogue.wrong_rules_unseen import UNSEEN

#: The share of runs with a right name, and the largest share with a wrong one; the rest is "unknown".
RIGHT, WRONG = 0.95, 0.01
VAGUE = ('unknown', 'missing term')


def score(rules, seeds):
    """The shares of right and of wrong names, and a table of those that are not right."""
    runs = [(rule, named(rule, seed)) for rule in rules for seed in seeds]
    others = collections.Counter()
    wrong = 0
    for rule, causes in runs:
        if not is_named(rule, causes):
            names = tuple(sorted({cause.partition(':')[0] for cause in causes}))
            others[rule.name, names] += 1
            wrong += any(name not in (*VAGUE, *rule.names) for name in names)
    return 1 - sum(others.values()) / len(runs), wrong / len(runs), others


@pytest.mark.parametrize('rule', SEEN + UNSEEN, ids=str)
def test_the_rules_are_wrong(rule):
    assert all(is_wrong(rule, seed) for seed in range(3))


def test_names_are_given_once():
    names = collections.Counter(rule.name for rule in SEEN + UNSEEN)
    assert [name for name, count in names.items() if count > 1] == []
    assert len(UNSEEN) >= 60


@pytest.mark.parametrize('rules', [SEEN, UNSEEN], ids=['seen', 'unseen'])
def test_causes(rules):
    right, wrong, others = score(rules[::12], range(1))
    assert right >= RIGHT and wrong <= WRONG, others


@pytest.mark.slow
@pytest.mark.parametrize('rules', [SEEN, UNSEEN], ids=['seen', 'unseen'])
def test_causes_on_three_seeds(rules):
    """Of the unseen ones 219 of 228 runs (96 %) had a right name the first time, and 3 a wrong one."""
    right, wrong, others = score(rules, range(3))
    assert right >= RIGHT and wrong <= WRONG, others


# --- other mistakes do not get these names ---


def other_data(at):
    """The gradient at a point nearby."""

    def wrong(xs, gy, right):
        rng = np.random.RandomState(7)
        return right([np.asarray(x * rng.uniform(0.9, 1.1, x.shape)) for x in xs], gy)[at]

    return wrong


def random_jacobian(at):
    def wrong(xs, gy, right):
        g, rng = right(xs, gy)[at], np.random.RandomState(7)
        return g + 0.3 * np.tensordot(rng.normal(size=g.shape + gy.shape), gy, gy.ndim)

    return wrong


def random_factors(at):
    def wrong(xs, gy, right):
        g = right(xs, gy)[at]
        return g * np.random.RandomState(7).uniform(0.5, 1.5, g.shape)

    return wrong


def random_upstream(at):
    def wrong(xs, gy, right):
        return right(xs, gy * np.random.RandomState(7).uniform(0.5, 1.5, gy.shape))[at]

    return wrong


def misnamed(rules, mistake, seed=1):
    """The names of causes for a mistake that has none."""
    found = []
    for rule in rules:
        at = rule.at or 0
        changed = dataclasses.replace(rule, at=at, wrong=mistake(at), name=f'{rule.name}, {mistake.__name__}')
        if is_wrong(changed, seed):
            names = {cause.partition(':')[0] for cause in named(changed, seed)} - {*VAGUE, 'factor'}
            found += [(changed.name, name) for name in sorted(names)]
    return found


@pytest.mark.parametrize('mistake', [other_data, random_jacobian, random_factors, random_upstream])
def test_other_mistakes_get_no_such_name(mistake):
    assert misnamed((SEEN + UNSEEN)[::80], mistake) == []


@pytest.mark.slow
@pytest.mark.parametrize('mistake', [other_data, random_jacobian, random_factors, random_upstream])
def test_other_mistakes_get_no_such_name_in_any_op(mistake):
    rules = SEEN + UNSEEN
    assert len(misnamed(rules, mistake)) <= WRONG * len(rules)


# --- what the causes say ---


def found(call, draw, at, wrong, seed=0, n=None):
    rule = WrongRule('', '', call, draw, at, wrong, ())
    inputs = draw(np.random.RandomState(seed), n or 5)
    return check_gradients(lambda *xs: Node(rule).apply(xs)[0], inputs, seed=seed).failures[0].cause


def pair(r, n):
    return normal(r, n, n), normal(r, n, n)


def rows(r, n):
    return normal(r, n, 3), normal(r, 3, 2)


SENTENCES = {
    'a transpose': (
        (F.matmul, pair, 0, lambda xs, gy, r: gy @ xs[1]),
        'transposed: backward uses inputs[1] transposed',
    ),
    'a transposed upstream gradient': (
        (F.matmul, pair, 0, lambda xs, gy, r: gy.T @ xs[1].T),
        'transposed: backward uses the upstream gradient transposed',
    ),
    'a row': (
        (F.matmul, rows, 1, lambda xs, gy, r: xs[0][:-1].T @ gy[:-1]),
        'left out: backward ignores index 4 of axis 0 of the upstream gradient; the rest is right',
    ),
    'one slice': (
        (F.exp, one(3, None), 0, lambda xs, gy, r: gy * np.exp(xs[0]) * (np.arange(5) != 2)),
        'one slice: backward gives zeros at index 2 of axis 1; the rest is right',
    ),
    'padding': (
        (lambda x: F.pad(x, 1, 'constant'), one(None), 0, lambda xs, gy, r: gy[:-2]),
        'shifted: for each index of axis 0, backward uses the upstream gradient 1 before the right one: off by 1?',
    ),
    'a logarithm': (
        (
            lambda x, p: x ** F.broadcast_to(p, x.shape),
            lambda r, n: (r.uniform(0.5, 2, (n, 3)), r.normal(size=3)),
            1,
            lambda xs, gy, r: (xs[0] ** xs[1] * gy).sum(0),
        ),
        'factor: the factor log(inputs[0]) is missing in what backward gives, in each term',
    ),
    'a recurrence': (
        (rnn, rnn_draw, None, lambda xs, gy, r: rnn_limited(xs, gy, 3)),
        'truncated: the gradient goes back 2 steps only, in backward, from each index of axis 0',
    ),
    'an axis': (
        (lambda x: F.cumsum(x, 1), one(3, None), 0, lambda xs, gy, r: np.cumsum(gy[::-1], 0)[::-1]),
        'wrong axis: backward gives the gradient of the function with axes 0 and 1 exchanged: computed along the '
        'wrong one?',
    ),
}


@pytest.mark.parametrize('name', SENTENCES)
def test_sentences(name):
    arguments, sentence = SENTENCES[name]
    assert found(*arguments) == sentence


def test_a_tiny_error_is_not_explained_by_symmetry():
    """The gradient of a sum is the same in any order: no rearrangement explains an error of 1e-6."""
    error = np.random.RandomState(0).normal(size=(4, 4))
    cause = found(F.sum, one(4, 4), 0, lambda xs, gy, r: gy * (1 + 1e-6 * error))
    assert cause.partition(':')[0] in VAGUE


def test_ten_thousand_elements_take_less_than_a_second():
    rule = WrongRule('', '', F.matmul, pair, 0, lambda xs, gy, r: gy @ np.tanh(xs[1]).T, ())
    inputs = pair(np.random.RandomState(0), 100)
    start = time.process_time()
    report = check_gradients(lambda *xs: Node(rule).apply(xs)[0], inputs, seed=0)
    assert report.failures[0].cause.partition(':')[0] in VAGUE
    # 0.4 s: the diagnosis, and a call for what depends on each element.
    assert report.forward_calls < 2200 and time.process_time() - start < 5


def test_rearrangements_are_distinct_and_put_back():
    array = np.arange(24.0).reshape(2, 3, 4)
    moved = rearrangements(array.shape)
    assert len({r(array).tobytes() for r in moved}) == len(moved) > 30
    for r in moved:
        if (r.indices >= 0).all():
            np.testing.assert_array_equal(r.undo(r(array)), array, err_msg=r.text)
