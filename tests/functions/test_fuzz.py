"""Every function with random shapes, dtypes and parameters: a right result, or an error that we raise ourselves.

An error counts as ours if a ``raise`` statement of the package makes it: what NumPy throws out of the middle of a
function says nothing to its caller. The long run tries twice as many calls, `make fuzz` many more (FUZZ_EXAMPLES of
each row).
"""

from __future__ import annotations

import inspect
import os
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import minichainer as chainer
import minichainer.functions as F
from tests.functions.checks import close, outputs_of
from tests.functions.raised import is_ours, is_the_rows
from tests.functions.row import Case, Row
from tests.functions.table import ROWS

EXAMPLES = int(os.environ.get('FUZZ_EXAMPLES', '6'))
DTYPES = 'ddddffe' + 'iBl?F'
#: Which input gets a dtype of its own, that dtype, and what is added to the input.
Odd = tuple[int, str, int]
SIZES = st.sampled_from([0, 1, 2, 3, 4, 7])
#: What a value of a parameter may be replaced by, beside the values that the row's cases have.
STRANGE = [
    None,
    0,
    -1,
    1,
    2,
    3,
    5,
    -3,
    0.5,
    -0.5,
    'no',
    'mean',
    'sum',
    'bogus',
    (),
    (0,),
    (0, 1),
    (1, 2),
    (2, -1),
    True,
]


@st.composite
def shapes(draw: Any, shape: tuple[int, ...]) -> tuple[int, ...]:
    """A shape that is often the given one, and mostly near it."""
    change = draw(st.sampled_from(['none', 'none', 'size', 'axis more', 'axis less', 'any']))
    if change == 'any':
        return tuple(draw(st.lists(SIZES, max_size=4)))
    if change == 'axis more':
        return (*shape, draw(SIZES))
    if change == 'axis less' or not shape:
        return shape[1:]
    if change == 'size':
        place = draw(st.integers(0, len(shape) - 1))
        return (*shape[:place], draw(SIZES), *shape[place + 1 :])
    return shape


def _more_parameters(row: Row) -> frozenset[str]:
    """Parameters of the function that no case may have given a value, but whose default the row lets be replaced."""
    function = getattr(F, row.name, None)
    if function is None:
        return frozenset()
    of_row = inspect.signature(row.call).parameters.values()
    takes_all = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in of_row)
    own = {p.name for p in of_row if p.default is not inspect.Parameter.empty}
    given = {p.name for p in [*of_row][: len(row.domains)]}
    every = inspect.signature(function).parameters.values()
    of_function = {p.name for p in every if p.default is not inspect.Parameter.empty}
    return frozenset((own | of_function if takes_all else own) - given)


@st.composite
def calls(draw: Any, row: Row) -> tuple[Case, str, Odd | None]:
    """A call of the row's function: a case that is as it was written, or that has been changed; and dtypes."""
    base = draw(st.sampled_from(row.cases))
    params = dict(base.params)
    names = sorted({*params, *_more_parameters(row)})
    if names and draw(st.booleans()):
        name = draw(st.sampled_from(names))
        known = [case.params[name] for case in row.cases if name in case.params]
        params[name] = draw(st.sampled_from([*known, *STRANGE]))
    together = draw(st.booleans())  # shapes that change alike have a chance to fit
    if together and len(set(base.shapes)) == 1:
        new = [draw(shapes(base.shapes[0]))] * len(base.shapes)
    else:
        new = [draw(shapes(shape)) for shape in base.shapes]
    odd = st.tuples(st.integers(0, len(new) - 1), st.sampled_from(DTYPES), st.sampled_from([0, 0, 100, -100]))
    nothing = st.none()
    return (
        Case(tuple(new), params),
        draw(st.sampled_from(DTYPES)),
        draw(st.one_of(nothing, nothing, nothing, odd)),
    )


def arrays_of(row: Row, case: Case, dtype: str, odd: Odd | None = None) -> list[np.ndarray]:
    try:
        arrays = row.draw(case, 'd')
    except Exception:
        arrays = [np.ones(shape) for shape in case.shapes]
    floats = [a.dtype.kind == 'f' for a in arrays]
    arrays = [a.astype(dtype) if is_float else a for a, is_float in zip(arrays, floats, strict=True)]
    if odd is not None:
        place, other, shift = odd
        arrays[place] = np.asarray(arrays[place].astype('D') + shift).astype(other)
    return arrays


def run(row: Row, case: Case, dtype: str, odd: Odd | None = None) -> None:
    """Calls the function, and goes backward from what it returns."""
    arrays = arrays_of(row, case, dtype, odd)
    inputs = [chainer.Variable(a) if d.is_variable else a for a, d in zip(arrays, row.domains, strict=True)]
    try:
        ys = [y for y in outputs_of(row.call(*inputs, **case.params)) if isinstance(y, chainer.Variable)]
    except Exception as error:
        if is_the_rows(error):
            return
        if not is_ours(error):
            raise
        _check_message(error)
        return
    if odd is None:
        _check_values(row, case, dtype, arrays, ys)
    _check_gradients(inputs, ys)


def _check_message(error: Exception) -> None:
    assert len(str(error)) > 10, f'{type(error).__name__} with nothing to go by: {error}'


def _check_values(row: Row, case: Case, dtype: str, arrays: list[np.ndarray], ys: list[Any]) -> None:
    if dtype not in row.dtypes:
        return
    try:
        wide = [a.astype('d') if a.dtype.kind == 'f' else a for a in arrays]
        expected = [np.asarray(y) for y in outputs_of(row.reference(*wide, **case.params))]
    except Exception:
        return
    if len(expected) == len(ys) and all(np.isfinite(e).all() for e in expected):
        for y, e in zip(ys, expected, strict=True):
            assert y.shape == e.shape
            close(y.array, e, dtype, f'{row} {case} {dtype}')


def _check_gradients(inputs: list[Any], ys: list[Any]) -> None:
    roots = [y for y in ys if y.requires_grad and y.dtype.kind == 'f']
    for y in roots:
        with y.device.create_context():
            y.grad = np.ones_like(y.array)
    if roots:
        chainer.backward(roots)
    for x in inputs:
        if isinstance(x, chainer.Variable) and x.grad is not None:
            assert x.grad.shape == x.shape and x.grad.dtype == x.dtype


@pytest.mark.parametrize('examples', [EXAMPLES, pytest.param(2 * EXAMPLES, marks=pytest.mark.slow)])
@pytest.mark.parametrize('row', ROWS, ids=str)
def test_a_right_result_or_an_error_of_ours(row: Row, examples: int) -> None:
    @settings(
        max_examples=examples, deadline=None, derandomize=EXAMPLES < 100, database=None,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(calls(row))
    def fuzz(call: tuple[Case, str, Odd | None]) -> None:
        with warnings.catch_warnings(), np.errstate(all='ignore'):
            warnings.simplefilter('ignore')
            run(row, *call)

    fuzz()


def _strange_calls(row: Row) -> Iterator[Case]:
    """For each parameter every strange value, all else being as in a case of the row."""
    for name in sorted({*_more_parameters(row), *(name for case in row.cases for name in case.params)}):
        base = next((case for case in row.cases if name in case.params), row.cases[0])
        yield from (Case(base.shapes, {**base.params, name: value}) for value in STRANGE)


@pytest.mark.parametrize('row', ROWS, ids=str)
def test_parameters_with_strange_values(row: Row) -> None:
    with warnings.catch_warnings(), np.errstate(all='ignore'):
        warnings.simplefilter('ignore')
        for call in _strange_calls(row):
            run(row, call, 'd')


def test_what_numpy_raises_is_not_ours() -> None:
    with pytest.raises(ValueError, match='cannot reshape') as caught:
        np.ones(2).reshape(3)
    assert not is_ours(caught.value)
    with pytest.raises(TypeError) as ours:
        chainer.Variable([1.0])
    assert is_ours(ours.value)
