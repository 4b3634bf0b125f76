"""Every function with random numbers, keywords, sizes and strides beside the same call in float64."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
import pytest

from tests.functions.raised import is_ours, is_the_rows
from tests.functions.random_numbers import complaint, complaints, draw
from tests.functions.row import ANY, Row, case
from tests.functions.table import ROWS

#: Calls of each row by default, and with the slow tests: 20 000 of all.
FEW, MANY = 1, 60


@pytest.mark.parametrize('numbers', [range(FEW), pytest.param(range(FEW, MANY), marks=pytest.mark.slow)], ids=str)
@pytest.mark.parametrize('row', ROWS, ids=str)
def test_low_precision_and_strides_change_nothing(row: Row, numbers: range) -> None:
    for number in numbers:
        seed = (zlib.crc32(str(row).encode()) + number) % 2**31
        call = draw(row, seed)
        try:
            found = list(complaints(call, seed))
        except np.linalg.LinAlgError:
            continue  # a singular matrix, or one with NaN
        except Exception as error:
            if not (is_the_rows(error) or is_ours(error)):
                raise
            continue
        assert not found, '\n'.join([f'{call} (seed {seed})', *found])


ONE = np.ones(2)


@pytest.mark.parametrize(
    ('found', 'right', 'words'),
    [
        ([np.nan, 1], [1.0, 1], 'NaN where 1 is right'),
        ([np.inf, 1], [1.0, 1], 'infinite where 1 is right'),
        ([0.0, 1], [np.nan, 1], '0 where NaN is right'),
        ([1.0, 1], [1e300, 1], '1 where inf is right'),
        ([1.0, 1.001], [1.0, 1], '1.001'),
        ([1.0, 1.00001], [1.0, 1], ''),
        ([np.inf, 1], [1e39, 1], ''),
        ([1.0, 1, 1], [1.0, 1], 'shape'),
    ],
)
def test_what_is_wrong_is_found(found: Any, right: Any, words: str) -> None:
    right = np.array(right)
    said = complaint(np.array(found, 'f'), right, [right * (1 + 1e-7)], 10.0, 0)
    assert words in said and bool(words) == bool(said)


def test_a_changed_argument_is_found() -> None:
    def spoiling(x: Any) -> Any:
        x.array[...] = 0
        return x * 1

    row = Row(
        'identity',
        spoiling,
        lambda x: x,
        (ANY,),
        (case((3,)),),
        except_from=dict.fromkeys(
            ('zero-d', 'zero-size', 'wrong kind', 'special values', 'label'), 'no part of this test'
        ),
    )
    assert 'an argument has been changed' in list(complaints(draw(row, 0), 0))
