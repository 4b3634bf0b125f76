"""The checker against the catalogue: every planted fault is found and told right, no right function is blamed."""

from __future__ import annotations

import collections
import re

import pytest

from tests.verification.catalogue import causes, scoring, truth
from tests.verification.catalogue.bases import BASES, SQUARE_TIMES
from tests.verification.catalogue.entry import Case, Correct, Planted, raw
from tests.verification.catalogue.everything import BEYOND, CORRECT, PLANTED
from tests.verification.catalogue.planting import bug

SHORT = (4, 4)  # square, so that every entry can be built
SHAPES = [(3, 4), (4, 4), (30, 40)]
#: A share of runs, for the goals that are no absolutes.
EXACT, CAUSE, UNRESOLVED = 0.99, 0.90, 0.01
#: Where "unresolved" is accepted too, so many runs must end with another verdict.
MOSTLY = 0.6
SEEN = [entry for entry in PLANTED if not entry.unseen]
#: These take from half a second to ten seconds each.
LONG = {
    'LSTM: forget gate without 1 - y', 'convolution_2d, constants at second order', 'GRU: update gate negated',
    'LSTM: forget gate negated', 'convolution: gradient of the first image alone',
    'almost right: Hilbert matrix, times 1 + 1e-12', 'almost right: Hilbert matrix, times 1 + 1e-9',
    'convolution: an element of the hidden layer times 1.01', 'LSTM: forget gate times 1.001',
    'almost right: Hilbert matrix, times 1 + 1e-6', 'linear, constants at second order',
    'softmax_cross_entropy, constants at second order', 'divide, constants at second order',
    'softmax, constants at second order', 'logsumexp, constants at second order',
    'matmul, constants at second order', 'residual block: branch not differentiated',
    'classifier: gradient negated', 'almost right: the iterate before the last',
}  # fmt: skip
#: Families in which faults of one kind are planted into several functions; their names say both.
PRODUCTS = ('mutation', 'plateau', 'small')


def built(entries, shape, dtypes='efd'):
    return [(e, d) for d in dtypes for e in scoring.entries_for(entries, shape, d)]


def parts(name):
    """The function and the fault of a product."""
    return set(re.split(', |: (?:gradient of an element of [^ ]* )?', name))


def of_the_short_run():
    """Names of entries, without those that take long and most of the products: there are others of their kind.

    Of products, every fifth, and the first one of each function and of each fault.
    """
    seen = {family: set() for family in PRODUCTS}
    for number, entry in enumerate(e for e in SEEN if e.name not in LONG):
        if entry.family not in PRODUCTS:
            yield entry.name
        elif number % 5 == 0 or not parts(entry.name) <= seen[entry.family]:
            seen[entry.family] |= parts(entry.name)
            yield entry.name


QUICK = set(of_the_short_run())


def quick(cases, names=QUICK):
    """The cases, those with other names as slow tests."""
    return [pytest.param(e, d, marks=[] if e.name in names else [pytest.mark.slow]) for e, d in cases]


def planted():
    """Each entry in float64, and some in float32; the short run has a part of both."""
    single = built(SEEN, SHORT, 'f')[::8]
    return quick(built(SEEN, SHORT, 'd')) + quick(single, {e.name for e, _ in single[::3]} & QUICK)


def right():
    """Each right function in each dtype, in the short run in the greatest."""
    greatest = one_dtype(CORRECT, SHORT)
    others = [case for case in built(CORRECT, SHORT) if case not in greatest]
    return [*greatest, *(pytest.param(e, d, marks=pytest.mark.slow) for e, d in others)]


def one_dtype(entries, shape):
    """Each entry once, in the greatest of its dtypes."""
    return [(e, max(e.dtypes, key='efd'.index)) for e in entries if e.fits(shape, max(e.dtypes, key='efd'.index))]


def name(value):
    return value.name if hasattr(value, 'name') else str(value)


def seed_of(entry):
    """Another one for each entry, the same in every run."""
    return sum(map(ord, entry.name)) % 1000


# --- the entries prove themselves ---


def test_there_are_enough_entries_of_every_family():
    families = collections.Counter(entry.family for entry in PLANTED)
    assert set(families) == {
        'value', 'structure', 'linearity', 'dtype', 'shape', 'second order', 'nondeterministic', 'in place', 'stale',
        'element', 'mutation', 'network', 'condition', 'together', 'layout', 'history', 'surroundings',
        'forward mode', 'batched', 'complex', 'sparse', 'precision', 'found', 'plateau', 'small', 'frozen',
        'unregistered', 'exception',
    }  # fmt: skip
    assert len(PLANTED) - families['mutation'] - families['network'] >= 60
    assert families['mutation'] >= 80 and len(CORRECT) >= 60


@pytest.mark.parametrize('family', PRODUCTS)
def test_the_short_run_has_each_function_and_each_fault_of_products(family):
    names = {e.name for e in SEEN if e.family == family}
    assert set.union(*map(parts, names & QUICK)) == set.union(*map(parts, names))
    assert len(names & QUICK) < len(names) / 2


def test_no_name_is_given_twice():
    names = collections.Counter(entry.name for entry in PLANTED + CORRECT + BEYOND)
    assert [n for n, count in names.items() if count > 1] == []


@pytest.mark.parametrize('base', BASES, ids=name)
def test_bases_have_the_right_gradient(base):
    """By the complex step: what the planted faults are measured against."""

    def build(shape, dtype, seed):
        inputs = base.draw(shape, truth.np.random.RandomState(seed))
        return Case(raw(base.forward, base.vjp), inputs, None, base.forward)

    for shape in [(3, 4), (5, 5)]:
        entry = Correct(base.name, 'base', build, tolerance=1e-12)
        truth.prove_correct(entry, build(shape, 'd', 1))


@pytest.mark.parametrize(('entry', 'dtype'), one_dtype(PLANTED + BEYOND + CORRECT, SHORT), ids=name)
def test_entries_are_what_they_say(entry, dtype):
    scoring.prove(entry, SHORT, dtype, seed_of(entry))


def test_a_planted_fault_that_is_none_is_refused():
    entry = bug('none at all', SQUARE_TIMES, lambda g, xs, gys: g[0] * (1 + 1e-15))
    with pytest.raises(truth.Contradiction, match='none at all: has the right gradient'):
        truth.prove_planted(entry, entry.build(SHORT, 'd', 0))


def test_a_planted_fault_at_another_place_is_refused():
    entry = bug('elsewhere', SQUARE_TIMES, lambda g, xs, gys: [g[0], 2 * g[1]], at=None)
    entry = Planted('elsewhere', 'value', entry.build, at=0)
    with pytest.raises(truth.Contradiction, match=r'wrong in inputs \[1\], not in 0'):
        truth.prove_planted(entry, entry.build(SHORT, 'd', 0))


@pytest.mark.parametrize('entry', [e for e in PLANTED if e.family == 'value' and 'd' in e.dtypes][::5], ids=name)
def test_a_wrong_function_is_not_proved_correct(entry):
    with pytest.raises(truth.Contradiction, match='gradient of input'):
        truth.prove_correct(Correct(entry.name, '', entry.build), entry.build(SHORT, 'd', 0))


def test_what_cannot_be_seen_has_its_arithmetic():
    unseen = [entry for entry in PLANTED if entry.unseen]
    assert len(unseen) < 5
    assert all(entry.native and any(c.isdigit() for c in entry.unseen) for entry in unseen)


def test_causes_are_read_from_the_short_name():
    assert causes.says('factor: backward gives twice the gradient', (causes.FACTOR,))
    assert not causes.says('unknown: no factor explains it', (causes.FACTOR,))
    assert not causes.says('missing_term: x', (causes.NONE,)) and causes.says('missing: None', (causes.NONE,))


# --- the checker ---


@pytest.mark.parametrize(('entry', 'dtype'), planted(), ids=name)
def test_planted_faults_are_caught(entry, dtype):
    outcome = scoring.run(entry, SHORT, dtype, seed_of(entry))
    assert outcome.right, outcome
    assert outcome.exact is not False, outcome


@pytest.mark.parametrize(('entry', 'dtype'), right(), ids=name)
def test_right_functions_pass(entry, dtype):
    outcome = scoring.run(entry, SHORT, dtype, seed_of(entry))
    assert outcome.right, outcome


@pytest.mark.parametrize('step', [20, pytest.param(1, marks=pytest.mark.slow)])
def test_causes_are_told_right(step):
    entries = [e for e in scoring.entries_for(PLANTED, SHORT, 'd') if e.causes]
    outcomes = [scoring.run(e, SHORT, 'd', 3) for e in entries[::step]]
    wrong = [(o.name, o.said) for o in outcomes if o.cause is False]
    assert len(wrong) <= (1 - CAUSE) * len(outcomes), wrong


@pytest.mark.parametrize('family', ['element', 'linearity', 'in place'])
def test_one_run_is_worth_another(family):
    """The same seed, the same outcome."""
    entry = next(e for e in PLANTED if e.family == family)
    first, second = (scoring.run(entry, SHORT, 'd', 5) for _ in range(2))
    assert (first.verdict, first.calls, first.said) == (second.verdict, second.calls, second.said)


# --- the same, long ---


@pytest.mark.slow
@pytest.mark.parametrize(('entry', 'shape'), [(e, s) for s in SHAPES for e in SEEN if e.fits(s, 'd')], ids=name)
def test_planted_faults_are_caught_on_20_seeds(entry, shape):
    outcomes = [scoring.run(entry, shape, 'd', seed) for seed in range(20)]
    assert [o for o in outcomes if not o.right] == []
    assert sum(o.verdict != 'unresolved' for o in outcomes) >= MOSTLY * len(outcomes), outcomes
    exact = [o.exact for o in outcomes if o.exact is not None]
    assert sum(exact) >= EXACT * len(exact), outcomes


@pytest.mark.slow
@pytest.mark.parametrize('factor', [0.0, 1.1, 1.001])
@pytest.mark.parametrize('shape', [(10, 1), (10, 100), (100, 100), (250, 400)], ids=str)
def test_one_wrong_element_is_found_at_any_size(shape, factor):
    for seed in range(5):
        place = (seed * 7919) % (shape[0] * shape[1])
        entry = one_element(place, factor)
        outcome = scoring.run(entry, shape, 'd', seed)
        assert outcome.right and outcome.exact, outcome


def one_element(place, factor):
    """``x*x*w`` with one element of the gradient of x multiplied by ``factor``."""

    def wrong(g, xs, gys):
        g = g[0].copy()
        g.flat[place] *= factor
        return g

    return bug(f'element {place} times {factor}', SQUARE_TIMES, wrong, family='element')


@pytest.mark.slow
def test_no_false_alarm():
    """All right functions, at three shapes, in all dtypes, on ten seeds."""
    outcomes = [
        scoring.run(entry, shape, dtype, seed)
        for shape in SHAPES
        for entry, dtype in built(CORRECT, shape)
        for seed in range(10)
    ]
    alarms = [o for o in outcomes if not o.right and o.verdict != 'unresolved']
    unresolved = [o for o in outcomes if not o.right and o.verdict == 'unresolved']
    assert alarms == []
    assert len(unresolved) <= UNRESOLVED * len(outcomes), unresolved
