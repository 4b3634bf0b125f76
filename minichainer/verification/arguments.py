"""What a user passes to a check, as arguments that can be moved and compared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minichainer.backend import get_array_types
from minichainer.variable import Variable
from minichainer.verification.differences import as_tuple, check_pairs, is_float
from minichainer.verification.directional import Argument


def as_arrays(value: Any, what: str) -> tuple[Any, ...]:
    """A tuple of arrays and Nones, from one array or several."""
    arrays = as_tuple(value)
    for i, array in enumerate(arrays):
        if array is not None and not isinstance(array, get_array_types()):
            raise TypeError(
                f'{what}[{i}] must be a numpy.ndarray or cupy.ndarray, not {type(array).__name__}; '
                'convert it, for example by numpy.asarray, or pass variable.array'
            )
    return arrays


def as_variables(arrays: Sequence[Any]) -> list[Variable | None]:
    """Variables of copies of the arrays; those of other than floating-point numbers need no gradient."""
    return [None if x is None else Variable(x.copy(), requires_grad=is_float(x)) for x in arrays]


def input_arguments(
    arrays: Sequence[Any], no_grads: Sequence[bool] | None, count: int | None = None
) -> list[Argument]:
    """The inputs, ``count`` of them (default: all), and upstream gradients after them, as arguments."""
    count = len(arrays) if count is None else count
    names = [f'inputs[{i}]' for i in range(count)] + [f'grad_outputs[{i}]' for i in range(len(arrays) - count)]
    flags = [False] * len(arrays) if no_grads is None else list(no_grads)
    if len(flags) != len(arrays):
        raise ValueError(
            f'no_grads: one flag expected for each of {", ".join(names)}.\nActual: {len(flags)} != {len(arrays)}'
        )
    for name, array, flag in zip(names, arrays, flags, strict=True):
        if array is not None and array.dtype.kind == 'c' and not flag:
            raise TypeError(
                f'{name} is {array.dtype}; complex numbers are not differentiated: set no_grads to pass it'
            )
    return [
        Argument(name, array, compared=is_float(array) and not flag, must_be_none=bool(flag))
        for name, array, flag in zip(names, arrays, flags, strict=True)
    ]


def parameter_arguments(params: Any) -> list[Argument]:
    """Parameters, one or several, as arguments; those without an array are refused."""
    arguments = []
    for i, p in enumerate(as_tuple(params)):
        if not isinstance(p, Variable):
            raise TypeError(f'params[{i}] must be a Variable or Parameter, not {type(p).__name__}')
        name = f'params[{i}]' + (f' ({p.name})' if p.name else '')
        if p.array is None:
            raise ValueError(f'{name} is not initialized: call the link once, or initialize it, before the check')
        arguments.append(Argument(name, p.array, compared=is_float(p.array), parameter=p))
    return arguments


def check_grad_grads(what: str, arrays: Sequence[Any], grads_what: str, grad_grads: Sequence[Any]) -> None:
    """Raises ValueError unless each array has a second upstream gradient of its shape and dtype, or None."""
    try:
        check_pairs(arrays, grad_grads)
    except ValueError as error:
        raise ValueError(f'{grads_what} must have an array (or None) for each entry of {what}.\n{error}') from None
    for i, (x, gg) in enumerate(zip(arrays, grad_grads, strict=True)):
        if gg is not None and not is_float(x):
            raise ValueError(f'{grads_what}[{i}] must be None, because {what}[{i}] ({x.dtype}) has no gradient')
