"""Every elementwise kernel against its plain form: on both sides of the sizes where it changes, in every layout."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.kernels.comparing import check, check_named, flat, last_is_wrong, slightly_wrong, wide, without_nan
from tests.kernels.kernels import kernel
from tests.kernels.rows_elementwise import ROWS, Row


@pytest.mark.parametrize('name', ROWS)
def test_is_the_plain_form(name: str, xp: Any) -> None:
    check_named(ROWS, name, xp)


# --- The test fails where it should. ---


MUTANTS: dict[str, tuple[Callable[[Row, Any], bool], Callable[[Any], Any]]] = {
    'slightly': (lambda row, y: True, slightly_wrong),
    'the last element': (lambda row, y: True, last_is_wrong),
    'without axes': (lambda row, y: y.ndim == 0, slightly_wrong),
    'few elements': (lambda row, y: 0 < y.size < 20, slightly_wrong),
    'from each size on': (lambda row, y: y.size >= max(row.sizes, default=0), last_is_wrong),
    'below each size': (lambda row, y: 0 < y.size < min(row.sizes, default=99), last_is_wrong),
    'in its shape': (lambda row, y: y.ndim > 1, flat),
    'in its dtype': (lambda row, y: True, wide),
    'with NaN': (lambda row, y: np.isnan(y).any(), without_nan),
}


#: Mutants for the long run: in all rows the same comparison sees them.
PLAIN = ('the last element', 'in its shape', 'in its dtype', 'without axes')


@pytest.mark.parametrize('mutant', [pytest.param(m, marks=[pytest.mark.slow] * (m in PLAIN)) for m in MUTANTS])
@pytest.mark.parametrize('name', [n for n in ROWS if not n.startswith('rectifier.step')])
def test_a_wrong_kernel_is_noticed(name: str, mutant: str) -> None:
    applies, change = MUTANTS[mutant]
    row, right, changed = ROWS[name], kernel(name.partition(',')[0]), []

    def wrong(*args: Any) -> Any:
        y = np.array(right(*args))
        if not applies(row, y):
            return y
        changed.append(y)
        return change(y)

    try:
        check(row, wrong)
    except AssertionError:
        return
    assert not changed, 'the kernel was made wrong, and the test did not see it'
