"""Wrong gradients that strangers saw pass: each line as it was printed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minichainer.functions as F
from minichainer.autograd import Function
from minichainer.gradient_check import check_backward, check_gradients
from minichainer.link import Chain, Link
from minichainer.testing.function_case import FunctionTestCase
from minichainer.variable import Parameter, Variable
from tests.verification.planting import node, split_seeds
from tests.verification.test_strangers import rows, said, seeded

# --- functions that compute in a low precision inside ---


def low_tanh(dtype: str, rule: Any, total: bool = False) -> Any:
    """tanh of float64 that computes in another dtype inside."""

    def forward(x: Any) -> Any:
        y = np.tanh(x.astype(dtype)).astype('d')
        return np.asarray(y.sum()) if total else y

    return node(forward, lambda xs, gy: rule(xs[0], gy))


def right(x: Any, gy: Any) -> Any:
    return gy * (1 - np.tanh(x) ** 2)


def zeros(x: Any, gy: Any) -> Any:
    return np.zeros_like(x)


def lost(x: Any, gy: Any) -> Any:
    return (None,)


def generally(func: Any, x: Any, seed: int) -> str:
    return said(lambda: check_gradients(func, x, seed=seed))


def in_floats(func: Any, x: Any, seed: int) -> str:
    return said(lambda: check_gradients(func, x, seed=seed, precise=False))


def as_chainer(func: Any, x: Any, seed: int) -> str:
    gy = np.random.RandomState(seed).uniform(-1, 1, func(Variable(x)).shape)
    with seeded(seed):
        return said(lambda: check_backward(func, x, gy))


WAYS = {'check_gradients': generally, 'floats': in_floats, 'check_backward': as_chainer}
SEVERAL_WAYS = ['check_gradients', 'check_backward', pytest.param('floats', marks=pytest.mark.slow)]
SIZES = [1, 5, pytest.param(100, marks=pytest.mark.slow)]


@pytest.mark.parametrize('way', SEVERAL_WAYS)
@pytest.mark.parametrize('size', SIZES)
@pytest.mark.parametrize('dtype', ['f', 'e'])
@pytest.mark.parametrize('total', [False, True], ids=['elements', 'sum'])
@pytest.mark.parametrize('rule', [zeros, lost], ids=['zeros', 'None'])
@pytest.mark.parametrize('seeds', split_seeds(3, 20))
def test_a_lost_gradient_is_found_whatever_the_precision_inside(seeds, rule, total, dtype, size, way):
    func = low_tanh(dtype, rule, total)
    verdicts = [WAYS[way](func, np.random.RandomState(seed).normal(size=size), seed) for seed in seeds]
    assert verdicts == ['fail'] * len(seeds)


@pytest.mark.parametrize('way', SEVERAL_WAYS)
@pytest.mark.parametrize('size', SIZES)
@pytest.mark.parametrize('dtype', ['f', 'e'])
@pytest.mark.parametrize('total', [False, True], ids=['elements', 'sum'])
@pytest.mark.parametrize('seeds', [10, pytest.param(20, marks=pytest.mark.slow)])
def test_the_right_gradient_of_such_a_function_is_never_called_wrong(seeds, total, dtype, size, way):
    func = low_tanh(dtype, right, total)
    verdicts = [WAYS[way](func, np.random.RandomState(seed).normal(size=size), seed) for seed in range(seeds)]
    assert set(verdicts) <= {'pass', 'unresolved'}
    # The steps of a hundred numbers of float16 hide some sums of slopes, even of slopes that add up.
    least = 0.6 if (total, dtype, size) == (True, 'e', 100) else 0.9
    assert verdicts.count('pass') >= least * seeds


@pytest.mark.parametrize('dtype', ['f', 'e'])
def test_the_report_states_the_precision_that_was_seen(dtype):
    report = check_gradients(low_tanh(dtype, right), np.random.RandomState(0).normal(size=5), seed=0)
    assert {'f': 'float32', 'e': 'float16'}[dtype] in str(report)


# --- wrong once something is frozen ---


class Product(Function):
    """A product that mixes up which partner needs a gradient."""

    @staticmethod
    def forward(ctx: Any, x: Any, w: Any) -> Any:
        ctx.save_for_backward(x, w)
        return x.array * w.array

    @staticmethod
    def backward(ctx: Any, gy: Any) -> Any:
        x, w = ctx.saved_tensors
        return gy * w if ctx.needs_input_grad[1] else None, gy * x if ctx.needs_input_grad[1] else None


class Weighted(Link):
    """A product with a parameter."""

    def __init__(self) -> None:
        super().__init__()
        with self.init_scope():
            self.w = Parameter(np.array([0.5, -1.5, 2.0]))

    def forward(self, x: Any) -> Any:
        return Product.apply(x, self.w)


X, W = np.array([0.3, 0.7, -1.1]), np.array([1.5, 0.4, -0.6])
FROZEN = {
    'two inputs': lambda: check_gradients(Product.apply, (X, W), seed=0),
    'a parameter of a link': lambda: check_gradients(Weighted(), X, params='all', seed=0),
    'no_grads': lambda: check_gradients(Product.apply, (X, W), no_grads=[False, True], seed=0),
    'a constant': lambda: check_gradients(lambda x: Product.apply(x, Variable(W, requires_grad=False)), X, seed=0),
}


@pytest.mark.parametrize('check', rows(FROZEN))
def test_a_gradient_that_is_lost_when_the_partner_is_frozen(check):
    assert said(check) == 'fail'


# --- parameters that are not registered ---


def wrong_product(x: Any, w: Any) -> Any:
    """A product with 1.5 times the gradient of w."""
    return node(np.multiply, lambda xs, gy: (xs[1] * gy, 1.5 * xs[0] * gy))(x, w)


class Keeping(Chain):
    """A link that keeps parameters where nobody looks."""

    def __init__(self, keep: Any) -> None:
        super().__init__()
        with self.init_scope():
            self.bias = Parameter(np.zeros(3))
        self.kept = keep(Parameter(np.array([0.5, -1.5, 2.0])))

    def forward(self, x: Any) -> Any:
        kept = self.kept
        w = kept() if callable(kept) else kept['w'] if isinstance(kept, dict) else kept[0]
        return wrong_product(x, w) + self.bias


def closed_over(w: Any) -> Any:
    return lambda: w


KEPT = {'list': lambda w: [w], 'dict': lambda w: {'w': w}, 'closure': closed_over, 'tuple': lambda w: (w,)}


@pytest.mark.parametrize('keep', rows(KEPT))
def test_parameters_that_are_not_registered_are_checked_too(keep):
    report = check_gradients(Keeping(keep), X, params='all', seed=0)
    assert report.verdict == 'fail' and 'registered' in str(report)


# --- small beside large ---


def doubled(x: Any, gy: Any) -> Any:
    gx = 2 * x * gy
    gx.flat[1] *= 2
    return gx


def sizes(small: float, size: int, dtype: str = 'd') -> Any:
    x = np.random.RandomState(0).uniform(0.5, 1.5, size).astype(dtype)
    x[1] = small
    return x


@pytest.mark.parametrize(
    'x',
    rows({'[1, 1e-15]': np.array([1.0, 1e-15]), '300 elements': sizes(1e-10, 300), 'float32': sizes(1e-6, 4, 'f')}),
)
@pytest.mark.parametrize('precise', [None, False])
@pytest.mark.parametrize('seeds', split_seeds(2, 10))
def test_a_fault_in_a_small_element_is_found_or_not_vouched_for(seeds, x, precise):
    func = node(lambda x: np.asarray((x * x).sum()), lambda xs, gy: doubled(xs[0], gy))
    reports = [check_gradients(func, x, seed=seed, precise=precise) for seed in seeds]
    assert all(r.verdict == 'fail' or 'vouch' in str(r) for r in reports)


# --- the function itself ---


def adds(always: bool) -> Any:
    """A test case of a function that changes its input, always or if it is contiguous."""

    def forward(x: Any) -> Any:
        return np.add(x, 1, out=x) if always or x.flags.c_contiguous else x + 1

    class Adds(FunctionTestCase):
        def generate_inputs(self) -> Any:
            return (np.random.uniform(-1, 1, (3, 4)),)

        def forward(self, inputs: Any, device: Any) -> Any:
            return (node(forward, lambda xs, gy: gy)(*inputs),)

        def forward_expected(self, inputs: Any) -> Any:
            return (inputs[0] + 1,)

    return Adds('test_forward')


@pytest.mark.parametrize('always', [False, True], ids=['contiguous', 'always'])
def test_function_test_case_sees_that_a_function_changes_its_inputs(always):
    with pytest.raises(AssertionError):
        adds(always).debug()


class Raises:
    """A function that raises in one of its calls."""

    def __init__(self, call: int) -> None:
        self.call, self.calls = call, 0

    def __call__(self, x: Any) -> Any:
        self.calls += 1
        if self.calls == self.call:
            raise ZeroDivisionError(f'call {self.call}')
        return F.tanh(x)


@pytest.mark.parametrize('precise', [None, False])
@pytest.mark.parametrize('call', range(1, 13))
def test_an_exception_of_the_function_reaches_the_user(call, precise):
    func, raised = Raises(call), ''
    try:
        check_gradients(func, X, seed=0, precise=precise)
    except ZeroDivisionError as error:
        raised = str(error)
    assert raised == f'call {call}' or func.calls < call


def test_a_layout_that_the_function_does_not_take_is_a_note():
    def function(x: Any) -> Any:
        if not x.array.flags.c_contiguous:
            raise TypeError('C order expected')
        return F.tanh(x)

    report = check_gradients(function, np.ones((3, 4)) * 0.3, seed=0)
    assert report.verdict == 'pass' and 'Fortran' in str(report)
