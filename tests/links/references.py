"""What links compute, written once more for float64 arrays of NumPy: as in the papers, without regard to speed."""

from __future__ import annotations

from typing import Any

import numpy as np


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def affine(p: dict[str, Any], name: str, x: Any) -> Any:
    """The Linear of that name applied to rows."""
    return x.reshape(len(x), -1) @ p[f'{name}/W'].T + p.get(f'{name}/b', 0)


def _tuple(value: Any, n: int) -> tuple[int, ...]:
    return tuple(value) if hasattr(value, '__len__') else (value,) * n


def convolution(
    x: Any, W: Any, b: Any, stride: Any = 1, pad: Any = 0, dilate: Any = 1, groups: int = 1, cover_all: bool = False
) -> Any:
    """Sums over the places of a filter, one place after the other."""
    n = x.ndim - 2
    stride, pad, dilate, ksize = _tuple(stride, n), _tuple(pad, n), _tuple(dilate, n), W.shape[2:]
    reach = [(k - 1) * d + 1 for k, d in zip(ksize, dilate, strict=True)]
    sizes = [
        (size + 2 * p - r + (s - 1 if cover_all else 0)) // s + 1
        for size, p, r, s in zip(x.shape[2:], pad, reach, stride, strict=True)
    ]
    wide = np.pad(x, [(0, 0), (0, 0), *[(p, p + s - 1) for p, s in zip(pad, stride, strict=True)]])
    y = np.zeros((len(x), len(W), *sizes))
    for place in np.ndindex(*ksize):
        window = wide[(slice(None), slice(None), *[
            slice(i * d, i * d + (size - 1) * s + 1, s)
            for i, d, s, size in zip(place, dilate, stride, sizes, strict=True)
        ])]  # fmt: skip
        filters = W[(slice(None), slice(None), *place)]
        for g, (channels, outputs) in enumerate(
            zip(np.split(window, groups, axis=1), np.split(filters, groups), strict=True)
        ):
            begin = g * len(outputs)
            y[:, begin : begin + len(outputs)] += np.einsum('nc...,oc->no...', channels, outputs)
    return y if b is None else y + b.reshape(-1, *[1] * n)


def deconvolution(
    x: Any, W: Any, b: Any, stride: Any = 1, pad: Any = 0, dilate: Any = 1, groups: int = 1, outsize: Any = None
) -> Any:
    """Each element of ``x`` adds a filter to the result."""
    n = x.ndim - 2
    stride, pad, dilate, ksize = _tuple(stride, n), _tuple(pad, n), _tuple(dilate, n), W.shape[2:]
    full = [
        (size - 1) * s + (k - 1) * d + 1 for size, s, k, d in zip(x.shape[2:], stride, ksize, dilate, strict=True)
    ]
    sizes = outsize or [f - 2 * p for f, p in zip(full, pad, strict=True)]
    per_group = W.shape[1]
    extra = [s + 2 * p + 1 for s, p in zip(sizes, pad, strict=True)]
    y = np.zeros((len(x), per_group * groups, *np.maximum(full, extra)))
    for place in np.ndindex(*ksize):
        where = tuple(
            slice(i * d, i * d + (size - 1) * s + 1, s)
            for i, d, s, size in zip(place, dilate, stride, x.shape[2:], strict=True)
        )
        filters = W[(slice(None), slice(None), *place)]
        for g, (channels, inputs) in enumerate(
            zip(np.split(x, groups, axis=1), np.split(filters, groups), strict=True)
        ):
            outputs = slice(g * per_group, (g + 1) * per_group)
            y[(slice(None), outputs, *where)] += np.einsum('nc...,co->no...', channels, inputs)
    y = y[(slice(None), slice(None), *[slice(p, p + s) for p, s in zip(pad, sizes, strict=True)])]
    return y if b is None else y + b.reshape(-1, *[1] * n)


def inception(p: dict[str, Any], x: Any) -> Any:
    def conv(name: str, x: Any, pad: int = 0) -> Any:
        return convolution(x, p[f'/{name}/W'], p[f'/{name}/b'], pad=pad)

    wide = np.pad(x, [(0, 0), (0, 0), (1, 1), (1, 1)], constant_values=-np.inf)
    h, w = x.shape[2:]
    pooled = np.max([wide[:, :, i : i + h, j : j + w] for i in range(3) for j in range(3)], axis=0)
    branches = [
        conv('conv1', x),
        conv('conv3', np.maximum(conv('proj3', x), 0), 1),
        conv('conv5', np.maximum(conv('proj5', x), 0), 2),
        conv('projp', pooled),
    ]
    return np.maximum(np.concatenate(branches, axis=1), 0)


def _channels(values: Any, x: Any, axis: Any) -> Any:
    """A parameter that is to be broadcast over the axes of the statistics."""
    shape = [1 if i in axis else size for i, size in enumerate(x.shape)]
    return np.broadcast_to(np.reshape(values, shape), x.shape)


def batch_normalization(p: dict[str, Any], x: Any, axis: Any, eps: float, train: bool) -> Any:
    mean, var = (x.mean(axis), x.var(axis)) if train else (p['/avg_mean'], p['/avg_var'])
    normal = (x - _channels(mean, x, axis)) / np.sqrt(_channels(var, x, axis) + eps)
    gamma, beta = p.get('/gamma', np.ones(mean.shape)), p.get('/beta', np.zeros(mean.shape))
    return normal * _channels(gamma, x, axis) + _channels(beta, x, axis)


def batch_renormalization(p: dict[str, Any], x: Any, rmax: float, dmax: float, eps: float) -> Any:
    axis = (0, *range(2, x.ndim))
    mean, std, running = x.mean(axis), np.sqrt(x.var(axis) + eps), np.sqrt(p['/avg_var'] + eps)
    r = np.clip(std / running, 1 / rmax, rmax)
    d = np.clip((mean - p['/avg_mean']) / running, -dmax, dmax)
    normal = (x - _channels(mean, x, axis)) / _channels(std, x, axis)
    normal = normal * _channels(r, x, axis) + _channels(d, x, axis)
    return normal * _channels(p.get('/gamma', np.ones_like(r)), x, axis) + _channels(
        p.get('/beta', np.zeros_like(d)), x, axis
    )


def decorrelated(p: dict[str, Any], x: Any, groups: int, eps: float, train: bool) -> Any:
    batch, size = x.shape[:2]
    each = size // groups
    columns = np.moveaxis(x, 1, 0).reshape(groups, each, -1)
    if train:
        mean = columns.mean(-1)
        centred = columns - mean[..., None]
        covariance = centred @ centred.transpose(0, 2, 1) / columns.shape[-1] + eps * np.eye(each)
        values, vectors = np.linalg.eigh(covariance)
        projection = (vectors / np.sqrt(values)[:, None, :]) @ vectors.transpose(0, 2, 1)
    else:
        mean, projection = p['/avg_mean'], p['/avg_projection']
    y = projection @ (columns - mean[..., None])
    return np.moveaxis(y.reshape(size, batch, *x.shape[2:]), 0, 1)


def group_normalization(p: dict[str, Any], x: Any, groups: int, eps: float) -> Any:
    parts = x.reshape(len(x), groups, -1)
    y = ((parts - parts.mean(-1, keepdims=True)) / np.sqrt(parts.var(-1, keepdims=True) + eps)).reshape(x.shape)
    axis = (0, *range(2, x.ndim))
    return y * _channels(p['/gamma'], x, axis) + _channels(p['/beta'], x, axis)


def layer_normalization(p: dict[str, Any], x: Any, eps: float) -> Any:
    y = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + eps)
    return y * p['/gamma'] + p['/beta']


# --- recurrent -----------------------------------------------------------------------------------------------------
def _interleaved(gates: Any) -> list[Any]:
    """a, i, f, o, which stand beside each other for each unit."""
    planes = gates.reshape(len(gates), -1, 4)
    return [planes[:, :, k] for k in range(4)]


def lstm_step(gates: Any, c: Any) -> tuple[Any, Any]:
    a, i, f, o = _interleaved(gates)
    c = np.tanh(a) * sigmoid(i) + c * sigmoid(f)
    return c, np.tanh(c) * sigmoid(o)


def lstm(p: dict[str, Any], *xs: Any) -> list[Any]:
    c = h = np.zeros((len(xs[0]), p['/lateral/W'].shape[1]))
    ys = []
    for x in xs:
        c, h = lstm_step(affine(p, '/upward', x) + affine(p, '/lateral', h), c)
        ys.append(h)
    return ys


def stateless_lstm(p: dict[str, Any], c: Any, h: Any, x: Any) -> tuple[Any, Any]:
    return lstm_step(affine(p, '/upward', x) + affine(p, '/lateral', h), c)


def peephole(p: dict[str, Any], *xs: Any) -> list[Any]:
    c = h = np.zeros((len(xs[0]), p['/lateral/W'].shape[1]))
    ys = []
    for x in xs:
        a, i, f, o = _interleaved(affine(p, '/upward', x) + affine(p, '/lateral', h))
        i, f = i + affine(p, '/peep_i', c), f + affine(p, '/peep_f', c)
        c = np.tanh(a) * sigmoid(i) + c * sigmoid(f)
        h = np.tanh(c) * sigmoid(o + affine(p, '/peep_o', c))
        ys.append(h)
    return ys


def gru_step(p: dict[str, Any], h: Any, x: Any) -> Any:
    r = sigmoid(affine(p, '/W_r', x) + affine(p, '/U_r', h))
    z = sigmoid(affine(p, '/W_z', x) + affine(p, '/U_z', h))
    return (1 - z) * h + z * np.tanh(affine(p, '/W', x) + affine(p, '/U', r * h))


def gru(p: dict[str, Any], *xs: Any) -> list[Any]:
    """The first step leaves out the state, and with it the biases of its products."""
    ys = [sigmoid(affine(p, '/W_z', xs[0])) * np.tanh(affine(p, '/W', xs[0]))]
    for x in xs[1:]:
        ys.append(gru_step(p, ys[-1], x))
    return ys


def mgu_step(p: dict[str, Any], h: Any, x: Any) -> Any:
    f = sigmoid(affine(p, '/W_f', np.concatenate([h, x], 1)))
    return (1 - f) * h + f * np.tanh(affine(p, '/W_h', np.concatenate([f * h, x], 1)))


def mgu(p: dict[str, Any], *xs: Any) -> list[Any]:
    h, ys = np.zeros((len(xs[0]), len(p['/W_f/b']))), []
    for x in xs:
        h = mgu_step(p, h, x)
        ys.append(h)
    return ys


def child_sum_tree(p: dict[str, Any], *cshsx: Any) -> tuple[Any, Any]:
    *children, x = cshsx
    cells, states = children[: len(children) // 2], children[len(children) // 2 :]
    size = states[0].shape[1]
    of_x = affine(p, '/W_x', x)
    a, i, o = np.split(affine(p, '/W_h_aio', sum(states)) + of_x[:, : 3 * size], 3, axis=1)
    c = np.tanh(a) * sigmoid(i)
    for cell, h in zip(cells, states, strict=True):
        c = c + cell * sigmoid(affine(p, '/W_h_f', h) + of_x[:, 3 * size :])
    return c, np.tanh(c) * sigmoid(o)


def nary_tree(p: dict[str, Any], *cshsx: Any) -> tuple[Any, Any]:
    *children, x = cshsx
    cells, states = children[: len(children) // 2], children[len(children) // 2 :]
    gates = affine(p, '/W_x', x) + sum(affine(p, f'/W_h{k}', h) for k, h in enumerate(states, 1))
    a, i, o, *forget = np.split(gates, 3 + len(states), axis=1)
    c = np.tanh(a) * sigmoid(i) + sum(cell * sigmoid(f) for cell, f in zip(cells, forget, strict=True))
    return c, np.tanh(c) * sigmoid(o)


def _cell(kind: str, w: Any, b: Any, x: Any, h: Any, c: Any) -> tuple[Any, Any]:
    """One step for one sequence: new state and cells."""
    of_x = [w[k] @ x + b[k] for k in range(len(w) // 2)]
    of_h = [w[k] @ h + b[k] for k in range(len(w) // 2, len(w))]
    if kind == 'lstm':
        i, f, a, o = [u + v for u, v in zip(of_x, of_h, strict=True)]
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(a)
        return sigmoid(o) * np.tanh(c), c
    if kind == 'gru':
        r, z = sigmoid(of_x[0] + of_h[0]), sigmoid(of_x[1] + of_h[1])
        return (1 - z) * np.tanh(of_x[2] + r * of_h[2]) + z * h, c
    total = of_x[0] + of_h[0]
    return (np.tanh(total) if kind == 'tanh' else np.maximum(total, 0)), c


def n_step(p: dict[str, Any], *xs: Any, kind: str, layers: int, directions: int) -> list[Any]:
    """The last states (and cells) of all layers, and the outputs by sequence; all begin with zeros."""
    n_weights = {'lstm': 8, 'gru': 6}.get(kind, 2)
    last_h, last_c = [], []
    inputs = list(xs)
    for layer in range(layers):
        sides = []
        for direction in range(directions):
            at = layer * directions + direction
            w = [p[f'/{at}/w{k}'] for k in range(n_weights)]
            b = [p[f'/{at}/b{k}'] for k in range(n_weights)]
            side, states, cells = [], [], []
            for sequence in inputs:
                h = c = np.zeros(len(b[0]))
                ys = []
                for x in sequence[::-1] if direction else sequence:
                    h, c = _cell(kind, w, b, x, h, c)
                    ys.append(h)
                side.append(np.array(ys[::-1] if direction else ys))
                states.append(h)
                cells.append(c)
            sides.append(side)
            last_h.append(states)
            last_c.append(cells)
        inputs = [np.concatenate(parts, axis=1) for parts in zip(*sides, strict=True)]
    return [np.array(last_h), *([np.array(last_c)] if kind == 'lstm' else []), *inputs]


def softmax_cross_entropy(scores: Any, labels: Any) -> Any:
    shifted = scores - scores.max(1, keepdims=True)
    log_p = shifted - np.log(np.exp(shifted).sum(1, keepdims=True))
    return -log_p[np.arange(len(labels)), labels].mean()


# --- small layers --------------------------------------------------------------------------------------------------
def maxout(p: dict[str, Any], x: Any, pool_size: int) -> Any:
    return affine(p, '/linear', x).reshape(len(x), -1, pool_size).max(-1)


def highway(p: dict[str, Any], x: Any, activate: Any) -> Any:
    gate = sigmoid(affine(p, '/transform', x))
    return gate * activate(affine(p, '/plain', x)) + (1 - gate) * x


def dropconnect(p: dict[str, Any], x: Any, ratio: float) -> Any:
    """With the connections that NumPy's generator draws from seed 0."""
    x = x.reshape(len(x), -1)
    W = p['/W']
    kept = np.random.RandomState(0).rand(len(x), *W.shape) >= ratio
    return np.einsum('nd,nod,od->no', x, kept, W) / (1 - ratio) + p.get('/b', 0)


def local_convolution(p: dict[str, Any], x: Any, stride: int = 1) -> Any:
    W = p['/W']
    (height, width), (kh, kw) = W.shape[1:3], W.shape[4:]
    y = np.empty((len(x), *W.shape[:3]))
    for i in range(height):
        for j in range(width):
            window = x[:, :, i * stride : i * stride + kh, j * stride : j * stride + kw]
            y[:, :, i, j] = np.einsum('nckl,ockl->no', window, W[:, i, j])
    return y + p.get('/b', 0)


def depthwise(p: dict[str, Any], x: Any, stride: int = 1, pad: int = 0) -> Any:
    """Filter m of channel c makes channel ``c * multiplier + m``."""
    W = p['/W']
    parts = [
        convolution(x[:, c : c + 1], W[m, c][None, None], None, stride, pad)
        for c in range(W.shape[1])
        for m in range(len(W))
    ]
    y = np.concatenate(parts, 1)
    return y + p['/b'].reshape(-1, 1, 1) if '/b' in p else y


def _pixel(image: Any, row: float, column: float) -> Any:
    """The value of (channels, h, w) between pixels; 0 outside."""
    i, j = int(np.floor(row)), int(np.floor(column))
    total = np.zeros(len(image))
    for k, v in ((i, i + 1 - row), (i + 1, row - i)):
        for m, u in ((j, j + 1 - column), (j + 1, column - j)):
            if 0 <= k < image.shape[1] and 0 <= m < image.shape[2]:
                total += v * u * image[:, k, m]
    return total


def deformable(p: dict[str, Any], x: Any, stride: int = 1, pad: int = 0) -> Any:
    offset = convolution(x, p['/offset_conv/W'], p.get('/offset_conv/b'), stride, pad)
    W = p['/deform_conv/W']
    kh, kw = W.shape[2:]
    y = np.zeros((len(x), len(W), *offset.shape[2:]))
    for n, o, i, j in np.ndindex(*y.shape):
        for k in range(kh * kw):
            row = i * stride - pad + k // kw + offset[n, kh * kw + k, i, j]
            column = j * stride - pad + k % kw + offset[n, k, i, j]
            y[n, o, i, j] += W[o, :, k // kw, k % kw] @ _pixel(x[n], row, column)
    return y + p['/deform_conv/b'].reshape(-1, 1, 1) if '/deform_conv/b' in p else y


def mlp_convolution(p: dict[str, Any], x: Any, activation: Any, **first: Any) -> Any:
    x = convolution(x, p['/0/W'], p['/0/b'], **first)
    return convolution(activation(x), p['/1/W'], p['/1/b'])


def inception_bn(p: dict[str, Any], x: Any, pooltype: str, stride: int, train: bool) -> Any:
    def conv(name: str, x: Any, pad: int = 0, stride: int = 1) -> Any:
        statistics = {f'/{key}': p[f'/{name}n/{key}'] for key in ('gamma', 'beta', 'avg_mean', 'avg_var')}
        y = convolution(x, p[f'/{name}/W'], None, stride, pad)
        return np.maximum(batch_normalization(statistics, y, (0, 2, 3), 2e-5, train), 0)

    wide = np.pad(x, [(0, 0), (0, 0), (1, 1), (1, 1)], constant_values=-np.inf if pooltype == 'max' else 0)
    h, w = x.shape[2:]
    windows = [wide[:, :, i : i + h : stride, j : j + w : stride] for i in range(3) for j in range(3)]
    pooled = np.max(windows, 0) if pooltype == 'max' else np.mean(windows, 0)
    branches = [conv('conv1', x)] if '/conv1/W' in p else []
    branches.append(conv('conv3', conv('proj3', x), 1, stride))
    branches.append(conv('conv33b', conv('conv33a', conv('proj33', x), 1), 1, stride))
    branches.append(conv('poolp', pooled) if '/poolp/W' in p else pooled)
    return np.concatenate(branches, 1)


# --- losses --------------------------------------------------------------------------------------------------------
def crf1d(p: dict[str, Any], *sequences: Any) -> Any:
    """The mean over sequences of the loss, with the sum over all label sequences written out."""
    cost = p['/cost']
    half = len(sequences) // 2

    def score(x: Any, labels: Any) -> Any:
        return x[np.arange(len(x)), labels].sum() + cost[labels[:-1], labels[1:]].sum()

    losses = []
    for x, labels in zip(sequences[:half], sequences[half:], strict=True):
        every = [score(x, np.array(place)) for place in np.ndindex(*[len(cost)] * len(x))]
        losses.append(np.log(np.exp(every).sum()) - score(x, labels))
    return np.mean(losses)


def negative_sampling(p: dict[str, Any], x: Any, t: Any, drawn: Any) -> Any:
    W = p['/W']
    loss = np.log1p(np.exp(-(W[t] * x).sum(1)))
    return (loss + np.log1p(np.exp(np.einsum('nsd,nd->ns', W[drawn], x))).sum(1)).sum()


def black_out(p: dict[str, Any], x: Any, t: Any, drawn: Any) -> Any:
    scores = np.einsum('nsd,nd->ns', p['/W'][np.concatenate([t[:, None], drawn], 1)], x)
    share = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
    return -(np.log(share[:, 0]) + np.log(1 - share[:, 1:]).sum(1)).mean()


def hierarchical(p: dict[str, Any], x: Any, t: Any, turns: Any) -> Any:
    """``turns`` has the inner nodes and directions on the way to each label."""
    return sum(
        np.log1p(np.exp(-s * (p['/W'][node] @ row)))
        for row, label in zip(x, t, strict=True)
        for node, s in turns[label]
    )


# --- transformers --------------------------------------------------------------------------------------------------
def rms_normalization(p: dict[str, Any], x: Any, eps: float) -> Any:
    return x / np.sqrt((x**2).mean(-1, keepdims=True) + eps) * p['/gamma']


def over_last(p: dict[str, Any], path: str, x: Any, eps: float) -> Any:
    """Layer normalization with the parameters of a path."""
    y = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + eps)
    return y * p[f'{path}/gamma'] + p[f'{path}/beta']


def each(p: dict[str, Any], path: str, x: Any) -> Any:
    """A Linear at each place of sequences."""
    return x @ p[f'{path}/W'].T + p.get(f'{path}/b', 0)


def attention(p: dict[str, Any], query: Any, key: Any, value: Any, heads: int, allowed: Any = True) -> Any:
    """Attention, one head after the other; ``p`` has paths that begin at the link."""
    q, k, v = each(p, '/query', query), each(p, '/key', key), each(p, '/value', value)
    parts = []
    for a, b, c in zip(*[np.split(x, heads, 2) for x in (q, k, v)], strict=True):
        scores = np.where(allowed, a @ b.transpose(0, 2, 1) / np.sqrt(a.shape[2]), -np.inf)
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        parts.append(weights / weights.sum(-1, keepdims=True) @ c)
    return each(p, '/out', np.concatenate(parts, 2))


def transformer(
    p: dict[str, Any], x: Any, memory: Any, heads: int, eps: float, activation: Any, norm_first: bool
) -> Any:
    def below(path: str) -> dict[str, Any]:
        return {name[len(path) :]: value for name, value in p.items() if name.startswith(path + '/')}

    def added(x: Any, norm: str, part: Any) -> Any:
        if norm_first:
            return x + part(over_last(p, norm, x, eps))
        return over_last(p, norm, x + part(x), eps)

    def perceptron(x: Any) -> Any:
        return each(p, '/linear2', activation(each(p, '/linear1', x)))

    x = added(x, '/norm1', lambda x: attention(below('/attention'), x, x, x, heads))
    if memory is None:
        return added(x, '/norm2', perceptron)
    x = added(x, '/norm2', lambda x: attention(below('/memory_attention'), x, memory, memory, heads))
    return added(x, '/norm3', perceptron)
