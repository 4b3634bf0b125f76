"""A NaN does not hide: where an element makes an output NaN, the gradient of that output reaches the element."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import minichainer as chainer
from tests.functions.checks import Function, bound, differentiable_gradients, gradients
from tests.functions.over_cases import over_cases
from tests.functions.row import Case, Row
from tests.functions.table import CASES

#: Rows, and cases, where the gradient is 0, and why.
HIDES: dict[str, str] = {
    'leaky_relu-3x4-slope=0.0': 'the slope is 0 by value',
    'dropout': 'the factor is 0 by value',
    'simplified_dropconnect': 'the factor is 0 by value',
    'simplified_dropconnect[no bias]': 'the factor is 0 by value',
    'scaled_dot_product_attention[bool mask]': 'the weight is 0 by value',
    'scaled_dot_product_attention[dropout]': 'the weight is 0 by value',
    'convolution_2d-1x1x2x2&1x1x4x3&1-stride=3-cover_all=True': 'the padding is 0 by value',
    'spatial_transformer_sampler': 'the gradient of the other coordinate is NaN, as in Chainer and torch',
    'deformable_convolution_2d_sampler': 'the gradient of the other coordinate is NaN, as in Chainer and torch',
}
ALL = [entry for entry in CASES if entry[1].order and not any(0 in shape for shape in entry[2].shapes)]
CHOSEN = [(row, case) for name, row, case in ALL if not {str(row), name} & set(HIDES)]


def _spoilt(function: Function, xs: list[np.ndarray]) -> Iterator[tuple[int, int, list[np.ndarray]]]:
    """Inputs with a NaN at one element, by number of input and element: the first and the last element of each."""
    for place, x in enumerate(xs):
        for element in {0, x.size - 1}:
            arrays = [np.array(a, dtype=a.dtype) for a in xs]
            arrays[place].flat[element] = np.nan
            yield place, element, arrays


def _at_nan_outputs(function: Function, xs: list[np.ndarray]) -> list[np.ndarray]:
    """Upstream gradients that are positive where the outputs are NaN, else 0."""
    np.random.seed(0)
    ys = [y.array for y in function(*[chainer.Variable(x) for x in xs])]
    rng = np.random.RandomState(0)
    return [np.where(y != y, rng.uniform(1, 2, y.shape), 0).astype(y.dtype) for y in ys]


def _check(row: Row, case: Case, how: Any) -> None:
    function, xs = bound(row, case, row.draw(case))
    for place, element, arrays in _spoilt(function, xs):
        try:
            gys = _at_nan_outputs(function, arrays)
        except (ValueError, np.linalg.LinAlgError):  # refuses NaN, which hides nothing
            continue
        if any(gy.any() for gy in gys):
            np.random.seed(0)
            found = how(function, arrays, gys)[place]
            got = None if found is None else getattr(found, 'array', found).flat[element]
            assert got is None or got != 0, f'element {element} of input {place} is NaN, its gradient {got}'


@over_cases(CHOSEN)
@pytest.mark.filterwarnings('ignore::RuntimeWarning')
def test_a_nan_does_not_hide(row: Row, case: Case) -> None:
    _check(row, case, gradients)


@over_cases(CHOSEN, is_later=lambda row, number: number > 0)
@pytest.mark.filterwarnings('ignore::RuntimeWarning')
def test_a_nan_does_not_hide_in_double_backprop(row: Row, case: Case) -> None:
    _check(row, case, differentiable_gradients)


@pytest.mark.parametrize('name', sorted(HIDES))
@pytest.mark.filterwarnings('ignore::RuntimeWarning')
def test_an_exception_is_needed(name: str) -> None:
    cases = [(row, case) for case_name, row, case in ALL if name in (str(row), case_name)]

    def check_all() -> None:
        for row, case in cases:
            _check(row, case, gradients)

    with pytest.raises(AssertionError, match='is NaN, its gradient'):
        check_all()
