"""What ``strictness='chainer'`` accepts, with a warning, and what fails with both values."""

from __future__ import annotations

import sys
import threading
import types
import warnings

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F
import minichainer.links as L
from minichainer import testing
from minichainer.errors import GradientCheckLeniencyWarning
from minichainer.gradient_check import (
    GradcheckError,
    check_backward,
    check_double_backward,
    check_gradients,
    gradcheck,
    gradgradcheck,
    self_test,
)
from tests.verification.catalogue import scoring
from tests.verification.catalogue.everything import PLANTED
from tests.verification.planting import node, square, uniform

X = uniform(3, 4)
SINGLE = X.astype('f')


# --- conducts: each makes a function from a factor, with which backward is right if it is 1 ---


def stale(c):
    shared = types.SimpleNamespace()

    def forward(x):
        shared.x = x
        return x * x

    return node(forward, lambda xs, gy: 2 * c * shared.x * gy)


def noisy(forward=0.0, backward=0.0):
    def make(c):
        rng = np.random.RandomState(0)

        def noise(size, x):
            return size * rng.uniform(-1, 1, x.shape)

        return node(
            lambda x: x * x + noise(forward, x),
            lambda xs, gy: 2 * c * xs[0] * gy + noise(backward, gy),
        )

    return make


def at_home(c):
    home = threading.get_ident()
    return square(lambda x, gy: 2 * c * x * gy * (1 if threading.get_ident() == home else 1.5))


def configured(c):
    return square(lambda x, gy: 2 * c * x * gy * (1 if chainer.config.train else 1.5))


class LaidOut(chainer.FunctionNode):
    takes_any_layout = True

    def __init__(self, factor):
        self.factor = factor

    def forward(self, inputs):
        self.retain_inputs((0,))
        return (inputs[0] ** 2,)

    def backward(self, indexes, gys):
        x, gy = self.get_retained_inputs()[0].array, gys[0].array
        return (chainer.Variable(2 * self.factor * x * gy * (1.5 if 0 in gy.strides else 1)),)


def laid_out(c):
    return lambda x: LaidOut(c).apply((x,))[0]


def in_place(c):
    def forward(x):
        np.maximum(x, 0, out=x)
        return x.copy()

    return node(forward, lambda xs, gy: c * gy * (xs[0] > 0))


def needs_all(c):
    return node(lambda x: (x * x, x**3), lambda xs, g, h: c * (2 * xs[0] * g + 3 * xs[0] ** 2 * h))


def inaccurate(c):
    def rule(x, gy):
        return (2 * c * x * gy * (1 + 6e-5 * (gy.dtype == 'f'))).astype(gy.dtype)

    return square(rule)


#: Name: function of a factor, input, verdict of "strict", beginning of the cause, further options.
LENIENT = {
    'stale cache': (stale, X, 'fail', 'stale cache: ', {}),
    'noise in forward': (noisy(forward=1e-8), X, 'nondeterministic', 'nondeterministic: ', {}),
    'noise in backward': (noisy(backward=1e-7), X, 'nondeterministic', 'nondeterministic: ', {}),
    'thread': (at_home, X, 'fail', 'depends on thread: ', {}),
    'config': (configured, X, 'fail', 'depends on config: ', {}),
    'layout': (laid_out, X, 'fail', 'depends on layout: ', {}),
    'in place': (in_place, X, 'input_modified', 'modified in place: the forward pass', {}),
    'no upstream gradient': (needs_all, X, 'fail', 'undefined upstream gradient: ', {}),
    'less accurate in float32': (inaccurate, SINGLE, 'fail', 'dtype: in float32', {}),
}


def checked(func, x, strictness, **options):
    """The report, and the warnings about leniencies."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter('always')
        report = check_gradients(func, x, strictness=strictness, **options)
    return report, [w for w in caught if w.category is GradientCheckLeniencyWarning]


@pytest.mark.parametrize('seed', range(3))
@pytest.mark.parametrize('name', LENIENT)
def test_what_chainer_accepts_is_a_warning(name, seed):
    make, x, verdict, cause, options = LENIENT[name]
    strict, caught = checked(make(1), x, 'strict', seed=seed, **options)
    assert (strict.verdict, strict.strictness, strict.accepted, caught) == (verdict, 'strict', [], [])
    assert strict.failures[0].cause.startswith(cause)

    lenient, caught = checked(make(1), x, 'chainer', seed=seed, **options)
    assert (lenient.verdict, lenient.strictness, lenient.failures) == ('pass', 'chainer', [])
    assert lenient.failure_count == 0 and lenient.complete
    assert lenient.accepted[0].cause.startswith(cause)
    assert caught[0].filename == __file__
    assert f"Accepted with strictness='chainer': {cause}" in str(caught[0].message)
    assert f"With 'strict' the verdict is {verdict!r}." in str(caught[0].message)


WRONG = {'factor': 1.1, 'slightly': 1.01, 'sign': -1, 'zero': 0}


@pytest.mark.parametrize('wrong', WRONG)
@pytest.mark.parametrize('name', LENIENT)
def test_a_wrong_gradient_fails_whatever_else_there_is(name, wrong):
    make, x, _, _, options = LENIENT[name]
    for strictness in ('strict', 'chainer'):
        report, caught = checked(make(WRONG[wrong]), x, strictness, seed=0, **options)
        assert not report and report.accepted == [] and caught == []


@pytest.mark.parametrize('index', [(0, 0), (1, 2), (2, 3)])
@pytest.mark.parametrize('name', [n for n in LENIENT if n != 'in place'])
def test_one_wrong_element_fails(name, index):
    make, x, _, _, options = LENIENT[name]
    factor = np.ones(x.shape, x.dtype)
    factor[index] = 1.1
    for strictness in ('strict', 'chainer'):
        report, caught = checked(make(factor), x, strictness, seed=0, **options)
        assert not report and caught == []


def silent(xs, g, h, k):
    return 0 * xs[0] if h is None else 2 * xs[0] * weigh(g) + 3 * xs[0] ** 2 * h + weigh(k)


def weigh(g):
    return 0 if g is None else g


def spoilt(x, gy):
    gx = 2 * x * gy
    gy[...] = 0
    return gx


#: What 'chainer' never accepts: function and verdict.
NEVER = {
    'not linear': (square(lambda x, gy: 2 * x * abs(gy)), 'fail'),
    'added': (square(lambda x, gy: 2 * x * gy + 1e-6), 'fail'),
    'dropout': (lambda x: F.dropout(x * x, 0.5), 'nondeterministic'),
    'loud noise': (noisy(forward=1e-5)(1), 'nondeterministic'),
    'loud noise in backward': (noisy(backward=1e-3)(1), 'nondeterministic'),
    'None is not zeros': (node(lambda x: (x * x, x**3, x + 1), silent), 'fail'),
    'upstream gradient modified': (square(spoilt), 'input_modified'),
    'shape': (square(lambda x, gy: (2 * x * gy)[:1]), 'fail'),
    'dtype': (square(lambda x, gy: (2 * x * gy).astype('f')), 'fail'),
    'not finite': (square(lambda x, gy: 2 * x * gy + np.where(x > 0, np.nan, 0)), 'fail'),
    'kink': (lambda x: F.absolute(x - X[0, 0]), 'nondifferentiable'),
}


@pytest.mark.parametrize('name', NEVER)
def test_what_is_never_accepted(name):
    func, verdict = NEVER[name]
    for strictness in ('strict', 'chainer'):
        report, caught = checked(func, X, strictness, seed=0)
        assert (report.verdict, report.accepted, caught) == (verdict, [], [])


def test_zeros_do_not_agree_with_a_slope_that_rounding_hides():
    home = threading.get_ident()
    func = node(lambda x: 1e17 + x, lambda xs, gy: gy * (threading.get_ident() != home))
    for strictness in ('strict', 'chainer'):
        report, caught = checked(func, X, strictness, seed=0, precise=False)
        assert not report and caught == []
        assert report.failures[0].cause.startswith('depends on thread: ')


def test_modes_that_chainer_does_not_have_are_never_skipped():
    for options in ({'check_forward_ad': True}, {'check_batched_grad': True}):
        assert checked(stale(1), X, 'chainer', seed=0, **options)[0].verdict == 'fail'


def test_higher_orders_are_checked_after_a_leniency():
    def thrice(rule):
        shared = types.SimpleNamespace()

        class Node(chainer.FunctionNode):
            def forward(self, inputs):
                self.retain_inputs((0,))
                shared.array = inputs[0]
                return (inputs[0] ** 3,)

            def backward(self, indexes, gys):
                (x,) = self.get_retained_inputs()
                return (rule(x, gys[0], shared.array / x.array),)

        return lambda x: Node().apply((x,))[0]

    right = thrice(lambda x, gy, one: 3 * one * x * x * gy)
    wrong = thrice(lambda x, gy, one: 3 * one * x * x.array * gy)
    report, caught = checked(right, X, 'chainer', order=2, seed=0)
    assert report and {f.order for f in report.accepted} == {1} and len(caught) == 1
    report, caught = checked(wrong, X, 'chainer', order=2, seed=0)
    assert report.verdict == 'fail' and report.failures[0].order == 2 and len(caught) == 1


def test_higher_orders_of_outputs_that_need_each_other():
    def powers(rule):
        class Node(chainer.FunctionNode):
            def forward(self, inputs):
                self.retain_inputs((0,))
                return inputs[0] ** 2, inputs[0] ** 3

            def backward(self, indexes, gys):
                (x,) = self.get_retained_inputs()
                return (2 * rule(x) * gys[0] + 3 * x * x * gys[1],)

        return lambda x: Node().apply((x,))

    for rule, verdict in ((lambda x: x, 'pass'), (lambda x: x.array, 'fail')):
        report, caught = checked(powers(rule), X, 'chainer', order=2, seed=0)
        assert report.verdict == verdict and len(caught) >= 1
        assert report.accepted[0].cause.startswith('undefined upstream gradient: ')


def test_parameters_and_numbers():
    link, rule = L.Linear(4, 2), stale(1)
    before = link.W.array.copy(), link.W.grad.copy()
    loss = checked(lambda x: F.sum(rule(link(x))), SINGLE, 'chainer', params=(link.W, link.b), seed=0)
    assert loss[0] and loss[0].accepted and (link.W.array == before[0]).all()
    np.testing.assert_array_equal(link.W.grad, before[1])
    number = checked(stale(1), np.array(0.5), 'chainer', seed=0)
    assert number[0] and number[0].accepted
    assert not checked(stale(1.1), np.array(0.5), 'chainer', seed=0)[0]


# --- the setting ---

FACES = {
    'check_gradients': lambda f, **k: check_gradients(f, X, raise_exception=True, **k),
    'gradcheck': lambda f, **k: gradcheck(f, X, **k),
    'gradgradcheck': lambda f, **k: gradgradcheck(f, X, **k),
    'check_backward': lambda f, **k: check_backward(f, X, uniform(3, 4, seed=2), **k),
    'check_double_backward': lambda f, **k: check_double_backward(f, X, uniform(3, 4, seed=2), X, **k),
}


def stale_twice(x):
    """With a cache that a second call overwrites, differentiable twice."""
    return F.identity(Remember().apply((x,))[0])


class Remember(chainer.FunctionNode):
    last = None

    def forward(self, inputs):
        self.retain_inputs((0,))
        Remember.last = inputs[0]
        return (inputs[0] ** 2,)

    def backward(self, indexes, gys):
        (x,) = self.get_retained_inputs()
        return (2 * x * gys[0] * (Remember.last / x.array),)


@pytest.mark.parametrize('face', FACES)
def test_every_face_has_the_option_and_follows_the_setting(face):
    call = FACES[face]
    with pytest.raises(GradcheckError, match='stale cache'):
        call(stale_twice)
    with pytest.warns(GradientCheckLeniencyWarning, match='stale cache') as caught:
        call(stale_twice, strictness='chainer')
    assert {w.filename for w in caught} == {__file__}
    with chainer.using_config('gradcheck_strictness', 'chainer'):
        with pytest.warns(GradientCheckLeniencyWarning, match='stale cache'):
            call(stale_twice)
        with pytest.raises(GradcheckError, match='stale cache'):
            call(stale_twice, strictness='strict')


@pytest.mark.parametrize('face', FACES)
def test_other_values_are_refused(face):
    with pytest.raises(ValueError, match="strictness must be 'strict' or 'chainer', got 'lax'"):
        FACES[face](F.tanh, strictness='lax')


def test_the_default_is_strict_and_each_thread_has_its_own():
    assert chainer.global_config.gradcheck_strictness == 'strict'
    found = []
    with chainer.using_config('gradcheck_strictness', 'chainer'):
        thread = threading.Thread(target=lambda: found.append(chainer.config.gradcheck_strictness))
        thread.start()
        thread.join()
    assert found == ['strict'] and chainer.config.gradcheck_strictness == 'strict'


def test_the_report_shows_it():
    strict, lenient, plain = (
        checked(func, X, strictness, seed=0)[0]
        for func, strictness in ((stale(1), 'strict'), (stale(1), 'chainer'), (F.tanh, 'chainer'))
    )
    assert 'strictness' not in strict.message and strict.to_dict()['strictness'] == 'strict'
    assert "seed 0; strictness='chainer'" in lenient.message
    assert ", strictness='chainer', seed=0)" in lenient.message
    assert "right as far as Chainer's own check looks" in lenient.message
    assert "Accepted with strictness='chainer': stale cache: " in lenient.message
    assert lenient.to_dict()['accepted'][0]['verdict'] == 'fail'
    assert plain.notes == [] and plain.accepted == [] and 'are right, to' in plain.message


OPTIONS = {'strictness': 'chainer'}
NONE: dict[str, str] = {}


def test_cases():
    class Mixin:
        skip_double_backward_test = True

        def generate_inputs(self):
            return (SINGLE,)

    class Lenient(Mixin, testing.FunctionTestCase):
        check_backward_options = OPTIONS

        def forward(self, inputs, device):
            return (stale_twice(inputs[0]),)

        def forward_expected(self, inputs):
            return (inputs[0] ** 2,)

    class Strict(Lenient):
        check_backward_options = NONE

    class OfLink(Mixin, testing.LinkTestCase):
        param_names = ('W', 'b')
        check_backward_options = OPTIONS

        def generate_params(self):
            return uniform(2, 4, dtype='f'), uniform(2, dtype='f')

        def create_link(self, initializers):
            return L.Linear(4, 2, initialW=initializers[0], initial_bias=initializers[1])

        def forward(self, link, inputs, device):
            return (stale_twice(link(inputs[0])),)

        def forward_expected(self, link, inputs):
            return ((inputs[0] @ link.W.array.T + link.b.array) ** 2,)

    for case in (Lenient('test_backward'), OfLink('test_backward')):
        with pytest.warns(GradientCheckLeniencyWarning, match='stale cache'):
            case.debug()
    with pytest.raises(AssertionError, match='stale cache'):
        Strict('test_backward').debug()


# --- the project's own checks are strict ---


def test_the_catalogue_is_strict_whatever_is_set():
    chosen = [e for e in PLANTED if e.family in ('stale', 'nondeterministic', 'in place', 'surroundings')]
    with chainer.using_config('gradcheck_strictness', 'chainer'):
        outcomes = [scoring.run(e, (4, 4), 'd', 0) for e in scoring.entries_for(chosen, (4, 4), 'd')]
    assert len(outcomes) > 10 and all(o.right for o in outcomes)


def test_the_self_test_is_strict_whatever_is_set(monkeypatch):
    module, asked = sys.modules[self_test.__module__], []
    check = module.check
    monkeypatch.setattr(module, 'check', lambda *args: asked.append(args[-1].strictness) or check(*args))
    monkeypatch.setattr(module, 'WRONG', dict(list(module.WRONG.items())[:2]))
    with chainer.using_config('gradcheck_strictness', 'chainer'):
        assert self_test(0)
    assert len(asked) == 4 + 2 * len(module.RIGHT) and set(asked) == {'strict'}
