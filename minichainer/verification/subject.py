"""The function under test as a function of a flat list of arrays, and its gradient as another one."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any

from minichainer.backend import get_array_types
from minichainer.configuration import using_config
from minichainer.differentiate import grad
from minichainer.functions.array.conversion import as_dtype
from minichainer.variable import Variable
from minichainer.verification.leaves import Leaf, is_float, rebuilt
from minichainer.verification.progress import Progress

_arrays: tuple[Any, ...] = get_array_types()


@dataclasses.dataclass
class Calls:
    """Counts the calls of the user's function and its backward passes."""

    progress: Progress
    forward: int = 0
    backward: int = 0


def name_of(func: Any) -> str:
    """The name of a function in messages."""
    return getattr(func, '__name__', None) or type(func).__name__


@dataclasses.dataclass
class Subject:
    """A function of leaves.

    Attributes:
        name: In messages.
        leaves: What it depends on.
        call: Maps one Variable per leaf to a list of outputs: Variables, or None where an output cannot be
            differentiated.
        calls: The counters.
        before_call: Called before each call, to restore what the previous one may have changed.
        type_check: Whether functions may check the dtypes of their inputs.
    """

    name: str
    leaves: list[Leaf]
    call: Callable[[list[Variable]], list[Variable | None]]
    calls: Calls
    before_call: Callable[[], None] = lambda: None
    type_check: bool = True

    def evaluate(self, arrays: Sequence[Any]) -> Evaluation:
        """Calls the function on these arrays, one per leaf."""
        self.before_call()
        variables = [leaf.variable(array) for leaf, array in zip(self.leaves, arrays, strict=True)]
        return Evaluation(self, variables, self._called(variables))

    def outputs(self, arrays: Sequence[Any]) -> list[Any]:
        """The outputs alone. The Variables are new each time, because a function may use their gradients."""
        self.before_call()
        return self._called([leaf.variable(array) for leaf, array in zip(self.leaves, arrays, strict=True)])

    def _called(self, variables: list[Variable]) -> list[Variable | None]:
        """Calls the function, without type checks if they are disabled."""
        if self.type_check:
            return self.call(variables)
        with using_config('type_check', False):
            return self.call(variables)

    @functools.cached_property
    def moving(self) -> list[int]:
        """The positions of the leaves that are differentiated."""
        return [i for i, leaf in enumerate(self.leaves) if leaf.differentiable]

    @functools.cached_property
    def wanted(self) -> list[int]:
        """The positions of the leaves that require a gradient."""
        return [i for i, leaf in enumerate(self.leaves) if leaf.requires_grad]


@dataclasses.dataclass
class Evaluation:
    """One call of a subject: the graph between ``variables`` and ``outputs``."""

    subject: Subject
    variables: list[Variable]
    outputs: list[Variable | None]

    @property
    def arrays(self) -> list[Any]:
        """The arrays of the outputs."""
        return [None if y is None else y.array for y in self.outputs]

    def vjp(
        self, upstream: Sequence[Any], on_variables: bool = False, wanted: Sequence[int] | None = None
    ) -> list[Any]:
        """The gradients of all leaves (or None) for upstream gradients of some outputs.

        Args:
            upstream: An upstream gradient, or None, for each output.
            on_variables: Whether to compute them with a recorded backward pass.
            wanted: Positions of the requested leaves; by default all that require a gradient.
        """
        pairs = [(y, gy) for y, gy in zip(self.outputs, upstream, strict=True) if y is not None and gy is not None]
        wanted = self.subject.wanted if wanted is None else wanted
        found: list[Any] = [None] * len(self.variables)
        if pairs and wanted:
            self.subject.calls.backward += 1
            outputs, gys = zip(*pairs, strict=True)
            gradients = grad(
                outputs,
                [self.variables[i] for i in wanted],
                [Variable(gy) for gy in gys],
                enable_double_backprop=on_variables,
            )
            for i, gradient in zip(wanted, gradients, strict=True):
                found[i] = None if gradient is None else gradient.array
        return found

    def vjp_of_variables(self, upstream: Sequence[Any]) -> list[Any]:
        """The same by the rules on Variables; not recorded."""
        try:
            return self.vjp(upstream, on_variables=True)
        except FloatingPointError:
            raise
        except Exception:
            return self.vjp(upstream)


def subject_of(func: Any, inputs: Sequence[Any], leaves: list[Leaf], kwargs: dict[str, Any]) -> Subject:
    """The user's function; ``leaves`` are the inputs, then the parameters."""
    calls = Calls(Progress(f'Gradient check of {name_of(func)}'))

    plain = all(isinstance(x, (Variable, *_arrays)) for x in inputs)

    def call(variables: list[Variable]) -> list[Variable | None]:
        calls.forward += 1
        calls.progress.tick()
        arguments = variables[: len(inputs)] if plain else rebuilt(tuple(inputs), iter(variables))
        returned = func(*arguments, **kwargs)
        if isinstance(returned, Variable) and is_float(returned.array):
            return [returned]
        return checked_outputs(func, returned)

    return Subject(name_of(func), leaves, call, calls)


def checked_outputs(func: Any, returned: Any) -> list[Variable | None]:
    """The outputs as a flat list; None for an output that is not a floating-point array."""
    if not isinstance(returned, (tuple, list, dict)):
        returned = (returned,)
    outputs = list(_flat_outputs(returned))
    if not any(isinstance(y, (Variable, *_arrays)) for y in outputs):
        kinds = ', '.join(type(y).__name__ for y in outputs) or 'nothing'
        raise TypeError(f'{name_of(func)} (argument func) must return Variables, got {kinds}')
    for i, y in enumerate(outputs):
        integers = isinstance(y, _arrays) and y.dtype.kind in 'iub'
        if y is not None and not isinstance(y, Variable) and not integers:
            raise TypeError(f'{name_of(func)} (argument func) must return Variables, got {type(y).__name__}')
        if isinstance(y, Variable) and y.array is not None and y.dtype.kind == 'c':
            raise NotImplementedError(f'output {i} is {y.dtype}: complex numbers are not supported yet')
    return [y if isinstance(y, Variable) and is_float(y.array) else None for y in outputs]


def _flat_outputs(value: Any) -> Any:
    """Yields the outputs in nested containers."""
    if isinstance(value, (tuple, list, dict)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _flat_outputs(item)
    else:
        yield value


def flat_arrays(value: Any) -> list[Any]:
    """The arrays in a Variable, an array, None, or nested containers of these."""
    return [getattr(a, 'array', a) for a in _flat_outputs(value)]


def gradient_subject(base: Subject, upstream: Sequence[Any], fixed: Sequence[bool] = ()) -> Subject:
    """The function that maps the leaves of ``base``, and upstream gradients, to the gradients.

    Args:
        base: The function one order below.
        upstream: One array per output of ``base``, or None for an output that does not count.
        fixed: Which of the upstream gradients are not differentiated.
    """
    count = len(base.leaves)
    used = [o for o, gy in enumerate(upstream) if gy is not None]
    leaves = base.leaves + [_upstream_leaf(base, o, upstream[o]) for o in used]
    for o, leaf in zip(used, leaves[count:], strict=True):
        leaf.differentiable &= not (o < len(fixed) and fixed[o])

    def call(variables: list[Variable]) -> list[Variable | None]:
        outputs = base.call(variables[:count])
        pairs = [(outputs[o], gy) for o, gy in zip(used, variables[count:], strict=True)]
        return _gradients(base, [(y, gy) for y, gy in pairs if y is not None], variables[:count])

    return Subject(f'the gradients of {base.name}', leaves, call, base.calls, base.before_call)


def _upstream_leaf(base: Subject, output: int, array: Any) -> Leaf:
    """The leaf for the upstream gradient of an output."""
    inputs = [leaf for leaf in base.leaves if leaf.parameter is None]
    tops = {str(leaf.name).partition('.')[0].partition('[')[0] for leaf in inputs}
    kind = 'grad_' * (1 + base.name.count('gradients of ')) + 'outputs'
    return Leaf(len(tops) + output, f'{kind}[{output}]', array, is_float(array))


def _gradients(base: Subject, pairs: Sequence[tuple[Variable, Variable]], variables: Sequence[Variable]) -> list[Any]:
    """Differentiable gradients of the leaves that are not hidden; zeros for independent leaves."""
    moving = base.moving
    found: list[Any] = [None] * len(moving)
    if pairs:
        base.calls.backward += 1
        gys = [gy if gy.dtype == y.dtype else as_dtype(gy, y.dtype) for y, gy in pairs]
        found = grad([y for y, _ in pairs], [variables[i] for i in moving], gys, enable_double_backprop=True)
    gradients: list[Any] = [None] * len(variables)
    for i, gx in zip(moving, found, strict=True):
        gradients[i] = Variable(variables[i].xp.zeros_like(variables[i].array)) if gx is None else gx
    return [gx for gx, leaf in zip(gradients, base.leaves, strict=True) if not leaf.hidden]
