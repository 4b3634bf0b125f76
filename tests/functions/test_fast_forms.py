"""A fast form computes what the rule says: for every primitive that has one, on every row that applies it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import minichainer as chainer
from minichainer.functions import primitive
from minichainer.functions._node import PrimitiveNode
from minichainer.variable_node import creator_of
from tests.functions.checks import bound, outputs_of
from tests.functions.numeric import signed
from tests.functions.over_cases import over_cases
from tests.functions.row import Case, Row
from tests.functions.table import CASES

#: Relative to the largest element.
PRECISION = {'e': 4e-3, 'f': 2e-5, 'd': 1e-11}
#: Relative to the largest upstream gradient: of sums that are 0 but for rounding, such as the gradient of a number
#: that is added to all scores of a softmax, nothing else is left.
ROUNDING = {'e': 5e-7, 'f': 5e-7, 'd': 1e-15}


def nodes_with_fast_forms(ys: Any) -> Iterator[PrimitiveNode]:
    """The applied primitives from which ``ys`` come that have a fast form."""
    seen, waiting = set(), [creator_of(y.edge) for y in ys]
    while waiting:
        node = waiting.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        waiting += map(creator_of, node.edges)
        if isinstance(node, PrimitiveNode) and any(form is not None for form in node.spec.fast):
            yield node


def check(node: PrimitiveNode, what: str) -> None:
    """Compares the gradients by the fast form with those by the rule, for random upstream gradients."""
    kinds = node._output_kinds if node.output_count > 1 else [(node.shape, node.dtype)]
    rng = np.random.RandomState(0)
    gys = [signed(shape, rng, dtype.char) for shape, dtype in kinds]
    largest = max(np.abs(gy).max(initial=0.0) for gy in gys)
    fast = node.pullback(gys if node.output_count > 1 else gys[0], None, {})
    wanted = tuple([i for i, edge in enumerate(node.edges or ()) if edge.requires_grad])
    with chainer.no_backprop_mode():
        by_rule = node.backward(wanted, tuple([chainer.Variable(gy) for gy in gys]))
    for i, expected in zip(wanted, by_rule, strict=True):
        if expected is None or fast[i] is None:
            assert expected is None and fast[i] is None, f'{what}: argument {i}'
            continue
        scale = max(np.abs(expected.array[np.isfinite(expected.array)]).max(initial=0.0), 1e-30)
        limit = PRECISION[expected.dtype.char]
        least = ROUNDING[expected.dtype.char] * largest
        np.testing.assert_allclose(
            fast[i],
            expected.array,
            rtol=limit,
            atol=max(limit * scale, least),
            err_msg=f'{what}: {node.label}, argument {i}',
        )


@over_cases((r, c) for _, r, c in CASES if r.order)
def test_fast_forms_agree_with_rules(row: Row, case: Case) -> None:
    for dtype in row.dtypes:
        function, xs = bound(row, case, row.draw(case, dtype))
        for node in nodes_with_fast_forms(outputs_of(function(*[chainer.Variable(x) for x in xs]))):
            check(node, f'{row} {case} {dtype}')


def with_fast_forms(cls: Any = PrimitiveNode) -> Iterator[Any]:
    for subclass in cls.__subclasses__():
        if any(form is not None for form in subclass.spec.fast) and subclass.__module__.startswith('minichainer.'):
            yield subclass
        yield from with_fast_forms(subclass)


@pytest.mark.slow
def test_every_fast_form_is_met_by_a_row() -> None:
    met = set()
    for _, row, case in CASES:
        if row.order:
            function, xs = bound(row, case, row.draw(case))
            nodes = nodes_with_fast_forms(outputs_of(function(*map(chainer.Variable, xs))))
            met |= {cls for node in nodes for cls in type(node).__mro__}  # nodes may have classes with other names
    assert set(with_fast_forms()) - met == set()


@pytest.mark.parametrize('dtype', 'fd')
def test_a_fast_form_that_is_wrong_is_seen(dtype: str) -> None:
    wrong = primitive(
        lambda xp, x: x * x, lambda m, gy, x: gy * 2 * x, fast=lambda xp, gy, x: gy * 2.001 * x, name='Wrong'
    )
    y = wrong(chainer.Variable(np.arange(3, dtype=dtype)))
    with pytest.raises(AssertionError, match='Wrong, argument 0'):
        check(y.creator, 'a planted fault')
