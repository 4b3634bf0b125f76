"""The inputs and parameters of a checked function as a flat list of named arrays, and back."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from minichainer.backend import get_array_module, get_array_types
from minichainer.variable import Variable

_arrays = get_array_types()
#: Up to this many bytes, comparing arrays as bytes is faster than element by element.
_SMALL = 8192


@dataclasses.dataclass(eq=False)
class Leaf:
    """An array that the checked function depends on: an input, an upstream gradient or a parameter.

    Attributes:
        name: Position, path or parameter name, for a failure.
        label: The same for a message, such as ``inputs[0]``.
        array: Its value; the check only reads it.
        differentiable: Whether it is perturbed and its gradient compared.
        must_be_none: Whether backward must return None for it (``no_grads``).
        requires_grad: Whether the function gets a Variable that requires a gradient.
        parameter: The Variable that holds this array, for parameters.
        hidden: Whether the function uses it although the user has not passed it: only its dtype is changed.
    """

    name: int | str
    label: str
    array: Any
    differentiable: bool
    must_be_none: bool = False
    requires_grad: bool = True
    parameter: Variable | None = None
    hidden: bool = False

    def variable(self, array: Any) -> Variable:
        """A Variable for the function, with the value ``array`` for this leaf."""
        if self.parameter is None:
            return Variable(array) if self.requires_grad else Variable(array, requires_grad=False)
        self.parameter.array = array
        return self.parameter


def is_float(array: Any) -> bool:
    """Whether this is a real floating-point array."""
    return array is not None and array.dtype.kind == 'f'


def arrays_in(value: Any, path: str = '') -> Iterator[tuple[str, Any]]:
    """The arrays and Variables in nested tuples, lists and dicts, each with its path, such as ``0.b[1]``."""
    if isinstance(value, (Variable, *_arrays)):
        yield path, value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from arrays_in(item, f'{path}.{key}' if path else str(key))
    elif isinstance(value, (tuple, list)):
        for i, item in enumerate(value):
            yield from arrays_in(item, f'{path}[{i}]')


def rebuilt(value: Any, replacements: Iterator[Any]) -> Any:
    """The same containers, with each array or Variable replaced by the next replacement."""
    if isinstance(value, (Variable, *_arrays)):
        return next(replacements)
    if isinstance(value, dict):
        return {key: rebuilt(item, replacements) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        items = [rebuilt(item, replacements) for item in value]
        return type(value)(*items) if hasattr(value, '_fields') else type(value)(items)
    return value


def input_leaves(inputs: Sequence[Any], flags: Sequence[bool] | None) -> list[Leaf]:
    """The leaves of the arguments of a function; ``flags`` (``no_grads``) has one entry per argument."""
    return [
        _leaf(path if path != str(i) else i, value, flags is not None and bool(flags[i]))
        for i, argument in enumerate(inputs)
        for path, value in arrays_in(argument, str(i))
    ]


def _leaf(name: int | str, value: Any, must_be_none: bool) -> Leaf:
    """The leaf for one input array or Variable."""
    label = f'inputs[{name}]' if isinstance(name, int) else f'inputs {name}'
    array = value.array if isinstance(value, Variable) else value
    if array is None:
        raise ValueError(f'{label} is a Variable without an array: give it one before the check')
    wanted = not isinstance(value, Variable) or value.requires_grad
    if array.dtype.kind == 'c' and wanted and not must_be_none:
        raise NotImplementedError(
            f'{label} is {array.dtype}: complex numbers are not supported; use no_grads to leave it unchecked'
        )
    floating = is_float(array)
    return Leaf(name, label, array, floating and wanted and not must_be_none, must_be_none, floating and wanted)


def parameter_leaves(params: Sequence[Any], names: dict[int, str]) -> list[Leaf]:
    """Parameters as leaves; ``names`` maps the id of a parameter to its path in a link."""
    leaves = []
    for i, p in enumerate(params):
        if not isinstance(p, Variable):
            raise TypeError(f'params[{i}] must be a Variable or Parameter, not {type(p).__name__}')
        name = names.get(id(p)) or p.name or f'params[{i}]'
        label = name if name == f'params[{i}]' else f'params[{i}] ({name})'
        if p.array is None:
            raise ValueError(f'{label} is not initialized: call the link once, or initialize it, before the check')
        leaves.append(Leaf(name, label, p.array, is_float(p.array) and p.requires_grad, parameter=p))
    return leaves


def hidden_leaves(params: Sequence[Any], dtype: Any) -> list[Leaf]:
    """Leaves for the parameters that the user has not passed and whose dtype must follow the inputs."""
    others = [p for p in params if is_float(p.array) and p.array.dtype != dtype]
    return [Leaf('', '', p.array, False, requires_grad=False, parameter=p, hidden=True) for p in others]


def fresh_copy(array: Any) -> Any:
    """A copy that shares no memory with ``array``; contiguous only if ``array`` is."""
    if array.flags.c_contiguous or array.flags.f_contiguous:
        return array.copy(order='K')
    return spread(array)


def spread(array: Any) -> Any:
    """A copy with a gap after every element."""
    copy = get_array_module(array).empty((*array.shape, 2), array.dtype)[..., 0]
    copy[...] = array
    return copy


def same(a: Any, b: Any) -> bool:
    """Whether two arrays hold the same values, NaN and NaN included."""
    if type(a) is type(b) is np.ndarray and a.nbytes <= _SMALL and a.dtype == b.dtype and a.tobytes() == b.tobytes():
        return True
    return bool((a == b).all()) or bool(((a == b) | ((a != a) & (b != b))).all())


def full(gradient: Any, x: Any) -> Any:
    """The gradient of ``x``, with zeros in place of None."""
    return get_array_module(x).zeros_like(x) if gradient is None else gradient


def host(array: Any) -> Any:
    """The array in CPU memory."""
    return array if get_array_module(array) is np else array.get()


def largest(array: Any) -> float:
    """The largest absolute value; 0 for an empty array."""
    return float(abs(array).max()) if array.size else 0.0
