"""An infinite or undefined upstream gradient reaches what its output depends on, and nothing else.

What a function does not choose (a clipped element, the smaller of two) has derivative 0, whatever comes from above:
a rule that multiplies by a mask would make 0 times infinity of it, which is NaN.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F
from tests.functions import (
    rows_activation,
    rows_array,
    rows_decompositions,
    rows_elementwise,
    rows_linear_algebra,
    rows_losses,
    rows_math,
    rows_network,
    rows_operators,
    rows_rearranging,
    rows_reductions,
    rows_sequences,
    rows_structured,
)
from tests.functions.checks import bound, gradients
from tests.functions.row import Case, Row, pairs

_DENSE = 'everything is multiplied with everything; zeros are such by value'
#: Rows, and cases, where an infinite gradient goes further, and why.
SPREADS: dict[str, str] = {
    **dict.fromkeys(
        'cholesky qr qr[wide] qr[R] decov cross_covariance spatial_transformer_sampler '
        'discriminative_margin_based_clustering_loss'.split(), _DENSE,
    ),
    'relu': 'a product with a factor of floats: a choice takes 0.25 µs more on small arrays, a quarter of it',
    'dropout': 'a product with the mask, one pass less',
    'simplified_dropconnect': 'a product with the mask',
    'simplified_dropconnect[no bias]': 'a product with the mask',
    '__pow__[number]-3x4-c=0': 'the exponent is 0 by value',
    'elu-3x4-alpha=0.0': 'alpha is 0 by value',
}  # fmt: skip
#: Where elements are picked, in all of these; sums over windows multiply padding and masks with everything.
_ROWS = [
    *rows_operators.ROWS, *rows_elementwise.ROWS, *rows_array.ROWS, *rows_rearranging.ROWS, *rows_reductions.ROWS,
    *rows_activation.ROWS, *rows_math.ROWS, *rows_linear_algebra.ROWS, *rows_decompositions.ROWS,
    *rows_losses.ROWS, *rows_network.ROWS, *rows_structured.ROWS, *rows_sequences.ROWS,
]  # fmt: skip
CASES = [entry for entry in pairs(_ROWS) if entry[1].order and not any(0 in shape for shape in entry[2].shapes)]
CHOSEN = [pytest.param(row, case, id=name) for name, row, case in CASES if not {str(row), name} & set(SPREADS)]


def _upstream(shapes: list[tuple[int, ...]]) -> Iterator[list[np.ndarray]]:
    """Zeros with a one at some elements of each output, one after the other."""
    for place, shape in enumerate(shapes):
        size = int(np.prod(shape, dtype=int))
        for element in sorted({0, size // 2, size - 1} & set(range(size))):
            gys = [np.zeros(shape) for shape in shapes]
            gys[place].flat[element] = 1.0
            yield gys


@pytest.mark.parametrize(('row', 'case'), CHOSEN)
def test_elements_that_do_not_matter_have_finite_gradients(row: Row, case: Case) -> None:
    function, xs = bound(row, case, row.draw(case))
    shapes = [y.shape for y in function(*[chainer.Variable(x) for x in xs])]
    for gys in _upstream(shapes):
        with np.errstate(all='ignore'):
            known = gradients(function, xs, gys)
            spoilt = [gradients(function, xs, [np.where(gy == 1, v, gy) for gy in gys]) for v in (np.inf, np.nan)]
        for found in spoilt:
            _compare(known, found)


def _compare(known: list[Any], found: list[Any]) -> None:
    for plain, actual in zip(known, found, strict=True):
        if plain is not None:
            spoilt = (plain == 0) & ~np.isfinite(actual)
            assert not spoilt.any(), f'{int(spoilt.sum())} elements with derivative 0 got {actual[spoilt]}'


@pytest.mark.parametrize('name', sorted(SPREADS))
def test_an_exception_is_needed(name: str) -> None:
    cases = [(row, case) for case_name, row, case in CASES if name in (str(row), case_name)]

    def check_all() -> None:
        for row, case in cases:
            test_elements_that_do_not_matter_have_finite_gradients(row, case)

    with pytest.raises(AssertionError, match='with derivative 0 got'):
        check_all()


# --- logits of minus infinity, which stand for what is impossible ---------------------------------------------------
LOGITS = np.array([[0.0, -np.inf, 1.0], [-np.inf, -np.inf, 2.0], [0.5, 1.0, 1.5]])


@pytest.mark.parametrize('name', ['softmax', 'log_softmax', 'logsumexp'])
def test_minus_infinity_among_logits_is_as_good_as_a_very_small_number(name: str) -> None:
    def derivatives(logits: np.ndarray) -> list[np.ndarray]:
        x = chainer.Variable(logits)
        y = getattr(F, name)(x, 1)
        used = F.where(~np.isneginf(LOGITS), y, 0.0) if name == 'log_softmax' else y
        (gx,) = chainer.grad([F.sum(used**2)], [x], enable_double_backprop=True)
        (ggx,) = chainer.grad([F.sum(gx * np.arange(1.0, 10.0).reshape(3, 3))], [x])
        return [used.array, gx.array, ggx.array]

    small = np.where(np.isneginf(LOGITS), -1e5, LOGITS)
    for actual, wanted in zip(derivatives(LOGITS), derivatives(small), strict=True):
        np.testing.assert_allclose(actual, wanted, rtol=1e-12, atol=1e-12)


def test_the_second_derivative_of_logsumexp_of_nothing_but_minus_infinity_is_0() -> None:
    x = chainer.Variable(np.array([[-np.inf, -np.inf], [1.0, 2.0]]))
    with np.errstate(invalid='ignore'):
        (gx,) = chainer.grad([F.sum(F.exp(F.logsumexp(x, 1)))], [x], enable_double_backprop=True)
        (ggx,) = chainer.grad([F.sum(gx)], [x])
    np.testing.assert_allclose(gx.array, [[0, 0], np.exp([1, 2])])
    np.testing.assert_allclose(ggx.array, [[0, 0], np.exp([1, 2])])
