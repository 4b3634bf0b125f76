"""A user's own ops: the decorators of minichainer.functions."""

from __future__ import annotations

import inspect
import subprocess
import sys
import traceback
import weakref
from typing import Any

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F
from minichainer.functions import elementwise, linear_map, primitive, reduction
from minichainer.utils.type_check import InvalidType
from tests.functions.checks import check_gradient
from tests.functions.row import ANY, POSITIVE, Row, case


@elementwise(lambda m, gy, x, k: gy * 2 * k * x * m.cos(k * x * x), label=lambda k: f'chirp of {k}')
def chirp(xp: Any, x: Any, k: float = 1.0) -> Any:
    """Sine of the square."""
    return xp.sin(k * x * x)


@elementwise(lambda m, gy, y: gy * y * (1 - y), name='Logistic', label='σ')
def logistic(xp: Any, x: Any) -> Any:
    return 1 / (1 + xp.exp(-x))


@elementwise(lambda m, gy, a, b, y: gy * a / y, lambda m, gy, b, y: gy * b / y)
def user_hypotenuse(xp: Any, a: Any, b: Any) -> Any:
    return xp.sqrt(a * a + b * b)


@elementwise(lambda m, gy, b: gy * b, None, lambda m, gy: gy)
def scale_and_shift(xp: Any, a: Any, b: Any, c: Any) -> Any:
    """The factor b gets no gradient: it has no rule."""
    return a * b + c


@linear_map(lambda m, gy: m.user_flip(gy))
def user_flip(xp: Any, x: Any) -> Any:
    return x[::-1]


@linear_map(lambda m, gy, x_shape, x_dtype, n: m.cast(m.broadcast_to(gy * (1.0 / n), x_shape), x_dtype))
def user_share(xp: Any, x: Any, n: int) -> Any:
    return x.sum() / n


@primitive(rule=(lambda m, gy, b: m.sum(gy * b, (0,)), lambda m, gy, a: gy * a), name='RowsTimes', kinds='f')
def user_rows_times(xp: Any, a: Any, b: Any) -> Any:
    return a * b


@reduction(lambda m, gy, x: 2 * gy * x, name='SumOfSquares')
def user_sum_of_squares(xp: Any, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return (x * x).sum(axis=axis, keepdims=keepdims)


@reduction(lambda m, gy, x, y: gy * x / y)
def user_norm(xp: Any, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return xp.sqrt((x * x).sum(axis=axis, keepdims=keepdims))


EXCUSES = {
    key: 'an op of this test, with tests of its own'
    for key in ('zero-d', 'zero-size', 'wrong kind', 'special values', 'label')
}
TWO = {**EXCUSES, 'wrong dtype': 'an op of this test, with tests of its own'}
ROWS = [
    Row(
        'chirp',
        chirp,
        lambda x, k=1.0: np.sin(k * x * x),
        (ANY,),
        (case((3,)), case((2, 2), k=0.5)),
        order=3,
        except_from=EXCUSES,
    ),
    Row('logistic', logistic, lambda x: 1 / (1 + np.exp(-x)), (ANY,), (case((3,)),), order=3, except_from=EXCUSES),
    Row(
        'hypotenuse',
        user_hypotenuse,
        np.hypot,
        (POSITIVE, POSITIVE),
        (case((3, 1), (1, 2)), case((2,), (2,))),
        order=3,
        except_from=TWO,
    ),
    Row('flip', user_flip, lambda x: x[::-1].copy(), (ANY,), (case((3, 2)),), order=3, except_from=EXCUSES),
    Row('share', user_share, lambda x, n: x.sum() / n, (ANY,), (case((3, 2), n=3),), order=3, except_from=EXCUSES),
    Row('rows', user_rows_times, lambda a, b: a * b, (ANY, ANY), (case((3,), (2, 3)),), order=3, except_from=TWO),
    Row(
        'squares',
        user_sum_of_squares,
        lambda x, **kw: (x * x).sum(**kw),
        (ANY,),
        (case((2, 3)), case((2, 3), axis=1), case((2, 3, 2), axis=(0, -1), keepdims=True)),
        order=3,
        except_from=EXCUSES,
    ),
    Row(
        'norm',
        user_norm,
        lambda x, **kw: np.sqrt((x * x).sum(**kw)),
        (POSITIVE,),
        (case((2, 3), axis=0), case((3,))),
        order=3,
        except_from=EXCUSES,
    ),
]
CASES = [pytest.param(row, c, id=f'{row}-{c}') for row in ROWS for c in row.cases]


@pytest.mark.parametrize(('row', 'c'), CASES)
def test_values(row: Row, c: Any) -> None:
    arrays = row.draw(c)
    y = row.call(*arrays, **c.params)
    expected = row.reference(*arrays, **c.params)
    assert y.shape == expected.shape
    np.testing.assert_allclose(y.array, expected, rtol=1e-12)


@pytest.mark.parametrize('order', [1, 2, 3])
@pytest.mark.parametrize(('row', 'c'), CASES)
def test_gradients_of_any_order(row: Row, c: Any, order: int) -> None:
    check_gradient(row, c, order)


def test_an_argument_without_rule_gets_no_gradient() -> None:
    a, b, c = (chainer.Variable(np.full(2, v)) for v in (2.0, 3.0, 4.0))
    y = scale_and_shift(a, b, c)
    y.grad = np.array([1.0, -1.0])
    y.backward()
    np.testing.assert_array_equal(y.array, [10.0, 10.0])
    np.testing.assert_array_equal(a.grad, [3.0, -3.0])
    np.testing.assert_array_equal(c.grad, [1.0, -1.0])
    assert b.grad is None
    ga, gb, gc = chainer.grad([y], [a, b, c], enable_double_backprop=True)
    assert gb is None and ga is not None and gc is not None


@pytest.mark.parametrize('dtype', 'efd')
def test_dtype_is_kept_in_both_directions(dtype: str) -> None:
    for op in (chirp, logistic, user_norm, user_sum_of_squares):
        x = chainer.Variable(np.array([0.5, 1.5], dtype))
        y = F.sum(op(x))
        y.backward()
        assert y.dtype == x.dtype and x.grad.dtype == x.dtype and x.grad.shape == x.shape


def test_name_label_and_node() -> None:
    x = chainer.Variable(np.array([0.5]))
    assert [f(x).creator.label for f in (chirp, logistic, user_flip)] == ['chirp of 1.0', 'σ', 'UserFlip']
    assert chirp(x, k=3).creator.label == 'chirp of 3'
    assert [type(f(x).creator).__name__ for f in (chirp, logistic)] == ['Chirp', 'Logistic']
    assert isinstance(logistic(x).creator, chainer.FunctionNode)
    assert logistic(x).creator.inputs[0] is x.node
    assert user_sum_of_squares(x).creator.label == 'SumOfSquares'


def test_it_looks_like_the_function_that_was_written() -> None:
    assert chirp.__name__ == 'chirp' and chirp.__doc__ == 'Sine of the square.'
    assert str(inspect.signature(chirp)) == '(x, k=1.0)'
    assert str(inspect.signature(user_hypotenuse)) == '(a, b)'
    assert [(p.name, p.default) for p in inspect.signature(user_norm).parameters.values()] == [
        ('x', inspect.Parameter.empty), ('axis', None), ('keepdims', False)
    ]  # fmt: skip
    assert chirp.__module__ == __name__


def test_static_arguments_by_place_and_by_name() -> None:
    x = np.array([0.5, 1.0])
    np.testing.assert_array_equal(chirp(x, 2.0).array, chirp(x, k=2.0).array)


def test_arrays_by_name() -> None:
    """``inspect.signature`` shows ``x``: a call by that name must work as with a plain function."""
    x = np.array([0.5, 1.0])
    np.testing.assert_array_equal(chirp(x=x, k=2.0).array, chirp(x, 2.0).array)
    np.testing.assert_array_equal(logistic(x=x).array, logistic(x).array)
    np.testing.assert_array_equal(user_hypotenuse(a=x, b=x).array, user_hypotenuse(x, x).array)


@pytest.mark.parametrize(
    ('call', 'words'),
    [
        (lambda x: chirp(x, 1, 2), 'chirp() takes'),
        (lambda x: chirp(x, what=1), "chirp() got unexpected arguments ['what']"),
        (lambda x: user_share(x), "user_share() missing argument 'n'"),
        (lambda x: logistic(x, 1), 'logistic'),
        (lambda x: user_hypotenuse(x), 'user_hypotenuse'),
        (lambda x: scale_and_shift(x, x), 'scale_and_shift'),
        (lambda x: chirp(), 'chirp'),
    ],
)
def test_wrong_arguments_are_named(call: Any, words: str) -> None:
    with pytest.raises(TypeError) as caught:
        call(np.ones(2))
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ('rules', 'words'),
    [
        ((lambda m, gy, z: gy,), ("'z'", "'x'", "'y'", "'k'")),
        ((lambda m, gy, x_size: gy,), ("'x_size'", '_shape')),
        ((lambda m, gy, z_shape: gy,), ("'z_shape'",)),
    ],
)
def test_a_rule_that_needs_something_unknown_is_refused_at_once(rules: Any, words: tuple[str, ...]) -> None:
    with pytest.raises(TypeError, match='rule of user_wrong: unknown parameter') as caught:

        @elementwise(*rules)
        def user_wrong(xp: Any, x: Any, k: float = 1.0) -> Any:
            return x

    assert all(word in str(caught.value) for word in words)


def test_more_rules_than_arguments_are_refused_at_once() -> None:
    with pytest.raises(TypeError, match='user_wrong'):

        @elementwise(lambda m, gy: gy, lambda m, gy: gy)
        def user_wrong(xp: Any, x: Any) -> Any:
            return x


def test_a_rule_of_a_reduction_that_names_axis_is_refused_at_once() -> None:
    with pytest.raises(TypeError, match='not needed'):
        reduction(lambda m, gy, axis: gy)


def test_a_rule_that_calls_an_unknown_op_says_so() -> None:
    @elementwise(lambda m, gy, x: gy * m.no_such_op(x))
    def user_calls_unknown(xp: Any, x: Any) -> Any:
        return x

    for _ in range(2):
        with pytest.raises(AttributeError, match=r'^a rule of user_calls_unknown calls m\.no_such_op,.{,120}$'):
            user_calls_unknown(chainer.Variable(np.ones(2)))


def test_wrong_dtypes_and_shapes_are_named() -> None:
    with pytest.raises(InvalidType, match=r'(?s)chirp of 1.0.*float.*int32'):
        chirp(np.arange(3, dtype='i'))
    with pytest.raises(InvalidType, match=r'(?s)UserHypotenuse.*a.dtype == b.dtype.*float32 != float64'):
        user_hypotenuse(np.ones(2, 'f'), np.ones(2))
    with pytest.raises(InvalidType, match=r'(?s)UserHypotenuse.*broadcast.*\(2,\) and \(3,\)'):
        user_hypotenuse(np.ones(2), np.ones(3))
    with pytest.raises(InvalidType, match=r'(?s)UserNorm.*axis < 1.*axis = 1'):
        user_norm(np.ones(3), axis=1)


def test_gradient_of_wrong_shape_is_an_error_that_names_the_op() -> None:
    @linear_map(lambda m, gy: gy)
    def user_forgets_adjoint(xp: Any, x: Any) -> Any:
        return x[1:]

    for double in (False, True):
        y = F.sum(user_forgets_adjoint(chainer.Variable(np.ones(4))))
        with pytest.raises(Exception, match=r'(?s)UserForgetsAdjoint.*\(3,\)'):
            y.backward(enable_double_backprop=double)


def test_gradient_none_from_a_rule_is_an_error_that_names_the_op() -> None:
    @elementwise(lambda m, gy: None)
    def user_forgets_return(xp: Any, x: Any) -> Any:
        return x * 1

    for double in (False, True):
        y = F.sum(user_forgets_return(chainer.Variable(np.ones(4))))
        with pytest.raises(Exception, match=r'(?s)UserForgetsReturn'):
            y.backward(enable_double_backprop=double)


class Recorder(chainer.FunctionHook):
    """Writes down what it sees."""

    name = 'recorder'

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def forward_preprocess(self, function: Any, in_data: Any) -> None:
        self.seen.append(('forward', function.label, [x.shape for x in in_data]))

    def backward_postprocess(self, function: Any, in_data: Any, out_grad: Any) -> None:
        self.seen.append(('backward', function.label, [g.shape for g in out_grad]))


def test_hooks_see_it() -> None:
    recorder = Recorder()
    x = chainer.Variable(np.ones((2, 3)))
    with recorder:
        F.sum(chirp(x, k=2)).backward()
    assert recorder.seen == [
        ('forward', 'chirp of 2', [(2, 3)]),
        ('forward', 'Sum', [(2, 3)]),
        ('backward', 'Sum', [()]),
        ('backward', 'chirp of 2', [(2, 3)]),
    ]


def test_a_hook_of_one_node_sees_its_backward_alone() -> None:
    recorder = Recorder()
    x = chainer.Variable(np.ones(2))
    y = logistic(x)
    y.creator.add_hook(recorder)
    F.sum(chirp(y)).backward()
    assert recorder.seen == [('backward', 'σ', [(2,)])]


def test_no_backprop_mode_and_constants_record_nothing() -> None:
    x = chainer.Variable(np.ones(2))
    with chainer.no_backprop_mode():
        results = [chirp(x), logistic(x), user_hypotenuse(x, x), user_norm(x)]
    results += [chirp(np.ones(2)), user_hypotenuse(np.ones(2), chainer.Variable(np.ones(2), requires_grad=False))]
    for y in results[:4]:
        assert y.creator is None
    y = user_hypotenuse(
        chainer.Variable(np.ones(2), requires_grad=False), chainer.Variable(np.ones(2), requires_grad=False)
    )
    assert y.creator is None and not y.requires_grad
    with chainer.no_backprop_mode(), chainer.force_backprop_mode():
        assert logistic(x).creator is not None


@pytest.mark.parametrize(('op', 'kept'), [(logistic, False), (user_flip, False), (user_share, False), (chirp, True)])
def test_only_what_a_rule_names_is_kept(op: Any, kept: bool) -> None:
    """The argument's array goes with its Variable, unless the rule needs it."""
    x = chainer.Variable(np.ones(5))
    array = weakref.ref(x.array)
    y = op(x, *([5] if op is user_share else []))
    if op is user_flip:
        y.array = y.array.copy()  # its result is a view
    del x
    assert (array() is not None) == kept
    assert y.creator is not None


def test_debug_mode_names_it_where_nan_comes_up() -> None:
    with (
        np.errstate(all='ignore'),
        chainer.using_config('debug', True),
        pytest.raises(Exception, match=r'NaN.*chirp of 1\.0'),
    ):
        chirp(chainer.Variable(np.array([np.inf])))


def test_numpy_scalars_from_a_body_become_arrays() -> None:
    x = chainer.Variable(np.array(0.5))
    y = chirp(x)
    y.backward()
    assert type(y.array) is np.ndarray and type(x.grad) is np.ndarray and x.grad.shape == ()


OWN = """
import numpy as np
import minichainer as chainer, minichainer.functions as F

def {name}(xp, x):
    return 7 * x

own = F.elementwise(lambda m, gy: 7 * gy)({name})
x = chainer.Variable(np.array([0.3, 0.4]))
expected = np.cos(x.array) + 1
F.sum(F.sin(x) + x).backward()
np.testing.assert_allclose(x.grad, expected)
(g,) = chainer.grad([F.sin(x) + x], [x], enable_double_backprop=True)
np.testing.assert_allclose(g.array, expected)
np.testing.assert_allclose(own(x).array, [2.1, 2.8])
"""


@pytest.mark.parametrize('name', ['cos', 'add', 'raw'])
def test_an_op_with_the_name_of_a_built_in_one_changes_nothing_else(name: str) -> None:
    """Built-in rules say ``m.cos``: they must not get a user's function of that name."""
    result = subprocess.run([sys.executable, '-c', OWN.format(name=name)], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


def test_an_op_defined_again_uses_its_new_body() -> None:
    """As when a cell of a notebook is run a second time."""
    found = []
    for factor in (2, 3):

        def user_again(xp: Any, x: Any, _factor: int = factor) -> Any:
            return _factor * x

        op = linear_map(lambda m, gy: m.user_again(gy))(user_again)
        x = chainer.Variable(np.ones(1))
        F.sum(op(x)).backward()
        found.append(float(x.grad[0]))
    assert found == [2.0, 3.0]


def test_tracebacks_show_the_lines_of_the_op_that_fails():
    """Also where the nodes of two ops have one name."""

    def refuse(m, gy, *saved):
        raise RuntimeError('no gradient')

    def one(xp, x):
        return 2 * x

    def two(xp, x, w):
        return x * w

    ops = [
        primitive(one, (lambda m, gy, x: refuse(m, gy, x),), name='Same'),
        primitive(two, (lambda m, gy, x, w: refuse(m, gy, x, w), lambda m, gy, x: gy * x), name='Same'),
    ]
    caught = []
    for count, op in enumerate(ops, start=1):
        z = op(*[chainer.Variable(np.ones(2)) for _ in range(count)])
        z.grad = np.ones(2)
        with pytest.raises(RuntimeError, match='no gradient') as info:
            z.backward()
        caught.append(info)
    shown = [''.join(traceback.format_tb(info.tb)) for info in caught]
    assert 'rule0(m0, gradient, saved_x)' in shown[0]
    assert 'rule0(m0, gradient, saved_x, saved_w)' in shown[1]
