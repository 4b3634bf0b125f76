"""type_check: what expressions compute, how they read, and what the errors say."""

from __future__ import annotations

import copy
import pickle
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from minichainer.utils import type_check as T

X = T.Variable(3, 'x')
Y = T.Variable(5, 'y')
(A, B) = T.get_types((np.zeros((2, 3), 'f'), np.zeros(3, 'd')), 'in_types', False)

EXPRESSIONS: list[tuple[Any, str, Any]] = [
    (X + Y * 2, 'x + y * 2', 13),
    ((X + Y) * 2, '(x + y) * 2', 16),
    (X - (Y - 3), 'x - (y - 3)', 1),
    (X - Y - 3, 'x - y - 3', -5),
    ((X**Y) ** 2, '(x ** y) ** 2', 3**10),
    (X ** (Y**2), 'x ** y ** 2', 3**25),
    (2**X, '2 ** x', 8),
    (-X + 3, '-x + 3', 0),
    (-(X + 3), '-(x + 3)', -6),
    ((-X) ** 2, '(-x) ** 2', 9),
    (-(X**2), '-x ** 2', -9),
    (+X, '+x', 3),
    (~X, '~x', -4),
    (7 - X, '7 - x', 4),
    (7 // X * 2, '7 // x * 2', 4),
    (X * (7 // Y), 'x * (7 // y)', 3),
    (X / 2, 'x / 2', 1.5),
    (10 % X, '10 % x', 1),
    (X << 2 | 1, 'x << 2 | 1', 13),
    ((X & 1) ^ (Y >> 1), 'x & 1 ^ y >> 1', 3),
    (A.shape, 'in_types[0].shape', (2, 3)),
    (A.shape[1] * X, 'in_types[0].shape[1] * x', 9),
    (A.shape[X - 2 :], 'in_types[0].shape[x - 2:]', (3,)),
    (A.shape[::2], 'in_types[0].shape[::2]', (2,)),
    (A.dtype.kind, 'in_types[0].dtype.kind', 'f'),
    (A.size, 'in_types[0].size', 6),
    ((X + Y).bit_length(), '(x + y).bit_length()', 4),
    (T.Variable(max, 'max')(X, Y), 'max(x, y)', 5),
    (T.prod(A.shape), 'prod(in_types[0].shape)', 6),
    (T.prod([X, Y]), 'prod([x, y])', 15),
    (T.Variable({'k': 1}, 'd')['k'], "d['k']", 1),
    (T.Variable(np.eye(2), 'm')[..., 0].sum(), 'm[..., 0].sum()', 1.0),
    (X == 3, 'x == 3', True),
    (X + 1 < Y, 'x + 1 < y', True),
    (np.int64(4) - X, 'np.int64(4) - x', 1),
]


@pytest.mark.parametrize(('expression', 'text', 'value'), EXPRESSIONS, ids=lambda v: str(v)[:20])
def test_expression(expression: Any, text: str, value: Any) -> None:
    assert str(expression).replace('np.int64(4)', '4') == text.replace('np.int64(4)', '4')
    assert expression.eval() == value
    assert T.eval(expression) == value


FAILING: list[tuple[Any, str]] = [
    (X == 4, 'Expect: x == 4\nActual: 3 != 4'),
    (X != 3, 'Expect: x != 3\nActual: 3 == 3'),
    (X < 3, 'Expect: x < 3\nActual: 3 >= 3'),
    (X > 3, 'Expect: x > 3\nActual: 3 <= 3'),
    (X <= 2, 'Expect: x <= 2\nActual: 3 > 2'),
    (X >= 4, 'Expect: x >= 4\nActual: 3 < 4'),
    (A.shape == (3, 2), 'Expect: in_types[0].shape == (3, 2)\nActual: (2, 3) != (3, 2)'),
    (A.shape[0] == B.shape[0], 'Expect: in_types[0].shape[0] == in_types[1].shape[0]\nActual: 2 != 3'),
    (A.dtype == np.float64, 'Expect: in_types[0].dtype == float64\nActual: float32 != float64'),
    (A.dtype == B.dtype, 'Expect: in_types[0].dtype == in_types[1].dtype\nActual: float32 != float64'),
    (A.dtype.kind == 'i', "Expect: in_types[0].dtype.kind == 'i'\nActual: f != i"),
]


@pytest.mark.parametrize(('condition', 'text'), FAILING, ids=lambda v: str(v).split('\n')[0])
def test_expect_says_what_was_expected_and_what_came(condition: Any, text: str) -> None:
    with pytest.raises(T.InvalidType) as caught:
        T.expect(X == 3, condition)
    assert str(caught.value).partition('\n\nAn array of float32 times a scalar of NumPy')[0] == text
    assert f'Expect: {caught.value.expect}\nActual: {caught.value.actual}' == text


def test_a_message_about_float32_and_float64_names_scalars_of_numpy() -> None:
    widens = (np.ones(1, 'f') * np.float64(1)).dtype == np.float64
    message = str(T.InvalidType('dtype float32', 'float64'))
    assert ('give float(np.sqrt(2.))' in message) == widens
    assert 'scalar' not in str(T.InvalidType('dtype float32', 'int32'))
    again = pickle.loads(pickle.dumps(T.InvalidType('dtype float32', 'float64')))
    assert str(again) == message


def test_expect_passes_what_holds() -> None:
    T.expect()
    T.expect(X == 3, X < Y, A.ndim == 2, A.dtype.kind == 'f')


def test_expect_refuses_what_is_no_comparison() -> None:
    with pytest.raises(AssertionError, match=r'takes comparisons, got "\(x == 3\) & \(y == 5\)"'):
        T.expect((X == 3) & (Y == 5))
    for value in (True, False, 1, None, 'a'):
        with pytest.raises(AssertionError, match=f'takes comparisons of expressions, got {value!r}'):
            T.expect(value)


def test_expressions_have_no_truth_value() -> None:
    with pytest.raises(RuntimeError, match=r'"x == 3" has no truth value: pass it to type_check\.expect'):
        bool(X == 3)


@pytest.mark.parametrize('use', [list, hash, int], ids=lambda f: f.__name__)
def test_expressions_are_no_values(use: Callable[[Any], Any]) -> None:
    with pytest.raises(TypeError):
        use(X)


def test_an_expression_can_be_copied() -> None:
    assert copy.deepcopy(X + 1).eval() == 4


def test_number_of_inputs() -> None:
    types = T.get_types((np.zeros(2),), 'xs', False)
    with pytest.raises(T.InvalidType, match=r'Expect: xs\.size == 2\nActual: 1 != 2'):
        T.expect(types.size() == 2)


def test_names_of_inputs() -> None:
    types = T.get_types((np.zeros(2), np.zeros(3)), 'in_types', False)
    T._argname(types, ('x', 'W'))
    assert [str(t.shape) for t in types] == ['x.shape', 'W.shape']
    with pytest.raises(T.InvalidType, match=r'3 inputs \(x, W, b\)\nActual: 2 inputs'):
        T._argname(types, ('x', 'W', 'b'))


def test_get_types_of_none() -> None:
    assert T.get_types((None,), 'g', True)[0].eval() is None
    with pytest.raises(T.InvalidType, match=r'g\[0\] is an array\nActual: None'):
        T.get_types((None,), 'g', False)


def test_given_shapes_win() -> None:
    x = np.zeros((2, 3))
    assert T.get_types((x,), 'x', False, shapes=((6,),))[0].shape.eval() == (6,)
    assert T.get_light_types((x,), shapes=((6,),))[0].shape == (6,)


def test_broadcast_shapes() -> None:
    T.expect_broadcast_shapes(A.shape, B.shape)
    T.expect_broadcast_shapes((2, 1), (1, 4))
    with pytest.raises(
        T.InvalidType, match=r'broadcast to one shape\nActual: in_types\[0\]\.shape = \(2, 3\), \(4, 3\)'
    ):
        T.expect_broadcast_shapes(A.shape, (4, 3))


class Names:
    """Stands for a function node."""

    _impl_name = 'Concat'


def test_function_check_context_names_the_function() -> None:
    with pytest.raises(T.InvalidType) as caught, T.get_function_check_context(Names()):
        T.expect(X == 4)
    place = 'Invalid operation is performed in: Concat (Forward)'
    assert str(caught.value) == f'{place}\n\nExpect: x == 4\nActual: 3 != 4'
    assert (caught.value.expect, caught.value.actual) == ('x == 4', '3 != 4')


def test_function_check_context_leaves_other_errors_alone() -> None:
    with pytest.raises(KeyError, match='k'), T.get_function_check_context(Names()):
        raise KeyError('k')


def test_invalid_type_survives_pickling() -> None:
    """Errors travel between processes so."""
    error = pickle.loads(pickle.dumps(T.InvalidType('a', 'b', 'text')))
    assert (type(error), error.expect, error.actual, str(error)) == (T.InvalidType, 'a', 'b', 'text')


def test_light_mode_runs_on_plain_values() -> None:
    x = np.zeros((2, 3), 'f')
    assert not T.in_light_mode()
    with T.light_mode:
        assert T.in_light_mode()
        types = T.get_light_types((x,))
        assert (types[0] is x, types.size()) == (True, 1)
        T.expect(types.size() == 1, types[0].ndim == 2, T.prod(types[0].shape) == 6)
        assert (T.eval(3), T.make_variable(3, 'v')) == (3, 3)
        with pytest.raises(T.InvalidType, match='Expect: \nActual: '):
            T.expect(types[0].ndim == 3)
    assert not T.in_light_mode()


def test_light_mode_nests_and_belongs_to_one_thread() -> None:
    seen = []
    with T.light_mode:
        with T.light_mode:
            pass
        assert T.in_light_mode()
        thread = threading.Thread(target=lambda: seen.append(T.in_light_mode()))
        thread.start()
        thread.join()
    assert seen == [False]


def test_make_variable() -> None:
    v = T.make_variable(3, 'v')
    assert (str(v), v.eval()) == ('v', 3)
    assert T.make_variable(X, 'v') is X


def test_same_types() -> None:
    assert T.same_types()
    assert T.same_types(np.zeros(1), np.ones(2))
    assert not T.same_types(np.zeros(1), 3)
    assert not T.same_types(3, 3)
