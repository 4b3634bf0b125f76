"""The tests of each row fail where its rule is made wrong; `make mutation` tries every mutant of every row."""

from __future__ import annotations

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F
from tests.functions import mutation
from tests.functions.mutation import EQUAL, MUTANTS, in_python, is_caught, mutated
from tests.functions.row import Row
from tests.functions.table import ROWS

DIFFERENTIABLE = [row for row in ROWS if row.order > 0]


def _is_seen(row: Row, mutant: str) -> bool:
    return is_caught(row, mutant) == ('equal' if (str(row), mutant) in EQUAL else 'caught')


@pytest.mark.parametrize('row', DIFFERENTIABLE, ids=str)
def test_a_factor_of_a_hundredth_more_is_caught(row: Row) -> None:
    assert _is_seen(row, 'times 1.01')


@pytest.mark.slow
@pytest.mark.parametrize('mutant', [name for name in MUTANTS if name != 'times 1.01'])
@pytest.mark.parametrize('row', DIFFERENTIABLE, ids=str)
def test_every_mutant_is_caught(row: Row, mutant: str) -> None:
    assert _is_seen(row, mutant)


def test_a_mutant_that_no_test_can_see_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mutation, '_passes', lambda row, case: True)
    assert is_caught(DIFFERENTIABLE[0], 'negate') == 'survived'


def test_a_mutated_function_is_itself_again_afterwards() -> None:
    def gradients() -> list[float]:
        x = chainer.Variable(np.array(2.0))
        y = F.exp(x)
        y.backward()
        (differentiable,) = chainer.grad([F.exp(x)], [x], enable_double_backprop=True)
        return [float(x.grad), float(differentiable.array)]

    right = gradients()
    with in_python():
        assert gradients() == right
        with mutated(F.exp.node_class, MUTANTS['negate']):
            assert gradients() == [-value for value in right]
    assert gradients() == right
