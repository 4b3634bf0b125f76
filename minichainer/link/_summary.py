"""The table of :meth:`minichainer.Link.summary`: what each layer of a model returns, keeps and costs."""

from __future__ import annotations

import copy
import functools
import operator
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy

from minichainer import backend
from minichainer.backends import cuda
from minichainer.configuration import force_backprop_mode
from minichainer.function_hook import FunctionHook
from minichainer.functions.math.reductions import sum as sum_
from minichainer.link_hook import LinkHook
from minichainer.variable import Variable

_COLUMNS = ('layer', 'output', 'parameters', 'memory', 'forward', 'backward')


@dataclass
class Cost:
    """What the calls of one link return and cost; times and memory include those of its children."""

    output: str = '-'
    memory: int = 0
    forward: float = 0.0
    backward: float = 0.0
    calls: int = 0


@dataclass
class Summary:
    """The costs of a model by the identity of its links."""

    model: Any
    costs: dict[int, Cost] = field(default_factory=dict)

    def rows(self) -> Iterator[tuple[str, ...]]:
        """The cells of the table: the model, then its descendants in the order of their first calls."""
        return self._rows_of('', self.model, 0)

    def _rows_of(self, name: str, link: Any, depth: int) -> Iterator[tuple[str, ...]]:
        cost = self.costs.get(id(link), Cost())
        layer = '  ' * depth + f'{name} {type(link).__name__}'.lstrip()
        times = (_time(cost.forward), _time(cost.backward)) if cost.calls else ('not called', '')
        yield layer, cost.output, f'{_parameters(link):,}', _bytes(cost.memory), *times
        order = {key: i for i, key in enumerate(self.costs)}
        children = sorted(link._named_children(), key=lambda named: order.get(id(named[1]), len(order)))
        for child_name, child in children:
            yield from self._rows_of(child_name, child, depth + 1)

    def __str__(self) -> str:
        rows = [_COLUMNS, *self.rows()]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [_line(row, widths) for row in rows]
        arrays = [param.array for param in self.model.params(include_uninit=False)]
        total = f'{_parameters(self.model):,} parameters ({_bytes(sum(array.nbytes for array in arrays))})'
        kept = _bytes(self.costs.get(id(self.model), Cost()).memory)
        return '\n'.join([*lines, '', f'{total}, as much again for gradients; {kept} kept from forward to backward'])


def summarize(link: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Summary:
    """Calls copies of a link, forward and backward: one to find the shapes, one to measure.

    The link itself and NumPy's random numbers stay as they are.
    """
    state = numpy.random.get_state()
    try:
        with force_backprop_mode():
            first = copy.deepcopy(link)
            _backward(_called(first, args, kwargs))
            measured = copy.deepcopy(link)
            for param, known in zip(measured.params(), first.params(), strict=True):
                if not param.is_initialized and known.is_initialized:
                    param.initialize(known.shape)
            measured.cleargrads()
            return _measured(measured, args, kwargs)
    finally:
        numpy.random.set_state(state)


def _called(link: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    try:
        return link(*args, **kwargs)
    except (TypeError, ValueError, IndexError) as error:
        if args or kwargs:
            raise
        text = f'{type(link).__name__}.summary: the layers are called, with a mini-batch: write model.summary(x)'
        raise TypeError(f'{text} ({error})') from error


def _measured(link: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Summary:
    summary = Summary(link)
    layers = _Layers(summary.costs, link.xp is not numpy)
    functions = _Functions(layers)
    with layers, functions:
        outputs = link(*args, **kwargs)
        functions.count_memory({id(array) for array in _arrays([args, kwargs, list(link.params())])})
        _backward(outputs)
    return summary


class _Layers(LinkHook):
    """Notes outputs and forward times of links, and which links are running."""

    name = 'Link.summary'

    def __init__(self, costs: dict[int, Cost], on_gpu: bool) -> None:
        self.costs = costs
        self.running: list[tuple[Cost, float]] = []
        self._on_gpu = on_gpu

    def now(self) -> float:
        """The time, when the device has finished."""
        if self._on_gpu:
            cuda.cupy.cuda.get_current_stream().synchronize()
        return time.perf_counter()

    def forward_preprocess(self, args: Any) -> None:
        self.running.append((self.costs.setdefault(id(args.link), Cost()), self.now()))

    def forward_postprocess(self, args: Any) -> None:
        cost, begin = self.running.pop()
        cost.forward += self.now() - begin
        cost.output = _shapes(args.out)
        cost.calls += 1


class _Functions(FunctionHook):
    """Notes which links have called a function, for its memory and the time of its backward."""

    name = 'Link.summary'

    def __init__(self, layers: _Layers) -> None:
        self._layers = layers
        self._callers: dict[int, tuple[Any, list[Cost]]] = {}
        self._begin = 0.0

    def forward_postprocess(self, function: Any, in_data: Any) -> None:
        callers = {id(cost): cost for cost, _ in self._layers.running}
        self._callers[id(function)] = function, list(callers.values())

    def count_memory(self, known: set[int]) -> None:
        """Adds the bytes of the arrays that functions keep for backward, each once; not those that are known."""
        seen = set(known)
        for function, callers in self._callers.values():
            for array in _arrays(getattr(function, 'saved', ())):
                if id(array) not in seen:
                    seen.add(id(array))
                    for cost in callers:
                        cost.memory += array.nbytes

    def backward_preprocess(self, function: Any, in_data: Any, out_grad: Any) -> None:
        self._begin = self._layers.now()

    def backward_postprocess(self, function: Any, in_data: Any, out_grad: Any) -> None:
        seconds = self._layers.now() - self._begin
        for cost in self._callers.get(id(function), (None, []))[1]:
            cost.backward += seconds


def _arrays(values: Any) -> Iterator[Any]:
    """The arrays in nested tuples, lists and dicts; those that own the memory."""
    if isinstance(values, Variable):
        values = values._data
    if isinstance(values, backend.get_array_types()):
        array: Any = values
        while isinstance(array.base, backend.get_array_types()):
            array = array.base
        yield array
    elif isinstance(values, (tuple, list, dict)):
        for value in values.values() if isinstance(values, dict) else values:
            yield from _arrays(value)


def _variables(values: Any) -> Iterator[Variable]:
    if isinstance(values, Variable):
        yield values
    elif isinstance(values, (tuple, list, dict)):
        for value in values.values() if isinstance(values, dict) else values:
            yield from _variables(value)


def _backward(outputs: Any) -> None:
    """Backward from the sum of all outputs that have a gradient and the dtype of the first."""
    sums = [sum_(y) for y in _variables(outputs) if y.requires_grad and y.creator is not None]
    sums = [y for y in sums if y.dtype == sums[0].dtype]
    if sums:
        functools.reduce(operator.add, sums).backward()


def _shapes(output: Any) -> str:
    if isinstance(output, (tuple, list)):
        return ', '.join(map(_shapes, output))
    if isinstance(output, dict):
        return ', '.join(f'{key}: {_shapes(value)}' for key, value in output.items())
    shape = getattr(output, 'shape', None)
    return type(output).__name__ if shape is None else str(shape)


def _parameters(link: Any) -> int:
    return sum(param.size for param in link.params(include_uninit=False))


def _line(cells: tuple[str, ...], widths: list[int]) -> str:
    pairs = zip(cells, widths, strict=True)
    texts = [cell.ljust(width) if i < 2 else cell.rjust(width) for i, (cell, width) in enumerate(pairs)]
    return '  '.join(texts).rstrip()


def _bytes(count: int) -> str:
    size, unit = float(count), 'B'
    for larger in ('kB', 'MB', 'GB', 'TB'):
        if size < 1000:
            break
        size, unit = size / 1000, larger
    return f'{size:.3g} {unit}'


def _time(seconds: float) -> str:
    return f'{seconds * 1e3:.2f} ms'
