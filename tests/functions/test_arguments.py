"""Arguments that are not arrays: what the checks take and refuse; and arrays of two float dtypes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F
from minichainer.functions._arguments import Arguments
from minichainer.utils import CooMatrix
from minichainer.utils.type_check import InvalidType

V, X = chainer.Variable, np.ones((2, 3))
IMAGES = np.random.RandomState(0).randn(2, 1, 3, 3)
FILTERS = np.random.RandomState(1).randn(2, 1, 2, 2)
OFFSETS = np.random.RandomState(2).uniform(0.1, 0.4, (2, 8, 2, 2))


OP = Arguments('Op', 'op')


# --- the checks -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize('value', [0, -3, np.int8(2), np.array(4)], ids=repr)
def test_an_int_is_taken(value: Any) -> None:
    assert OP.integer(value, 'axis') == int(value)


@pytest.mark.parametrize('value', [None, 0.5, 'a', (), (1,), True, np.bool_(True), np.array([1])], ids=repr)
def test_what_is_not_an_int_is_refused(value: Any) -> None:
    with pytest.raises(TypeError) as caught:
        OP.integer(value, 'axis')
    assert str(caught.value) == f'op: int expected as axis, got {value!r}'


@pytest.mark.parametrize('value', [0, 0.5, True, np.float16(2), np.array(0.5), np.bool_(True)], ids=repr)
def test_a_number_is_taken(value: Any) -> None:
    OP.number(value, 'ratio')


@pytest.mark.parametrize(
    'value', [None, 'a', '1', (), (1,), 1j, np.complex64(1), np.ones(1), np.array('a')], ids=repr
)
def test_what_is_not_a_number_is_refused(value: Any) -> None:
    with pytest.raises(TypeError) as caught:
        OP.number(value, 'ratio')
    remedy = '; write int(ratio)' if value == '1' else ''
    assert str(caught.value) == f'op: number expected as ratio, got {value!r}{remedy}'


def test_a_flag_is_a_bool_or_an_int() -> None:
    for value in (True, False, 0, 1, np.bool_(True), np.int64(1)):
        OP.flag(value, 'keepdims')
    for wrong in (None, 'no', (), (1, 2), 0.5):
        with pytest.raises(TypeError, match='op: bool expected as keepdims, got'):
            OP.flag(wrong, 'keepdims')


def test_axes_and_shapes_come_back_as_plain_ints() -> None:
    assert OP.axis(-1, 3) == 2
    assert OP.axes((np.int64(-1), 0), (2, 3)) == (1, 0)
    assert OP.shape([2, np.int64(-1)]) == (2, -1)
    assert OP.shape(5) == (5,)
    assert {type(n) for n in OP.shape(np.array([2, 3]))} == {int}


@pytest.mark.parametrize('shape', [None, 'no', 0.5, (0.5,), ('a',), [[1]]], ids=repr)
def test_what_is_not_a_shape_is_refused(shape: Any) -> None:
    with pytest.raises(TypeError) as caught:
        OP.shape(shape)
    assert str(caught.value) == f'op: tuple of ints expected as shape, got {shape!r}'


# --- in functions ---------------------------------------------------------------------------------------------------
BOOLS, ODD = V(np.ones(2, '?')), np.array([1, 2], 'B')

REFUSED: list[tuple[str, Callable[[], Any], type[Exception], tuple[str, ...]]] = [
    ('difference of bools', lambda: BOOLS - BOOLS, TypeError, ('_ - _', 'float or int', 'bool')),
    ('number less bools', lambda: 2 - BOOLS, TypeError, ('2 - _', 'float or int', 'bool')),
    ('negative bools', lambda: -BOOLS, TypeError, ('__neg__', 'float or int', 'bool')),
    ('complex', lambda: F.arctan(V(np.ones(2, 'F'))), InvalidType, ('arctan', 'complex64')),
    ('power of ints', lambda: V(ODD) ** V(ODD), InvalidType, ('_ ** _', 'float', 'uint8')),
    ('power beyond dtype', lambda: V(ODD) ** -1.5, InvalidType, ('_ ** (-1.5)', 'float', 'uint8')),
    ('number beyond dtype', lambda: V(ODD) + 300, OverflowError, ('300', 'uint8')),
    ('float beyond dtype', lambda: V(ODD) * -1.5, OverflowError, ('-1.5', 'uint8')),
    ('NaN for an int', lambda: V(ODD) * float('nan'), OverflowError, ('nan', 'uint8')),
    ('divided by 0', lambda: V(X) / 0, ZeroDivisionError, ('_ / _', '(2, 3)', '0')),
    ('floor of complex', lambda: V(np.ones(2, 'F')) // 2, TypeError, ('_ // _', 'real', 'complex64')),
    ('floor shapes', lambda: V(X) // V(X[0, :2]), InvalidType, ('_ // _', 'broadcast', '(2, 3)', '(2,)')),
    ('len', lambda: len(V(np.ones(()))), TypeError, ('len()', 'shape is ()')),
    ('broadcast to -1', lambda: F.broadcast_to(X, (2, -1)), InvalidType, ('BroadcastTo', '(2, -1)', '(2, 3)')),
    ('sum keepdims', lambda: F.sum(X, 1, (1, 2)), TypeError, ('sum', 'keepdims', '(1, 2)')),
    ('max keepdims', lambda: F.max(X, 1, 'no'), TypeError, ('max', 'keepdims', "'no'")),
    ('transpose', lambda: F.transpose(X, 'no'), TypeError, ('transpose', 'axes', "'no'")),
    ('softmax axis', lambda: F.softmax(X, True), TypeError, ('softmax', 'int', 'axis', 'True')),
    ('no frequencies', lambda: F.fft((X[:, :0], X[:, :0])), ValueError, ('fft', '(2, 0)')),
    ('no frequencies back', lambda: F.ifft((X[:, :0], X[:, :0])), ValueError, ('ifft', '(2, 0)')),
    ('pad keyword', lambda: F.pad(X, 1, 'edge', stat_length=1), ValueError, ('pad', 'edge', 'none', 'stat_length')),
    (
        'pad values', lambda: F.pad(X, 1, 'constant', constant_values='a'), TypeError,
        ('pad', 'constant_values', "'a'"),
    ),
    ('pad stat_length', lambda: F.pad(X, 1, 'mean', stat_length=0), ValueError, ('pad', 'stat_length', '0')),
    ('pad type', lambda: F.pad(X, 1, 'reflect', reflect_type='a'), ValueError, ('pad', 'reflect_type', "'a'")),
    ('offset', lambda: F.as_strided(X, (1,), (1,), 'a'), TypeError, ('as_strided', 'storage_offset', "'a'")),
    (
        'grid', lambda: F.spatial_transformer_grid(np.ones((1, 2, 3)), (2, -1)), ValueError,
        ('spatial_transformer_grid', 'negative', '(2, -1)'),
    ),
]  # fmt: skip


@pytest.mark.parametrize(('call', 'error', 'words'), [r[1:] for r in REFUSED], ids=[r[0] for r in REFUSED])
def test_is_refused(call: Callable[[], Any], error: type[Exception], words: tuple[str, ...]) -> None:
    with pytest.raises(error) as caught:
        call()
    assert caught.type is error
    assert not [word for word in words if word not in str(caught.value)], str(caught.value)


@pytest.mark.parametrize('keywords', [{'reflect_type': 'odd'}, {'reflect_type': 'even'}], ids=str)
def test_pad_takes_the_keywords_of_its_mode(keywords: Any) -> None:
    np.testing.assert_array_equal(F.pad(X, 1, 'reflect', **keywords).array, np.pad(X, 1, 'reflect', **keywords))


def test_arrays_without_axes_are_padded_with_nothing() -> None:
    x = V(np.array(3.0))
    y = F.pad(x, (1, 2), 'edge')
    y.backward()
    assert (y.array, x.grad) == (3, 1)


@pytest.mark.parametrize('shape', [(0, 0), (0, 0, 7), (0, 3)], ids=str)
def test_nothing_to_predict(shape: tuple[int, ...]) -> None:
    y, t = np.ones(shape), np.ones(shape[:1] + shape[2:], 'i')
    assert np.isnan(F.accuracy(y, t).array)
    assert F.classification_summary(y, t, label_num=2)[3].array.tolist() == [0, 0]


@pytest.mark.parametrize('shape', [None, 3, 'no', (3,), (3, None), (0.5, 3)], ids=str)
def test_a_sparse_matrix_has_two_sizes(shape: Any) -> None:
    with pytest.raises(ValueError, match='CooMatrix: expected the shape of one matrix, two sizes, got'):
        CooMatrix(np.ones(2), np.array([0, 2]), np.array([0, 1]), shape)


def test_a_sparse_matrix_has_int_row_and_column_numbers() -> None:
    numbers, flags = np.array([0, 2]), np.ones(2, '?')
    with pytest.raises(TypeError, match='CooMatrix: expected int row numbers, got bool'):
        CooMatrix(np.ones(2), flags, numbers, (3, 3))
    with pytest.raises(TypeError, match='CooMatrix: expected int column numbers, got bool'):
        CooMatrix(np.ones(2), numbers, flags, (3, 3))


@pytest.mark.parametrize('ignore_label', [-1, None])
def test_no_label_need_be_ignored(ignore_label: int | None) -> None:
    t = np.array([0, 2], 'i')
    y = F.softmax_cross_entropy(X, t, ignore_label=ignore_label)
    np.testing.assert_allclose(y.array, np.log(3))
    if ignore_label is None:
        with pytest.raises(ValueError, match='labels must be in'):
            F.softmax_cross_entropy(X, t - 1, ignore_label=None)


@pytest.mark.parametrize('bad', [np.nan, np.inf])
def test_regions_are_finite(bad: float) -> None:
    rois, images = np.array([[0, 0, bad, 2]]), np.zeros(1, 'i')
    functions = F.roi_max_pooling_2d, F.roi_average_pooling_2d, F.roi_max_align_2d, F.roi_average_align_2d
    for function in functions:
        with pytest.raises(ValueError, match='rois of finite numbers expected'):
            function(IMAGES, rois, images, 2, 1.0)
        with pytest.raises(TypeError, match='a positive number expected as spatial_scale'):
            function(IMAGES, np.ones((1, 4)), images, 2, bad)
    with pytest.raises(ValueError, match='rois of finite numbers expected'):
        F.roi_pooling_2d(IMAGES, np.array([[0, 0, 0, bad, 2]]), 2, 2, 1.0)


# --- filters without elements ---------------------------------------------------------------------------------------
@pytest.mark.parametrize('groups', [1, 2])
@pytest.mark.parametrize('height', [0, 3])
def test_filters_without_elements_give_zeros(groups: int, height: int) -> None:
    x, W = V(np.ones((2, 2, height, 3))), V(np.ones((2, 2 // groups, 0, 3)))
    y = F.convolution_2d(x, W, groups=groups)
    np.testing.assert_array_equal(y.array, np.zeros((2, 2, height + 1, 1)))
    y.grad = np.ones_like(y.array)
    y.backward()
    np.testing.assert_array_equal(x.grad, np.zeros(x.shape))
    assert W.grad.shape == W.shape


# --- two float dtypes -----------------------------------------------------------------------------------------------
def _gradients(function: Any, *arrays: Any) -> tuple[Any, list[Any]]:
    variables = [V(a) for a in arrays]
    y = function(*variables)
    F.sum(y * y).backward()
    return y.array, [v.grad for v in variables]


@pytest.mark.parametrize(('narrow', 'wide', 'rtol'), [('f', 'd', 2e-7), ('e', 'd', 1e-3), ('d', 'f', 2e-7)])
def test_linear_computes_in_the_wider_dtype_and_returns_that_of_x(narrow: str, wide: str, rtol: float) -> None:
    x, W, b = (np.random.RandomState(i).randn(*s) for i, s in enumerate([(3, 4), (2, 4), (2,)]))
    x, W, b = x.astype(narrow), W.astype(wide), b.astype(narrow)
    y, gradients = _gradients(F.linear, x, W, b)
    expected, _ = _gradients(F.linear, *(a.astype('d') for a in (x, W, b)))
    assert y.dtype == narrow
    assert [g.dtype for g in gradients] == [narrow, wide, narrow]
    np.testing.assert_allclose(y, expected, rtol=rtol, atol=rtol)


def test_the_bias_of_linear_has_the_dtype_of_x() -> None:
    with pytest.raises(InvalidType, match='dtype float32'):
        F.linear(X.astype('f'), X, np.ones(2))


@pytest.mark.parametrize(('of_x', 'of_W', 'of_result'), ['fdd', 'dfd', 'eff', 'fef', 'eee'])
def test_deformable_convolution_returns_the_wider_dtype(of_x: str, of_W: str, of_result: str) -> None:
    arrays = IMAGES.astype(of_x), OFFSETS.astype(of_x), FILTERS.astype(of_W), np.ones(2, of_result)
    y, gradients = _gradients(F.deformable_convolution_2d_sampler, *arrays)
    expected, _ = _gradients(F.deformable_convolution_2d_sampler, *(a.astype('d') for a in arrays))
    assert y.dtype == of_result
    assert [g.dtype for g in gradients] == [of_x, of_x, of_W, of_result]
    precision = {'d': 1e-12, 'f': 1e-6, 'e': 4e-3}[of_result]
    np.testing.assert_allclose(y, expected, rtol=precision, atol=precision)


# --- digits ---------------------------------------------------------------------------------------------------------
def test_black_out_keeps_its_digits_where_a_sample_is_almost_certain() -> None:
    x, W = np.array([[1.0]]), np.array([[0.0], [12.0], [1.0]])
    t, samples = np.array([0]), np.array([[1, 2]])
    exact = F.black_out(x, t, W, samples)
    narrow = F.black_out(x.astype('f'), t, W.astype('f'), samples)
    np.testing.assert_allclose(narrow.array, exact.array, rtol=1e-6)


@pytest.mark.parametrize(
    'call',
    [
        lambda axis: F.separate(X, axis)[0],
        lambda axis: F.swapaxes(X, axis, 0),
        lambda axis: F.permutate(X, np.arange(X.shape[1], dtype='i'), axis),
        lambda axis: F.softmax(X, axis),
    ],
    ids=['separate', 'swapaxes', 'permutate', 'softmax'],
)
def test_an_axis_may_be_an_int_of_numpy(call: Any) -> None:
    """As in Chainer, which looks for an int at fewer of its functions."""
    np.testing.assert_array_equal(call(np.int64(1)).array, call(1).array)
