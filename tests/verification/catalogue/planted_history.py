"""Gradients that depend on what ran before, on the thread, the configuration, and on what else is asked for."""

from __future__ import annotations

import collections
import threading

import numpy as np

from minichainer.configuration import config, using_config
from minichainer.variable import Variable
from tests.verification.catalogue import bases as b
from tests.verification.catalogue.conditional import of_second_order, planted, turns
from tests.verification.catalogue.entry import Case, Plan, as_dtype, generator, raw
from tests.verification.catalogue.situations import ORDINARY, Situation, in_a_thread

EITHER = ('fail', 'nondeterministic')


def with_state(
    what, make_faulty, situation, functions, family='history', verdicts=EITHER, ordinary=(ORDINARY,), order=1
):
    """``make_faulty(base)`` gives a forward and a vjp that share a state of their own in each Case."""
    return [_with_state(what, make_faulty, situation, f, family, verdicts, ordinary, order) for f in functions]


def _with_state(what, make_faulty, situation, chosen, family, verdicts, ordinary, order):
    label, base, cases = chosen
    name = f'{what}: {label}'

    def build(shape, dtype, seed):
        inputs = as_dtype(base.draw(shape, generator(name, seed)), dtype)
        return cases(base, lambda forward, vjp: raw(*make_faulty(base)) if vjp is None else raw(forward, vjp))(
            inputs, None
        )

    return planted(name, family, build, situation, order, verdicts, {'ordinary': ordinary})


def other_data(func, case):
    """The function is called with other numbers."""
    func(*[Variable(0.75 * x[::-1].copy()) for x in case.inputs])


def same_data(func, case):
    func(*[Variable(x.copy()) for x in case.inputs])


def spoilt(gradients):
    return [1.5 * g for g in gradients]


# --- how often it ran -----------------------------------------------------------------------------------------------


def wrong_backward(is_wrong):
    """The vjp is wrong at the calls whose number, from 1, is of a kind; counted in each function."""

    def faulty(base):
        calls = []

        def vjp(xs, gys):
            calls.append(None)
            g = base.vjp(xs, gys)
            return spoilt(g) if is_wrong(len(calls)) else g

        return base.forward, vjp

    return faulty


def wrong_graph(is_wrong):
    """The gradients of those graphs are wrong whose number, counted by calls of forward, is of a kind."""

    def faulty(base):
        seen = []

        def forward(*xs):
            seen.append(xs)
            return base.forward(*xs)

        def vjp(xs, gys):
            number = next((i + 1 for i, held in enumerate(seen) if held[0] is xs[0]), len(seen))
            g = base.vjp(xs, gys)
            return spoilt(g) if is_wrong(number) else g

        return forward, vjp

    return faulty


def passes(n):
    return Situation(passes=n)


COUNTS = [
    *with_state('second backward pass wrong', wrong_backward(lambda n: n == 2), passes(2), turns(3)),
    *with_state('all but the first backward pass wrong', wrong_backward(lambda n: n > 1), passes(2), turns(3, 3)),
    *with_state('third backward pass on wrong', wrong_backward(lambda n: n > 2), passes(3), turns(2, 1)),
    *with_state('fifth backward pass on wrong', wrong_backward(lambda n: n > 4), passes(5), turns(2, 2)),
    *with_state('even graphs wrong', wrong_graph(lambda n: n % 2 == 0), Situation(before=same_data), turns(2, 4)),
    *with_state('all but the first graph wrong', wrong_graph(lambda n: n > 1), Situation(before=same_data), turns(3)),
]


# --- what ran before, and in between --------------------------------------------------------------------------------


def oldest_first(base):
    """Backward takes what the oldest forward still waiting has left behind: right while they take turns."""
    waiting = collections.deque()

    def forward(*xs):
        waiting.append([x.copy() for x in xs])
        return base.forward(*xs)

    def vjp(xs, gys):
        held = waiting.popleft() if waiting else xs
        return base.vjp(held if held[0].shape == xs[0].shape else xs, gys)

    return forward, vjp


def latest_first(base):
    """The same with the latest one."""
    waiting = []

    def forward(*xs):
        waiting.append([x.copy() for x in xs])
        return base.forward(*xs)

    def vjp(xs, gys):
        held = waiting.pop() if waiting else xs
        return base.vjp(held if held[0].shape == xs[0].shape else xs, gys)

    return forward, vjp


def by_shape(base):
    """Backward takes what the latest forward with that shape has left behind."""
    held = {}

    def forward(*xs):
        held[xs[0].shape] = [x.copy() for x in xs]
        return base.forward(*xs)

    return forward, lambda xs, gys: base.vjp(held[xs[0].shape], gys)


def by_rounded_values(base):
    """Backward finds what forward left behind by a key that differs for very different data only."""
    held = {}

    def key(x):
        return float(np.sign(x).sum()), x.shape

    def forward(*xs):
        held[key(xs[0])] = [x.copy() for x in xs]
        return base.forward(*xs)

    return forward, lambda xs, gys: base.vjp(held[key(xs[0])], gys)


def cached_gradient(base):
    """The gradient is remembered by upstream gradient alone: another x, the same gradient."""
    known = {}

    def vjp(xs, gys):
        return known.setdefault(gys[0].tobytes(), base.vjp(xs, gys))

    return base.forward, vjp


def same_signs(func, case):
    """The function is called with other numbers of the same signs."""
    func(*[Variable(0.75 * x) for x in case.inputs])


def gradient_elsewhere(func, case):
    """Forward and backward of another x, with the upstream gradients of the case."""
    Situation(inputs=lambda x: 0.75 * x).gradients(func, case, 1)


ORDER = [
    *with_state('backward takes the oldest forward', oldest_first, Situation(before=other_data), turns(3)),
    *with_state('backward takes the latest forward', latest_first, Situation(between=other_data), turns(3, 3)),
    *with_state(
        'backward takes the latest forward of its shape', by_shape, Situation(between=other_data), turns(2, 1)
    ),
    *with_state(
        'backward takes the latest forward with as many signs',
        by_rounded_values,
        Situation(between=same_signs),
        turns(2, 2),
    ),
    *with_state(
        'the gradient of the same gy remembered', cached_gradient, Situation(before=gradient_elsewhere), turns(3, 4)
    ),
]


# --- thread and configuration ---------------------------------------------------------------------------------------


def wrong_elsewhere(base):
    """Wrong in any other than the main thread."""

    def vjp(xs, gys):
        g = base.vjp(xs, gys)
        return g if threading.current_thread() is threading.main_thread() else spoilt(g)

    return base.forward, vjp


def of_thread(base):
    """Forward leaves something behind for the thread; backward in another one does without."""
    local = threading.local()

    def forward(*xs):
        local.scale = 1.0
        return base.forward(*xs)

    return forward, lambda xs, gys: [getattr(local, 'scale', 0.0) * g for g in base.vjp(xs, gys)]


def of_config(is_wrong):
    def faulty(base):
        def vjp(xs, gys):
            g = base.vjp(xs, gys)
            return spoilt(g) if is_wrong() else g

        return base.forward, vjp

    return faulty


def untrained(call):
    with using_config('train', False):
        return call()


def without_backprop(call):
    with using_config('enable_backprop', False):
        return call()


SURROUNDINGS = [
    *with_state(
        'wrong in another thread', wrong_elsewhere, Situation(backward=in_a_thread), turns(3), 'surroundings'
    ),
    *with_state(
        'what forward left in its thread is missing in another',
        of_thread,
        Situation(backward=in_a_thread),
        turns(2, 3),
        'surroundings',
    ),
    *with_state(
        'backward looks whether training goes on',
        of_config(lambda: not config.train),
        Situation(backward=untrained),
        turns(3, 2),
        'surroundings',
    ),
]


# --- which gradients are asked for ----------------------------------------------------------------------------------


class Asked(Plan):
    """A node whose backward sees which gradients are asked for."""

    def __init__(self, base, rule):
        super().__init__(base.forward, None)
        self.rule = rule
        self.base = base

    def backward(self, indexes, gys):
        xs = [x.array for x in self.get_retained_inputs()]
        g = self.rule(self.base.vjp(xs, [gy.array for gy in gys]), tuple(indexes))
        return tuple([Variable(np.asarray(g[i])) for i in indexes])


def asked(name, base, rule, alone):
    """A gradient is wrong where it is asked for alone."""

    def build(shape, dtype, seed):
        inputs = as_dtype(base.draw(shape, generator(name, seed)), dtype)
        return Case(lambda *xs: Asked(base, rule).apply(xs)[0], inputs, raw(base.forward, base.vjp), base.forward)

    return planted(name, 'surroundings', build, Situation(alone=alone), 1, ('fail',), {})


ASKED = [
    asked('gradient of x alone doubled', b.PRODUCT, lambda g, i: [2 * g[0], g[1]] if i == (0,) else g, 0),
    asked('gradient of w alone zero', b.SQUARE_TIMES, lambda g, i: [g[0], 0 * g[1]] if i == (1,) else g, 1),
    asked(
        'gradient of the second matrix alone transposed',
        b.MATMUL,
        lambda g, i: [g[0], g[1][::-1]] if i == (1,) else g,
        1,
    ),
    asked('gradient of z alone that of x', b.THREE, lambda g, i: [g[0], g[1], g[0]] if i == (2,) else g, 2),
]

# --- the same at second order ---------------------------------------------------------------------------------------


def wrong_second_order(is_wrong):
    """Wrong at the calls of the second order whose number, from 1, is of a kind."""

    def fresh():
        calls = []

        def rule(g, x, gy, ggx):
            calls.append(None)
            return [1.5 * g[0], g[1]] if is_wrong(len(calls)) else g

        return rule

    return fresh


def wrong_second_order_elsewhere(g, x, gy, ggx):
    return g if threading.current_thread() is threading.main_thread() else [g[0], 0 * g[1]]


SECOND = [
    of_second_order(
        'second order: all but the first pass wrong',
        'history',
        wrong_second_order(lambda n: n > 1),
        passes(2),
        verdicts=EITHER,
        remembers=True,
    ),
    of_second_order(
        'second order: third pass on wrong',
        'history',
        wrong_second_order(lambda n: n > 2),
        passes(3),
        verdicts=EITHER,
        remembers=True,
    ),
    of_second_order(
        'second order: wrong in another thread',
        'surroundings',
        wrong_second_order_elsewhere,
        Situation(backward=in_a_thread),
        verdicts=EITHER,
    ),
]

ENTRIES = COUNTS + ORDER + SURROUNDINGS + ASKED + SECOND
#: Further passes than a check makes.
BEYOND = [
    *with_state('hundredth backward pass on wrong', wrong_backward(lambda n: n > 99), passes(100), turns(1)),
]
