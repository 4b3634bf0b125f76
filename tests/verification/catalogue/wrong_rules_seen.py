"""Wrong rules with which the names of causes were developed."""

from __future__ import annotations

from typing import Any

import numpy as np

import minichainer.functions as F
from tests.verification.catalogue.wrong_rules import WrongRule, normal, positive, shifted, without

TRANSPOSED, PERMUTED, SHIFTED = 'transposed', 'permuted', 'shifted'
LEFT_OUT, SLICE, ELEMENT = 'left out', 'one slice', 'one element'
FACTOR, TERM, TRUNCATED, AXIS = 'factor', 'missing term', 'truncated', 'wrong axis'


def square_pair(r: Any, n: int) -> Any:
    return normal(r, n, n), normal(r, n, n)


def one(*shape: Any) -> Any:
    """A drawing of one array; None stands for n."""
    return lambda r, n: (normal(r, *[n if s is None else s for s in shape]),)


def batch_pair(r: Any, n: int) -> Any:
    return normal(r, 2, n, n), normal(r, 2, n, n)


def rnn(x: Any, h: Any, w: Any, every: bool = True) -> Any:
    """h[t] = tanh(x[t] + h[t-1] w)."""
    outputs = []
    for t in range(x.shape[0]):
        h = F.tanh(x[t] + F.matmul(h, w))
        outputs.append(h)
    return F.stack(outputs) if every else h


def rnn_draw(r: Any, n: int) -> Any:
    return normal(r, n + 1, 2, 3), normal(r, 2, 3), 0.7 * normal(r, 3, 3)


def rnn_backward(xs: Any, gy: Any, keep: Any, every: bool = True) -> list[Any]:
    """Without the recurrent gradient from step t to step t - 1 where ``keep(t)`` is false."""
    x, h0, w = xs
    hs = [h0]
    for t in range(len(x)):
        hs.append(np.tanh(x[t] + hs[-1] @ w))
    gx, gw, gh = np.zeros_like(x), np.zeros_like(w), np.zeros_like(h0)
    for t in reversed(range(len(x))):
        gh = gh + (gy[t] if every else (gy if t == len(x) - 1 else 0))
        ga = gh * (1 - hs[t + 1] ** 2)
        gx[t] = ga
        gw += hs[t].T @ ga
        gh = ga @ w.T if keep(t) else np.zeros_like(h0)
    return [gx, gh, gw]


def rnn_limited(xs: Any, gy: Any, steps: int) -> list[Any]:
    """Each output's gradient goes back ``steps`` steps only."""
    total = [np.zeros_like(x) for x in xs]
    for t in range(len(xs[0])):
        alone = np.zeros_like(gy)
        alone[t] = gy[t]
        for sum_, g in zip(total, rnn_backward(xs, alone, lambda s, t=t: t - s + 1 < steps), strict=True):
            sum_ += g
    return total


def decayed(x: Any) -> Any:
    """y[t] = x[t] + y[t-1] / 2."""
    outputs = [x[0]]
    for t in range(1, x.shape[0]):
        outputs.append(x[t] + 0.5 * outputs[-1])
    return F.stack(outputs)


def softmax(x: Any, axis: int) -> Any:
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def softmax_rule(y: Any, gy: Any, axis: int) -> Any:
    return y * (gy - (y * gy).sum(axis, keepdims=True))


def concat(axis: int) -> Any:
    return lambda x, z: F.tanh(F.concat([x, z], axis=axis))


def split_tanh(xs: Any, gy: Any, axis: int, start: int) -> Any:
    """The gradient of the second of two, taken from a wrong start."""
    whole = gy * (1 - np.tanh(np.concatenate(xs, axis)) ** 2)
    return np.take(whole, range(start, start + xs[1].shape[axis]), axis)


def power_inputs(r: Any, n: int) -> Any:
    return positive(r, n, 3), normal(r, n, 3)


def scalar_power(r: Any, n: int) -> Any:
    return positive(r, n, 3), np.array(1.7)


def spread(g: Any, x: Any) -> Any:
    return np.broadcast_to(g, x.shape).copy()


def numbers(xs: Any, gy: Any) -> Any:
    return np.random.RandomState(abs(hash(xs[0].tobytes())) % 2**31).normal(size=xs[0].shape) * gy.sum()


ROWS = [
    # transposes and permutations
    ('matmul: w not transposed', 'transpose', F.matmul, square_pair, 0, lambda xs, gy, r: gy @ xs[1], TRANSPOSED),
    ('matmul: x not transposed', 'transpose', F.matmul, square_pair, 1, lambda xs, gy, r: xs[0] @ gy, TRANSPOSED),
    ('matmul: gy transposed', 'transpose', F.matmul, square_pair, 0, lambda xs, gy, r: gy.T @ xs[1].T, TRANSPOSED),
    ('matmul: result transposed', 'transpose', F.matmul, square_pair, 1, lambda xs, gy, r: gy.T @ xs[0], TRANSPOSED),
    (
        'batch matmul: w not transposed', 'transpose', F.matmul, batch_pair, 0,
        lambda xs, gy, r: gy @ xs[1], TRANSPOSED,
    ),
    (
        'linear: W transposed', 'transpose', F.linear, lambda r, n: (normal(r, 3, n), normal(r, n, n)), 0,
        lambda xs, gy, r: gy @ xs[1].T, TRANSPOSED,
    ),
    (
        'tanh of a transpose', 'transpose', lambda x: F.tanh(F.transpose(x)), one(None, None), 0,
        lambda xs, gy, r: gy * (1 - np.tanh(xs[0]) ** 2), TRANSPOSED, PERMUTED,
    ),
    (
        'tanh of moved axes', 'permutation', lambda x: F.tanh(F.transpose(x, (1, 2, 0))), one(3, 3, 3), 0,
        lambda xs, gy, r: (gy.transpose(2, 0, 1) * (1 - np.tanh(xs[0]) ** 2)).transpose(1, 2, 0), PERMUTED,
    ),
    (
        'moved axes, moved back the wrong way', 'permutation', lambda x: F.exp(F.transpose(x, (1, 2, 0))),
        one(3, 3, 3), 0, lambda xs, gy, r: gy.transpose(1, 2, 0) * np.exp(xs[0]), PERMUTED,
    ),
    (
        'rows in another order', 'permutation', lambda x: F.tanh(x[[2, 0, 1, 3]]), one(4, 3), 0,
        lambda xs, gy, r: gy[[2, 0, 1, 3]] * (1 - np.tanh(xs[0]) ** 2), PERMUTED,
    ),
    (
        'reversed rows', 'permutation', lambda x: F.sin(x[::-1]), one(None, 3), 0,
        lambda xs, gy, r: gy * np.cos(xs[0]), PERMUTED, SHIFTED,
    ),
    # rows and slices left out
    (
        'matmul: last row left out of gw', 'left out', F.matmul, lambda r, n: (normal(r, n, 3), normal(r, 3, 2)), 1,
        lambda xs, gy, r: xs[0][:-1].T @ gy[:-1], LEFT_OUT,
    ),
    (
        'bias: first row left out', 'left out', lambda x, b: x + F.broadcast_to(b, x.shape),
        lambda r, n: (normal(r, n, 3), normal(r, 3)), 1, lambda xs, gy, r: gy[1:].sum(0), LEFT_OUT,
    ),
    (
        'bias: two rows left out', 'left out', lambda x, b: F.tanh(x + F.broadcast_to(b, x.shape)),
        lambda r, n: (normal(r, n, 3), normal(r, 3)), 1,
        lambda xs, gy, r: (gy * (1 - np.tanh(xs[0] + xs[1]) ** 2))[2:].sum(0), LEFT_OUT,
    ),
    (
        'linear: last column left out of gx', 'left out', F.linear, lambda r, n: (normal(r, 3, n), normal(r, n, n)),
        0, lambda xs, gy, r: gy[:, :-1] @ xs[1][:-1], LEFT_OUT,
    ),
    (
        'exp: last column zero', 'left out', F.exp, one(3, None), 0,
        lambda xs, gy, r: without(gy * np.exp(xs[0]), np.s_[:, -1]), SLICE,
    ),
    (
        'cumsum: starts late', 'left out', lambda x: F.cumsum(x, 0), one(None, 3), 0,
        lambda xs, gy, r: np.cumsum(without(gy, -1)[::-1], 0)[::-1], LEFT_OUT,
    ),
    # off by one
    (
        'concat: one early', 'off by one', concat(0), lambda r, n: (normal(r, n, 3), normal(r, 3, 3)), 1,
        lambda xs, gy, r: split_tanh(xs, gy, 0, len(xs[0]) - 1), SHIFTED,
    ),
    (
        'concat of columns: one early', 'off by one', concat(1), lambda r, n: (normal(r, 3, n), normal(r, 3, 2)), 1,
        lambda xs, gy, r: split_tanh(xs, gy, 1, xs[0].shape[1] - 1), SHIFTED,
    ),
    (
        'pad: one early', 'off by one', lambda x: F.pad(x, 1, 'constant'), one(None), 0,
        lambda xs, gy, r: gy[:-2], SHIFTED,
    ),
    (
        'slice: one early', 'off by one', lambda x: F.tanh(x[1:]), one(None, 3), 0,
        lambda xs, gy, r: np.concatenate([gy, np.zeros((1, 3))]) * (1 - np.tanh(xs[0]) ** 2), SHIFTED,
    ),
    (
        'slice: one late', 'off by one', lambda x: x[:-1], one(None, 3), 0,
        lambda xs, gy, r: np.concatenate([np.zeros((1, 3)), gy]), SHIFTED,
    ),
    (
        'shifted with zeros', 'off by one', F.sin, one(3, None), 0,
        lambda xs, gy, r: shifted(gy * np.cos(xs[0]), 1, 1), SHIFTED,
    ),
    (
        'difference: one index wrong', 'off by one', lambda x: x[1:] * x[:-1], one(None), 0,
        lambda xs, gy, r: np.append(gy * xs[0][1:], 0) + np.append(gy * xs[0][:-1], 0), SHIFTED, TERM,
    ),
    # exponents
    (
        'power: log missing', 'exponent', lambda x, p: x**p, power_inputs, 1,
        lambda xs, gy, r: xs[0] ** xs[1] * gy, FACTOR,
    ),
    (
        'power: exponent not lowered', 'exponent', lambda x, p: x**p, power_inputs, 0,
        lambda xs, gy, r: xs[1] * xs[0] ** xs[1] * gy, FACTOR,
    ),
    (
        'power: factor p missing', 'exponent', lambda x, p: x**p, power_inputs, 0,
        lambda xs, gy, r: xs[0] ** (xs[1] - 1) * gy, FACTOR,
    ),
    (
        'power: lowered in gp', 'exponent', lambda x, p: x**p, power_inputs, 1,
        lambda xs, gy, r: xs[0] ** (xs[1] - 1) * np.log(xs[0]) * gy, FACTOR,
    ),
    (
        'power: log of p', 'exponent', lambda x, p: x**p, lambda r, n: (positive(r, n, 3), positive(r, n, 3)), 1,
        lambda xs, gy, r: xs[0] ** xs[1] * np.log(xs[1]) * gy, FACTOR,
    ),
    (
        'power: log missing, one exponent', 'exponent', lambda x, p: x ** F.broadcast_to(p, x.shape), scalar_power, 1,
        lambda xs, gy, r: (xs[0] ** xs[1] * gy).sum(), FACTOR,
    ),
    (
        'power: log2, one exponent', 'exponent', lambda x, p: x ** F.broadcast_to(p, x.shape), scalar_power, 1,
        lambda xs, gy, r: (xs[0] ** xs[1] * np.log2(xs[0]) * gy).sum(), FACTOR,
    ),
    (
        'exp(2x): exponential missing', 'exponent', lambda x: F.exp(2 * x), one(None, 3), 0,
        lambda xs, gy, r: 2 * gy * np.exp(xs[0]), FACTOR,
    ),
    (
        'scale: x missing in the sum', 'exponent', lambda x, w: x * F.broadcast_to(w, x.shape),
        lambda r, n: (normal(r, n, 3), normal(r, 3)), 1, lambda xs, gy, r: gy.sum(0), FACTOR,
    ),
    # truncated recurrences
    (
        'rnn: cut at step 2', 'truncated', rnn, rnn_draw, None,
        lambda xs, gy, r: rnn_backward(xs, gy, lambda t: t != 2), TRUNCATED,
    ),
    (
        'rnn: two steps back', 'truncated', rnn, rnn_draw, None, lambda xs, gy, r: rnn_limited(xs, gy, 2), TRUNCATED,
    ),
    (
        'rnn: three steps back', 'truncated', rnn, rnn_draw, None,
        lambda xs, gy, r: rnn_limited(xs, gy, 3), TRUNCATED,
    ),
    (
        'rnn, last state: two steps', 'truncated', lambda x, h, w: rnn(x, h, w, False), rnn_draw, None,
        lambda xs, gy, r: rnn_backward(xs, gy, lambda t: t > len(xs[0]) - 2, False), TRUNCATED, 'detached',
    ),
    (
        'rnn: chunks', 'truncated', rnn, rnn_draw, None,
        lambda xs, gy, r: rnn_backward(xs, gy, lambda t: t % 2), TRUNCATED,
        'detached',
    ),
    (
        'decay: last step only', 'truncated', decayed, one(None, 3), 0, lambda xs, gy, r: gy.copy(), TRUNCATED,
    ),
    (
        'cumsum: two steps', 'truncated', lambda x: F.cumsum(x, 0), one(None, 3), 0,
        lambda xs, gy, r: gy + shifted(gy, -1), TRUNCATED,
    ),
    (
        'rnn: the weight alone, two steps', 'truncated', rnn, rnn_draw, 2,
        lambda xs, gy, r: rnn_limited(xs, gy, 2)[2], TRUNCATED,
    ),
    (
        'rnn: the initial state alone, three steps', 'truncated', rnn, rnn_draw, 1,
        lambda xs, gy, r: rnn_limited(xs, gy, 3)[1], TRUNCATED,
    ),
    (
        'reversed cumsum: three steps', 'truncated', lambda x: F.flip(F.cumsum(F.flip(F.sin(x), 1), 1), 1),
        one(2, None), 0,
        lambda xs, gy, r: np.cos(xs[0]) * sum(shifted(gy, s, 1) if s else gy for s in range(3)), TRUNCATED,
    ),
    # wrong axes
    (
        'sum: wrong axis', 'axis', lambda x: F.sum(F.exp(x), 0), one(None, None), 0,
        lambda xs, gy, r: gy[:, None] * np.exp(xs[0]), AXIS,
    ),
    (
        'sum: broadcast along the wrong axis', 'axis', lambda x: F.sum(x, 1), one(None, None), 0,
        lambda xs, gy, r: spread(gy, xs[0]), AXIS, TRANSPOSED,
    ),
    (
        'softmax: sum along the wrong axis', 'axis', lambda x: F.softmax(x, axis=1), one(3, None), 0,
        lambda xs, gy, r: softmax_rule(softmax(xs[0], 1), gy, 0), AXIS,
    ),
    (
        'softmax: all along the wrong axis', 'axis', lambda x: F.softmax(x, axis=1), one(3, None), 0,
        lambda xs, gy, r: softmax_rule(softmax(xs[0], 0), gy, 0), AXIS,
    ),
    (
        'cumsum: wrong axis', 'axis', lambda x: F.cumsum(x, 1), one(3, None), 0,
        lambda xs, gy, r: np.cumsum(gy[::-1], 0)[::-1], AXIS,
    ),
    (
        'log_softmax: wrong axis', 'axis', lambda x: F.log_softmax(x, axis=1), one(3, None), 0,
        lambda xs, gy, r: gy - softmax(xs[0], 1) * gy.sum(0), AXIS,
    ),
    (
        'centred: wrong mean', 'axis', lambda x: x - F.broadcast_to(F.mean(x, 0, keepdims=True), x.shape),
        one(3, None), 0, lambda xs, gy, r: gy - gy.mean(1, keepdims=True), AXIS,
    ),
    (
        'bias: summed along the wrong axis', 'axis', lambda x, b: x + F.broadcast_to(b, x.shape),
        lambda r, n: (normal(r, n, n), normal(r, n)), 1, lambda xs, gy, r: gy.sum(1), AXIS, TRANSPOSED,
    ),
    (
        'scale: summed along the wrong axis', 'axis', lambda x, b: x * F.broadcast_to(b, x.shape),
        lambda r, n: (normal(r, n, n), normal(r, n)), 1, lambda xs, gy, r: (gy * xs[0]).sum(1), AXIS,
    ),
    (
        'norm of rows: divided by those of columns', 'axis', lambda x: F.sqrt(F.sum(x * x, 1)), one(None, None), 0,
        lambda xs, gy, r: gy[:, None] * xs[0] / np.sqrt((xs[0] ** 2).sum(0)), AXIS,
    ),
    (
        'weighted by the share of a column, not of a row', 'axis',
        lambda x, w: F.sum(F.exp(x), 1) * F.sum(w * w, 1), square_pair, 1,
        lambda xs, gy, r: gy[:, None] * 2 * xs[1] * np.exp(xs[0]).sum(0), AXIS,
    ),
    (
        'rows: one factor too many for each', 'exponent',
        lambda x, w: F.tanh(x) * F.broadcast_to(F.sum(w, 1, keepdims=True), x.shape),
        square_pair, 0, lambda xs, gy, r: gy * (1 - np.tanh(xs[0]) ** 2), FACTOR,
    ),
    (
        'corner left out', 'left out', F.matmul, lambda r, n: (normal(r, n, 3), normal(r, 3, 2)), 1,
        lambda xs, gy, r: xs[0].T @ without(gy, (0, 1)), LEFT_OUT,
    ),
    (
        'elements in another order', 'permutation',
        lambda x: F.tanh(F.reshape(F.reshape(x, (-1,))[[5, 0, 3, 1, 2, 4]], (2, 3))), one(2, 3), 0,
        lambda xs, gy, r: gy.ravel()[[5, 0, 3, 1, 2, 4]].reshape(2, 3) * (1 - np.tanh(xs[0]) ** 2),
        PERMUTED,
    ),
    (
        'matmul: shifted in both axes', 'off by one', F.matmul, square_pair, 0,
        lambda xs, gy, r: shifted(shifted(gy, 1, 0), 1, 1) @ xs[1].T, SHIFTED,
    ),
    (
        'tanh: shifted in both axes', 'off by one', F.tanh, one(3, None), 0,
        lambda xs, gy, r: shifted(shifted(gy * (1 - np.tanh(xs[0]) ** 2), -1, 0), 1, 1), SHIFTED,
    ),
    (
        'sigmoid: 1 - y missing', 'exponent', F.sigmoid, one(3, None), 0,
        lambda xs, gy, r: gy / (1 + np.exp(-xs[0])), FACTOR,
    ),
    # other mistakes, which must not get the names above
    (
        'tanh: 1 - y', 'other', F.tanh, one(3, None), 0, lambda xs, gy, r: gy * (1 - np.tanh(xs[0])), FACTOR, TERM,
        'unknown',
    ),
    ('random', 'other', F.tanh, one(3, None), 0, lambda xs, gy, r: numbers(xs, gy), 'unknown', TERM),
    (
        'softmax: term missing', 'other', lambda x: F.softmax(x, axis=1), one(3, None), 0,
        lambda xs, gy, r: softmax(xs[0], 1) * gy, TERM, 'unknown',
    ),
    (
        'softmax: square', 'other', lambda x: F.softmax(x, axis=1), one(3, None), 0,
        lambda xs, gy, r: softmax_rule(softmax(xs[0], 1) ** 2, gy, 1), TERM, 'unknown', FACTOR,
    ),
    (
        'sin of x squared', 'other', lambda x: F.sin(x * x), one(3, None), 0,
        lambda xs, gy, r: gy * np.cos(xs[0]) * 2 * xs[0], TERM, 'unknown',
    ),
    (
        'matmul: tanh of w', 'other', F.matmul, square_pair, 0, lambda xs, gy, r: gy @ np.tanh(xs[1]).T,
        TERM, 'unknown',
    ),
    (
        'rnn: derivative of another activation', 'other', rnn, rnn_draw, 2,
        lambda xs, gy, r: r([xs[0] * 0.9, *xs[1:]], gy)[2], TERM, 'unknown',
    ),
]  # fmt: skip

SEEN = [WrongRule(*row[:6], names=tuple(row[6:])) for row in ROWS]
