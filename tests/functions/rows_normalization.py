"""Rows of normalizations. The references are their definitions in NumPy."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

import minichainer as chainer
import minichainer.functions as F
from minichainer.functions.normalization.sample_normalization import RowLengthError
from minichainer.utils.type_check import InvalidType
from tests.functions.row import ANY, AWAY_FROM_0, POSITIVE, Bad, Domain, Row, Special, case


def z(*shape: int, dtype: str = 'f') -> Any:
    return chainer.Variable(np.zeros(shape, dtype))


def bad(name: str, call: Any, error: Any, *words: str) -> Bad:
    return Bad(name, call, error, words)


def _axes(x: Any, gamma: Any, axis: Any) -> tuple[int, ...]:
    if axis is None:
        return (0, *range(np.ndim(gamma) + 1, x.ndim))
    return tuple([a % x.ndim for a in np.atleast_1d(np.array(axis, int))])


def _spread(param: Any, x: Any, axes: tuple[int, ...]) -> Any:
    return np.reshape(param, [1 if i in axes else n for i, n in enumerate(x.shape)])


def _fixed(x: Any, gamma: Any, beta: Any, mean: Any, var: Any, eps: float = 2e-5, axis: Any = None) -> Any:
    axes = _axes(x, gamma, axis)
    gamma, beta, mean, var = (_spread(p, x, axes) for p in (gamma, beta, mean, var))
    return gamma * (x - mean) / np.sqrt(var + eps) + beta


def _batch(x: Any, gamma: Any, beta: Any, eps: float = 2e-5, axis: Any = None) -> Any:
    axes = _axes(x, gamma, axis)
    mean, var = (x.mean(axes), x.var(axes)) if x.size else (np.zeros_like(gamma), np.zeros_like(gamma))
    return _fixed(x, gamma, beta, mean, var, eps, axis)


def _grouped(x: Any, groups: int, gamma: Any, beta: Any, eps: float = 1e-5) -> Any:
    rows = x.reshape(len(x), groups, -1) if x.size else x.reshape(len(x), 1, 0)
    if x.size:
        rows = (rows - rows.mean(2, keepdims=True)) / np.sqrt(rows.var(2, keepdims=True) + eps)
    shape = (1, -1, *[1] * (x.ndim - 2))
    return rows.reshape(x.shape) * gamma.reshape(shape) + beta.reshape(shape)


def _instances(x: Any, gamma: Any, beta: Any, eps: float = 1e-5) -> Any:
    return _grouped(x, max(x.shape[1], 1), gamma, beta, eps)


def _rms(x: Any, gamma: Any, eps: float = 1e-5) -> Any:
    return gamma * x / np.sqrt((x * x).mean(-1, keepdims=True) + eps) if x.size else x


def _whitened(x: Any, groups: int = 16, eps: float = 2e-5) -> Any:
    if not x.size:
        return x
    rows = np.moveaxis(x, 1, 0).reshape(groups, x.shape[1] // groups, -1)
    centre = rows - rows.mean(2, keepdims=True)
    covariance = centre @ centre.swapaxes(1, 2) / rows.shape[2] + eps * np.eye(rows.shape[1])
    values, vectors = np.linalg.eigh(covariance)
    y = (vectors / np.sqrt(values)[:, None]) @ vectors.swapaxes(1, 2) @ centre
    return np.moveaxis(y.reshape(x.shape[1], x.shape[0], *x.shape[2:]), 0, 1)


def _projected(x: Any, mean: Any, projection: Any, groups: int = 16) -> Any:
    rows = np.moveaxis(x, 1, 0).reshape(groups, x.shape[1] // groups, -1)
    y = projection @ (rows - mean[..., None])
    return np.moveaxis(y.reshape(x.shape[1], x.shape[0], *x.shape[2:]), 0, 1)


def _local(x: Any, n: int = 5, k: float = 2, alpha: float = 1e-4, beta: float = 0.75) -> Any:
    channels = x.shape[1]
    y = np.empty_like(x)
    for c in range(channels):
        near = x[:, max(c - n // 2, 0) : c + n // 2 + 1]
        y[:, c] = x[:, c] / (k + alpha * (near**2).sum(1)) ** beta
    return y


def _unit(x: Any, eps: float = 1e-5, axis: Any = 1) -> Any:
    return x / (np.sqrt((x * x).sum(axis=axis, keepdims=True)) + eps)


def name_of(label: str) -> str:
    """The public function of a label: ``batch_normalization`` of ``BatchNormalization``."""
    return re.sub('(?<!^)([A-Z])', r'_\1', label).lower()


def channel_errors(
    f: Callable[..., Any], label: str, extra: int = 0, of_shape: type[Exception] = InvalidType
) -> tuple[Bad, ...]:
    """Arguments that no normalization of channels takes; ``extra`` parameters follow beta."""

    def params(*shape: int, dtype: str = 'f') -> list[Any]:
        return [z(*shape, dtype=dtype) for _ in range(2 + extra)]

    few, name = params(3)[1:], name_of(label)
    return (
        bad('wrong kind', lambda: f(z(4, 3, dtype='i'), *params(3)), InvalidType, label, 'x.dtype', 'int32'),
        bad('gamma kind', lambda: f(z(4, 3), z(3, dtype='i'), *few), InvalidType, label, 'gamma.dtype', 'int32'),
        bad(
            'wrong dtype', lambda: f(z(4, 3), z(3, dtype='d'), *few), InvalidType, label, 'gamma.dtype == beta.dtype',
            'float64 != float32',
        ),
        bad(
            'gamma shape', lambda: f(z(4, 3), *params(2)), of_shape, label, 'gamma.shape == (3,)', '(4, 3)',
            '(2,)',
        ),
        bad('beta shape', lambda: f(z(4, 3), z(3), z(1), *few[1:]), InvalidType, label, 'beta.shape == (3,)', '(1,)'),
        bad('eps', lambda: f(z(4, 3), *params(3), eps=-1e-5), ValueError, name, 'eps >= 0', '-1e-05'),
    )  # fmt: skip


def axis_errors(f: Callable[..., Any], label: str, extra: int = 0) -> tuple[Bad, ...]:
    params = [z(3)] * (2 + extra)
    x, name = z(4, 3), name_of(label)
    return (
        bad('axes', lambda: f(z(3), *params), InvalidType, label, 'x.ndim >= gamma.ndim + 1 = 2', '(3,)'),
        bad('order', lambda: f(x, *params, axis=(1, 0)), RuntimeError, name, 'ascending order', '(1, 0)'),
        bad('axis twice', lambda: f(x, *params, axis=(0, -2)), RuntimeError, name, 'ascending order', '(0, -2)'),
        bad('no int', lambda: f(x, *params, axis=0.0), RuntimeError, name, 'int, tuple of int or None', '0.0'),
        bad('list', lambda: f(x, *params, axis=[0]), RuntimeError, name, 'tuple', '[0]'),
        bad('out of range', lambda: f(x, *params, axis=2), InvalidType, label, '-2 <= axis < 2', 'axis = 2'),
    )


def _running(mean: Any, var: Any) -> Any:
    return F.batch_normalization(z(4, 3), z(3), z(3), running_mean=mean, running_var=var)


WHITEN, PROJECT, LAYER = (
    F.decorrelated_batch_normalization, F.fixed_decorrelated_batch_normalization, F.layer_normalization
)  # fmt: skip
SCALE = Domain(low=0.5, high=2.0)
NO_SPECIAL = {'special values': 'quotients of sums, as in mean'}
BATCH = (
    case((6, 3), (3,), (3,)),
    case((3, 2, 2, 2), (2,), (2,), eps=0.1),
    case((4, 2, 3), (2, 3), (2, 3)),
    case((2, 3, 4), (3,), (3,), axis=(0, 2)),
    case((5, 3, 2), (2,), (2,), axis=(0, 1)),
    case((3, 4), (3,), (3,), axis=1),
    case((3, 4), (3,), (3,), axis=-1),
    case((2, 4, 3, 2), (2, 3), (2, 3), axis=(1, 3)),
    case((5,), (), (), axis=0),
    case((0, 3), (3,), (3,)),
    case((2, 0), (0,), (0,)),
    case((2, 3, 0), (3,), (3,)),
)
SAMPLES_EXCUSES = {'zero-d': 'a batch and channels are needed; the errors say so', **NO_SPECIAL}
DBN_EXCUSES = {
    'zero-d': 'a batch and channels are needed; the errors say so',
    'special values': 'eigenvalues of sums of products, as in mean',
    'label': 'a composition of other functions',
}

ROWS = [
    Row(
        'batch_normalization', F.batch_normalization, _batch, (ANY, SCALE, ANY), BATCH, order=3,
        label='BatchNormalization', except_from=NO_SPECIAL,
        errors=(
            *channel_errors(F.batch_normalization, 'BatchNormalization'),
            *axis_errors(F.batch_normalization, 'BatchNormalization'),
            bad('mean shape', lambda: _running(np.zeros(2), np.zeros(3)), ValueError, 'running_mean', '(3,)', '(2,)'),
            bad('var shape', lambda: _running(np.zeros(3), np.zeros(2)), ValueError, 'running_var', '(3,)', '(2,)'),
            bad('mean alone', lambda: _running(np.zeros(3), None), TypeError, 'running_mean and running_var'),
            bad('var alone', lambda: _running(None, np.zeros(3)), TypeError, 'running_mean and running_var'),
            bad(
                'removed', lambda: F.batch_normalization(z(4, 3), z(3), z(3), train=True), ValueError, 'train',
                'using_config',
            ),
            bad(
                'unknown', lambda: F.batch_normalization(z(4, 3), z(3), z(3), momentum=1), TypeError,
                'batch_normalization()', 'momentum',
            ),
        ),
    ),
    Row(
        'fixed_batch_normalization', F.fixed_batch_normalization, _fixed, (ANY, SCALE, ANY, ANY, POSITIVE),
        (
            case((4, 3), (3,), (3,), (3,), (3,)),
            case((2, 2, 2, 3), (2,), (2,), (2,), (2,), eps=0.1),
            case((2, 3, 2), (2,), (2,), (2,), (2,), axis=(0, 1)),
            case((2, 3, 2), (3, 2), (3, 2), (3, 2), (3, 2)),
            case((3,), (), (), (), (), axis=0),
            case((0, 3), (3,), (3,), (3,), (3,)),
        ),
        order=3, label='FixedBatchNormalization', except_from=NO_SPECIAL,
        errors=(
            *channel_errors(F.fixed_batch_normalization, 'FixedBatchNormalization', 2),
            *axis_errors(F.fixed_batch_normalization, 'FixedBatchNormalization', 2),
            bad(
                'mean shape', lambda: F.fixed_batch_normalization(z(4, 3), z(3), z(3), z(2), z(3)), InvalidType,
                'mean.shape == (3,)', '(2,)',
            ),
            bad(
                'var dtype', lambda: F.fixed_batch_normalization(z(4, 3), z(3), z(3), z(3), z(3, dtype='d')),
                InvalidType, 'gamma.dtype == var.dtype', 'float32 != float64',
            ),
        ),
    ),
    Row(
        'fixed_batch_renormalization', F.fixed_batch_renormalization, _fixed, (ANY, SCALE, ANY, ANY, POSITIVE),
        (
            case((4, 3), (3,), (3,), (3,), (3,)),
            case((2, 2, 3), (2,), (2,), (2,), (2,), eps=0.1),
            case((0, 3), (3,), (3,), (3,), (3,)),
        ),
        label='FixedBatchNormalization',
        except_from={**NO_SPECIAL, 'zero-d': 'the batch axis is given, and a channel axis needed'},
        errors=channel_errors(F.fixed_batch_renormalization, 'FixedBatchNormalization', 2),
    ),
    Row(
        'group_normalization', lambda x, gamma, beta, groups, **k: F.group_normalization(x, groups, gamma, beta, **k),
        lambda x, gamma, beta, groups, eps=1e-5: _grouped(x, groups, gamma, beta, eps), (ANY, SCALE, ANY),
        (
            # Of groups of two elements with a small eps, gradients of x are nothing but rounding.
            case((3, 8), (8,), (8,), groups=2),
            case((3, 4), (4,), (4,), groups=2, eps=0.1),
            case((2, 6, 2), (6,), (6,), groups=3, eps=0.1),
            case((2, 4, 2, 2), (4,), (4,), groups=1),
            case((2, 3, 2, 2), (3,), (3,), groups=3),
            case((0, 4), (4,), (4,), groups=2),
            case((2, 0), (0,), (0,), groups=2),
            case((2, 4, 0), (4,), (4,), groups=2),
        ),
        order=3, label='GroupNormalization', except_from=SAMPLES_EXCUSES,
        errors=(
            *channel_errors(lambda x, *params, **k: F.group_normalization(x, 1, *params, **k), 'GroupNormalization'),
            bad(
                'groups', lambda: F.group_normalization(z(2, 3), 2, z(3), z(3)), ValueError, '3 % groups',
                'groups = 2', '(2, 3)',
            ),
            bad('no groups', lambda: F.group_normalization(z(2, 3), 0, z(3), z(3)), ValueError, 'groups = 0'),
            bad('less', lambda: F.group_normalization(z(2, 3), -3, z(3), z(3)), ValueError, 'groups = -3'),
            bad('no int', lambda: F.group_normalization(z(2, 3), 3.0, z(3), z(3)), TypeError, 'int', 'groups', '3.0'),
            bad('axes', lambda: F.group_normalization(z(3), 1, z(3), z(3)), ValueError, 'two axes', '(3,)'),
        ),
    ),
    Row(
        'instance_normalization', F.instance_normalization, _instances, (ANY, SCALE, ANY),
        (
            case((2, 3, 4), (3,), (3,)),
            case((2, 2, 2, 3), (2,), (2,), eps=0.1),
            case((0, 3, 2), (3,), (3,)),
            case((2, 0, 2), (0,), (0,)),
        ),
        except_from={**SAMPLES_EXCUSES, 'label': 'not in Chainer; see test_normalization.py'},
        errors=(
            *channel_errors(F.instance_normalization, 'InstanceNormalization'),
            bad('axes', lambda: F.instance_normalization(z(3), z(3), z(3)), ValueError, 'two axes', '(3,)'),
        ),
    ),
    Row(
        'layer_normalization', LAYER, lambda x, gamma, beta, eps=1e-5: _grouped(x, 1, gamma, beta, eps),
        (ANY, SCALE, ANY),
        (
            case((3, 5), (5,), (5,)),
            case((2, 3), (3,), (3,), eps=0.1),
            case((1, 4), (4,), (4,)),
            case((0, 3), (3,), (3,)),
            case((2, 0), (0,), (0,)),
        ),
        order=3, label='LayerNormalization', except_from={**NO_SPECIAL, 'zero-d': 'a matrix is needed'},
        errors=(
            *[e for e in channel_errors(LAYER, 'LayerNormalization', of_shape=RowLengthError)
              if e.name not in ('gamma kind', 'wrong dtype')],
            bad(
                'gamma kind', lambda: LAYER(z(4, 3), z(3, dtype='i'), z(3)), InvalidType,
                'x.dtype == gamma.dtype', 'float32 != int32',
            ),
            bad(
                'wrong dtype', lambda: LAYER(z(4, 3, dtype='e'), z(3), z(3)), InvalidType,
                'x.dtype == gamma.dtype', 'float16 != float32',
            ),
            bad(
                'axes', lambda: LAYER(z(2, 3, 2), z(2), z(2)), InvalidType, 'x.ndim == 2', '(2, 3, 2)',
                'reshape',
            ),
        ),
    ),
    Row(
        'rms_norm', F.rms_norm, _rms, (ANY, SCALE),
        (
            case((3, 5), (5,)), case((2, 2, 3), (3,), eps=0.1), case((4,), (4,)), case((0, 3), (3,)),
            case((2, 0), (0,)),
        ),
        order=3,
        except_from={
            **NO_SPECIAL, 'zero-d': 'an axis is needed; the errors say so',
            'label': 'not in Chainer; see test_normalization.py',
        },
        errors=(
            bad('wrong kind', lambda: F.rms_norm(z(2, 3, dtype='i'), z(3)), InvalidType, 'RMSNorm', 'int32'),
            bad('wrong dtype', lambda: F.rms_norm(z(2, 3), z(3, dtype='i')), InvalidType, 'gamma.dtype', 'int32'),
            bad('gamma shape', lambda: F.rms_norm(z(2, 3), z(2)), InvalidType, 'gamma.shape == (3,)', '(2,)'),
            bad('0-d', lambda: F.rms_norm(z(), z(1)), InvalidType, 'x.ndim >= 1'),
            bad('eps', lambda: F.rms_norm(z(2, 3), z(3), -1.0), ValueError, 'rms_norm', 'eps >= 0', '-1.0'),
        ),
    ),
    Row(
        'decorrelated_batch_normalization', WHITEN, _whitened, (ANY,),
        (
            case((9, 2), groups=1),
            case((7, 4), groups=2, eps=0.1),
            case((4, 3, 2), groups=1, eps=0.01),
            case((6, 3), groups=3),
            case((0, 4), groups=2),
            case((2, 3), groups=1, eps=0.5),
        ),
        order=3, dtypes='ed', except_from=DBN_EXCUSES,
        errors=(
            bad(
                'wrong kind', lambda: WHITEN(z(4, 16, dtype='i')), InvalidType,
                'DecorrelatedBatchNormalization', 'int32',
            ),
            bad(
                'groups', lambda: WHITEN(z(4, 3), groups=2), InvalidType,
                'x.shape[1] % groups == 0', '(4, 3)', 'groups = 2',
            ),
            bad('no groups', lambda: WHITEN(z(4, 3), groups=0), InvalidType, 'groups = 0'),
            bad('axes', lambda: WHITEN(z(4), groups=1), InvalidType, 'x.ndim >= 2', '(4,)'),
            bad('eps', lambda: WHITEN(z(4, 16), eps=-1.0), ValueError, 'eps >= 0', '-1.0'),
            bad('unknown', lambda: WHITEN(z(4, 16), foo=1), TypeError, 'foo'),
            bad(
                'running', lambda: WHITEN(z(4, 16), running_mean=np.zeros((16, 1))),
                TypeError, 'running_mean and running_projection',
            ),
            bad(
                'running shape',
                lambda: WHITEN(
                    z(4, 4), groups=2, running_mean=np.zeros(4), running_projection=np.zeros((2, 2, 2))
                ),
                ValueError, 'running_mean', '(2, 2)', '(4,)',
            ),
        ),
    ),
    Row(
        'fixed_decorrelated_batch_normalization', PROJECT, _projected,
        (ANY, ANY, ANY),
        (
            case((3, 4), (2, 2), (2, 2, 2), groups=2),
            case((2, 2, 2, 2), (1, 2), (1, 2, 2), groups=1),
            case((0, 4), (2, 2), (2, 2, 2), groups=2),
        ),
        order=3, except_from=DBN_EXCUSES,
        errors=(
            bad(
                'wrong kind', lambda: PROJECT(z(3, 2, dtype='i'), z(1, 2), z(1, 2, 2), groups=1), InvalidType,
                'FixedDecorrelatedBatchNormalization', 'int32',
            ),
            bad(
                'wrong dtype', lambda: PROJECT(z(3, 2), z(1, 2), z(1, 2, 2, dtype='d'), groups=1), InvalidType,
                'mean.dtype == projection.dtype',
            ),
            bad(
                'mean', lambda: PROJECT(z(3, 4), z(4), z(2, 2, 2), groups=2),
                InvalidType, 'mean.shape == (2, 2)', '(4,)',
            ),
            bad(
                'projection', lambda: PROJECT(z(3, 4), z(2, 2), z(2, 2), groups=2),
                InvalidType, 'projection.shape == (2, 2, 2)',
            ),
        ),
    ),
    Row(
        'local_response_normalization', F.local_response_normalization, _local, (ANY,),
        (
            case((2, 3)), case((1, 6, 2, 2), n=3, k=1, alpha=0.5, beta=0.6), case((2, 4), n=4, alpha=0.3),
            case((2, 3), n=0, alpha=0.3), case((1, 2), n=99, alpha=0.3), case((0, 3)), case((2, 0)),
        ),
        order=3, label='LocalResponseNormalization', except_from=SAMPLES_EXCUSES,
        errors=(
            bad('wrong kind', lambda: F.local_response_normalization(z(2, 3, dtype='i')), InvalidType, 'int32'),
            bad('axes', lambda: F.local_response_normalization(z(3)), InvalidType, 'x.ndim >= 2', '(3,)'),
            bad('n', lambda: F.local_response_normalization(z(2, 3), n=2.5), TypeError, 'int expected as n', '2.5'),
            bad('negative n', lambda: F.local_response_normalization(z(2, 3), n=-3), ValueError, 'least 0', 'got -3'),
        ),
    ),
    Row(
        'normalize', F.normalize, _unit, (AWAY_FROM_0,),
        (
            case((3, 4)), case((2, 3, 2), axis=(1, 2)), case((2, 3), axis=-1, eps=0.1), case((4,), axis=0),
            case((2, 3), axis=None), case((2, 2), axis=()), case((), axis=()), case((0, 3)), case((2, 0)),
        ),
        order=3, label='NormalizeL2',
        special=(
            Special((np.zeros((1, 2)),), {'eps': 0.5}, np.zeros((1, 2)), (np.full((1, 2), 2.0),)),
            Special((np.array([[3e30, -4e30]]),), {}, np.array([[0.6, -0.8]])),
        ),
        errors=(
            bad('wrong kind', lambda: F.normalize(z(2, 2, dtype='i')), InvalidType, 'NormalizeL2', 'int32'),
            bad('axis', lambda: F.normalize(z(2, 2), axis=2), InvalidType, '-2 <= axis < 2', 'axis = 2'),
            bad('twice', lambda: F.normalize(z(2, 2), axis=(0, 0)), ValueError, 'duplicate', '(0, 0)'),
            bad('list', lambda: F.normalize(z(2, 2), axis=[0, 1]), TypeError, 'tuple of int', '[0, 1]'),
            bad('eps', lambda: F.normalize(z(2, 2), -1.0), ValueError, 'normalize: ', 'eps >= 0', '-1.0'),
        ),
    ),
]  # fmt: skip
