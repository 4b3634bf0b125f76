"""Recurrent layers over a batch of sequences of different lengths: one op for all layers, directions and steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from minichainer.backend import get_array_module
from minichainer.backends import cuda
from minichainer.configuration import config
from minichainer.functions._arguments import Arguments
from minichainer.functions._composed import differentiated
from minichainer.functions._define import primitive
from minichainer.functions.activation.rectifiers import relu
from minichainer.functions.activation.sigmoidal import sigmoid, tanh
from minichainer.functions.array.joining import concat, stack
from minichainer.functions.connection.linear import linear
from minichainer.kernels import rnn as kernels
from minichainer.kernels.precision import in_float32
from minichainer.kernels.sequences import divided
from minichainer.utils.type_check import InvalidType
from minichainer.variable import Variable, as_variable


class Kind(NamedTuple):
    """A kind of cell."""

    #: As in the labels of nodes, ``NStepLSTM``.
    name: str
    cell: kernels.Cell
    #: ``step(x_parts, h, states, parts_of_h)``: the plain composition of one step, on Variables.
    step: Any
    #: The exception for inputs of a wrong size; in Chainer it depends on the cell.
    size_error: type[Exception]


class Plan(NamedTuple):
    """The configuration of a call."""

    kind: Kind
    n_layers: int
    #: 1, or 2 for bidirectional layers.
    directions: int
    #: Number of sequences at each step.
    sizes: tuple[int, ...]
    #: Probability of dropping an element between two layers; None for no dropout.
    dropout: float | None

    @property
    def name(self) -> str:
        """The label of the node."""
        return self.kind.name if self.directions == 1 else self.kind.name.replace('NStep', 'NStepBi')

    @property
    def arguments(self) -> Arguments:
        """The argument checks of the op."""
        return Arguments(self.name)

    @property
    def gates(self) -> int:
        """Number of weight matrices for the input, and also for the state, of one layer in one direction."""
        return len(self.kind.cell.order)

    @property
    def parameter_count(self) -> int:
        """Number of weights and biases in all layers and directions."""
        return self.n_layers * self.directions * 4 * self.gates

    def stacked(self, xp: Any, parameters: list[Any]) -> kernels.Weights:
        """The parameters of one layer in one direction, with the gates stacked."""
        n, order = self.gates, self.kind.cell.order
        parts = [xp.concatenate([parameters[k * n + place] for place in order]) for k in range(4)]
        return kernels.Weights(*map(in_float32, parts))

    def unstacked(self, xp: Any, gradient: kernels.Weights | None) -> list[Any]:
        """The gradients of the parameters of one layer in one direction, in the order of the inputs."""
        n, found = self.gates, [None] * (4 * self.gates)
        for k, stacked in enumerate(gradient or ()):
            for part, place in zip(divided(xp, stacked, n), self.kind.cell.order, strict=True):
                found[k * n + place] = part
        return found

    def divided(self, values: Sequence[Any]) -> tuple[list[Any], list[list[Any]], list[Any]]:
        """Splits the op's inputs into states, the parameters of each layer and direction, and steps."""
        states, count = self.kind.cell.states, 4 * self.gates
        end = states + self.parameter_count
        layers = [list(values[at : at + count]) for at in range(states, end, count)]
        return list(values[:states]), layers, list(values[end:])


# --- plain steps ----------------------------------------------------------------------------------------------------
def lstm_step(x: list[Variable], h: list[Variable], states: list[Variable]) -> list[Variable]:
    """New h and c from the input's and the state's part of the gates i, f, g, o."""
    i, f, g, o = [a + b for a, b in zip(x, h, strict=True)]
    c = sigmoid(f) * states[1] + sigmoid(i) * tanh(g)
    return [sigmoid(o) * tanh(c), c]


def gru_step(x: list[Variable], h: list[Variable], states: list[Variable]) -> list[Variable]:
    """New h from the parts of the gates r, z and of the candidate."""
    r, z = sigmoid(x[0] + h[0]), sigmoid(x[1] + h[1])
    candidate = tanh(x[2] + r * h[2])
    return [(1 - z) * candidate + z * states[0]]


def tanh_step(x: list[Variable], h: list[Variable], states: list[Variable]) -> list[Variable]:
    """New h from the input's and the state's part."""
    return [tanh(x[0] + h[0])]


def relu_step(x: list[Variable], h: list[Variable], states: list[Variable]) -> list[Variable]:
    """New h from the input's and the state's part."""
    return [relu(x[0] + h[0])]


LSTM = Kind('NStepLSTM', kernels.LSTM(), lstm_step, ValueError)
GRU = Kind('NStepGRU', kernels.GRU(), gru_step, InvalidType)
ELMAN = {
    'tanh': Kind('NStepRNNTanh', kernels.Elman('tanh'), tanh_step, ValueError),
    'relu': Kind('NStepRNNReLU', kernels.Elman('relu'), relu_step, ValueError),
}


# --- the op ---------------------------------------------------------------------------------------------------------
def _reference(*xs: Variable, plan: Plan, masks: Sequence[Any]) -> tuple[Variable, ...]:
    """The composition of plain ops, step by step."""
    states, layers, steps = plan.divided(xs)
    last: list[list[Variable]] = []
    for layer in range(plan.n_layers):
        results = []
        for direction in range(plan.directions):
            at = layer * plan.directions + direction
            dropped = _dropped(steps, masks[at], plan.sizes)
            ys, final = _plain_layer(plan, layers[at], dropped, [s[at] for s in states], direction == 1)
            results.append(ys)
            last.append(final)
        steps = [ys[0] if len(ys) == 1 else concat(ys, axis=1) for ys in zip(*results, strict=True)]
    return (*[stack(list(column)) for column in zip(*last, strict=True)], *steps)


def _fast(xp: Any, gy: Any, residual: kernels.Layers, plan: Plan, masks: Sequence[Any], wanted: Any) -> list[Any]:
    states, count = plan.kind.cell.states, plan.parameter_count
    of_parameters, of_steps = any(wanted[states : states + count]), any(wanted[states + count :])
    gstates, gradients, gx = kernels.layers_backward(
        xp, plan.kind.cell, residual, masks, gy[:states], gy[states:], (of_steps, of_parameters)
    )
    found = [part for gradient in gradients for part in plan.unstacked(xp, gradient)]
    steps = [None if gx is None else gx[begin:end] for begin, end in kernels.spans_of(plan.sizes)]
    return [*gstates, *found, *steps]


@primitive(
    rule=differentiated(_reference),
    fast=_fast,
    name='NStep',
    label=lambda plan, masks: plan.name,
    several_outputs=True,
)
def n_step_layers(xp: Any, *xs: Any, plan: Plan, masks: Sequence[Any]) -> Any:
    """All layers, directions and steps.

    Args:
        xp: numpy or cupy.
        xs: states ``(layers * directions, batch, units)``, the weights and biases of each layer and direction, and
            the steps ``(size, inputs)``.
        plan: the configuration.
        masks: for each layer and direction the factors of its inputs, None where nothing is dropped.

    Returns:
        The last states, and the last layer at each step.
    """
    states, layers, steps = plan.divided(xs)
    weights = [plan.stacked(xp, parameters) for parameters in layers]
    last, y, saved = kernels.layers_forward(xp, plan.kind.cell, weights, masks, states, steps, plan.directions)
    outputs = [*last, *[y[begin:end] for begin, end in kernels.spans_of(plan.sizes)]]
    return tuple([a.astype(xs[0].dtype, copy=False) for a in outputs]), saved


def _drawn(plan: Plan, x: Any, units: int) -> tuple[Any, ...]:
    """Dropout factors for the inputs of each layer and direction after the first layer, in order."""
    places = plan.n_layers * plan.directions
    masks: list[Any] = [None] * places
    if plan.dropout is not None:
        xp, dtype = get_array_module(x), in_float32(x[:0]).dtype
        for at in range(plan.directions, places):
            # Drawn even if nothing is dropped, so that later random numbers stay the same.
            draws = xp.random.rand(sum(plan.sizes), plan.directions * units)
            if plan.dropout:
                masks[at] = (draws >= plan.dropout) * dtype.type(1.0 / (1 - plan.dropout))
    return tuple(masks)


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
    plan.arguments.arrays(**dict(zip(('hx', 'cx'), states, strict=False)))
    variables = [as_variable(s) for s in states]
    steps = [as_variable(x) for x in xs]
    if n_layers > 1 and not 0.0 <= ratio < 1.0:
        raise plan.arguments.wrong_value('a number in [0, 1)', 'dropout_ratio', ratio)
    _check_arrays(plan, variables, parameters, steps)
    sizes = tuple([x.shape[0] for x in steps])
    plan = plan._replace(sizes=sizes, dropout=ratio if config.train else None)
    hx = variables[0]._data
    with cuda.get_device_from_array(hx):
        masks = _drawn(plan, hx, hx.shape[2])
    outputs = n_step_layers(*variables, *parameters, *steps, plan=plan, masks=masks)
    count = len(variables)
    return (*outputs[:count], outputs[count:])


# --- checks ---------------------------------------------------------------------------------------------------------
def _check_parameters(plan: Plan, ws: Any, bs: Any) -> None:
    plan.arguments.integer(plan.n_layers, 'n_layers', least=1)
    places, count = plan.n_layers * plan.directions, 2 * plan.gates
    for name, values in (('ws', ws), ('bs', bs)):
        if len(values) != places or any(len(v) != count for v in values):
            raise ValueError(
                f'{plan.name}: {name} must be a list of {places} lists (layers x directions) of {count} arrays, '
                f'got {[len(v) for v in values]} arrays'
            )


def _check_arrays(plan: Plan, states: list[Variable], parameters: list[Variable], xs: list[Variable]) -> None:
    hx = states[0]
    places = plan.n_layers * plan.directions
    for s in states:
        if s.ndim != 3 or s.shape[0] != places or s.shape != hx.shape:
            expected = f'states of shape ({places}, batch, units)'
            raise plan.arguments.misfit(expected, ' and '.join(str(s.shape) for s in states))
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
        if (v.dtype is not dtype and v.dtype != dtype) or dtype.kind != 'f':
            raise plan.arguments.misfit('float states, parameters and inputs of one dtype', f'{dtype} and {v.dtype}')


def _check_layer(plan: Plan, at: int, parameters: list[Variable], size: int, units: int) -> None:
    n = plan.gates
    wanted = [(units, size)] * n + [(units, units)] * n + [(units,)] * (2 * n)
    for k, shape in enumerate(wanted):
        if parameters[k].shape != shape:
            name = f'ws[{at}][{k}]' if k < 2 * n else f'bs[{at}][{k - 2 * n}]'
            raise plan.arguments.misfit(f'{name} of shape {shape}', f'{parameters[k].shape}')


def _check_steps(plan: Plan, xs: list[Variable], size: int, batch: int) -> None:
    for t, x in enumerate(xs):
        if x.ndim != 2:
            raise plan.arguments.misfit(f'xs[{t}] of shape (batch, {size})', f'{x.shape}')
        if x.shape[1] != size:
            expected = f'xs[{t}] of shape (batch, {size}), the size of the weights'
            if plan.kind.size_error is ValueError:
                raise ValueError(f'{plan.name}: {expected}, expected, got {x.shape}')
            raise plan.arguments.misfit(expected, f'{x.shape}')
        if x.shape[0] > batch:
            raise plan.arguments.misfit(
                'no more sequences at a step than at the one before it, or than states at the first one '
                '(sort the sequences by decreasing length)',
                f'{x.shape[0]} at step {t} after {batch}',
            )
        batch = x.shape[0]
