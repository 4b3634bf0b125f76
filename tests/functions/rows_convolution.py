"""Rows of convolutions and poolings. The references are the kernels' plain forms, one window at a time."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

import minichainer as chainer
import minichainer.functions as F
from minichainer.kernels import convolution, pooling
from minichainer.kernels._windows import Geometry
from minichainer.utils.type_check import InvalidType
from tests.functions.row import ANY, DISTINCT, Bad, Row, Special, case
from tests.functions.rows_elementwise import INF, NAN


def z(*shape: int, dtype: str = 'f') -> Any:
    return chainer.Variable(np.zeros(shape, dtype))


def _each(value: Any, n: int) -> tuple[int, ...]:
    return tuple(value) if isinstance(value, tuple) else (value,) * n


def _size(size: int, k: int, s: int, p: int, d: int, cover_all: bool) -> int:
    """Number of windows, counted: those that end inside, and one more that begins inside if something is left."""
    last = size + p
    starts = itertools.takewhile(lambda at: at + (k - 1) * d + 1 <= last, itertools.count(-p, s))
    count = len(list(starts))
    left_over = count == 0 or -p + (count - 1) * s + (k - 1) * d + 1 < last
    return count + (cover_all and left_over)


def _geometry(size: Any, k: Any, stride: Any, pad: Any, dilate: Any, cover_all: bool, groups: int = 1) -> Geometry:
    n = len(size)
    k, stride, pad, dilate = (_each(v, n) for v in (k, stride, pad, dilate))
    out = tuple([_size(*axis, cover_all) for axis in zip(size, k, stride, pad, dilate, strict=True)])
    return Geometry(size, k, stride, pad, dilate, out, groups)


def _convolution(
    x: Any,
    W: Any,
    b: Any = None,
    stride: Any = 1,
    pad: Any = 0,
    cover_all: bool = False,
    dilate: Any = 1,
    groups: int = 1,
) -> Any:
    geometry = _geometry(x.shape[2:], W.shape[2:], stride, pad, dilate, cover_all, groups)
    return convolution.convolve_reference(x, W, b, geometry)


def _deconvolution(
    x: Any,
    W: Any,
    b: Any = None,
    stride: Any = 1,
    pad: Any = 0,
    outsize: Any = None,
    dilate: Any = 1,
    groups: int = 1,
) -> Any:
    n, k, size = x.ndim - 2, W.shape[2:], x.shape[2:]
    stride, pad, dilate = (_each(v, n) for v in (stride, pad, dilate))
    if outsize is None:
        axes = zip(size, k, stride, pad, dilate, strict=True)
        outsize = tuple([s * (i - 1) + d * (j - 1) + 1 - 2 * p for i, j, s, p, d in axes])
    return convolution.data_gradient_reference(x, W, b, Geometry(outsize, k, stride, pad, dilate, size, groups))


def _depthwise(x: Any, W: Any, b: Any = None, stride: Any = 1, pad: Any = 0) -> Any:
    channels = [_convolution(x[:, i : i + 1], W[:, i, None], None, stride, pad) for i in range(x.shape[1])]
    y = np.concatenate(channels, axis=1)
    return y if b is None else y + b[:, None, None]


def _maxima(x: Any, ksize: Any, stride: Any = None, pad: Any = 0, cover_all: bool = True) -> Any:
    stride = ksize if stride is None else stride
    return pooling.maxima_reference(x, _geometry(x.shape[2:], ksize, stride, pad, 1, cover_all))


def _means(x: Any, ksize: Any, stride: Any = None, pad: Any = 0, pad_value: Any = 0) -> Any:
    stride = ksize if stride is None else stride
    return pooling.means_reference(x, _geometry(x.shape[2:], ksize, stride, pad, 1, False), pad_value == 0)


def bad(name: str, call: Any, error: Any, *words: str) -> Bad:
    return Bad(name, call, error, words)


def convolution_errors(f: Callable[..., Any], n: int, name: str, planar: bool = False) -> tuple[Bad, ...]:
    """Arguments that no convolution takes."""
    x, W, one, two = (1, 2, *[4] * n), (3, 2, *[3] * n), [3] * n, [4] * n
    small = z(1, 2, *[2] * n)
    return (
        bad('wrong kind', lambda: f(z(*x, dtype='i'), z(*W, dtype='i')), InvalidType, name, 'float', 'int32'),
        bad('axes of W', lambda: f(z(*x), z(*W, 3)), InvalidType, name, str(x), str((*W, 3))),
        bad('channels', lambda: f(z(1, 3, *two), z(*W)), InvalidType, name, str((1, 3, *two)), str(W)),
        bad('bias', lambda: f(z(*x), z(*W), z(2)), InvalidType, name, 'b.shape', '(3,)', '(2,)'),
        bad('bias kind', lambda: f(z(*x), z(*W), z(3, dtype='i')), InvalidType, name, 'b.dtype', 'int32'),
        bad('stride', lambda: f(z(*x), z(*W), stride=0), ValueError, name, 'stride', 'at least 1', 'got 0'),
        bad('negative stride', lambda: f(z(*x), z(*W), stride=-1), ValueError, name, 'stride', 'got -1'),
        bad('pad', lambda: f(z(*x), z(*W), pad=-1), ValueError, name, 'pad', 'at least 0', 'got -1'),
        bad('dilate', lambda: f(z(*x), z(*W), dilate=0), ValueError, name, 'dilate', 'got 0'),
        bad('strides', lambda: f(z(*x), z(*W), stride=(1,) * 4), ValueError, name, 'stride', str((1,) * 4)),
        bad('groups', lambda: f(z(*x), z(*W), groups=0), InvalidType, name, 'groups', '0'),
        bad(
            'groups of filters',
            lambda: f(z(1, 4, *two), z(3, 2, *one), groups=2),
            ValueError if planar else TypeError,
            name,
            'groups',
            '3 filters',
        ),
        bad('large filters', lambda: f(small, z(*W)), AssertionError, name, str(tuple(one)), 'positive'),
    )


def deconvolution_errors(f: Callable[..., Any], n: int, name: str, planar: bool = False) -> tuple[Bad, ...]:
    """Arguments that no transposed convolution takes."""
    x, W = (1, 2, *[2] * n), (2, 3, *[2] * n)
    return (
        bad('wrong kind', lambda: f(z(*x, dtype='i'), z(*W, dtype='i')), InvalidType, name, 'float', 'int32'),
        bad('channels', lambda: f(z(1, 3, *x[2:]), z(*W)), InvalidType, name, 'W.shape[0] = 2', '3'),
        bad('bias', lambda: f(z(*x), z(*W), z(2)), InvalidType, name, 'b.shape', '(3,)', '(2,)'),
        bad('stride', lambda: f(z(*x), z(*W), stride=0), ValueError, name, 'stride', 'got 0'),
        bad('groups', lambda: f(z(*x), z(*W), groups=3), ValueError if planar else TypeError, name, 'groups', '3'),
        bad('no groups', lambda: f(z(*x), z(*W), groups=0), InvalidType, name, 'groups', '0'),
        bad('outsize', lambda: f(z(*x), z(*W), outsize=(9,) * n), InvalidType, name, 'outsize is 9', '2'),
        bad('int outsize', lambda: f(z(*x), z(*W), outsize=9), TypeError, name, 'outsize', 'tuple', '9'),
        bad(
            'pad', lambda: f(z(*x), z(*W), pad=2), RuntimeError if planar else AssertionError, name, 'pad', 'positive'
        ),
    )


def pooling_errors(f: Callable[..., Any], n: int, name: str, **params: Any) -> tuple[Bad, ...]:
    """Arguments that no pooling takes."""
    x = (1, 1, *[4] * n)
    return (
        bad('wrong kind', lambda: f(z(*x, dtype='i'), 2), InvalidType, name, 'float', 'int32'),
        bad('ksize', lambda: f(z(*x), 0), ValueError, name, 'ksize', 'got 0'),
        bad('ksizes', lambda: f(z(*x), (2,) * 4), ValueError, name, 'ksize', str((2,) * 4)),
        bad('stride', lambda: f(z(*x), 2, -1), ValueError, name, 'stride', 'got -1'),
        bad('pad', lambda: f(z(*x), 2, pad=-1), ValueError, name, 'pad', 'got -1'),
        bad('large windows', lambda: f(z(*x), 6, **params), AssertionError, name, str((6,) * n), 'positive'),
    )


def axes_error(f: Callable[..., Any], n: int, *args: Any, error: Any = ValueError) -> Bad:
    return bad('axes', lambda: f(z(*[2] * (n + 1)), *args), error, str(n + 2), str((2,) * (n + 1)))


EXCUSES = {
    'zero-d': 'a batch, channels and space are needed; the errors say so',
    'wrong dtype': 'arrays of two dtypes are computed in the wider one, as in Chainer; see test_convolution.py',
    'special values': 'sums of products, as in matmul',
}
ROW_HAS_IT = {**EXCUSES, 'wrong kind': 'the first row of the name has it'}
CONVOLUTION_2D = (
    case((2, 2, 4, 3), (3, 2, 3, 2), (3,)),
    case((1, 2, 5, 4), (2, 2, 2, 3), (2,), stride=(2, 1), pad=(1, 2)),
    case((1, 4, 4, 5), (2, 4, 2, 2), (2,), stride=2, cover_all=True),
    case((1, 1, 5, 5), (2, 1, 2, 2), (2,), dilate=(2, 3)),
    case((1, 4, 3, 3), (4, 2, 2, 2), (4,), groups=2, pad=1),
    case((0, 2, 3, 3), (2, 2, 2, 2), (2,)),
    case((1, 2, 2, 2), (1, 2, 1, 1), (1,)),
    case((1, 1, 1, 2), (1, 1, 3, 2), (1,), pad=(3, 2)),
    case((1, 1, 2, 2), (1, 1, 4, 3), (1,), stride=3, cover_all=True),
    case((1, 1, 5, 4), (1, 1, 1, 1), (1,), stride=3),
    case((1, 2, 3, 3), (0, 2, 2, 2), (0,)),
    case((1, 0, 3, 3), (2, 0, 2, 2), (2,)),
)
DECONVOLUTION_2D = (
    case((2, 2, 2, 3), (2, 3, 3, 2), (3,)),
    case((1, 2, 3, 2), (2, 2, 2, 3), (2,), stride=(2, 3), pad=(1, 2)),
    case((1, 2, 2, 3), (2, 1, 3, 2), (1,), stride=2, pad=1, outsize=(4, 5)),
    case((1, 1, 3, 2), (1, 4, 2, 2), (4,), dilate=(2, 1)),
    case((1, 4, 2, 2), (4, 1, 2, 2), (2,), groups=2),
    case((0, 2, 3, 3), (2, 2, 2, 2), (2,)),
    case((1, 2, 2, 2), (2, 1, 1, 1), (1,), stride=2),
)


ROWS = [
    Row(
        'convolution_2d',
        F.convolution_2d,
        _convolution,
        (ANY, ANY, ANY),
        CONVOLUTION_2D,
        order=3,
        label='Convolution2DFunction',
        errors=(
            *convolution_errors(F.convolution_2d, 2, 'Convolution2DFunction', True),
            bad('axes', lambda: F.convolution_2d(z(3, 4, 4), z(2, 3, 3, 3)), InvalidType, '4 axes', '(3, 4, 4)'),
            bad(
                'removed',
                lambda: F.convolution_2d(z(1, 1, 3, 3), z(1, 1, 2, 2), deterministic=True),
                ValueError,
                'cudnn_deterministic',
            ),
            bad(
                'unknown',
                lambda: F.convolution_2d(z(1, 1, 3, 3), z(1, 1, 2, 2), foo=1),
                TypeError,
                'convolution_2d()',
                'foo',
            ),
            bad(
                'bias dtype',
                lambda: F.convolution_2d(z(1, 1, 3, 3), z(1, 1, 2, 2), z(1, dtype='d')),
                InvalidType,
                'b.dtype',
                'float32',
                'float64',
            ),
        ),
        except_from=EXCUSES,
    ),
    Row(
        'convolution_2d',
        F.convolution_2d,
        _convolution,
        (ANY, ANY),
        (
            case((2, 1, 3, 4), (2, 1, 2, 3)),
            case((1, 6, 2, 3), (6, 1, 2, 2), groups=6),
            case((0, 1, 2, 2), (1, 1, 2, 2)),
        ),
        variant='no bias',
        order=3,
        label='Convolution2DFunction',
        except_from=ROW_HAS_IT,
    ),
    Row(
        'convolution_1d',
        F.convolution_1d,
        _convolution,
        (ANY, ANY, ANY),
        (
            case((2, 2, 5), (3, 2, 2), (3,)),
            case((2, 4, 6), (2, 2, 2), (2,), stride=3, pad=1, cover_all=True, dilate=2, groups=2),
            case((0, 1, 2), (1, 1, 2), (1,)),
        ),
        label='ConvolutionND',
        except_from=EXCUSES,
        errors=(
            *convolution_errors(F.convolution_1d, 1, 'ConvolutionND'),
            axes_error(F.convolution_1d, 1, z(1, 2, 2)),
        ),
    ),
    Row(
        'convolution_3d',
        F.convolution_3d,
        _convolution,
        (ANY, ANY, ANY),
        (
            case((1, 1, 2, 3, 2), (2, 1, 2, 2, 1), (2,), stride=(1, 2, 1), pad=(1, 0, 0)),
            case((0, 1, 2, 2, 2), (1, 1, 1, 1, 1), (1,)),
        ),
        label='ConvolutionND',
        except_from=EXCUSES,
        errors=(
            *convolution_errors(F.convolution_3d, 3, 'ConvolutionND'),
            axes_error(F.convolution_3d, 3, z(1, 2, 2, 2, 2)),
        ),
    ),
    Row(
        'convolution_nd',
        F.convolution_nd,
        _convolution,
        (ANY, ANY, ANY),
        (
            case((2, 2, 4), (3, 2, 3), (3,)),
            case((1, 2, 3, 4), (2, 1, 2, 2), (2,), groups=2, pad=(1, 0)),
            case((2, 3), (4, 3), (4,)),
            case((1, 1, 2, 2, 2, 1), (1, 1, 2, 1, 2, 1), (1,)),
            case((0, 1, 2), (1, 1, 2), (1,)),
        ),
        label='ConvolutionND',
        except_from=EXCUSES,
        errors=convolution_errors(F.convolution_nd, 2, 'ConvolutionND'),
    ),
    Row(
        'dilated_convolution_2d',
        F.dilated_convolution_2d,
        _convolution,
        (ANY, ANY, ANY),
        (
            case((1, 2, 5, 4), (2, 2, 3, 2), (2,), dilate=2),
            case((1, 1, 3, 3), (1, 1, 2, 2), (1,), stride=(1, 2), pad=1, cover_all=True),
            case((0, 1, 2, 2), (1, 1, 2, 2), (1,)),
        ),
        label='Convolution2DFunction',
        except_from=EXCUSES,
        errors=(
            bad(
                'wrong kind',
                lambda: F.dilated_convolution_2d(z(1, 1, 3, 3, dtype='i'), z(1, 1, 2, 2)),
                InvalidType,
                'float',
                'int32',
            ),
            bad(
                'dilate',
                lambda: F.dilated_convolution_2d(z(1, 1, 3, 3), z(1, 1, 2, 2), dilate=0),
                ValueError,
                'dilate',
                'got 0',
            ),
        ),
    ),
    Row(
        'depthwise_convolution_2d',
        F.depthwise_convolution_2d,
        _depthwise,
        (ANY, ANY, ANY),
        (
            case((2, 3, 3, 3), (2, 3, 2, 2), (6,)),
            case((1, 2, 4, 3), (1, 2, 3, 2), (2,), stride=(2, 1), pad=(1, 0)),
            case((0, 2, 2, 2), (1, 2, 2, 2), (2,)),
        ),
        label='Convolution2DFunction',
        except_from=EXCUSES,
        errors=(
            bad(
                'wrong kind',
                lambda: F.depthwise_convolution_2d(z(1, 1, 3, 3, dtype='i'), z(1, 1, 2, 2)),
                InvalidType,
                'float',
                'int32',
            ),
            bad(
                'axes',
                lambda: F.depthwise_convolution_2d(z(1, 3, 4), z(2, 3, 3)),
                ValueError,
                'four axes',
                '(2, 3, 3)',
            ),
            bad(
                'channels',
                lambda: F.depthwise_convolution_2d(z(1, 3, 4, 4), z(2, 2, 3, 3)),
                InvalidType,
                '3',
                'groups = 2',
            ),
            bad(
                'bias',
                lambda: F.depthwise_convolution_2d(z(1, 3, 4, 4), z(2, 3, 3, 3), z(2)),
                InvalidType,
                '(6,)',
                '(2,)',
            ),
        ),
    ),
    Row(
        'deconvolution_2d',
        F.deconvolution_2d,
        _deconvolution,
        (ANY, ANY, ANY),
        DECONVOLUTION_2D,
        order=3,
        label='Deconvolution2DFunction',
        except_from=EXCUSES,
        errors=(
            *deconvolution_errors(F.deconvolution_2d, 2, 'Deconvolution2DFunction', True),
            bad('axes', lambda: F.deconvolution_2d(z(3, 4, 4), z(3, 2, 3, 3)), InvalidType, '4 axes', '(3, 4, 4)'),
            bad(
                'removed',
                lambda: F.deconvolution_2d(z(1, 1, 3, 3), z(1, 1, 2, 2), deterministic=True),
                ValueError,
                'cudnn_deterministic',
            ),
            bad(
                'unknown',
                lambda: F.deconvolution_2d(z(1, 1, 3, 3), z(1, 1, 2, 2), foo=1),
                TypeError,
                'deconvolution_2d()',
                'foo',
            ),
        ),
    ),
    Row(
        'deconvolution_2d',
        F.deconvolution_2d,
        _deconvolution,
        (ANY, ANY),
        (case((2, 1, 3, 2), (1, 2, 2, 3)), case((0, 1, 2, 2), (1, 1, 2, 2))),
        variant='no bias',
        order=3,
        label='Deconvolution2DFunction',
        except_from=ROW_HAS_IT,
    ),
    Row(
        'deconvolution_1d',
        F.deconvolution_1d,
        _deconvolution,
        (ANY, ANY, ANY),
        (
            case((2, 2, 3), (2, 3, 2), (3,)),
            case((2, 4, 3), (4, 1, 2), (2,), stride=3, pad=1, dilate=2, groups=2, outsize=(8,)),
            case((0, 1, 2), (1, 1, 2), (1,)),
        ),
        label='DeconvolutionND',
        except_from=EXCUSES,
        errors=(
            *deconvolution_errors(F.deconvolution_1d, 1, 'DeconvolutionND'),
            axes_error(F.deconvolution_1d, 1, z(1, 2, 2)),
        ),
    ),
    Row(
        'deconvolution_3d',
        F.deconvolution_3d,
        _deconvolution,
        (ANY, ANY, ANY),
        (
            case((1, 1, 2, 2, 1), (1, 2, 2, 1, 2), (2,), stride=(1, 2, 1), pad=(1, 0, 0)),
            case((0, 1, 2, 2, 2), (1, 1, 1, 1, 1), (1,)),
        ),
        label='DeconvolutionND',
        except_from=EXCUSES,
        errors=(
            *deconvolution_errors(F.deconvolution_3d, 3, 'DeconvolutionND'),
            axes_error(F.deconvolution_3d, 3, z(1, 2, 2, 2, 2)),
        ),
    ),
    Row(
        'deconvolution_nd',
        F.deconvolution_nd,
        _deconvolution,
        (ANY, ANY, ANY),
        (
            case((2, 2, 4), (2, 3, 3), (3,)),
            case((1, 2, 2, 2), (2, 1, 2, 2), (2,), groups=2, pad=(1, 0)),
            case((2, 3), (3, 4), (4,)),
            case((0, 1, 2), (1, 1, 2), (1,)),
        ),
        label='DeconvolutionND',
        except_from=EXCUSES,
        errors=deconvolution_errors(F.deconvolution_nd, 2, 'DeconvolutionND'),
    ),
]

MAX_EXCUSES = {
    'zero-d': 'space is needed; the errors say so',
    'zero-size': 'refused, as in Chainer; the errors say so',
}
MEAN_EXCUSES = {**MAX_EXCUSES, 'special values': 'sums, as in mean'}


def max_row(name: str, n: int, *cases: Any, **fields: Any) -> Row:
    f = getattr(F, name)
    errors = (
        *pooling_errors(f, n, 'MaxPoolingND', cover_all=False),
        bad('empty', lambda: f(z(0, 1, *[4] * n), 2), InvalidType, 'MaxPoolingND', 'size > 0', '(0, 1'),
        axes_error(f, n, 2)
        if name[-2] != 'n'
        else bad('axes', lambda: f(z(1, 1), 2), ValueError, 'spatial axis', '(1, 1)'),
    )
    return Row(name, f, _maxima, (DISTINCT,), cases, label='MaxPoolingND', errors=errors, **fields)


def mean_row(
    name: str, n: int, *cases: Any, label: str = 'AveragePoolingND', excuses: Any = MEAN_EXCUSES, **fields: Any
) -> Row:
    f = getattr(F, name)
    return Row(
        name,
        f,
        _means,
        (ANY,),
        cases,
        order=3,
        label=label,
        except_from=excuses,
        errors=(*pooling_errors(f, n, label), *fields.pop('errors', ())),
        **fields,
    )


NO_SPECIAL = {**MAX_EXCUSES, 'special values': 'max_pooling_nd has them'}
AVERAGE_EMPTY = {k: v for k, v in MEAN_EXCUSES.items() if k != 'zero-size'}


def mean_errors(f: Callable[..., Any], n: int) -> tuple[Bad, ...]:
    return (
        bad('pad_value', lambda: f(z(1, 1, *[4] * n), 2, pad_value=1), ValueError, 'pad_value', '0 or None', '1'),
        bad('empty', lambda: f(z(0, 1, *[4] * n), 2), InvalidType, 'AveragePoolingND', 'size > 0', '(0, 1'),
    )


ROWS += [
    max_row(
        'max_pooling_nd',
        1,
        case((2, 2, 5), ksize=2),
        case((1, 1, 4), ksize=3, stride=2, pad=1, cover_all=False),
        case((1, 2, 3, 4), ksize=(2, 3), stride=(2, 1), pad=(1, 0), cover_all=False),
        case((1, 1, 4), ksize=1, stride=3),
        except_from=MAX_EXCUSES,
        special=(
            Special(
                (np.array([[[NAN, 1.0, 2.0, NAN, INF, -INF]]]),),
                {'ksize': 2},
                np.array([[[NAN, NAN, INF]]]),
                (np.array([[[1.0, 0, 0, 1, 1, 0]]]),),
            ),
            Special(
                (np.array([[[1.0, 1.0, 1.0]]]),),
                {'ksize': 2, 'stride': 1},
                np.array([[[1.0, 1.0]]]),
                (np.array([[[1.0, 1, 0]]]),),
            ),
            Special(
                (np.array([[[3.0]]]),),
                {'ksize': 1, 'pad': 1},
                np.array([[[-INF, 3.0, -INF]]]),
                (np.array([[[1.0]]]),),
            ),
        ),
    ),
    max_row(
        'max_pooling_1d',
        1,
        case((2, 2, 5), ksize=2),
        case((2, 1, 5), ksize=3, stride=1, pad=1),
        except_from=NO_SPECIAL,
    ),
    max_row(
        'max_pooling_2d',
        2,
        case((1, 2, 4, 4), ksize=2),
        case((1, 1, 5, 4), ksize=(3, 2), stride=(2, 1), pad=(1, 0), cover_all=False),
        case((1, 1, 5, 5), ksize=3, stride=2),
        except_from=NO_SPECIAL,
    ),
    max_row(
        'max_pooling_3d',
        3,
        case((1, 1, 2, 3, 4), ksize=2),
        case((1, 1, 2, 3, 2), ksize=(1, 2, 2), stride=1, pad=(0, 1, 0)),
        except_from=NO_SPECIAL,
    ),
    mean_row(
        'average_pooling_nd',
        1,
        case((2, 2, 5), ksize=2),
        case((1, 1, 4), ksize=3, stride=2, pad=1, pad_value=None),
        case((1, 2, 3, 4), ksize=(2, 3), stride=(2, 1), pad=(1, 0)),
        case((1, 1, 2), ksize=2, pad=3, pad_value=None),
        case((1, 1, 4), ksize=1, stride=3),
        errors=mean_errors(F.average_pooling_nd, 1),
    ),
    mean_row(
        'average_pooling_1d',
        1,
        case((2, 2, 5), ksize=2),
        case((1, 1, 4), ksize=3, stride=2, pad=1, pad_value=None),
        errors=(*mean_errors(F.average_pooling_1d, 1), axes_error(F.average_pooling_1d, 1, 2)),
    ),
    mean_row(
        'average_pooling_2d',
        2,
        case((1, 2, 4, 3), ksize=2),
        case((1, 1, 5, 4), ksize=(3, 2), stride=(2, 1), pad=(1, 0)),
        case((0, 1, 4, 4), ksize=2),
        label='AveragePooling2D',
        excuses=AVERAGE_EMPTY,
        errors=(axes_error(F.average_pooling_2d, 2, 2, error=InvalidType),),
    ),
    mean_row(
        'average_pooling_3d',
        3,
        case((1, 1, 2, 3, 4), ksize=2),
        case((1, 1, 2, 2, 2), ksize=(1, 2, 2), stride=1, pad=(0, 1, 0), pad_value=None),
        errors=(*mean_errors(F.average_pooling_3d, 3), axes_error(F.average_pooling_3d, 3, 2)),
    ),
]
