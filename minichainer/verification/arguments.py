"""Turns the arguments of a check into leaves and options, and rejects invalid ones."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from minichainer.verification.differences import as_tuple
from minichainer.verification.engine import examine
from minichainer.verification.leaves import hidden_leaves, input_leaves, parameter_leaves
from minichainer.verification.options import Options
from minichainer.verification.report import GradientReport
from minichainer.verification.state import parameters_of, preserved
from minichainer.verification.subject import name_of, subject_of


def check(
    func: Callable[..., Any],
    inputs: Any,
    given: Mapping[int, Any],
    options: Options,
    *,
    kwargs: Mapping[str, Any] | None = None,
    params: Any = (),
    no_grads: Any = None,
) -> GradientReport:
    """Runs a check.

    Args:
        func: The function.
        inputs: Its arguments, one or a tuple.
        given: The user's upstream gradients, by order.
        options: How to check.
        kwargs: Further keyword arguments of ``func``.
        params: Variables that ``func`` also depends on, or "all" for the parameters of a link.
        no_grads: One flag per argument.
    """
    if not callable(func):
        raise TypeError(f'func must be callable, not {type(func).__name__}')
    inputs = as_tuple(inputs)
    leaves = input_leaves(inputs, _flags(no_grads, inputs))
    found, names = _parameters(func, params)
    leaves += parameter_leaves(found, names)
    passed = {id(p) for p in found}
    hidden = hidden_leaves([p for p in parameters_of(func) if id(p) not in passed], options.dtype or np.float64)
    leaves += hidden
    subject = subject_of(func, inputs, leaves, dict(kwargs or {}))
    if not subject.moving:
        warnings.warn(f'{name_of(func)}: nothing to check, no input and no parameter is differentiable', stacklevel=4)
    every = [*found, *[leaf.parameter for leaf in hidden if leaf.parameter is not None]]
    with preserved(func, every) as restore:
        subject.before_call = restore
        try:
            return examine(subject, given, options)
        finally:
            subject.calls.progress.finish()


def _flags(no_grads: Any, inputs: Sequence[Any]) -> list[bool] | None:
    """Validates ``no_grads``, one flag per argument."""
    if no_grads is None:
        return None
    if not isinstance(no_grads, (tuple, list)):
        raise TypeError(f'no_grads must be a tuple or list of bool, not {type(no_grads).__name__}')
    if len(no_grads) != len(inputs):
        raise ValueError(
            f'no_grads: one flag expected for each of the {len(inputs)} inputs.\n'
            f'Actual: {len(no_grads)} != {len(inputs)}'
        )
    return [bool(flag) for flag in no_grads]


def _parameters(func: Any, params: Any) -> tuple[list[Any], dict[int, str]]:
    """The parameters, and the paths of those that belong to the link ``func``."""
    named = getattr(func, 'namedparams', None)
    names = {id(p): name for name, p in named()} if named is not None else {}
    if not isinstance(params, str):
        return list(as_tuple(params)), names
    if params != 'all':
        raise ValueError(f'params must be Variables or "all", not {params!r}')
    if named is not None:
        return [p for _, p in named()], names
    if not hasattr(func, 'params'):
        raise TypeError(
            f'params="all" needs a Link as func, but {name_of(func)} is a {type(func).__name__}: '
            'pass the parameters themselves, such as params=tuple(link.params())'
        )
    return list(func.params()), names
