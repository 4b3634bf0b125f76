"""Differentiation on the tape, backward and forward."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager

from minichainer._checks import as_raw
from minichainer._push import pushed_through
from minichainer.autograd.functional._values import Func, Gradients, called, complete, filled
from minichainer.backend import copied
from minichainer.backprop import between
from minichainer.configuration import using_config
from minichainer.differentiate import grad
from minichainer.variable import Variable, as_variable


def recording() -> AbstractContextManager[None]:
    """Records functions of Variables, also inside ``no_backprop_mode``."""
    return using_config('enable_backprop', True)


def gradients(
    outputs: Sequence[Variable], inputs: Sequence[Variable], grad_outputs: Sequence[Variable], create_graph: bool
) -> Gradients:
    """Gradients of the outputs with respect to the inputs; None for an input that no output depends on."""
    return grad(list(outputs), list(inputs), list(grad_outputs), enable_double_backprop=create_graph)


def pushed(
    name: str, func: Func, xs: Sequence[Variable], directions: Iterable[Gradients], create_graph: bool, strict: bool
) -> tuple[list[Variable], bool, list[Gradients]]:
    """Outputs, whether they are a tuple, and for each direction of the inputs the tangents of the outputs.

    This is forward mode over the recorded graph: ``func`` is called once, however many directions there are. A
    direction has None for an input that does not move.
    """
    ys, is_tuple = called(name, func, xs, strict)
    ends = [x.edge for x in xs]
    nodes = between([y.edge for y in ys], ends, ends)
    complete(name, [x if x.edge in nodes else None for x in xs], xs, strict)
    tangents: list[Gradients] = []
    for found in pushed_through([y.edge for y in ys], ends, directions, create_graph):
        tangents.append([None if t is None else as_variable(t if create_graph else copied(as_raw(t))) for t in found])
    return ys, is_tuple, tangents


def value_and_gradient(
    name: str, func: Func, xs: Sequence[Variable], strict: bool
) -> tuple[Variable, list[Variable]]:
    """The output of a scalar function, and its gradient, which can be differentiated."""
    ys, is_tuple = called(name, func, xs, strict)
    if is_tuple:
        raise RuntimeError(f'{name}: func must return a single Variable, got a tuple of {len(ys)}')
    if ys[0].size != 1:
        raise RuntimeError(
            f'{name}: func must return one element, got shape {ys[0].shape}; reduce it, or use jacobian'
        )
    found = gradients(ys, xs, [filled(ys[0], 1)], True)
    return ys[0], complete(name, found, xs, strict, ends=xs)
