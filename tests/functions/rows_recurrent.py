"""Rows of recurrent cells and layers. The references go through one sequence at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import minichainer as chainer
import minichainer.functions as F
from minichainer.utils.type_check import InvalidType
from tests.functions.row import ANY, Bad, Case, Row, case

NO_ZERO_D = 'a cell needs axes for batch and units'
SEE_TESTS = 'saturated gates and NaN are in test_recurrent.py: a cell has several results'
EXCUSED = {'zero-d': NO_ZERO_D, 'special values': SEE_TESTS}


def z(*shape: int, dtype: str = 'f') -> Any:
    return chainer.Variable(np.zeros(shape, dtype))


def bad(name: str, call: Any, error: Any, *words: str) -> Bad:
    return Bad(name, call, error, words)


def sigmoid(x: Any) -> Any:
    return 0.5 * np.tanh(0.5 * x) + 0.5


# --- cells ----------------------------------------------------------------------------------------------------------
def _lstm(c: Any, x: Any) -> Any:
    n = len(x)
    a, i, f, o = (x[:, k::4] for k in range(4))
    new = np.tanh(a) * sigmoid(i) + sigmoid(f) * c[:n]
    return np.concatenate([new, c[n:]]), sigmoid(o) * np.tanh(new)


def _slstm(c1: Any, c2: Any, x1: Any, x2: Any) -> Any:
    (a1, i1, f1, o1), (a2, i2, f2, o2) = ([x[:, k::4] for k in range(4)] for x in (x1, x2))
    c = np.tanh(a1) * sigmoid(i1) + sigmoid(f1) * c1 + np.tanh(a2) * sigmoid(i2) + sigmoid(f2) * c2
    return c, sigmoid(o1 + o2) * np.tanh(c)


def _tree_lstm(*inputs: Any) -> Any:
    *cells, x = inputs
    a, i, o, *f = np.split(x, 3 + len(cells), axis=1)
    c = np.tanh(a) * sigmoid(i) + sum(sigmoid(gate) * cell for gate, cell in zip(f, cells, strict=True))
    return c, sigmoid(o) * np.tanh(c)


CELLS = [
    Row(
        'lstm', F.lstm, _lstm, (ANY, ANY),
        (case((3, 2), (3, 8)), case((2, 3, 2), (2, 12, 2)), case((0, 2), (0, 8)), case((2, 0), (2, 0))),
        label='LSTM', except_from=EXCUSED, errors=(
            bad('wrong kind', lambda: F.lstm(z(1, 2, dtype='i'), z(1, 8, dtype='i')), InvalidType, 'LSTM', 'int32'),
            bad('wrong dtype', lambda: F.lstm(z(1, 2), z(1, 8, dtype='d')), InvalidType, 'LSTM', 'float64'),
            bad('gates', lambda: F.lstm(z(1, 2), z(1, 7)), InvalidType, 'LSTM', '4 n', '(1, 2)', '(1, 7)'),
            bad('larger batch', lambda: F.lstm(z(2, 2), z(3, 8)), InvalidType, 'LSTM', "B <= B'", '(3, 8)'),
            bad('rest', lambda: F.lstm(z(2, 2, 3), z(2, 8, 2)), InvalidType, 'LSTM', '(2, 2, 3)', '(2, 8, 2)'),
            bad('one axis', lambda: F.lstm(z(2), z(8)), InvalidType, 'LSTM', '(2,)', '(8,)'),
        ),
    ),
    Row(
        'lstm', F.lstm, _lstm, (ANY, ANY), (case((4, 2), (2, 8)), case((3, 2), (0, 8))), variant='ended sequences',
        except_from={
            **EXCUSED, 'label': 'the cells that are handed on are joined by another node',
            'wrong kind': 'see the other row', 'wrong dtype': 'see the other row',
        },
    ),
    Row(
        'slstm', F.slstm, _slstm, (ANY,) * 4,
        (case((2, 3), (2, 3), (2, 12), (2, 12)), case((2, 1, 3), (2, 1, 3), (2, 4, 3), (2, 4, 3)),
         case((0, 1), (0, 1), (0, 4), (0, 4))),
        label='SLSTM', except_from=EXCUSED, errors=(
            bad('wrong kind', lambda: F.slstm(*[z(1, n, dtype='i') for n in (1, 1, 4, 4)]), InvalidType, 'SLSTM'),
            bad('wrong dtype', lambda: F.slstm(z(1, 1), z(1, 1), z(1, 4), z(1, 4, dtype='d')), InvalidType, 'SLSTM',
                'float64'),
            bad('cells', lambda: F.slstm(z(1, 1), z(1, 2), z(1, 4), z(1, 4)), InvalidType, 'SLSTM', '(1, 2)'),
            bad('gates', lambda: F.slstm(z(1, 1), z(1, 1), z(1, 4), z(1, 3)), InvalidType, 'SLSTM', '(1, 3)'),
            bad('batch', lambda: F.slstm(z(2, 1), z(2, 1), z(1, 4), z(1, 4)), InvalidType, 'SLSTM', '(2, 1)'),
        ),
    ),
    Row(
        'tree_lstm', F.tree_lstm, _tree_lstm, (ANY, ANY), (case((2, 3), (2, 12)), case((2, 1, 3), (2, 4, 3))),
        variant='one child', label='TreeLSTM', except_from=EXCUSED | {'zero-size': 'see the row of two children'},
        errors=(
            bad('wrong kind', lambda: F.tree_lstm(z(1, 1, dtype='i'), z(1, 4, dtype='i')), InvalidType, 'TreeLSTM'),
            bad('wrong dtype', lambda: F.tree_lstm(z(1, 1), z(1, 4, dtype='d')), InvalidType, 'TreeLSTM', 'float64'),
            bad('nothing', lambda: F.tree_lstm(), InvalidType, 'TreeLSTM', 'at least one cell', '0 arguments'),
            bad('x alone', lambda: F.tree_lstm(z(1, 4)), InvalidType, 'TreeLSTM', '1 arguments'),
            bad('gates', lambda: F.tree_lstm(z(1, 1), z(1, 1), z(1, 4)), InvalidType, 'TreeLSTM', '5 n', '(1, 4)'),
            bad('batch', lambda: F.tree_lstm(z(2, 1), z(1, 4)), InvalidType, 'TreeLSTM', '(2, 1)', '(1, 4)'),
            bad('rest', lambda: F.tree_lstm(z(2, 1, 3), z(2, 4, 2)), InvalidType, 'TreeLSTM', '(2, 4, 2)'),
        ),
    ),
    Row(
        'tree_lstm', F.tree_lstm, _tree_lstm, (ANY,) * 3,
        (case((2, 2), (2, 2), (2, 10)), case((2, 1, 2), (2, 1, 2), (2, 5, 2)), case((0, 1), (0, 1), (0, 5))),
        variant='two children', label='TreeLSTM', except_from={
            **EXCUSED, 'wrong kind': 'see the other row', 'wrong dtype': 'see the other row',
        },
    ),
]  # fmt: skip


# --- layers over sequences ------------------------------------------------------------------------------------------
class Layers:
    """One of the ``n_step`` functions of a flat list of inputs, and its reference.

    The inputs are the states, the input weights of each layer ``(places, units, inputs)``, all state weights
    ``(places, units, units)``, all biases ``(places, units)``, and the steps.
    """

    def __init__(self, name: str, n_layers: int, **static: Any) -> None:
        self.name = name
        self.static = static
        self.n_layers = n_layers
        self.directions = 2 if '_bi' in name else 1
        self.gates = {'lstm': 4, 'gru': 3, 'rnn': 1}[name.rpartition('_')[2].removeprefix('bi')]
        self.states = 2 if self.gates == 4 else 1

    def _parts(self, inputs: Any) -> tuple[Any, Any, Any, Any]:
        """States, weights and biases by layer and direction, and steps."""
        places, g = self.n_layers * self.directions, self.gates
        wx = inputs[self.states : self.states + self.n_layers]
        wh, b, *xs = inputs[self.states + self.n_layers :]
        ws, bs = [], []
        for at in range(places):
            layer, direction = divmod(at, self.directions)
            ws.append([wx[layer][direction * g + k] for k in range(g)] + [wh[at * g + k] for k in range(g)])
            bs.append([b[at * 2 * g + k] for k in range(2 * g)])
        return inputs[: self.states], ws, bs, xs

    def __call__(self, *inputs: Any) -> tuple[Any, ...]:
        states, ws, bs, xs = self._parts(inputs)
        *last, ys = getattr(F, self.name)(self.n_layers, 0.0, *states, ws, bs, xs, **self.static)
        return (*last, *ys)

    def reference(self, *inputs: Any) -> tuple[Any, ...]:
        states, ws, bs, xs = self._parts(inputs)
        last = [np.array(s) for s in states]
        width = states[0].shape[2] * self.directions
        ys = [np.zeros((len(x), width)) for x in xs]
        for b in range(states[0].shape[1]):
            sequence = [x[b] for x in xs if len(x) > b]
            for layer in range(self.n_layers):
                results = []
                for direction in range(self.directions):
                    at = layer * self.directions + direction
                    order = range(len(sequence))[:: -1 if direction else 1]
                    now, found = [s[at, b] for s in states], {}
                    for t in order:
                        now = self._step(sequence[t], now, ws[at], bs[at])
                        found[t] = now[0]
                    for s, value in zip(last, now, strict=True):
                        s[at, b] = value
                    results.append(found)
                sequence = [np.concatenate([r[t] for r in results]) for t in range(len(sequence))]
            for t, y in enumerate(sequence):
                ys[t][b] = y
        return (*last, *ys)

    def _step(self, x: Any, states: Any, ws: Any, bs: Any) -> list[Any]:
        g = self.gates
        h = states[0]
        of_x = [w @ x + b for w, b in zip(ws[:g], bs[:g], strict=True)]
        of_h = [w @ h + b for w, b in zip(ws[g:], bs[g:], strict=True)]
        if g == 1:
            total = of_x[0] + of_h[0]
            return [np.maximum(total, 0) if self.static.get('activation') == 'relu' else np.tanh(total)]
        if g == 3:
            r, u = sigmoid(of_x[0] + of_h[0]), sigmoid(of_x[1] + of_h[1])
            return [(1 - u) * np.tanh(of_x[2] + r * of_h[2]) + u * h]
        i, f, a, o = [p + q for p, q in zip(of_x, of_h, strict=True)]
        c = sigmoid(f) * states[1] + sigmoid(i) * np.tanh(a)
        return [sigmoid(o) * np.tanh(c), c]

    def case(self, units: int, inputs: int, batch: int, *sizes: int) -> Case:
        """Shapes for a number of units, of inputs, of sequences, and of those at each step."""
        d, g, places = self.directions, self.gates, self.n_layers * self.directions
        wx = [(d * g, units, inputs if layer == 0 else d * units) for layer in range(self.n_layers)]
        rest = [(places * g, units, units), (places * 2 * g, units), *[(size, inputs) for size in sizes]]
        return case(*[(places, batch, units)] * self.states, *wx, *rest)


def arguments(layers: Layers, dtype: str = 'f', **changes: Any) -> tuple[Any, ...]:
    """Arguments of a small call: 2 units, 3 inputs, steps of 2 and 1 sequences; some of them changed."""
    places, g = layers.n_layers * layers.directions, layers.gates
    values: dict[str, Any] = {
        'n_layers': layers.n_layers, 'ratio': 0.0, 'hx': z(places, 2, 2, dtype=dtype),
        'ws': [[z(2, 3, dtype=dtype)] * g + [z(2, 2, dtype=dtype)] * g] * places,
        'bs': [[z(2, dtype=dtype)] * (2 * g)] * places, 'xs': [z(2, 3, dtype=dtype), z(1, 3, dtype=dtype)],
    }  # fmt: skip
    values.update(changes)
    states = [values['hx']] * layers.states
    return (values['n_layers'], values['ratio'], *states, values['ws'], values['bs'], values['xs'])


def errors(layers: Layers, node: str) -> tuple[Bad, ...]:
    """Calls that none of the functions takes; of one layer."""
    f: Callable[..., Any] = getattr(F, layers.name)
    d, g = layers.directions, layers.gates

    def wrong(name: str, error: Any, *words: str, **changes: Any) -> Bad:
        return bad(name, lambda: f(*arguments(layers, **changes)), error, *words)

    size_error = InvalidType if g == 3 else ValueError
    short = [[z(2, 3)] * g + [z(2, 2)] * (g - 1)] * d
    wide = [[z(2, 3)] * g + [z(2, 4)] * g] * d
    two = arguments(Layers(layers.name, 2), ws=[[z(2, 3)] * g + [z(2, 2)] * g] * d + [[z(2, 2 * d)] * g * 2] * d)
    return (
        wrong('wrong kind', InvalidType, node, 'float', 'int32', dtype='i'),
        wrong('wrong dtype', InvalidType, node, 'one dtype', 'float32 and float64', xs=[z(2, 3, dtype='d')]),
        wrong('size of inputs', size_error, node, '(batch, 3)', '(2, 4)', xs=[z(2, 4)]),
        wrong('size of one step', size_error, node, 'xs[1]', '(batch, 3)', '(1, 4)', xs=[z(2, 3), z(1, 4)]),
        wrong('axes of inputs', InvalidType, node, 'xs[0]', '(3,)', xs=[z(3)]),
        wrong('increasing lengths', InvalidType, node, 'decreasing', '2 at step 1 after 1', xs=[z(1, 3), z(2, 3)]),
        wrong('batch', InvalidType, node, 'decreasing', '3 at step 0 after 2', xs=[z(3, 3)]),
        wrong('axes of states', InvalidType, node, f'({d}, batch, units)', '(2, 2)', hx=z(2, 2)),
        wrong('layers of states', InvalidType, node, f'({d}, batch, units)', '(3, 2, 2)', hx=z(3, 2, 2)),
        wrong('units of states', InvalidType, node, 'ws[0][0] of shape (5, 3)', '(2, 3)', hx=z(d, 2, 5)),
        wrong('few weights', ValueError, node, 'ws', f'{2 * g} arrays', str(2 * g - 1), ws=short),
        wrong('weights', InvalidType, node, f'ws[0][{g}]', '(2, 2)', '(2, 4)', ws=wide),
        wrong('few biases', ValueError, node, 'bs', f'{d} lists', '[]', bs=[]),
        wrong('biases', InvalidType, node, 'bs[0][0]', '(2,)', '(3,)', bs=[[z(3)] * (2 * g)] * d),
        wrong('no layers', ValueError, node, 'n_layers', 'at least 1', 'got 0', n_layers=0),
        bad('ratio', lambda: f(two[0], 1.0, *two[2:]), ValueError, node, '[0, 1)', '1.0'),
        bad('train', lambda: f(*arguments(layers), train=True), ValueError, 'train', 'using_config'),
        bad('unknown', lambda: f(*arguments(layers), foo=1), TypeError, "'foo'"),
    )


def row(layers: Layers, node: str, *cases: Case, variant: str = '', with_errors: bool = True) -> Row:
    count = layers.states + layers.n_layers + 2 + len(cases[0].shapes[layers.states + layers.n_layers + 2 :])
    excused = dict(EXCUSED)
    if not any(0 in shape for c in cases for shape in c.shapes):
        excused['zero-size'] = 'see the row of one layer'
    if not with_errors:
        excused.update({'wrong kind': 'see the row of one layer', 'wrong dtype': 'see the row of one layer'})
    return Row(
        layers.name, layers.__call__, layers.reference, (ANY,) * count, cases, variant=variant, label=node,
        errors=errors(layers, node) if with_errors else (), except_from=excused,
    )  # fmt: skip


def _rows() -> list[Row]:
    rows = []
    for name, node in (
        ('n_step_lstm', 'NStepLSTM'), ('n_step_bilstm', 'NStepBiLSTM'), ('n_step_gru', 'NStepGRU'),
        ('n_step_bigru', 'NStepBiGRU'), ('n_step_rnn', 'NStepRNNTanh'), ('n_step_birnn', 'NStepBiRNNTanh'),
    ):  # fmt: skip
        one, two = Layers(name, 1), Layers(name, 2)
        units = 1 if one.directions == 2 else 2
        # A sequence less than states: its state is handed on. No sequence left at the last step.
        rows.append(row(one, node, one.case(units, 2, 3, 2, 1), one.case(1, 1, 2, 2, 0), one.case(1, 2, 0, 0, 0)))
        rows.append(row(two, node, two.case(1, 1, 2, 2, 1), variant='two layers', with_errors=False))
    for name, node in (('n_step_rnn', 'NStepRNNReLU'), ('n_step_birnn', 'NStepBiRNNReLU')):
        layers = Layers(name, 1, activation='relu')
        rows.append(row(layers, node, layers.case(2, 1, 2, 2, 1), variant='relu', with_errors=False))
    return rows


ROWS = [*CELLS, *_rows()]
