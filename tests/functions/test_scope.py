"""What the names in a user's rule mean: the ops that are visible where the rule is written, then ours."""

from __future__ import annotations

import functools
import inspect
import threading
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F
from minichainer import ops
from minichainer.functions import elementwise, linear_map, primitive, reduction
from tests.functions import table
from tests.functions.row import Case, Row

USER = """
from minichainer.functions import elementwise, linear_map

@linear_map(lambda m, gy: m.half(gy))
def f(xp, x):
    return x * FACTOR

@linear_map(lambda m, gy: m.half(gy))
def half(xp, x):
    return x * FACTOR
"""


def module(source: str, **names: Any) -> Any:
    made = types.ModuleType('somebody')
    vars(made).update(names)
    exec(source, vars(made))
    return made


def gradient(op: Callable[..., Any], *arrays: Any, double: bool = False) -> list[float]:
    """Of the sum, by the evaluator of an ordinary backward, or by that of double backprop."""
    xs = [chainer.Variable(np.asarray(a, float)) for a in arrays or ([1.0, 2.0],)]
    (g, *_) = chainer.grad([op(*xs)], xs, [chainer.Variable(np.ones(xs[0].shape))], enable_double_backprop=double)
    assert g is not None
    return [float(v) for v in g.array.reshape(-1)]


def expect(op: Callable[..., Any], values: list[float], *arrays: Any) -> None:
    for double in (False, True):
        assert gradient(op, *arrays, double=double) == values


def test_two_modules_have_an_op_of_the_same_name() -> None:
    first, second = module(USER, FACTOR=2.0), module(USER, FACTOR=6.0)
    for _ in range(2):
        expect(first.f, [2.0, 2.0])
        expect(second.f, [6.0, 6.0])


@pytest.mark.parametrize('name', ['step', 'cos', 'reshape', 'masked', 'raw', 'forget', '_find', 'broadcast_to'])
def test_a_users_op_comes_before_ours_in_its_module_and_nowhere_else(name: str) -> None:
    before = getattr(ops, name, None)
    user = module(USER.replace('half', name), FACTOR=3.0)
    expect(user.f, [3.0, 3.0])
    assert getattr(ops, name, None) is before
    expect(lambda x: F.sin(x) * 1.0, [1.0, 1.0], [0.0, 0.0])
    expect(lambda x: F.broadcast_to(F.sum(F.clip(x, -5.0, 5.0)), (2,)), [2.0, 2.0])


@pytest.mark.parametrize('name', ['add', 'multiply', 'negative', 'get_item', 'transpose', 'reshape'])
def test_a_users_op_is_not_what_an_operator_means(name: str) -> None:
    module(USER.replace('half', name), FACTOR=3.0)
    x = chainer.Variable(np.array([[1.0, 2.0]]))
    found = {
        'add': x + x, 'multiply': x * x, 'negative': -x, 'get_item': x[0], 'transpose': x.T, 'reshape': x.reshape(2)
    }[name]  # fmt: skip
    a = x.array
    expected = {'add': a + a, 'multiply': a * a, 'negative': -a, 'get_item': a[0], 'transpose': a.T, 'reshape': a[0]}
    np.testing.assert_array_equal(found.array, expected[name])


def test_what_is_no_op_hides_nothing() -> None:
    user = module("""
from numpy import exp, sum
from minichainer.functions import elementwise
cos = 3
@elementwise(lambda m, gy, x: gy * m.exp(x) * m.cos(x) * m.sum(x))
def f(xp, x):
    return x
""")
    x = np.array([0.5, 1.0])
    for double in (False, True):
        np.testing.assert_allclose(gradient(user.f, x, double=double), np.exp(x) * np.cos(x) * 1.5)


def test_a_wrapper_of_an_op_is_no_op() -> None:
    @functools.wraps(F.square)
    def relu(x: Any) -> Any:
        return 2 * F.square(x)

    @linear_map(lambda m, gy: m.relu(gy))
    def f(xp: Any, x: Any) -> Any:
        return x

    expect(lambda x: 3.0 * f(x), [3.0, 3.0])


def test_an_op_under_another_name() -> None:
    one, two = module(USER, FACTOR=2.0), module(USER, FACTOR=6.0)
    source = """
from minichainer.functions import linear_map, clip as limited
@linear_map(lambda m, gy: m.other(gy) + m.limited(gy, 0., 1.))
def f(xp, x):
    return x
"""
    expect(module(source, other=one.half).f, [3.0, 3.0])
    expect(module(source, other=two.half).f, [7.0, 7.0])


def in_a_function(factor: float) -> Any:
    @linear_map(lambda m, gy: m.later(gy))
    def f(xp: Any, x: Any) -> Any:
        return x * factor

    @linear_map(lambda m, gy: m.f(gy))
    def later(xp: Any, x: Any) -> Any:
        return x * factor

    return f


def test_ops_that_are_defined_in_a_function() -> None:
    """Each call of the function makes ops of its own; the first ones are applied after the second have been made."""
    two, three = in_a_function(2.0), in_a_function(3.0)
    for _ in range(2):
        expect(three, [3.0, 3.0])
        expect(two, [2.0, 2.0])


def test_ops_around_the_function_in_which_a_rule_is_written() -> None:
    @linear_map(lambda m, gy: m.outer_op(gy))
    def outer_op(xp: Any, x: Any) -> Any:
        return x * 5

    def inner() -> Any:
        @linear_map(lambda m, gy: m.outer_op(gy))
        def f(xp: Any, x: Any) -> Any:
            return x

        return f

    expect(inner(), [5.0, 5.0])


class Ops:
    @linear_map(lambda m, gy: m.later(gy))
    def f(xp: Any, x: Any) -> Any:
        return x

    @linear_map(lambda m, gy: m.f(gy))
    def later(xp: Any, x: Any) -> Any:
        return x * 4


def test_ops_of_a_class() -> None:
    expect(Ops.f, [4.0, 4.0])


def test_an_op_in_a_closure() -> None:
    def rule_of(op: Any) -> Any:
        def rule(m: Any, gy: Any) -> Any:
            assert op is not None
            return m.op(gy)

        return rule

    two, three = (module(USER, FACTOR=k).half for k in (2.0, 3.0))
    found = [linear_map(rule_of(op))(_doubled) for op in (two, three)]
    expect(found[0], [2.0, 2.0])
    expect(found[1], [3.0, 3.0])


def _doubled(xp: Any, x: Any) -> Any:
    return x * 2


def test_an_op_that_names_itself_after_its_body() -> None:
    expect(linear_map(lambda m, gy: m._doubled(gy))(_doubled), [2.0, 2.0])


@linear_map(lambda m, gy: m.own_twice(gy))
def own_twice(xp: Any, x: Any) -> Any:
    return x * 2


def helper(m: Any, gy: Any) -> Any:
    return m.own_twice(gy)


class Callable_:
    def __call__(self, m: Any, gy: Any) -> Any:
        return m.own_twice(gy)

    def method(self, m: Any, gy: Any) -> Any:
        return m.own_twice(gy)


def nested(m: Any, gy: Any) -> Any:
    return [(lambda: m.own_twice(gy))() for _ in range(1)][0]  # noqa: RUF015  (a comprehension is what is tested)


def with_signature(*args: Any) -> Any:
    m, gy = args
    return m.own_twice(gy)


with_signature.__signature__ = inspect.signature(helper)  # type: ignore[attr-defined]
KINDS = {
    'lambda': lambda m, gy: m.own_twice(gy),
    'function': helper,
    'nested': nested,
    'partial': functools.partial(lambda k, m, gy: k * m.own_twice(gy) / k, 3.0),
    'callable': Callable_(),
    'method': Callable_().method,
    'with a signature': with_signature,
    'wrapped': functools.wraps(helper)(lambda *args: helper(*args)),
    'helper': lambda m, gy: helper(m, gy),
}


@pytest.mark.parametrize('kind', KINDS)
def test_kinds_of_rules(kind: str) -> None:
    expect(linear_map(KINDS[kind])(lambda xp, x: x), [2.0, 2.0])


def unknown(m: Any, gy: Any) -> Any:
    return m.no_such(gy)


UNKNOWN: dict[str, Any] = {
    'lambda': lambda m, gy: m.no_such(gy),
    'function': unknown,
    'comprehension': lambda m, gy: [m.no_such(gy) for _ in range(2)][0],  # noqa: RUF015
    'inner function': lambda m, gy: (lambda: m.no_such(gy))(),
    'partial': functools.partial(lambda k, m, gy: m.no_such(k, gy), 3),
    'wrapped': functools.wraps(unknown)(lambda *args: unknown(*args)),
    'internal op of ours': lambda m, gy: m.masked(gy, gy > 0),
}


@pytest.mark.parametrize('kind', UNKNOWN)
@pytest.mark.parametrize('define', [linear_map, elementwise], ids=['linear_map', 'elementwise'])
def test_an_unknown_name_is_reported_when_the_op_is_applied(kind: str, define: Any) -> None:
    op = define(UNKNOWN[kind])(_doubled)
    for x in (np.ones(2), chainer.Variable(np.ones(2))):
        with pytest.raises(
            AttributeError, match=r'^a rule of _doubled calls m\.\w+, but there is no such op.{,120}$'
        ):
            op(x)


def test_an_unknown_name_of_other_decorators() -> None:
    two = primitive(lambda xp, a, b: a * b, (lambda m, gy, a: gy * a, lambda m, gy, a: m.no_such(gy)))
    over = reduction(lambda m, gy, x: m.no_such(gy))(lambda xp, x, axis, keepdims: x.sum(axis, keepdims=keepdims))
    three = elementwise(None, None, lambda m, gy: m.no_such(gy))(lambda xp, a, b, c: a)
    with_constant = linear_map(lambda m, gy, k: m.no_such(gy))(lambda xp, x, k: x)
    x = np.ones(2)
    for call in (lambda: two(x, x), lambda: over(x), lambda: three(x, x, x), lambda: with_constant(x, 1)):
        with pytest.raises(AttributeError, match='no_such'):
            call()


def test_a_parameter_of_an_inner_function_is_another_m() -> None:
    expect(linear_map(lambda m, gy: (lambda m: m.reshape((2,)))(gy))(lambda xp, x: x), [1.0, 1.0])


def test_a_name_that_is_defined_before_the_second_attempt() -> None:
    user = module(
        'from minichainer.functions import linear_map\nf = linear_map(lambda m, gy: m.g(gy))(lambda xp, x: x)'
    )
    with pytest.raises(AttributeError, match=r'm\.g'):
        user.f(np.ones(2))
    exec('@linear_map(lambda m, gy: gy)\ndef g(xp, x):\n    return x * 3', vars(user))
    expect(user.f, [3.0, 3.0])


def test_an_op_defined_again_is_seen_by_rules_that_have_run() -> None:
    user = module(USER, FACTOR=2.0)
    expect(user.f, [2.0, 2.0])
    exec('@linear_map(lambda m, gy: gy)\ndef half(xp, x):\n    return x * 7', vars(user))
    expect(user.f, [7.0, 7.0])


def test_threads_look_names_up_at_the_same_time() -> None:
    users = [module(USER, FACTOR=float(k)) for k in range(1, 9)]
    wrong: list[Any] = []

    def work(k: int) -> None:
        for _ in range(20):
            for user in users:
                module(USER, FACTOR=0.5)
                if gradient(user.f, double=bool(k % 2)) != [user.FACTOR] * 2:
                    wrong.append(user)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_frames_are_let_go_when_the_op_is_applied() -> None:
    op = in_a_function(2.0)
    scope = op.node_class.spec.evaluators[0]
    assert scope._frames
    op(np.ones(2))
    assert not scope._frames
    assert not linear_map(helper)(_doubled).node_class.spec.evaluators[0]._frames  # written in a module


@reduction(lambda m, gy, x, y: gy * x / y)
def length(xp: Any, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    assert axis is None or isinstance(axis, tuple)
    return xp.sqrt((x * x).sum(axis=axis, keepdims=keepdims))


@elementwise(lambda m, gy, x: gy * m.expand_dims(m.length(x, -1), 1) * m.length(x))
def uses_a_reduction(xp: Any, x: Any) -> Any:
    return x


def test_a_reduction_in_a_rule_takes_what_the_function_takes() -> None:
    expect(uses_a_reduction, [25.0, 25.0], [[3.0, 4.0]])


def test_a_rule_on_arrays_without_axes() -> None:
    """NumPy makes scalars of them in arithmetic, which functions of Variables do not take."""
    op = elementwise(lambda m, gy, x: gy * m.clip(2 * x, -1.0, 1.0))(lambda xp, x: x)
    expect(op, [1.0], 3.0)


DIRECT = [r for r in table.ROWS if r.order and r.call is getattr(F, r.name, None)]
CASES = [pytest.param(r, c, id=f'{r}-{c}') for r in DIRECT for c in r.cases]


def test_most_functions_are_called_directly() -> None:
    assert len({r.name for r in DIRECT}) > 100


@pytest.mark.parametrize(('row', 'c'), CASES)
def test_the_evaluators_agree_on_every_function(row: Row, c: Case) -> None:
    arrays, op = row.draw(c), ops.public(row.name)
    assert op is not None
    found, expected = op.body(np, *arrays, **c.params), row.call(*arrays, **c.params)
    for a, b in zip(_flat(found), _flat(expected), strict=True):
        assert isinstance(a, (np.ndarray, np.generic)) and a.shape == b.shape
        np.testing.assert_allclose(a, b.array, rtol=1e-6)


def _flat(result: Any) -> list[Any]:
    return list(result) if isinstance(result, (tuple, list)) else [result]
