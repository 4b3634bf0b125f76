"""What an entry of the catalogue is: a function with a planted fault, or a right one that trips checkers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from minichainer.function_node import FunctionNode
from minichainer.variable import Variable

Shape = tuple[int, ...]
Arrays = tuple[Any, ...]

SQUARE = 'square'  # needs as many rows as columns


@dataclass(frozen=True)
class Case:
    """One function at one point, to be checked.

    Args:
        func: takes Variables, as ``check_gradients`` gives them.
        inputs: arrays (or containers, integers, None).
        right: the same function with the right gradient; the proof of a planted fault.
        forward: the same on NumPy arrays, complex ones too: the proof of a right function.
        options: further arguments of ``check_gradients``.
        again: builds the same anew, for faults that remember what has happened.
    """

    func: Callable[..., Any]
    inputs: Arrays
    right: Callable[..., Any] | None = None
    forward: Callable[..., Any] | None = None
    options: dict[str, Any] = field(default_factory=dict)
    again: Callable[[], Case] | None = None


@dataclass(frozen=True)
class Planted:
    """A kind of wrong gradient.

    Args:
        name: unique.
        family: value, structure, linearity, dtype, shape, second order, nondeterministic, in place, stale,
            element, mutation, network, plateau, small, frozen, unregistered, exception and others.
        build: makes a Case of a shape, a dtype character and a seed.
        at: position, path or name of the wrong input; None where any may be blamed.
        causes: accepted causes, in the words of ``causes.py``; none: any will do.
        order: at which it is wrong, and checked.
        wrong_at: order of the failures that the report must have, where it is not ``order``.
        verdicts: accepted verdicts.
        where: ``computed`` (the elements in which the gradient differs from the right one), ``whole`` (no
            elements) or a function that takes the arrays of the inputs to a mask of the wrong elements.
        needs: ``square`` where rows and columns must be equal in number.
        dtypes: dtype characters it is tried with.
        native: it refuses float64, so that all differences are those of float32.
        unseen: why it cannot be seen for certain, with the arithmetic; measured, and no miss.
        proof: for faults of behaviour, whether ``case`` misbehaves; else gradients are compared.
        alone: only minichainer can be asked (Links, containers, hooks of its engine).
        raises: the exception of the function that must reach the user.
    """

    name: str
    family: str
    build: Callable[[Shape, str, int], Case]
    at: Any = 0
    causes: tuple[str, ...] = ()
    order: int = 1
    wrong_at: int | None = None
    verdicts: tuple[str, ...] = ('fail',)
    where: Any = 'computed'
    needs: str = ''
    dtypes: str = 'fd'
    native: bool = False
    unseen: str = ''
    proof: Callable[[Case], bool] | None = None
    alone: bool = False
    raises: type[Exception] | None = None

    def fits(self, shape: Shape, dtype: str) -> bool:
        """Whether it can be built with this shape and dtype."""
        return dtype in self.dtypes and (self.needs != SQUARE or shape[0] == shape[1])

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Correct:
    """A right function at a point where checkers stumble.

    Args:
        name: unique.
        why: what other checkers stumble over.
        build: makes a Case of a shape, a dtype character and a seed.
        dtypes: dtype characters it is tried with.
        verdicts: accepted verdicts.
        tolerance: relative error at which the proof accepts the gradient; looser where cancellation is the point.
        rounding: absolute error that the proof accepts, where the gradient itself is a difference that cancels.
        alone, order: as in :class:`Planted`.
        native: refuses float64, and is proved in its own dtype.
        stretches: it is differentiable, and proved to the same accuracy, also where all rows are the same.
    """

    name: str
    why: str
    build: Callable[[Shape, str, int], Case]
    dtypes: str = 'fd'
    verdicts: tuple[str, ...] = ('pass',)
    tolerance: float = 1e-9
    alone: bool = False
    order: int = 1
    native: bool = False
    rounding: float = 0.0
    stretches: bool = True

    def fits(self, shape: Shape, dtype: str) -> bool:
        """Whether it can be built with this shape and dtype."""
        return dtype in self.dtypes

    def __str__(self) -> str:
        return self.name


class Plan(FunctionNode):
    """A node of two functions: forward on arrays, backward on Variables."""

    def __init__(self, forward: Any, backward: Any) -> None:
        self.plan = forward, backward
        self.outputs_like: list[Any] = []

    def forward(self, inputs: Any) -> Any:
        self.retain_inputs(tuple(range(len(inputs))))
        ys = self.plan[0](*inputs)
        ys = tuple([np.asarray(y) for y in (ys if isinstance(ys, tuple) else (ys,))])
        self.outputs_like = [(y.shape, y.dtype) for y in ys]
        return ys

    def backward(self, indexes: Any, gys: Any) -> Any:
        missing = zip(gys, self.outputs_like, strict=True)
        gys = tuple([Variable(np.zeros(*like)) if gy is None else gy for gy, like in missing])
        return self.plan[1](self.get_retained_inputs(), gys)


class StridedPlan(Plan):
    """The same with arrays as they lie in memory, as kernels that know strides get them."""

    takes_any_layout = True


class FastPlan(Plan):
    """The same with a backward on arrays that nobody checks, as built-in functions have it."""

    def __init__(self, forward: Any, backward: Any, backward_arrays: Any) -> None:
        super().__init__(forward, backward)
        self.fast = backward_arrays

    def backward_arrays(self, indexes: Any, gys: Any) -> Any:
        missing = zip(gys, self.outputs_like, strict=True)
        gys = [np.zeros(*like) if gy is None else gy for gy, like in missing]
        found = self.fast([x.array for x in self.get_retained_inputs()], gys)
        return tuple([None if found[i] is None else np.asarray(found[i]) for i in indexes])


def function(forward: Any, backward: Any, node: type[Plan] = Plan) -> Callable[..., Any]:
    """A function of Variables from ``forward(*arrays)`` and ``backward(xs, gys)`` on Variables."""

    def call(*xs: Any) -> Any:
        ys = node(forward, backward).apply(xs)
        return ys[0] if len(ys) == 1 else ys

    return call


def raw(forward: Any, vjp: Any, node: type[Plan] = Plan) -> Callable[..., Any]:
    """A function of Variables from ``forward(*arrays)`` and ``vjp(xs, gys)`` on arrays; once differentiable."""

    def backward(xs: Any, gys: Any) -> Any:
        found = vjp([x.array for x in xs], [gy.array for gy in gys])
        return tuple([_variable(g, x) for g, x in zip(found, xs, strict=True)])

    return function(forward, backward, node)


def strided(forward: Any, vjp: Any) -> Callable[..., Any]:
    """Like :func:`raw`, with arrays as they lie in memory."""
    return raw(forward, vjp, StridedPlan)


def fast(forward: Any, vjp: Any) -> Callable[..., Any]:
    """Like :func:`raw`, but gradients of any shape and dtype get through."""

    def backward(xs: Any, gys: Any) -> Any:
        found = vjp([x.array for x in xs], [gy.array for gy in gys])
        return tuple([None if g is None else Variable(np.asarray(g)) for g in found])

    def call(*xs: Any) -> Any:
        ys = FastPlan(forward, backward, vjp).apply(xs)
        return ys[0] if len(ys) == 1 else ys

    return call


def native(forward: Any, vjp: Any) -> Callable[..., Any]:
    """Like :func:`raw`, for float32 alone, as a kernel may be."""
    inner = raw(forward, vjp)

    def call(*xs: Any) -> Any:
        for x in xs:
            if x.dtype != np.float32:
                raise TypeError(f'this function takes float32, not {x.dtype}')
        return inner(*xs)

    return call


def twice(forward: Any, vjp: Any, vjp2: Any, node: type[Plan] = Plan) -> Callable[..., Any]:
    """A twice differentiable function: ``vjp2(xs, gys, ggxs)`` gives the gradients of ``xs`` and of ``gys``."""

    def backward(xs: Any, gys: Any) -> Any:
        n = len(xs)
        first = function(
            lambda *a: tuple(vjp(list(a[:n]), list(a[n:]))),
            lambda a, ggxs: tuple(
                [_variable(g, x) for g, x in zip(vjp2(*_split(a, n), _arrays(ggxs)), a, strict=True)]
            ),
            node,
        )
        found = first(*xs, *gys)
        return found if isinstance(found, tuple) else (found,)

    return function(forward, backward, node)


def _arrays(variables: Any) -> list[Any]:
    return [v.array for v in variables]


def _split(variables: Any, n: int) -> tuple[list[Any], list[Any]]:
    arrays = _arrays(variables)
    return arrays[:n], arrays[n:]


def _variable(gradient: Any, x: Any) -> Any:
    if gradient is None:
        return None
    gradient = np.asarray(gradient)
    return Variable(gradient.astype(x.dtype, copy=False) if gradient.dtype.kind == 'f' else gradient)


def as_dtype(arrays: Any, dtype: str) -> Arrays:
    """Float arrays in the dtype; everything else as it is."""
    return tuple([a.astype(dtype) if isinstance(a, np.ndarray) and a.dtype.kind == 'f' else a for a in arrays])


def generator(name: str, seed: int) -> np.random.RandomState:
    """Draws of one entry: the same for one seed in every process."""
    return np.random.RandomState([seed, *name.encode()])
