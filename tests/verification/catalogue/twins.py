"""Wrong twins of right functions: the identity, with a wrong gradient, is put before one of their inputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from minichainer.function_node import FunctionNode
from minichainer.variable import Variable

#: A fault in an element is faint if the gradient there is smaller than this, relative to the largest gradient.
FAINT = 1e-12
#: The same for what an element adds to the outputs, relative to these.
BURIED = 1e-13


class Factor(FunctionNode):
    """The identity, whose gradient is multiplied by an array; ``later`` only where it is differentiated."""

    def __init__(self, factor: Any, later: bool) -> None:
        self.factor, self.later = factor, later

    def forward(self, inputs: Any) -> Any:
        return (inputs[0].copy(),)

    def backward(self, indexes: Any, gys: Any) -> Any:
        if self.later:
            return Factor(self.factor, False).apply(gys)
        return (gys[0] * self.factor.astype(gys[0].dtype),)


class Lost(FunctionNode):
    """The identity without a gradient."""

    def forward(self, inputs: Any) -> Any:
        return (inputs[0].copy(),)

    def backward(self, indexes: Any, gys: Any) -> Any:
        return (None,)


@dataclass(frozen=True)
class Twin:
    """A wrong function: what was planted, and where.

    Args:
        name: of the fault.
        func: the wrong function.
        faint: whether the fault is too small beside the rest to ask for it.
        order: at which it is wrong.
    """

    name: str
    func: Callable[..., Any]
    faint: bool
    order: int = 1


#: Name, factor, one element or all, order.
FAULTS: dict[str, tuple[float, bool, int]] = {
    'factor 1.3': (1.3, False, 1),
    'factor 1.001': (1.001, False, 1),
    'element x 1.3': (1.3, True, 1),
    'element x 1.001': (1.001, True, 1),
    'element lost': (0.0, True, 1),
    'zeros': (0.0, False, 1),
    'lost': (0.0, False, 1),
    'second order x 1.3': (1.3, False, 2),
}


def plant(
    fault: str, func: Callable[..., Any], arrays: Sequence[Any], gradients: Sequence[Any], outputs: float, rng: Any
) -> Twin | None:
    """The twin with a fault in one of the inputs; None if no gradient there differs from 0.

    Args:
        fault: a name of ``FAULTS``.
        func: the right function.
        arrays: its inputs.
        gradients: the right gradients, in float64.
        outputs: the size of the outputs, weighted as for the gradients.
        rng: chooses input and element.
    """
    factor, single, order = FAULTS[fault]
    places = [i for i, g in enumerate(gradients) if g is not None and np.any(g)]
    if not places:
        return None
    i = places[rng.randint(len(places))]
    k = _element(gradients[i], rng)
    factors = np.ones(arrays[i].shape) if single else np.full(arrays[i].shape, factor)
    factors[k] = factor
    lost = fault == 'lost'

    def wrong(*xs: Any) -> Any:
        node: Any = Lost() if lost else Factor(factors, order == 2)
        moved = list(xs)
        moved[i] = node.apply((xs[i] if isinstance(xs[i], Variable) else Variable(xs[i]),))[0]
        return func(*moved)

    size = abs(gradients[i][k] if single else gradients[i])
    largest = max(float(abs(g).max(initial=0.0)) for g in gradients if g is not None)
    reach = float(np.max(size)) * float(abs(arrays[i]).max())
    faint = float(np.max(size)) < FAINT * largest or not reach > BURIED * outputs
    where = f'inputs[{i}]{list(k) if single else ""}'
    return Twin(f'{fault} in {where}', wrong, bool(faint), order)


def _element(gradient: Any, rng: Any) -> tuple[int, ...]:
    choices = np.argwhere(gradient)
    return tuple(int(n) for n in choices[rng.randint(len(choices))])
