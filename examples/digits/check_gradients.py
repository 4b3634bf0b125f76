"""Checks the gradients of the network's own Function and Link, then those of a Function with a fault.

Exits with 0 if the right gradients pass and the wrong one is caught, with 1 otherwise.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from model import NormalizedLinear, Swish, swish

import minichainer.functions as F
from minichainer import gradient_check


class BrokenSwish(Swish):
    """The gradient lacks the second term of the product rule, x s (1 - s)."""

    def backward(self, indexes: tuple[int, ...], grad_outputs: tuple[Any, ...]) -> tuple[Any, ...]:
        (x,) = self.get_retained_inputs()
        (gy,) = grad_outputs
        return (gy * F.sigmoid(x),)


def broken_swish(x: Any) -> Any:
    (y,) = BrokenSwish().apply((x,))
    return y


def check_link() -> None:
    random = np.random.RandomState(0)
    link = NormalizedLinear(4, 3)
    link.V.array[...] = random.normal(size=(3, 4))  # Large against the steps of numerical differentiation.
    x = random.normal(size=(5, 4)).astype('f')
    gy = random.normal(size=(5, 3)).astype('f')
    gradient_check.check_backward(link, x, gy, params=tuple(link.params()), dtype='d')


def check_function(function: Callable[[Any], Any] = swish) -> None:
    random = np.random.RandomState(1)
    x, gy = (random.normal(size=(2, 3)).astype('f') for _ in range(2))
    gradient_check.check_backward(function, x, gy, dtype='d')


def check_function_twice() -> None:
    random = np.random.RandomState(2)
    x, gy, ggx = (random.normal(size=(2, 3)).astype('f') for _ in range(3))
    gradient_check.check_double_backward(swish, x, gy, ggx, dtype='d')


def main() -> int:
    np.random.seed(0)
    check_link()
    print('NormalizedLinear: the gradients of its input and its parameters are right.')
    check_function()
    check_function_twice()
    print('Swish: its gradient is right, and so is the gradient of its gradient.')
    try:
        check_function(broken_swish)
    except AssertionError as error:
        print('BrokenSwish: its gradient is wrong, as it should be. The check says:\n')
        print('    ' + str(error).strip().replace('\n', '\n    '))
        return 0
    print('BrokenSwish: the check passed although the gradient is wrong.', file=sys.stderr)
    return 1


if __name__ == '__main__':
    sys.exit(main())
