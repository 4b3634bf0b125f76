"""Every elementwise kernel against its plain form: on both sides of the sizes where it changes, in every layout."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.kernels.kernels import kernel
from tests.kernels.rows_elementwise import ROWS, Row


def check(row: Row, function: Callable[..., Any]) -> None:
    for label, arrays in row.cases():
        for x in arrays:
            x.flags.writeable = False
        before = [x.copy() for x in arrays]
        with np.errstate(all='ignore'):
            found = np.asarray(row.call(function, *arrays))
            expected = np.asarray(
                row.plain(*[x.astype('d') if x.dtype.char == 'f' and row.tolerance else x for x in arrays])
            )
        assert (found.shape, found.dtype) == (arrays[0].shape, arrays[0].dtype), label
        eps = np.finfo(found.dtype).eps * row.tolerance if found.dtype.kind == 'f' else 0
        with np.errstate(over='ignore'):
            expected = expected.astype(found.dtype)
        np.testing.assert_allclose(found, expected, rtol=eps, atol=max(eps * row.absolute, 1e-37), err_msg=label)
        for x, old in zip(arrays, before, strict=True):
            np.testing.assert_array_equal(x, old)
            assert not np.shares_memory(x, found), label


@pytest.mark.parametrize('name', ROWS)
def test_is_the_plain_form(name: str) -> None:
    check(ROWS[name], kernel(name.partition(',')[0]))


# --- The test fails where it should. ---


def _last_is_wrong(y: Any) -> Any:
    if y.size:
        y.reshape(-1)[-1] += 1
    return y


def _slightly_wrong(y: Any) -> Any:
    return y * y.dtype.type(1.01) + (y.dtype.type(0.01) if y.dtype.kind == 'f' else y.dtype.type(1))


def _without_nan(y: Any) -> Any:
    return np.nan_to_num(y, posinf=np.inf, neginf=-np.inf)


def _flat(y: Any) -> Any:
    return y.reshape(-1)


def _wide(y: Any) -> Any:
    return y.astype('g')


MUTANTS: dict[str, tuple[Callable[[Row, Any], bool], Callable[[Any], Any]]] = {
    'slightly': (lambda row, y: True, _slightly_wrong),
    'the last element': (lambda row, y: True, _last_is_wrong),
    'without axes': (lambda row, y: y.ndim == 0, _slightly_wrong),
    'few elements': (lambda row, y: 0 < y.size < 20, _slightly_wrong),
    'from each size on': (lambda row, y: y.size >= max(row.sizes, default=0), _last_is_wrong),
    'below each size': (lambda row, y: 0 < y.size < min(row.sizes, default=99), _last_is_wrong),
    'in its shape': (lambda row, y: y.ndim > 1, _flat),
    'in its dtype': (lambda row, y: True, _wide),
    'with NaN': (lambda row, y: np.isnan(y).any(), _without_nan),
}


@pytest.mark.parametrize('mutant', MUTANTS)
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
