"""Circumstances in which a gradient is asked for: what must make no difference, and with some planted faults does."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from minichainer.differentiate import grad
from minichainer.variable import Variable
from tests.verification.catalogue import truth
from tests.verification.catalogue.entry import Case

#: What is rounding, relative to the greatest gradient.
_ROUNDING = 1e-9


def unchanged(value: Any) -> Any:
    return value


def directly(call: Callable[[], Any]) -> Any:
    return call()


@dataclasses.dataclass(frozen=True)
class Situation:
    """One of them.

    Args:
        inputs: lays out, or replaces, the array of an input.
        upstream: the same with the list of upstream gradients of the order in question.
        forward: how the function is called: it gets a callable, and gives its result.
        backward: the same for the backward pass.
        passes: backward passes over the one graph; the last one counts.
        before: is called with the function and its inputs first.
        between: the same between forward and backward.
        alone: the position of the only input whose gradient is asked for.
    """

    inputs: Callable[[Any], Any] = unchanged
    upstream: Callable[[list[Any]], list[Any]] = unchanged
    forward: Callable[[Callable[[], Any]], Any] = directly
    backward: Callable[[Callable[[], Any]], Any] = directly
    passes: int = 1
    before: Callable[[Any, Case], Any] = lambda func, case: None
    between: Callable[[Any, Case], Any] = lambda func, case: None
    alone: int | None = None

    def gradients(self, func: Any, case: Case, order: int) -> list[Any]:
        """The gradients of that order, with upstream gradients that are the same each time."""
        rng = np.random.RandomState(11)
        self.before(func, case)
        sources = [Variable(self.inputs(x)) for x in case.inputs]
        results = _outputs(self.forward(lambda: func(*sources)))
        sources += [p for _, p in truth.parameters(func, case)]
        for _ in range(order - 1):
            gys = [Variable(_drawn(y, rng)) for y in results]
            found = grad(results, sources, gys, enable_double_backprop=True)
            sources, results = sources + gys, [g for g in found if g is not None and g.requires_grad]
        self.between(func, case)
        drawn = self.upstream([_drawn(y, rng) for y in results])
        pairs = [(y, Variable(gy)) for y, gy in zip(results, drawn, strict=True) if gy is not None]
        outputs, upstream = zip(*pairs, strict=True)
        asked = sources if self.alone is None else [sources[self.alone]]
        for _ in range(self.passes):
            found = self.backward(lambda: grad(outputs, asked, upstream))
        return [None if g is None else g.array for g in found]


def _outputs(ys: Any) -> list[Variable]:
    return list(ys) if isinstance(ys, (tuple, list)) else [ys]


def _drawn(y: Variable, rng: np.random.RandomState) -> Any:
    signs = np.where(rng.random_sample(y.shape) < 0.5, -1.0, 1.0)
    return np.asarray(rng.uniform(0.5, 1.5, y.shape) * signs, y.dtype)


def differs(build: Callable[[], Case], situation: Situation, order: int) -> bool:
    """Whether a case, built anew, has another gradient than the right one in this situation."""
    case = build()
    found, wanted = (situation.gradients(func, case, order) for func in (case.func, case.right))
    return any(_apart(g, w) for g, w in zip(found, wanted, strict=True))


def _apart(found: Any, wanted: Any) -> bool:
    found, wanted = (np.zeros(1) if a is None else a.astype('d') for a in (found, wanted))
    with np.errstate(all='ignore'):
        off = abs(found - wanted) > _ROUNDING * abs(wanted).max(initial=0)
    return bool(off.any()) or not bool(np.isfinite(found).all())


def in_a_thread(call: Callable[[], Any]) -> Any:
    """The result of the call, made in a thread of its own."""
    results: list[Any] = []
    thread = threading.Thread(target=lambda: results.append(call()))
    thread.start()
    thread.join()
    return results[0]


ORDINARY = Situation()
