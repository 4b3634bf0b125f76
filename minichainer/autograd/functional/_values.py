"""Arguments and results of the functions of :mod:`minichainer.autograd.functional`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

from minichainer._checks import array_types
from minichainer.backends import cuda
from minichainer.backprop import reachable
from minichainer.functions.array.conversion import as_dtype, identity
from minichainer.variable import Variable, as_array

#: A function from Variables to a Variable or a tuple of them.
Func: TypeAlias = Callable[..., Any]
#: Gradients in the order of what they belong to; None for what does not depend on the inputs.
Gradients: TypeAlias = Sequence['Variable | None']

_HINT = 'strict=True requires one; compute it from Variables by functions, or pass strict=False for zeros'


def inputs_of(name: str, inputs: Any, create_graph: bool) -> tuple[list[Variable], bool]:
    """New Variables with the values of the inputs; connected to the inputs if a graph is wanted."""
    entries, is_tuple = _listed(name, 'inputs', inputs, (Variable, *array_types()))
    for i, entry in enumerate(entries):
        if entry.dtype.kind not in 'fc':
            raise RuntimeError(f'{name}: inputs must be floats, got {entry.dtype} for input {i}; cast it first')
    return [
        identity(x) if create_graph and isinstance(x, Variable) and x.requires_grad else Variable(as_array(x))
        for x in entries
    ], is_tuple


def called(name: str, func: Func, xs: Sequence[Variable], strict: bool) -> tuple[list[Variable], bool]:
    """The outputs of the function, and whether they are a tuple."""
    ys, is_tuple = _listed(name, 'outputs of func', func(*xs), (Variable,))
    if strict:
        check_dependence(name, ys, xs, 'output')
    return ys, is_tuple


def vector(name: str, v: Any, like: Sequence[Variable], what: str, create_graph: bool) -> list[Variable]:
    """``v`` as Variables with the shapes and dtypes of inputs or outputs."""
    if v is None:
        if len(like) != 1 or like[0].size != 1:
            shapes = ', '.join(str(x.shape) for x in like)
            raise RuntimeError(
                f'{name}: v is needed unless there is one {what} with one element, got shapes {shapes}'
            )
        return [filled(like[0], 1)]
    vs, _ = _listed(name, 'v', v, (Variable, *array_types()))
    if len(vs) != len(like):
        raise RuntimeError(f'{name}: v must have one entry per {what}, {len(like)} expected, got {len(vs)}')
    for i, (entry, x) in enumerate(zip(vs, like, strict=True)):
        if entry.shape != x.shape:
            raise RuntimeError(f'{name}: v must have the shape of {what} {i}, {x.shape} expected, got {entry.shape}')
    if not create_graph:
        vs = [as_array(entry) for entry in vs]
    return [as_dtype(entry, x.dtype) for entry, x in zip(vs, like, strict=True)]


def _listed(name: str, what: str, values: Any, kinds: tuple[type, ...]) -> tuple[list[Any], bool]:
    """The entries, and whether they are a tuple."""
    is_tuple = isinstance(values, tuple)
    entries = list(values) if is_tuple else [values]
    for i, entry in enumerate(entries):
        if not isinstance(entry, kinds):
            where = f' at index {i}' if is_tuple else ''
            raise TypeError(
                f'{name}: {what} must be a Variable or a tuple of them, got {type(entry).__name__}{where}'
            )
    return entries, is_tuple


def filled(like: Variable, value: int, shape: tuple[int, ...] | None = None) -> Variable:
    """A constant with the device, dtype and, by default, shape of another Variable."""
    with cuda.get_device_from_array(like.array):
        array = like.xp.full(like.shape if shape is None else shape, value, like.dtype)
    return Variable(array, requires_grad=False)


def units(x: Variable) -> Iterator[Variable]:
    """For each element of ``x``, a constant of its shape that is 1 there and 0 elsewhere."""
    for i in range(x.size):
        unit = filled(x, 0)
        with cuda.get_device_from_array(unit.array):
            unit.array.reshape(-1)[i] = 1
        yield unit


def complete(
    name: str,
    found: Gradients,
    like: Sequence[Variable],
    strict: bool,
    what: str = 'with respect to input',
    ends: Sequence[Variable] = (),
) -> list[Variable]:
    """Derivatives with zeros in place of None; in strict mode all must exist, and depend on ``ends`` if any."""
    for i, g in enumerate(found):
        if strict and g is None:
            raise RuntimeError(f'{name}: no path in the graph for the derivative {what} {i}; {_HINT}')
    derivatives = [filled(x, 0) if g is None else g for g, x in zip(found, like, strict=True)]
    if strict and ends:
        check_dependence(name, derivatives, ends, f'the derivative {what}')
    return derivatives


def check_dependence(name: str, values: Sequence[Variable], xs: Sequence[Variable], what: str) -> None:
    """Raises unless a path leads from each value to one of the inputs."""
    ends = {x.edge for x in xs}
    for i, value in enumerate(values):
        if ends.isdisjoint(reachable([value.edge])):
            raise RuntimeError(f'{name}: no path in the graph from {what} {i} to the inputs; {_HINT}')


def returned(values: Sequence[Variable], as_tuple: bool, create_graph: bool) -> Any:
    """Results in the structure of what they belong to, as constants unless ``create_graph``."""
    if not create_graph:
        values = [Variable(value.array, requires_grad=False) for value in values]
    return tuple(values) if as_tuple else values[0]
