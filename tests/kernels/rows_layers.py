"""Rows of kernels of whole layers: normalization, attention, losses, recurrent cells, regions of images."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from minichainer.backends.cuda import get_array_module
from minichainer.kernels.cross_entropy import Samples
from minichainer.kernels.ctc import Alignments
from minichainer.kernels.roi import Picked
from tests.kernels.comparing import IMAGES
from tests.kernels.drawing import Arguments, Row, drawn, each
from tests.kernels.kernels import kernel, threshold

INF, NAN = np.inf, np.nan


# --- attention ---
def _masked_scores(q: Any, k: Any, mask: Any, scale: float, causal: bool) -> Any:
    scores = q @ k.swapaxes(-1, -2) * scale
    if causal:
        scores = np.where(np.tri(*scores.shape[-2:], dtype='?'), scores, -INF)
    if mask is None:
        return scores
    return np.where(mask, scores, -INF) if mask.dtype == '?' else scores + mask


def _weights(q: Any, k: Any, mask: Any, scale: float, causal: bool) -> Any:
    scores = _masked_scores(q, k, mask, scale, causal)
    weights = np.exp(scores - scores.max(-1, keepdims=True, initial=-INF))
    return np.nan_to_num(weights / weights.sum(-1, keepdims=True))


def _attend(q: Any, k: Any, v: Any, mask: Any, drop: Any, scale: float, causal: bool) -> Any:
    return (_weights(q, k, mask, scale, causal) * (1 if drop is None else drop)) @ v


def _attend_gradients(
    gy: Any, q: Any, k: Any, v: Any, mask: Any, drop: Any, scale: float, causal: bool, of_mask: bool
) -> Any:
    weights, factor = _weights(q, k, mask, scale, causal), 1 if drop is None else drop
    of_weights = gy @ v.swapaxes(-1, -2) * factor
    of_scores = weights * (of_weights - (of_weights * weights).sum(-1, keepdims=True))
    gradients = (
        of_scores @ k * scale, of_scores.swapaxes(-1, -2) @ q * scale, (weights * factor).swapaxes(-1, -2) @ gy
    )  # fmt: skip
    return (*gradients, _sum_to(of_scores, mask.shape)) if of_mask else gradients


def _sum_to(x: Any, shape: tuple[int, ...]) -> Any:
    x = x.sum(axis=tuple(range(x.ndim - len(shape))))
    return x.sum(axis=tuple([i for i, n in enumerate(shape) if n == 1]), keepdims=True).reshape(shape)


_COPY_FROM = threshold('attention', '_COPY_FROM')
#: Leading axes, numbers of queries and keys; the last ones take several blocks.
_ATTENTION = [((), 1, 1), ((2,), 6, 7), ((2, 3), _COPY_FROM - 1, 5), ((2, 3), _COPY_FROM, 5), ((0, 2), 3, 4),
              ((2, 1), 3, 0), ((1, 2, 2), 4, 3), ((2, 2), 150, 120), ((1, 1), 300, 250)]  # fmt: skip
#: Scores up to 8 are small. Of those up to 160, and with masks up to 120, exponentials are infinite in float32.
_SMALL, _LARGE = 4, 80
#: Weights are as precise as the scores in their exponents.
_SCORES = 1024


def _masks(dtype: str, lead: tuple[int, ...], n: int, s: int) -> list[Any]:
    bools = np.random.RandomState(0).rand(*lead[:1], *[1] * len(lead[1:]), n, s) < 0.6
    bools[..., 0, :] = False
    return [None, bools, drawn(dtype, (n, s))[0], drawn(dtype, (*lead, 1, s))[0]]


def _attention(dtype: str, factor: float = _SMALL, cases: Any = _ATTENTION) -> Iterator[Arguments]:
    for lead, n, s in cases:
        q, k, v, drop = drawn(dtype, (*lead, n, 4), (*lead, s, 4), (*lead, s, 5), (*lead, n, s))
        for causal, mask in itertools.product((False, True), _masks(dtype, lead, n, s)):
            yield np.asarray(factor * q, dtype), k, v, mask, drop if causal else None, 0.5, causal


def _large_scores(dtype: str) -> Iterator[Arguments]:
    """Large products, and small ones to which much is added; nothing is left of the last query."""
    yield from _attention(dtype, _LARGE, _ATTENTION[1:4])
    for q, k, v, _, drop, scale, causal in _attention(dtype, cases=_ATTENTION[1:4]):
        mask = np.asarray(120 * drawn('d', (q.shape[-2], k.shape[-2]))[0], dtype)
        mask[-1] = -INF
        yield q, k, v, mask, drop, scale, causal


def _backward(forward: Callable[[str], Iterator[Arguments]]) -> Callable[[str], Iterator[Arguments]]:
    def cases(dtype: str) -> Iterator[Arguments]:
        for q, k, v, mask, drop, scale, causal in forward(dtype):
            (gy,) = drawn(dtype, (*q.shape[:-1], v.shape[-1]), seed=1)
            yield gy, q, k, v, mask, drop, scale, causal, mask is not None and mask.dtype != '?'

    return cases


def _backward_of_attention(k: Any, gy: Any, *args: Any) -> Any:
    *forward, of_mask = args
    return k(gy, *forward, kernel('attention.attend')(*forward)[1], of_mask)


_ATTEND = {
    'attention.attend': Row(
        _attention, call=lambda k, *args: k(*args)[0], plain=_attend, layouts=('C', 'every second')
    ),
    'attention.attend, large scores': Row(
        _large_scores, call=lambda k, *args: k(*args)[0], plain=_attend, tolerance=_SCORES
    ),
    'attention.attend_gradients': Row(
        _backward(_attention),
        call=_backward_of_attention,
        plain=_attend_gradients,
        layouts=('F', 'backwards'),
        tolerance=32,
    ),
    'attention.attend_gradients, large scores': Row(
        _backward(_large_scores),
        call=_backward_of_attention,
        plain=_attend_gradients,
        relative_to='one',
        tolerance=128,
    ),
}


# --- losses ---
def _samples(
    dtype: str, shape: tuple[int, ...], weighted: bool, scale: float | None, of_labels: str = 'l'
) -> tuple[Any, Samples]:
    random = np.random.RandomState(0)
    (x,) = drawn(dtype, shape)
    labels = random.randint(0, shape[1], (shape[0], *shape[2:])).astype(of_labels)
    weights = random.uniform(0.5, 2, labels.shape).astype(dtype) if weighted else None
    if weighted and labels.size > 1:
        weights.reshape(-1)[0], labels.reshape(-1)[0] = 0, 0
        np.moveaxis(x, 1, -1).reshape(-1, shape[1])[0] = 1  # of a sample that does not count
        x[(0, slice(None), *[0] * (x.ndim - 2))] = [NAN, *[INF] * (shape[1] - 1)]
    return np.asarray(8 * x + 1000, dtype), Samples(labels, weights, scale)


_LEAST = threshold('softmax', '_MANY') // 64
_LOSSES = list(
    itertools.product(
        [(3, 4), (2, 3, 5), (0, 3), (64, _LEAST), (63, _LEAST), (1, 1), (300, 10), (3, 2500)],
        (False, True), (None, 0.5)
    )
)  # fmt: skip
_OF_OTHER_LABELS = [((3, 4), False, None, 'i'), ((7, 3, 2, 2), True, 0.5, 'i'), ((3, 4), True, None, 'h'),
                    ((3, 4), False, 0.5, 'I')]  # fmt: skip


def _log_p(x: Any, labels: Any) -> tuple[Any, Any, Any]:
    """Logarithms of the probabilities of the labels, the probabilities, and ones at the labels."""
    one = np.moveaxis(np.eye(x.shape[1])[labels], -1, 1)
    top = x.max(axis=1, keepdims=True, initial=-INF)
    log_p = x - top - np.log(np.exp(x - top).sum(axis=1, keepdims=True))
    return np.where(one == 1, log_p, 0).sum(axis=1), np.exp(log_p), one


def _losses(x: Any, samples: Samples) -> Any:
    losses = -_log_p(x, samples.labels)[0]
    if samples.weights is not None:
        losses = np.where(samples.weights == 0, 0, losses * samples.weights)
    return losses if samples.scale is None else losses.sum() * samples.scale


def _loss_gradient(gy: Any, x: Any, samples: Samples) -> Any:
    _, p, one = _log_p(x, samples.labels)
    weights = np.ones(samples.labels.shape) if samples.weights is None else samples.weights
    factor = gy * weights * (1 if samples.scale is None else samples.scale)
    return np.where(np.expand_dims(weights == 0, 1), 0, np.expand_dims(factor, 1) * (p - one))


def _with_upstream(dtype: str, *case: Any) -> Arguments:
    x, samples = _samples(dtype, *case)
    return drawn(dtype, () if samples.scale is not None else samples.labels.shape)[0], x, samples


def _gradient_of_loss(k: Any, gy: Any, x: Any, samples: Samples) -> Any:
    return k(gy, x, samples, kernel('cross_entropy.cross_entropy')(x, samples)[1])


_CROSS_ENTROPY = {
    'cross_entropy.cross_entropy': Row(
        each(_samples, *_LOSSES, *_OF_OTHER_LABELS),
        call=lambda k, *args: k(*args)[0],
        plain=_losses,
        tolerance=64,
        layouts=IMAGES,
    ),
    'cross_entropy.cross_entropy_gradient': Row(
        each(_with_upstream, *_LOSSES, *_OF_OTHER_LABELS),
        call=_gradient_of_loss,
        plain=_loss_gradient,
        tolerance=64,
        layouts=IMAGES,
    ),
    'cross_entropy.coefficients_of': Row(
        each(lambda t, *case: _with_upstream(t, *case)[::2], *_LOSSES),
        plain=lambda gy, samples: (
            gy * (1 if samples.weights is None else samples.weights) * (1 if samples.scale is None else samples.scale)
        ),
    ),
    'cross_entropy.one_hot': Row(
        each(lambda t, s: (_samples(t, s, False, None)[1], s, np.dtype(t)), ((3, 4),), ((2, 3, 5),), ((0, 3),)),
        plain=lambda samples, shape, dtype: np.moveaxis(np.eye(shape[1])[samples.labels], -1, 1),
    ),
}


# --- connectionist temporal classification ---
_LABELS = np.array([[1, 1, 2], [3, 2, 1], [1, 2, 2], [2, 1, 3], [1, 1, 1]])
_LABEL_LENGTHS, _STEPS = np.array([3, 1, 0, 2, 3]), np.array([6, 4, 3, 0, 4])


def _ways(labels: Any, label_lengths: Any, steps: Any, blank: int) -> Alignments:
    path, skip, last = [], [], []
    for row, length in zip(labels, label_lengths, strict=True):
        states = [blank]
        for i, label in enumerate(row):
            states += [label if i < length else blank, blank]
        path.append(states)
        skip.append([s >= 2 and states[s] != states[s - 2] for s in range(len(states))])
        last.append([s in (2 * length, 2 * length - 1) for s in range(len(states))])
    return Alignments(np.array(path), np.array(skip), np.array(last), steps)


def _log_probabilities(dtype: str) -> Any:
    (x,) = drawn('d', (6, len(_LABELS), 4))
    return (4 * x - np.log(np.exp(4 * x).sum(-1, keepdims=True))).astype(dtype)


def _alignment_problems(dtype: str) -> Iterator[Arguments]:
    """In C order, in another one; with classes that are impossible, and probabilities that are unknown."""
    log_p, ways = _log_probabilities(dtype), _ways(_LABELS, _LABEL_LENGTHS, _STEPS, 0)
    yield log_p, ways
    yield np.asfortranarray(log_p), ways
    strange = log_p.copy()
    strange[2, :, 1], strange[1, 4, 2] = -INF, NAN
    yield strange, ways


def _beginnings(p: Any, path: Any, skip: Any) -> list[Any]:
    """The probability of all beginnings of alignments of one sequence that end in each state, at each step."""
    count, found = len(path), []
    for t, row in enumerate(p):
        now = [0.0] * count
        for s in range(count):
            came = (
                [1.0 if s < 2 else 0.0] if t == 0 else [found[-1][s - d] for d in (0, 1, 2)[: 2 + skip[s]] if s >= d]
            )
            now[s] = sum(came) * row[path[s]]
        found.append(np.array(now))
    return found


def _likelihoods(log_p: Any, ways: Alignments) -> Any:
    """The log-likelihoods, and sums over beginnings relative to the largest, of the steps that count."""
    found, sums = np.zeros(len(ways.path)), np.zeros((len(log_p), *ways.path.shape))
    for b, (path, skip, last, steps) in enumerate(zip(*ways, strict=True)):
        rows = _beginnings(np.exp(log_p[:steps, b]), path, skip)
        for t, row in enumerate(rows):
            sums[t, b] = np.log(row) - np.log(row.max())
        found[b] = np.log(rows[-1][last].sum()) if rows else (0 if last[0] else -INF)
    return found, sums


def _counted(k: Any, log_p: Any, ways: Alignments) -> Any:
    likelihoods, sums = k(log_p, ways)
    counts = get_array_module(log_p).arange(len(log_p))[:, None] < ways.lengths
    return likelihoods, np.where(counts[:, :, None], sums, sums.dtype.type(0))


def _shares_of_alignments(log_p: Any, ways: Alignments) -> Any:
    """The derivatives of the negative log-likelihoods by scores, as differences of the likelihoods of shares."""
    found = np.zeros(log_p.shape)
    for b, (path, skip, last, steps) in enumerate(zip(*ways, strict=True)):
        p = np.exp(log_p[:steps, b])
        whole = _beginnings(p, path, skip)[-1][last].sum() if steps else 0
        for t in range(steps if whole else 0):
            for label in range(p.shape[1]):
                only = p.copy()
                only[t] = 0
                only[t, label] = p[t, label]
                found[t, b, label] = p[t, label] - _beginnings(only, path, skip)[-1][last].sum() / whole
    return found


_CTC = {
    'ctc.alignments': Row(
        lambda t: iter([
            (_LABELS, _LABEL_LENGTHS, _STEPS, 0), (_LABELS[:, :0], _LABEL_LENGTHS * 0, _STEPS, 3),
            (_LABELS[:0], _LABEL_LENGTHS[:0], _STEPS[:0], 0), (_LABELS.astype('i'), _LABEL_LENGTHS, _STEPS, 1),
            (_LABELS.astype('B'), _LABEL_LENGTHS, _STEPS, 0),
        ]),
        plain=lambda *args: Alignments(*[
            np.asarray(a, char).reshape(len(args[0]), -1) if i < 3 else a
            for i, (a, char) in enumerate(zip(_ways(*args), 'q??l', strict=True))
        ]) if len(args[0]) else Alignments(*[np.zeros((0, 7), char) for char in 'q??'], args[2]),
        dtypes='d', dtypes_of_result=('q', '?', '?', 'l'), shares=True,
    ),
    'ctc.forward': Row(
        _alignment_problems,
        call=_counted, plain=_likelihoods, dtypes='fd',
    ),
    'ctc.gradient': Row(
        _alignment_problems,
        call=lambda k, log_p, ways: k(log_p, ways, *kernel('ctc.forward')(log_p, ways)),
        plain=_shares_of_alignments, dtypes='fd',
    ),
}  # fmt: skip


# --- hinge ---
def _signed_scores(dtype: str, shape: tuple[int, ...], squared: bool, *special: float) -> Arguments:
    x, signs = drawn(dtype, shape, shape)
    x *= 3
    x.reshape(-1)[: len(special)] = special
    return x, np.sign(signs), squared


def _hinge(x: Any, signs: Any, squared: bool) -> Any:
    excess = np.maximum(x * signs + 1, 0)
    return excess**2 if squared else excess


_SIGNED_SCORES = [
    (shape, squared, *special)
    for squared in (False, True)
    for shape, *special in (
        [(3, 4)], [(1, 1)], [(0, 3)], [(3, 0)], [(9, 300)], [(3, 4), NAN, 1], [(3, 4), INF, 1], [(3, 4), -INF, 1]
    )
]  # fmt: skip
_HINGE = {
    'losses.label_signs': Row(
        each(
            lambda t, labels, char: (np.array(labels, char), 3, np.dtype(t)),
            *[(labels, char) for char in 'iqh' for labels in ([0, 2, 1], [-1, -3, 2, 1, 1], [])],
        ),
        plain=lambda labels, classes, dtype: np.asarray(1 - 2 * np.eye(classes)[labels], dtype),
        tolerance=0,
    ),
    'losses.hinge': Row(each(_signed_scores, *_SIGNED_SCORES), plain=_hinge, dtypes_of_result=('computed',)),
    'losses.mean_hinge': Row(
        each(_signed_scores, *_SIGNED_SCORES),
        plain=lambda x, *args: _hinge(x, *args).sum() / np.float64(len(x)),
        dtypes_of_result=('computed',),
    ),
}


# --- gated cells ---
def _sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def _gated_sum(gates: Any, cells: Any, inputs: int) -> Any:
    terms = [*map(np.tanh, gates[len(gates) - inputs :]), *cells]
    c = sum(_sigmoid(z) * u for z, u in zip(gates, terms, strict=False))
    return c, _sigmoid(gates[len(terms)]) * np.tanh(c)


def _gated_gradients(gates: Any, cells: Any, inputs: int, gc: Any, gh: Any) -> Any:
    new = gates[len(gates) - inputs :]
    terms = [*map(np.tanh, new), *cells]
    z = [_sigmoid(gate) for gate in gates[: len(terms) + 1]]
    c, _ = _gated_sum(gates, cells, inputs)
    total = gc + gh * z[-1] / np.cosh(c) ** 2
    of_gates = [total * u * s * (1 - s) for u, s in zip(terms, z, strict=False)]
    of_new = [total * s / np.cosh(a) ** 2 for a, s in zip(new, z, strict=False)]
    gz = np.stack([*of_gates, gh * np.tanh(c) * z[-1] * (1 - z[-1]), *of_new])
    return gz, [total * s for s in z[inputs:-1]]


def _cells(dtype: str, inputs: int, cells: int) -> Arguments:
    arrays = drawn(dtype, *[(3, 4)] * (2 * inputs + 2 * cells + 1))
    return tuple(arrays[: 2 * inputs + cells + 1]), tuple(arrays[2 * inputs + cells + 1 :]), inputs


def _cells_and_upstream(dtype: str, inputs: int, cells: int) -> Arguments:
    return *_cells(dtype, inputs, cells), *drawn(dtype, (3, 4), (3, 4), seed=1)


#: Gates that are open or closed, and some that are not numbers.
_FAR = [NAN, INF, -INF, 1e4, -1e4, 50, -50, 0]


def _planes(x: Any) -> list[Any]:
    """The gates i, f, o, a."""
    return [x.reshape(x.shape[0], x.shape[1] // 4, 4, *x.shape[2:])[:, :, k] for k in (1, 2, 3, 0)]


def _adjacent(dtype: str, shape: Any) -> Arguments:
    return tuple(drawn(dtype, shape, (shape[0], 4 * shape[1], *shape[2:])))


def _adjacent_gradients(before: Any, x: Any, gc: Any, gh: Any) -> Any:
    gz, gcells = _gated_gradients(_planes(x), [before], 1, gc, gh)
    return *gcells, np.stack(list(gz[[3, 0, 1, 2]]), axis=2).reshape(x.shape)


_GATES = {
    'cells.gated_sum': Row(
        each(_cells, (1, 1), (2, 2), (1, 3)),
        call=lambda k, *args: k(*args)[:2],
        plain=_gated_sum,
        dtypes_of_result=('computed', 'computed'),
    ),
    'cells.gated_sum_backward': Row(
        each(_cells_and_upstream, (1, 1), (2, 2), (1, 3)),
        call=lambda k, gates, cells, inputs, gc, gh: k(
            kernel('cells.gated_sum')(gates, cells, inputs)[2], gc, gh, inputs
        ),
        plain=_gated_gradients,
    ),
    'cells.lstm_cell': Row(
        each(_adjacent, ((3, 4),), ((2, 3, 5),), ((0, 3),), ((5, 300),)),
        call=lambda k, *args: k(*args)[:2],
        plain=lambda before, x: _gated_sum(_planes(x), [before], 1),
        dtypes_of_result=('computed', 'computed'),
    ),
    'cells.lstm_cell, not finite': Row(
        each(lambda t: (np.ones((4, 3), t), np.array(_FAR, t)[np.indices((4, 12)).sum(axis=0) % len(_FAR)]), ()),
        call=lambda k, *args: k(*args)[:2],
        plain=lambda before, x: _gated_sum(_planes(x), [before], 1),
        dtypes_of_result=('computed', 'computed'),
    ),
    'cells.lstm_cell_backward': Row(
        each(
            lambda t, shape: (*_adjacent(t, shape), *drawn(t, shape, shape, seed=1)),
            ((3, 4),), ((2, 3, 5),), ((0, 3),), ((5, 300),),
        ),
        call=lambda k, before, x, gc, gh: k(kernel('cells.lstm_cell')(before, x)[2], gc, gh),
        plain=_adjacent_gradients,
    ),
    'cells.adjacent_gates': Row(
        each(lambda t, s: drawn(t, s), ((3, 8),), ((2, 4, 5),)),
        plain=lambda x: np.stack(_planes(x), axis=2)[:, :, [3, 0, 1, 2]], tolerance=0, shares=True,
    ),
    'cells.joined_gates': Row(
        each(lambda t, s, order: (*drawn(t, s), order), ((5, 2, 3), (1, 4, 0, 2)), ((4, 2, 3, 2), (0, 1, 2, 3))),
        plain=lambda gz, order: np.stack([gz[k] for k in order], axis=2).reshape(
            gz.shape[1], 4 * gz.shape[2], *gz.shape[3:]
        ), tolerance=0,
    ),
}  # fmt: skip


# --- steps of recurrent layers ---
#: Rows, units, whether the outputs are columns of a wider matrix, whether rows of the input's part lie apart.
_SIZES = [(1, 1, False, False), (3, 5, False, False), (2, 37, True, False), (0, 3, False, False), (3, 2, False, True)]


def _rows_of(x: Any, gates: int) -> Any:
    return np.moveaxis(x.reshape(len(x), gates, x.shape[1] // gates), 1, 0)


def _step(gates: int, biases: int, states: int) -> Any:
    """Arguments: the state's and the input's part, biases, states, whether outputs are columns."""

    def arguments(dtype: str, rows: int, units: int, columns: bool, apart: bool) -> Arguments:
        width = gates * units
        parts = drawn(dtype, (rows, width), (rows, width), *[(gates, 1, units)] * biases, *[(rows, units)] * states)
        parts[1] = np.concatenate([parts[1], parts[1]], axis=1)[:, :width] if apart else parts[1]
        return tuple(parts[: 2 + biases]), tuple(parts[2 + biases :]), columns

    return each(arguments, *_SIZES)


def _stepped(gates: int) -> Any:
    """Calls a step with copies of what it changes, and scratch; returns what it fills."""

    def call(k: Any, parts: Any, states: Any, columns: bool) -> Any:
        xp, shape, states = get_array_module(parts[0]), states[0].shape, [s.copy(order='C') for s in states]
        saved = [xp.empty(shape, parts[0].dtype) for _ in range(len(states) + 1)]
        y = xp.empty((shape[0], (1 + columns) * shape[1]), parts[0].dtype)[:, columns * shape[1] :]
        values, scratch = (xp.empty((gates, *shape), parts[0].dtype) for _ in range(2))
        k(parts[0].copy(), *parts[1:], scratch if gates == 3 else scratch[0], *states, *saved, y, values)
        return [*states, *saved, y, values]

    return call


def _lstm_step(parts: Any, states: Any, columns: bool) -> Any:
    o, i, f, g = z = _rows_of(parts[0] + parts[1], 4) + parts[2]
    z[:3], g[:] = _sigmoid(z[:3]), np.tanh(g)
    c = states[1] * f + i * g
    h = o * np.tanh(c)
    return [h, c, *states, np.tanh(c), h, z]


def _gru_step(parts: Any, states: Any, columns: bool) -> Any:
    of_state, z = _rows_of(parts[0], 3) + parts[3], _rows_of(parts[1], 3) + parts[2]
    r, u = _sigmoid(of_state[:2] + z[:2])
    v = np.tanh(z[2] + r * of_state[2])
    h = u * states[0] + (1 - u) * v
    return [h, states[0], of_state[2], h, np.stack([r, u, v])]


def _step_backward(gates: int) -> Any:
    """Arguments: upstream gradient, two saved arrays, values of the gates, gradients of the states."""

    def arguments(dtype: str, rows: int, units: int, columns: bool, apart: bool) -> Arguments:
        row = (rows, units)
        *rest, values = drawn(dtype, row, row, row, row, row, (gates, *row))
        values = values.transpose(0, 2, 1).copy().transpose(0, 2, 1) if apart else values
        wide = np.concatenate([rest[0], rest[0]], axis=1)[:, units:] if columns else rest[0]
        return (wide, *rest[1:3], values), rest[3], rest[4]

    return each(arguments, *_SIZES)


def _lstm_stepped_back(k: Any, ins: Any, dh: Any, dc: Any) -> Any:
    xp, dc = get_array_module(dh), dc.copy(order='C')
    gz, scratch = (xp.empty(shape, dh.dtype) for shape in ((len(dh), 4 * dh.shape[1]), (4, *dh.shape)))
    k(*ins, scratch[0], scratch, dh.copy(order='C'), dc, gz)
    return dc, gz


def _lstm_step_gradients(ins: Any, dh: Any, dc: Any) -> Any:
    gy, tanh_c, before, (o, i, f, g) = ins
    total = dc + (1 - tanh_c**2) * o * (dh + gy)
    of_gates = [o * (1 - o) * tanh_c * (dh + gy), i * (1 - i) * g * total, f * (1 - f) * before * total]
    return total * f, np.concatenate([*of_gates, (1 - g * g) * i * total], axis=1)


def _gru_stepped_back(k: Any, ins: Any, dh: Any, rest: Any) -> Any:
    xp, rest = get_array_module(dh), rest.copy(order='C')
    gx, ga = (xp.empty((len(dh), 3 * dh.shape[1]), dh.dtype) for _ in range(2))
    k(*ins, xp.empty((3, *dh.shape), dh.dtype), dh.copy(order='C'), rest, gx, ga)
    return rest, gx, ga


def _gru_step_gradients(ins: Any, dh: Any, rest: Any) -> Any:
    gy, before, from_state, (r, u, v) = ins
    of_v, of_u = (1 - v * v) * (1 - u) * (dh + gy), u * (1 - u) * (before - v) * (dh + gy)
    of_r = r * (1 - r) * of_v * from_state
    joined = [np.concatenate([of_r, of_u, last], axis=1) for last in (of_v, of_v * r)]
    return (dh + gy) * u, *joined


_RECURRENT = {
    'rnn_steps.lstm_step': Row(_step(4, 1, 2), call=_stepped(4), plain=_lstm_step, dtypes='fd'),
    'rnn_steps.gru_step': Row(_step(3, 2, 1), call=_stepped(3), plain=_gru_step, dtypes='fd'),
    'rnn_steps.lstm_step_backward': Row(
        _step_backward(4), call=_lstm_stepped_back, plain=_lstm_step_gradients, dtypes='fd'
    ),
    'rnn_steps.gru_step_backward': Row(
        _step_backward(3), call=_gru_stepped_back, plain=_gru_step_gradients, dtypes='fd'
    ),
}


# --- regions of images ---
_OF_REGIONS = np.array([1, 0, 1, 2])


def _regions(dtype: str, channels: int) -> list[Any]:
    """Images, weights of rows and columns, gradients."""
    return drawn(dtype, (3, channels, 4, 5), (4, 2, 4), (4, 3, 5), (4, channels, 2, 3))


def _picked(channels: int, dtype: str) -> Picked:
    random = np.random.RandomState(0)
    shape = (2, 4, channels, 2, 3)
    weights = (random.uniform(0, 1, shape) * (random.rand(*shape) < 0.7)).astype(np.promote_types(dtype, 'f'))
    return Picked(random.randint(0, max(3 * channels * 20, 1), shape), weights)


def _projected(x: Any, rows: Any, columns: Any, images: Any) -> Any:
    return np.einsum('rhi,rcij,rwj->rchw', rows, x[images], columns)


def _back_projected(gy: Any, rows: Any, columns: Any, images: Any, count: int) -> Any:
    found = np.zeros((count, gy.shape[1], rows.shape[2], columns.shape[2]))
    np.add.at(found, images, np.einsum('rhi,rchw,rwj->rcij', rows, gy, columns))
    return found


def _high_regions(dtype: str) -> tuple[Arguments, Arguments, Arguments]:
    """Images, gradients; weights of three regions of one image, of which two are treated at a time."""
    height = threshold('roi', '_BLOCK_ELEMENTS') // (2 * 8 * 64)
    x, gy, rows, columns = drawn(dtype, (2, 8, 2, 64), (3, 8, height, 1), (3, height, 2), (3, 1, 64))
    return (x,), (gy,), (rows, columns, np.array([1, 1, 1]))


def _put(gy: Any, picked: Picked, shape: Any) -> Any:
    found = np.zeros(int(np.prod(shape)))
    np.add.at(found, picked.places, np.where(picked.weights == 0, 0, gy * picked.weights))
    return found.reshape(shape)


def _images_to_pick_from(dtype: str, channels: int, not_finite: bool) -> Arguments:
    x, picked = _regions(dtype, channels)[0], _picked(channels, dtype)
    if not_finite:
        x.reshape(-1)[picked.places[picked.weights == 0][:3]] = NAN, INF, -INF
    return x, picked


_REGIONS = {
    'roi.project': Row(
        each(lambda t, c: (*_regions(t, c)[:3], _OF_REGIONS), 1, 3, 0), plain=_projected, host=(3,)
    ),
    'roi.back_project': Row(
        each(lambda t, c: (_regions(t, c)[3], *_regions(t, c)[1:3], _OF_REGIONS, 4), 1, 3),
        plain=_back_projected,
        host=(3,),
    ),
    **{
        f'roi.{name}, more regions than are treated at a time': Row(
            lambda t, last=last: iter([(*_high_regions(t)[last], *_high_regions(t)[2], *[2][:last])]),
            plain=(_projected, _back_projected)[last], host=(3,), dtypes='f', layouts=('C',), tolerance=512,
        )
        for last, name in enumerate(('project', 'back_project'))
    },
    'roi.pick': Row(
        each(_images_to_pick_from, (1, False), (3, False), (3, True), (0, False)),
        plain=lambda x, picked: np.where(
            picked.weights == 0, 0, x.reshape(-1)[picked.places] * picked.weights
        ).sum(axis=0) if x.size else np.zeros(picked.places.shape[1:]),
    ),
    'roi.put': Row(
        each(lambda t, c: (_regions(t, c)[3], _picked(c, t), (3, c, 4, 5)), 1, 3), plain=_put
    ),
}  # fmt: skip
ROWS = {**_ATTEND, **_CROSS_ENTROPY, **_CTC, **_GATES, **_HINGE, **_RECURRENT, **_REGIONS}
