"""How a fault is planted into a base function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.verification.catalogue.bases import Base
from tests.verification.catalogue.entry import Case, Planted, Shape, as_dtype, generator, raw

#: ``wrong(g, xs, gys)``: the planted gradient of one input, from the right ones of all inputs.
Wrong = Callable[[Any, Any, Any], Any]


def bug(
    name: str,
    base: Base,
    wrong: Wrong,
    *causes: str,
    family: str = 'value',
    at: Any = 0,
    make: Any = raw,
    **more: Any,
) -> Planted:
    """``base`` whose gradient of input ``at`` is ``wrong(g, xs, gys)``; all of them if ``at`` is None."""

    def vjp(xs: Any, gys: Any) -> Any:
        g = base.vjp(xs, gys)
        if at is None:
            return wrong(g, xs, gys)
        return [wrong(g, xs, gys) if i == at else gradient for i, gradient in enumerate(g)]

    return Planted(name, family, case_of(name, base, vjp, make), at, causes, **more)


def case_of(name: str, base: Base, vjp: Any, make: Any = raw) -> Callable[[Shape, str, int], Case]:
    """A builder: the base function at a point that its seed and its name choose."""

    def build(shape: Shape, dtype: str, seed: int) -> Case:
        inputs = as_dtype(base.draw(shape, generator(name, seed)), dtype)
        return Case(make(base.forward, vjp), inputs, raw(base.forward, base.vjp), base.forward)

    return build


def put(array: Any, index: int, change: Callable[[Any], Any]) -> Any:
    """A copy with one element changed."""
    array = array.copy()
    array.flat[index] = change(array.flat[index])
    return array


def only(array: Any, index: Any) -> Any:
    """Zeros but for ``array[index]``."""
    kept = np.zeros_like(array)
    kept[index] = array[index]
    return kept
