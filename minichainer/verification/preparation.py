"""What is done before a check: parameters get arrays, and one dtype with the inputs; unregistered ones are found.

The user's link stays as it is: whatever is changed here is restored after the check, except for arrays of parameters
whose shapes follow from the inputs.
"""

from __future__ import annotations

import dataclasses
import gc
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from minichainer.backprop import reachable
from minichainer.configuration import using_config
from minichainer.variable import Variable
from minichainer.verification.arguments import (
    Leaf,
    Options,
    arrays_in,
    flags_of,
    hidden_leaves,
    input_leaves,
    is_float,
    parameter_leaves,
    parameters_passed,
    rebuilt,
)
from minichainer.verification.arrays import fresh_copy
from minichainer.verification.complex_numbers import is_complex, joined, parts
from minichainer.verification.environment import preserved
from minichainer.verification.function_under_test import CheckedFunction, Evaluation, checked_function
from minichainer.verification.order_check import OrderCheck
from minichainer.verification.reachable import Named, named_leaves
from minichainer.verification.refusals import Escaped, caught, settle

Given = Mapping[int, Any]


@dataclasses.dataclass
class Subject:
    """What is checked.

    Attributes:
        func: The user's function.
        inputs: Its arguments.
        kwargs: Further keyword arguments.
        leaves: The inputs and the parameters that are checked.
        others: Initialized Variables that the function can reach, which are not checked, with their paths.
        target: The dtype of the numeric side.
        given: The user's upstream gradients, by order.
        params: What the user has passed: Variables, or "all".
        dtype: The one dtype that all were taken to; None where they have their own.
        notes: What the report is to say.
    """

    func: Any
    inputs: Sequence[Any]
    kwargs: dict[str, Any]
    leaves: list[Leaf]
    others: list[Named]
    target: Any
    given: Given
    params: Any = ()
    dtype: Any = None
    notes: list[str] = dataclasses.field(default_factory=list)

    def function(self) -> CheckedFunction:
        """The function of all leaves, the others among them whose dtype must be changed."""
        others = [p for p, _ in self.others] if self.others else []
        if self.dtype is None:
            hidden = hidden_leaves(others, self.target)
        else:
            hidden = [_converted(leaf, self.dtype) for leaf in hidden_leaves(others, None)]
        function = checked_function(self.func, self.inputs, self.leaves + hidden, self.kwargs)
        function.calls.notes |= dict.fromkeys(self.notes)
        function.calls.source = self.func, self.inputs, self.params
        function.unchecked = self.others
        return function

    @property
    def parameters(self) -> list[Variable]:
        """All parameters that the check changes."""
        passed = [leaf.parameter for leaf in self.leaves if leaf.parameter is not None]
        return passed + [p for p, _ in self.others] if self.others else passed

    def called(self) -> tuple[list[Variable], list[Variable | None]]:
        """The inputs and outputs of a call, with its graph; everything is restored afterwards."""
        function = self.function()
        with preserved(self.func, self.parameters) as restore:
            function.before_call = restore
            variables = [leaf.variable(fresh_copy(leaf.array)) for leaf in function.leaves]
            return variables, function.called(variables)


def prepared(
    func: Any,
    inputs: Sequence[Any],
    given: Given,
    options: Options,
    *,
    kwargs: Mapping[str, Any] | None,
    params: Any,
    no_grads: Any,
) -> Subject:
    """What is to be checked, with initialized parameters, and all in one dtype if the function demands that.

    Args:
        func: As in :func:`.check`; the other arguments are, too.
    """
    leaves = input_leaves(inputs, flags_of(no_grads, inputs))
    named = named_leaves(func)
    if named and any([p._data is None for p, _ in named]):
        _initialize(func, inputs, leaves, dict(kwargs or {}))
    found, names = parameters_passed(func, params)
    leaves += parameter_leaves(found, names)
    others = named
    if named:
        passed = {id(p) for p in found}
        others = [(p, path) for p, path in named if p._data is not None and id(p) not in passed]
    target, passed_params = options.dtype or np.dtype(np.float64), params if isinstance(params, str) else found
    subject = Subject(func, inputs, dict(kwargs or {}), leaves, others, target, given, passed_params)
    _take_to_one_dtype(subject)
    if isinstance(params, str):
        _add_unregistered(subject)
    return subject


# --- initialization --------------------------------------------------------------------------------------------
def _initialize(func: Any, inputs: Sequence[Any], leaves: list[Leaf], kwargs: dict[str, Any]) -> None:
    """Calls a function once if it can reach parameters whose shapes follow from inputs.

    Raises:
        Exception: What the function raises for the inputs as they are, and in the dtype of its parameters.
    """

    def call(dtype: Any = None) -> None:
        with preserved(func, ()), using_config('enable_backprop', False):
            variables = [leaf.variable(_cast(fresh_copy(leaf.array), dtype)) for leaf in leaves]
            checked_function(func, inputs, leaves, kwargs).call(variables)

    try:
        call()
    except Exception as error:
        dtypes = [p._data.dtype for p, _ in named_leaves(func) if is_float(p._data)] or [np.dtype(np.float32)]
        _require_refusal(error, lambda: call(np.result_type(*dtypes)), call)


def _require_refusal(error: Exception, in_one_dtype: Callable[[], object], as_given: Callable[[], object]) -> None:
    """Raises the exception of a call, unless it is a refusal of different dtypes, and one dtype works.

    Raises:
        Exception: ``error``, where one dtype does not help.
        Escaped: One of the calls raises an exception that it does not raise again.
    """
    found = caught(in_one_dtype)
    if found is not None:
        raise error if caught(in_one_dtype) is not None else Escaped(found)
    settle(error, lambda: None, as_given)


# --- dtypes ----------------------------------------------------------------------------------------------------
def _take_to_one_dtype(subject: Subject) -> None:
    """Gives inputs, parameters and upstream gradients one dtype where the function refuses the given ones."""
    if not subject.others and not subject.params:
        return
    of_inputs = {leaf.array.dtype for leaf in subject.leaves if leaf.parameter is None and is_float(leaf.array)}
    of_parameters = {x.dtype for x in [parts(p._data) for p in subject.parameters] if is_float(x)}
    if not of_inputs or not of_parameters or len(of_inputs | of_parameters) < 2:
        return
    dtype = np.result_type(*of_inputs, *of_parameters)
    converted = dataclasses.replace(
        subject,
        leaves=[_converted(leaf, dtype) for leaf in subject.leaves],
        given={order: _in_dtype(value, dtype) for order, value in subject.given.items()},
        dtype=dtype,
    )
    try:
        subject.called()
    except Exception as error:
        _require_refusal(error, converted.called, subject.called)
        subject.leaves, subject.given, subject.dtype = converted.leaves, converted.given, dtype
        kinds = f'the inputs are {_listed(of_inputs)} and the parameters {_listed(of_parameters)}'
        subject.notes.append(f'Checked in {dtype}, on copies: {kinds}, which the function does not take together.')


def _converted(leaf: Leaf, dtype: Any) -> Leaf:
    return dataclasses.replace(leaf, array=_cast(leaf.array, dtype))


def _cast(array: Any, dtype: Any) -> Any:
    """A floating-point array in another dtype; any other value as it is."""
    return array if dtype is None or not is_float(array) else array.astype(dtype, copy=False)


def _in_dtype(value: Any, dtype: Any) -> Any:
    """The same containers, with their floating-point arrays in another dtype."""
    arrays = [getattr(a, 'array', a) for _, a in arrays_in(value)]
    cast = [joined(_cast(parts(a), dtype)) if is_complex(a) else _cast(a, dtype) for a in arrays]
    return rebuilt(value, iter(cast))


def _listed(dtypes: Iterable[Any]) -> str:
    return ' and '.join(sorted(map(str, dtypes)))


# --- parameters that are not registered ------------------------------------------------------------------------
def _add_unregistered(subject: Subject) -> None:
    """Adds leaves that the graph of a call has and the link does not know, to be checked like parameters."""
    nodes = _unknown(subject)
    found = [(p, path) for p, path in subject.others if p._node in nodes]
    hidden = nodes - {p._node for p, _ in found}
    if hidden and (hidden := hidden & _unknown(subject)):  # not what the function makes anew in each call
        found += [(p, p.name or '') for p in _variables_of(hidden)]
    if not found:
        return
    before = [leaf.parameter for leaf in subject.leaves if leaf.parameter is not None]
    names = {id(p): path for p, path in found}
    for leaf in parameter_leaves([*before, *[p for p, _ in found]], names)[len(before) :]:
        subject.leaves.append(leaf if subject.dtype is None else _converted(leaf, subject.dtype))
        subject.notes.append(
            f'{leaf.label} is used but not registered in the link: optimizers do not update it, and files do not '
            'contain it. It was checked like a parameter.'
        )
    subject.others = [(p, path) for p, path in subject.others if id(p) not in names]


def _unknown(subject: Subject) -> set[Any]:
    """The nodes of leaves that a call uses and that require a gradient, besides inputs and parameters."""
    variables, outputs = subject.called()
    known = {v.edge for v, leaf in zip(variables, subject.leaves, strict=False)}
    reached = reachable([y.edge for y in outputs if y is not None])
    return {n for n in reached if n.edges is None and n.requires_grad and n.dtype.kind in 'fc'} - known


def _variables_of(nodes: set[Any]) -> list[Variable]:
    """The Variables of leaves, wherever they are kept."""
    found = {id(v): v for v in gc.get_referrers(*nodes) if isinstance(v, Variable) and v._node in nodes}
    return list(found.values())


def note_unchecked(order_check: OrderCheck, evaluation: Evaluation) -> None:
    """Notes parameters that the function uses and that the user has not passed."""
    unchecked = order_check.function.unchecked
    reached = reachable([y.edge for y in evaluation.outputs if y is not None])
    used = [(p, path) for p, path in unchecked if p._node in reached and p.requires_grad]
    names = [path or p.name or 'a Variable' for p, path in used]
    if names:
        shown = ', '.join(names[:4]) + (f' and {len(names) - 4} others' if len(names) > 4 else '')
        order_check.report.notes.append(
            f"The gradients of {shown} were not checked: pass these as params=, or params='all' for all of a link."
        )
