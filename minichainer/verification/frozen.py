"""Gradients must be the same if something else requires none: each input and parameter is frozen in turn.

A backward pass that computes only the gradients it is asked for is run with all of them in the other checks. Here a
call gets some of its inputs as Variables with ``requires_grad=False``, and as arrays, and some of its parameters with
``requires_grad=False``; the gradients of the others must be what they were.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
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
        evaluation = self._evaluated(chosen)
        if evaluation is None or self._has_other_values(chosen, gys, evaluation):
            return False
        try:
            found = self._gradients(chosen, others, gys, evaluation)
        except Exception as error:
            settle(error, self._usual(gys), lambda: self._gradients(chosen, others, gys, evaluation))
            text = f'{type(error).__name__}: {error}'.partition('\n')[0]
            cause = f'{self._cause(chosen)}backward raises {text}'
            self.order_check.fail(self.derivatives.outputs[0], others[0], cause)
            return True
        return self._differs(chosen, others, gys, found, expected) or self._differs_for_arrays(
            chosen, others, gys, expected
        )

    def _differs_for_arrays(
        self, chosen: Sequence[int], others: Sequence[int], gys: Sequence[Any], expected: Sequence[Any]
    ) -> bool:
        """The same with arrays in place of Variables, which not every function is written for."""
        arrays = [i for i in chosen if self.function.leaves[i].parameter is None]
        if self.order_check.order > 1 or not self.function.takes_arrays or not arrays:
            return False
        try:
            evaluation = self._call(chosen, arrays)
            found = self._gradients(chosen, others, gys, evaluation)
        except Exception as error:
            settle(error, self._usual(gys), lambda: self._gradients(chosen, others, gys, self._call(chosen, arrays)))
            return False
        how = ' (given as an array)'
        same = not self._has_other_values(chosen, gys, evaluation, how)
        return same and self._differs(chosen, others, gys, found, expected, how)

    def _expected(self, gys: Sequence[Any], others: Sequence[int]) -> list[Any]:
        """The gradients of all leaves while nothing is frozen."""
        if len(gys) == 1:
            return self.derivatives.gradients[0][0]
        return self.derivatives.evaluation.vjp(copied(gys), wanted=others)

    def _usual(self, gys: Sequence[Any] | None = None) -> Callable[[], Any]:
        """The same call, and a backward pass for upstream gradients that are given, while nothing is frozen."""

        def usual() -> None:
            evaluation = self.function.evaluate([*map(fresh_copy, self.derivatives.arrays)])
            if gys is not None:
                evaluation.vjp(copied(gys))

        return usual

    def _evaluated(self, chosen: Sequence[int]) -> Evaluation | None:
        """A call with the chosen leaves frozen; None, with a note, where the function refuses that."""
        try:
            return self._call(chosen)
        except Exception as error:
            settle(error, self._usual(), lambda: self._call(chosen))
            text = f'{type(error).__name__}: {error}'.partition('\n')[0].rstrip('.')
            self._note(f'{self.function.name} does not take {self._names(chosen)} with requires_grad=False: {text}.')
            return None

    def _call(self, chosen: Sequence[int], as_arrays: Sequence[int] = ()) -> Evaluation:
        """A call with the chosen leaves frozen."""
        variables: list[Any] = []
        for i, (leaf, array) in enumerate(zip(self.function.leaves, self.derivatives.arrays, strict=True)):
            variable = leaf.variable(fresh_copy(array))
            if i in chosen and leaf.parameter is None:
                variable = variable._data if i in as_arrays else Variable(variable._data, requires_grad=False)
            variables.append(variable)
        with self._without_gradient(chosen):
            return Evaluation(self.function, variables, self.function.called(variables))

    def _gradients(
        self, chosen: Sequence[int], others: Sequence[int], gys: Sequence[Any], evaluation: Evaluation
    ) -> list[Any]:
        """The gradients of the others in such a call."""
        with self._without_gradient(chosen):
            return evaluation.vjp(copied(gys), wanted=others)

    @contextlib.contextmanager
    def _without_gradient(self, chosen: Sequence[int]) -> Iterator[None]:
        """Context manager in which the parameters among the chosen leaves require no gradient."""
        parameters = [p for i in chosen if (p := self.function.leaves[i].parameter) is not None]
        for p in parameters:
            p.requires_grad = False
        try:
            yield
        finally:
            for p in parameters:
                p.requires_grad = True

    # --- differences -------------------------------------------------------------------------------------------
    def _differs(
        self,
        chosen: Sequence[int],
        others: Sequence[int],
        gys: Sequence[Any],
        found: Sequence[Any],
        expected: Sequence[Any],
        how: str = '',
    ) -> bool:
        """Whether gradients differ; reports it."""
        wrong = False
        for i in others:
            x = self.derivatives.arrays[i]
            a, b = full(expected[i], x), full(found[i], x)
            where = differ(self.derivatives, gys, i, b, a, largest(a), least=0.0)
            if where is not None:
                what = 'None' if found[i] is None else 'another gradient'
                cause = f'{self._cause(chosen, how)}backward gives {what}'
                add_elements(self.derivatives, 0, i, where, a, b, cause)
                wrong = True
        return wrong

    def _has_other_values(
        self, chosen: Sequence[int], gys: Sequence[Any], evaluation: Evaluation, how: str = ''
    ) -> bool:
        """Whether an output has another value, so that this is another function; notes it."""
        for o, y in zip(self.derivatives.outputs, self.derivatives.values, strict=True):
            if gys[o] is not None and self._is_other(y, evaluation.arrays[o]):
                self._note(f'Output {o} has another value if {self._names(chosen)} requires no gradient{how}.')
                return True
        return False

    def _is_other(self, y: Any, z: Any) -> bool:
        """Whether two values of an output differ by more than rounding."""
        if z is None or z.shape != y.shape:
            return True
        allowed = ROUNDINGS * self.derivatives.precision * largest(y) + self.order_check.options.nondet_tol
        with np.errstate(all='ignore'):
            return not bool(((abs(y - z) <= allowed) | ~get_array_module(y).isfinite(y)).all())

    def _cause(self, chosen: Sequence[int], how: str = '') -> str:
        """The beginning of a cause."""
        return f'{NAME}with {self._names(chosen)} frozen{how}, '

    def _names(self, chosen: Sequence[int]) -> str:
        """The labels of some leaves."""
        labels = [self.function.leaves[i].label for i in chosen]
        return ', '.join(labels if len(labels) < 5 else [*labels[:3], f'{len(labels) - 3} others'])

    def _note(self, text: str) -> None:
        self.order_check.report.notes.append(text)


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


def copied(gys: Sequence[Any]) -> list[Any]:
    """Copies of upstream gradients, which backward may modify."""
    return [None if gy is None else fresh_copy(gy) for gy in gys]
