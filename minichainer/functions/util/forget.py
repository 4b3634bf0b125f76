"""Recomputation, to save memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy

from minichainer._inplace import is_modified
from minichainer._tangents import current, upstream
from minichainer.backprop import gradients_of
from minichainer.configuration import config
from minichainer.errors import describe
from minichainer.function_node import FunctionNode
from minichainer.functions.util._first_pass import FirstPass
from minichainer.variable import Variable, as_variable

_EXPECTED = 'forget: func must return a Variable or a tuple of Variables'


class Forget(FunctionNode):
    """A function whose intermediate results are recomputed in backward.

    Its edges lead to its inputs, and then to what ``func`` closes over. Its outputs are those of ``func``, and then
    the Variables that ``func`` has left in links, such as the state of an LSTM.
    """

    takes_any_layout = True
    _first: Any = None
    _seen: Any = None

    def __init__(self, func: Callable[..., Any]) -> None:
        self.func = func
        self._states: list[tuple[Any, str]] = []

    def apply(self, inputs: Any) -> tuple[Variable, ...]:
        """Calls the function, and returns only its own outputs."""
        self._given = [as_variable(x) for x in inputs]
        try:
            outputs = super().apply(self._given)
        finally:
            del self._given
            self.closed_over = []
        count = len(outputs) - len(self._states)
        for (link, name), state in zip(self._states, outputs[count:], strict=True):
            link.__dict__[name] = state
        return outputs[:count]

    def forward(self, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        if not config.enable_backprop:
            return tuple([y._data for y in self._call(self._given)])
        self.retain_inputs(range(len(inputs)))
        self._first = FirstPass(self.func, inputs)
        outputs = self._first.first(lambda: self._call(self._given))
        self._states = self._first.states()
        outputs += self._state_variables()
        self.closed_over = self._first.places_outside(outputs, self._given)
        arrays = tuple([y._data for y in outputs])
        self._seen = [(describe(y), _sample(y)) for y in arrays]
        return arrays

    def _call(self, xs: Sequence[Variable]) -> list[Variable]:
        """Calls the function, and returns its outputs as a list."""
        outputs = self.func(*xs)
        if isinstance(outputs, Variable):
            return [outputs]
        if not isinstance(outputs, (tuple, list)):
            raise RuntimeError(f'{_EXPECTED}, got {type(outputs).__name__}')
        for place, y in enumerate(outputs, 1):
            if not isinstance(y, Variable):
                raise RuntimeError(f'{_EXPECTED}; the {_ordinal(place)} element is {type(y).__name__}')
        return list(outputs)

    def _state_variables(self) -> list[Variable]:
        return [link.__dict__[name] for link, name in self._states]

    def _free(self) -> None:
        self._first = self._seen = None
        super()._free()

    def _release(self) -> None:
        self._first = self._seen = None
        super()._release()

    def backward(self, target_input_indexes: Any, grad_outputs: Any) -> Any:
        edges, inputs = self._applied_edges(), self.get_retained_inputs()
        outputs = self._first.again(lambda: self._call(inputs) + self._state_variables())
        self._check_same(outputs)
        double = config.enable_backprop
        roots = [
            (y.edge, upstream(gy, double))
            for y, gy in zip(outputs, grad_outputs, strict=True)
            if gy is not None and y.requires_grad
        ]
        targets = list(dict.fromkeys([edges[i] for i in target_input_indexes]))
        found = dict(zip(targets, gradients_of(targets, roots, False, double, edges), strict=True))
        gradients = [found.pop(edges[i], None) for i in target_input_indexes]  # only once for a repeated input
        return tuple([gx if gx is None or isinstance(gx, Variable) else Variable(gx) for gx in gradients])

    def _check_same(self, outputs: list[Variable]) -> None:
        if len(outputs) != self.output_count:
            raise _unlike(f'{self.output_count} outputs and states of links', str(len(outputs)))
        for i, (y, (expected, values)) in enumerate(zip(outputs, self._seen, strict=True)):
            actual = describe(y._data)
            if actual != expected:
                raise _unlike(f'{expected} as output {i}', actual)
            self._check_values(i, values, _sample(y._data))

    def _check_values(self, i: int, first: numpy.ndarray | None, again: numpy.ndarray | None) -> None:
        if first is not None and again is not None:
            differing = numpy.flatnonzero(_differences(first, again))
            if differing.size and not is_modified(self):
                k = differing[0]
                raise _unlike(f'{first[k]} as an element of output {i}', f'{again[k]}', _WHY)


def _ordinal(number: int) -> str:
    """1st, 2nd, 3rd, 4th and so on."""
    special = number % 10 in (1, 2, 3) and number % 100 // 10 != 1
    return f'{number}{("st", "nd", "rd")[number % 10 - 1] if special else "th"}'


#: How many elements of each output are compared: enough for a factor, another mask or another order.
_SAMPLED = 64
_WHY = '; a counter, random numbers of a generator of its own, or arrays modified since, change what it computes'


def _sample(array: Any) -> numpy.ndarray | None:
    """Some elements, evenly spaced; None for arrays of devices, which would have to be waited for."""
    if type(array) is not numpy.ndarray or array.dtype.kind not in 'fc':
        return None
    return numpy.array(array.flat[:: max(1, array.size // _SAMPLED)][:_SAMPLED])


def _differences(first: numpy.ndarray, again: numpy.ndarray) -> numpy.ndarray:
    """Which elements differ by more than rounding: sums may be ordered by where arrays are in memory."""
    equal: numpy.ndarray = (first == again) | (numpy.isnan(first) & numpy.isnan(again))
    if equal.all():
        return numpy.zeros_like(equal)
    finite = numpy.isfinite(first)
    allowed = numpy.finfo(first.dtype).eps ** 0.5 * numpy.abs(first[finite]).max(initial=0)
    with numpy.errstate(invalid='ignore', over='ignore'):
        equal |= finite & (numpy.abs(first - again) <= allowed)
    different: numpy.ndarray = ~equal
    return different


def _unlike(expected: str, actual: str, why: str = '') -> RuntimeError:
    return RuntimeError(
        f'forget: func must do the same at each call{why}\nExpect: {expected}, as in the first pass\n'
        f'Actual: {actual} in backward'
    )


def forget(func: Callable[..., Any], *xs: Any) -> Any:
    """Calls a function without saving its intermediate results; backward computes them again.

    Values, gradients of any order and side effects are those of ``func(*xs)``. The second call finds the links that
    ``func`` calls (or is, or is bound to), the settings and the random numbers of NumPy, CuPy and ``random`` as the
    first did, and its side effects are undone. Gradients flow to ``xs`` and to whatever ``func`` closes over. The
    shapes and dtypes of both calls are compared, on the CPU also up to 64 elements of each output.

    Args:
        func: takes Variables, returns a Variable or a tuple of them; it must do the same at each call.
        xs: Variables or arrays.

    Returns:
        What ``func`` returns.

    Raises:
        RuntimeError: ``func`` returns something else, or does something else when it is called again.

    >>> import numpy as np, minichainer as chainer, minichainer.functions as F
    >>> x = chainer.Variable(np.array(2.))
    >>> F.forget(lambda v: v ** 3, x).backward()
    >>> x.grad
    array(12.)
    """
    if current() is not None:  # what func closes over may have a tangent, of which a node would not know
        return func(*[as_variable(x) for x in xs])
    outputs = Forget(func).apply(xs)
    return outputs[0] if len(outputs) == 1 else outputs


__all__ = ['Forget', 'forget']
