"""Small slopes for which backward gives 0; functions whose values are stairs; many kinks; arguments and outputs."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import minichainer.functions as F
import minichainer.links as L
from minichainer.errors import MatrixWarning
from minichainer.gradient_check import GradcheckError, UnresolvedError, check_backward, check_gradients, gradcheck
from minichainer.sequential import Sequential
from tests.verification.catalogue import scoring
from tests.verification.catalogue.everything import PLANTED
from tests.verification.planting import node, split_seeds
from tests.verification.test_pieces_and_offsets import in_floats

SEEDS = range(3)
SPLIT = split_seeds(1, len(SEEDS))


def drawn(size: int, dtype: str, small: float, count: int = 1) -> Any:
    """Normal numbers, the first of which are small."""
    x = np.random.RandomState(0).normal(size=size).astype(dtype)
    x[:count] = small
    return x


# --- small slopes that are lost ---


def squares(below: float, floats: bool = False) -> Any:
    """The sum of squares, whose rule drops the slopes of small elements."""

    def forward(x: Any) -> Any:
        x = np.array(x, float) if floats else x
        return np.asarray((x * x).sum())

    def rule(xs: Any, gy: Any) -> Any:
        gx = 2 * xs[0] * gy
        gx[abs(xs[0]) < below] = 0
        return gx

    return node(forward, rule)


LOST = {
    'float32': (squares(1e-4), drawn(12, 'f', 1e-5, 2)),
    'float32, many': (squares(1e-4), drawn(400, 'f', 2e-5, 28)),
    'float16': (squares(1e-2), drawn(12, 'e', 1e-3, 2)),
    'float64, many': (squares(1e-6), drawn(300, 'd', 1e-7)),
    'floats inside': (squares(1e-6, floats=True), np.array([1e-7, 1, 2, -3])),
}


@pytest.mark.parametrize('name', LOST)
@pytest.mark.parametrize('seeds', SPLIT)
def test_small_slopes_that_backward_drops_are_found(seeds: range, name: str) -> None:
    func, x = LOST[name]
    for seed in seeds:
        report = check_gradients(func, x, seed=seed)
        assert report.verdict == 'fail', report.message
        assert not gradcheck(func, (x,), seed=seed, raise_exception=False)


@pytest.mark.parametrize('name', LOST)
def test_the_same_functions_pass_with_these_slopes(name: str) -> None:
    func, x = squares(0.0, floats=name == 'floats inside'), LOST[name][1]
    for seed in SEEDS:
        assert check_gradients(func, x, seed=seed).verdict == 'pass'


def scaled(factor: float) -> Any:
    """A product with sizes of 1e-10 and 1; the first slope times a factor."""
    sizes, factors = np.array([1e-10, 1, 1, 1]), np.array([factor, 1, 1, 1])
    return node(lambda x: x * sizes, lambda xs, gy: gy * sizes * factors)


def test_gradcheck_looks_at_elements_that_are_lost_beside_others() -> None:
    x = np.random.RandomState(0).normal(size=4)
    found = [gradcheck(scaled(1.1), (x,), seed=seed, raise_exception=False) for seed in range(10)]
    assert sum(found) <= 3  # the others are at the edge of what ten digits show
    assert all([gradcheck(scaled(1.0), (x,), seed=seed) for seed in range(10)])


# --- stairs ---

X = np.random.RandomState(0).normal(size=(3, 4))
CODES = np.array([-1.0, 0.0, 0.5, 2.0])
#: In floats, piecewise constant: right is 0, or rounding of something larger.
STAIRS = {
    'round': np.round,
    'sign': np.sign,
    'codes': lambda x: CODES[abs(x[..., None] - CODES).argmin(-1)],
    'quantized': lambda x: np.clip(np.round(x * 32), -128, 127) / 32,
}


@pytest.mark.parametrize('factor', [1.0, -1.0])
@pytest.mark.parametrize('name', STAIRS)
@pytest.mark.parametrize('seeds', SPLIT)
def test_nobody_vouches_for_a_slope_of_stairs_in_floats(seeds: range, name: str, factor: float) -> None:
    func = in_floats(STAIRS[name], lambda x: factor + 0 * x)
    gy = np.random.RandomState(1).normal(size=X.shape)
    for seed in seeds:
        assert check_gradients(func, X, seed=seed).verdict in ('unresolved', 'fail')
        with pytest.raises(GradcheckError):
            gradcheck(func, (X,), seed=seed)
        with pytest.raises(GradcheckError):
            check_backward(func, X, gy, eps=1e-3, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize('name', ['round', 'sign', 'codes'])  # stairs as fine as 'quantized' may be rounded values
def test_zeros_are_accepted_for_stairs(name: str) -> None:
    func = in_floats(STAIRS[name], lambda x: 0 * x)
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        assert check_gradients(func, X, seed=1).verdict == 'pass'
        assert gradcheck(func, (X,), seed=1)
        check_backward(func, X, np.ones(X.shape))


STRAIGHT = {
    'sign': node(np.sign, lambda xs, gy: gy),
    'round': node(np.round, lambda xs, gy: gy),
    'floor': lambda x: x + (F.floor(x) - x).array,
}


@pytest.mark.parametrize('name', STRAIGHT)
@pytest.mark.parametrize('seeds', SPLIT)
def test_stairs_at_many_digits_have_the_slope_0(seeds: range, name: str) -> None:
    for seed in seeds:
        report = check_gradients(STRAIGHT[name], X, seed=seed)
        assert report.verdict == 'fail' and 'float16' not in report.message
        with pytest.raises(GradcheckError) as found:
            check_backward(STRAIGHT[name], X, np.random.RandomState(seed).normal(size=X.shape))
        assert not isinstance(found.value, UnresolvedError)


@pytest.mark.parametrize('seed', [5, 13])
def test_a_step_that_rounding_hides_by_chance_is_no_slope_of_0(seed: int) -> None:
    """Values in float32, whose differences at three small steps happen to be 0."""
    entry = next(entry for entry in PLANTED if entry.name == 'sum of tanh in float32: None')
    assert scoring.run(entry, (3, 4), 'd', seed).verdict == 'fail'


@pytest.mark.parametrize(('wrong', 'seeds'), [('times 1.5', (0, 16, 19)), ('zeros', (4,)), ('None', (19,))])
def test_a_factor_does_not_hide_between_parts_of_a_slope_that_cancel(wrong: str, seeds: tuple[int, ...]) -> None:
    """Values in float16, whose slopes along random directions are as small as what rounding leaves uncertain."""
    entry = next(entry for entry in PLANTED if entry.name == f'sum of tanh in float16: {wrong}')
    for seed in seeds:
        assert scoring.run(entry, (3, 4), 'd', seed).verdict == 'fail'


def test_subnormal_products_of_float32_are_rounded() -> None:
    p = np.array([[1.21e-9, 9.9e24, 48.8], [3.36311631e-44, 1.35505562e-42, 6.9e-2]], 'f')
    for seed in range(8):
        assert check_gradients(lambda p: -F.sum(p * F.log(p), axis=1), p, seed=seed).verdict == 'pass'


def test_products_with_subnormal_numbers_are_rounded_in_sums_of_upstream_gradients_too() -> None:
    """The quotient of a subnormal product and its factor is off by up to a half."""
    x = np.random.RandomState(0).uniform(0.5, 3.0, 60)
    x[::9] = np.random.RandomState(1).randint(1, 12, x[::9].size) * 5e-324
    for seed in range(4):
        assert check_gradients(lambda x: x * F.log(x), x, seed=seed, precise=False).verdict == 'pass'


# --- many kinks ---


def test_kinks_in_every_interval_are_no_rounding() -> None:
    """A bias of zeros moves thousands of units, each with its own kink."""
    np.random.seed(0)
    mlp = Sequential(L.Linear(50, 30), F.relu, L.Linear(30, 10), F.relu, L.Linear(10, 3))
    x = np.random.RandomState(0).normal(size=(200, 50)).astype('f')
    for seed in range(4):
        report = check_gradients(mlp, x, params='all', seed=seed, strict=True)
        assert report and not report.unvouched and 'inside' not in report.message, report.message


# --- arguments and outputs ---


@pytest.mark.filterwarnings('ignore:the matrix subclass:PendingDeprecationWarning')
def test_matrices_are_converted() -> None:
    with pytest.warns(MatrixWarning):
        assert check_gradients(F.tanh, np.matrix([[1.0, 2.0], [3.0, 4.0]]))


@pytest.mark.parametrize('others', [(3,), (None, np.int64(3)), (np.arange(3), True)], ids=str)
def test_integers_and_none_among_outputs_are_skipped(others: Any) -> None:
    assert check_gradients(lambda x: (x * 2, *others), np.ones(3))


@pytest.mark.parametrize('name', ['precise', 'strict'])
def test_flags_are_checked(name: str) -> None:
    with pytest.raises(TypeError, match=f"{name} must be True, False or None, got 'y'"):
        check_gradients(F.tanh, np.ones(3), **{name: 'y'})


def test_tangents_of_gradients_need_the_second_order() -> None:
    with pytest.raises(ValueError, match='check_fwd_over_rev=True needs order=2'):
        check_gradients(F.tanh, np.ones(3), check_fwd_over_rev=True)
