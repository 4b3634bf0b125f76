"""Gradients must be the same if something else requires none: each input and parameter is frozen in turn.

A backward pass that computes only the gradients it is asked for is run with all of them in the other checks. Here a
call gets some of its inputs as Variables with ``requires_grad=False``, and as arrays, and some of its parameters with
``requires_grad=False``; the gradients of the others must be what they were.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from minichainer.backend import get_array_module
from minichainer.variable import Variable
from minichainer.verification.arrays import fresh_copy, full, largest
from minichainer.verification.comparison import differ
from minichainer.verification.directional_derivatives import Derivatives
from minichainer.verification.function_under_test import Evaluation
from minichainer.verification.linearity import add_elements
from minichainer.verification.refusals import settle
from minichainer.verification.rounding import ROUNDINGS

#: The beginning of causes.
NAME = 'depends on what requires a gradient: '
#: Up to this many inputs and parameters, each is frozen alone; more of them in sets.
_FEW = 8


class FrozenChecks:
    """Checks gradients while some of the leaves require none, given that they are right while all do."""

    def __init__(self, derivatives: Derivatives) -> None:
        self.derivatives, self.order_check = derivatives, derivatives.order_check
        self.function = self.order_check.function
        self.moving = [i for i in self.function.moving if derivatives.arrays[i].size]

    def run(self) -> None:
        """Adds failures to the report."""
        if self.order_check.order > 2 or not self.order_check.options.conditions or len(self.moving) < 2:
            return
        for chosen in sets_to_freeze(self.moving):
            others = [i for i in self.moving if i not in chosen]
            gys = self._upstream(chosen)
            if any(gy is not None for gy in gys) and self._frozen(chosen, others, gys):
                return

    def _upstream(self, chosen: Sequence[int]) -> list[Any]:
        """The drawn upstream gradients; None for outputs that are gradients of what is frozen."""
        derivatives = self.derivatives
        gys: list[Any] = [None] * len(derivatives.evaluation.outputs)
        for o, v in zip(derivatives.outputs, derivatives.upstream[0], strict=True):
            gys[o] = None if self.function.gradient_of.get(o) in chosen else v
        return gys

    def _frozen(self, chosen: Sequence[int], others: Sequence[int], gys: Sequence[Any]) -> bool:
        """Whether gradients differ while the chosen leaves are frozen; reports it."""
        expected = self._expected(gys, others)
        try:
            evaluation, found = self._attempt(chosen, others, gys)
        except Exception as error:
            settle(error, self._usual(gys), lambda: self._attempt(chosen, others, gys))
            text = f'{type(error).__name__}: {error}'.partition('\n')[0]
            self.order_check.fail(self.derivatives.outputs[0], others[0], f'{self._cause(chosen)}it raises {text}')
            return True
        if self._differs(chosen, others, gys, evaluation, found, expected):
            return True
        arrays = [i for i in chosen if self.function.leaves[i].parameter is None]
        if self.order_check.order > 1 or not self.function.takes_arrays or not arrays:
            return False
        try:
            evaluation, found = self._attempt(chosen, others, gys, arrays)
        except Exception as error:  # not every function is written for arrays
            settle(error, self._usual(gys), lambda: self._attempt(chosen, others, gys, arrays))
            return False
        return self._differs(chosen, others, gys, evaluation, found, expected, ' (given as an array)')

    def _expected(self, gys: Sequence[Any], others: Sequence[int]) -> list[Any]:
        """The gradients of all leaves while nothing is frozen."""
        return self.derivatives.evaluation.vjp(copied(gys), wanted=others)

    def _usual(self, gys: Sequence[Any]) -> Any:
        """The same call and backward pass while nothing is frozen."""
        arrays = self.derivatives.arrays
        return lambda: self.function.evaluate([*map(fresh_copy, arrays)]).vjp(copied(gys))

    def _attempt(
        self, chosen: Sequence[int], others: Sequence[int], gys: Sequence[Any], as_arrays: Sequence[int] = ()
    ) -> tuple[Evaluation, list[Any]]:
        """A call with the chosen leaves frozen, and the gradients of the others."""
        leaves = self.function.leaves
        variables: list[Any] = []
        for i, (leaf, array) in enumerate(zip(leaves, map(fresh_copy, self.derivatives.arrays), strict=True)):
            variable = leaf.variable(array)
            if i in chosen and leaf.parameter is None:
                variable = variable._data if i in as_arrays else Variable(variable._data, requires_grad=False)
            variables.append(variable)
        with _without_gradient([p for i in chosen if (p := leaves[i].parameter) is not None]):
            evaluation = Evaluation(self.function, variables, self.function.called(variables))
            return evaluation, evaluation.vjp(copied(gys), wanted=others)

    # --- differences -------------------------------------------------------------------------------------------
    def _differs(
        self,
        chosen: Sequence[int],
        others: Sequence[int],
        gys: Sequence[Any],
        evaluation: Evaluation,
        found: Sequence[Any],
        expected: Sequence[Any],
        how: str = '',
    ) -> bool:
        """Whether values or gradients differ; reports it."""
        cause = self._cause(chosen, how)
        for o, y in zip(self.derivatives.outputs, self.derivatives.values, strict=True):
            if gys[o] is not None and self._is_other(y, evaluation.arrays[o]):
                self.order_check.fail(o, others[0], f'{cause}output {o} has another value')
                return True
        wrong = False
        for i in others:
            x = self.derivatives.arrays[i]
            a, b = full(expected[i], x), full(found[i], x)
            where = differ(self.derivatives, gys, i, b, a, largest(a), exact=True)
            if where is not None:
                what = 'None' if found[i] is None else 'another gradient'
                add_elements(self.derivatives, 0, i, where, a, b, f'{cause}backward gives {what}')
                wrong = True
        return wrong

    def _is_other(self, y: Any, z: Any) -> bool:
        """Whether two values of an output differ by more than rounding."""
        if z is None or z.shape != y.shape:
            return True
        allowed = ROUNDINGS * self.derivatives.precision * largest(y) + self.order_check.options.nondet_tol
        with np.errstate(all='ignore'):
            return not bool(((abs(y - z) <= allowed) | ~get_array_module(y).isfinite(y)).all())

    def _cause(self, chosen: Sequence[int], how: str = '') -> str:
        """The beginning of a cause: what was frozen."""
        labels = [self.function.leaves[i].label for i in chosen]
        more = f' and {len(labels) - 3} others' if len(labels) > 4 else ''
        return f'{NAME}with {", ".join(labels[:3] if more else labels)}{more} frozen{how}, '


def sets_to_freeze(leaves: Sequence[int]) -> Iterator[list[int]]:
    """The sets of leaves that are frozen together: each alone or, of many, halves in which any two are separated.

    >>> list(sets_to_freeze([0, 2]))
    [[0], [2]]
    >>> len(list(sets_to_freeze(range(100))))
    14
    """
    if len(leaves) <= _FEW:
        yield from ([i] for i in leaves)
        return
    for bit in range((len(leaves) - 1).bit_length()):
        for side in (0, 1):
            yield [i for place, i in enumerate(leaves) if place >> bit & 1 == side]


@contextlib.contextmanager
def _without_gradient(parameters: Sequence[Variable]) -> Iterator[None]:
    """Context manager in which parameters require no gradient."""
    for p in parameters:
        p.requires_grad = False
    try:
        yield
    finally:
        for p in parameters:
            p.requires_grad = True


def copied(gys: Sequence[Any]) -> list[Any]:
    """Copies of upstream gradients, which backward may modify."""
    return [None if gy is None else fresh_copy(gy) for gy in gys]
