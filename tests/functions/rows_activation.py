"""Rows of the activations, and of the functions that draw random numbers, with their draws fixed."""

from __future__ import annotations

from typing import Any
from unittest import mock

import numpy as np
import scipy.special

import minichainer as chainer
import minichainer.functions as F
from minichainer.functions.noise import sampling as sampling_module
from minichainer.functions.noise import zoneout as zoneout_module
from minichainer.utils.type_check import InvalidType
from tests.functions.row import ANY, AWAY_FROM_0, DISTINCT, Bad, Domain, Row, Special, case, grid
from tests.functions.rows_elementwise import (
    INF,
    INTEGERS,
    NAN,
    SHAPES,
    at,
    refuses_integers,
    refuses_shapes,
    refuses_two_dtypes,
    unary,
)

V = chainer.Variable
X = np.ones((2, 3))
NO_AXES = np.array(1.0)
WIDE = Domain(low=-4.0, high=8.0, avoid=(0.0, 6.0))


def bad(name: str, call: Any, error: Any, *words: str) -> Bad:
    return Bad(name, call, error, words)


# --- references -----------------------------------------------------------------------------------------------------
def _elu(x: Any, alpha: float = 1.0) -> Any:
    return np.where(x >= 0, x, alpha * np.expm1(x))


def _selu(x: Any, alpha: float = 1.6732632423543772, scale: float = 1.0507009873554805) -> Any:
    return scale * _elu(x, alpha)


def _softplus(x: Any, beta: float = 1.0) -> Any:
    return np.logaddexp(0, beta * x) / beta


def _crelu(x: Any, axis: int = 1) -> Any:
    return np.maximum(np.concatenate([x, -x], axis), 0)


def _maxout(x: Any, pool_size: int, axis: int = 1) -> Any:
    groups = np.moveaxis(x, axis, -1)
    groups = groups.reshape(*groups.shape[:-1], x.shape[axis] // pool_size, pool_size)
    return np.moveaxis(groups.max(axis=-1), -1, axis)


def _spread(weights: Any, x: Any) -> Any:
    return weights.reshape((*weights.shape, *[1] * (x.ndim - 1 - weights.ndim)))


def _prelu(x: Any, W: Any) -> Any:
    return np.where(x >= 0, x, _spread(W, x) * x)


def _swish(x: Any, beta: Any) -> Any:
    return x * scipy.special.expit(_spread(beta, x) * x)


def _glu(x: Any, axis: int = 1) -> Any:
    a, b = np.split(x, 2, axis)
    return a * scipy.special.expit(b)


def _gumbel_softmax(log_pi: Any, noise: Any, tau: float = 0.1, axis: int = 1) -> Any:
    return scipy.special.softmax((log_pi + noise) / tau, axis) if log_pi.size else log_pi


def _dropconnect(x: Any, W: Any, *rest: Any, ratio: float = 0.5, train: bool = True,
                 use_batchwise_mask: bool = True) -> Any:  # fmt: skip
    *b, mask = rest
    scale = 1 / (1 - ratio) if train else 1
    mask = mask if use_batchwise_mask else np.broadcast_to(mask, (len(x), *W.shape))
    return np.einsum('nd,md,nmd->nm', x.reshape(len(x), W.shape[1]), W, mask * scale) + (b[0] if b else 0)


# --- the functions with draws fixed ---------------------------------------------------------------------------------
def _given(array: Any) -> Any:
    """What draws that array, if it has the wanted shape."""

    def draw(xp: Any, shape: Any, dtype_or_ratio: Any) -> Any:
        assert np.broadcast_shapes(array.shape, shape) == shape
        return array if array.dtype == '?' else array.astype(dtype_or_ratio)

    return draw


def rrelu(x: Any, r: Any, **params: Any) -> Any:
    return F.rrelu(x, r=r, **params)


def gaussian(mean: Any, ln_var: Any, eps: Any) -> Any:
    return F.gaussian(mean, ln_var, eps=eps)


def gumbel_softmax(log_pi: Any, noise: Any, **params: Any) -> Any:
    with mock.patch.object(sampling_module, '_draw_gumbel', _given(noise)):
        return F.gumbel_softmax(log_pi, **params)


def zoneout(h: Any, x: Any, mask: Any) -> Any:
    with mock.patch.object(zoneout_module, '_draw', _given(mask)):
        return F.zoneout(h, x)


def dropconnect(x: Any, W: Any, b: Any, mask: Any, **params: Any) -> Any:
    return F.simplified_dropconnect(x, W, b, mask=mask, **params)


def dropconnect_without_bias(x: Any, W: Any, mask: Any, **params: Any) -> Any:
    return F.simplified_dropconnect(x, W, mask=mask, **params)


# --- errors ---------------------------------------------------------------------------------------------------------
def weight_errors(call: Any, label: str, argument: str) -> tuple[Bad, ...]:
    """Weights that do not fit the axes after the first."""
    return (
        Bad('wrong kind', lambda: call(INTEGERS, INTEGERS[0]), InvalidType, (label, 'float', 'int32')),
        Bad(
            'wrong dtype', lambda: call(V(X), V(np.ones(3, 'f'))), InvalidType, (label, 'float32', 'float64')
        ),
        bad('shape', lambda: call(X, np.ones(2)), InvalidType, label, f'{argument}.shape', '(2,)', '(2, 3)'),
        bad('size 1', lambda: call(X, np.ones(1)), InvalidType, label, f'{argument}.shape', '(1,)', '(2, 3)'),
        bad('too many axes', lambda: call(X, X), InvalidType, label, f'x.ndim > {argument}.ndim', '(2, 3)'),
        bad('0-d', lambda: call(NO_AXES, NO_AXES), InvalidType, label, f'x.ndim > {argument}.ndim', '()'),
    )  # fmt: skip


def axis_errors(call: Any, label: str) -> tuple[Bad, ...]:
    return (
        bad('axis', lambda: call(X, axis=2), InvalidType, label, '-2 <= axis < 2', 'axis = 2', '(2, 3)'),
        bad('negative axis', lambda: call(X, axis=-3), InvalidType, label, 'axis = -3'),
        bad('0-d', lambda: call(NO_AXES), InvalidType, label, '()'),
    )


CONNECT = F.simplified_dropconnect
W = np.ones((4, 3))
DROPCONNECT_ERRORS = (
    bad('ratio', lambda: CONNECT(X, W, ratio=1.0), ValueError, 'simplified_dropconnect', 'ratio', '[0, 1)', '1.0'),
    bad('negative', lambda: CONNECT(X, W, ratio=-1), ValueError, 'simplified_dropconnect', 'ratio', '-1'),
    bad('W', lambda: CONNECT(X, np.ones((4, 2))), InvalidType, 'SimplifiedDropconnect', '(2, 3)', '(4, 2)'),
    bad('vector x', lambda: CONNECT(X[0], W), InvalidType, 'SimplifiedDropconnect', '(3,)', '(4, 3)'),
    bad('vector W', lambda: CONNECT(X, W[0]), InvalidType, 'SimplifiedDropconnect', '(2, 3)', '(3,)'),
    bad('b', lambda: CONNECT(X, W, np.ones(3)), InvalidType, 'SimplifiedDropconnect', 'b of shape (4,)', '(3,)'),
    bad('mask', lambda: CONNECT(X, W, mask=W), InvalidType, 'SimplifiedDropconnect', 'mask', '(2, 4, 3)', '(4, 3)'),
    bad(
        'common mask', lambda: CONNECT(X, W, mask=X, use_batchwise_mask=False), InvalidType, 'SimplifiedDropconnect',
        'mask', '(4, 3)', '(2, 3)',
    ),
    Bad('wrong kind', lambda: CONNECT(INTEGERS, INTEGERS), InvalidType, ('SimplifiedDropconnect', 'float', 'int32')),
)  # fmt: skip
RRELU_ERRORS = (
    refuses_integers(F.rrelu, 'RReLU'),
    bad('l', lambda: F.rrelu(X, -0.1), ValueError, 'rrelu', 'l must be', '[0, 1)', '-0.1'),
    bad('u', lambda: F.rrelu(X, 0.1, 1.0), ValueError, 'rrelu', 'u must be', '[0, 1)', '1.0'),
    bad('order', lambda: F.rrelu(X, 0.5, 0.2), ValueError, 'rrelu', 'less', 'l=0.5', 'u=0.2'),
    bad('r', lambda: F.rrelu(X, r=X[0]), InvalidType, 'RReLU', 'r of shape (2, 3)', '(3,)'),
    bad('r dtype', lambda: F.rrelu(X, r=X.astype('f')), InvalidType, 'RReLU', 'float64', 'float32'),
    bad('train', lambda: F.rrelu(X, train=True), ValueError, 'train', 'using_config'),
    bad('unknown', lambda: F.rrelu(X, what=1), TypeError, 'rrelu', 'what'),
)
GAUSSIAN_ERRORS = (
    Bad('wrong kind', lambda: F.gaussian(INTEGERS, INTEGERS), InvalidType, ('Gaussian', 'float', 'int32')),
    refuses_two_dtypes(F.gaussian, 'Gaussian'),
    bad('shapes', lambda: F.gaussian(X, X[:1]), InvalidType, 'Gaussian', '(2, 3)', '(1, 3)'),
    bad('eps', lambda: F.gaussian(X, X, eps=X.T), ValueError, 'gaussian', 'eps', '(2, 3)', '(3, 2)'),
    bad('larger eps', lambda: F.gaussian(X, X, eps=X[None]), ValueError, 'gaussian', 'eps', '(1, 2, 3)'),
    bad('Variable', lambda: F.gaussian(X, X, eps=V(X)), TypeError, 'gaussian', 'eps', 'Variable'),
    bad('number', lambda: F.gaussian(X, X, eps=1.0), TypeError, 'gaussian', 'eps', 'float'),
    bad('unknown', lambda: F.gaussian(X, X, what=1), TypeError, 'gaussian', 'what'),
)
ZONEOUT_ERRORS = (
    Bad('wrong kind', lambda: F.zoneout(INTEGERS, INTEGERS), InvalidType, ('Zoneout', 'float', 'int32')),
    refuses_two_dtypes(F.zoneout, 'Zoneout'), refuses_shapes(F.zoneout, 'Zoneout'),
    bad('ratio', lambda: F.zoneout(X, X, 1.5), ValueError, 'zoneout', 'ratio', '[0, 1]', '1.5'),
    bad('negative', lambda: F.zoneout(X, X, -0.5), ValueError, 'zoneout', 'ratio', '[0, 1]', '-0.5'),
    bad('train', lambda: F.zoneout(X, X, train=True), ValueError, 'train', 'using_config'),
    bad('unknown', lambda: F.zoneout(X, X, mask=1), TypeError, 'zoneout', 'mask'),
)  # fmt: skip
MAXOUT_ERRORS = (
    refuses_integers(lambda x: F.maxout(x, 3), 'Max'),
    bad('pool_size 0', lambda: F.maxout(X, 0), ValueError, 'maxout', 'pool_size', 'at least 1', '0'),
    bad('pool_size', lambda: F.maxout(X, -1), ValueError, 'maxout', 'pool_size', 'at least 1', '-1'),
    bad('float pool_size', lambda: F.maxout(X, 3.0), TypeError, 'maxout', 'pool_size', '3.0'),
    bad('not divisible', lambda: F.maxout(X, 2), InvalidType, 'Maxout', 'x.shape[1] % 2 == 0', '3', '(2, 3)'),
    *axis_errors(lambda x, axis=0: F.maxout(x, 3, axis), 'Maxout'),
)

SPECIAL_X = [NAN, INF, -INF, 0, -0.0, 1000, -1000, 6, 2.5, -2.5]
WEIGHTS = (
    case((2, 3), ()), case((2, 3), (3,)), case((2, 3, 2), (3,)), case((2, 3, 2), (3, 2)), case((3,), ()),
    case((2, 3, 1, 2), (3, 1)), case((0, 3), (3,)), case((2, 0), (0,)),
)  # fmt: skip
ONE_AXIS = 'x needs an axis; the errors say so'
ON_AXIS = {'zero-d': ONE_AXIS}
MATRIX = {'zero-d': 'x needs a batch axis and another', 'special values': 'linear and matmul have them'}
CHECKED = {'wrong kind': 'the first row of the name has it', 'wrong dtype': 'the first row of the name has it'}
MASK = Domain(mask=True)

ROWS = [
    unary(
        'clipped_relu', lambda x, z=20.0: np.clip(x, 0, z), 'ClippedReLU',
        at(SPECIAL_X, [1, 0, 0, 0, 0, 0, 0, 0, 1, 0], z=6.0), WIDE, (*SHAPES, *grid((3, 4), z=[6.0, 3.05])),
        (
            bad('int', lambda: F.clipped_relu(X, 6), TypeError, 'clipped_relu', 'float expected as z', '6'),
            bad('text', lambda: F.clipped_relu(X, 'a'), TypeError, 'clipped_relu', 'float expected as z', "'a'"),
            bad('negative', lambda: F.clipped_relu(X, -1.0), AssertionError, 'clipped_relu', 'positive', '-1.0'),
            bad('NaN', lambda: F.clipped_relu(X, NAN), AssertionError, 'clipped_relu', 'positive', 'nan'),
        ),
    ),
    unary(
        'relu6', lambda x: np.clip(x, 0, 6), 'ClippedReLU', at(SPECIAL_X, [1, 0, 0, 0, 0, 0, 0, 0, 1, 0]), WIDE
    ),
    unary(
        'hard_sigmoid', lambda x: np.clip(0.2 * x + 0.5, 0, 1), 'HardSigmoid',
        at(SPECIAL_X, [0.2, 0, 0, 0.2, 0.2, 0, 0, 0, 0, 0]), Domain(low=-4.0, high=4.0, avoid=(-2.5, 2.5)),
    ),
    unary(
        'elu', _elu, 'ELU', at(SPECIAL_X, [NAN, 1, 0, 0.4, 0.4, 1, 0, 1, 1, 0.4 * np.exp(-2.5)], alpha=0.4),
        AWAY_FROM_0, (*SHAPES, *grid((3, 4), alpha=[0.4, 1, -1.5, 0.0])),
    ),
    Row(
        'selu', F.selu, _selu, (AWAY_FROM_0,), (*SHAPES, *grid((3, 4), alpha=[1.2, 1], scale=[0.7, 2])), order=3,
        label=lambda alpha=0, scale=1.0507009873554805: f'_ * {scale}', errors=(refuses_integers(F.selu, 'ELU'),),
        special=at([NAN, INF, -INF, 1000, -1000], [NAN, 1.0507009873554805, 0, 1.0507009873554805, 0]),
    ),
    unary(
        'softplus', _softplus, 'Softplus', at([NAN, INF, -INF, 0, 1000, -1000], [NAN, 1, 0, 0.5, 1, 0], beta=2.0),
        cases=(*SHAPES, *grid((3, 4), beta=[2.5, 1, -0.7])),
        errors=(bad('beta', lambda: F.softplus(X, 0.0), ZeroDivisionError, 'softplus', 'beta', '0'),),
    ),
    unary(
        'silu', lambda x: x * scipy.special.expit(x), 'SiLU', at([NAN, INF, 0, 1000, -1000], [NAN, NAN, 0.5, 1, 0])
    ),
    unary('mish', lambda x: x * np.tanh(_softplus(x)), 'Mish', at([NAN, INF, 0, 1000, -1000], [NAN, 1, 0.6, 1, 0])),
    Row(
        'crelu', F.crelu, _crelu, (AWAY_FROM_0,),
        (
            case((3, 4)), case((2, 1, 3)), case((0, 3)), case((2, 0)), *grid((2, 3, 2), axis=[0, 2, -1, -3]),
            case((3,), axis=0),
        ),
        order=3, label='CReLU', except_from=ON_AXIS,
        special=(
            Special(
                (np.array([NAN, INF, -INF, 0, -1e30]),), {'axis': 0}, gradients=(np.array([0.0, 1, -1, 0, -1]),)
            ),
        ),
        errors=(
            refuses_integers(F.crelu, 'CReLU'), *axis_errors(F.crelu, 'CReLU'),
            bad('axis type', lambda: F.crelu(X, 'a'), TypeError, 'crelu', 'int expected as axis', "'a'"),
        ),
    ),
    Row(
        'maxout', F.maxout, _maxout, (DISTINCT,),
        (
            *grid((3, 4), pool_size=[2, 4, 1]), case((2, 6, 2), pool_size=3), case((2, 3, 4), pool_size=2, axis=-1),
            case((4, 3), pool_size=2, axis=0), case((0, 4), pool_size=2), case((2, 0), pool_size=2),
        ),
        label='Max', errors=MAXOUT_ERRORS, except_from=ON_AXIS,
        special=(
            Special(
                (np.array([[1.0, 1, INF, 2, NAN, 1, -INF, 3]]),), {'pool_size': 2},
                gradients=(np.array([[1.0, 1, 1, 0, 1, 0, 0, 1]]),),
            ),
        ),
    ),
    Row(
        'glu', F.glu, _glu, (ANY,),
        (
            case((3, 4)), case((2, 2, 3)), *grid((2, 4, 6), axis=[0, -1, -2]), case((0, 4)), case((2, 0)),
            case((4,), axis=0),
        ),
        order=3, label='_ * _', except_from=ON_AXIS,
        special=(
            Special(
                (np.array([[1.0, 2, 3, 4, 1000, -1000, 0, NAN]]),),
                gradients=(np.array([[1.0, 0, 0.5, NAN, 0, 0, 0.75, NAN]]),),
            ),
        ),
        errors=(
            refuses_integers(F.glu, 'GLU'), *axis_errors(F.glu, 'GLU'),
            bad('odd', lambda: F.glu(X), InvalidType, 'GLU', 'x.shape[1] % 2 == 0', '3', '(2, 3)'),
        ),
    ),
    Row(
        'prelu', F.prelu, _prelu, (AWAY_FROM_0, ANY), WEIGHTS, order=3, label='PReLUFunction',
        errors=weight_errors(F.prelu, 'PReLUFunction', 'W'),
        special=(
            Special(
                (np.array([INF, -1e30, 0, -0.0, 3]), np.array(0.5)),
                gradients=(np.array([1.0, 0.5, 1, 1, 1]), np.array(-1e30)),
            ),
            Special((np.array([NAN, -INF]), np.array(0.5)), gradients=(np.array([0.5, 0.5]), np.array(NAN))),
        ),
    ),
    Row(
        'swish', F.swish, _swish, (ANY, ANY), WEIGHTS, order=3, label='Swish',
        errors=weight_errors(F.swish, 'Swish', 'beta'),
        special=(
            Special(
                (np.array([1000.0, -1000, 0]), np.array(1.0)), gradients=(np.array([1.0, 0, 0.5]), np.array(0.0))
            ),
        ),
    ),
    Row(
        'rrelu', rrelu, lambda x, r, **bounds: np.where(x >= 0, x, r * x),
        (AWAY_FROM_0, Domain(values=(0.125, 0.25, 0.3))),
        (case((3, 4), (3, 4)), case((), ()), case((0, 3), (0, 3)), case((3,), (3,), l=0.1, u=0.5)), order=3,
        label='RReLU', errors=RRELU_ERRORS,
        special=(
            Special(
                (np.array([NAN, INF, -INF, 0, -0.0, -1e30]), np.full(6, 0.25)),
                gradients=(np.array([0.25, 1, 0.25, 1, 1, 0.25]),),
            ),
        ),
    ),
    Row(
        'gaussian', gaussian, lambda mean, ln_var, eps: mean + np.exp(ln_var / 2) * eps,
        (ANY, ANY, Domain(values=(-1.5, 0.5, 2.0))),
        (case((3, 4), (3, 4), (3, 4)), case((3, 4), (3, 4), (4,)), case((), (), ()), case((0, 3), (0, 3), (0, 3))),
        order=3, label='Gaussian', errors=GAUSSIAN_ERRORS,
        special=(
            Special(
                (np.array([NAN, 1, 1]), np.array([0.0, -INF, NAN]), np.array([2.0, 2, 2])),
                gradients=(np.ones(3), np.array([1.0, 0, NAN])),
            ),
        ),
    ),
    Row(
        'gumbel_softmax', gumbel_softmax,
        _gumbel_softmax,
        (ANY, Domain(values=(-0.5, 0.5, 2.0))),
        (
            *grid((3, 4), (3, 4), tau=[1.0, 2]), case((2, 3, 2), (2, 3, 2), tau=0.8, axis=2),
            case((3, 2), (3, 2), tau=0.8, axis=-2), case((0, 3), (0, 3), tau=1.0), case((3,), (3,), tau=0.8, axis=0),
        ),
        order=3, label='Softmax', except_from=ON_AXIS,
        special=(Special((np.array([[1000.0, -1000, -INF]]), np.zeros((1, 3))), gradients=(np.zeros((1, 3)),)),),
        errors=(
            Bad('wrong kind', lambda: F.gumbel_softmax(INTEGERS), InvalidType, ('gumbel_softmax', 'float', 'int32')),
            bad('axis', lambda: F.gumbel_softmax(X, axis=2), InvalidType, 'gumbel_softmax', 'axis 2', '(2, 3)'),
            bad('vector', lambda: F.gumbel_softmax(X[0]), InvalidType, 'gumbel_softmax', 'axis 1', '(3,)'),
            bad('tau', lambda: F.gumbel_softmax(X, tau=0), ZeroDivisionError, 'gumbel_softmax', 'tau', '0'),
        ),
    ),
    Row(
        'zoneout', zoneout, lambda h, x, mask: np.where(mask, h, x), (ANY, ANY, MASK),
        (case((3, 4), (3, 4), (3, 4)), case((2, 3), (1, 3), (1, 3)), case((), (), ()), case((0, 3), (0, 3), (0, 3))),
        order=3, label='Zoneout', errors=ZONEOUT_ERRORS,
        special=(
            Special(
                (np.array([1.0, NAN, 3]), np.array([NAN, INF, -INF]), np.array([True, False, True])),
                gradients=(np.array([1.0, 0, 1]), np.array([0.0, 1, 0])),
            ),
        ),
    ),
    Row(
        'simplified_dropconnect', dropconnect, _dropconnect, (ANY, ANY, ANY, MASK),
        (
            *grid((2, 3), (4, 3), (4,), (2, 4, 3), ratio=[0.5, 0.2]), case((2, 3, 2), (3, 6), (3,), (2, 3, 6)),
            case((2, 3), (4, 3), (4,), (2, 4, 3), train=False),
            case((2, 3), (4, 3), (4,), (4, 3), use_batchwise_mask=False),
            case((0, 3), (2, 3), (2,), (0, 2, 3)), case((2, 0), (3, 0), (3,), (2, 3, 0)),
            case((2, 3), (0, 3), (0,), (0, 3), use_batchwise_mask=False),
        ),
        order=3, label='SimplifiedDropconnect', errors=DROPCONNECT_ERRORS,
        except_from={**MATRIX, 'wrong dtype': 'weights are converted to the dtype of x'},
    ),
    Row(
        'simplified_dropconnect', dropconnect_without_bias, _dropconnect, (ANY, ANY, Domain(values=(0.0, 1.0))),
        (
            case((2, 3), (4, 3), (2, 4, 3)), case((2, 3), (4, 3), (4, 3), use_batchwise_mask=False),
            case((0, 3), (2, 3), (2, 3), use_batchwise_mask=False), case((1, 1), (1, 1), (1, 1, 1), ratio=0.0),
        ),
        variant='no bias', order=3, label='SimplifiedDropconnect', except_from={**MATRIX, **CHECKED},
    ),
]  # fmt: skip
