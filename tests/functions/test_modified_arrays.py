"""With ``check_inplace = 'error'`` no modification goes unseen: a changed array is an error, or no gradient needs it.

Each input, each output and each array among the parameters of every differentiable row is changed in place, one at a
time, between forward and backward.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import minichainer as chainer
from minichainer.errors import InplaceError
from tests.functions.over_cases import over_cases
from tests.functions.row import Case, Row
from tests.functions.table import ROWS


def has_elements(case: Case) -> bool:
    return not any(0 in shape for shape in case.shapes)


DIFFERENTIABLE = [(row, [case for case in row.cases if has_elements(case)]) for row in ROWS if row.order]
FIRST = [(row, cases[0]) for row, cases in DIFFERENTIABLE if cases]
ALL = [(row, case) for row, cases in DIFFERENTIABLE for case in cases]


def arrays_in(value: Any) -> list[Any]:
    """The arrays and Variables in nested containers."""
    if isinstance(value, (np.ndarray, chainer.Variable)):
        return [value]
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, (tuple, list)) else ()
    return [array for part in parts for array in arrays_in(part)]


class Application:
    """A row's function, applied to the inputs of a case; the same for each object.

    Args:
        through: whether the inputs are results of functions; else they are leaves.
    """

    def __init__(self, row: Row, case: Case, through: bool = False) -> None:
        np.random.seed(0)
        arrays, params = row.draw(case, 'f'), copy.deepcopy(case.params)
        pairs = [(chainer.Variable(x) if d.is_variable else x, x) for d, x in zip(row.domains, arrays, strict=True)]
        self.leaves = [x for x, array in pairs if x is not array]
        inputs = [x * 1 if through and x is not array else x for x, array in pairs]
        results = arrays_in(row.call(*inputs, **params))
        self.outputs = [y for y in results if isinstance(y, chainer.Variable) and y.dtype.kind in 'fc']
        #: All that a user can change.
        self.places = [getattr(x, 'array', x) for x in [*inputs, *self.outputs, *arrays_in(params)]]

    def gradients(self, differentiable: bool = False) -> list[Any]:
        """The gradients of the inputs for fixed upstream gradients."""
        rng = np.random.RandomState(0)
        upstream = [chainer.Variable(rng.normal(size=y.shape).astype(y.dtype)) for y in self.outputs]
        found = chainer.grad(self.outputs, self.leaves, upstream, enable_double_backprop=differentiable)
        return [None if gx is None else gx.array for gx in found]


def change(array: Any) -> bool:
    """Changes an array in place; False if it cannot be, or stays the same."""
    before = array.copy()
    if not array.flags.writeable or not array.size:
        return False
    if array.dtype.kind in 'iu':
        array[...] = np.roll(array, 1)
    else:
        array[...] = ~array if array.dtype.kind == 'b' else array * 0.7 + 0.1
    return not np.array_equal(before, array, equal_nan=array.dtype.kind == 'f')


def changed(row: Row, case: Case, through: bool) -> Iterator[tuple[int, Application]]:
    """The function applied as often as there are arrays, each time with another of them changed."""
    for k in range(len(Application(row, case, through).places)):
        application = Application(row, case, through)
        if change(application.places[k]):
            yield k, application


def check(row: Row, case: Case, through: bool, differentiable: bool) -> int:
    """Compares the gradients after each change that is no error with those before; returns how many are errors."""
    expected, errors = Application(row, case, through).gradients(differentiable), 0
    for k, application in changed(row, case, through):
        try:
            found = application.gradients(differentiable)
        except InplaceError:
            errors += 1
            continue
        for one, other in zip(found, expected, strict=True):
            assert (one is None) == (other is None), f'array {k}'
            if one is not None:
                np.testing.assert_allclose(one, other, 1e-3, 1e-4, err_msg=f'array {k} was changed unseen')
    return errors


@pytest.fixture(autouse=True)
def errors() -> Iterator[None]:
    with chainer.using_config('check_inplace', 'error'):
        yield


@over_cases(FIRST)
def test_a_change_is_an_error_or_not_needed(row: Row, case: Case) -> None:
    check(row, case, through=False, differentiable=False)


@pytest.mark.slow
@pytest.mark.parametrize('differentiable', [False, True], ids=['plain', 'differentiable'])
@pytest.mark.parametrize('through', [False, True], ids=['leaves', 'results'])
@over_cases(ALL)
def test_a_change_is_an_error_or_not_needed_in_every_case(
    row: Row, case: Case, through: bool, differentiable: bool
) -> None:
    check(row, case, through, differentiable)


def test_changes_are_errors_in_most_rows() -> None:
    """So that the tests above compare something."""
    assert sum(check(row, case, False, False) > 0 for row, case in FIRST) > 0.6 * len(FIRST)


@over_cases(FIRST)
def test_what_functions_do_themselves_is_no_error(row: Row, case: Case) -> None:
    applications = [Application(row, case) for _ in range(2)]
    for application in [*applications, *applications]:
        application.gradients()
