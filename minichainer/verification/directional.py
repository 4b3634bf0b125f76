"""A backward pass against the slope of its function along one direction over all arguments at once."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from minichainer.backend import get_array_module
from minichainer.configuration import using_config
from minichainer.function_node import FunctionNode
from minichainer.variable import Variable
from minichainer.verification.differences import (
    KinkDetector,
    as_tuple,
    check_eps,
    check_pairs,
    describe_arrays,
    is_float,
    slope,
    step_error,
)

#: Seed of the direction. The same arguments give the same direction every time: a check does not flicker.
SEED = 0


def name_of(func: Any) -> str:
    """What to call a function in a message."""
    return getattr(func, '__name__', None) or type(func).__name__


@dataclasses.dataclass
class Settings:
    """How a check is made, and what its messages call the check and the upstream gradients."""

    title: str
    eps: float
    atol: float
    rtol: float
    dtype: Any
    detect_nondifferentiable: bool
    upstream: str = 'grad_outputs'

    def __post_init__(self) -> None:
        check_eps(self.eps)
        self.dtype = None if self.dtype is None else np.dtype(self.dtype)
        if self.dtype is not None and self.dtype.kind != 'f':
            raise ValueError(f'`dtype` is allowed only float type, not {self.dtype}')

    def cast(self, array: Any) -> Any:
        """The array in the dtype of the numeric side."""
        return array if self.dtype is None or not is_float(array) else array.astype(self.dtype)

    def tolerance(self, analytic: Any) -> Any:
        """The greatest error allowed."""
        return self.atol + self.rtol * abs(analytic)

    def close(self, numeric: Any, analytic: Any) -> Any:
        """Whether they agree, element by element; NaN and infinity agree with nothing."""
        with np.errstate(invalid='ignore'):
            return np.isfinite(analytic) & (abs(numeric - analytic) <= self.tolerance(analytic))


@dataclasses.dataclass(eq=False)
class Argument:
    """An array that the checked function depends on: an input, an upstream gradient, a parameter's array."""

    name: str
    array: Any
    compared: bool
    must_be_none: bool = False
    parameter: Variable | None = None
    direction: Any = None
    gradient: Any = None

    @property
    def analytic(self) -> float:
        """Its share of the derivative along the direction, as backward has it."""
        if self.gradient is None:
            return 0.0
        with np.errstate(invalid='ignore'):
            return float((self.gradient.astype(np.float64) * self.direction).sum())


class _Upstream(FunctionNode):
    """Joins the outputs into one number whose gradients with regard to them are the given arrays."""

    def __init__(self, grad_outputs: Sequence[Any]) -> None:
        super().__init__()
        self._grad_outputs = grad_outputs

    def forward(self, inputs: tuple[Any, ...]) -> tuple[Any]:
        return (get_array_module(*inputs).zeros((), inputs[0].dtype),)

    def backward(self, indexes: tuple[int, ...], grad_outputs: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(Variable(self._grad_outputs[i]) for i in indexes)


def fresh_copy(array: Any) -> Any:
    """A copy that shares nothing with ``array``, contiguous if it is and not contiguous if it is not."""
    if array is None:
        return None
    if array.flags.c_contiguous or array.flags.f_contiguous:
        return array.copy(order='K')
    spread = get_array_module(array).empty((*array.shape, 2), array.dtype)[..., 0]
    spread[...] = array
    return spread


def _same(a: Any, b: Any) -> bool:
    return bool(((a == b) | ((a != a) & (b != b))).all())


def call_checked(func: Any, inputs: Sequence[Any]) -> tuple[Any, ...]:
    """The outputs of ``func``, always a tuple; TypeError unless they are Variables (or None)."""
    outputs = as_tuple(func(*inputs))
    for i, y in enumerate(outputs):
        if y is not None and not isinstance(y, Variable):
            raise TypeError(f'{name_of(func)} must return Variables, but output {i} is a {type(y).__name__}')
    return outputs


def matching_grad_outputs(outputs: Sequence[Any], grad_outputs: Any) -> tuple[Any, ...]:
    """Upstream gradients that match the outputs: the given ones, or 1 for a loss; ValueError otherwise."""
    arrays = [None if y is None else y.array for y in outputs]
    if grad_outputs is None:
        if [getattr(y, 'shape', None) for y in arrays] != [()]:
            raise ValueError(
                'y_grad may be left out only for a loss, which has '
                f'a single output with shape ().\nActual outputs: {describe_arrays(arrays)}'
            )
        return (get_array_module(arrays[0]).ones_like(arrays[0]),)
    check_pairs(arrays, grad_outputs)
    return tuple(grad_outputs)


@contextlib.contextmanager
def parameters_kept(params: Sequence[Variable]) -> Iterator[None]:
    """Gives each parameter back its array and gradient, the very objects, whatever happens in between."""
    saved = [(p.array, p.grad_var) for p in params]
    try:
        yield
    finally:
        for p, (array, gradient) in zip(params, saved, strict=True):
            p.grad = None
            p.array = array
            p.grad_var = gradient


class DirectionalCheck:
    """Compares the backward pass of ``func`` with its slope along one direction over all its arguments."""

    def __init__(self, func: Any, arguments: Sequence[Argument], grad_outputs: Any, settings: Settings) -> None:
        self.func, self.arguments, self.settings = func, arguments, settings
        self.grad_outputs = grad_outputs

    def run(self, explain: Callable[[DirectionalCheck, float], str]) -> None:
        """Raises AssertionError, with the text that ``explain`` makes, unless the two agree."""
        params = [a.parameter for a in self.arguments if a.parameter is not None]
        with parameters_kept(params), using_config('enable_backprop', True):
            self._backward()
            self._draw_direction()
            compared = self.compared
            numeric = self.numeric({a: a.direction for a in compared})
            if not self.settings.close(numeric, self.analytic):
                raise AssertionError(explain(self, numeric))

    @property
    def analytic(self) -> float:
        """The derivative along the direction that backward claims."""
        return sum(a.analytic for a in self.compared)

    @property
    def compared(self) -> list[Argument]:
        """The arguments that move and whose gradients are compared."""
        return [a for a in self.arguments if a.compared]

    def _call(self, arrays: Sequence[Any]) -> tuple[list[Any], tuple[Any, ...]]:
        """Leaves and outputs of one call of the function, on arrays given to it for good."""
        leaves: list[Any] = []
        for argument, array in zip(self.arguments, arrays, strict=True):
            leaf = argument.parameter
            if leaf is not None:
                leaf.grad = None
                leaf.array = array
            elif array is not None:
                leaf = Variable(array, requires_grad=array.dtype.kind == 'f')
            leaves.append(leaf)
        inputs = [v for v, a in zip(leaves, self.arguments, strict=True) if a.parameter is None]
        return leaves, call_checked(self.func, inputs)

    def _backward(self) -> None:
        arrays = [fresh_copy(a.array) for a in self.arguments]
        leaves, outputs = self._call(arrays)
        self.grad_outputs = matching_grad_outputs(outputs, self.grad_outputs)
        gys = [fresh_copy(gy) for gy in self.grad_outputs]
        used = [(y, gy) for y, gy in zip(outputs, gys, strict=True) if gy is not None]
        if used:
            _Upstream([gy for _, gy in used]).apply([y for y, _ in used])[0].backward()
        for argument, leaf in zip(self.arguments, leaves, strict=True):
            argument.gradient = None if leaf is None else leaf.grad
            if argument.must_be_none and argument.gradient is not None:
                raise RuntimeError(
                    f'The gradient of {argument.name} must be None, because no_grads says so, but '
                    f'{name_of(self.func)} gives one: {describe_arrays([argument.gradient])}'
                )
        self._require_unmodified([*arrays, *gys])

    def _require_unmodified(self, arrays: Sequence[Any]) -> None:
        before = [(a.name, a.array) for a in self.arguments]
        before += [(f'{self.settings.upstream}[{i}]', gy) for i, gy in enumerate(self.grad_outputs)]
        for (name, old), new in zip(before, arrays, strict=True):
            if old is not None and not _same(old, new):
                raise AssertionError(
                    f'{self.settings.title} failed: {name_of(self.func)} changes {name} in place, in forward '
                    'or backward. Work on a copy: others who use that array would compute with wrong numbers.'
                )

    def _draw_direction(self) -> None:
        """One unit vector over all compared arguments; none of its elements so small as to hide an error."""
        sizes = [a.array.size for a in self.compared]
        n = sum(sizes)
        z = np.random.RandomState(SEED).normal(size=n)
        unit = np.copysign(np.sqrt(0.99 * z**2 / max((z**2).sum(), 1e-300) + 0.01 / max(n, 1)), z)
        ends = np.cumsum(sizes)
        for a, size, end in zip(self.compared, sizes, ends, strict=True):
            part = unit[end - size : end].reshape(a.array.shape)
            a.direction = get_array_module(a.array).asarray(part)

    def numeric(self, directions: dict[Argument, Any]) -> float:
        """The slope when these arguments move, each along its direction, and the others stand still."""
        settings = self.settings

        def sample(offset: float) -> list[Any]:
            arrays = []
            for a in self.arguments:
                array = fresh_copy(settings.cast(a.array))
                if a in directions:
                    array[...] = a.array.astype(np.float64) + offset * directions[a]
                arrays.append(array)
            return [None if y is None else y.array for y in self._call(arrays)[1]]

        detector = None
        if settings.detect_nondifferentiable:
            errors = [step_error(settings.cast(a.array), settings.eps * d) for a, d in directions.items()]
            where = f'along the direction of {settings.title}'
            detector = KinkDetector(0, settings.rtol, max(errors, default=0.0), where)
        return slope(sample, [settings.cast(gy) for gy in self.grad_outputs], settings.eps, detector)
