"""One order of a check: the function, the point, the upstream gradients, and the results so far."""

from __future__ import annotations

import copy
import dataclasses
import functools
import re
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from minichainer._frames import stacklevel
from minichainer.backend import get_array_module
from minichainer.errors import GradientCheckLeniencyWarning, UpstreamGradientWarning
from minichainer.verification.arguments import Options, check_pairs, describe_arrays
from minichainer.verification.arrays import fresh_copy
from minichainer.verification.complex_numbers import PARTS, in_words, parts, place
from minichainer.verification.directions import signed
from minichainer.verification.function_under_test import CheckedFunction, Evaluation, flat_arrays
from minichainer.verification.reporting.report import Failure, GradientReport

#: Upstream gradients per output.
DRAWS = 2

#: Size of the second draw by item size, to expose thresholds below which upstream gradients are dropped; half
#: precision would underflow.
SMALL = {8: 2.0**-50, 4: 2.0**-20}

#: Stands for missing upstream gradients: the function must be a loss, with a single output of shape ``()``.
LOSS = object()


#: What errors say about functions that can be differentiated only once.
ONCE = re.compile('cannot twice-differentiate|is marked by once_differentiable')

_ONES = (
    'an upstream gradient that was given (y_grad, grad_outputs) is all ones: errors that cancel in sums stay hidden. '
    'The check uses random ones as well; give random numbers instead, or filter UpstreamGradientWarning'
)


@dataclasses.dataclass
class OrderCheck:
    """Where and how one order of a function is checked.

    Attributes:
        function: The function.
        options: The user's options.
        report: Collects the failures.
        order: 1, 2, ...
        rng: The check's own random number generator.
        given: The user's upstream gradients, one per output or None for an output that does not count; None if
            there are none.
        outputs: Positions of the outputs that are checked.
        upstream: ``upstream[o]`` are the upstream gradients of output ``o``, in its dtype.
        gradients: ``gradients[o]`` are the gradients of the leaves for the first draw.
        broken: Pairs (output, leaf) that need no further checks.
    """

    function: CheckedFunction
    options: Options
    report: GradientReport
    order: int
    rng: np.random.Generator
    given: Sequence[Any] | None = None
    outputs: list[int] = dataclasses.field(default_factory=list)
    upstream: dict[int, list[Any]] = dataclasses.field(default_factory=dict)
    gradients: dict[int, list[Any]] = dataclasses.field(default_factory=dict)
    values: list[Any] = dataclasses.field(default_factory=list)
    broken: set[tuple[int, int]] = dataclasses.field(default_factory=set)

    @functools.cached_property
    def arrays(self) -> list[Any]:
        """The values of the leaves."""
        return [leaf.array for leaf in self.function.leaves]

    def draw(self, evaluation: Evaluation) -> None:
        """Chooses the outputs to check, and two upstream gradients for each: the given one and a random one."""
        self.values = evaluation.arrays
        self.given = self._matching(evaluation)
        for o, (y, output) in enumerate(zip(self.values, evaluation.outputs, strict=True)):
            if output is None or y is None or (self.given is not None and self.given[o] is None):
                continue
            if not output.requires_grad and any([y is not None and y.requires_grad for y in evaluation.outputs]):
                self.report.notes.append(f'Output {o} does not require a gradient and is not checked.')
                continue
            xp = np if type(y) is np.ndarray else get_array_module(y)
            drawn = [xp.asarray(signed(self.rng, y.shape).astype(y.dtype, copy=False)) for _ in range(DRAWS)]
            if self.given is not None and bool(self.given[o].any()):
                drawn[0] = self.given[o]
            self.outputs.append(o)
            scale = _scale(y)
            self.upstream[o] = drawn if scale == 1.0 and self.given is None else [times(v, scale) for v in drawn]

    def _matching(self, evaluation: Evaluation) -> list[Any] | None:
        """The given upstream gradients, if they match the outputs."""
        if self.given is None:
            return None
        outputs = [None if y is None else y._data for y in evaluation.outputs]
        if self.given is LOSS:
            if [getattr(y, 'shape', None) for y in self.values] != [()]:
                raise ValueError(
                    'y_grad may be left out only for a loss, which has a single output with shape ().\n'
                    f'Actual outputs: {describe_arrays(outputs)}'
                )
            return None
        given = flat_arrays(self.given)
        check_pairs(outputs, given)
        counted = [gy for gy in given if gy is not None and gy.size]
        if counted and not any(bool(gy.any()) for gy in counted):
            text = 'all upstream gradients given are zero: random ones are used'
            warnings.warn(text, UpstreamGradientWarning, stacklevel=stacklevel())
        if self.order == 1 and any(gy.size > 1 and bool((gy == 1).all()) for gy in counted):
            warnings.warn(_ONES, UpstreamGradientWarning, stacklevel=stacklevel())
        return [parts(gy) for gy in given]

    def only(self, o: int, v: Any, others: str | None = None) -> list[Any]:
        """Upstream gradients: ``v`` for one output; None, zeros or the drawn ones for the others.

        By default None where the function has to take that, else zeros.
        """
        others = others or ('none' if self.options.check_undefined_grad else 'zeros')
        gys: list[Any] = [None] * len(self.values)
        for k in self.outputs:
            if k != o and others == 'zeros':
                gys[k] = times(self.upstream[k][0], 0)
            elif k != o and others == 'drawn':
                gys[k] = fresh_copy(self.upstream[k][0])
        gys[o] = v
        return gys

    def tolerate_undefined(self, which: str, error: Exception) -> None:
        """Goes on with zeros where a backward raises an error for None, with a warning, as Chainer's check would."""
        text = (
            f'{which} backward raises {error!r}. None means zero, and a backward gets it where an output '
            'is not used. This check goes on with zeros; check_gradients and gradcheck refuse it'
        )
        self.report.notes.append(f'{text[0].upper()}{text[1:]}.')
        warnings.warn(f'{self.function.name}: {text}', GradientCheckLeniencyWarning, stacklevel=stacklevel())
        self.options = copy.copy(self.options)  # of this order only
        self.options.check_undefined_grad = False

    def place(self, o: int, index: tuple[int, ...]) -> str:
        """An element of an output as text."""
        return place(index) if o in self.function.complex_outputs else str(index)

    def fail(self, o: int, i: int, cause: str, **values: Any) -> None:
        """Adds one failure of output ``o`` with regard to leaf ``i``."""
        self.report.add([self.failure(o, i, cause, **values)])
        self.broken.add((o, i))

    def failure(self, o: int, i: int, cause: str, **values: Any) -> Failure:
        """A failure of output ``o`` with regard to leaf ``i``."""
        values = {'index': None, 'numeric': None, 'analytic': None, **values}
        name = self.function.leaves[i].name if i >= 0 else None
        if i >= 0 and self.function.leaves[i].is_complex:
            cause = in_words(cause, self.function.leaves[i].array.ndim - 1)
            if values['index'] is not None:
                *index, part = values['index']
                values |= {'index': tuple(index), 'part': PARTS[part]}
        return Failure(self.order, o, name, cause=cause, **values)


def explain_shapes(order_check: OrderCheck) -> None:
    """Says where the shape of an output changes next to the point, which makes jumps of failures there."""
    for o, shape in order_check.function.other_shapes.items():
        here = order_check.function.shapes[o] if order_check.function.shapes else None
        text = f'the shape of output {o} depends on the values: {here} here, {shape} nearby'
        mine = [f for f in order_check.report.failures if (f.order, f.output) == (order_check.order, o)]
        for f in mine:
            place = order_check.report.failures.index(f)
            order_check.report.failures[place] = dataclasses.replace(f, cause=f'shape: {text}')
        if not mine:
            order_check.report.notes.append(text[0].upper() + text[1:] + '.')


def times(array: Any, factor: float) -> Any:
    """The product as a new array of the same dtype and layout."""
    if array.flags.c_contiguous and array.ndim:  # the product of an array of shape () is a scalar
        return array * array.dtype.type(factor)
    copy = fresh_copy(array)
    copy *= array.dtype.type(factor)
    return copy


def _scale(y: Any) -> float:
    """A power of two, at most 1, that prevents overflow in sums over a huge output."""
    if not y.size:
        return 1.0
    largest = float(abs(y).max())
    limit = float(np.finfo(y.dtype).max) / (64 * max(y.size, 1)) if y.dtype.itemsize > 2 else float('inf')
    if not np.isfinite(largest) or largest <= limit:
        return 1.0
    return 2.0 ** -int(np.ceil(np.log2(largest) - np.log2(limit)))
