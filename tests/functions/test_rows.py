"""The table itself: it is complete, its rows are checked, and its tests see wrong gradients."""

from __future__ import annotations

import dataclasses
import inspect
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F
from tests.functions import table
from tests.functions.checks import bound, check_gradient, differentiable_gradients, gradients, upstream_of
from tests.functions.exemptions import COUNT, NOT_TWICE_DIFFERENTIABLE
from tests.functions.numeric import directional
from tests.functions.row import ANY, Bad, BadRow, Case, Domain, Row, Special, case

API = json.loads((Path(__file__).parents[1] / 'reference' / 'chainer_api.json').read_text())['chainer.functions']
NAMES = {row.name for row in table.ROWS}


# --- completeness --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize('name', sorted(F.__all__))
def test_every_public_function_has_a_row_or_a_reason(name: str) -> None:
    assert (name in NAMES) != (name in table.EXEMPT), f'{name}: add a row to the table, or a reason to EXEMPT'


def _operators() -> list[str]:
    return sorted(n for c in chainer.Variable.__mro__[:-1] for n, v in vars(c).items() if _is_operator(n, v))


def _is_operator(name: str, value: Any) -> bool:
    arithmetic = [n for n in dir(int) if n not in dir(object) and callable(getattr(int, n)) and n.startswith('__')]
    comparisons = ['__eq__', '__ne__', '__lt__', '__le__', '__gt__', '__ge__']
    return callable(value) and name in [*arithmetic, *comparisons, '__matmul__', '__rmatmul__', '__getitem__']


@pytest.mark.parametrize('name', _operators())
def test_every_operator_has_a_row_or_a_reason(name: str) -> None:
    assert (name in NAMES) != (name in table.EXEMPT_OPERATORS), f'{name}: add a row, or a reason'


def test_rows_and_exemptions_are_of_things_that_exist() -> None:
    public = {*F.__all__, *_operators()}
    assert public >= NAMES
    assert public >= {*table.EXEMPT, *table.EXEMPT_OPERATORS}
    assert all(len(reason) > 10 for reason in [*table.EXEMPT.values(), *table.EXEMPT_OPERATORS.values()])


def test_rows_have_names_of_their_own() -> None:
    names = [str(row) for row in table.ROWS]
    assert sorted(set(names)) == sorted(names)


@pytest.mark.parametrize('name', sorted({*F.__all__} & {*API} & NAMES))
def test_signature_is_that_of_chainer(name: str) -> None:
    def described(signature: inspect.Signature) -> list[Any]:
        return [(p.name, p.kind, p.default) for p in signature.parameters.values()]

    recorded = API[name]['signature']
    names_of_chainer = eval(f'lambda {recorded[1:-1]}: None', {})
    actual, expected = described(inspect.signature(getattr(F, name))), described(inspect.signature(names_of_chainer))
    if name == 'absolute':  # the method of Variable in Chainer: its argument is called self
        expected = [('x', *expected[0][1:])]
    assert actual == expected


def test_exemptions_from_second_order_are_few_and_needed() -> None:
    assert len(NOT_TWICE_DIFFERENTIABLE) == COUNT
    assert all(len(reason) > 20 for reason in NOT_TWICE_DIFFERENTIABLE.values())
    assert {row.name for row in table.ROWS if row.order == 1} == set(NOT_TWICE_DIFFERENTIABLE)


# --- rows check themselves -----------------------------------------------------------------------------------------
EXCUSES = {
    'wrong kind': 'this row is here for its mistakes',
    'special values': 'this row is here for its mistakes',
    'label': 'this row is here for its mistakes',
}


def row(**changes: Any) -> Row:
    """A row of sin with changes."""
    fields: dict[str, Any] = {
        'name': 'sin', 'call': lambda x: F.sin(x), 'reference': lambda x: np.sin(x), 'domains': (ANY,),
        'cases': (case((3, 4)), case(()), case((0,))), 'except_from': EXCUSES,
    }  # fmt: skip
    return Row(**{**fields, **changes})


def test_a_row_without_mistakes() -> None:
    check_gradient(row(), row().cases[0])


MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({'domains': ANY}, 'domains must be a tuple'),
    ({'domains': (ANY, ANY)}, '2 inputs expected, 1'),
    ({'cases': ()}, 'no cases'),
    ({'cases': (case((3,)), case(()), case((0,)), case((3,)))}, 'two cases are equal'),
    ({'cases': (case((3,), (3,)), case(()), case((0,)))}, '1 inputs expected, 2'),
    ({'cases': (case((3,), slope=1), case(()), case((0,)))}, 'slope'),
    ({'cases': (case((3,)), case((0,)))}, '0-d array is needed'),
    ({'cases': (case((3,)), case(()))}, 'without elements is needed'),
    ({'call': lambda x, y: x}, 'do not fit'),
    ({'reference': lambda: 0}, 'do not fit'),
    ({'order': 4}, 'order 0 to 3'),
    ({'order': 1}, 'order 2 is needed'),
    ({'dtypes': 'ei'}, 'dtypes of e, f, d'),
    ({'dtypes': 'ef'}, 'float64 is needed'),
    ({'domains': (Domain(mask=True),)}, 'no float input'),
    ({'errors': [1]}, 'errors must be a tuple of Bad'),
    ({'special': (Special((1, 2)),)}, '1 inputs expected, 2'),
    ({'special': (Special((1,), gradients=(1, 2)),)}, '1 gradients expected'),
    ({'except_from': {**EXCUSES, 'gradient': 'because it is wrong'}}, "not ['gradient']"),
    ({'except_from': {**EXCUSES, 'label': 'no'}}, 'needs a reason'),
    ({'except_from': {**EXCUSES, 'zero-d': 'there is a case with one'}}, "except_from['zero-d'] is not needed"),
    ({'label': 'sin'}, "except_from['label'] is not needed"),
    ({'except_from': {}}, 'an error named wrong kind is needed'),
]  # fmt: skip


@pytest.mark.parametrize(('changes', 'words'), MISTAKES, ids=[words for _, words in MISTAKES])
def test_a_row_with_a_mistake_raises(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(BadRow, match='sin: ') as caught:
        row(**changes)
    assert words in str(caught.value)


def test_an_unknown_field_of_a_row_raises() -> None:
    with pytest.raises(TypeError, match='tolerance'):
        row(tolerance=1)


@pytest.mark.parametrize(
    ('fields', 'words'),
    [
        ({'labels': 3, 'mask': True}, 'only one of'),
        ({'low': 2.0, 'high': 1.0}, 'low < high'),
        ({'labels': 3, 'avoid': (0.0,)}, 'avoid is for plain'),
        ({'margin': 0.5}, 'margin is unused'),
        ({'values': (1.0,), 'low': 0.0}, 'low and high are unused'),
        ({'avoid': (7.0,)}, 'outside'),
    ],
)
def test_a_domain_with_a_mistake_raises(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(BadRow, match=words):
        Domain(**fields)


def test_an_error_without_words_raises() -> None:
    with pytest.raises(BadRow, match='words'):
        Bad('x', lambda: None, TypeError, ())


@pytest.mark.parametrize(
    ('domain', 'holds'),
    [
        (Domain(avoid=(0.0, 1.0)), lambda x: (abs(x) >= 0.1) & (abs(x - 1) >= 0.1)),
        (Domain(low=0.0, avoid=(0.0,)), lambda x: x >= 0.1),
        (Domain(labels=3), lambda x: (x >= 0) & (x < 3)),
        (Domain(values=(1.0, 3.0)), lambda x: (x == 1) | (x == 3)),
        (Domain(mask=True), lambda x: x | ~x),
    ],
)
def test_a_domain_draws_what_it_says(domain: Domain, holds: Callable[[Any], Any]) -> None:
    x = domain.draw((40, 50), 'd', np.random.RandomState(0))
    assert x.shape == (40, 50) and holds(x).all() and len(np.unique(x)) > 1


def test_distinct_elements_are_a_tenth_apart() -> None:
    x = np.sort(Domain(distinct=True).draw((5, 8), 'd', np.random.RandomState(0)), axis=None)
    assert np.diff(x).min() > 0.099


def test_numerical_differentiation_of_a_known_function() -> None:
    x, y, g = np.array([0.5, -1.0]), np.array(2.0), np.array([1.0, -3.0])
    gx, gy = directional(lambda a, b: (a**3 * b,), [x, y], [g])
    np.testing.assert_allclose(gx, 3 * x**2 * y * g, rtol=1e-10)
    np.testing.assert_allclose(gy, (x**3 * g).sum(), rtol=1e-10)


# --- wrong gradients are seen --------------------------------------------------------------------------------------
def mutant(decorator: Any, *rules: Any, body: Any, name: str) -> Any:
    """An op with the given rules; ``body`` is right."""
    body.__name__ = f'mutant_{name}'
    return decorator(*rules)(body)


def _softmax(xp: Any, x: Any, axis: int = 1) -> Any:
    e = xp.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def _sum(xp: Any, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return x.sum(axis=axis, keepdims=keepdims)


def _row_named(name: str) -> Row:
    return next(r for r in table.ROWS if str(r) == name)


def _saved_constant(m: Any, gy: Any, x: Any) -> Any:
    return gy * m.cos(getattr(x, 'array', x))  # right at first order: x is a constant to the second


def _primitive(*rules: Any, **keywords: Any) -> Any:
    return F.primitive(rule=rules, kinds='f', **keywords)


WRONG_AT_FIRST: list[tuple[str, str, Any, tuple[Any, ...], Any]] = [
    ('tanh', 'negated', F.elementwise, (lambda m, gy, y: gy * y * y - gy,), lambda xp, x: xp.tanh(x)),
    ('tanh', 'x 1.01', F.elementwise, (lambda m, gy, y: 1.01 * (gy - gy * y * y),), lambda xp, x: xp.tanh(x)),
    ('tanh', 'x 1.00001', F.elementwise, (lambda m, gy, y: 1.00001 * (gy - gy * y * y),), lambda xp, x: xp.tanh(x)),
    ('exp', 'upstream forgotten', F.elementwise, (lambda m, gy, y: y,), lambda xp, x: xp.exp(x)),
    ('sqrt', 'factor 2', F.elementwise, (lambda m, gy, y: gy / y,), lambda xp, x: xp.sqrt(x)),
    ('cos', 'sign', F.elementwise, (lambda m, gy, x: gy * m.sin(x),), lambda xp, x: xp.cos(x)),
    (
        '__mul__', 'exchanged', F.elementwise, (lambda m, gy, a: gy * a, lambda m, gy, b: gy * b),
        lambda xp, a, b: a * b,
    ),
    ('__sub__', 'sign', F.elementwise, (lambda m, gy: gy, lambda m, gy: gy), lambda xp, a, b: a - b),
    (
        '__matmul__', 'transposed', _primitive,
        (lambda m, gy, b: m.matmul(gy, m.transpose(b)), lambda m, gy, a: m.transpose(m.matmul(m.transpose(a), gy))),
        lambda xp, a, b: xp.matmul(a, b),
    ),
    ('softmax', 'dropped term', _primitive, (lambda m, gy, y, axis: gy * y,), _softmax),
    ('softmax', 'no gradient', _primitive, (lambda m, gy, y, axis: gy * 0.0,), _softmax),
    ('sum', 'mean', F.reduction, (lambda m, gy, x: gy * (x * 0 + 1 / x.size),), _sum),
    (
        'transpose', 'not inverted', F.linear_map, (lambda m, gy, axes: m.transpose(gy, axes),),
        lambda xp, x, axes=None: x.transpose(axes),
    ),
]  # fmt: skip


def _case_for(name: str) -> Case:
    square = {'__matmul__': case((3, 3), (3, 3)), 'transpose': case((3, 3, 3), axes=(1, 2, 0))}
    return square.get(name, _row_named(name).cases[0])


@pytest.mark.parametrize(
    ('name', 'how', 'decorator', 'rules', 'body'), WRONG_AT_FIRST, ids=[f'{w[0]} {w[1]}' for w in WRONG_AT_FIRST]
)
def test_a_wrong_gradient_is_seen(name: str, how: str, decorator: Any, rules: Any, body: Any) -> None:
    right, chosen = _row_named(name), _case_for(name)
    check_gradient(right, chosen)
    wrong = dataclasses.replace(right, call=mutant(decorator, *rules, body=body, name=name))
    with pytest.raises(AssertionError, match='Not equal to tolerance'):
        check_gradient(wrong, chosen)


def test_a_gradient_that_is_wrong_at_second_order_only_is_seen() -> None:
    right = _row_named('sin')
    op = mutant(F.elementwise, _saved_constant, body=lambda xp, x: xp.sin(x), name='saved')
    wrong = dataclasses.replace(right, call=op)
    check_gradient(wrong, right.cases[0])
    with pytest.raises(AssertionError, match='order 2'):
        check_gradient(wrong, right.cases[0], 2)


def test_a_gradient_that_is_wrong_at_third_order_only_is_seen() -> None:
    right = _row_named('sin')
    mutant_cos = mutant(
        F.elementwise, lambda m, gy, x: -gy * m.sin(getattr(x, 'array', x)), body=lambda xp, x: xp.cos(x), name='cos'
    )
    op = mutant(F.elementwise, lambda m, gy, x: gy * m.mutant_cos(x), body=lambda xp, x: xp.sin(x), name='sin')
    assert mutant_cos.__name__ == 'mutant_cos'
    wrong = dataclasses.replace(right, call=op)
    check_gradient(wrong, right.cases[0], 2)
    with pytest.raises(AssertionError, match='order 3'):
        check_gradient(wrong, right.cases[0], 3)


def test_evaluators_that_disagree_are_seen() -> None:
    """A rule may do one thing with arrays and another with Variables; the parity test compares the two."""

    def rule(m: Any, gy: Any, x: Any) -> Any:
        return gy * m.cos(x) * (1 if isinstance(gy, np.ndarray) else 2)

    right = _row_named('sin')
    wrong = dataclasses.replace(right, call=mutant(F.elementwise, rule, body=lambda xp, x: xp.sin(x), name='two'))
    function, xs = bound(wrong, right.cases[0], right.draw(right.cases[0]))
    gys = upstream_of(function, xs)
    (a,), (b,) = gradients(function, xs, gys), differentiable_gradients(function, xs, gys)
    np.testing.assert_allclose(2 * a, b)
