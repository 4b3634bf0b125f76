"""Directional derivatives and backward passes at will, for testing hypotheses about a wrong gradient."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from minichainer.backend import get_array_module
from minichainer.verification.arrays import host, root_mean_square
from minichainer.verification.directional_derivatives import Derivatives
from minichainer.verification.directions import signed
from minichainer.verification.function_under_test import Evaluation

#: Numbers are equal up to this, relative to the largest of them; differences of smooth functions are right to 1e-9.
CLOSE = 1e-6
#: Random upstream gradients and directions of every experiment: two that agree by chance do so once in 1 / CLOSE**2.
PROBES = 3
#: Axes with more slices are not examined slice by slice, nor with as many elements, counted once for each slice.
MOST_SLICES, _MOST_WORK = 128, 1e6
#: The axis of an array in C order.
FLAT = -1
#: Calls of the function for one leaf, of which a single unknown cause makes a few hundred.
_MOST_CALLS = 2000
#: Steps, relative to the input; the second one in case of a kink within the first.
STEPS = (2e-3, 3e-5)
#: Inputs that are smaller are moved as if they were 0.
_TINIEST = 1e-290
#: The largest relative difference of two difference quotients of which an extrapolation is trusted.
_SMOOTH = 1e-3


#: Columns, measured, and rows, from backward, that are drawn from a large Jacobian.
_DRAWN = 36
#: Entries smaller than this, relative to the largest, do not determine a factor.
_CLEAR = 1e-3


class Unmeasurable(Exception):
    """The function has no accurate derivative there, or rejects the arrays."""


class Experiments:
    """Measurements of output ``k`` and leaf ``i`` for draw ``d``.

    Attributes:
        x: The leaf.
        y: The output.
        directions: Random directions of the leaf.
        upstream: Random upstream gradients of the output.
    """

    def __init__(self, derivatives: Derivatives, i: int, k: int, d: int) -> None:
        self.derivatives, self.i, self.k, self.d = derivatives, i, k, d
        self.x, self.y = host(derivatives.arrays[i]), host(derivatives.values[k])
        rng = np.random.Generator(np.random.PCG64(0))
        self.directions = [signed(rng, self.x.shape) for _ in range(PROBES)]
        self.upstream = [signed(rng, self.y.shape) for _ in range(PROBES)]
        self._calls = 0
        self._along: dict[int, Any] = {}
        self._across: dict[int, Any] = {}

    def of(self, j: int) -> Experiments:
        """The same for another leaf."""
        return self if j == self.i else experiments(self.derivatives, j, self.k, self.d)

    @property
    def possible(self) -> bool:
        """Whether differences are accurate enough, and there is something to rearrange."""
        return self.derivatives.precision < 1e-12 and self.x.size > 0 and self.y.size > 0

    @property
    def size(self) -> float:
        """The size of the leaf's elements; 1 where they are 0, or next to the least floats."""
        size = root_mean_square(self.x)
        return size if size > _TINIEST else 1.0

    def derivative(self, direction: Any, arrays: Sequence[Any] | None = None) -> Any:
        """The derivative of the output as the leaf moves along a direction; raises Unmeasurable."""
        size = self.size
        for step in STEPS:
            coarse = self.difference(direction, arrays, step * size)
            fine = self.difference(direction, arrays, step * size / 2)
            extrapolated = (4 * fine - coarse) / 3
            rounding = 64 * self.derivatives.precision * float(abs(self.y).max()) / (step * size)
            if float(abs(fine - coarse).max()) <= _SMOOTH * float(abs(extrapolated).max()) + rounding:
                return extrapolated
        raise Unmeasurable

    def difference(self, direction: Any, arrays: Sequence[Any] | None = None, step: float = 0.0) -> Any:
        """A central difference: the derivative to three digits or so; raises Unmeasurable."""
        step = step or STEPS[0] * self.size
        ahead, behind = self.sides(direction, arrays, step)
        return (ahead - behind) / (2 * step)

    def sides(self, direction: Any, arrays: Sequence[Any] | None, step: float) -> tuple[Any, Any]:
        """The outputs a step ahead and a step behind; raises Unmeasurable."""
        self._calls += 2
        if self._calls > _MOST_CALLS:
            raise Unmeasurable
        arrays = list(self.derivatives.arrays if arrays is None else arrays)
        x = arrays[self.i]
        xp = get_array_module(x)
        towards = xp.asarray(direction)
        arrays[self.i] = xp.asarray(x + step * towards)  # of arrays with shape () the sum is a scalar
        ahead = self._output(arrays)
        arrays[self.i] = xp.asarray(x - step * towards)
        return ahead, self._output(arrays)

    def _output(self, arrays: Sequence[Any]) -> Any:
        try:
            with np.errstate(all='ignore'):
                y = self.derivatives.order_check.function.evaluate(arrays).arrays[self.derivatives.outputs[self.k]]
        except Exception as error:  # the function may reject arrays that have been rearranged
            raise Unmeasurable from error
        if y is None or not np.isfinite(host(y)).all():
            raise Unmeasurable
        return host(y).astype(np.float64, copy=False)

    def accepts(self, arrays: Sequence[Any]) -> Any:
        """The output for other arrays; None if the function rejects them."""
        try:
            return self._output(arrays)
        except Unmeasurable:
            return None

    def backward(self, gy: Any, arrays: Sequence[Any] | None = None) -> Any:
        """What backward gives for an upstream gradient, at the point or at other arrays; may raise Unmeasurable."""
        v = get_array_module(self.derivatives.upstream[self.d][self.k]).asarray(
            gy, self.derivatives.values[self.k].dtype
        )
        evaluation, gys = self._evaluation(arrays), self.derivatives.only(self.k, v)
        try:
            found = (evaluation.vjp_of_variables(gys) if self.d else evaluation.vjp(gys))[self.i]
        except Exception as error:
            if arrays is None:
                raise
            raise Unmeasurable from error
        return np.zeros(self.x.shape) if found is None else host(found).astype(np.float64, copy=False)

    def _evaluation(self, arrays: Sequence[Any] | None) -> Evaluation:
        """A call of the function."""
        if arrays is None:
            return self.derivatives.evaluation
        try:
            with np.errstate(all='ignore'):
                return self.derivatives.order_check.function.evaluate(list(arrays))
        except Exception as error:
            raise Unmeasurable from error

    @property
    def differs(self) -> bool:
        """Whether backward is wrong by far more than what counts as equal; nothing explains smaller errors."""
        given = np.array([[dot(g, d) for d in self.directions] for g in self.given])
        right = np.array([[dot(gy, jd) for jd in self.tangents] for gy in self.upstream])
        return not close(given, right, 100 * CLOSE)

    @functools.cached_property
    def entries(self) -> Entries:
        """Single entries of the Jacobian."""
        return Entries(self)

    @functools.cached_property
    def tangents(self) -> list[Any]:
        """The derivatives along the random directions."""
        return [self.derivative(d) for d in self.directions]

    @functools.cached_property
    def given(self) -> list[Any]:
        """What backward gives for the random upstream gradients."""
        return [self.backward(gy) for gy in self.upstream]

    def across(self, axis: int) -> Any:
        """What backward gives for each slice of an upstream gradient alone, along an axis of the output.

        Each is a random slice, the same one at each place.
        """
        if axis not in self._across:
            gys = everywhere(self.upstream[0], axis)
            self._across[axis] = gys, [self.backward(gy) for gy in gys]
        return self._across[axis]

    def axes(self, of_output: bool) -> list[int]:
        """The axes of the output, or of the leaf, whose slices can be examined one by one."""
        size = self.x.size + (0 if of_output else self.y.size)
        shape = self.y.shape if of_output else self.x.shape
        return [a for a, n in enumerate(shape) if 1 < n <= MOST_SLICES and n * size <= _MOST_WORK]

    def along(self, axis: int) -> Any:
        """The derivatives as each slice of the leaf moves alone, in the same random direction."""
        if axis not in self._along:
            directions = everywhere(self.directions[0], axis)
            self._along[axis] = directions, [self.derivative(d) for d in directions]
        return self._along[axis]


class Entries:
    """A sample of the Jacobian: some columns as measured, some rows as backward gives them.

    Attributes:
        columns: Flat indices of the elements of the leaf.
        rows: Flat indices of the elements of the output.
        right: The measured columns, with all rows.
        given: The rows from backward, with all columns.
    """

    def __init__(self, e: Experiments) -> None:
        self.e = e
        rng = np.random.Generator(np.random.PCG64(0))
        self.columns = _grid(rng, e.x.shape)
        self.right = np.stack([e.derivative(_one(e.x, c)).ravel() for c in self.columns], axis=1)
        self.rows = self._chosen(rng)
        self.given = np.stack([e.backward(_one(e.y, r)).ravel() for r in self.rows])

    def _chosen(self, rng: np.random.Generator) -> Any:
        """Rows that have entries in the measured columns."""
        if self.e.y.size <= _DRAWN:
            return np.arange(self.e.y.size)
        largest = abs(self.right).argmax(axis=0)
        used = np.flatnonzero((abs(self.right) > _CLEAR * abs(self.right).max()).any(axis=1))
        rows = [*dict.fromkeys(largest.tolist()), *rng.permutation(used).tolist()]
        return np.array(list(dict.fromkeys(rows))[:_DRAWN])

    @property
    def both(self) -> tuple[Any, Any]:
        """The entries in measured columns and in rows from backward: the right ones and the given ones."""
        return self.right[self.rows], self.given[:, self.columns]

    @functools.cached_property
    def clear(self) -> Any:
        """A mask of the entries that determine a factor; None if no factor makes those of backward right."""
        right, given = self.both
        scale = abs(right).max(initial=0)
        clear = abs(right) > _CLEAR * scale
        wrong = abs(right - given) > CLOSE * scale
        extra = abs(given)[abs(right) <= 1e-9 * scale] > CLOSE * abs(given).max(initial=0)
        possible = clear.sum() >= 4 and given[clear].all() and wrong.any() and not extra.any()
        return clear if possible else None

    @property
    def ratio(self) -> Any:
        """The right value of each clear entry over the given one."""
        right, given = self.both
        return right[self.clear] / given[self.clear]

    def coordinates(self, of_output: bool) -> list[Any]:
        """The indices of each clear entry along the axes of the output, or of the leaf."""
        places = np.argwhere(self.clear)
        if of_output:
            return list(np.unravel_index(self.rows[places[:, 0]], self.e.y.shape)) if self.e.y.ndim else []
        return list(np.unravel_index(self.columns[places[:, 1]], self.e.x.shape)) if self.e.x.ndim else []


def _grid(rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    """Flat indices of some elements: a few random indices of each axis, in all combinations."""
    sizes = list(shape)
    while int(np.prod(sizes)) > _DRAWN:
        sizes[int(np.argmax(sizes))] -= 1
    chosen = [np.sort(rng.permutation(n)[:size]) for n, size in zip(shape, sizes, strict=True)]
    return np.arange(int(np.prod(shape))).reshape(shape)[np.ix_(*chosen)].ravel()


def _one(array: Any, index: int) -> Any:
    """Zeros, and 1 at a flat index."""
    result = np.zeros(array.shape)
    result.ravel()[index] = 1
    return result


def experiments(derivatives: Derivatives, i: int, k: int, d: int) -> Experiments:
    """The experiments about a gradient, which are kept, so that no measurement is repeated."""
    if (i, k, d) not in derivatives.experiments:
        derivatives.experiments[i, k, d] = Experiments(derivatives, i, k, d)
    return cast(Experiments, derivatives.experiments[i, k, d])


def everywhere(array: Any, axis: int) -> list[Any]:
    """For each index of an axis, the first slice there and zeros elsewhere; ``FLAT``: the same for each element.

    >>> everywhere(np.array([2.0, 3.0]), 0)
    [array([2., 0.]), array([0., 2.])]
    """
    if axis == FLAT:
        return [a.reshape(array.shape) for a in everywhere(array.ravel(), 0)]
    return [placed(array, array.shape, axis, index) for index in range(array.shape[axis])]


def placed(array: Any, shape: tuple[int, ...], axis: int, index: int) -> Any:
    """The first slice of an array along an axis, at an index in zeros."""
    result = np.zeros(shape)
    np.moveaxis(result, axis, 0)[index] = np.moveaxis(array, axis, 0)[0]
    return result


def dot(a: Any, b: Any) -> float:
    """The sum of the products of all elements."""
    return float(np.vdot(a, b))


def close(a: Any, b: Any, within: float = CLOSE) -> bool:
    """Whether all elements are equal, relative to the largest element of both."""
    scale = max(float(abs(a).max(initial=0)), float(abs(b).max(initial=0)))
    return bool((abs(a - b) <= within * scale).all())
