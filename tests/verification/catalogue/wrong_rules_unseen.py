"""Wrong rules of other ops, written before the rules of the diagnosis, that were not used for developing them."""

from __future__ import annotations

from typing import Any

import numpy as np

import minichainer.functions as F
from tests.verification.catalogue.wrong_rules import WrongRule, normal, positive, without

TRANSPOSED, PERMUTED, SHIFTED = 'transposed', 'permuted', 'shifted'
LEFT_OUT, SLICE, ELEMENT = 'left out', 'one slice', 'one element'
FACTOR, TERM, TRUNCATED, AXIS = 'factor', 'missing term', 'truncated', 'wrong axis'
UNKNOWN = 'unknown'


def arrays(*shapes: Any) -> Any:
    """A drawing of arrays; None stands for n."""
    return lambda r, n: tuple([normal(r, *[n if s is None else s for s in shape]) for shape in shapes])


def positives(*shapes: Any) -> Any:
    return lambda r, n: tuple([positive(r, *[n if s is None else s for s in shape]) for shape in shapes])


def like(x: Any, w: Any) -> Any:
    return F.broadcast_to(w, x.shape)


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


# --- recurrences ---


def gated(x: Any, h: Any, u: Any, v: Any) -> Any:
    """A minimal gated unit: z = sigmoid(x + h u), h = (1 - z) h + z tanh(x + h v)."""
    outputs = []
    for t in range(x.shape[1]):
        a = x[:, t]
        z = F.sigmoid(a + F.matmul(h, u))
        h = (1 - z) * h + z * F.tanh(a + F.matmul(h, v))
        outputs.append(h)
    return F.stack(outputs, axis=1)


def gated_draw(r: Any, n: int) -> Any:
    return normal(r, 2, n + 2, 3), normal(r, 2, 3), 0.7 * normal(r, 3, 3), 0.7 * normal(r, 3, 3)


def gated_backward(xs: Any, gy: Any, keep: Any) -> list[Any]:
    x, h, u, v = xs
    hs, zs, cs = [h], [], []
    for t in range(x.shape[1]):
        zs.append(sigmoid(x[:, t] + hs[-1] @ u))
        cs.append(np.tanh(x[:, t] + hs[-1] @ v))
        hs.append((1 - zs[-1]) * hs[-1] + zs[-1] * cs[-1])
    gx, gu, gv, gh = np.zeros_like(x), np.zeros_like(u), np.zeros_like(v), np.zeros_like(h)
    for t in reversed(range(x.shape[1])):
        gh = gh + gy[:, t]
        gz = gh * (cs[t] - hs[t]) * zs[t] * (1 - zs[t])
        gc = gh * zs[t] * (1 - cs[t] ** 2)
        gx[:, t] = gz + gc
        gu += hs[t].T @ gz
        gv += hs[t].T @ gc
        gh = (gh * (1 - zs[t]) + gz @ u.T + gc @ v.T) * keep(t)
    return [gx, gh, gu, gv]


def leaky_states(x: Any, w: Any) -> Any:
    """h[t] = sigmoid(w) h[t-1] + x[t], summed with exp at the end: the last state only."""
    h = x[0]
    for t in range(1, x.shape[0]):
        h = F.sigmoid(w) * F.tanh(h) + x[t]
    return h


def leaky_backward(xs: Any, gy: Any, steps: int) -> list[Any]:
    x, w = xs
    hs = [x[0]]
    for t in range(1, len(x)):
        hs.append(sigmoid(w) * np.tanh(hs[-1]) + x[t])
    gx, gw, gh = np.zeros_like(x), np.zeros_like(w), gy
    for t in reversed(range(len(x))):
        if t < len(x) - steps:
            break
        gx[t] = gh
        if t:
            gw += gh * np.tanh(hs[t - 1]) * sigmoid(w) * (1 - sigmoid(w))
            gh = gh * sigmoid(w) * (1 - np.tanh(hs[t - 1]) ** 2)
    return [gx, gw]


def average(x: Any) -> Any:
    """Exponential moving average along the last axis."""
    outputs = [x[:, 0]]
    for t in range(1, x.shape[1]):
        outputs.append(0.7 * outputs[-1] + 0.3 * x[:, t])
    return F.stack(outputs, axis=1)


def average_backward(gy: Any, window: int) -> Any:
    gx = np.zeros_like(gy)
    for t in range(gy.shape[1]):
        for s in range(max(0, t - window + 1), t + 1):
            gx[:, s] += gy[:, t] * 0.7 ** (t - s) * (0.3 if s else 1.0)
    return gx


# --- others ---


def attention(q: Any, k: Any, v: Any) -> Any:
    return F.matmul(F.softmax(F.matmul(q, k, transb=True), axis=1), v)


def attention_weights(q: Any, k: Any) -> Any:
    s = np.exp(q @ k.T)
    return s / s.sum(1, keepdims=True)


def attention_gk(xs: Any, gy: Any, axis: int) -> Any:
    q, k, v = xs
    a = attention_weights(q, k)
    ga = gy @ v.T
    return (a * (ga - (a * ga).sum(axis, keepdims=True))).T @ q


def normalized(x: Any, axis: int) -> Any:
    return x / F.broadcast_to(F.sqrt(F.sum(x * x, axis, keepdims=True)), x.shape)


def normalized_rule(x: Any, gy: Any, axis: int) -> Any:
    size = np.sqrt((x * x).sum(axis, keepdims=True))
    y = x / size
    return (gy - y * (y * gy).sum(axis, keepdims=True)) / size


def standardized(x: Any, axis: int) -> Any:
    c = x - F.broadcast_to(F.mean(x, axis, keepdims=True), x.shape)
    return c / F.broadcast_to(F.sqrt(F.mean(c * c, axis, keepdims=True) + 0.1), x.shape)


def standardized_rule(x: Any, gy: Any, stat: int, axis: int) -> Any:
    c = x - x.mean(stat, keepdims=True)
    inv = 1 / np.sqrt((c * c).mean(stat, keepdims=True) + 0.1)
    y = c * inv
    return inv * (gy - gy.mean(axis, keepdims=True) - y * (y * gy).mean(axis, keepdims=True))


def variance(x: Any) -> Any:
    c = x - F.broadcast_to(F.mean(x, 0, keepdims=True), x.shape)
    return F.mean(c * c, 0)


def prelu(x: Any, a: Any) -> Any:
    return F.maximum(x, 0 * x) + like(x, a) * F.minimum(x, 0 * x)


def squared_distances(x: Any, z: Any) -> Any:
    shape = (x.shape[0], z.shape[0], x.shape[1])
    return F.sum((F.broadcast_to(x[:, None], shape) - F.broadcast_to(z[None], shape)) ** 2, 2)


def conv1d(x: Any, w: Any) -> Any:
    return F.convolution_1d(x, w)


ROWS = [
    # transposes and permutations
    (
        'bilinear form: W transposed', 'transpose', lambda x, w, z: F.sum(F.matmul(x, w) * z, 1),
        arrays((3, None), (None, None), (3, None)), 0, lambda xs, gy, r: gy[:, None] * (xs[2] @ xs[1]), TRANSPOSED,
    ),
    (
        'bilinear form: gW transposed', 'transpose', lambda x, w, z: F.sum(F.matmul(x, w) * z, 1),
        arrays((3, None), (None, None), (3, None)), 1,
        lambda xs, gy, r: np.einsum('b,bi,bj->ji', gy, xs[0], xs[2]), TRANSPOSED,
    ),
    (
        'einsum bij,bjk: second not transposed', 'transpose', lambda a, b: F.einsum('bij,bjk->bik', a, b),
        arrays((3, None, None), (3, None, None)), 0, lambda xs, gy, r: np.einsum('bik,bkj->bij', gy, xs[1]),
        TRANSPOSED,
    ),
    (
        'einsum bij,bjk: batch and row of the first exchanged', 'transpose',
        lambda a, b: F.einsum('bij,bjk->bik', a, b), arrays((None, None, 2), (None, 2, 3)), 0,
        lambda xs, gy, r: np.einsum('bik,bjk->bij', gy, xs[1]).transpose(1, 0, 2), TRANSPOSED, PERMUTED,
    ),
    (
        'scores q k^T: k transposed', 'transpose', lambda q, k: F.exp(F.matmul(q, k, transb=True) * 0.3),
        arrays((None, None), (None, None)), 0,
        lambda xs, gy, r: 0.3 * (gy * np.exp(0.3 * xs[0] @ xs[1].T)) @ xs[1].T, TRANSPOSED,
    ),
    (
        'scores q k^T: upstream gradient transposed', 'transpose', lambda q, k: F.matmul(q, k, transb=True),
        arrays((None, 3), (None, 3)), 1, lambda xs, gy, r: gy @ xs[0], TRANSPOSED,
    ),
    (
        'tensordot: result in the other order', 'transpose', lambda a, b: F.tensordot(a, b, axes=1),
        arrays((2, None, None), (None, 3)), 0,
        lambda xs, gy, r: np.tensordot(gy, xs[1].T, 1).transpose(0, 2, 1).copy(), TRANSPOSED,
    ),
    (
        'solve: A not transposed', 'transpose', lambda a, b: F.matmul(F.inv(a), b),
        lambda r, n: (normal(r, n, n) + 4 * np.eye(n), normal(r, n, 2)), 1,
        lambda xs, gy, r: np.linalg.solve(xs[0], gy), TRANSPOSED,
    ),
    (
        'outer product of a matrix with itself', 'transpose', lambda x: F.matmul(x, x, transa=True),
        arrays((None, None)), 0, lambda xs, gy, r: xs[0].T @ (gy + gy.T), TRANSPOSED,
    ),
    (
        'convolution: filters not flipped in gx', 'transpose', lambda x, w: F.convolution_2d(x, w, pad=1),
        arrays((2, 1, None, None), (1, 1, 3, 3)), 0, lambda xs, gy, r: r([xs[0], xs[1][..., ::-1, ::-1]], gy)[0],
        SHIFTED, PERMUTED,
    ),
    (
        'convolution: filter gradient reversed', 'transpose', lambda x, w: F.convolution_2d(x, w),
        arrays((2, 2, None, None), (3, 2, 2, 2)), 1, lambda xs, gy, r: r(xs, gy)[1][..., ::-1, ::-1].copy(),
        SHIFTED, PERMUTED,
    ),
    (
        'convolution: filter gradient transposed', 'transpose', lambda x, w: F.convolution_2d(x, w),
        arrays((2, 2, None, None), (2, 2, 2, 2)), 1, lambda xs, gy, r: r(xs, gy)[1].transpose(0, 1, 3, 2).copy(),
        TRANSPOSED,
    ),
    (
        'convolution: channels exchanged', 'transpose', lambda x, w: F.convolution_2d(x, w, pad=1),
        arrays((2, 3, None, None), (3, 3, 3, 3)), 0, lambda xs, gy, r: r([xs[0], xs[1].swapaxes(0, 1)], gy)[0],
        TRANSPOSED,
    ),
    (
        'swish of swapped axes, not swapped back', 'permutation', lambda x: F.sin(F.swapaxes(x, 0, 2)),
        arrays((3, None, 3)), 0, lambda xs, gy, r: gy * np.cos(xs[0]), TRANSPOSED, PERMUTED,
    ),
    (
        'roll: rolled the wrong way', 'permutation', lambda x: F.tanh(F.concat([x[-1:], x[:-1]], axis=0)),
        arrays((5, None)), 0, lambda xs, gy, r: np.roll(gy, 1, 0) * (1 - np.tanh(xs[0]) ** 2), SHIFTED, PERMUTED,
    ),
    (
        'gather with a permutation', 'permutation', lambda x: F.exp(x[:, [3, 1, 0, 2]]), arrays((3, 4)), 0,
        lambda xs, gy, r: gy[:, [3, 1, 0, 2]] * np.exp(xs[0]), PERMUTED,
    ),
    (
        'stack: gradients of two exchanged', 'permutation', lambda x, z: F.sin(F.stack([x, z])),
        arrays((3, None), (3, None)), 0, lambda xs, gy, r: gy[1] * np.cos(xs[0]), SHIFTED, PERMUTED,
    ),
    (
        'vstack of blocks: blocks exchanged', 'permutation',
        lambda x: F.sigmoid(F.concat([x[2:4], x[:2]], axis=0)), arrays((4, None)), 0,
        lambda xs, gy, r: gy * sigmoid(xs[0]) * (1 - sigmoid(xs[0])), PERMUTED, SHIFTED,
    ),
    (
        'flip: not flipped back', 'permutation', lambda x: F.exp(F.flip(x, 1)), arrays((3, None)), 0,
        lambda xs, gy, r: gy * np.exp(xs[0]), SHIFTED, PERMUTED,
    ),
    (
        'reshape: other order of elements', 'permutation', lambda x: F.sin(F.reshape(x, (-1,))), arrays((3, None)), 0,
        lambda xs, gy, r: gy.reshape(xs[0].shape[::-1]).T * np.cos(xs[0]), TRANSPOSED, PERMUTED,
    ),
    # rows and slices left out
    (
        'batch matmul: one batch left out', 'left out',
        lambda x, w: F.matmul(x, F.broadcast_to(w[None], (x.shape[0], *w.shape))), arrays((None, 2, 3), (3, 2)), 1,
        lambda xs, gy, r: np.einsum('bij,bik->jk', xs[0][1:], gy[1:]), LEFT_OUT,
    ),
    (
        'convolution: last row of gy left out', 'left out', lambda x, w: F.convolution_2d(x, w),
        arrays((2, 1, 6, 6), (2, 1, 3, 3)), 1, lambda xs, gy, r: r(xs, without(gy, np.s_[:, :, -1]))[1], LEFT_OUT,
    ),
    (
        'convolution: one channel left out of the bias', 'left out', lambda x, b: F.tanh(F.sum(x, 3) * b),
        lambda r, n: (normal(r, 3, 2, n, 2), normal(r, 1, 2, 1)), 1,
        lambda xs, gy, r: r(xs, without(gy, np.s_[:, :, 0]))[1], LEFT_OUT,
    ),
    (
        'mean of squares: first two rows', 'left out', lambda x: F.mean(x * x, 0), arrays((6, None)), 0,
        lambda xs, gy, r: without(2 * xs[0] * gy / len(xs[0]), np.s_[:2]), LEFT_OUT,
    ),
    (
        'scale: columns from the third on left out', 'left out', lambda x, c: x * F.broadcast_to(c[:, None], x.shape),
        lambda r, n: (normal(r, 3, 5), normal(r, 3)), 1, lambda xs, gy, r: (gy * xs[0])[:, :3].sum(1), LEFT_OUT,
    ),
    (
        'einsum: last index left out', 'left out', lambda a, b: F.einsum('ik,kj->ij', a, b),
        arrays((3, 4), (4, None)), 0, lambda xs, gy, r: gy[:, :-1] @ xs[1][:, :-1].T, LEFT_OUT,
    ),
    (
        'pairwise distances: one row left out', 'left out', squared_distances, arrays((4, 3), (3, 3)), 1,
        lambda xs, gy, r: r(xs, without(gy, 0))[1], LEFT_OUT,
    ),
    (
        'standardized: row without gradient', 'left out', lambda x: standardized(x, 1), arrays((4, None)), 0,
        lambda xs, gy, r: without(r(xs, gy)[0], 2), SLICE, LEFT_OUT,
    ),
    (
        'attention: one value left out', 'left out', attention, arrays((3, 2), (4, 2), (4, 3)), 2,
        lambda xs, gy, r: without(r(xs, gy)[2], 3), SLICE, LEFT_OUT,
    ),
    (
        'attention: one query left out', 'left out', attention, arrays((5, 2), (4, 2), (4, 3)), 1,
        lambda xs, gy, r: r(xs, without(gy, 4))[1], LEFT_OUT,
    ),
    # off by one
    (
        'hstack: one early', 'off by one', lambda x, z: F.exp(F.hstack([x, z])), arrays((3, None), (3, 3)), 1,
        lambda xs, gy, r: (gy * np.exp(np.hstack(xs)))[:, xs[0].shape[1] - 1 : -1], SHIFTED,
    ),
    (
        'concat of three: middle one late', 'off by one', lambda x, y, z: F.concat([x, y, z], axis=0),
        arrays((2, 3), (None, 3), (2, 3)), 1, lambda xs, gy, r: gy[3 : 3 + len(xs[1])], SHIFTED,
    ),
    (
        'pad in two dimensions: one early in both', 'off by one', lambda x: F.pad(x, 1, 'constant'),
        arrays((4, None)), 0, lambda xs, gy, r: gy[:-2, :-2], SHIFTED,
    ),
    (
        'pad of columns, then square: one late', 'off by one',
        lambda x: F.pad(x, ((0, 0), (1, 1)), 'constant') ** 2, arrays((3, None)), 0,
        lambda xs, gy, r: gy[:, 2:] * 2 * xs[0], SHIFTED,
    ),
    (
        'split: one early', 'off by one', lambda x: F.tanh(F.split_axis(x, [2], 0)[1]), arrays((6, 3)), 0,
        lambda xs, gy, r: np.concatenate([np.zeros((1, 3)), gy, np.zeros((1, 3))]) * (1 - np.tanh(xs[0]) ** 2),
        SHIFTED,
    ),
    (
        'window: one late', 'off by one', lambda x: x[:, 1:4], arrays((3, 6)), 0,
        lambda xs, gy, r: np.pad(gy, ((0, 0), (2, 1))), SHIFTED,
    ),
    (
        'convolution: padding of gx off by one', 'off by one', lambda x, w: F.convolution_2d(x, w, pad=1),
        arrays((2, 1, 5, 5), (1, 1, 3, 3)), 0, lambda xs, gy, r: r(xs, np.roll(gy, 1, 3))[0], SHIFTED,
    ),
    (
        'correlation: weights one early', 'off by one', lambda x, w: F.convolution_2d(x, w),
        lambda r, n: (normal(r, 2, 1, 1, 8), normal(r, 1, 1, 1, 3)), 1,
        lambda xs, gy, r: r([np.roll(xs[0], 1, 3), xs[1]], gy)[1], SHIFTED,
    ),
    (
        'cumsum: exclusive', 'off by one', lambda x: F.cumsum(F.exp(x), 1), arrays((3, None)), 0,
        lambda xs, gy, r: np.pad(np.cumsum(gy[:, :0:-1], 1)[:, ::-1], ((0, 0), (0, 1))) * np.exp(xs[0]),
        SHIFTED, TRUNCATED,
    ),
    (
        'embedding rows: next row', 'off by one', lambda w: F.sin(w[[0, 2, 1]]), arrays((5, 3)), 0,
        lambda xs, gy, r: np.concatenate([np.zeros((1, 3)), gy[[0, 2, 1]], np.zeros((1, 3))])
        * np.cos(xs[0][[0, 0, 1, 2, 0]]), SHIFTED,
    ),
    # exponents
    (
        'a**x: log of the base missing', 'exponent', lambda x: F.exp(x * np.log(3.0)), arrays((3, None)), 0,
        lambda xs, gy, r: gy * 3.0 ** xs[0], FACTOR,
    ),
    (
        'x**3: exponent not lowered', 'exponent', lambda x: x**3, arrays((3, None)), 0,
        lambda xs, gy, r: 3 * xs[0] ** 3 * gy, FACTOR,
    ),
    (
        'x**3: factor missing', 'exponent', lambda x: x**3, arrays((3, None)), 0, lambda xs, gy, r: xs[0] ** 2 * gy,
        FACTOR,
    ),
    (
        'x**p, p by columns: log missing', 'exponent', lambda x, p: x ** like(x, p), positives((None, 3), (3,)), 1,
        lambda xs, gy, r: (gy * xs[0] ** xs[1]).sum(0), FACTOR,
    ),
    (
        'x**p, p by columns: x**p missing', 'exponent', lambda x, p: x ** like(x, p), positives((None, 3), (3,)), 1,
        lambda xs, gy, r: (gy * np.log(xs[0])).sum(0), FACTOR,
    ),
    (
        'x**p, x by columns: p missing', 'exponent', lambda p, x: like(p, x) ** p, positives((None, 3), (3,)), 1,
        lambda xs, gy, r: (gy * xs[1] ** (xs[0] - 1)).sum(0), FACTOR,
    ),
    (
        'sqrt: not halved', 'exponent', F.sqrt, positives((3, None)), 0, lambda xs, gy, r: gy / np.sqrt(xs[0]),
        FACTOR,
    ),
    (
        'rsqrt: wrong power', 'exponent', F.rsqrt, positives((3, None)), 0, lambda xs, gy, r: -0.5 * gy / xs[0],
        FACTOR,
    ),
    (
        'quotient: square missing', 'exponent', lambda x, w: x / like(x, w), positives((None, 3), (3,)), 1,
        lambda xs, gy, r: -(gy * xs[0] / xs[1]).sum(0), FACTOR,
    ),
    (
        'exp(-x*x): x missing', 'exponent', lambda x: F.exp(-x * x), arrays((3, None)), 0,
        lambda xs, gy, r: -2 * gy * np.exp(-(xs[0] ** 2)), FACTOR,
    ),
    (
        'gaussian with a width: power of the width', 'exponent', lambda x, s: F.exp(-((x / like(x, s)) ** 2)),
        positives((None, 3), (3,)), 1,
        lambda xs, gy, r: (gy * 2 * xs[0] ** 2 / xs[1] ** 2 * np.exp(-((xs[0] / xs[1]) ** 2))).sum(0), FACTOR,
    ),
    # truncated recurrences
    (
        'gated: cut at step 3', 'truncated', gated, gated_draw, None,
        lambda xs, gy, r: gated_backward(xs, gy, lambda t: t != 3), TRUNCATED,
    ),
    (
        'gated: chunks of two', 'truncated', gated, gated_draw, None,
        lambda xs, gy, r: gated_backward(xs, gy, lambda t: t % 2 == 1), TRUNCATED, 'detached',
    ),
    (
        'leaky, last state: three steps', 'truncated', leaky_states, arrays((7, 3), (3,)), None,
        lambda xs, gy, r: leaky_backward(xs, gy, 3), TRUNCATED,
    ),
    (
        'leaky, last state: two steps', 'truncated', leaky_states, arrays((6, 2), (2,)), None,
        lambda xs, gy, r: leaky_backward(xs, gy, 2), TRUNCATED,
    ),
    (
        'moving average: window of three', 'truncated', average, arrays((2, 7)), 0,
        lambda xs, gy, r: average_backward(gy, 3), TRUNCATED,
    ),
    (
        'moving average: one step', 'truncated', average, arrays((3, 5)), 0,
        lambda xs, gy, r: average_backward(gy, 1), TRUNCATED,
    ),
    (
        'cumprod: two factors', 'truncated', lambda x: F.cumprod(x, 1), positives((2, 6)), 0,
        lambda xs, gy, r: sum(
            np.pad((gy * np.cumprod(xs[0], 1))[:, d:], ((0, 0), (0, d))) / xs[0] for d in range(2)
        ), TRUNCATED,
    ),
    # wrong axes
    (
        'logsumexp: softmax along the wrong axis', 'axis', lambda x: F.logsumexp(x, axis=1), arrays((None, None)), 0,
        lambda xs, gy, r: gy[:, None] * np.exp(xs[0]) / np.exp(xs[0]).sum(0), AXIS,
    ),
    (
        'logsumexp: all along the wrong axis', 'axis', lambda x: F.logsumexp(x, axis=1), arrays((None, None)), 0,
        lambda xs, gy, r: gy * np.exp(xs[0]) / np.exp(xs[0]).sum(0), AXIS,
    ),
    (
        'normalize: wrong axis', 'axis', lambda x: normalized(x, 1), arrays((3, None)), 0,
        lambda xs, gy, r: normalized_rule(xs[0], gy, 0), AXIS,
    ),
    (
        'standardized: means along the wrong axis', 'axis', lambda x: standardized(x, 1), arrays((4, None)), 0,
        lambda xs, gy, r: standardized_rule(xs[0], gy, 1, 0), AXIS,
    ),
    (
        'standardized: all along the wrong axis', 'axis', lambda x: standardized(x, 1), arrays((4, None)), 0,
        lambda xs, gy, r: standardized_rule(xs[0], gy, 0, 0), AXIS,
    ),
    (
        'softmax of three axes: wrong one', 'axis', lambda x: F.softmax(x, axis=2), arrays((2, 3, None)), 0,
        lambda xs, gy, r: (lambda y: y * (gy - (y * gy).sum(1, keepdims=True)))(
            np.exp(xs[0]) / np.exp(xs[0]).sum(2, keepdims=True)
        ), AXIS,
    ),
    (
        'variance: mean along the wrong axis', 'axis', variance, arrays((None, None)), 0,
        lambda xs, gy, r: 2 * (xs[0] - xs[0].mean(1, keepdims=True)) * gy / len(xs[0]), AXIS,
    ),
    (
        'prod: wrong axis', 'axis', lambda x: F.prod(x, axis=0), positives((None, None)), 0,
        lambda xs, gy, r: gy[:, None] * xs[0].prod(1, keepdims=True) / xs[0], AXIS,
    ),
    (
        'scale by rows: summed along the wrong axis', 'axis',
        lambda x, c: F.sigmoid(x * F.broadcast_to(c[:, None], x.shape)), arrays((None, None), (None,)), 1,
        lambda xs, gy, r: (lambda y: (gy * y * (1 - y) * xs[0]).sum(0))(sigmoid(xs[0] * xs[1][:, None])), AXIS,
    ),
    (
        'squares summed, wrong axis', 'axis', lambda x: F.sum(x**2, 0), arrays((None, None)), 0,
        lambda xs, gy, r: 2 * xs[0] * gy[:, None], AXIS,
    ),
    (
        'cumprod: wrong axis', 'axis', lambda x: F.cumprod(x, 0), positives((3, 4)), 0,
        lambda xs, gy, r: np.cumsum((gy * np.cumprod(xs[0], 1))[:, ::-1], 1)[:, ::-1] / xs[0], AXIS,
    ),
    # other mistakes, which must not get the names above
    (
        'attention: another scale in the softmax', 'other', attention, arrays((3, 2), (4, 2), (4, 3)), 0,
        lambda xs, gy, r: r([xs[0], 0.9 * xs[1], xs[2]], gy)[0], TERM, UNKNOWN,
    ),
    (
        'gelu: another constant', 'other', F.gelu, arrays((3, None)), 0,
        lambda xs, gy, r: gy * sigmoid(1.702 * xs[0]) * (1 + 1.702 * xs[0] * (1 - sigmoid(1.702 * xs[0]))), TERM,
        UNKNOWN,
    ),
    (
        'standardized: without the variance', 'other', lambda x: standardized(x, 1), arrays((4, None)), 0,
        lambda xs, gy, r: (gy - gy.mean(1, keepdims=True)) / np.sqrt(xs[0].var(1, keepdims=True) + 0.1), TERM,
        UNKNOWN,
    ),
    (
        'gated: gate without its own gradient', 'other', gated, gated_draw, 0,
        lambda xs, gy, r: r([0.8 * xs[0], *xs[1:]], gy)[0], TERM, UNKNOWN,
    ),
    (
        'convolution: other images', 'other', lambda x, w: F.convolution_2d(x, w),
        arrays((2, 2, None, None), (3, 2, 2, 2)), 1, lambda xs, gy, r: r([np.sin(xs[0]), xs[1]], gy)[1], TERM,
        UNKNOWN,
    ),
    (
        'softplus: derivative of tanh', 'other', F.softplus, arrays((3, None)), 0,
        lambda xs, gy, r: gy * (1 - np.tanh(xs[0]) ** 2), TERM, UNKNOWN,
    ),
    (
        'distances: sign of one term', 'other', squared_distances, arrays((4, 3), (3, 3)), 0,
        lambda xs, gy, r: 2 * (gy.sum(1)[:, None] * xs[0] + gy @ xs[1]), TERM, UNKNOWN,
    ),
]  # fmt: skip

UNSEEN = [WrongRule(*row[:6], names=tuple(row[6:])) for row in ROWS]
