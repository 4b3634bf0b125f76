"""The tables of ``docs/numerics.md``: what the columns "here" promise is computed, on few and on many elements."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F

PAGE = (Path(__file__).resolve().parents[2] / 'docs' / 'numerics.md').read_text(encoding='utf-8')
#: Arrays of each section of the page, and what else the calls name.
ARGUMENTS: dict[str, dict[str, list[float]]] = {
    'NaN': {'x': [1, np.nan, -1, 2], 'x1': [1, np.nan, 2], 'x2': [np.nan, 1, 1]},
    'Points without a derivative': {'x': [0, -0.0], 'e': [-1.5, 1.5], 't': [3, 1, 3], 'u': [3], 'v': [3]},
}
CONSTANTS = {
    'labels': np.array([0, 1]), 'zeros': np.zeros((2, 2)), 'ones': np.ones((2, 2)), 'quarter': np.full(1, 0.25),
}  # fmt: skip
#: Functions that are not elementwise.
WHOLE = re.compile(r'^(max|min|logsumexp)\(|reshape')


def _rows() -> list[tuple[str, str, str]]:
    """Section, call and column of each row of a table."""
    sections = re.findall(r'^## (.*?)\n(.*?)(?=^## |\Z)', PAGE, re.MULTILINE | re.DOTALL)
    row = re.compile(r'^\| `([^`]+)` \| ((?:`[^`]+`(?:, )?)+) \|', re.MULTILINE)
    return [(title, *found) for title, text in sections for found in row.findall(text)]


ROWS = _rows()
ELEMENTWISE = [row for row in ROWS if not WHOLE.search(row[1])]


def _parametrize(rows: list[tuple[str, str, str]]) -> Any:
    return pytest.mark.parametrize(('section', 'call', 'column'), rows, ids=[call for _, call, _ in rows])


def _computed(section: str, call: str, dtype: str, repeats: int) -> tuple[Any, list[chainer.Variable]]:
    names = [name for name in ARGUMENTS[section] if re.search(rf'\b{name}\b', call)]
    arrays = [np.tile(np.array(ARGUMENTS[section][name], dtype), repeats) for name in names]
    variables = [chainer.Variable(array) for array in arrays]
    constants = {k: v.astype(dtype) if v.dtype.kind == 'f' else v for k, v in CONSTANTS.items()}
    functions = {name: getattr(F, name) for name in re.findall(r'\w+', call) if hasattr(F, name)}
    return eval(call, {**functions, **constants, **dict(zip(names, variables, strict=True))}), variables


def _assert_equal(actual: list[Any], column: str, dtype: str, repeats: int) -> None:
    wanted = [[float(number) for number in text.split()] for text in re.findall('`([^`]+)`', column)]
    for found, numbers in zip(actual, wanted, strict=True):
        tolerance = 2e-3 if dtype == 'e' else 1e-4
        np.testing.assert_allclose(found, np.tile(numbers, repeats), tolerance)


@_parametrize(ROWS)
@pytest.mark.parametrize('dtype', 'efd')
@pytest.mark.parametrize('repeats', [1, 3000])
@pytest.mark.parametrize('double', [False, True])
@pytest.mark.filterwarnings('ignore::RuntimeWarning')
def test_gradients(section: str, call: str, column: str, dtype: str, repeats: int, double: bool) -> None:
    if WHOLE.search(call):
        repeats = 1
    y, variables = _computed(section, call, dtype, repeats)
    y.grad = np.ones(y.shape, dtype)
    y.backward(enable_double_backprop=double)
    _assert_equal([variable.grad for variable in variables], column, dtype, repeats)


@_parametrize(ELEMENTWISE)
@pytest.mark.parametrize('dtype', 'efd')
@pytest.mark.parametrize('repeats', [1, 3000])
@pytest.mark.filterwarnings('ignore::RuntimeWarning')
def test_slopes_of_the_second_order(section: str, call: str, column: str, dtype: str, repeats: int) -> None:
    """The derivative of the gradient with respect to the upstream gradient is the same slope."""
    y, variables = _computed(section, call, dtype, repeats)
    slopes = []
    for x in variables:
        gy = chainer.Variable(np.ones(y.shape, dtype))
        (gx,) = chainer.grad([y], [x], [gy], enable_double_backprop=True)
        slopes.append(chainer.grad([F.sum(gx)], [gy])[0].array)
    _assert_equal(slopes, column, dtype, repeats)


def test_every_table_is_found() -> None:
    assert len(ROWS) == len(re.findall(r'^\| `', PAGE, re.MULTILINE)) == 29
