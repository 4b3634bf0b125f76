"""The kernels of recurrent layers against loops over single numbers, in any batch of lengths, in both directions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minichainer.kernels import cells
from minichainer.kernels import rnn as kernels

CELLS = {'LSTM': kernels.LSTM(), 'GRU': kernels.GRU(), 'tanh': kernels.Elman('tanh'), 'relu': kernels.Elman('relu')}
LENGTHS = st.lists(st.integers(0, 4), min_size=1, max_size=4).map(lambda lengths: sorted(lengths, reverse=True))
over_layers = given(st.sampled_from(sorted(CELLS)), LENGTHS, st.integers(1, 3), st.integers(1, 3), st.booleans())


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def step_reference(name: str, gx: Any, gh: Any, states: list[Any]) -> list[Any]:
    """One step for one sequence: the state after it from both parts of the gates, ``(gates, units)`` each."""
    if name == 'LSTM':
        o, i, f, g = gx + gh
        c = sigmoid(f) * states[1] + sigmoid(i) * np.tanh(g)
        return [sigmoid(o) * np.tanh(c), c]
    if name == 'GRU':
        r, u = sigmoid(gx[:2] + gh[:2])
        return [(1 - u) * np.tanh(gx[2] + r * gh[2]) + u * states[0]]
    (total,) = gx + gh
    return [np.tanh(total) if name == 'tanh' else np.maximum(total, 0)]


def layer_reference(name: str, w: Any, x: Any, states: list[Any], lengths: list[int], backward: bool) -> list[Any]:
    """The outputs, packed like ``x``, and the last states."""
    sizes = sizes_of(lengths)
    starts = np.cumsum([0, *sizes])
    gates, units = len(w.bx) // states[0].shape[1], states[0].shape[1]
    y, last = np.zeros((len(x), units)), [s.copy() for s in states]
    for b, length in enumerate(lengths):
        now = [s[b] for s in states]
        for t in range(length)[:: -1 if backward else 1]:
            row = starts[t] + b
            gx, gh = w.x @ x[row] + w.bx, w.h @ now[0] + w.bh
            now = step_reference(name, gx.reshape(gates, units), gh.reshape(gates, units), now)
            y[row] = now[0]
        for s, value in zip(last, now, strict=True):
            s[b] = value
    return [y, *last]


def sizes_of(lengths: list[int]) -> list[int]:
    return [sum(n > t for n in lengths) for t in range(max(lengths))]


def drawn(name: str, lengths: list[int], units: int, inputs: int) -> tuple[Any, Any, list[Any]]:
    """Weights, packed inputs and states."""
    rng = np.random.RandomState(0)
    cell = CELLS[name]
    rows = len(cell.order) * units
    w = kernels.Weights(rng.randn(rows, inputs), rng.randn(rows, units), rng.randn(rows), rng.randn(rows))
    return w, rng.randn(sum(lengths), inputs), [rng.randn(len(lengths), units) for _ in range(cell.states)]


def forward(name: str, w: Any, x: Any, states: list[Any], spans: Any) -> tuple[list[Any], Any]:
    y, last = np.full((len(x), states[0].shape[1]), np.nan), [s.copy() for s in states]
    saved = kernels.layer_forward(np, CELLS[name], w, x, last, y, spans)
    return [y, *last], saved


@settings(max_examples=80, deadline=None)
@over_layers
def test_forward(name: str, lengths: list[int], units: int, inputs: int, backward: bool) -> None:
    w, x, states = drawn(name, lengths, units, inputs)
    actual, _ = forward(name, w, x, states, kernels.spans_of(sizes_of(lengths), backward))
    expected = layer_reference(name, w, x, states, lengths, backward)
    for a, e in zip(actual, expected, strict=True):
        np.testing.assert_allclose(a, e, rtol=1e-12, atol=1e-12)


@settings(max_examples=40, deadline=None)
@over_layers
def test_backward(name: str, lengths: list[int], units: int, inputs: int, backward: bool) -> None:
    """The gradient along a random direction of all arguments is the difference of the reference along it."""
    w, x, states = drawn(name, lengths, units, inputs)
    spans = kernels.spans_of(sizes_of(lengths), backward)
    results, saved = forward(name, w, x, states, spans)
    rng = np.random.RandomState(1)
    gy, *gstates = upstream = [rng.randn(*r.shape) for r in results]
    before = [a.copy() for a in saved]
    first = [g.copy() for g in gstates]
    gx, gw = kernels.layer_backward(np, CELLS[name], w, x, saved, gy, first, spans, (True, True))
    for a, b in zip(saved, before, strict=True):
        np.testing.assert_array_equal(a, b)
    arguments, gradients = [*w, x, *states], [*gw, gx, *first]
    directions = [rng.randn(*a.shape) for a in arguments]

    def loss(step: float) -> Any:
        *ws, x = [a + step * d for a, d in zip(arguments, directions, strict=True)][:5]
        moved = [s + step * d for s, d in zip(states, directions[5:], strict=True)]
        results = layer_reference(name, kernels.Weights(*ws), x, moved, lengths, backward)
        return sum((g * r).sum() for g, r in zip(upstream, results, strict=True))

    eps = 1e-5
    expected = (loss(eps) - loss(-eps)) / (2 * eps)
    actual = sum((g * d).sum() for g, d in zip(gradients, directions, strict=True))
    size = sum(abs(g * d).sum() for g, d in zip(gradients, directions, strict=True))
    assert abs(actual - expected) <= 1e-7 * max(size, 1)


def layers_reference(name: str, weights: Any, masks: Any, x: Any, states: Any, lengths: Any, directions: int) -> Any:
    """The outputs, packed like ``x``, and the last states of all layers."""
    last: list[list[Any]] = [[] for _ in states]
    for begin in range(0, len(weights), directions):
        parts = []
        for at in range(begin, begin + directions):
            masked = x if masks[at] is None else x * masks[at]
            y, *ends = layer_reference(name, weights[at], masked, [s[at] for s in states], lengths, at > begin)
            parts.append(y)
            for of_state, end in zip(last, ends, strict=True):
                of_state.append(end)
        x = np.concatenate(parts, axis=1)
    return [x, *map(np.stack, last)]


@pytest.mark.parametrize('masked', [False, True])
@pytest.mark.parametrize('directions', [1, 2])
@pytest.mark.parametrize('name', sorted(CELLS))
def test_layers(name: str, directions: int, masked: bool) -> None:
    """Two layers above each other, forward, and backward along a random direction of all arguments."""
    lengths, units, rng = [3, 2, 2], 2, np.random.RandomState(0)
    inputs = [3] * directions + [directions * units] * directions
    weights = [drawn(name, lengths, units, size)[0] for size in inputs]
    _, x, _ = drawn(name, lengths, units, 3)
    weights = [kernels.Weights(*[w + 0.3 * at for w in of_layer]) for at, of_layer in enumerate(weights)]
    states = [rng.randn(2 * directions, 3, units) for _ in range(CELLS[name].states)]
    masks = [rng.rand(7, w.x.shape[1]) * 2 if masked and at % 3 else None for at, w in enumerate(weights)]
    steps = np.split(x, np.cumsum(sizes_of(lengths))[:-1])
    last, y, saved = kernels.layers_forward(np, CELLS[name], weights, masks, states, steps, directions)
    expected = layers_reference(name, weights, masks, x, states, lengths, directions)
    for a, e in zip([y, *last], expected, strict=True):
        np.testing.assert_allclose(a, e, rtol=1e-11, atol=1e-12)
    gy, *gstates = [rng.randn(*e.shape) for e in expected]
    gsteps = np.split(gy, np.cumsum(sizes_of(lengths))[:-1])
    before = [g.copy() for g in gstates]
    of_states, of_weights, gx = kernels.layers_backward(np, CELLS[name], saved, masks, gstates, gsteps, (True, True))
    np.testing.assert_array_equal(gstates, before)
    arguments = [x, *states, *[w for of_layer in weights for w in of_layer]]
    gradients = [gx, *of_states, *[g for of_layer in of_weights for g in of_layer]]
    directions_of = [rng.randn(*a.shape) for a in arguments]

    def loss(step: float) -> Any:
        moved = [a + step * d for a, d in zip(arguments, directions_of, strict=True)]
        ws = [kernels.Weights(*moved[i : i + 4]) for i in range(1 + len(states), len(moved), 4)]
        found = layers_reference(name, ws, masks, moved[0], moved[1 : 1 + len(states)], lengths, directions)
        return sum((g * r).sum() for g, r in zip([gy, *gstates], found, strict=True))

    expected = (loss(1e-6) - loss(-1e-6)) / 2e-6
    actual = sum((g * d).sum() for g, d in zip(gradients, directions_of, strict=True))
    size = sum(abs(g * d).sum() for g, d in zip(gradients, directions_of, strict=True))
    assert abs(actual - expected) <= 1e-7 * size


def test_what_is_not_wanted_is_not_computed() -> None:
    w, x, states = drawn('LSTM', [2, 1], 2, 3)
    spans = kernels.spans_of([2, 1])
    _, saved = forward('LSTM', w, x, states, spans)
    found = kernels.layer_backward(
        np, CELLS['LSTM'], w, x, saved, np.ones((3, 2)), [s.copy() for s in states], spans, (False, False)
    )
    assert found == (None, None)


@pytest.mark.parametrize('name', sorted(CELLS))
def test_a_single_unit_does_not_change_its_weights(name: str) -> None:
    """A matrix of one row or column is its own transpose in memory: scratch must not be that."""
    w, x, states = drawn(name, [3, 1], 1, 1)
    before = [a.copy() for a in w]
    forward(name, w, x, states, kernels.spans_of([2, 1, 1]))
    for a, b in zip(w, before, strict=True):
        np.testing.assert_array_equal(a, b)


def test_spans() -> None:
    assert kernels.spans_of([3, 2, 2, 0]) == [(0, 3), (3, 5), (5, 7), (7, 7)]
    assert kernels.spans_of([3, 1], backward=True) == [(3, 4), (0, 3)]


@pytest.mark.parametrize('dtype', ['f', 'd'])
def test_saturated_gates(dtype: str) -> None:
    """Huge arguments of the gates give 0 and 1 without warnings, and gradients of zero."""
    z = np.array([1e30, -1e30, 1e30, 1e30], dtype).reshape(4, 1)
    c, h, saved = cells.gated_sum(np, z.copy(), [np.array([2.0], dtype)], 1)
    np.testing.assert_allclose([c[0], h[0]], [1, np.tanh(1)], rtol=1e-6)
    gz, gc = cells.gated_sum_backward(np, saved, np.ones(1, dtype), np.ones(1, dtype), 1)
    assert not gz.any() and gc == 0


def test_cells_of_float16_are_computed_in_float32() -> None:
    gates = list(np.random.RandomState(0).randn(4, 3, 2).astype('e'))
    results = []
    for dtype in 'ef':
        c, h, saved = cells.gated_sum(np, [g.astype(dtype) for g in gates], [gates[0].astype(dtype)], 1)
        upstream = gates[1].astype(dtype)
        results.append([c, h, *cells.gated_sum_backward(np, saved, upstream, upstream, 1)])
    for i, (half, single) in enumerate(zip(*results, strict=True)):
        np.testing.assert_array_equal(half, single.astype(half.dtype))
        assert half.dtype == ('f' if i < 2 else 'e')


@pytest.mark.parametrize('dtype', ['f', 'd'])
@pytest.mark.parametrize('name', ['LSTM', 'GRU', 'cell'])
def test_gates_keep_their_digits_where_they_are_tiny(name: str, dtype: str) -> None:
    """As ``F.sigmoid`` does: a gate of 1e-20 lets 1e20 pass as 1."""
    x = np.array([-10, -20, -46, -80], dtype)
    gate = np.exp(x.astype('d'))
    if name == 'cell':
        far = np.full_like(x, -200)
        c, *_ = cells.gated_sum(np, [far, x, far, far], [1 / gate.astype(dtype)], 1)
        np.testing.assert_allclose(c, 1, rtol=1e-4)
        return
    order = CELLS[name].order
    closed, opened, zero = ([value] * 4 for value in (-200, 200, 0))
    of_gates = [opened, closed, x, zero] if name == 'LSTM' else [opened, x, zero]  # in the kernel's order
    biases = np.array(of_gates, dtype)
    zeros = np.zeros((len(order) * 4, 4), dtype)
    w = kernels.Weights(zeros, zeros, biases.reshape(-1), np.zeros(len(order) * 4, dtype))
    states = [(1 / gate.astype(dtype)).reshape(1, 4) for _ in range(CELLS[name].states)]
    kernels.layer_forward(np, CELLS[name], w, np.zeros((1, 4), dtype), states, np.empty((1, 4), dtype), [(0, 1)])
    np.testing.assert_allclose(states[-1], 1, rtol=1e-4)
