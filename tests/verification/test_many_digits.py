"""Numbers inside a function that are far larger than what it is given and returns: where 50 digits do not decide."""

import threading
import warnings

import numpy as np
import pytest

import minichainer.functions as F
import minichainer.links as L
from minichainer.errors import GradientDoubtWarning, GradientToleranceWarning
from minichainer.gradient_check import check_backward, check_gradients, gradcheck
from minichainer.verification.extended_precision.arrays import numbers, rounded, using
from tests.verification.catalogue.extreme_points import point
from tests.verification.catalogue.twins import Factor
from tests.verification.planting import node

DRAWN = np.random.RandomState(0)


# --- the numbers ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ('function', 'identity'),
    [
        (np.exp, lambda y, x: np.log(y) - x),
        (np.log, lambda y, x: np.exp(y) - x),
        (np.log1p, lambda y, x: np.expm1(y) - x),
        (np.log2, lambda y, x: np.exp2(y) - x),
        (np.cbrt, lambda y, x: y * y * y - x),
        (np.degrees, lambda y, x: np.radians(y) - x),
        (np.arctan, lambda y, x: np.sin(y) / np.cos(y) - x),
        (lambda x: np.arctan2(x, 2.0), lambda y, x: 2 * np.sin(y) / np.cos(y) - x),
        (lambda x: np.logaddexp2(x, x), lambda y, x: y - x - 1),
    ],
)
@pytest.mark.parametrize('digits', [20, 50, 200, 720])
def test_results_have_the_digits_that_were_asked_for(function, identity, digits):
    with using(digits):
        x = numbers(np.array([0.7, 1.5]))
        off = abs(identity(function(x), x)).max()
        assert off <= 10.0**-1 * numbers(10.0).item() ** (2 - digits)
        if digits < 50 and function is np.exp:
            assert off > 0


def test_other_threads_keep_their_digits():
    found = []
    with using(720):
        thread = threading.Thread(target=lambda: found.append(numbers(1.0) / 3 * 3 - 1))
        thread.start()
        thread.join()
        with using(bits=30):
            third = rounded(numbers(1.0) / 3)
        assert abs((numbers(1.0) / 3 * 3 - 1).item()) < numbers(10.0).item() ** -700
    assert abs(float(rounded(found[0]))) < 1e-49
    assert 1e-12 < abs(third - 1 / 3) < 1e-8


# --- right gradients ------------------------------------------------------------------------------------------------

#: Functions whose values move by less than a rounding of the numbers inside them.
RIGHT = {
    'a determinant near that of the identity': (
        lambda x: F.slogdet(x + np.eye(3))[1], 1e-320 * DRAWN.normal(size=(3, 3))
    ),
    'a softmax of which one element is left': (F.softmax, np.array([[0.0, -800.0, 90.0, 91.0]])),
    'a saturated LSTM': (
        lambda c, x: F.lstm(c, x)[0], (300 * DRAWN.normal(size=(2, 3)), 300 * DRAWN.normal(size=(2, 12)))
    ),
    'cross entropy of tiny logits': (
        lambda x: F.sigmoid_cross_entropy(x, np.ones(x.shape, 'i')), 1e-23 * DRAWN.normal(size=(20, 20))
    ),
    'the Gaussian of mixed sizes': (lambda x: F.exp(-x * x), 10.0 ** DRAWN.uniform(-30, 1, 300)),
    'values at the least floats': (lambda x: x / (1 + x * x), 5e-324 * np.arange(1.0, 14)),
    'a second derivative that underflows': (F.log2, 1e191 * np.arange(1.0, 4)),
    'log_ndtr far above 0': (F.log_ndtr, np.array([10.5])),
    'steps of its own': (lambda x: F.floor(x * 100) / 100, np.linspace(-1, 1, 300) + 0.001),
}  # fmt: skip


#: The rows of hundreds of elements.
MANY = ('cross entropy of tiny logits', 'the Gaussian of mixed sizes', 'steps of its own')


def rights():
    """Each row with both checks; in the short run those of many elements with one."""
    for name in RIGHT:
        yield name, check_gradients
        yield pytest.param(name, gradcheck, marks=[pytest.mark.slow] * (name in MANY))


@pytest.mark.parametrize(('name', 'check'), list(rights()))
def test_right_gradients_pass(name, check):
    func, inputs = RIGHT[name]
    assert check(func, inputs)


@pytest.mark.parametrize('name', [n for n in RIGHT if n != 'steps of its own'])
def test_their_wrong_twins_fail(name):
    func, inputs = RIGHT[name]
    inputs = inputs if isinstance(inputs, tuple) else (inputs,)
    factor = np.full(inputs[-1].shape, 1.001)
    report = check_gradients(lambda *xs: func(*xs[:-1], Factor(factor, False).apply((xs[-1],))[0]), inputs)
    seen = not report.unvouched if name == 'a saturated LSTM' else True  # c is 1e25 times what the gates add
    assert report.verdict == 'fail' or not seen, report


def test_a_right_gradient_passes_with_precise_false_too():
    """Nothing is wrong before many digits have confirmed it, whatever measures the slopes first."""
    assert check_gradients(lambda x: F.log(1 + x * x), 1e-9 * DRAWN.normal(size=320), precise=False)
    report = check_gradients(F.exp, np.array([1e-12, 2e-12]), precise=False)
    assert report and not report.unvouched


def test_the_message_says_how_many_digits_it_took():
    func, x = RIGHT['a determinant near that of the identity']
    report = check_gradients(func, x)
    assert report.digits == 720 and 'at 720 digits' in str(report)
    assert check_gradients(F.tanh, np.ones(3)).digits == 50


# --- gradients that are right to some digits ------------------------------------------------------------------------

#: Forward loses digits to cancellation, backward is the first term of a series: forward, backward, x, its error.
SERIES = [
    (lambda x: (1 - np.cos(x)) / x**2, lambda xs, gy: -xs[0] / 12 * gy, 1e-5, 1e-11),
    (lambda x: (np.exp(x) - 1) / x, lambda xs, gy: 0.5 * gy, 1e-9, 1e-9),
    (lambda x: np.log(1 + x) / x, lambda xs, gy: -0.5 * gy, 1e-9, 1e-9),
]


@pytest.mark.parametrize(('forward', 'backward', 'x', 'error'), SERIES)
@pytest.mark.parametrize('precise', [None, False])
def test_cancellation_in_forward_is_not_held_against_backward(forward, backward, x, error, precise):
    """Floats see slopes of rounding there; the message shows the slopes at many digits, and what would accept it."""
    report = check_gradients(node(forward, backward), np.array([x]), precise=precise)
    if precise is False and report:
        return  # larger steps, which move more than rounding, agree with backward as far as they are sharp
    (failure,) = report.failures
    assert abs(failure.numeric / failure.analytic - 1) < 2 * error
    with pytest.warns(GradientToleranceWarning, match='wrong by less than the tolerances'):
        assert check_gradients(node(forward, backward), np.array([x]), **report.enough)


# --- wrong gradients that floats alone do not see -------------------------------------------------------------------


def _small_half(x):
    return 1 / (1 + np.exp(-x))


#: Name: forward, backward, inputs.
WRONG = {
    'a small input beside a large one': (
        lambda a, b: a + b, lambda xs, gy: (gy, 5 * gy), (np.arange(1.0, 321), 1e-16 * np.arange(1.0, 321))
    ),
    'a factor where values hardly move': (_small_half, lambda xs, gy: 7 * gy, 1e-15 * np.arange(1.0, 301) / 300),
    'zeros where values hardly move': (_small_half, lambda xs, gy: 0 * gy, 1e-15 * np.arange(1.0, 301) / 300),
    'zeros where nothing moves': (
        lambda x: np.log(x + np.sqrt(x * x + 1)), lambda xs, gy: 0 * gy, 1e-20 * np.arange(1.0, 301)
    ),
    'an element lost beside 319': (
        np.exp, lambda xs, gy: np.exp(xs[0]) * gy * (xs[0] > -20), np.r_[-30.0, DRAWN.normal(size=319)]
    ),
    'the smallest of 10000 over six decades': (
        lambda x: np.asarray((x * x).sum()),
        lambda xs, gy: 2 * xs[0] * gy * np.where(xs[0] == xs[0].min(), 1.1, 1),
        10.0 ** DRAWN.uniform(-3, 3, 10000),
    ),
}  # fmt: skip


@pytest.mark.parametrize('name', WRONG)
def test_wrong_gradients_fail(name):
    forward, backward, inputs = WRONG[name]
    report = check_gradients(node(forward, backward), inputs, seed=0)
    assert report.verdict == 'fail', report
    y = node(forward, backward)(*(inputs if isinstance(inputs, tuple) else (inputs,)))
    with pytest.raises(AssertionError):
        check_backward(node(forward, backward), inputs, np.asarray(1 + DRAWN.uniform(size=y.shape)))


@pytest.mark.parametrize('name', [n for n in RIGHT if n != 'steps of its own'])
def test_floats_alone_list_what_they_do_not_see(name):
    func, inputs = RIGHT[name]
    inputs = inputs if isinstance(inputs, tuple) else (inputs,)
    twice = node(lambda x: np.array(x, float), lambda xs, gy: 1.3 * gy)  # needs floats
    report = check_gradients(lambda *xs: func(*xs[:-1], twice(xs[-1])), inputs)
    assert report.verdict != 'pass' or report.unvouched


def test_what_neither_sees_is_listed():
    """The function computes in float16, so there are no digits; the rest of the slope hides the lost element."""
    x = np.r_[0.5, np.linspace(0.6, 3, 49)]
    half = node(lambda x: (x.astype('e') ** 2).astype(x.dtype), lambda xs, gy: 2 * xs[0] * gy * (xs[0] != 0.5))
    report = check_gradients(half, x, seed=0)
    unvouched = {index for u in report.unvouched for index in u.indices}
    assert report.verdict == 'fail' or (0,) in unvouched
    assert check_gradients(half, x, seed=0, strict=True).verdict != 'pass'


def test_a_slope_beyond_the_largest_float_is_not_called_wrong():
    report = check_gradients(F.log, np.array([1e-310]))
    assert report.verdict == 'unresolved' and 'larger than the largest float64' in report.failures[0].cause
    assert check_gradients(node(np.sin, lambda xs, gy: np.inf * gy), np.ones(3)).verdict == 'fail'


def test_a_link_with_a_state_is_named():
    model = L.LSTM(3, 2)
    x = DRAWN.normal(size=(4, 3))
    report = check_gradients(lambda x: model(x), x)
    assert report.verdict == 'nondeterministic' and 'LSTM keeps a state from call to call' in str(report)

    def from_the_start(x):
        model.reset_state()
        return model(x)

    assert check_gradients(from_the_start, x)


def test_a_function_that_takes_long_is_left_to_floats_soon():
    calls = []

    def long(x):
        for _ in range(100):
            x = np.exp(-x)
            calls.append(type(x))
        return x

    wrong = node(long, lambda xs, gy: 2 * gy)
    report = check_gradients(wrong, np.linspace(0.1, 1, 300))
    assert report.verdict == 'fail' and np.ndarray in calls
    assert 0 < sum(kind is not np.ndarray for kind in calls) < 60


# --- the short way of gradcheck -------------------------------------------------------------------------------------


@pytest.mark.parametrize('fast', [False, True])
@pytest.mark.parametrize('tolerances', [{}, {'rtol': 1e-3}, {'rtol': 1e-12}, {'rtol': 0.0}, {'atol': 1e-14}])
@pytest.mark.parametrize('factor', [1 + 1e-9, 1 + 1e-11])
def test_gradcheck_asks_for_more_than_ten_digits_where_its_tolerances_do(factor, tolerances, fast):
    func = node(lambda x: x**3, lambda xs, gy: 3 * xs[0] ** 2 * gy * factor)
    x = DRAWN.uniform(1.0, 2.0, size=(2, 3))
    with warnings.catch_warnings():
        warnings.simplefilter('ignore', GradientToleranceWarning)
        found = not gradcheck(func, x, raise_exception=False, fast_mode=fast, seed=0, **tolerances)
    usual = tolerances == {'rtol': 1e-3}
    assert found == (not usual and (factor > 1 + 1e-10 or bool(tolerances)))


def test_a_kink_that_only_differences_of_floats_saw_is_forgotten():
    p = point(402, 49)  # the entropy of ties, in float32
    with warnings.catch_warnings():
        warnings.simplefilter('error', GradientDoubtWarning)
        check_backward(p.subject.func, p.inputs, tuple(gy.copy() for gy in p.gys), dtype=np.float64)
