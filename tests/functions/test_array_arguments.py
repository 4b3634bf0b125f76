"""Arguments of array functions at their edges, with what Chainer 7.8.1 makes of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F

Call = Callable[[Any], Any]
MATRIX, VECTOR, IMAGE, SCALAR = (2, 3), (3,), (1, 4, 2, 2), ()

#: Calls with nothing to do: (call, shape, whether Chainer returns the very Variable).
IDLE: dict[str, tuple[Call, tuple[int, ...], bool]] = {
    'reshape': (lambda x: F.reshape(x, (2, 3)), MATRIX, True),
    'method reshape': (lambda x: x.reshape(2, 3), MATRIX, True),
    'flatten': (F.flatten, VECTOR, True),
    'broadcast_to': (lambda x: F.broadcast_to(x, (2, 3)), MATRIX, True),
    'broadcast of one': (F.broadcast, MATRIX, True),
    'sum_to': (lambda x: F.sum_to(x, (2, 3)), MATRIX, True),
    'dropout without training': (lambda x: F.dropout(x, 0.5), MATRIX, True),
    'zoneout without training': (lambda x: F.zoneout(x, x, 0.5), MATRIX, True),
    'positive': (lambda x: +x, MATRIX, True),
    'as_variable': (chainer.as_variable, MATRIX, True),
    'reshape with -1': (lambda x: F.reshape(x, (2, -1)), MATRIX, False),
    'flatten without axes': (F.flatten, SCALAR, False),
    'cast': (lambda x: F.cast(x, 'd'), MATRIX, False),
    'broadcast of two': (lambda x: F.broadcast(x, x)[0], MATRIX, False),
    'squeeze': (F.squeeze, MATRIX, False),
    'transpose': (F.transpose, VECTOR, False),
    'transpose to the same': (lambda x: F.transpose(x, (0, 1)), MATRIX, False),
    'transpose without axes': (F.transpose, SCALAR, False),
    'swapaxes': (lambda x: F.swapaxes(x, 0, 0), MATRIX, False),
    'moveaxis': (lambda x: F.moveaxis(x, 0, 0), MATRIX, False),
    'rollaxis': (lambda x: F.rollaxis(x, 0, 0), MATRIX, False),
    'concat': (lambda x: F.concat([x], 0), MATRIX, False),
    'hstack': (lambda x: F.hstack([x]), MATRIX, False),
    'split_axis': (lambda x: F.split_axis(x, 1, 0, force_tuple=False), MATRIX, False),
    'get_item': (lambda x: x[...], MATRIX, False),
    'tile': (lambda x: F.tile(x, 1), MATRIX, False),
    'repeat': (lambda x: F.repeat(x, 1, 0), MATRIX, False),
    'pad': (lambda x: F.pad(x, 0, 'constant'), MATRIX, False),
    'sum over no axis': (lambda x: F.sum(x, ()), MATRIX, False),
    'identity': (F.identity, MATRIX, False),
    'copy': (lambda x: F.copy(x, -1), MATRIX, False),
    'depth2space': (lambda x: F.depth2space(x, 1), IMAGE, False),
    'unpooling': (lambda x: F.unpooling_2d(x, 1), IMAGE, False),
    'max_pooling': (lambda x: F.max_pooling_2d(x, 1), IMAGE, False),
}  # fmt: skip


@pytest.mark.parametrize('name', IDLE)
def test_where_nothing_is_to_be_done(name: str) -> None:
    call, shape, same = IDLE[name]
    x = chainer.Variable(np.random.RandomState(0).uniform(1, 2, shape))
    with chainer.using_config('train', False):
        y = call(x)
    assert (y is x) is same
    if not same:
        assert y.creator is not None
    np.testing.assert_array_equal(y.array.reshape(-1), x.array.reshape(-1))


def test_cast_to_the_same_dtype_without_a_graph() -> None:
    x = chainer.Variable(np.ones(2))
    with chainer.no_backprop_mode():
        assert F.cast(x, 'd') is x


EMPTY: list[Any] = [[], (), np.array([]), np.cumsum([]), np.array([], int), np.array([], 'f')]


@pytest.mark.parametrize('indices', EMPTY, ids=repr)
def test_no_indices_make_one_part(indices: Any) -> None:
    x = np.arange(6.0).reshape(2, 3)
    (part,) = F.split_axis(x, indices, 0)
    np.testing.assert_array_equal(part.array, x)
    assert F.split_axis(x, indices, 1, force_tuple=False).shape == (2, 3)


NO_INDICES: list[Any] = [np.array([1.0]), [1.0], [1.5], np.zeros((0, 2)), np.zeros((1, 1), int), 1.0, 'a']


@pytest.mark.parametrize('indices', NO_INDICES, ids=repr)
def test_indices_that_are_no_ints_are_refused(indices: Any) -> None:
    with pytest.raises(TypeError, match='split_axis: int'):
        F.split_axis(np.arange(6.0).reshape(2, 3), indices, 0)


@pytest.mark.parametrize('indices', [1, np.int32(1), np.array(1)])
def test_numbers_of_sections(indices: Any) -> None:
    assert len(F.split_axis(np.ones(3), indices, 0)) == 1
    with pytest.raises(ValueError, match='at least 1'):
        F.split_axis(np.ones(3), indices * 0, 0)


@pytest.mark.parametrize('axis', [0, 1, -1])
@pytest.mark.parametrize('dtype', 'efd')
def test_gumbel_softmax_without_axes(axis: int, dtype: str) -> None:
    x = chainer.Variable(np.array(0.5, dtype))
    y = F.gumbel_softmax(x, axis=axis)
    assert y.shape == () and y.dtype == x.dtype and y.array == 1
    y.backward()
    assert x.grad.shape == () and x.grad == 0


#: What fills arrays of a dtype, as in Chainer.
FILLINGS = [
    ('B', -1, 255), ('B', 300, 44), ('H', -1, 65535), ('I', -1, 2**32 - 1), ('L', -1, 2**64 - 1), ('b', 300, 44),
    ('b', -129, 127), ('h', 1e10, -7168), ('i', 1e10, 1410065408), ('H', 1e10, 58368), ('B', -1.5, 255),
    ('i', 2.7, 2), ('L', 2**63, 2**63), ('I', 2**63, 0), ('?', 2**70, True), ('B', np.int64(-1), 255),
    ('B', np.array(-1), 255),
    ('f', -1, -1.0), ('e', np.inf, np.inf), ('d', 2**63, 2.0**63), ('f', np.float32(2.5), 2.5),
]  # fmt: skip


@pytest.mark.parametrize(('dtype', 'padding', 'expected'), FILLINGS)
def test_pad_sequence_fills_as_integers_wrap(dtype: str, padding: Any, expected: Any) -> None:
    y = F.pad_sequence([np.array([1, 1], dtype), np.array([1], dtype)], padding=padding)
    assert y.dtype == np.dtype(dtype)
    assert y.array[1, 1] == np.dtype(dtype).type(expected)


@pytest.mark.parametrize(
    ('dtype', 'padding', 'error'),
    [
        ('B', np.inf, OverflowError),
        ('i', np.nan, ValueError),
        ('L', 2**64, OverflowError),
        ('i', 2**63, OverflowError),
    ],
)
def test_pad_sequence_refuses_what_is_no_integer(dtype: str, padding: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        F.pad_sequence([np.ones(2, dtype), np.ones(1, dtype)], padding=padding)
