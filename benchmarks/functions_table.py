"""Which call of each function is timed by ``functions.py``, on how much data, and what torch has for it.

Sizes are given for the small and for the large call. ``n`` arrays are float32, signed unless said otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import minichainer.functions as F

Shape = tuple[int, ...]


@dataclass
class Entry:
    """One function: arrays for it, the call, and torch's call (None where torch has no such function).

    Args:
        name: of the function.
        small, large: shapes of the float arrays of the two calls.
        call: takes Variables; for those with constants, ``call(*variables, extra)``.
        torch: takes tensors likewise, and torch as keyword.
        low, high: range of the elements.
        extra: makes constants (labels, indices) from the shapes and a random state.
        differentiable: whether backward is timed too.
        view: the gradient is the upstream one in another shape, or a part of it; see ``functions.py``.
    """

    name: str
    small: tuple[Shape, ...]
    large: tuple[Shape, ...]
    call: Callable[..., Any]
    torch: Callable[..., Any] | None = None
    low: float = -2.0
    high: float = 2.0
    extra: Callable[..., Any] | None = None
    differentiable: bool = True
    view: bool = False

    def arrays(self, shapes: tuple[Shape, ...]) -> list[np.ndarray]:
        random = np.random.RandomState(0)
        return [random.uniform(self.low, self.high, shape).astype('f') for shape in shapes]


MATRIX = ((8, 8),), ((1000, 1000),)
TWO = ((8, 8), (8, 8)), ((1000, 1000), (1000, 1000))
SQUARE = ((4, 8, 8),), ((64, 32, 32),)
IMAGES = ((2, 3, 8, 8),), ((32, 32, 32, 32),)


def _labels(shapes: tuple[Shape, ...], random: Any) -> Any:
    return random.randint(0, shapes[0][1], shapes[0][0]).astype('i')


def _unary(name: str, torch: Any = None, low: float = -2.0, high: float = 2.0, **options: Any) -> Entry:
    function = getattr(F, name)
    by_name = torch
    if isinstance(torch, str):

        def by_name(x: Any, t: Any) -> Any:
            place = t
            for part in torch.split('.'):
                place = getattr(place, part)
            return place(x)

    return Entry(name, *MATRIX, function, by_name, low, high, **options)


ELEMENTWISE = [
    _unary('absolute', 'abs'),
    _unary('arccos', 'acos', -0.9, 0.9),
    _unary('arcsin', 'asin', -0.9, 0.9),
    _unary('arctan', 'atan'),
    _unary('arctanh', 'atanh', -0.9, 0.9),
    _unary('cos', 'cos'),
    _unary('cosh', 'cosh'),
    _unary('digamma', 'digamma', 0.5, 3),
    _unary('erf', 'erf'),
    _unary('erfc', 'erfc'),
    _unary('erfcinv', None, 0.2, 1.8),
    _unary('erfcx', 'special.erfcx'),
    _unary('erfinv', 'erfinv', -0.9, 0.9),
    _unary('exp', 'exp'),
    _unary('expm1', 'expm1'),
    _unary('lgamma', 'lgamma', 0.5, 3),
    _unary('log', 'log', 0.5, 3),
    _unary('log10', 'log10', 0.5, 3),
    _unary('log1p', 'log1p', 0.5, 3),
    _unary('log2', 'log2', 0.5, 3),
    _unary('log_ndtr', 'special.log_ndtr'),
    _unary('ndtr', 'special.ndtr'),
    _unary('ndtri', 'special.ndtri', 0.1, 0.9),
    _unary('rsqrt', 'rsqrt', 0.5, 3),
    _unary('sin', 'sin'),
    _unary('sinh', 'sinh'),
    _unary('sqrt', 'sqrt', 0.5, 3),
    _unary('square', 'square'),
    _unary('tan', 'tan', -1, 1),
    _unary('tanh', 'tanh'),
    _unary('sigmoid', 'sigmoid'),
    _unary('relu', 'relu'),
    _unary('relu6', 'nn.functional.relu6'),
    _unary('elu', 'nn.functional.elu'),
    _unary('selu', 'selu'),
    _unary('silu', 'nn.functional.silu'),
    _unary('mish', 'nn.functional.mish'),
    _unary('softplus', 'nn.functional.softplus'),
    _unary('hard_sigmoid', 'nn.functional.hardsigmoid'),
    _unary('leaky_relu', 'nn.functional.leaky_relu'),
    _unary('gelu', 'nn.functional.gelu'),
    _unary('clipped_relu', lambda x, t: t.clamp(x, 0, 20)),
    _unary('identity', lambda x, t: x.clone()),
    _unary('ceil', 'ceil', differentiable=False),
    _unary('floor', 'floor', differentiable=False),
    _unary('fix', 'trunc', differentiable=False),
    _unary('sign', 'sign', differentiable=False),
    Entry('clip', *MATRIX, lambda x: F.clip(x, -1.0, 1.0), lambda x, t: x.clamp(-1, 1)),
    Entry('add', *TWO, F.add, lambda x, y, t: x + y),
    Entry('maximum', *TWO, F.maximum, lambda x, y, t: t.maximum(x, y)),
    Entry('minimum', *TWO, F.minimum, lambda x, y, t: t.minimum(x, y)),
    Entry('fmod', *TWO, F.fmod, lambda x, y, t: t.fmod(x, y), 0.5, 3.0),
    Entry('arctan2', *TWO, F.arctan2, lambda x, y, t: t.atan2(x, y)),
    Entry('polygamma', *MATRIX, lambda x: F.polygamma(1, x), lambda x, t: t.polygamma(1, x), 0.5, 3),
    Entry(
        'zeta',
        *MATRIX,
        lambda q: F.zeta(np.full(q.shape, 2.5, 'f'), q),
        lambda q, t: t.special.zeta(t.full(q.shape, 2.5), q.detach()),
        0.5,
        3,
    ),
    Entry('swish', ((8, 8), (8,)), ((1000, 1000), (1000,)), F.swish, lambda x, b, t: x * t.sigmoid(x * b)),
    Entry('prelu', ((8, 8), (8,)), ((1000, 1000), (1000,)), F.prelu, lambda x, w, t: t.nn.functional.prelu(x, w)),
    Entry(
        'linear_interpolate',
        *[(s * 3)[:3] for s in MATRIX],
        F.linear_interpolate,
        lambda p, x, y, t: p * x + (1 - p) * y,
    ),
    Entry(
        'where',
        *TWO,
        lambda x, y, c: F.where(c, x, y),
        lambda x, y, c, t: t.where(c, x, y),
        extra=lambda shapes, random: random.rand(*shapes[0]) < 0.5,
    ),
    Entry('bias', ((8, 8), (8,)), ((1000, 1000), (1000,)), lambda x, y: F.bias(x, y), lambda x, y, t: x + y),
    Entry('scale', ((8, 8), (8,)), ((1000, 1000), (1000,)), lambda x, y: F.scale(x, y), lambda x, y, t: x * y),
    Entry('crelu', *MATRIX, F.crelu, lambda x, t: t.relu(t.cat([x, -x], 1))),
    Entry('glu', *MATRIX, F.glu, lambda x, t: t.nn.functional.glu(x, 1)),
    Entry('maxout', *MATRIX, lambda x: F.maxout(x, 4), lambda x, t: x.view(x.shape[0], -1, 4).amax(2)),
    Entry('rrelu', *MATRIX, F.rrelu, lambda x, t: t.nn.functional.rrelu(x, training=True)),
    Entry('softmax', *MATRIX, F.softmax, lambda x, t: t.softmax(x, 1)),
    Entry('log_softmax', *MATRIX, F.log_softmax, lambda x, t: t.log_softmax(x, 1)),
]

ARRAY = [
    Entry(
        'as_strided',
        *MATRIX,
        lambda x: F.as_strided(x, x.shape[::-1], (1, x.shape[1])),
        lambda x, t: t.as_strided(x, x.shape[::-1], (1, x.shape[1])),
    ),
    Entry(
        'broadcast',
        ((8, 8), (8,)),
        ((1000, 1000), (1000,)),
        lambda x, y: F.broadcast(x, y)[1],
        lambda x, y, t: t.broadcast_tensors(x, y)[1],
    ),
    Entry(
        'broadcast_to',
        ((8,),),
        ((1000,),),
        lambda x: F.broadcast_to(x, (x.size, x.size)),
        lambda x, t: x.expand(len(x), -1),
    ),
    Entry('cast', *MATRIX, lambda x: F.cast(x, 'd'), lambda x, t: x.double()),
    Entry('concat', *TWO, lambda x, y: F.concat([x, y]), lambda x, y, t: t.cat([x, y], 1), view=True),
    Entry('copy', *MATRIX, lambda x: F.copy(x, -1), lambda x, t: x.clone()),
    Entry(
        'depth2space',
        ((2, 8, 4, 4),),
        ((32, 32, 32, 32),),
        lambda x: F.depth2space(x, 2),
        lambda x, t: t.pixel_shuffle(x, 2),
    ),
    Entry(
        'space2depth',
        ((2, 8, 4, 4),),
        ((32, 32, 32, 32),),
        lambda x: F.space2depth(x, 2),
        lambda x, t: t.pixel_unshuffle(x, 2),
    ),
    Entry('diagonal', *MATRIX, F.diagonal, lambda x, t: t.diagonal(x)),
    Entry('dstack', *TWO, lambda x, y: F.dstack([x, y]), lambda x, y, t: t.dstack([x, y]), view=True),
    Entry('hstack', *TWO, lambda x, y: F.hstack([x, y]), lambda x, y, t: t.hstack([x, y]), view=True),
    Entry('vstack', *TWO, lambda x, y: F.vstack([x, y]), lambda x, y, t: t.vstack([x, y]), view=True),
    Entry('stack', *TWO, lambda x, y: F.stack([x, y]), lambda x, y, t: t.stack([x, y]), view=True),
    Entry('expand_dims', *MATRIX, lambda x: F.expand_dims(x, 0), lambda x, t: x.unsqueeze(0), view=True),
    Entry('squeeze', ((8, 1, 8),), ((1000, 1, 1000),), F.squeeze, lambda x, t: x.squeeze(), view=True),
    Entry('flatten', *MATRIX, F.flatten, lambda x, t: x.flatten(), view=True),
    Entry('flip', *MATRIX, lambda x: F.flip(x, 0), lambda x, t: x.flip(0)),
    Entry('fliplr', *MATRIX, F.fliplr, lambda x, t: t.fliplr(x)),
    Entry('flipud', *MATRIX, F.flipud, lambda x, t: t.flipud(x)),
    Entry('get_item', *MATRIX, lambda x: F.get_item(x, slice(0, None, 2)), lambda x, t: x[::2]),
    Entry('moveaxis', *SQUARE, lambda x: F.moveaxis(x, 0, 2), lambda x, t: x.movedim(0, 2), view=True),
    Entry('rollaxis', *SQUARE, lambda x: F.rollaxis(x, 2), lambda x, t: x.movedim(2, 0), view=True),
    Entry('swapaxes', *MATRIX, lambda x: F.swapaxes(x, 0, 1), lambda x, t: x.swapaxes(0, 1), view=True),
    Entry('transpose', *MATRIX, F.transpose, lambda x, t: x.t(), view=True),
    Entry('reshape', *MATRIX, lambda x: F.reshape(x, (-1,)), lambda x, t: x.reshape(-1), view=True),
    Entry('pad', *MATRIX, lambda x: F.pad(x, 2, 'constant'), lambda x, t: t.nn.functional.pad(x, (2, 2, 2, 2))),
    Entry(
        'pad_sequence',
        *TWO,
        lambda x, y: F.pad_sequence([x, y[1:]]),
        lambda x, y, t: t.nn.utils.rnn.pad_sequence([x, y[1:]], True),
    ),
    Entry(
        'permutate',
        *MATRIX,
        lambda x, i: F.permutate(x, i),
        lambda x, i, t: x[i],
        extra=lambda shapes, random: random.permutation(shapes[0][0]).astype('i'),
    ),
    Entry('repeat', *MATRIX, lambda x: F.repeat(x, 2, 1), lambda x, t: x.repeat_interleave(2, 1)),
    Entry('tile', *MATRIX, lambda x: F.tile(x, (1, 2)), lambda x, t: t.tile(x, (1, 2))),
    Entry(
        'resize_images',
        *IMAGES,
        lambda x: F.resize_images(x, (16, 16)),
        lambda x, t: t.nn.functional.interpolate(x, (16, 16), mode='bilinear', align_corners=True),
    ),
    Entry(
        'scatter_add',
        *TWO,
        lambda x, y, i: F.scatter_add(x, i, y),
        lambda x, y, i, t: x.index_add(0, i.long(), y),
        extra=lambda shapes, random: random.randint(0, shapes[0][0], shapes[0][0]).astype('i'),
    ),
    Entry(
        'select_item',
        *MATRIX,
        lambda x, t: F.select_item(x, t),
        lambda x, i, t: x.gather(1, i.long()[:, None])[:, 0],
        extra=_labels,
    ),
    Entry('separate', ((8, 8),), ((20, 50000),), lambda x: F.separate(x)[0], lambda x, t: x.unbind(0)[0]),
    Entry('split_axis', *MATRIX, lambda x: F.split_axis(x, 2, 1)[0], lambda x, t: x.chunk(2, 1)[0]),
    Entry('sum_to', *MATRIX, lambda x: F.sum_to(x, (1, x.shape[1])), lambda x, t: x.sum_to_size(1, x.shape[1])),
    Entry(
        'spatial_transformer_grid',
        ((2, 2, 3),),
        ((32, 2, 3),),
        lambda x: F.spatial_transformer_grid(x, (32, 32)),
        lambda x, t: t.nn.functional.affine_grid(x, (x.shape[0], 1, 32, 32), align_corners=True),
    ),
    Entry(
        'spatial_transformer_sampler',
        ((2, 3, 8, 8), (2, 2, 8, 8)),
        ((32, 32, 32, 32), (32, 2, 32, 32)),
        F.spatial_transformer_sampler,
        lambda x, g, t: t.nn.functional.grid_sample(x, g.movedim(1, 3), align_corners=True),
        -0.9,
        0.9,
    ),
    Entry(
        'transpose_sequence',
        *TWO,
        lambda x, y: F.transpose_sequence([x, y])[0],
        lambda x, y, t: t.stack([x, y], 1).unbind(0)[0],
    ),
]

REDUCTIONS = [
    Entry('sum', *MATRIX, F.sum, lambda x, t: x.sum()),
    Entry('mean', *MATRIX, F.mean, lambda x, t: x.mean()),
    Entry('average', *MATRIX, lambda x: F.average(x, 1), lambda x, t: x.mean(1)),
    Entry('max', *MATRIX, lambda x: F.max(x, 1), lambda x, t: x.amax(1)),
    Entry('min', *MATRIX, lambda x: F.min(x, 1), lambda x, t: x.amin(1)),
    Entry('prod', *MATRIX, lambda x: F.prod(x, 1), lambda x, t: x.prod(1), 0.9, 1.1),
    Entry('logsumexp', *MATRIX, lambda x: F.logsumexp(x, 1), lambda x, t: x.logsumexp(1)),
    Entry('cumsum', *MATRIX, lambda x: F.cumsum(x, 1), lambda x, t: x.cumsum(1)),
    Entry('cumprod', *MATRIX, lambda x: F.cumprod(x, 1), lambda x, t: x.cumprod(1), 0.9, 1.1),
    Entry('argmax', *MATRIX, lambda x: F.argmax(x, 1), lambda x, t: x.argmax(1), differentiable=False),
    Entry('argmin', *MATRIX, lambda x: F.argmin(x, 1), lambda x, t: x.argmin(1), differentiable=False),
    Entry('batch_l2_norm_squared', *MATRIX, F.batch_l2_norm_squared, lambda x, t: (x * x).sum(1)),
    Entry('norm', *MATRIX, lambda x: F.norm(x, axis=1), lambda x, t: t.linalg.vector_norm(x, dim=1)),
]


def _definite(x: Any) -> Any:
    """Well-conditioned matrices: a small random one plus the unit matrix."""
    return x * np.float32(0.1) + np.eye(x.shape[-1], dtype='f')


def _definite_torch(x: Any, t: Any) -> Any:
    return x * 0.1 + t.eye(x.shape[-1])


def _symmetric(x: Any) -> Any:
    return (
        F.swapaxes(x, -1, -2) * np.float32(0.01)
        + x * np.float32(0.01)
        + np.broadcast_to(np.eye(x.shape[-1], dtype='f'), x.shape)
    )


def _symmetric_torch(x: Any, t: Any) -> Any:
    return x.mT * 0.01 + x * 0.01 + t.eye(x.shape[-1])


ALGEBRA = [
    Entry('matmul', ((8, 8), (8, 8)), ((500, 500), (500, 500)), F.matmul, lambda x, y, t: x @ y),
    Entry(
        'batch_matmul',
        ((4, 8, 8), (4, 8, 8)),
        ((64, 64, 64), (64, 64, 64)),
        F.batch_matmul,
        lambda x, y, t: t.bmm(x, y),
    ),
    Entry(
        'tensordot',
        ((4, 8, 8), (8, 8)),
        ((64, 64, 64), (64, 64)),
        lambda x, y: F.tensordot(x, y, 1),
        lambda x, y, t: t.tensordot(x, y, 1),
    ),
    Entry(
        'einsum',
        ((4, 8, 8), (4, 8, 8)),
        ((64, 64, 64), (64, 64, 64)),
        lambda x, y: F.einsum('bij,bjk->bik', x, y),
        lambda x, y, t: t.einsum('bij,bjk->bik', x, y),
    ),
    Entry(
        'linear',
        ((8, 8), (8, 8), (8,)),
        ((500, 500), (500, 500), (500,)),
        F.linear,
        lambda x, w, b, t: t.nn.functional.linear(x, w, b),
    ),
    Entry(
        'bilinear',
        ((8, 4), (8, 4), (4, 4, 4)),
        ((128, 64), (128, 64), (64, 64, 32)),
        F.bilinear,
        lambda x, y, w, t: t.nn.functional.bilinear(x, y, w.movedim(2, 0)),
    ),
    Entry(
        'cholesky',
        ((8, 8),),
        ((256, 256),),
        lambda x: F.cholesky(_symmetric(x)),
        lambda x, t: t.linalg.cholesky(_symmetric_torch(x, t)),
    ),
    Entry(
        'inv',
        ((8, 8),),
        ((256, 256),),
        lambda x: F.inv(_definite(x)),
        lambda x, t: t.linalg.inv(_definite_torch(x, t)),
    ),
    Entry(
        'batch_inv', *SQUARE, lambda x: F.batch_inv(_symmetric(x)), lambda x, t: t.linalg.inv(_symmetric_torch(x, t))
    ),
    Entry(
        'det', ((8, 8),), ((64, 64),), lambda x: F.det(_definite(x)), lambda x, t: t.linalg.det(_definite_torch(x, t))
    ),
    Entry(
        'batch_det', *SQUARE, lambda x: F.batch_det(_symmetric(x)), lambda x, t: t.linalg.det(_symmetric_torch(x, t))
    ),
    Entry('logdet', *SQUARE, lambda x: F.logdet(_symmetric(x)), lambda x, t: t.logdet(_symmetric_torch(x, t))),
    Entry(
        'slogdet',
        *SQUARE,
        lambda x: F.slogdet(_symmetric(x))[1],
        lambda x, t: t.linalg.slogdet(_symmetric_torch(x, t))[1],
    ),
    Entry(
        'solve',
        ((8, 8), (8, 8)),
        ((256, 256), (256, 256)),
        lambda x, y: F.solve(_definite(x), y),
        lambda x, y, t: t.linalg.solve(_definite_torch(x, t), y),
    ),
    Entry('eigh', *SQUARE, lambda x: F.eigh(_symmetric(x))[0], lambda x, t: t.linalg.eigh(_symmetric_torch(x, t))[0]),
    Entry('svd', *SQUARE, lambda x: F.svd(x)[1], lambda x, t: t.linalg.svd(x, full_matrices=False)[1]),
    Entry('qr', *SQUARE, lambda x: F.qr(x)[1], lambda x, t: t.linalg.qr(x)[1]),
    Entry('fft', *TWO, lambda x, y: F.fft((x, y))[0], lambda x, y, t: t.fft.fft(t.complex(x, y)).real),
    Entry('ifft', *TWO, lambda x, y: F.ifft((x, y))[0], lambda x, y, t: t.fft.ifft(t.complex(x, y)).real),
]

LOSSES = [
    Entry('absolute_error', *TWO, F.absolute_error, lambda x, y, t: (x - y).abs()),
    Entry('mean_absolute_error', *TWO, F.mean_absolute_error, lambda x, y, t: t.nn.functional.l1_loss(x, y)),
    Entry('mean_squared_error', *TWO, F.mean_squared_error, lambda x, y, t: t.nn.functional.mse_loss(x, y)),
    Entry('squared_error', *TWO, F.squared_error, lambda x, y, t: (x - y) ** 2),
    Entry('squared_difference', *TWO, F.squared_difference, lambda x, y, t: (x - y) ** 2),
    Entry(
        'huber_loss',
        *TWO,
        lambda x, y: F.huber_loss(x, y, 1.0),
        lambda x, y, t: t.nn.functional.huber_loss(x, y, reduction='none').sum(1),
    ),
    Entry(
        'softmax_cross_entropy',
        *MATRIX,
        lambda x, t: F.softmax_cross_entropy(x, t),
        lambda x, i, t: t.nn.functional.cross_entropy(x, i.long()),
        extra=_labels,
    ),
    Entry(
        'sigmoid_cross_entropy',
        *MATRIX,
        lambda x, c: F.sigmoid_cross_entropy(x, c),
        lambda x, c, t: t.nn.functional.binary_cross_entropy_with_logits(x, c.float()),
        extra=lambda shapes, random: random.randint(0, 2, shapes[0]).astype('i'),
    ),
    Entry(
        'bernoulli_nll',
        *TWO,
        F.bernoulli_nll,
        lambda x, y, t: t.nn.functional.binary_cross_entropy_with_logits(y, x, reduction='sum'),
        0.1,
        0.9,
    ),
    Entry(
        'gaussian_nll',
        *[(s * 3)[:3] for s in MATRIX],
        F.gaussian_nll,
        lambda x, m, v, t: 0.5 * (v + (x - m) ** 2 * t.exp(-v) + 1.8378770664).sum(),
    ),
    Entry(
        'gaussian_kl_divergence',
        *TWO,
        F.gaussian_kl_divergence,
        lambda m, v, t: -0.5 * (1 + v - m * m - v.exp()).sum(),
    ),
    Entry(
        'hinge',
        *MATRIX,
        lambda x, t: F.hinge(x, t),
        lambda x, i, t: t.nn.functional.multi_margin_loss(x, i.long()),
        extra=_labels,
    ),
    Entry(
        'triplet',
        *[(s * 3)[:3] for s in MATRIX],
        F.triplet,
        lambda a, p, n, t: t.relu(((a - p) ** 2 - (a - n) ** 2).sum(1) + 0.2).mean(),
    ),
    Entry(
        'contrastive',
        *TWO,
        lambda x, y, c: F.contrastive(x, y, c),
        None,
        extra=lambda shapes, random: random.randint(0, 2, shapes[0][0]).astype('i'),
    ),
    Entry('cross_covariance', *TWO, F.cross_covariance, None),
    Entry('decov', *MATRIX, F.decov, None),
    Entry('r2_score', *TWO, F.r2_score, None, differentiable=False),
    Entry(
        'accuracy',
        *MATRIX,
        lambda x, t: F.accuracy(x, t),
        lambda x, i, t: (x.argmax(1) == i).float().mean(),
        extra=_labels,
        differentiable=False,
    ),
    Entry(
        'binary_accuracy',
        *MATRIX,
        lambda x, c: F.binary_accuracy(x, c),
        None,
        differentiable=False,
        extra=lambda shapes, random: random.randint(0, 2, shapes[0]).astype('i'),
    ),
    *[
        Entry(function.__name__, *MATRIX, lambda x, t, f=function: f(x, t)[0], extra=_labels, differentiable=False)
        for function in (F.precision, F.recall, F.f1_score, F.classification_summary)
    ],
    Entry(
        'connectionist_temporal_classification',
        ((5, 2, 6),),
        ((50, 16, 40),),
        lambda x, t: F.connectionist_temporal_classification(list(F.separate(x)), t, 0),
        lambda x, i, t: t.nn.functional.ctc_loss(
            t.log_softmax(x, 2), i.long(), t.full((x.shape[1],), x.shape[0]), t.full((x.shape[1],), i.shape[1])
        ),
        extra=lambda shapes, random: random.randint(1, shapes[0][2], (shapes[0][1], shapes[0][0] // 3)).astype('i'),
    ),
    Entry(
        'crf1d',
        ((4, 4), (3, 8, 4)),
        ((20, 20), (20, 64, 20)),
        lambda c, x, t: F.crf1d(c, list(F.separate(x)), list(t)),
        None,
        extra=lambda shapes, random: random.randint(0, shapes[0][0], shapes[1][:2]).astype('i'),
    ),
    Entry(
        'argmax_crf1d',
        ((4, 4), (3, 8, 4)),
        ((20, 20), (20, 64, 20)),
        lambda c, x: F.argmax_crf1d(c, list(F.separate(x)))[0],
        None,
        differentiable=False,
    ),
]

NOISE = [
    Entry('dropout', *MATRIX, F.dropout, lambda x, t: t.nn.functional.dropout(x)),
    Entry('gaussian', *TWO, F.gaussian, lambda m, v, t: m + t.exp(v * 0.5) * t.randn_like(m)),
    Entry('gumbel_softmax', *MATRIX, F.gumbel_softmax, lambda x, t: t.nn.functional.gumbel_softmax(x, 0.1)),
    Entry('zoneout', *TWO, F.zoneout, None),
    Entry('simplified_dropconnect', ((8, 8), (8, 8)), ((64, 128), (128, 128)), F.simplified_dropconnect, None),
]

ENTRIES = [*ELEMENTWISE, *ARRAY, *REDUCTIONS, *ALGEBRA, *LOSSES, *NOISE]
