"""The comparison of torch's own check: a central difference for each element, against one row of backward per output.

It decides nothing where the engine does. It says what :func:`~minichainer.gradient_check.gradcheck` returns where the
engine can tell neither right nor wrong, or where the function has no derivative.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from minichainer.backend import get_array_module
from minichainer.verification.arguments import given
from minichainer.verification.arrays import fresh_copy, host
from minichainer.verification.directions import generator
from minichainer.verification.order_check import OrderCheck
from minichainer.verification.strictness import ChainerComparison

#: Torch's step and tolerances.
EPS, ATOL, RTOL = 1e-6, 1e-5, 1e-3
#: With more elements of inputs and outputs than this, the comparison of torch's fast mode is made, along directions.
_MOST = 2000
#: Directions of the fast mode.
_DRAWS = 2


@dataclasses.dataclass(frozen=True)
class Agreement:
    """The result of a comparison.

    Attributes:
        agrees: Whether all numbers are within the tolerances.
        text: The largest excess, or what has prevented the comparison, as the end of a sentence.
    """

    agrees: bool
    text: str = ''


class TorchComparison:
    """Compares as torch does: ``abs(backward - numeric) <= atol + rtol * abs(numeric)`` for each entry.

    The step is ``eps=1e-6``, and the tolerances are ``atol=1e-5`` and ``rtol=1e-3``, unless the user gives others.
    Unlike in torch, inputs of a lower precision are taken to float64 if the function supports it.
    """

    def __init__(self, order_check: OrderCheck) -> None:
        self.order_check = order_check
        options = order_check.options
        atol, rtol = given(options.atol), given(options.rtol)
        self.eps = options.eps or EPS
        self.atol, self.rtol = ATOL if atol is None else atol, RTOL if rtol is None else rtol

    def agreement(self) -> Agreement:
        """Compares all pairs of outputs and leaves; an exception of the function is a disagreement."""
        try:
            self._evaluate()
            few = sum(self.arrays[i].size for i in self.moving) + sum(y.size for y in self.values.values()) <= _MOST
            return self._entries() if few else self._directions()
        except Exception as error:
            return Agreement(False, f'{type(error).__name__} next to the point: {error}')

    def _evaluate(self) -> None:
        order_check = self.order_check
        self.moving = order_check.function.moving
        self.arrays = ChainerComparison(order_check).arrays  # in float64, if the function takes them
        self.evaluation = order_check.function.evaluate([fresh_copy(x) for x in self.arrays])
        arrays = self.evaluation.arrays
        if not order_check.upstream:
            order_check.draw(self.evaluation)
        self.values = {o: arrays[o] for o in sorted(order_check.upstream)}

    # --- entry by entry ----------------------------------------------------------------------------------------
    def _entries(self) -> Agreement:
        """Compares all entries of the Jacobian."""
        worst = Agreement(True)
        rows = {o: self._rows(o) for o in self.values}
        for i in self.moving:
            columns = [self._column(i, c) for c in range(self.arrays[i].size)]
            for o, y in self.values.items():
                numeric = np.array([column[o] for column in columns]).reshape(len(columns), y.size).T
                found = self._compared(numeric, rows[o][i], o, i)
                worst = worst if not worst.agrees else found
        return worst

    def _rows(self, o: int) -> dict[int, Any]:
        """The Jacobians of an output from backward: one pass per element, for all leaves."""
        y = self.values[o]
        found = {i: np.zeros((y.size, self.arrays[i].size)) for i in self.moving}
        for r in range(y.size):
            unit = get_array_module(y).zeros(y.size, y.dtype)
            unit[r] = 1
            gradients = self._vjp(o, unit.reshape(y.shape))
            for i in self.moving:
                if gradients[i] is not None:
                    found[i][r] = host(gradients[i]).ravel()
        return found

    def _vjp(self, o: int, upstream: Any) -> list[Any]:
        gys: list[Any] = [None] * len(self.evaluation.outputs)
        gys[o] = upstream
        return self.evaluation.vjp(gys)

    def _column(self, i: int, c: int) -> dict[int, Any]:
        """The change of all outputs with one element of a leaf, divided by that of the element."""
        direction = np.zeros(self.arrays[i].size)
        direction[c] = 1
        return self._slope(i, direction.reshape(self.arrays[i].shape))

    def _slope(self, i: int, direction: Any) -> dict[int, Any]:
        """The slopes of all outputs along a direction of one leaf, by a central difference."""
        ahead, behind = (self._outputs(i, direction, step) for step in (self.eps, -self.eps))
        with np.errstate(all='ignore'):
            return {o: (ahead[o] - behind[o]) / (2 * self.eps) for o in self.values}

    def _outputs(self, i: int, direction: Any, step: float) -> list[Any]:
        arrays = [fresh_copy(x) for x in self.arrays]
        arrays[i] += get_array_module(arrays[i]).asarray((step * direction).astype(arrays[i].dtype))
        outputs = self.order_check.function.outputs(arrays)
        return [None if y is None else host(y).astype(np.float64).ravel() for y in outputs]

    def _compared(self, numeric: Any, analytic: Any, o: int, i: int, atol: float | None = None) -> Agreement:
        """Whether arrays of slopes agree, and the largest difference."""
        atol = self.atol if atol is None else atol
        with np.errstate(all='ignore'):
            excess = abs(analytic - numeric) - (atol + self.rtol * abs(numeric))
        excess = np.where(np.isnan(excess), np.inf, excess)
        if not bool((excess > 0).any()):
            return Agreement(True)
        place = np.unravel_index(int(excess.argmax()), excess.shape)
        label = self.order_check.function.leaves[i].label
        return Agreement(
            False,
            f'output {o} and {label}, numeric {float(numeric[place]):.6g}, backward {float(analytic[place]):.6g}',
        )

    # --- along directions --------------------------------------------------------------------------------------
    def _directions(self) -> Agreement:
        """Compares the weighted slope along directions for each pair, as torch's fast mode does."""
        rng = generator(self.order_check.report.seed)
        for _ in range(_DRAWS):
            vs = {o: _unit(rng, y) for o, y in self.values.items()}
            gradients = {o: self._vjp(o, _like(v, self.values[o])) for o, v in vs.items()}
            for i in self.moving:
                u = _unit(rng, self.arrays[i])
                slopes = self._slope(i, u)
                for o, v in vs.items():
                    g = gradients[o][i]
                    analytic = 0.0 if g is None else float((host(g) * u).sum())
                    atol = self.atol * float(u.sum()) * float(v.sum())
                    found = self._compared(
                        np.array([float((v.ravel() * slopes[o]).sum())]), np.array([analytic]), o, i, atol
                    )
                    if not found.agrees:
                        return found
        return Agreement(True)


def _unit(rng: np.random.Generator, like: Any) -> Any:
    """Positive numbers with the norm 1, as torch draws them."""
    drawn = rng.random(like.shape)
    return drawn / (np.linalg.norm(drawn) or 1.0)


def _like(values: Any, array: Any) -> Any:
    """The values as an array of the kind and dtype of another."""
    return get_array_module(array).asarray(values.astype(array.dtype))
