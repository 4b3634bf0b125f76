"""What each entry point returns, raises or warns about for each verdict: the table of docs/gradient_checking.md."""

from __future__ import annotations

import contextlib
import json
import warnings

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F
from minichainer import gradcheck, gradgradcheck, gradient_check
from minichainer.errors import GradientDoubtWarning, GradientToleranceWarning
from minichainer.function_node import FunctionNode
from minichainer.gradient_check import (
    GradcheckError,
    NondifferentiableError,
    UnresolvedError,
    check_backward,
    check_double_backward,
    check_gradients,
)
from minichainer.verification.arguments import CHAINER_STYLE, REPORT, TORCH_STYLE, Options
from minichainer.verification.exact_checks import ExactChecks
from minichainer.verification.outcome import decide
from minichainer.verification.reporting.report import Failure, GradientReport
from minichainer.verification.torch_comparison import Agreement, TorchComparison
from tests.verification.planting import node, square

X = np.array([0.3, -0.7, 1.1])
GY, GGX = np.array([0.7, -1.3, 0.4]), np.array([-0.2, 0.9, 1.7])
AT_ZERO = np.array([0.0, -0.7, 1.1])

# --- planted verdicts ---


class Planted(FunctionNode):
    """A function of one input with a rule on Variables, which can be differentiated again."""

    def __init__(self, function, rule):
        self.function, self.rule = function, rule

    def forward(self, inputs):
        self.retain_inputs((0,))
        return (self.function(inputs[0]),)

    def backward(self, indexes, grad_outputs):
        return (self.rule(*self.get_retained_inputs(), *grad_outputs),)


def wrong(x):
    return Planted(np.square, lambda x, gy: 2.2 * x * gy).apply((x,))[0]


def slightly_wrong(x):
    return Planted(np.square, lambda x, gy: 2.0001 * x * gy).apply((x,))[0]


def coarse(x):
    """So coarse that no step shows the slope, and torch's step shows none."""
    return Planted(lambda x: np.sin(x).astype('e').astype('d') + 1e6, lambda x, gy: F.cos(x) * gy).apply((x,))[0]


def outside(x):
    """A kink, and a gradient there that lies outside of its of both sides."""
    return node(abs, lambda xs, gy: (np.sign(xs[0]) + 5 * (xs[0] == 0)) * gy)(x)


def random(x):
    return x * np.random.rand()


def raises(x):
    raise ZeroDivisionError('of the user')


def chainer_style(check, **options):
    def call(func, x, **more):
        arguments = (GY,) if check is check_backward else (GY, GGX)
        return check(func, x, *arguments, **options, **more)

    return call


ENTRIES = {
    'check_gradients': lambda f, x, **k: check_gradients(f, x, seed=0, **k).verdict,
    'gradcheck': lambda f, x, **k: gradcheck(f, (x,), seed=0, **k),
    'gradcheck fast': lambda f, x, **k: gradcheck(f, (x,), seed=0, fast_mode=True, **k),
    'gradgradcheck': lambda f, x, **k: gradgradcheck(f, (x,), seed=0, **k),
    'gradgradcheck fast': lambda f, x, **k: gradgradcheck(f, (x,), seed=0, fast_mode=True, **k),
    'check_backward': chainer_style(check_backward),
    'check_backward, kinks asked for': chainer_style(check_backward, detect_nondifferentiable=True),
    'check_double_backward': chainer_style(check_double_backward),
    'check_double_backward, kinks asked for': chainer_style(check_double_backward, detect_nondifferentiable=True),
}
GRADCHECK = ('gradcheck', 'gradcheck fast')
GRADGRADCHECK = ('gradgradcheck', 'gradgradcheck fast')
TORCH = (*GRADCHECK, *GRADGRADCHECK)
CHAINER = ('check_backward', 'check_double_backward')
ASKED = tuple(f'{name}, kinks asked for' for name in CHAINER)


def rows(func, x, **expected):
    """Cases: an entry point and what it does."""
    groups = {
        'report': ('check_gradients',), 'torch': TORCH, 'first': GRADCHECK, 'second': GRADGRADCHECK,
        'chainer': (*CHAINER, *ASKED), 'unasked': CHAINER, 'asked': ASKED,
    }  # fmt: skip
    return [(func, x, entry, what) for group, what in expected.items() for entry in groups[group]]


DOUBT, TOLERANCE = GradientDoubtWarning, GradientToleranceWarning
#: What comes out: a value, a value with a warning, or an exception.
TABLE = [
    *rows(F.tanh, X, report='pass', torch=True, chainer=None),
    *rows(wrong, X, report='fail', torch=GradcheckError, chainer=GradcheckError),
    *rows(slightly_wrong, X, report='fail', torch=GradcheckError, chainer=GradcheckError),
    *rows(coarse, X, report='unresolved', torch=UnresolvedError, chainer=UnresolvedError),  # neither shows it
    *rows(
        F.absolute, AT_ZERO,
        report='nondifferentiable', first=(True, DOUBT, 'kink: not differentiable at inputs'),
        second=NondifferentiableError, unasked=(None, DOUBT, 'kink'), asked=NondifferentiableError,
    ),
    *rows(
        F.relu, AT_ZERO,
        report='nondifferentiable', torch=NondifferentiableError, unasked=(None, DOUBT, 'kink at inputs'),
        asked=NondifferentiableError,
    ),
    *rows(
        outside, AT_ZERO,
        report='nondifferentiable', first=NondifferentiableError, unasked=GradcheckError,
        asked=NondifferentiableError,
    ),
    *rows(random, X, report='nondeterministic', torch=GradcheckError, chainer=GradcheckError),
    *rows(F.log, -X, report='not_finite', torch=GradcheckError, chainer=GradcheckError),
    *rows(
        raises, X, report=ZeroDivisionError, torch=ZeroDivisionError, chainer=ZeroDivisionError,
    ),
]  # fmt: skip


def outcome_of(call):
    """A value, a value and the warnings of a check, or the type of an exception."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter('always')
        try:
            value = call()
        except Exception as error:
            return type(error), []
    return value, [w for w in caught if issubclass(w.category, chainer.errors.GradientCheckLeniencyWarning)]


def matches(found, expected):
    value, caught = found
    if not isinstance(expected, tuple):
        return value is expected or value == expected, not (caught and not isinstance(expected, type))
    texts = [str(w.message) for w in caught if w.category is expected[1]]
    return value is expected[0], any(expected[2] in text for text in texts)


@pytest.mark.parametrize(('func', 'x', 'entry', 'expected'), TABLE)
def test_what_an_entry_point_makes_of_a_verdict(func, x, entry, expected):
    found = outcome_of(lambda: ENTRIES[entry](func, x))
    assert all(matches(found, expected)), (found[0], [str(w.message) for w in found[1]])


@pytest.mark.parametrize('entry', TORCH)
@pytest.mark.parametrize(('func', 'x'), [(wrong, X), (coarse, X), (F.relu, AT_ZERO), (random, X)])
def test_without_exceptions_the_result_is_false(func, x, entry):
    assert outcome_of(lambda: ENTRIES[entry](func, x, raise_exception=False))[0] is False


def test_all_errors_of_checks_are_assertion_errors():
    for error in (GradcheckError, NondifferentiableError, UnresolvedError):
        assert issubclass(error, AssertionError) and issubclass(error, RuntimeError)


# --- unresolved ---


@pytest.mark.parametrize('entry', GRADCHECK)
@pytest.mark.parametrize('agrees', [True, False])
def test_unresolved_is_true_as_far_as_torch_compares(entry, agrees, monkeypatch):
    monkeypatch.setattr(TorchComparison, 'agreement', lambda self: Agreement(agrees, 'a reason'))
    if agrees:
        with pytest.warns(GradientDoubtWarning, match="unresolved at inputs.*torch's own comparison agrees"):
            assert ENTRIES[entry](coarse, X) is True
    else:
        with pytest.raises(UnresolvedError, match="Torch's own comparison does not agree either: a reason"):
            ENTRIES[entry](coarse, X)


@pytest.mark.parametrize('mode', ['check_forward_ad', 'check_batched_grad'])
def test_other_modes_are_not_true_unseen(mode):
    with pytest.raises(NondifferentiableError):
        gradcheck(F.absolute, (AT_ZERO,), **{mode: True})


def test_strict_decides_what_unresolved_means():
    with pytest.warns(GradientDoubtWarning, match='unresolved'):
        report = check_gradients(coarse, X, strict=False)
    assert report and [f.verdict for f in report.accepted] == ['unresolved']
    assert 'right where the check could decide' in report.message
    for strict in (None, True):
        assert check_gradients(coarse, X, strict=strict).verdict == 'unresolved'
    with pytest.raises(TypeError, match='strict must be True, False or None'):
        check_gradients(coarse, X, strict='yes')


# --- tolerances that the caller has given ---


@pytest.mark.parametrize('entry', ENTRIES)
@pytest.mark.parametrize('tolerances', [{'rtol': 1e-3}, {'atol': 1e-2}, {'rtol': 1e-3, 'eps': 1e-4}])
def test_wrong_by_less_than_the_tolerances_is_a_pass_with_a_warning(entry, tolerances):
    passing = {'check_gradients': 'pass'}.get(entry, True if 'grad' in entry else None)
    with pytest.warns(GradientToleranceWarning, match=r'off by .*5e-05 of it, .* allow. factor') as w:
        found = ENTRIES[entry](slightly_wrong, X, **tolerances)
    assert found == passing or ('check_' in entry and found in ('pass', None))
    name = 'rtol' if 'rtol' in tolerances else 'atol'
    assert f'{name}={tolerances[name]:g}' in str(w[0].message)


@pytest.mark.parametrize('entry', ENTRIES)
def test_wrong_by_more_than_the_tolerances_fails(entry):
    found = outcome_of(lambda: ENTRIES[entry](slightly_wrong, X, rtol=1e-6, atol=0))
    assert found[0] in ('fail', GradcheckError)


@pytest.mark.parametrize('entry', ENTRIES)
def test_tolerances_cause_no_warning_for_a_right_gradient(entry):
    assert outcome_of(lambda: ENTRIES[entry](F.tanh, X, rtol=1e-3, atol=1e-4))[1] == []
    assert outcome_of(lambda: ENTRIES[entry](F.tanh, X, rtol=1e-3, atol=1e-4, eps=1e-4))[1] == []


def test_the_report_has_what_the_tolerances_hide():
    with pytest.warns(GradientToleranceWarning):
        report = check_gradients(slightly_wrong, X, rtol=1e-3)
    assert report.verdict == 'pass' and report.failures == []
    assert report.accepted[0].cause.startswith('factor: ') and 'right within the given tolerances' in report.message
    assert 'rtol=0.001' in report.message.splitlines()[-1]


# --- elements for which a check does not vouch ---


@contextlib.contextmanager
def doubting(monkeypatch, count=1, indices=((1,),), reason='a fault there would be smaller than rounding'):
    """A stage of the engine does not vouch for some elements."""
    usual = ExactChecks.run

    def run(self):
        usual(self)
        self.order_check.report.does_not_vouch(self.order_check.order, 0, 0, indices, count, reason)

    with monkeypatch.context() as patch:
        patch.setattr(ExactChecks, 'run', run)
        yield


def test_elements_that_are_not_vouched_for_are_listed(monkeypatch):
    with doubting(monkeypatch):
        report = check_gradients(F.tanh, np.array([1.0, 1e-15]))
    assert report and report.unvouched[0].indices == [(1,)]
    text = 'The check does not vouch for 1 of 2 elements of inputs[0]: a fault there would be smaller than rounding; '
    assert f'{text}at (1,).' in report.message.replace('\n    ', ' ')
    assert 'does not vouch for 1 of 2 elements' in report._repr_html_()
    data = json.loads(json.dumps(report.to_dict()))['unvouched']
    assert data == [
        {
            'order': 1, 'output': 0, 'input': 0, 'count': 1, 'indices': [[1]],
            'reason': 'a fault there would be smaller than rounding',
        }
    ]  # fmt: skip


def test_with_strict_they_make_a_check_unresolved(monkeypatch):
    with doubting(monkeypatch):
        assert check_gradients(F.tanh, X, strict=True).verdict == 'unresolved'
        with pytest.raises(UnresolvedError, match='does not vouch for 1 of 3 elements'):
            check_gradients(F.tanh, X, strict=True, raise_exception=True)
        assert check_gradients(F.tanh, X, strict=False).verdict == 'pass'
        assert check_gradients(wrong, X, strict=True).verdict == 'fail'
        assert check_gradients(F.tanh, X, strict=True, atol=1e-3).verdict == 'unresolved'
    assert check_gradients(F.tanh, X, strict=True).verdict == 'pass'


@pytest.mark.parametrize('entry', [*TORCH, *CHAINER])
def test_the_other_entry_points_warn_of_them(entry, monkeypatch):
    with doubting(monkeypatch), pytest.warns(GradientDoubtWarning, match='does not vouch for 1 of 3 elements'):
        assert ENTRIES[entry](F.tanh, X) in (True, None)


needs_floats = node(lambda x: np.tanh(np.array(x, float)), lambda xs, gy: gy * (1 - np.tanh(xs[0]) ** 2))


def test_long_lists_of_them_are_cut(monkeypatch):
    with doubting(monkeypatch, 900, np.argwhere(np.ones((30, 30))), 'too small'):
        report = check_gradients(needs_floats, np.ones((30, 30)), max_failures=10)
    assert len(report.unvouched[0].indices) == 10 and report.unvouched[0].count == 900
    assert '900 of 900 elements of inputs[0]: too small; at (0, 0), (0, 1),' in report.message.replace('\n    ', ' ')
    assert '...' in report.message


# --- the rule alone ---


def report_of(*failures):
    report = GradientReport(1, 0)
    report.add([Failure(1, 0, 0, (0,), 1.0, 2.0, verdict=v, left_slope=s, right_slope=s) for v, s in failures])
    return report


@pytest.mark.parametrize('style', [REPORT, TORCH_STYLE, CHAINER_STYLE])
@pytest.mark.parametrize('agrees', [True, False])
def test_a_failure_stays_one_and_asks_nobody(style, agrees):
    asked = []
    options = Options(style=style, subgradient=True, strict=False, check_grad_dtypes=True)
    found = decide(report_of(('fail', None), ('unresolved', None)), options, lambda: asked.append(1))
    assert not found.accepted_by and not asked


@pytest.mark.parametrize(
    ('style', 'verdict', 'slope', 'accepted'),
    [
        (CHAINER_STYLE, 'unresolved', None, True), (CHAINER_STYLE, 'nondifferentiable', 1.0, True),
        (CHAINER_STYLE, 'fail', float('inf'), True), (CHAINER_STYLE, 'fail', 1.0, False),
        (CHAINER_STYLE, 'nondeterministic', None, False), (CHAINER_STYLE, 'not_finite', None, False),
        (REPORT, 'nondifferentiable', 1.0, False), (REPORT, 'unresolved', None, True),
        (TORCH_STYLE, 'unresolved', None, True), (TORCH_STYLE, 'nondifferentiable', 1.0, True),
        (TORCH_STYLE, 'nondeterministic', None, False), (TORCH_STYLE, 'input_modified', None, False),
    ],
)  # fmt: skip
def test_the_rule(style, verdict, slope, accepted):
    options = Options(style=style, subgradient=True, strict=False)
    found = decide(report_of((verdict, slope)), options, lambda: Agreement(True))
    assert bool(found.accepted_by) is accepted and bool(found.warning) is accepted


# --- torch's comparison ---


def comparison(func, inputs, order=1, **options):
    """Torch's comparison at the point of a check."""
    from minichainer.verification import check as engine

    found = []

    class Spy(TorchComparison):
        def __init__(self, order_check):
            super().__init__(order_check)
            if order_check.order == order:
                found.append(self.agreement())

    usual = engine.spell
    engine.spell = lambda order_check: Spy(order_check)
    try:
        gradient_check.check_gradients(func, inputs, order=order, **options)
    finally:
        engine.spell = usual
    return found[-1]


class Untold(FunctionNode):
    """A product whose gradients are scaled, wrong enough for the engine to ask."""

    def __init__(self, factor):
        self.factor = factor

    def forward(self, inputs):
        self.retain_inputs((0, 1))
        return (inputs[0] * inputs[1], inputs[0] * 3)

    def backward(self, indexes, grad_outputs):
        x, w = self.get_retained_inputs()
        a, b = (F.broadcast_to(F.sum(0 * x), x.shape) if g is None else g for g in grad_outputs)
        return self.factor * w * a + 3 * b, x * a


@pytest.mark.parametrize(
    ('factor', 'agrees'), [(1 + 1e-5, True), (1 + 9e-4, True), (1 + 1.2e-3, False), (2.0, False)]
)
def test_the_comparison_of_torch_has_its_tolerances(factor, agrees):
    found = comparison(lambda x, w: Untold(factor).apply((x, w)), (X, 10 * X + 4))
    assert found.agrees is agrees
    assert agrees or 'output 0 and inputs[0]' in found.text


@pytest.mark.parametrize(('factor', 'agrees'), [(1 + 9e-4, True), (1.1, False)])
def test_large_arrays_are_compared_along_directions(factor, agrees, monkeypatch):
    monkeypatch.setattr(TorchComparison, '_entries', None)
    x = np.random.default_rng(0).normal(size=600)
    found = comparison(lambda x, w: Untold(factor).apply((x, w)), (x, 10 * abs(x) + 4))
    assert found.agrees is agrees


def test_float32_is_compared_in_float64():
    assert comparison(lambda x: square(lambda x, gy: 2.001 * x * gy)(x), X.astype('f')).agrees


def test_an_exception_is_a_disagreement():
    def narrow(x):
        if 0.999e-6 < float(abs(x.array - X).max()) < 1.001e-6:
            raise ValueError('too near')
        return square(lambda x, gy: 2.2 * x * gy)(x)

    found = comparison(narrow, X, precise=False, seed=0)
    assert not found.agrees and 'ValueError next to the point: too near' in found.text
