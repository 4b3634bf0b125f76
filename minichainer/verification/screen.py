"""A backward pass against measured slopes, at a cost that does not depend on the number of elements."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minichainer.verification.directions import generator, isotropic, relative, signed
from minichainer.verification.ladder import Slopes, slopes
from minichainer.verification.linearity import FACTOR, breaks_scaling, breaks_zero
from minichainer.verification.verdict import judge

Arrays = Sequence[Any]
#: Upstream gradients drawn for each output.
_DRAWS = 2


@dataclasses.dataclass(frozen=True)
class Finding:
    """One (output, input) pair along one direction, with one upstream gradient.

    Attributes:
        output: Position of the output.
        input: Position of the input.
        direction: "isotropic", or "relative" to the size of each element.
        verdict: "pass", "fail", "nondifferentiable", "unresolved" or "not_finite".
        numeric: The slope.
        analytic: The slope that backward gives.
        error: How far off ``numeric`` may be.
    """

    output: int
    input: int
    direction: str
    verdict: str
    numeric: float
    analytic: float
    error: float


@dataclasses.dataclass
class Screen:
    """Compares ``vjp`` with ``forward``, both functions of arrays.

    Args:
        forward: Takes the inputs to a tuple of outputs.
        vjp: ``vjp(inputs, grad_outputs)`` gives one gradient (or None, for zero) per input.
        inputs: Floating-point arrays.
        seed: Of the directions and upstream gradients.
        atol: Widens the tolerance, 0 for nothing but the estimated error.
        rtol: The same, relative to the slope.
        precision: Machine epsilon of the arithmetic inside ``forward``.

    >>> import numpy as np
    >>> x = np.array([1.0, -2.0, 3.0])
    >>> wrong = Screen(lambda x: (x * x,), lambda xs, gys: [2 * xs[0] * abs(gys[0])], [x])
    >>> {finding.verdict for finding in wrong.compare()}, wrong.nonlinear()
    ({'fail'}, [(0, 0)])
    """

    forward: Callable[..., tuple[Any, ...]]
    vjp: Callable[[Arrays, Arrays], Arrays]
    inputs: Arrays
    seed: int = 0
    atol: float = 0.0
    rtol: float = 0.0
    precision: float = 2.0**-52
    forward_calls: int = 0
    backward_calls: int = 0

    def __post_init__(self) -> None:
        self._rng = generator(self.seed)
        self._outputs = [np.asarray(y, np.float64) for y in self._evaluate(self.inputs)]
        self._shapes = [y.shape for y in self._outputs]
        self._upstream = [[signed(self._rng, s) for s in self._shapes] for _ in range(_DRAWS)]
        self._gradients = [[self._backward(o, v[o]) for o in range(len(self._shapes))] for v in self._upstream]

    def _evaluate(self, inputs: Arrays) -> tuple[Any, ...]:
        self.forward_calls += 1
        return self.forward(*inputs)

    def _backward(self, output: int, v: Any) -> list[Any]:
        """The gradients of all inputs for one output alone."""
        self.backward_calls += 1
        gys = [v if o == output else np.zeros(s) for o, s in enumerate(self._shapes)]
        gys = [np.asarray(gy, y_dtype) for gy, y_dtype in zip(gys, self._dtypes(), strict=True)]
        found = self.vjp(self.inputs, gys)
        return [np.zeros(x.shape, x.dtype) if g is None else g for x, g in zip(self.inputs, found, strict=True)]

    def _dtypes(self) -> list[Any]:
        return [np.result_type(*(x.dtype for x in self.inputs))] * len(self._shapes)

    def nonlinear(self) -> list[tuple[int, int]]:
        """The (output, input) pairs whose gradient is not linear in the upstream gradient; an exact test."""
        pairs = []
        for o in range(len(self._shapes)):
            scaled = self._backward(o, FACTOR * self._upstream[0][o])
            zero = self._backward(o, 0 * self._upstream[0][o])
            for i, g in enumerate(self._gradients[0][o]):
                if breaks_scaling(g, scaled[i]).any() or breaks_zero(zero[i]).any():
                    pairs.append((o, i))
        return pairs

    def compare(self) -> list[Finding]:
        """All pairs, along one isotropic and one relative direction of each input."""
        return [
            finding
            for i, x in enumerate(self.inputs)
            for name, draw in (('isotropic', isotropic), ('relative', relative))
            for finding in self._along(i, name, draw(self._rng, x))
        ]

    def _along(self, i: int, name: str, direction: Any) -> list[Finding]:
        found = self.slopes(i, direction)
        terms = [
            gradients[o][i].astype(np.float64) * direction
            for gradients in self._gradients
            for o in range(len(self._shapes))
        ]
        with np.errstate(all='ignore'):
            analytic = np.array([t.sum() for t in terms])
            size = np.array([abs(t).sum() for t in terms])
            rounding = 16 * self.precision * np.array([np.sqrt((t**2).sum()) for t in terms])
        verdicts = judge(found, analytic, rounding, size, self.atol, self.rtol)
        return [
            Finding(k % len(self._shapes), i, name, verdicts[k], float(found.value[k]), a, float(found.error[k]))
            for k, a in enumerate(analytic.tolist())
        ]

    def slopes(self, i: int, direction: Any) -> Slopes:
        """How the outputs, weighted by every drawn upstream gradient, change when one input moves."""
        return slopes(lambda t: self._projected(i, t * direction), self.precision)

    def _projected(self, i: int, offset: Any) -> tuple[Any, Any]:
        """The change of every weighted output; differences first, so that summation loses nothing."""
        inputs = list(self.inputs)
        inputs[i] = (inputs[i] + offset).astype(inputs[i].dtype)
        outputs = [np.asarray(y, np.float64) for y in self._evaluate(inputs)]
        values, sizes = [], []
        for v, gradients in zip(self._upstream, self._gradients, strict=True):
            for o, y in enumerate(outputs):
                values.append((v[o] * (y - self._outputs[o])).sum())
                sizes.append(_norm(v[o] * y) + _norm(gradients[o][i].astype(np.float64) * inputs[i]))
        return np.array(values), np.array(sizes)


def _norm(terms: Any) -> float:
    """Size of the rounding error of the terms together, in units of the precision; errors add up at random."""
    finite = terms[np.isfinite(terms)]
    return float(np.sqrt((finite**2).sum()))
