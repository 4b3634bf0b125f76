"""Recurrent layers over a batch of sequences of different lengths: one node for all layers, directions and steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from minichainer.backend import get_array_module
from minichainer.configuration import config
from minichainer.functions._checks import invalid
from minichainer.functions.activation.rectifiers import relu
from minichainer.functions.activation.sigmoidal import sigmoid, tanh
from minichainer.functions.array.joining import concat, stack
from minichainer.functions.connection.linear import linear
from minichainer.functions.rnn._fused import FusedNode
from minichainer.kernels import rnn as kernels
from minichainer.kernels.precision import in_float32
from minichainer.utils.type_check import InvalidType
from minichainer.variable import Variable, as_variable


class Kind(NamedTuple):
    """A kind of cell."""

    #: As in the names of nodes, ``NStepLSTM``.
    name: str
    cell: kernels.Cell
    #: ``step(x_parts, h, states, parts_of_h)``: the plain composition of one step, on Variables.
    step: Any
    #: The exception for inputs whose size is not that of the weights; Chainer's differ.
    size_error: type[Exception]


class Plan(NamedTuple):
    """What is to be computed."""

    kind: Kind
    n_layers: int
    #: 1, or 2 for both directions.
    directions: int
    #: Number of sequences at each step.
    sizes: tuple[int, ...]
    #: Probability that an element between two layers is dropped; None where nothing is.
    dropout: float | None

    @property
    def name(self) -> str:
        """The name of the node."""
        return self.kind.name if self.directions == 1 else self.kind.name.replace('NStep', 'NStepBi')

    @property
    def gates(self) -> int:
        """Number of weights of the input, and of the state, of one layer in one direction."""
        return len(self.kind.cell.order)

    def divided(self, values: Sequence[Any]) -> tuple[list[Any], list[list[Any]], list[Any]]:
        """The states, the parameters of each layer and direction, and the steps, of a node's inputs."""
        states, count = self.kind.cell.states, 4 * self.gates
        end = states + self.n_layers * self.directions * count
        layers = [list(values[at : at + count]) for at in range(states, end, count)]
        return list(values[:states]), layers, list(values[end:])


# --- plain steps ----------------------------------------------------------------------------------------------------
def lstm_step(x: list[Variable], h: list[Variable], states: list[Variable]) -> list[Variable]:
    """New h and c from the input's and the state's parts of the gates i, f, g, o."""
    i, f, g, o = [a + b for a, b in zip(x, h, strict=True)]
    c = sigmoid(f) * states[1] + sigmoid(i) * tanh(g)
    return [sigmoid(o) * tanh(c), c]


def gru_step(x: list[Variable], h: list[Variable], states: list[Variable]) -> list[Variable]:
    """New h from the parts of the gates r, z and of the candidate."""
    r, z = sigmoid(x[0] + h[0]), sigmoid(x[1] + h[1])
    candidate = tanh(x[2] + r * h[2])
    return [(1 - z) * candidate + z * states[0]]


def tanh_step(x: list[Variable], h: list[Variable], states: list[Variable]) -> list[Variable]:
    """New h from its two parts."""
    return [tanh(x[0] + h[0])]


def relu_step(x: list[Variable], h: list[Variable], states: list[Variable]) -> list[Variable]:
    """New h from its two parts."""
    return [relu(x[0] + h[0])]


LSTM = Kind('NStepLSTM', kernels.LSTM(), lstm_step, ValueError)
GRU = Kind('NStepGRU', kernels.GRU(), gru_step, InvalidType)
ELMAN = {
    'tanh': Kind('NStepRNNTanh', kernels.Elman('tanh'), tanh_step, ValueError),
    'relu': Kind('NStepRNNReLU', kernels.Elman('relu'), relu_step, ValueError),
}


class NStep(FusedNode):
    """The node of the ``n_step`` functions.

    Its inputs are the states ``(layers * directions, batch, units)``, the weights and biases of each layer and
    direction, and the steps ``(size, inputs)``; its outputs the last states, and the last layer at each step.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        #: One array of draws for each layer and direction; None where nothing is dropped.
        self.masks: list[Any] = []

    @property
    def label(self) -> str:
        return self.plan.name

    def _release(self) -> None:
        self.masks = []
        super()._release()

    def forward(self, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        self.retain_inputs(range(len(inputs)))
        plan, dtype = self.plan, inputs[0].dtype
        xp = get_array_module(*inputs)
        states, layers, steps = plan.divided(inputs)
        last = [xp.array(in_float32(s), order='C') for s in states]
        units = last[0].shape[2]
        x = in_float32(xp.concatenate(steps) if steps else xp.empty((0, layers[0][0].shape[1]), dtype))
        weights = [self._stacked(xp, parameters) for parameters in layers]
        saved = []
        for layer in range(plan.n_layers):
            y = xp.empty((len(x), plan.directions * units), x.dtype)
            for direction in range(plan.directions):
                at = layer * plan.directions + direction
                mask = self._mask(xp, x) if layer else None
                self.masks.append(mask)
                dropped = x if mask is None else x * mask
                part = y[:, direction * units : (direction + 1) * units]
                spans = kernels.spans_of(plan.sizes, direction == 1)
                first = [s[at] for s in last]
                saved.append((dropped, kernels.layer_forward(
                    xp, plan.kind.cell, weights[at], dropped, first, part, spans
                )))  # fmt: skip
            x = y
        self.workspace = (weights, saved)
        outputs = [*last, *[x[begin:end] for begin, end in kernels.spans_of(plan.sizes)]]
        return tuple([y.astype(dtype, copy=False) for y in outputs])

    def _stacked(self, xp: Any, parameters: list[Any]) -> kernels.Weights:
        n, order = self.plan.gates, self.plan.kind.cell.order
        parts = [xp.concatenate([parameters[k * n + place] for place in order]) for k in range(4)]
        return kernels.Weights(*[in_float32(part) for part in parts])

    def _mask(self, xp: Any, x: Any) -> Any:
        ratio = self.plan.dropout
        if ratio is None:
            return None
        draws = xp.random.rand(*x.shape)  # also where nothing is dropped: what is drawn later stays the same
        return (draws >= ratio) * x.dtype.type(1.0 / (1 - ratio)) if ratio else None

    def backward_arrays(self, indexes: Any, grad_outputs: Any) -> Any:
        plan = self.plan
        dtype = self._retained_inputs[0].dtype
        xp = get_array_module(*self._retained_inputs)
        weights, saved = self.workspace
        gstates, gy = self._upstream(xp, grad_outputs)
        states = plan.kind.cell.states
        end = states + len(weights) * 4 * plan.gates
        wants_weights = any(states <= i < end for i in indexes)
        wants_x = any(i >= end for i in indexes)
        units = gstates[0].shape[2]
        gradients: list[Any] = [None] * len(weights)
        for layer in reversed(range(plan.n_layers)):
            gx: Any = None
            for direction in reversed(range(plan.directions)):
                at = layer * plan.directions + direction
                x, kept = saved[at]
                found, gradients[at] = kernels.layer_backward(
                    xp, plan.kind.cell, weights[at], x, kept, gy[:, direction * units : (direction + 1) * units],
                    [g[at] for g in gstates], kernels.spans_of(plan.sizes, direction == 1),
                    (layer > 0 or wants_x, wants_weights),
                )  # fmt: skip
                if found is not None and self.masks[at] is not None:
                    found *= self.masks[at]
                gx = found if gx is None else gx + found
            gy = gx
        everything = [*gstates, *self._unstacked(gradients)]
        everything += [None if gy is None else gy[begin:end] for begin, end in kernels.spans_of(plan.sizes)]
        return [everything[i].astype(dtype, copy=False) for i in indexes]

    def _upstream(self, xp: Any, grad_outputs: Any) -> tuple[list[Any], Any]:
        """Gradients of the last states, to be overwritten, and of the last layer, packed; zeros for None."""
        states, layers, _ = self.plan.divided(self._retained_inputs)
        count = len(states)
        wide = in_float32(states[0][:0]).dtype
        gstates = [
            xp.zeros(s.shape, wide) if g is None else xp.array(g, dtype=wide, order='C')
            for s, g in zip(states, grad_outputs[:count], strict=True)
        ]
        width = states[0].shape[2] * self.plan.directions
        steps = [
            xp.zeros((size, width), wide) if g is None else g
            for size, g in zip(self.plan.sizes, grad_outputs[count:], strict=True)
        ]
        gy = xp.concatenate(steps) if steps else xp.zeros((0, width), wide)
        return gstates, gy.astype(wide, copy=False)

    def _unstacked(self, gradients: list[Any]) -> list[Any]:
        """The gradients of the parameters in the order of the inputs."""
        n, order = self.plan.gates, self.plan.kind.cell.order
        found: list[Any] = []
        for gradient in gradients:
            for stacked in gradient if gradient is not None else [None] * 4:
                parts: list[Any] = [None] * n
                if stacked is not None:
                    units = len(stacked) // n
                    for k, place in enumerate(order):
                        parts[place] = stacked[k * units : (k + 1) * units]
                found += parts
        return found

    def _reference(self, *inputs: Variable) -> tuple[Variable, ...]:
        plan = self.plan
        states, layers, xs = plan.divided(inputs)
        last: list[list[Variable]] = []
        for layer in range(plan.n_layers):
            results = []
            for direction in range(plan.directions):
                at = layer * plan.directions + direction
                steps = _dropped(xs, self.masks[at], plan.sizes)
                first = [s[at] for s in states]
                ys, final = _plain_layer(plan, layers[at], steps, first, direction == 1)
                results.append(ys)
                last.append(final)
            xs = [ys[0] if len(ys) == 1 else concat(ys, axis=1) for ys in zip(*results, strict=True)]
        return (*[stack(list(column)) for column in zip(*last, strict=True)], *xs)


def _dropped(xs: list[Variable], mask: Any, sizes: tuple[int, ...]) -> list[Variable]:
    if mask is None:
        return xs
    spans = kernels.spans_of(sizes)
    return [x * mask[begin:end] for x, (begin, end) in zip(xs, spans, strict=True)]


def _plain_layer(
    plan: Plan, parameters: list[Variable], xs: list[Variable], states: list[Variable], backward: bool
) -> tuple[list[Variable], list[Variable]]:
    """One layer in one direction, step by step: outputs of all steps, and the last states."""
    n = plan.gates
    wx, wh, bx, bh = [parameters[k * n : (k + 1) * n] for k in range(4)]
    ys: list[Any] = [None] * len(xs)
    for t in reversed(range(len(xs))) if backward else range(len(xs)):
        size = plan.sizes[t]
        now = [s[:size] for s in states]
        of_x = [linear(xs[t], w, b) for w, b in zip(wx, bx, strict=True)]
        of_h = [linear(now[0], w, b) for w, b in zip(wh, bh, strict=True)]
        new = plan.kind.step(of_x, of_h, now)
        ys[t] = new[0]
        rests = [s[size:] for s in states]
        states = [concat(pair, axis=0) for pair in zip(new, rests, strict=True)]
    return ys, states


def n_step(
    kind: Kind, directions: int, n_layers: int, ratio: float, states: Sequence[Any], ws: Any, bs: Any, xs: Any
) -> Any:
    """Applies recurrent layers to a batch of sequences.

    Args:
        kind: the cell.
        directions: 1, or 2 for both.
        n_layers: number of layers.
        ratio: probability with which an element between two layers is dropped where ``config.train`` is true.
        states: h, or h and c, each ``(n_layers * directions, batch, units)``.
        ws: weights of each layer and direction.
        bs: biases of each layer and direction.
        xs: the batch at each step.

    Returns:
        The last states, and a tuple of the last layer at each step.
    """
    plan = Plan(kind, n_layers, directions, (), None)
    _check_parameters(plan, ws, bs)
    places = n_layers * directions
    parameters = [as_variable(p) for at in range(places) for p in [*ws[at], *bs[at]]]
    variables = [as_variable(s) for s in states]
    steps = [as_variable(x) for x in xs]
    if n_layers > 1 and not 0.0 <= ratio < 1.0:
        raise ValueError(f'{plan.name}: dropout_ratio must be in the range [0, 1), came {ratio}')
    _check_arrays(plan, variables, parameters, steps)
    sizes = tuple([x.shape[0] for x in steps])
    plan = plan._replace(sizes=sizes, dropout=ratio if config.train else None)
    outputs = NStep(plan).apply([*variables, *parameters, *steps])
    count = len(variables)
    return (*outputs[:count], outputs[count:])


# --- checks ---------------------------------------------------------------------------------------------------------
def _misfit(plan: Plan, expected: str, actual: str) -> InvalidType:
    return invalid(expected, actual, f'Invalid operation is performed in: {plan.name} (Forward)')


def _check_parameters(plan: Plan, ws: Any, bs: Any) -> None:
    if plan.n_layers < 1:
        raise ValueError(f'{plan.name}: n_layers must be at least 1, came {plan.n_layers}')
    places, count = plan.n_layers * plan.directions, 2 * plan.gates
    for name, values in (('ws', ws), ('bs', bs)):
        if len(values) != places or any(len(v) != count for v in values):
            raise ValueError(
                f'{plan.name}: {name} must be a list of {places} lists (layers x directions) of {count} arrays, '
                f'came {[len(v) for v in values]} arrays'
            )


def _check_arrays(plan: Plan, states: list[Variable], parameters: list[Variable], xs: list[Variable]) -> None:
    hx = states[0]
    places = plan.n_layers * plan.directions
    for s in states:
        if s.ndim != 3 or s.shape[0] != places or s.shape != hx.shape:
            expected = f'states of shape ({places}, batch, units)'
            raise _misfit(plan, expected, ' and '.join(str(s.shape) for s in states))
    _check_dtypes(plan, [*states, *parameters, *xs])
    units = hx.shape[2]
    size = parameters[0].shape[1] if parameters[0].ndim == 2 else 0
    for at in range(places):
        _check_layer(plan, at, parameters[at * 4 * plan.gates :], size, units)
        size = size if at + 1 < plan.directions else units * plan.directions
    _check_steps(plan, xs, parameters[0].shape[1], hx.shape[1])


def _check_dtypes(plan: Plan, variables: list[Variable]) -> None:
    dtype = variables[0].dtype
    for v in variables:
        if v.dtype is not dtype and v.dtype != dtype or dtype.kind != 'f':
            raise _misfit(plan, 'float states, parameters and inputs of one dtype', f'{dtype} and {v.dtype}')


def _check_layer(plan: Plan, at: int, parameters: list[Variable], size: int, units: int) -> None:
    n = plan.gates
    wanted = [(units, size)] * n + [(units, units)] * n + [(units,)] * (2 * n)
    for k, shape in enumerate(wanted):
        if parameters[k].shape != shape:
            name = f'ws[{at}][{k}]' if k < 2 * n else f'bs[{at}][{k - 2 * n}]'
            raise _misfit(plan, f'{name} of shape {shape}', f'{parameters[k].shape}')


def _check_steps(plan: Plan, xs: list[Variable], size: int, batch: int) -> None:
    for t, x in enumerate(xs):
        if x.ndim != 2:
            raise _misfit(plan, f'xs[{t}] of shape (batch, {size})', f'{x.shape}')
        if x.shape[1] != size:
            expected = f'xs[{t}] of shape (batch, {size}), the size of the weights'
            if plan.kind.size_error is ValueError:
                raise ValueError(f'{plan.name}: {expected}, expected; came {x.shape}')
            raise _misfit(plan, expected, f'{x.shape}')
        if x.shape[0] > batch:
            raise _misfit(
                plan,
                'no more sequences at a step than at the one before it, or than states at the first one '
                '(sort the sequences by decreasing length)',
                f'{x.shape[0]} at step {t} after {batch}',
            )
        batch = x.shape[0]
